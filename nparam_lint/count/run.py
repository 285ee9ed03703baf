"""Runs the worker in the project's interpreter and reads its answers; the requests and answers as
values.

The worker is not trusted: an answer that is missing, truncated, forged or of another protocol is
`NotMeasured`, never a count.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec import Struct, ValidationError, field
from msgspec.json import encode
from msgspec.structs import replace

from nparam_lint.cache.file_facts import json_decoder
from nparam_lint.count import recall, resident
from nparam_lint.count.current_state import InstalledFiles, ProjectState, places_of
from nparam_lint.count.measured import Cause, Environment, Measured, Measurement, NotMeasured
from nparam_lint.count.worker_environment import Secrets, worker_environment
from nparam_lint.count.worker_process import CannotStart, Worker, running
from nparam_lint.ground import PROTOCOL, TAB
from nparam_lint.ground.facts import unescaped
from nparam_lint.ground.machine import cores, default_memory
from nparam_lint.ground.metrics import METRICS
from nparam_lint.ground.orders import Order
from nparam_lint.repository import repository_top

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence, Set

    from nparam_lint.config.interpreter import Interpreter
    from nparam_lint.config.session import Progress, Session
    from nparam_lint.config.settings import Settings
    from nparam_lint.count.recall import MeasurementCache

STARTING, IMPORTING = "starting torch…", "importing the project…"  # what progress tells of


class Answers(Struct):
    """The result of a run: measurements by the id of the order, and what the worker reported about
    its interpreter (`devices`: those that are there, where no order was given; `guards`: against
    accidents). `broken`: why nothing at all could be measured (no torch), else None. To be added
    by who chose it: the `interpreter`; and if that is broken, `inside`: the directories of the
    project with their own environments, and these environments."""

    measurements: dict[int, Measurement] = field(default_factory=dict)
    torch: str | None = None
    python: str | None = None
    devices: tuple[str, ...] = ()
    guards: tuple[str, ...] = ()
    broken: str | None = None
    interpreter: Interpreter | None = None
    inside: Mapping[str, str] = field(default_factory=dict)

    def environment(self, devices: Iterable[str]) -> Environment | None:
        """The interpreter, for a report. `devices`: those on which something was measured."""
        if self.interpreter is None:
            return None
        python, reason = self.interpreter.python, self.interpreter.reason
        return Environment(python, reason, self.torch, tuple(devices), self.guards)

    @property
    def error(self) -> str | None:
        """Why no model can be built at all, in lines; None where models can be."""
        if self.broken is None or self.interpreter is None:
            return None
        python, passed_over = self.interpreter.python, self.interpreter.passed_over
        lines = [
            f"no model can be built with {python}",
            f"  chosen because: {self.interpreter.reason}",
            f"  error: {self.broken}",
            *(
                f"  passed over: {text}"
                for text in passed_over
                if not text.startswith(f"{python} (")
            ),
            *(
                f"  found, but only for a part of the project: {environment}; to check that part: "
                f"nparam-lint {folder}"
                for folder, environment in self.inside.items()
            ),
            "  next: install torch there, or name the interpreter that has it:",
            '        nparam-lint --python PATH, NPARAM_LINT_PYTHON, or python = "…" in the config',
        ]
        return "\n".join(lines)


def run_orders(
    session: Session,
    names: Set[str],
    orders: Sequence[Order],
    meanwhile: Callable[[], None] = lambda: None,
    optional: Set[int] = frozenset(),
) -> Answers:
    """Build and count every order, except those that the cache has from an earlier run. `names`:
    those under which anything of the project could be imported. `meanwhile` is called once the
    worker has its orders. `optional`: ids of those that are left when the time for them is over.
    Every order gets an answer: a failure is a `NotMeasured`."""
    cache = _cache_of(session, names) if orders else None
    recalled = {o.id: result for o in orders if (result := cache.recall(o))} if cache else {}
    installation = cache.installation() if cache and recalled else None
    if recalled and not installation:  # by another interpreter
        recalled, cache = {}, _cache_of(session, names)
    secrets = Secrets(session.environ)
    measurements = {
        number: _with_names(_with_hint(_without_secrets(result, secrets), secrets))
        for number, result in recalled.items()
    }
    unknown = [order for order in orders if order.id not in measurements]
    if cache and installation and not unknown:
        meanwhile()
        answers = Answers(measurements, *installation[:2], guards=installation[2])
    else:
        answers = _ask_worker(session, names, unknown, cache, meanwhile, optional)
        answers.measurements.update(measurements)
    if cache:
        cache.save(answers.torch, answers.python, answers.guards)
        cache.state.installed.save()
    if cache and cache.entry_count == len(orders):
        cache.tell_inputs(session.inputs, str(session.home))
    elif orders:  # some of them rest on nothing that is known
        session.inputs.is_complete = False
    return answers


def what_was_read(
    session: Session, names: Set[str], orders: Sequence[Order], is_named: Callable[[str], bool]
) -> list[str | None]:
    """For each order the first path, of those that are named, that an earlier build of it has read;
    empty where it read none of them, and would read the same now; None where that is not known."""
    cache = _cache_of(session, names)
    if cache.installation() is None:
        return [None] * len(orders)
    paths = cache.paths_read(orders, is_named)
    cache.tell_inputs(session.inputs, str(session.home))
    return paths


def name_of_interpreter(session: Session) -> str | None:
    """A name for the interpreter as it is, with its packages, and for all else that a build sees
    besides the project; None where it was never met, or has changed since."""
    return _cache_of(session, frozenset()).name_of_interpreter()


def _ask_worker(
    session: Session,
    names: Set[str],
    orders: Sequence[Order],
    cache: MeasurementCache | None,
    meanwhile: Callable[[], None],
    optional: Set[int],
) -> Answers:
    """The worker's answers to all orders; the cache learns what they depend on."""
    answers, output = Answers(), ""
    cause: Cause = "no_worker"
    try:
        secrets = Secrets(session.environ)
        with running(session.python, session.environ, names) as worker:
            if cache:  # what it imported for an earlier run is not imported again
                cache.start = min(cache.start, worker.start)
            session.progress(0, len(orders), STARTING if worker.has_to_start else IMPORTING)
            settings = worker_settings(session, names, worker)
            time = {"patience": session.settings.patience, "optional": sorted(optional)}
            worker.send({"settings": settings, "orders": orders, "probe": not orders, **time})
            meanwhile()
            end = read_answers(worker.frames(), orders, answers, secrets, cache, session.progress)
            cause, why = end or worker.why_it_ended()
            minutes = session.settings.resident
            if orders and answers.torch and minutes:  # with what this one had to import
                if worker.host is None:
                    resident.start(session.python, session.environ, worker.packages, minutes)
                elif worker.packages:
                    resident.tell_packages(worker.host.place, worker.packages)
        output = secrets.mask(worker.tail_text())
    except CannotStart as error:
        meanwhile()
        why = str(error)
    if answers.torch is None:
        answers.broken = f"{why}\n{output}".rstrip()
    for order in orders:
        if order.id not in answers.measurements:
            answers.measurements[order.id] = NotMeasured("NPL005", why, cause=cause, output=output)
    return answers


def worker_settings(session: Session, names: Set[str], worker: Worker) -> dict[str, Any]:
    """What the worker has to know about the project, apart from the orders."""
    snapshot = session.snapshot
    return {
        "root": str(session.root),
        "temporary": worker.temporary,
        "nonce": worker.nonce,
        **limits(session.settings),
        "names": sorted(names),
        "places": places_of(session.python, session.environ),
        "top": str(repository_top(session.root.resolve()) or ""),
        # What keeps the working tree out of a copy of what git has.
        "snapshot": snapshot
        and {
            "copy": str(snapshot.directory),
            "original": str(snapshot.home),
            "linked": list(snapshot.linked),
            "untracked": _untracked_source(session),
        },
        "reuse": worker.keeps_imports,
    }


def _untracked_source(session: Session) -> list[str]:
    """Python files that a copy of what git has lacks."""
    untracked = session.snapshot.untracked if session.snapshot else ()
    return [path for path in untracked if path.endswith(".py")]


def limits(settings: Settings) -> dict[str, Any]:
    """`timeout`: seconds for one model. `memory`: resident bytes for one model, by default half of
    the machine's; 0: any. `jobs`: processes that build at a time, by default one for each core."""
    return {
        "timeout": settings.timeout,
        "memory": default_memory() if settings.memory is None else settings.memory,
        "jobs": settings.jobs or cores(),
    }


def _cache_of(session: Session, names: Set[str]) -> recall.MeasurementCache:
    python = session.python
    store = session.store.beside(f"files installed for {python}")
    installed = InstalledFiles(store, places_of(python, session.environ))
    environ = worker_environment(session.environ, "", python)
    untracked = _untracked_source(session)
    state = ProjectState(session.root, names, environ.visible, installed, untracked)
    return recall.MeasurementCache(session.store, state, python, environ.read_by_c)


def read_answers(
    frames: Iterable[tuple[dict[str, Any], bytes]],
    orders: Sequence[Order],
    answers: Answers,
    secrets: Secrets,
    cache: MeasurementCache | None,
    progress: Progress = lambda *_: None,
) -> tuple[Cause, str] | None:
    """Take in frames until the end marker; returns why an order without an answer has none, or None
    where there is no such marker."""
    by_id = {order.id: order for order in orders}
    for frame, body in frames:
        event = frame.get("event")
        if event == "ready":
            if (protocol := frame.get("protocol")) != PROTOCOL:
                return "no_worker", f"the worker uses protocol {protocol}, not {PROTOCOL}"
            torch, python = frame.get("torch"), frame.get("version")
            if not isinstance(torch, str) or not isinstance(python, str):
                return "unreadable", "the worker's first answer cannot be read"
            answers.torch, answers.python = torch, python
            answers.devices = tuple(map(str, frame.get("devices") or ()))
            if cache:
                cache.sites = frame.get("sites")
            progress(0, len(orders), IMPORTING)
        elif event == "building" and frame.get("id") in by_id:
            progress(len(answers.measurements), len(orders), by_id[frame["id"]].label)
        elif event == "no torch":
            return "no_worker", str(frame.get("reason"))
        elif event == "result" and answers.torch is not None:
            number = frame.get("id")
            if type(number) is int and number in by_id:
                text, _, inputs = body.partition(TAB)
                original = measurement(frame.get("ok") is True, text)
                masked = _without_secrets(original, secrets)
                answers.measurements[number] = _with_names(_with_hint(masked, secrets))
                if masked != original:
                    text = encode(masked)
                if cache and frame.get("kept") is True:
                    inputs = b"" if frame.get("retried") else inputs
                    cache.learn(by_id[number], masked, text, inputs)
                progress(len(answers.measurements), len(orders), by_id[number].label)
        elif event == "dependencies" and cache:
            cache.add_dependencies(body)
        elif event == "end":
            answers.guards = tuple(map(str, frame.get("guards") or ()))
            if cache:
                cache.has_ended = True
            if frame.get("stopped") is True:
                return "not_tried", "not tried before the time was over"
            return "died", "the worker ended without a result for it"
    answers.measurements.clear()  # the protocol: a run without its end has measured nothing
    return None


def measurement(ok: bool, body: bytes) -> Measurement:
    """A result as the worker sends it, checked field by field; one that cannot be read is not
    measured."""
    try:
        kind: type[Measurement] = Measured if ok else NotMeasured
        result = json_decoder(kind).decode(body)
        if isinstance(result, Measured):
            rows = result.modules
            if not rows or sum(row.own for row in rows) != result.counts.total:
                raise ValueError("the rows do not add up")
            if any(row.trainable + row.frozen != row.total for row in rows):
                raise ValueError("what is trainable and what is frozen do not add up")
            numbers = (n for row in rows for n in (row.own, row.total, row.trainable, row.buffers))
            counts = [n for name in METRICS if (n := result.counts.of(name)) is not None]
            if min(*numbers, *counts) < 0:
                raise ValueError("a count is negative")
        elif not re.fullmatch(r"NPL00[34589]", result.code):
            raise ValueError(f"code {result.code}")
    except (ValidationError, ValueError) as error:
        reason = f"the worker's answer cannot be read ({error})"
        return NotMeasured("NPL005", reason, cause="unreadable")
    return replace(result, notes=tuple(dict.fromkeys(result.notes)), cached=False)


def _with_names(result: Measurement) -> Measurement:
    """The measurement with the names of files as they are here: JSON has none that are not UTF-8,
    and the worker writes them as Python escapes them."""
    if isinstance(result, NotMeasured) or not any("\\u" in place for place in result.definitions):
        return result
    inside = tuple(
        replace(row, target=unescaped(row.target), source=row.source and unescaped(row.source))
        for row in result.inside
    )
    definitions = tuple(map(unescaped, result.definitions))
    lines = tuple(replace(row, path=unescaped(row.path)) for row in result.lines)
    return replace(result, definitions=definitions, inside=inside, lines=lines)


def _without_secrets(result: Measurement, secrets: Secrets) -> Measurement:
    """The measurement, with every secret that is withheld from builds masked in its texts."""
    mask = secrets.mask
    devices = {
        name: replace(device, reason=device.reason and mask(device.reason))
        for name, device in result.devices.items()
    }
    notes = tuple(map(mask, result.notes))
    if isinstance(result, Measured):
        inside = tuple(replace(row, call=mask(row.call)) for row in result.inside)
        return replace(result, call=mask(result.call), devices=devices, notes=notes, inside=inside)
    return replace(
        result,
        devices=devices,
        notes=notes,
        reason=mask(result.reason),
        output=mask(result.output),
        hint=result.hint and mask(result.hint),
    )


def _with_hint(result: Measurement, secrets: Secrets) -> Measurement:
    """A build that failed because it misses a withheld variable gets a hint that names it. The
    cache keeps no such hint: which variables are set, and withheld, may be different next time."""
    if isinstance(result, Measured) or result.hint:
        return result
    secret = next((name for name in secrets.names if repr(name) in result.reason), None)
    step = "which builds do not get; make the model build without it"
    return replace(result, hint=secret and f"{secret} looks like a secret, {step}")
