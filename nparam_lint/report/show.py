"""The page of one model: what was built and how, its totals, its devices, its modules."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nparam_lint.records import Measured
from nparam_lint.report import style
from nparam_lint.report.style import NO_CUDA, Paint, clean
from nparam_lint.report.table import column_widths, module_table, ruled
from nparam_lint.report.text import NARROWEST, findings_lines
from nparam_lint.report.verdicts import verdict_lines_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nparam_lint.records import DeviceResult, ModelReport, NotMeasured
    from nparam_lint.report import Options

_TABLE_ROWS = 60


def render_show(model: ModelReport, options: Options) -> str:
    options = replace(options, width=max(options.width, NARROWEST))
    paint, measured = Paint(options.color), model.measurement
    at = model.position
    defined = f"{clean(at.path)}:{at.line}"
    title = paint("bold", style.elide_target(clean(model.target), options.width))
    if not isinstance(measured, Measured):
        facts = _facts([("defined", defined)], options, paint)
        sections = [[title, *facts], _absent(measured, options, paint)]
    else:
        absent, devices = _by_presence(measured.devices)
        how = ", ".join([measured.rung, *(["from the cache"] if measured.cached else []), *absent])
        pairs = [("call", clean(measured.call)), ("defined", defined), ("counted on", how)]
        sections = [
            [title, *_facts(pairs, options, paint)],
            _totals(measured, options, paint),
            _devices(devices, options, paint),
            [*module_table(measured.modules, options.width, options.depth, _TABLE_ROWS, paint)],
            _parameters(measured, options, paint) if options.verbose else [],
            _remarks(measured, options, paint),
        ]
    if model.budgets:
        sections.append(verdict_lines_of(model, options.width, paint))
    sections.append(findings_lines(model.findings, options.width, paint))
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def _facts(pairs: list[tuple[str, str]], options: Options, paint: Paint) -> list[str]:
    wide = max(len(name) for name, _ in pairs)
    lines = []
    for name, value in pairs:
        first, *more = style.wrap(value, options.width - wide - 4)
        lines.append(f"  {paint('dim', name.ljust(wide))}  {first}")
        lines += [" " * (wide + 4) + line for line in more]
    return lines


def _absent(measured: NotMeasured, options: Options, paint: Paint) -> list[str]:
    reason = style.wrap(f"– not measured: {clean(measured.reason)}", options.width, hang="  ")
    lines = [paint("red", line) for line in reason]
    if measured.source:
        lines.append(f"  at {clean(measured.source)}")
    if measured.missing:
        lines += style.wrap(f"needs: {', '.join(measured.missing)}", options.width, "  ", "    ")
    if measured.hint:
        lines += style.wrap(clean(measured.hint), options.width, "  ", "    ")
    return lines


def _totals(measured: Measured, options: Options, paint: Paint) -> list[str]:
    counts = measured.counts
    sparse = counts.active is not None and counts.active != counts.total
    rows: list[tuple[str, int | None, str]] = [
        ("parameters", counts.total, ""),
        ("trainable", counts.trainable, ""),
        ("frozen", counts.frozen, ""),
        ("non-embedding", counts.non_embedding, "without nn.Embedding modules"),
        *([("active", counts.active, "used for one token")] if sparse else []),
        *([("active", None, f"unknown: {clean(why)}")] if (why := measured.no_routing) else []),
        ("buffers", counts.buffers, ""),
        ("bytes", counts.bytes, f"{style.human_bytes(counts.bytes)}, parameters and buffers"),
    ]
    wide = max(len(f"{count:,}") for _, count, _ in rows if count is not None)
    lines = []
    for name, count, note in rows:
        head = f"  {paint('dim', name.ljust(13))}  "
        if count is None:
            first, *more = style.wrap(note, options.width - 17)
            lines += [head + first, *(" " * 17 + line for line in more)]
            continue
        number = paint("bold" if name == "parameters" else "", f"{count:>{wide},}")
        lines.append(f"{head}{number}  {paint('dim', note)}".rstrip())
    return lines


def _by_presence(
    devices: Mapping[str, DeviceResult],
) -> tuple[list[str], dict[str, DeviceResult]]:
    """Devices that are not there, in words; and the others."""
    absent = [name for name, d in devices.items() if d.status == "skipped" and d.reason in NO_CUDA]
    words = [f"{name} skipped ({devices[name].reason})" for name in absent]
    return words, {name: d for name, d in devices.items() if name not in absent}


def _devices(devices: Mapping[str, DeviceResult], options: Options, paint: Paint) -> list[str]:
    """Nothing where only meta was asked and answered."""
    if set(devices) <= {"meta"} and all(d.status == "measured" for d in devices.values()):
        return []
    rows, below = [], []
    colors = {"measured": "green", "failed": "red", "skipped": "yellow"}
    for name, device in devices.items():
        taken = "" if device.bytes is None else style.human_bytes(device.bytes)
        total = "–" if device.total is None else f"{device.total:,}"
        rows.append([name, paint(colors[device.status], device.status), total, taken])
        told = [clean(device.reason)] if device.reason else []
        for text in [*told, *map(clean, device.differences)]:
            below += style.wrap(f"{name}: {text}", options.width, hang="    ")
    headers = ["device", "status", "parameters", "memory"]
    if not any(row[3] for row in rows):
        headers, rows = headers[:3], [row[:3] for row in rows]
    return ruled(headers, rows, "llrr"[: len(headers)], paint) + below


def _parameters(measured: Measured, options: Options, paint: Paint) -> list[str]:
    if not measured.parameters:
        return []
    rows = []
    for row in measured.parameters:
        shape = " × ".join(map(str, row.shape)) or "scalar"
        notes = [*(f"also {name}" for name in row.also), *([row.note] if row.note else [])]
        notes += [] if row.trainable else ["frozen"]
        rows.append([clean(row.name), shape, row.dtype, clean("; ".join(notes)), row.source or ""])
    headers = ["parameter", "shape", "dtype", "", "source"]
    for column, least in ((4, 0), (3, 10), (0, 16)):
        widths = column_widths(headers, rows)
        excess = sum(widths) + 2 * (len(headers) - 1) - options.width
        if excess > 0 and column == 4:
            headers, rows = headers[:4], [row[:4] for row in rows]
        elif excess > 0:
            for cells in rows:
                cells[column] = style.elide_middle(
                    cells[column], max(widths[column] - excess, least)
                )
    return ruled(headers, rows, "lrlll"[: len(headers)], paint)


def _remarks(measured: Measured, options: Options, paint: Paint) -> list[str]:
    lines = []
    for hidden in measured.hidden:
        source = f" ({hidden.source})" if hidden.source else ""
        text = f"! {hidden.path}: {hidden.count:,} parameters that parameters() does not return"
        text = clean(f"{text}: {hidden.what}{source}")
        lines += [paint("yellow", line) for line in style.wrap(text, options.width, hang="  ")]
    for note in measured.notes:
        lines += style.wrap(f"note: {clean(note)}", options.width, hang="  ")
    return lines
