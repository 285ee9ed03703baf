"""What a checkpoint says of itself: the index of its shards, the headers of safetensors files."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from typing import TYPE_CHECKING

from nparam_lint.discover.claims.stated import StatedCount
from nparam_lint.ground.notation import Selector
from nparam_lint.ground.notation.grammar import parse_value
from nparam_lint.ground.patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

_TOTAL = late_pattern(r'"(total_parameters)"\s*:\s*"?([0-9]+)"?')


def stated_counts(path: str, content: str | bytes) -> Iterator[StatedCount]:
    if isinstance(content, bytes):
        yield from _of_header(content)
        return
    weights: tuple[str, ...] = ()
    with suppress(ValueError, RecursionError, AttributeError):
        weights = tuple(json.loads(content).get("weight_map", {}))
    for match in _TOTAL.finditer(content):
        at = match.start(2)
        place = content.count("\n", 0, at) + 1, at - content.rfind("\n", 0, at)
        text = f"{match[1]}: {match[2]}"
        yield _count(text, int(match[2]), place, weights)


def _of_header(content: bytes) -> Iterator[StatedCount]:
    """The tensors of a safetensors file, which begins with the length of a header in JSON."""
    length = int.from_bytes(content[:8], "little")
    if len(content) < 8 or length > len(content) - 8:
        return
    with suppress(ValueError, RecursionError, AttributeError, TypeError, KeyError):
        header = json.loads(content[8 : 8 + length])
        shapes = {name: t["shape"] for name, t in header.items() if name != "__metadata__"}
        total = sum(math.prod(map(int, shape)) for shape in shapes.values())
        yield _count(f"{total:,} in {len(shapes)} tensors", total, (1, 1), tuple(shapes))


def _count(text: str, total: int, place: tuple[int, int], weights: tuple[str, ...]) -> StatedCount:
    value = parse_value(str(total))
    return StatedCount(text, (value,), Selector(), *place, in_file=True, weights=weights)
