"""A listing as lines of text, below the path of each file, fitted to a width.

nanogpt/model.py
  ~ GPT    124,475,904 → 132,155,392  +7,679,488  (+6.17 %)
  + Probe                        770  new
  − Old         50,890                gone
  → Tiny                       4,266  unchanged
      was Small (the same 6 modules)
  ! ViT  not measured now: No module named 'einops'; 54,630,376 at main
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nparam_lint.report import style

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from nparam_lint.report import Listing, ListingLine
    from nparam_lint.report.style import Paint

_NAME, _VERDICT = 8, 24  # characters that they have at least
_HANG = 6  # where a reason below its name begins


def listing_lines(listing: Listing, width: int, paint: Paint) -> list[str]:
    columns = _Columns([entry for _, found in listing.files for entry in found], width - 2)
    text = []
    for place, entries in listing.files:
        text.append(paint("bold", style.elide_middle(place, width)))
        lines = (
            _reasons(entries, width, paint) if listing.reasons else columns.render(entries, paint)
        )
        text += [f"  {line}" for line in lines]
    return text


def _reasons(entries: Sequence[ListingLine], width: int, paint: Paint) -> list[str]:
    """A name that is too long for its column has a line for itself."""
    names = [len(entry.name) for entry in entries]
    column = max((name for name in names if name <= width // 3), default=_NAME)
    text = []
    for entry in entries:
        head = f"{paint(entry.tone, entry.mark)} "
        hang = column + 4
        if len(entry.name) > column:
            name, *more = style.wrap(entry.name, width - 4)
            text += [head + name, *(f"  {part}" for part in more)]
            hang = _HANG
            lines = style.wrap(entry.verdict, width - hang - 2)
        else:
            first, *lines = style.wrap(entry.verdict, width - hang - 2)
            text.append(f"{head}{entry.name:<{column}}  {paint(entry.tone, first)}")
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
        self.used = 4 + self.names + counts
        if self.used + 2 + self.delta > width:  # it stands below, then
            self.delta = 0

    def render(self, entries: Sequence[ListingLine], paint: Paint) -> list[str]:
        short = style.elide_apart([entry.name for entry in entries if entry.counted], self.names)
        text = []
        for entry in entries:
            if entry.counted:
                text += self._counted(entry, short[entry.name], paint)
            else:
                entry_text = f"{entry.name}  {entry.verdict}"
                first, *more = style.wrap(entry_text, self.width - 2, hang="    ")
                mark = paint(entry.tone, entry.mark)
                text += [f"{mark} {first}", *(f"  {part}" for part in more)]
        return text

    def _counted(self, entry: ListingLine, name: str, paint: Paint) -> list[str]:
        arrow = " → " if entry.before and entry.after else " " * self.arrow
        head = f"{paint(entry.tone, entry.mark)} {name:<{self.names}}"
        head += f"  {entry.before:>{self.before}}{arrow}{entry.after:>{self.after}}"
        used, verdict = self.used, entry.verdict
        if entry.delta and self.delta:
            head += "  " + paint(entry.tone, f"{entry.delta:>{self.delta}}")
            used += 2 + self.delta
        elif entry.delta:
            verdict = f"{entry.delta} {verdict}"
        below = [(entry.tone, verdict), ("dim", entry.below)]
        if used + len(verdict) <= self.width:
            head += f"  {paint(*below.pop(0))}"
        parts = [
            paint(tone, part)
            for tone, told in below
            if told
            for part in style.wrap(told, self.width, "    ", "    ")
        ]
        return [head.rstrip(), *parts]


def _widest(texts: Iterable[str]) -> int:
    return max(map(len, texts), default=0)
