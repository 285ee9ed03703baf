"""The document of `diff`: the changes of each model and of its modules, and a summary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from nparam_lint import report as doc
from nparam_lint.changes.documents import diff_words as words
from nparam_lint.changes.documents.diff_data import data_of
from nparam_lint.changes.fold_changes import Line, lines_of
from nparam_lint.count.measured import Measured
from nparam_lint.ground.grouping import grouped
from nparam_lint.report import style
from nparam_lint.report.budget_outcomes import worst
from nparam_lint.report.pictures import DrawnChange, Picture
from nparam_lint.report.style import plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nparam_lint.changes.records import DiffReport, ModelDiff

_ROWS = 20  # of a table of modules
_TABLES = 16  # without -v: a model zoo has hundreds
_IN_TERMINAL = 4  # where the list of the models comes first
_NAMED = 4  # models that changed like another
_FEW = 3  # models that are counted on neither side, of which that is said without -v

_TONES = {**style.MARK_TONES, "!": "red"}
_SHORT = 24  # characters of a note that replaces a change
_CHANGES = (
    doc.Column("module", "code"),
    doc.Column("type", tone="dim"),
    doc.Column("before", "number", "dim"),
    doc.Column("after", "number"),
    doc.Column("change", "number", notes=True),
    doc.Column("source", "code", "dim"),
)
# The change always stands.
_STEPS = (
    doc.Step("short", "source"),
    doc.Step("drop", "type"),
    doc.Step("drop", "before"),
    doc.Step("shorten", "module", 24),
    doc.Step("drop", "source"),
    doc.Step("drop", "after"),
)


def diff_document(report: DiffReport) -> doc.Document:
    lines = []
    for model in _changed_models(report):
        at, changes = model.position, _change_words(model, report)
        if model.status == "not_measured":
            text = "; ".join([*changes, *words.known_count(model, report)])
        else:
            counts = dict.fromkeys(filter(None, _totals(model)))
            text = f"{' → '.join(counts)} {'; '.join(changes)}"
        was = f" (was {model.before_target})" if model.before_target else ""
        place = f"{at.path}:{at.line}:{at.column}"
        lines.append(f"{place}: {model.name} {text}{was}")
    return doc.Document(
        "diff",
        lambda: data_of(report),
        lambda options: _page(report, options),
        report.check.error,
        report.check,
        tuple(lines),
    )


def _changed_models(report: DiffReport) -> list[ModelDiff]:
    return [m for m in report.models if m.status != "same" and words.is_shown(m)]


def _page(report: DiffReport, options: doc.Options) -> doc.Page:
    headline = words.headline(report)
    if report.check.error is not None:
        return doc.Page(mark="✗", headline=headline)
    is_counted = all(model.status != "not_measured" for model in report.models)
    mark = "!" if not is_counted else "✓" if words.is_same(report) else "Δ"
    mark = worst(report.check.findings) or mark
    if words.is_same(report) and not (report.check.findings or report.notes or options.verbose):
        count, since = len(report.check.skipped), words.since(report)
        also = f"; {count:,} could be counted on neither side" if count else ""
        lists, took = " (-v lists them)" if count else "", f"{report.check.seconds:.1f} s"
        nothing = f"No change since {since}: {words.compared(report)}{also}{lists} · {took}"
        return doc.Page((), mark, f"{headline} since {since}{also}", nothing)
    where = f"{words.since(report)} → {report.now}"
    notes = tuple(doc.Text(note, "dim") for note in report.notes)
    sections = [
        doc.Section((doc.Text(where, "dim"), *notes), only="text"),
        doc.Section((_models(report, options),), lead=True),
        *(doc.Section((note,), lead=True, only="page") for note in notes),
        *_tables(report, options),
        _unmeasured(report, options),
    ]
    return doc.Page(tuple(sections), mark, headline, "", _summary(report, options), _foot(report))


# --- the models -----------------------------------------------------------------------------------


def _models(report: DiffReport, options: doc.Options) -> doc.Listing:
    shown = report.models if options.verbose else _changed_models(report)
    files = grouped(shown, lambda model: model.target.partition("::")[0])
    lines = tuple((place, tuple(_entries(models, report))) for place, models in files.items())
    rows = []
    for model in shown:
        changes = [*_change_words(model, report), *model.notes]
        if model.before_target:
            changes.append(f"was {model.before_target} ({model.evidence})")
        if model.explained and model.explanation:
            changes.append(model.explanation)
        cells = (model.target, *_totals(model), "; ".join(changes))
        rows.append(doc.Row(cells, words.MARKS[model.status]))
    numbers = doc.Column("before", "number"), doc.Column("after", "number")
    columns = doc.Column("model", "code"), *numbers, doc.Column("change")
    return doc.Listing(lines, doc.Table(columns, tuple(rows), noun="model"))


def _totals(model: ModelDiff) -> tuple[str, str]:
    before, after = model.total_before, model.total_after
    return "" if before is None else f"{before:,}", "" if after is None else f"{after:,}"


def _change_words(model: ModelDiff, report: DiffReport) -> list[str]:
    if model.status == "not_measured":
        return words.unmeasured_words(model, report)
    if model.status in ("added", "removed"):
        return ["new" if model.status == "added" else "gone"]
    if model.delta:
        return [words.change(model.delta, model.total_before)]
    return [words.beside_total(model)]


def _entries(models: Sequence[ModelDiff], report: DiffReport) -> list[doc.ListingLine]:
    """Files that moved as they were, and what fails for one reason, in one line."""
    lines = []
    for group in grouped(models, _alike).values():
        first = _entry(group[0], report)
        if len(group) == 1:
            lines.append(first)
            continue
        names = ", ".join(model.name for model in group)
        verdict = first.verdict
        if group[0].status == "renamed":
            old = (group[0].before_target or "").partition("::")[0]
            verdict = f"moved from {old}, unchanged"
        lines.append(doc.ListingLine(first.mark, names, verdict=verdict, tone=first.tone))
    return lines


def _alike(model: ModelDiff) -> object:
    if model.status == "not_measured":
        return model.reasons, model.total_before is None, model.total_after is None
    old, _, name = (model.before_target or "").partition("::")
    if model.status == "renamed" and not words.is_changed(model) and not model.modules:
        return old if name == model.target.partition("::")[2] else model.target
    return model.target, id(model)


def _entry(model: ModelDiff, report: DiffReport) -> doc.ListingLine:
    mark = words.MARKS[model.status]
    entry = doc.ListingLine(mark, model.name, tone=_TONES[mark])
    before, after = _totals(model)
    codes = "  ".join(sorted({finding.code for finding in model.findings}))
    if model.status == "not_measured":
        why = [*words.unmeasured_words(model, report), *words.known_count(model, report)]
        return replace(entry, verdict="; ".join(why))
    if model.status == "added":
        status = "new" if model.explained is None else "new, with a budget"
        return replace(entry, after=after, verdict=status)
    if model.status == "removed":
        status = "gone" if not codes else f"gone, but declared  {codes}"
        return replace(entry, before=before, verdict=status)
    below = [model.explanation or ""] if model.explained else []
    if model.before_target:  # without the file, where that is the same
        was = model.before_target.removeprefix(model.target.partition("::")[0] + "::")
        below.insert(0, f"was {was} ({model.evidence})")
    entry = replace(entry, after=after, below="; ".join(below))
    if not model.delta:
        return replace(entry, verdict=words.beside_total(model))
    share = words.share(model.delta, model.total_before)
    verdict = "  ".join(filter(None, (share and f"({share})", codes)))
    return replace(entry, before=before, delta=style.signed(model.delta), verdict=verdict)


# --- their modules --------------------------------------------------------------------------------


def _tables(report: DiffReport, options: doc.Options) -> Iterator[doc.Section]:
    """Of every model that stands for itself, one for what changed alike, the largest change
    first."""
    models = [model for model in report.models if model.modules or model.notes]
    if not options.verbose:
        models = [model for model in models if model.top_level or model.declared] or models
    ordered = words.largest_first(models)
    groups = list(grouped(ordered, lambda model: model.modules).values())
    most = len(groups) if options.verbose else _IN_TERMINAL
    for number, group in enumerate(groups if options.verbose else groups[:_TABLES]):
        section = _table(group, options)
        yield section if number < most else replace(section, only="page")
    if len(groups) > most:
        text = f"… and {plural(len(groups) - most, 'more table')}: -v"
        yield doc.Section((doc.Text(text, "dim", kind="verbatim"),), only="text")


def _table(group: list[ModelDiff], options: doc.Options) -> doc.Section:
    """In about as many rows as are asked for; what weighs least is left out, and summed up in the
    last line."""
    model = group[0]
    limit = (options.rows or _ROWS) * (1 + 4 * bool(options.verbose))
    lines = list(lines_of(model.modules, limit, options.depth))
    heaviest = sorted(lines, key=lambda line: -abs(line.sum))
    hidden = [] if options.depth is not None else heaviest[limit:]
    more: tuple[str, ...] = ()
    if hidden:
        total = style.signed(sum(line.sum for line in hidden))
        changes = plural(sum(line.modules * line.times for line in hidden), "more change")
        more = (f"… and {changes}, {total} together: --depth and -v show more",)
    hidden_ids = set(map(id, hidden))
    rows = tuple(_row(line) for line in lines if id(line) not in hidden_ids)
    notes = [doc.Text(note, "yellow") for note in model.notes]
    alike = []
    if len(group) > 1:
        names = style.first([same.target for same in group[1:]], _NAMED)
        alike = [doc.Text(f"the same in {', '.join(names)}", "dim", hang="  ")]
    return doc.Section(
        (*notes, doc.Table(_CHANGES, rows, _STEPS, notes=more, noun="module"), *alike),
        model.target,
        fold="Modules of",
        picture=_picture(model),
    )


def _picture(model: ModelDiff) -> Picture | None:
    """Before and after, where both were counted and something of the modules changed."""
    before, after = model.before, model.after
    if not (isinstance(before, Measured) and isinstance(after, Measured) and model.modules):
        return None
    changes = []
    for change in model.modules:
        old, new = (row.path if row else None for row in (change.before, change.after))
        changes.append(DrawnChange(change.kind, old, new, change.delta, change.notes))
    return Picture((("before", before), ("after", after)), tuple(changes))


def _row(line: Line) -> doc.Row:
    notes = [*line.notes]
    shown = ""
    if line.delta:
        shown = (f"{line.times:,} × " if line.times > 1 else "") + style.signed(line.delta)
    elif line.kind != "changed":
        shown = "renamed" if line.kind == "renamed" else "±0"
    elif notes and len(notes[0]) <= _SHORT:
        shown = notes.pop(0)
    kind, before, after, source = f"{line.modules:,} changes", "", "", ""
    if (change := line.change) is not None:
        types = (row.type for row in (change.before, change.after) if row)
        kind = " → ".join(dict.fromkeys(types))
        before = "" if line.kind == "added" else f"{change.count_before:,}"
        after = "" if line.kind == "removed" else f"{change.count_after:,}"
        source = change.row.source or ""
    path, was = line.path, line.path_before
    name = path or ("(root)" if line.delta else "(total)")
    if was != path:  # beside where it was, the name is enough
        is_beside = line.was[:-1] == line.parts[:-1]
        name = f"{was} → {path.rpartition('.')[2] if is_beside else path}"
    mark = words.MARKS[line.kind]
    source_cell = doc.Cell(source, short=source.rpartition("/")[2])
    cells = (name, kind, before, after, doc.Cell(shown, _TONES[mark]), source_cell)
    return doc.Row(cells, mark, tuple(notes))


# --- the end --------------------------------------------------------------------------------------


def _unmeasured(report: DiffReport, options: doc.Options) -> doc.Section:
    """The models without a budget that were counted neither now nor at the base."""
    count = len(report.check.skipped)
    if not count:
        return doc.Section(())
    are_listed = options.verbose or count <= _FEW
    text = f"{plural(count, 'model')} could be counted on neither side"
    blocks = [doc.Text(f"{text}{':' if are_listed else ' (-v lists them)'}", "dim")]
    for target, failure in report.check.skipped if are_listed else ():
        reason = style.short_reason(failure.reason, target.partition("::")[2])
        line = f"{target}: {reason}"
        blocks.append(doc.Text(line, "dim", "  ", "    "))
    return doc.Section(tuple(blocks), only="text")


def _summary(report: DiffReport, options: doc.Options) -> tuple[doc.Parts, ...]:
    errors = sum(finding.severity == "error" for finding in report.check.findings)
    warnings = len(report.check.findings) - errors
    statuses = ", ".join(words.tally(report).values()) or "none changed"
    parts = [
        ("", f"{words.compared(report)}: {statuses}"),
        *([("red", plural(errors, "error"))] if errors else []),
        *([("yellow", plural(warnings, "warning"))] if warnings else []),
        ("", f"{report.check.seconds:.1f} s"),
    ]
    if options.quiet or report.check.environment is None:
        return (doc.Parts(tuple(parts)),)
    where = report.check.environment
    about = [f"{where.python} ({where.reason})", f"torch {where.torch}"]
    about += [f"tolerance {report.tolerance}"] if report.tolerance else []
    return doc.Parts(tuple(parts)), doc.Parts(tuple(("dim", text) for text in about), "dim")


def _foot(report: DiffReport) -> str:
    parts = [f"{words.compared(report)} compared", f"{words.since(report)} → {report.now}"]
    if report.check.skipped:
        parts.append(f"{len(report.check.skipped):,} could be counted on neither side")
    if report.check.environment:
        parts.append(f"torch {report.check.environment.torch}")
    if report.tolerance:
        parts.append(f"tolerance {report.tolerance}")
    return " · ".join(parts)
