"""Which line makes what of a model: in helpers, loops, comprehensions, containers, layers that are
not the project's, copies, and by registering it directly."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from worker_runs import PROJECTS, run

if TYPE_CHECKING:
    from nparam_lint.count.measured import LineRow, Measured

ROOT = PROJECTS / "lines"
SAID = re.compile(r"  # ((?:[\d,]+× )?\(?[\d,]+\)?)$")


@pytest.fixture(scope="module")
def net() -> Measured:
    return run(ROOT, ["net.py::Net"]).measured("net.py::Net")


def said(row: LineRow) -> str:
    times = f"{row.times:,}× " if row.times > 1 else ""
    return times + (f"{row.count:,}" if row.count else f"({row.through:,})")


@pytest.mark.parametrize("path", ["net.py", "layers.py"])
def test_what_each_line_makes_and_how_often(net: Measured, path: str) -> None:
    expected = {
        number: match[1]
        for number, line in enumerate((ROOT / path).read_text().splitlines(), 1)
        if (match := SAID.search(line))
    }
    assert {row.line: said(row) for row in net.lines if row.path == path} == expected


def test_the_lines_add_up(net: Measured) -> None:
    total = net.counts.total
    assert sum(row.own for row in net.lines) == total
    assert sum(row.count for row in net.lines if row.path == "net.py") == total
    layers = [row for row in net.lines if row.path == "layers.py"]
    assert sum(row.own for row in layers) == sum(row.count for row in layers) - 2  # net.py: make


def test_a_module_stands_where_it_was_made(net: Measured) -> None:
    text = (ROOT / "net.py").read_text().splitlines()
    sources = {row.path: row.source for row in net.modules}
    made = {}
    for path in ("blocks.0", "blocks.0.attn", "blocks.0.mlp.2", "encoder.layers.1", "extra.block"):
        file, _, line = (sources[path] or "").partition(":")
        assert file == "net.py"
        made[path] = text[int(line) - 1].partition("#")[0].strip()
    assert made == {
        "blocks.0": "self.blocks = nn.ModuleList([Block(d) for _ in range(3)])",
        "blocks.0.attn": "self.attn = Attention(d)",
        "blocks.0.mlp.2": "nn.Linear(2 * d, d),",
        "encoder.layers.1": "layer = nn.TransformerEncoderLayer(d, 2, 4, bias=False)",
        "extra.block": 'self.extra["block"] = Block(d)',
    }
