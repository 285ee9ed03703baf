"""A closed form as a fast function of a few of its names."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from nparam_lint.analysis.closed_forms.algebra import substituted
from nparam_lint.analysis.closed_forms.form_writer import factored, side
from nparam_lint.analysis.closed_forms.polynomial import Polynomial

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Count = Callable[..., int]

NOWHERE = 1 << 256  # the count where a form has no value: no budget allows it
_NAMES: dict[str, Any] = {  # that forms may have beside those of arguments
    "__builtins__": {},
    "math": math,
    **{function.__name__: function for function in (abs, int, max, min, round)},
}


def compiled(form: Polynomial, names: Sequence[str]) -> Count:
    """The form as a function of whole numbers, in the order of the `names`, which must be all of
    its names. A search calls it a million times, so it is compiled from text that we generate, made
    of names, numbers and operators only. Where it divides by zero, its value is NOWHERE."""
    arguments = [f"x{number}" for number in range(len(names))]
    renamed = _renamed(form, dict(zip(names, arguments, strict=True)))
    text = factored(renamed, arguments, "python")
    count: Count = function(f"lambda {', '.join(arguments)}: {text}")

    def guarded(*values: int) -> int:
        try:
            return count(*values)
        except ZeroDivisionError:
            return NOWHERE

    return guarded if "//" in text else count


def at_point(form: Polynomial) -> str:
    """In Python, with the values that a mapping, `point`, has for its names."""
    names = {name: f"point[{name!r}]" for name in form.names}
    return side(_renamed(form, names), [*names.values()], "python")


def _renamed(form: Polynomial, names: Mapping[str, str]) -> Polynomial:
    return substituted(form, {n: Polynomial.generator(text) for n, text in names.items()})


def function(text: str) -> Callable[..., Any]:
    """Of Python that we generate."""
    return eval(compile(text, "<closed form>", "eval"), _NAMES)  # type: ignore[no-any-return]
