"""The document of one model that was counted in Python: its totals and its modules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nparam_lint.report import Document, Page, Section
from nparam_lint.report.folded_modules import Modules
from nparam_lint.report.show_document import remarks, totals
from nparam_lint.report.style import clean

if TYPE_CHECKING:
    from collections.abc import Callable

    from nparam_lint.records import Measured
    from nparam_lint.report import Json, Options

_ROWS = 60


def counts_document(measured: Measured, data: Callable[[], Json]) -> Document:
    name = clean(measured.call)

    def page(options: Options) -> Page:
        limit, rows = options.rows or _ROWS, measured.modules
        modules = Modules(rows, options.depth, limit, measured.parameters, name, brief=True)
        blocks = (totals(measured),), (modules,), tuple(remarks(measured))
        first, *others = (Section(some, always=True) for some in blocks)
        headline = f"{name} · {measured.counts.total:,} parameters"
        return Page((Section(first.blocks, name, always=True), *others), headline=headline)

    return Document("count", data, page)
