"""The values that a caller, a default, a decorator or an entry of a table gives a name."""

from __future__ import annotations

import ast
import math
from typing import TYPE_CHECKING

from nparam_lint.discover.syntax import Function, dotted_name, tail
from nparam_lint.evidence.statements import NoWay, expression, loads

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def entry_of(table: ast.expr, number: int, tables: Mapping[str, ast.expr]) -> ast.expr:
    """One entry of a table. `tables`: those that are written out, by name. Raises NoWay where it is
    known that there are not so many; the worker knows the rest by `StopIteration`."""
    if number >= _length(table, tables):
        raise NoWay("no more entries")
    if isinstance(table, (ast.Tuple, ast.List)) and table.elts:
        return table.elts[number]
    name = dotted_name(table.func) if isinstance(table, ast.Call) else ""
    if isinstance(table, ast.Call) and table.args:
        if name == "zip":
            entries = [entry_of(item, number, tables) for item in table.args]
            return ast.Tuple(entries, ast.Load())
        if name == "enumerate":
            entry = entry_of(table.args[0], number, tables)
            return ast.Tuple([ast.Constant(number), entry], ast.Load())
    if isinstance(table, ast.Dict) and table.keys and table.keys[0]:
        return table.keys[0]
    text = ast.unparse(table)
    return expression(f"next(iter(list({text})[{number}:]))" if number else f"next(iter({text}))")


def _length(table: ast.expr, tables: Mapping[str, ast.expr]) -> float:
    """How many entries a table has; infinitely many where that is not known."""
    table = tables.get(table.id, table) if isinstance(table, ast.Name) else table
    if isinstance(table, ast.Call) and isinstance(table.func, ast.Attribute):
        is_whole = table.func.attr in ("items", "keys", "values")
        return _length(table.func.value, tables) if is_whole else math.inf
    entries = table.keys if isinstance(table, ast.Dict) else getattr(table, "elts", ())
    is_known = entries and not any(e is None or isinstance(e, ast.Starred) for e in entries)
    return len(entries) if is_known else math.inf


def arguments_of(function: Function, call: ast.Call, is_method: bool) -> dict[str, ast.expr]:
    """The argument of the call for each parameter of the function, `*args` and `**kwargs` too, as
    far as the call gives it. Raises NoWay."""
    arguments = function.args
    names = [item.arg for item in (*arguments.posonlyargs, *arguments.args)][is_method:]
    positional, excess = call.args[: len(names)], call.args[len(names) :]
    if any(isinstance(value, ast.Starred) for value in positional):
        raise NoWay("*arguments")
    values = dict(zip(names, positional, strict=False))
    if excess and arguments.vararg:
        values[arguments.vararg.arg] = ast.Tuple(excess, ast.Load())
    names += [item.arg for item in arguments.kwonlyargs]
    values |= {k.arg: k.value for k in call.keywords if k.arg in names}
    extra = {item.arg: ast.unparse(item.value) for item in call.keywords if item.arg not in names}
    if sum(item.arg is None for item in call.keywords) > 1:
        raise NoWay("**arguments")
    table, absent = extra.get(None), tuple(name for name in names if name not in values)
    if table and absent:
        defaults = default_values(function)
        for name in absent:
            entry = f"[{name!r}]"
            if name in defaults:
                entry = f".get({name!r}, {ast.unparse(defaults[name])})"
            values[name] = expression(f"({table}){entry}")
        extra[None] = f"{{k: v for k, v in ({table}).items() if k not in {absent!r}}}"
    if extra and arguments.kwarg:
        items = [f"{name!r}: {text}" if name else f"**{text}" for name, text in extra.items()]
        values[arguments.kwarg.arg] = expression(f"{{{', '.join(items)}}}")
    return values


def gives_value(
    function: Function, calls: Iterable[ast.Call], is_method: bool, names: Iterable[str]
) -> bool:
    """Whether one of the calls gives a parameter that has a default a value; None is as none."""
    defaults = {n: v for n, v in default_values(function).items() if ast.unparse(v) != "None"}
    able = defaults.keys() & set(names)
    return any(able & arguments_of(function, call, is_method).keys() for call in calls)


def arguments_known(function: Function, call: ast.Call, is_method: bool) -> dict[str, ast.expr]:
    """The same; none where they cannot be told."""
    try:
        return arguments_of(function, call, is_method)
    except NoWay:
        return {}


def under_other_names(values: Mapping[str, ast.expr]) -> dict[str, ast.expr]:
    """Those of the parameters that get something else than what is called like them. Raises NoWay
    where another one is made of what was called like it: `config = vars(config)` is not."""
    others = {n: v for n, v in values.items() if not (isinstance(v, ast.Name) and v.id == n)}
    if any(loads(value) & (others.keys() - {name}) for name, value in others.items()):
        raise NoWay("two things of one name")
    return others


def default_values(function: Function) -> dict[str, ast.expr]:
    """The defaults that a function writes down, by parameter."""
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs = list(zip(reversed(positional), reversed(arguments.defaults), strict=False))
    pairs += [(a, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d]
    return {item.arg: value for item, value in pairs}


def from_decorator(
    function: Function, name: str, number: int, tables: Mapping[str, ast.expr]
) -> ast.expr | None:
    """The value of a parameter that `pytest.mark.parametrize` gives."""
    for item in function.decorator_list:
        if not isinstance(item, ast.Call) or not item.args:
            continue
        kind = tail(dotted_name(item.func))
        first = item.args[0]
        if kind == "parametrize" and len(item.args) > 1 and isinstance(first, ast.Constant):
            names = [part.strip() for part in str(first.value).split(",")]
            if name in names:
                row = entry_of(item.args[1], number, tables)
                if isinstance(row, ast.Call) and tail(dotted_name(row.func)) == "param":
                    row = row.args[0] if len(names) == 1 else ast.Tuple(row.args, ast.Load())
                if len(names) == 1:
                    return row
                if isinstance(row, (ast.Tuple, ast.List)) and len(row.elts) == len(names):
                    return row.elts[names.index(name)]
    return None
