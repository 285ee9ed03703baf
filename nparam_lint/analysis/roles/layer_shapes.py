"""What the Linear layers of one block are for, from their shapes alone: those that widen and narrow
again, and those of queries, keys, values and their output. Names may be anything.

Weights have the shape (out, in). Layers stand in the order in which they were made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence, Set

Shape = tuple[int, ...]
ShapeRole = Literal["attention", "feed-forward"]
_UPS = 2  # layers of a feed-forward that widen: with a gate, both have one shape
_WINDOW = 4  # queries, keys, values, output


def shape_roles(
    layers: Mapping[str, Shape], attention: Set[Shape], *, beside_feed_forward: bool = False
) -> dict[str, ShapeRole]:
    """The roles of the Linear layers of one block. `layers`: name → shape of those that nothing
    else decides; `attention`: shapes of others in it that are known to attend, as are `layers`
    then. Four projections are those of an attention only where a feed-forward stands beside them: a
    recurrent cell has such gates, too."""
    roles: dict[str, ShapeRole] = {}
    roles |= dict.fromkeys(_fused(layers), "attention")
    # The output, where the projections are known by other means, gives back their width.
    widths = {width for _, width in attention}
    inner = {out // parts for out, _ in attention for parts in (1, 3) if out % parts == 0}
    outputs = [name for name, (out, width) in layers.items() if out in widths and width in inner]
    if len(outputs) == 1:
        roles[outputs[0]] = "attention"
    free = {name: shape for name, shape in layers.items() if name not in roles}
    projections = _projections(free)
    forward = _feed_forward({n: shape for n, shape in free.items() if n not in projections})
    if projections and (forward or beside_feed_forward):
        roles |= dict.fromkeys(projections, "attention")
    else:
        forward = _feed_forward(free)
    return roles | dict.fromkeys(forward, "feed-forward")


def _fused(layers: Mapping[str, Shape]) -> Sequence[str]:
    """Queries, keys and values in one layer, and the output: 3d × d and d × d."""
    for name, (out, width) in layers.items():
        outputs = [output for output, shape in layers.items() if shape == (width, width)]
        if out == 3 * width and len(outputs) == 1:
            return name, *outputs
    return ()


def _projections(layers: Mapping[str, Shape]) -> Sequence[str]:
    """Four layers after each other: a × d, twice e × d with e ≤ a, and d × a."""
    names, shapes = [*layers], [*layers.values()]
    for start in range(len(names) - _WINDOW + 1):
        query, key, value, output = shapes[start : start + _WINDOW]
        same = key == value and key[1] == query[1] and query[0] % key[0] == 0
        if same and output == query[::-1]:
            return names[start : start + _WINDOW]
    return ()


def _feed_forward(layers: Mapping[str, Shape]) -> Sequence[str]:
    """One layer or two of a shape that widens, and one after them that narrows again."""
    names = [*layers]
    forward: list[str] = []
    for place, name in enumerate(names):
        out, width = layers[name]
        ups = [before for before in names[:place] if layers[before] == (width, out)]
        if out < width and 1 <= len(ups) <= _UPS and not set(ups) & set(forward):
            forward += [*ups, name]
    return forward
