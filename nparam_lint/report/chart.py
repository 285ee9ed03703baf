"""A count over time: as a line of characters, and as a picture in SVG that needs no script."""

from __future__ import annotations

from collections.abc import Iterator

from nparam_lint.report import Chart
from nparam_lint.report.style import escape, rounded

_LEVELS = "▁▂▃▄▅▆▇█"
_GAP = "·"
# Of the picture, in its own units.
_WIDTH, _HEIGHT = 960.0, 260.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 64.0, 16.0, 16.0, 28.0


def sparkline(chart: Chart, width: int) -> str:
    """One character for each point or, where these are too many, for the last of several."""
    points = chart.points
    shown = min(len(points), max(width, 1))
    low, high = chart.span
    ends = (len(points) * (number + 1) // shown - 1 for number in range(shown))
    values = (points[end].value for end in ends)
    top = len(_LEVELS) - 1
    return "".join(
        _GAP if value is None else _LEVELS[top * (value - low) // max(high - low, 1)]
        for value in values
    )


# --- the picture ----------------------------------------------------------------------------------


def svg(chart: Chart) -> str:
    """The picture, as HTML has it."""
    scale = _Scale(chart)
    low, high = chart.span
    said = f"{chart.title}: {low:,} to {high:,}, {len(chart.points)} commits"
    parts = [
        f'<svg class="chart" viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" role="img"'
        f' aria-label="{escape(said)}">',
        *_axes(chart, scale),
        *(f'<path class="count" d="{path}"/>' for path in _lines(chart, scale)),
        *_points(chart, scale),
        "</svg>",
    ]
    return "\n".join(parts)


class _Scale:
    """Places in the picture. The counts do not begin at 0: what changes must be seen."""

    def __init__(self, chart: Chart) -> None:
        self.low, self.high = chart.span
        self.step = (_WIDTH - _LEFT - _RIGHT) / max(len(chart.points) - 1, 1)

    def x(self, number: int) -> float:
        return _LEFT + number * self.step

    def y(self, value: int) -> float:
        room = _HEIGHT - _TOP - _BOTTOM
        share = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return _HEIGHT - _BOTTOM - room * share


def _axes(chart: Chart, scale: _Scale) -> Iterator[str]:
    for value in dict.fromkeys((scale.low, (scale.low + scale.high) // 2, scale.high)):
        y = f"{scale.y(value):.1f}"
        yield f'<path class="grid" d="M{_LEFT:g} {y}H{_WIDTH - _RIGHT:g}"/>'
        yield f'<text x="{_LEFT - 8:g}" y="{y}" text-anchor="end" dy="4">{rounded(value)}</text>'
    for number, anchor in {0: "start", len(chart.points) - 1: "end"}.items():
        label = escape(chart.points[number].label)
        x = f"{scale.x(number):.1f}"
        yield f'<text x="{x}" y="{_HEIGHT - 8:g}" text-anchor="{anchor}">{label}</text>'


def _lines(chart: Chart, scale: _Scale) -> Iterator[str]:
    """Steps, one path from gap to gap."""
    path = ""
    for number, point in enumerate(chart.points):
        if point.value is None:
            yield from [path] if path else []
            path = ""
            continue
        x, y = f"{scale.x(number):.1f}", f"{scale.y(point.value):.1f}"
        path += f"H{x}V{y}" if path else f"M{x} {y}"
    yield from [path] if path else []


def _points(chart: Chart, scale: _Scale) -> Iterator[str]:
    for number, point in enumerate(chart.points):
        x = f"{scale.x(number):.1f}"
        if point.value is None:
            mark = f'<path class="gap" d="M{x} {_TOP:g}V{_HEIGHT - _BOTTOM:g}"/>'
        else:
            mark = f'<circle cx="{x}" cy="{scale.y(point.value):.1f}" r="4"/>'
        yield f'<g tabindex="0"><title>{escape(point.title)}</title>{mark}</g>'
