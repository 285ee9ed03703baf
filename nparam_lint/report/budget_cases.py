"""The declared budgets of a report as test cases: what `pytest --nparam` runs as its items.

| the budget                                                   | the case               |
|--------------------------------------------------------------|------------------------|
| holds                                                        | passed                 |
| does not hold                                                | failed, with the table |
| cannot be judged: not built, malformed, stale, no torch      | error                  |
| is one of these two, but the finding is ignored or a warning | skipped                |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from nparam_lint.count.measured import Measured, NotMeasured
from nparam_lint.gate.report import ModelReport, Report
from nparam_lint.ground.findings import Finding
from nparam_lint.ground.rule_catalogue import RULES
from nparam_lint.ground.values import Position
from nparam_lint.report import Options
from nparam_lint.report.budget_outcomes import UNANSWERED, JudgedBudget, declared_budgets
from nparam_lint.report.findings import findings_lines
from nparam_lint.report.folded_modules import Modules
from nparam_lint.report.formats.text import module_lines
from nparam_lint.report.style import Paint, clean, elide_end

Outcome = Literal["passed", "failed", "error", "skipped"]
_ROWS = 40  # of a table of modules
_LONGEST = 40  # characters of a formula in a name


class Case(Struct, frozen=True):
    """`name` is no other case's: `nets/vit.py::ViT[86M]`, `nets/vit.py::ViT[blocks.*: 7_087_872]`.
    `path` (absolute) and `line` (from 1): where it is declared. `message` is one line; `text` may
    be coloured."""

    name: str
    path: str
    line: int
    outcome: Outcome = "passed"
    message: str = ""
    text: str = ""


def cases(report: Report, root: Path, options: Options) -> list[Case]:
    """One for each declared budget; then one for each error that is about none of these: malformed
    budgets, stale ones, files that cannot be read. `root`: what paths are relative to."""
    declared, on_budgets = declared_budgets(report)
    every = []
    for claim in declared:
        first, words = claim.results[0], elide_end(claim.declared, _LONGEST)
        which = f"{first.selector}: {words}" if first.selector else words
        case = _case(f"{claim.model.target}[{which}]", first.position, root)
        if report.error is not None:
            message, *_ = report.error.splitlines()
            case = replace(case, outcome="error", message=message, text=report.error)
        elif errors := claim.errors:
            case = _wrong(case, errors, explanation(errors, claim.model, options))
        elif claim.state != "holds":
            case = replace(case, outcome="skipped", message=_excuse(claim))
        every.append(case)
    for finding in report.findings:
        if finding.severity == "error" and finding not in on_budgets:
            about = finding.target or finding.position.path
            name = f"{about}[{finding.code} {RULES[finding.code].name}]"
            lines = findings_lines([finding], options.width, Paint(options.color))
            every.append(_wrong(_case(name, finding.position, root), [finding], lines))
    times: Counter[str] = Counter()
    for place, case in enumerate(every):  # two may say the same of the same: `…[12 #2]`
        times[case.name] += 1
        if times[case.name] > 1:
            every[place] = replace(case, name=f"{case.name[:-1]} #{times[case.name]}]")
    return every


def _case(name: str, at: Position, root: Path) -> Case:
    return Case(clean(name), str(root / at.path), at.line)


def _wrong(case: Case, errors: Sequence[Finding], lines: Iterable[str]) -> Case:
    message = "; ".join(clean(finding.message) for finding in errors)
    outcome: Outcome = "error" if errors[0].code in UNANSWERED else "failed"
    return replace(case, outcome=outcome, message=message, text="\n".join(lines))


def _excuse(claim: JudgedBudget) -> str:
    """Why a budget that does not hold is no error."""
    how = "only a warning here" if claim.findings else "ignored"
    measured = claim.model.measurement
    if isinstance(measured, NotMeasured):
        return clean(f"{measured.code} is {how}: {measured.reason}")
    actual = claim.failures[0].actual
    count = "nothing was counted" if actual is None else f"counted {actual:,}"
    return f"NPL001 is {how}: {count}, declared {claim.declared}"


def explanation(findings: Sequence[Finding], model: ModelReport, options: Options) -> list[str]:
    """Findings, then the modules of the model that they are about, where it was measured."""
    paint, measured, table = Paint(options.color), model.measurement, []
    if isinstance(measured, Measured):
        table = module_lines(Modules(measured.modules, options.depth, _ROWS), options.width, paint)
    lines = findings_lines(findings, options.width, paint)
    return [*lines, "", *table] if table else lines
