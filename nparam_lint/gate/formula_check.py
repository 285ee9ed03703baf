"""Formulas checked with other arguments than the declared ones: a formula is about every size."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

from nparam_lint.count.measured import Measured
from nparam_lint.gate.building import count_models
from nparam_lint.gate.judge import judge
from nparam_lint.ground.errors import Aside
from nparam_lint.ground.findings import finding
from nparam_lint.ground.metrics import METRICS
from nparam_lint.ground.orders import Ask

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from nparam_lint.claims.budget import Budget
    from nparam_lint.claims.grammar import Tolerance
    from nparam_lint.count.answers import Answers
    from nparam_lint.count.measured import Measurement
    from nparam_lint.gate.candidates import Candidate, ProjectSource
    from nparam_lint.gate.hooks import FormulaAnalysis
    from nparam_lint.gate.report import ModelReport
    from nparam_lint.ground.findings import Finding

    Change = tuple[int, int | None]
    Others = dict[int, list[tuple[Candidate, Measured]]]

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
    asked: Sequence[tuple[Candidate, Ask]],
    source: ProjectSource,
    analysis: FormulaAnalysis,
    meanwhile: Callable[[], None],
) -> tuple[Answers, Others]:
    """As `count_models`; those whose budgets are formulas are counted with other arguments as well:
    first with multiples and primes, then on all sides of the conditions that show while the
    declared call is traced. Others: by the number of the candidate."""
    wanted = [n for n, (one, _) in enumerate(asked) if any(names_in(one.budgets))]
    resized = [(n, one) for n in wanted for one in resized_candidates(asked[n][0])]
    sizes = [(one, asked[n][1]) for n, one in resized]
    traced = [(asked[n][0].with_build(device="meta"), TRACED) for n in wanted]
    counted = count_models([*asked, *sizes, *traced], source, meanwhile)
    measured = counted.measurements
    first, second = len(asked), len(asked) + len(resized)
    others: Others = {}
    _keep(others, resized, [measured[n] for n in range(first, second)])
    sides = [
        (n, asked[n][0].with_build(device="meta", vary=tuple(values.items())))
        for place, n in enumerate(wanted, second)
        if isinstance(own := measured[place], Measured)
        for values in analysis.boundaries(own)
    ]
    if sides:
        again = count_models([(one, asked[n][1]) for n, one in sides], source).measurements
        _keep(others, sides, [again[n] for n in range(len(sides))])
    return counted, others


def _keep(
    others: Others, asked: Sequence[tuple[int, Candidate]], found: Sequence[Measurement]
) -> None:
    for (number, candidate), one in zip(asked, found, strict=True):
        if isinstance(one, Measured):
            others.setdefault(number, []).append((candidate, one))


def names_in(budgets: Sequence[Budget]) -> list[str]:
    """The names in formulas that are checked with other arguments."""
    return sorted({n for b in budgets if b.origin != "prose" for n in b.value.names})[:MAX_NAMES]


def resized_candidates(candidate: Candidate) -> Iterator[Candidate]:
    """The same model with other values for the arguments that its formulas name, also where these
    change by themselves."""
    names = names_in(candidate.budgets)
    changes: list[tuple[tuple[str, int, int | None], ...]]
    changes = [((name, *change),) for name in names for change in CHANGES]
    changes += [tuple((n, *c) for n in names) for c in COMMON_CHANGES if len(names) > 1]
    yield from (candidate.with_build(device="meta", change=change) for change in changes)
    formulas = [b.value.formula for b in candidate.budgets if b.origin != "prose"]
    bounds = dict.fromkeys(bound for own in formulas if own for bound in own.bounds)
    for name, number in [*bounds][:MAX_NAMES]:
        for value in (number + 1, number, number - 1):
            yield candidate.with_build(device="meta", vary=((name, value),))


def check_formula(
    budget: Budget,
    declared: Measured,
    others: Sequence[Measured],
    tolerance: Tolerance | None,
    broken: Sequence[Finding],
) -> list[Finding]:
    """The findings about a formula. `declared`: the model with the declared arguments, of which
    `broken` are the findings. Where there are none, NPL011 for the first of the `others` for which
    the formula is wrong, or has no value: a fraction, or less than nothing."""
    if broken:
        return [*broken]
    needs_routing = METRICS[budget.selector.metric].needs_routing
    for other in others:
        if needs_routing and other.no_routing:
            continue
        results, refused = judge(budget, other, tolerance)
        wrong = next((result for result in results if not result.ok), None)
        if wrong is not None:
            actual, value = wrong.actual or 0, wrong.value or 0
            what = f"it gives {value:,}, the model has {actual:,}: {actual - value:+,}"
        elif any(one.code == "NPL002" for one in refused):
            what = refused[0].message
        else:
            continue
        return [_wrong_at_other_size(budget, declared, other, what)]
    return []


def with_missing_terms(
    models: Sequence[ModelReport],
    candidates: Sequence[Candidate],
    source: ProjectSource,
    analysis: FormulaAnalysis,
) -> list[ModelReport]:
    """With the term that each wrong formula lacks, of the first few: each takes many builds."""
    left, found = MOST_TERMS, []
    by_target = {str(candidate.target): candidate for candidate in candidates}
    for model in models:
        candidate = by_target.get(model.target)
        wrong = {f.position: f for f in model.findings if f.code in ("NPL001", "NPL011")}
        for budget in candidate.budgets if candidate and candidate.target.host is None else ():
            one = wrong.get(budget.position)
            if one is None or not left or not budget.value.names:
                continue
            left -= 1
            line = ""
            with Aside(f"what the formula at {budget.position} lacks"):
                line = analysis.missing_term(budget, source.session)
            if line:
                new = replace(one, detail=(*one.detail[:1], line, *one.detail[1:]))
                findings = tuple(new if f is one else f for f in model.findings)
                model = replace(model, findings=findings)
        found.append(model)
    return found


def _wrong_at_other_size(budget: Budget, declared: Measured, other: Measured, what: str) -> Finding:
    changed = ", ".join(
        f"{name}={other.names[name]}"
        for name in sorted(budget.value.names & other.names.keys())
        if other.names[name] != declared.names.get(name)
    )
    message = (
        f"the formula is right for {declared.call} and wrong for others: with "
        f"{changed or other.call} {what}"
    )
    target = str(budget.target)
    step = f"to derive one that holds for all: nparam-lint formula {shlex.quote(target)}"
    detail = [f"built: {other.call}", step]
    return finding("NPL011", budget.position, message, target, detail)
