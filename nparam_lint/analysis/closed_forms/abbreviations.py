"""Names for what stands in a form several times: a width that was rounded, stage after stage."""

from __future__ import annotations

from collections import Counter
from string import ascii_lowercase
from typing import TYPE_CHECKING

from nparam_lint.analysis.closed_forms.compiled_form import transformed
from nparam_lint.analysis.closed_forms.form_writer import expanded
from nparam_lint.analysis.closed_forms.polynomial import Composed, Generator, Opaque, Polynomial

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

LONG = 28  # characters; what is shorter is read more easily where it stands


class Abbreviations:
    """`order`: the names of a form, then those given here; `names`: of operations, each after those
    that it is made of."""

    def __init__(self, form: Polynomial, order: Sequence[str]) -> None:
        self.uses: Counter[Composed] = Counter()
        self.count(form)
        texts = {
            one: expanded(Polynomial.generator(one), order)
            for one, number in self.uses.items()
            if number > 1
        }
        long = sorted((t for t in texts if len(texts[t]) > LONG), key=lambda one: len(texts[one]))
        free = (letter for letter in ascii_lowercase if letter not in order)
        self.names = dict(zip(long, free, strict=False))  # what is inside of another is shorter
        self.order = [*order, *self.names.values()]

    def count(self, part: Polynomial | Opaque) -> None:
        """How often each is used: in a term, or in one that is used."""
        if isinstance(part, Opaque):
            for own in part.parts:
                self.count(own)
            return
        for generator in (g for monomial, _ in part.terms for g, _ in monomial):
            if not isinstance(generator, str):
                self.uses[generator] += 1
                for own in generator.parts if self.uses[generator] == 1 else ():
                    self.count(own)

    def short(self, form: Polynomial) -> Polynomial:
        return transformed(form, self._of) if self.names else form

    def definitions(self) -> Iterable[tuple[str, str]]:
        """Each name, and what it stands for."""
        for one, name in self.names.items():
            yield name, expanded(Polynomial.generator(self._inside(one)), self.order)

    def _of(self, generator: Generator) -> Polynomial | None:
        if isinstance(generator, str):
            return None
        return Polynomial.generator(self.names.get(generator) or self._inside(generator))

    def _inside(self, own: Composed) -> Composed:
        return own.of_parts(
            self.short(p) if isinstance(p, Polynomial) else self._inside(p) for p in own.parts
        )
