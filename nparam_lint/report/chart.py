"""A count over time: as a line of characters, and as a picture in SVG that needs no script."""

from __future__ import annotations

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
    """The picture, as HTML has it. The counts do not begin at 0: what changes must be seen."""
    low, high = chart.span
    words = f"{chart.title}: {low:,} to {high:,}, {len(chart.points)} commits"
    step = (_WIDTH - _LEFT - _RIGHT) / max(len(chart.points) - 1, 1)

    def y(value: int) -> str:
        share = (value - low) / (high - low) if high > low else 0.5
        return f"{_HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * share:.1f}"

    parts = [
        f'<svg class="chart" viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" role="img"'
        f' aria-label="{escape(words)}">'
    ]
    for value in dict.fromkeys((low, (low + high) // 2, high)):
        end = f'y="{y(value)}" text-anchor="end" dy="4"'
        parts.append(f'<path class="grid" d="M{_LEFT:g} {y(value)}H{_WIDTH - _RIGHT:g}"/>')
        parts.append(f'<text x="{_LEFT - 8:g}" {end}>{rounded(value)}</text>')
    xs = [f"{_LEFT + number * step:.1f}" for number in range(len(chart.points))]
    for number, anchor in {0: "start", len(xs) - 1: "end"}.items():
        place = f'x="{xs[number]}" y="{_HEIGHT - 8:g}" text-anchor="{anchor}"'
        parts.append(f"<text {place}>{escape(chart.points[number].label)}</text>")
    paths, marks = [""], []  # of steps, one path from gap to gap
    for x, point in zip(xs, chart.points, strict=True):
        if point.value is None:
            paths.append("")
            mark = f'<path class="gap" d="M{x} {_TOP:g}V{_HEIGHT - _BOTTOM:g}"/>'
        else:
            top = y(point.value)
            paths[-1] += f"H{x}V{top}" if paths[-1] else f"M{x} {top}"
            mark = f'<circle cx="{x}" cy="{top}" r="4"/>'
        marks.append(f'<g tabindex="0"><title>{escape(point.title)}</title>{mark}</g>')
    parts += [f'<path class="count" d="{path}"/>' for path in paths if path]
    return "\n".join([*parts, *marks, "</svg>"])
