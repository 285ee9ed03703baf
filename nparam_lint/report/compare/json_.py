"""The comparison for programs: one JSON document, schema version 1. Keys may be added, none
changed. `roles` sum to `counts.total`; `parts` are the modules that hold parameters themselves."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from nparam_lint.records import Measured
from nparam_lint.report import json_

if TYPE_CHECKING:
    from nparam_lint.report import Options
    from nparam_lint.report.compare import Column, Comparison

Json = dict[str, Any]


def render(comparison: Comparison, options: Options) -> str:  # noqa: ARG001
    return json_.text_of(document(comparison))


def document(comparison: Comparison) -> Json:
    models = [_model(column) for column in comparison.columns]
    measured = sum(model["status"] == "measured" for model in models)
    return {
        "version": 1,
        "tool": {"name": "nparam-lint", "version": comparison.version},
        "error": comparison.error,
        "models": models,
        "summary": {
            "models": len(models),
            "measured": measured,
            "not_measured": len(models) - measured,
            "seconds": comparison.seconds,
        },
    }


def _model(column: Column) -> Json:
    model, measured = column.model, column.model.measurement
    common: Json = {
        "target": model.target,
        "given": column.given,
        "path": model.position.path,
        "line": model.position.line,
        "column": model.position.column,
        "environment": None if column.environment is None else asdict(column.environment),
        "cached": measured.cached,
        "notes": list(measured.notes),
    }
    if not isinstance(measured, Measured) or column.roles is None:
        assert not isinstance(measured, Measured)
        return common | {
            "status": "not_measured",
            "reason": measured.reason,
            "code": measured.code,
            "hint": measured.hint,
            "missing": list(measured.missing),
            "call": None,
            "counts": None,
            "roles": None,
            "tied": [],
            "parts": [],
        }
    return common | {
        "status": "measured",
        "reason": None,
        "call": measured.call,
        "counts": asdict(measured.counts),
        "no_routing": measured.no_routing,
        "roles": column.roles.counts,
        "output_tied": column.roles.output_tied,
        "tied": list(column.roles.tied),
        "hidden": [asdict(hidden) for hidden in measured.hidden],
        "parts": [asdict(part) for part in column.roles.parts],
    }
