"""A closed form as a Python function, which needs nothing of ours."""

from __future__ import annotations

import re

from nparam_lint.report import Document, Options

_OF_MATH = "floor|ceil|sqrt|log|log2|log10|exp|pow|isqrt|gcd|lcm|comb|factorial|trunc"

_NEEDED = ("abs", "round", "max", "min", "int", "len", "math")


def render(document: Document, options: Options) -> str:
    """Only the reason where not every case has a form: half a function would be wrong."""
    assert document.forms is not None
    sources = document.forms(options)
    if sources.missing:
        return "".join(f"# no function: {reason}\n" for reason in dict.fromkeys(sources.missing))
    text = " ".join(
        (*(f.python for f in sources.forms), *(w for f in sources.forms for w in f.where))
    )
    names = re.findall(r"(\w+)(?=[,=]|$)", sources.signature)
    if hidden := [name for name in names if name in _NEEDED and re.search(rf"\b{name}[(.]", text)]:
        return f"# no function: an argument has the name of {hidden[0]}, which the function needs\n"
    lines = [f"def parameter_count({sources.signature}):", f'    """{sources.about[0]}']
    for paragraph in sources.about[1:]:
        lines += ["", *(f"    {line}" for line in paragraph.splitlines())]
    lines.append('    """')
    for form in sources.forms:
        if not form.where:
            lines.append(f"    return {form.python}")
            break
        several = len(form.where) > 1
        rules = (f"({rule})" if several and " or " in rule else rule for rule in form.where)
        condition = re.sub(rf"\b({_OF_MATH})\(", r"math.\1(", " and ".join(rules))
        lines += [f"    if {condition}:", f"        return {form.python}"]
    else:
        lines.append('    raise ValueError("no closed form is known for these arguments")')
    text = "\n".join(lines) + "\n"
    return f"import math\n\n\n{text}" if "math." in text else text
