"""The cache directory: small files that are whole or not there.

Imported by the run that finds nothing changed, so that it imports next to nothing itself.
"""

from __future__ import annotations

import os
import stat
import sys
import time
from _blake2 import blake2b

from nparam_lint.ground.facts import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

VERSION = "v1"  # of the layout; what another one wrote is left alone until `clean`
TAG = "CACHEDIR.TAG"  # https://bford.info/cachedir: backups pass over the directory
RESIDENT = "resident"  # the folder of workers that stay, in the cache directory
PARTIAL = ".partial"  # how the name of what is not finished ends
NOWHERE = "there is no home directory; set NPARAM_LINT_CACHE to a directory"
# The same in every version: by it a directory is known as ours.
_TAG_TEXT = (
    b"Signature: 8a477f597d28d172789f06886806bc55\n"
    b"# What nparam-lint remembers between runs. It may be deleted at any time.\n"
)
_DIGEST = 16  # bytes
_FRESH = 3600.0  # seconds in which another use of an entry is not noted
_MUCH = 8_000_000  # bytes saved by one run, after which it looks whether there is too much
DAY = 86400.0  # seconds; otherwise it looks once in that time


def directory(environ: Mapping[str, str], platform: str = sys.platform) -> str | None:
    """The cache directory: NPARAM_LINT_CACHE, else where the system keeps such things; None where
    it says none (no home)."""
    path = named(environ)
    if path:
        return path
    home = environ["HOME"] if "HOME" in environ else os.path.expanduser("~")
    if platform == "win32":
        base = environ.get("LOCALAPPDATA", "")
    elif platform == "darwin":
        base = os.path.join(home, "Library", "Caches")
    else:
        base = environ.get("XDG_CACHE_HOME", "")
        base = base if os.path.isabs(base) else os.path.join(home, ".cache")
    return os.path.join(base, "nparam-lint") if os.path.isabs(base) else None


def named(environ: Mapping[str, str]) -> str | None:
    """The directory that the user names as the cache, if any."""
    path = environ.get("NPARAM_LINT_CACHE")
    return os.path.abspath(os.path.expanduser(path)) if path else None


_tool = ""


def tool() -> str:
    """A name for exactly this version of nparam-lint and of the packages beside it on this machine:
    answers of other versions are not used. It is computed once, so that installing a package during
    a run changes nothing."""
    global _tool
    if _tool:
        return _tool
    parts = [sys.version.encode()]
    for folder in sys.path:
        if folder.endswith(("site-packages", "dist-packages")):
            try:
                parts.append(b"%s %d" % (os.fsencode(folder), os.stat(folder).st_mtime_ns))
            except OSError:
                pass
    for entry in sources():
        state = entry.stat()
        numbers = (state.st_size, state.st_mtime_ns, state.st_ctime_ns)
        parts.append(b"%s %d %d %d" % (os.fsencode(entry.path), *numbers))
    _tool = digest(*parts)
    return _tool


def sources() -> Iterator[os.DirEntry[str]]:
    """The files that nparam-lint consists of, in a fixed order."""
    folders = [os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]
    for folder in folders:
        for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
            if entry.name.endswith(".py"):
                yield entry
            elif entry.name != "__pycache__" and entry.is_dir():
                folders.append(entry.path)


class Store:
    """What is remembered about one project. Every method does nothing where nothing can be kept: a
    disk that is full or cannot be written, an entry that is damaged, a directory that others can
    write to.

    An entry is written to a file of its own and put in place under its name at once, so that of
    several runs at a time each reads a whole one; its first bytes are the digest of the rest, and
    of where it belongs.

    `saved`: how many bytes were kept so far. `trouble`: why the last entry was not, in words.
    """

    def __init__(self, base: str | None, project: str, *, shared: bool = False) -> None:
        """`base`: the cache directory; None: nothing is kept. `project`: its absolute path, or what
        it is called on every machine. `shared`: the user has named the directory, and so trusts
        everybody who can write there."""
        name = digest(os.fsencode(project))
        self.base = base
        self.top = os.path.join(base, VERSION) if base else ""
        self.folder = os.path.join(self.top, name) if base else ""
        self.saved = 0
        self.trouble = "" if base else NOWHERE
        self._project, self._shared = name.encode(), shared
        self._usable: bool | None = None if base else False

    def load(self, name: str) -> bytes | None:
        """The entry of that name; None where there is none that is whole."""
        if not self._is_ours():
            return None
        data = _read(os.path.join(self.folder, name))
        if data is None:
            return None
        body = data[_DIGEST:]
        return body if self._seal(name, body) == data[:_DIGEST] else None

    def note_use(self, name: str) -> None:
        """Keep the entry from being the first to go."""
        if not self._is_ours():
            return
        path = os.path.join(self.folder, name)
        try:
            if time.time() - os.stat(path).st_mtime > _FRESH:
                os.utime(path)
        except OSError:
            pass

    def save(self, name: str, body: bytes) -> bool:
        """Keep an entry under that name, in place of what was there; returns whether it is kept."""
        if not self.prepare():
            return False
        path = os.path.join(self.folder, name)
        # Not the number of the process: in two containers over one directory it may be the same.
        partial = f"{path}.{os.urandom(8).hex()}{PARTIAL}"
        try:
            with open(partial, "xb") as file:
                file.write(self._seal(name, body) + body)
            os.replace(partial, path)
        except OSError as error:
            self.trouble = f"{path}: {error.strerror}"
            return False
        finally:
            _remove(partial)  # an interrupted run leaves here, too
        self.saved += _DIGEST + len(body)
        return True

    def beside(self, name: str) -> Store:
        """Another part of the same cache."""
        return Store(self.base, name, shared=self._shared)

    def wants_trim(self) -> bool:
        """Whether to check the size at the end of a run: if it saved something, and either a lot or
        as the first run in a day."""
        if not self.base or not self.saved:
            return False
        # The tag is never written again, so that its time can say when somebody looked.
        tag = os.path.join(self.top, TAG)
        try:
            if self.saved < _MUCH and 0 <= time.time() - os.stat(tag).st_mtime < DAY:
                return False
            os.utime(tag)
        except OSError:
            return False
        return True

    def _seal(self, name: str, body: bytes) -> bytes:
        state = blake2b(b"%s/%s\n" % (self._project, os.fsencode(name)), digest_size=_DIGEST)
        state.update(body)
        return state.digest()

    def _is_ours(self) -> bool:
        """Whether the folder exists and is ours: entries that others wrote could claim that all is
        well."""
        if self._usable is None:
            try:
                self._usable = self._is_private(self.top) and self._is_private(self.folder)
            except OSError:
                return False
        return self._usable

    def _is_private(self, folder: str) -> bool:
        state = os.lstat(folder)
        if not stat.S_ISDIR(state.st_mode):
            self.trouble = f"{folder} is not a directory"
        elif self._shared:
            return True
        elif hasattr(os, "geteuid") and state.st_uid != os.geteuid():
            self.trouble = f"{folder} belongs to another user"
        elif hasattr(os, "geteuid") and state.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            self.trouble = f"{folder} can be written by other users"
        else:
            return True
        return False

    def prepare(self) -> bool:
        """Make the folder, unless it is there; returns whether it can be used."""
        if self._usable is None:
            mode = 0o777 if self._shared else 0o700
            try:
                if not is_tagged(self.top):
                    _make_top(self.top, mode)
                if self._is_private(self.top):
                    os.makedirs(self.folder, mode=mode, exist_ok=True)
            except OSError as error:
                foreign = os.path.lexists(self.top) and not is_tagged(self.top)
                fault = f"{error.filename}: {error.strerror}"
                self.trouble = f"{self.top} was not made by nparam-lint" if foreign else fault
                self._usable = False
        return self._is_ours()


def is_tagged(top: str) -> bool:
    """Whether a directory was made by nparam-lint, so that what is in it may be removed."""
    return _read(os.path.join(top, TAG)) == _TAG_TEXT


def _make_top(top: str, mode: int) -> None:
    """Make the directory with its tag in it, at once: one that is there without the tag is somebody
    else's. Raises OSError if it is there afterwards neither by us nor by a run at the same time."""
    fresh = f"{top}.{os.urandom(8).hex()}{PARTIAL}"
    os.makedirs(fresh, mode=mode)
    try:
        with open(os.path.join(fresh, TAG), "xb") as file:
            file.write(_TAG_TEXT)
        os.rename(fresh, top)
    except OSError:
        if not is_tagged(top):
            raise
    finally:
        _remove(os.path.join(fresh, TAG))
        try:
            os.rmdir(fresh)
        except OSError:
            pass


def _read(path: str) -> bytes | None:
    """The content of a file; None if there is none. A pipe in its place is not waited for, a link
    is not followed."""
    try:
        with open(path, "rb", buffering=0, opener=_open) as file:
            return file.read()
    except OSError:
        return None


def _open(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass
