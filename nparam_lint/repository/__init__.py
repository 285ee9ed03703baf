"""Git: the index, commits, and copies of both outside of the working tree."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def ask_git(directory: str | Path, *arguments: str) -> bytes | None:
    """What a git command says in a directory; None where it fails, or where there is no git."""
    # Inside a hook GIT_DIR and its like point elsewhere: what counts is the given directory.
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", *arguments],
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None
