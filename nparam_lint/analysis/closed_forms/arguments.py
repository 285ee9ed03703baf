"""What `solve` is asked about arguments, apart: what follows from others, what has limits, and what
must hold in addition."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from math import ceil, floor
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from nparam_lint.analysis.closed_forms.conditions import Condition, condition_of
from nparam_lint.analysis.closed_forms.expressions import KINDS, read
from nparam_lint.analysis.closed_forms.implications import solved
from nparam_lint.analysis.closed_forms.polynomial import ZERO, Polynomial
from nparam_lint.analysis.closed_forms.requirements import ArgumentRule
from nparam_lint.ground.notation import FormulaError, read_expression
from nparam_lint.ground.notation.expression import parse_formula

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from nparam_lint.analysis.closed_forms.search import Unknown


# --- as it is written -------------------------------------------------------------------------


def rules_of(text: str) -> list[ArgumentRule]:
    """What `and` joins, each a rule. Raises FormulaError."""
    formula = parse_formula(text)
    if not formula.is_condition:
        raise FormulaError("expected a comparison such as 'd_model % n_heads == 0'")
    node = read_expression(formula.text)
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        parts = (ast.get_source_segment(formula.text, part) or "" for part in node.values)
        return [rule for part in parts for rule in rules_of(part)]
    try:
        if not isinstance(node, ast.Compare) or not all(type(op) in KINDS for op in node.ops):
            return [ArgumentRule(formula.text, ((Condition("!=", read(node)),),))]
        kinds = [KINDS[type(op)] for op in node.ops]
        forms = [*map(read, [node.left, *node.comparators])]
        links = [*map(condition_of, kinds, forms, forms[1:])]
    except ArithmeticError:
        raise FormulaError("expected a condition on numbers, and none that are too large") from None
    never = Condition("!=", ZERO)
    conditions = (never if link is False else link for link in links)
    alone = tuple(n for form in forms for n in form.names if form == Polynomial.generator(n))
    certain = tuple(c for c in conditions if isinstance(c, Condition))
    return [ArgumentRule(formula.text, (certain,), alone=alone)]


# --- what it says -----------------------------------------------------------------------------


class Arguments(Struct):
    """`ties`: what follows from the unknowns, each computed from those before it; `rules`: what
    must hold in addition."""

    unknowns: dict[str, Unknown]
    ties: dict[str, Polynomial]
    rules: list[ArgumentRule]

    def copy(self) -> Arguments:
        return replace(self, unknowns={**self.unknowns}, ties={**self.ties}, rules=[*self.rules])

    @property
    def open(self) -> set[str]:
        return {*self.unknowns, *self.ties}

    def tie(self, name: str, form: Polynomial) -> bool:
        """Compute an argument from others, unless these are computed from it."""
        if name in self.ties or name in self.behind(form.names):
            return False
        was = self.unknowns.pop(name, None)
        if was is not None and was.high is not None:
            self.rules += rules_of(f"{was.low} <= {name} <= {was.high}")
        ties = {**self.ties, name: form}
        order = TopologicalSorter({n: f.names & ties.keys() for n, f in ties.items()})
        self.ties = {n: ties[n] for n in order.static_order()}
        return True

    def behind(self, names: Iterable[str]) -> set[str]:
        """These, and what they are computed from."""
        sources = set(names)
        for name, form in reversed(self.ties.items()):
            if name in sources:
                sources |= form.names
        return sources

    def limit(self, condition: Condition) -> None:
        """Take the limit of an unknown from a condition such as `d_model <= 1024`."""
        if len(condition.names) != 1:
            return
        (name,) = condition.names
        unknown, bound = self.unknowns.get(name), solved(condition.form, name)
        if unknown is None or condition.operation != ">=" or bound is None or bound.number is None:
            return
        if dict(condition.form.terms)[((name, 1),)] > 0:
            self.unknowns[name] = replace(unknown, low=max(unknown.low, ceil(bound.number)))
        else:
            highs = (high for high in (unknown.high, floor(bound.number)) if high is not None)
            self.unknowns[name] = replace(unknown, high=min(highs))


def told_apart(unknowns: Mapping[str, Unknown], rules: Sequence[ArgumentRule]) -> Arguments:
    """`d_ff == 4*d_model` ties one to the other, if that one is unknown; a comparison with a number
    limits an unknown; the rest are conditions."""
    arguments, conditions = Arguments(dict(unknowns), {}, []), list(rules)

    def is_tie(rule: ArgumentRule) -> bool:
        """Of a name that stands alone on a side, in what is known or asked for."""
        forms = rule.solutions
        return any(
            (not form.names or form.names & arguments.open) and arguments.tie(name, form)
            for name in rule.alone
            if (form := forms.get(name)) is not None
        )

    while ties := [*filter(is_tie, conditions)]:
        conditions = [rule for rule in conditions if rule not in ties]
    for unknown in unknowns.values():
        if unknown.step > 1:
            start = unknown.low % unknown.step
            arguments.rules += rules_of(f"{unknown.name} % {unknown.step} == {start}")
    for comparison in (comparison for rule in conditions for comparison in rule.certain):
        arguments.limit(comparison)
    arguments.rules += conditions
    return arguments
