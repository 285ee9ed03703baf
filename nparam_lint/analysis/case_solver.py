"""Arguments that meet a budget, in one case of a closed form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from nparam_lint.analysis.closed_forms import limits
from nparam_lint.analysis.closed_forms.algebra import substituted
from nparam_lint.analysis.closed_forms.compiled_form import compiled
from nparam_lint.analysis.closed_forms.implications import growing
from nparam_lint.analysis.closed_forms.observations import Built, exactly
from nparam_lint.analysis.closed_forms.polynomial import Polynomial
from nparam_lint.analysis.closed_forms.requirements import Requirements
from nparam_lint.analysis.closed_forms.search import Searching
from nparam_lint.analysis.solutions import Met
from nparam_lint.count.measured import NotMeasured

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from nparam_lint.analysis.closed_forms.arguments import Arguments
    from nparam_lint.analysis.closed_forms.form_records import ClosedForm
    from nparam_lint.analysis.closed_forms.observations import BuildHistory, Outcome
    from nparam_lint.analysis.closed_forms.requirements import ArgumentRule
    from nparam_lint.analysis.closed_forms.search import Aim, Solution, Unknown

TOO_LONG = "NPL005"  # what a build is that takes too long, or too much memory


class CaseAnswer(Struct):
    """The points of one case that were built and have the right count; `refused`, `strayed`:
    solutions that the model did not accept, or that have another count than the form says; `why`
    it did not accept them."""

    points: list[Met] = field(default_factory=list)
    refused: int = 0
    strayed: int = 0
    why: str = ""
    is_cut: bool = False
    limits: Mapping[str, tuple[int, int]] = field(default_factory=dict)


class CaseSolver:
    """`idle`: unknowns that make no difference to the count in this case, and stay as they are;
    `passive`: those that conditions are about."""

    def __init__(self, arguments: Arguments, history: BuildHistory, form: ClosedForm) -> None:
        self.arguments, self.history = arguments.copy(), history
        for rule in form.rules:
            self.follow(rule)
        self.rules = [*form.rules, *self.arguments.rules]
        unknowns, ties = self.arguments.unknowns, self.arguments.ties
        # The count as a function of the unknowns.
        numbers = exactly({n: v for n, v in history.base.items() if n not in self.arguments.open})
        fixed = {name: Polynomial.constant(value) for name, value in numbers.items()}
        total = substituted(form.total, fixed)
        for name, tie in reversed(ties.items()):
            total = substituted(total, {name: substituted(tie, fixed)})
        in_rules = self.arguments.behind(n for rule in self.rules for n in rule.names)
        others = {name: u for name, u in unknowns.items() if name not in total.names}
        self.active = [self.limited(u, form) for u in unknowns.values() if u.name in total.names]
        self.passive = [unknown for name, unknown in others.items() if name in in_rules]
        self.idle = {name: u.base for name, u in others.items() if name not in in_rules}
        self.constant = int(total.constant_term)
        self.count = compiled(total, [unknown.name for unknown in self.active])
        self.growing = growing(total, {u.name: u.low for u in self.active})
        names = [unknown.name for unknown in (*self.active, *self.passive)]
        self.requirements = Requirements(history.base, names, ties, self.rules)

    def follow(self, rule: ArgumentRule) -> None:
        """Let arguments that the model itself ties to the unknowns (`d_ff == 4*d_model`) follow
        them, and unknowns that have one value in this case."""
        open_ = self.arguments.open
        is_tied = not rule.is_limit and not rule.names.isdisjoint(open_)
        for name, form in sorted(rule.solutions.items(), key=lambda item: item[0] in open_):
            if (is_tied or name in open_) and self.arguments.tie(name, form):
                return

    def limited(self, unknown: Unknown, form: ClosedForm) -> Unknown:
        """Without models of so many layers that building them takes minutes."""
        values = exactly({**self.history.base, unknown.name: unknown.low})
        larger = {**values, unknown.name: values[unknown.name] + 1}
        more = sum(s.number.value(larger) - s.number.value(values) for s in form.shapes)
        most = unknown.low + int(limits.TENSORS / more) if more > 0 else unknown.most
        return replace(unknown, most=most)

    def limits_met(self, points: Iterable[Met]) -> Iterator[str]:
        """Where more might be better."""
        for unknown in self.active:
            most = unknown.most if unknown.high is None else None
            if any(point.values[unknown.name] == most for point in points):
                yield f"more than {unknown.name}={most} was not tried: others may be nearer"

    # --- the answer ---

    def answer(self, aim: Aim) -> CaseAnswer:
        """The solutions that were built and have the right count; further ones if the model rejects
        the first."""
        answer = CaseAnswer()
        for _ in range(limits.SOLUTION_ROUNDS):
            search = Searching(
                self.count,
                self.requirements,
                self.active,
                self.growing,
                replace(aim, number=aim.number + limits.SPARE_SOLUTIONS),
                self.passive,
            )
            search.run()
            answer.is_cut, answer.limits, answer.points = search.is_cut, search.limits, []
            for solution, values, outcome in self.outcomes(search.solutions):
                if isinstance(outcome, Built) and outcome.total == solution.count:
                    answer.points.append(Met(values, outcome.total, outcome.call))
                    continue
                self.requirements.exclude(solution.point)
                if isinstance(outcome, Built):
                    answer.strayed += 1
                else:
                    answer.refused += 1
                    answer.why = answer.why or outcome.reason
                    answer.is_cut |= outcome.code == TOO_LONG
            if len(answer.points) >= min(aim.number, len(search.solutions)) or answer.is_cut:
                break
        answer.points = answer.points[: aim.number]
        return answer

    def outcomes(
        self, solutions: Sequence[Solution]
    ) -> Iterator[tuple[Solution, dict[str, int], Outcome]]:
        """All are built at once, unless the first takes too long; with the values of the unknowns,
        and of what is tied to them."""
        names = (*self.arguments.unknowns, *self.arguments.ties)
        points = []
        for solution in solutions:
            full = self.requirements.completed(solution.point)
            points.append({name: v for name in names if isinstance(v := full[name], int)})
        for part in (slice(1), slice(1, None)):
            outcomes = [outcome for _, outcome in self.history.build(points[part])]
            yield from zip(solutions[part], points[part], outcomes, strict=True)
            if any(isinstance(o, NotMeasured) and o.code == TOO_LONG for o in outcomes):
                return
