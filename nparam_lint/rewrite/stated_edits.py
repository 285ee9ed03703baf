"""What `update --claims` and `init --claims` write: the right number, as the wrong one is written,
where a text states a count; and comments that hold the right ones from now on."""

from __future__ import annotations

import re
from fractions import Fraction
from textwrap import indent
from typing import TYPE_CHECKING, TypeAlias

from msgspec.structs import astuple, replace

from nparam_lint.count.measured import Measured
from nparam_lint.discover.claims.doc_comments import parse_docs
from nparam_lint.discover.claims.doc_text import COUNT, DocText
from nparam_lint.ground.grouping import grouped
from nparam_lint.ground.notation import TextError, parse_target, read_expression
from nparam_lint.ground.notation.grammar import Number, parse_value
from nparam_lint.ground.paths import is_doc
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.ground.values import Position
from nparam_lint.report.style import plural
from nparam_lint.rewrite import number_style
from nparam_lint.rewrite.edits import Edit, EditItem, Leftover, Plan, edit_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from nparam_lint.config.session import Session
    from nparam_lint.discover.claims.doc_text import GridCell
    from nparam_lint.gate.report import ModelReport, StatedOutcome
    from nparam_lint.ground.values import Origin

_About: TypeAlias = "tuple[Position, str, str, Origin]"  # of `Edit` and `Leftover`
_WRITTEN = late_pattern(
    # Of `5000000,80` the comma begins another cell.
    r"(?P<number>(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+(?:_[0-9]+)*)(?:\.[0-9]+)?(?:[eE]\+?[0-9]+)?)"
    r"(?P<suffix>\s?[kKmMbBgGtT](?![A-Za-z0-9]))?"
)
_ITEM = late_pattern(r"\s*(?:[-*+•]|\(?(?:[0-9]+|[a-zA-Z]|#)[.)])\s")
_IMAGE = late_pattern(r"!\[[^\]]*$")
_SUFFIXES = {1: "", 10**3: "k", 10**4: "e4", 10**6: "M", 10**9: "B", 10**12: "T"}


class _Insertion(EditItem, frozen=True):
    """A text that takes the place of `old` at a place of a file, or stands before it."""

    old: str
    new: str


def plan_numbers(outcomes: Iterable[StatedOutcome], session: Session) -> Plan:
    """The right number for each count that is wrong for certain, as it is written there."""
    insertions: list[_Insertion] = []
    leftovers: list[Leftover] = []
    valid_count = 0
    for outcome in outcomes:
        if outcome.strength != "certain" or outcome.actual is None:
            continue
        if outcome.verdict == "right":
            valid_count += 1
            continue
        at, lines = outcome.position, _lines(session, outcome.position.path)
        line = lines[at.line - 1] if at.line <= len(lines) else ""
        written = _WRITTEN.match(line, at.column - 1)
        number = _restated(written, outcome) if written else None
        about: _About = (at, outcome.name, str(outcome.count.selector), "docs")
        old = written[0] if written else outcome.count.text
        if number is None:
            reason = (
                "it has no unit" if len(outcome.count.readings) > 1 else "it is no plain number"
            )
            leftovers.append(Leftover(*about, old, f"{reason}; correct it by hand", outcome.actual))
        else:
            edit = Edit(*about, old, number, outcome.actual)
            insertions.append(_Insertion(edit, old, number))
    plan = _plan(insertions, leftovers, session, valid_count)
    return replace(plan, noun="stated count")


def _restated(number: re.Match[str], outcome: StatedOutcome) -> str | None:
    """The count in the form of the number that stands there."""
    term = outcome.count.value.terms[0]
    # Of `11,0 млн` and `22.797.672` it is the beginning.
    is_whole = re.search(rf"{re.escape(number['number'])}(?![.,]?[0-9])", outcome.count.text)
    if len(outcome.count.readings) > 1 or not isinstance(term, Number) or not is_whole:
        return None
    amount = Fraction(re.sub("[,_]", "", number["number"]))
    suffix = _SUFFIXES.get(int(term.value / amount)) if amount else None
    if suffix is None or outcome.actual is None:
        return None
    change = number_style.restate(
        parse_value(number["number"] + suffix), outcome.actual, outcome.count.selector.metric
    )
    if change is None or not change.result.endswith(suffix):
        return None
    return change.result.removesuffix(suffix) + (number["suffix"] or "")


def plan_comments(outcomes: Sequence[StatedOutcome], session: Session) -> Plan:
    """A comment for each count in Markdown and reStructuredText that is right for certain: one
    above a table for its column, else behind the number."""
    insertions: list[_Insertion] = []
    leftovers: list[Leftover] = []
    right = [o for o in outcomes if o.verdict == "right" and o.strength == "certain"]
    by_path = grouped((o for o in right if is_doc(o.position.path)), lambda o: o.position.path)
    valid_count = 0
    for path, inside in by_path.items():
        text = "\n".join(_lines(session, path))
        doc = DocText(path, text)
        bound = {(number.line, number.column) for number in parse_docs(path, text)[0]}
        columns: dict[GridCell, list[tuple[str, str, StatedOutcome]]] = {}  # by their heads
        for outcome in inside:
            at, target = outcome.position, _target(outcome.model)
            about: _About = (at, target, str(outcome.count.selector), "docs")
            if (at.line, at.column) in bound:
                valid_count += 1
                continue
            reason = _why_no_comment(doc, path, at)
            if not target or reason:
                reason = reason or "its call cannot be written as a target"
                leftovers.append(Leftover(*about, outcome.count.text, reason, outcome.actual))
                continue
            heads = doc.heads_at(at.line, at.column - 1) if not doc.is_rest else None
            if heads:
                head, first = heads
                columns.setdefault(head, []).append((first.text, target, outcome))
                continue
            number = COUNT.match(doc.lines[at.line - 1], at.column - 1)
            if doc.is_rest:
                top = _top(doc, at)
                place, comment = Position(path, top), f".. nparam: {target}"
                old, new = "", f"{_indentation(doc, top)}{comment}\n\n"
            else:
                comment, place = f"<!-- nparam: {target} -->", at
                old = number[0] if number else ""
                new = f"{old} {comment}"
            edit = Edit(place, target, about[2], "docs", "", comment.strip(), outcome.actual or 0)
            insertions.append(_Insertion(edit, old, new))
        for head, rows in columns.items():
            firsts = [called for called, _, _ in rows]
            bindable = [row for row in rows if firsts.count(row[0]) == 1]
            for called, target, outcome in rows:
                if firsts.count(called) > 1:
                    count, actual = outcome.count, outcome.actual
                    about = (outcome.position, target, str(count.selector), "docs")
                    reason = f"several rows are called {called!r}; declare the count in the config"
                    leftovers.append(Leftover(*about, count.text, reason, actual))
            if not bindable:
                continue
            listed = "".join(f"     {called} = {target}\n" for called, target, _ in bindable)
            name, line = head.text, head.line
            comment = indent(f"<!-- nparam: {name}\n{listed}-->\n", _indentation(doc, line))
            _, target, outcome = bindable[0]
            shown = f"<!-- nparam: {name} … -->, for {plural(len(bindable), 'row')}"
            edit = Edit(Position(path, line), target, "", "docs", "", shown, outcome.actual or 0)
            insertions.append(_Insertion(edit, "", comment))
    return _plan(insertions, leftovers, session, valid_count)


def _why_no_comment(doc: DocText, path: str, at: Position) -> str:
    """Why a comment cannot bind a number where it stands; "" where it can."""
    what = ""
    if at.line <= doc.front:
        what = "in front matter"
    elif path.lower().endswith(".mdx"):
        what = "in MDX"
    elif doc.is_rest and _ITEM.match(doc.lines[_top(doc, at) - 1]):
        what = "above an item of a list"
    elif _IMAGE.search(doc.lines[at.line - 1][: at.column - 1]):
        what = "in the text of an image"
    return what and f"{what} no comment can stand; declare the count in the config"


def _top(doc: DocText, at: Position) -> int:
    """The first line of the paragraph."""
    return next((lines[0] for lines in doc.paragraphs if at.line in lines), at.line)


def _indentation(doc: DocText, number: int) -> str:
    line = doc.lines[number - 1]
    return line[: len(line) - len(line.lstrip())]


def _target(model: ModelReport | None) -> str:
    """The target by which a comment names a model; "" where its call cannot be written as one."""
    if model is None or not isinstance(model.measurement, Measured):
        return ""
    location, sign, _ = model.target.partition("::")
    if model.way is None or not sign:
        return model.target
    try:
        target = parse_target(f"{location}::{model.measurement.call}")
        read_expression(f"f({target.arguments or ''})")
    except TextError:
        return ""
    return str(target)


def _lines(session: Session, path: str) -> list[str]:
    content = (session.root / path).read_bytes()
    return [line.removesuffix("\r") for line in content.decode("utf-8", "replace").split("\n")]


def _plan(
    insertions: Sequence[_Insertion], leftovers: list[Leftover], session: Session, valid_count: int
) -> Plan:
    def rewrite(
        name: str, items: list[_Insertion]
    ) -> tuple[bytes, bytes, Mapping[_Insertion, str]]:
        old = (session.root / name).read_bytes()
        try:
            lines = old.decode("utf-8").split("\n")
        except UnicodeDecodeError:
            return old, old, dict.fromkeys(items, "the file is not UTF-8")
        failures: dict[_Insertion, str] = {}
        faults = len(parse_docs(name, old.decode())[1]) if is_doc(name) else 0
        for item in sorted(items, key=lambda item: astuple(item.edit.position), reverse=True):
            at = item.edit.position
            line, start = lines[at.line - 1], at.column - 1
            if not line.startswith(item.old, start):
                failures[item] = "the file has changed since it was read"
                continue
            before, longer = line[:start], len(item.new) - len(item.old)
            if item.old and "|" in line and longer > 0:  # the columns of a table stay straight
                blanks = len(before) - len(before.rstrip(" "))
                before = before[: start - min(longer, max(blanks - 1, 0))]
            text = item.new.replace("\n", "\r\n") if line.endswith("\r") else item.new
            lines[at.line - 1] = before + text + line[start + len(item.old) :]
            if is_doc(name) and len(parse_docs(name, "\n".join(lines))[1]) > faults:
                failures[item], lines[at.line - 1] = "the comment could not be read there", line
        return old, "\n".join(lines).encode(), failures

    files, failures = edit_files(insertions, session, rewrite)
    leftovers += [
        Leftover(i.edit.position, i.edit.model, i.edit.selector, i.edit.origin, i.old, reason)
        for i, reason in failures.items()
    ]
    edits = [item.edit for item in insertions if item not in failures]
    edits.sort(key=lambda edit: astuple(edit.position))
    return Plan(tuple(edits), tuple(leftovers), tuple(files), valid_count)
