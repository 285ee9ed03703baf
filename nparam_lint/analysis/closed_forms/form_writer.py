"""Closed forms as text: expanded or factored; in the grammar of budgets, in Python, in LaTeX."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm
from typing import TYPE_CHECKING, Literal

from nparam_lint.analysis.closed_forms.polynomial import (
    ONE,
    Exponential,
    Generator,
    Monomial,
    Polynomial,
    Rounded,
    degree,
    product,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_PLAIN = 16  # larger numbers before or inside of a bracket are no clearer than those without it

Language = Literal["budget", "python", "latex"]


@dataclass(frozen=True, slots=True)
class _Sum:
    parts: tuple[_Node, ...]


@dataclass(frozen=True, slots=True)
class _Product:
    """`number` times the parts."""

    number: Fraction
    parts: tuple[_Node, ...]


@dataclass(frozen=True, slots=True)
class _Power:
    base: Generator
    exponent: int


_Node = _Sum | _Product | _Power


def expanded(form: Polynomial, order: Sequence[str], language: Language = "budget") -> str:
    """All terms, those of high degree first; `order`: of the names."""
    whole = lcm(*(c.denominator for _, c in form.terms))
    if language == "python" and whole > 1 and len(form.terms) > 1:
        # Python's `//` would cut each term by itself.
        return f"({expanded(form * whole, order, language)})//{whole}"
    return _Writer(order, language).text(_flat(form, _Order(order)))


def factored(form: Polynomial, order: Sequence[str], language: Language = "budget") -> str:
    """Common factors before brackets, as far as they are found by taking out one at a time."""
    return _Writer(order, language).text(_nested(form, _Order(order)))


class _Order:
    def __init__(self, names: Sequence[str]) -> None:
        self.places = {name: place for place, name in enumerate(names)}

    def of(self, generator: Generator) -> tuple[int, str]:
        if isinstance(generator, str):
            return self.places.get(generator, len(self.places)), generator
        return len(self.places) + 1, repr(generator)

    def term(self, term: tuple[Monomial, Fraction]) -> tuple[object, ...]:
        """High degrees first, then in the order of the names."""
        monomial, coefficient = term
        places = sorted((self.of(g), -e) for g, e in monomial)
        return (-degree(monomial), coefficient < 0, places)


# --- from a polynomial to a tree --------------------------------------------------------------


def _flat(form: Polynomial, order: _Order) -> _Node:
    parts = [_term(*term, order) for term in sorted(form.terms, key=order.term)]
    return parts[0] if len(parts) == 1 else _Sum(tuple(parts))


def _term(monomial: Monomial, number: Fraction, order: _Order) -> _Product:
    powers = sorted(monomial, key=lambda power: order.of(power[0]))
    return _Product(number, tuple(_Power(g, e) for g, e in powers))


def _nested(form: Polynomial, order: _Order) -> _Node:
    if len(form.terms) < 2:
        return _flat(form, order)
    number, common, rest = _taken_out(form)
    inner = _collected(rest, order)
    outer = _term(common, number, order)
    if isinstance(inner, _Product):
        return _Product(number * inner.number, (*outer.parts, *inner.parts))
    return _Product(number, (*outer.parts, inner)) if outer.parts or number != 1 else inner


def _taken_out(form: Polynomial) -> tuple[Fraction, Monomial, Polynomial]:
    """(number, monomial, rest) whose product is the form; the rest has whole coefficients."""
    numbers = [number for _, number in form.terms]
    number = Fraction(gcd(*(n.numerator for n in numbers)), lcm(*(n.denominator for n in numbers)))
    if all(c < 0 for _, c in form.terms):
        number = -number
    common = dict(form.terms[0][0])
    for monomial, _ in form.terms:
        powers = dict(monomial)
        common = {g: min(e, powers[g]) for g, e in common.items() if g in powers}
    largest = max(abs(number), *(abs(c / number) for _, c in form.terms))
    if not common and number.denominator == 1 and largest > _PLAIN:
        number = Fraction(-1 if number < 0 else 1)
    rest = {_without(m, common): c / number for m, c in form.terms}
    return number, product((), tuple(common.items())), Polynomial.of(rest)


def _without(monomial: Monomial, less: Mapping[Generator, int]) -> Monomial:
    return tuple((g, e - less.get(g, 0)) for g, e in monomial if e > less.get(g, 0))


def _collected(form: Polynomial, order: _Order) -> _Node:
    """What has a generator in common in brackets, the rest beside it; where both have a factor in
    common, that before."""
    counts = Counter(generator for monomial, _ in form.terms for generator, _ in monomial)
    often = [g for g, n in counts.items() if n > 1]
    if not often:
        return _flat(form, order)
    chosen = min(often, key=lambda g: (-counts[g], order.of(g)))
    with_it = Polynomial.of({m: c for m, c in form.terms if chosen in dict(m)})
    without = Polynomial.of({m: c for m, c in form.terms if chosen not in dict(m)})
    if without.terms:
        number, monomial, inner = _taken_out(with_it)
        quotient = _divided(without, inner)
        if quotient is not None and len(inner.terms) > 1:
            outer = Polynomial.of({monomial: number}) + quotient
            return _Product(Fraction(1), (_nested(outer, order), _nested(inner, order)))
        parts = [_nested(with_it, order)]
        # Terms that have nothing in common with others stand for themselves.
        rest = _nested(without, order)
        parts += rest.parts if isinstance(rest, _Sum) else [rest]
        return _Sum(tuple(parts))
    return _nested(with_it, order)


def _divided(form: Polynomial, by: Polynomial) -> Polynomial | None:
    """The exact quotient; None where there is a remainder."""
    order = _Order(sorted(form.names | by.names))

    def leading(polynomial: Polynomial) -> tuple[Monomial, Fraction]:
        return min(polynomial.terms, key=order.term)

    quotient = Polynomial()
    top, number = leading(by)
    for _ in range(len(form.terms) + 8):
        if form.is_zero:
            return quotient
        monomial, coefficient = leading(form)
        powers = dict(monomial)
        if any(powers.get(g, 0) < e for g, e in top):
            return None
        step = Polynomial.of({_without(monomial, dict(top)): coefficient / number})
        quotient, form = quotient + step, form - step * by
    return None


# --- from a tree to text ----------------------------------------------------------------------


class _Writer:
    def __init__(self, order: Sequence[str], language: Language) -> None:
        self.order, self.language = _Order(order), language
        self.times = " " if language == "latex" else "*"

    def text(self, node: _Node) -> str:
        match node:
            case _Sum(parts=parts):
                return self.sum(parts)
            case _Product():
                return self.product(node)
            case _Power(base=base, exponent=exponent):
                return self.power(base, exponent)

    def sum(self, parts: Sequence[_Node]) -> str:
        texts = [self.text(part) for part in parts]
        if texts and texts[0].startswith("-"):  # `13 - 3*d`, not `-3*d + 13`
            texts.sort(key=lambda text: text.startswith("-"))
        return " + ".join(texts).replace(" + -", " - ") or "0"

    def product(self, node: _Product) -> str:
        number, factors = node.number, []
        for part in node.parts:
            text = self.text(part)
            several = len(node.parts) > 1 or abs(number) != 1
            loose = isinstance(part, _Sum) or (several and self.is_loose(part))
            factors.append(self.brackets(text) if loose else text)
        sign = "-" if number < 0 else ""
        top, bottom = abs(number).as_integer_ratio()
        if top != 1 or not factors:
            factors.insert(0, self.number(top))
        if bottom != 1 and self.language == "latex":
            return f"{sign}\\frac{{{self.times.join(factors)}}}{{{bottom}}}"
        # A count is whole: the division leaves nothing over.
        slash = "//" if self.language == "python" else "/"
        return sign + self.times.join(factors) + (f"{slash}{bottom}" if bottom != 1 else "")

    def is_loose(self, node: _Node) -> bool:
        """Whether it is written with `//`, which binds no closer than `*`."""
        quotient = isinstance(node, _Power) and node.exponent == 1 and node.base
        if not isinstance(quotient, Rounded) or self.language == "latex":
            return False
        return quotient.bottom != ONE and not (quotient.up and self.language == "budget")

    def brackets(self, text: str) -> str:
        return f"\\left({text}\\right)" if self.language == "latex" else f"({text})"

    def number(self, number: int) -> str:
        if self.language == "latex":
            return f"{number:,}".replace(",", "{,}")
        return f"{number:_}" if number >= 10_000 else str(number)

    def power(self, base: Generator, exponent: int) -> str:
        if isinstance(base, Exponential):
            levels = self.name(base.exponent)
            power = f"^{{{levels}}}" if self.language == "latex" else f"**{levels}"
            return f"{2**exponent}{power}"
        text = self.generator(base)
        if exponent == 1:
            return text
        # `(a + b)//(2*c)` ends in a bracket, and has none around it.
        called = re.match(r"(ceil|floor|int)\(", text)
        if isinstance(base, Rounded) and self.language != "latex" and not called:
            text = self.brackets(text)
        return f"{text}^{{{exponent}}}" if self.language == "latex" else f"{text}**{exponent}"

    def generator(self, generator: Generator) -> str:
        if isinstance(generator, str):
            return self.name(generator)
        if isinstance(generator, Rounded):
            return self.rounded(generator)
        if isinstance(generator, Exponential):
            return self.power(generator, 1)
        name = ("\\" if self.language == "latex" else "") + ("max" if generator.larger else "min")
        values = (self.text(_flat(part, self.order)) for part in (generator.left, generator.right))
        return name + self.brackets(", ".join(values))

    def name(self, name: str) -> str:
        if self.language != "latex":
            return name
        name, *indices = re.findall(r"\w+", name)  # of `dims[1][0]`
        if len(name) > 1:
            name = f"\\mathit{{{name.replace('_', chr(92) + '_')}}}"
        return name + (f"_{{{','.join(indices)}}}" if indices else "")

    def rounded(self, rounded: Rounded) -> str:
        top = self.text(_flat(rounded.top, self.order))
        bottom = self.text(_flat(rounded.bottom, self.order))
        if self.language == "latex":
            inside = top if rounded.bottom == ONE else f"\\frac{{{top}}}{{{bottom}}}"
            open_, close = ("\\lceil", "\\rceil") if rounded.up else ("\\lfloor", "\\rfloor")
            return f"\\left{open_} {inside} \\right{close}"
        if len(rounded.top.terms) > 1 or not all(
            isinstance(g, str) for g in rounded.top.generators
        ):
            top = f"({top})"
        if not re.fullmatch(r"[\w\[\]']+", bottom):
            bottom = f"({bottom})"
        if rounded.bottom == ONE:
            if self.language == "python":
                return f"-int(-{top} // 1)" if rounded.up else f"int({top} // 1)"
            return f"{'ceil' if rounded.up else 'floor'}({top})"
        if not rounded.up:
            return f"{top}//{bottom}"
        return f"-(-{top}//{bottom})" if self.language == "python" else f"ceil({top}/{bottom})"
