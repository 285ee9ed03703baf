"""What published models keep to. It is asked of the unknowns too, where the call itself keeps to it
and nothing else was said about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nparam_lint.analysis.closed_forms.polynomial import Polynomial
from nparam_lint.claims.expression import Formula, parse_formula

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from nparam_lint.analysis.closed_forms.form_records import ClosedForm, ShapeForm

# Widths are multiples of 64, which tensor cores multiply best; those of small models of 8. No step
# is more than a quarter of the width. What the call's width is a multiple of → words, condition.
STEPS = {
    64: (
        "multiples of 64 (below 256 of 8, below 32 any)",
        "({0} % 64 == 0 or {0} < 256) and ({0} % 8 == 0 or {0} < 32)",
    ),
    8: ("multiples of 8 (below 32 any)", "{0} % 8 == 0 or {0} < 32"),
}
# Width by number of layers: ViT-Ti has 192/12, ViT-H 1280/32, GPT-2 768/12 to 1600/48, BERT 768/12
# and 1024/24, GPT-3 12288/96, Llama 4096/32 to 16384/126, PaLM 18432/118.
WIDTH_BY_DEPTH = 16, 160
# Hidden units by width: T5 has 1024/512, Llama 11008/4096 and 14336/4096, GPT, BERT and ViT 4,
# Gemma 16384/2048.
HIDDEN_BY_WIDTH = 2, 8


@dataclass(frozen=True, slots=True)
class Convention:
    words: str
    conditions: tuple[Formula, ...]


def conventions(form: ClosedForm, call: Mapping[str, int]) -> Iterator[Convention]:
    """Those that a call keeps to, about the arguments that are in it."""
    roles = _Roles(form.shapes)
    widths = [name for name in call if name in roles.widths]
    for step, (words, text) in STEPS.items():
        own = [name for name in widths if call[name] % step == 0]
        widths = [name for name in widths if name not in own]
        if own:
            conditions = (parse_formula(text.format(name)) for name in own)
            yield Convention(f"{', '.join(own)} in {words}", tuple(conditions))
    for (low, high), pairs in (
        (WIDTH_BY_DEPTH, roles.streams_and_depths()),
        (HIDDEN_BY_WIDTH, roles.hidden_and_streams()),
    ):
        for name, other in sorted(pair for pair in pairs if {*pair} <= call.keys()):
            condition = parse_formula(f"{low}*{other} <= {name} <= {high}*{other}")
            if condition.evaluate(call):
                yield Convention(f"{name}/{other} from {low} to {high}", (condition,))


class _Roles:
    """What arguments are, by where they stand in the shapes of parameters. `widths`: lengths of
    what goes into a layer and comes out of another one, so not sizes of vocabularies; `partners`:
    what they come from or go to; `streams`: widths that are normed, or have a bias."""

    def __init__(self, shapes: Sequence[ShapeForm]) -> None:
        lengths = [[*map(_factor, s.shape or ())] for s in shapes]
        self.widths = {a[0] for a in lengths if a} & {name for a in lengths for name in a[1:]}
        self.partners = {
            name: {a[1 - a.index(name)] for a in lengths if name in a[:2] and a[1:]}
            for name in self.widths
        }
        self.layers = [(s.shape, _added(s.number)) for s in shapes]
        self.streams = {n for n in self.widths if len(self.partners[n]) > 1}

    def streams_and_depths(self) -> set[tuple[str, str]]:
        """With the numbers of layers that have a norm or a bias of that width: not those of LSTMs,
        whose published widths are larger, and not of experts."""
        return {
            (stream, depth)
            for stream in self.streams
            for shape, depths in self.layers
            if shape == (Polynomial.generator(stream),)
            for depth in depths - self.widths
        }

    def hidden_and_streams(self) -> set[tuple[str, str]]:
        """With the widths that nothing else goes to, or comes from."""
        return {
            (hidden, stream)
            for hidden in self.widths
            for stream in self.streams
            if self.partners[hidden] == {stream}
        }


def _factor(length: Polynomial) -> str:
    """What a length is a multiple of: an argument, or a text that is none."""
    factors = length.factors
    return repr(length) if factors is None else "*".join(factors[1])


def _added(number: Polynomial) -> set[str]:
    """The arguments that a number grows with, whatever the others are."""
    return {m[0][0] for m, _ in number.terms if len(m) == 1 and isinstance(m[0][0], str)}
