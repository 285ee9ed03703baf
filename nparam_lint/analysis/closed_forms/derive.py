"""The closed form of a count: builds the model at chosen points, fits exactly, verifies at others.

Nothing here is taken on trust: a form is given only when it has the right value at every point that
was built, those included that were chosen afterwards to break it.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations, islice, product
from typing import TYPE_CHECKING

from nparam_lint.analysis.closed_forms.constraint_inference import ORDERED, Constraint, explain
from nparam_lint.analysis.closed_forms.observations import (
    BuildHistory,
    Built,
    Point,
    RefusedBuild,
    Value,
    Variable,
    differs,
    exactly,
    whole_numbers,
    written,
)
from nparam_lint.analysis.closed_forms.parameter_forms import (
    ClosedForm,
    Derived,
    NoForm,
    ParameterForms,
    Seen,
    Wrong,
)
from nparam_lint.analysis.closed_forms.polynomial import Rounded
from nparam_lint.analysis.closed_forms.sample_points import Sampler, line, probes

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

    from nparam_lint.analysis.closed_forms.polynomial import Generator

MANY = 128  # parameters of a model of which less is built, as far as its arguments allow
FEW = 4  # layers, experts, … that it has then
DRAWN = 8  # points that are drawn for one that was not yet built
SCATTERED = 40  # points in a round, beyond those along lines
TIED = 8  # arguments that cannot be varied alone, of which all threes are tried together
EDGES = 32  # points at which something that is rounded is about to change
FRESH = 16  # points at which a form is verified
VERIFIED = 4  # the least of those that could be built
OFF = "0 turns something off; to have it in the formula, give it a value in the call"
LEAST = (2, 3)  # of an argument, where the form does not hold for what is smaller
ROUNDS = 4  # of more points, where those so far do not suffice


def derive(
    history: BuildHistory, variables: Sequence[Variable], case: Point | None = None
) -> Derived:
    """The closed form in those of the `variables` that are numbers; in a `case`, with other values
    for others."""
    history = history.case(case or {})
    ((base, first),) = history.build([{}])
    if isinstance(first, RefusedBuild):
        return NoForm(f"the model cannot be built: {first.reason}", case=case or {})
    shallow = _shallow(history, variables, first)
    variables = [replace(v, base=shallow.get(v.name, v.base)) for v in variables]
    return _Derivation(history.case(shallow), variables, (base, first), case or {}).run()


def _shallow(
    history: BuildHistory, variables: Sequence[Variable], first: Built
) -> dict[str, Value]:
    """Less of what makes many parameters (layers, experts), where there are many: forms are derived
    from models that are built in no time, and hold for the one that was asked about."""
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


def _shapes(built: Built) -> list[tuple[str, tuple[int, ...]]]:
    return [(tensor.name, tensor.shape) for tensor in built.tensors]


class _Derivation:
    def __init__(
        self,
        history: BuildHistory,
        variables: Sequence[Variable],
        asked: tuple[dict[str, Value], Built],
        case: Point,
    ) -> None:
        """`asked`: the arguments of the call that was asked about, and what they give."""
        self.history, self.asked, self.case = history, asked, case
        ((base, first),) = history.build([{}])
        assert isinstance(first, Built)
        self.base, self.first = base, first
        self.numbers = [v for v in variables if v.is_number]
        at = exactly(base)
        self.exactly = {v.name: at[v.name] for v in self.numbers}
        self.points, self.builds = [base], [first]
        self.influence: dict[str, list[int]] = {v.name: [] for v in self.numbers}
        self.seen = Seen(self.points, self.builds, self.influence)
        self.refused: list[tuple[dict[str, Value], RefusedBuild]] = []
        self.sampler = Sampler({v.name: [] for v in self.numbers})
        # `free`: what takes values that it was not yet built with.
        self.lines, self.free = self.sampler.lines, self.sampler.free
        self.limits: list[Constraint] = []  # beyond which the form is not looked for
        self.renaming: list[str] = []  # what only moves parameters: a dropout that is a module
        self.fresh = 0  # points at which the form was verified
        self.missed: tuple[Point, int] | None = None  # where it was found to be wrong

    # --- asking ---

    def ask(self, points: Iterable[Point]) -> list[int]:
        """Build at these points; gives the indices of those that were built."""
        done = []
        for point, outcome in self.history.build(points):
            if isinstance(outcome, RefusedBuild):
                self.refused.append((point, outcome))
            elif point in self.points:
                done.append(self.points.index(point))
            else:
                done.append(len(self.points))
                self.points.append(point)
                self.builds.append(outcome)
        return done

    def along(self, wanted: Mapping[str, Sequence[Value]]) -> None:
        """Vary each variable alone."""
        self.ask({name: value} for name, values in wanted.items() for value in values)
        for index, point in enumerate(self.points):
            changed = [name for name, value in point.items() if differs(value, self.base[name])]
            alone = len(changed) == 1 and changed[0] in self.lines
            if alone and index not in self.influence[changed[0]]:
                self.influences(changed[0], index)

    def influences(self, name: str, index: int) -> None:
        """Note a point at which a variable has another value."""
        self.influence[name].append(index)
        self.lines[name].append(self.points[index][name])

    def together(self) -> None:
        """What cannot be varied alone may follow others (`d_ff = 4*d_model`): vary two of them,
        then three."""
        for number in (2, 3):
            stuck = [name for name in self.exactly if not self.influence[name]]
            others = self.exactly if number == 2 else stuck[:TIED]
            groups = [g for g in combinations(others, number) if set(g) & set(stuck)]
            done = self.ask(
                {name: written(self.exactly[name] * factor) for name in group}
                for group in groups
                for factor in (2, 3)
            )
            for index, name in product(done, stuck):
                if differs(self.points[index][name], self.base[name]):
                    self.influences(name, index)

    def learn_rules(self) -> None:
        # A process that died or took too long says nothing about arguments.
        refused = [point for point, why in self.refused if why.code != "NPL005"]
        built, no = (
            [{name: known[name] for name in self.exactly} for known in map(exactly, points)]
            for points in (self.points, refused)
        )
        whole = {v.name for v in self.numbers if isinstance(v.base, int)}
        self.sampler.rules = [*explain(built, no, self.exactly, whole)[0], *self.limits]

    @property
    def rules(self) -> list[Constraint]:
        """What the model requires, as far as it is known, and the limits."""
        return self.sampler.rules

    @property
    def tied(self) -> set[str]:
        """What follows others in every model."""
        return {rule.left for rule in self.rules if rule.kind == "=="}

    # --- the course of it ---

    def run(self) -> Derived:
        known = self.history.learned
        self.along({v.name: probes(v)[: 1 if known.lines else None] for v in self.numbers})
        # What could not be varied may matter all the more.
        matters = [v for v in self.numbers if self.differ(v.name) or not self.influence[v.name]]
        off = {v.name: OFF for v in matters if v.base == 0 and self.differ(v.name)}
        self.renaming = [name for name in off if not self.differ(name, lambda built: built.sizes)]
        self.forget(off)
        matters = [v for v in matters if v.name not in off]
        new = [v for v in matters if not known.lines.get(v.name)]
        self.along({v.name: line(v) for v in new})
        self.together()
        self.learn_rules()
        stuck = {v.name: self.why_fixed(v.name) for v in matters if not self.influence[v.name]}
        fixed = {**off, **stuck}
        # What makes no difference alone may make one together with others: a bound, for instance.
        varied = [v for v in self.numbers if v.name not in fixed]
        for name, values in known.lines.items():
            self.lines[name] += [value for value in values if value not in self.lines[name]]
        self.free |= {v.name for v in matters} | known.free
        self.free |= {name for rule in self.rules for name in rule.names}
        suspect = ""
        for _ in range(ROUNDS):
            self.scatter(varied, SCATTERED)
            forms = self.forms(varied, suspect)
            if forms.unknown:
                self.free |= {v.name for v in varied}
                suspect = forms.unknown.name
            elif self.verify(forms, varied) or self.holds_above_zero(forms):
                return self.closed(forms, fixed, varied)
        absent = self.no_form(forms)
        limited = self.limited(varied, suspect)
        return absent if limited is None else self.closed(limited, fixed, varied)

    def forms(
        self, varied: Sequence[Variable], suspect: str, *, simple: bool = False
    ) -> ParameterForms:
        names = [v.name for v in varied if v.name not in self.tied]
        return ParameterForms(self.seen.within(self.limits), names, suspect, simple=simple)

    def holds_above_zero(self, forms: ParameterForms) -> bool:
        """Whether a form is right wherever none of its rounded quotients is nothing, and is limited
        to that: `int(ratio*width) or width`."""
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
        """What keeps it from being nothing, if it is a product over another, rounded down, and the
        call keeps it."""
        if not isinstance(generator, Rounded) or generator.up:
            return None
        top, bottom = generator.top.factors, generator.bottom.factors
        if top is None or bottom is None or not top[1]:
            return None
        names = sorted(top[1], key=lambda name: not isinstance(self.base[name], int))
        limit = Constraint(names[0], ">=", bottom[1], bottom[0] / top[0], tuple(names[1:]))
        points = self.exactly, exactly(self.asked[0])
        return limit if all(map(limit.holds, points)) else None

    def limited(self, varied: Sequence[Variable], suspect: str) -> ParameterForms | None:
        """The forms where one of the arguments is not among its smallest values (a single head, or
        layer, is often made in another way), or where two of them are not the same (a shortcut
        between equal widths has no parameters)."""
        # What does not hold without these, whatever else is wrong.
        known = list(self.limits)
        for limit in self.limits_to_try(varied):
            self.limits = [*known, limit]
            self.learn_rules()
            for _ in range(ROUNDS):
                # There are many limits to try.
                forms = self.forms(varied, suspect, simple=True)
                if forms.unknown:
                    break
                if self.verify(forms, varied):
                    return forms
        self.limits = []
        return None

    def limits_to_try(self, varied: Sequence[Variable]) -> Iterator[Constraint]:
        """Those that the call keeps, and that something that was built does not."""
        whole = [v.name for v in varied if isinstance(v.base, int)]
        least = (Constraint(name, ">=", (), Fraction(n)) for n, name in product(LEAST, whole))
        apart = (Constraint(one, "!=", (other,)) for one, other in combinations(whole, 2))
        for limit in (*least, *apart):
            there = map(limit.holds, map(exactly, self.points))
            kept = limit.holds(self.exactly) and limit.holds(exactly(self.asked[0]))
            if kept and not all(there):
                yield limit

    def vanishing(self, forms: ParameterForms, varied: Sequence[Variable]) -> list[Constraint]:
        """The arguments that the form does not hold for where they are zero (something is off), as
        far as its limits do not say so."""
        zeros = {
            v.name: type(v.base)(0)
            for v in varied
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

    def forget(self, names: Container[str]) -> None:
        """Leave out what was built with other values of these."""
        self.seen = self.seen.where(
            lambda point: (
                not any(name in names and differs(v, self.base[name]) for name, v in point.items())
            )
        )
        self.points, self.builds = self.seen.points, self.seen.builds
        self.influence = self.seen.influence
        for name, indices in self.influence.items():
            self.lines[name] = [self.points[index][name] for index in indices]

    def differ(self, name: str, of: Callable[[Built], object] = _shapes) -> bool:
        """Whether varying this one alone ever made a difference."""
        return any(of(self.builds[i]) != of(self.first) for i in self.influence[name])

    def why_fixed(self, name: str) -> str:
        reasons = [
            why.reason for point, why in self.refused if differs(point[name], self.base[name])
        ]
        return reasons[0] if reasons else "it has no other values"

    def scatter(self, varied: Sequence[Variable], number: int) -> list[int]:
        """Build at points in general position, learning from refusals how to choose them."""
        done: list[int] = []
        if not varied:
            return done
        for _ in range(4):
            points = self.sampler.scattered(varied)
            new: list[dict[str, Value]] = []
            for point in islice(points, DRAWN * number):
                if point not in new and {**self.base, **point} not in self.points:
                    new.append(point)
                if len(new) == number - len(done):
                    break
            done += self.ask(new)
            self.learn_rules()
            if len(done) >= number * 3 // 4:
                break
        return done

    def verify(self, forms: ParameterForms, varied: Sequence[Variable]) -> bool:
        """Whether the form is right wherever it was not made from; those points are kept."""
        self.scatter(varied, FRESH)
        base = exactly(self.base)
        close = [
            {name: written(value) for name, value in point.items()}
            for form in dict.fromkeys(forms.parts())
            for point in self.sampler.edges(form, base)
            if not any(
                v.denominator > 1 and isinstance(self.base[n], int) for n, v in point.items()
            )
        ]
        self.ask(
            [
                *self.sampler.far(varied, self.points),
                *self.sampler.wild(varied),
                *self.sampler.equal(varied),
                *self.sampler.low(varied),
                self.asked[0],
                *close[:EDGES],
            ]
        )
        self.learn_rules()
        self.doubt_rules()
        return self.stands(forms, bool(varied or self.refused))

    def doubt_rules(self) -> None:
        """Build what comparisons forbid: of several that explain the same refusals, one alone is
        what the model asks."""
        for _ in range(ROUNDS):
            forbidden = [
                {rule.left: written(rule.bound(self.exactly) + 1)}
                for rule in self.rules
                if rule.kind in ORDERED
            ]
            if not self.ask(forbidden):
                return
            self.learn_rules()

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

    def closed(
        self, forms: ParameterForms, fixed: Mapping[str, str], varied: Sequence[Variable]
    ) -> ClosedForm:
        if not self.history.learned.lines:
            self.history.learned.lines.update(self.lines)
            self.history.learned.free |= self.free
        used = {name for part in forms.parts() for name in part.names}
        limits = self.vanishing(forms, varied)
        used |= {limit.left for limit in (*self.limits, *limits)}
        fixed = {name: why for name, why in fixed.items() if name not in self.renaming}
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
            built=len(self.points),
            verified=self.fresh,
            case=self.case,
        )

    def no_form(self, forms: ParameterForms) -> NoForm:
        if len(self.points) == 1 and self.refused:
            why = self.refused[0][1].reason
            return NoForm(f"the model can only be built as called: {why}", case=self.case)
        if forms.unknown:
            return NoForm("no closed form found", forms.wrong(forms.unknown), self.case)
        if self.missed is None:
            built = f"only {self.fresh} other" if self.fresh else "no other"
            reason = f"{built} arguments could be built, too few to verify a form"
            return NoForm(reason, case=self.case)
        wrong = Wrong("", "parameters", forms.total, *self.missed)
        return NoForm("a form that fits some arguments is wrong for others", wrong, self.case)
