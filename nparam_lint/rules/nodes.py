"""The syntax tree below a node, without what holds no code that runs: annotations, operators."""

from __future__ import annotations

import ast
from functools import cache
from typing import TYPE_CHECKING

from nparam_lint.discover.syntax import dotted_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_NO_CODE = frozenset("annotation ctx op ops returns type_params type_ignores".split())


def nodes(roots: Iterable[ast.AST], *, skip: tuple[type[ast.AST], ...] = ()) -> Iterator[ast.AST]:
    """The nodes at and below `roots`, in the order of the source, without the insides of the types
    in `skip`. A stack, since expressions may be nested a thousand deep."""
    stack = list(roots)
    stack.reverse()
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, skip):
            inner = children(node)
            inner.reverse()
            stack += inner


def children(node: ast.AST) -> list[ast.AST]:
    found: list[ast.AST] = []
    for name in _code_fields(type(node)):  # type: ignore[arg-type]  # types can be hashed
        value = getattr(node, name)
        if isinstance(value, list):
            found += value
        elif value is not None:
            found.append(value)
    # The keys of `{**other}` are None, the names of `global` are texts.
    return [item for item in found if isinstance(item, ast.AST)]


@cache
def _code_fields(kind: type[ast.AST]) -> tuple[str, ...]:
    if issubclass(kind, (ast.Constant, ast.Name, ast.alias)):
        return ()
    return tuple(name for name in kind._fields if name not in _NO_CODE)


def statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """All statements of a body, those inside others too, functions and classes among them."""
    stack = list(body)
    stack.reverse()
    while stack:
        node = stack.pop()
        yield node
        inner: list[ast.stmt] = []
        for holder in (node, *getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            for name in ("body", "orelse", "finalbody"):
                inner += getattr(holder, name, ())
        inner.reverse()
        stack += inner


def plain_name(node: ast.AST) -> str:
    """`a.b.C` of a name or an attribute; "" of anything else."""
    return dotted_name(node) if isinstance(node, (ast.Name, ast.Attribute)) else ""


def arguments(call: ast.Call) -> list[tuple[str | None, ast.expr]]:
    """(keyword or None, value) of each argument; of `*x` and `**x` the value is x."""
    return [
        *((None, unstarred(item)) for item in call.args),
        *((item.arg, item.value) for item in call.keywords),
    ]


def unstarred(node: ast.expr) -> ast.expr:
    return node.value if isinstance(node, ast.Starred) else node


def is_constant(node: ast.AST | None, value: object) -> bool:
    """Whether this is the literal True, False or None."""
    return isinstance(node, ast.Constant) and node.value is value
