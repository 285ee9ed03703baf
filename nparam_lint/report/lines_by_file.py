"""What is said of models as lines of text, below the path of each file, fitted to a width: the
verdicts on their budgets,

nanogpt/model.py
  ✓ GPT                     124,475,904  exact
    ✓ = vocab_size*n_embd + n_layer*(12*n_embd**2 + 13*n_embd) + 2*n_embd
    ✓ [transformer.h.*]  12 × 7,087,872  7.1M ± 1%

and listings.

nanogpt/model.py
  ~ GPT    124,475,904 → 132,155,392  +7,679,488  (+6.17 %)
  + Probe                        770  new
  − Old         50,890                gone
  → Tiny                       4,266  unchanged
      was Small (the same 6 modules)
  ! ViT  not measured now: No module named 'einops'; 54,630,376 at main
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from nparam_lint.count.measured import Measured
from nparam_lint.gate.report import ModelReport
from nparam_lint.ground.findings import BudgetResult
from nparam_lint.ground.printable import clean
from nparam_lint.report import Listing, ListingLine, style
from nparam_lint.report.budget_outcomes import ON_BUDGETS, budgets_of, counts_words, worst
from nparam_lint.report.style import columns, padded

if TYPE_CHECKING:
    from nparam_lint.report.budget_outcomes import JudgedBudget, ModelBudgets
    from nparam_lint.report.style import Paint

_NAME, _VERDICT = 8, 24  # characters that they have at least
_HANG = 6  # where a reason below its name begins
_WORST = "✗!✓–"
_PARTS = 3


# --- verdicts -------------------------------------------------------------------------------------


class _Line(Struct, frozen=True):
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
        where, _, name = clean(model.target).partition("::")
        if not name:  # a config file: what builds it stands in its place
            name = clean(getattr(model.measurement, "call", "model"))
        if model.because:
            reasons.setdefault(where, {})[clean(model.because)] = None
        variants = files.setdefault(where, {}).setdefault(name.partition("(")[0], [])
        variants += _lines(model, name)
    groups = [[*chain.from_iterable(models.values())] for models in files.values()]
    if block.alone:
        return [*chain.from_iterable(_laid_out(groups, width, paint))]
    text = []
    for where, lines in zip(files, _laid_out(groups, width - 2, paint), strict=True):
        text.append(paint("bold", style.elide_middle(where, width)))
        for reason in reasons.get(where, ()):
            text += [paint("dim", line) for line in style.wrap(reason, width, "  ", "  ")]
        text += ["  " + line for line in lines]
    return text


def _laid_out(groups: Sequence[Sequence[_Line]], width: int, paint: Paint) -> Iterator[list[str]]:
    """In columns, the same for all groups. Names first: a formula may stand below, and a reason may
    be cut, but never a drift."""
    table = [line for lines in groups for line in lines if line.name or line.count]
    counts = max((len(line.count) for line in table), default=0)
    room = width - counts - 4
    longest = max((line.start + columns(line.name) for line in table), default=0)
    needed = (
        0 if line.formula else min(columns(line.verdict), _VERDICT) + len(line.tail)
        for line in table
    )
    labels = min(longest, max(room - max(needed, default=0), room // 2))
    for lines in groups:
        short = {
            start: style.elide_apart((n.name for n in lines if n.start == start), labels - start)
            for start in {line.start for line in lines}
        }
        texts = (_text(n, short[n.start][n.name], (labels, counts, width), paint) for n in lines)
        yield [*chain.from_iterable(texts)]


def _text(line: _Line, name: str, widths: tuple[int, int, int], paint: Paint) -> list[str]:
    """A formula that is too long for its column stands after the name, else below it."""
    labels, counts, width = widths
    tone = "green" if line.mark == "✓" else style.MARK_TONES[line.mark]
    lead = " " * (line.start - 2) + paint(tone, line.mark)
    head = f"{lead} {padded(name, labels - line.start)}  {line.count:>{counts}}"

    def verdict(room: int) -> str:
        text = style.elide_end(line.verdict, room - len(line.tail)) + line.tail
        return paint(style.MARK_TONES[line.mark], text)

    if not line.name and not line.count:
        return [f"{lead} {verdict(width - line.start)}"]
    length, room = len(line.verdict) + len(line.tail), width - labels - counts - 4
    if not line.formula or length <= room:
        return [f"{head}  {verdict(room)}".rstrip()]
    gap = labels - line.start - columns(name) - 1 - length
    if gap >= 0:
        return [f"{lead} {name} {verdict(length)}{' ' * gap}  {line.count:>{counts}}"]
    return [head, " " * (line.start + 2) + verdict(width - line.start - 2)]


def _lines(model: ModelReport, name: str) -> list[_Line]:
    """That of the model, with the verdict on its total; below it those of the other budgets."""
    measured = model.measurement
    if not isinstance(measured, Measured):
        reason = f"not measured: {style.short_reason(measured.reason, name)}"
        return [_Line(worst(model.findings) or "–", name, "–", reason)]
    shown = {str(budget.position) for budget in model.budgets}
    stray = [f for f in model.findings if f.code not in ON_BUDGETS or str(f.position) not in shown]
    codes = " ".join(sorted({finding.code for finding in stray}))
    marks = [worst([finding]) for finding in stray]
    claims = budgets_of(model)
    totals = (c for c in claims if not (c.results[0].selector or c.results[0].module))
    main = next(totals, None)
    lines: list[_Line] = []
    for claim in (claim for claim in claims if claim is not main):
        # One line for what holds, one for each (of a few) that does not; a glob gives many.
        mark, failures = _mark(claim), claim.failures
        lines += [_part([result], mark) for result in failures[:_PARTS]]
        if len(failures) > _PARTS:
            lines.append(_Line(mark, f"… and {len(failures) - _PARTS:,} more", "", "", "", 1))
        if successes := claim.successes:
            lines.append(_part(successes, "✓" if failures else mark))
    if main is not None:
        verdict, tail = _verdict(main.results[0])
        tail += f"  {codes}" if codes else ""
        marks.append(_mark(main))
    else:
        verdict, tail = codes or ("" if lines else "no budget"), ""
        marks += [line.mark for line in lines]
    mark = min([*marks, "–"], key=_WORST.index)
    return [_Line(mark, name, f"{measured.counts.total:,}", verdict, tail), *lines]


def _mark(claim: JudgedBudget) -> str:
    """✗ or ! also where a budget does not hold and its finding was silenced."""
    holds = claim.state == "holds"
    return worst(claim.findings) or ("✓" if holds else "✗")


def _part(results: Sequence[BudgetResult], mark: str) -> _Line:
    """Called after the selector, and the modules that one of a glob, or of a class, is about."""
    first, last = results[0], results[-1]
    names, between = [f"[{clean(first.selector)}]"] if first.selector else [], " "
    if first is last and first.module not in (None, first.selector):
        names.append(clean(first.module or ""))
    elif not first.selector:
        ends = (clean(result.module or "") for result in (first, last))
        names, between = [*filter(None, ends)], " … "
    name, (verdict, tail) = between.join(names), _verdict(first)
    count = counts_words(results) or "–"
    return _Line(mark, name, count if name else "", verdict, tail, 1)  # else it stands above


def _verdict(budget: BudgetResult) -> tuple[str, str]:
    declared = clean(budget.declared)
    if budget.actual is None:
        return f"declared {declared}", "  not measured"
    if not budget.ok:
        return f"declared {declared}", f"  {style.drift(budget)}".rstrip()
    if budget.low == budget.high:
        plain = declared.replace("_", "").replace(",", "").isdecimal()
        return "exact" if plain else f"= {declared}", ""
    bare = declared[:1].isdecimal() and not any(sign in declared for sign in ("..", "±", "+/-"))
    return f"≈ {declared}" if bare else declared, ""


# --- listings -------------------------------------------------------------------------------------


def listing_lines(listing: Listing, width: int, paint: Paint) -> list[str]:
    files = [(clean(place), [*map(_printable, entries)]) for place, entries in listing.files]
    laid_out = _Columns([entry for _, entries in files for entry in entries], width - 2)
    text = []
    for place, entries in files:
        text.append(paint("bold", style.elide_middle(place, width)))
        lines = (
            _reasons(entries, width, paint) if listing.reasons else laid_out.render(entries, paint)
        )
        text += [f"  {line}" for line in lines]
    return text


def _printable(entry: ListingLine) -> ListingLine:
    texts = {name: clean(getattr(entry, name)) for name in ("name", "verdict", "below")}
    return replace(entry, **texts)


def _reasons(entries: Sequence[ListingLine], width: int, paint: Paint) -> list[str]:
    """A name that is too long for its column has a line for itself."""
    names = [columns(entry.name) for entry in entries]
    column = max((name for name in names if name <= width // 3), default=_NAME)
    text = []
    for entry in entries:
        head = f"{paint(entry.tone, entry.mark)} "
        hang = column + 4
        if columns(entry.name) > column:
            name, *more = style.wrap(entry.name, width - 4)
            text += [head + name, *(f"  {part}" for part in more)]
            hang = _HANG
            lines = style.wrap(entry.verdict, width - hang - 2)
        else:
            first, *lines = style.wrap(entry.verdict, width - hang - 2)
            text.append(f"{head}{padded(entry.name, column)}  {paint(entry.tone, first)}")
        text += [" " * hang + paint(entry.tone, line) for line in lines]
    return text


class _Columns:
    """Names are cut before counts and changes are."""

    def __init__(self, entries: Iterable[ListingLine], width: int) -> None:
        table = [entry for entry in entries if entry.counted]
        self.width = width
        self.before = _widest(entry.before for entry in table)
        self.after = _widest(entry.after for entry in table)
        self.delta = _widest(entry.delta for entry in table)
        self.arrow = 3 if self.before and self.after else 0
        counts = self.before + self.arrow + self.after
        needed = _widest(entry.verdict[:_VERDICT] for entry in table if entry.delta)
        room = width - counts - self.delta - needed - 8
        self.names = min(_widest(entry.name for entry in table), max(room, _NAME))
        self.start = 4 + self.names + counts
        if self.start + 2 + self.delta > width:  # it stands below, then
            self.delta = 0

    def render(self, entries: Sequence[ListingLine], paint: Paint) -> list[str]:
        short = style.elide_apart([entry.name for entry in entries if entry.counted], self.names)
        text = []
        for entry in entries:
            mark = paint(entry.tone, entry.mark)
            if not entry.counted:
                words = f"{entry.name}  {entry.verdict}"
                first, *more = style.wrap(words, self.width - 2, hang="    ")
                text += [f"{mark} {first}", *(f"  {part}" for part in more)]
                continue
            arrow = " → " if entry.before and entry.after else " " * self.arrow
            head = f"{mark} {padded(short[entry.name], self.names)}"
            head += f"  {entry.before:>{self.before}}{arrow}{entry.after:>{self.after}}"
            start, verdict = self.start, entry.verdict
            if entry.delta and self.delta:
                head += "  " + paint(entry.tone, f"{entry.delta:>{self.delta}}")
                start += 2 + self.delta
            elif entry.delta:
                verdict = f"{entry.delta} {verdict}"
            below = [(entry.tone, verdict), ("dim", entry.below)]
            if start + columns(verdict) <= self.width:
                head += f"  {paint(*below.pop(0))}"
            text.append(head.rstrip())
            for tone, words in below:
                parts = style.wrap(words, self.width, "    ", "    ") if words else ()
                text += [paint(tone, part) for part in parts]
        return text


def _widest(texts: Iterable[str]) -> int:
    return max(map(columns, texts), default=0)
