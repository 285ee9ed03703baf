"""Small values that every room speaks of: places, lines of text, and the words for them. Lines and
columns count from 1; paths are relative to the root of the project, and written with `/`."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Severity = Literal["error", "warning"]

# comment: of a config file of models; docs: a number in Markdown or reStructuredText
Origin = Literal["docstring", "comment", "config", "docs"]

NameValue = int | float | str | bool | None

_MOST_PERCENT = 1000  # beyond it, how many times as much says more


class Position(Struct, frozen=True):
    """A place in a source or config file; `line` and `column` count from 1."""

    path: str
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"

    @classmethod
    def read(cls, text: str | None) -> Position | None:
        """The place that was written as `path:line`; None where there is none."""
        path, _, line = (text or "").rpartition(":")
        return cls(path, int(line)) if path and line.isdigit() else None


class DocLine(Struct, frozen=True):
    """One line of a docstring: its text, and where the text's first character stands."""

    text: str
    line: int
    column: int


class SourceLine(Struct, frozen=True):
    """A line of source that a finding points at: `width` characters from its column on."""

    position: Position
    text: str
    width: int


WayKind = Literal["call", "size", "config", "inside"]


class Way(Struct, frozen=True):
    """How the repository itself builds a model. `kind`: a `call` in a script, a test or a text; a
    named `size`; a `config` file; `inside` another model. `position`: the place that says so.
    `name`: of the size, of the config file (of a call, the one that its command names), or the
    target that is the other model. `note`: what may be otherwise when the repository runs.
    `command`: the place of the command that says it, `README.md:3`. `chosen_by`: words that choose
    it, of its command or in conditions around it."""

    kind: WayKind
    position: Position
    name: str = ""
    note: str = ""
    command: str = ""
    chosen_by: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """What is told beside the place."""
        return "; ".join(filter(None, (self.note, self.command and f"as in {self.command}")))

    @property
    def place(self) -> str:
        """Where it stands, and what a size, or the config of a command, is called: `tiny
        (whisper/__init__.py:18)`."""
        is_named = self.name and self.kind in ("size", "call")
        return f"{self.name} ({self.position})" if is_named else str(self.position)


def proportion(delta: int, whole: int) -> str:
    """A difference in proportion, for people: `+6.17 %`, `<0.01 %`, `480,309×`; "" of nothing."""
    if not delta or not whole:
        return ""
    percent = 100 * delta / whole
    if abs(percent) < 0.005:
        return "<0.01 %"
    if percent > _MOST_PERCENT:
        return f"{(whole + delta) / whole:,.0f}×"
    return f"{percent:+,.2f} %"
