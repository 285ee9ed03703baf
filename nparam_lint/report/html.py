"""One page for the browser that needs nothing else: no script, no font, no network."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from nparam_lint.records import Measured
from nparam_lint.report import style
from nparam_lint.report.claims import claims_of, failing, headline, rows_of, worst
from nparam_lint.report.forge import ranked
from nparam_lint.report.html_style import STYLE
from nparam_lint.report.html_tree import escape, module_tree
from nparam_lint.report.style import NO_CUDA, Paint, clean, plural
from nparam_lint.report.summary import summary_lines
from nparam_lint.report.uncounted import is_empty, nothing_found
from nparam_lint.rules.catalogue import RULES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nparam_lint.records import Finding, ModelReport, NotMeasured, Report
    from nparam_lint.report import Options
    from nparam_lint.report.claims import Claim, Row

_TONES = {"✓": "good", "✗": "bad", "!": "warn", "–": "none"}
_SAID = {"✓": "holds", "✗": "error", "!": "warning", "–": "no verdict"}
_OPEN = 8  # models up to which all cards are open
_ROWS = 12_000  # of all module trees together: a browser must still open the page
_MOST, _LEAST = 300, 8  # of one
_LISTED = 1_000  # findings, or models that were not counted

_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
{body}
</body>
</html>
"""


def render(report: Report, options: Options) -> str:
    mark, words = headline(report)
    models = [] if report.error is not None else [m for m in report.models if not is_empty(m)]
    told = {f for model in models for claim in claims_of(model) for f in claim.findings}
    sections = [
        _verdict(report, options),
        *_failing(models),
        *_findings([finding for finding in ranked(report) if finding not in told]),
        *_models(models, options),
        *_uncounted(report.skipped),
        _foot(report, options),
    ]
    title = escape(f"{mark} nparam-lint: {' · '.join(words)}")
    return _PAGE.format(title=title, style=STYLE, body="\n".join(sections))


# --- the top ----------------------------------------------------------------------------------


def _verdict(report: Report, options: Options) -> str:
    mark, (first, *words) = headline(report)
    told = f"<p>{escape(' · '.join(words))}</p>" if words else ""
    if report.error is not None:
        told = _pre(report.error.splitlines())
    elif not (report.models or report.skipped or report.findings):
        told = f"<p>{escape(' '.join(nothing_found(report, options)))}</p>"
    return (
        f'<header class="verdict {_TONES[mark]}">{_mark(mark)}<div><p class="tool">nparam-lint</p>'
        f"<h1>{escape(first[:1].upper() + first[1:])}</h1>{told}</div></header>"
    )


def _mark(mark: str) -> str:
    said = f'<span class="said">{_SAID[mark]}: </span>'
    return f'<span class="mark" aria-hidden="true">{mark}</span>{said}'


def _code(text: str) -> str:
    return f"<code>{escape(text)}</code>"


def _pre(lines: Sequence[str]) -> str:
    return f"<pre>{chr(10).join(map(escape, lines))}</pre>"


def _failing(models: Sequence[ModelReport]) -> Iterator[str]:
    """What does not hold, with links to the models."""
    links = {id(model): f"#model-{number}" for number, model in enumerate(models, 1)}
    rows = failing(models)
    if rows:
        yield "<section><h2>What does not hold</h2>"
        yield _table(
            [
                _budget_row(row, f'<a href="{links[id(row.claim.model)]}">{_code(row.name)}</a>')
                for row in rows[:_LISTED]
            ]
        )
        yield f"{_more(len(rows) - _LISTED, 'budget')}</section>"


def _table(rows: Sequence[str]) -> str:
    """The roles are said once more, for a narrow page lays the rows out as blocks."""
    return (
        '<div class="table"><table role="table"><thead role="rowgroup"><tr role="row">'
        '<th scope="col" role="columnheader">budget of</th>'
        '<th scope="col" role="columnheader">declared</th>'
        '<th scope="col" role="columnheader" class="number">actual</th>'
        '<th scope="col" role="columnheader" class="number">drift</th>'
        '</tr></thead>\n<tbody role="rowgroup">\n' + "\n".join(rows) + "\n</tbody></table></div>"
    )


def _budget_row(row: Row, name: str) -> str:
    at = row.claim.results[0].position
    prose = "in prose, " if row.claim.prose else ""
    place = f'<span class="place">{prose}{escape(at.path)}:{at.line}</span>'
    drift = f"{escape(row.drift)}{_gauge(row)}"
    return (
        f'<tr role="row" class="{_TONES[row.mark]}">'
        f'<th scope="row" role="rowheader">{_mark(row.mark)} {name}</th>'
        f'<td role="cell" data-name="declared"><code>{escape(row.declared)}</code> {place}</td>'
        f'<td role="cell" data-name="actual" class="number">{escape(row.actual)}</td>'
        f'<td role="cell" data-name="drift" class="number drift">{drift}</td></tr>'
    )


def _gauge(row: Row) -> str:
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


def _more(left: int, noun: str) -> str:
    return f'<p class="note">… and {plural(left, f"more {noun}")}</p>' if left > 0 else ""


def _findings(findings: Sequence[Finding]) -> Iterator[str]:
    """Those that are about no budget that was measured."""
    if findings:
        yield f"<section><h2>Findings</h2>\n{_list(findings[:_LISTED])}"
        yield f"{_more(len(findings) - _LISTED, 'finding')}</section>"


def _list(findings: Sequence[Finding]) -> str:
    lines = []
    for finding in findings:
        at, rule, mark = finding.position, RULES.get(finding.code), worst([finding])
        name = f' <span class="dim">{escape(rule.name)}</span>' if rule else ""
        detail = finding.detail or ([rule.remedy] if rule else [])
        lines.append(
            f'<li class="{_TONES[mark]}">{_mark(mark)}<div><p><b>{escape(finding.code)}</b>{name} '
            f"{_code(f'{at.path}:{at.line}:{at.column}')}</p>"
            f"<p>{escape(finding.message)}</p>{_pre(detail) if detail else ''}</div></li>"
        )
    return f'<ul class="findings">\n{chr(10).join(lines)}\n</ul>'


# --- the models -------------------------------------------------------------------------------


def _models(models: Sequence[ModelReport], options: Options) -> Iterator[str]:
    if not models:
        return
    limit = max(_LEAST, min(_MOST, _ROWS // len(models)))
    yield f"<section><h2>{plural(len(models), 'model')}</h2>"
    for number, model in enumerate(models, 1):
        is_open = len(models) <= _OPEN or worst(model.findings) == "✗"
        yield _card(model, f"model-{number}", is_open, options.depth, limit)
    yield "</section>"


def _card(model: ModelReport, name: str, is_open: bool, depth: int | None, limit: int) -> str:
    found, claims = model.measurement, claims_of(model)
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
        f'<details class="card {_TONES[mark]}" id="{name}"{" open" if is_open else ""}>\n<summary>'
        f'{_mark(mark)}<span class="title"><b>{escape(called)}</b>'
        f'<span class="place">{escape(place)} · {_states(claims)}</span></span>'
        f'<span class="sum">{total}</span></summary>\n<div class="inside">{inside}</div>\n'
        "</details>"
    )


def _inside(
    model: ModelReport, claims: Sequence[Claim], depth: int | None, limit: int
) -> list[str]:
    found, own = model.measurement, clean(model.target)
    called = own.partition("::")[2]
    rows = [
        _budget_row(row, _code(row.name.removeprefix(own).strip() or called))
        for claim in claims
        for row in rows_of(claim)
    ]
    table = _table(rows) if rows else ""
    told = list(dict.fromkeys(finding for claim in claims for finding in claim.findings))
    if not isinstance(found, Measured):
        return [table, _list(told) if told else _absent(found)]
    tree = module_tree(found.modules, depth, limit)
    return [_facts(found), table, _advice(told), tree, _remarks(found)]


def _states(claims: Sequence[Claim]) -> str:
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
    counts = found.counts
    sparse = counts.active is not None and counts.active != counts.total
    pairs = [
        ("trainable", f"{counts.trainable:,}"),
        ("frozen", f"{counts.frozen:,}"),
        ("non-embedding", f"{counts.non_embedding:,}"),
        *([("active for one token", f"{counts.active:,}")] if sparse else []),
        ("buffers", f"{counts.buffers:,}"),
        ("size", style.human_bytes(counts.bytes)),
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
        if device.reason not in NO_CUDA and (device.status != "measured" or device.differences):
            reasons = [*([device.reason] if device.reason else []), *device.differences]
            told.append(f"{name} {device.status}: {'; '.join(reasons)}")
    notes = "".join(f'<p class="note">{escape(text)}</p>' for text in [*told, *found.notes])
    return f"<div>{notes}</div>" if notes else ""


def _absent(found: NotMeasured) -> str:
    told = [found.reason, *([f"at {found.source}"] if found.source else [])]
    told += [found.hint] if found.hint else []
    return "".join(f"<p>{escape(text)}</p>" for text in told)


# --- the end ----------------------------------------------------------------------------------


def _uncounted(skipped: Sequence[tuple[str, NotMeasured]]) -> Iterator[str]:
    if not skipped:
        return
    rows = [
        f'<tr role="row"><th scope="row" role="rowheader">{_code(target)}</th>'
        f'<td role="cell" class="wide">{escape(failure.reason)}</td></tr>'
        for target, failure in skipped[:_LISTED]
    ]
    yield f"<section><h2>Not counted</h2>\n<details><summary>{plural(len(skipped), 'model')}"
    yield '</summary><div class="table"><table role="table"><thead role="rowgroup"><tr role="row">'
    yield '<th scope="col" role="columnheader">model</th>'
    yield '<th scope="col" role="columnheader">because</th></tr></thead>\n<tbody role="rowgroup">'
    yield from rows
    yield f"</tbody></table></div>{_more(len(skipped) - _LISTED, 'model')}</details></section>"


def _foot(report: Report, options: Options) -> str:
    lines = summary_lines(report, replace(options, width=sys.maxsize), Paint(False))
    told = "".join(f"<p>{escape(line)}</p>" for line in lines)
    return f"<footer>{told}<p>nparam-lint {escape(report.version)}</p></footer>"
