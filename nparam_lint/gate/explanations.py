"""Why a budget is broken: what changed since a state in which it may have held, and where to look.
Where no such state is known, the heaviest modules. And where what could not be built failed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from nparam_lint.count.measured import Measured, NotMeasured
from nparam_lint.gate.judge import heaviest
from nparam_lint.gate.measures import says_measure
from nparam_lint.gate.report import with_findings
from nparam_lint.ground.errors import Aside
from nparam_lint.ground.lines import lines_of
from nparam_lint.ground.notation import parse_selector
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.ground.values import Position, SourceLine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nparam_lint.gate.candidates import Candidate, ProjectSource
    from nparam_lint.gate.hooks import BudgetCause, FindCauses
    from nparam_lint.gate.report import ModelReport, Report
    from nparam_lint.ground.findings import BudgetResult, Finding


MOST = 100  # models that are built as they were
MOST_EDITED = 3  # lines that are shown
_WORD = late_pattern(r"[^\s\"'`|]+")


def explained(
    report: Report,
    candidates: Sequence[Candidate],
    source: ProjectSource,
    find_causes: FindCauses | None,
) -> Report:
    """The report with an explanation of each broken budget, and with the line where what could not
    be built failed. `find_causes`: where there is another state to compare with."""
    broken = [(m, f, f.result) for m in report.models for f in m.findings if f.result]
    causes: dict[Finding, BudgetCause] = {}
    if broken and find_causes:
        by_target = {str(candidate.target): candidate for candidate in candidates}
        targets = [*dict.fromkeys(model.target for model, *_ in broken)][:MOST]
        pairs = [(finding, result) for model, finding, result in broken if model.target in targets]
        with Aside("what broke the budgets"):
            answers = find_causes([(by_target[f.target], result) for f, result in pairs], source)
            causes = dict(zip((finding for finding, _ in pairs), answers, strict=False))
    explanations: dict[Finding, Finding] = {}
    for model, finding, result in broken:
        with Aside(f"the explanation of {finding.code} at {finding.position}"):
            cause = causes.get(finding)
            explanations[finding] = _explained(finding, result, model, cause, source)
    for model in report.models:
        failure = model.measurement
        if isinstance(failure, NotMeasured) and (line := _whole_line(failure.source, source)):
            failed = (finding for finding in model.findings if finding.code == failure.code)
            explanations |= {finding: replace(finding, lines=(line,)) for finding in failed}

    return with_findings(report, lambda finding: explanations.get(finding, finding))


def _explained(
    finding: Finding,
    result: BudgetResult,
    model: ModelReport,
    cause: BudgetCause | None,
    source: ProjectSource,
) -> Finding:
    lines: list[SourceLine] = []
    # The line of the budget, with what it declares; of a formula in several lines, a word.
    text, column = _text(finding.position, source), finding.position.column
    declared = re.compile(re.escape(result.declared)).search(text, column - 1)
    if word := declared or _WORD.search(text, column - 1):
        at = replace(finding.position, column=word.start() + 1)
        lines.append(SourceLine(at, text, len(word[0])))
    changes = cause.changes if cause else ()
    if cause and changes:
        # What made the difference: lines that were edited; of many, those that make what changed.
        edited = [line for line in cause.edited if str(line.position) != str(finding.position)]
        if len(edited) > MOST_EDITED:
            makers = [change.source for change in changes]
            edited = [line for line in edited if str(line.position) in makers]
        lines += edited[:MOST_EDITED]
    detail = finding.detail
    if cause and cause.was_met:  # that another measure fits, too, is chance
        detail = tuple(line for line in detail if not says_measure(line, result.declared))
    if not (changes or result.module) and isinstance(model.measurement, Measured):
        metric = parse_selector(result.selector).metric
        detail = (*detail[:-1], *heaviest(model.measurement.modules, metric), *detail[-1:])
    since = cause.since if cause else ""
    return replace(finding, detail=detail, since=since, changes=changes, lines=tuple(lines))


def _whole_line(place: str | None, source: ProjectSource) -> SourceLine | None:
    """A line (`path:line`) of the project to look at; None where there is none."""
    at = Position.read(place)
    text = _text(at, source).rstrip() if at else ""
    if not (at and text):
        return None
    start = len(text) - len(text.lstrip())
    return SourceLine(replace(at, column=start + 1), text, len(text) - start)


def _text(at: Position, source: ProjectSource) -> str:
    """A line of a file of the project; "" where there is none."""
    lines = lines_of(source.discovery.tree.source(at.path))
    return lines[at.line - 1] if at.line <= len(lines) else ""
