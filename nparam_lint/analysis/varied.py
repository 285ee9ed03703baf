"""The arguments that a command varies, as written: `d_model=256..2048:64,norm=layer|rms`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from nparam_lint.ground.errors import UsageError
from nparam_lint.ground.nearest import did_you_mean
from nparam_lint.ground.patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nparam_lint.analysis.closed_forms.observations import Value
    from nparam_lint.count.measured import Measured, VariableRow

NAME = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*(?:\[(?:\d+|'\w+')\])*"
_NAME = late_pattern(NAME)
_RANGE = late_pattern(r"(\d+)\.\.(\d+)(?::(\d+))?")


def is_name(text: str) -> bool:
    return bool(_NAME.fullmatch(text))


def range_of(text: str, about: str) -> range | None:
    """`1..24` and `64..1024:64`, both ends included; None for anything else. Raises UsageError for
    one without values."""
    match = _RANGE.fullmatch(text.strip())
    if match is None:
        return None
    low, high, step = int(match[1]), int(match[2]), int(match[3] or 1)
    if high < low or not step:
        raise UsageError(f"option --vary: {about} has no values")
    return range(low, high + 1, step)


def named_values(text: str, expected: str) -> dict[str, str]:
    """`a,b=1..24`: names, each with what is behind its `=`, if anything. Raises UsageError."""
    values: dict[str, str] = {}
    for piece in text.split(","):
        name, sign, value = map(str.strip, piece.partition("="))
        if not is_name(name) or (sign and not value):
            found = piece.strip()
            raise UsageError(f"option --vary is {text!r}: found {found!r}, expected {expected}")
        values[name] = value
    return values


def value_of(text: str) -> Value:
    """A value as Python writes it; a text may stand without quotes, but for `true` and `false`, as
    other programs write truth values: as a text, either is true."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
    return value if isinstance(value, int | float | str | bool | None) else text


def row_of(measured: Measured, name: str) -> VariableRow:
    """The argument of its call that has this name. Raises UsageError."""
    rows = {row.name: row for row in measured.variables}
    if name in rows:
        return rows[name]
    hint = did_you_mean(name, rows, f"there are: {', '.join(rows) or '–'}")
    raise UsageError(f"option --vary: {measured.call} has no argument {name!r}{hint}")


def grid_of(text: str) -> dict[str, Sequence[Value]]:
    """`a=1..9,b=2,4,8,c=layer|rms`: names with their values; a piece without `=` is a further
    value. Raises UsageError."""
    grid: dict[str, list[Sequence[Value]]] = {}
    name = ""
    for piece in text.split(","):
        head, sign, choices = piece.partition("=")
        if sign and is_name(head.strip()):
            name, choices = head.strip(), choices.strip()
            if name in grid:
                raise UsageError(f"option --vary names {name} twice")
        else:
            choices = piece.strip()
        if not name or not choices:
            raise UsageError(
                f"option --vary is {text!r}: found {piece.strip()!r}, expected name=values: "
                "d_model=256..2048:64,n_layer=2,4,8"
            )
        values = [value_of(choice.strip()) for choice in choices.split("|")]
        grid.setdefault(name, []).append(range_of(choices, f"{name}={choices}") or values)
    return {
        name: parts[0]
        if len(parts) == 1
        else list({repr(value): value for part in parts for value in part}.values())
        for name, parts in grid.items()
    }
