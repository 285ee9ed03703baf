"""What `diff` says: what became of each model, its modules, and a summary."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nparam_lint.analysis.documents import diff_words as words
from nparam_lint.analysis.documents.changed_modules import TONES, change_table
from nparam_lint.analysis.documents.diff_data import as_report, data_of
from nparam_lint.report import style
from nparam_lint.report.document import (
    Column,
    Document,
    Listing,
    ListingLine,
    Options,
    Page,
    Parts,
    Row,
    Section,
    Table,
    Text,
)
from nparam_lint.report.style import clean, grouped, plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nparam_lint.analysis.diff import DiffReport, ModelDiff

_ROWS = 20  # of a table of modules
_NAMED = 4  # models that changed like another
_ALIKE = 2  # models that share a line where they share what is said of them


def diff_document(report: DiffReport) -> Document:
    lines = (
        f"{clean(at.path)}:{at.line}:{at.column}: {words.name_of(model)} "
        + _in_one_line(model, report)
        for model in _changed(report)
        for at in (model.position,)
    )
    return Document(
        "diff",
        lambda: data_of(report),
        lambda options: _page(report, options),
        report.error,
        as_report(report),
        tuple(lines),
    )


def _changed(report: DiffReport) -> list[ModelDiff]:
    return [m for m in report.models if m.status != "same" and words.is_shown(m)]


def _page(report: DiffReport, options: Options) -> Page:
    mark, headline = _mark(report), words.headline(report)
    if report.error is not None:
        return Page(mark=mark, headline=headline)
    took = f"{report.seconds:.1f} s"
    if words.is_same(report) and not (report.findings or report.notes or options.verbose):
        left, since = len(report.unmeasured), words.since(report)
        rest = f"; {left:,} could be counted on neither side" if left else ""
        lists = " (-v lists them)" if left else ""
        nothing = f"No change since {since}: {words.compared(report)}{rest}{lists} · {took}"
        return Page((), mark, f"{headline} since {since}{rest}", nothing)
    where = f"{words.since(report)} → {report.now}"
    notes = tuple(Text(note, "dim") for note in report.notes)
    sections = [
        Section((Text(where, "dim"), *notes), only="text"),
        Section((_listing(report, options),), lead=True),
        *(Section((note,), lead=True, only="page") for note in notes),
        *_tables(report, options),
        _unmeasured(report, options),
    ]
    return Page(tuple(sections), mark, headline, "", _summary(report, options), _foot(report))


def _mark(report: DiffReport) -> str:
    if report.error or any(finding.severity == "error" for finding in report.findings):
        return "✗"
    if report.findings or any(model.status == "not_measured" for model in report.models):
        return "!"
    return "✓" if words.is_same(report) else "Δ"


# --- the models -----------------------------------------------------------------------------------


def _listing(report: DiffReport, options: Options) -> Listing:
    shown = report.models if options.verbose else _changed(report)
    files = grouped(shown, words.place_of)
    found = ((place, tuple(_entries(models, report))) for place, models in files.items())
    columns = (
        Column("model", "code"),
        Column("before", "number"),
        Column("after", "number"),
        Column("change"),
    )
    rows = tuple(_model_row(model, report) for model in shown)
    return Listing(tuple(found), Table(columns, rows, noun="model"))


def _model_row(model: ModelDiff, report: DiffReport) -> Row:
    totals = model.total_before, model.total_after
    before, after = ("" if total is None else f"{total:,}" for total in totals)
    told = [*_told(model, report), *model.notes]
    if model.before_target:
        told.append(f"was {model.before_target} ({model.evidence})")
    if model.explained and model.explanation:
        told.append(model.explanation)
    return Row((model.target, before, after, "; ".join(told)), words.MARKS[model.status])


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


def _entries(models: Sequence[ModelDiff], report: DiffReport) -> list[ListingLine]:
    """Files that moved as they were, and what fails for one reason, in one line."""
    lines = []
    for group in grouped(models, _alike).values():
        if len(group) < _ALIKE:
            lines += [_entry(model, report) for model in group]
            continue
        first = _entry(group[0], report)
        names = ", ".join(words.name_of(model) for model in group)
        verdict = first.verdict
        if group[0].status == "renamed":
            old = clean(group[0].before_target or "").partition("::")[0]
            verdict = f"moved from {old}, unchanged"
        lines.append(ListingLine(first.mark, names, verdict=verdict, tone=first.tone))
    return lines


def _alike(model: ModelDiff) -> object:
    if model.status == "not_measured":
        return model.reasons, model.total_before is None, model.total_after is None
    old, _, name = (model.before_target or "").partition("::")
    if model.status == "renamed" and not words.is_changed(model) and not model.modules:
        return old if name == model.target.partition("::")[2] else model.target
    return model.target, id(model)


def _entry(model: ModelDiff, report: DiffReport) -> ListingLine:
    mark, name = words.MARKS[model.status], words.name_of(model)
    entry = ListingLine(mark, name, tone=TONES[mark])
    before, after = model.total_before, model.total_after
    codes = "  ".join(sorted({finding.code for finding in model.findings}))
    if model.status == "not_measured":
        why = [*words.unmeasured_words(model, report), *words.known_count(model, report)]
        verdict = "; ".join(why)
        return replace(entry, verdict=verdict)
    if model.status == "added":
        told = "new" if model.explained is None else "new, with a budget"
        return replace(entry, after=f"{after:,}", verdict=told)
    if model.status == "removed":
        told = "gone" if not codes else f"gone, but declared  {codes}"
        return replace(entry, before=f"{before:,}", verdict=told)
    if model.status == "same":
        return replace(entry, after=f"{after:,}", verdict="unchanged")
    below = [] if not model.before_target else [_was(model)]
    below += [model.explanation or ""] if model.explained else []
    told = "; ".join(clean(text) for text in below)
    if model.delta and before is not None and after is not None:
        share = words.proportion(before, after)
        verdict = "  ".join(part for part in (f"({share})" if share else "", codes) if part)
        delta = words.signed(model.delta)
        counts = {"before": f"{before:,}", "after": f"{after:,}", "delta": delta}
        return replace(entry, **counts, verdict=verdict, below=told)
    return replace(entry, after=f"{after:,}", verdict=words.beside_total(model), below=told)


def _was(model: ModelDiff) -> str:
    old = model.before_target or ""
    place, _, name = old.partition("::")
    here = name if place == model.target.partition("::")[0] else old
    return f"was {here} ({model.evidence})" if model.evidence else f"was {here}"


def _in_one_line(model: ModelDiff, report: DiffReport) -> str:
    was = f" (was {clean(model.before_target)})" if model.before_target else ""
    told = _told(model, report)
    if model.status == "not_measured":
        return "; ".join([*told, *words.known_count(model, report)]) + was
    counts = (f"{n:,}" for n in (model.total_before, model.total_after) if n is not None)
    return f"{' → '.join(dict.fromkeys(counts))} {'; '.join(told)}{was}"


# --- their modules --------------------------------------------------------------------------------


def _tables(report: DiffReport, options: Options) -> Iterator[Section]:
    """Of every model that stands for itself, one for what changed alike, the largest change
    first."""
    changed = [model for model in report.models if model.modules or model.notes]
    known = [model for model in changed if model.top_level or model.declared] or changed
    ordered = words.largest_first(changed if options.verbose else known)
    groups = list(grouped(ordered, lambda model: model.modules).values())
    shown = groups[: max(options.tables, 0)]
    yield from (_table(group, options) for group in shown)
    if len(groups) > len(shown) and options.tables:
        text = f"… and {plural(len(groups) - len(shown), 'more table')}: -v"
        yield Section((Text(text, "dim", kind="verbatim"),), only="text")


def _table(group: list[ModelDiff], options: Options) -> Section:
    model = group[0]
    notes = [Text(note, "yellow") for note in model.notes]
    limit = (options.rows or _ROWS) * (1 + 4 * bool(options.verbose))
    alike = []
    if len(group) > 1:
        names = [other.target for other in group[1 : _NAMED + 1]]
        names += [f"{len(group) - 1 - _NAMED:,} more"] if len(group) > _NAMED + 1 else []
        alike = [Text(f"the same in {', '.join(names)}", "dim", hang="  ")]
    table = change_table(model, limit, options.depth)
    return Section((*notes, table, *alike), clean(model.target), fold="Modules of")


# --- the end --------------------------------------------------------------------------------------


def _unmeasured(report: DiffReport, options: Options) -> Section:
    """Those that nobody declares, and that were not counted at the base either."""
    count = len(report.unmeasured)
    if not count:
        return Section(())
    hint = "" if options.verbose else " (-v lists them)" if count > 1 else " (-v says why)"
    text = f"{plural(count, 'model')} could be counted on neither side"
    blocks = [Text(f"{text}{hint}", "dim")]
    for target, failure in report.unmeasured if options.verbose else ():
        reason = style.short_reason(failure.reason, target.partition("::")[2])
        told = f"{clean(target)}: {reason}"
        blocks.append(Text(told, "dim", "  ", "    "))
    return Section(tuple(blocks), only="text")


def _summary(report: DiffReport, options: Options) -> tuple[Parts, ...]:
    errors = sum(finding.severity == "error" for finding in report.findings)
    warnings = len(report.findings) - errors
    parts = [
        ("", f"{words.compared(report)}: {', '.join(words.tally(report)) or 'none changed'}"),
        *([("red", plural(errors, "error"))] if errors else []),
        *([("yellow", plural(warnings, "warning"))] if warnings else []),
        ("", f"{report.seconds:.1f} s"),
    ]
    if options.quiet or report.environment is None:
        return (Parts(tuple(parts)),)
    where = report.environment
    about = [f"{where.python} ({where.reason})", f"torch {where.torch}"]
    about += [f"tolerance {report.tolerance}"] if report.tolerance else []
    return Parts(tuple(parts)), Parts(tuple(("dim", clean(text)) for text in about), "dim")


def _foot(report: DiffReport) -> str:
    parts = [f"{words.compared(report)} compared", f"{words.since(report)} → {report.now}"]
    if report.unmeasured:
        parts.append(f"{len(report.unmeasured):,} could be counted on neither side")
    if report.environment:
        parts.append(f"torch {report.environment.torch}")
    if report.tolerance:
        parts.append(f"tolerance {report.tolerance}")
    return " · ".join(parts)
