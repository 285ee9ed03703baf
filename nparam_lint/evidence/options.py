"""Options of a command line in a slice: only those that are used, with their defaults."""

from __future__ import annotations

import ast
import copy
import operator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from nparam_lint.discover.syntax import dotted_name, tail, text_of
from nparam_lint.evidence.statements import NoWay, calls_in

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

_PARSES = ("parse_args", "parse_known_args")
_ASKS_FOR_FILES = ("exists", "isfile", "isdir", "is_file", "is_dir")
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], object]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
_WORDS = ("help", "metavar", "required")  # of an option: they change no default


class NeedsCommand(NoWay):
    """An option that is used has no default."""

    def __init__(self, option: str) -> None:
        super().__init__(f"the option {option} has no default")
        self.option = option


def option_calls(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, ast.Call]]:
    """(attribute, call) of each `add_argument` in these."""
    for node in nodes:
        for call in calls_in(node):
            if isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument":
                yield _attribute(call), call


def words_of(option: ast.Call) -> list[str]:
    """What stands for an option in a command, `-m` and `--model`; the name of an argument."""
    return [str(item.value) for item in option.args if isinstance(item, ast.Constant)]


def _attribute(call: ast.Call) -> str:
    """The attribute that the option's value gets."""
    for item in call.keywords:
        if item.arg == "dest" and isinstance(item.value, ast.Constant):
            return str(item.value.value)
    texts = words_of(call)
    long = [text for text in texts if text.startswith("--")]
    return next(iter([*long, *texts]), "").lstrip("-").replace("-", "_")


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((item.value for item in call.keywords if item.arg == name), None)


def default_text(call: ast.Call) -> str | None:
    """The default of an option, if that is a text."""
    return text_of(keyword(call, "default"))


def lacks_value(call: ast.Call) -> bool:
    """Whether an option, or a positional argument, has to be given."""
    if keyword(call, "default") is not None:
        return False
    required = keyword(call, "required")
    if isinstance(required, ast.Constant) and required.value:
        return True
    first = call.args[0] if call.args else None
    is_option = isinstance(first, ast.Constant) and str(first.value).startswith("-")
    return not is_option and keyword(call, "nargs") is None


def tested(option: str, made: Sequence[ast.stmt]) -> Iterator[str]:
    """The texts that conditions compare an option with: `args.data == "a"`, `args.data in […]`."""
    parsed = {name for node in made for name in _parsed(node)}
    tests = (inner for node in made for inner in ast.walk(node) if isinstance(inner, ast.Compare))
    for test in tests:
        if dotted_name(test.left) in {f"{name}.{option}" for name in parsed}:
            with suppress(ValueError):
                found = ast.literal_eval(test.comparators[0])
                values = [found] if isinstance(found, str) else found
                yield from (value for value in values if isinstance(value, str))


def words_for(call: ast.Call, value: str) -> tuple[str, ...]:
    """What a command line says to give an option this value."""
    first = words_of(call)[0]
    return (first, value) if first.startswith("-") else (value,)


def value_of(option: ast.Call | None) -> ast.expr | None:
    """The value that an option has by default, where it is a constant."""
    if option is None or lacks_value(option):
        return None
    default, action = keyword(option, "default"), keyword(option, "action")
    if default is None and isinstance(action, ast.Constant):
        return ast.Constant(action.value == "store_false")
    return ast.Constant(None) if default is None else default


def truth(test: ast.expr, options: dict[str, ast.Call]) -> bool | None:
    """Whether a condition holds with the defaults of the options; None where that is not known."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = truth(test.operand, options)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        found = {truth(value, options) for value in test.values}
        decides = isinstance(test.op, ast.Or)
        return decides if decides in found else None if None in found else not decides
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        sides = [_constant(side, options) for side in (test.left, test.comparators[0])]
        compare = _COMPARE.get(type(test.ops[0]))
        with suppress(ValueError, TypeError):
            return bool(compare(*map(_value, sides))) if compare else None
    if isinstance(test, ast.Call) and tail(dotted_name(test.func)) in _ASKS_FOR_FILES:
        return False  # what a script has written or fetched is not there
    if isinstance(test, (ast.Attribute, ast.Constant)):
        with suppress(ValueError):
            return bool(_value(_constant(test, options)))
    return None


def _constant(node: ast.expr, options: dict[str, ast.Call]) -> ast.expr | None:
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return value_of(options.get(node.attr))
    return node


def _value(node: ast.expr | None) -> object:
    if node is None:
        raise ValueError
    return ast.literal_eval(node)


def with_defaults(
    made: Sequence[ast.stmt],
    used_by: Sequence[ast.AST],
    options: dict[str, ast.Call],
    unknown: Iterable[tuple[str, str]],
    stored: Collection[str] = (),
    given: Mapping[str, Sequence[str]] | None = None,
) -> list[ast.stmt]:
    """The slice, with only the options that it uses, or that `used_by` uses: the call, and what the
    model reads besides. `options`: those of the file; `unknown`: attributes whose values come from
    data, where they have no default; `stored`: attributes that the file assigns anywhere; `given`:
    the words of a command for options. Raises NoWay if an option that is used must be given, or has
    no value."""
    parsed = {name for node in made for name in _parsed(node)}
    used, is_whole = _uses([*made, *used_by], parsed)
    given = given or {}
    for attribute in used - _set_in(made) - given.keys() if parsed and options else ():
        option = options.get(attribute)
        if attribute not in stored if option is None else lacks_value(option):
            if option is None:
                raise NoWay(f"the option {attribute} has no default")
            raise NeedsCommand(attribute)
    for holder, attribute in unknown:
        if f"{holder}.{attribute}" in _attributes([*made, *used_by]) and attribute not in options:
            raise NoWay(f"{holder}.{attribute} depends on data")
    found: list[ast.stmt] = []
    for node in made:
        option_of = [*option_calls([node])] if isinstance(node, ast.Expr) else []
        if option_of and not is_whole and option_of[0][0] not in used:
            continue
        is_plain = not (option_of or _parsed(node))
        found.append(node if is_plain else _Plain(bool(given)).visit(copy.deepcopy(node)))
    words = [word for name in given if is_whole or name in used for word in given[name]]
    line = f"import sys; sys.argv[1:] = {words!r}"
    return [*ast.parse(line).body, *found] if given else found


def _attributes(nodes: Iterable[ast.AST]) -> set[str]:
    inner = (item for node in nodes for item in ast.walk(node))
    return {dotted_name(item) for item in inner if isinstance(item, ast.Attribute)}


def _set_in(made: Sequence[ast.stmt]) -> set[str]:
    """The attributes that statements give a value."""
    inner = (n for node in made for n in ast.walk(node) if isinstance(n, ast.Attribute))
    return {n.attr for n in inner if isinstance(n.ctx, ast.Store)}


def _parsed(node: ast.stmt) -> set[str]:
    """The names that get the parsed options."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, (ast.Call, ast.Subscript)):
        return set()
    value = node.value.value if isinstance(node.value, ast.Subscript) else node.value
    if not isinstance(value, ast.Call):
        return set()
    name = tail(dotted_name(value.func))
    if not (name in _PARSES or "arg" in name or "opt" in name):
        return set()
    return {n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)}


def _uses(nodes: Iterable[ast.AST], parsed: set[str]) -> tuple[set[str], bool]:
    """The attributes of the parsed options that are read, and whether they are used as a whole."""
    attributes: set[str] = set()
    wholes = 0
    for node in nodes:
        methods = {id(inner.func) for inner in calls_in(node)}
        for inner in ast.walk(node):
            if isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Name):
                if inner.value.id in parsed:
                    is_read = isinstance(inner.ctx, ast.Load) and id(inner) not in methods
                    attributes |= {inner.attr} if is_read else set()
                    wholes -= 1
            elif (
                isinstance(inner, ast.Name)
                and inner.id in parsed
                and isinstance(inner.ctx, ast.Load)
            ):
                wholes += 1
    return attributes, wholes > 0


class _Plain(ast.NodeTransformer):
    """Options without their words for people; the parser gets no command line, unless there is a
    command."""

    def __init__(self, has_command: bool) -> None:
        self.has_command = has_command

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if name == "add_argument":
            node.keywords = [item for item in node.keywords if item.arg not in _WORDS]
        elif name in _PARSES:
            node.args = [] if self.has_command else [ast.List([], ast.Load())]
            node.keywords = []
        return node
