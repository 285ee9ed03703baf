"""The cache directory: small files that are whole or not there.

Imported by the run that finds nothing changed, so that it imports next to nothing itself.
"""

from __future__ import annotations

import os
import sys
import time
from _blake2 import blake2b

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

VERSION = "v1"  # of the layout; what another one wrote is left alone until `clean`
TAG = "CACHEDIR.TAG"  # https://bford.info/cachedir: backups pass over the directory
_TAG_TEXT = (
    b"Signature: 8a477f597d28d172789f06886806bc55\n"
    b"# What nparam-lint remembers between runs. It may be deleted at any time.\n"
)
_DIGEST = 16  # bytes
_FRESH = 3600.0  # seconds in which another use of an entry is not noted


def digest(*parts: bytes) -> str:
    """A name for the content of all parts together."""
    state = blake2b(digest_size=_DIGEST)
    for part in parts:
        state.update(b"%d:" % len(part))
        state.update(part)
    return state.hexdigest()


def directory(environ: Mapping[str, str]) -> str | None:
    """The cache directory: NPARAM_LINT_CACHE_DIR, else where the system keeps such things; None
    where it says none (no home)."""
    own = environ.get("NPARAM_LINT_CACHE_DIR")
    if own:
        return os.path.abspath(own)
    home = os.path.expanduser("~")
    if sys.platform == "win32":
        base = environ.get("LOCALAPPDATA")
    elif sys.platform == "darwin":
        base = os.path.join(home, "Library", "Caches")
    else:
        base = environ.get("XDG_CACHE_HOME")
        base = base if base and os.path.isabs(base) else os.path.join(home, ".cache")
    return os.path.join(base, "nparam-lint") if base and os.path.isabs(base) else None


def tool() -> str:
    """A name for this very version of nparam-lint and of what is installed beside it: what another
    one found out is not asked."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parts = [sys.version.encode()]
    for folder in sys.path:
        if folder.endswith("site-packages"):
            try:
                parts.append(f"{folder} {os.stat(folder).st_mtime_ns}".encode())
            except OSError:
                pass
    for folder in [package, *sorted(entry.path for entry in os.scandir(package) if entry.is_dir())]:
        for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
            if entry.name.endswith(".py"):
                state = entry.stat()
                parts.append(f"{entry.path} {state.st_size} {state.st_mtime_ns}".encode())
    return digest(*parts)


class Store:
    """What is remembered about one project. Every method does nothing where nothing can be kept: a
    disk that is full or cannot be written, an entry that is damaged or that somebody else owns.

    An entry is written to a file of its own and put in place under its name at once, so that of
    several runs at a time each reads a whole one; its first bytes are the digest of the rest.
    """

    def __init__(self, base: str | None, project: str) -> None:
        """`base`: the cache directory; None: nothing is kept. `project`: its absolute path."""
        self.top = os.path.join(base, VERSION) if base else None
        name = digest(os.fsencode(project))
        self.folder = os.path.join(self.top, name) if self.top else ""
        self._usable: bool | None = None if self.top else False

    def load(self, name: str) -> bytes | None:
        """The entry of that name; None where there is none that is whole."""
        if not self._is_ours():
            return None
        path = os.path.join(self.folder, name)
        try:
            with open(path, "rb", buffering=0) as file:
                data = file.read()
        except OSError:
            return None
        body = data[_DIGEST:]
        if blake2b(body, digest_size=_DIGEST).digest() != data[:_DIGEST]:
            return None
        return body

    def note_use(self, name: str) -> None:
        """Keep the entry from being the first to go."""
        path = os.path.join(self.folder, name)
        try:
            if time.time() - os.stat(path).st_mtime > _FRESH:
                os.utime(path)
        except OSError:
            pass

    def save(self, name: str, body: bytes) -> bool:
        """Keep an entry under that name, in place of what was there; returns whether it is kept."""
        if not self._prepare():
            return False
        path = os.path.join(self.folder, name)
        partial = f"{path}.{os.getpid()}.partial"
        try:
            with open(partial, "wb", buffering=0) as file:
                data = blake2b(body, digest_size=_DIGEST).digest() + body
                whole = file.write(data) == len(data)  # a disk that is full takes a part
            if whole:
                os.replace(partial, path)
                return True
        except OSError:
            pass
        try:
            os.unlink(partial)
        except OSError:
            pass
        return False

    def _is_ours(self) -> bool:
        """Whether the folder is there and ours: what others wrote could say that all is well."""
        if self._usable is None:
            try:
                owner = os.stat(self.folder).st_uid
            except OSError:
                return False
            self._usable = not hasattr(os, "geteuid") or owner == os.geteuid()
        return self._usable

    def _prepare(self) -> bool:
        if self._usable is None and self.top:
            try:
                os.makedirs(self.folder, mode=0o700, exist_ok=True)
                tag = os.path.join(self.top, TAG)
                if not os.path.exists(tag):
                    with open(tag, "wb") as file:
                        file.write(_TAG_TEXT)
            except OSError:
                self._usable = False
        return self._is_ours()
