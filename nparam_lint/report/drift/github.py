"""Annotations for the findings, as in a check; then the comparison as a log for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nparam_lint.records import Report
from nparam_lint.report import github
from nparam_lint.report.drift import text

if TYPE_CHECKING:
    from nparam_lint.analysis.diff import DiffReport
    from nparam_lint.report import Options


def render(report: DiffReport, options: Options) -> str:
    found = Report(report.version, None, (), report.findings, error=report.error)
    # No other line of it begins so: they are made so that the runner does not act on them.
    told = [line for line in github.render(found, options).splitlines() if line.startswith("::")]
    log = [github.inert(line) for line in text.render(report, options).splitlines()]
    return "".join(f"{line}\n" for line in [*told, *log])
