"""Whether a budget declares a difference, so that it is intended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nparam_lint.claims.grammar import Number, parse_value
from nparam_lint.claims.notation import TextError, parse_selector

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nparam_lint.claims.grammar import Value
    from nparam_lint.records import BudgetResult, ModelReport

_Meaning = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class _Budget:
    """A declaration, with one result for each module that it selects."""

    results: tuple[BudgetResult, ...]

    @property
    def selector(self) -> str:
        return self.results[0].selector

    @property
    def declared(self) -> str:
        return self.results[0].declared

    @property
    def place(self) -> str:
        at = self.results[0].position
        return f"{at.path}:{at.line}"

    @property
    def holds(self) -> bool:
        return all(result.ok for result in self.results)

    @property
    def values(self) -> tuple[int | None, ...]:
        return tuple(result.value for result in self.results)

    @property
    def value(self) -> Value | None:
        try:
            return parse_value(self.declared, parse_selector(self.selector).metric)
        except TextError:
            return None

    @property
    def meaning(self) -> _Meaning:
        """The same for `124_475_904` and `124,475,904`."""
        value = self.value
        if value is None:
            return self.selector, self.declared
        terms = tuple(term if isinstance(term, Number) else term.text for term in value.terms)
        spread = value.spread and (value.spread.amount, value.spread.relative)
        return self.selector, value.form, terms, spread

    @property
    def follows(self) -> bool:
        """Whether what it says depends on the model's arguments."""
        return self.value is not None and bool(self.value.names)


def explain(before: ModelReport | None, after: ModelReport | None) -> tuple[bool, str]:
    """Whether a budget of today's model that holds was added or changed since the base, in words.
    A formula that gives another count than before was changed where its arguments were."""
    then, now = _budgets(before), _budgets(after)
    if not now:
        return False, "no budget declares it"
    known = {budget.meaning: budget for budget in then}
    changed = [budget for budget in now if budget.meaning not in known]
    for budget in changed:
        if budget.holds:
            return True, _told(budget, then, now)
    for budget in now:
        old = known.get(budget.meaning)
        if old and budget.follows and budget.holds and budget.values != old.values:
            return True, f"the formula at {budget.place} gives it"
    if changed:
        return False, f"the budget {changed[0].declared} ({changed[0].place}) does not hold"
    return False, f"the budget {now[0].declared} ({now[0].place}) was not changed"


def _budgets(report: ModelReport | None) -> list[_Budget]:
    """Those that speak of parameters; what prose says in passing is no budget."""
    groups: dict[object, list[BudgetResult]] = {}
    for result in report.budgets if report else ():
        if result.origin != "prose" and parse_selector(result.selector).metric != "buffers":
            key = (result.declared, result.selector, result.position)
            groups.setdefault(key, []).append(result)
    return [_Budget(tuple(group)) for group in groups.values()]


def _told(budget: _Budget, then: Sequence[_Budget], now: Sequence[_Budget]) -> str:
    """What it was before, where it takes the place of another."""
    left = {item.meaning for item in now}
    old = [b for b in then if b.selector == budget.selector and b.meaning not in left]
    about = f"[{budget.selector}]" if budget.selector else ""
    if old:
        return f"budget{about} {old[0].declared} → {budget.declared} ({budget.place})"
    return f"new budget{about} {budget.declared} ({budget.place})"
