"""The arguments for people: a table for each model."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nparam_lint.report import style
from nparam_lint.report.style import Paint, clean
from nparam_lint.report.table import ruled
from nparam_lint.report.text import NARROWEST

if TYPE_CHECKING:
    from nparam_lint.report import Options
    from nparam_lint.report.solved import Solution, Solved

_GOALS = {"closest": "closest to", "under": "no more than", "exact": "exactly"}


def render(solution: Solution, options: Options) -> str:
    options = replace(options, width=max(options.width, NARROWEST))
    paint = Paint(options.color)
    head = f"{_GOALS[solution.goal]} {solution.budget:,} parameters"
    sections = [[paint("dim", head)]]
    sections += [_target(one, solution, options, paint) for one in solution.targets]
    return "\n\n".join("\n".join(lines) for lines in sections) + "\n"


def _target(one: Solved, solution: Solution, options: Options, paint: Paint) -> list[str]:
    lines = [paint("bold", style.elide_target(clean(one.target), options.width))]
    if one.form:
        lines += style.wrap(one.form, options.width, "  ", "    ")
    if one.reason is not None:
        reason = style.wrap(f"– {clean(one.reason)}", options.width, hang="  ")
        return [*lines, *(paint("red", line) for line in reason)]
    cells = [
        [
            *(f"{met.values[name]}" for name in one.names),
            f"{met.count:,}",
            f"{met.count - solution.budget:+,}" if met.count != solution.budget else "exact",
            _percent(met.count - solution.budget, solution.budget),
        ]
        for met in one.points
    ]
    headers = [*one.names, "parameters", "off", ""]
    lines += ["", *ruled(headers, cells, "r" * len(headers), paint), ""]
    best = style.wrap(f"best: {clean(one.points[0].call)}", options.width, hang="      ")
    lines += best
    how = f"each was built; {one.solved} solved for {style.plural(one.combinations, 'combination')}"
    notes = [how + (" of the others" if len(one.names) > 1 else "")]
    if not one.form:
        notes.append("no closed form: others that were not built may be nearer")
    if one.cut:
        notes.append("there are more: set limits, as in n_layers=1..24")
    if one.refused:
        notes.append(f"{one.refused} more that the model refused")
    if one.strayed:
        notes.append(f"{one.strayed} more where the closed form does not hold")
    return [*lines, *(paint("dim", line) for line in style.wrap(" · ".join(notes), options.width))]


def _percent(difference: int, budget: int) -> str:
    share = 100 * difference / budget
    return "" if not difference else f"{share:+.2f} %" if abs(share) >= 0.005 else "<0.01 %"
