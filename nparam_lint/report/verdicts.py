"""One line for each model and each of its further budgets: what was counted, what was declared."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from nparam_lint.records import Measured
from nparam_lint.report import style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nparam_lint.records import BudgetResult, Finding, ModelReport
    from nparam_lint.report.style import Paint

_COLORS = {"✓": "green", "✗": "red", "!": "yellow", "–": "dim"}
_WORST = "✗!✓–"
_ON_BUDGETS = ("NPL001", "NPL002", "NPL007", "NPL011", "NPL013")
_PARTS = 3
_DECLARED = 41
_REASON = 24


@dataclass(frozen=True, slots=True)
class _Line:
    """`tail` is kept whole where `verdict` must be cut."""

    mark: str
    name: str
    count: str
    verdict: str
    tail: str = ""
    indent: str = ""

    @property
    def label(self) -> str:
        return f"{self.indent}{self.mark} {self.name}"


def verdict_lines(models: Sequence[ModelReport], width: int, paint: Paint) -> list[str]:
    lines = [line for model in models for line in _lines(model)]
    if not lines:
        return []
    labels = max(len(line.label) for line in lines)
    counts = max(len(line.count) for line in lines)
    verdicts = max(min(len(line.verdict), _cap(line)) + len(line.tail) for line in lines)
    room = width - counts - 4
    labels = min(labels, max(room - verdicts, room * 2 // 5))
    return [_render(line, labels, counts, room - labels, paint) for line in lines]


def _cap(line: _Line) -> int:
    """What a verdict may claim of the width: a formula or a reason, told in full below, less."""
    return _REASON if line.count == "–" else _DECLARED


def _render(line: _Line, labels: int, counts: int, verdicts: int, paint: Paint) -> str:
    color = _COLORS[line.mark]
    room = labels - len(line.indent) - 2
    name = style.elide_target(line.name, room)
    verdict = style.elide_end(line.verdict, verdicts - len(line.tail)) + line.tail
    return (
        f"{line.indent}{paint(color, line.mark)} {name}{' ' * (room - len(name))}  "
        f"{line.count:>{counts}}  {paint(color if line.mark != '✓' else 'dim', verdict)}"
    ).rstrip()


def _lines(model: ModelReport) -> list[_Line]:
    target, measured = style.clean(model.target), model.measurement
    stray = _stray(model)
    codes = " ".join(sorted({finding.code for finding in stray}))
    marks = [_finding_mark(finding) for finding in stray]
    if not isinstance(measured, Measured):
        reason = f"not measured: {style.clean(measured.reason)}"
        return [_Line(_worst(marks or ["–"]), target, "–", reason)]
    totals = [budget for budget in model.budgets if not budget.selector]
    main = min(totals, key=lambda budget: budget.origin == "prose", default=None)
    rest: dict[object, list[BudgetResult]] = {}
    for budget in model.budgets:
        if budget is not main:
            key = (budget.declared, budget.selector, budget.origin, budget.position)
            rest.setdefault(key, []).append(budget)
    lines = [line for group in rest.values() for line in _group_lines(group, model)]
    total = f"{measured.counts.total:,}"
    if main is not None:
        verdict, tail = _verdict(main)
        mark = _worst([*marks, _budget_mark(main, model)])
        head = _Line(mark, target, total, verdict, tail + (f"  {codes}" if codes else ""))
    elif lines or stray:
        head = _Line(_worst([*marks, *(line.mark for line in lines)]), target, total, codes)
    else:
        head = _Line("–", target, total, "no budget")
    return [head, *lines]


def _group_lines(group: list[BudgetResult], model: ModelReport) -> list[_Line]:
    """One line for what holds, one for each (of a few) that does not; a glob gives many."""
    held = [budget for budget in group if budget.ok]
    broken = [budget for budget in group if not budget.ok]
    lines = [_part(budget, model) for budget in broken[:_PARTS]]
    if len(broken) > _PARTS:
        lines.append(_Line(lines[0].mark, f"… and {len(broken) - _PARTS:,} more", "", "", "", "  "))
    if held:
        line = _part(held[0], model)
        if len(held) > 1:
            same = len({budget.actual for budget in held}) == 1
            count = f"{len(held):,} × {line.count}" if same else f"{len(held):,} modules"
            line = replace(line, name=f"[{style.clean(held[0].selector)}]", count=count)
        lines.append(line)
    return lines


def _part(budget: BudgetResult, model: ModelReport) -> _Line:
    selector = style.clean(budget.selector)
    name = f"[{selector}]" if selector else "(total)"
    if budget.module is not None and budget.module != budget.selector:
        name += f" {style.clean(budget.module)}"
    count = "–" if budget.actual is None else f"{budget.actual:,}"
    return _Line(_budget_mark(budget, model), name, count, *_verdict(budget), indent="  ")


def _verdict(budget: BudgetResult) -> tuple[str, str]:
    declared, prose = style.clean(budget.declared), budget.origin == "prose"
    if budget.actual is None:
        return f"declared {declared}", "  not measured"
    if not budget.ok:
        said = "prose says" if prose else "declared"
        return f"{said} {declared}", f"  {style.drift(budget)}".rstrip()
    where = " (prose)" if prose else ""
    if budget.low == budget.high:
        return f"= {declared}", where
    bare = declared[:1].isdecimal() and not any(sign in declared for sign in ("..", "±", "+/-"))
    return f"≈ {declared}" if bare else declared, where


def _worst(marks: Sequence[str]) -> str:
    return min(marks, key=_WORST.index)


def _finding_mark(finding: Finding) -> str:
    return "✗" if finding.severity == "error" else "!"


def _line_of(item: BudgetResult | Finding) -> tuple[str, int]:
    return item.position.path, item.position.line


def _stray(model: ModelReport) -> list[Finding]:
    """The findings that no budget's own line tells."""
    told = {_line_of(budget) for budget in model.budgets}
    return [f for f in model.findings if f.code not in _ON_BUDGETS or _line_of(f) not in told]


def _budget_mark(budget: BudgetResult, model: ModelReport) -> str:
    found = [
        _finding_mark(finding)
        for finding in model.findings
        if _line_of(finding) == _line_of(budget)
        # A formula may hold for these arguments and be wrong for others.
        and finding.code in (("NPL011",) if budget.ok else _ON_BUDGETS)
    ]
    if found:
        return _worst(found)
    return "✓" if budget.ok else "!" if budget.origin == "prose" else "✗"
