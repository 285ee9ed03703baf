"""The output formats. A format is one module here, with `render(document, options) -> str`, and one
line in `FORMATS`; then it serves every command whose documents have what it needs. One whose texts
are large may have `chunks` instead.

Formats are pure: they never print and never ask what they are printed on. What they return is empty
or ends with one newline. Each is imported when it is used, so that no run pays for another.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Literal, cast

from nparam_lint.ground.nearest import did_you_mean
from nparam_lint.ground.printable import inert
from nparam_lint.report import Document, Options

Need = Literal["", "findings", "forms"]

# By name, what a format needs of a document: nothing in particular, findings, or closed forms.
FORMATS: dict[str, Need] = {
    "text": "",
    "concise": "",
    "json": "",
    "markdown": "",
    "html": "",
    "github": "findings",
    "gitlab": "findings",
    "sarif": "findings",
    "junit": "findings",
    "python": "forms",
    "latex": "forms",
}
# Formats for people on a terminal: if there is no answer, only standard error says so.
FOR_TERMINALS = ("text", "concise", "python", "latex")
# Those whose texts must stay as they are, byte for byte. All others may stand in the log of a CI.
_FOR_PROGRAMS = ("json", "html", "github", "gitlab", "sarif")


def formats_for(has: Need) -> tuple[str, ...]:
    """The formats of a command whose documents have findings, closed forms, or neither."""
    return tuple(name for name, need in FORMATS.items() if need in ("", has))


def render(name: str, document: Document, options: Options) -> str:
    """The document in a format. Raises KeyError for a format that does not exist."""
    return "".join(chunks(name, document, options))


def chunks(name: str, document: Document, options: Options) -> Iterable[str]:
    """The same, as it is made; in one piece unless the format has a function `chunks`."""
    FORMATS[name]
    module = import_module(f"{__name__}.{name}")
    if hasattr(module, "chunks"):
        return cast("Iterable[str]", module.chunks(document, options))
    text: str = module.render(document, options)
    return [text if name in _FOR_PROGRAMS else inert(text)]


def refusal(command: str, name: str, names: Sequence[str]) -> str:
    """Why a command does not have a format, and which formats it has."""
    if name in FORMATS:
        return f"{command} has no format {name!r}; it has {', '.join(names)}"
    there = f"there are: {', '.join(names)}"
    return f"there is no format {name!r}{did_you_mean(name, names, there)}"
