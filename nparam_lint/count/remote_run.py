"""Runs orders on other machines, by an engine that the user has: in groups, each of which is a call
of `remote_group.run_group` there.

A group that gets no answer is repeated, up to `TRIES` times. When machines are idle, the one that
takes longest is started once more elsewhere, and the first answer counts. All answers of a run come
from one version of nparam-lint, Python and torch.
"""

from __future__ import annotations

import statistics
import time
from concurrent.futures import FIRST_COMPLETED, CancelledError, wait
from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from nparam_lint.count import remote_group
from nparam_lint.count.bundle import pack
from nparam_lint.count.engines import call_of, engine_of
from nparam_lint.count.measured import NotMeasured
from nparam_lint.count.remote_machines import interpreters, machines_at, why_unfit
from nparam_lint.count.run import Answers, read_answers
from nparam_lint.count.worker_environment import Secrets, worker_environment
from nparam_lint.ground.errors import UsageError
from nparam_lint.ground.patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence, Set
    from concurrent.futures import Future

    from nparam_lint.config.session import Session
    from nparam_lint.ground.orders import Order

TRIES = 3  # of a group, before its models are not measured
SHARE = 3  # groups for each call that runs at a time: the last ones end at about the same time
LEAST = 8  # models of a group: each imports torch and the project anew
UNKNOWN = 8  # slots that are reckoned with while no machine is there yet
PATIENCE = 60.0  # seconds without any machine
SLOW = 2.0  # times as long as half of the groups: then it is started once more
USUAL = 5.0  # seconds that a group is taken to need as long as none is done
_TICK = 0.5  # seconds between two looks at what is slow
# Variables that are about one machine, or about who uses it; so are those that name a place.
_OF_A_MACHINE = late_pattern(
    r"USER|LOGNAME|HOST(NAME|TYPE)?|LANG(UAGE)?|LC_.*|TMPDIR|TEMP|TMP"
    r"|(CUDA|NVIDIA|HIP|ROCR?|OMP|MKL|OPENBLAS|KMP|SLURM|PBS|KUBERNETES|DASK|CONDA|PYENV)_.*"
)
_PLACE = late_pattern(r"(^|:)[/~]|^[A-Za-z]:\\")


def run_orders_on(
    session: Session,
    names: Set[str],
    orders: Sequence[Order],
    files: Sequence[str],
    meanwhile: Callable[[], None],
) -> Answers:
    """As `run_orders`, on the machines that the settings name, which get `files`: those of the
    project that a build may read. Nothing is recalled or remembered.
    Raises UsageError where there is no machine that can build anything."""
    session.inputs.is_complete = False
    session.progress(0, len(orders), "sending the project…")
    return _Run(session, names, files).answers(orders, meanwhile)


class _Group(Struct, eq=False):
    """Jobs that are sent together. `futures`: the calls that run, two of a slow one."""

    orders: Sequence[Order]
    futures: set[Future[Any]] = field(default_factory=set)
    tries: int = 0
    since: float = 0.0  # when it was sent


class _Run:
    def __init__(self, session: Session, names: Set[str], files: Sequence[str]) -> None:
        settings, root, snapshot = session.settings, session.root, session.snapshot
        self.session, self.address = session, settings.on
        self.machines = machines_at(self.address)
        self.secrets = Secrets(session.environ)
        inside = root.name or "root"
        if snapshot:  # its own name is another in each run
            inside = "/".join([snapshot.home.name, *root.relative_to(snapshot.directory).parts])
        self.bundle = pack(root, files)
        self.shared: object = None  # what stands for it in the arguments of calls
        # All others have to be like the first.
        self.first = dict([*interpreters(self.address, settings.remote_python).items()][:1])
        self.pending: dict[Future[Any], _Group] = {}
        first: dict[str, Any] = next(iter(self.first.values()), {})
        self.results = Answers(torch=first.get("torch"), python=first.get("python"))
        self.guards: list[str] | None = None  # those that were on in every group
        self.seconds: list[float] = []  # that groups took
        # When any machine was there; when none was idle.
        self.last_present = self.last_busy = time.monotonic()
        self.request = {
            "engine": engine_of(self.address),
            "python": settings.remote_python,
            "inside": inside,
            "root": str(root),
            "copied": snapshot and (str(snapshot.home), snapshot.untracked),
            "environ": sent_environment(session.environ),
            # The memory of each machine is found out there; it has as many builders as it runs
            # groups.
            "limits": {
                "timeout": settings.timeout,
                "memory": settings.memory,
                "jobs": settings.jobs or 1,
            },
            "names": sorted(names),
        }

    def _grouped(self, orders: Sequence[Order]) -> list[_Group]:
        """Those that import in the same way together, as the worker does; and of these, those of
        one module."""
        slots = self.machines.slots() or UNKNOWN
        most = max(LEAST, -(-len(orders) // (SHARE * slots)))
        ordered = sorted(
            orders, key=lambda order: (order.attempts[0].roots, order.attempts[0].module)
        )
        groups = []
        for _, alike in groupby(ordered, key=lambda order: order.attempts[0].roots):
            batch = list(alike)
            groups += [_Group(batch[n : n + most]) for n in range(0, len(batch), most)]
        return groups

    def answers(self, orders: Sequence[Order], meanwhile: Callable[[], None]) -> Answers:
        """The answers to all orders."""
        groups = self._grouped(orders)
        try:
            self.shared = self.machines.share(self.bundle)
            for group in groups:
                self._submit(group)
            meanwhile()
            while self.pending:
                completed_calls, _ = wait(self.pending, _TICK, FIRST_COMPLETED)
                self._look_at_machines()
                for future in completed_calls:
                    if (finished := self.pending.pop(future, None)) is not None:
                        self._take(finished, future)
                        count = len(self.results.measurements)
                        self.session.progress(count, len(orders), finished.orders[0].label)
                self._repeat_slow()
        finally:  # Ctrl-C too
            for future in self.pending:
                future.cancel()
        return self.results

    # --- calls ----------------------------------------------------------------------------------

    def _submit(self, group: _Group) -> None:
        """Send a group. One that is repeated brings the project along: what is shared may be kept
        by the very machine that is gone, or hangs."""
        request = {**self.request, "orders": [asdict(order) for order in group.orders]}
        is_slow = bool(group.futures)
        bundle = self.bundle if is_slow or group.tries else self.shared
        call = call_of(remote_group.NAME, request, bundle)
        submit = self.machines.submit_to_idle if is_slow else self.machines.submit
        try:
            future: Future[Any] = submit(*call)
        except Exception as error:  # the engine's own
            self._give_up(group, f"{type(error).__name__}: {error}")
            return
        group.since = time.monotonic()
        group.futures.add(future)
        self.pending[future] = group

    def _take(self, group: _Group, future: Future[Any]) -> None:
        """Take in what came of a call: its answers, or it is repeated."""
        group.futures.discard(future)
        fault = self._fault_of(group, future)
        if fault is None:
            for double in group.futures:
                self.pending.pop(double, None)
                double.cancel()
        elif not group.futures:
            group.tries += 1
            if group.tries >= TRIES:
                self._give_up(group, f"{fault} (it was tried {TRIES} times)")
            else:
                self._submit(group)

    def _fault_of(self, group: _Group, future: Future[Any]) -> str | None:
        """Take in the answers of a call; returns why there are none."""
        try:
            answer = future.result()
        except CancelledError:
            return "its machine is gone"
        except self.machines.final as error:
            group.tries = TRIES - 1
            return f"its machines died: {' '.join(str(error).split())}"
        except Exception as error:  # whatever the engine raises for a machine that died
            return f"its machine failed: {' '.join(str(error).split()) or type(error).__name__}"
        if not isinstance(answer, dict) or not isinstance(answer.get("facts"), dict):
            return "the answer of its machine cannot be read"
        facts, where = answer["facts"], str(answer.get("where"))
        name = f"{facts.get('host')} ({where})"
        if why := why_unfit(name, facts, self.first):
            self.machines.avoid(where)
            return why
        if answer.get("fault") is not None:
            self.machines.avoid(where)
            return f"the machine {name}: {answer['fault']}"
        try:
            frames = [(dict(frame), bytes(body)) for frame, body in answer["frames"]]
            _, why = answer["ended"]
            self.seconds.append(float(answer["seconds"]))
        except (KeyError, TypeError, ValueError):
            return f"the answer of the machine {name} cannot be read"
        if not frames or frames[-1][0].get("event") != "end":
            why = next((f["reason"] for f, _ in frames if f.get("event") == "no torch"), why)
            return f"the machine {name}: {why}"
        self.first = self.first or {name: facts}
        answers, results = Answers(), self.results
        end = read_answers(frames, group.orders, answers, self.secrets, None)
        assert end is not None  # the last of them says so
        cause, why = end
        failure = NotMeasured("NPL005", why, cause=cause)
        for order in group.orders:
            results.measurements[order.id] = answers.measurements.get(order.id, failure)
        guards = answers.guards if self.guards is None else self.guards
        self.guards = [guard for guard in guards if guard in answers.guards]
        results.torch, results.python = answers.torch, answers.python
        results.guards = tuple(self.guards)
        return None

    def _give_up(self, group: _Group, why: str) -> None:
        failure = NotMeasured("NPL005", self.secrets.mask(why), cause="no_worker")
        self.results.measurements.update({order.id: failure for order in group.orders})

    # --- machines -------------------------------------------------------------------------------

    def _look_at_machines(self) -> None:
        """Wait for machines that are still to come, but not for ever. Raises UsageError where none
        has come at all."""
        now = time.monotonic()
        if self.machines.slots():
            self.last_present = now
        why, step = self.machines.why_lost(), "start it again"
        if why:
            why = f"the connection to {self.address} was lost: {why}"
        elif now - self.last_present > PATIENCE:
            why = f"no machine can be used at {self.address}, for {PATIENCE:g} s now"
            step = "start workers there, and see that they stay"
        if not why or not self.pending:
            return
        if not self.results.measurements:
            raise UsageError(f"{why}\nnext: {step}")
        for future, group in self.pending.items():
            self._give_up(group, why)
            future.cancel()
        self.pending.clear()

    def _repeat_slow(self) -> None:
        """Start the group that takes longest once more, when machines are idle: its own may hang.
        What is usual is known from those that are done. To start one too early costs the time of a
        machine that has nothing to do."""
        now = time.monotonic()
        if not self.machines.idle():
            self.last_busy = now
            return
        usual = statistics.median(self.seconds) if self.seconds else USUAL
        alone = [group for group in self.pending.values() if len(group.futures) == 1]
        slowest = min(alone, key=lambda group: group.since, default=None)
        # It may have waited for its turn as long as no machine was idle.
        if slowest and now - max(slowest.since, self.last_busy) > SLOW * usual:
            since = slowest.since
            self._submit(slowest)
            slowest.since = since


def sent_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """What the worker would get here, without what is about this machine: the others have their
    own."""
    return {
        name: value
        for name, value in worker_environment(environ, "").visible.items()
        if environ.get(name) == value
        and not (_OF_A_MACHINE.fullmatch(name) or _PLACE.search(value))
    }
