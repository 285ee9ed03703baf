"""Parsers of options as most files use them: what the others write in another way."""

from __future__ import annotations

import ast

from nparam_lint.discover.syntax import dotted_name, tail
from nparam_lint.evidence.statements import assign
from nparam_lint.ground.patterns import late_pattern

IS_UNUSUAL = late_pattern(
    r"\.add_argument\n|parse_args\([^()]*\)\.\w|\bchoices\s*=\s*\w+(?:\.\w+)+\("
)
_SIMPLE = (ast.Assign, ast.AnnAssign, ast.Expr, ast.Return)


def written_plainly(tree: ast.Module) -> ast.Module:
    """The tree with `parser.add_argument(…)` where a name stands for that, with a statement for the
    options before one that reads `parser.parse_args().width`, and without choices that a package
    would have to be asked for: `choices=games.list_all()`."""
    nodes = [*ast.walk(tree)]
    short = {
        node.targets[0].id: node.value
        for node in nodes
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Attribute)
        and node.value.attr == "add_argument"
    }
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in short:
            node.func = short[node.func.id]
        if isinstance(node, ast.Call) and tail(dotted_name(node.func)) == "add_argument":
            node.keywords = [k for k in node.keywords if k.arg != "choices" or not _asks(k.value)]
        for field in ("body", "orelse", "finalbody"):
            body = getattr(node, field, None)
            if isinstance(body, list):
                setattr(node, field, [part for item in body for part in _parts(item)])
    return tree


def _asks(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and "." in dotted_name(value.func)


def _parts(node: ast.stmt) -> list[ast.stmt]:
    """The statement, after those that parse the options that it reads."""
    before: list[ast.stmt] = []
    for inner in ast.walk(node) if isinstance(node, _SIMPLE) else ():
        value = inner.value if isinstance(inner, ast.Attribute) else None
        if isinstance(value, ast.Call) and tail(dotted_name(value.func)) == "parse_args":
            options = ast.Name(f"options_{node.lineno}", ast.Load())
            before.append(ast.copy_location(assign(options.id, value), node))
            inner.value = ast.copy_location(options, value)  # type: ignore[attr-defined]
    return [*before, node]
