"""What git says of a directory and its commits; copies of the index or of a commit, outside of the
working tree."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def run_git(
    directory: str | Path, environ: Mapping[str, str], arguments: Sequence[str], stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    """Run git in a directory. Raises OSError where there is no git."""
    command = ["git", "-c", "log.showSignature=false", *arguments]
    return subprocess.run(
        command, cwd=directory, env=dict(environ), input=stdin, capture_output=True, check=False
    )


def ask_git(directory: str | Path, *arguments: str) -> bytes | None:
    """What a git command says in a directory; None where it fails, or where there is no git."""
    # Inside a hook GIT_DIR and its like point elsewhere: what counts is the given directory.
    environ = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    # An editor asks about folders that nobody trusts yet, whose settings may name a program to run.
    arguments = ("-c", "core.fsmonitor=false", *arguments)
    try:
        process = run_git(directory, environ, arguments)
    except OSError:
        return None
    return process.stdout if process.returncode == 0 else None


def project_name(home: Path) -> str:
    """What a project is called in every clone: by its repository's origin, whatever the host and
    the protocol, and where it is in it. Without an origin it is its path."""
    answer = ask_git(home, "config", "--get", "remote.origin.url")
    prefix = ask_git(home, "rev-parse", "--show-prefix") if answer else None
    if not answer or prefix is None:
        return str(home)
    url = os.fsdecode(answer).strip().rstrip("/").removesuffix(".git")
    inside = os.fsdecode(prefix).strip().rstrip("/")
    return f"{url.replace(':', '/').rpartition('/')[2]}//{inside}"


def repository_top(place: Path) -> Path | None:
    """The nearest directory that holds a repository; None where none is around."""
    return next((top for top in (place, *place.parents) if (top / ".git").exists()), None)


def calling_directory(environ: Mapping[str, str]) -> Path:
    """Where a person called the command: git runs hooks and aliases at the top of a repository."""
    here, inside = Path.cwd(), environ.get("GIT_PREFIX", "")
    return here / inside if (here / ".git").exists() else here


def deleted_files(path: Path) -> list[Path]:
    """The files that git knows at or below a path where nothing is any more: those of the index,
    else of the last commit, else of the last one that deleted any."""
    near = next(place for place in path.parents if place.is_dir())
    deleted = ("--diff-filter=D", "--no-renames", "--name-only", "--relative", "-z")
    for command in (
        ("ls-files", "-z"),
        ("diff-index", "--cached", *deleted, "HEAD"),
        ("log", "-1", "--format=", *deleted),
    ):
        listed = ask_git(near, "--literal-pathspecs", *command, "--", str(path))
        if names := [name for name in (listed or b"").split(b"\0") if name.strip()]:
            return [near / os.fsdecode(name) for name in names]
    return []
