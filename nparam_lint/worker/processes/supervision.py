"""Runs tasks in processes of their own, and watches over them."""

import collections
import contextlib
import io
import os
import queue
import selectors
import signal
import sys
import threading
import time

from ..tracing.failures import TOO_MUCH, TOO_SLOW, Ending, died
from .children import CAN_FORK, ROOM, resident, result_event
from .events import Done
from .lifecycle import Blame, Start

HEARTBEAT = 1.0  # seconds between two signs of life of the server, and looks at its patience


class SelectPoller(selectors.DefaultSelector):
    """Reads from several pipes at once, without threads (a process with threads must not fork)."""

    def add(self, descriptor, key):
        self.register(descriptor, selectors.EVENT_READ, key)

    def poll(self, timeout):
        for key, _ in self.select(timeout):
            data = os.read(key.fd, ROOM)
            if not data and key.data is not None:
                self.unregister(key.fd)
                os.close(key.fd)
            yield key.data, data


class ThreadPoller:
    """The same with a thread for each pipe, for systems whose pipes cannot be selected on."""

    def __init__(self):
        self.queue = queue.Queue()

    def add(self, descriptor, key):
        def read():
            data = b"more"
            while data:
                try:
                    data = os.read(descriptor, ROOM)
                except OSError:
                    data = b""
                self.queue.put((key, data))

        threading.Thread(target=read, daemon=True).start()

    def unregister(self, descriptor):
        """Nothing: its thread ends with the pipe, whose last writer has been killed."""

    def poll(self, timeout):
        with contextlib.suppress(queue.Empty):
            yield self.queue.get(timeout=timeout)
            while True:
                yield self.queue.get_nowait()

    def close(self):
        pass


class Supervision:
    """Runs tasks, each in a process of its own, and does what `life` (see `lifecycle.py`) makes of
    what they tell. `parent`: the process that this is done in, which has `settings`, and starts
    (`start(task)` → Child) and does (`perform(instruction, children)`)."""

    def __init__(self, life, parent):
        self.life, self.parent = life, parent
        self.settings, self.nonce = parent.settings, parent.settings["nonce"].encode()
        self.poller = SelectPoller() if CAN_FORK else ThreadPoller()
        self.running, self.idle = [], []

    def run(self, tasks, above=None, heartbeat=None):
        """Returns the processes that have done their task and wait for another one. `above`: a
        descriptor whose end means that nobody waits for the answers any more; what comes by it
        goes to `parent.hear_above`. `heartbeat()` is called every second."""
        self.waiting, self.above = collections.deque(tasks), above
        beat = time.monotonic()
        if above is not None:
            self.poller.add(above, None)
        try:
            while self.waiting or self.running:
                self.start_tasks()
                if heartbeat and time.monotonic() > beat:
                    beat = time.monotonic() + HEARTBEAT
                    heartbeat()
                heard = self.read_events()
                self.set_idle_aside()
                for child in list(self.running):
                    self.check_limits(child)
                    if self.is_over(child, child in heard):
                        self.bury(child)
                    else:
                        child.gone = child.exited()  # what it still had to say is heard first
        finally:
            for child in self.running:
                child.kill(None)
            self.poller.close()
        return self.idle

    def disown(self):
        """Go on although nobody waits: what comes from above now is for somebody else."""
        self.poller.unregister(self.above)

    def stop(self):
        """End all processes: nobody waits for what they still have to do."""
        self.disown()
        self.waiting.clear()
        for child in self.running:
            child.kill(None)

    def start_tasks(self):
        while self.waiting and len(self.running) < self.life.width:
            child = self.parent.start(self.waiting.popleft())
            self.running.append(child)
            for descriptor in child.open:
                self.poller.add(descriptor, (child, descriptor))

    def read_events(self):
        """Take in what there is to read; returns the processes that it came from."""
        heard = set()
        closing = any(child.closed_at for child in self.running)
        for key, data in self.poller.poll(0.005 if closing else 0.1):
            if key is None:
                if not data:  # the front end is gone
                    for child in self.running:
                        child.kill(None)
                    reap_strays([])
                    os._exit(3)
                self.parent.hear_above(data)
                continue
            child, descriptor = key
            heard.add(child)
            if not data:
                child.open.discard(descriptor)
            elif descriptor == child.output:
                child.hear(data, self.nonce)
            else:
                for event in child.events(data, self.nonce):
                    self.do(self.life.handle(child.task, event))
                    if type(event) is Done:
                        self.share_out(other for other in self.running if other is not child)
        return heard

    def share_out(self, running):
        """Give the cores that none of these processes needs to one of them."""
        if not self.waiting:
            self.do(self.life.widened([child.task for child in running]))

    def widen(self, group):
        next(child for child in self.running if child.task is group).tell(group.width)

    def do(self, instructions):
        for instruction in instructions:
            if type(instruction) is Start:
                self.waiting.appendleft(instruction.task)
            else:
                self.parent.perform(instruction, self)

    def set_idle_aside(self):
        for child in [child for child in self.running if child.idle]:
            self.running.remove(child)
            self.idle.append(child)
            for descriptor in child.open:
                self.poller.unregister(descriptor)
            reap_strays([*self.running, *self.idle])

    def check_limits(self, child):
        """Kill a process that takes too long, or too much memory."""
        if time.monotonic() > child.deadline and not child.finished:
            words = f"took longer than {self.settings['timeout']:g} s"
            child.kill(Ending("timed_out", words, TOO_SLOW))
        elif resident(child.pid) > self.settings["memory"] > 0:
            limit = round(self.settings["memory"] / 2**30, 1)
            words = f"needed more than {limit:g} GiB of memory"
            child.kill(Ending("out_of_memory", words, TOO_MUCH))

    def is_over(self, child, was_heard):
        """Whether a process has ended, or has to."""
        # Its own end of the channel counts; a grandchild may hold the output open for ever.
        if child.channel not in child.open and child.closed_at is None:
            child.closed_at = time.monotonic()
        # A process that ends closes it too: its exit status says more.
        if child.closed_at is not None and time.monotonic() > child.closed_at + 1:
            child.kill(Ending("died", "closed the channel for its results"))
            return True
        return child.finished or child.killed or (child.gone and not was_heard)

    def bury(self, child):
        """End a process and forget it; another task may do what it left undone."""
        self.running.remove(child)
        for descriptor in child.open:
            self.poller.unregister(descriptor)
        ending = child.end()
        reap_strays([*self.running, *self.idle])
        if ending is None or child.finished:
            return
        instructions = child.task.died(ending, self.life.files)
        tail = child.tail.decode("utf-8", "replace")
        for instruction in instructions:
            if type(instruction) is Blame:
                result = died(instruction.what, ending, tail)
                self.do(self.life.finished(result_event(instruction.job.id, result)))
        for instruction in reversed(instructions):
            if type(instruction) is Start:
                self.waiting.appendleft(instruction.task)


def reap_strays(running):
    """Kill what user code left behind: orphans come to us, because we asked to be their reaper."""
    if not sys.platform.startswith("linux"):
        return
    children = {child.pid for child in running}
    for _ in range(100):
        try:
            with io.open(f"/proc/self/task/{os.getpid()}/children") as file:
                strays = [int(p) for p in file.read().split() if int(p) not in children]
        except OSError:
            return
        if not strays:
            return
        for pid in strays:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
