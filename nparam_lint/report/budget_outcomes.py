"""The budgets of a report as they were declared, the outcome of each, and the lines that show it.

nanogpt/model.py
  ✓ GPT                     124,475,904  exact
    ✓ = vocab_size*n_embd + n_layer*(12*n_embd**2 + 13*n_embd) + 2*n_embd
    ✓ [transformer.h.*]  12 × 7,087,872  7.1M ± 1%
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from nparam_lint.records import Measured
from nparam_lint.report import style
from nparam_lint.report.style import grouped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from nparam_lint.records import BudgetResult, Finding, ModelReport, Report
    from nparam_lint.report import Table
    from nparam_lint.report.style import Paint

State = Literal["holds", "broken", "not checked", "ignored"]
# A count that differs from the budget is a failure; with these states there is no answer.
UNANSWERED = ("NPL002", "NPL003", "NPL004", "NPL005", "NPL007", "NPL008", "NPL009")
_ON_RESULTS = ("NPL001", "NPL013")
# A formula without a value; a selector that selects nothing; a definition that is not used.
_UNJUDGED = ("NPL002", "NPL007", "NPL008")
_ON_BUDGETS = (*_ON_RESULTS, *_UNJUDGED, "NPL011")
_COLORS = {"✓": "dim", "✗": "red", "!": "yellow", "–": "dim"}
_WORST = "✗!✓–"
_PARTS = 3
_VERDICT = 24  # characters that it has at least


@dataclass(frozen=True, slots=True)
class ModelBudgets:
    """Models with their budgets and the outcomes. `depth`: of their modules, where these are shown
    with them. `alone`: the page is about one model, and says the rest elsewhere."""

    models: tuple[ModelReport, ...]
    make_table: Callable[[Iterable[ModelReport]], Table]
    depth: int | None = None
    alone: bool = False

    @property
    def table(self) -> Table:
        return self.make_table(self.models)


@dataclass(frozen=True, slots=True)
class JudgedBudget:
    """One budget: a glob is one, whatever it matches. `results`: one for each module that it
    selects, or one without a count where nothing was measured. `findings`: what is reported of it;
    nothing where that was silenced."""

    model: ModelReport
    results: tuple[BudgetResult, ...]
    findings: tuple[Finding, ...]

    @property
    def prose(self) -> bool:
        return self.results[0].origin == "prose"

    @property
    def declared(self) -> str:
        return style.clean(self.results[0].declared)

    @property
    def name(self) -> str:
        """`nets/vit.py::ViT(depth=24)[blocks.*]`"""
        selector = self.results[0].selector
        return style.clean(self.model.target + (f"[{selector}]" if selector else ""))

    @property
    def state(self) -> State:
        if all(result.ok for result in self.results):
            return "holds"
        if not self.findings:
            return "ignored"
        measured = all(result.actual is not None for result in self.results)
        return "broken" if measured else "not checked"

    @property
    def mark(self) -> str:
        """✓, ✗, ! (a warning) or – (silenced)."""
        return worst(self.findings) or ("✓" if self.state == "holds" else "–")


def total_of(model: ModelReport) -> int | None:
    """None where it was not measured."""
    return model.measurement.counts.total if isinstance(model.measurement, Measured) else None


def is_empty(model: ModelReport) -> bool:
    """Whether there is nothing to report: no parameters, and no claim of any."""
    return total_of(model) == 0 and not (model.declared or model.budgets or model.findings)


def is_undeclared(report: Report) -> bool:
    """Whether nothing is declared: then the report shows what is there, rather than verdicts."""
    return not any(
        model.declared or model.budgets or total_of(model) is None for model in report.models
    )


def worst(findings: Iterable[Finding]) -> str:
    """✗ if one is an error, ! if all are warnings, and nothing if there are none."""
    severities = {finding.severity for finding in findings}
    return "✗" if "error" in severities else "!" if severities else ""


def all_budgets(report: Report) -> list[JudgedBudget]:
    return [claim for model in report.models for claim in budgets_of(model)]


def declared_budgets(report: Report) -> tuple[list[JudgedBudget], set[Finding]]:
    """The budgets that are not prose, with their findings."""
    declared = [claim for claim in all_budgets(report) if not claim.prose]
    return declared, {finding for claim in declared for finding in claim.findings}


def budgets_of(model: ModelReport) -> list[JudgedBudget]:
    return [
        JudgedBudget(model, tuple(group), tuple(findings))
        for group, findings in _with_findings(_as_declared(model.budgets), model)
    ]


def _with_findings(
    groups: Iterable[list[BudgetResult]], model: ModelReport
) -> Iterator[tuple[list[BudgetResult], Iterable[Finding]]]:
    measured = model.measurement
    if not isinstance(measured, Measured):  # one finding stands for all budgets of the model
        about = [finding for finding in model.findings if finding.code == measured.code]
        yield from ((group, about) for group in groups)
        return
    at = grouped(model.findings, lambda finding: finding.position)
    for group in groups:
        near = at.get(group[0].position, ())
        yield group, (finding for finding in near if _is_about(finding, group))


def _as_declared(results: Iterable[BudgetResult]) -> list[list[BudgetResult]]:
    """Those of one declared budget together."""
    groups = grouped(results, lambda one: (one.declared, one.selector, one.origin, one.position))
    return list(groups.values())


def _is_about(finding: Finding, group: Sequence[BudgetResult]) -> bool:
    """Of a finding where the budget stands."""
    if group[0].actual is None:
        return finding.code in _UNJUDGED
    broken = not all(result.ok for result in group)
    return finding.code in (_ON_RESULTS if broken else ("NPL011",))


# --- lines ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Line:
    """`tail` is kept whole where `verdict` must be cut. Without a name and a count, the verdict has
    the line for itself."""

    mark: str
    name: str
    count: str
    verdict: str
    tail: str = ""
    level: int = 0

    @property
    def start(self) -> int:
        return 2 * self.level + 2

    @property
    def formula(self) -> bool:
        return self.verdict.startswith("= ")


def verdict_lines(block: ModelBudgets, width: int, paint: Paint) -> list[str]:
    """Below the path of each file its models; the variants of one stand together. Beside the path,
    why they are checked although it was not given."""
    files: dict[str, dict[str, list[_Line]]] = {}
    reasons: dict[str, dict[str, None]] = {}
    for model in block.models:
        where, _, name = style.clean(model.target).partition("::")
        if not name:  # a config file: what builds it stands in its place
            name = style.clean(getattr(model.measurement, "call", "model"))
        if model.because:
            reasons.setdefault(where, {})[style.clean(model.because)] = None
        variants = files.setdefault(where, {}).setdefault(name.partition("(")[0], [])
        variants += _lines(model, name)
    groups = {w: [n for lines in found.values() for n in lines] for w, found in files.items()}
    if block.alone:
        return [text for lines in groups.values() for text in _laid_out([lines], width, paint)[0]]
    text = []
    found = _laid_out(list(groups.values()), width - 2, paint)
    for where, lines in zip(groups, found, strict=True):
        text.append(paint("bold", style.elide_middle(where, width)))
        for reason in reasons.get(where, ()):
            text += [paint("dim", line) for line in style.wrap(reason, width, "  ", "  ")]
        text += ["  " + line for line in lines]
    return text


def _laid_out(groups: Sequence[Sequence[_Line]], width: int, paint: Paint) -> list[list[str]]:
    """In columns, the same for all groups. Names first: a formula may stand below, and a reason may
    be cut, but never a drift."""
    table = [line for lines in groups for line in lines if line.name or line.count]
    counts = max((len(line.count) for line in table), default=0)
    room = width - counts - 4
    longest = max((line.start + len(line.name) for line in table), default=0)
    needed = (
        0 if line.formula else min(len(line.verdict), _VERDICT) + len(line.tail) for line in table
    )
    labels = min(longest, max(room - max(needed, default=0), room // 2))
    found = []
    for lines in groups:
        short = {
            start: style.elide_apart((n.name for n in lines if n.start == start), labels - start)
            for start in {line.start for line in lines}
        }
        made = (_told(n, short[n.start][n.name], (labels, counts, width), paint) for n in lines)
        found.append([text for texts in made for text in texts])
    return found


def _told(line: _Line, name: str, widths: tuple[int, int, int], paint: Paint) -> list[str]:
    """A formula that is too long for its column stands after the name, else below it."""
    labels, counts, width = widths
    lead = " " * (line.start - 2) + paint(
        "green" if line.mark == "✓" else _COLORS[line.mark], line.mark
    )
    head = f"{lead} {name:<{labels - line.start}}  {line.count:>{counts}}"

    def verdict(room: int) -> str:
        text = style.elide_end(line.verdict, room - len(line.tail)) + line.tail
        return paint(_COLORS[line.mark], text)

    if not line.name and not line.count:
        return [f"{lead} {verdict(width - line.start)}"]
    length, room = len(line.verdict) + len(line.tail), width - labels - counts - 4
    if not line.formula or length <= room:
        return [f"{head}  {verdict(room)}".rstrip()]
    gap = labels - line.start - len(name) - 1 - length
    if gap >= 0:
        return [f"{lead} {name} {verdict(length)}{' ' * gap}  {line.count:>{counts}}"]
    return [head, " " * (line.start + 2) + verdict(width - line.start - 2)]


def _lines(model: ModelReport, name: str) -> list[_Line]:
    shown = {_line_of(budget) for budget in model.budgets}
    stray = [f for f in model.findings if f.code not in _ON_BUDGETS or _line_of(f) not in shown]
    codes = " ".join(sorted({finding.code for finding in stray}))
    marks = [worst([finding]) for finding in stray]
    measured = model.measurement
    if not isinstance(measured, Measured):
        reason = f"not measured: {style.short_reason(measured.reason, name)}"
        return [_Line(worst(model.findings) or "–", name, "–", reason)]
    totals = [b for b in model.budgets if not (b.selector or b.module)]
    main = min(totals, key=lambda budget: budget.origin == "prose", default=None)
    rest = _as_declared(budget for budget in model.budgets if budget is not main)
    lines = [line for group in rest for line in _group_lines(group, model)]
    verdict, tail = codes or "no budget", ""
    if main is not None:
        verdict, tail = _verdict(main)
        tail += f"  {codes}" if codes else ""
        marks.append(_budget_mark(main, model))
    else:
        verdict = codes if lines else verdict
        marks += [line.mark for line in lines]
    mark = min([*marks, "–"], key=_WORST.index)
    return [_Line(mark, name, f"{measured.counts.total:,}", verdict, tail), *lines]


def _group_lines(group: list[BudgetResult], model: ModelReport) -> list[_Line]:
    """One line for what holds, one for each (of a few) that does not; a glob gives many."""
    held = [budget for budget in group if budget.ok]
    broken = [budget for budget in group if not budget.ok]
    lines = [_part(budget, model) for budget in broken[:_PARTS]]
    if len(broken) > _PARTS:
        lines.append(_Line(lines[0].mark, f"… and {len(broken) - _PARTS:,} more", "", "", "", 1))
    if held:
        line = _part(held[0], model)
        if len(held) > 1:
            same = len({budget.actual for budget in held}) == 1
            count = f"{len(held):,} × {line.count}" if same else f"{len(held):,} modules"
            line = replace(line, name=_modules(held), count=count)
        lines.append(line)
    return lines


def _part(budget: BudgetResult, model: ModelReport) -> _Line:
    mark, (verdict, tail) = _budget_mark(budget, model), _verdict(budget)
    name = _modules([budget])
    if not name:  # the count stands above
        return _Line(mark, "", "", verdict, tail, 1)
    count = "–" if budget.actual is None else f"{budget.actual:,}"
    return _Line(mark, name, count, verdict, tail, 1)


def _modules(budgets: Sequence[BudgetResult]) -> str:
    """The selector of budgets, and the modules that one of a glob, or of a class, is about."""
    first, last = budgets[0], budgets[-1]
    names = [f"[{style.clean(first.selector)}]"] if first.selector else []
    if first is last and first.module not in (None, first.selector):
        names.append(style.clean(first.module or ""))
    elif not first.selector:
        names += [f"{style.clean(one.module or '')}" for one in (first, last)]
        return " … ".join(filter(None, names))
    return " ".join(names)


def _verdict(budget: BudgetResult) -> tuple[str, str]:
    declared, prose = style.clean(budget.declared), budget.origin == "prose"
    if budget.actual is None:
        return f"declared {declared}", "  not measured"
    if not budget.ok:
        said = "prose says" if prose else "declared"
        return f"{said} {declared}", f"  {style.drift(budget)}".rstrip()
    where = " (prose)" if prose else ""
    if budget.low == budget.high:
        plain = declared.replace("_", "").replace(",", "").isdecimal()
        return "exact" if plain else f"= {declared}", where
    bare = declared[:1].isdecimal() and not any(sign in declared for sign in ("..", "±", "+/-"))
    return f"≈ {declared}" if bare else declared, where


def _line_of(item: BudgetResult | Finding) -> tuple[str, int]:
    return item.position.path, item.position.line


def _budget_mark(budget: BudgetResult, model: ModelReport) -> str:
    found = (
        finding
        for finding in model.findings
        if _line_of(finding) == _line_of(budget)
        # A formula may hold for these arguments and be wrong for others.
        and finding.code in (("NPL011",) if budget.ok else _ON_BUDGETS)
    )
    return worst(found) or ("✓" if budget.ok else "!" if budget.origin == "prose" else "✗")
