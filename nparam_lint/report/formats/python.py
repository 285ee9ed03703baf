"""A closed form as a Python function, which needs nothing of ours."""

from __future__ import annotations

import re
from collections.abc import Sequence

from nparam_lint.report import Document, Options

_OF_MATH = "floor|ceil|sqrt|log|log2|log10|exp|pow|isqrt|gcd|lcm|comb|factorial|trunc"


def render(document: Document, options: Options) -> str:
    """Only the reason where not every case has a form: half a function would be wrong."""
    assert document.forms is not None
    found = document.forms(options)
    if found.missing:
        return "".join(f"# no function: {reason}\n" for reason in dict.fromkeys(found.missing))
    lines = [f"def parameter_count({found.signature}):", f'    """{found.about[0]}']
    for paragraph in found.about[1:]:
        lines += ["", *(f"    {line}" for line in paragraph.splitlines())]
    lines.append('    """')
    for form in found.forms:
        if not form.where:
            lines.append(f"    return {form.python}")
            break
        lines += [f"    if {_condition(form.where)}:", f"        return {form.python}"]
    else:
        lines.append('    raise ValueError("no closed form is known for these arguments")')
    text = "\n".join(lines) + "\n"
    return f"import math\n\n\n{text}" if "math." in text else text


def _condition(where: Sequence[str]) -> str:
    parts = (f"({rule})" if " or " in rule and len(where) > 1 else rule for rule in where)
    return re.sub(rf"\b({_OF_MATH})\(", r"math.\1(", " and ".join(parts))
