"""The models of a check as cards on a page for the browser, and what of them does not hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nparam_lint.records import Measured
from nparam_lint.report import style
from nparam_lint.report.budget_outcomes import budgets_of, failing, rows_of, worst
from nparam_lint.report.html_parts import (
    LISTED,
    TONES,
    code_html,
    escape,
    finding_list,
    mark_html,
    more_html,
    table_html,
)
from nparam_lint.report.html_tree import module_tree
from nparam_lint.report.style import clean, plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nparam_lint.records import Finding, ModelReport, NotMeasured
    from nparam_lint.report.budget_outcomes import BudgetRow, JudgedBudget

_OPEN = 8  # models up to which all cards are open
_ROWS = 12_000  # of all module trees together: a browser must still open the page
_MOST, _LEAST = 300, 8  # of one
_COLUMNS = (("budget of", False), ("declared", False), ("actual", True), ("drift", True))


def failing_budgets(models: Sequence[ModelReport]) -> Iterator[str]:
    """What does not hold, with links to the models."""
    links = {id(model): f"#model-{number}" for number, model in enumerate(models, 1)}
    rows = failing(models)
    if rows:
        yield "<section><h2>What does not hold</h2>"
        shown = [
            _budget_row(row, f'<a href="{links[id(row.claim.model)]}">{name}</a>')
            for row in rows[:LISTED]
            for name in (code_html(row.name),)
        ]
        yield table_html(_COLUMNS, shown)
        yield f"{more_html(len(rows) - LISTED, 'budget')}</section>"


def _budget_row(row: BudgetRow, name: str) -> str:
    at = row.claim.results[0].position
    prose = "in prose, " if row.claim.prose else ""
    place = f'<span class="place">{prose}{escape(at.path)}:{at.line}</span>'
    drift = f"{escape(row.drift)}{_gauge(row)}"
    return (
        f'<tr role="row" class="{TONES[row.mark]}">'
        f'<th scope="row" role="rowheader">{mark_html(row.mark)} {name}</th>'
        f'<td role="cell" data-name="declared"><code>{escape(row.declared)}</code> {place}</td>'
        f'<td role="cell" data-name="actual" class="number">{escape(row.actual)}</td>'
        f'<td role="cell" data-name="drift" class="number drift">{drift}</td></tr>'
    )


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


def model_cards(models: Sequence[ModelReport], depth: int | None) -> Iterator[str]:
    if not models:
        return
    limit = max(_LEAST, min(_MOST, _ROWS // len(models)))
    yield f"<section><h2>{plural(len(models), 'model')}</h2>"
    for number, model in enumerate(models, 1):
        is_open = len(models) <= _OPEN or worst(model.findings) == "✗"
        yield _card(model, f"model-{number}", is_open, depth, limit)
    yield "</section>"


def _card(model: ModelReport, name: str, is_open: bool, depth: int | None, limit: int) -> str:
    found, claims = model.measurement, budgets_of(model)
    holds = any(claim.mark == "✓" for claim in claims)
    mark = worst(model.findings) or ("✓" if holds else "–")
    where, _, called = model.target.partition("::")
    at = model.position
    place = f"{at.path}:{at.line}" if at.path == where else f"{where}, {at.path}:{at.line}"
    total = "<small>not measured</small>"
    if isinstance(found, Measured):
        total = f"{found.counts.total:,}<small>parameters</small>"
    inside = "\n".join(part for part in _inside(model, claims, depth, limit) if part)
    return (
        f'<details class="card {TONES[mark]}" id="{name}"{" open" if is_open else ""}>\n<summary>'
        f'{mark_html(mark)}<span class="title"><b>{escape(called)}</b>'
        f'<span class="place">{escape(place)} · {_states(claims)}</span></span>'
        f'<span class="sum">{total}</span></summary>\n<div class="inside">{inside}</div>\n'
        "</details>"
    )


def _inside(
    model: ModelReport, claims: Sequence[JudgedBudget], depth: int | None, limit: int
) -> list[str]:
    found, own = model.measurement, clean(model.target)
    called = own.partition("::")[2]
    rows = [
        _budget_row(row, code_html(row.name.removeprefix(own).strip() or called))
        for claim in claims
        for row in rows_of(claim)
    ]
    budgets = table_html(_COLUMNS, rows) if rows else ""
    told = list(dict.fromkeys(finding for claim in claims for finding in claim.findings))
    if not isinstance(found, Measured):
        return [budgets, finding_list(told) if told else _absent(found)]
    tree = module_tree(found.modules, depth, limit)
    return [_facts(found), budgets, _advice(told), tree, _remarks(found)]


def _states(claims: Sequence[JudgedBudget]) -> str:
    """What has become of the budgets, in few words."""
    states = [claim.state for claim in claims if not claim.prose]
    if len(states) < 2:
        return f"budget {states[0]}" if states else "no budget"
    return f"{states.count('holds'):,} of {len(states):,} budgets hold"


def _advice(findings: Iterable[Finding]) -> str:
    """What to do. Not what is told with indented lines: the tree shows the heaviest modules."""
    told = [
        f'<p class="advice"><b>{escape(finding.code)}</b> {escape(line)}</p>'
        for finding in findings
        for line, after in zip(finding.detail, (*finding.detail[1:], ""), strict=False)
        if not (line.startswith(" ") or after.startswith(" "))
    ]
    return f"<div>{chr(10).join(told)}</div>" if told else ""


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
    told = "".join(f"<div><dt>{k}</dt><dd>{escape(v)}</dd></div>" for k, v in pairs if v != "0")
    return f'<dl class="facts">{told}</dl>'


def _remarks(found: Measured) -> str:
    """What no count includes, what other devices said, and notes."""
    told = [
        f"{hidden.path}: {hidden.count:,} parameters that parameters() does not return: "
        f"{hidden.what}{f' ({hidden.source})' if hidden.source else ''}"
        for hidden in found.hidden
    ]
    for name, device in found.devices.items():
        if not device.is_absent and (device.status != "measured" or device.differences):
            reasons = [*([device.reason] if device.reason else []), *device.differences]
            told.append(f"{name} {device.status}: {'; '.join(reasons)}")
    notes = "".join(f'<p class="note">{escape(text)}</p>' for text in [*told, *found.notes])
    return f"<div>{notes}</div>" if notes else ""


def _absent(found: NotMeasured) -> str:
    told = [found.reason, *([f"at {found.source}"] if found.source else [])]
    told += [found.hint] if found.hint else []
    return "".join(f"<p>{escape(text)}</p>" for text in told)
