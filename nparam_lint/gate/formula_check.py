"""Formulas checked with other arguments than the declared ones: a formula is about every size."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from msgspec.structs import replace

from nparam_lint.count.measured import Measured
from nparam_lint.gate.building import count_models
from nparam_lint.gate.judge import judge
from nparam_lint.ground.errors import Aside
from nparam_lint.ground.findings import finding
from nparam_lint.ground.metrics import METRICS
from nparam_lint.ground.orders import Ask

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from nparam_lint.count.answers import Answers
    from nparam_lint.count.measured import Measurement
    from nparam_lint.gate.candidates import Candidate, ProjectSource
    from nparam_lint.gate.hooks import FormulaAnalysis
    from nparam_lint.gate.report import ModelReport
    from nparam_lint.ground.findings import Finding
    from nparam_lint.ground.notation.budget import Budget
    from nparam_lint.ground.notation.grammar import Tolerance

    Change = tuple[int, int | None]
    Resized = dict[int, list[tuple[Candidate, Measured]]]

# (times, plus): of the declared value, for one name at a time; None is the next prime. A formula
# may be right for all that is even, or divides evenly.
CHANGES: tuple[Change, ...] = ((2, 0), (3, 0), (4, 0), (1, 1), (2, None))
# For all names at once: what has to divide still does.
COMMON_CHANGES: tuple[Change, ...] = ((2, 0), (3, 0), (1, 1), (2, None))
MAX_NAMES = 6
MOST_TERMS = 4  # wrong formulas whose missing term is looked for
# Built with traced numbers at its own arguments, too; seconds in which that has to begin.
TRACED = Ask(variables=True, points=((),), seconds=10.0)


def count_resized(
    requests: Sequence[tuple[Candidate, Ask]],
    source: ProjectSource,
    analysis: FormulaAnalysis,
    meanwhile: Callable[[], None],
) -> tuple[Answers, Resized]:
    """As `count_models`; those whose budgets are formulas are counted with other arguments as well:
    first with multiples and primes, then on all sides of the conditions that show while the
    declared call is traced. Resized: by the number of the candidate."""
    numbers = [n for n, (candidate, _) in enumerate(requests) if any(names_in(candidate.budgets))]
    sizes = [(n, resized) for n in numbers for resized in resized_candidates(requests[n][0])]
    more = [(candidate, requests[n][1]) for n, candidate in sizes]
    more += [(requests[n][0].with_build(device="meta"), TRACED) for n in numbers]
    answers = count_models([*requests, *more], source, meanwhile)
    measurements = answers.measurements
    resized: Resized = {}

    def keep(
        candidates: Sequence[tuple[int, Candidate]], counts: Mapping[int, Measurement], start: int
    ) -> None:
        for place, (number, candidate) in enumerate(candidates, start):
            if isinstance(count := counts[place], Measured):
                resized.setdefault(number, []).append((candidate, count))

    keep(sizes, measurements, len(requests))
    sides = [
        (n, requests[n][0].with_build(device="meta", vary=tuple(values.items())))
        for place, n in enumerate(numbers, len(requests) + len(sizes))
        if isinstance(trace := measurements[place], Measured)
        for values in analysis.boundaries(trace)
    ]
    if sides:
        again = [(candidate, requests[n][1]) for n, candidate in sides]
        keep(sides, count_models(again, source).measurements, 0)
    return answers, resized


def names_in(budgets: Sequence[Budget]) -> list[str]:
    """The names in formulas that are checked with other arguments."""
    return sorted({n for b in budgets for n in b.value.names})[:MAX_NAMES]


def resized_candidates(candidate: Candidate) -> Iterator[Candidate]:
    """The same model with other values for the arguments that its formulas name, also where these
    change by themselves."""
    names = names_in(candidate.budgets)
    changes: list[tuple[tuple[str, int, int | None], ...]]
    changes = [((name, *change),) for name in names for change in CHANGES]
    changes += [tuple((n, *c) for n in names) for c in COMMON_CHANGES if len(names) > 1]
    yield from (candidate.with_build(device="meta", change=change) for change in changes)
    formulas = [b.value.formula for b in candidate.budgets]
    bounds = dict.fromkeys(bound for formula in formulas if formula for bound in formula.bounds)
    for name, number in [*bounds][:MAX_NAMES]:
        for value in (number + 1, number, number - 1):
            yield candidate.with_build(device="meta", vary=((name, value),))


def check_formula(
    budget: Budget, declared: Measured, resized: Sequence[Measured], tolerance: Tolerance | None
) -> list[Finding]:
    """NPL011 for the first of some sizes for which a formula is wrong, or has no value: a fraction,
    or less than nothing. `declared`: the model with the declared arguments, for which it holds."""
    needs_routing = METRICS[budget.selector.metric].needs_routing
    for size in resized:
        if needs_routing and size.no_routing:
            continue
        results, refused = judge(budget, size, tolerance)
        wrong = next((result for result in results if not result.ok), None)
        if wrong is not None:
            actual, value = wrong.actual or 0, wrong.value or 0
            what = f"it gives {value:,}, the model has {actual:,}: {actual - value:+,}"
        elif any(one.code == "NPL002" for one in refused):
            what = refused[0].message
        else:
            continue
        changes = ", ".join(
            f"{name}={size.names[name]}"
            for name in sorted(budget.value.names & size.names.keys())
            if size.names[name] != declared.names.get(name)
        )
        message = (
            f"the formula is right for {declared.call} and wrong for others: with "
            f"{changes or size.call} {what}"
        )
        target = str(budget.target)
        step = f"to derive one that holds for all: nparam-lint formula {shlex.quote(target)}"
        detail = [f"built: {size.call}", step]
        return [finding("NPL011", budget.position, message, target, detail)]
    return []


def with_missing_terms(
    models: Sequence[ModelReport],
    candidates: Sequence[Candidate],
    source: ProjectSource,
    analysis: FormulaAnalysis,
) -> list[ModelReport]:
    """With the term that each wrong formula lacks, of the first few: each takes many builds."""
    searches, completed = 0, []
    by_target = {str(candidate.target): candidate for candidate in candidates}
    for model in models:
        candidate = by_target.get(model.target)
        wrong = {f.position: f for f in model.findings if f.code in ("NPL001", "NPL011")}
        for budget in candidate.budgets if candidate and candidate.target.host is None else ():
            fault = wrong.get(budget.position)
            if fault is None or searches == MOST_TERMS or not budget.value.names:
                continue
            searches += 1
            line = ""
            with Aside(f"what the formula at {budget.position} lacks"):
                line = analysis.missing_term(budget, source.session)
            if line:
                explained = replace(fault, detail=(*fault.detail[:1], line, *fault.detail[1:]))
                findings = tuple(explained if f is fault else f for f in model.findings)
                model = replace(model, findings=findings)
        completed.append(model)
    return completed
