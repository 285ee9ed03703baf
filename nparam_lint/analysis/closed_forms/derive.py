"""The closed form of a count: builds the model at chosen points, fits exactly, verifies at others.

Nothing is taken on trust: a form is returned only if it has the right value at every point that was
built, including points that were chosen afterwards to break it.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from typing import TYPE_CHECKING

from nparam_lint.analysis.closed_forms.constraints import Constraint
from nparam_lint.analysis.closed_forms.experiments import ROUNDS, Experiments
from nparam_lint.analysis.closed_forms.observations import (
    BuildHistory,
    Built,
    Point,
    Value,
    Variable,
    exactly,
    whole_numbers,
    written,
)
from nparam_lint.analysis.closed_forms.parameter_forms import (
    ClosedForm,
    Derived,
    NoForm,
    ParameterForms,
    Wrong,
)
from nparam_lint.analysis.closed_forms.sample_points import line, probes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nparam_lint.analysis.closed_forms.experiments import Seen
    from nparam_lint.analysis.closed_forms.polynomial import Generator

MANY = 128  # parameters; of a larger model a smaller version is built, if its arguments allow it
FEW = 4  # layers, experts, … that it has then
SCATTERED = 40  # points in a round, beyond those along lines
EDGES = 32  # points at which something that is rounded is about to change
FRESH = 16  # points at which a form is verified
VERIFIED = 4  # the least of those that could be built
OFF = "0 turns something off; to have it in the formula, give it a value in the call"
LEAST = (2, 3)  # of an argument, where the form does not hold for what is smaller


def derive(
    history: BuildHistory, variables: Sequence[Variable], case: Point | None = None
) -> Derived:
    """The closed form in those of the `variables` that are numbers; in a `case`, with other values
    for others."""
    history, case = history.case(case or {}), case or {}
    ((base, first),) = history.build([{}])
    if not isinstance(first, Built):
        return NoForm(f"the model cannot be built: {first.reason}", case=case)
    shallow = _shallow(history, variables, first)
    variables = [replace(v, base=shallow.get(v.name, v.base)) for v in variables]
    return replace(_Derivation(history.case(shallow), variables, (base, first)).run(), case=case)


def _shallow(
    history: BuildHistory, variables: Sequence[Variable], first: Built
) -> dict[str, Value]:
    """Fewer layers and experts if there are many: forms are derived from small models, which are
    built quickly, and are then verified with the requested one."""
    if len(first.tensors) < MANY:
        return {}
    bases = {name: base for name, base in whole_numbers(variables).items() if base > FEW}
    more = history.build([{name: 2 * base} for name, base in bases.items()])
    deep = [
        name
        for name, (_, built) in zip(bases, more, strict=True)
        if isinstance(built, Built) and len(built.tensors) > len(first.tensors)
    ]
    if not deep:
        return {}
    ways: list[dict[str, Value]] = [dict.fromkeys(deep, FEW)]
    ways += [{name: FEW} for name in deep]
    done = zip(ways, history.build(ways), strict=True)
    return next((way for way, (_, built) in done if isinstance(built, Built)), {})


class _Derivation(Experiments):
    def __init__(
        self, history: BuildHistory, variables: Sequence[Variable], asked: tuple[Point, Built]
    ) -> None:
        """`asked`: the arguments of the call that was asked about, and what they give."""
        super().__init__(history, variables)
        self.asked = asked
        self.fixed: dict[str, str] = {}  # what cannot be varied, and why
        self.suspect = ""  # parameters that had no form
        self.renaming: list[str] = []  # what only moves parameters: a dropout that is a module
        self.fresh = 0  # points at which the form was verified
        self.missed: tuple[Point, int] | None = None  # where it was found to be wrong

    # --- the course of it ---

    def run(self) -> Derived:
        known, free = self.history.lines, self.sampler.free
        self.along({v.name: probes(v)[: 1 if known else None] for v in self.numbers})
        # What could not be varied may matter all the more.
        influence = self.seen.influence
        matters = [v for v in self.numbers if self.differ(v.name) or not influence[v.name]]
        off = {v.name: OFF for v in matters if v.base == 0 and self.differ(v.name)}
        self.renaming = [name for name in off if not self.differ(name, named=False)]
        self.forget(off)
        matters = [v for v in matters if v.name not in off]
        self.along({v.name: line(v) for v in matters if not known.get(v.name)})
        self.together()
        self.learn_rules()
        influence = self.seen.influence
        stuck = {v.name: self.why_fixed(v.name) for v in matters if not influence[v.name]}
        self.fixed = {**off, **stuck}
        # What makes no difference alone may make one together with others: a bound, for instance.
        self.sampler.variables = [v for v in self.numbers if v.name not in self.fixed]
        for name, indices in influence.items():
            values = [self.seen.points[index][name] for index in indices]
            values += [value for value in known.get(name, ()) if value not in values]
            self.sampler.lines[name] = values
        free |= {v.name for v in matters} | self.history.free
        free |= {name for rule in self.rules for name in rule.names}
        for _ in range(ROUNDS):
            self.scatter(SCATTERED)
            forms = self.forms()
            if forms.unknown:
                free |= {v.name for v in self.varied}
                self.suspect = forms.unknown.name
            elif self.verify(forms) or self.holds_above_zero(forms):
                return self.closed(forms)
        absent = self.no_form(forms)
        limited = self.limited()
        return absent if limited is None else self.closed(limited)

    def forms(self, *, simple: bool = False) -> ParameterForms:
        names = [v.name for v in self.varied if v.name not in self.tied]
        return ParameterForms(self.seen.within(self.limits), names, self.suspect, simple=simple)

    def holds_above_zero(self, forms: ParameterForms) -> bool:
        """Whether a form is right wherever none of its rounded quotients is zero, as in
        `int(ratio*width) or width`; then it is limited to these arguments."""
        quotients = {g for part in forms.parts() for g in part.generators}
        limits = [rule for g in quotients if (rule := self.limit_of(g))]
        seen, fresh = self.built_since(forms)
        found: set[Constraint] = set()
        for index in forms.misses(seen, fresh):
            point = exactly(seen.points[index])
            broken = {limit for limit in limits if not limit.holds(point)}
            if not broken:
                return False
            found |= broken
        self.limits += sorted(found, key=str)
        self.learn_rules()
        return self.stands(forms)

    def limit_of(self, generator: Generator) -> Constraint | None:
        """The limit that keeps it from being zero, if it is one product over another, rounded down,
        and the call is within that limit."""
        if isinstance(generator, str) or generator.kind != "floor":
            return None
        top, bottom = generator.left.factors, generator.right.factors
        if top is None or bottom is None or not top[1]:
            return None
        names = sorted(top[1], key=lambda name: not isinstance(self.base[name], int))
        limit = Constraint(names[0], ">=", bottom[1], bottom[0] / top[0], tuple(names[1:]))
        return limit if self.keeps(limit) else None

    def keeps(self, limit: Constraint) -> bool:
        """Whether the call that was asked about, and the base, are within a limit."""
        return limit.holds(self.exactly) and limit.holds(exactly(self.asked[0]))

    def limited(self) -> ParameterForms | None:
        """The forms where one of the arguments is not among its smallest values (a single head, or
        layer, is often made in another way), or where two of them are not the same (a shortcut
        between equal widths has no parameters)."""
        # What does not hold without these, whatever else is wrong.
        known = list(self.limits)
        for limit in self.limits_to_try():
            self.limits = [*known, limit]
            self.learn_rules()
            for _ in range(ROUNDS):
                # There are many limits to try.
                forms = self.forms(simple=True)
                if forms.unknown:
                    break
                if self.verify(forms):
                    return forms
        self.limits = []
        return None

    def limits_to_try(self) -> Iterator[Constraint]:
        """Those that the call keeps, and that something that was built does not."""
        whole = [v.name for v in self.varied if isinstance(v.base, int)]
        least = (Constraint(name, ">=", (), Fraction(n)) for n, name in product(LEAST, whole))
        apart = (Constraint(one, "!=", (other,)) for one, other in combinations(whole, 2))
        for limit in (*least, *apart):
            there = map(limit.holds, map(exactly, self.seen.points))
            if self.keeps(limit) and not all(there):
                yield limit

    def vanishing(self, forms: ParameterForms) -> list[Constraint]:
        """The arguments that the form does not hold for where they are zero (something is off), as
        far as its limits do not say so."""
        zeros = {
            v.name: type(v.base)(0)
            for v in self.varied
            if v.base
            and not v.choices
            and all(limit.holds({**self.exactly, v.name: Fraction(0)}) for limit in self.limits)
        }
        done = self.history.build([{name: zero} for name, zero in zeros.items()])
        return [
            Constraint(name, ">", (), Fraction(0))
            for name, (point, outcome) in zip(zeros, done, strict=True)
            if isinstance(outcome, Built) and forms.total_at(point) != outcome.total
        ]

    def verify(self, forms: ParameterForms) -> bool:
        """Whether the form is right wherever it was not made from; those points are kept."""
        self.scatter(FRESH)
        base = exactly(self.base)
        whole = [name for name, value in self.base.items() if isinstance(value, int)]
        close = [
            {name: written(value) for name, value in point.items()}
            for form in dict.fromkeys(forms.parts())
            for point in self.sampler.edges(form, base)
            if all(point[name].denominator == 1 for name in whole)
        ]
        self.ask(
            [
                *self.sampler.far(self.seen.points),
                *self.sampler.wild(),
                *self.sampler.equal(),
                *self.sampler.low(),
                self.asked[0],
                *close[:EDGES],
            ]
        )
        self.learn_rules()
        self.doubt_rules()
        return self.stands(forms, bool(self.varied or self.refused))

    def stands(self, forms: ParameterForms, challenged: bool = True) -> bool:
        """Whether a form is right at the points that were built since it was made; there must be
        enough of them, unless nothing can be varied."""
        self.missed = None
        seen, fresh = self.built_since(forms)
        self.fresh = len(fresh)
        if self.fresh < VERIFIED and challenged:
            return False
        index = next(forms.misses(seen, fresh), None)
        self.missed = None if index is None else (seen.points[index], seen.builds[index].total)
        return index is None

    def built_since(self, forms: ParameterForms) -> tuple[Seen, range]:
        """What was seen within the limits, and which of it a form was not made from."""
        seen = self.seen.within(self.limits)
        known = sum(all(limit.holds(p) for limit in self.limits) for p in forms.points)
        return seen, range(known, len(seen.points))

    def closed(self, forms: ParameterForms) -> ClosedForm:
        if not self.history.lines:
            self.history.lines.update(self.sampler.lines)
            self.history.free |= self.sampler.free
        used = {name for part in forms.parts() for name in part.names}
        limits = self.vanishing(forms)
        used |= {limit.left for limit in (*self.limits, *limits)}
        fixed = {name: why for name, why in self.fixed.items() if name not in self.renaming}
        idle = [v.name for v in self.numbers if v.name not in {*used, *self.tied, *fixed}]
        at = exactly(self.asked[0])
        return ClosedForm(
            total=forms.total,
            shapes=tuple(replace(f, value=int(f.size.value(at))) for f in forms.shapes),
            base=self.asked[0],
            value=self.asked[1].total,
            rules=(*self.rules, *limits),
            idle=tuple(idle),
            fixed=fixed,
            built=len(self.seen.points),
            verified=self.fresh,
        )

    def no_form(self, forms: ParameterForms) -> NoForm:
        if len(self.seen.points) == 1 and self.refused:
            why = self.refused[0][1].reason
            return NoForm(f"the model can only be built as called: {why}")
        if forms.unknown:
            return NoForm("no closed form found", forms.wrong(forms.unknown))
        if self.missed is None:
            built = f"only {self.fresh} other" if self.fresh else "no other"
            return NoForm(f"{built} arguments could be built, too few to verify a form")
        wrong = Wrong("", "parameters", forms.total, *self.missed)
        return NoForm("a form that fits some arguments is wrong for others", wrong)
