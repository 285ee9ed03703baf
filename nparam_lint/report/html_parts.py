"""The parts of a page for the browser: marks, tables, findings, the frame around them."""

from __future__ import annotations

import html
from pathlib import Path
from typing import TYPE_CHECKING

from nparam_lint.report.budget_outcomes import worst
from nparam_lint.report.style import clean, plural
from nparam_lint.rules.catalogue import RULES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from nparam_lint.records import Finding

TONES = {"✓": "good", "✗": "bad", "!": "warn", "–": "none", "Δ": "none"}
_SAID = {"✓": "holds", "✗": "error", "!": "warning", "–": "no verdict", "Δ": "changed"}
LISTED = 1_000  # findings, or models that were not counted

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


def escape(text: str) -> str:
    return html.escape(clean(text))


def whole_page(title: str, sections: Iterable[str]) -> str:
    style = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
    return _PAGE.format(title=escape(title), style=style, body="\n".join(sections))


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


def more_html(left: int, noun: str) -> str:
    return f'<p class="note">… and {plural(left, f"more {noun}")}</p>' if left > 0 else ""


def finding_list(findings: Sequence[Finding]) -> str:
    lines = []
    for finding in findings:
        at, rule, mark = finding.position, RULES.get(finding.code), worst([finding])
        name = f' <span class="dim">{escape(rule.name)}</span>' if rule else ""
        detail = finding.detail or ([rule.remedy] if rule else [])
        lines.append(
            f'<li class="{TONES[mark]}">{mark_html(mark)}<div>'
            f"<p><b>{escape(finding.code)}</b>{name} "
            f"{code_html(f'{at.path}:{at.line}:{at.column}')}</p>"
            f"<p>{escape(finding.message)}</p>{pre_html(detail) if detail else ''}</div></li>"
        )
    return f'<ul class="findings">\n{chr(10).join(lines)}\n</ul>'
