"""Findings as lines of text, for the formats that show them to people; and what GitHub, GitLab and
similar tools need: an order, a path, and an identity."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from msgspec.structs import replace

from nparam_lint.gate.report import Report
from nparam_lint.ground.findings import HEAVIEST, UPDATE, Finding
from nparam_lint.ground.printable import clean
from nparam_lint.ground.rule_catalogue import RULES
from nparam_lint.ground.values import Position, SourceLine
from nparam_lint.report import Options, style
from nparam_lint.report.budget_outcomes import deviation
from nparam_lint.report.style import PLAIN, WIDTH, Paint, by_place, plural

_ALIKE = 3
_STATED = 10  # counts in texts: a table of results may have hundreds
_IN_FULL = 5  # findings of one code with all that is said below them
_CHANGES = 6  # lines about what changed
_NAMED = 3  # models or files that a command names
_ROWS = 20  # of what the same lines broke
_ADD = " && git add "
_DRIFT = ("NPL001", "NPL013")


def findings_lines(
    findings: Sequence[Finding],
    width: int = WIDTH,
    paint: Paint = PLAIN,
    *,
    brief: bool = False,
    in_full: bool = False,
    heaviest: bool = False,
) -> list[str]:
    """Warnings first: errors, which must be fixed, come last, next to the summary. What the same
    lines broke is one finding. If many modules break a budget, only a few are shown; of many
    findings, the later ones have no more than their message unless they are wanted `in_full`;
    details that were shown for a model are not repeated. `brief`: without the way to an explanation
    of what explains itself; `heaviest`: with the heaviest modules, where no table has them."""
    lines: list[str] = []
    printed: set[tuple[str, str]] = set()
    ordered = sorted(findings, key=lambda f: (f.severity == "error", by_place(f)))
    stated = [finding for finding in ordered if finding.code == "NPL013"]
    hidden = set(map(id, stated[_STATED:]))
    shared = shared_causes(ordered)
    hidden |= {id(finding) for edited in shared for finding in edited}
    ordered = [finding for finding in ordered if id(finding) not in hidden]
    full, short = Counter[str](), list[str]()
    for _, group in groupby(ordered, key=lambda f: (f.code, f.position, f.target)):
        alike = list(group)
        for finding in alike[:_ALIKE]:
            full[finding.code] += 1
            if full[finding.code] > _IN_FULL and not in_full:
                short += _finding(finding, width, paint)
                continue
            below = details(beside_excerpt(finding, in_full), width - 4)
            parts = parts_of(below, heaviest=heaviest)
            parted = [(finding.target, text) for text in parts]
            if not finding.detail and finding.code in RULES:
                parted = [("", RULES[finding.code].remedy)]
            lines += [""] * bool(lines) + _finding(finding, width, paint)
            lines += excerpt(finding.lines, finding.position.path, width, paint)
            lines += [
                line
                for key in parted
                if key not in printed
                for line in style.as_laid_out(key[1], width, "    ")
            ]
            printed.update(parted)
        if len(alike) > _ALIKE:
            lines += ["", paint("dim", f"… and {len(alike) - _ALIKE:,} more like it")]
    if short:
        lines += ["", paint("dim", "The rest in short (-v: in full):"), *short]
    for edited in shared:
        lines += [""] * bool(lines) + _group(edited, width, paint, in_full)
    evident = {"NPL001"} if brief else set()
    errors = [finding for finding in findings if finding.severity == "error"]
    codes = sorted({f.code for f in errors or findings if f.code in RULES} - evident)
    if len(stated) > _STATED:
        more = f"… and {plural(len(stated) - _STATED, 'more stated count')}: nparam-lint claims"
        lines += ["", paint("dim", more)]
    if codes:
        listed = codes[0] if len(codes) == 1 else "CODE"
        lines += ["", paint("dim", f"For an explanation and an example: nparam-lint rule {listed}")]
    return lines


def parts_of(lines: Sequence[str], *, heaviest: bool) -> list[str]:
    """The details of a finding: a line with the indented lines below it is one. `heaviest`: with
    the heaviest modules, where no table shows them."""
    parts = re.split(r"\n(?! )", "\n".join(lines)) if lines else []
    return [text for text in parts if heaviest or not text.startswith(HEAVIEST)]


def shared_causes(findings: Iterable[Finding]) -> list[list[Finding]]:
    """The findings that the same lines of source caused, of two models or more: an edit that broke
    budgets, a line that raised while models were built."""
    groups: dict[object, list[Finding]] = {}
    for finding in findings:
        if lines := _causes(finding):
            places = tuple(str(line.position) for line in lines)
            groups.setdefault((finding.code, finding.severity, places), []).append(finding)
    return [group for group in groups.values() if len({f.target for f in group}) > 1]


def _causes(finding: Finding) -> list[SourceLine]:
    """The lines that it points at, but that of the declaration."""
    at = finding.position
    declared = (at.path, at.line)
    places = ((line.position.path, line.position.line) for line in finding.lines)
    return [line for line, place in zip(finding.lines, places, strict=True) if place != declared]


def beside_excerpt(finding: Finding, in_full: bool = False) -> Finding:
    """The same where its lines are shown: it says no more where they are. `in_full`: with what a
    process printed."""
    places = {f"at {line.position}" for line in finding.lines}
    detail = (text for text in finding.detail if text not in places)
    return replace(finding, detail=(*detail, *(finding.output if in_full else ())))


def joined(findings: Sequence[Finding]) -> list[Finding]:
    """With one for those that the same lines caused, in the place of the first of them; it says
    which they are."""
    groups = {id(group[0]): group for group in shared_causes(findings)}
    others = {id(finding) for group in groups.values() for finding in group[1:]}
    joint = []
    for finding in findings:
        if group := groups.get(id(finding)):
            about = one_for(group)
            rows = [f"  {row}" for row in _rows(group, WIDTH, _ROWS)]
            if not about.changes:
                lines = excerpt(about.lines, about.position.path)
                rows = [*(line[4:] for line in lines), *rows]
            joint.append(replace(about, detail=(*rows, *about.detail)))
        elif id(finding) not in others:
            joint.append(finding)
    return joint


def one_for(group: Sequence[Finding]) -> Finding:
    """At the lines that caused them. Of broken budgets, what changed in the first model, and how
    all are updated; of models that were not counted, what is said of all."""
    first, causes = group[0], _causes(group[0])
    models = plural(len({finding.target for finding in group}), "model")
    about = replace(first, position=causes[0].position, lines=tuple(causes))
    if not first.changes:
        error = f": {_error(first)}" if len({*map(_error, group)}) == 1 else ""
        shared = (
            text
            for text in beside_excerpt(first).detail
            if all(text in finding.detail for finding in group)
        )
        return replace(about, message=f"{models} not measured{error}", detail=(*shared,))
    since = first.since.partition(",")[0]
    return replace(
        about,
        message=f"{models} {since}: {plural(len(group), 'budget')} broken",
        since=f"{first.target} {first.since}",
        detail=(*_next_steps(group),),
    )


def _error(finding: Finding) -> str:
    """What is said of a model that was not counted, without its name and what is shown."""
    path, _, name = finding.target.partition("::")
    error = style.short_reason(finding.message, name).removeprefix(f"cannot import {path}: ")
    return error.removeprefix(f"{finding.lines[0].position}: ") if finding.lines else error


def _group(group: Sequence[Finding], width: int, paint: Paint, in_full: bool) -> list[str]:
    """What the same lines caused: the lines, one for each budget that they broke, or model that was
    not counted, and the rest."""
    about = beside_excerpt(one_for(group), in_full)
    lines = _finding(about, width, paint)
    lines += excerpt(about.lines, about.position.path, width, paint)
    mark = paint("yellow" if about.severity == "warning" else "red", "✗")
    rows = _rows(group, width - 4, len(group) if in_full else _ROWS)
    lines += [f"  {mark if text[0] != '…' else ' '} {text}" for text in rows]
    for text in details(about, width - 4):
        lines += style.as_laid_out(text, width, "    ")
    return lines


def _rows(group: Sequence[Finding], width: int, most: int) -> list[str]:
    """A line for each of them, up to so many; the errors only where there are several."""
    is_same_error = len({*map(_error, group)}) == 1
    rows = []
    for finding in group[:most]:
        result = finding.result
        path, _, name = clean(finding.target).partition("::")
        place = f"{clean(finding.position.path)}:{finding.position.line}"
        name = name if path == finding.position.path and name else clean(finding.target)
        if result is None:
            rows.append((place, name, "", "" if is_same_error else _error(finding), ""))
            continue
        name += f"[{clean(result.module or result.selector)}]" if result.selector else ""
        actual = "" if result.actual is None else f"{result.actual:,}"
        rows.append(
            (place, name, actual, f"declared {clean(result.declared)}", style.drift(result))
        )
    more = [f"… and {len(group) - most:,} more"] if len(group) > most else []
    return _in_columns(rows, "mm>e<", ((3, 20), (1, 12), (0, 12)), width) + more


def _next_steps(group: Sequence[Finding]) -> Iterator[str]:
    """One command where each model has one, and what is said of the others."""
    targets: dict[str, None] = {}
    paths: dict[str, None] = {}
    others: dict[str, None] = {}
    start = ""
    for finding in group:
        for text in finding.detail:
            words, is_step, command = text.partition(f"{UPDATE} ")
            if is_step and not command.startswith("--"):
                start, (name, _, path) = words, command.partition(_ADD)
                targets |= dict.fromkeys(shlex.split(name))
                paths |= dict.fromkeys(shlex.split(path))
            elif not text.startswith((HEAVIEST, " ")):
                others[text] = None
    yield from [*others][:_ALIKE]
    if targets:
        if len(targets) > _NAMED:
            targets = dict.fromkeys(target.partition("::")[0] for target in targets)
        named = targets if len(targets) <= _NAMED else filter(None, [os.path.commonpath(targets)])
        command = " ".join([start + UPDATE, *map(shlex.quote, named)])
        yield command + (_ADD + " ".join(map(shlex.quote, paths)) if paths else "")


def details(finding: Finding, width: int = WIDTH) -> list[str]:
    """What is said below a finding: what made the difference, and what to do. Changes stand in
    columns, the largest first; their last line has the sum of those that are not shown."""
    if not finding.since:
        return [*finding.detail]
    rows = [
        (
            f"  {change.mark} {clean(change.path)}",
            clean(change.what),
            f"{change.times}×" if change.times > 1 else "",
            style.signed(change.delta),
            clean(change.source or ""),
        )
        for change in finding.changes[:_CHANGES]
    ]
    if hidden := finding.changes[_CHANGES:]:
        delta = style.signed(sum(change.delta for change in hidden))
        rows.append((f"  … {len(hidden):,} more", "", "", delta, ""))
    lines = [f"{clean(finding.since)}:" if rows else clean(finding.since)]
    if any(sum(map(style.columns, row)) + 2 * len(row) - 2 > width for row in rows):
        rows = [(*row[:4], row[4].rpartition("/")[2]) for row in rows]
    yielding = ((0, 24), (1, 24), (0, 14), (1, 14))
    return [*lines, *_in_columns(rows, "me>>m", yielding, width), *finding.detail]


def _in_columns(
    rows: Sequence[Sequence[str]], kinds: str, yielding: Iterable[tuple[int, int]], width: int
) -> list[str]:
    """Rows below each other, those that are empty everywhere left out. `kinds`, of columns: cut in
    the middle (`m`), at the end (`e`), or whole, at either side (`<`, `>`). `yielding`: which give
    way first where there is no room, and how many characters they keep."""
    widths = [max(map(style.columns, column)) for column in zip(*rows, strict=True)]
    excess = sum(widths) + 2 * len(widths) - 2 - width
    for at, least in yielding:
        if widths and excess > 0:
            narrowed = max(min(widths[at], least), widths[at] - excess)
            excess, widths[at] = excess - widths[at] + narrowed, narrowed
    cuts = {"m": style.elide_middle, "e": style.elide_end}
    lines = []
    for row in rows:
        cells = []
        for text, kind, room in zip(row, kinds, widths, strict=True):
            shown = cuts[kind](text, room) if kind in cuts else text
            cells += [style.padded(shown, room, ">" if kind == ">" else "<")] if room else []
        lines.append("  ".join(cells).rstrip())
    return lines


def excerpt(
    lines: Sequence[SourceLine], path: str, width: int = WIDTH, paint: Paint = PLAIN
) -> list[str]:
    """Lines of source, each with what it is about underlined. `path`: that of a head above."""
    gutter = max((len(str(line.position.line)) for line in lines), default=0)
    texts = []
    for line in lines:
        if line.position.path != path:
            path = line.position.path
            texts.append(paint("dim", style.elide_middle(f"    {clean(path)}", width)))
        start = len(clean(line.text[: line.position.column - 1]))
        text, room = clean(line.text), width - gutter - 7
        before = style.columns(text[:start])
        marks = "^" * max(style.columns(text[start : start + line.width]), 1)
        if start and before + len(marks) > room:  # what is underlined is what matters
            text, marks = "…" + text[start:], marks[: room - 1]
            before = 1
        number = paint("dim", f"    {line.position.line:>{gutter}} |")
        texts.append(f"{number} {style.elide_end(text, room)}")
        margin = paint("dim", " " * (gutter + 4) + " |")
        texts.append(f"{margin} {' ' * before}{paint('red', marks[: room - before])}")
    return texts


def _finding(finding: Finding, width: int, paint: Paint) -> list[str]:
    at = finding.position
    place = f"{clean(at.path)}:{at.line}:{at.column}"
    head = f"{place}  {finding.code}"
    warning = "warning: " if finding.severity == "warning" else ""
    first, *more = style.wrap(f"{head}  {warning}{clean(finding.message)}", width, hang="    ")
    if not first.startswith(head):  # a path that fills the line, or has blanks to wrap at
        first, more = head, style.wrap(warning + clean(finding.message), width, "    ", "    ")
    color = "yellow" if warning else "red"
    return [f"{paint('bold', place)}  {paint(color, finding.code)}{first[len(head) :]}", *more]


# --- for forges -----------------------------------------------------------------------------------


def ranked(report: Report) -> list[Finding]:
    """Worst first: errors before warnings, of broken budgets those that are furthest off in
    proportion, then by place. Forges show a few and drop the rest."""
    off: dict[Position, float] = {}
    for model in report.models:
        for budget in model.budgets:
            if not budget.ok:
                off[budget.position] = max(off.get(budget.position, 0.0), deviation(budget))

    def rank(finding: Finding) -> tuple[object, ...]:
        drift = off.get(finding.position, 0.0) if finding.code in _DRIFT else 0.0
        return (finding.severity != "error", -drift, by_place(finding))

    return sorted(report.findings, key=rank)


def repository_path(path: str, options: Options) -> str:
    """From the root of the repository, in which the project may lie in a directory of its own."""
    path = path.removeprefix("./")
    inside = options.prefix.strip("/")
    return f"{inside}/{path}" if inside and not path.startswith("/") else path


def fingerprints(report: Report, options: Options) -> dict[Finding, str]:
    """An identity for each finding that outlives its line and its numbers, so that a forge knows it
    again: of its path, target, code and selector. Of several that these do not tell apart, each is
    known by its rank among them, in the order of the source and of the model's modules."""
    selectors: dict[tuple[str, Position], str] = {}
    order: dict[Finding, int] = {}
    for model in report.models:
        selectors |= {(model.target, b.position): b.selector for b in model.budgets}
        for finding in model.findings:
            order.setdefault(finding, len(order))

    def place(finding: Finding) -> tuple[object, ...]:
        at = finding.position
        return (at.path, at.line, at.column, order.get(finding, -1), by_place(finding))

    ranks: Counter[tuple[str, ...]] = Counter()
    identities: dict[Finding, str] = {}
    for finding in sorted(set(report.findings), key=place):
        selector = selectors.get((finding.target, finding.position), "")
        path = repository_path(finding.position.path, options)
        key = (path, finding.target, finding.code, selector)
        identities[finding] = identity(*key, *([str(ranks[key])] if ranks[key] else []))
        ranks[key] += 1
    return identities


def identity(*parts: str) -> str:
    """One text for several, of a length that every forge takes."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
