"""The directories in which the commands of a text are run: `cd demo && python train.py`."""

from __future__ import annotations

from posixpath import normpath
from typing import TYPE_CHECKING

from nparam_lint.evidence.shell_texts import is_makefile
from nparam_lint.ground.paths import ancestors, is_doc, join, parent
from nparam_lint.ground.patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

# `cd demo`, `(cd demo && python train.py)`; and of a script to where it lies.
_CHANGE = late_pattern(
    r"(?m:^|(?P<opens>\()|[;&`]|\bdo\b)[ \t]*(?:[$>%][ \t]*)?(?:cd|pushd)[ \t]+"
    r"(?P<to>\"[^\"\n]*\"|'[^'\n]*'|[^\s;&|)`]+(?:\([^()\n]*\)[^\s;&|)`]*)?)"
)
_OWN = late_pattern(r".*(?:dirname|BASH_SOURCE)[^)}]*[)}]\"?")
_HEADING = late_pattern(r"(?m:^#{1,6}[ \t]|^[^\n]+\n(?:=+|-+)[ \t]*$)")


class Directories:
    """Those of a project with these Python files and texts. All paths are from its root."""

    def __init__(self, modules: Collection[str], texts: Collection[str]) -> None:
        self._modules = modules
        folders = map(parent, (*modules, *texts))
        self._folders = {folder for inner in folders for folder in ancestors(inner)}

    def of_script(self, path: str, before: str, script: str) -> Iterator[tuple[str, str]]:
        """(the directory, the path of the script) of a command that runs `script`; nothing where
        that may be one of several. `before`: the text up to the command; the directory is "" where
        none is changed to that has the script."""
        folder, is_near = self._changed(path, before)
        if folder is None:
            ends, beside = f"/{script}", normpath(join(parent(path), script))
            if beside in self._modules or sum(f"/{at}".endswith(ends) for at in self._modules) < 2:
                yield "", script
            return
        for at in dict.fromkeys((join(parent(path), folder), folder)) if folder else ():
            there = normpath(join(at, script))
            if there in self._modules:
                if is_near or script not in self._modules:
                    yield at, there
                return
        yield "", script

    def _changed(self, path: str, before: str) -> tuple[str | None, bool]:
        """The directory that a text changes to, from its own or the root, None where that is not
        known; and whether it does so below the same heading."""
        folder: str | None = ""
        changes = [*_CHANGE.finditer(before)] if "cd " in before or "pushd" in before else []
        for match in changes:
            rest = before[match.end() :]
            if (match["opens"] and ")" in rest) or ("\n" in rest and is_makefile(path)):
                continue
            to = match["to"].strip("\"'")
            if own := _OWN.match(to):
                inside = normpath(join(parent(path), "." + to[own.end() :]))
                folder = "" if inside == "." else inside
            elif "$" in to or to == "-":
                folder = None
            else:
                places = (normpath(join(folder or "", to)), normpath(to))
                folder = next((at for at in places if self._is_there(at, path)), "")
        headings = [match.end() for match in _HEADING.finditer(before)] if is_doc(path) else []
        is_near = not (changes and headings) or changes[-1].start() >= headings[-1]
        return folder, is_near

    def _is_there(self, folder: str, path: str) -> bool:
        return folder in self._folders or join(parent(path), folder) in self._folders
