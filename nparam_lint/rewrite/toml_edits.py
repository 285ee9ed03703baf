"""Budgets in config files, written with tomlkit: comments, order, quotes and layout stay."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Integer, Item, String, Table

from nparam_lint.config.load import table_in
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.rewrite import number_style
from nparam_lint.rewrite.edits import Unsafe

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nparam_lint.rewrite.number_style import Restated

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Key = tuple[str | int, ...]  # through tables by name, through a list by number

_WHOLE = late_pattern(r"[0-9]+(?:_[0-9]+)*")


def budget_keys(text: str, file: str) -> list[Key]:
    """Where the counts of the budgets are in a config file of that name, in the order in which the
    settings list them."""
    table = (*table_in(file), "budgets")
    budgets: Any = tomllib.loads(text)
    for name in table:
        budgets = budgets.get(name, {})
    keys: list[Key] = []
    for name, entry in budgets.items():
        several = isinstance(entry, list)
        for number, budget in enumerate(entry if several else [entry]):
            key = (*table, name, number) if several else (*table, name)
            keys.append((*key, "budget") if isinstance(budget, dict) else key)
    return keys


def restate(text: str, changes: Mapping[Key, Restated]) -> tuple[str, dict[Key, str]]:
    """The file with other numbers; and the keys that were not changed, with the reason."""
    failures: dict[Key, str] = {}
    try:
        document = _read(text)
        expected = tomllib.loads(text)
        for key, change in changes.items():
            holder, plain = _at(document, key[:-1]), _at(expected, key[:-1])
            literal = _restated(holder[key[-1]], change)
            if literal is None:
                failures[key] = "its number is not written in digits, in one piece"
                continue
            holder[key[-1]] = tomlkit.value(literal)
            (plain[key[-1]],) = tomllib.loads(f"_ = {literal}").values()
        return _checked(document.as_string(), expected), failures
    except Unsafe as error:
        return text, dict.fromkeys(changes, str(error))


def add(text: str, file: str, values: Mapping[str, str]) -> str:
    """The text of a config file of that name with further budgets: at the end of their table, which
    is made at the end of the file where there is none. Raises Unsafe."""
    table = (*table_in(file), "budgets")
    newline = "\r\n" if "\r\n" in text else "\n"
    document = _read(text)
    expected = tomllib.loads(text)
    budgets = expected
    for name in table:
        budgets = budgets.setdefault(name, {})
    items: dict[str, Item] = {}
    for key, value in values.items():  # a whole number as such, anything else in quotes
        items[key] = tomlkit.value(value) if _WHOLE.fullmatch(value) else tomlkit.string(value)
        items[key].trivia.trail = newline
    budgets |= {key: item.unwrap() for key, item in items.items()}
    try:
        holder = _at(document, table)
    except KeyError:
        end = "" if not text else newline if text.endswith("\n") else 2 * newline
        gap = "" if text.endswith(2 * newline) else end
        head = [f"[{'.'.join(table)}]"]
        lines = [f"{tomlkit.key([k]).as_string()} = {v.as_string()}" for k, v in items.items()]
        return _checked(f"{text}{gap}{newline.join([*head, *lines])}{newline}", expected)
    # Behind the last key, before the empty lines and comments that lead to the next table.
    body = holder.value.body if isinstance(holder, Table) else []
    end_of_keys = max((n for n, (key, _) in enumerate(body, 1) if key is not None), default=0)
    trailing = body[end_of_keys:]
    del body[end_of_keys:]
    for key, item in items.items():
        holder.add(key, item)
    body.extend(trailing)
    return _checked(document.as_string(), expected)


# --- with tomlkit -----------------------------------------------------------------------------


def _read(text: str) -> tomlkit.TOMLDocument:
    try:
        document = tomlkit.parse(text)
    except (TOMLKitError, ValueError) as error:
        raise Unsafe(f"tomlkit cannot read the file: {error}") from None
    if document.as_string() != text:
        raise Unsafe("tomlkit does not keep this file as it is")
    return document


def _at(tree: Any, key: Sequence[str | int]) -> Any:
    for part in key:
        tree = tree[part]
    return tree


def _restated(item: Item, change: Restated) -> str | None:
    """What stands in the file instead of an item; None where it is not the value that was read, or
    its number is not in one piece."""
    literal = item.as_string()
    if isinstance(item, Integer) and _WHOLE.fullmatch(literal) and str(int(item)) == change.text:
        return number_style.integer(literal, int(change.number.replace("_", "")))
    if isinstance(item, String) and change.text in item and change.old_number in literal:
        return literal.replace(change.old_number, change.number, 1)
    return None


def _checked(text: str, expected: dict[str, Any]) -> str:
    """A text that says what is expected. Raises Unsafe."""
    with suppress(tomllib.TOMLDecodeError):
        if tomllib.loads(text) == expected:
            return text
    raise Unsafe("the changed file would not have the right budgets")
