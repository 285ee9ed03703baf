"""Counts in the text of notebooks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from msgspec.structs import replace

from nparam_lint.discover.claims.stated import documents

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nparam_lint.discover.claims.stated import StatedCount


def stated_counts(path: str, text: str) -> Iterator[StatedCount]:
    """Those of its cells of Markdown, each at the line of the file on which its text begins."""
    try:
        cells = json.loads(text)["cells"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return
    lines, searched = text.split("\n"), 0
    for cell in cells if isinstance(cells, list) else ():
        if not isinstance(cell, dict) or cell.get("cell_type") != "markdown":
            continue
        source = cell.get("source", "")
        source = "".join(map(str, source)) if isinstance(source, list) else str(source)
        written = source.split("\n")
        for count in documents.stated_counts("cell.md", source):
            quoted = json.dumps(written[count.line - 1], ensure_ascii=False)[1:-1]
            escaped = json.dumps(written[count.line - 1])[1:-1]
            for number in range(searched, len(lines)):
                at = max(lines[number].find(quoted), lines[number].find(escaped))
                if at >= 0:
                    yield replace(count, line=number + 1, column=at + count.column)
                    searched = number
                    break
