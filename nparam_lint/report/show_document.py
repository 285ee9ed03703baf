"""The document of `show`: how a model was built, its totals, its devices, its modules; and that of
one model that was counted in Python."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from nparam_lint.count.measured import DeviceResult, Measured
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
from nparam_lint.report.style import clean
from nparam_lint.report.training import (
    Training,
    bytes_by_dtype,
    training_blocks,
    training_of,
    training_record,
)

if TYPE_CHECKING:
    from nparam_lint.report import Block, Options
    from nparam_lint.report.check_data import MeasuredBuild
    from nparam_lint.report.training import Optimizer

_ROWS = 60
_WAYS = 12  # without -v


def show_document(report: Report, root: Path, optimizer: Optimizer | None = None) -> Document:
    """That of the one model; where nothing could be measured at all, that of a check. `root`: of
    the project. `optimizer`: what it takes to train the model with it is told, too."""
    document = replace(check_document(report), command="show")
    if not report.models or report.error:
        return document
    measured = report.models[0].measurement
    state = None
    if optimizer and isinstance(measured, Measured):
        state = training_of(measured, optimizer)
        record = training_record(state)
        document = replace(
            document, data=lambda: replace(check_data.check_data(report), training=record)
        )
    return replace(document, page=lambda options: _page(report, root, state, options))


def counts_document(measured: Measured) -> Document:
    """The totals and the modules of one model that was counted in Python."""
    name = clean(measured.call)

    def page(options: Options) -> Page:
        modules = _modules(measured, name, options, brief=True)
        blocks = (totals(measured),), (modules,), tuple(remarks(measured))
        first, *others = (Section(some, always=True) for some in blocks)
        headline = f"{name} · {measured.counts.total:,} parameters"
        return Page((replace(first, title=name), *others), headline=headline)

    def data() -> MeasuredBuild:
        return check_data.build_data(measured)

    return Document("count", data, page)


def _modules(measured: Measured, name: str, options: Options, *, brief: bool = False) -> Modules:
    rows, limit = measured.modules, options.rows or _ROWS
    return Modules(rows, options.depth, limit, measured.parameters, name, brief)


def _page(report: Report, root: Path, state: Training | None, options: Options) -> Page:
    model = report.models[0]
    blocks = _blocks(model, state, options)
    first, *others = (Section(tuple(some), always=True) for some in blocks)
    source = annotated(model, root, None)
    if source and source.rows:  # beside the picture of the model
        fold = "Source, with what each line makes:"
        others.append(Section((source.table(),), clean(source.path), only="page", fold=fold))
    others.append(Section(tuple(_other_ways(report, options))))
    name = clean(model.target)
    total = total_of(model)
    counted = "not measured" if total is None else f"{total:,} parameters"
    return Page((replace(first, title=name), *others), headline=f"{name} · {counted}")


def _blocks(model: ModelReport, state: Training | None, options: Options) -> Iterator[list[Block]]:
    measured, at = model.measurement, model.position
    defined = Fact("defined", f"{clean(at.path)}:{at.line}")
    if not isinstance(measured, Measured):
        yield [Facts((defined,))]
        yield list(absent(measured))
    else:
        missing = [
            f"{name} skipped ({d.reason})" for name, d in measured.devices.items() if d.is_absent
        ]
        cached = ["from the cache"] if measured.cached else []
        how = ", ".join([measured.rung, *cached, *missing])
        call = Fact("call", clean(measured.call))
        way = [Fact("as built in", place_of_way(model, model.target))]
        way = way if model.way and not model.inside else []
        why = [Fact("built because", clean(measured.why_built))] if measured.why_built else []
        yield [Facts((call, *way, defined, Fact("counted on", how), *why))]
        if model.inside:
            yield [_inside(model.inside)]
        yield [totals(measured)]
        if state:
            yield from training_blocks(state)
        elif len(measured.dtypes) > 1:
            yield [bytes_by_dtype(measured)]
        present = {n: d for n, d in measured.devices.items() if not d.is_absent}
        yield list(_devices(present, measured.counts.bytes))
        yield [_modules(measured, clean(model.target), options)]
        if options.verbose and measured.parameters:
            yield [_parameters(measured)]
        yield list(remarks(measured))
    if model.budgets:
        yield [ModelBudgets((model,), alone=True)]


def _other_ways(report: Report, options: Options) -> Iterator[Block]:
    """The counts of the same model, as the project builds it elsewhere."""
    _, *others = [m for m in report.models if m.target == report.models[0].target]
    if others:
        yield Text("As the project also builds it:")
        shown = others if options.verbose else others[:_WAYS]
        counts = [f"{total_of(one) or 0:,}" for one in shown]
        places = [place_of_way(one, one.target) for one in shown]
        pairs = zip(counts, places, strict=True)
        width = max(map(len, counts))
        yield Facts(tuple(Fact(count.rjust(width), place) for count, place in pairs), tone="")
        if left := len(others) - len(shown):
            yield Text(f"… and {left:,} more (-v lists them)", "dim", "  ")
    yield from ways_not_built(report, options)


def _inside(found: Sequence[Inside]) -> Table:
    """How the models of the project build a class."""
    rows = []
    for one in found:
        names = clean(one.model.target.partition("::")[2]), clean(one.row.call)
        share = f"{one.share:.1%}".replace("%", " %")
        numbers = f"{one.times:,}×", f"{one.row.total:,}", share
        rows.append(Row((*names, *numbers, clean(str(one.way.position)))))
    numeric = (Column(name, "number") for name in ("times", "each", "share"))
    columns = Column("inside", "code"), Column("call", "code"), *numeric, Column("source", "code")
    steps = Step("drop", "source"), Step("shorten", "call", 16), Step("shorten", "inside", 8)
    return Table(columns, tuple(rows), steps, noun="way")


def totals(measured: Measured) -> Facts:
    facts = []
    for metric, count in style.shown_metrics(measured):
        if count is None:
            facts.append(Fact(metric.label, f"unknown: {clean(measured.no_routing or '')}"))
            continue
        size = f"{style.human_bytes(count)}, " if metric.unit == "bytes" else ""
        tone = "bold" if metric.name == "total" else ""
        facts.append(Fact(metric.label, size + metric.note, f"{count:,}", tone))
    return Facts(tuple(facts))


def _devices(devices: Mapping[str, DeviceResult], estimate: int) -> Iterator[Block]:
    """Nothing where only meta was asked and answered. `estimate`: the bytes of parameters and
    buffers, beside what an allocator really took for them."""
    if set(devices) <= {"meta"} and all(d.status == "measured" for d in devices.values()):
        return
    rows, below = [], []
    colors = {"measured": "green", "failed": "red", "skipped": "yellow"}
    for name, device in devices.items():
        taken = "" if device.bytes is None else style.human_bytes(device.bytes)
        needs = "" if device.bytes is None else style.human_bytes(estimate)
        total = "–" if device.total is None else f"{device.total:,}"
        rows.append(Row((name, Cell(device.status, colors[device.status]), total, needs, taken)))
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
