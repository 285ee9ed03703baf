"""What several machines, clones and runs at a time need in order to have one cache."""

from __future__ import annotations

import os
import sys
import time
from contextlib import contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING

from nparam_lint.cache.store import Store, digest, directory, sources, tool
from nparam_lint.repository import ask_git

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

LOCK = "lock"  # the file's name
_PATIENCE = 5.0  # seconds; other runs write for milliseconds
# How the names of the metadata begin of packages that read what entries say.
_BESIDE = ("libcst-", "msgspec-", "pathspec-", "tomli-", "tomlkit-")
_releases: dict[str, str] = {}


def open_store(named: Path | None, home: Path, environ: Mapping[str, str]) -> Store:
    """What is remembered about the project at `home`. `named`: the cache directory that the user
    named, if any."""
    base = str(named) if named else directory(environ)
    return Store(base, _known_name(home), shared=named is not None)


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


_known_name = cache(project_name)  # git is not asked at every edit


def release(store: Store) -> str:
    """A name for what nparam-lint is, on whatever machine: results of another one are not used."""
    own = tool()
    if own not in _releases:
        kept = store.beside("nparam-lint")
        body = kept.load(own)
        if body is None:
            body = _content().encode()
            kept.save(own, body)
        _releases[own] = body.decode()
    return _releases[own]


def _content() -> str:
    parts = [b"%d.%d" % sys.version_info[:2]]
    for folder in filter(os.path.isdir, sys.path):
        if folder.endswith(("site-packages", "dist-packages")):
            names = sorted(os.listdir(folder))
            parts += [os.fsencode(n) for n in names if n.startswith(_BESIDE) and "-info" in n]
    for entry in sources():
        if entry.name != "_version.py":  # of the same files
            with open(entry.path, "rb") as file:
                parts += [os.fsencode(entry.name), file.read()]
    return digest(*parts)


@contextmanager
def locked(store: Store) -> Iterator[None]:
    """One process at a time reads an entry, adds to it and writes it: what another one adds
    meanwhile would be lost. Where that cannot be had it goes on without: what is lost is measured
    again."""
    lock = None
    if store.prepare():
        with suppress(ImportError, OSError):  # there is none on Windows; the disk has none
            from fcntl import LOCK_EX, LOCK_NB, flock

            lock = open(os.path.join(store.folder, LOCK), "ab")  # noqa: SIM115
            end = time.monotonic() + _PATIENCE
            while time.monotonic() < end:
                with suppress(BlockingIOError):
                    flock(lock, LOCK_EX | LOCK_NB)
                    break
                time.sleep(0.002)
    try:
        yield
    finally:
        if lock:
            lock.close()
