"""Commands that run scripts of the project, in its texts and shell scripts: they give options their
values."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from nparam_lint.claims import is_doc
from nparam_lint.discover.files import join, parent
from nparam_lint.evidence.options import words_of

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

_COMMAND = re.compile(
    r"\b(?:python|torchrun|launch|deepspeed|srun)\b[^\n]*?(?<![\w./-])"
    r"([\w./-]+\.py)\b((?:[^\n\\;|&>`]|\\[ \t]*\n?)*)"
)
_VARIABLE = re.compile(
    r"^[ \t]*(?:export[ \t]+|for[ \t]+)?(\w+)(?:=|[ \t]+in[ \t]+)([^\s;]+)", re.MULTILINE
)
_UNKNOWN = re.compile(r"[$\[\]<>{}…]|\.\.\.")  # of a value that a reader has to fill in
_USE = re.compile(r"\$\{?(\w+)\}?")
_VALUE = re.compile(r"[^-]|-\.?\d")
_LARGE = 400_000


class Command(NamedTuple):
    """`words`: after the script; `place`: where it stands."""

    words: tuple[str, ...]
    place: str

    def given(self, options: Mapping[str, ast.Call]) -> dict[str, tuple[str, ...]]:
        """The words for each of the options that it gives; those of which all is known."""
        flags = {
            flag: name
            for name, call in options.items()
            for flag in words_of(call)
            if flag.startswith("-")
        }
        words_of_option: dict[str, tuple[str, ...]] = {}
        name = None
        for word in self.words:
            flag, _, _ = word.partition("=")
            if flag in flags:
                name = flags[flag]
                words_of_option[name] = (word,)
            elif name and _VALUE.match(word):
                words_of_option[name] += (word,)
            else:
                name = None
        pairs = words_of_option.items()
        return {name: words for name, words in pairs if not any(map(_UNKNOWN.search, words))}


class Commands:
    """The commands in `texts`."""

    def __init__(self, texts: Collection[str], read: Callable[[str], bytes]) -> None:
        self._texts = texts
        self._read = read

    def of(self, script: str) -> Sequence[Command]:
        return self._by_script.get(script, ())

    @cached_property
    def _by_script(self) -> dict[str, list[Command]]:
        commands: dict[str, list[Command]] = {}
        for path in self._texts:
            source = self._read(path) if is_doc(path) or path.endswith((".txt", ".sh")) else b""
            if b".py" not in source or len(source) > _LARGE:
                continue
            for script, command in _commands(path, source.decode("utf-8", "replace")):
                for at in {script, join(parent(path), script)}:
                    commands.setdefault(at, []).append(command)
        return commands


def _commands(path: str, text: str) -> Iterator[tuple[str, Command]]:
    values = {name: value.strip("'\"") for name, value in _VARIABLE.findall(text)}
    for match in _COMMAND.finditer(text):
        words = (_USE.sub(lambda m: values.get(m[1], m[0]), word) for word in match[2].split())
        line = text.count("\n", 0, match.start()) + 1
        plain = tuple(word.strip("'\"") for word in words if word != "\\")
        yield match[1].removeprefix("./"), Command(plain, f"{path}:{line}")
