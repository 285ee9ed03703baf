"""One closed form for each case: truth values and choices are no numbers."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from nparam_lint.closed.derive import ClosedForm, Derived, derive
from nparam_lint.closed.observe import Built, Value, Variable
from nparam_lint.closed.session import Session, differs

if TYPE_CHECKING:
    from collections.abc import Sequence

CASES = 16  # combinations of choices that are all derived
ALONE = 4  # choices that are changed one at a time, where nobody asked for more


def derive_all(
    session: Session, variables: Sequence[Variable], *, chosen: bool = False
) -> list[Derived]:
    """The form in the base's case first. `chosen`: all combinations of the choices are asked for;
    otherwise each of those that matter is changed alone."""
    base = derive(session, variables)
    found = [base]
    if not isinstance(base, ClosedForm):
        return found
    switches = [v for v in variables if not v.is_number and v.choices]
    # All at once: each time that models are built, what they are made of is imported anew.
    session.build([{v.name: value} for v in switches for value in _values(v)])
    switches = [v for v in switches if chosen or _matters(session, v)]
    every = list(product(*(_values(v) for v in switches)))
    if chosen and len(every) <= CASES:
        cases = [dict(zip([v.name for v in switches], values, strict=True)) for values in every]
    else:
        cases = [{v.name: value} for v in switches[:ALONE] for value in _values(v)]
    for case in cases:
        if any(differs(value, session.base[name]) for name, value in case.items()):
            found.append(derive(session, variables, case))
    return found


def _values(variable: Variable) -> list[Value]:
    return list(dict.fromkeys([variable.base, *variable.choices]))


def _matters(session: Session, switch: Variable) -> bool:
    """Whether another choice, alone, gives other parameters, whatever they are called."""
    ((_, first), *others) = session.build([{switch.name: v} for v in _values(switch)])
    return any(
        isinstance(other, Built) and isinstance(first, Built) and _sizes(other) != _sizes(first)
        for _, other in others
    )


def _sizes(built: Built) -> list[tuple[int, ...]]:
    return sorted(tensor.shape for tensor in built.tensors)
