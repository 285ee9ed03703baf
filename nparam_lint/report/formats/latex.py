"""A closed form for a paper: an equation, and the table of its parts."""

from __future__ import annotations

from nparam_lint.report import Document, Options

_SPECIAL = str.maketrans({c: f"\\{c}" for c in "&%$#_{}"})


def render(document: Document, options: Options) -> str:
    assert document.forms is not None
    sources = document.forms(options)
    lines = []
    for form in sources.forms:
        if form.words:
            lines.append("% where " + ", ".join(form.words))
        lines += ["\\[", f"  {sources.symbol} = {form.latex}", "\\]"]
    lines += [f"% {reason}" for reason in sources.missing]
    if sources.forms:
        lines += ["\\begin{tabular}{llr}", "  module & parameters & value \\\\", "  \\hline"]
        for name, latex, value in sources.modules:
            text = name.translate(_SPECIAL)
            lines.append(f"  \\texttt{{{text}}} & ${latex}$ & {value:,} \\\\")
        total = f"  total & & {sources.forms[0].value:,} \\\\"
        lines += ["  \\hline", total, "\\end{tabular}"]
    return "\n".join(lines) + "\n"
