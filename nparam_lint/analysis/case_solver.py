"""Arguments that meet a budget, in one case of a closed form."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from nparam_lint.analysis.closed_forms.compiled_form import (
    NOWHERE,
    NoPolynomial,
    compiled,
    polynomial_of,
    substituted,
)
from nparam_lint.analysis.closed_forms.form_writer import factored
from nparam_lint.analysis.closed_forms.growth import growing
from nparam_lint.analysis.closed_forms.implications import solved
from nparam_lint.analysis.closed_forms.observations import Built, exactly
from nparam_lint.analysis.closed_forms.polynomial import Polynomial
from nparam_lint.analysis.closed_forms.requirements import Requirements, as_formula
from nparam_lint.analysis.closed_forms.search import Searching
from nparam_lint.analysis.solutions import Met
from nparam_lint.claims.expression import parse_formula
from nparam_lint.count.measured import NotMeasured

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from nparam_lint.analysis.closed_forms.form_records import ClosedForm
    from nparam_lint.analysis.closed_forms.observations import BuildHistory, Outcome
    from nparam_lint.analysis.closed_forms.regions import ArgumentRule
    from nparam_lint.analysis.closed_forms.requirements import Arguments
    from nparam_lint.analysis.closed_forms.search import Aim, Search, Solution, Unknown, Whole

TOO_LONG = "NPL005"  # what a build is that takes too long, or too much memory
TENSORS = 20_000  # of the largest model that is built; one of a thousand layers has fewer
SPARE = 3  # solutions beyond those asked for: the model may refuse some
ROUNDS = 4  # of solutions, where it refuses more than that


@dataclass
class CaseAnswer:
    """What was found in one case: what was built and has the right count; `refused`, `strayed`:
    solutions that the model did not accept, or that have another count than the form says; `why`
    it did not accept them."""

    met: list[Met] = field(default_factory=list)
    refused: int = 0
    strayed: int = 0
    why: str = ""
    cut: bool = False
    limits: Mapping[str, tuple[int, int]] = field(default_factory=dict)


class CaseSolver:
    """`asked`: the question, for this model. `idle`: unknowns that make no difference to the count
    in this case, and stay as they are; `passive`: those that conditions are about."""

    def __init__(self, asked: Arguments, history: BuildHistory, form: ClosedForm) -> None:
        self.asked, self.history = asked.copy(), history
        for rule in form.rules:
            self.follow(rule)
        self.conditions = [*map(as_formula, form.rules), *self.asked.conditions]
        unknowns = self.asked.unknowns
        self.active = list(unknowns.values())
        self.passive: list[Unknown] = []
        self.idle: dict[str, int] = {}
        self.constant = 0
        self.prepare(form)
        self.requirements = Requirements(
            history.base,
            [u.name for u in (*self.active, *self.passive)],
            self.asked.ties,
            self.conditions,
        )

    def follow(self, rule: ArgumentRule) -> None:
        """Let arguments that the model itself ties to the unknowns (`d_ff == 4*d_model`) follow
        them, and unknowns that have one value in this case."""
        condition, open_ = rule.condition, self.asked.open
        if condition is None or condition.operation != "==" or condition.left is not None:
            return
        for name in sorted(condition.names, key=lambda n: (n in open_, n)):
            value = solved(condition.form, name)
            may_follow = name in open_ or (not rule.is_limit and condition.names & open_)
            if value is not None and may_follow:
                text = factored(value, list(self.history.base))
                if self.asked.tie(name, parse_formula(text)):
                    return

    def prepare(self, form: ClosedForm) -> None:
        """The count as a function of the unknowns, and which of them are known to add to it."""
        unknowns, ties = self.asked.unknowns, self.asked.ties
        base = self.history.base
        floats = {n: v for n, v in base.items() if isinstance(v, float)}
        known = exactly({n: v for n, v in base.items() if n not in {*self.asked.open, *floats}})
        fixed = {name: Polynomial.constant(value) for name, value in known.items()}
        total = substituted(form.total, fixed)
        try:
            for name, formula in reversed(ties.items()):
                tie = substituted(polynomial_of(formula), fixed)
                total = substituted(total, {name: tie})
        except NoPolynomial:
            self.opaque(total, floats)
            return
        needed = self.asked.behind(n for c in self.conditions for n in c.names)
        self.active = [self.limited(u, form) for u in self.active if u.name in total.names]
        self.passive = [u for n, u in unknowns.items() if n not in total.names and n in needed]
        used = {u.name for u in (*self.active, *self.passive)}
        self.idle = {name: u.base for name, u in unknowns.items() if name not in used}
        self.constant = int(dict(total.terms).get((), 0))
        count = compiled(total, [*(u.name for u in self.active), *floats])
        self.count: Callable[..., int] = lambda *values: count(*values, *floats.values())
        self.growing = growing(total, {u.name: u.low for u in self.active})

    def limited(self, unknown: Unknown, form: ClosedForm) -> Unknown:
        """Without models of so many layers that building them takes minutes."""
        one = exactly({**self.history.base, unknown.name: unknown.low})
        two = {**one, unknown.name: one[unknown.name] + 1}
        more = sum(s.number.value(two) - s.number.value(one) for s in form.shapes)
        return replace(unknown, most=unknown.low + int(TENSORS / more)) if more > 0 else unknown

    def limits_met(self, points: Iterable[Met]) -> Iterator[str]:
        """Where more might be better."""
        for unknown in self.active:
            most = unknown.most if unknown.high is None else None
            if any(met.values[unknown.name] == most for met in points):
                yield f"more than {unknown.name}={most} was not tried: others may be nearer"

    def opaque(self, total: Polynomial, floats: Mapping[str, float]) -> None:
        """The count if a tie is a conditional, for instance: only its values are known, not its
        form."""
        unknowns, ties = list(self.asked.unknowns), list(self.asked.ties)
        count = compiled(total, [*unknowns, *ties, *floats])

        def at(*values: int) -> int:
            full = self.requirements.completed(dict(zip(unknowns, values, strict=True)))
            tied = [full[name] for name in ties]
            return NOWHERE if None in tied else count(*values, *tied, *floats.values())

        self.count, self.growing = at, frozenset()

    # --- the answer ---

    def find(self, aim: Aim) -> Search:
        active, growing = self.active, self.growing
        return Searching(self.count, self.requirements, active, growing, aim, self.passive).run()

    def answer(self, aim: Aim) -> CaseAnswer:
        """The solutions that were built and have the right count; further ones if the model rejects
        the first."""
        answer = CaseAnswer()
        for _ in range(ROUNDS):
            found = self.find(replace(aim, number=aim.number + SPARE))
            answer.cut, answer.limits, answer.met = found.cut, found.limits, []
            for one, values, built in self.built(found.solutions):
                if isinstance(built, Built) and built.total == one.count:
                    answer.met.append(Met(values, built.total, built.call))
                    continue
                self.requirements.exclude(one.point)
                answer.strayed += isinstance(built, Built)
                if not isinstance(built, Built):
                    answer.refused += 1
                    answer.why = answer.why or built.reason
                    answer.cut |= built.code == TOO_LONG
            if len(answer.met) >= min(aim.number, len(found.solutions)) or answer.cut:
                break
        answer.met = answer.met[: aim.number]
        return answer

    def built(
        self, solutions: Sequence[Solution]
    ) -> Iterator[tuple[Solution, dict[str, int], Outcome]]:
        """All are built at once, unless the first takes too long."""
        points = [self.values(one.point) for one in solutions]
        for some in (slice(1), slice(1, None)):
            done = self.history.build(points[some])
            yield from zip(solutions[some], points[some], (b for _, b in done), strict=True)
            if any(isinstance(b, NotMeasured) and b.code == TOO_LONG for _, b in done):
                return

    def values(self, point: Whole) -> dict[str, int]:
        """The unknowns, and what is tied to them."""
        full = self.requirements.completed(point)
        names = (*self.asked.unknowns, *self.asked.ties)
        return {name: v for name in names if isinstance(v := full[name], int)}
