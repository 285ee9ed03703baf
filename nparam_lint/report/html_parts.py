"""The parts of a page for the browser: marks, tables, findings; the models of a check as cards; and
where pictures of their modules are drawn."""

from __future__ import annotations

import html
import shlex
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from nparam_lint.records import Measured
from nparam_lint.report import style
from nparam_lint.report.budget_outcomes import budgets_of, worst
from nparam_lint.report.budget_rows import failing, rows_of
from nparam_lint.report.findings import details
from nparam_lint.report.folded_modules import Modules, make_tree
from nparam_lint.report.pictures import DrawnModel, Picture
from nparam_lint.report.style import clean, plural
from nparam_lint.rules.catalogue import RULES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nparam_lint.records import Finding, ModelReport, NotMeasured
    from nparam_lint.report.budget_outcomes import JudgedBudget
    from nparam_lint.report.budget_rows import BudgetRow
    from nparam_lint.report.folded_modules import TreeRow
    from nparam_lint.report.pictures import PageData

TONES = {"✓": "good", "✗": "bad", "!": "warn", "–": "none", "Δ": "none"}
_SAID = {"✓": "holds", "✗": "error", "!": "warning", "–": "no verdict", "Δ": "changed"}
LISTED = 1_000  # findings, or models that were not counted
_OPEN = 8  # models up to which all cards are open
_ROWS = 2_000  # of the tables of all models together, which stand where there is no script
_MOST, _LEAST = 40, 6  # of one
_BROWSER = Path(__file__).with_name("browser")
_SCRIPTS = ("modules", "icicle", "table", "explorer", "page")  # each builds on those before it
_MODULE_COLUMNS = ("module", "own", "total", "share", "made at")
_COLUMNS = (("budget of", False), ("declared", False), ("actual", True), ("drift", True))


def escape(text: str) -> str:
    return html.escape(clean(text))


def whole_page(title: str, sections: Iterable[str], data: PageData) -> str:
    """A browser lets the page run its own scripts alone, and ask nobody for anything."""
    scripts = _scripts() if data.pictures else []
    digests = (b64encode(sha256(script.encode()).digest()).decode() for script in scripts)
    made = {
        "title": escape(title),
        "style": _file("page.css"),
        "allowed": " ".join(f"'sha256-{digest}'" for digest in digests) or "'none'",
        "body": "\n".join(sections),
        "data": f'<script type="application/json" id="data">{data.json}</script>' * bool(scripts),
        "scripts": "\n".join(f"<script>{script}</script>" for script in scripts),
    }
    return _file("page.html").format(**made)


def _scripts() -> list[str]:
    library = f"/*!\n{_file('d3-hierarchy.LICENSE')}*/\n{_file('d3-hierarchy.min.js')}"
    own = "\n".join(_file(f"{name}.js") for name in _SCRIPTS)
    return [library, f'"use strict";\n{own}']


def _file(name: str) -> str:
    return (_BROWSER / name).read_text("utf-8")


def mark_html(mark: str) -> str:
    said = f'<span class="said">{_SAID[mark]}: </span>'
    return f'<span class="mark" aria-hidden="true">{mark}</span>{said}'


def code_html(text: str) -> str:
    return f"<code>{escape(text)}</code>"


def pre_html(lines: Sequence[str]) -> str:
    return f"<pre>{chr(10).join(map(escape, lines))}</pre>"


def table_html(columns: Sequence[tuple[str, bool]], rows: Sequence[str]) -> str:
    """`columns`: names, and whether numbers stand there. The roles are said once more, for a narrow
    page lays the rows out as blocks."""
    heads = "".join(
        f'<th scope="col" role="columnheader"{kind}>{escape(name)}</th>'
        for name, number in columns
        for kind in (' class="number"' if number else "",)
    )
    return (
        '<div class="table"><table role="table"><thead role="rowgroup"><tr role="row">'
        f'{heads}</tr></thead>\n<tbody role="rowgroup">\n' + "\n".join(rows)
        + "\n</tbody></table></div>"
    )  # fmt: skip


def row_html(mark: str, cells: Iterable[tuple[str, str, str]]) -> str:
    """`cells`: of each its name, its class, and what is in it."""
    (_, _, first), *others = cells
    sign = f"{mark_html(mark) if mark in TONES else mark} " if mark else ""
    tone = f' class="{TONES[mark]}"' if mark in TONES else ""
    made = [f'<th scope="row" role="rowheader">{sign}{first}</th>']
    for name, kind, inside in others:
        named = f' data-name="{escape(name)}"' if name or kind != "wide" else ""
        classes = f' class="{kind}"' if kind else ""
        made.append(f'<td role="cell"{named}{classes}>{inside}</td>')
    return f'<tr role="row"{tone}>{"".join(made)}</tr>'


def more_html(left: int, noun: str) -> str:
    return f'<p class="note">… and {plural(left, f"more {noun}")}</p>' if left > 0 else ""


def finding_list(findings: Sequence[Finding]) -> str:
    lines = []
    for finding in findings:
        at, rule, mark = finding.position, RULES.get(finding.code), worst([finding])
        name = f' <span class="dim">{escape(rule.name)}</span>' if rule else ""
        detail = details(finding) or ([rule.remedy] if rule else [])
        lines.append(
            f'<li class="{TONES[mark]}">{mark_html(mark)}<div>'
            f"<p><b>{escape(finding.code)}</b>{name} "
            f"{code_html(f'{at.path}:{at.line}:{at.column}')}</p>"
            f"<p>{escape(finding.message)}</p>{pre_html(detail) if detail else ''}</div></li>"
        )
    return f'<ul class="findings">\n{chr(10).join(lines)}\n</ul>'


# --- the budgets of a check ---------------------------------------------------------------------


def failing_budgets(models: Sequence[ModelReport]) -> Iterator[str]:
    """What does not hold, with links to the models."""
    links = {id(model): f"#model-{number}" for number, model in enumerate(models, 1)}
    if rows := failing(models):
        yield "<section><h2>What does not hold</h2>"
        yield table_html(
            _COLUMNS,
            [
                _budget_row(
                    row, f'<a href="{links[id(row.claim.model)]}">{code_html(row.name)}</a>'
                )
                for row in rows[:LISTED]
            ],
        )
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
    return [_facts(found), budgets, _advice(findings), picture, _remarks(found)]


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


# --- their modules -------------------------------------------------------------------------------


def model_picture(block: Modules, name: str, data: PageData) -> str:
    """Where a picture is drawn: until then, and without a script, a table stands there. Nothing
    where the total is all that there is to say."""
    table = module_table(block, name)
    side = DrawnModel(name, block.modules, block.parameters)
    return table and picture_html(Picture((side,)), data, table)


def picture_html(picture: Picture, data: PageData, instead: str = "") -> str:
    """`instead`: what stands in its place without a script."""
    return f'<div class="picture" data-picture="{data.add(picture)}">{instead}</div>'


def module_table(block: Modules, name: str) -> str:
    """In at most `limit` rows."""
    tree = make_tree(block.modules, block.depth, block.limit)
    if len(tree.rows) < 2:
        return ""
    rows = tree.rows[: block.limit]
    heads = "".join(f'<th scope="col">{head}</th>' for head in _MODULE_COLUMNS)
    note = tree.note(len(rows), f"deeper: nparam-lint show {shlex.quote(name)}")
    return (
        f'<div class="modules"><table><thead><tr>{heads}</tr></thead>\n<tbody>\n'
        + "\n".join(_module_row(row, rows[0].module.total) for row in rows)
        + f'\n</tbody></table>{f"""<p class="note">{escape(note)}</p>""" if note else ""}</div>'
    )


def _module_row(row: TreeRow, whole: int) -> str:
    module = row.module
    chips = "".join(f' <span class="chip">{escape(m)}</span>' for m in _chips(row))
    times = f"{row.times:,} × " if row.times > 1 else ""
    cells = (
        f"{module.own:,}" if module.own else "",
        times + row.total,
        style.share(row.times * row.new, whole),
        escape(module.source or ""),
    )
    level = f' style="--level:{row.level}"' if row.level else ""
    name = f'{code_html(row.label)} <span class="type">{escape(module.type)}</span>{chips}'
    rest = "".join(f"<td>{cell}</td>" for cell in cells)
    return f'<tr><th scope="row"{level}>{name}</th>{rest}</tr>'


def _chips(row: TreeRow) -> Iterator[str]:
    for mark in row.marks:
        if mark == "tied" and row.module.tied and row.times == 1:
            yield f"tied: {', '.join(row.module.tied)}"
        elif mark == "shared":
            yield f"shared with {row.module.shared_with or '(total)'}"
        else:
            yield mark
