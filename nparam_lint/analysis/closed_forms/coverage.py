"""Whether closed forms are about all arguments: some that no case is about are searched for."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from nparam_lint.analysis.closed_forms.observations import Built
from nparam_lint.analysis.closed_forms.requirements import Requirements, as_formula

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from nparam_lint.analysis.closed_forms.form_records import ClosedForm
    from nparam_lint.analysis.closed_forms.observations import BuildHistory
    from nparam_lint.analysis.closed_forms.regions import ArgumentRule
    from nparam_lint.analysis.closed_forms.search import Unknown
    from nparam_lint.analysis.closed_forms.where import Arguments

PLACES = 100  # that are looked at
BUILT = 8  # of those without a form: the model may refuse them


def uncovered(
    forms: Sequence[ClosedForm], asked: Arguments, history: BuildHistory
) -> dict[str, int] | None:
    """Arguments that the model accepts, and no form is about; None if none were found."""

    def met(rules: Iterable[ArgumentRule]) -> Requirements:
        tests = [*map(as_formula, rules), *asked.conditions]
        return Requirements(history.base, asked.unknowns, asked.ties, tests)

    required, cases = met(forms[0].requirements), [met(form.rules) for form in forms]
    random = Random(0)
    points = [
        {name: _some(unknown, random) for name, unknown in asked.unknowns.items()}
        for _ in range(PLACES)
    ]
    left = [p for p in points if required.hold(p) and not any(case.hold(p) for case in cases)]
    full = [{n: required.completed(point)[n] for n in asked.open} for point in left[:BUILT]]
    done = history.build(full)
    built = (p for p, (_, one) in zip(left, done, strict=False) if isinstance(one, Built))
    return next(built, None)


def _some(unknown: Unknown, random: Random) -> int:
    """A small one as often as a large one."""
    high = 4 * max(unknown.base, unknown.low) if unknown.high is None else unknown.high
    span = max(high - unknown.low, 0)
    return unknown.low + random.randrange(1 << random.randint(0, span.bit_length())) % (span + 1)
