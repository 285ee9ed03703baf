"""Where a form holds, said briefly: paths with one form are one case, and what follows from the
rest is left out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nparam_lint.analysis.closed_forms import limits
from nparam_lint.analysis.closed_forms.implications import solutions, with_value
from nparam_lint.analysis.closed_forms.polynomial import ZERO, Number, Polynomial
from nparam_lint.analysis.closed_forms.requirements import ArgumentRule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nparam_lint.analysis.closed_forms.conditions import Condition
    from nparam_lint.analysis.closed_forms.form_records import ShapeForm
    from nparam_lint.analysis.closed_forms.observations import Value
    from nparam_lint.analysis.closed_forms.paths import PathNode, PathTree
    from nparam_lint.analysis.closed_forms.traced_runs import Run, Tracer
    from nparam_lint.analysis.closed_forms.verified_forms import Doubt, PathForm

    Conjunction = tuple[Condition, ...]


@dataclass
class FormCase:
    """A form, and all that it holds for."""

    total: Polynomial
    runs: list[Run]
    doubts: list[Doubt]
    parts: list[PathForm]
    rules: list[ArgumentRule] = field(default_factory=list)
    shapes: Sequence[ShapeForm] = ()


def merged(
    tree: PathTree, forms: Sequence[PathForm], tracer: Tracer, base: Mapping[str, Value]
) -> list[FormCase]:
    """The cases, that of the call first, then the more general ones."""
    asked = next(form for form in forms if tracer.holds(form.leaf.conditions, base))
    cases: list[FormCase] = []

    def place(form: PathForm) -> tuple[bool, int, int]:
        own = form.leaf.conditions
        return form is not asked, sum(c.operation == "==" for c in own), len(own)

    for form in sorted(forms, key=place):
        case = next((case for case in cases if _covers(case.total, form)), None)
        if case is None:
            case = FormCase(form.total, [], [], [])
            cases.append(case)
        case.parts.append(form)
        case.runs += form.runs
        case.doubts += form.doubts
    writer = _Writer(tracer, base)
    accepted = {end for end in tree.root.ends() if not end.runs or not end.is_refused}
    required = _region(tree.root, accepted) or [()]
    shared = _shared(required)
    rest = writer.alternatives(required, shared)
    needed = {*shared, *(rest[0] if len(rest) == 1 else ())}
    for case in cases:
        ends = {part.leaf for part in case.parts}
        case.rules = writer.rules(_region(tree.root, ends) or [()], needed)
    return cases


def _covers(total: Polynomial, form: PathForm) -> bool:
    """Whether a form is that of a path too, where its conditions hold: it may be simpler there."""
    difference = total - form.total
    return difference == ZERO or any(
        other == ZERO for own in form.leaf.conditions for other in with_value(difference, own)
    )


def _region(node: PathNode, ends: set[PathNode]) -> list[Conjunction] | None:
    """The alternatives under which a path comes to one of the `ends`; None where no arguments
    can be. Where none were found, there may be some."""
    if node.decision is None:
        return None if node.is_impossible and not node.runs else [()] if node in ends else []
    yes, no = (_region(node.sides[side], ends) for side in (True, False))
    if yes is None or no is None or yes == no:
        return no if yes is None else yes
    found = [(node.decision, *rest) for rest in yes]
    return found + [(node.decision.negated, *rest) for rest in no]


def _shared(region: Sequence[Conjunction]) -> list[Condition]:
    return [c for c in region[0] if all(c in other for other in region)]


class _Writer:
    def __init__(self, tracer: Tracer, base: Mapping[str, Value]) -> None:
        self.tracer, self.base, self.order = tracer, base, tracer.names

    def rules(self, region: Sequence[Conjunction], needed: set[Condition]) -> list[ArgumentRule]:
        region = [tuple(dict.fromkeys(own)) for own in region]
        common = _shared(region)
        rest = self.alternatives(region, common)
        if len(rest) == 1:
            common += rest[0]
        shared = _without_settled(common)
        found = []
        for is_limit in (False, True):
            own = [c for c in shared if (c not in needed) is is_limit]
            found += self.written(own, shared, is_limit=is_limit)
        if len(rest) > 1 and all(rest):
            found.append(self.either(rest))
        return found

    def alternatives(
        self, region: Sequence[Conjunction], shared: Sequence[Condition]
    ) -> list[Conjunction]:
        """What may hold beside what always holds, without what implies another of them."""
        found = _absorbed([tuple(c for c in own if c not in shared) for own in region])
        implied = self.tracer.implied
        return [
            own
            for own in dict.fromkeys(found)
            if not any(
                other != own and all(c in own or implied.follows(c, own) for c in other)
                for other in found
            )
        ]

    def either(self, region: Sequence[Conjunction]) -> ArgumentRule:
        values = [_fixed(own) for own in region]
        known = {value[0] for value in values if value is not None}
        if len(known) == 1 and None not in values:
            (name,) = known
            among = ", ".join(str(v[1]) for v in sorted(values, key=lambda v: v[1]) if v)  # type: ignore[index]
            return ArgumentRule(f"{name} in ({among})", tuple(region), is_limit=True)
        rules = (self.written(own, own) for own in region)
        texts = dict.fromkeys(" and ".join(map(str, own)) for own in rules)
        text = " or ".join(f"({t})" if " and " in t else t for t in texts)
        return ArgumentRule(text, tuple(region), is_limit=True)

    def written(
        self, conditions: Sequence[Condition], all_: Sequence[Condition], *, is_limit: bool = True
    ) -> list[ArgumentRule]:
        """Those of conditions that hold together with all others."""
        kept = [
            c
            for c in conditions
            if not self.tracer.implied.follows(c, [o for o in all_ if o is not c])
        ]

        def rule(condition: Condition) -> ArgumentRule:
            return ArgumentRule(condition.text(self.order), ((condition,),), is_limit)

        found = [rule(c) for c in kept if len(c.names) != 1]
        alone: dict[str, list[Condition]] = {}
        for condition in kept:
            for name in condition.names if len(condition.names) == 1 else ():
                alone.setdefault(name, []).append(condition)
        for name, own in alone.items():
            brief = self.brief(name, own)
            if brief is None:
                found += map(rule, own)
            elif brief:
                found.append(ArgumentRule(brief, (tuple(own),), is_limit))
        return found

    def brief(self, name: str, conditions: Sequence[Condition]) -> str | None:
        """All values of one variable that meet the conditions, where they are an interval; None
        where they are none. Empty where all do."""
        if name not in self.tracer.whole:
            return None
        simple = len(conditions) == 1 and all(
            isinstance(g, str) for g in conditions[0].form.generators
        )
        if simple and conditions[0].left is None:
            return None
        least = int(self.tracer.least[name])
        far = [v for k in range(13, 31) for v in (2**k - 1, 2**k, 2**k + 1, 3 * 2**k)]
        far += [
            v for c in self.tracer.constants for v in (c - 1, c, c + 1) if v >= limits.LISTED_VALUES
        ]
        near = range(least, limits.LISTED_VALUES)
        met = [v for v in near if self.meets(conditions, name, v)]
        beyond = [v for v in far if self.meets(conditions, name, v)]
        if not met or met[-1] - met[0] + 1 != len(met):
            return None
        if not beyond and met[-1] < limits.LISTED_VALUES - 1:
            low, high = met[0], met[-1]
            if low == high:
                return f"{name} == {low}"
            return f"{low} <= {name} <= {high}" if low > least else f"{name} <= {high}"
        if len(beyond) == len(far) and met[-1] == limits.LISTED_VALUES - 1:
            return f"{name} >= {met[0]}" if met[0] > least else ""
        return None

    def meets(self, conditions: Sequence[Condition], name: str, value: int) -> bool:
        return self.tracer.holds(conditions, {**self.base, name: value})


def _value(condition: Condition) -> Number | None:
    """The one that its name has: `d == 8`. None where it may have others: `d % 8 == 0`."""
    return next((form.number for _, form in solutions(condition)), None)


def _fixed(own: Conjunction) -> tuple[str, Number] | None:
    """The name and value where a conjunction says that it has one."""
    values = {c.names: value for c in own if (value := _value(c)) is not None}
    names = {c.names for c in own}
    if len(names) == 1 and names == values.keys():
        ((name,),), (value,) = names, values.values()
        return name, value
    return None


def _without_settled(conditions: Sequence[Condition]) -> list[Condition]:
    """Without what else is said of a variable that has one value."""
    values = {c.names: c for c in conditions if _value(c) is not None}
    return [c for c in conditions if values.get(c.names, c) is c]


def _absorbed(region: list[Conjunction]) -> list[Conjunction]:
    """`a or (not a and b)` is `a or b`."""
    alone = {own[0] for own in region if len(own) == 1}
    without = {condition.negated for condition in alone}
    return [own if len(own) == 1 else tuple(c for c in own if c not in without) for own in region]
