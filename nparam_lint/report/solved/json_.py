"""The arguments for programs: one JSON document, schema version 1. Keys may be added, none
changed. `targets` has one entry for each target and budget; `budget` is null where there are
several."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from nparam_lint.report import json_

if TYPE_CHECKING:
    from nparam_lint.report import Options
    from nparam_lint.report.solved import Solution


def render(solution: Solution, options: Options) -> str:  # noqa: ARG001
    fields = asdict(solution)
    version, budgets = fields.pop("version"), fields["budgets"]
    document = {
        "version": 1,
        "tool": {"name": "nparam-lint", "version": version},
        "budget": budgets[0] if len(budgets) == 1 else None,
        **fields,
    }
    return json_.text_of(document)
