"""The modules of a closed form: for each, the sum of the forms of its parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nparam_lint.analysis.closed_forms.polynomial import ZERO, Polynomial

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nparam_lint.analysis.closed_forms.parameter_forms import ShapeForm


@dataclass(frozen=True, slots=True)
class ModuleForm:
    """A module, or several that are made alike (`h.*`), with all that is below. `number`: how many
    there are, where it is said; `size`: of all of them together; `value`: that in the base call."""

    path: str
    level: int
    size: Polynomial
    value: int
    shapes: tuple[ShapeForm, ...] = ()  # of the parameters that it holds itself


def module_forms(shapes: Sequence[ShapeForm], depth: int) -> list[ModuleForm]:
    """Down to `depth`, in the order of the model; a module whose one part holds everything is left
    out for that part."""
    below: dict[str, list[ShapeForm]] = {}
    for form in shapes:
        parts = form.name.split(".")[:-1]
        for end in range(1, len(parts) + 1):
            below.setdefault(".".join(parts[:end]), []).append(form)
    rows: list[ModuleForm] = []
    _add(rows, "", 0, list(shapes), below, depth)
    return rows


def _add(
    rows: list[ModuleForm],
    path: str,
    level: int,
    inside: Sequence[ShapeForm],
    below: dict[str, list[ShapeForm]],
    depth: int,
) -> None:
    names = _children(path, inside)
    if not path and len(names) == 1 and len(below[names[0]]) == len(inside):
        path = names[0]  # says no more than the total
        names = _children(path, inside) or names
    for name in names:
        forms = below[name]
        while True:  # down a chain of only children
            inner = _children(name, forms)
            if len(inner) != 1 or len(below[inner[0]]) != len(forms):
                break
            name = inner[0]
        size = sum((form.size for form in forms), ZERO)
        own = tuple(form for form in forms if form.name.rpartition(".")[0] == name)
        rows.append(ModuleForm(name, level, size, sum(form.value for form in forms), own))
        if level + 1 < depth:
            _add(rows, name, level + 1, forms, below, depth)


def _children(path: str, forms: Sequence[ShapeForm]) -> list[str]:
    prefix = f"{path}." if path else ""
    heads = (form.name.removeprefix(prefix).split(".") for form in forms)
    return list(dict.fromkeys(prefix + parts[0] for parts in heads if len(parts) > 1))
