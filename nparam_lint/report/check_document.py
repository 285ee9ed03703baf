"""What `check` says: verdicts, tables of what broke and of what is new, findings, a summary."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from nparam_lint.records import Measured, Report
from nparam_lint.report.budget_outcomes import (
    ModelBudgets,
    all_budgets,
    declared_budgets,
    is_empty,
    total_of,
    worst,
)
from nparam_lint.report.document import Document, Page, Parts, Section, Text
from nparam_lint.report.folded_modules import Modules
from nparam_lint.report.style import clean, plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nparam_lint.records import ModelReport, ModuleRow
    from nparam_lint.report.budget_outcomes import JudgedBudget, State
    from nparam_lint.report.document import Json, Options

_ROWS = 20
_TONES: dict[State, str] = {
    "holds": "green",
    "broken": "red",
    "not checked": "red",
    "ignored": "dim",
}


def check_document(report: Report) -> Document:
    def data() -> Json:
        from nparam_lint.report.check_data import data_of

        return data_of(report)

    return Document("check", report.version, data, lambda o: _page(report, o), report.error, report)


def failed_check(version: str, error: str) -> Document:
    """Where nothing could even be asked."""
    return check_document(Report(version, None, (), (), error=error))


def _page(report: Report, options: Options) -> Page:
    mark, words = _headline(report)
    summary = _summary(report, options)
    if not (report.models or report.skipped or report.findings or report.error):
        from nparam_lint.report.uncounted import nothing_found

        nothing = nothing_found(report, options)
        return Page((), mark, " · ".join(words), nothing, summary)
    sections = []
    if not report.error:
        shown = tuple(m for m in report.models if options.verbose or not is_empty(m))
        sections += [Section((ModelBudgets(shown, options.depth),)), *_tables(report, options)]
    counted = not (report.error or report.skipped or any(map(is_empty, report.models)))
    if not (counted and any(model.declared or model.budgets for model in report.models)):
        from nparam_lint.report.uncounted import uncounted_sections

        sections += uncounted_sections(report, options)
    return Page(tuple(sections), mark, " · ".join(words), "", summary)


def _headline(report: Report) -> tuple[str, list[str]]:
    """A mark and a few words, worst first: `✗`, `2 budgets broken`, `1 warning`. The mark is –
    where nothing is declared."""
    if report.error is not None:
        return "✗", ["nothing could be checked"]
    declared, told = declared_budgets(report)
    states = _states(declared)
    errors = [finding for finding in report.findings if finding.severity == "error"]
    others = sum(finding not in told for finding in errors)
    warnings = len(report.findings) - len(errors)
    parts = [
        states.get("broken"),
        states.get("not checked"),
        others and plural(others, "other error" if others < len(errors) else "error"),
        states.get("holds"),
        states.get("ignored"),
        warnings and plural(warnings, "warning"),
    ]
    words = [str(part) for part in parts if part]
    if not declared:
        words.append(_undeclared(report))
    mark = worst(report.findings) or ("✓" if declared or report.source_only else "–")
    return mark, words


def _states(budgets: Iterable[JudgedBudget]) -> dict[State, str]:
    """How many have come to what: `2 budgets broken`."""
    counts = Counter(budget.state for budget in budgets)
    return {
        state: f"{plural(n, 'budget')} {'hold' if state == 'holds' and n > 1 else state}"
        for state, n in counts.items()
    }


def _undeclared(report: Report) -> str:
    if report.source_only:
        return f"{plural(report.files, 'Python file')}, source only"
    if not report.models:
        return "nothing to check"
    counted = sum(isinstance(model.measurement, Measured) for model in report.models)
    return f"{plural(counted, 'model')} counted, no budget declared"


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
    others.sort(key=lambda model: -(total_of(model) or 0))
    left = others[max(options.tables, 0) :]
    hidden = {id(model) for model in left}  # to compare thousands of reports takes minutes
    yield from (_table(model, options) for model in models if id(model) not in hidden)
    if left and options.tables:
        more = f"… and {plural(len(left), 'more table')}: -v, or nparam-lint show TARGET"
        yield Section((Text(more, "dim", kind="verbatim"),), only="text")


def _is_broken(model: ModelReport) -> bool:
    return any(not budget.ok and budget.origin != "prose" for budget in model.budgets)


def _table(model: ModelReport, options: Options) -> Section:
    found = model.measurement
    assert isinstance(found, Measured)
    how = "" if found.rung == "meta" else f"counted on {found.rung}"
    block = Modules(found.modules, options.depth, options.rows or _ROWS)
    return Section((block,), clean(model.target), only="text", note=how)


# --- the summary: how many models and budgets, how long it took, and who counted ------------------


def _summary(report: Report, options: Options) -> tuple[Parts, ...]:
    budgets = [] if report.error else list(_budgets(report))
    parts = [("", _counted(report)), *budgets, *_findings(report, bool(budgets))]
    lines = [Parts((*parts, ("", f"{report.seconds:.1f} s")))]
    if options.quiet:
        return tuple(lines)
    silent = _silent(report)
    absent = sorted((name, reason) for name, _, reason, is_absent in silent if is_absent)
    if report.environment is not None:
        known = [f"{name} skipped ({reason})" for name, reason in absent]
        judged = ["judged: what is staged"] if report.staged else []
        about = [*_environment(report), *known, *judged]
        lines.append(Parts(tuple(("dim", clean(part)) for part in about), "dim"))
    for (name, status, reason, is_absent), count in silent.items():
        if report.environment is None or options.verbose or not is_absent:
            text = f"{name} {status} for {plural(count, 'model')}: {clean(reason)}"
            lines.append(Parts((("dim", text),)))
    return tuple(lines)


def _counted(report: Report) -> str:
    models = report.models
    if report.source_only:
        return f"{plural(report.files, 'Python file')}, source only"
    if report.error or not models:
        return "no model measured" if models or report.skipped else "0 models"
    measured = sum(isinstance(model.measurement, Measured) for model in models)
    cached = sum(model.measurement.cached for model in models)
    text = f"{plural(len(models), 'model')}: {measured:,} measured"
    if measured < len(models):
        text += f", {len(models) - measured:,} not measured"
    return text + (f" ({cached:,} from the cache)" if cached else "")


def _budgets(report: Report) -> Iterator[tuple[str, str]]:
    every = all_budgets(report)
    states = _states(claim for claim in every if not claim.prose)
    yield from ((tone, states[state]) for state, tone in _TONES.items() if state in states)
    if held := sum(claim.prose and claim.state == "holds" for claim in every):
        yield ("", f"{plural(held, 'claim')} in prose {'holds' if held == 1 else 'hold'}")


def _findings(report: Report, budgets: bool) -> Iterator[tuple[str, str]]:
    """Broken budgets have been counted as such."""
    found = [f for f in report.findings if not (budgets and f.code == "NPL001")]
    errors = sum(finding.severity == "error" for finding in found)
    other = len(found) < len(report.findings)
    if errors:
        yield ("red", plural(errors, "other error" if other else "error"))
    if len(found) > errors:
        yield ("yellow", plural(len(found) - errors, "warning"))


def _environment(report: Report) -> list[str]:
    where = report.environment
    assert where is not None
    python = f"{where.python} ({where.reason})" if where.reason else where.python
    torch = f"torch {where.torch}" if where.torch else "no torch"
    return [python, torch, *([", ".join(where.devices)] if where.devices else [])]


def _silent(report: Report) -> dict[tuple[str, str, str, bool], int]:
    """What a device did not say is said: it is no agreement. Where meta failed, CPU counted."""
    silent: dict[tuple[str, str, str, bool], int] = {}
    for model in report.models:
        for name, device in model.measurement.devices.items():
            asked = name != "meta" and isinstance(model.measurement, Measured)
            if device.status == "skipped" or (device.status == "failed" and asked):
                reason = device.reason or "no reason given"
                key = (name, device.status, reason, device.is_absent)
                silent[key] = silent.get(key, 0) + 1
    return silent
