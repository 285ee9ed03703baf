"""Helpers of the formats for people: colours, numbers, and text cut to fit."""

from __future__ import annotations

import html
import re
import textwrap
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from msgspec import Struct

from nparam_lint.ground import lines as text_lines
from nparam_lint.ground.metrics import METRICS, Metric
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.ground.printable import clean
from nparam_lint.ground.values import proportion

if TYPE_CHECKING:
    from nparam_lint.count.measured import Hidden, Measured
    from nparam_lint.ground.findings import BudgetResult, Finding

_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
MARK_TONES = {"✓": "dim", "✗": "red", "!": "yellow", "–": "dim"}
MARK_TONES |= {"+": "green", "−": "red", "~": "yellow", "→": "cyan", "=": "dim"}
EIGHTHS = "▏▎▍▌▋▊▉█"


class Paint(Struct, frozen=True):
    """`paint("red", text)`: the text in ANSI colours, or as it is."""

    enabled: bool

    def __call__(self, style: str, text: str) -> str:
        if not (self.enabled and style and text):
            return text
        return f"\x1b[{';'.join(_STYLES[name] for name in style.split())}m{text}\x1b[0m"


# Where there is no terminal.
PLAIN = Paint(False)
WIDTH = 100


def escape(text: str) -> str:
    """The same as a text in HTML."""
    return html.escape(clean(text))


_ABSENT = r"FileNotFoundError: \[Errno 2\] No such file or directory: "
# What in a reason is said in other words: (pattern, words), one after the other.
_SHORTER = (
    (  # of a name that only a script's work would set, it is what that is
        late_pattern(
            r"NameError: name '(?P<name>\w+)' is not defined \('(?P<of>\w+)' in (?P<file>[^:()]+): "
            r"set at line (?P<line>\d+) by work that nparam-lint does not run\)"
        ),
        r"\g<name> comes from \g<of> (\g<file>:\g<line>), which is not run",
    ),
    (late_pattern(r"\b(\w+) comes from \1 \(([^()]+)\)"), r"\1 comes from \2"),
    (  # where the file has failed altogether, that is the reason
        late_pattern(
            r"NameError: name '(\w+)' is not defined \('\1' in (?P<file>[^:()]+): set at line \d+ "
            r"by work that nparam-lint does not run, since the file failed \((?P<why>.*)\)\)"
        ),
        r"\g<file> failed: \g<why>",
    ),
    # What a download would write, and why it may not, is no matter;
    (late_pattern(r"(needs to download .+?): \w+: .*"), r"\1"),
    # of a factory that raised what has a place of its own, it is that place that matters;
    (late_pattern(r"^\S+:\d+: [\w.]+\([^()]*\) raised (?=\S+:\d+: )"), ""),
    (late_pattern(rf" raised {_ABSENT}"), ": there is no "),
    (late_pattern(_ABSENT), "there is no "),
    (  # and of a name that is missing because a line failed, that line.
        late_pattern(
            r"NameError: name '(\w+)' is not defined "
            r"\('\1' in (?P<file>[^:()]+): line (?P<line>\d+) failed: (?P<why>.*)\)"
        ),
        r"\g<file>:\g<line>: \g<why>",
    ),
)


def short_reason(reason: str, name: str) -> str:
    """Why `name` was not counted, said next to its name: without `Net(width=3) raised`."""
    text, bare = clean(reason), name.partition("(")[0]
    if text.startswith((f"{bare} ", f"{bare}(")):  # not `Net/train.py:60 builds it …`
        error = text.partition(" raised ")[2]
        text = error or re.sub(r"^\(.*\) ", "", text.removeprefix(bare)).strip()
    for pattern, words in _SHORTER:
        text = pattern.sub(words, text)
    return text


def hidden_words(hidden: Hidden) -> str:
    source = f" ({hidden.source})" if hidden.source else ""
    what = f"{hidden.count:,} parameters that parameters() does not return: {hidden.what}"
    return f"{hidden.path}: {what}{source}"


def by_place(finding: Finding) -> tuple[str, int, int, str, str]:
    at = finding.position
    return (at.path, at.line, at.column, finding.code, finding.message)


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def first(texts: Sequence[str], most: int) -> list[str]:
    """No more than `most` of them, and how many are left."""
    more = len(texts) - most
    return [*texts[:most], *([f"{more:,} more"] if more > 0 else [])]


def elide_middle(text: str, width: int) -> str:
    """`some/very/long/path.py::Class` as `some/ve…h.py::Class`: the end says most, so more of it
    stays."""
    if columns(text) <= width:
        return text
    if width < 2:
        return "…"[:width]
    tail = (width - 1) * 2 // 3
    return "…".join(_ends(text, width - 1 - tail, tail))


def elide_target(target: str, width: int) -> str:
    """`models/…/resnet.py::ResNet`: of a target, the path is cut first."""
    path, sep, name = target.partition("::")
    room = width - len(sep) - columns(name)
    return elide_middle(path, room) + sep + name if room > 0 else elide_middle(target, width)


def elide_end(text: str, width: int) -> str:
    if columns(text) <= width:
        return text
    return _ends(text, width - 1, 0)[0].rstrip() + "…"


def columns(text: str) -> int:
    """How much of a line a text takes: a Chinese character takes two columns."""
    return len(_widened(text))


def padded(text: str, width: int, side: str = "<") -> str:
    """As `format(text, f"{side}{width}")`, in columns; as it is where it has no room."""
    return format(_widened(text), f"{side}{max(width, 0)}").replace(_FILLER, "")


_FILLER = "\N{ZERO WIDTH NO-BREAK SPACE}"  # `clean` leaves none in a text


def _widened(text: str) -> str:
    """With as many characters as it takes columns."""
    if text.isascii():
        return text
    wide = (unicodedata.east_asian_width(character) in "WF" for character in text)
    return "".join(c + _FILLER if w else c for c, w in zip(text, wide, strict=True))


def elide_apart(texts: Iterable[str], width: int) -> dict[str, str]:
    """Each text in at most `width`, cut so that it can still be distinguished from the others: as
    `GPT(n_layer=…`, or `GPT(n_lay…head=8)` where only the end differs."""
    short = {text: elide_end(text, width) for text in texts}
    ambiguous = [text for text in short if columns(text) > width >= 2]
    for tail in range(width if ambiguous else 0):
        head = width - 1 - tail
        times = Counter(_ends(text, head, tail) for text in short)
        for text in ambiguous:
            if times[_ends(text, head, tail)] == 1:
                short[text] = "…".join(_ends(text, head, tail))
        ambiguous = [text for text in ambiguous if times[_ends(text, head, tail)] > 1]
    # The difference is in the middle, beyond both: the name, and what differs first.
    ordered = sorted(short) if ambiguous else []  # so that the most alike are neighbours
    place = {text: number for number, text in enumerate(ordered)}
    for text in ambiguous:
        near = ordered[max(place[text] - 1, 0) : place[text] + 2]
        differs = max(text_lines.alike(text, other) for other in near if other != text)
        name = text[: min(text.find("(") + 1, width // 2)]
        short[text] = name + elide_end("…" + text[max(differs - 4, 0) :], width - columns(name))
    return short


def _ends(text: str, head: int, tail: int) -> tuple[str, str]:
    """As much of both as takes no more columns."""
    if text.isascii():
        return text[: max(head, 0)], text[max(len(text) - tail, 0) :]
    parts = []
    for part, width in ((text, head), (text[::-1], tail)):
        taken = sum(end <= width for end in accumulate(map(columns, part)))
        parts.append(part[:taken])
    return parts[0], parts[1][::-1]


def wrap(text: str, width: int, indent: str = "", hang: str = "") -> list[str]:
    """Lines of at most `width` where words allow: paths and numbers are never broken, but a call
    written without blanks is, after a comma."""
    width = max(width, 20)
    lines: list[str] = []
    for line in textwrap.wrap(
        _widened(text.replace(" %", "\N{NO-BREAK SPACE}%")),
        width,
        initial_indent=indent,
        subsequent_indent=hang,
        break_long_words=False,
        break_on_hyphens=False,
    ):
        line = line.replace("\N{NO-BREAK SPACE}%", " %")
        while len(line) > width and (end := line.rfind(",", len(hang) + 1, width) + 1):
            lines.append(line[:end])
            line = hang + line[end:]
        lines.append(line)
    return [line.replace(_FILLER, "") for line in lines] or [""]


_COMMAND = late_pattern(r": (?=(cd \S+ && )?nparam-lint )")


def as_laid_out(text: str, width: int, indent: str = "") -> list[str]:
    """As it is where it fits, wrapped under its own indent where it does not. A command is never
    wrapped, so that it can be pasted."""
    lines = []
    for line in text.splitlines() or [""]:
        line = clean(line)
        start = indent + " " * (len(line) - len(line.lstrip()))
        *about, command = _COMMAND.sub("\n", line.strip(), count=1).split("\n")
        if len(indent) + columns(line) <= width:
            lines.append(indent + line)
        elif about:
            lines += wrap(about[0] + ":", width, start, start + "  ")
            lines.append(f"{start}  {command}")
        else:
            lines += wrap(line.strip(), width, start, start + "  ")
    return [line.rstrip() for line in lines]


def wrap_formula(text: str, width: int, indent: str = "", hang: str = "") -> list[str]:
    """Lines of at most `width` where a formula can be broken: after a comma, a plus or a minus
    rather than between factors, and outside rather than inside of brackets."""
    lines: list[str] = []
    start, text = indent, _widened(text)
    while len(start) + len(text) > width and (cut := _cut(text, width - len(start))):
        lines.append(start + text[:cut].rstrip())
        text, start = text[cut:], hang
    return [line.replace(_FILLER, "") for line in (*lines, start + text)]


_BREAKS = late_pattern(r"[()]|, | [+-] |(?<![\w*])\d+\*(?!\*)|(?<!\*)\*(?!\*)")


def _cut(text: str, room: int) -> int:
    """Where a line of a formula ends; 0 where it cannot be broken."""
    depth, cuts = 0, []  # (worth, end)
    for sign in _BREAKS.finditer(text):
        depth += {"(": 1, ")": -1}.get(sign[0], 0)
        if sign[0][0] not in "()0123456789":  # a number stays at what it multiplies
            # A bracket less is worth a quarter of a line, and a sum or a list a whole one.
            worth = sign.end() - depth * (room // 4) - room * (sign[0] == "*")
            cuts.append((worth, sign.end()))
    fitting = [cut for cut in cuts if len(text[: cut[1]].rstrip()) <= room]
    if fitting:
        return max(fitting)[1]
    return cuts[0][1] if cuts else 0


def wrap_target(target: str, width: int) -> list[str]:
    """In full: the file on a line of its own where the call does not fit behind it."""
    if columns(target) <= width:
        return [target]
    path, sep, call = target.partition("::")
    return [path + sep, *wrap(call, width, hang="  ")]


def wrap_path(path: str, width: int) -> list[str]:
    """Lines of at most `width`, broken after dots; behind the path's own indent. What is longer
    between two dots is cut in its middle."""
    indent = path[: len(path) - len(path.lstrip())]
    lines, room = [""], width - len(indent)
    for part in re.findall(r"[^.]*\.|[^.]+$", path.lstrip()):
        if lines[-1].strip() and columns(lines[-1] + part) > room:
            lines.append("  ")
        lines[-1] += elide_middle(part, room - columns(lines[-1]))
    return [indent + line for line in lines]


def rounded(count: int) -> str:
    """Three digits and a suffix: `86.6M`."""
    size = float(count)
    for unit in ("", "k", "M", "B", "T"):
        if size < 999.5 or unit == "T":
            break
        size /= 1000
    digits = 2 - (size >= 9.995) - (size >= 99.95)
    return f"{size:.{digits}f}{unit}" if unit else f"{count}"


def human_bytes(count: int) -> str:
    """In powers of 1000, as budgets (`50MB`) are written."""
    size = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 999.95:
            return f"{count} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:,.1f} TB"


def share(part: int, whole: int) -> str:
    if not part or not whole:
        return ""
    percent = 100 * part / whole
    return "<0.1 %" if percent < 0.05 else f"{percent:.1f} %"


def percent(share: float) -> str:
    return f"{share:.1%}".replace("%", " %")


def bar(part: int, whole: int, width: int) -> str:
    """A bar of up to `width` characters in steps of an eighth; never empty for a part above 0."""
    if not part or not whole or width < 1:
        return ""
    full, eighths = divmod(max(1, min(8 * width, round(8 * width * part / whole))), 8)
    return "█" * full + (EIGHTHS[eighths - 1] if eighths else "")


def signed(delta: int) -> str:
    """`+7,679,488`, with a minus sign as wide as the plus."""
    return f"{delta:+,}".replace("-", "−")


def drift(budget: BudgetResult) -> str:
    """`+7,679,488 (+6.17 %)`: how far the count is from the number that the budget says."""
    if budget.actual is None or budget.value is None:
        return ""
    delta = budget.actual - budget.value
    share = proportion(delta, budget.value)
    return f"{delta:+,} ({share})" if share else f"{delta:+,}"


def shown_metrics(measured: Measured) -> list[tuple[Metric, int | None]]:
    """(metric, count): those of parameters first. None is unknown; what needs to know how many
    experts are used is left out where all are."""
    shown = []
    listed = (metric for metric in METRICS.values() if metric.is_listed)
    for metric in sorted(listed, key=lambda metric: metric.unit != "parameters"):
        count = measured.counts.of(metric.name)
        same = count is None or count == measured.counts.total
        if not (metric.needs_routing and same and not measured.no_routing):
            shown.append((metric, count))
    return shown
