"""Small projects for the tests of discovery."""

from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING

from nparam_lint.discover import Discovery, discover
from nparam_lint.discover.files import list_files

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path


def discovered(
    root: Path,
    sources: dict[str, str],
    *,
    files: list[str] | None = None,
    in_full: Collection[str] = (),
    declared_only: bool = False,
) -> Discovery:
    """What is found in a project that holds `sources`: path → text."""
    for path, source in sources.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(dedent(source))
    every = list_files(root)
    files = every if files is None else files
    return discover(root, files, importable=every, in_full=in_full, declared_only=declared_only)


def targets(discovery: Discovery) -> set[str]:
    return {definition.target for definition in discovery.definitions}
