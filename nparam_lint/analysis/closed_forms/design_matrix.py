"""Points, with the values of names and other generators there, computed once for all fits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nparam_lint.analysis.closed_forms.polynomial import evaluate

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from nparam_lint.analysis.closed_forms.polynomial import Generator, Values

PRIME = (1 << 61) - 1  # systems are solved modulo this; solutions are checked exactly


class DesignMatrix:
    """The points of a fit, and a column of residues for each generator."""

    def __init__(self, points: Sequence[Values]) -> None:
        self.points = points
        self._columns: dict[Generator, list[int] | None] = {}

    def column(self, generator: Generator) -> list[int] | None:
        """The residues of a generator at all points; None where it has no value at one of them."""
        if generator not in self._columns:
            try:
                column = [residue(evaluate(generator, point)) for point in self.points]
            except ZeroDivisionError:
                column = None
            self._columns[generator] = column
        return self._columns[generator]

    def line(self, name: str, names: Sequence[str]) -> list[int]:
        """The indices of points that differ from the first in one of the names alone, the first
        among them; one for each value."""
        start, others = self.points[0], [other for other in names if other != name]
        there = [i for i, p in enumerate(self.points) if all(p[o] == start[o] for o in others)]
        return list({self.points[i][name]: i for i in reversed(there)}.values())[::-1]

    def some(self, indices: Sequence[int]) -> DesignMatrix:
        """The same for some of the points."""
        return DesignMatrix([self.points[index] for index in indices])


def residue(number: Fraction) -> int:
    """A fraction modulo PRIME."""
    if number.denominator == 1:
        return number.numerator % PRIME
    return number.numerator * pow(number.denominator, -1, PRIME) % PRIME
