"""NPL014: a count changed by more than the tolerance, and no budget declares it.

A budget declares a difference if it says that the difference is intended.
"""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from operator import attrgetter
from typing import TYPE_CHECKING

from msgspec.structs import replace

from nparam_lint.changes.fold_changes import lines_of
from nparam_lint.count.measured import Measured
from nparam_lint.ground.findings import Finding, finding
from nparam_lint.ground.grouping import grouped
from nparam_lint.ground.notation import TextError, parse_selector
from nparam_lint.ground.notation.grammar import Number, parse_value
from nparam_lint.ground.values import proportion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from nparam_lint.changes.records import Base, ModelDiff
    from nparam_lint.gate.report import ModelReport
    from nparam_lint.ground.findings import BudgetResult
    from nparam_lint.ground.notation.grammar import Tolerance

_CODE = "NPL014"
_NAMED = 5  # modules below a finding


def judge_drift(
    models: Sequence[ModelDiff],
    tolerance: Tolerance,
    base: Base,
    reported: Callable[[Iterable[Finding]], list[Finding]],
    returns: Mapping[str, str],
) -> list[ModelDiff]:
    """The models with their findings. What nobody declares, and is part of a model that changed
    there, is judged with that model; a budget of the same model with other arguments explains it,
    too. `returns`: see `Containment`."""
    wholes: dict[str, list[ModelDiff]] = {}  # by the targets of the parts in which they changed
    explaining: dict[str, ModelDiff] = {}  # by the same, and by the target without its arguments
    for model in models:
        if model.delta:
            # The classes of the project inside it whose modules have another count now.
            inside = model.after.inside if isinstance(model.after, Measured) else ()
            targets = {path: row.target for row in inside for path in row.paths}
            changed = [change.path.split(".") for change in model.modules if change.delta]
            paths = {".".join(names[:end]) for names in changed for end in range(1, len(names) + 1)}
            parts = {targets[path] for path in paths & targets.keys()}
            for part in parts:
                wholes.setdefault(part, []).append(model)
            for key in (*parts, model.bare) if model.explained else ():
                explaining.setdefault(key, model)
    judged = []
    for model in models:
        limit = tolerance.of(Fraction(model.total_before or 0))
        if abs(model.delta or 0) > limit and not model.explained:
            part = returns.get(model.bare, model.bare)
            by = None if model.declared else explaining.get(part) or explaining.get(model.bare)
            if by is not None:
                words = f"with {by.name}: {by.explanation}"
                model = replace(model, explained=True, explanation=words)
            elif model.declared or all(whole is model for whole in wholes.get(part, ())):
                model = replace(model, findings=tuple(reported([_finding(model, base)])))
        judged.append(model)
    return judged


def nothing_compared(models: Sequence[ModelDiff], base: Base) -> list[Finding]:
    """One finding where there are models, and none was counted on both sides."""
    unknown = [m for m in models if m.before and m.after and m.delta is None]
    if not unknown or any(model.delta is not None for model in models):
        return []
    message = f"no model was counted both now and at {base.called}: nothing is known of a drift"
    reasons = ((model.name, next(filter(None, reversed(model.reasons)), "")) for model in unknown)
    detail = tuple(f"{name}: {reason}" for name, reason in reasons)
    return [finding(_CODE, unknown[0].position, message, unknown[0].target, detail[:_NAMED])]


def _finding(model: ModelDiff, base: Base) -> Finding:
    before, after, delta = model.total_before, model.total_after, model.delta or 0
    share = proportion(delta, before or 0)
    message = (
        f"{model.name} has {after:,} parameters, {before:,} at {base.called}: {delta:+,}"
        f"{f' ({share})' if share else ''}; {model.explanation}"
    )
    lines = sorted(lines_of(model.modules, _NAMED), key=lambda line: -abs(line.sum))
    notes = []
    for line in lines[:_NAMED]:
        source = line.change.row.source if line.change else None
        text = f"{line.sum:>+15,}  {line.path or '(its own)'}" + (f"  {source}" if source else "")
        notes += [text] if line.sum else []
    if notes:
        notes.insert(0, "changed most:")
    budget = "nparam-lint init" if model.way else f"nparam: {after:_}"
    notes.append(f"if the change is intended, declare it: {budget}")
    return finding(_CODE, model.position, message, model.target, tuple(notes))


# --- whether a budget declares a difference ------------------------------------------------------


class _Budget:
    """A declaration, with one result for each module that it selects."""

    def __init__(self, results: Sequence[BudgetResult]) -> None:
        first = results[0]
        self.selector, self.declared = first.selector, first.declared
        self.place = f"{first.position.path}:{first.position.line}"
        self.holds = all(result.ok for result in results)
        self.values = [result.value for result in results]
        # The same for `124_475_904` and `124,475,904`; `follows`: it depends on the arguments.
        self.meaning: tuple[object, ...] = (self.selector, self.declared)
        self.follows = False
        with suppress(TextError):
            value = parse_value(self.declared, parse_selector(self.selector).metric)
            terms = tuple(term if isinstance(term, Number) else term.text for term in value.terms)
            spread = value.spread and (value.spread.amount, value.spread.relative)
            self.meaning = self.selector, value.form, terms, spread
            self.follows = bool(value.names)


def explain(before: ModelReport, after: ModelReport) -> tuple[bool, str]:
    """Whether a budget of today's model that holds was added or changed since the base, in words.
    A formula that gives another count than before was changed where its arguments were."""
    then, now = _budgets(before), _budgets(after)
    if not now:
        return False, "no budget declares it"
    by_meaning = {budget.meaning: budget for budget in then}
    new_budgets = [budget for budget in now if budget.meaning not in by_meaning]
    intended = next((budget for budget in new_budgets if budget.holds), None)
    if intended is not None:
        about = f"[{intended.selector}]" if intended.selector else ""
        text = f"{intended.declared} ({intended.place})"
        meanings = {budget.meaning for budget in now}
        for old in then:  # it takes the place of another
            if old.selector == intended.selector and old.meaning not in meanings:
                return True, f"budget{about} {old.declared} → {text}"
        return True, f"new budget{about} {text}"
    for budget in now:
        same = by_meaning.get(budget.meaning)
        if same and budget.follows and budget.holds and budget.values != same.values:
            return True, f"the formula at {budget.place} gives it"
    first, fault = now[0], "was not changed"
    if new_budgets:
        first, fault = new_budgets[0], "does not hold"
    return False, f"the budget {first.declared} ({first.place}) {fault}"


def _budgets(report: ModelReport) -> list[_Budget]:
    """The budgets about parameters."""
    results = (r for r in report.budgets if parse_selector(r.selector).metric != "buffers")
    by_declaration = grouped(results, attrgetter("declared", "selector", "position"))
    return [*map(_Budget, by_declaration.values())]
