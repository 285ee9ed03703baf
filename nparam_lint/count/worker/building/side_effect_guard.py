"""Keeps accidents away from the user: writes, programs and connections are refused."""

import os
import sys

from ..state import STATE
from ..tracing.project_paths import is_project, line_of, without_copy
from ..tracing.read_tracer import record_event


class RefusedAction(PermissionError):
    """What project code gets for writing, connecting or starting programs while it is counted."""


_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_HARMLESS_PROGRAMS = frozenset(
    "uname ldconfig lscpu nvidia-smi rocminfo sysctl lsb_release".split()
)
# Audit event -> which of its arguments is a path that it changes, and which the directory that this
# starts from.
_PATHS = {
    "os.mkdir": ((0, 2),),
    "os.remove": ((0, 1),),
    "os.rmdir": ((0, 1),),
    "os.rename": ((0, 2), (1, 3)),
    "os.link": ((1, 3),),
    "os.symlink": ((1, 2),),
    "os.truncate": ((0, None),),
    "os.chmod": ((0, 2),),
    "os.chown": ((0, 3),),
    "os.utime": ((0, 3),),
    "os.setxattr": ((0, None),),
    "sqlite3.connect": ((0, None),),
}
_PROGRAMS = frozenset(
    "subprocess.Popen os.system os.exec os.posix_spawn os.spawn os.startfile".split()
)
_NETWORK = frozenset(
    "socket.connect socket.getaddrinfo socket.gethostbyname socket.sendto webbrowser.open".split()
)


def _may_write(path, directory=-1):
    if isinstance(path, int):
        return True  # a file that is open already
    path = os.fsdecode(path)
    if isinstance(directory, int) and directory >= 0:  # shutil.rmtree works this way
        try:
            path = os.path.join(os.readlink(f"/proc/self/fd/{directory}"), path)
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
    text = f"nparam-lint refused {without_copy(what)} while it was counting"
    text += f" (asked for at {where})" if where else ""
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
            _refuse(f"to write {os.fsdecode(path)!r}")
    elif event in ("os.listdir", "os.scandir"):
        record_event(event, args)
    elif event in _PATHS:
        for index, directory in _PATHS[event]:
            is_given = directory is not None and directory < len(args)
            if not _may_write(args[index], args[directory] if is_given else -1):
                _refuse(f"{event} of {os.fsdecode(args[index])!r}")
    elif event in _PROGRAMS:
        program = args[0] if not isinstance(args[0], (list, tuple)) else args[0][0]
        name = os.path.basename(os.fsdecode(program)).split(" ")[0] if program else ""
        if name not in _HARMLESS_PROGRAMS:
            _refuse(f"to start the program {name!r}")
    elif event in _NETWORK:
        address = args[1] if event in ("socket.connect", "socket.sendto") else args[0]
        if isinstance(address, (str, bytes)) and event == "socket.connect":
            return  # a Unix socket
        _refuse(f"a network connection to {address!r}")
    elif event in ("os.kill", "os.killpg") and args[0] in (os.getppid(), 0, -1, 1, -os.getppid()):
        _refuse(f"to kill process {args[0]}")


def guard_file_writer(target):
    """Refuse what torch.save would write; see `torch_compat.wrap_file_writer`."""
    if STATE.is_guarded and isinstance(target, (str, bytes)) and not _may_write(target):
        _refuse(f"to write {os.fsdecode(target)!r}")
