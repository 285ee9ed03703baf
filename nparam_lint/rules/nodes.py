"""The syntax tree below a node, without what holds no code that runs: annotations, operators."""

from __future__ import annotations

import ast
from functools import cache
from typing import TYPE_CHECKING

from nparam_lint.discover.syntax import dotted_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Fields that hold no code that runs, and those that hold no nodes.
_NO_CODE = frozenset("annotation ctx op ops returns type_params type_ignores".split())
_NO_NODES = frozenset(
    """
    arg asname attr conversion id is_async kind kwd_attrs level module name rest simple type_comment
    """.split()
)
_ENDS = (ast.Constant, ast.Global, ast.Name, ast.Nonlocal, ast.alias)


def nodes(roots: Iterable[ast.AST], *, skip: tuple[type[ast.AST], ...] = ()) -> Iterator[ast.AST]:
    """The nodes at and below `roots`, in the order of the source, without the insides of the types
    in `skip`. A stack, since expressions may be nested a thousand deep."""
    stack: list[ast.AST] = list(roots)
    stack.reverse()
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, skip):
            stack += _inner(node)


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes that this node is made of, in the order of the source."""
    return _inner(node)[::-1]


def _inner(node: ast.AST) -> list[ast.AST]:
    found: list[ast.AST] = []
    for name in _fields(type(node)):  # type: ignore[arg-type]  # types can be hashed
        value = getattr(node, name)
        if value.__class__ is list:
            # The keys of `{**other}` and missing defaults are None.
            found += value[::-1] if None not in value else [v for v in value[::-1] if v is not None]
        elif value is not None:
            found.append(value)
    return found


@cache
def _fields(kind: type[ast.AST]) -> tuple[str, ...]:
    """The fields with nodes, from the last to the first."""
    if issubclass(kind, _ENDS):
        return ()
    return tuple(name for name in kind._fields[::-1] if name not in _NO_CODE | _NO_NODES)


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
