"""The arguments for programs: one JSON document, schema version 1. Keys may be added, none
changed."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from nparam_lint.report import json_

if TYPE_CHECKING:
    from nparam_lint.report import Options
    from nparam_lint.report.solved import Solution


def render(solution: Solution, options: Options) -> str:  # noqa: ARG001
    fields = asdict(solution)
    version = fields.pop("version")
    document = {"version": 1, "tool": {"name": "nparam-lint", "version": version}, **fields}
    return json_.text_of(document)
