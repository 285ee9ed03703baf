"""Runs the worker in the project's interpreter and reads its answers.

The worker is not trusted: an answer that is missing, truncated, forged or of another protocol is
`NotMeasured`, never a count.
"""

from __future__ import annotations

import os
import re
from dataclasses import asdict, astuple, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from nparam_lint.cache.json_decoder import json_decoder
from nparam_lint.count.worker_process import (
    SILENCE,
    TAB,
    Worker,
    keeps_imports,
    running,
    worker_environment,
)
from nparam_lint.records import Cause, ImportAttempt, Measured, Measurement, NameValue, NotMeasured

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from nparam_lint.cache.measurement_cache import Memory
    from nparam_lint.cache.replay_inputs import Witness
    from nparam_lint.cache.store import Store
    from nparam_lint.repository.snapshot import Snapshot

PROTOCOL = 3


@dataclass(frozen=True, slots=True)
class Job:
    """One call to build. `file`: the defining file below the root, or None for an installed
    module; `attempts`: ways to import it. `callable` and `arguments`, or `setup` and `call`, say
    what to build; `names`: what its formulas ask for; `input`: shapes lazy parameters;
    `experts_per_token`: how many experts of a mixture a token uses, where declared; `device`:
    meta, or another as well, or "meta only" where none is to be tried after it; `vary`: other
    values for arguments of the call, or for fields of the config object that is made in it;
    `scale`: the same, times what they are; `parameters`, `variables`: whether these are to be told
    too."""

    id: int
    label: str
    file: str | None
    attempts: tuple[ImportAttempt, ...]
    callable: str
    arguments: str | None = None
    setup: str | None = None
    call: str | None = None
    input: str | None = None
    experts_per_token: int | None = None
    device: str = "meta"
    names: tuple[str, ...] = ()
    parameters: bool = False
    vary: tuple[tuple[str, NameValue], ...] = ()
    scale: tuple[tuple[str, int], ...] = ()
    variables: bool = False


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
    meanwhile: Callable[[], None] = lambda: None,
) -> Answers:
    """Build and count every job, but for those that `store` has from an earlier run; `witness` is
    told of what the answers rest on; `meanwhile` is called when the worker has its orders.
    `progress(done, all, label)` is called after each answer; `names` are those under which anything
    of the project could be imported; `snapshot` says what `root` is a copy of."""
    names = sorted(names)
    memory = _memory(python, root, environ, names, snapshot, store) if store and jobs else None
    known = memory.installation() if memory else None
    recalled = {job.id: memory.recall(job) for job in jobs} if memory and known else {}
    found = {number: measured for number, measured in recalled.items() if measured}
    left = [job for job in jobs if job.id not in found]
    if memory and known and not left:
        if memory.settle(built=False):
            meanwhile()
            _testify(witness, memory, snapshot, root, len(jobs))
            return Answers(found, known.torch, known.python)
        found, left = {}, list(jobs)
        memory.forget()

    def ask(asked: Sequence[Job], meanwhile: Callable[[], None]) -> Answers:
        return _ask(
            python, root, asked, limits, environ, progress, names, snapshot, memory, meanwhile
        )

    answers = ask(left, meanwhile)
    if memory and found and not memory.settle(built=True):  # all of them together, then
        found = {}
        memory.forget()
        answers = ask(jobs, lambda: None)
    answers.measurements.update(found)
    if memory and answers.torch and answers.python:
        memory.settle(built=True)
        memory.save(answers.torch, answers.python)
    _testify(witness, memory, snapshot, root, len(jobs))
    return answers


def _ask(
    python: str,
    root: Path,
    jobs: Sequence[Job],
    limits: Limits,
    environ: Mapping[str, str],
    progress: Callable[[int, int, str], None] | None,
    names: Sequence[str],
    snapshot: Snapshot | None,
    memory: Memory | None,
    meanwhile: Callable[[], None],
) -> Answers:
    """What the worker has to say of all jobs; `memory` is told on what that rests."""
    answers = Answers()
    with running(python, environ) as worker:
        if memory:  # what it imported for an earlier run is not imported again
            memory.start = min(memory.start, worker.start)
        settings = {
            "root": str(root),
            "temporary": worker.temporary,
            "nonce": worker.nonce,
            "timeout": limits.timeout,
            "memory": limits.memory,
            "jobs": limits.jobs,
            "names": names,
            "snapshot": None if snapshot is None else _copy(snapshot),
            "staying": keeps_imports(),
        }
        request = {"settings": settings, "jobs": [asdict(job) for job in jobs], "probe": not jobs}
        worker.send(request)
        meanwhile()
        cause, why = _read(worker, jobs, answers, memory, progress)
    if answers.torch is None:
        answers.broken = why + worker.tail_text()
    for job in jobs:
        if job.id not in answers.measurements:
            answers.measurements[job.id] = NotMeasured(
                "NPL005", why, cause=cause, output=worker.tail_text().strip()
            )
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
        memory.testify(witness, str(home))


def _memory(
    python: str,
    root: Path,
    environ: Mapping[str, str],
    names: Sequence[str],
    snapshot: Snapshot | None,
    store: Store,
) -> Memory:
    from nparam_lint.cache.measurement_cache import Memory, Now

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
    worker: Worker,
    jobs: Sequence[Job],
    answers: Answers,
    memory: Memory | None,
    progress: Callable[[int, int, str], None] | None,
) -> tuple[Cause, str]:
    """Take in frames until the end marker; returns why a job without an answer has none."""
    by_id = {job.id: job for job in jobs}
    for frame, body in worker.frames():
        event = frame.get("event")
        if event == "ready":
            if frame.get("protocol") != PROTOCOL:
                spoken = frame.get("protocol")
                return "no_worker", f"the worker speaks protocol {spoken}, not {PROTOCOL}"
            torch, python = frame.get("torch"), frame.get("version")
            if not isinstance(torch, str) or not isinstance(python, str):
                return "unreadable", "the worker's first answer cannot be read"
            answers.torch, answers.python = torch, python
            answers.cuda = frame.get("cuda")
            if memory:
                memory.sites = frame.get("sites")
            # It watches over its own children; this only catches the worker itself hanging.
            worker.patience = SILENCE
        elif event == "no torch":
            return "no_worker", str(frame.get("reason"))
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
            if memory:
                memory.ended = True
            worker.takes_more = frame.get("more") is True
            return "died", "the worker ended without an answer for it"
    answers.measurements.clear()  # the protocol: a run without its end has measured nothing
    return worker.obituary()


def measurement(ok: bool, body: bytes) -> Measurement:
    """A result as the worker sends it, checked field by field; one that cannot be read is not
    measured."""
    from msgspec import ValidationError

    try:
        found: Measurement = json_decoder(Measured if ok else NotMeasured).decode(body)
        if isinstance(found, NotMeasured):
            if not re.fullmatch(r"NPL00[34589]", found.code):
                raise ValueError(f"code {found.code}")
        else:
            _check(found)
    except (ValidationError, ValueError) as error:
        reason = f"the worker's answer cannot be read ({error})"
        return NotMeasured("NPL005", reason, cause="unreadable")
    return replace(found, notes=tuple(dict.fromkeys(found.notes)), cached=False)


def _check(found: Measured) -> None:
    if not found.modules or found.modules[0].total != found.counts.total:
        raise ValueError("the rows do not add up")
    numbers = (n for row in found.modules for n in (row.own, row.total, row.trainable, row.buffers))
    if min(*numbers, *filter(None, astuple(found.counts))) < 0:
        raise ValueError("a count is negative")
