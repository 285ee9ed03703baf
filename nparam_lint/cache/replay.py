"""The answer of the last run, where nothing that it rests on has changed since.

Nothing is read but the state of files and directories (times, size, inode), as git does it; whoever
changes a file changes its state. This is all that a run without a change imports.
"""

from __future__ import annotations

import os
import sys

from nparam_lint.cache.store import Store, digest, directory, tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# What a shell changes from command to command, and no answer depends on.
_PASSING = ("_", "SHLVL", "OLDPWD", "PWD")


def replay(arguments: Sequence[str], environ: Mapping[str, str]) -> int | None:
    """Print what the last run with these arguments printed; returns its exit code. None: it may
    come out otherwise now, or there was none."""
    if "--no-cache" in arguments:
        return None
    store = Store(directory(environ), os.getcwd())
    body = store.load(name_of(arguments, environ))
    if body is None:
        return None
    head, _, rest = body.partition(b"\n")
    try:
        code, length = map(int, head.split())
    except ValueError:
        return None
    for line in rest[length:].split(b"\n"):
        state, _, path = line.partition(b" ")
        if state_of(path) != state:
            return None
    try:
        _print(rest[:length])
    except BrokenPipeError:  # `nparam-lint | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    return code


def name_of(arguments: Sequence[str], environ: Mapping[str, str]) -> str:
    """The entry's name: all that decides on an answer besides files."""
    variables = sorted(f"{k}={v}" for k, v in environ.items() if k not in _PASSING)
    look = (sys.stdout.encoding, str(sys.stdout.isatty()), str(sys.stderr.isatty()), _width())
    parts = (tool(), os.getcwd(), *look, str(len(arguments)), *arguments, *variables)
    return "run-" + digest(*(part.encode("utf-8", "surrogateescape") for part in parts))


def state_of(path: bytes) -> bytes:
    """What changes whenever a file or a directory does; of what is not there, that."""
    try:
        state = os.stat(path)
    except (OSError, ValueError):
        return b"-"
    return b"%d:%d:%d:%d" % (state.st_mtime_ns, state.st_ctime_ns, state.st_size, state.st_ino)


def _width() -> str:
    """The width of the terminal, also where a hook runner stands between it and us."""
    try:
        return str(os.get_terminal_size(sys.__stdout__.fileno()).columns)  # type: ignore[union-attr]
    except (AttributeError, OSError, ValueError):
        pass
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except (AttributeError, OSError):
        return ""
    try:
        return str(os.get_terminal_size(terminal).columns)
    except OSError:
        return ""
    finally:
        os.close(terminal)


def _print(text: bytes) -> None:
    sys.stdout.flush()
    view = memoryview(text)
    while view:
        view = view[os.write(1, view) :]
