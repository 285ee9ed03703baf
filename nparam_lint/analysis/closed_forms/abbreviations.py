"""Names for what stands in a form several times: a width that was rounded, stage after stage."""

from __future__ import annotations

from collections import Counter
from string import ascii_lowercase
from typing import TYPE_CHECKING

from nparam_lint.analysis.closed_forms.compiled_form import transformed
from nparam_lint.analysis.closed_forms.form_writer import expanded
from nparam_lint.analysis.closed_forms.polynomial import Generator, Operation, Polynomial

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

LONG = 24  # characters; what is shorter is read more easily where it stands


class Abbreviations:
    """`order`: the names of a form, then those given here; `names`: of operations, each after those
    that it is made of."""

    def __init__(self, form: Polynomial, order: Sequence[str]) -> None:
        counts = Counter(_operations(form))
        often = [one for one, number in counts.items() if number > 1]
        often.sort(key=lambda one: len(_text(one, order)))  # what is inside of another is shorter
        free = (letter for letter in ascii_lowercase if letter not in order)
        long = (one for one in often if len(_text(one, order)) > LONG)
        self.names = dict(zip(long, free, strict=False))
        self.order = [*order, *self.names.values()]

    def short(self, form: Polynomial) -> Polynomial:
        return transformed(form, self._of) if self.names else form

    def definitions(self) -> Iterable[tuple[str, str]]:
        """Each name, and what it stands for."""
        for one, name in self.names.items():
            yield name, expanded(self._inside(one), self.order)

    def _of(self, generator: Generator) -> Polynomial | None:
        if not isinstance(generator, Operation):
            return None
        name = self.names.get(generator)
        return self._inside(generator) if name is None else Polynomial.generator(name)

    def _inside(self, own: Operation) -> Polynomial:
        parts = self.short(own.left), self.short(own.right)
        return Polynomial.generator(Operation(own.kind, *parts))


def _operations(form: Polynomial) -> Iterable[Operation]:
    """Each as often as it is written when all terms are: those inside of others, too."""
    for monomial, _ in form.terms:
        for generator, _ in monomial:
            if isinstance(generator, Operation) and generator.kind != "**":
                yield generator
                yield from _operations(generator.left)
                yield from _operations(generator.right)


def _text(one: Operation, order: Sequence[str]) -> str:
    return expanded(Polynomial.generator(one), order)
