"""What is wrong, and where: the findings of all rules, and the budgets that they are about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from nparam_lint.ground.rule_catalogue import RULES
from nparam_lint.ground.values import Origin, Position, Severity, SourceLine

if TYPE_CHECKING:
    from collections.abc import Sequence


# How lines below a message begin: a list, of which the lines are indented, and a command.
HEAVIEST = "heaviest modules:"
UPDATE = "nparam-lint update"


class BudgetResult(Struct, frozen=True):
    """A budget against its measurement. `actual` and `drift` are None where nothing was measured;
    `low`/`high` are the inclusive bounds (None: unbounded); `value` the number that the difference
    is measured from. A glob gives one for each module."""

    declared: str
    selector: str
    low: int | None
    high: int | None
    actual: int | None
    drift: float | None
    ok: bool
    origin: Origin
    position: Position
    module: str | None = None
    reason: str | None = None
    value: int | None = None


class Change(Struct, frozen=True):
    """What became of a module of a model, or of `times` alike: `path` is theirs (`h.0…11.mlp`),
    `what` says it (`768×3072 → 768×3840`). `delta`: what all of them add to the count. `source`:
    the line that makes them (`path:line`)."""

    mark: Literal["+", "−", "~"]
    path: str
    what: str
    delta: int
    times: int = 1
    source: str | None = None


class Finding(Struct, frozen=True):
    """`message` is one line; `detail` holds further lines (the heaviest modules, the remedy).
    `result`: the budget that was judged, in the first module that breaks it. `changes`: what made
    the difference to the count `since` another state, in words; they add up to it. `lines`: where
    to look. `output`: lines that a process printed when it died, for whoever wants to know more.
    `timed_out`: to read the source took too long, which the next run may do in time."""

    code: str
    severity: Severity
    position: Position
    message: str
    target: str = ""
    detail: tuple[str, ...] = ()
    result: BudgetResult | None = None
    since: str = ""
    changes: tuple[Change, ...] = ()
    lines: tuple[SourceLine, ...] = ()
    output: tuple[str, ...] = ()
    timed_out: bool = False


def finding(
    code: str, position: Position, message: str, target: str, detail: Sequence[str] = ()
) -> Finding:
    """A finding with the severity that its rule has by default."""
    return Finding(code, RULES[code].severity, position, message, target, tuple(detail))
