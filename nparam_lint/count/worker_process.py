"""The worker's process: what it is given, and how it ends.

Imported by a run that has just seen that something changed, before all else: torch takes a second.
"""

from __future__ import annotations

import json
import os
import queue
import re
import secrets
import signal
import subprocess
import threading
import time
from contextlib import contextmanager, suppress

from nparam_lint.repository import make_directory, remove_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import IO, Any

    from nparam_lint.records import Cause

TAB = b"\t"  # between a frame and what it carries
WORKER = __file__.removesuffix("worker_process.py") + os.path.join("worker", "launch.py")  # noqa: PTH118
START_LIMIT = 300.0  # seconds for importing torch; on a cold network disk it takes minutes
SILENCE = 60.0  # seconds without a sign of life, of which it gives one every few

# What a hub, a logger or a downloader reads to stay offline; caches that go to the temporary place.
OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "WANDB_MODE": "disabled",
    "WANDB_SILENT": "true",
    "DO_NOT_TRACK": "1",
    "MPLBACKEND": "Agg",
    "TOKENIZERS_PARALLELISM": "false",
    "NO_ALBUMENTATIONS_UPDATE": "1",
    "PYTHONUNBUFFERED": "1",
}
TEMPORARY_CACHES = (
    "MPLCONFIGDIR TORCHINDUCTOR_CACHE_DIR TRITON_CACHE_DIR NUMBA_CACHE_DIR HF_MODULES_CACHE"
    " TORCH_EXTENSIONS_DIR CUDA_CACHE_PATH"
).split()
_SECRET = re.compile(
    r"TOKEN|SECRET|PASSW|_PWD$|CREDENTIAL|_KEY(_ID)?$|APIKEY|^SSH_|^GPG_|^GIT_|_AUTH$",
    re.IGNORECASE,
)
# What a terminal, a shell or a CI service notes of this one run: no count may depend on it, so that
# what was measured in one terminal holds in the next.
_PASSING = re.compile(
    r"^(_|SHLVL|PWD|OLDPWD|COLUMNS|LINES|STY|TMUX|DISPLAY|XAUTHORITY|WINDOWID|COLORTERM|VTE_VERSION"
    r"|PRE_COMMIT.*|PYTEST_.*|TERM.*|RUNNER_TRACKING_ID|GITHUB_(RUN|SHA|REF|EVENT|ACTION|ENV|OUTPUT"
    r"|STATE|STEP|PATH|JOB|HEAD|BASE|WORKFLOW|ACTOR|TRIGGERING)(_.*)?|CI_(JOB|PIPELINE|COMMIT|RUNNER"
    r"|BUILD|CONCURRENT|MERGE)_.*|(TMUX|VSCODE|ITERM|KITTY|ALACRITTY|WEZTERM|KONSOLE|WAYLAND|DBUS"
    r"|XDG_SESSION)_.*)$"
)
_OWN_SWITCHES = re.compile(r"^NPARAM_LINT_(?!FORK$)|^PYTHON(HOME|STARTUP|BREAKPOINT|INSPECT)$")


def worker_environment(environ: Mapping[str, str], place: str) -> dict[str, str]:
    """The environment of the worker: offline, without secrets, without what would make its
    interpreter another one, and without what is never twice the same."""
    kept = {
        name: value
        for name, value in environ.items()
        if not any(kind.search(name) for kind in (_SECRET, _OWN_SWITCHES, _PASSING))
    }
    kept.update(OFFLINE)
    kept.update({name: f"{place}{os.sep}{name.lower()}" for name in TEMPORARY_CACHES})
    kept.update(TMPDIR=place, TEMP=place, TMP=place)
    return kept


_waiting: list[Worker] = []  # those that have nothing to do
# Not empty: one that has done its work waits for the next run; whether it keeps its imports.
_reuses: list[bool] = []
_taking = threading.Lock()  # the two sides of a diff take theirs in two threads


def start_early(python: str, environ: Mapping[str, str]) -> None:
    """Have torch imported while it is still found out what there is to build."""
    if not any(worker.fits(python, environ) for worker in _waiting):
        with suppress(CannotStart):  # reported when it is needed
            _waiting.append(Worker(python, environ))


def end_waiting() -> None:
    """End the workers that have nothing to do, unless more work is to come."""
    if not _reuses:
        _end_all()


def _end_all() -> None:
    while _waiting:
        _waiting.pop().close()


@contextmanager
def reused_worker(*, imports: bool = True) -> Iterator[None]:
    """One worker for all runs within: torch is imported once for all of them. `imports`: so are
    the project's modules, as long as nothing else is asked for."""
    _reuses.append(imports)
    try:
        yield
    finally:
        _reuses.pop()
        end_waiting()


@contextmanager
def running(python: str, environ: Mapping[str, str]) -> Iterator[Worker]:
    """A worker: one that waits, or a new one. It ends with all that it started, and what it wrote
    is removed; or it waits again.

    Raises CannotStart.
    """
    with _taking:
        if _waiting and not _waiting[-1].fits(python, environ):
            _end_all()
        worker = _waiting.pop() if _waiting else Worker(python, environ)
        if worker.takes_more and not worker.keeps_imports:
            worker.start = time.time_ns()
        worker.keeps_imports = any(_reuses)
    waits = False
    try:
        yield worker
        waits = worker.takes_more and bool(_reuses)
    finally:
        if waits:
            _waiting.append(worker)
        else:
            worker.close()


class CannotStart(Exception):
    """The interpreter cannot be run."""


class Worker:
    """The worker's process, its frames, and the end of what it printed to standard error."""

    def __init__(self, python: str, environ: Mapping[str, str]) -> None:
        """`environ`: that of the user. Raises CannotStart."""
        # -P/-I are not used: the project may rely on its environment; our directory is taken off
        # the import path by the worker itself.
        command = [python, "-X", "faulthandler", WORKER]
        self.python, self.environ = python, worker_environment(environ, "")
        self.temporary = make_directory("nparam-lint-")  # the one directory where it may write
        self.start = time.time_ns()  # what it knows of the project is no older
        self.keeps_imports = False  # whether it keeps the project's modules for the next run
        self.nonce = secrets.token_hex(16)
        self.marker = self.nonce.encode() + b" "
        self.takes_more = False  # whether it has done all that it was told, and waits for more
        self.patience = START_LIMIT
        self.is_silent = False
        try:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=worker_environment(environ, self.temporary),
                start_new_session=os.name == "posix",
            )
        except OSError as error:
            remove_directory(self.temporary)
            raise CannotStart(f"cannot start {python}: {error.strerror or error}") from None
        self.lines: queue.Queue[bytes | None] = queue.Queue()
        self.tail = b""
        self.writer: threading.Thread | None = None
        self.readers = [_thread(self._read_frames), _thread(self._read_errors)]

    def fits(self, python: str, environ: Mapping[str, str]) -> bool:
        """Whether it is what would be started for these."""
        return self.python == python and self.environ == worker_environment(environ, "")

    def close(self) -> None:
        """End the worker and everything that it started, on every way out (Ctrl-C too)."""
        process = self.process
        if self.writer and not self.writer.is_alive():
            self._close(process.stdin)  # it takes this as the order to stop
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=2)
        if os.name == "posix":
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        process.kill()
        process.wait()
        streams = (process.stdin, process.stdout, process.stderr)
        for thread, stream in zip((self.writer, *self.readers), streams, strict=True):
            if thread:
                thread.join(timeout=2)
            if not (thread and thread.is_alive()):  # else something that it left holds the pipe
                self._close(stream)
        remove_directory(self.temporary)

    @staticmethod
    def _close(stream: IO[bytes] | None) -> None:
        assert stream is not None
        with suppress(OSError):
            stream.close()

    def _read_frames(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith(self.marker):
                self.lines.put(line)
        self.lines.put(None)

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        while data := os.read(self.process.stderr.fileno(), 1 << 16):
            self.tail = (self.tail + data)[-4096:]

    def send(self, request: object) -> None:
        """Write in a thread of its own: an interpreter that does not read must not hold us up."""
        self.takes_more = False
        data = json.dumps(request).encode() + b"\n"
        self.writer = _thread(lambda: self._write(data))

    def _write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        with suppress(OSError, ValueError):
            self.process.stdin.write(data)
            self.process.stdin.flush()

    def frames(self) -> Iterator[tuple[dict[str, Any], bytes]]:
        """The frames that carry this run's nonce, with what follows them, until the end or until
        none has come for `patience` seconds."""
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
                    yield frame, body

    def why_it_ended(self) -> tuple[Cause, str]:
        """Why it did not come to the end of its work."""
        if self.is_silent:
            return "timed_out", f"the worker said nothing for {self.patience:g} s"
        deadline = time.monotonic() + 2
        while self.process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        status = self.process.returncode
        return "died", f"the worker ended before its work was done (exit status {status})"

    def tail_text(self) -> str:
        return self.tail.decode("utf-8", "replace").strip()


def _thread(target: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=target, daemon=True)
    thread.start()
    return thread
