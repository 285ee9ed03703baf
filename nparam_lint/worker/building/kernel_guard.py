"""Makes the kernel refuse what the audit hook cannot see: what C code and child processes write,
delete, run or connect to.

Linux only: Landlock (5.13 and later, https://docs.kernel.org/userspace-api/landlock.html) for files
and TCP, and a seccomp filter for all other sockets. Both need no privileges, cannot be removed
again, and apply to every process that is started afterwards.
"""

import contextlib
import ctypes
import os
import platform
import stat
import struct
import sys

from ..state import STATE
from .side_effect_guard import HARMLESS_PROGRAMS, MEMORY, SYSTEM

NVIDIA = "/dev/nvidiactl"  # is there where NVIDIA's driver is
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # the same on every architecture
_VERSION = 1  # flag of CREATE_RULESET: only tell the version
_PATH_BENEATH = 1
_NO_NEW_PRIVILEGES = 38  # of prctl

# Rights to files, include/uapi/linux/landlock.h; reading is not among them and stays free.
_EXECUTE, _WRITE_FILE, _TRUNCATE = 1 << 0, 1 << 1, 1 << 14
_REMOVE_MAKE = sum(1 << bit for bit in range(4, 13))
_REFER = 1 << 13  # to link or rename between directories
_ADDED_IN = {2: _REFER, 3: _TRUNCATE}  # version -> right
_TCP, _TCP_SINCE = 0b11, 4  # to bind and to connect; version
_SCOPES = 0b11  # no sockets with abstract names, and no signals, to processes outside
_SIGNALS = 0b10

# machine -> (how a filter knows it, numbers of the calls `socket` and `seccomp`)
_MACHINES = {"x86_64": (0xC000003E, 41, 317), "aarch64": (0xC00000B7, 198, 277)}
_INTERNET, _STREAM, _TCP_PROTOCOLS = (2, 10), 1, (0, 6)  # AF_INET, AF_INET6; SOCK_STREAM
_OTHER_NETWORKS = (17, 21, 30, 31, 40, 43, 44)  # AF_PACKET, RDS, TIPC, BLUETOOTH, VSOCK, SMC, XDP
_IO_URING = 425  # io_uring_setup, on every architecture: it opens sockets that no filter sees
# Of unshare: mounts, users; shared memory and queues of System V; the machine's name.
_NEW_MOUNTS, _NEW_USER, _NEW_IPC, _NEW_NAME = 0x20000, 0x10000000, 0x08000000, 0x04000000
_ALL_PRIVATE = 0x44000  # of mount: nothing that is mounted here is seen outside
_TO_READ = 0b110  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
_SET_FILTER, _KEEP_SPECULATION = 1, 4  # else Python is slower on some processors

OFF = os.environ.get("NPARAM_LINT_KERNEL_GUARD") == "0"


def _call(number, *arguments):
    """A system call, by its number or its name; raises OSError."""
    call = getattr(_LIBRARY, number) if isinstance(number, str) else _LIBRARY.syscall
    result = call(*arguments) if isinstance(number, str) else call(number, *arguments)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


_LIBRARY = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def prctl(option, value):
    """Set an option of this process on Linux; does nothing on other systems."""
    if _LIBRARY:
        _LIBRARY.prctl(option, value, 0, 0, 0)


def landlock_version():
    """The version of the kernel's Landlock; 0 if there is none."""
    if OFF or sys.platform != "linux":
        return 0
    try:
        return _call(CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION))
    except (OSError, AttributeError):
        return 0


def _has_seccomp():
    return not OFF and sys.platform == "linux" and platform.machine() in _MACHINES


def restrict(temporary):
    """From here on this process, and whatever it starts, may write below `temporary` and to devices
    alone, start harmless programs alone, and open no connection. What is on is in `STATE.guards`,
    and what the kernel offers and then refused in `STATE.unguarded`, in words; there the audit hook
    is what is left."""
    version = landlock_version()
    if version or _has_seccomp():
        prctl(_NO_NEW_PRIVILEGES, 1)  # without which neither is allowed
    if version:
        with contextlib.suppress(OSError):
            _take_own_memory(temporary)
        with contextlib.suppress(OSError):
            # Those that came with the namespace go; of root's, all but those to read. No rule of
            # these guards is about the clock, or whose a file is.
            reads = struct.pack("=II", _TO_READ, _TO_READ) if os.getuid() == 0 else bytes(8)
            _call("capset", struct.pack("=II", 0x20080522, 0), reads.ljust(24, b"\0"))
        STATE.is_kernel_guarded = _put_on(
            f"Landlock {version}", lambda: _restrict_files(version, temporary)
        )
    if _has_seccomp():
        # Where Landlock refuses to connect, the audit hook may name the address first.
        even_tcp = not STATE.is_kernel_guarded or version < _TCP_SINCE
        _put_on("seccomp", lambda: _refuse_sockets(even_tcp))


def _put_on(name, action):
    """Whether a guard could be put on."""
    try:
        action()
    except Exception as error:
        STATE.unguarded.append(f"built without the guard {name}, which cannot be put on: {error}")
        return False
    STATE.guards.append(name)
    return True


def _take_own_memory(temporary):
    """Give this process, and whatever it starts, a /dev/shm of its own: locks, queues and shared
    tensors are made there. It shows what the user has in it; what is written is seen by nobody
    else, and goes with the process. Raises OSError where the system has no namespaces for that:
    Landlock cannot tell files that were there before from those that are new.
    """
    user, group = os.getuid(), os.getgid()
    if temporary.startswith(MEMORY) or os.path.exists(NVIDIA):
        return  # what lies there is wanted outside
    _call("unshare", _NEW_MOUNTS | _NEW_IPC | _NEW_NAME | (_NEW_USER if user else 0))
    if user:
        texts = {
            "setgroups": "deny",
            "uid_map": f"{user} {user} 1",
            "gid_map": f"{group} {group} 1",
        }
        for name, text in texts.items():
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
    _call("mount", None, b"/", None, _ALL_PRIVATE, None)
    place = os.path.join(temporary, f".memory-{os.getpid()}")
    parts = [os.path.join(place, name) for name in ("new", "work")]
    os.mkdir(place)
    _call("mount", b"tmpfs", os.fsencode(place), b"tmpfs", 0, None)
    for part in parts:
        os.mkdir(part)
    options = "lowerdir={},upperdir={},workdir={}".format(MEMORY.rstrip("/"), *parts)
    options += ",userxattr" if user else ""
    _call("mount", b"overlay", MEMORY.encode(), b"overlay", 0, os.fsencode(options))
    STATE.has_own_memory = True


def _restrict_files(version, temporary):
    added = (right for since, right in _ADDED_IN.items() if version >= since)
    write = sum(added, _WRITE_FILE | _REMOVE_MAKE)
    ruleset = struct.pack("=Q", write | _EXECUTE)
    if version >= _TCP_SINCE:
        ruleset += struct.pack("=Q", _TCP)
    if version >= 6:
        ruleset += struct.pack("=Q", _SCOPES)
    descriptor = _call(CREATE_RULESET, ruleset, ctypes.c_size_t(len(ruleset)), ctypes.c_uint32(0))
    try:
        _allow(descriptor, temporary, write)
        for path in _devices():
            _allow(descriptor, path, write & (_WRITE_FILE | _TRUNCATE))
        if STATE.has_own_memory or os.path.exists(NVIDIA):  # whose driver shares files there
            _allow(descriptor, MEMORY, write)
        if os.path.exists(NVIDIA):  # it names its threads, /proc/PID/task/TID/comm, or gives up
            _allow(descriptor, "/proc", write & (_WRITE_FILE | _TRUNCATE))
        for path in _programs():
            _allow(descriptor, path, _EXECUTE)
        _call(RESTRICT_SELF, ctypes.c_int(descriptor), ctypes.c_uint32(0))
    finally:
        os.close(descriptor)


def keep_signals_inside():
    """From here on signals of this process reach it and what it starts, not those above it."""
    if STATE.is_kernel_guarded and landlock_version() >= 6:
        ruleset = struct.pack("=QQQ", 0, 0, _SIGNALS)
        with contextlib.suppress(OSError):
            descriptor = _call(CREATE_RULESET, ruleset, ctypes.c_size_t(len(ruleset)), 0)
            _call(RESTRICT_SELF, ctypes.c_int(descriptor), ctypes.c_uint32(0))
            os.close(descriptor)


def _allow(ruleset, path, rights):
    with contextlib.suppress(FileNotFoundError, PermissionError):
        parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            rule = struct.pack("=Qi", rights, parent)
            _call(ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(_PATH_BENEATH), rule, 0)
        finally:
            os.close(parent)


def _devices():
    """What in /dev may be written to: terminals, /dev/null, GPUs; neither disks nor /dev/shm, which
    is memory that outlives its process."""
    for entry in os.scandir("/dev"):
        with contextlib.suppress(OSError):
            if stat.S_ISCHR(entry.stat().st_mode) or entry.name in ("pts", "dri", "nvidia-caps"):
                yield entry.path


def _programs():
    """The harmless ones, the shell that may run them, and what loads a program into memory."""
    for name in (*HARMLESS_PROGRAMS, "sh", "ldconfig.real"):
        for path in {os.path.realpath(os.path.join(place, name)) for place in SYSTEM}:
            if os.path.isfile(path):
                yield path
    with open("/proc/self/maps") as maps:
        loaded = {line.split()[-1] for line in maps}
    for path in loaded:
        if os.path.basename(path).startswith(("ld-", "ld.")):
            yield path


def _refuse_sockets(even_tcp):
    """A filter in the kernel's language (linux/filter.h): (code, jump if true, if false, value). Of
    streams those of TCP alone are left to Landlock: it knows no others, like MPTCP."""
    machine, socket, seccomp = _MACHINES[platform.machine()]
    load, equal, both, answer = 0x20, 0x15, 0x54, 0x06
    allow, refuse = (answer, 0, 0, 0x7FFF0000), (answer, 0, 0, 0x00050000 | 13)  # EACCES
    absent = (answer, 0, 0, 0x00050000 | 38)  # ENOSYS

    def one_of(values, then, other):
        """Steps that answer `then` if the loaded value is one of these, else go on or answer."""
        tests = [(equal, len(values) - place, 0, value) for place, value in enumerate(values)]
        return [*tests, (0x05, 0, 0, 1) if other is None else other, then]

    # The low half of an argument stands first, here and in all machines above.
    kind, protocol = [(load, 0, 0, 24), (both, 0, 0, 0xF)], [(load, 0, 0, 32)]
    is_stream = [(equal, 1, 0, _STREAM), refuse, *protocol, *one_of(_TCP_PROTOCOLS, allow, refuse)]
    program = [(load, 0, 0, 4), (equal, 1, 0, machine), allow]
    program += [(load, 0, 0, 0), *one_of((_IO_URING,), absent, None)]
    program += [(equal, 1, 0, socket), allow, (load, 0, 0, 16)]
    program += one_of(_OTHER_NETWORKS + (_INTERNET if even_tcp else ()), refuse, None)
    program += [(equal, 2, 0, _INTERNET[0]), (equal, 1, 0, _INTERNET[1]), allow, *kind, *is_stream]
    code = b"".join(struct.pack("=HBBI", *step) for step in program)
    steps = ctypes.create_string_buffer(code, len(code))  # alive during the call
    head = struct.pack("@HP", len(program), ctypes.addressof(steps))
    _call(seccomp, ctypes.c_uint(_SET_FILTER), ctypes.c_uint(_KEEP_SPECULATION), head)
