"""Every JSON report that a test makes is validated, and may have no key that its schema lacks."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from nparam_lint.api.schemas.report_schemas import report_schema
from nparam_lint.report.formats import json as json_format

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nparam_lint.report import Document, Options

LARGE = 3_000_000  # characters: what is larger repeats itself, and takes long
_METRICS = {"type": ["integer", "null"]}  # of modules, those that were added


def strict(schema: Any) -> Any:
    """The schema without room for keys that it does not name."""
    if isinstance(schema, list):
        return [strict(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: strict(value) for key, value in schema.items()}
    if "properties" in made and "additionalProperties" not in made:
        is_module = {"own", "gradient_bytes", "tied"} <= made["properties"].keys()
        made["additionalProperties"] = _METRICS if is_module else False
    return made


@cache
def validator(command: str) -> Draft202012Validator:
    return Draft202012Validator(strict(report_schema(command)))


def validate(command: str, data: Any) -> None:
    error = best_match(validator(command).iter_errors(data))
    if error is not None:
        raise AssertionError(f"{command}: {error.json_path}: {error.message[:500]}")


def validate_output(text: str) -> None:
    """What a process printed, where that is a report: those of `check` and `show` do not say which
    they are, and a report of one is one of the other."""
    if text.startswith('{"version":1,"tool":{"name":"nparam-lint"') and len(text) < LARGE:
        data = json.loads(text)
        if "failed_ways" in data:
            validate("show", data)


@pytest.fixture(scope="session", autouse=True)
def _valid_reports() -> Iterator[None]:
    """What is rendered in this process; `count` has no report of its own."""
    chunks = json_format.chunks

    def checked(document: Document, options: Options) -> Iterator[str]:
        made, size = [], 0
        for chunk in chunks(document, options):
            size += len(chunk)
            made += [chunk] if size < LARGE else []
            yield chunk
        if size < LARGE and document.command != "count":
            validate(document.command, json.loads("".join(made)))

    json_format.chunks = checked
    yield
    json_format.chunks = chunks
