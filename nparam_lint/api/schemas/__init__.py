"""JSON Schemas of the config and of each report, made from the code that reads and writes them.

`docs/schemas/` has a copy of each: `python -m nparam_lint.api.schemas docs/schemas` writes them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

Schema = dict[str, Any]


def schemas() -> dict[str, Callable[[], Schema]]:
    """By name, what makes each."""
    from nparam_lint.api.schemas.config_schema import config_schema
    from nparam_lint.api.schemas.report_schemas import REPORTS, report_schema

    made: dict[str, Callable[[], Schema]] = {"config": config_schema}
    for name in REPORTS:
        made[name] = lambda name=name: report_schema(name)  # type: ignore[misc]
    return made


def text_of(schema: Schema) -> str:
    """As it is printed and kept."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
