"""The schema of `[tool.nparam-lint]` and of nparam-lint.toml, from the table of the keys.

In the draft and the form that SchemaStore and validate-pyproject want. A schema cannot read a
budget, Python, or the files that are there: what it accepts, the tool may still refuse.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nparam_lint.api.schemas.python_types import Schema, schema_of
from nparam_lint.config.settings import BUDGET, GENERAL, OVERRIDE, RECIPE, SEVERITY, Key
from nparam_lint.ground.errors import UsageError
from nparam_lint.ground.rule_catalogue import RULES

# Where SchemaStore would have it; validate-pyproject wants a name of each schema.
ADDRESS = "https://json.schemastore.org/nparam-lint.json"
_NUMBER = r"([0-9][0-9_,]*)?(\.[0-9]+)?([eE][+-]?[0-9]+|\s*[A-Za-z]+)?"
_FEW = r"(?!\s*0*([1-9][0-9]?|100)\s*$)"  # `5`, which is not 5 %
_TOLERANCE = rf"^{_FEW}(?!\s*[0-9]*\.[0-9]+\s*$)\s*([0-9]+(\.[0-9]+)?\s*%|{_NUMBER})\s*$"
_MEMORY = r"^\s*[0-9]+(\.[0-9]+)?\s*(MB|GB|MiB|GiB)\s*$"
_IN_FILE = r"^\s*[A-Za-z0-9_./-]+\.py\s*::"


def config_schema() -> Schema:
    override = _closed(_keys(OVERRIDE), required=["files"])
    override["properties"]["files"] |= {
        "allOf": [{"anyOf": [{"type": "array", "minItems": 1}, {"type": "string", "minLength": 1}]}]
    }
    table = {
        **_keys({**GENERAL, **SEVERITY}),
        "extend": {
            "type": "string",
            "description": "a config file whose keys hold where this one does not have them",
        },
        "budgets": _budgets(),
        "arguments": _arguments(),
        "overrides": {
            "type": "array",
            "description": "other settings for some files",
            "items": override,
        },
    }
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": ADDRESS,
        "title": "nparam-lint",
        "description": "Checks the parameter counts that a repository claims for its PyTorch "
        "models.",
        **_closed(table),
    }


def tool_schema(tool: str) -> Schema:
    """For validate-pyproject: that of `[tool.nparam-lint]`."""
    if tool != "nparam-lint":
        raise UsageError(f"found {tool}, expected nparam-lint")
    return config_schema()


def _closed(properties: Mapping[str, Any], **more: Any) -> Schema:
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": dict(properties),
        **more,
    }


def _keys(keys: Mapping[str, Key]) -> dict[str, Schema]:
    return {name: {"description": key.expected, **_value(name, key)} for name, key in keys.items()}


def _value(name: str, key: Key) -> Schema:
    """What a key may hold: its type, and where that is text, a pattern."""
    if name == "tolerance":
        amount = {"anyOf": [{"const": 0}, {"type": "integer", "minimum": 101}]}
        return {"anyOf": [{"type": "string", "pattern": _TOLERANCE}, amount]}
    if name == "memory":
        return {"type": "string", "pattern": _MEMORY}
    if name == "resident":
        time = {"type": "string", "pattern": r"^(true|false|[0-9]+(\.[0-9]+)?\s*[mh])$"}
        return {"anyOf": [{"type": "boolean"}, time]}
    if name in ("select", "ignore"):
        # All codes, and what they begin with: `NPL0` is all of those. The longest first.
        starts = sorted({code[:end] for code in RULES for end in range(1, len(code) + 1)})
        code = f"({'|'.join(sorted(starts, key=len, reverse=True))})"
        several = rf"^\s*({code}\s*(,\s*|$))*$"
        codes = {"type": "array", "items": {"type": "string", "pattern": f"^{code}$"}}
        return {"anyOf": [codes, {"type": "string", "pattern": several}]}
    if name == "python":
        path = {"type": "string", "minLength": 1}
        return {"anyOf": [path, _closed(dict.fromkeys(("linux", "macos", "windows"), path))]}
    if name == "severity":
        words = {"type": "string", "enum": ["error", "warning"]}
        return _closed(dict.fromkeys(RULES, words))
    schema = schema_of(key.kind)
    if schema.get("type") in ("integer", "number"):  # may be written as text
        return {"anyOf": [schema, {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?$"}]}
    return schema


def _recipe(required: tuple[str, ...] = (), **keys: Any) -> Schema:
    """How to build a model; `keys`: those beside it."""
    needs_call = {"anyOf": [{"required": ["call"]}, {"required": ["arguments"]}]}
    more: Schema = {"required": list(required)} if required else {}
    return _closed({**_keys(RECIPE), **keys}, dependencies={"setup": needs_call}, **more)


def _budgets() -> Schema:
    count = {
        "description": "86.6M, 12_582_912, <= 25k, 1M..2M, 7M ± 2%, or a formula",
        "anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": r"[^\s]"}],
    }
    table = _recipe(("budget",), budget=count, **_keys(BUDGET))
    table["properties"]["call"] |= {"not": {"type": "string", "pattern": _IN_FILE}}
    budget = {"anyOf": [*count["anyOf"], table]}
    return {
        "type": "object",
        "description": 'budgets of models: "nets/vit.py::ViT(depth=24)[encoder]" = "86.6M"',
        "propertyNames": {"pattern": "::"},
        "additionalProperties": {
            "anyOf": [budget, {"type": "array", "items": budget, "minItems": 1}]
        },
    }


def _arguments() -> Schema:
    text = {"type": "string"}
    model, config = _recipe(), _recipe(("call",))
    model["properties"]["call"] |= {"not": {"type": "string", "pattern": _IN_FILE}}
    config["properties"]["call"] |= {"pattern": _IN_FILE}
    return {
        "type": "object",
        "description": 'how models are built: "nets/vit.py::ViT" = "depth=24", or config files: '
        '"configs/*.yaml" = { call = "train.py::build(path)" }',
        "patternProperties": {"::": {"anyOf": [text, model]}, "^((?!::).)*$": config},
        "additionalProperties": False,
    }
