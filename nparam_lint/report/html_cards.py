"""The models of a check as cards of a page for the browser: budgets, what changed, a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nparam_lint.records import Finding, Measured, ModelReport, NotMeasured
from nparam_lint.report import Column, Row, Table, style
from nparam_lint.report.budget_outcomes import budgets_of, failing, rows_of, worst
from nparam_lint.report.findings import excerpt
from nparam_lint.report.folded_modules import Modules
from nparam_lint.report.html_parts import (
    LISTED,
    TONES,
    block_html,
    code_html,
    finding_list,
    mark_html,
    model_picture,
    more_html,
    pre_html,
    row_html,
    table_html,
)
from nparam_lint.report.style import clean, escape, plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nparam_lint.report.budget_outcomes import BudgetRow, JudgedBudget
    from nparam_lint.report.pictures import PageData

_OPEN = 8  # models up to which all cards are open
_ROWS = 2_000  # of the tables of all models together, which stand where there is no script
_MOST, _LEAST = 40, 6  # of one
_COLUMNS = (("budget of", False), ("declared", False), ("actual", True), ("drift", True))
_CHANGES = (
    Column("change", "code"),
    Column("", "words"),
    Column("times", "number"),
    Column("parameters", "number"),
    Column("made at"),
)
_WIDTH = 100  # characters of a line of source


# --- the budgets of a check ---------------------------------------------------------------------


def failing_budgets(models: Sequence[ModelReport]) -> Iterator[str]:
    """What does not hold, with links to the models."""
    numbers = {id(model): number for number, model in enumerate(models, 1)}
    if rows := failing(models):
        links = (f'<a href="#model-{numbers[id(row.claim.model)]}">' for row in rows)
        names = (f"{link}{code_html(row.name)}</a>" for link, row in zip(links, rows, strict=True))
        yield "<section><h2>What does not hold</h2>"
        yield table_html(_COLUMNS, list(map(_budget_row, rows[:LISTED], names)))
        yield f"{more_html(len(rows) - LISTED, 'budget')}</section>"


def _budget_row(row: BudgetRow, name: str) -> str:
    at = row.claim.results[0].position
    prose = "in prose, " if row.claim.prose else ""
    place = f'<span class="place">{prose}{escape(at.path)}:{at.line}</span>'
    cells = (
        ("", "", name),
        ("declared", "", f"{code_html(row.claim.declared)} {place}"),
        ("actual", "number", escape(row.actual)),
        ("drift", "number drift", f"{escape(row.drift)}{_gauge(row)}"),
    )
    return row_html(row.mark, cells)


def _gauge(row: BudgetRow) -> str:
    """What is declared in grey and what is too much in colour; what is too little, hatched."""
    actual, value = row.result.actual, row.result.value
    if row.result.ok or not actual or not value:
        return ""
    share = 100 * min(actual, value) / max(actual, value)
    kind = ' class="gone"' if actual < value else ""
    return (
        f'<span class="gauge" aria-hidden="true"><i style="width:{share:.1f}%"></i>'
        f'<i{kind} style="width:{100 - share:.1f}%"></i></span>'
    )


# --- the models -------------------------------------------------------------------------------


def model_cards(
    models: Sequence[ModelReport], depth: int | None, data: PageData, *, as_built: bool = False
) -> Iterator[str]:
    """`as_built`: these are ways in which the project builds models."""
    if not models:
        return
    limit = max(_LEAST, min(_MOST, _ROWS // len(models)))
    few = not as_built and sum(model.top_level for model in models) <= _OPEN
    title = "As the project builds them" if as_built else plural(len(models), "model")
    yield f'<section><h2>{title}</h2>\n<div class="cards">'
    for number, model in enumerate(models, 1):
        found, picture = model.measurement, ""
        if isinstance(found, Measured):
            inside = Modules(found.modules, depth, limit, found.parameters)
            picture = model_picture(inside, clean(model.target), data)
        is_open = (few and model.top_level) or worst(model.findings) == "✗"
        yield _card(model, f"{'way' if as_built else 'model'}-{number}", is_open, picture)
    yield "</div></section>"


def _card(model: ModelReport, name: str, is_open: bool, picture: str) -> str:
    found, claims = model.measurement, budgets_of(model)
    holds = any(claim.mark == "✓" for claim in claims)
    mark = worst(model.findings) or ("✓" if holds else "–")
    where, _, called = model.target.partition("::")
    at = model.position
    place = f"{at.path}:{at.line}" if at.path == where else f"{where}, {at.path}:{at.line}"
    state = f"as built in {model.way.position}" if model.way else _states(claims)
    total, count = "<small>not measured</small>", ""
    if isinstance(found, Measured):
        total = f"{found.counts.total:,}<small>parameters</small>"
        count = f' data-count="{found.counts.total}"'
    inside = "\n".join(part for part in _inside(model, claims, picture) if part)
    return (
        f'<details class="card {TONES[mark]}" id="{name}"{count}{" open" if is_open else ""}>'
        f"\n<summary>"
        f'{mark_html(mark)}<span class="title"><b>{escape(called)}</b>'
        f'<span class="place">{escape(place)} · {escape(state)}</span></span>'
        f'<span class="sum">{total}</span></summary>\n<div class="inside">{inside}</div>\n'
        "</details>"
    )


def _inside(model: ModelReport, claims: Sequence[JudgedBudget], picture: str) -> list[str]:
    found, own = model.measurement, clean(model.target)
    called = own.partition("::")[2]
    rows = [
        _budget_row(row, code_html(row.name.removeprefix(own).strip() or called))
        for claim in claims
        for row in rows_of(claim)
    ]
    budgets = table_html(_COLUMNS, rows) if rows else ""
    findings = list(dict.fromkeys(finding for claim in claims for finding in claim.findings))
    if not isinstance(found, Measured):
        return [budgets, finding_list(findings) if findings else _absent(found)]
    causes = map(_cause, findings)
    return [_facts(found), budgets, *causes, _advice(findings), picture, _remarks(found)]


def _states(claims: Sequence[JudgedBudget]) -> str:
    """What has become of the budgets, in few words."""
    states = [claim.state for claim in claims if not claim.prose]
    if len(states) < 2:
        return f"budget {states[0]}" if states else "no budget"
    return f"{states.count('holds'):,} of {len(states):,} budgets hold"


def _advice(findings: Iterable[Finding]) -> str:
    """The next steps. Details in indented lines are omitted: the tree shows the heaviest
    modules."""
    lines = [
        f'<p class="advice"><b>{escape(finding.code)}</b> {escape(line)}</p>'
        for finding in findings
        for line, after in zip(finding.detail, (*finding.detail[1:], ""), strict=False)
        if not (line.startswith(" ") or after.startswith(" "))
    ]
    return f"<div>{chr(10).join(lines)}</div>" if lines else ""


def _cause(finding: Finding) -> str:
    """The lines of source to look at, and what made the difference, where that is known."""
    lines = excerpt(finding, _WIDTH, style.Paint(False))
    source = pre_html(lines) if lines else ""
    if not finding.changes:
        return source
    rows = []
    for one in finding.changes:
        times = f"{one.times:,} ×" if one.times > 1 else ""
        cells = (one.path, one.what, times, style.signed(one.delta), one.source or "")
        rows.append(Row(cells, one.mark))
    table = block_html(Table(_CHANGES, tuple(rows), noun="change"))
    return f"{source}<p>{escape(finding.since)}:</p>{table}"


def _facts(found: Measured) -> str:
    pairs = []
    for metric, count in style.shown_metrics(found):
        if metric.name == "bytes" and count is not None:
            pairs.append(("size", style.human_bytes(count)))
        elif metric.name != "total" and count is not None:
            pairs.append((metric.label, f"{count:,}"))
    pairs += [
        ("counted on", found.rung + (", from the cache" if found.cached else "")),
        ("built as", found.call),
    ]
    rows = "".join(f"<div><dt>{k}</dt><dd>{escape(v)}</dd></div>" for k, v in pairs if v != "0")
    return f'<dl class="facts">{rows}</dl>'


def _remarks(found: Measured) -> str:
    """What no count includes, what other devices said, and notes."""
    remarks = [style.hidden_words(hidden) for hidden in found.hidden]
    for name, device in found.devices.items():
        if not device.is_absent and (device.status != "measured" or device.differences):
            reasons = "; ".join(filter(None, (device.reason, *device.differences)))
            remarks.append(f"{name} {device.status}: {reasons}")
    notes = "".join(f'<p class="note">{escape(text)}</p>' for text in [*remarks, *found.notes])
    return f"<div>{notes}</div>" if notes else ""


def _absent(found: NotMeasured) -> str:
    texts = (found.reason, f"at {found.source}" if found.source else "", found.hint)
    return "".join(f"<p>{escape(text)}</p>" for text in texts if text)
