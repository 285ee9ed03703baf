"""Where a form holds, said briefly: paths with one form are one case, and what follows from the
rest is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

from nparam_lint.analysis.closed_forms import limits
from nparam_lint.analysis.closed_forms.conditions import truth_of_all
from nparam_lint.analysis.closed_forms.implications import follows, solutions, with_value
from nparam_lint.analysis.closed_forms.polynomial import ZERO, Number, Polynomial
from nparam_lint.analysis.closed_forms.requirements import ArgumentRule

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from nparam_lint.analysis.closed_forms.conditions import Condition
    from nparam_lint.analysis.closed_forms.form_records import ShapeForm
    from nparam_lint.analysis.closed_forms.observations import Value
    from nparam_lint.analysis.closed_forms.paths import PathNode, PathTree
    from nparam_lint.analysis.closed_forms.traced_runs import Run, Tracer
    from nparam_lint.analysis.closed_forms.verified_forms import Doubt, PathForm

    Conjunction = tuple[Condition, ...]


class FormCase(Struct):
    """A form, and all that it holds for."""

    total: Polynomial
    parts: list[PathForm]
    rules: list[ArgumentRule] = field(default_factory=list)
    shapes: Sequence[ShapeForm] = ()

    @property
    def runs(self) -> list[Run]:
        return [run for part in self.parts for run in part.runs]

    @property
    def doubts(self) -> list[Doubt]:
        return [doubt for part in self.parts for doubt in part.doubts]

    @property
    def unproved(self) -> tuple[str, ...]:
        """What is not proved, as text: `a, b: a key of a table`."""
        reasons: dict[str, dict[str, None]] = {}
        for names, why in self.doubts:
            reasons.setdefault(why, {}).update(dict.fromkeys(names))
        return tuple(f"{', '.join(names)}: {why}" for why, names in reasons.items())


def cases_of(
    tree: PathTree, forms: Sequence[PathForm], tracer: Tracer, base: Mapping[str, Value]
) -> list[FormCase]:
    """The cases, that of the call first, then the more general ones."""
    form_of_call = next(form for form in forms if truth_of_all(form.leaf.conditions)(base))
    cases: list[FormCase] = []

    def place(form: PathForm) -> tuple[bool, int, int]:
        conditions = form.leaf.conditions
        equalities = sum(c.operation == "==" for c in conditions)
        return form is not form_of_call, equalities, len(conditions)

    for form in sorted(forms, key=place):
        conditions = form.leaf.conditions
        for case in cases:
            # The form of a path may be simpler by what holds there.
            difference = case.total - form.total
            if difference == ZERO or any(ZERO in with_value(difference, c) for c in conditions):
                case.parts.append(form)
                break
        else:
            cases.append(FormCase(form.total, [form]))
    writer = _Writer(tracer, base)
    accepted = {end for end in tree.root.ends() if not end.runs or not end.is_refused}
    required, _ = writer.split(_region(tree.root, accepted) or [()])
    for case in cases:
        ends = {part.leaf for part in case.parts}
        case.rules = writer.rules(_region(tree.root, ends) or [()], required)
    return cases


def _region(node: PathNode, ends: set[PathNode]) -> list[Conjunction] | None:
    """The alternatives under which a path comes to one of the `ends`; None where no arguments
    can be. Where none were found, there may be some."""
    if node.decision is None:
        return None if node.is_impossible and not node.runs else [()] if node in ends else []
    yes, no = (_region(node.sides[side], ends) for side in (True, False))
    if yes is None or no is None or yes == no:
        return no if yes is None else yes
    sides = (node.decision, yes), (node.decision.negated, no)
    return [(condition, *more) for condition, region in sides for more in region]


class _Writer:
    def __init__(self, tracer: Tracer, base: Mapping[str, Value]) -> None:
        self.tracer, self.base, self.order = tracer, base, tracer.names

    def split(self, region: Sequence[Conjunction]) -> tuple[list[Condition], list[Conjunction]]:
        """What always holds, and the alternatives beside it, without what implies another of
        them."""
        shared = [c for c in region[0] if all(c in conjunction for conjunction in region)]
        beside = [tuple(c for c in conjunction if c not in shared) for conjunction in region]
        # `a or (not a and b)` is `a or b`.
        alone = [conjunction[0] for conjunction in beside if len(conjunction) == 1]
        beside = [
            tuple(c for c in conjunction if len(conjunction) == 1 or c.negated not in alone)
            for conjunction in beside
        ]
        least = self.tracer.least
        alternatives = [
            narrow
            for narrow in dict.fromkeys(beside)
            if not any(
                wide != narrow and all(c in narrow or follows(c, narrow, least) for c in wide)
                for wide in beside
            )
        ]
        if len(alternatives) == 1:
            return [*shared, *alternatives[0]], []
        return shared, alternatives

    def rules(
        self, region: Sequence[Conjunction], required: Collection[Condition]
    ) -> list[ArgumentRule]:
        shared, alternatives = self.split(region)
        # Nothing else is to be said of a variable that has one value.
        values = {c.names: c for c in shared if _value([c]) is not None}
        shared = [c for c in shared if values.get(c.names, c) is c]
        rules = []
        for is_limit in (False, True):
            conditions = [c for c in shared if (c not in required) is is_limit]
            rules += self.written(conditions, shared, is_limit=is_limit)
        if alternatives and all(alternatives):
            rules += self.either(alternatives)
        return rules

    def either(self, alternatives: Sequence[Conjunction]) -> list[ArgumentRule]:
        """The one rule; none where all values meet one of the alternatives."""
        names = {c.names for conjunction in alternatives for c in conjunction}
        values = [v for conjunction in alternatives if (v := _value(conjunction)) is not None]
        if len(names) == 1 and len(values) == len(alternatives):
            ((name,),) = names
            text = f"{name} in ({', '.join(map(str, sorted(values)))})"
        else:
            rules = (self.written(conjunction, conjunction) for conjunction in alternatives)
            texts = dict.fromkeys(" and ".join(map(str, together)) for together in rules)
            if "" in texts:
                return []
            text = " or ".join(f"({t})" if " and " in t else t for t in texts)
        return [ArgumentRule(text, tuple(alternatives), is_limit=True)]

    def written(
        self, conditions: Sequence[Condition], all_: Sequence[Condition], *, is_limit: bool = True
    ) -> list[ArgumentRule]:
        """Those of conditions that hold together with all others."""
        least = self.tracer.least
        conditions = [
            c for c in conditions if not follows(c, [o for o in all_ if o is not c], least)
        ]

        def rule(condition: Condition) -> ArgumentRule:
            return ArgumentRule(condition.text(self.order), ((condition,),), is_limit)

        rules = [rule(c) for c in conditions if len(c.names) != 1]
        for name in dict.fromkeys(n for c in conditions if len(c.names) == 1 for n in c.names):
            about = [c for c in conditions if c.names == {name}]
            brief = self.brief(name, about)
            if brief is None:
                rules += map(rule, about)
            elif brief:
                rules.append(ArgumentRule(brief, (tuple(about),), is_limit))
        return rules

    def brief(self, name: str, conditions: Sequence[Condition]) -> str | None:
        """All values of one variable that meet the conditions, where they are an interval; None
        where they are none. Empty where all do."""
        if name not in self.tracer.whole:
            return None
        first, *more = conditions
        names_alone = all(isinstance(g, str) for g in first.form.generators)
        if not more and first.is_whole and names_alone:
            return None
        least = self.tracer.least[name]
        end = limits.LISTED_VALUES
        far = [v for k in range(13, 31) for v in (2**k - 1, 2**k, 2**k + 1, 3 * 2**k)]
        far += [v for c in self.tracer.constants for v in (c - 1, c, c + 1) if v >= end]
        meets = truth_of_all(conditions)
        values = [v for v in range(least, end) if meets({**self.base, name: v})]
        beyond = [v for v in far if meets({**self.base, name: v})]
        if not values or values[-1] - values[0] + 1 != len(values):
            return None
        low, high = values[0], values[-1]
        if not beyond and high < end - 1:
            if low == high:
                return f"{name} == {low}"
            return f"{low} <= {name} <= {high}" if low > least else f"{name} <= {high}"
        if len(beyond) == len(far) and high == end - 1:
            return f"{name} >= {low}" if low > least else ""
        return None


def _value(conditions: Iterable[Condition]) -> Number | None:
    """The one that a name has: `d == 8`. None where it may have others: `d % 8 == 0`."""
    numbers = (form.number for condition in conditions for _, form in solutions(condition))
    return next((number for number in numbers if number is not None), None)
