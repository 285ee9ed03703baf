"""JSON Schemas of the config and of each report, made from the code that reads and writes them.

`docs/schemas/` has a copy of each.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

from nparam_lint.api.schemas.config_schema import config_schema
from nparam_lint.api.schemas.report_schemas import REPORTS, report_schema

if TYPE_CHECKING:
    from collections.abc import Callable

    from nparam_lint.api.schemas.python_types import Schema


def schemas() -> dict[str, Callable[[], Schema]]:
    """By name, what makes each."""
    return {
        "config": config_schema,
        **{name: partial(report_schema, name) for name in REPORTS},
    }


def text_of(schema: Schema) -> str:
    """As it is printed and kept."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
