"""Keeps accidents away from the user: writes, programs and connections are refused."""

from __future__ import annotations

import os
import sys

from ..state import STATE
from ..tracing.project_paths import is_project, line_of, without_copy
from ..tracing.read_tracer import record_event


class RefusedAction(PermissionError):
    """What project code gets for writing, connecting or starting programs while it is counted."""


_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_HARMLESS_PROGRAMS = {
    "uname",
    "ldconfig",
    "lscpu",
    "nvidia-smi",
    "rocminfo",
    "sysctl",
    "lsb_release",
}
_PATHS = {  # audit event -> which of its arguments are paths that it changes
    "os.mkdir": (0,),
    "os.remove": (0,),
    "os.rmdir": (0,),
    "os.rename": (0, 1),
    "os.link": (1,),
    "os.symlink": (1,),
    "os.truncate": (0,),
    "os.chmod": (0,),
    "os.chown": (0,),
    "os.utime": (0,),
    "os.setxattr": (0,),
    "sqlite3.connect": (0,),
}
_DIRECTORIES = {  # audit event -> which arguments are the directories that its paths start from
    "os.mkdir": (2,),
    "os.remove": (1,),
    "os.rmdir": (1,),
    "os.rename": (2, 3),
    "os.link": (3,),
    "os.symlink": (2,),
    "os.chmod": (2,),
    "os.chown": (3,),
    "os.utime": (3,),
}
_PROGRAMS = {
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.spawn",
    "os.startfile",
}
_NETWORK = {
    "socket.connect",
    "socket.getaddrinfo",
    "socket.gethostbyname",
    "socket.sendto",
    "webbrowser.open",
}


def _may_write(path, directory=-1):
    if isinstance(path, int):
        return True  # a file that is open already
    path = os.fsdecode(path)
    if isinstance(directory, int) and directory >= 0:  # shutil.rmtree works this way
        try:
            path = os.path.join(os.readlink("/proc/self/fd/{}".format(directory)), path)
        except OSError:
            return False
    if path in (":memory:", ""):
        return True
    path = os.path.realpath(path)
    if path == STATE.temporary or path.startswith((STATE.temporary + os.sep, "/dev/")):
        return True
    # Bytecode of installed packages: importing them anywhere writes it; refusing slows every run.
    return path.rpartition(".")[2].startswith("pyc") and not is_project(path)


def _refuse(what):
    where = line_of(sys._getframe(2))
    text = "nparam-lint refused {} while it was counting{}".format(
        without_copy(what), " (asked for at {})".format(where) if where else ""
    )
    if len(STATE.refusals) < 5 and text not in STATE.refusals:
        STATE.refusals.append(text)
    raise RefusedAction(text)


def guard(event, args):
    """The audit hook. Called for everything that happens: the common events leave at once."""
    if event == "open":
        path, mode, flags = args
        writes = any(c in mode for c in "wxa+") if isinstance(mode, str) else flags & _WRITING
        if not writes:
            record_event(event, args)
        elif not _may_write(path):
            _refuse("to write {!r}".format(os.fsdecode(path)))
    elif event in ("os.listdir", "os.scandir"):
        record_event(event, args)
    elif event in _PATHS:
        directories = _DIRECTORIES.get(event, ())
        for place, index in enumerate(_PATHS[event]):
            at = directories[place] if place < len(directories) else len(args)
            if not _may_write(args[index], args[at] if at < len(args) else -1):
                _refuse("{} of {!r}".format(event, os.fsdecode(args[index])))
    elif event in _PROGRAMS:
        program = args[0] if not isinstance(args[0], (list, tuple)) else args[0][0]
        name = os.path.basename(os.fsdecode(program)).split(" ")[0] if program else ""
        if name not in _HARMLESS_PROGRAMS:
            _refuse("to start the program {!r}".format(name))
    elif event in _NETWORK:
        address = args[1] if event in ("socket.connect", "socket.sendto") else args[0]
        if isinstance(address, (str, bytes)) and event == "socket.connect":
            return  # a Unix socket
        _refuse("a network connection to {!r}".format(address))
    elif event in ("os.kill", "os.killpg") and args[0] in (os.getppid(), 0, -1, 1, -os.getppid()):
        _refuse("to kill process {}".format(args[0]))


def guard_file_writer(target):
    """Refuse what torch.save would write; see `torch_compat.wrap_file_writer`."""
    if STATE.is_guarded and isinstance(target, (str, bytes)) and not _may_write(target):
        _refuse("to write {!r}".format(os.fsdecode(target)))
