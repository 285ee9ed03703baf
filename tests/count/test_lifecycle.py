"""What becomes of the jobs of a run, whatever their processes tell and however they end: decided by
pure functions, and tried here without any process."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nparam_lint.worker.processes import events
from nparam_lint.worker.processes.lifecycle import (
    Answer,
    Blame,
    Branch,
    Builder,
    End,
    Files,
    ImportGroup,
    Job,
    JobRun,
    Start,
    Tell,
    Widen,
)
from nparam_lint.worker.tracing.failures import Ending

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

ROOT = "/project"
DEATH = Ending("died", "was killed")


def order(number: int, module: str, attempts: int = 1, is_file: bool = True) -> dict[str, object]:
    roots = ["", "src", "lib"]
    return {
        "id": number,
        "label": f"{module}::Net{number}",
        "file": f"{module.replace('.', '/')}.py" if is_file else None,
        "attempts": [{"module": module, "roots": [root]} for root in roots[:attempts]],
        "build": {"callable": "Net", "recipe": {}},
        "ask": {},
    }


def jobs(*modules: str, **more: int) -> list[Job]:
    return [Job(order(number, module, **more)) for number, module in enumerate(modules)]


def run_of(*modules: str, cores: int = 2, **more: int) -> JobRun:
    return JobRun(jobs(*modules, **more), Files(ROOT), cores, {}, None)


# --- a world in which anything may happen ------------------------------------------------------


class World:
    """Runs the tasks of a life as the supervision does, with processes that do what `dice` say."""

    def __init__(self, dice: random.Random, cores: int) -> None:
        self.dice, self.cores = dice, cores

    def supervise(self, life, tasks):
        """The instructions that are not to start a process, as they come."""
        waiting, running = collections.deque(tasks), []
        while waiting or running:
            while waiting and len(running) < life.width:
                task = waiting.popleft()
                running.append((task, self.process(task)))
            place = self.dice.randrange(len(running))
            task, process = running[place]
            try:
                event = next(process)
                instructions = life.handle(task, event)
            except StopIteration as end:
                running.pop(place)
                instructions = []
                if end.value is not None:
                    instructions = task.died(end.value, life.files)
                elif not waiting:
                    instructions = life.widened([one for one, _ in running])
            for one in instructions:
                if isinstance(one, Start):
                    waiting.append(one.task)
                elif isinstance(one, Blame):
                    yield from life.finished(events.Result(one.job.id, False, "NPL005"))
                else:
                    yield one

    def process(self, task):
        """What it tells; how it ended, if it did not end by itself."""
        if isinstance(task, Builder):
            return (yield from self.build(task.job, task.failures))
        yield events.Importing(task.jobs[0].id)
        path = self.dice.choice([None, *(f"{ROOT}/{job.file}" for job in task.jobs)])
        yield events.Running(path)
        if self.dice.random() < 0.2:
            return DEATH
        if len(task.jobs) > 1 and self.dice.random() < 0.1:
            yield events.Unforkable()
            return None
        ready, others = [], []
        for job in task.jobs:
            if self.dice.random() < 0.2:
                lacks = self.dice.random() < 0.3
                yield events.Result(job.id, False, "NPL003", True, not_tracked=lacks)
            elif job.module.count(".") and self.dice.random() < 0.5 and len(task.jobs) > 1:
                others.append(job)
            else:
                ready.append(job)
        if len(ready) == 1 and not others:
            return (yield from self.build(ready[0], ready[0].failures))
        yield events.Packages(["timm"])
        yield events.Imported()
        branch = Branch(ready, others, task.width, "pkg", Files(ROOT))
        for instruction in self.supervise(branch, branch.tasks):
            assert isinstance(instruction, Tell)
            if self.dice.random() < 0.03:
                return DEATH
            yield instruction.event
        return None

    def build(self, job, failures):
        yield events.Building(job.id)
        chance = self.dice.random()
        if chance < 0.1:
            return DEATH
        if chance < 0.2 and len(failures) < 2:
            yield events.RungFailed(job.id, [*failures, {"device": "meta"}])
        elif chance < 0.3:
            yield events.Result(job.id, False, "NPL004", asks_gpu=True)
        else:
            yield events.Result(job.id, chance > 0.5, None if chance > 0.5 else "NPL004")
        return None


@given(
    st.lists(st.sampled_from(["net", "other", "pkg", "pkg.a", "pkg.b", "pkg.a.c"]), max_size=12),
    st.integers(1, 4),
    st.integers(1, 3),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_every_job_gets_one_answer_and_then_the_run_ends(modules, cores, attempts, forks, dice):
    run = JobRun(jobs(*modules, attempts=attempts), Files(ROOT), cores, {}, None, forks)
    world, told, rounds = World(dice, cores), [], 0
    while run.retry:
        told += world.supervise(run, run.next_round())
        rounds += 1
        assert rounds < 100, "it goes round for ever"
    answers = [one.result.id for one in told if isinstance(one, Answer)]
    assert sorted(answers) == list(range(len(modules)))
    if modules:
        assert run.is_over
        assert [type(one) for one in told].count(End) == 1
        assert not [one for one in told[told.index(End()) :] if isinstance(one, Answer)]


# --- single lives, told whole ------------------------------------------------------------------


def text(one: object) -> str:
    """A task or an instruction in a line."""
    if isinstance(one, ImportGroup):
        jobs = " ".join(
            f"{job.id}"
            + f"@{job.roots[0]}" * (job.attempt > 0)
            + " tolerant" * job.tolerant
            + " gpu" * job.gpu
            + f" after {job.failures}" * bool(job.failures)
            for job in one.jobs
        )
        return f"[{jobs}] with {one.width}" + " in one that waits" * (one.child is not None)
    if isinstance(one, Builder):
        return f"builder of {one.job.id}" + f" after {one.failures}" * bool(one.failures)
    if isinstance(one, (Start, Widen)):
        return f"{type(one).__name__.lower()} {text(one.task)}"
    if isinstance(one, Blame):
        return f"blame {one.job.id}: {one.what[1]} {one.what[0]}"
    if isinstance(one, Tell):
        return f"tell {text(one.event)}"
    if isinstance(one, Answer):
        more = " retried" * one.retried + " not kept" * (not one.kept)
        return f"answer {text(one.result)}{more}"
    if isinstance(one, tuple) and one._fields:
        usual = type(one)._field_defaults
        fields = [
            v if k == "id" else f"{k}={v}" for k, v in one._asdict().items() if v != usual.get(k)
        ]
        return f"{type(one).__name__}({', '.join(map(str, fields))})"
    return type(one).__name__


def texts(several: Sequence[object]) -> str:
    return "; ".join(map(text, several)) or "nothing"


def result(number: int, code: str | None = None, body: str = "", **more: bool) -> events.Result:
    """Of a job that failed so, or was built."""
    return events.Result(number, code is None, code, body=body.encode(), **more)


def failed(body: str, code: str = "NPL004", **more: bool) -> events.Result:
    return result(0, code, body, **more)


def lost(body: str, **more: bool) -> events.Result:
    """Another way to import may do."""
    return result(0, "NPL003", body, next_attempt=True, **more)


NEXT = None  # the round is over
FIRST = f"{ROOT}/net.py"
GPU = {"asks_gpu": True}
# The jobs of a run, and what is told by the process of the group that has the job of an event, or
# of the first one.
LIVES: dict[str, tuple[JobRun, list[Any]]] = {
    "what imports alike is one group; the first shows what others import": (
        run_of("pkg.a", "net", "pkg.b", "pkg.a", cores=4),
        [events.Packages(["timm"])],
    ),
    "the largest group is first": (run_of("net", "pkg.a", "pkg.b", cores=5), []),
    "one core": (run_of("net", "other", cores=1), []),
    "what was built at once rests on one process": (run_of("net", "net"), [result(0), result(1)]),
    "every way to import is tried strictly, then tolerantly; the first failure is told": (
        run_of("net", attempts=2),
        [lost("a"), NEXT, lost("b"), NEXT, lost("c"), NEXT, lost("d")],
    ),
    "what git lacks is told, and not tolerated": (
        run_of("net", attempts=2),
        [lost("a"), NEXT, lost("b", not_tracked=True)],
    ),
    "also where it is first": (
        run_of("net", attempts=2),
        [lost("a", not_tracked=True), NEXT, lost("b")],
    ),
    "what is right with a GPU": (run_of("net"), [failed("a", **GPU), NEXT, result(0)]),
    "what fails with a GPU, too, is told as it failed first": (
        run_of("net"),
        [failed("a", **GPU), NEXT, failed("b")],
    ),
    "what another GPU would change": (
        run_of("net"),
        [failed("a", **GPU), NEXT, failed("b", depends_on_gpu=True)],
    ),
    "an import without a GPU": (
        run_of("net", attempts=2),
        [failed("a", "NPL003", **GPU), NEXT, failed("b")],
    ),
    "no import, without a GPU": (
        run_of("net", attempts=2),
        [lost("a"), NEXT, failed("b", **GPU), NEXT, failed("c")],
    ),
    "an import, then another without a GPU": (
        run_of("net", attempts=2),
        [lost("a"), NEXT, failed("b", "NPL003", **GPU), NEXT, failed("c")],
    ),
    "what is imported by another path, and fails then, is imported tolerantly": (
        run_of("net", attempts=2),
        [lost("a"), NEXT, failed("b"), NEXT, result(0)],
    ),
    "models that a group built by itself go on alone": (
        run_of("net", "net"),
        [events.RungFailed(0, ["meta"]), events.RungFailed(1, ["meta"]), NEXT],
    ),
    "what rests on a file that killed is not kept": (
        run_of("pkg"),
        [result(0)._replace(kept=False)],
    ),
    "only guards that are on everywhere are told": (
        run_of("net"),
        [events.Guards(["a", "b", "c"]), events.Guards(["c", "b"])],
    ),
    "after the end nothing is told": (
        run_of("net"),
        [result(0), result(0), events.FilesRead(b"{}"), events.Building(0)],
    ),
}


def told_life(run: JobRun, heard: Sequence[Any]) -> str:
    """The rounds of a run, and what is done at each event."""
    groups: list[ImportGroup] = []
    lines = []
    for event in (NEXT, *heard):
        if event is NEXT:
            groups = run.next_round()
            lines.append(f"begin {texts(groups)}: {run.width} at a time")
        else:
            number = getattr(event, "id", groups[0].jobs[0].id)
            (group,) = (one for one in groups if number in [job.id for job in one.jobs])
            lines.append(f"{text(event)} → {texts(run.handle(group, event))}")
    state = "over" if run.is_over else f"to be tried again: {[job.id for job in run.retry]}"
    guards = f", guards {run.guards}" if run.guards else ""
    return "\n".join([*lines, f"{state}, {run.width} at a time{guards}", ""])


FAR = jobs("pkg", "pkg.a", "pkg.b", "pkg.a.c")
BRANCHES: dict[str, tuple[Branch, list[Any]]] = {
    "a branch goes on from its package, shares its width, and tells what is above": (
        Branch([FAR[0]], FAR[1:], 4, "pkg", Files(ROOT)),
        [(1, events.Packages(["timm"])), (1, events.Running(None))],
    ),
    "of one core": (Branch([], FAR[1:], 1, "pkg", Files(ROOT)), []),
    "the next rung is built at once, and not told": (
        Branch(jobs("net", "net"), [], 2, "net", Files(ROOT)),
        [(0, events.RungFailed(0, ["meta"])), (0, result(0))],
    ),
    "of a file that killed": (
        Branch(jobs("pkg"), [], 1, "pkg", Files(ROOT, [FIRST])),
        [(0, result(0))],
    ),
}


def told_branch(branch: Branch, heard: Sequence[tuple[int, Any]]) -> str:
    lines = [texts(branch.tasks)]
    for number, event in heard:
        told = texts(branch.handle(branch.tasks[number], event))
        lines.append(f"{text(event)} of the task {number} → {told}")
    return "\n".join([*lines, ""])


# Jobs, what was heard of the process of their group, and whether it waited before; then it died.
DEATHS: dict[str, tuple[list[str], list[Any], bool]] = {
    "one that was built": (["net"], [events.Building(0)], False),
    "of several that were built": (["net", "net"], [events.Building(0)], False),
    "what ran a file": (["net"], [events.Importing(0), events.Running(FIRST)], False),
    "what ran a file of one": (
        ["net", "other"],
        [events.Importing(0), events.Running(f"{ROOT}/other.py")],
        False,
    ),
    "what ran no file": (["net", "other"], [events.Importing(0)], False),
    "after all was imported": (
        ["net", "other"],
        [events.Importing(0), events.Running(FIRST), events.Imported()],
        False,
    ),
    "which builds by itself": (
        ["net"],
        [events.Importing(0), events.Running(FIRST), events.Building(0)],
        False,
    ),
    "before anything": (["net", "net"], [], False),
    "all were answered": (["net"], [result(0)], False),
    "what waited begins again": (["net", "other"], [], True),
    "what waited, and imported": (["net"], [events.Importing(0)], True),
    "what waited, and built": (["net"], [events.Building(0)], True),
    "what waited, and had built": (["net", "net"], [events.Building(0), result(0)], True),
    "what forks would share gives each job a process": (
        ["net", "net"],
        [events.Unforkable()],
        False,
    ),
}


def told_death(modules: Sequence[str], heard: Sequence[Any], has_waited: bool) -> str:
    """What becomes of a group whose process has died, of one to which it happens again, and of the
    files that were run."""
    files, lines = Files(ROOT), []
    for _ in range(2):
        group = ImportGroup(jobs(*modules), 3)
        group.child = object() if has_waited else None
        begun = [one for event in heard for one in group.hear(event) or ()]
        lines += [f"begun: {texts(begun)}"] if begun else []
        lines.append(texts(group.died(DEATH, files)))
    return "\n".join([*lines, f"read in part: {files.suspects}, not at all: {files.barred}", ""])


def test_lives(expected: Callable[[dict[str, str]], None]) -> None:
    expected(
        {name: told_life(*life) for name, life in LIVES.items()}
        | {name: told_branch(*life) for name, life in BRANCHES.items()}
        | {f"died: {name}": told_death(*life) for name, life in DEATHS.items()}
    )


def test_cores_go_from_a_group_that_has_ended_to_another():
    run = run_of("pkg.a", "net", "pkg.b", cores=4)
    large, small = run.next_round()
    assert run.widened([large]) == [Widen(large)]
    assert (large.width, small.width) == (4, 2)
    assert run.widened([large]) == []
    ready, near, far = jobs("pkg.a", "pkg.b.c", "pkg.b.d")
    branch = Branch([ready], [near, far], 1, "pkg", Files(ROOT))
    builder, deeper = branch.tasks
    branch.width = 3
    assert branch.widened([builder, deeper]) == [Widen(deeper)]
    assert deeper.width == 2
    assert branch.widened([builder]) == []


def test_what_is_optional_is_given_up_and_nothing_else():
    run = run_of("net", "net")
    assert not run.stop({1})
    run.finished(result(0))
    assert run.stop({1})
    assert (run.is_over, run.finished(result(1))) == (True, [])
    assert not run.stop({1})  # it is over


@pytest.mark.parametrize(
    ("waits", "asked", "takes"),
    [("net", ["net", "net"], True), ("net", ["other"], False), ("net", ["net", "other"], False)],
)
def test_a_process_that_waits_takes_the_group_that_imports_the_same(waits, asked, takes):
    idle = ImportGroup(jobs(waits))
    idle.child = object()
    groups = run_of(*asked).next_round(idle)
    assert [group.child is idle.child for group in groups] == [takes] * len(groups)


def test_a_job_is_sent_on_as_it_is():
    (job,) = jobs("net", attempts=2)
    job.attempt, job.tolerant, job.gpu, job.failures, job.is_needed = 1, True, True, ["x"], True
    assert vars(Job(**job.as_json())) == vars(job)
    job.take_gpu()
    assert (job.attempt, job.tolerant, job.gpu, job.failures) == (0, False, True, ())


@pytest.mark.parametrize("kind", events.KINDS.values())
def test_an_event_is_read_from_its_frame(kind):
    fields = {name: 7 for name in kind._fields if name not in kind._field_defaults}
    event = kind(**fields)
    if "body" in kind._fields:
        event = event._replace(body=b"text")
    frame, body = events.as_frame(event)
    assert events.of_frame(frame, body) == event


def test_a_process_that_waits_does_not_take_a_job_that_is_tried_in_another_way():
    run = run_of("net")
    (idle,) = run.next_round()
    idle.child = object()
    assert run.finished(failed("0", asks_gpu=True)) == []
    (group,) = run.next_round(idle)
    assert group.child is None
