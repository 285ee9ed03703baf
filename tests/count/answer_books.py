"""What is told of the models of a book in `answers/`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from case_books import Book
from sample_files import write_files
from worker_runs import Run, make_orders, run, snapshot

from nparam_lint.count.measured import Measured, NotMeasured

if TYPE_CHECKING:
    from nparam_lint.ground.orders import Order

WHOLE = "(model)"  # its path
FOLDER = Path(__file__).with_name("answers")


class AnswerBook(Book):
    def __init__(self, name: str) -> None:
        super().__init__(FOLDER / f"{name}.txt")

    def orders(self, root: Path, **common: Any) -> list[Order]:
        """One for each case."""
        orders = make_orders(root, [case.target for case in self.cases], **common)
        for case in self.cases:
            if case.options:
                (order,) = make_orders(root, [case.target], **common | case.options)
                orders[case.number] = order
        return [replace(o, id=n, label=self.label(n)) for n, o in enumerate(orders)]

    def label(self, number: int) -> str:
        """What a case is called in a run: its target, and its number where there are several."""
        target = self.cases[number].target
        several = [case.target for case in self.cases].count(target) > 1
        return f"{target} {number}" if several else target

    def run(self, place: Path, *, common: dict[str, Any] | None = None, **limits: Any) -> Run:
        """Of all cases, on the book's files below `place`; it changes no file."""
        root = write_files(place / "project", self.files)
        before = snapshot(place)
        done = run(root, self.orders(root, **common or {}), **limits)
        assert snapshot(place) == before
        return done


def told(result: Measured | NotMeasured, root: Path, *, with_rows: bool = False) -> str:
    """What is said of a model: first how many parameters it has and what else is not as it always
    is, or the code, the cause and the reason, in which THERE is the line that `at` shows; then a
    line for each other thing. `with_rows`: also for each of its modules and its parameters."""
    if isinstance(result, NotMeasured):
        reason = result.reason.replace(result.source or "\0", "THERE")
        lines = [f"{result.code} {result.cause}: {reason}"]
        lines += [f"hint: {result.hint}"] if result.hint else []
        lines += [f"missing: {', '.join(result.missing)}"] if result.missing else []
        lines += [f"package: {result.package}"] if result.package else []
        lines += [f"at: {line_of(root, result.source)}"] if result.source else []
        return "\n".join([*lines, *(f"note: {note}" for note in result.notes)])
    counts = result.counts
    usual = {
        "trainable": counts.total,
        "buffers": 0,
        "bytes": 4 * (counts.total + counts.buffers),
        "active": counts.total,
        "non_embedding": counts.total,
    }
    parts = [f"{counts.total:,}"]
    for name, value in usual.items():
        count = counts.of(name)
        if count != value:
            parts.append(f"{name} unknown" if count is None else f"{name} {count:,}")
    lines = [", ".join(parts)]
    lines += [f"active: {result.no_routing}"] if result.no_routing else []
    lines += [f"misdeclared: {result.misdeclared}"] if result.misdeclared else []
    for one in result.hidden:
        at = f" at {line_of(root, one.source)}" if with_rows and one.source else ""
        lines.append(f"hidden: {one.path or WHOLE} {one.count:,} {one.what}{at}")
    for device, one in result.devices.items():
        lines += [f"{device}: {text}" for text in one.differences]
    lines += [f"names: {result.names}"] if result.names else []
    if with_rows:
        for row in result.modules:
            others = [f"is {row.shared_with or WHOLE}"] if row.shared_with is not None else []
            counted = f"{row.type} {row.own:,} of {row.total:,}"
            lines.append(", ".join([f"module: {row.path or WHOLE} {counted}", *others, *row.tied]))
        for tensor in result.parameters:
            at = f" at {line_of(root, tensor.source)}" if tensor.source else ""
            lines.append(f"parameter: {', '.join((tensor.name, *tensor.also))}{at}")
    return "\n".join([*lines, *(f"note: {note}" for note in result.notes)])


def line_of(root: Path, source: str) -> str:
    """The line of a file that is named as `path:line`."""
    path, _, number = source.rpartition(":")
    return (root / path).read_text("utf-8").split("\n")[int(number) - 1].strip()
