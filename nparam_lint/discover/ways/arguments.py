"""The values that a caller, a default, a decorator or an entry of a table gives a name."""

from __future__ import annotations

import ast

from nparam_lint.discover.syntax import Function, dotted_name, tail
from nparam_lint.discover.ways.statements import NoWay, expression


def entry_of(table: ast.expr, number: int) -> ast.expr:
    """One entry of a table, or its first where it has not so many."""
    if isinstance(table, (ast.Tuple, ast.List)) and table.elts:
        if number >= len(table.elts):
            raise NoWay("no more entries")
        return table.elts[number]
    name = dotted_name(table.func) if isinstance(table, ast.Call) else ""
    if isinstance(table, ast.Call) and table.args:
        if name == "zip":
            return ast.Tuple([entry_of(item, number) for item in table.args], ast.Load())
        if name == "enumerate":
            return ast.Tuple([ast.Constant(number), entry_of(table.args[0], number)], ast.Load())
    if isinstance(table, ast.Dict) and table.keys and table.keys[0]:
        return table.keys[0]
    if number:
        return expression(f"list({ast.unparse(table)})[{number}]")
    return expression(f"next(iter({ast.unparse(table)}))")


def arguments_of(function: Function, call: ast.Call, is_method: bool) -> dict[str, ast.expr]:
    """The argument of the call for each parameter of the function."""
    names = [item.arg for item in (*function.args.posonlyargs, *function.args.args)]
    names = names[1:] if is_method else names
    found: dict[str, ast.expr] = {}
    for name, value in zip(names, call.args, strict=False):
        if isinstance(value, ast.Starred):
            raise NoWay("*arguments")
        found[name] = value
    for item in call.keywords:
        if item.arg is None:
            raise NoWay("**arguments")
        found[item.arg] = item.value
    return found


def from_decorator(function: Function, name: str, number: int) -> ast.expr | None:
    """The value of a parameter that `pytest.mark.parametrize`, or an option of click, gives."""
    for item in function.decorator_list:
        if not isinstance(item, ast.Call) or not item.args:
            continue
        kind = tail(dotted_name(item.func))
        first = item.args[0]
        if kind == "parametrize" and len(item.args) > 1 and isinstance(first, ast.Constant):
            names = [part.strip() for part in str(first.value).split(",")]
            if name in names:
                row = entry_of(item.args[1], number)
                if len(names) == 1:
                    return row
                if isinstance(row, (ast.Tuple, ast.List)) and len(row.elts) == len(names):
                    return row.elts[names.index(name)]
        if kind in ("option", "argument"):
            texts = [a.value for a in item.args if isinstance(a, ast.Constant)]
            known = {str(text).lstrip("-").replace("-", "_") for text in texts}
            values = {k.arg: k.value for k in item.keywords}
            if name in known and "default" in values:
                return values["default"]
    return None
