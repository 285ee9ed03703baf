"""One line for each thing, `path:line:column: error: CODE message`, for editors and `grep`."""

from __future__ import annotations

from nparam_lint.ground.printable import clean
from nparam_lint.report import Document, Options
from nparam_lint.report.style import by_place


def render(document: Document, options: Options) -> str:
    below = "" if options.below == "." else f"{options.below}/"
    findings = document.report.findings if document.report else ()
    lines = [
        f"{clean(below + at.path)}:{at.line}:{at.column}: {finding.severity}: {finding.code} "
        f"{clean(finding.message)}"
        for finding in sorted(findings, key=by_place)
        for at in (finding.position,)
    ]
    return "".join(f"{clean(line)}\n" for line in (*document.lines, *lines))
