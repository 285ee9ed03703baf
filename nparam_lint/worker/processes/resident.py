"""A process that stays between checks: it holds torch and installed packages, and nothing of any
project. Each check gets a host that is forked from it.

A check connects to a socket that only this user reaches, and sends one line of JSON with the
descriptors of its streams:

    {"do": "build", "cwd": …, "umask": …, …}  answered by the host, or by nothing:
                                               {"pid": …, "held": [names of packages]}
    {"do": "import", "packages": [names]}      answered by nothing: the next host has them
    {"do": "tell"}                             answered: {"pid": …, "memory": bytes, …}
    {"do": "end"}                              answered by the end of the connection

It ends by itself: after a time without checks, when memory is short, when what it holds is no
longer what is installed, or when its socket is gone.
"""

import array
import contextlib
import gc
import importlib
import io
import json
import os
import resource
import select
import shutil
import signal
import socket
import struct
import sys
import time

from ...ground import LOG, SOCKET
from ...ground.facts import answer
from ..building.kernel_guard import prctl
from ..building.side_effect_guard import MEMORY
from ..state import STATE
from ..tracing.dependency_record import PASSING
from ..tracing.read_tracer import record_held
from .children import ADOPT_ORPHANS, resident, use_large_pages

TICK = 5.0  # seconds between two looks at the clock and at the memory
LONGEST = 1 << 20  # bytes that are read at a time
STREAMS = 3
OF_STATE = ("state", "content", "names", "distributions")
SCARCE = 0.05  # of the machine's memory: with less it is short


def now():
    """Seconds, and those of a suspended machine count."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def listen(place):
    """The socket of a process that stays; None where there can be none."""
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(os.path.join(place, SOCKET))
        listener.listen(16)
    except OSError:
        return None
    return listener


class Resident:
    """`sites`: the states of what belongs to the interpreter, by path; `minutes`: how long it stays
    without a check; `lifeline`: of a pipe that ends with the process that it must not outlive. What
    it does for itself is not recorded as read."""

    def __init__(self, listener, sites, minutes, lifeline):
        self.listener, self.minutes, self.lifeline = listener, minutes, lifeline
        # A project that is installed as it stands has a directory here.
        self.folders = {path for path in sites if os.path.isdir(path) and "-packages" not in path}
        self.names = self.names_beside()
        self.sites = {path: state for path, state in sites.items() if path not in self.folders}
        self.place = STATE.temporary  # where its hosts may write
        self.path = os.path.join(self.place, SOCKET)
        self.identity = os.stat(self.path).st_ino
        self.began = self.used = now()
        self.hosts = set()  # pids
        self.packages = []
        # Where a project has a name of these itself, it must not get what is held.
        self.without = set(sys.modules)
        self.record = STATE.record

    def serve(self):
        """Wait for checks. Gives the streams of one in the host that is forked for it; ends the
        process where nothing is left to wait for."""
        while True:
            self.record.on = False
            readable = select.select([self.listener, *self.lifeline], [], [], TICK)[0]
            if not {*self.lifeline}.isdisjoint(readable):
                self.end("what it was started for has ended")
            if readable:
                with contextlib.suppress(OSError, ValueError, KeyError):
                    connection, _ = self.listener.accept()
                    with connection:
                        streams = self.hear(connection)
                    if streams:
                        self.record.on = True
                        return streams
            self.reap()
            if why := self.why_over():
                self.end(why)

    def hear(self, connection):
        """Do what one connection asks for; in the host that is forked, its streams."""
        connection.settimeout(1)
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        if struct.unpack("3i", credentials)[1] != os.getuid():
            return None
        request, descriptors = received(connection)
        if request["do"] == "build" and len(descriptors) == STREAMS:
            if changed := self.what_changed():
                self.end(f"{changed} has changed")
            self.used = now()
            pid = os.fork()
            if not pid:
                self.listener.close()
                held = {name.partition(".")[0] for name in set(sys.modules) - self.without}
                return become_host(connection, request, descriptors, sorted(held))
            self.hosts.add(pid)
        elif request["do"] == "import":
            self.import_packages(request["packages"])
        elif request["do"] == "tell":
            told = {"pid": os.getpid(), "memory": resident(), "packages": len(self.packages)}
            told.update(age=now() - self.began, idle=now() - self.used)
            connection.sendall(json.dumps(told).encode() + b"\n")
        elif request["do"] == "end":
            self.end("it was told to")
        for descriptor in descriptors:
            os.close(descriptor)
        return None

    def import_packages(self, names):
        """Import modules of installed packages. With a thread the process cannot be forked: it
        ends."""
        self.record.on = True
        for name in names:
            if name not in sys.modules:
                with contextlib.suppress(Exception, SystemExit):
                    importlib.import_module(name)
                    self.packages.append(name)
        record_held()
        self.record.on = False
        if len(os.listdir("/proc/self/task")) > 1:
            self.end("a package has started a thread")
        gc.freeze()
        use_large_pages()

    def what_changed(self):
        """What of that which was imported is not what is installed any more; None: nothing."""
        held = {name.partition(".")[0] for name in sys.modules}
        for name in (self.names_beside() ^ self.names) & held:  # it would come from elsewhere
            return name
        # Of what was read, listed or imported the record has the state.
        facts = [*self.record.shared.facts.items()]
        states = {path: was for (question, path), was in facts if question in OF_STATE}
        for path, was in {**self.sites, **states}.items():
            if not PASSING.match(path) and answer("state", path) != was:
                return path
        return None

    def names_beside(self):
        """Names that could be imported from directories other than those of packages."""
        names = set()
        for path in self.folders:
            with contextlib.suppress(OSError):
                names.update(name.partition(".")[0] for name in os.listdir(path))
        return names

    def reap(self):
        """Remove what is left of hosts that have ended."""
        for pid in list(self.hosts):
            if os.waitpid(pid, os.WNOHANG)[0]:
                self.hosts.discard(pid)
                if not self.hosts:
                    self.clean()

    def why_over(self):
        """Why it ends now; None while it stays."""
        try:
            if os.stat(self.path).st_ino != self.identity:
                return "its socket is another's"
        except OSError as error:
            return f"its socket is gone: {error}"
        if not self.hosts and now() - self.used > 60 * self.minutes:
            return f"there was no run for {self.minutes:g} minutes"
        return "memory is short" if memory_is_short() else None

    def clean(self):
        """Remove the files of hosts, and what they have put into the memory that they share."""
        for name in os.listdir(self.place):
            path = os.path.join(self.place, name)
            if name.startswith(".memory-"):
                with contextlib.suppress(OSError):
                    for inner in os.listdir(os.path.join(path, "new")):
                        with contextlib.suppress(OSError):
                            os.unlink(MEMORY + inner)
            elif os.path.isdir(path):
                shutil.rmtree(path, ignore_errors=True)
            elif name not in (SOCKET, LOG):
                with contextlib.suppress(OSError):
                    os.unlink(path)

    def end(self, why):
        print("ended:", why, file=sys.stderr, flush=True)
        with contextlib.suppress(OSError):
            if not self.hosts:
                self.clean()
            if os.stat(self.path).st_ino == self.identity:
                os.unlink(self.path)
        os._exit(0)


def memory_is_short():
    amounts = {}
    with contextlib.suppress(OSError, ValueError):
        with io.open("/proc/meminfo") as lines:
            for line in lines:
                name, _, amount = line.partition(":")
                amounts[name] = int(amount.split()[0])
        return amounts["MemAvailable"] < SCARCE * amounts["MemTotal"]
    return False


def received(connection):
    """(a request, the descriptors that came with it)."""
    descriptors = array.array("i")
    data, extra, _, _ = connection.recvmsg(LONGEST, socket.CMSG_SPACE(4 * STREAMS))
    for level, kind, body in extra:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            descriptors.frombytes(body[: len(body) - len(body) % 4])
    while not data.endswith(b"\n"):
        more = connection.recv(LONGEST)
        if not more:
            break
        data += more
    return json.loads(data), list(descriptors)


def become_host(connection, request, descriptors, held):
    """Take on what a process inherits from the one that starts it, and tell that this is done, and
    which packages are `held`. One that cannot ends, and the check goes on without it."""
    try:
        prctl(ADOPT_ORPHANS, 1)
        os.setsid()
        os.chdir(request["cwd"])
        os.umask(request["umask"])
        for name, limits in request["limits"].items():
            if [*resource.getrlimit(int(name))] != limits:
                resource.setrlimit(int(name), tuple(limits))
        if os.getpriority(os.PRIO_PROCESS, 0) != request["nice"]:
            os.setpriority(os.PRIO_PROCESS, 0, request["nice"])
        os.sched_setaffinity(0, request["cores"])
        signal.pthread_sigmask(signal.SIG_SETMASK, request["blocked"])
        for number in request["ignored"]:
            signal.signal(number, signal.SIG_IGN)
        orders, output, errors = descriptors
        os.dup2(errors, 1)
        os.dup2(errors, 2)
        os.close(errors)
        # Held open until this process ends: the front end is told by that.
        os.dup(connection.fileno())
        connection.sendall(json.dumps({"pid": os.getpid(), "held": held}).encode() + b"\n")
        return os.fdopen(orders, "rb"), output
    except BaseException:
        os._exit(1)
