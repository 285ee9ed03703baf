"""The walk through a file's modules: each node is shown once to every rule that asks for its type.

libcst's own traversal visits white space, commas and brackets too and takes five times as long.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, fields
from functools import cache
from typing import TYPE_CHECKING, Any

import libcst as cst

from nparam_lint.records import Position

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from nparam_lint.records import Definition, DocLine
    from nparam_lint.rules.classes import Class, Method
    from nparam_lint.rules.source import SourceFile

# What holds no code that runs: layout, operators' spelling, annotations.
_LAYOUT = frozenset(
    """
    annotation asynchronous colon comma default_indent default_newline dot empty_lines encoding
    equal first_line footer header indent last_line lbrace lbracket leading_lines
    lines_after_colon lines_after_decorators lpar newline operator rbrace rbracket returns rpar
    semicolon trailing_whitespace type_parameters
    """.split()
)


@dataclass(frozen=True, slots=True)
class Found:
    """A finding before its place is known; `qualname`: of the class or factory it is about."""

    at: cst.CSTNode | Position
    message: str
    remedy: str
    qualname: str


class Visitor:
    """What a rule does with a file. `enter_class`, `leave_class` and `enter_method` are called for
    the classes that are an `nn.Module`; `visit_docstring` for the docstrings that declare a budget.
    A method `visit_X(self, node, method)` is called for each node of libcst's type X in them.
    """

    def __init__(self, file: SourceFile) -> None:
        self.file = file
        self.found: list[Found] = []

    def enter_class(self) -> None: ...

    def leave_class(self, owner: Class) -> None: ...

    def enter_method(self, method: Method) -> None: ...

    def visit_docstring(self, definition: Definition, lines: Sequence[DocLine]) -> None: ...

    def report(
        self, at: cst.CSTNode | tuple[int, int], message: str, remedy: str, qualname: str
    ) -> None:
        """`at`: a node, or a line and column from 1."""
        place = Position(self.file.path, *at) if isinstance(at, tuple) else at
        self.found.append(Found(place, message, remedy, qualname))


def walk_classes(classes: Iterable[Class], visitors: Sequence[Visitor]) -> None:
    """One traversal for all visitors."""
    handlers: dict[type, list[Callable[[Any, Method], None]]] = defaultdict(list)
    for visitor in visitors:
        for name in dir(visitor):
            if name.startswith("visit_") and name != "visit_docstring":
                handlers[getattr(cst, name.removeprefix("visit_"))].append(getattr(visitor, name))
    for owner in classes:
        for visitor in visitors:
            visitor.enter_class()
        for method in owner.methods.values():
            for visitor in visitors:
                visitor.enter_method(method)
            for node in nodes(method.node.body):
                for handler in handlers.get(type(node), ()):
                    handler(node, method)
        for visitor in visitors:
            visitor.leave_class(owner)


def nodes(root: cst.CSTNode, *, skip: tuple[type[cst.CSTNode], ...] = ()) -> Iterator[cst.CSTNode]:
    """The nodes at and below `root` that are code, in the order of the source, without the insides
    of the types in `skip`. A stack, since expressions may be nested a thousand deep."""
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, skip):
            stack.extend(reversed(children(node)))


def children(node: cst.CSTNode) -> list[cst.CSTNode]:
    found: list[cst.CSTNode] = []
    for name in _code_fields(type(node)):
        value = getattr(node, name)
        if isinstance(value, cst.CSTNode):
            found.append(value)
        elif isinstance(value, (tuple, list)):
            found.extend(value)
    return found


@cache
def _code_fields(kind: type[cst.CSTNode]) -> tuple[str, ...]:
    return tuple(
        item.name
        for item in fields(kind)
        if item.name not in _LAYOUT and not item.name.startswith("whitespace")
    )
