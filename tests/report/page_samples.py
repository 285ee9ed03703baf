"""Models for pages: with roles, compared, large, and all of one kind."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

from msgspec.structs import replace
from report_samples import glob_gpt, gpt, measured, model, report, rows

from nparam_lint.analysis.documents.compare_document import Compared, Comparison
from nparam_lint.analysis.roles import Roles

if TYPE_CHECKING:
    from nparam_lint.count.measured import ModuleRow
    from nparam_lint.gate.report import Report


def gpt_report() -> Report:
    """One whose blocks are all made on one line, as a comprehension makes them."""
    one = glob_gpt()
    return report(replace(one, measurement=measured(_of_one_line(gpt()))))


def _of_one_line(modules: tuple[ModuleRow, ...]) -> tuple[ModuleRow, ...]:
    lines: dict[str, str | None] = {}
    places = (re.sub(r"(?<=\.)\d+", "*", row.path) for row in modules)
    pairs = zip(modules, places, strict=True)
    return tuple(replace(row, source=lines.setdefault(at, row.source)) for row, at in pairs)


def distinct(count: int, seed: int = 0) -> tuple[ModuleRow, ...]:
    """A model of so many layers in which no two are equal."""
    chance = random.Random(seed)
    leaves = [
        (
            f"stage{i // 1000}.block{i // 50 % 20}.layer_{i % 50}",
            f"Layer{i % 7}",
            chance.randrange(10**6),
        )
        for i in range(count)
    ]
    return rows(leaves, types={"": "Net"})


def plain(count: int) -> tuple[ModuleRow, ...]:
    """Equal layers in one list."""
    made = rows([(f"layers.{i}", "Linear", 100) for i in range(count)], types={"": "Net"})
    return tuple(replace(row, source=None) for row in made)


def shared_net():
    """A module that is there twice, frozen and with buffers; and names that look like numbers."""
    leaves = [("a", "Linear", 10), ("7", "Linear", 5), ("08", "Linear", 5), ("9", "Linear", 5)]
    root, first, *others = rows(leaves, frozen=["a"])
    again = replace(first, path="b", own=0, shared_with="a", buffers=3)
    return root, first, again, *others


def _compared(blocks: int) -> Compared:
    target = f"nets/gpt.py::GPT(n_layer={blocks})"
    return Compared(target, model(target, measured(_of_one_line(gpt(blocks)))), Roles(()))


COMPARISON = Comparison((_compared(6), _compared(12)))
