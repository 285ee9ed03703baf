"""The worker's process: its environment, its start and its end.

A run that has just found a change imports this module first, since importing torch takes a second.
"""

from __future__ import annotations

import itertools
import json
import os
import queue
import signal
import subprocess
import threading
import time
from contextlib import contextmanager, suppress

from nparam_lint.cache.store import RESIDENT, directory
from nparam_lint.count import resident
from nparam_lint.count.worker_environment import worker_environment
from nparam_lint.ground import TAB, WORKER
from nparam_lint.ground.temporary import make_directory, remove_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Set
    from typing import Any

    from nparam_lint.count.measured import Cause
    from nparam_lint.count.resident import Host

START_LIMIT = 300.0  # seconds for importing torch; on a cold network disk it takes minutes
SILENCE = 60.0  # seconds without a sign of life, of which it gives one every few


_waiting: list[Worker] = []  # those that have nothing to do
_working: list[Worker] = []
_closing: list[threading.Thread] = []  # what waits for the processes of those that have done theirs
# Not empty: one that has done its work waits for the next run. Each is the number of a context
# whose runs share their imports, or 0.
_reuses: list[int] = []
_numbers = itertools.count(1)
_taking = threading.Lock()  # the two sides of a diff take theirs in two threads, a timer ends some


def start_early(python: str, environ: Mapping[str, str]) -> None:
    """Let the worker import torch while the front end determines what to build."""
    if not any(worker.fits(python, environ) for worker in _waiting):
        with suppress(CannotStart):  # reported when it is needed
            _waiting.append(Worker(python, environ))


def end_waiting() -> None:
    """End the idle workers, unless more work is expected."""
    with _taking:
        if not _reuses:
            _end_all()


def wait_for_end() -> None:
    """Wait until nothing is left of the workers that have ended."""
    end_waiting()
    while _closing:
        _closing.pop().join()


def _end_all() -> None:
    while _waiting:
        _close_meanwhile(_waiting.pop())


def _close_meanwhile(worker: Worker) -> None:
    """Close one that has done its work. It takes the system some tenths of a second to give back
    what its processes held; meanwhile its answers are judged and printed."""
    _closing.append(_thread(worker.close, daemon=False))


@contextmanager
def reused_worker(*, imports: bool = True, linger: float = 0.0) -> Iterator[None]:
    """One worker for all runs within: torch is imported once for all of them. `imports`: so are
    the project's modules, as long as nothing else is asked for. `linger`: seconds that it waits for
    more after the last run within."""
    _reuses.append(next(_numbers) if imports else 0)
    try:
        yield
    finally:
        _reuses.pop()
        if linger:
            timer = threading.Timer(linger, end_waiting)
            timer.daemon = True
            timer.start()
        else:
            end_waiting()


@contextmanager
def running(
    python: str, environ: Mapping[str, str], names: Set[str] = frozenset()
) -> Iterator[Worker]:
    """A worker: a waiting one, or a new one. Afterwards it ends, with every process that it
    started, and its files are removed, while the caller goes on; or it waits again. `names`: those
    that the project's modules may be imported by. Raises CannotStart."""
    with _taking:
        if _waiting and not _waiting[-1].fits(python, environ):
            _end_all()
        worker = _waiting.pop() if _waiting else Worker(python, environ)
        if worker.host and not worker.host.held.isdisjoint(names):
            # The project would get an installed package in the place of its own.
            _close_meanwhile(worker)
            worker = Worker(python, environ, may_be_forked=False)
        keeps = next(filter(None, _reuses), 0)
        if not (keeps and worker.keeps_imports == keeps):
            worker.start = time.time_ns()
        worker.keeps_imports = keeps
        _working.append(worker)
    try:
        yield worker
    finally:
        _working.remove(worker)
        if not worker.takes_more:  # it was interrupted, or came to no end
            worker.close()
        elif _reuses:
            _waiting.append(worker)
        else:
            _close_meanwhile(worker)


def stop_working() -> None:
    """End the workers that are at work, from another thread: their runs measure nothing."""
    for worker in [*_working]:
        worker.kill()


class CannotStart(Exception):
    """The interpreter cannot be run."""


class Worker:
    """The worker's process, its frames, and the end of what it printed to standard error."""

    def __init__(
        self, python: str, environ: Mapping[str, str], *, may_be_forked: bool = True
    ) -> None:
        """`environ`: that of the user; `may_be_forked`: from a process that stays. Raises
        CannotStart."""
        self.python, self.environ = python, worker_environment(environ, "", python)
        self.start = 0  # ns: what it knows of the project is no older
        self.keeps_imports = 0  # the context whose next run takes its modules of the project
        self.nonce = os.urandom(16).hex()
        self.marker = self.nonce.encode() + b" "
        self.has_orders = False  # else it has nothing to clean up, and is not waited for
        self.takes_more = False  # whether it has done all of its orders, and waits for more
        self.patience = START_LIMIT
        self.is_silent = False
        self.packages: list[str] = []  # modules of installed packages that it had to import
        self.host = _host(python, environ) if may_be_forked else None
        self.process: subprocess.Popen[bytes] | Host
        if self.host:
            self.temporary, self.process = self.host.place, self.host
        else:
            self.temporary = make_directory("nparam-lint-")  # the one directory where it may write
            own_environ = worker_environment(environ, self.temporary, python)
            self.process = self._started(own_environ.process)
        pipes = (self.process.stdin, self.process.stdout, self.process.stderr)
        self.stdin, self.stdout, self.stderr = filter(None, pipes)
        self.lines: queue.Queue[bytes | None] = queue.Queue()
        self.tail = b""
        self.writer: threading.Thread | None = None
        if not self.host:  # before it imports torch, which asks too
            self.send({"environ": own_environ.on_request})
        self.readers = [_thread(self._read_frames), _thread(self._read_errors)]

    def _started(self, environ: dict[str, str]) -> subprocess.Popen[bytes]:
        try:
            # -P/-I are not used: the project may rely on its environment; our directory is taken
            # off the import path by the worker itself.
            return subprocess.Popen(
                [self.python, "-X", "faulthandler", WORKER],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=1 << 20,  # an answer is 100 KB, and would be read in pieces of 8
                env=environ,
                start_new_session=os.name == "posix",
            )
        except OSError as error:
            remove_directory(self.temporary)
            reason = f"cannot start {self.python}: {error.strerror or error}"
            raise CannotStart(reason) from None

    @property
    def has_to_start(self) -> bool:
        """Whether it imports torch first."""
        return self.host is None and not self.takes_more

    def fits(self, python: str, environ: Mapping[str, str]) -> bool:
        """Whether a worker started with these would be the same."""
        return self.python == python and self.environ == worker_environment(environ, "", python)

    def close(self) -> None:
        """End the worker and everything that it started, on every way out (Ctrl-C too)."""
        threads = [*filter(None, (self.writer, *self.readers))]
        if self.has_orders and not (self.writer and self.writer.is_alive()):
            with suppress(OSError):
                self.stdin.close()  # it takes this as the order to stop
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=2)
        self.kill()
        self.process.wait()
        for thread in threads:
            thread.join(timeout=2)
        if not any(thread.is_alive() for thread in threads):  # else something holds a pipe
            for pipe in (self.stdin, self.stdout, self.stderr):
                with suppress(OSError):
                    pipe.close()
        if self.host:
            self.host.connection.close()
        else:
            remove_directory(self.temporary)

    def kill(self) -> None:
        """End its processes at once."""
        if os.name == "posix" and not self.host:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()

    def _read_frames(self) -> None:
        for line in self.stdout:
            if line.startswith(self.marker):
                self.lines.put(line)
        self.lines.put(None)

    def _read_errors(self) -> None:
        while data := os.read(self.stderr.fileno(), 1 << 16):
            self.tail = (self.tail + data)[-4096:]

    def send(self, request: object) -> None:
        """Write in a thread of its own: an interpreter that does not read must not hold us up."""
        self.has_orders = isinstance(request, dict) and "orders" in request
        self.takes_more = False
        data = json.dumps(request, default=vars).encode() + b"\n"
        earlier_writer = self.writer

        def write() -> None:
            if earlier_writer:
                earlier_writer.join()
            with suppress(OSError, ValueError):
                self.stdin.write(data)
                self.stdin.flush()

        self.writer = _thread(write)

    def frames(self) -> Iterator[tuple[dict[str, Any], bytes]]:
        """The frames that carry this run's nonce, with what follows them, until the end or until
        none has come for `patience` seconds."""
        # Once it is ready it watches over its own children: this catches itself hanging.
        while True:
            try:
                line = self.lines.get(timeout=self.patience)
            except queue.Empty:
                self.is_silent = True
                return
            if line is None:
                return
            head, _, body = line[len(self.marker) :].partition(TAB)
            with suppress(ValueError):
                frame = json.loads(head)
                if isinstance(frame, dict):
                    if frame.get("event") == "ready":
                        self.patience = SILENCE
                    self.takes_more = frame.get("event") == "end" and frame.get("more") is True
                    if isinstance(packages := frame.get("packages"), list):
                        self.packages = [*map(str, packages)]
                    yield frame, body

    def why_it_ended(self) -> tuple[Cause, str]:
        """Why it did not finish its work."""
        if self.is_silent:
            return "timed_out", f"the worker did not respond for {self.patience:g} s"
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=2)
        status = self.process.returncode
        return "died", f"the worker ended before its work was done (exit status {status})"

    def tail_text(self) -> str:
        return self.tail.decode("utf-8", "replace").strip()


def _host(python: str, environ: Mapping[str, str]) -> Host | None:
    """A host of a process that stays, where there is one."""
    base = directory(environ)
    if base is None or not os.path.isdir(os.path.join(base, RESIDENT)):
        return None
    place = resident.place_of(python, environ)
    return resident.connect(place) if place else None


def _thread(target: Callable[[], None], *, daemon: bool = True) -> threading.Thread:
    thread = threading.Thread(target=target, daemon=daemon)
    thread.start()
    return thread
