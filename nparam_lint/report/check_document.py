"""What `check` says: verdicts, tables of what broke and of what is new, findings, a summary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nparam_lint.records import Measured, Report
from nparam_lint.report.budget_outcomes import headline
from nparam_lint.report.document import Document, ModelBudgets, Modules, Page, Section, Text
from nparam_lint.report.style import clean, plural
from nparam_lint.report.summary import summary_of
from nparam_lint.report.uncounted import (
    is_empty,
    listed,
    next_step,
    nothing_found,
    uncounted_blocks,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nparam_lint.records import ModelReport, ModuleRow
    from nparam_lint.report.document import Json, Options

_ROWS = 20


def check_document(report: Report) -> Document:
    def data() -> Json:
        from nparam_lint.report.check_data import data_of

        return data_of(report)

    return Document("check", report.version, data, lambda o: _page(report, o), report.error, report)


def failed_check(version: str, error: str) -> Document:
    """Where nothing could even be asked."""
    return check_document(Report(version, None, (), (), error=error))


def _page(report: Report, options: Options) -> Page:
    mark, words = headline(report)
    summary = summary_of(report, options)
    if not (report.models or report.skipped or report.findings or report.error):
        nothing = nothing_found(report, options)
        return Page((), mark, " · ".join(words), nothing, summary)
    sections = []
    if not report.error:
        shown = tuple(m for m in report.models if options.verbose or not is_empty(m))
        sections += [Section((ModelBudgets(shown, options.depth),)), *_tables(report, options)]
    sections.append(Section(uncounted_blocks(report, options), only="text"))
    if report.skipped:
        count = plural(len(report.skipped), "model")
        sections.append(
            Section((listed(report.skipped),), only="page", fold=f"Not counted: {count}")
        )
    sections.append(Section(next_step(report), closing=True, only="text"))
    return Page(tuple(sections), mark, " · ".join(words), "", summary)


def _tables(report: Report, options: Options) -> Iterator[Section]:
    """Of every model with a broken budget, and of the largest that stand for themselves."""
    tables: dict[tuple[ModuleRow, ...], ModelReport] = {}
    seen: set[str] = set()
    for model in report.models:  # one table for what is the same, one for the variants of a model
        found = model.measurement
        if isinstance(found, Measured) and sum(row.total > 0 for row in found.modules) > 1:
            name = model.target.partition("(")[0]
            broken = _is_broken(model)
            if broken or (model.top_level and name not in seen and found.modules not in tables):
                tables.setdefault(found.modules, model)
                seen.add(name)
    models = list(tables.values())
    others = [model for model in models if not _is_broken(model)]
    others.sort(key=lambda model: -_total(model))
    left = others[max(options.tables, 0) :]
    hidden = {id(model) for model in left}  # to compare thousands of reports takes minutes
    yield from (_table(model, options) for model in models if id(model) not in hidden)
    if left and options.tables:
        more = f"… and {plural(len(left), 'more table')}: -v, or nparam-lint show TARGET"
        yield Section((Text(more, "dim", kind="verbatim"),), only="text")


def _total(model: ModelReport) -> int:
    return model.measurement.counts.total if isinstance(model.measurement, Measured) else 0


def _is_broken(model: ModelReport) -> bool:
    return any(not budget.ok and budget.origin != "prose" for budget in model.budgets)


def _table(model: ModelReport, options: Options) -> Section:
    found = model.measurement
    assert isinstance(found, Measured)
    how = "" if found.rung == "meta" else f"counted on {found.rung}"
    block = Modules(found.modules, options.depth, options.rows or _ROWS)
    return Section((block,), clean(model.target), only="text", note=how)
