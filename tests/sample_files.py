"""Writes the files of a sample project."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def write_files(root: Path, files: Mapping[str, str]) -> Path:
    """Write each text below `root`, with its line ends as they are; gives `root`."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return root
