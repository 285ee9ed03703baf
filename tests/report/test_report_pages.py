"""Reports, and how they are shown: the pages beside this file."""

from __future__ import annotations

import re
import shlex
import textwrap
from typing import TYPE_CHECKING

import pytest
from pages import PageRun, pages
from render_samples import render_show, rendered, summary
from report_checks import Page, check_html, check_junit
from report_words import report_of

from nparam_lint.ground.version import __version__
from nparam_lint.report import Options
from nparam_lint.report.check_document import check_document

if TYPE_CHECKING:
    from nparam_lint.gate.report import Report

PAGES = pages(__file__)
FLAGS = {"-v": {"verbose": 1}, "-q": {"quiet": True}, "--declared": {"declared_only": True}}


class ShownReports(PageRun):
    """A block `report` has one in words; a command is a format, or `show` for the first model."""

    report: Report

    def block(self, found: re.Match[str]) -> str:
        if found[2] == "report":
            self.report = report_of(found[4])
        return super().block(found)

    def said(self, command: str) -> str:
        name, *words = shlex.split(command)
        options = {}
        for word in words:
            key, _, value = word.partition("=")
            options |= FLAGS.get(key) or {key: int(value) if value.isdigit() else value}
        if name in READ:
            return READ[name](self.report)
        if name == "show":
            text = render_show(self.report.models[0], Options(**options))
        else:
            text = rendered(name, self.report, Options(**options))
        return text.replace(__version__, "VERSION")


def first_and_last(report: Report) -> str:
    """The headline of a report, and the last line of its text. What is about a declared budget is
    told with it, and not once more: both count alike."""
    last = rendered("text", report, Options(quiet=True, width=120)).splitlines()[-1]
    headline = check_document(report).page(Options()).headline
    for kind in ("error", "warning"):
        counts = [re.findall(rf"\d+ (?:other )?{kind}s?", line) for line in (headline, last)]
        assert counts[0] == counts[1]
    return f"{headline}\n{last}\n"


def cases(report: Report) -> str:
    """A line for each of JUnit: what it comes to, what it is called, and why."""
    lines = []
    for case in check_junit(rendered("junit", report, Options(width=40, color=True))):
        outcome, message = "passed", ""
        for child in case:
            outcome, message = child.tag, child.get("message", "")
        name = f"{case.get('classname')}  {case.get('name')}"
        lines.append(f"{outcome}  {name}  {message}".rstrip())
    return "".join(f"{line}\n" for line in lines)


def words(report: Report) -> str:
    """What is read on the page for the browser, with single blanks."""
    text = rendered("html", report, Options())
    check_html(text)
    pieces = Page(re.sub("<(style|script)[ >].*?</\\1>", "", text, flags=re.DOTALL)).pieces
    read = " ".join(" ".join(pieces).split()).replace(__version__, "VERSION")
    return textwrap.fill(read, 100) + "\n"


READ = {
    "lines": first_and_last,
    "cases": cases,
    "html": words,
    "summary": lambda report: summary(report, Options()),
}


@pytest.mark.parametrize("name", PAGES)
def test_reports_are_shown_as_below_their_words(name, tmp_path, environ, nparam_lint, request):
    ShownReports(tmp_path / "page", environ, nparam_lint).hold(PAGES[name], request.config)
