"""Forms that round: a share cut to a whole number, or rounded to a multiple."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, islice, permutations, product
from math import ceil, gcd
from typing import TYPE_CHECKING

from nparam_lint.analysis.closed_forms.polynomial import ONE, Polynomial, Rounded, rounded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nparam_lint.analysis.closed_forms.polynomial import DesignMatrix, Values

DIVISORS = (2, 3, 4, 8, 16, 32, 64, 5, 6, 10, 12, 128, 256)  # the usual ones first
PAIRS = 16  # pairs of rounded quotients that are tried


def multiple(
    points: Sequence[Values], observed: Sequence[Fraction], names: Sequence[str]
) -> Polynomial | None:
    """`unit * ceil(share * what / unit)` and its like: a share, rounded to a whole multiple of a
    unit, which is a number or a name. The share may be cut to a whole number before."""
    for unit in _units(observed, names):
        sizes = [unit.value(point) for point in points]
        if any(not s or (o / s).denominator > 1 for o, s in zip(observed, sizes, strict=True)):
            continue
        for top, bottom in _quotients([n for n in names if n not in unit.names]):
            try:
                amounts = [top.value(point) / bottom.value(point) for point in points]
            except ZeroDivisionError:
                continue
            if min(amounts) <= 0:
                continue
            for rounding in _REACH:
                for share in _shares(amounts, observed, sizes, rounding):
                    form = _rounded(
                        top * share.numerator, bottom * share.denominator, unit, rounding
                    )
                    if all(form.value(p) == o for p, o in zip(points, observed, strict=True)):
                        return form
    return None


def _units(observed: Sequence[Fraction], names: Sequence[str]) -> Iterator[Polynomial]:
    yield ONE
    common = gcd(*(o.numerator for o in observed if o.denominator == 1))
    if common > 1:
        yield Polynomial.constant(common)
    yield from map(Polynomial.generator, names)


def _quotients(names: Sequence[str]) -> Iterator[tuple[Polynomial, Polynomial]]:
    """A name, a product of two, or one over another."""
    plain = [Polynomial.generator(name) for name in names]
    yield from ((one, ONE) for one in plain)
    yield from ((one * other, ONE) for one, other in combinations(plain, 2))
    yield from permutations(plain, 2)


# From how far below a multiple to how far above it (in units, and in wholes) is rounded to it.
_HALF = Fraction(1, 2)
_REACH: dict[str, tuple[tuple[Fraction | int, int], tuple[Fraction | int, int]]] = {
    "down": ((0, 0), (1, 0)),
    "up": ((-1, 0), (0, 0)),
    "cut, then up": ((-1, 1), (0, 1)),
    "to the nearest": ((-_HALF, 0), (_HALF, 0)),
}


def _shares(
    amounts: Sequence[Fraction],
    observed: Sequence[Fraction],
    sizes: Sequence[Fraction],
    rounding: str,
) -> Iterator[Fraction]:
    """The simplest shares such that each amount times it, rounded to a multiple of the size, may be
    what was observed."""
    (below, less), (above, more) = _REACH[rounding]
    low, high = Fraction(0), Fraction(1 << 40)
    for amount, seen, unit in zip(amounts, observed, sizes, strict=True):
        low = max(low, (seen + below * unit + less) / amount)
        high = min(high, (seen + above * unit + more) / amount)
        if low > high:
            return
    yield from _simplest(low, high)


def _simplest(low: Fraction, high: Fraction) -> Iterator[Fraction]:
    """The two fractions with the smallest denominators between two others, ends included: one end
    may be excluded by the rounding."""
    found = 0
    for denominator in range(1, 65):
        numerator = ceil(low * denominator)
        for one in (numerator, numerator + 1):
            if one and one <= high * denominator:
                yield Fraction(one, denominator)
                found += 1
        if found >= 2:
            return


def _rounded(top: Polynomial, bottom: Polynomial, unit: Polynomial, rounding: str) -> Polynomial:
    """A quotient as a multiple of a unit."""
    whole = bottom * unit
    if rounding == "cut, then up" and bottom != ONE:
        top, whole = rounded(top, bottom), unit
    elif rounding == "to the nearest":
        top, whole = top * 2 + whole, whole * 2
    return rounded(top, whole, rounding in ("up", "cut, then up")) * unit


def quotients(matrix: DesignMatrix, names: Sequence[str]) -> Iterator[tuple[Rounded, ...]]:
    """Rounded quotients that a formula might be a polynomial in, one or two at a time."""
    generator = Polynomial.generator
    pairs = [(generator(one), generator(other)) for one, other in permutations(names, 2)]
    pairs += product(map(generator, names), map(Polynomial.constant, DIVISORS))
    atoms = [Rounded(*pair, up) for pair in pairs for up in (False, True)]
    for one, other in combinations(names, 2):
        if any(p[one].denominator > 1 or p[other].denominator > 1 for p in matrix.points):
            atoms.append(Rounded(generator(one) * generator(other), ONE))
    usable = [atom for atom in atoms if len(set(matrix.column(atom) or ())) > 1]
    yield from ((atom,) for atom in usable)
    # `(a//b)*(b//a)` is one where both are equal, else nothing.
    yield from (
        (a, b) for a, b in combinations(usable, 2) if (a.top, a.bottom) == (b.bottom, b.top)
    )
    yield from islice(combinations(usable, 2), PAIRS)
