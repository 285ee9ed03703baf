"""One page for the browser that needs nothing else: its scripts are in it, and no request is made.
Without scripts it shows the same findings and tables, without pictures."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from nparam_lint import __version__
from nparam_lint.report import Chart, Facts, Parts, Table, Text, html_cards
from nparam_lint.report import html_parts as parts
from nparam_lint.report.budget_outcomes import ModelBudgets, budgets_of, total_of
from nparam_lint.report.chart import svg
from nparam_lint.report.findings import ranked
from nparam_lint.report.folded_modules import Modules
from nparam_lint.report.html_parts import LISTED, TONES, code_html, mark_html, more_html
from nparam_lint.report.pictures import PageData
from nparam_lint.report.style import Paint, escape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nparam_lint.records import Finding, ModelReport
    from nparam_lint.report import Block, Document, Options, Page, Section

_ROWS = 300
_OPEN = 3  # pictures of changes
_WAYS = 100  # models as they are built elsewhere
_MODULES = 60  # rows of the table that stands where there is no script


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
    for block in models:
        sections += html_cards.failing_budgets(block.models)
    sections += [_section(section, data) for section in before]
    sections += [_findings(document, shown), *(_section(section, data) for section in after)]
    sections += html_cards.model_cards(_ways(document, reports), options.depth, data, as_built=True)
    title = f"{page.mark} {_name(document)}: {page.headline or document.command}".lstrip()
    return parts.whole_page(title, [*filter(None, sections), _foot(page)], data)


def _findings(document: Document, shown: set[Finding]) -> str:
    """Those that no card tells."""
    found = [f for f in ranked(document.report) if f not in shown] if document.report else []
    if not found:
        return ""
    left = more_html(len(found) - LISTED, "finding")
    return f"<section><h2>Findings</h2>\n{parts.finding_list(found[:LISTED])}{left}</section>"


def _ways(document: Document, shown: Sequence[ModelReport]) -> list[ModelReport]:
    """The largest models as the project builds them, as far as these differ from those shown."""
    if document.command != "check" or document.report is None:
        return []
    found = {(model.target, total_of(model)): model for model in document.report.models}
    for model in shown:
        found.pop((model.target, total_of(model)), None)
    largest = sorted((m for m in found.values() if total_of(m)), key=lambda m: -(total_of(m) or 0))
    return largest[:_WAYS]


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
    first, *others = (page.headline or document.command).split(" · ")
    return [first if "::" in first else first[:1].upper() + first[1:], *others]


def _foot(page: Page) -> str:
    lines = [page.foot] if page.foot else [block.text for block in page.summary]
    text = "".join(f"<p>{escape(line)}</p>" for line in lines)
    return f"<footer>{text}<p>nparam-lint {escape(__version__)}</p></footer>"


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
            text = f"{fact.count or ''} {words}{below}"
            pairs.append(f"<div><dt>{escape(fact.name)}</dt><dd>{text}</dd></div>")
        return f'<dl class="facts">{"".join(pairs)}</dl>'
    if isinstance(block, Chart):
        return f'<div class="card wide-chart">{svg(block)}</div>'
    if isinstance(block, Modules):
        return parts.model_picture(replace(block, limit=_MODULES), block.name, data)
    if isinstance(block, ModelBudgets) and not block.alone:
        return "".join(html_cards.model_cards(block.models, block.depth, data))
    made = block if isinstance(block, Table) else block.table
    return _source(made) if made.is_source else parts.block_html(made)


def _source(made: Table) -> str:
    """As on a terminal of any width: source is read in columns, and scrolled."""
    from nparam_lint.report.formats.text import table_lines

    text = "\n".join(map(escape, table_lines(made, sys.maxsize, Paint(False))))
    return f'<pre tabindex="0" style="white-space: pre">{text}</pre>'
