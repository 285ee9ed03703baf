"""A comment for a pull request: what it changes, with the modules folded away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nparam_lint.report import style
from nparam_lint.report.blocks import (
    COMMENT,
    NOTE,
    SUMMARY,
    Block,
    cell,
    fenced,
    finding_item,
    fitted,
    folded,
    html_text,
    plain_text,
    size,
    whole,
)
from nparam_lint.report.drift import words
from nparam_lint.report.drift.table import Row, rows_of
from nparam_lint.report.style import by_place, clean, plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nparam_lint.analysis.diff import DiffReport, ModelDiff
    from nparam_lint.report import Options

MARKER = "<!-- nparam-lint diff -->"  # by which a bot finds its own comment
_ROWS = 60
_LONGEST = 300  # characters of a reason


def render(report: DiffReport, options: Options) -> str:
    """The comment; where nothing changed, one line."""
    return f"{MARKER}\n{summary(report, options, COMMENT - len(MARKER) - 1)}"


def summary(report: DiffReport, options: Options, limit: int = SUMMARY) -> str:
    """The page for `$GITHUB_STEP_SUMMARY`, in no more than `limit` bytes of UTF-8."""
    mark, said = _mark(report), plain_text(words.headline(report))
    if mark == "✅":
        left = len(report.unmeasured)
        rest = f"; {left:,} could be counted on neither side" if left else ""
        line = (
            f"{mark} **nparam-lint diff**: {said} since {plain_text(words.since(report))}{rest}\n"
        )
        return line if size(line) <= limit else ""
    head = f"### {mark} nparam-lint diff: {said}\n"
    foot = f"\n<sub>{_about(report)}</sub>\n" if report.error is None else ""
    room = limit - NOTE - size(head) - size(foot)
    return head + fitted(_blocks(report, options), room) + foot if room > 0 else ""


def _mark(report: DiffReport) -> str:
    if report.error or any(finding.severity == "error" for finding in report.findings):
        return "❌"
    if report.findings or any(model.status == "not_measured" for model in report.models):
        return "⚠️"
    return "✅" if words.is_same(report) else "Δ"


def _about(report: DiffReport) -> str:
    parts = [f"{words.compared(report)} compared", f"{words.since(report)} → {report.now}"]
    if report.unmeasured:
        parts.append(f"{len(report.unmeasured):,} could be counted on neither side")
    if report.environment:
        parts.append(f"torch {report.environment.torch}")
    if report.tolerance:
        parts.append(f"tolerance {report.tolerance}")
    return plain_text(" · ".join(parts))


def _blocks(report: DiffReport, options: Options) -> Iterator[Block]:
    if report.error is not None:
        yield fenced("line", report.error.splitlines())
        return
    listed = [model for model in report.models if model.status != "same" and words.is_shown(model)]
    head = "| | model | before | after | change |\n|---|---|---:|---:|---|\n"
    yield Block("model", head, [_model(model, report) for model in listed])
    for note in report.notes:
        yield Block("note", "", [f"{plain_text(note)}\n"])
    if report.findings:
        found = sorted(report.findings, key=lambda f: (f.severity != "error", by_place(f)))
        yield Block("finding", "**Findings**\n\n", [finding_item(finding) for finding in found])
    changed = [model for model in listed if model.modules]
    known = [model for model in changed if model.top_level or model.declared] or changed
    for group in words.same_modules(words.largest_first(known)):
        yield Block("table of modules", "", [whole(_modules(group, options))])


def _model(model: ModelDiff, report: DiffReport) -> str:
    before, after = (
        "" if total is None else f"{total:,}" for total in (model.total_before, model.total_after)
    )
    told = [*_told(model, report), *model.notes]
    if model.before_target:
        told.append(f"was {model.before_target} ({model.evidence})")
    if model.explained and model.explanation:
        told.append(model.explanation)
    text = plain_text(style.elide_end("; ".join(clean(part) for part in told), _LONGEST))
    return f"| {words.MARKS[model.status]} | {cell(model.target)} | {before} | {after} | {text} |\n"


def _told(model: ModelDiff, report: DiffReport) -> list[str]:
    if model.status == "not_measured":
        return words.unmeasured_words(model, report)
    if model.status == "added":
        return ["new"]
    if model.status == "removed":
        return ["gone"]
    if model.delta and model.total_before is not None and model.total_after is not None:
        return [words.change(model.total_before, model.total_after)]
    return [words.beside_total(model)]


def _modules(group: list[ModelDiff], options: Options) -> Block:
    model = group[0]
    rows, left = rows_of(model, _ROWS, options.depth)
    head = "| | module | type | before | after | change | source |\n"
    lines = [_row(row) for row in rows]
    if left:
        lines.append(f"| | … and {plural(len(left), 'more line')} | | | | | |\n")
    more = f" and {len(group) - 1:,} more" if len(group) > 1 else ""
    title = f"Modules of <code>{html_text(model.target)}</code>{more}"
    return folded(title, Block("module", f"{head}|---|---|---|---:|---:|---|---|\n", lines))


def _row(row: Row) -> str:
    change = "; ".join(part for part in (row.change, *row.notes) if part)
    cells = (row.mark, cell(row.module), plain_text(row.type), row.before, row.after)
    return f"| {' | '.join(cells)} | {plain_text(change)} | {cell(row.source)} |\n"
