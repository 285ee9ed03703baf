"""Processes that do one task each, and the frames that they send to the process above."""

import contextlib
import io
import json
import mmap
import os
import select
import signal
import sys
import time
from os import _exit as leave
from os import getpid, listdir, readlink, write

from ...ground import TAB
from ...ground.facts import escaped
from ..building.kernel_guard import keep_signals_inside, prctl
from ..state import STATE
from ..tracing.failures import NOT_PYTHON, TOO_MANY, Ending
from .events import Done, FilesRead, Idle, Result, as_frame, of_frame

# On macOS system libraries that torch loads do not survive a fork.
_FORKS = "1" if sys.platform.startswith("linux") else "0"
CAN_FORK = hasattr(os, "fork") and os.environ.get("NPARAM_LINT_FORK", _FORKS) != "0"
# Bytes of a child's output that are kept for the message about its death. A crash prints its stack,
# and after it the names of all extension modules, some hundreds of them.
TAIL = 1 << 16
DIE_WITH_PARENT, ADOPT_ORPHANS = 1, 36  # for prctl: PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER
PAGE = mmap.PAGESIZE  # bytes; 4,096 on most machines, 16 or 64 KB on some with ARM processors
ROOM = 1 << 16  # bytes that a pipe holds
LARGE, COLLAPSE = 1 << 21, 25  # bytes of a large page; MADV_COLLAPSE, of Linux 6.1 and later
UNREAD = 10.0  # seconds after which an order counts as unread
to_json = json.JSONEncoder().encode
to_text = json.JSONEncoder(ensure_ascii=False).encode


def resident(pid="self"):
    """Bytes of memory that a process takes, where the system tells; 0 elsewhere."""
    try:
        with io.open(f"/proc/{pid}/statm") as file:
            return int(file.read().split()[1]) * PAGE
    except (OSError, ValueError, IndexError):
        return 0


def mark(nonce):
    """What stands in a child's output where a job begins. Its frames come by another pipe: they do
    not tell what was printed before and after them."""
    return b"\n" + nonce + b"\n"


def mark_output(nonce):
    """Say in what this process prints that a job begins."""
    with contextlib.suppress(OSError):  # a model may have closed it
        write(2, mark(nonce.encode()))


def body_of(value):
    """What follows a frame, as JSON that every reader takes."""
    return escaped(to_text(value), r"\\").encode()


def result_event(number, result, inputs=None):
    """The result of a job as an event: what the processes above have to know of it, and all of it,
    with what it depends on (None: unknown)."""
    result = dict(result)
    names = "next_attempt", "not_tracked", "asks_gpu", "depends_on_gpu"
    flags = {name: bool(result.pop(name, False)) for name in names}
    if STATE.unguarded:
        result["notes"] = [*result.get("notes", ()), *STATE.unguarded]
    body = TAB.join(map(body_of, (result, inputs)))
    return Result(number, result["ok"], result.get("code"), **flags, body=body)


class Channel:
    """Frames to the process above; whole lines, so that frames of several children never mix. What
    the project may have put in the place of `os.write` or `json.dumps` writes none."""

    def __init__(self, descriptor, nonce, orders=None):
        """`orders`: the descriptor of what the process above tells this one."""
        self.descriptor, self.nonce, self.orders, self.pid = descriptor, nonce, orders, getpid()
        self.limit = None  # seconds until the next frame; None: that of the task

    def frame(self, frame, body=None):
        """A frame, in bytes. `body`: what follows it, in bytes."""
        # The leading line break ends whatever a start-up file may have printed without one.
        data = f"\n{self.nonce} {to_json(frame)}".encode()
        return data + (b"\n" if body is None else TAB + body + b"\n")

    def of(self, event):
        """The frame of an event."""
        frame, body = as_frame(event)
        return self.frame(frame if self.limit is None else {**frame, "limit": self.limit}, body)

    def write(self, data):
        # Forked by a constructor, and come back from it.
        if getpid() not in (self.pid, STATE.branch):
            leave(0)
        view = memoryview(data)
        while view:
            view = view[write(self.descriptor, view) :]

    def tell(self, event):
        self.write(self.of(event))

    def tell_record(self):
        """What this process has read since it last said so, unless that is nothing."""
        news = STATE.record.unreported()
        if news is None or any(news.values()):
            self.tell(FilesRead(body_of(news)))


class Child:
    """A process that does one task, or one after the other, its frames, and the end of its output.
    `limit`: seconds without a frame; `orders`: the pipe for its orders, if it was forked;
    `process`: if it was not."""

    def __init__(self, task, limit, pid, channel, output, orders=None, process=None):
        self.limit, self.pid, self.process = limit, pid, process
        self.channel, self.output, self.orders = channel, output, orders
        self.buffer, self.open = b"", {channel, output}
        self.finished, self.killed, self.status = False, None, None
        self.begin(task)

    def begin(self, task):
        self.task, self.tail = task, b""
        self.idle = False  # whether it has done its task, and waits for another
        self.gone = False
        self.closed_at = None
        self.deadline = time.monotonic() + self.limit

    def tell(self, order):
        """Send it a line, as long as it reads. A process that does not read, or has died, is
        noticed by those that wait for its frames."""
        data = memoryview(to_json(order).encode() + b"\n")
        with contextlib.suppress(OSError):
            os.set_blocking(self.orders, False)
            while data and select.select([], [self.orders], [], UNREAD)[1]:
                data = data[write(self.orders, data) :]

    def hear(self, data, nonce):
        """Keep the end of its output for the current job."""
        self.tail = (self.tail + data).rpartition(mark(nonce))[2][-TAIL:]

    def events(self, data, nonce):
        """What it tells, as far as that is complete."""
        self.buffer += data
        *lines, self.buffer = self.buffer.split(b"\n")
        for line in lines:
            if line.startswith(nonce):
                head, tab, body = line[len(nonce) + 1 :].partition(TAB)
                frame = json.loads(head)
                self.deadline = time.monotonic() + frame.pop("limit", self.limit)
                event = of_frame(frame, body if tab else None)
                self.finished |= type(event) is Done
                self.idle |= type(event) is Idle
                yield event

    def kill(self, ending):
        """End the process, unless it has ended, and whatever it forked. `ending`: why, an Ending;
        None if it is not needed."""
        if not self.exited():
            self.killed = self.killed or ending
        if self.process is not None and os.name != "posix":
            self.process.kill()
            return
        with contextlib.suppress(OSError):
            os.killpg(self.pid, signal.SIGKILL)
        if self.status is None:  # it may not have made its own process group yet
            with contextlib.suppress(OSError):
                os.kill(self.pid, signal.SIGKILL)

    def end(self):
        """Kill it, and let go of all that is kept of it; returns how it ended."""
        self.kill(None)
        ending = self.wait()
        if self.process is None:  # else a thread reads what is open, until nobody writes it
            for descriptor in (*self.open, self.orders):
                os.close(descriptor)
        return ending

    def exited(self):
        """Whether the process is gone (something that it forked may still hold its pipes)."""
        if self.status is None and self.process is not None:
            self.status = self.process.poll()
        elif self.status is None:
            pid, raw = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(raw)
        return self.status is not None

    def wait(self):
        """How the process ended; None for an orderly end."""
        while not self.exited():
            time.sleep(0.001)
        status = self.status
        if self.killed:
            return self.killed
        if self.finished:
            return None
        if status < 0:
            try:
                name = f"{signal.Signals(-status).name} (signal {-status})"
            except ValueError:
                name = f"signal {-status}"
            hint = TOO_MANY if status == -signal.SIGKILL else NOT_PYTHON
            return Ending("died", f"was killed by {name}", hint)
        return Ending("died", f"ended with exit status {status}")


def use_large_pages():
    """Let what this process holds in memory lie in large pages, where Linux can: with a tenth of
    the page tables to copy, forking it takes half as long."""
    with contextlib.suppress(Exception):
        import ctypes

        advise = ctypes.CDLL(None).madvise
        advise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        with io.open("/proc/self/maps") as maps:
            spaces = [line.split() for line in maps]
        for place, rights, _, _, file, *name in spaces:
            start, end = (int(number, 16) for number in place.split("-"))
            start, end = -(-start // LARGE) * LARGE, end // LARGE * LARGE
            if rights == "rw-p" and file == "0" and name in ([], ["[heap]"]) and start < end:
                advise(start, end - start, COLLAPSE)


def shared_with_forks():
    """What a process that is forked from this one shares with it, or lacks, where the system tells:
    open files, which have one position for both, memory mapped for several, and threads."""
    things = set(sys._current_frames())
    with contextlib.suppress(OSError):
        for name in listdir("/proc/self/fd"):
            with contextlib.suppress(OSError):
                things.add((name, readlink("/proc/self/fd/" + name)))
        with io.open("/proc/self/maps") as maps:
            things.update(line for line in maps if line.split()[1].endswith(("w-s", "wxs")))
    return things


@contextlib.contextmanager
def forked_life():
    """All that a forked process does: with it the process ends, without any clean-up that user code
    could have registered."""
    status = 1
    try:
        yield
        status = 0
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        with contextlib.suppress(BaseException):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


def fork_child(task, limit, body, nonce):
    """Fork; in the child, `body(channel, orders)` runs with its output caught. `orders`: an
    iterator over what it is told."""
    channel_read, channel_write = os.pipe()
    output_read, output_write = os.pipe()
    orders_read, orders_write = os.pipe()
    pid = os.fork()
    if not pid:
        with forked_life():
            os.setsid()
            prctl(DIE_WITH_PARENT, 9)
            keep_signals_inside()
            for descriptor in (channel_read, output_read, orders_write):
                os.close(descriptor)
            os.dup2(output_write, 1)
            os.dup2(output_write, 2)
            os.close(output_write)
            channel = Channel(channel_write, nonce, orders_read)
            with io.open(orders_read, "rb") as lines:
                body(channel, map(json.loads, lines))
            channel.tell(Done())
    for descriptor in (channel_write, output_write, orders_read):
        os.close(descriptor)
    return Child(task, limit, pid, channel_read, output_read, orders_write)
