"""Queries on single nodes of a syntax tree, and the nodes below one, without parts that hold no
code that runs: annotations, operators."""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import cache
from typing import TYPE_CHECKING

from nparam_lint.discover.syntax import FUNCTIONS, bound_names, dotted_name, parameter_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Bindings = dict[str, list[ast.expr | None]]
# Fields that hold no code that runs, and those that hold no nodes.
_NO_CODE = frozenset("annotation ctx op ops returns type_params type_ignores".split())
_NO_NODES = frozenset(
    """
    arg asname attr conversion id is_async kind kwd_attrs level module name rest simple type_comment
    """.split()
)
# Calls that give an object another element, with the place of that element among the arguments.
_PUTS = {"append": 0, "add": 0, "appendleft": 0, "insert": 1, "setdefault": 1}
_SPREADS = frozenset({"extend", "update"})
# Their result neither keeps nor registers what they are given; the loops over it are looked at.
_HARMLESS = frozenset(
    "len range enumerate zip reversed sorted print isinstance hasattr any all id str repr".split()
)
# What binds names.
BINDING = frozenset(
    {
        *(ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.For, ast.AsyncFor, ast.comprehension),
        *(ast.withitem, ast.alias, ast.arguments, ast.ClassDef, *FUNCTIONS, ast.ExceptHandler),
        *(ast.MatchAs, ast.MatchStar),
    }
)
_ENDS = (ast.Constant, ast.Global, ast.MatchSingleton, ast.Name, ast.Nonlocal, ast.alias)


def nodes(roots: Iterable[ast.AST], *, skip: tuple[type[ast.AST], ...] = ()) -> Iterator[ast.AST]:
    """The nodes at and below `roots`, in the order of the source, without the insides of the types
    in `skip`. A stack, since expressions may be nested a thousand deep."""
    stack: list[ast.AST] = list(roots)
    stack.reverse()
    while stack:
        node = stack.pop()
        yield node
        if node.__class__ in skip:
            continue
        for name in _fields(node.__class__):  # type: ignore[arg-type]  # types can be hashed
            value = getattr(node, name)
            if value.__class__ is list:
                # The keys of `{**other}` and missing defaults are None.
                stack += [v for v in value[::-1] if v] if None in value else value[::-1]
            elif value is not None:
                stack.append(value)


@cache
def _fields(kind: type[ast.AST]) -> tuple[str, ...]:
    """The fields with nodes, from the last to the first."""
    if issubclass(kind, _ENDS):
        return ()
    return tuple(name for name in kind._fields[::-1] if name not in _NO_CODE | _NO_NODES)


def plain_name(node: ast.AST) -> str:
    """`a.b.C` of a name or an attribute; "" of anything else."""
    return dotted_name(node) if isinstance(node, (ast.Name, ast.Attribute)) else ""


def last_name(node: ast.AST) -> str:
    """`c` of `a.b.c` and of `f(x).c`; "" of what has no name."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


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


# --- what a node does with values -----------------------------------------------------------------


def bound(node: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    """The names that one node binds, with the value where it is a plain assignment."""
    targets: list[ast.expr] = []
    value: ast.expr | None = None
    if isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        value = node.value
    elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
        targets = [node.target]
    elif isinstance(node, ast.withitem):
        targets = [node.optional_vars] if node.optional_vars else []
    elif isinstance(node, ast.alias):
        yield node.asname or node.name.partition(".")[0], None
    elif isinstance(node, ast.arguments):
        yield from ((name, None) for name in parameter_names(node))
    elif node.__class__ in BINDING:
        yield node.name or "", None  # type: ignore[attr-defined]
    for target in targets:
        plain = isinstance(target, ast.Name)
        yield from ((name, value if plain else None) for name in bound_names(target))


def bindings(parameters: Iterable[str], body: Iterable[ast.AST]) -> Bindings:
    """For each local name what these nodes assign to it; None where that is no plain assignment,
    as of a parameter."""
    values: Bindings = defaultdict(list)
    values.update((name, [None]) for name in parameters)
    for node in body:
        for name, value in bound(node) if node.__class__ in BINDING else ():
            values[name].append(value)
    return dict(values)


def parents(body: Iterable[ast.AST]) -> dict[int, ast.AST]:
    """id(node) → the node that it is part of."""
    return {id(child): node for node in body for child in ast.iter_child_nodes(node)}


def put_into(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """(container, element) of a statement or call that gives an object another element."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        name = node.func.attr
        if name in _SPREADS or name in _PUTS:
            values = [value for _, value in arguments(node)]
            if name in _SPREADS and values:
                yield node.func.value, _spread(values[0])
            elif name in _PUTS and len(values) > _PUTS[name]:
                yield node.func.value, values[_PUTS[name]]
    elif isinstance(node, ast.AugAssign):
        yield node.target, _spread(node.value)
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Subscript):
                yield target.value, node.value


def _spread(value: ast.expr) -> ast.List:
    return ast.List([ast.Starred(value)])


def _holder(value: ast.expr) -> ast.expr:
    """The container of which a value is all that it holds, or one thing that it holds."""
    match value:
        case ast.Subscript(value=holder):
            return holder
        case ast.Call(func=ast.Attribute(value=holder, attr="values" | "items")):
            return holder
    return value


def given_away(node: ast.AST) -> Iterator[ast.AST]:
    """The values that a node hands on; of `X.values()` and `X[key]`, X."""
    if isinstance(node, ast.Call):
        if plain_name(node.func) not in _HARMLESS:
            yield from (_holder(value) for _, value in arguments(node))
    elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.Return, ast.Yield)):
        if node.value is not None:
            yield node.value
    elif isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        yield from (_holder(unstarred(item)) for item in node.elts)
    elif isinstance(node, (ast.Dict, ast.BoolOp)):
        yield from node.values
    elif isinstance(node, (ast.GeneratorExp, ast.ListComp, ast.SetComp)):
        yield _holder(node.elt)
    elif isinstance(node, ast.DictComp):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from (node.body, node.orelse)
