"""Runs on copies of a repository, as the command line says."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from nparam_lint.cli import common

if TYPE_CHECKING:
    from nparam_lint.config.session import Session
    from nparam_lint.repository.snapshot import Snapshot


def session_in(options: Namespace, copy: Snapshot, place: Path, *, is_root: bool = True) -> Session:
    """A run on the project at a directory of a copy, or (not `is_root`) around a place there, by
    the config file that the copy has."""
    options = Namespace(**vars(options))
    if options.config:
        config = copy.copy_of(Path(options.config))
        options.config = str(config) if config.is_file() else None
    return common.session_for(options, place, copy, place if is_root else None)
