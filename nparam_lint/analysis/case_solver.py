"""Arguments that meet a budget, in one case of a closed form."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from nparam_lint.analysis.closed_forms.compiled_form import (
    NOWHERE,
    NoPolynomial,
    compiled,
    substituted,
)
from nparam_lint.analysis.closed_forms.growth import growing
from nparam_lint.analysis.closed_forms.observations import Built, exactly
from nparam_lint.analysis.closed_forms.polynomial import Polynomial
from nparam_lint.analysis.closed_forms.requirements import Requirements
from nparam_lint.analysis.closed_forms.search import Searching
from nparam_lint.analysis.solutions import Met
from nparam_lint.count.measured import NotMeasured

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from nparam_lint.analysis.closed_forms.arguments import Arguments
    from nparam_lint.analysis.closed_forms.form_records import ClosedForm
    from nparam_lint.analysis.closed_forms.observations import BuildHistory, Outcome
    from nparam_lint.analysis.closed_forms.requirements import ArgumentRule, Whole
    from nparam_lint.analysis.closed_forms.search import Aim, Solution, Unknown

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
        self.rules = [*form.rules, *self.asked.rules]
        self.active = list(self.asked.unknowns.values())
        self.passive: list[Unknown] = []
        self.idle: dict[str, int] = {}
        self.constant = 0
        self.prepare(form)
        names = [unknown.name for unknown in (*self.active, *self.passive)]
        self.requirements = Requirements(history.base, names, self.asked.ties, self.rules)

    def follow(self, rule: ArgumentRule) -> None:
        """Let arguments that the model itself ties to the unknowns (`d_ff == 4*d_model`) follow
        them, and unknowns that have one value in this case."""
        open_ = self.asked.open
        is_tied = not rule.is_limit and not rule.names.isdisjoint(open_)
        for name, form in sorted(rule.solutions.items(), key=lambda own: own[0] in open_):
            if (is_tied or name in open_) and self.asked.tie(name, form):
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
            for name, tie in reversed(ties.items()):
                if not isinstance(tie, Polynomial):
                    raise NoPolynomial
                total = substituted(total, {name: substituted(tie, fixed)})
        except NoPolynomial:
            self.opaque(total, floats)
            return
        needed = self.asked.behind(n for rule in self.rules for n in rule.names)
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
        """The count if it has no form with a tie in the place of a name, as with a conditional."""
        unknowns, ties = list(self.asked.unknowns), list(self.asked.ties)
        count = compiled(total, [*unknowns, *ties, *floats])

        def at(*values: int) -> int:
            full = self.requirements.completed(dict(zip(unknowns, values, strict=True)))
            tied = [full[name] for name in ties]
            return NOWHERE if None in tied else count(*values, *tied, *floats.values())

        self.count, self.growing = at, frozenset()

    # --- the answer ---

    def answer(self, aim: Aim) -> CaseAnswer:
        """The solutions that were built and have the right count; further ones if the model rejects
        the first."""
        answer = CaseAnswer()
        for _ in range(ROUNDS):
            more = replace(aim, number=aim.number + SPARE)
            active, growing, passive = self.active, self.growing, self.passive
            found = Searching(self.count, self.requirements, active, growing, more, passive).run()
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
