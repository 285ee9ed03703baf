"""The closed form for a paper: an equation, and the table of its parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nparam_lint.analysis.closed_forms.closed_form import ClosedForm
from nparam_lint.analysis.closed_forms.form_writer import factored
from nparam_lint.report.closed.rows import module_rows

if TYPE_CHECKING:
    from nparam_lint.report import Options
    from nparam_lint.report.closed import Formula

_SPECIAL = str.maketrans({c: f"\\{c}" for c in "&%$#_{}"})


def render(formula: Formula, options: Options) -> str:
    lines = []
    for case in formula.cases:
        if not isinstance(case, ClosedForm):
            lines.append(f"% {case.reason}")
            continue
        if case.case:
            lines.append("% where " + ", ".join(f"{n}={v!r}" for n, v in case.case.items()))
        lines += ["\\[", f"  N = {factored(case.total, formula.order, 'latex')}", "\\]"]
    first = formula.cases[0] if formula.cases else None
    if isinstance(first, ClosedForm):
        rows = module_rows(first.shapes, 1 if options.depth is None else options.depth)
        lines += ["\\begin{tabular}{llr}", "  module & parameters & value \\\\", "  \\hline"]
        for row in rows:
            form = factored(row.size, formula.order, "latex")
            name = row.path.translate(_SPECIAL)
            lines.append(f"  \\texttt{{{name}}} & ${form}$ & {row.value:,} \\\\")
        lines += ["  \\hline", f"  total & & {first.value:,} \\\\", "\\end{tabular}"]
    return "\n".join(lines) + "\n"
