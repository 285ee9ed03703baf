"""The files of a project as one bundle, named by the digest of its content: packed here, and
unpacked once on each machine."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import stat
import tarfile
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from nparam_lint.ground.errors import UsageError
from nparam_lint.ground.facts import digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MOST = 500_000_000  # bytes of a project's files: it is packed and sent in memory
KEPT = 16  # bundles that a machine keeps for the next run


class Bundle(Struct, frozen=True):
    """`data`: a compressed tar archive. `digest`: its name. `inside`: where in it the project's
    root is; the directory above is the top of what it was made of."""

    data: bytes
    digest: str
    inside: str


def pack(root: Path, inside: str, files: Iterable[str]) -> Bundle:
    """The files, which are relative to `root`, with the content of what links lead to. Those that
    cannot be read are left out: no build could read them either. Raises UsageError where they are
    too many to be sent."""
    total, largest = 0, (0, "")
    target = io.BytesIO()
    with (
        gzip.GzipFile("", "wb", 1, target, mtime=0) as stream,
        tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name in sorted(files):
            try:
                data = (root / name).read_bytes()
            except OSError:
                continue
            total, largest = total + len(data), max(largest, (len(data), name))
            if total > MOST:
                raise UsageError(
                    f"the project has more than {MOST // 10**6} MB of files, which is too much to "
                    f"send; the largest so far is {largest[1]} ({largest[0] // 10**6} MB)\n"
                    "next: let git ignore it, or count here, without --on"
                )
            entry = tarfile.TarInfo(f"{inside}/{name}")  # no times, no owners: content alone
            entry.size, entry.mode = len(data), 0o644
            archive.addfile(entry, io.BytesIO(data))
    content = target.getvalue()
    return Bundle(content, digest(content), inside)


@contextmanager
def unpacked(data: bytes, name: str) -> Iterator[Path]:
    """The directory with the files of a bundle, for as long as the context lasts. It stays there
    for the next run, until newer ones take its place. `name`: the bundle's digest. Raises OSError,
    and ValueError where the data is not what its name says."""
    import fcntl  # not on Windows, where this is never run

    place = _own_directory()
    tree = place / name
    while (descriptor := _hold(tree, fcntl.LOCK_SH)) is None:
        with (place / "lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not tree.is_dir():
                _unpack(data, tree)
                _remove_oldest(place)
    try:
        os.utime(tree)
        yield tree
    finally:
        os.close(descriptor)


def _hold(tree: Path, how: int) -> int | None:
    """A descriptor that keeps the directory from being removed; None where it is not there, or
    where it cannot be locked in that way."""
    import fcntl

    descriptor = None
    with suppress(FileNotFoundError, BlockingIOError):
        descriptor = os.open(tree, os.O_RDONLY)
        fcntl.flock(descriptor, how)
        if os.path.samestat(os.fstat(descriptor), tree.stat()):  # else it was removed meanwhile
            return descriptor
    if descriptor is not None:
        os.close(descriptor)
    return None


def _own_directory() -> Path:
    """Where bundles are kept on this machine: only its user can write there. Raises OSError."""
    place = Path(tempfile.gettempdir()) / f"nparam-lint-{os.getuid()}"
    place.mkdir(mode=0o700, exist_ok=True)
    state = place.lstat()
    shared = state.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if not stat.S_ISDIR(state.st_mode) or state.st_uid != os.getuid() or shared:
        raise PermissionError(
            13, "it is not a directory that only its user can write to", str(place)
        )
    return place


def _unpack(data: bytes, tree: Path) -> None:
    if digest(data) != tree.name:
        raise ValueError("the project's files arrived damaged")
    partial = tree.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)  # of a process that was killed
    try:
        partial.mkdir()
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as archive:
            if hasattr(tarfile, "data_filter"):
                archive.extractall(partial, filter="data")
            else:
                archive.extractall(partial)
        partial.rename(tree)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _remove_oldest(place: Path) -> None:
    """Remove the bundles that have not been used for longest, except those that are in use."""
    import fcntl

    trees = [path for path in place.iterdir() if path.is_dir()]
    trees.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for tree in trees[KEPT:]:
        if (descriptor := _hold(tree, fcntl.LOCK_EX | fcntl.LOCK_NB)) is not None:
            shutil.rmtree(tree, ignore_errors=True)
            os.close(descriptor)
