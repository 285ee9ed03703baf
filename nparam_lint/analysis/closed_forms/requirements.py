"""What is asked of arguments, by a model, a form of it, or the user; and as a test of points."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from nparam_lint.analysis.closed_forms.compiled_form import at_point, function
from nparam_lint.analysis.closed_forms.conditions import Condition, truth_of_all
from nparam_lint.analysis.closed_forms.expressions import argument_of, constant_of
from nparam_lint.analysis.closed_forms.implications import solutions

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from nparam_lint.analysis.closed_forms.conditions import Test
    from nparam_lint.analysis.closed_forms.polynomial import Polynomial
    from nparam_lint.ground.values import NameValue

    Whole = Mapping[str, int]


class ArgumentRule(Struct, frozen=True):
    """One of the `alternatives` holds, with all of its conditions; and how that is written.
    `is_limit`: the form holds there, and the model can be built elsewhere too; otherwise it is
    required."""

    text: str
    alternatives: tuple[tuple[Condition, ...], ...]
    is_limit: bool = False
    shown: str = ""  # to people, where that is something else
    alone: tuple[str, ...] = ()  # names that are a whole side of it

    def __str__(self) -> str:
        return self.text

    @property
    def names(self) -> frozenset[str]:
        return frozenset().union(*(c.names for together in self.alternatives for c in together))

    @property
    def certain(self) -> tuple[Condition, ...]:
        """What holds, whatever else does."""
        return self.alternatives[0] if len(self.alternatives) == 1 else ()

    @property
    def solutions(self) -> dict[str, Polynomial]:
        """Of a single equation: what names are by it."""
        return {} if self.condition is None else dict(solutions(self.condition))

    @property
    def condition(self) -> Condition | None:
        """Where it is a single one."""
        return self.certain[0] if len(self.certain) == 1 else None

    def test(self) -> Test:
        tests = [*map(truth_of_all, self.alternatives)]
        return tests[0] if len(tests) == 1 else lambda point: any(test(point) for test in tests)


def pinned_rule(name: str, value: NameValue) -> ArgumentRule:
    """An argument has the value of the call, as no form was found in it."""
    form = argument_of(name, is_whole=isinstance(value, int)) - constant_of(repr(value))
    shown = f"{name}={value!r} (its value)"
    return ArgumentRule(f"{name} == {value!r}", ((Condition("==", form),),), True, shown)


def positive_rule(name: str) -> ArgumentRule:
    form = argument_of(name, is_whole=False)
    return ArgumentRule(f"{name} > 0", ((Condition(">", form),),), is_limit=True)


class Requirements:
    """`base`: values of the arguments that are neither unknown nor tied; `ties`: forms of what
    follows from the unknowns. Where a form divides by zero, or is not whole, nothing holds."""

    def __init__(
        self,
        base: Mapping[str, NameValue],
        unknowns: Iterable[str],
        ties: Mapping[str, Polynomial],
        rules: Collection[ArgumentRule],
    ) -> None:
        self.fixed = {n: v for n, v in base.items() if n not in {*unknowns, *ties}}
        self.ties = {name: _WholeNumber(form) for name, form in ties.items()}
        self.tests = [(rule.names, rule.test()) for rule in rules]
        self.excluded: set[frozenset[tuple[str, int]]] = set()

    def completed(self, point: Whole) -> dict[str, NameValue]:
        """The point, with the fixed values and all ties that can be computed from them."""
        full: dict[str, NameValue] = {**self.fixed, **point}
        for name, tie in self.ties.items():
            if tie.names <= full.keys():
                full[name] = tie.value(full)
        return full

    def hold(self, point: Whole) -> bool:
        """Whether a point breaks no condition; those on unknowns that it lacks are not checked."""
        if self.excluded and frozenset(point.items()) in self.excluded:
            return False
        full = self.completed(point)
        if any(type(full.get(name, 0)) is not int for name in self.ties):
            return False
        return all(test(full) for names, test in self.tests if names <= full.keys())

    def exclude(self, point: Whole) -> None:
        """Exclude a point that turned out to be useless."""
        self.excluded.add(frozenset(point.items()))


class _WholeNumber:
    """A form as a fast function of points."""

    def __init__(self, form: Polynomial) -> None:
        self.names, self.bottom = form.names, form.denominator
        self.top = function(f"lambda point: {at_point(form * form.denominator)}")

    def value(self, point: Mapping[str, NameValue]) -> int | None:
        """None where it has none, or is not whole."""
        try:
            number, remainder = divmod(self.top(point), self.bottom)
        except (ArithmeticError, ValueError, TypeError):
            return None
        return None if remainder else int(number)
