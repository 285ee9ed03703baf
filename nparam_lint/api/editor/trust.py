"""In which folders code may be run: where the user has said so, and nowhere else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec import Struct

HOW = (
    "nparam-lint only reads {folder}: to count parameters it would run code of that folder. "
    "If you trust it, set nparam-lint.trust to true, or to a list of folders, or run the command "
    "nparam-lint.trust."
)


class Trust(Struct):
    """`folders`: those of the workspace. `all_open`: whether the user trusts these; `named`:
    folders that are trusted by name, wherever they are."""

    folders: tuple[Path, ...] = ()
    all_open: bool = False
    named: tuple[Path, ...] = ()

    def read(self, settings: Any) -> str | None:
        """Take over what the editor's settings say, which may be nothing. What is wrong with them,
        for a message; nothing is trusted by them then."""
        table = settings.get("nparam-lint", settings) if isinstance(settings, dict) else None
        if not isinstance(table, dict) or "trust" not in table:
            return None
        value = table["trust"]
        self.all_open, self.named = value is True, ()
        if isinstance(value, list) and all(isinstance(folder, str) for folder in value):
            self.named = tuple(Path(folder).expanduser().absolute() for folder in value)
        elif not isinstance(value, bool):
            expected = "expected true, false, or a list of folders"
            return f"the setting nparam-lint.trust is {value!r}, {expected}"
        return None

    def folder_of(self, path: Path) -> Path | None:
        """The innermost folder of the workspace, or that is trusted by name, around a file."""
        folders = (*self.folders, *self.named)
        around = [folder for folder in folders if path.is_relative_to(folder)]
        return max(around, key=lambda folder: len(folder.parts), default=None)

    def covers(self, path: Path) -> bool:
        """Whether code may be run for a file. A link does not lead into a trusted folder."""
        roots = (*self.named, *(self.folders if self.all_open else ()))
        real = path.resolve()
        return any(
            path.is_relative_to(root) and real.is_relative_to(root.resolve()) for root in roots
        )
