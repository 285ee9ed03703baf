"""What a count may depend on, as facts: a question about a path, and its answer at the time.

The worker notes them while it builds, and `cache.replay_inputs` while a run reads; the front end,
which reads this file too, asks again whether they still hold. No torch here, nothing but the
standard library, and little of that.
"""

from __future__ import annotations

import os
import stat
from _blake2 import blake2b  # as hashlib has it, which takes longer to import

LARGE = 1 << 26  # bytes of a file that is not read in order to see whether it is the same
DISTRIBUTIONS = (".dist-info", ".egg-info", ".egg", ".egg-link")  # how the names of these end
# The original functions: the worker replaces them by others that record their use.
STAT, LSTAT = os.stat, os.lstat
_KINDS = ((stat.S_ISREG, "file"), (stat.S_ISDIR, "directory"), (stat.S_ISLNK, "link"))


def escaped(text: str, backslash: str = "\\") -> str:
    r"""`text` in which no half of a surrogate pair is left: neither UTF-8 nor JSON has any. Python
    has them for the bytes of a file's name that are not UTF-8 (`\udcff`)."""
    if text.isascii():  # as nearly always, and found out at once
        return text
    import re

    return re.sub("[\ud800-\udfff]", lambda half: f"{backslash}u{ord(half[0]):04x}", text)


def unescaped(path: str) -> str:
    """The path that was `escaped`."""
    if "\\u" not in path:
        return path
    import re

    return re.sub(r"\\u(dc[89a-f][0-9a-f])", lambda half: chr(int(half[1], 16)), path)


def fact(question: str, path: str) -> str:
    """A question about a path, as the key of its answer. (No path has a zero in it.)"""
    return question + "\0" + path


def answer(question: str, path: str) -> str | None:
    """The current answer to `question` about a path; None if nothing is there, or access is denied.

    "content": a digest of the file, or the state of a large one. "names": a digest of the names in
    a directory, and of what kinds of file they are. "distributions": of those that the metadata
    of packages has. "state": what changes whenever the file or directory does. "stat", "lstat":
    what kind of file it is. "readlink": where it leads. "accessMODE": whether that is allowed.
    """
    try:
        if question == "content" and STAT(path).st_size <= LARGE:
            with open(path, "rb", buffering=0) as file:
                return digest(file.read())
        if question == "names":
            with os.scandir(path) as entries:
                kinds = [(e.name, e.is_dir(), e.is_file(), e.is_symlink()) for e in entries]
            return digest(repr(sorted(kinds)).encode())
        if question == "distributions":
            names = sorted(n for n in os.listdir(path) if n.lower().endswith(DISTRIBUTIONS))
            return digest(*map(os.fsencode, names))
        if question == "readlink":
            return os.readlink(path)
        if question.startswith("access"):
            return str(os.access(path, int(question[len("access") :])))
        state = LSTAT(path) if question == "lstat" else STAT(path)
    except (OSError, ValueError):
        return None
    if question in ("stat", "lstat"):
        return kind_of(state)
    return f"{state.st_mtime_ns}:{state.st_ctime_ns}:{state.st_size}:{state.st_ino}"


def kind_of(state: os.stat_result) -> str:
    """The kind of file that an `os.stat_result` is of."""
    return next((kind for is_kind, kind in _KINDS if is_kind(state.st_mode)), "other")


def digest(*parts: bytes | str) -> str:
    """A name for the content of all parts together; that of a text is its UTF-8."""
    state = blake2b(digest_size=16)
    for part in parts:
        if isinstance(part, str):
            part = part.encode("utf-8", "surrogateescape")
        state.update(b"%d:" % len(part))
        state.update(part)
    return state.hexdigest()
