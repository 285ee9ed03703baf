"""The worker's process: its environment, its start and its end.

A run that has just found a change imports this module first, since importing torch takes a second.
"""

from __future__ import annotations

import itertools
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

# Variables that make hubs, loggers and downloaders stay offline.
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
_SECRET_NAME = re.compile(
    r"TOKEN(?!IZ)|SECRET|PASSW|PASSPHRASE|(^|_)(PASS|PW|KEYS?|AUTH|PAT)\d*(_|$)|_PWD\d*$|(^|_)CRED|CREDS|CREDENTIAL|PRIVATE"
    r"|APIKEY|AUTHORIZATION|BEARER|JWT|COOKIE|WEBHOOK|(^|_)DSN$|CONN(ECTION)?_?STR",
    re.IGNORECASE,
)
# Values that contain credentials, whatever the variable is called: a URL with a password or a
# token; `password=…` in a connection string; tokens with a known prefix.
_IN_ADDRESS = r"(?<=://)(?:[^\s/@:'\"]*:[^\s/@'\"]+|[^\s/@:'\"]{12,})(?=@)"
_NAMED = (
    r"\b(?:pass(?:word|wd|phrase)?|pwd|secret|token|sig|\w*(?:api|access|account|private)_?key)"
    r"['\"]?\s*[=:]\s*['\"]?([^\s;&,'\"]{4,})"
)
_TOKENS = (
    r"\b(?:gh[pousr]_|github_pat_|hf_|sk-|xox[abprs]-|glpat-|AKIA|ASIA|AIza|eyJ)[\w.-]{16,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----"
)
# `user:password@host` without a scheme, a header, an address that anybody may post to.
_WHOLE = (
    r"^[^\s/@:]+:[^\s/@]{3,}@[\w.-]+|^(?:Basic|Bearer) [\w+/=.-]{8,}$"
    r"|\bhooks\.slack\.com/services/\S+|\bdiscord(?:app)?\.com/api/webhooks/\S+"
)
_SECRET_VALUE = re.compile(f"{_IN_ADDRESS}|{_NAMED}|{_TOKENS}|{_WHOLE}", re.IGNORECASE)
_CREDENTIALS = re.compile(f"{_IN_ADDRESS}|{_TOKENS}")  # in any text
# Values that look random: 40 hexadecimal digits; a key in base 64, which has small and capital
# letters and several digits. (The names of GPUs have dashes among their digits.)
_RANDOM = re.compile(
    r"[0-9a-fA-F]{40,}|(?=.*[a-z])(?=.*[A-Z])(?=.*\d.*\D.*\d)(?!.*[0-9a-f]{8}(-[0-9a-f]{4}){3})"
    r"[\w+=-][\w+/=-]{19,}"
)
# Values that are never secret.
_PLAIN = re.compile(r".{0,3}|\d{1,9}|true|false|none|null|auto|disabled|enabled", re.I | re.S)
_OF_TOOLS = re.compile(r"^(SSH|GPG|GIT)_")  # they reach what is not the build's
# What a terminal, a shell or a CI service sets for this one run: no count may depend on it, so that
# a measurement from one terminal is valid in the next.
_PASSING = re.compile(
    r"^(_|SHLVL|PWD|OLDPWD|COLUMNS|LINES|STY|TMUX|DISPLAY|XAUTHORITY|WINDOWID|COLORTERM|VTE_VERSION"
    r"|PRE_COMMIT.*|PYTEST_.*|TERM.*|RUNNER_TRACKING_ID|GITHUB_(RUN|SHA|REF|EVENT|ACTION|ENV|OUTPUT"
    r"|STATE|STEP|PATH|JOB|HEAD|BASE|WORKFLOW|ACTOR|TRIGGERING)(_.*)?|CI_(JOB|PIPELINE|COMMIT|RUNNER"
    r"|BUILD|CONCURRENT|MERGE)_.*|(TMUX|VSCODE|ITERM|KITTY|ALACRITTY|WEZTERM|KONSOLE|WAYLAND|DBUS"
    r"|XDG_SESSION)_.*)$"
)
_OWN_SWITCHES = re.compile(
    r"^NPARAM_LINT_(?!(FORK|KERNEL_GUARD)$)|^PYTHON(HOME|STARTUP|BREAKPOINT|INSPECT)$"
)


def worker_environment(environ: Mapping[str, str], place: str) -> dict[str, str]:
    """The environment of the worker: offline, without secrets, without variables that would select
    another interpreter, and without those that differ in every run."""
    kept = {
        name: value
        for name, value in environ.items()
        if not any(kind.search(name) for kind in (_OF_TOOLS, _OWN_SWITCHES, _PASSING))
        and not _is_secret(name, value)
    }
    kept.update(OFFLINE)
    kept.update({name: f"{place}{os.sep}{name.lower()}" for name in TEMPORARY_CACHES})
    kept.update(TMPDIR=place, TEMP=place, TMP=place)
    return kept


def _is_secret(name: str, value: str) -> bool:
    found = _SECRET_NAME.search(name) or _SECRET_VALUE.search(value)
    return bool(found) or _is_random(value)


def _is_random(value: str) -> bool:
    return _RANDOM.fullmatch(value) is not None and len(set(value)) > 10


class Secrets:
    """Secrets, which are withheld from builds, and which no report may show: a file of the project
    may contain the same secret."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.names = [name for name, value in environ.items() if _is_secret(name, value)]
        parts = {part for name in self.names for part in _parts(environ[name])}
        parts = {part for part in parts if not _PLAIN.fullmatch(part)}
        self._shown = re.compile("|".join(map(_shown, sorted(parts, key=len, reverse=True))))

    def mask(self, text: str) -> str:
        """`text` with `…` in place of all that is withheld, and of credentials in any address."""
        if self._shown.pattern:
            text = self._shown.sub("…", text)
        return _CREDENTIALS.sub("…", text)


def _parts(value: str) -> Iterator[str]:
    """A secret, and the parts of it that are secret by themselves, as they appear in messages."""
    found = {value.strip(), " ".join(value.split())}
    for match in _SECRET_VALUE.finditer(value):
        word = match[1] or match[0]
        found |= {word, word.partition(":")[2]}
    if "/" not in value:  # user:password
        found.add(value.partition(":")[2])
    found.update(word for word in re.findall(r"[\w+/=-]{20,}", value) if _is_random(word))
    for part in found:
        yield part
        yield json.dumps(part)[1:-1]
        yield repr(part)[1:-1]
        if "%" in part:
            from urllib.parse import unquote

            yield unquote(part)


def _shown(part: str) -> str:
    """A pattern for where a secret is shown, also where a message was cut in the middle of it."""
    whole = re.escape(part)
    if len(part) < 8:  # it may be part of a word by chance
        return rf"(?<!\w){whole}(?!\w)"
    return rf"{whole}|{re.escape(part[:6])}\S*(?= …)"


_waiting: list[Worker] = []  # those that have nothing to do
_working: list[Worker] = []
# Not empty: one that has done its work waits for the next run. Each is the number of a context
# whose runs share their imports, or 0.
_reuses: list[int] = []
_numbers = itertools.count(1)
_ahead: list[bool] = []  # whether one that waits imports for the next run what this one needed
_taking = threading.Lock()  # the two sides of a diff take theirs in two threads


def start_early(python: str, environ: Mapping[str, str]) -> None:
    """Let the worker import torch while the front end determines what to build."""
    if not any(worker.fits(python, environ) for worker in _waiting):
        with suppress(CannotStart):  # reported when it is needed
            _waiting.append(Worker(python, environ))


def end_waiting() -> None:
    """End the idle workers, unless more work is expected."""
    if not _reuses:
        _end_all()


def _end_all() -> None:
    while _waiting:
        _waiting.pop().close()


@contextmanager
def reused_worker(*, imports: bool = True, ahead: bool = False) -> Iterator[None]:
    """One worker for all runs within: torch is imported once for all of them. `imports`: so are
    the project's modules, as long as nothing else is asked for. `ahead`: between two runs a process
    is made ready, and imports the packages that the run before had to import."""
    _ahead.append(ahead)
    _reuses.append(next(_numbers) if imports else 0)
    try:
        yield
    finally:
        _reuses.pop()
        _ahead.pop()
        end_waiting()


@contextmanager
def running(python: str, environ: Mapping[str, str]) -> Iterator[Worker]:
    """A worker: a waiting one, or a new one. Afterwards it ends, with every process that it
    started, and its files are removed; or it waits again.

    Raises CannotStart.
    """
    with _taking:
        if _waiting and not _waiting[-1].fits(python, environ):
            _end_all()
        worker = _waiting.pop() if _waiting else Worker(python, environ)
        keeps = next(filter(None, _reuses), 0)
        if worker.takes_more and not (keeps and worker.keeps_imports == keeps):
            worker.start = time.time_ns()
        worker.keeps_imports, worker.imports_ahead = keeps, any(_ahead)
        _working.append(worker)
    try:
        yield worker
    finally:
        _working.remove(worker)
        if worker.takes_more and _reuses:
            _waiting.append(worker)
        else:
            worker.close()


def stop_working() -> None:
    """End the workers that are at work, from another thread: their runs measure nothing."""
    for worker in [*_working]:
        worker.kill()


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
        self.keeps_imports = 0  # the context whose next run takes its modules of the project
        self.nonce = secrets.token_hex(16)
        self.marker = self.nonce.encode() + b" "
        self.imports_ahead = False  # whether it makes a process ready for the next run
        self.takes_more = False  # whether it has done all of its orders, and waits for more
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
        """Whether a worker started with these would be the same."""
        return self.python == python and self.environ == worker_environment(environ, "")

    def close(self) -> None:
        """End the worker and everything that it started, on every way out (Ctrl-C too)."""
        process = self.process
        if self.writer and not self.writer.is_alive():
            self._close(process.stdin)  # it takes this as the order to stop
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=2)
        self.kill()
        process.wait()
        streams = (process.stdin, process.stdout, process.stderr)
        for thread, stream in zip((self.writer, *self.readers), streams, strict=True):
            if thread:
                thread.join(timeout=2)
            if not (thread and thread.is_alive()):  # else something that it left holds the pipe
                self._close(stream)
        remove_directory(self.temporary)

    def kill(self) -> None:
        """End its processes at once."""
        if os.name == "posix":
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()

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
        """Why it did not finish its work."""
        if self.is_silent:
            return "timed_out", f"the worker did not respond for {self.patience:g} s"
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
