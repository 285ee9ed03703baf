"""One page for the browser that needs nothing else: its scripts are in it, and no request is made.
Without scripts it shows the same findings and tables, without pictures."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from nparam_lint.count.measured import Measured
from nparam_lint.gate.report import ModelReport
from nparam_lint.ground.findings import Finding
from nparam_lint.ground.version import __version__
from nparam_lint.report import Column, Facts, Parts, Row, Table, Text, style
from nparam_lint.report import html_parts as parts
from nparam_lint.report.budget_outcomes import (
    ModelBudgets,
    budgets_of,
    failing,
    rows_of,
    total_of,
    worst,
)
from nparam_lint.report.findings import excerpt, one_for, parts_of, ranked, shared_causes
from nparam_lint.report.folded_modules import Modules
from nparam_lint.report.formats.text import table_lines
from nparam_lint.report.html_parts import LISTED, TONES, code_html, mark_html, more_html
from nparam_lint.report.pictures import PageData
from nparam_lint.report.style import escape, plural

if TYPE_CHECKING:
    from nparam_lint.report import Block, Document, Options, Page, Section
    from nparam_lint.report.budget_outcomes import BudgetRow

_ROWS = 300
_OPEN = 3  # pictures of changes
_WAYS = 100  # models as they are built elsewhere
_MODULES = 60  # rows of the table that stands where there is no script
_OPEN_CARDS = 8  # models up to which all cards are open
_CARD_ROWS = 2_000  # of the tables of all models together, which stand where there is no script
_MOST, _LEAST = 40, 6  # of one
_COLUMNS = (("budget of", False), ("declared", False), ("actual", True), ("drift", True))
_CHANGES = (
    Column("change", "code"),
    Column("", "words"),
    Column("times", "number"),
    Column("parameters", "number"),
    Column("made at"),
)


def render(document: Document, options: Options) -> str:
    page = document.page(replace(options, rows=options.rows or _ROWS, quiet=False))
    before, after = page.around_findings if document.error is None else ([], [])
    if before and before[0].title == _headline(document, page)[0]:
        before[0] = replace(before[0], title="")
    blocks = [block for section in (*before, *after) for block in section.blocks]
    models = [b for b in blocks if isinstance(b, ModelBudgets) and not b.alone]
    reports = [model for block in models for model in block.models]
    shown = {f for model in reports for claim in budgets_of(model) for f in claim.findings}
    sections, data = [_header(document, page)], PageData(document.roles_of)
    groups = shared_causes(document.report.findings) if document.report and reports else []
    if groups:
        listed = parts.finding_list([*map(one_for, groups)])
        sections.append(f"<section><h2>One cause</h2>\n{listed}</section>")
    for block in models:
        sections += failing_budgets(_worst_first(block.models))
    sections += [_section(section, data) for section in before]
    findings = [f for f in ranked(document.report) if f not in shown] if document.report else []
    if findings:  # that no card tells
        listed = parts.finding_list(findings[:LISTED])
        more = more_html(len(findings) - LISTED, "finding")
        sections.append(f"<section><h2>Findings</h2>\n{listed}{more}</section>")
    sections += [_section(section, data) for section in after]
    ways = _ways(document, reports)
    sections += model_cards(
        ways[:_WAYS], options.depth, data, as_built=True, hidden=len(ways) - _WAYS
    )
    lines = [page.foot] if page.foot else [block.text for block in page.summary]
    foot = "".join(f"<p>{escape(line)}</p>" for line in (*lines, f"nparam-lint {__version__}"))
    sections.append(f"<footer>{foot}</footer>")
    title = f"{page.mark} {_name(document)}: {page.headline or document.command}".lstrip()
    return parts.whole_page(title, filter(None, sections), data)


def _worst_first(models: Iterable[ModelReport]) -> list[ModelReport]:
    """Those with errors first, then those with warnings."""
    ranks = {"✗": 0, "!": 1}
    return sorted(models, key=lambda model: ranks.get(worst(model.findings), 2))


def _ways(document: Document, shown: Sequence[ModelReport]) -> list[ModelReport]:
    """The models as the project builds them, as far as these differ from those shown; the largest
    first."""
    if document.command != "check" or document.report is None:
        return []
    models = {(model.target, total_of(model)): model for model in document.report.models}
    for model in shown:
        models.pop((model.target, total_of(model)), None)
    return sorted((m for m in models.values() if total_of(m)), key=lambda m: -(total_of(m) or 0))


def _name(document: Document) -> str:
    return "nparam-lint" + (f" {document.command}" if document.command != "check" else "")


def _header(document: Document, page: Page) -> str:
    first, *words = _headline(document, page)
    text = f"<p>{escape(' · '.join(words))}</p>" if words else ""
    if document.error is not None:
        text = parts.pre_html(document.error.splitlines())
    elif page.nothing:
        text = f"<p>{escape(page.nothing)}</p>"
    sign = "✗" if document.error is not None else page.mark
    return (
        f'<header class="verdict {TONES[sign or "–"]}">{mark_html(sign) if sign else ""}<div>'
        f'<p class="tool">{_name(document)}</p>'
        f"<h1>{escape(first)}</h1>{text}</div></header>"
    )


def _headline(document: Document, page: Page) -> list[str]:
    """Its parts; the first begins with a capital, unless it is a target."""
    first, *words = (page.headline or document.command).split(" · ")
    return [first if "::" in first else first[:1].upper() + first[1:], *words]


# --- sections -------------------------------------------------------------------------------------


def _section(section: Section, data: PageData) -> str:
    """Nothing where its blocks have nothing to say. The first pictures are open."""
    picture = parts.picture_html(section.picture, data) if section.picture else ""
    blocks = [picture, *(_block(block, data) for block in section.blocks)]
    inside = "\n".join(filter(None, blocks))
    if not inside and (section.blocks or not section.title):
        return ""
    if section.fold:
        title = f" {code_html(section.title)}" if section.title else ""
        head = f"<summary>{escape(section.fold)}{title}</summary>"
        state = " open" if picture and data.pictures <= _OPEN else ""
        return f"<section><details{state}>{head}{inside}</details></section>"
    if any(isinstance(block, ModelBudgets) and not block.alone for block in section.blocks):
        return inside
    title = f"<h2>{code_html(section.title)}</h2>\n" if section.title else ""
    return f"<section>{title}{inside}</section>"


def _block(block: Block, data: PageData) -> str:
    if isinstance(block, Text):
        words = escape(block.text) if block.kind == "words" else code_html(block.text)
        return f"<p>{words}</p>" if block.text else ""
    if isinstance(block, Parts):
        return f"<p>{escape(block.text)}</p>"
    if isinstance(block, Facts):
        pairs = []
        for fact in block.facts:
            words = escape(fact.text) if fact.kind == "words" else code_html(fact.text)
            below = "".join(_block(text, data) for text in fact.below)
            text = f"{words}{below}"
            if fact.count is not None:
                text = f'<b>{fact.count}</b><span class="dim">{words}</span>{below}'
            pairs.append((fact.name, text))
        return _definitions(pairs)
    if isinstance(block, Modules):
        return parts.model_picture(replace(block, limit=_MODULES), data)
    if isinstance(block, ModelBudgets) and not block.alone:
        return "".join(model_cards(_worst_first(block.models), block.depth, data))
    table = block if isinstance(block, Table) else block.table
    if not table.is_source:
        return parts.block_html(table)
    # As on a terminal of any width: source is read in columns, and scrolled.
    text = "\n".join(map(escape, table_lines(table, sys.maxsize)))
    return f'<pre tabindex="0" style="white-space: pre">{text}</pre>'


def _definitions(pairs: Iterable[tuple[str, str]]) -> str:
    """Names, each with what is said of it, in HTML."""
    rows = (f"<div><dt>{escape(name)}</dt><dd>{inside}</dd></div>" for name, inside in pairs)
    return f'<dl class="facts">{"".join(rows)}</dl>'


# --- the budgets of a check ---------------------------------------------------------------------


def failing_budgets(models: Sequence[ModelReport]) -> Iterator[str]:
    """What does not hold, with links to the models."""
    numbers = {id(model): number for number, model in enumerate(models, 1)}
    if rows := failing(models):
        links = (f'<a href="#model-{numbers[id(row.claim.model)]}">' for row in rows)
        names = (f"{link}{code_html(row.name)}</a>" for link, row in zip(links, rows, strict=True))
        yield "<section><h2>What does not hold</h2>"
        yield parts.table_html(_COLUMNS, list(map(_budget_row, rows[:LISTED], names)))
        yield f"{more_html(len(rows) - LISTED, 'budget')}</section>"


def _budget_row(row: BudgetRow, name: str) -> str:
    at = row.claim.results[0].position
    place = f'<span class="place">{escape(at.path)}:{at.line}</span>'
    cells = (
        ("", "", name),
        ("declared", "", f"{code_html(row.claim.declared)} {place}"),
        ("actual", "number", escape(row.actual)),
        ("drift", "number drift", f"{escape(row.drift)}{_gauge(row)}"),
    )
    return parts.row_html(row.mark, cells)


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
    models: Sequence[ModelReport],
    depth: int | None,
    data: PageData,
    *,
    as_built: bool = False,
    hidden: int = 0,
) -> Iterator[str]:
    """`as_built`: these are ways in which the project builds models. `hidden`: how many more there
    are."""
    if not models:
        return
    groups = shared_causes(finding for model in models for finding in model.findings)
    shared = {finding for group in groups for finding in group}
    limit = max(_LEAST, min(_MOST, _CARD_ROWS // len(models)))
    few = not as_built and sum(model.top_level for model in models) <= _OPEN_CARDS
    title = "As the project builds them" if as_built else plural(len(models), "model")
    yield f'<section><h2>{title}</h2>\n<div class="cards">'
    for number, model in enumerate(models, 1):
        measured, picture = model.measurement, ""
        if isinstance(measured, Measured):
            inside = Modules(measured, depth, limit, model.target)
            picture = parts.model_picture(inside, data)
        unshared = [finding for finding in model.findings if finding not in shared]
        is_open = (few and model.top_level) or worst(unshared) == "✗"
        anchor = f"{'way' if as_built else 'model'}-{number}"
        yield _card(model, anchor, is_open, picture, shared)
    yield f"</div>{more_html(hidden, 'model')}</section>"


def _card(
    model: ModelReport, anchor: str, is_open: bool, picture: str, shared: set[Finding]
) -> str:
    """`shared`: findings whose cause and next step stand above all cards."""
    measured, claims = model.measurement, budgets_of(model)
    mark = worst(model.findings) or ("✓" if any(claim.mark == "✓" for claim in claims) else "–")
    where, _, title = model.target.partition("::")
    at = model.position
    place = f"{at.path}:{at.line}" if at.path == where else f"{where}, {at.path}:{at.line}"
    states = [claim.state for claim in claims]
    state = f"budget {states[0]}" if states else "no budget"
    if model.way:
        state = f"as built in {model.way.position}"
    elif len(states) > 1:
        state = f"{states.count('holds'):,} of {len(states):,} budgets hold"
    target = model.target
    name = target.partition("::")[2]
    rows = [
        _budget_row(row, code_html(row.name.removeprefix(target).strip() or name))
        for claim in claims
        for row in rows_of(claim)
    ]
    findings = list(dict.fromkeys(finding for claim in claims for finding in claim.findings))
    findings = [finding for finding in findings if finding not in shared]
    budgets = parts.table_html(_COLUMNS, rows) if rows else ""
    if isinstance(measured, Measured):
        total = f"{measured.counts.total:,}<small>parameters</small>"
        count = f' data-count="{measured.counts.total}"'
        advice = (*map(_cause, findings), _advice(findings))
        inside = [_facts(measured), budgets, *advice, picture, _remarks(measured)]
    else:
        total, count = "<small>not measured</small>", ""
        texts = (measured.reason, f"at {measured.place}" if measured.place else "", measured.hint)
        reasons = "".join(f"<p>{escape(text)}</p>" for text in texts if text)
        inside = [budgets, parts.finding_list(findings) if findings else reasons]
    return (
        f'<details class="card {TONES[mark]}" id="{anchor}"{count}{" open" if is_open else ""}>'
        f"\n<summary>"
        f'{mark_html(mark)}<span class="title"><b>{escape(title)}</b>'
        f'<span class="place">{escape(place)} · {escape(state)}</span></span>'
        f'<span class="sum">{total}</span></summary>\n'
        f'<div class="inside">{chr(10).join(filter(None, inside))}</div>\n</details>'
    )


def _advice(findings: Iterable[Finding]) -> str:
    """The next steps. Details in indented lines are omitted: the tree shows the heaviest
    modules."""
    lines = [
        f'<p class="advice"><b>{escape(finding.code)}</b> {escape(part)}</p>'
        for finding in findings
        for part in parts_of(finding.detail, heaviest=True)
        if "\n" not in part
    ]
    return f"<div>{chr(10).join(lines)}</div>" if lines else ""


def _cause(finding: Finding) -> str:
    """The lines of source to look at, and what made the difference, where that is known."""
    lines = excerpt(finding.lines, finding.position.path)
    source = parts.pre_html(lines) if lines else ""
    if not finding.changes:
        return source
    rows = []
    for change in finding.changes:
        times = f"{change.times:,} ×" if change.times > 1 else ""
        delta = style.signed(change.delta)
        cells = (change.path, change.what, times, delta, change.source or "")
        rows.append(Row(cells, change.mark))
    table = parts.block_html(Table(_CHANGES, tuple(rows), noun="change"))
    return f"{source}<p>{escape(finding.since)}:</p>{table}"


def _facts(measured: Measured) -> str:
    pairs = []
    for metric, count in style.shown_metrics(measured):
        if metric.name == "bytes" and count is not None:
            pairs.append(("size", style.human_bytes(count)))
        elif metric.name != "total" and count is not None:
            pairs.append((metric.label, f"{count:,}"))
    pairs += [
        ("counted on", measured.rung + (", from the cache" if measured.cached else "")),
        ("built as", measured.call),
    ]
    return _definitions((name, escape(text)) for name, text in pairs if text != "0")


def _remarks(measured: Measured) -> str:
    """What no count includes, what other devices said, and notes."""
    remarks = [style.hidden_words(hidden) for hidden in measured.hidden]
    for name, device in measured.devices.items():
        if not device.is_absent and (device.status != "measured" or device.differences):
            reasons = "; ".join(filter(None, (device.reason, *device.differences)))
            remarks.append(f"{name} {device.status}: {reasons}")
    notes = parts.notes_html((*remarks, *measured.notes))
    return f"<div>{notes}</div>" if notes else ""
