"""JSON Schemas of Python types, as they are written: all fields of a record are there, but what
is UNSET. `msgspec` has those of other types; it has none of a choice of records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import is_dataclass
from inspect import cleandoc
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec

from nparam_lint.count.measured import NO_KEY

Schema = dict[str, Any]


def schema_of(kind: Any) -> Schema:
    origin, parts = get_origin(kind), get_args(kind)
    if is_dataclass(kind) or isinstance(kind, type(msgspec.Struct)):
        return _record(kind)
    if origin in (Union, UnionType):
        schemas = [schema_of(part) for part in parts if part is not msgspec.UnsetType]
        return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
    if origin in (list, Sequence, Iterable) or (origin is tuple and parts[-1] is ...):
        return {"type": "array", "items": schema_of(parts[0])}
    if origin in (dict, Mapping):
        return {"type": "object", "additionalProperties": schema_of(parts[1])}
    return msgspec.json.schema(kind)


def _record(kind: Any) -> Schema:
    hints = get_type_hints(kind, include_extras=True)
    names = [name for name in hints if NO_KEY not in get_args(hints[name])]
    hints = get_type_hints(kind)
    schema: Schema = {
        "type": "object",
        "properties": {name: schema_of(hints[name]) for name in names},
        "required": [name for name in names if msgspec.UnsetType not in get_args(hints[name])],
    }
    is_described = kind.__doc__ and not kind.__doc__.startswith(f"{kind.__name__}(")
    return {"description": cleandoc(kind.__doc__), **schema} if is_described else schema
