"""Results of earlier runs, in the user's cache directory: without it a run gives the same answers,
only more slowly. This module prints the answer of the last run again if nothing has changed.

Only the state of files and directories (times, size, inode) is read, as git does; whoever changes a
file changes its state. A run in which nothing has changed imports nothing else.
"""

from __future__ import annotations

import os
import sys
from stat import S_IFMT, S_ISLNK

from nparam_lint.cache.store import Store, digest, directory, named, tool
from nparam_lint.cache.variables import decides, value_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


def replay(
    arguments: Sequence[str],
    environ: Mapping[str, str],
    changed: Callable[[str, Mapping[str, str]], None],
) -> int | None:
    """Print what the last run with these arguments printed; returns its exit code. None: the answer
    may be different now, or there was none. If the content of a Python file has changed, most
    likely something must be built: then `changed` is called with the interpreter of the last run
    and the environment."""
    if any(word.startswith("--no-c") for word in arguments):  # as argparse abbreviates it
        return None
    try:
        store, name = answers(environ), name_of(arguments, environ)
        head, _, rest = (store.load(name) or b"").partition(b"\n")
        code, length, python = head.split(b" ", 2)
        text, lines = rest[: int(length)], rest[int(length) :].split(b"\n")
        same = True
        for line in lines:
            state, was, path = line.split(b" ", 2)
            if was == ASKED:
                same = same and value_state(os.fsdecode(path), environ) == state
            elif was == LOOKED:
                same = same and look_of(path) == state
            elif state_of(path) != state and (was == UNREAD or content_of(path) != was):
                same = False
                if python and path.endswith(b".py") and was != UNREAD:
                    changed(os.fsdecode(python), environ)
                    break
        if not same:
            return None
        store.note_use(name)
    except (AttributeError, OSError, ValueError):  # no directory, no output, no such entry
        return None
    try:
        sys.stdout.buffer.write(text)
        sys.stdout.flush()
    except BrokenPipeError:  # `nparam-lint | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return int(code)


def answers(environ: Mapping[str, str]) -> Store:
    """What is kept of the answers that were given in the current directory. They are of use on this
    machine alone."""
    return Store(directory(environ), os.getcwd(), shared=named(environ) is not None)


def name_of(arguments: Sequence[str], environ: Mapping[str, str]) -> str:
    """The entry's name: everything that an answer depends on, except files, and the variables that
    models have asked for."""
    variables = sorted(f"{name}={value}" for name, value in environ.items() if decides(name))
    look = (sys.stdout.encoding, str(sys.stdout.isatty()), str(sys.stderr.isatty()), _width())
    parts = (tool(), os.getcwd(), *look, str(len(arguments)), *arguments, *variables)
    return "run-" + digest(*(part.encode("utf-8", "surrogateescape") for part in parts))


def state_of(path: bytes) -> bytes:
    """A value that changes whenever a file or a directory does; NOTHING if there is none."""
    try:
        state = os.stat(path)
    except (OSError, ValueError):
        return NOTHING
    return b"%d:%d:%d:%d" % (state.st_mtime_ns, state.st_ctime_ns, state.st_size, state.st_ino)


NOTHING = b"-"  # the state of what is not there
UNREAD = b"-"  # of a file that is known by its state alone
ASKED = b"$"  # of an environment variable
LOOKED = b"?"  # of a path of which it only matters what it is, and where it leads


def value_state(name: str, environ: Mapping[str, str]) -> bytes:
    """A value that changes with that of a variable, or of several (`value_of`)."""
    value = value_of(name, environ)
    if value is None:
        return NOTHING
    return digest(value.encode("utf-8", "surrogateescape")).encode()


def look_of(path: bytes) -> bytes:
    """What is at a path: a link and its target, another kind of file, or nothing."""
    try:
        mode = os.lstat(path).st_mode
        return digest(os.readlink(path)).encode() if S_ISLNK(mode) else b"%o" % S_IFMT(mode)
    except OSError:
        return UNREAD


def content_of(path: bytes) -> bytes:
    """A name for what a file contains, or for the names in a directory."""
    try:
        if os.path.isdir(path):
            return digest(*sorted(os.listdir(path))).encode()
        with open(path, "rb", buffering=0) as file:
            return digest(file.read()).encode()
    except OSError:
        return UNREAD


def _width() -> str:
    """The width of the terminal, also when a hook runner captures the output."""
    try:
        return str(os.get_terminal_size(sys.__stdout__.fileno()).columns)  # type: ignore[union-attr]
    except (AttributeError, OSError, ValueError):
        pass
    try:
        with open("/dev/tty", "rb", buffering=0) as terminal:
            return str(os.get_terminal_size(terminal.fileno()).columns)
    except (AttributeError, OSError):
        return ""
