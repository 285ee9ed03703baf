"""Closed forms as text: expanded or factored; in the grammar of budgets, in Python, in LaTeX."""

from __future__ import annotations

import re
from collections import Counter
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

from nparam_lint.analysis.closed_forms.polynomial import (
    ONE,
    ZERO,
    Generator,
    Monomial,
    Number,
    Operation,
    Polynomial,
    common_factor,
    place_of,
    quotient,
)
from nparam_lint.analysis.closed_forms.signs import is_positive

if TYPE_CHECKING:
    from collections.abc import Sequence

_PLAIN = 16  # larger numbers before or inside of a bracket are no clearer than those without it

_INFIX = frozenset("+ - * / // % ** & | ^ << >> == != < <= > >= and or".split())

Language = Literal["budget", "python", "latex"]
_GREEK = frozenset(
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau "
    "upsilon phi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega".split()
)


class _Term(NamedTuple):
    """A number times powers times sums in brackets."""

    number: Number
    powers: Monomial = ()
    sums: tuple[_Sum, ...] = ()


_Sum = tuple[_Term, ...]


def expanded(form: Polynomial, order: Sequence[str]) -> str:
    """All terms, those of high degree first; `order`: of the names."""
    return _Writer(order, "budget").sum(_flat(form, _Order(order)))


def side(form: Polynomial, order: Sequence[str], language: Language = "budget") -> str:
    """As it stands in a comparison, or in an operation."""
    return _Writer(order, language).part(form)


def factored(form: Polynomial, order: Sequence[str], language: Language = "budget") -> str:
    """The form with common factors taken out, one at a time."""
    return _Writer(order, language).sum(_nested(form, _Order(order)))


class _Order:
    def __init__(self, names: Sequence[str]) -> None:
        self.places = {name: place for place, name in enumerate(names)}

    def of(self, generator: Generator) -> tuple[int, int, str]:
        last = len(self.places)
        place = self.places.get(generator, last) if isinstance(generator, str) else last
        return (place, *place_of(generator))

    def term(self, term: tuple[Monomial, Number]) -> tuple[object, ...]:
        """High degrees first, then in the order of the names."""
        monomial, coefficient = term
        places = sorted((self.of(g), -e) for g, e in monomial)
        return (-sum(e for _, e in monomial), coefficient < 0, places)


# --- from a polynomial to a tree --------------------------------------------------------------


def _flat(form: Polynomial, order: _Order) -> _Sum:
    terms = sorted(form.terms, key=order.term)
    return tuple(_Term(number, _in_order(monomial, order)) for monomial, number in terms)


def _in_order(monomial: Monomial, order: _Order) -> Monomial:
    return tuple(sorted(monomial, key=lambda power: order.of(power[0])))


def _nested(form: Polynomial, order: _Order) -> _Sum:
    if len(form.terms) < 2:
        return _flat(form, order)
    number, common, cofactor = _taken_out(form)
    return _times((_Term(number, _in_order(common, order)),), _collected(cofactor, order))


def _times(left: _Sum, right: _Sum) -> _Sum:
    """The product: one term, in which a sum of several is a factor."""
    if left == (_Term(1),):
        return right
    a, b = (part[0] if len(part) == 1 else _Term(1, (), (part,)) for part in (left, right))
    return (_Term(a.number * b.number, a.powers + b.powers, a.sums + b.sums),)


def _taken_out(form: Polynomial) -> tuple[Fraction, Monomial, Polynomial]:
    """(number, monomial, cofactor) whose product is the form; the last has whole coefficients."""
    number, monomial = common_factor(form.terms)
    if all(c < 0 for _, c in form.terms):
        number = -number
    largest = max(abs(number), *(abs(c / number) for _, c in form.terms))
    if not monomial and number.denominator == 1 and largest > _PLAIN:
        number = Fraction(-1 if number < 0 else 1)
    cofactor = quotient(form, Polynomial(((monomial, number),)))
    assert cofactor is not None
    return number, monomial, cofactor


def _collected(form: Polynomial, order: _Order) -> _Sum:
    """What has a generator in common in brackets, the rest beside it; where both have a factor in
    common, that before."""
    counts = Counter(generator for monomial, _ in form.terms for generator, _ in monomial)
    often = [g for g, n in counts.items() if n > 1]
    if not often:
        return _flat(form, order)
    # What is longest to read is said once.
    commonest = min(often, key=lambda g: (-counts[g], isinstance(g, str), order.of(g)))
    with_it = Polynomial.of({m: c for m, c in form.terms if commonest in dict(m)})
    without = form - with_it
    if without == ZERO:
        return _nested(with_it, order)
    number, monomial, cofactor = _taken_out(with_it)
    beside, rest = _divided(without, cofactor)
    if beside != ZERO and len(cofactor.terms) > 1:
        outer = Polynomial.of({monomial: number}) + beside
        product = _times(_nested(outer, order), _nested(cofactor, order))
        return product + _nested(rest, order) if rest.terms else product
    # Terms that have nothing in common with others stand for themselves.
    return _nested(with_it, order) + _nested(without, order)


def _divided(form: Polynomial, by: Polynomial) -> tuple[Polynomial, Polynomial]:
    """A quotient, and the terms of the form that remain; zero and all of them where others would
    have to be added."""
    order = _Order(sorted(form.names | by.names))

    def leading(polynomial: Polynomial) -> Polynomial:
        return Polynomial((min(polynomial.terms, key=order.term),))

    shares, top, rest, left = ZERO, leading(by), ZERO, form
    for _ in range(2 * len(form.terms) + 8):
        if left == ZERO:
            break
        first = leading(left)
        share = quotient(first, top)
        if share is None:
            rest, left = rest + first, left - first
        else:
            shares, left = shares + share, left - share * by
    is_part = left == ZERO and {*rest.terms} <= {*form.terms}
    return (shares, rest) if is_part else (ZERO, form)


# --- from a tree to text ----------------------------------------------------------------------


class _Writer:
    def __init__(self, order: Sequence[str], language: Language) -> None:
        self.order, self.language = _Order(order), language
        self.times = " " if language == "latex" else "*"

    def sum(self, terms: _Sum) -> str:
        texts = [self.term(*term) for term in terms]
        if texts and texts[0].startswith("-"):  # `13 - 3*d`, not `-3*d + 13`
            texts.sort(key=lambda text: text.startswith("-"))
        return " + ".join(texts).replace(" + -", " - ") or "0"

    def term(self, number: Number, powers: Monomial, sums: Sequence[_Sum]) -> str:
        several = len(powers) + len(sums) > 1 or abs(number) != 1
        factors = [
            self.brackets(text) if several and self.is_loose(*power) else text
            for power in powers
            for text in [self.power(*power)]
        ]
        factors += [self.brackets(self.sum(terms)) for terms in sums]
        sign = "-" if number < 0 else ""
        top, bottom = abs(number.numerator), number.denominator
        if top != 1 or not factors:
            factors.insert(0, self.number(top))
        product = self.product(factors)
        if bottom == 1:
            return sign + product
        if self.language == "latex":
            return f"{sign}\\frac{{{product}}}{{{bottom}}}"
        # A count is whole: the division leaves nothing over.
        return f"{sign}{product}{'//' if self.language == 'python' else '/'}{bottom}"

    def product(self, factors: Sequence[str]) -> str:
        """In LaTeX words would run together, and are kept apart by a dot."""
        if self.language != "latex":
            return self.times.join(factors)
        text = factors[0]
        for before, factor in pairwise(factors):
            is_word = any(part.startswith(r"\mathit") for part in (before, factor))
            text += (r" \cdot " if is_word else " ") + factor
        return text

    def is_loose(self, base: Generator, exponent: int) -> bool:
        """Whether it is written with `//`, which binds no closer than `*`."""
        if self.language == "latex" or exponent != 1 or isinstance(base, str):
            return False
        if base.is_rounded:
            return base.parts[1] != ONE and (base.kind == "floor" or self.language == "python")
        return base.kind in ("/", "*")

    def brackets(self, text: str) -> str:
        return f"\\left({text}\\right)" if self.language == "latex" else f"({text})"

    def number(self, number: int) -> str:
        if self.language == "latex":
            return f"{number:,}".replace(",", "{,}")
        return f"{number:_}" if number >= 10_000 else str(number)

    def power(self, base: Generator, exponent: int) -> str:
        latex = self.language == "latex"
        if isinstance(base, Operation) and base.levels is not None:
            levels = self.name(base.levels)
            return f"{2**exponent}^{{{levels}}}" if latex else f"{2**exponent}**{levels}"
        text = self.name(base) if isinstance(base, str) else self.operation(base)
        if exponent == 1:
            return text
        # `(a + b)//(2*c)` ends in a bracket, and has none around it.
        called = re.match(r"(\w+|math\.\w+)\(", text)
        if not isinstance(base, str) and not latex and not called:
            text = self.brackets(text)
        return f"{text}^{{{exponent}}}" if latex else f"{text}**{exponent}"

    def name(self, name: str) -> str:
        if self.language != "latex":
            return name
        name, *indices = re.findall(r"\w+", name)  # of `dims[1][0]`
        letter, _, index = name.partition("_")
        is_greek = letter in _GREEK
        if is_greek or (len(letter) == 1 and index):  # `d_model`, as papers write it
            name, index = f"\\{letter}" if is_greek else letter, index.replace("_", r"\_")
            if index:
                indices.insert(0, rf"\mathrm{{{index}}}" if index[1:] else index)
        elif len(name) > 1:
            name = r"\mathit{" + name.replace("_", r"\_") + "}"
        return name + (f"_{{{','.join(indices)}}}" if indices else "")

    def part(self, form: Polynomial, *, inside: bool = False) -> str:
        """Of an operation, the order of which matters where it is one of floats. `inside`: of
        brackets."""
        number = form.number
        if number is not None and number.denominator > 1:
            return repr(float(number))
        match form.terms:
            case ((((Operation() as operation, 1),), 1),):
                return self.operation(operation, inside=inside)
        is_whole = form.denominator == 1  # fractions are taken out as one
        return self.sum(_flat(form, self.order) if is_whole else _nested(form, self.order))

    def operation(self, operation: Operation, *, inside: bool = False) -> str:
        kind, latex, is_python = operation.kind, self.language == "latex", self.language == "python"
        if operation.is_rounded:
            return self.rounded(operation)
        parts = [self.part(part, inside=kind not in _INFIX) for part in operation.parts]
        if kind == "real":
            return parts[0]
        if kind == "if":
            test, value, other = parts
            return f"({value} if {test} else {other})"
        if kind == "/" and latex:
            return f"\\frac{{{parts[0]}}}{{{parts[1]}}}"
        if kind in _INFIX:
            plain = r"[\w.\[\]']+|\w*\([^()]*\)" + (r"|[\w.]+\*[\w.]+" if kind in "+-" else "")
            texts = [t if re.fullmatch(plain, t) else self.brackets(t) for t in parts]
            if kind == "**":
                return f"{texts[0]}^{{{parts[1]}}}" if latex else "**".join(texts)
            sign = {"*": self.times, "&": r" \mathbin{\&} "}.get(kind, kind) if latex else kind
            text = (sign if kind in "*/" else f" {sign} ").join(texts)
            return text if inside or kind in "*/" else self.brackets(text)
        if kind in ("bit_length", "bit_count") and not latex:
            return f"({parts[0]}).{kind}()"
        if kind in ("neg", "invert", "not"):
            sign = {"neg": "-", "invert": "~", "not": "not "}[kind]
            return sign + self.brackets(parts[0])
        if kind == "trunc" and not is_python and all(map(is_positive, operation.parts)):
            kind = "floor"
        if latex:
            if kind == "floor":
                return f"\\left\\lfloor {parts[0]} \\right\\rfloor"
            name = kind.replace("_", r"\_")
            name = rf"\{kind}" if kind in ("max", "min") else rf"\operatorname{{{name}}}"
            return name + self.brackets(", ".join(parts))
        if is_python and kind not in ("abs", "round", "max", "min"):
            kind = "int" if kind == "trunc" else f"math.{kind}"
        return f"{kind}({', '.join(parts)})"

    def rounded(self, operation: Operation) -> str:
        kind, is_python = operation.kind, self.language == "python"
        dividend, divisor = operation.parts
        is_whole = divisor == ONE
        top, bottom = self.part(dividend, inside=is_whole), self.part(divisor)
        if self.language == "latex":
            inside = top if is_whole else f"\\frac{{{top}}}{{{bottom}}}"
            return f"\\left\\l{kind} {inside} \\right\\r{kind}"
        if is_whole:
            return f"math.{kind}({top})" if is_python else f"{kind}({top})"
        if len(dividend.terms) > 1 or not all(isinstance(g, str) for g in dividend.generators):
            top = f"({top})"
        if not re.fullmatch(r"[\w.\[\]']+", bottom):
            bottom = f"({bottom})"
        if kind == "ceil":
            return f"-(-{top}//{bottom})" if is_python else f"ceil({top}/{bottom})"
        return f"{top}//{bottom}"
