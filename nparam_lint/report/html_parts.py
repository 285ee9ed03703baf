"""The parts of a page for the browser: marks, tables, findings, and where pictures of modules
are drawn."""

from __future__ import annotations

import shlex
from base64 import b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path

from nparam_lint.ground.errors import defect
from nparam_lint.ground.findings import Finding
from nparam_lint.ground.rule_catalogue import RULES
from nparam_lint.report import Table, style
from nparam_lint.report.budget_outcomes import worst
from nparam_lint.report.findings import beside_excerpt, details, excerpt, parts_of
from nparam_lint.report.folded_modules import Modules, make_tree
from nparam_lint.report.pictures import PageData, Picture
from nparam_lint.report.style import escape, plural

TONES = {"✓": "good", "✗": "bad", "!": "warn", "–": "none", "Δ": "none"}
_SAID = {"✓": "holds", "✗": "error", "!": "warning", "–": "no verdict", "Δ": "changed"}
LISTED = 1_000  # findings, or models that were not counted
_BROWSER = Path(__file__).with_name("browser")
_SCRIPTS = ("modules", "icicle", "table", "explorer", "page")  # each builds on those before it
_MODULE_COLUMNS = ("module", "own", "total", "share", "made at")


def whole_page(title: str, sections: Iterable[str], data: PageData) -> str:
    """A browser lets the page run its own scripts alone, and ask nobody for anything."""
    scripts = []
    if data.pictures:
        library = f"/*!\n{_file('d3-hierarchy.LICENSE')}*/\n{_file('d3-hierarchy.min.js')}"
        explorer = "\n".join(_file(f"{name}.js") for name in _SCRIPTS)
        scripts = [library, f'"use strict";\n{explorer}']
    digests = (b64encode(sha256(script.encode()).digest()).decode() for script in scripts)
    texts = {
        "title": escape(title),
        "style": _file("page.css"),
        "allowed": " ".join(f"'sha256-{digest}'" for digest in digests) or "'none'",
        "body": "\n".join(sections),
        "data": f'<script type="application/json" id="data">{data.json}</script>' * bool(scripts),
        "scripts": "\n".join(f"<script>{script}</script>" for script in scripts),
    }
    return _file("page.html").format(**texts)


def _file(name: str) -> str:
    return (_BROWSER / name).read_text("utf-8")


def mark_html(mark: str) -> str:
    said = f'<span class="said">{_SAID[mark]}: </span>'
    return f'<span class="mark" aria-hidden="true">{mark}</span>{said}'


def code_html(text: str) -> str:
    return f"<code>{escape(text)}</code>"


def pre_html(lines: Sequence[str]) -> str:
    """On a narrow page, sentences are wrapped; what is indented stands in columns, and scrolls."""
    texts = (escape(s) if s.startswith(" ") else f"<span>{escape(s)}</span>" for s in lines)
    return f"<pre>{chr(10).join(texts)}</pre>"


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
    (_, _, heading), *data_cells = cells
    sign = f"{mark_html(mark) if mark in TONES else mark} " if mark else ""
    tone = f' class="{TONES[mark]}"' if mark in TONES else ""
    text = f'<th scope="row" role="rowheader">{sign}{heading}</th>'
    for name, kind, inside in data_cells:
        label = f' data-name="{escape(name)}"' if name or kind != "wide" else ""
        classes = f' class="{kind}"' if kind else ""
        text += f'<td role="cell"{label}{classes}>{inside}</td>'
    return f'<tr role="row"{tone}>{text}</tr>'


def block_html(table: Table) -> str:
    """A table of a document; nothing where it has no rows."""
    if not table.rows:
        return ""
    rows = []
    for row in table.rows[:LISTED]:
        cells = []
        for cell, column in zip(row.full, table.columns, strict=True):
            words = code_html(cell.text) if column.is_code else escape(cell.text)
            words += f" <small>{escape(cell.share)}</small>" if cell.share else ""
            if column.notes:
                words += notes_html(row.below)
            kind = {"number": "number", "words": "wide"}.get(column.kind, "")
            cells.append(("" if kind == "wide" else column.name, kind, words))
        rows.append(row_html(row.mark, cells))
    columns = [(column.name, column.kind == "number") for column in table.columns]
    more = more_html(len(table.rows) - LISTED, table.noun)
    return table_html(columns, rows) + more + notes_html(table.notes)


def more_html(hidden: int, noun: str) -> str:
    return notes_html([f"… and {plural(hidden, f'more {noun}')}"]) if hidden > 0 else ""


def notes_html(notes: Iterable[str]) -> str:
    return "".join(f'<p class="note">{escape(note)}</p>' for note in notes)


def finding_list(findings: Sequence[Finding]) -> str:
    lines = []
    for finding in findings:
        at, rule, mark = finding.position, RULES.get(finding.code), worst([finding])
        name = f' <span class="dim">{escape(rule.name)}</span>' if rule else ""
        source = [line[3:] for line in excerpt(finding.lines, at.path)]
        remedy = [rule.remedy] if rule and not finding.detail else []
        parts = parts_of(details(beside_excerpt(finding)), heaviest=False)  # the page has tables
        detail = [*source, *(line for part in parts for line in part.split("\n")), *remedy]
        lines.append(
            f'<li class="{TONES[mark]}">{mark_html(mark)}<div>'
            f"<p><b>{escape(finding.code)}</b>{name} "
            f"{code_html(f'{at.path}:{at.line}:{at.column}')}</p>"
            f"<p>{escape(finding.message)}</p>{pre_html(detail) if detail else ''}</div></li>"
        )
    return f'<ul class="findings">\n{chr(10).join(lines)}\n</ul>'


# --- pictures -------------------------------------------------------------------------------------


def model_picture(block: Modules, data: PageData) -> str:
    """Where a picture is drawn: until then, and without a script, a table stands there. Nothing
    where the total is all that there is to say."""
    table = module_table(block)
    return table and picture_html(Picture(((block.name, block.measured),)), data, table)


def picture_html(picture: Picture, data: PageData, instead: str = "") -> str:
    """`instead`: what stands in its place without a script."""
    try:
        number = data.add(picture)
    except Exception as error:  # the page is worth more than a picture
        return f"<p>{escape(f'the picture is left out: {defect(error)}')}</p>{instead}"
    return f'<div class="picture" data-picture="{number}">{instead}</div>'


def module_table(block: Modules) -> str:
    """In at most `limit` rows."""
    tree = make_tree(block.measured.modules, block.depth, block.limit)
    if len(tree.rows) < 2:
        return ""
    rows = tree.rows[: block.limit]
    classes = (head.replace(" ", "-") for head in _MODULE_COLUMNS)
    columns = zip(classes, _MODULE_COLUMNS, strict=True)
    heads = "".join(f'<th scope="col" class="{kind}">{head}</th>' for kind, head in columns)
    lines = []
    for row in rows:
        module, chips = row.module, ""
        for mark in row.marks:
            chip = mark
            if mark == "tied" and module.tied and row.times == 1:
                chip = f"tied: {', '.join(module.tied)}"
            elif mark == "shared":
                chip = f"shared with {module.shared_with or '(total)'}"
            chips += f' <span class="chip">{escape(chip)}</span>'
        cells = (
            ("own", f"{module.own:,}" if module.own else ""),
            ("total", row.total),
            ("share", style.share(row.times * row.new, rows[0].module.total)),
            ("made-at", escape(module.source or "")),
        )
        level = f' style="--level:{row.level}"' if row.level else ""
        title = f'{code_html(row.label)} <span class="type">{escape(module.type)}</span>{chips}'
        numbers = "".join(f'<td class="{kind}">{cell}</td>' for kind, cell in cells)
        lines.append(f'<tr><th scope="row"{level}>{title}</th>{numbers}</tr>')
    notes = tree.notes(rows, f"deeper: nparam-lint show {shlex.quote(block.name)}")
    return (
        f'<div class="modules"><table><thead><tr>{heads}</tr></thead>\n<tbody>\n'
        + "\n".join(lines)
        + f"\n</tbody></table>{notes_html(notes)}</div>"
    )
