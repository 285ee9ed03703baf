"""What the runs of scripts say of the ways that were told without them."""

from __future__ import annotations

import time
from collections import defaultdict
from typing import TYPE_CHECKING

from msgspec.structs import replace

from nparam_lint.count.measured import Measured, NotMeasured
from nparam_lint.gate.building import count_models
from nparam_lint.ground.script_words import FAILS_HERE, FIRST_OF
from nparam_lint.ground.values import Position

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from nparam_lint.count.run import Answers
    from nparam_lint.gate.candidates import Candidate, ProjectSource
    from nparam_lint.ground.notation import Target
    from nparam_lint.ground.orders import Ask

_SECONDS = 6.0  # at least, for all runs; as long again for those after the first of each script
_Measurement = Measured | NotMeasured


def count_in_turn(
    requests: Sequence[tuple[Candidate, Ask]], source: ProjectSource, meanwhile: Callable[[], None]
) -> Answers:
    """As `count_models`, but runs come last, and for a limited time. Of those of one script for a
    model the first comes before the others: where it does not come to any model, they are taken to
    fail alike."""
    first_of: dict[object, int] = {}
    later: dict[int, int] = {}  # to the first
    plain: list[int] = []
    for number, (candidate, _) in enumerate(requests):
        recipe = candidate.build.recipe
        if not recipe.is_run:
            plain.append(number)
            continue
        _, folder, *_ = recipe.run
        first = first_of.setdefault((recipe.file, folder, candidate.target), number)
        if first != number:
            later[number] = first
    start = time.monotonic()
    answers = count_models([requests[number] for number in plain], source, meanwhile)
    took, limit = time.monotonic() - start, source.session.settings.patience
    patience = max(_SECONDS, min(took, (limit - took) / 2))  # as long as all else, if that is left
    found = dict(zip(plain, map(answers.measurements.__getitem__, range(len(plain))), strict=True))
    is_limited = source.session.settings.ways != 0
    session = source.session.with_settings(patience=patience) if is_limited else source.session
    source = replace(source, session=session)

    def count(numbers: Sequence[int]) -> None:
        made = count_models([requests[number] for number in numbers], source).measurements
        for place, number in enumerate(numbers):
            found[number] = answer = made[place]
            if isinstance(answer, NotMeasured) and answer.cause == "not_tried":
                session.inputs.is_complete = False  # the next run may come to it

    def command_of(number: int) -> tuple[object, ...]:
        recipe = requests[number][0].build.recipe
        return recipe.file, *recipe.command

    firsts = [*first_of.values()]
    count(firsts)
    come_to_models = {command_of(number) for number in firsts if _comes_to_model(found[number])}
    count([number for number, first in later.items() if command_of(first) in come_to_models])
    answers.measurements = {
        number: found[number] if number in found else found[later[number]]
        for number in range(len(requests))
    }
    return answers


def settled(candidates: Sequence[Candidate], answers: Mapping[int, _Measurement]) -> set[int]:
    """The numbers of the candidates that are not told. What a run confirms is not as doubtful as it
    was, and of a run that is told the place is the line of the script that made the model."""
    left_out = _settled_ways(candidates, answers)
    left_out |= _needless_runs(candidates, answers, left_out)
    for number, candidate in enumerate(candidates):
        answer, way = answers[number], candidate.way
        is_run = candidate.build.recipe.is_run and number not in left_out
        if is_run and way and way.kind == "call" and isinstance(answer, Measured):
            path, _, line = (answer.modules[0].source or "").rpartition(":")
            if path == way.position.path and int(line) != way.position.line:
                candidate.way = replace(way, position=Position(path, int(line)))
    return left_out | _failed_defaults(candidates, answers, left_out)


def _settled_ways(candidates: Sequence[Candidate], answers: Mapping[int, _Measurement]) -> set[int]:
    """Of each way and the run of its script the one that is not told.

    | the run            | the way              | told                                    |
    | ------------------ | -------------------- | --------------------------------------- |
    | comes to the model | has the same count   | the way, without its doubts             |
    |                    | has another          | the run, unless the way is another call |
    |                    | failed               | the run                                 |
    | ends without it    | whatever             | neither                                 |
    | fails              | whatever             | the way                                 |

    Of several calls that failed the run has come to one: it is told once, of the script.
    """
    numbers = {id(candidate): number for number, candidate in enumerate(candidates)}
    # The calls of each model in each script, and the sizes of each by one command.
    calls: dict[object, set[object]] = defaultdict(set)
    for run in candidates:
        told = answers[numbers[id(run.instead_of)]] if id(run.instead_of) in numbers else None
        if isinstance(told, Measured) and run.way:
            calls[run.target, run.build.recipe.file].add(run.way.position)
            calls[run.target, run.build.recipe].add(told.counts.total)
    left_out: set[int] = set()
    confirmed: set[object] = set()  # runs that come to a call that was followed
    failed: dict[object, list[int]] = defaultdict(list)  # those in place of calls that were not
    for run_number, run in enumerate(candidates):
        if run.instead_of is None:
            continue
        way_number = numbers.get(id(run.instead_of), run_number)  # it may be in another shard
        way, told, made = candidates[way_number], answers[way_number], answers[run_number]
        recipe = run.build.recipe
        if not isinstance(made, Measured):
            left_out.update((way_number, run_number) if _is_sure(made) else (run_number,))
        elif not isinstance(told, Measured):
            left_out.add(way_number)
            failed[run.target, recipe].append(run_number)
        elif not _is_sure(made):
            left_out.add(run_number)
        elif told.counts.total == made.counts.total:
            left_out.add(run_number)
            confirmed.add((run.target, recipe))
            way.way = run.way
        elif len(calls[run.target, recipe.file]) == len(calls[run.target, recipe]) == 1:
            left_out.add(way_number)
        else:
            left_out.add(run_number)
            if way.way:
                notes = filter(None, (way.way.note, f"not the first that {recipe.file} makes"))
                way.way = replace(way.way, note="; ".join(notes))
    for of_run, replacing in failed.items():
        first, *others = (candidates[number] for number in replacing)
        if of_run in confirmed:
            left_out.update(replacing)
        elif first.way and any(
            run.way and run.way.position != first.way.position for run in others
        ):
            first.way = replace(first.way, position=Position(str(first.build.recipe.file)))
            left_out.update(replacing[1:])
    return left_out


def _needless_runs(
    candidates: Sequence[Candidate], answers: Mapping[int, _Measurement], left_out: set[int]
) -> set[int]:
    """The runs, in place of no way, that give what is told already, or fail after a way was told of
    their script; and those that fail of a model that another command of it makes, that nothing says
    it makes, or that it does not call, where it has made another."""
    needless: set[int] = set()
    totals: dict[Target, set[int]] = defaultdict(set)
    told_of: set[tuple[Target, str]] = set()  # targets with scripts, without runs
    made_by: set[tuple[Target, str | None]] = set()  # the same by runs
    made_any = set[str | None]()  # the scripts
    failed: list[int] = []
    for number, candidate in enumerate(candidates):
        answer, recipe = answers[number], candidate.build.recipe
        if candidate.way is None or number in left_out:
            continue
        target, is_run = candidate.target, recipe.is_run and candidate.instead_of is None
        if not isinstance(answer, Measured):
            failed += [number] if is_run else []
            continue
        made_any.update([recipe.file] if recipe.is_run else [])
        if is_run:
            is_known = answer.counts.total in totals[target] and candidate.way.kind == "call"
            is_doubtful = (target, candidate.location) in told_of and not _is_sure(answer)
            needless.update([number] if is_known or is_doubtful else [])
            made_by.add((target, recipe.file))
        else:
            told_of.add((target, candidate.way.position.path))
        totals[target].add(answer.counts.total)
    for number in failed:
        target, script = candidates[number].target, candidates[number].build.recipe.file
        way, is_guess = candidates[number].way, candidates[number].is_guess
        is_called = way is None or (way.position.path, way.position.line) != (script, 1)
        if (target, script) in made_by or is_guess or (not is_called and script in made_any):
            needless.add(number)
    return needless


def _failed_defaults(
    candidates: Sequence[Candidate], answers: Mapping[int, _Measurement], left_out: set[int]
) -> set[int]:
    """The calls without options that failed, where a run has come to the same call."""
    come_to: set[object] = set()
    failed: dict[int, object] = {}
    for number, candidate in enumerate(candidates):
        way = candidate.way
        if number in left_out or way is None or way.kind != "call":
            continue
        call = candidate.target, way.position.path, way.position.line
        if isinstance(answers[number], Measured):
            come_to.update([call] if candidate.build.recipe.is_run else [])
        elif not way.words:
            failed[number] = call
    return {number for number, call in failed.items() if call in come_to}


def _comes_to_model(answer: _Measurement) -> bool:
    return isinstance(answer, Measured) or answer.cause == "not_a_model"


def _is_sure(answer: _Measurement) -> bool:
    """Whether the run of a script has come to an end: by making the model, or another one."""
    if isinstance(answer, Measured):
        return not any(n.endswith(FAILS_HERE) or n.startswith(FIRST_OF) for n in answer.notes)
    return answer.cause == "not_a_model"
