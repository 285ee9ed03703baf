"""Runs the worker in the project's interpreter and reads its answers.

The worker is not trusted: an answer that is missing, truncated, forged or of another protocol is
`NotMeasured`, never a count.
"""

from __future__ import annotations

import json
import os
import queue
import re
import secrets
import signal
import subprocess
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import asdict, astuple, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nparam_lint.records import ImportAttempt, Measured, Measurement, NotMeasured

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from nparam_lint.cache.store import Store
    from nparam_lint.cache.witness import Witness
    from nparam_lint.count.memory import Memory
    from nparam_lint.snapshot import Snapshot

PROTOCOL = 2
TAB = b"\t"  # between a frame and what it carries
WORKER = Path(__file__).with_name("worker.py")
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
    "MPLCONFIGDIR",
    "TORCHINDUCTOR_CACHE_DIR",
    "TRITON_CACHE_DIR",
    "NUMBA_CACHE_DIR",
    "HF_MODULES_CACHE",
    "TORCH_EXTENSIONS_DIR",
    "CUDA_CACHE_PATH",
)
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


@dataclass(frozen=True, slots=True)
class Job:
    """One call to build. `file`: the defining file below the root, or None for an installed
    module; `attempts`: ways to import it. `callable` and `arguments`, or `setup` and `call`, say
    what to build; `names`: what its formulas ask for; `input`: shapes lazy parameters."""

    id: int
    label: str
    file: str | None
    attempts: tuple[ImportAttempt, ...]
    callable: str
    arguments: str | None = None
    setup: str | None = None
    call: str | None = None
    input: str | None = None
    device: str = "meta"
    names: tuple[str, ...] = ()
    parameters: bool = False


@dataclass(frozen=True, slots=True)
class Limits:
    """`timeout`: seconds for one model. `memory`: resident bytes for one model. `jobs`: processes
    that build at a time."""

    timeout: float = 60.0
    memory: int = 0
    jobs: int = 2


@dataclass(slots=True)
class Answers:
    """What a run brought: measurements by job id, and what the worker said of its interpreter.
    `broken`: why nothing at all could be measured (no torch), else None."""

    measurements: dict[int, Measurement] = field(default_factory=dict)
    torch: str | None = None
    python: str | None = None
    cuda: bool | None = None
    broken: str | None = None


def default_memory() -> int:
    """Half of the machine's memory, in bytes; 0 (no limit) where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, OSError, ValueError):
        return 0


def worker_environment(environ: Mapping[str, str], temporary: str) -> dict[str, str]:
    """The environment of the worker: offline, without secrets, without what would make its
    interpreter another one, and without what is never twice the same."""
    kept = {
        name: value
        for name, value in environ.items()
        if not any(kind.search(name) for kind in (_SECRET, _OWN_SWITCHES, _PASSING))
    }
    kept.update(OFFLINE)
    kept.update({name: f"{temporary}{os.sep}{name.lower()}" for name in TEMPORARY_CACHES})
    kept.update(TMPDIR=temporary, TEMP=temporary, TMP=temporary)
    return kept


def run_jobs(
    python: str,
    root: Path,
    jobs: Sequence[Job],
    limits: Limits,
    environ: Mapping[str, str],
    progress: Callable[[int, int, str], None] | None = None,
    names: Iterable[str] = (),
    snapshot: Snapshot | None = None,
    store: Store | None = None,
    witness: Witness | None = None,
) -> Answers:
    """Build and count every job, but for those that `store` has from an earlier run; `witness` is
    told of what the answers rest on.
    `progress(done, all, label)` is called after each answer; `names` are those under which anything
    of the project could be imported; `snapshot` says what `root` is a copy of."""
    names = sorted(names)
    memory = _memory(python, root, environ, names, snapshot, store) if store and jobs else None
    known = memory.installation() if memory else None
    recalled = {job.id: memory.recall(job) for job in jobs} if memory and known else {}
    found = {number: measured for number, measured in recalled.items() if measured}
    left = [job for job in jobs if job.id not in found]
    if known and not left:
        _testify(witness, memory, snapshot, root, len(jobs))
        return Answers(found, known.torch, known.python)
    answers = Answers()
    with tempfile.TemporaryDirectory(
        prefix="nparam-lint-", ignore_cleanup_errors=True
    ) as temporary:
        nonce = secrets.token_hex(16)
        settings = {
            "root": str(root),
            "temporary": temporary,
            "nonce": nonce,
            "timeout": limits.timeout,
            "memory": limits.memory,
            "jobs": limits.jobs,
            "names": names,
            "snapshot": None if snapshot is None else _copy(snapshot),
        }
        request = {"settings": settings, "jobs": [asdict(job) for job in left], "probe": not jobs}
        given = {**worker_environment(environ, temporary), "PWD": str(root)}
        with _Worker(python, given, nonce) as worker:
            worker.send(request)
            why = _read(worker, left, answers, memory, progress)
        if answers.torch is None:
            answers.broken = why + worker.tail_text()
        for job in left:
            if job.id not in answers.measurements:
                answers.measurements[job.id] = NotMeasured(
                    "NPL005", why, output=worker.tail_text().strip()
                )
    answers.measurements.update(found)
    _testify(witness, memory, snapshot, root, len(jobs))
    return answers


def _testify(
    witness: Witness | None,
    memory: Memory | None,
    snapshot: Snapshot | None,
    root: Path,
    answers: int,
) -> None:
    """Tell what the answers rest on; not where some rest on nothing that is known."""
    if witness is None or not answers:
        return
    if memory is None or memory.known != answers:
        witness.sound = False
    else:
        home = snapshot.original_of(root) if snapshot else root
        witness.paths.update(memory.paths(str(home)))


def _memory(
    python: str,
    root: Path,
    environ: Mapping[str, str],
    names: Sequence[str],
    snapshot: Snapshot | None,
    store: Store,
) -> Memory:
    from nparam_lint.count.memory import Memory, Now

    copied = "" if snapshot is None else "\n".join(["a copy", *snapshot.untracked])
    return Memory(store, Now(root, names), python, worker_environment(environ, ""), copied)


def _copy(snapshot: Snapshot) -> dict[str, Any]:
    """What the worker has to know to keep the working tree out of a copy of what git has."""
    return {
        "copy": str(snapshot.directory),
        "original": str(snapshot.home),
        "linked": list(snapshot.linked),
        "untracked": [path for path in snapshot.untracked if path.endswith(".py")],
    }


def _read(
    worker: _Worker,
    jobs: Sequence[Job],
    answers: Answers,
    memory: Memory | None,
    progress: Callable[[int, int, str], None] | None,
) -> str:
    """Take in frames until the end marker; returns what to say of the jobs without an answer."""
    by_id = {job.id: job for job in jobs}
    sites: object = None
    for frame, body in worker.frames():
        event = frame.get("event")
        if event == "ready":
            if frame.get("protocol") != PROTOCOL:
                return f"the worker speaks protocol {frame.get('protocol')}, not {PROTOCOL}"
            torch, python = frame.get("torch"), frame.get("version")
            if not isinstance(torch, str) or not isinstance(python, str):
                return "the worker's first answer cannot be read"
            answers.torch, answers.python = torch, python
            answers.cuda, sites = frame.get("cuda"), frame.get("sites")
            # It watches over its own children; this only catches the worker itself hanging.
            worker.patience = SILENCE
        elif event == "no torch":
            return str(frame.get("reason"))
        elif event == "result" and answers.torch is not None:
            number = frame.get("id")
            if type(number) is int and number in by_id:
                text, _, reads = body.partition(TAB)
                found = measurement(frame.get("ok") is True, text)
                answers.measurements[number] = found
                if memory and frame.get("kept") is True:
                    reads = b"" if frame.get("retried") else reads
                    memory.learn(by_id[number], found, text, reads)
                if progress:
                    progress(len(answers.measurements), len(jobs), by_id[number].label)
        elif event == "reads" and memory:
            memory.note(body)
        elif event == "end":
            if memory and answers.torch and answers.python:
                memory.save(answers.torch, answers.python, sites)
            return "the worker ended without an answer for it"
    answers.measurements.clear()  # the protocol: a run without its end has measured nothing
    return worker.obituary()


def measurement(ok: bool, body: bytes) -> Measurement:
    """A result as the worker sends it, checked field by field; one that cannot be read is not
    measured."""
    from msgspec import ValidationError

    try:
        found: Measurement = decoder(ok).decode(body)
        if isinstance(found, NotMeasured):
            if not re.fullmatch(r"NPL00[34589]", found.code):
                raise ValueError(f"code {found.code}")
        else:
            _check(found)
    except (ValidationError, ValueError) as error:
        return NotMeasured("NPL005", f"the worker's answer cannot be read ({error})")
    return replace(found, notes=tuple(dict.fromkeys(found.notes)), cached=False)


@cache
def decoder(ok: bool) -> Any:
    """From JSON to a measurement; it allows nothing but what the fields are declared to be."""
    from msgspec.json import Decoder

    return Decoder(Measured if ok else NotMeasured)


def _check(found: Measured) -> None:
    if not found.modules or found.modules[0].total != found.counts.total:
        raise ValueError("the rows do not add up")
    numbers = (n for row in found.modules for n in (row.own, row.total, row.trainable, row.buffers))
    if min(*numbers, *filter(None, astuple(found.counts))) < 0:
        raise ValueError("a count is negative")


class _Worker:
    """The worker's process, its frames, and the end of what it printed to standard error."""

    def __init__(self, python: str, environ: Mapping[str, str], nonce: str) -> None:
        # -P/-I are not used: the project may rely on its environment; our directory is taken off
        # the import path by the worker itself.
        command = [python, "-X", "faulthandler", str(WORKER)]
        self.marker = nonce.encode() + b" "
        self.problem = ""
        self.patience = START_LIMIT
        self.process: subprocess.Popen[bytes] | None = None
        try:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=dict(environ),
                start_new_session=os.name == "posix",
            )
        except OSError as error:
            self.problem = f"cannot start {python}: {error.strerror or error}"
        self.lines: queue.Queue[bytes | None] = queue.Queue()
        self.tail = b""
        self.threads: list[threading.Thread] = []
        self.writer: threading.Thread | None = None

    def __enter__(self) -> _Worker:
        if self.process:
            for read in (self._read_frames, self._read_errors):
                thread = threading.Thread(target=read, daemon=True)
                thread.start()
                self.threads.append(thread)
        return self

    def __exit__(self, *_: object) -> None:
        """End the worker and everything that it started, on every way out (Ctrl-C too)."""
        if not self.process:
            return
        if self.writer and not self.writer.is_alive():
            self._close_input()  # it takes this as the order to stop
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=2)
        if os.name == "posix":
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.wait()
        if self.writer:
            self.writer.join(timeout=2)
            if not self.writer.is_alive():
                self._close_input()
        for thread, stream in zip(
            self.threads, (self.process.stdout, self.process.stderr), strict=True
        ):
            thread.join(timeout=2)
            if stream and not thread.is_alive():  # else something that it left holds the pipe
                stream.close()

    def _close_input(self) -> None:
        assert self.process is not None
        assert self.process.stdin is not None
        with suppress(OSError):
            self.process.stdin.close()

    def _read_frames(self) -> None:
        assert self.process is not None
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith(self.marker):
                self.lines.put(line)
        self.lines.put(None)

    def _read_errors(self) -> None:
        assert self.process is not None
        assert self.process.stderr is not None
        while data := os.read(self.process.stderr.fileno(), 1 << 16):
            self.tail = (self.tail + data)[-4096:]

    def send(self, request: object) -> None:
        """Write in a thread of its own: an interpreter that does not read must not hold us up."""
        if self.process:
            data = json.dumps(request).encode() + b"\n"
            self.writer = threading.Thread(target=self._write, args=(data,), daemon=True)
            self.writer.start()

    def _write(self, data: bytes) -> None:
        assert self.process is not None
        assert self.process.stdin is not None
        with suppress(OSError, ValueError):
            self.process.stdin.write(data)
            self.process.stdin.flush()

    def frames(self) -> Iterator[tuple[dict[str, Any], bytes]]:
        """The frames that carry this run's nonce, with what follows them, until the end or until
        none has come for `patience` seconds."""
        while self.process:
            try:
                line = self.lines.get(timeout=self.patience)
            except queue.Empty:
                self.problem = f"the worker said nothing for {self.patience:g} s"
                return
            if line is None:
                return
            head, _, body = line[len(self.marker) :].partition(TAB)
            with suppress(ValueError):
                frame = json.loads(head)
                if isinstance(frame, dict):
                    yield frame, body

    def obituary(self) -> str:
        if self.problem or not self.process:
            return self.problem
        deadline = time.monotonic() + 2
        while self.process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        return f"the worker ended before its work was done (exit status {self.process.returncode})"

    def tail_text(self) -> str:
        text = self.tail.decode("utf-8", "replace").strip()
        return "\n" + text if text else ""
