"""What becomes of the jobs of a run, whatever their processes tell and however they end: decided by
pure functions, and tried here without any process."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any

import pytest
from case_books import cases_beside
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

    from case_books import Case, ProjectBook

ROOT = "/project"
DEATH = Ending("died", "was killed")


def order(number: int, module: str, attempts: int = 1, is_file: bool = True) -> dict[str, object]:
    roots = ["", "src", "lib"]
    is_run = module == "script"
    recipe = {"call": f"made_by_script([], '', 'net.py', 'Net{number}')"} if is_run else {}
    return {
        "id": number,
        "label": f"{module}::Net{number}",
        "file": f"{module.replace('.', '/')}.py" if is_file else None,
        "attempts": [{"module": module, "roots": [root]} for root in roots[:attempts]],
        "build": {"callable": "Net", "recipe": recipe},
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
            for job in [*task.unanswered.values()]:
                if ending := (yield from self.build(job, task.failures)):
                    return ending
            return None
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
    st.lists(
        st.sampled_from(["net", "other", "pkg", "pkg.a", "pkg.b", "pkg.a.c", "script"]), max_size=12
    ),
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


def event_of(line: str) -> Any:
    """What a line of a book says; None: the round is over."""
    word, *rest = line.split()
    if word == "next":
        return NEXT
    if word == "built":
        return result(int(rest[0]), kept="not" not in rest)
    if word == "failed":
        number, code, body, *flags = rest
        return result(int(number), code, body, **dict.fromkeys(flags, True))
    if word == "rung":
        return events.RungFailed(int(rest[0]), rest[1:])
    if word in ("packages", "guards"):
        return events.KINDS[word](rest)
    if word == "read":
        return events.FilesRead(b"{}")
    if word == "running":
        return events.Running(rest[0])
    return events.KINDS[word](*map(int, rest))


NEXT = None
FIRST = f"{ROOT}/net.py"


@pytest.mark.parametrize(("book", "case"), cases_beside(__file__, "lives"))
def test_what_becomes_of_jobs(
    book: ProjectBook, case: Case, request: pytest.FixtureRequest
) -> None:
    first, *lines = case.asked.split("\n")
    names, *options = first.removeprefix("jobs ").split("; ")
    heard = [event_of(line) for line in lines]
    if book.path.stem == "deaths":
        said = told_death(names.split(), heard, "waited" in options)
    else:
        more = {key: int(number) for key, number in map(str.split, options)}
        said = told_life(run_of(*names.split(), **more), heard)
    book.check(case.number, said, update=request.config.getoption("update"))


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
    return "\n".join([*lines, f"{state}, {run.width} at a time{guards}"])


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
    return "\n".join([*lines, f"read in part: {files.suspects}, not at all: {files.barred}"])


def test_branches(expected: Callable[[dict[str, str]], None]) -> None:
    expected({name: told_branch(*life) for name, life in BRANCHES.items()})


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


def test_the_models_of_one_run_are_built_together_and_alone_where_that_process_dies():
    first, second, third = jobs("script", "script", "net")
    branch = Branch([first, second, third], [], 1, "script", Files(ROOT))
    together, net = branch.tasks
    assert (together.job, first.companions, net.job) == (first, (second,), third)
    assert texts(branch.handle(together, result(0))) == "tell Result(0, ok=True)"
    assert texts(together.died(DEATH, branch.files)) == "blame 1: built Net1"
    _, again = branch.handle(together, events.RungFailed(1, ["meta"]))
    assert (again.task.job, again.task.failures) == (second, ["meta"])


def test_the_models_of_one_run_go_on_together_on_the_next_rung():
    first, second = jobs("script", "script")
    branch = Branch([first, second], [], 1, "script", Files(ROOT))
    (both,) = branch.tasks
    assert texts(branch.handle(both, events.RungFailed(0, ["meta"]))) == "tell Alive"
    _, again = branch.handle(both, events.RungFailed(1, ["meta"]))
    assert (again.task.job, first.companions, again.task.failures) == (first, (second,), ["meta"])
    dead = again.task.died(DEATH, branch.files)
    assert texts(dead) == "start builder of 0 after ['meta']; start builder of 1 after ['meta']"
    assert not first.companions


def test_a_model_of_a_run_whose_count_is_in_doubt_goes_on_alone():
    first, second = jobs("script", "script")
    branch = Branch([first, second], [], 1, "script", Files(ROOT))
    (both,) = branch.tasks
    branch.handle(both, events.RungFailed(0, [{"doubt": 3}]))
    _, *again = branch.handle(both, events.RungFailed(1, [{"doubt": 4}]))
    builders = [start.task for start in again]
    assert [builder.job for builder in builders] == [first, second]
    assert [builder.failures for builder in builders] == [[{"doubt": 3}], [{"doubt": 4}]]
    assert not first.companions


def test_of_the_models_of_one_run_each_goes_on_alone_where_that_process_dies():
    first, second = jobs("script", "script")
    branch = Branch([first, second], [], 1, "script", Files(ROOT))
    (both,) = branch.tasks
    branch.handle(both, events.RungFailed(1, ["meta"]))
    dead = both.died(DEATH, branch.files)
    assert texts(dead) == "start builder of 1 after ['meta']; blame 0: built Net0"


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
