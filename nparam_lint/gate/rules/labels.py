"""What is written beside a value: the text of a message around it, or the name that it gets."""

from __future__ import annotations

import ast
import re
import string
from typing import TYPE_CHECKING, TypeGuard

from msgspec import Struct

from nparam_lint.discover.syntax import text_of
from nparam_lint.gate.rules.nodes import arguments, last_name
from nparam_lint.gate.rules.parameter_counts import SAME_NUMBER
from nparam_lint.ground.patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nparam_lint.gate.rules.parameter_counts import CountScope

_PERCENT = late_pattern(r"%(?:%|(?:\((\w+)\))?[#0\- +]*\d*(?:\.\d+)?[hlL]?([diouxXeEfFgGcrsa]))")
_LOGS = frozenset(
    """
    print write info debug warning warn error critical log echo log_info print_log print_info
    print_rank_0 rank_zero_info rprint
    """.split()
)
_SHOWS = SAME_NUMBER | {"str", "format", "repr"}


class Label(Struct, frozen=True):
    """`before` and `after`: the text on both sides of a value, up to the next value. Of a variable,
    a key, an argument or a function, `name`. `is_changed`: something else is calculated from the
    value, or assigned to its variable."""

    before: str = ""
    after: str = ""
    name: str = ""
    is_changed: bool = False


def labels(node: ast.expr, scope: CountScope) -> Iterator[Label]:
    """All that is written beside the value of `node`, and beside the variable that it is assigned
    to."""
    pending, variables = [node], set[str]()
    while pending:
        value = pending.pop()
        parent = scope.parents.get(id(value))
        while _shows(parent):
            value, parent = parent, scope.parents.get(id(parent))
        if isinstance(parent, (ast.Assign, ast.AnnAssign, ast.NamedExpr)):
            for target in parent.targets if isinstance(parent, ast.Assign) else [parent.target]:
                yield from _target_labels(target)
                if isinstance(target, ast.Name) and target.id not in variables:
                    variables.add(target.id)
                    if len(scope.values[target.id]) > 1:  # which is meant where it is used?
                        yield Label(is_changed=True)
                    else:
                        pending += scope.uses[target.id]
        elif isinstance(parent, ast.Return):
            yield Label(name=scope.name)
        elif parent is not None:
            yield from _beside(value, parent, scope)
            text = scope.parents.get(id(parent))
            if isinstance(text, ast.JoinedStr):
                fields = [part for part in text.values if isinstance(part, ast.FormattedValue)]
                pending += [text] if fields == [parent] else []


def _shows(node: ast.AST | None) -> TypeGuard[ast.Call]:
    """`round(x, 2)`, `str(x)`: the same value, for people."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _SHOWS


def _target_labels(target: ast.AST | None) -> Iterator[Label]:
    if isinstance(target, ast.Name):
        yield Label(name=target.id)
    elif isinstance(target, ast.Attribute):
        yield Label(name=target.attr)
    elif isinstance(target, ast.Subscript):
        yield from _key_labels(target.slice)


def _key_labels(key: ast.AST | None) -> Iterator[Label]:
    if isinstance(key, ast.Constant) and isinstance(key.value, str):
        yield Label(name=key.value) if key.value.isidentifier() else Label(before=key.value)


def _beside(value: ast.expr, parent: ast.AST, scope: CountScope) -> Iterator[Label]:
    if isinstance(parent, ast.FormattedValue):
        joined = scope.parents.get(id(parent))
        if isinstance(joined, ast.JoinedStr):
            yield _between(joined.values, parent)
    elif isinstance(parent, ast.Dict):
        if value in parent.values:
            yield from _key_labels(parent.keys[parent.values.index(value)])
    elif isinstance(parent, ast.BinOp):
        yield from _operand_labels(value, parent, scope)
    elif isinstance(parent, (ast.Tuple, ast.List)):
        outer = scope.parents.get(id(parent))
        if isinstance(outer, ast.BinOp):
            yield from _percent_labels(outer.left, parent.elts, value)
        elif len(parent.elts) == 2 and value is parent.elts[1]:
            yield from _key_labels(parent.elts[0])
    elif isinstance(parent, ast.Call):
        yield from _argument_labels(value, parent)
    elif isinstance(parent, ast.keyword):
        call = scope.parents.get(id(parent))
        if isinstance(call, ast.Call) and _is_format(call):
            yield from _format_labels(call, value)
        elif parent.arg:
            yield Label(name=parent.arg)


def _operand_labels(value: ast.expr, parent: ast.BinOp, scope: CountScope) -> Iterator[Label]:
    if isinstance(parent.op, ast.Mod):
        yield from _percent_labels(parent.left, [parent.right], value)
        return
    if not isinstance(parent.op, ast.Add):
        yield Label(is_changed=True)
        return
    whole = parent
    while isinstance(outer := scope.parents.get(id(whole)), ast.BinOp):
        whole = outer
    operands: list[ast.expr] = []
    pending: list[ast.expr] = [whole]
    while pending:
        operand = pending.pop()
        if isinstance(operand, ast.BinOp) and isinstance(operand.op, ast.Add):
            pending += [operand.right, operand.left]
        else:
            operands.append(operand)
    if any(text_of(operand) is not None for operand in operands) and value in operands:
        yield _between(operands, value)


def _argument_labels(value: ast.expr, call: ast.Call) -> Iterator[Label]:
    if _is_format(call):
        yield from _format_labels(call, value)
        return
    name = last_name(call.func)
    if name in _LOGS and value in call.args:
        first = text_of(call.args[0]) or ""
        if name != "print" and _PERCENT.search(first):
            yield from _percent_labels(call.args[0], call.args[1:], value)
        else:
            yield _between(call.args, value, "" if name == "write" else " ")
    elif value in call.args[1:]:  # `table.add_row("Parameters", x)`
        yield from _key_labels(call.args[call.args.index(value) - 1])


def _between(parts: list[ast.expr], value: ast.expr, gap: str = "") -> Label:
    """The label of one of several parts that are written one behind the other."""
    at = parts.index(value)
    before = text_of(parts[at - 1]) if at else None
    after = text_of(parts[at + 1]) if at + 1 < len(parts) else None
    return Label((before or "") + gap, gap + (after or ""))


def _percent_labels(text: ast.AST, values: list[ast.expr], value: ast.expr) -> Iterator[Label]:
    template = text_of(text)
    if template is None or value not in values:
        return
    pieces, position = [""], 0
    for match in _PERCENT.finditer(template):
        pieces[-1] += template[position : match.start()]
        position = match.end()
        if match[0] == "%%":
            pieces[-1] += "%"
        else:
            pieces.append("")
    pieces[-1] += template[position:]
    at = values.index(value)
    if len(pieces) == len(values) + 1:
        yield Label(pieces[at], pieces[at + 1])


def _is_format(call: ast.Call) -> bool:
    return (
        isinstance(call.func, ast.Attribute)
        and call.func.attr == "format"
        and text_of(call.func.value) is not None
    )


def _format_labels(call: ast.Call, value: ast.expr) -> Iterator[Label]:
    template = text_of(call.func.value) or ""  # type: ignore[attr-defined]
    try:
        parts = list(string.Formatter().parse(template))
    except ValueError:
        return
    given = enumerate(arguments(call))
    keys = [keyword or str(at) for at, (keyword, item) in given if item is value]
    pieces, fields = [""], list[str]()
    for text, field, _, _ in parts:
        pieces[-1] += text
        if field is not None:
            fields.append(re.split(r"[.\[]", field)[0] or str(len(fields)))
            pieces.append("")
    for at, field in enumerate(fields):
        if field in keys:
            yield Label(pieces[at], pieces[at + 1])
