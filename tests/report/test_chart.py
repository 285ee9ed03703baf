"""A count over time, as a line of characters and as a picture."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from nparam_lint.report import Chart, ChartPoint
from nparam_lint.report.chart import sparkline, svg


def chart(*values):
    points = (ChartPoint(f"c{n}", f"commit {n} <&>", value) for n, value in enumerate(values))
    return Chart("net.py::Net", tuple(points))


@pytest.mark.parametrize(
    ("values", "width", "line"),
    [
        ((1, 2, 3, 4, 5, 6, 7, 8), 80, "▁▂▃▄▅▆▇█"),
        ((5, 5, None, 5), 80, "▁▁·▁"),
        ((10**9, 10**9 + 1), 80, "▁█"),
        ((None, None), 80, "··"),
        ((1, 2, 3, 4, 5, 6, 7, 8), 4, "▂▄▆█"),
        (range(1000), 10, "▁▂▃▃▄▅▅▆▇█"),
    ],
)
def test_a_line_of_characters(values, width, line):
    assert sparkline(chart(*values), width) == line


@pytest.mark.parametrize("values", [(1,), (1, 2, None, 2, 5), (None,), (7, 7, 7)])
def test_a_picture(values):
    root = ElementTree.fromstring(svg(chart(*values)))
    kinds = [node.get("class") for node in root.iter("path")]
    assert len([*root.iter("circle")]) == sum(value is not None for value in values)
    assert kinds.count("gap") == values.count(None)
    assert next(root.iter("title")).text == "commit 0 <&>"
    places = [float(circle.get("cy")) for circle in root.iter("circle")]
    assert all(0 <= place <= 260 for place in places)
    counts = [value for value in values if value is not None]
    by_count = sorted(zip(counts, places, strict=True))
    assert [place for _, place in by_count] == sorted(places, reverse=True)  # more is higher


def test_a_path_ends_at_a_gap():
    root = ElementTree.fromstring(svg(chart(1, 2, None, 2, 5)))
    lines = [node.get("d") for node in root.iter("path") if node.get("class") == "count"]
    assert [line.count("H") for line in lines] == [1, 1]
