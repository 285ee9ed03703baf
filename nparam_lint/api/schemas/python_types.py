"""JSON Schemas of Python types, as `asdict` writes them: every field of a dataclass is there."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from inspect import cleandoc
from typing import TYPE_CHECKING, Any, get_type_hints

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Schema = dict[str, Any]


def schema_of(kind: Any) -> Schema:
    """`kind`: a type, or a schema, which stays as it is."""
    if isinstance(kind, dict):
        return kind
    (schema,), parts = msgspec.json.schema_components([kind], ref_template="{name}")
    return dict(_inlined(schema, parts))


def _inlined(schema: Any, parts: Mapping[str, Any]) -> Any:
    if isinstance(schema, list):
        return [_inlined(one, parts) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _inlined(parts[schema["$ref"]], parts)
    kept = {name: _inlined(value, parts) for name, value in schema.items() if name != "default"}
    if isinstance(kept.get("description"), str):
        kept["description"] = cleandoc(kept["description"])  # as Python 3.13 and later do
    if "properties" in kept:
        kept["required"] = list(kept["properties"])
    return kept


def record(required: Mapping[str, Any], optional: Mapping[str, Any] | None = None) -> Schema:
    """An object. More keys may be added to a report, so others are not forbidden."""
    properties = {**required, **(optional or {})}
    return {
        "type": "object",
        "properties": {name: schema_of(kind) for name, kind in properties.items()},
        "required": list(required),
    }


def fields_of(kind: Any, left_out: Iterable[str] = ()) -> dict[str, Any]:
    """Name → type of the fields of a dataclass."""
    assert is_dataclass(kind)
    hints = get_type_hints(kind)
    return {one.name: hints[one.name] for one in fields(kind) if one.name not in left_out}


def array(items: Any) -> Schema:
    return {"type": "array", "items": schema_of(items)}


def either(*kinds: Any) -> Schema:
    return {"anyOf": [schema_of(kind) for kind in kinds]}
