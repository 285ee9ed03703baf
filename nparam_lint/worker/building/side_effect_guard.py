"""Guards against accidents: writes, programs and connections are refused."""

import errno
import io
import os
import re
import shutil
import stat
import sys
import urllib.parse
from traceback import walk_tb

from ...ground.facts import answer
from ..state import STATE
from ..tracing.project_paths import OWN, from_copy, is_project, line_of, without_copy
from ..tracing.read_tracer import (
    NO_FILES,
    record_c_function,
    record_event,
    record_library,
    record_map,
    record_read,
    record_unseen,
)


class RefusedAction(PermissionError):
    """Raised in project code that writes, connects or starts programs while it is being counted."""


_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# Programs that report about the machine, and what none of their arguments may be: of some, others
# write a file or change a setting.
HARMLESS_PROGRAMS = {
    **dict.fromkeys(("uname", "lscpu", "rocminfo", "lsb_release"), re.compile(r"(?!)")),
    "ldconfig": re.compile(r"(?!-[pNXv]+$|--print-cache$|--version$)"),
    "sysctl": re.compile(r".*=|-[a-z]*[wpf]|--(write|load|system)"),
    "nvidia-smi": re.compile(
        r"(?!-q$|-x$|-L$|-h$|--help|-i|--id|-d$|--display|--query|--format|--list-gpus|--xml-format"
        r"|--version|topo$|-m$|[^-])|drain|mig|nvlink|clocks|boost-slider|power-hint|compute-policy"
    ),
}
# Audit events of what every model does thousands of times, and does no harm.
_COMMON = frozenset(("builtins.id", "object.__getattr__", "sys._getframe"))
# Audit event -> which of its arguments is a path that it changes, and which the directory that this
# starts from.
_PATHS = {
    "os.mkdir": ((0, 2),),
    "os.remove": ((0, 1),),
    "os.rmdir": ((0, 1),),
    "os.rename": ((0, 2), (1, 3)),
    "os.link": ((0, 2), (1, 3)),  # what is written through the one name changes the other
    "os.symlink": ((1, 2),),
    "os.truncate": ((0, None),),
    "os.chmod": ((0, 2),),
    "os.chown": ((0, 3),),
    "os.utime": ((0, 3),),
    "os.setxattr": ((0, None),),
    "os.removexattr": ((0, None),),
    "os.chflags": ((0, None),),
}
# Audit event -> which of its arguments is the program, and which its list of arguments.
_PROGRAMS = {
    "subprocess.Popen": (0, 1),
    "os.system": (0, None),
    "os.exec": (0, 1),
    "os.posix_spawn": (0, 1),
    "os.spawn": (1, 2),
    "os.startfile": (0, None),
}
SYSTEM = ("/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin")  # where programs are
MEMORY = "/dev/shm/"  # which outlives its process
_SHELLS = {"sh", "bash", "dash"}
_NO_OUTPUT = re.compile(r"(2|&)?>\s*/dev/null|2>&1")
_NETWORK = frozenset(
    "socket.connect socket.getaddrinfo socket.gethostbyname socket.sendto socket.sendmsg "
    "socket.bind webbrowser.open".split()
)
_AF_UNIX = 1
_READ_ONLY = "attempt to write a readonly database"  # SQLite's words


def may_write(path, directory=-1):
    """`path`: or the descriptor of what is open, perhaps for reading alone."""
    if isinstance(path, int):
        try:
            path = os.readlink(f"/proc/self/fd/{path}")
        except OSError:
            return True  # the system does not tell
        if not path.startswith("/") or path.startswith(NO_FILES):
            return True
    path = os.fsdecode(path)
    if isinstance(directory, int) and directory >= 0:  # shutil.rmtree works this way
        try:
            path = os.path.join(os.readlink(f"/proc/self/fd/{directory}"), path)
        except OSError:
            return False
    if path in (":memory:", ""):
        return True
    path = os.path.realpath(path)
    if STATE.has_own_memory and path.startswith(MEMORY):
        return True
    return path == STATE.temporary or path.startswith(STATE.temporary + os.sep) or _is_device(path)


def _is_other_than_copied(path):
    """Whether a file of the working tree, of which the copy has another content, is read by its
    whole path: what is counted would not be what is committed."""
    if isinstance(path, int) or sys._getframe(2).f_code is _is_other_than_copied.__code__:
        return False
    path = os.path.abspath(os.fsdecode(path))
    copied = from_copy(path)
    if copied in (None, path):
        return False
    try:
        with io.open(path, "rb") as original, io.open(copied, "rb") as copy:
            return original.read() != copy.read()
    except OSError:
        return False


def _is_device(path):
    """Whether what is written to `path` goes to a terminal, a GPU or nowhere: neither to a disk nor
    to /dev/shm, which is memory that outlives its process."""
    if os.name == "nt":
        return os.path.basename(path).lower() == "nul"
    try:
        return path.startswith("/dev/") and stat.S_ISCHR(os.stat(path).st_mode)
    except OSError:
        return False


def _changes_database(name):
    """Whether SQLite would make or change a database outside of the temporary directory. One that
    is there it opens for reading alone where the kernel lets nobody write to it."""
    path, mode = os.fsdecode(name), ""
    if path.startswith("file:"):  # a URI
        parts = urllib.parse.urlsplit(path)
        options = urllib.parse.parse_qs(parts.query)
        path = urllib.parse.unquote(parts.path)
        mode = "ro" if options.get("immutable") == ["1"] else options.get("mode", [""])[0]
    is_read_only = STATE.is_kernel_guarded and answer("stat", path) is not None
    return not (mode in ("ro", "memory") or is_read_only or may_write(path))


def _harmful_program(program, arguments):
    """The program to refuse, in words, if one is to be started that is not harmless; None if it
    only reports about the machine."""
    words = [os.fsdecode(word) for word in arguments or ()]
    name = os.fsdecode(program) if program else words[0] if words else ""
    if arguments is None:  # a line for the shell
        line = _NO_OUTPUT.sub(" ", name)
        if re.search(r"[;&|<>$`()\n]", line):
            return name
        words = line.split()
        name = words[0] if words else ""
    elif os.path.basename(name) in _SHELLS and words[1:2] == ["-c"] and len(words) == 3:
        return _harmful_program(words[2], None)
    folder, base = os.path.split(name)
    if base not in HARMLESS_PROGRAMS or folder not in ("", *SYSTEM):
        return base or name
    path = os.path.abspath(shutil.which(name) or "/")
    if is_project(path) or (may_write(path) and not _is_device(path)):  # it was made here
        return base
    changes = HARMLESS_PROGRAMS[base].match
    return " ".join((base, *words[1:])) if any(map(changes, words[1:])) else None


def is_refusal(error):
    """Whether an exception reports a refusal by the hook or by the kernel."""
    try:
        text = str(error)
    except BaseException:
        text = ""
    codes = (errno.EACCES, errno.EPERM) if STATE.is_kernel_guarded else ()
    denied = any(words in text for words in (_READ_ONLY, *map(os.strerror, codes)))
    # What a library caught, it often raises again in its own words, with these in them.
    is_quoted = any(refusal in text for refusal in STATE.refusals)
    return denied or is_quoted or isinstance(error, RefusedAction)


def refuse_interpreters():
    """Another Python would not have the hook, and multiprocessing starts it without an event. The
    one that clears up what is left in /dev/shm is not needed where that is this process's own."""
    import multiprocessing.util
    from multiprocessing import resource_tracker

    def refused(path, args, descriptors):
        refuse(f"to start the program {os.path.basename(os.fsdecode(path))!r}")

    multiprocessing.util.spawnv_passfds = refused
    if STATE.has_own_memory:
        resource_tracker.ensure_running = lambda: None
        resource_tracker.register = resource_tracker.unregister = lambda name, kind: None


def needs_memory(error):
    """Whether an exception comes of a lock, a queue or a tensor that could not be shared, since
    this process has no /dev/shm of its own."""
    if STATE.has_own_memory or not is_refusal(error):
        return False
    *_, (frame, _) = walk_tb(error.__traceback__)
    module = frame.f_globals.get("__name__", "")
    return MEMORY in str(error) or "shared memory" in str(error) or "multiprocessing" in module


def _is_elsewhere(process, signal):
    """Whether a signal would reach another process than this one and those that it has started; a
    negative number is that of a group."""
    if process in (0, -1):
        return True
    own_id, above = os.getpid(), abs(process)
    try:
        while signal and above not in (own_id, 0, 1):  # the signal 0 only asks
            with open(f"/proc/{above}/stat", "rb") as file:
                above = int(file.read().rpartition(b")")[2].split()[1])
    except OSError:  # it is gone; or the system does not tell
        return abs(process) == os.getppid()
    return above != own_id and (signal or above in (1, os.getppid()))


def _is_local(a_socket, address):
    """Whether an address is of this machine, and of what this process may have made: a path, or a
    name that no file has. None: of a socket that is connected."""
    if isinstance(address, (str, bytes)) and a_socket.family == _AF_UNIX:
        name = os.fsdecode(address)
        return not name or name.startswith("\0") or may_write(name)
    return address is None


def refuse(what):
    where = line_of(sys._getframe(2))
    text = f"nparam-lint refused {without_copy(what)} while it was counting"
    text += f" (requested at {where})" if where else ""
    if len(STATE.refusals) < 5 and text not in STATE.refusals:
        STATE.refusals.append(text)
    raise RefusedAction(text)


def guard(event, args):
    """The audit hook. Called for everything that happens: the common events leave at once."""
    if event in _COMMON:
        return
    if event == "open":
        path, mode, flags = args
        writes = any(c in mode for c in "wxa+") if isinstance(mode, str) else flags & _WRITING
        # Of `os.open`, which may start from a directory that the event does not tell.
        is_below = mode is None and not os.path.isabs(os.fsdecode(path))
        if not writes and is_below:
            record_unseen(sys._getframe(1))
        elif not writes:
            if STATE.original and _is_other_than_copied(path):
                record_unseen(sys._getframe(1))
                refuse(f"to read {os.fsdecode(path)!r}, which is not as in the commit,")
            record_event(event, args)
        elif is_below or not (isinstance(path, int) or may_write(path)):
            refuse(f"to write {os.fsdecode(path)!r}")
    elif event in ("os.listdir", "os.scandir"):
        record_event(event, args)
    elif event in _PATHS:
        for index, directory in _PATHS[event]:
            is_given = directory is not None and directory < len(args)
            if not may_write(args[index], args[directory] if is_given else -1):
                path = args[index]
                name = "an open file" if isinstance(path, int) else repr(os.fsdecode(path))
                refuse(f"{event} of {name}")
    elif event == "sqlite3.connect":
        if _changes_database(args[0]):
            refuse(f"to write the database {os.fsdecode(args[0])!r}")
        # It reads as it likes: what is attached, a journal beside the database.
        record_unseen(sys._getframe(1))
    elif event in ("os.fork", "os.forkpty"):  # what the child reads is not told
        if not sys._getframe(1).f_code.co_filename.startswith(OWN):
            record_unseen(sys._getframe(1))
    elif event in ("os.getxattr", "os.listxattr"):
        record_unseen(sys._getframe(1))
    elif event == "mmap.__new__":
        record_map(args[0])
    elif event == "ctypes.dlopen":
        record_library(args[0])
    elif event == "ctypes.dlsym":
        record_c_function(sys._getframe(1))
    elif event in _PROGRAMS:
        program, words = _PROGRAMS[event]
        words = None if words is None else args[words]
        harmful = _harmful_program(args[program], [words] if isinstance(words, str) else words)
        if harmful is not None:
            refuse(f"to start the program {harmful!r}")
    elif event in _NETWORK:
        of_socket = len(args) == 2 and hasattr(args[0], "family")
        address = args[1] if of_socket else args[0]
        if not (of_socket and _is_local(*args)):
            refuse(f"a network connection to {address!r}")
    elif event in ("os.kill", "os.killpg") and _is_elsewhere(*args):
        refuse(f"to kill process {args[0]}")


def guard_file_writer(target):
    """Refuse what torch.save would write; see `torch_compat.wrap_file_writer`."""
    if STATE.is_guarded and isinstance(target, (str, bytes)) and not may_write(target):
        refuse(f"to write {os.fsdecode(target)!r}")


def guard_file_reader(source, is_shared):
    """Note what torch reads or maps in C++; see `torch_compat.wrap_file_readers`."""
    if STATE.is_guarded and (isinstance(source, (str, bytes)) or hasattr(source, "__fspath__")):
        if is_shared and not may_write(source):
            refuse(f"to map {os.fsdecode(source)!r} for writing")
        record_read(source)
