"""One line for each finding, `path:line:column: CODE message`, for editors and `grep`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nparam_lint.report.style import by_place, clean

if TYPE_CHECKING:
    from nparam_lint.records import Report
    from nparam_lint.report import Options


def render(report: Report, options: Options) -> str:  # noqa: ARG001
    return "".join(
        f"{clean(at.path)}:{at.line}:{at.column}: {finding.code} {clean(finding.message)}\n"
        for finding in sorted(report.findings, key=by_place)
        for at in (finding.position,)
    )
