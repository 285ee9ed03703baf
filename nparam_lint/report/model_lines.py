"""Lines about models below the path of each file, fitted to a width: those of a check, with what
was counted and what was declared,

    nanogpt/model.py
      ✓ GPT                     124,475,904  exact
        ✓ = vocab_size*n_embd + n_layer*(12*n_embd**2 + 13*n_embd) + 2*n_embd
        ✓ [transformer.h.*]  12 × 7,087,872  7.1M ± 1%

and any other listing.

    nanogpt/model.py
      ~ GPT    124,475,904 → 132,155,392  +7,679,488  (+6.17 %)
      + Probe                        770  new
      − Old         50,890                gone
      → Tiny                       4,266  unchanged
          was Small (the same 6 modules)
      ! ViT  not measured now: No module named 'einops'; 54,630,376 at main
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from nparam_lint.records import Measured
from nparam_lint.report import style
from nparam_lint.report.budget_outcomes import as_declared, worst

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from nparam_lint.records import BudgetResult, Finding, ModelReport
    from nparam_lint.report.document import Listing, ListingLine
    from nparam_lint.report.style import Paint

_COLORS = {"✓": "green", "✗": "red", "!": "yellow", "–": "dim"}
_WORST = "✗!✓–"
_ON_BUDGETS = ("NPL001", "NPL002", "NPL007", "NPL011", "NPL013")
_PARTS = 3
_NAME, _VERDICT = 8, 24  # characters that they have at least


# --- verdicts -------------------------------------------------------------------------------------


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
    def alone(self) -> bool:
        return not self.name and not self.count

    @property
    def needed(self) -> int:
        """What it needs of the width, beside its name and its count."""
        return 0 if self.formula else min(len(self.verdict), _VERDICT) + len(self.tail)

    @property
    def formula(self) -> bool:
        return self.verdict.startswith("= ")


def verdict_lines(models: Sequence[ModelReport], width: int, paint: Paint) -> list[str]:
    """Below the path of each file its models; the variants of one stand together."""
    files: dict[str, dict[str, list[_Line]]] = {}
    for model in models:
        where, _, name = style.clean(model.target).partition("::")
        variants = files.setdefault(where, {}).setdefault(name.partition("(")[0], [])
        variants += _lines(model, name)
    groups = {w: [n for lines in found.values() for n in lines] for w, found in files.items()}
    columns = _VerdictColumns([line for lines in groups.values() for line in lines], width - 2)
    text = []
    for where, lines in groups.items():
        text.append(paint("bold", style.elide_middle(where, width)))
        text += ["  " + line for line in columns.render(lines, paint)]
    return text


def verdict_lines_of(model: ModelReport, width: int, paint: Paint) -> list[str]:
    """Those of one model, whose path has been said."""
    lines = _lines(model, style.clean(model.target).partition("::")[2])
    return _VerdictColumns(lines, width).render(lines, paint)


class _VerdictColumns:
    """Names first: a formula may stand below, and a reason may be cut, but never a drift."""

    def __init__(self, lines: Sequence[_Line], width: int) -> None:
        table = [line for line in lines if not line.alone]
        self.width = width
        self.counts = max((len(line.count) for line in table), default=0)
        room = width - self.counts - 4
        longest = max((2 * line.level + 2 + len(line.name) for line in table), default=0)
        self.labels = min(longest, max(room - max((n.needed for n in table), default=0), room // 2))

    def render(self, lines: Sequence[_Line], paint: Paint) -> list[str]:
        short: dict[int, dict[str, str]] = {}
        for level in (0, 1):
            names = [line.name for line in lines if line.level == level]
            short[level] = style.elide_apart(names, self.labels - 2 * level - 2)
        return [
            text for line in lines for text in self._line(line, short[line.level][line.name], paint)
        ]

    def _line(self, line: _Line, name: str, paint: Paint) -> list[str]:
        """A formula that is too long for its column stands after the name, else below it."""
        mark, color = paint(_COLORS[line.mark], line.mark), _COLORS[line.mark]
        color = "dim" if line.mark == "✓" else color
        lead, start = "  " * line.level + mark, 2 * line.level + 2
        room = self.labels - start
        after = self.width - self.labels - self.counts - 4
        told = style.elide_end(line.verdict, after - len(line.tail)) + line.tail
        if line.alone:
            told = style.elide_end(line.verdict, self.width - start - len(line.tail)) + line.tail
            return [f"{lead} {paint(color, told)}"]
        if not line.formula or len(line.verdict) + len(line.tail) <= after:
            text = f"{lead} {name:<{room}}  {line.count:>{self.counts}}  {paint(color, told)}"
            return [text.rstrip()]
        whole = f"{line.verdict}{line.tail}"
        gap = room - len(name) - 1 - len(whole)
        if gap >= 0:
            label = f"{name} {paint(color, whole)}{' ' * gap}"
            return [f"{lead} {label}  {line.count:>{self.counts}}"]
        below = style.elide_end(line.verdict, self.width - start - 2 - len(line.tail)) + line.tail
        text = f"{lead} {name:<{room}}  {line.count:>{self.counts}}"
        return [text, " " * (start + 2) + paint(color, below)]


def _lines(model: ModelReport, name: str) -> list[_Line]:
    measured = model.measurement
    stray = _stray(model)
    codes = " ".join(sorted({finding.code for finding in stray}))
    marks = [worst([finding]) for finding in stray]
    if not isinstance(measured, Measured):
        reason = f"not measured: {style.short_reason(measured.reason, name)}"
        return [_Line(min(marks or "–", key=_WORST.index), name, "–", reason)]
    totals = [budget for budget in model.budgets if not budget.selector]
    main = min(totals, key=lambda budget: budget.origin == "prose", default=None)
    rest = as_declared(budget for budget in model.budgets if budget is not main)
    lines = [line for group in rest for line in _group_lines(group, model)]
    total = f"{measured.counts.total:,}"
    if main is not None:
        verdict, tail = _verdict(main)
        mark = min(*marks, _budget_mark(main, model), "–", key=_WORST.index)
        head = _Line(mark, name, total, verdict, tail + (f"  {codes}" if codes else ""))
    elif lines or stray:
        head = _Line(
            min([*marks, *(line.mark for line in lines)], key=_WORST.index), name, total, codes
        )
    else:
        head = _Line("–", name, total, "no budget")
    return [head, *lines]


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
            line = replace(line, name=f"[{style.clean(held[0].selector)}]", count=count)
        lines.append(line)
    return lines


def _part(budget: BudgetResult, model: ModelReport) -> _Line:
    mark, (verdict, tail) = _budget_mark(budget, model), _verdict(budget)
    selector = style.clean(budget.selector)
    if not selector:  # the count stands above
        return _Line(mark, "", "", verdict, tail, 1)
    name = f"[{selector}]"
    if budget.module is not None and budget.module != budget.selector:
        name += f" {style.clean(budget.module)}"
    count = "–" if budget.actual is None else f"{budget.actual:,}"
    return _Line(mark, name, count, verdict, tail, 1)


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


def _stray(model: ModelReport) -> list[Finding]:
    """The findings that no budget's own line tells."""
    told = {_line_of(budget) for budget in model.budgets}
    return [f for f in model.findings if f.code not in _ON_BUDGETS or _line_of(f) not in told]


def _budget_mark(budget: BudgetResult, model: ModelReport) -> str:
    found = (
        finding
        for finding in model.findings
        if _line_of(finding) == _line_of(budget)
        # A formula may hold for these arguments and be wrong for others.
        and finding.code in (("NPL011",) if budget.ok else _ON_BUDGETS)
    )
    return worst(found) or ("✓" if budget.ok else "!" if budget.origin == "prose" else "✗")


# --- any listing ----------------------------------------------------------------------------------


def listing_lines(listing: Listing, width: int, paint: Paint) -> list[str]:
    columns = _Columns([entry for _, found in listing.files for entry in found], width - 2)
    text = []
    for place, entries in listing.files:
        text.append(paint("bold", style.elide_middle(place, width)))
        lines = _brief(entries, width, paint) if listing.brief else columns.render(entries, paint)
        text += [f"  {line}" for line in lines]
    return text


def _brief(entries: Sequence[ListingLine], width: int, paint: Paint) -> list[str]:
    names = [entry.name for entry in entries]
    column = min(max(map(len, names)), width // 2)
    short = style.elide_apart(names, column)
    return [
        f"{paint(entry.tone, entry.mark)} {short[entry.name]:<{column}}  "
        f"{paint(entry.tone, style.elide_end(entry.verdict, width - column - 6))}".rstrip()
        for entry in entries
    ]


class _Columns:
    """Names are cut before counts and changes are."""

    def __init__(self, entries: Sequence[ListingLine], width: int) -> None:
        table = [entry for entry in entries if entry.counted]
        self.width = width
        self.before = _widest(entry.before for entry in table)
        self.after = _widest(entry.after for entry in table)
        self.delta = _widest(entry.delta for entry in table)
        self.arrow = 3 if self.before and self.after else 0
        self.counts = self.before + self.arrow + self.after
        needed = _widest(entry.verdict[:_VERDICT] for entry in table if entry.delta)
        room = width - self.counts - self.delta - needed - 8
        longest = _widest(entry.name for entry in table)
        self.names = min(longest, max(room, _NAME))
        if 6 + self.names + self.counts + self.delta > width:  # it stands below, then
            self.delta = 0

    def render(self, entries: Sequence[ListingLine], paint: Paint) -> list[str]:
        short = style.elide_apart([entry.name for entry in entries if entry.counted], self.names)
        text = []
        for entry in entries:
            mark = paint(entry.tone, entry.mark)
            if entry.counted:
                text += self._counted(entry, f"{mark} {short[entry.name]:<{self.names}}", paint)
            else:
                told = f"{entry.name}  {entry.verdict}"
                first, *more = style.wrap(told, self.width - 2, hang="    ")
                text += [f"{mark} {first}", *(f"  {part}" for part in more)]
        return text

    def _counted(self, entry: ListingLine, head: str, paint: Paint) -> list[str]:
        arrow = " → " if entry.before and entry.after else " " * self.arrow
        head += f"  {entry.before:>{self.before}}{arrow}{entry.after:>{self.after}}"
        used, verdict = 4 + self.names + self.counts, entry.verdict
        if entry.delta and self.delta:
            head += "  " + paint(entry.tone, f"{entry.delta:>{self.delta}}")
            used += 2 + self.delta
        elif entry.delta:
            verdict = f"{entry.delta} {verdict}"
        below = [(entry.tone, verdict), ("dim", entry.below)]
        if used + len(verdict) <= self.width:
            head = f"{head}  {paint(entry.tone, verdict)}" if verdict else head
            below = below[1:]
        parts = [
            paint(tone, part)
            for tone, told in below
            if told
            for part in style.wrap(told, self.width, "    ", "    ")
        ]
        return [head.rstrip(), *parts]


def _widest(texts: Iterable[str]) -> int:
    return max(map(len, texts), default=0)
