"""JUnit XML: a test case for each declared budget, for whatever shows test results.

No standard says what JUnit XML is: this keeps to the schema by which Jenkins reads it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal
from xml.etree import ElementTree

from nparam_lint.count.measured import Measured
from nparam_lint.ground.findings import Finding
from nparam_lint.ground.printable import clean
from nparam_lint.ground.rule_catalogue import RULES
from nparam_lint.report import Document, Options
from nparam_lint.report.budget_outcomes import UNANSWERED, JudgedBudget, declared_budgets
from nparam_lint.report.findings import findings_lines
from nparam_lint.report.folded_modules import Modules
from nparam_lint.report.formats.text import table_lines
from nparam_lint.report.style import by_place

Outcome = Literal["passed", "failure", "error", "skipped"]
_ROWS = 40  # of a table of modules


def render(document: Document, options: Options) -> str:
    report = document.report
    assert report is not None
    declared, on_budgets = declared_budgets(report)
    cases = [_budget(claim, options.depth) for claim in declared]
    if report.error is not None:
        lines = report.error.splitlines()
        first = lines[0] if lines else ""
        cases = [_case("nparam-lint", "nparam-lint", "error", first, "", lines)]
    besides = (finding for finding in report.findings if finding not in on_budgets)
    cases += map(_finding, sorted(besides, key=by_place))
    for target, failure in report.skipped:
        cases.append(_case(target.partition("::")[0], target, "skipped", failure.reason))
    outcomes = Counter(child.tag for case in cases for child in case)
    counts = {"tests": len(cases), "failures": outcomes["failure"], "errors": outcomes["error"]}
    totals = {name: str(count) for name, count in counts.items()}
    time = {"time": f"{max(report.seconds, 0):.3f}"}
    suites = ElementTree.Element("testsuites", {"name": "nparam-lint", **totals, **time})
    totals["skipped"] = str(outcomes["skipped"])
    suite = ElementTree.SubElement(suites, "testsuite", {"name": "nparam-lint", **totals, **time})
    suite.extend(cases)
    ElementTree.indent(suites)
    # ASCII, whatever the terminal: all else becomes character references.
    text = ElementTree.tostring(suites, encoding="us-ascii").decode("ascii")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def _case(
    path: str,
    name: str,
    outcome: Outcome = "passed",
    message: str = "",
    kind: str = "",
    text: Sequence[str] = (),
) -> ElementTree.Element:
    """`clean` leaves no character that XML 1.0 does not know."""
    case = ElementTree.Element("testcase", {"classname": clean(path), "name": clean(name)})
    if outcome != "passed":
        attributes = {"message": clean(message), **({"type": kind} if kind else {})}
        ElementTree.SubElement(case, outcome, attributes).text = "\n".join(map(clean, text)) or None
    elif text:
        ElementTree.SubElement(case, "system-out").text = "\n".join(map(clean, text))
    return case


# --- budgets ----------------------------------------------------------------------------------


def _budget(claim: JudgedBudget, depth: int | None) -> ElementTree.Element:
    """Of one that does not hold, the findings, then the modules of its model if that was
    measured."""
    path, name = claim.model.target.partition("::")[0], f"{claim.name}: {claim.declared}"
    if errors := claim.errors:
        outcome: Outcome = "error" if claim.state == "not checked" else "failure"
        message = "; ".join(finding.message for finding in errors)
        text, measured = findings_lines(errors), claim.model.measurement
        if isinstance(measured, Measured):
            table = table_lines(Modules(measured, depth, _ROWS).table)
            text += ["", *table] if table else []
        return _case(path, name, outcome, message, errors[0].code, text)
    lines = findings_lines(claim.findings)  # as the text report says it
    if claim.state == "holds":
        return _case(path, name, text=lines)
    # Never "passed", whatever the settings make of it.
    how = "only a warning" if claim.findings else "ignored"
    message = f"does not hold, and the finding is {how}"
    return _case(path, name, "skipped", message, text=lines)


# --- everything else --------------------------------------------------------------------------


def _finding(finding: Finding) -> ElementTree.Element:
    """A finding that belongs to no declared budget: a malformed budget, a stale one, a warning."""
    rule = RULES.get(finding.code)
    what = f"{finding.code} {rule.name}" if rule else finding.code
    at = finding.position
    name = f"{finding.target or f'{at.path}:{at.line}'}: {what}"
    outcome: Outcome = "error" if finding.code in UNANSWERED else "failure"
    outcome = outcome if finding.severity == "error" else "passed"
    lines = findings_lines([finding])
    return _case(at.path, name, outcome, finding.message, finding.code, lines)
