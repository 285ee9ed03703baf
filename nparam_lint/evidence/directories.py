"""The directories in which the commands of a text are run: `cd demo && python train.py`."""

from __future__ import annotations

from functools import lru_cache
from posixpath import normpath
from typing import TYPE_CHECKING

from nparam_lint.evidence.shell_texts import is_makefile
from nparam_lint.ground.paths import ancestors, is_doc, join, parent
from nparam_lint.ground.patterns import late_pattern

if TYPE_CHECKING:
    import re
    from collections.abc import Collection, Iterator

# `cd demo`, `(cd demo && python train.py)`; and of a script to where it lies.
_CHANGE = late_pattern(
    r"(?m:^|(?P<opens>\()|[;&`]|\bdo\b)[ \t]*(?:[$>%][ \t]*)?(?:cd|pushd)[ \t]+"
    r"(?P<to>\"[^\"\n]*\"|'[^'\n]*'|[^\s;&|)`]+(?:\([^()\n]*\)[^\s;&|)`]*)?)"
)
_OWN = late_pattern(r".*(?:dirname|BASH_SOURCE)[^)}]*[)}]\"?")
_HEADING = late_pattern(r"(?m:^#{1,6}[ \t]|^[^\n]+\n(?:=+|-+)[ \t]*$)")


@lru_cache(maxsize=16)  # for each command of a text
def _landmarks(text: str) -> tuple[list[re.Match[str]], list[re.Match[str]]]:
    """Where a text changes directories, and its headings."""
    return [*_CHANGE.finditer(text)], [*_HEADING.finditer(text)]


class Directories:
    """Those of a project with these Python files and texts. All paths are from its root."""

    def __init__(self, modules: Collection[str], texts: Collection[str]) -> None:
        self._modules = modules
        folders = map(parent, (*modules, *texts))
        self._folders = {folder for inner in folders for folder in ancestors(inner)}

    def of_script(self, path: str, text: str, start: int, script: str) -> Iterator[tuple[str, str]]:
        """(the directory, the path of the script) of a command that runs `script`; nothing where
        that may be one of several. `start`: where in the text it stands; the directory is that of a
        document which alone has the script, "" where none is changed to that has it."""
        folder, is_near = self._changed(path, text, start)
        here, beside = parent(path), normpath(join(parent(path), script))
        is_here = here and beside in self._modules and script not in self._modules
        if is_here and not folder and is_doc(path):
            yield here, beside
            return
        if folder is None:
            ends = f"/{script}"
            if beside in self._modules or sum(f"/{at}".endswith(ends) for at in self._modules) < 2:
                yield "", script
            return
        for at in dict.fromkeys((join(here, folder), folder)) if folder else ():
            there = normpath(join(at, script))
            if there in self._modules:
                if is_near or script not in self._modules:
                    yield at, there
                return
        yield "", script

    def _changed(self, path: str, text: str, start: int) -> tuple[str | None, bool]:
        """The directory that a text has changed to, from its own or the root, None where that is
        not known; and whether it did so below the same heading."""
        folder: str | None = ""
        changes, headings = (
            [match for match in matches if match.end() <= start] for matches in _landmarks(text)
        )
        for match in changes:
            end = ")" if match["opens"] else "\n" if is_makefile(path) else None
            if end and text.find(end, match.end(), start) >= 0:
                continue
            to = match["to"].strip("\"'")
            if own := _OWN.match(to):
                inside = normpath(join(parent(path), "." + to[own.end() :]))
                folder = "" if inside == "." else inside
            elif "$" in to or to == "-":
                folder = None
            else:
                inside = to.partition("/")[2].strip("/")  # of the checkout: `cd repo/demo`
                places = (normpath(join(folder or "", to)), normpath(to), inside)
                is_root = not inside or to.startswith("..")
                unknown = "" if is_root else None
                folder = next((at for at in places if at and self._is_there(at, path)), unknown)
        has_both = changes and headings and is_doc(path)
        return folder, not has_both or changes[-1].start() >= headings[-1].end()

    def _is_there(self, folder: str, path: str) -> bool:
        return folder in self._folders or join(parent(path), folder) in self._folders
