"""One line for each model that is not as it was, below the path of its file:

nanogpt/model.py
  ~ GPT    124,475,904 → 132,155,392  +7,679,488 (+6.17 %)
  + Probe                        770  new
  − Old         50,890                gone
  → Tiny         4,266                was Small: the same 6 modules
  ! ViT    not measured now: No module named 'einops'; 54,630,376 at main
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nparam_lint.report import style
from nparam_lint.report.drift import words
from nparam_lint.report.style import clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from nparam_lint.analysis.diff import DiffReport, ModelDiff
    from nparam_lint.report import Options
    from nparam_lint.report.style import Paint

_COLORS = {"~": "yellow", "→": "cyan", "+": "green", "−": "red", "!": "red", "=": "dim"}
_NAME, _VERDICT = 8, 24  # characters that they have at least
_ALIKE = 2  # models that share a line where they share what is said of them


@dataclass(frozen=True, slots=True)
class _Line:
    """`delta` and `verdict` follow the counts; where there are none, `verdict` follows the name.
    `below`: on a line of its own."""

    mark: str
    name: str
    before: str = ""
    after: str = ""
    delta: str = ""
    verdict: str = ""
    below: str = ""
    counted: bool = True


def verdict_lines(report: DiffReport, options: Options, paint: Paint) -> list[str]:
    files: dict[str, list[ModelDiff]] = {}
    for model in report.models:
        if options.verbose or (model.status != "same" and words.is_shown(model)):
            files.setdefault(words.place_of(model), []).append(model)
    found = {place: _lines(models, report) for place, models in files.items()}
    columns = _Columns([line for lines in found.values() for line in lines], options.width - 2)
    text = []
    for place, lines in found.items():
        text.append(paint("bold", style.elide_middle(place, options.width)))
        text += ["  " + line for line in columns.render(lines, paint)]
    return text


def _lines(models: Sequence[ModelDiff], report: DiffReport) -> list[_Line]:
    """Files that moved as they were, and what fails for one reason, in one line."""
    groups: dict[object, list[ModelDiff]] = {}
    for model in models:
        groups.setdefault(_alike(model), []).append(model)
    lines = []
    for group in groups.values():
        if len(group) < _ALIKE:
            lines += [_line(model, report) for model in group]
            continue
        first = _line(group[0], report)
        names = ", ".join(words.name_of(model) for model in group)
        verdict = first.verdict
        if group[0].status == "renamed":
            old = clean(group[0].before_target or "").partition("::")[0]
            verdict = f"moved from {old}, unchanged"
        lines.append(_Line(first.mark, names, verdict=verdict, counted=False))
    return lines


def _alike(model: ModelDiff) -> object:
    if model.status == "not_measured":
        return model.reasons, model.total_before is None, model.total_after is None
    old, _, name = (model.before_target or "").partition("::")
    if model.status == "renamed" and not words.is_changed(model) and not model.modules:
        return old if name == model.target.partition("::")[2] else model.target
    return model.target, id(model)


def _line(model: ModelDiff, report: DiffReport) -> _Line:
    mark, name = words.MARKS[model.status], words.name_of(model)
    before, after = model.total_before, model.total_after
    codes = "  ".join(sorted({finding.code for finding in model.findings}))
    if model.status == "not_measured":
        why = [*words.unmeasured_words(model, report), *words.known_count(model, report)]
        verdict = "; ".join(why)
        return _Line(mark, name, verdict=verdict, counted=False)
    if model.status == "added":
        told = "new" if model.explained is None else "new, with a budget"
        return _Line(mark, name, "", f"{after:,}", verdict=told)
    if model.status == "removed":
        told = "gone" if not codes else f"gone, but declared  {codes}"
        return _Line(mark, name, f"{before:,}", verdict=told)
    if model.status == "same":
        return _Line(mark, name, "", f"{after:,}", verdict="unchanged")
    below = [] if not model.before_target else [_was(model)]
    below += [model.explanation or ""] if model.explained else []
    told = "; ".join(clean(text) for text in below)
    if model.delta and before is not None and after is not None:
        share = words.proportion(before, after)
        verdict = "  ".join(part for part in (f"({share})" if share else "", codes) if part)
        delta = words.signed(model.delta)
        return _Line(mark, name, f"{before:,}", f"{after:,}", delta, verdict, told)
    return _Line(mark, name, "", f"{after:,}", verdict=words.beside_total(model), below=told)


def _was(model: ModelDiff) -> str:
    old = model.before_target or ""
    place, _, name = old.partition("::")
    here = name if place == model.target.partition("::")[0] else old
    return f"was {here} ({model.evidence})" if model.evidence else f"was {here}"


class _Columns:
    """Names are cut before counts and changes are."""

    def __init__(self, lines: Sequence[_Line], width: int) -> None:
        table = [line for line in lines if line.counted]
        self.width = width
        self.before = _widest(line.before for line in table)
        self.after = _widest(line.after for line in table)
        self.delta = _widest(line.delta for line in table)
        self.arrow = 3 if self.before and self.after else 0
        self.counts = self.before + self.arrow + self.after
        needed = _widest(line.verdict[:_VERDICT] for line in table if line.delta)
        room = width - self.counts - self.delta - needed - 8
        longest = _widest(line.name for line in table)
        self.names = min(longest, max(room, _NAME))
        if 6 + self.names + self.counts + self.delta > width:  # it stands below, then
            self.delta = 0

    def render(self, lines: Sequence[_Line], paint: Paint) -> list[str]:
        short = style.elide_apart([line.name for line in lines if line.counted], self.names)
        text = []
        for line in lines:
            mark = paint(_COLORS[line.mark], line.mark)
            if line.counted:
                text += self._counted(line, f"{mark} {short[line.name]:<{self.names}}", paint)
            else:
                told = f"{line.name}  {line.verdict}"
                first, *more = style.wrap(told, self.width - 2, hang="    ")
                text += [f"{mark} {first}", *(f"  {part}" for part in more)]
        return text

    def _counted(self, line: _Line, head: str, paint: Paint) -> list[str]:
        arrow = " → " if line.before and line.after else " " * self.arrow
        head += f"  {line.before:>{self.before}}{arrow}{line.after:>{self.after}}"
        used, verdict = 4 + self.names + self.counts, line.verdict
        if line.delta and self.delta:
            head += "  " + paint(_COLORS[line.mark], f"{line.delta:>{self.delta}}")
            used += 2 + self.delta
        elif line.delta:
            verdict = f"{line.delta} {verdict}"
        below = [(_COLORS[line.mark], verdict), ("dim", line.below)]
        if used + len(verdict) <= self.width:
            head = f"{head}  {paint(_COLORS[line.mark], verdict)}" if verdict else head
            below = below[1:]
        parts = [
            paint(color, part)
            for color, told in below
            if told
            for part in style.wrap(told, self.width, "    ", "    ")
        ]
        return [head.rstrip(), *parts]


def _widest(texts: Iterable[str]) -> int:
    return max(map(len, texts), default=0)
