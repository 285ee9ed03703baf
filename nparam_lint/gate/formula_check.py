"""Formulas checked with other arguments than the declared ones: a formula is about every size."""

from __future__ import annotations

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
    from collections.abc import Callable, Mapping, Sequence

    from nparam_lint.count.run import Answers
    from nparam_lint.gate.candidates import Candidate, ProjectSource
    from nparam_lint.gate.hooks import FormulaAnalysis
    from nparam_lint.gate.report import ModelReport
    from nparam_lint.ground.findings import Finding
    from nparam_lint.ground.notation.budget import Budget
    from nparam_lint.ground.notation.grammar import Tolerance
    from nparam_lint.ground.values import NameValue

    Resized = dict[int, list[tuple[Candidate, Measured]]]

# (times, plus) of the declared value. A formula may be right for all that is even, or divides
# evenly: multiples, what is just above one, and just below.
MULTIPLES = ((2, 0), (3, 0), (1, 1))  # for all names at once, too: what has to divide still does
CHANGES = (*MULTIPLES, (3, -1))  # for one name at a time
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
    with multiples and their neighbours, and on all sides of the conditions that show while the
    declared call is traced. Resized: by the number of the candidate."""
    numbers = [n for n, (candidate, _) in enumerate(requests) if any(names_in(candidate.budgets))]
    traced = [(requests[n][0].with_build(device="meta"), TRACED) for n in numbers]
    answers = count_models([*requests, *traced], source, meanwhile)
    sizes: list[tuple[int, Candidate]] = []
    for place, n in enumerate(numbers, len(requests)):
        declared, trace = answers.measurements[n], answers.measurements[place]
        points = other_sizes(requests[n][0], declared) if isinstance(declared, Measured) else []
        points += analysis.boundaries(trace) if isinstance(trace, Measured) else ()
        for point in dict.fromkeys(tuple(sorted(values.items())) for values in points):
            sizes.append((n, requests[n][0].with_build(device="meta", vary=point)))
    resized: Resized = {}
    if sizes:
        again = count_models([(c, requests[n][1]) for n, c in sizes], source).measurements
        for place, (n, candidate) in enumerate(sizes):
            if isinstance(size := again[place], Measured):
                resized.setdefault(n, []).append((candidate, size))
    return answers, resized


def names_in(budgets: Sequence[Budget]) -> list[str]:
    """The names in formulas that are checked with other arguments."""
    return sorted({n for b in budgets for n in b.value.names})[:MAX_NAMES]


def other_sizes(candidate: Candidate, declared: Measured) -> list[Mapping[str, NameValue]]:
    """Other values for the arguments that the formulas of a model name, also where these change by
    themselves. `declared`: the model with the declared arguments."""
    names = names_in(candidate.budgets)
    values = {name: declared.names.get(name) for name in names}
    whole = {name: value for name, value in values.items() if type(value) is int}
    sizes: list[Mapping[str, NameValue]] = [
        {name: value * times + plus}
        for name, value in whole.items()
        for times, plus in CHANGES
        if value * times + plus not in (value, -1)
    ]
    if len(whole) > 1:
        sizes += [
            {n: value * times + plus for n, value in whole.items()} for times, plus in MULTIPLES
        ]
    formulas = [b.value.formula for b in candidate.budgets]
    bounds = dict.fromkeys(bound for formula in formulas if formula for bound in formula.bounds)
    for name, number in [*bounds][:MAX_NAMES]:
        sizes += [{name: value} for value in (number + 1, number, number - 1)]
    return sizes


def check_formula(
    budget: Budget,
    declared: Measured,
    resized: Sequence[Measured],
    tolerance: Tolerance | None,
    command: str,
) -> list[Finding]:
    """NPL011 for the first of some sizes for which a formula is wrong, or has no value: a fraction,
    or less than nothing. `declared`: the model with the declared arguments, for which it holds;
    `command`: what derives its formula."""
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
        detail = [f"built: {size.call}", f"to derive one that holds for all: {command}"]
        return [finding("NPL011", budget.position, message, str(budget.target), detail)]
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
