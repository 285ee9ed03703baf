"""Facts that earlier runs derived from the content of single files; and what every entry needs that
several versions and processes write: its version's name, a lock, and how it is decoded."""

from __future__ import annotations

import os
import sys
import time
import zlib
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from msgspec import json, msgpack
from msgspec.json import Decoder

from nparam_lint.cache.store import Store, sources, tool
from nparam_lint.ground.facts import digest

if TYPE_CHECKING:
    from collections.abc import Iterator


LOCK = "lock"  # the file's name
_PATIENCE = 5.0  # seconds; other runs write for milliseconds
# How the names of the metadata begin of packages that read what entries say.
_BESIDE = ("libcst-", "msgspec-", "pathspec-", "tomli-", "tomlkit-")
_releases: dict[str, str] = {}
_Value = TypeVar("_Value")
_making = Lock()
_decoders: dict[object, Decoder[Any]] = {}


class FactCache(Generic[_Value]):
    """Values by the digest of everything that they are computed from, kept as one entry of a store.

    The entry is read when the first value is asked for, and each value is decoded, with its types
    checked, when it is asked for itself. A value that cannot be decoded, or comes from another
    version of nparam-lint, counts as absent; one that cannot be encoded (half of a surrogate pair)
    is not kept.
    """

    def __init__(self, store: Store | None, name: str, kind: type[_Value]) -> None:
        """`name`: of the entry. `kind`: the type of the values, as msgspec understands it. Without
        a store nothing is remembered."""
        self._store, self._name, self._kind = store or Store(None, ""), name, kind
        self._used_keys: dict[str, None] = {}
        self._has_more = False

    def get(self, key: str) -> _Value | None:
        """The value of that key; None where there is none."""
        body = self._values.get(key)
        value = None if body is None else decoded(body, self._kind)
        if value is None:
            self._values.pop(key, None)
        else:
            self._used_keys[key] = None
        return value

    def put(self, key: str, value: _Value) -> None:
        """Remember a value; it is written by `save`."""
        if self._store.base is None:
            return
        try:
            self._values[key] = json.encode(value)
        except UnicodeError:
            return
        self._used_keys[key] = None
        self._has_more = True

    def save(self, room: int) -> None:
        """Write the entry if there is more in it than was read: at most `room` values, those first
        to go that have not been used for longest."""
        if not self._used_keys:
            return
        if not self._has_more:
            self._store.note_use(self._entry)
            return
        with locked(self._store):
            values = self._values
            additions = {k: v for k, v in self._load().items() if k not in values}  # another run's
            unused = (key for key in values if key not in self._used_keys)
            order = [*additions, *unused, *self._used_keys]
            every = additions | values
            newest = {key: every[key] for key in order[-room:]}
            self._store.save(self._entry, msgpack.encode(newest))
        self._has_more = False

    @cached_property
    def _values(self) -> dict[str, bytes]:
        # The values are kept as bytes, so that those that are not needed cost nothing.
        return self._load()

    @cached_property
    def _entry(self) -> str:
        # Of this version alone: several may write to one cache.
        return f"{self._name}-{release(self._store)}"

    def _load(self) -> dict[str, bytes]:
        body = self._store.load(self._entry) if self._store.base is not None else None
        if body is None:
            return {}
        try:
            values: dict[str, bytes] = msgpack.decode(body, type=dict[str, bytes])
        except (ValueError, RecursionError):
            return {}
        return values


def json_decoder(kind: type[_Value]) -> Decoder[_Value]:
    """A `msgspec.json.Decoder` that allows nothing but what `kind`, a type, declares.

    Made by one thread at a time: msgspec notes what it knows of a class on the class before it
    knows all of it, and a second thread that makes a decoder of the same class meanwhile reads
    through a null pointer (https://github.com/msgspec/msgspec/issues/401). The two revisions of
    `nparam-lint diff` are read by two threads. Decoders that are made can be shared.
    """
    with _making:
        if kind not in _decoders:
            _decoders[kind] = Decoder(kind)
        return _decoders[kind]


def decoded(body: bytes, kind: type[_Value]) -> _Value | None:
    """The value of that kind that some JSON has; None for anything else."""
    try:
        return json_decoder(kind).decode(body)
    except (ValueError, RecursionError):  # all that msgspec raises, at wrong types too
        return None


def load_packed(store: Store, name: str, kind: type[_Value]) -> _Value | None:
    """The value of an entry that is compressed JSON; None where there is none of that kind."""
    body = store.load(name)
    with suppress(zlib.error):
        return None if body is None else decoded(zlib.decompress(body), kind)
    return None


def packed(body: bytes) -> bytes:
    """What an entry that is large is kept as, for `load_packed`."""
    return zlib.compress(body, 1)  # the fastest level


def release(store: Store) -> str:
    """A name for what nparam-lint is, on whatever machine: results of another one are not used."""
    identity = tool()
    if identity in _releases:
        return _releases[identity]
    releases = store.beside("nparam-lint")
    body = releases.load(identity)
    if body is None:
        parts = [b"%d.%d" % sys.version_info[:2]]
        for folder in filter(os.path.isdir, sys.path):
            if folder.endswith(("site-packages", "dist-packages")):
                names = sorted(os.listdir(folder))
                parts += [os.fsencode(n) for n in names if n.startswith(_BESIDE) and "-info" in n]
        for entry in sources():
            if entry.name != "_version.py":  # of the same files
                with open(entry.path, "rb") as file:
                    parts += [os.fsencode(entry.name), file.read()]
        body = digest(*parts).encode()
        releases.save(identity, body)
    _releases[identity] = body.decode()
    return _releases[identity]


@contextmanager
def locked(store: Store) -> Iterator[None]:
    """One process at a time reads an entry, adds to it and writes it: what another one adds
    meanwhile would be lost. Where that cannot be had it goes on without: what is lost is measured
    again."""
    with ExitStack() as stack:
        if store.prepare():
            with suppress(ImportError, OSError):  # there is none on Windows; the disk has none
                from fcntl import LOCK_EX, LOCK_NB, flock

                lock = stack.enter_context(open(os.path.join(store.folder, LOCK), "ab"))
                end = time.monotonic() + _PATIENCE
                while time.monotonic() < end:
                    with suppress(BlockingIOError):
                        flock(lock, LOCK_EX | LOCK_NB)
                        break
                    time.sleep(0.002)
        yield
