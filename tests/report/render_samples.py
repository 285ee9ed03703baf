"""Reports as the formats of a command write them."""

import re
from pathlib import Path

from nparam_lint.gate.report import Report
from nparam_lint.report import formats
from nparam_lint.report.check_document import check_document
from nparam_lint.report.formats.markdown import SUMMARY
from nparam_lint.report.formats.markdown import summary as markdown_summary
from nparam_lint.report.show_document import show_document


def rendered(name, report, options) -> str:
    return formats.render(name, check_document(report), options)


def summary(report, options, limit=SUMMARY) -> str:
    return markdown_summary(check_document(report), options, limit)


def render_show(model, options, **more) -> str:
    made = Report(None, (model,), model.findings)
    return formats.render("text", show_document(made, Path(), **more), options)


def in_lines(text) -> str:
    """JSON that is one line, as people review it."""
    return re.sub(r"(?<=[}\]]),(?=[\"{])", ",\n", text)
