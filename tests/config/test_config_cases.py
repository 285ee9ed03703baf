"""What config files say, and what comes of it: the book in `cases/`."""

from __future__ import annotations

import os
import re
import sys

import pytest
import tomlkit
from case_books import cases_beside
from jsonschema import Draft7Validator
from sample_files import write_files

from nparam_lint.api.schemas.config_schema import config_schema
from nparam_lint.config.load import ConfigError, load_settings
from nparam_lint.config.settings import Override, RecipePattern, Settings
from nparam_lint.ground.notation.budget import Budget
from nparam_lint.ground.notation.grammar import Tolerance, Value
from nparam_lint.ground.orders import Recipe

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CASES = cases_beside(__file__, "cases")


def outcome(root, text):
    """The lines that stand below a config."""
    told, config = told_beside(text)
    name = "pyproject.toml" if config.startswith("# pyproject.toml") else "nparam-lint.toml"
    (root / name).write_text(config, "utf-8")
    (root / "train.py").touch()
    try:
        settings = load_settings(root, None, told["$"], told["--"])
    except ConfigError as error:
        return [f"! {without_reason(fault, name)}" for fault in error.problems]
    lines = differing(Settings(root, settings.config), settings, root)
    for file in told["?"]:
        found = differing(settings, settings.for_file(file), root)
        lines += [f"{file} {line}" for line in found or ["has no other"]]
    return lines


def told_beside(text):
    """What the environment says (`$ NAME=value`), and the command line (`$ --name value`); files
    that are asked about (`? path`); and the config."""
    told, config = {"$": {}, "--": {"depth": None}, "?": []}, []  # None: it is not given
    for line in text.splitlines(keepends=True):
        if found := re.fullmatch(r"\$ (?:--(\w+) |(\w+)=)(.*)\n", line):
            option, name, value = found.groups()
            told["--" if option else "$"][option or name] = value
        elif line.startswith("? "):
            told["?"].append(line[2:].strip())
        else:
            config.append(line)
    return told, "".join(config)


def differing(default, settings, root):
    lines = []
    for key in Settings.__struct_fields__:
        value = getattr(settings, key)
        if value == getattr(default, key):
            continue
        if key == "arguments":
            at = settings.recipe_positions
            value = tuple(f"{t}: {text(recipe)}, {at[t]}" for t, recipe in value.items())
        if key == "extended":
            value = tuple(os.path.relpath(path, root) for path in value)
        items = value if key in TABLES else [value]
        if key != "recipe_positions":
            lines += [f"= {key}: {text(item)}" for item in items]
    return lines


TABLES = ("extended", "budgets", "arguments", "patterns", "overrides")


def without_reason(fault, name):
    """Its place and message. How Python and its parser of TOML say what is wrong, they change."""
    message = re.sub(r"((not valid (Python|TOML)|a Python call): ).*", r"\1…", fault.message)
    path = fault.position.path
    if not path:  # of what is no file
        return message
    other = "" if path == name else f"{path}:"
    return f"{other}{fault.position.line}:{fault.position.column}: {message}"


def text(value):
    """A record with what is set in it; of the value of a budget, what form it has."""
    if isinstance(value, Value):
        return value.form
    if isinstance(value, Tolerance):
        return f"{value.amount} {'%' if value.relative else 'parameters'}"
    if not isinstance(value, Budget | Override | Recipe | RecipePattern):
        return str(value)
    names = getattr(value, "__struct_fields__", None) or vars(value)
    items = ((name, getattr(value, name)) for name in names)
    return ", ".join(f"{name}={text(item)}" for name, item in items if item not in (None, (), {}))


@pytest.mark.parametrize(("book", "case"), CASES)
def test_what_comes_of_a_config(tmp_path, book, case, request):
    write_files(tmp_path, {path: text.decode() for path, text in case.files.items()})
    said = "\n".join(outcome(tmp_path, f"{case.asked}\n")) or "nothing"
    book.check(case.number, said, update=request.config.getoption("update"))


def entries(config):
    """Each that our table has, as a table of its own."""
    try:
        table = tomllib.loads(config)
    except tomllib.TOMLDecodeError:
        return
    if config.startswith("# pyproject.toml"):
        table = table.get("tool", {}).get("nparam-lint", {})
    for key, value in table.items() if isinstance(table, dict) else ():
        if isinstance(value, dict) and key in ("budgets", "arguments", "severity"):
            yield from ({key: {name: entry}} for name, entry in value.items())
        elif isinstance(value, list) and key == "overrides":
            yield from ({key: [entry]} for entry in value)
        else:
            yield {key: value}


ALONE = [parameter.values[1] for parameter in CASES if not parameter.values[1].files]


@pytest.mark.parametrize("case", ALONE, ids=lambda case: case.target)
def test_the_schema_of_the_config_agrees(tmp_path, case):
    may_accept = "a_schema_cannot_read" in case.target
    for entry in entries(told_beside(f"{case.asked}\n")[1]):
        is_valid = Draft7Validator(config_schema()).is_valid(entry)
        lines = outcome(tmp_path, tomlkit.dumps(entry))
        is_read = not any(line.startswith("! ") for line in lines)
        assert is_valid is is_read or (is_valid and may_accept), lines
