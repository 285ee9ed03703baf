"""Why a budget is broken: what changed since a state in which it may have held, and where to look.
Where no such state is known, the heaviest modules."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from nparam_lint.claims import parse_selector
from nparam_lint.count.measured import Measured
from nparam_lint.gate.judge import heaviest
from nparam_lint.ground.errors import Aside
from nparam_lint.ground.values import Position, SourceLine

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nparam_lint.gate.candidates import Candidate, ProjectSource
    from nparam_lint.gate.hooks import BudgetCause, FindCauses
    from nparam_lint.gate.report import ModelReport, Report
    from nparam_lint.ground.findings import BudgetResult, Finding

    _Broken = tuple[ModelReport, Finding, BudgetResult]

MOST = 20  # models that are built as they were
MOST_EDITED = 3  # lines that are shown
_WORD = re.compile(r"[^\s\"'`|]+")


def explained(
    report: Report,
    candidates: Sequence[Candidate],
    source: ProjectSource,
    find_causes: FindCauses | None,
) -> Report:
    """The report with an explanation of each broken budget. `find_causes`: where there is another
    state to compare with."""
    broken = [(m, one, one.result) for m in report.models for one in m.findings if one.result]
    causes = _causes(broken, candidates, source, find_causes) if broken and find_causes else {}
    told: dict[Finding, Finding] = {}
    for model, finding, result in broken:
        with Aside(f"the explanation of {finding.code} at {finding.position}"):
            told[finding] = _explained(finding, result, model, causes.get(finding), source)

    def tell(findings: Sequence[Finding]) -> tuple[Finding, ...]:
        return tuple(told.get(finding, finding) for finding in findings)

    models = tuple(replace(model, findings=tell(model.findings)) for model in report.models)
    return replace(report, models=models, findings=tell(report.findings))


def _causes(
    broken: Sequence[_Broken],
    candidates: Sequence[Candidate],
    source: ProjectSource,
    find_causes: FindCauses,
) -> dict[Finding, BudgetCause]:
    by_target = {str(candidate.target): candidate for candidate in candidates}
    asked = [*dict.fromkeys(model.target for model, *_ in broken)][:MOST]
    wanted = [(finding, result) for model, finding, result in broken if model.target in asked]
    pairs = [(by_target[finding.target], result) for finding, result in wanted]
    found: list[BudgetCause] = []
    with Aside("what broke the budgets"):
        found = find_causes(pairs, source)
    return dict(zip((finding for finding, _ in wanted), found, strict=False))


def _explained(
    finding: Finding,
    result: BudgetResult,
    model: ModelReport,
    cause: BudgetCause | None,
    source: ProjectSource,
) -> Finding:
    changes = cause.changes if cause else ()
    lines = [*_declaration(finding.position, result, source), *_edited(cause, finding, source)]
    detail = finding.detail
    if not (changes or result.module) and isinstance(model.measurement, Measured):
        metric = parse_selector(result.selector).metric
        detail = (*detail[:-1], *heaviest(model.measurement.modules, metric), *detail[-1:])
    since = cause.since if cause else ""
    return replace(finding, detail=detail, since=since, changes=changes, lines=tuple(lines))


def _declaration(at: Position, result: BudgetResult, source: ProjectSource) -> Iterator[SourceLine]:
    """The line of the budget, with what it declares; of a formula in several lines, a word."""
    text = _text(at, source)
    word = re.compile(re.escape(result.declared)).search(text, at.column - 1)
    if found := word or _WORD.search(text, at.column - 1):
        yield SourceLine(replace(at, column=found.start() + 1), text, len(found[0]))


def _edited(
    cause: BudgetCause | None, finding: Finding, source: ProjectSource
) -> Iterator[SourceLine]:
    """The lines that made the difference: those that were edited, or the one that makes what
    changed most."""
    if not (cause and cause.changes):
        return
    declared = str(finding.position)
    edited = [line for line in cause.edited if str(line.position) != declared]
    if 0 < len(edited) <= MOST_EDITED:
        yield from edited
    elif cause.changes[0].mark != "−" and (at := Position.read(cause.changes[0].source)):
        text = _text(at, source).rstrip()
        start = len(text) - len(text.lstrip())
        yield SourceLine(replace(at, column=start + 1), text, len(text) - start)


def _text(at: Position, source: ProjectSource) -> str:
    """A line of a file of the project; "" where there is none."""
    lines = lines_of(source.found.tree.source(at.path))
    return lines[at.line - 1] if at.line <= len(lines) else ""


def lines_of(source: bytes) -> list[str]:
    """Its lines as Python counts them: a form feed begins none."""
    return re.split(r"\r\n?|\n", source.decode("utf-8", "replace"))
