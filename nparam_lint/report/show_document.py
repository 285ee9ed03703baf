"""The document of `show`: how a model was built, its totals, its devices, its modules; and that of
one model that was counted in Python."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from nparam_lint.count.measured import Measured
from nparam_lint.gate.report import Inside, ModelReport, Report
from nparam_lint.report import (
    Cell,
    Column,
    Document,
    Fact,
    Facts,
    Page,
    Row,
    Section,
    Step,
    Table,
    Text,
    check_data,
    style,
)
from nparam_lint.report.annotate_document import annotated
from nparam_lint.report.budget_outcomes import ModelBudgets, total_of
from nparam_lint.report.check_document import check_document
from nparam_lint.report.folded_modules import Modules
from nparam_lint.report.not_counted import absent, ways_not_built
from nparam_lint.report.overview import place_of_way
from nparam_lint.report.training import bytes_by_dtype, training_blocks, training_record

if TYPE_CHECKING:
    from nparam_lint.report import Block, Options
    from nparam_lint.report.training import Optimizer, TrainingRecord

_ROWS = 60
_WAYS = 12  # without -v


def show_document(
    report: Report,
    root: Path,
    optimizer: Optimizer | None = None,
    *,
    check: Callable[[str], str] | None = None,
) -> Document:
    """That of the one model; where nothing could be measured at all, that of a check. `root`: of
    the project. `optimizer`: what it takes to train the model with it is told, too. `check`: the
    command for a file, where git has another state to compare with."""
    document = replace(check_document(report), command="show")
    if not report.models or report.error:
        return document
    measured = report.models[0].measurement
    training = None
    if optimizer and isinstance(measured, Measured):
        training = training_record(measured, optimizer)
        document = replace(
            document,
            data=lambda: dataclasses.replace(check_data.check_data(report), training=training),
        )
    page = partial(_page, report, root, training, check)
    return replace(document, page=page)


def counts_document(measured: Measured) -> Document:
    """The totals and the modules of one model that was counted in Python."""
    name = measured.call

    def page(options: Options) -> Page:
        modules = replace(_modules(measured, name, options), brief=True)
        sections = (
            Section((totals(measured),), name, always=True),
            Section((modules,), always=True),
            Section(tuple(remarks(measured)), always=True),
        )
        return Page(sections, headline=f"{name} · {measured.counts.total:,} parameters")

    return Document("count", lambda: check_data.build_data(measured), page)


def _modules(measured: Measured, name: str, options: Options) -> Modules:
    limit = options.rows or _ROWS
    return Modules(measured, options.depth, limit, name)


def _page(
    report: Report,
    root: Path,
    training: TrainingRecord | None,
    check: Callable[[str], str] | None,
    options: Options,
) -> Page:
    model = report.models[0]
    name, total = model.target, total_of(model)
    blocks = _blocks(model, training, options)
    sections = [Section(tuple(block), always=True) for block in blocks]
    sections[0] = replace(sections[0], title=name)
    source = annotated(model, root, None)
    if source and source.rows:  # beside the picture of the model
        fold = "Source, with what each line makes:"
        sections.append(Section((source.table(),), source.path, only="page", fold=fold))
    sections.append(Section(tuple(_other_ways(report, options))))
    path = model.target.partition("::")[0]
    if check and path.endswith(".py") and any(finding.result for finding in model.findings):
        # The model as it was is built for that, as by a check.
        command = Text(f"What changed since the last commit: {check(path)}", kind="verbatim")
        sections.append(Section((command,), closing=True, only="text"))
    counted = "not measured" if total is None else f"{total:,} parameters"
    return Page(tuple(sections), headline=f"{name} · {counted}")


def _blocks(
    model: ModelReport, training: TrainingRecord | None, options: Options
) -> Iterator[list[Block]]:
    measured, at = model.measurement, model.position
    defined = Fact("defined", f"{at.path}:{at.line}")
    if not isinstance(measured, Measured):
        yield [Facts((defined,))]
        if not model.findings:
            yield list(absent(measured))
    else:
        facts = [Fact("call", measured.call), defined]
        if model.way and not model.inside:
            facts.insert(1, Fact("as built in", place_of_way(model, model.target)))
        devices = measured.devices.items()
        cached = ["from the cache"] if measured.cached else []
        absences = [
            f"{name} skipped ({device.reason})" for name, device in devices if device.is_absent
        ]
        facts.append(Fact("counted on", ", ".join([measured.rung, *cached, *absences])))
        yield [Facts(tuple(facts))]
        if model.inside:
            yield [_inside(model.inside)]
        yield [totals(measured)]
        if training:
            yield from training_blocks(training)
        elif len(measured.dtypes) > 1:
            yield [bytes_by_dtype(measured)]
        yield list(_devices(measured))
        yield [_modules(measured, model.target, options)]
        if options.verbose and measured.parameters:
            yield [_parameters(measured)]
        yield list(remarks(measured))
        at_findings = {finding.position for finding in model.findings}  # they say what is broken
        if budgets := [b for b in model.budgets if b.ok or b.position not in at_findings]:
            places = {budget.position for budget in budgets}
            findings = (finding for finding in model.findings if finding.position in places)
            rest = replace(model, budgets=tuple(budgets), findings=tuple(findings))
            yield [ModelBudgets((rest,), alone=True)]


def _other_ways(report: Report, options: Options) -> Iterator[Block]:
    """The counts of the same model, as the project builds it elsewhere."""
    _, *models = [m for m in report.models if m.target == report.models[0].target]
    if models:
        yield Text("As the project also builds it:")
        shown = models if options.verbose else models[:_WAYS]
        counts = [f"{total_of(model) or 0:,}" for model in shown]
        places = [place_of_way(model, model.target) for model in shown]
        pairs = zip(counts, places, strict=True)
        width = max(map(len, counts))
        yield Facts(tuple(Fact(count.rjust(width), place) for count, place in pairs), tone="")
        if hidden := len(models) - len(shown):
            yield Text(f"… and {hidden:,} more (-v lists them)", "dim", "  ")
    yield from ways_not_built(report, options)


def _inside(instances: Sequence[Inside]) -> Table:
    """How the models of the project build a class."""
    rows = []
    for inside in instances:
        names = inside.model.target.partition("::")[2], inside.row.call
        numbers = f"{inside.times:,}×", f"{inside.row.total:,}", style.percent(inside.share)
        rows.append(Row((*names, *numbers, str(inside.way.position))))
    numeric = (Column(name, "number") for name in ("times", "each", "share"))
    columns = Column("inside", "code"), Column("call", "code"), *numeric, Column("source", "code")
    steps = Step("drop", "source"), Step("shorten", "call", 16), Step("shorten", "inside", 8)
    return Table(columns, tuple(rows), steps, noun="way")


def totals(measured: Measured) -> Facts:
    facts = []
    for metric, count in style.shown_metrics(measured):
        if count is None:
            facts.append(Fact(metric.label, f"unknown: {measured.no_routing or ''}"))
            continue
        size = f"{style.human_bytes(count)}, " if metric.unit == "bytes" else ""
        tone = "bold" if metric.name == "total" else ""
        facts.append(Fact(metric.label, size + metric.note, f"{count:,}", tone))
    return Facts(tuple(facts))


def _devices(measured: Measured) -> Iterator[Block]:
    """Nothing where only meta was asked and answered; beside the bytes of parameters and buffers,
    what an allocator really took for them."""
    devices = {name: d for name, d in measured.devices.items() if not d.is_absent}
    if set(devices) <= {"meta"} and all(d.status == "measured" for d in devices.values()):
        return
    rows, below = [], []
    colors = {"measured": "green", "failed": "red", "skipped": "yellow"}
    for name, device in devices.items():
        status = Cell(device.status, colors[device.status])
        total = "–" if device.total is None else f"{device.total:,}"
        estimate = allocated = ""
        if device.bytes is not None:
            estimate, allocated = map(style.human_bytes, (measured.counts.bytes, device.bytes))
        rows.append(Row((name, status, total, estimate, allocated)))
        reasons = filter(None, (device.reason, *device.differences))
        below += [Text(f"{name}: {text}", hang="    ") for text in reasons]
    names = Column("device"), Column("status")
    numbers = tuple(Column(name, "number") for name in ("parameters", "bytes", "allocated"))
    yield Table((*names, *numbers), tuple(rows)).filled
    yield from below


def _parameters(measured: Measured) -> Table:
    rows = []
    for row in measured.parameters:
        shape = " × ".join(map(str, row.shape)) or "scalar"
        notes = [*(f"also {name}" for name in row.also), *([row.note] if row.note else [])]
        notes += [] if row.trainable else ["frozen"]
        rows.append(Row((row.name, shape, row.dtype, "; ".join(notes), row.source or "")))
    columns = (
        Column("parameter", "code"),
        Column("shape", "number"),
        Column("dtype"),
        Column(""),
        Column("source", "code"),
    )
    steps = Step("drop", "source"), Step("shorten", "", 10), Step("shorten", "parameter", 16)
    return Table(columns, tuple(rows), steps, noun="parameter").filled


def remarks(measured: Measured) -> Iterator[Text]:
    for hidden in measured.hidden:
        yield Text(f"! {style.hidden_words(hidden)}", "yellow", hang="  ")
    for note in measured.notes:
        yield Text(f"note: {note}", hang="  ")
