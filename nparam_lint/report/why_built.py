"""Why models were built again, folded where several have the same reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nparam_lint.report import Fact, Facts, Section
from nparam_lint.report.style import clean, plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nparam_lint.records import ModelReport

_NAMED = 3  # models with the same reason


def section(models: Sequence[ModelReport]) -> Section:
    reasons: dict[str, dict[str, None]] = {}
    for model in models:
        if why := model.measurement.why_built:
            reasons.setdefault(why, {})[model.target] = None
    facts = [Fact(clean(_names(list(names))), clean(why)) for why, names in reasons.items()]
    facts = facts or [Fact("nothing", "all measurements are from the cache")]
    return Section((Facts(tuple(facts)),), title="built in this run", always=True)


def _names(targets: list[str]) -> str:
    if len(targets) <= _NAMED:
        return ", ".join(targets)
    first = ", ".join(targets[: _NAMED - 1])
    return f"{first} and {plural(len(targets) - _NAMED + 1, 'other model')}"
