"""What a notebook shows of a model: a table, and below it the picture of its modules.

The picture is the page for the browser, in a frame of its own: its script and its look cannot
disturb the notebook. Where a notebook takes frames or scripts away, the table is left.
"""

from __future__ import annotations

import html

from msgspec.structs import replace

from nparam_lint.analysis import roles
from nparam_lint.count.measured import Measured
from nparam_lint.report import Document, Options
from nparam_lint.report.folded_modules import Modules
from nparam_lint.report.formats import render
from nparam_lint.report.html_parts import module_table
from nparam_lint.report.style import escape, human_bytes, shown_metrics

_ROWS = 30
_HEIGHT = 640  # pixels of the frame
_LOOK = (
    ".nparam-lint :is(th, td) { text-align: right } "
    ".nparam-lint :is(caption, th[scope=row]) { text-align: left } "
    ".nparam-lint th[scope=row] { padding-left: calc(1em * var(--level, 0) + 0.5em) } "
    ".nparam-lint .type { font-weight: normal; opacity: 0.7 } "
    ".nparam-lint .modules :is(td, thead th):last-child { display: none }"  # lines are unknown
)


def notebook_html(document: Document, measured: Measured) -> str:
    """A fragment that needs nothing else and asks nobody for anything."""
    name = escape(measured.call)
    counts = ""
    for metric, count in shown_metrics(measured):
        amount = "unknown" if count is None else f"{count:,}"
        if metric.unit == "bytes" and count is not None:
            amount += f" ({human_bytes(count)})"
        counts += f"<tr><th>{escape(metric.label)}</th><td>{amount}</td></tr>"
    modules = module_table(Modules(measured, None, _ROWS, measured.call))
    page = render("html", replace(document, roles_of=roles.module_roles), Options())
    frame = (
        f'<iframe title="modules of {name}" sandbox="allow-scripts" srcdoc="{html.escape(page)}" '
        f'style="width:100%;height:{_HEIGHT}px;border:0"></iframe>'
    )
    return (
        f'<div class="nparam-lint"><style>{_LOOK}</style>'
        f"<table><caption>{name}</caption>{counts}</table>\n{modules}\n"
        f"<details><summary>Picture of the modules</summary>{frame}</details></div>"
    )
