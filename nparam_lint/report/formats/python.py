"""A closed form as a Python function, which needs nothing of ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nparam_lint.report import Document, Options


def render(document: Document, options: Options) -> str:
    """Nothing where not every case has a form: half a function would be wrong."""
    assert document.forms is not None
    found = document.forms(options)
    if found.missing:
        return ""
    first, others = found.forms[0], found.forms[1:]
    lines = [f"def parameter_count({found.signature}):", f'    """{found.about[0]}']
    for paragraph in found.about[1:]:
        lines += ["", *(f"    {line}" for line in paragraph.splitlines())]
    lines.append('    """')
    for form in others:
        condition = " and ".join(f"{name} == {value}" for name, value in form.where)
        lines += [f"    if {condition}:", f"        return {form.python}"]
    return "\n".join([*lines, f"    return {first.python}"]) + "\n"
