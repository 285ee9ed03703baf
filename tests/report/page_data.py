"""The data of a page for the browser, read as its script reads it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


def data_in(page: str) -> dict[str, Any]:
    found = re.search('<script type="application/json" id="data">(.*?)</script>', page)
    assert found is not None
    return dict(json.loads(found[1]))


def rows_of(data: dict[str, Any], root: int) -> list[dict[str, Any]]:
    """The modules as JSON has them, as far as they are in the data."""
    strings, nodes = data["strings"], data["nodes"]
    new: list[int] = []
    for node in nodes:
        below = zip(node[4][1::3], node[4][2::3], strict=True)
        new.append(node[1] + sum(new[child] * times for child, times in below))

    def visit(number: int, path: str) -> Iterator[dict[str, Any]]:
        kind, own, source, _, children, *rest = nodes[number]
        more = rest[0] if rest else {}
        total = more.get("t", new[number])
        yield {
            "path": path,
            "type": strings[kind],
            "own": own,
            "total": total,
            "trainable": total - more.get("f", 0),
            "buffers": more.get("b", 0),
            "source": None if source is None else strings[source],
            "shared_with": more.get("s"),
            "tied": more.get("k", []),
        }
        flat = iter(children)
        for name, child, times in zip(flat, flat, flat, strict=True):
            for i in range(times):
                called = str(name + i if times > 1 else name)
                yield from visit(child, f"{path}.{called}" if path else called)

    return list(visit(root, ""))


def same_fields(modules: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of a report's modules, what the data of a page has of them."""
    kept = "path type own total trainable buffers source shared_with tied".split()
    return [{name: module[name] for name in kept} for module in modules]
