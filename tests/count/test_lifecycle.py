"""What becomes of the jobs of a run, whatever their processes tell and however they end: decided by
pure functions, and tried here without any process."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING

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


def group_of(*modules: str) -> ImportGroup:
    return ImportGroup(jobs(*modules))


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


# --- the single decisions ----------------------------------------------------------------------


def told(group: ImportGroup, *heard: events.NamedTuple) -> ImportGroup:
    for event in heard:
        group.hear(event)
    return group


FIRST = f"{ROOT}/net.py"
HEARD = {
    "one that was built": (["net"], [events.Building(0)], ["built Net0"]),
    "of several that were built": (["net", "net"], [events.Building(0)], [[0], [1]]),
    "what ran a file": (["net"], [events.Importing(0), events.Running(FIRST)], [[0]]),
    "what ran no file": (["net", "other"], [events.Importing(0)], ["imported net.py", [1]]),
    "after all was imported": (
        ["net", "other"],
        [events.Importing(0), events.Running(FIRST), events.Imported()],
        [[0], [1]],
    ),
    "which builds by itself": (
        ["net"],
        [events.Importing(0), events.Running(FIRST), events.Building(0)],
        ["built Net0"],
    ),
    "before anything": (["net", "net"], [], [[0], [1]]),
    "all were answered": (["net"], [events.Result(0, True)], []),
}


@pytest.mark.parametrize(("modules", "heard", "becomes"), HEARD.values(), ids=HEARD)
def test_what_becomes_of_a_group_whose_process_died(modules, heard, becomes):
    assert _shown(told(ImportGroup(jobs(*modules)), *heard).died(DEATH, Files(ROOT))) == becomes


def _shown(instructions):
    """The ids of the jobs that a group begins again, and what a job is blamed for."""
    return [
        "{1} {0}".format(*one.what) if isinstance(one, Blame) else [job.id for job in one.task.jobs]
        for one in instructions
    ]


def test_a_file_that_kills_is_read_in_part_then_not_at_all():
    files, pair = Files(ROOT), jobs("net", "other")
    for becomes in ([[0, 1]], ["imported net.py", [1]]):
        group = told(ImportGroup(pair), events.Importing(0), events.Running(FIRST))
        assert _shown(group.died(DEATH, files)) == becomes
    assert (files.suspects, files.barred) == ([FIRST], {FIRST: DEATH[:2]})


def test_a_group_that_waited_and_died_begins_again():
    group = ImportGroup(jobs("net", "other"), 3)
    group.child = object()
    (start,) = group.died(DEATH, Files(ROOT))
    assert (_shown([start]), start.task.width) == ([[0, 1]], 3)


def test_a_file_that_kills_is_the_fault_of_its_own_jobs_alone():
    files = Files(ROOT, [f"{ROOT}/other.py"])
    group = told(group_of("net", "other"), events.Importing(0), events.Running(f"{ROOT}/other.py"))
    assert _shown(group.died(DEATH, files)) == ["imported other.py", [0]]


@pytest.mark.parametrize("does", [events.Importing(0), events.Building(0)])
def test_a_group_that_waited_and_died_at_work_does_not_begin_again(does):
    group = group_of("net")
    group.child = object()
    assert _shown(told(group, does).died(DEATH, Files(ROOT))) != [[0]]


def test_a_build_that_is_over_is_no_work():
    group = group_of("net", "net")
    group.child = object()
    told(group, events.Building(0), events.Result(0, True))
    assert _shown(group.died(DEATH, Files(ROOT))) == [[1]]


def test_what_forks_would_share_gives_each_job_a_process():
    group = ImportGroup(jobs("net", "net"), 2)
    assert [[job.id for job in one.jobs] for one in group.hear(events.Unforkable())] == [[0], [1]]
    assert group.died(DEATH, Files(ROOT)) == []


def test_jobs_that_import_alike_are_one_group_and_share_the_cores():
    run = run_of("pkg.a", "net", "pkg.b", "pkg.a", cores=4)
    groups = run.next_round()
    assert [[job.id for job in group.jobs] for group in groups] == [[0, 2, 3], [1]]
    assert [group.width for group in groups] == [2, 2]
    assert run.width == 1  # the first shows what the other is likely to import
    run.handle(groups[0], events.Packages(["timm"]))
    assert (run.width, run.packages) == (4, {"timm": None})


def test_a_group_gets_the_cores_of_one_that_has_ended():
    run = run_of("pkg.a", "net", "pkg.b", cores=4)
    large, small = run.next_round()
    assert run.widened([large]) == [Widen(large)]
    assert (large.width, small.width) == (4, 2)
    assert run.widened([large]) == []


def test_a_group_hands_the_cores_that_it_gets_down_to_one_that_goes_on_from_it():
    ready, near, far = jobs("pkg.a", "pkg.b.c", "pkg.b.d")
    branch = Branch([ready], [near, far], 1, "pkg", Files("/project"))
    builder, deeper = branch.tasks
    branch.width = 3
    assert branch.widened([builder, deeper]) == [Widen(deeper)]
    assert deeper.width == 2
    assert branch.widened([builder]) == []


def test_what_is_optional_is_given_up_and_nothing_else():
    run = run_of("net", "net")
    assert not run.stop({1})
    run.finished(events.Result(0, True))
    assert run.stop({1})
    assert (run.is_over, run.finished(events.Result(1, True))) == (True, [])
    assert not run.stop({1})  # it is over


def test_every_way_to_import_is_tried_strictly_and_then_tolerantly():
    run = run_of("net", attempts=2)
    failed, tried = events.Result(0, False, "NPL003", next_attempt=True, body=b"why"), []
    while run.retry:
        (group,) = run.next_round()
        tried.append((group.jobs[0].roots, group.jobs[0].tolerant))
        instructions = run.handle(group, failed)
    assert tried == [(("",), False), (("src",), False), (("",), True), (("src",), True)]
    assert instructions == [Answer(failed, retried=True, kept=True), End()]


def test_the_first_failure_is_told_and_what_git_lacks_is_not_tolerated():
    run = run_of("net", attempts=2)
    first = events.Result(0, False, "NPL003", True, not_tracked=True, body=b"git lacks it")
    last = events.Result(0, False, "NPL003", True, body=b"something else")
    assert run.handle(run.next_round()[0], first) == []
    (answer, _) = run.handle(run.next_round()[0], last)
    assert (answer.result, run.retry) == (first, [])


def test_what_fails_without_a_gpu_is_tried_with_one_and_told_as_it_failed_first():
    for second, is_told in (
        (events.Result(0, True), "second"),
        (events.Result(0, False, "NPL004"), "first"),
        (events.Result(0, False, "NPL004", depends_on_gpu=True), "second"),
    ):
        run = run_of("net")
        first = events.Result(0, False, "NPL004", asks_gpu=True)
        assert run.handle(run.next_round()[0], first) == []
        (group,) = run.next_round()
        assert group.jobs[0].gpu
        answer, _ = run.handle(group, second)
        assert answer == Answer(first if is_told == "first" else second, retried=True, kept=True)


def test_a_model_that_a_group_built_by_itself_goes_on_alone():
    run = run_of("net", "net")
    (group,) = run.next_round()
    run.handle(group, events.RungFailed(0, ["meta"]))
    run.handle(group, events.RungFailed(1, ["meta"]))
    assert [[job.failures for job in one.jobs] for one in run.next_round()] == [[["meta"]]] * 2


def test_in_a_branch_the_next_rung_is_built_at_once_and_not_told():
    branch = Branch(jobs("net", "net"), [], 2, "net", Files(ROOT))
    start = branch.handle(branch.tasks[0], events.RungFailed(0, ["meta"]))
    assert (start[0], start[1].task.failures) == (Tell(events.Alive()), ["meta"])
    result = events.Result(0, True)
    assert branch.handle(branch.tasks[0], result) == [Tell(result)]


def test_what_rests_on_a_file_that_killed_is_not_kept():
    branch = Branch(jobs("pkg"), [], 1, "pkg", Files(ROOT, [FIRST]))
    (tell,) = branch.handle(branch.tasks[0], events.Result(0, True))
    run = run_of("pkg")
    (answer, _) = run.handle(run.next_round()[0], tell.event)
    assert not answer.kept


def test_after_the_end_nothing_is_told():
    run = run_of("net")
    (group,) = run.next_round()
    run.handle(group, events.Result(0, True))
    for late in (events.Result(0, True), events.FilesRead(b"{}"), events.Building(0)):
        assert run.handle(group, late) == []


def test_a_process_that_waits_takes_the_group_that_imports_the_same():
    for waits, asked, takes in (
        (["net"], ["net", "net"], True),
        (["net"], ["other"], False),
        (["net"], ["net", "other"], False),
    ):
        idle = group_of(*waits)
        idle.child = object()
        groups = run_of(*asked).next_round(idle)
        assert [group.child is idle.child for group in groups] == [takes] * len(groups)


def test_the_largest_group_is_first_and_all_share_the_cores():
    groups = run_of("net", "pkg.a", "pkg.b", cores=5).next_round()
    assert [len(group.jobs) for group in groups] == [2, 1]
    assert [group.width for group in groups] == [2, 2]
    assert run_of("net", "other", cores=1).next_round()[0].width == 1


def test_only_guards_that_are_on_everywhere_are_told():
    run = run_of("net")
    (group,) = run.next_round()
    for guards in (["a", "b", "c"], ["c", "b"]):
        run.handle(group, events.Guards(guards))
    assert run.guards == ["b", "c"]


def test_a_branch_goes_on_from_its_package_and_shares_its_width():
    ready, *others = jobs("pkg", "pkg.a", "pkg.b", "pkg.a.c")
    branch = Branch([ready], others, 4, "pkg", Files(ROOT))
    builder, *groups = branch.tasks
    assert builder.job is ready
    assert [[job.module for job in group.jobs] for group in groups] == [
        ["pkg.a", "pkg.a.c"],
        ["pkg.b"],
    ]
    assert [group.width for group in groups] == [2, 2]
    assert Branch([], others, 1, "pkg", Files(ROOT)).tasks[0].width == 1
    told_above = branch.handle(groups[0], events.Packages(["timm"]))
    assert (told_above, branch.packages) == ([Tell(events.Packages(["timm"]))], {"timm": None})
    assert branch.handle(groups[0], events.Running(None)) == [Tell(events.Alive())]


def failed(text: str, code: str, **more: bool) -> events.Result:
    return events.Result(0, False, code, body=text.encode(), **more)


IMPORT = {"code": "NPL003", "next_attempt": True}
TOLD = {
    "the first import": ([failed(text, **IMPORT) for text in "abcd"], b"a"),
    "what git lacks": ([failed("a", **IMPORT), failed("b", **IMPORT, not_tracked=True)], b"b"),
    "without a GPU": ([failed("a", "NPL004", asks_gpu=True), failed("b", "NPL004")], b"a"),
    "an import without a GPU": (
        [failed("a", "NPL003", asks_gpu=True), failed("b", "NPL004")],
        b"a",
    ),
    "no import": (
        [failed("a", **IMPORT), failed("b", "NPL004", asks_gpu=True), failed("c", "NPL004")],
        b"b",
    ),
    "the import before one": (
        [failed("a", **IMPORT), failed("b", "NPL003", asks_gpu=True), failed("c", "NPL004")],
        b"a",
    ),
}


@pytest.mark.parametrize(("results", "body"), TOLD.values(), ids=TOLD)
def test_which_failure_is_told_of_several(results, body):
    run = run_of("net", attempts=2)
    for result in results:
        (group,) = run.next_round()
        instructions = run.handle(group, result)
    answer, _ = instructions
    assert (answer.result.body, answer.retried, run.retry) == (body, True, [])


def test_what_was_built_at_once_rests_on_one_process():
    run = run_of("net", "net")
    (group,) = run.next_round()
    assert run.handle(group, events.Result(0, True)) == [
        Answer(events.Result(0, True), retried=False, kept=True)
    ]


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
