"""The metrics: one row each says what is counted, in what unit, and what reports say of it.

The front end reads this table too: no torch here, nothing but the standard library. A metric is the
sum of what each distinct parameter and buffer adds to it; a module has the sum of those at or below
it, one that is shared once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Callable, NamedTuple, Optional

_size, _bytes = attrgetter("size"), attrgetter("bytes")


def _nothing(part):
    return 0


@dataclass(frozen=True)
class Metric:
    """`name`: in selectors, such as `nparam[trainable]`, and in JSON. `unit`: "parameters", "buffer
    elements" or "bytes". `note`: what a report says beside the number. `parameter`, `buffer`: what
    a `Part` of the model adds, a whole number or a fraction; `finish`: from a sum of
    fractions to a whole number. `needs_routing`: unknown where nothing says how many experts of a
    mixture a token uses."""

    name: str
    unit: str
    note: str
    parameter: Callable = _nothing
    buffer: Callable = _nothing
    finish: Optional[Callable] = None
    needs_routing: bool = False

    @property
    def label(self):
        """What a report calls it."""
        return "parameters" if self.name == "total" else self.name.replace("_", "-")

    @property
    def words(self):
        """What a sentence says after the number."""
        is_whole = self.name == "total" or self.unit != "parameters"
        return self.unit if is_whole else f"{self.label} {self.unit}"


class Part(NamedTuple):
    """One distinct parameter or buffer of a model, or many that are alike. `name`: in the module
    that holds it first; `size`: its elements; `element_size`: bytes of one; `idle`: the share of it
    that one token does not use."""

    name: str
    size: int
    element_size: int
    is_trainable: bool
    is_embedding: bool
    idle: Any

    @property
    def bytes(self):
        return self.size * self.element_size


# Those that `records.Counts` has fields for, since code speaks of them; others are told by name.
WITH_FIELDS = ("total", "trainable", "frozen", "buffers", "bytes", "non_embedding", "active")
METRICS = {
    metric.name: metric
    for metric in (
        Metric("total", "parameters", "", _size),
        Metric("trainable", "parameters", "", lambda p: p.size if p.is_trainable else 0),
        Metric("frozen", "parameters", "", lambda p: 0 if p.is_trainable else p.size),
        Metric("buffers", "buffer elements", "", buffer=_size),
        Metric("bytes", "bytes", "parameters and buffers", _bytes, _bytes),
        Metric(
            "non_embedding",
            "parameters",
            "without nn.Embedding modules",
            lambda p: 0 if p.is_embedding else p.size,
        ),
        Metric(
            "active",
            "parameters",
            "used for one token",
            lambda p: p.size - p.size * p.idle,
            finish=math.ceil,
            needs_routing=True,
        ),
    )
}
