"""Copies of the index or a commit, outside the working tree; and what every run needs: running git,
and temporary directories.

A signal may arrive between the making of a directory and the `try` that removes it, or while it is
removed; what is known by name before it is made can be removed on the way out.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

_directories: set[str] = set()


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


def make_directory(prefix: str) -> str:
    """A new temporary directory, which the caller has to remove."""
    name = os.path.join(tempfile.gettempdir(), prefix + os.urandom(8).hex())  # noqa: PTH118
    _directories.add(name)
    os.mkdir(name, 0o700)  # noqa: PTH102
    return name


def remove_directory(name: str) -> None:
    """Remove a temporary directory made here, with all that is in it."""
    shutil.rmtree(name, ignore_errors=True)
    _directories.discard(name)


@contextmanager
def temporary_directory(prefix: str) -> Iterator[str]:
    """A directory for as long as the context lasts."""
    name = make_directory(prefix)
    try:
        yield name
    finally:
        remove_directory(name)


def remove_all() -> None:
    """Remove the directories that an interruption has left behind."""
    for name in list(_directories):
        remove_directory(name)
