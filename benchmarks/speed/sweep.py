"""The counts of many configurations by closed form, against building each of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from speed.measure import Invalid, Result, Row, Target
from speed.models_text import BLOCK
from speed.tool import fresh

if TYPE_CHECKING:
    from pathlib import Path

    from speed.measure import Bench
    from speed.tool import Tool

_MODEL = f"""\
import torch.nn as nn


{BLOCK}

class GPT(nn.Module):
    def __init__(self, d_model=64, n_layer=2, heads=4, vocab=1000):
        super().__init__()
        if d_model % heads:
            raise ValueError("heads must divide d_model")
        self.wte = nn.Embedding(vocab, d_model)
        self.h = nn.ModuleList([Block(d_model) for _ in range(n_layer)])
        self.ln = nn.LayerNorm(d_model)
"""
_PER_MINUTE = 50_000  # configurations by form, on two cores


def sweep(bench: Bench) -> Result:
    """A small GPT in 100,000 configurations of width, depth and vocabulary (`--small`: 20,000).

    Ours: `nparam-lint sweep --out FILE.jsonl`, the whole process: it derives the form, proves it,
    evaluates it for each, and builds a sample. Theirs: the same with `--built`, of 4,000 of the
    configurations (`--small`: 400). Compared is what a configuration takes. The counts of those
    that both have must be the same.
    """
    root, tool = bench.folder("sweep"), fresh(bench)
    (root / "gpt.py").write_text(_MODEL, encoding="utf-8")
    many, few = bench.size(250, 50), bench.size(10, 1)
    by_form = _run(bench, tool, root, "form", f"vocab=1000..{1000 + many - 1}")
    built = _run(bench, tool, root, "built", f"vocab=1000..{1000 + few - 1}", "--built")
    counts = {key: count for key, count in by_form[1].items() if key in built[1]}
    if counts != built[1]:
        raise Invalid("the form and the builds have different counts")
    each = [taken / len(rows) for taken, rows in (by_form, built)]
    minute = [60 / one for one in each]
    return Result(
        [
            Row(
                "a configuration: built / by form",
                f"{each[0] * 1e6:.0f} µs",
                f"{each[1] * 1e3:.1f} ms",
                each[1] / each[0],
                Target(10, least=True),
            ),
            Row(
                f"by form, in {_PER_MINUTE:,} a minute",
                f"{minute[0]:,.0f}",
                f"{_PER_MINUTE:,}",
                minute[0] / _PER_MINUTE,
                Target(1, least=True),
            ),
        ],
        [
            f"{len(by_form[1]):,} by form in {by_form[0]:.1f} s; {len(built[1]):,} built in "
            f"{built[0]:.1f} s, {minute[1]:,.0f} a minute"
        ],
    )


def _run(
    bench: Bench, tool: Tool, root: Path, name: str, vocab: str, *more: str
) -> tuple[float, dict[tuple[int, ...], int]]:
    """The seconds of the process, and the counts."""
    file = root / f"{name}.jsonl"
    grid = f"d_model=64..640:64,n_layer=1..40,{vocab}"
    given = ("gpt.py::GPT", "--vary", grid, "--out", str(file), *more)
    done = tool.run(root, "sweep", *given, "--python", bench.python)
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    if {row["by"] for row in rows} != {name}:
        raise Invalid(f"not all rows are {name}")
    return done.seconds, {(r["d_model"], r["n_layer"], r["vocab"]): r["nparam"] for r in rows}
