"""The schemas of the reports, by the command that makes them. What the code writes with `asdict`
is taken from its dataclasses.

Version 1: keys may be added to a report, and none is changed, so other keys are not forbidden.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from nparam_lint.analysis.diff.diff_records import Base, Kind, Status
from nparam_lint.analysis.roles import Role, RolePart
from nparam_lint.analysis.solutions import Solutions
from nparam_lint.api.schemas.python_types import Schema, array, either, fields_of, record, schema_of
from nparam_lint.count.measured import (
    Cause,
    DtypeRow,
    Environment,
    Hidden,
    LineRow,
    ModuleRow,
    ParameterRow,
)
from nparam_lint.discover.definitions import WayKind
from nparam_lint.gate.report import Elsewhere
from nparam_lint.ground.findings import BudgetResult, Change, Finding
from nparam_lint.ground.values import NameValue, Origin, Position
from nparam_lint.repository.log import Commit

if TYPE_CHECKING:
    from collections.abc import Callable

NAME = "urn:nparam-lint:report:{}:1"  # with the version of the reports
TEXT = str | None
PLACE = fields_of(Position)
HEAD: dict[str, Any] = {
    "version": Literal[1],
    "tool": record({"name": Literal["nparam-lint"], "version": str}),
}
COUNTS: Schema = {
    "description": "the count of each metric; null where it is unknown",
    "type": "object",
    "additionalProperties": {"type": ["integer", "null"]},
}
ENVIRONMENT = {"environment": Environment | None, "error": TEXT}
MEASURED = {
    "call": str,
    "status": Literal["measured"],
    "reason": None,
    "counts": COUNTS,
    "no_routing": TEXT,
    "hidden": list[Hidden],
}
NOT_MEASURED = {
    "call": None,
    "status": Literal["not_measured"],
    "reason": str,
    "counts": None,
    "code": str,
    "hint": TEXT,
    "missing": list[str],
}
SKIPPED = record({"target": str, "reason": str, "cause": Cause, "top_level": bool})
WAY = record({"kind": WayKind, **PLACE, "name": TEXT}, {"note": str})
FINDING = record(
    {
        **fields_of(Finding, ("position", "timed_out", "result", "lines", "changes")),
        "changes": list[Change],
        **PLACE,
    }
)
BUDGET = record({**fields_of(BudgetResult, ("position",)), **PLACE})
DEVICE = record(
    {"status": Literal["measured", "failed", "skipped"]},
    {"total": int, "reason": str, "bytes": int, "differences": list[str]},
)
COMMON: dict[str, Any] = {
    "cached": bool,
    "seconds": float | None,
    "devices": {"type": "object", "additionalProperties": DEVICE},
    "notes": list[str],
}
OF_A_BUILD = ("seconds", "notes")  # and not of a class inside a model
MODULE = record(fields_of(ModuleRow, ("more",)))
TRAINING = {"additionalProperties": schema_of(dict[str, int])} | record(  # the optimizer's states
    {"optimizer": str, "metric": str, "total": int, "steps": int, "checkpoint": int}
    | {"resumable_checkpoint": int, "assumed": str, "weights": dict[str, int]}
    | {"buffers": dict[str, int], "gradients": dict[str, int]}
)
MODEL_OF_CHECK = {
    "target": str,
    **PLACE,
    "declared": bool,
    "top_level": bool,
    "because": TEXT,
    "way": either(WAY, None),
    "budgets": array(BUDGET),
    **COMMON,
}
COUNTED = {
    "modules": array(MODULE),
    "lines": array(record(fields_of(LineRow, ("file",)))),
    "rung": str,
    "type": str,
    "dtypes": list[DtypeRow],
}


def _check(more: dict[str, Any] | None = None) -> Schema:
    of_some = {"why_built": str, "parameters": list[ParameterRow]}
    measured = record({**MODEL_OF_CHECK, **MEASURED, **COUNTED}, of_some)
    absent = {"modules": array(MODULE), "cause": Cause, "source": TEXT}
    not_measured = record({**MODEL_OF_CHECK, **NOT_MEASURED, **absent}, {"why_built": str})
    own = {name: kind for name, kind in MEASURED.items() if name not in ("no_routing", "hidden")}
    part = {"inside": str, "paths": list[str], "share": float, "modules": array(MODULE)}
    alone = {name: MODEL_OF_CHECK[name] for name in MODEL_OF_CHECK if name not in OF_A_BUILD}
    inside = record({**alone, **own, **part})
    failed = {"target": str, "reason": str, "cause": Cause, "source": TEXT, "way": WAY}
    numbers = (
        *("models", "measured", "not_measured", "cached", "findings", "errors", "warnings"),
        *("skipped", "files", "test_files"),
    )
    summary = dict.fromkeys(numbers, int)
    return record(
        {
            **HEAD,
            **ENVIRONMENT,
            "models": array(either(measured, not_measured, inside)),
            "findings": array(FINDING),
            "skipped": array(SKIPPED),
            "failed_ways": array(record(failed)),
            "ways_left": dict[str, int],
            "summary": record({**summary, "elsewhere": Elsewhere | None, "seconds": float}),
        },
        more,
    )


def _sweep() -> Schema:
    """Each line of JSON Lines; other keys are the arguments."""
    count = {"nparam": int | None, "by": Literal["form", "built"]}
    return {"additionalProperties": schema_of(NameValue), **record(count, {"reason": str})}


def _diff() -> Schema:
    kept = ("path", "type", "own", "total", "trainable", "buffers", "bytes", "source")
    row = {name: kind for name, kind in fields_of(ModuleRow).items() if name in kept}
    side = either(record({"count": int, **row}), None)
    module = {"path": str, "status": Kind, "before": side, "after": side}
    model = {
        "target": str,
        "status": Status,
        "delta": int | None,
        "before_target": TEXT,
        "evidence": TEXT,
        "declared": bool,
        "top_level": bool,
        "explained": bool | None,
        "explanation": TEXT,
        "way": either(WAY, None),
        **PLACE,
        "before": either(COUNTS, None),
        "after": either(COUNTS, None),
        "drift": float | None,
        **dict.fromkeys(("call_before", "call_after", "reason_before", "reason_after"), TEXT),
        "notes": list[str],
        "modules": array(record({**module, "delta": int, "notes": list[str]})),
    }
    numbers = ("models", "skipped", "findings", "errors", "warnings", "files")
    statuses = schema_of(Status)["enum"]
    summary = {**dict.fromkeys((*numbers, *statuses), int), "seconds": float}
    return record(
        {
            **HEAD,
            **ENVIRONMENT,
            "base": Base,
            "now": Literal["working tree", "index"],
            "tolerance": TEXT,
            "models": array(record(model)),
            "findings": array(FINDING),
            "skipped": array(SKIPPED),
            "notes": list[str],
            "summary": record(summary),
        }
    )


def _compare() -> Schema:
    model = {
        "target": str,
        "given": str,
        **PLACE,
        "environment": Environment | None,
        "cached": bool,
        "notes": list[str],
        "tied": list[str],
        "parts": list[RolePart],
    }
    measured = record({**model, **MEASURED, "roles": dict[Role, int], "output_tied": bool})
    not_measured = record({**model, **NOT_MEASURED, "roles": None})
    numbers = dict.fromkeys(("models", "measured", "not_measured"), int)
    return record(
        {
            **HEAD,
            "error": TEXT,
            "models": array(either(measured, not_measured)),
            "summary": record({**numbers, "seconds": float}),
        }
    )


def _formula() -> Schema:
    variable = {"name": str, "base": NameValue, "holder": str, "choices": list[NameValue]}
    values = dict[str, NameValue]
    parameter = {"name": str, "number": str, "shape": list[str] | None, "formula": str}
    form = {
        "case": values,
        "formula": str,
        "expanded": str,
        "python": str,
        "latex": str,
        "value": int,
        "base": values,
        "rules": list[str],
        "no_effect": list[str],
        "fixed": values,
        "built": int,
        "verified": int,
        "unproved": list[str],
        "proof": Literal["proved", "verified"],
        "distinct": dict[str, int],
        "parameters": array(record({**parameter, "value": int, "source": TEXT})),
    }
    none = {"case": values, "formula": None, "reason": str, "lost": dict[str, Any]}
    return record(
        {
            **HEAD,
            **ENVIRONMENT,
            "target": str,
            "call": TEXT,
            "reason": TEXT,
            "missing": list[str],
            "variables": array(record(variable)),
            "cases": array(either(record(form), record(none))),
            "also_matter": list[str],
            "seconds": float,
        }
    )


def _solve() -> Schema:
    return record({**HEAD, "budget": int | None, **fields_of(Solutions)})


def _annotate() -> Schema:
    line = {"line": int, "count": int, "own": int, "through": int, "times": int}
    model = {
        "target": str,
        **PLACE,
        **MEASURED,
        "file": str,
        "lines": array(record({**line, "share": float, "text": str})),
        "elsewhere": int,
        "files": dict[str, int],
        "unknown": int,
    }
    failed = record({"target": str, **NOT_MEASURED})
    return record(
        {
            **HEAD,
            **ENVIRONMENT,
            "given": str,
            "models": array(either(record(model), failed)),
            "alike": array(record({"target": str, "call": str})),
        }
    )


def _history() -> Schema:
    commit = {
        "commit": str,
        **fields_of(Commit, ("sha",)),
        "path": TEXT,
        "count": int | None,
        "change": int | None,
        "reason": TEXT,
        "cached": bool,
    }
    numbers = dict.fromkeys(("commits", "changes", "gaps", "cached"), int)
    return record(
        {
            **HEAD,
            "command": Literal["history"],
            "target": str,
            "error": TEXT,
            "commits": array(record(commit)),
            "notes": list[str],
            "summary": record({**numbers, "seconds": float}),
        }
    )


def _plan(command: str) -> Schema:
    item = {
        **PLACE,
        "target": str,
        "selector": str,
        "origin": Origin,
        "old": str,
        "actual": int | None,
    }
    edit = record({**item, "new": str, "modules": int, "because": TEXT})
    numbers = dict.fromkeys(("edits", "left", "held"), int)
    return record(
        {
            **HEAD,
            "command": {"const": command},
            "written": bool,
            "edits": array(edit),
            "left": array(record({**item, "reason": str})),
            "files": list[str],
            "hints": list[str],
            "diff": TEXT,
            "summary": record(numbers),
        }
    )


def _init() -> Schema:
    """With `--docs` it suggests comments."""
    number = record({**PLACE, "written": str, "target": str, "count": int})
    suggestion = record({**PLACE, "comment": str, "numbers": array(number)})
    command = {"command": Literal["init"]}
    return either(_plan("init"), record({**HEAD, **command, "suggestions": array(suggestion)}))


REPORTS: dict[str, Callable[[], Schema]] = {
    "check": partial(_check, {"shard": dict[str, Any]}),  # with `--shard`: what `merge` reads
    "merge": _check,
    "show": partial(_check, {"training": TRAINING}),
    "diff": _diff,
    "compare": _compare,
    "formula": _formula,
    "solve": _solve,
    "sweep": _sweep,
    "annotate": _annotate,
    "history": _history,
    "update": partial(_plan, "update"),
    "init": _init,
}


def report_schema(command: str) -> Schema:
    """Of what `nparam-lint COMMAND --format json` prints."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": NAME.format(command),
        "title": f"nparam-lint {command} --format json",
        **REPORTS[command](),
    }
