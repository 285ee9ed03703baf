"""Options of a command line in a slice: only those that are used, with their defaults."""

from __future__ import annotations

import ast
import copy
import operator
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from nparam_lint.discover.syntax import dotted_name, tail, text_of
from nparam_lint.evidence.statements import (
    NOT_REACHED,
    Assumption,
    NoWay,
    OfData,
    OptionValue,
    assign,
    calls_in,
    expression,
    first_given,
    loads,
    stores,
    targets_of,
)
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.ground.script_words import CONFIG_OPTION, RUN_SETTING

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from nparam_lint.discover.syntax import Function

_OPTION = late_pattern(r"\.add_arguments?$|^click\.(option|argument)$")
_DECORATOR = late_pattern(r"(^|\.)(option|argument)$")  # whatever click is called
PARSES = ("parse_args", "parse_known_args")
_FLAGS = ("store_true", "store_false")
_ASKS_FOR_FILES = ("exists", "isfile", "isdir", "is_file", "is_dir")
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], object]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
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


def option_calls(
    nodes: Iterable[ast.AST], pattern: re.Pattern[str] = _OPTION
) -> Iterator[tuple[str, ast.Call]]:
    """(attribute, call) of each `add_argument`, or option of click, in these; the attribute gets
    the option's value."""
    for node in nodes:
        for call in calls_in(node):
            # What gets a parser adds options to it: `Net.add_arguments(parser)`.
            given = tail(first_given(call))
            if pattern.search(dotted_name(call.func)) and not (is_group(call) and given.islower()):
                words, dest = words_of(call), text_of(keyword(call, "dest"))
                plain = [word for word in words if not word.startswith("-")]
                long = [word for word in words if word.startswith("--")]
                name = next(iter([*plain, *long, *words]), "").lstrip("-").replace("-", "_")
                yield dest or name, call


def typer_options(tree: ast.Module) -> dict[str, ast.Call]:
    """The options whose flags functions declare as typer has it: `typer.Option(2, "--depth")`."""
    options: dict[str, ast.Call] = {}
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        arguments = [*function.args.args, *function.args.kwonlyargs]
        defaults = [*function.args.defaults, *function.args.kw_defaults]
        for argument, value in zip(reversed(arguments), reversed(defaults), strict=False):
            is_option = isinstance(value, ast.Call) and tail(dotted_name(value.func)) == "Option"
            if is_option and isinstance(value, ast.Call) and value.args:
                flags = [flag for item in value.args[1:] if (flag := text_of(item))]
                words = ", ".join(map(repr, flags or [f"--{argument.arg.replace('_', '-')}"]))
                call = expression(f"add_argument({words}, default={ast.unparse(value.args[0])})")
                assert isinstance(call, ast.Call)
                options[argument.arg] = call
    return options


def of_function(function: Function) -> dict[str, ast.expr]:
    """The defaults of the options that click hands to a function as arguments, by name; `...` where
    a command has to give one."""
    defaults: dict[str, ast.expr] = {}
    for name, call in option_calls(function.decorator_list, _DECORATOR):
        without = ... if lacks_value(call) else False if keyword(call, "is_flag") else None
        defaults[name] = keyword(call, "default") or ast.Constant(without)
    return defaults


def words_of(option: ast.Call) -> list[str]:
    """What stands for an option in a command, `-m` and `--model`; the name of an argument."""
    return [str(item.value) for item in option.args if isinstance(item, ast.Constant)]


def values_taken(option: ast.Call | None) -> int:
    """How many words behind its flag an option takes at most; any number where it is not known."""
    if option is None or keyword(option, "nargs") is not None:
        return sys.maxsize
    return int(text_of(keyword(option, "action")) in (None, "store", "append"))


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((item.value for item in call.keywords if item.arg == name), None)


def default_text(call: ast.Call) -> str | None:
    """The default of an option, if that is a text."""
    return text_of(keyword(call, "default"))


def defaulting_to(value: str, name: str, options: Mapping[str, ast.Call]) -> ast.Call:
    """An option, as if this value were its default."""
    kind = keyword(options[name], "type") if name in options else None
    is_number = isinstance(kind, ast.Name) and kind.id in ("int", "float")
    text = value if is_number and value.isdecimal() else repr(value)
    call = expression(f"add_argument({name!r}, default={text})")
    assert isinstance(call, ast.Call)
    return call


def is_group(call: ast.Call) -> bool:
    """Whether this is not one option, but those of a dataclass: `parser.add_arguments(Config)`."""
    return tail(dotted_name(call.func)) == "add_arguments"


def is_flag(option: ast.Call) -> bool:
    return text_of(keyword(option, "action")) == "store_true"


def lacks_value(call: ast.Call) -> bool:
    """Whether an option, or a positional argument, has to be given: one that names a config file
    also where its default is an empty text."""
    if is_group(call):
        return False
    default, required = keyword(call, "default"), keyword(call, "required")
    is_required = isinstance(required, ast.Constant) and bool(required.value)
    is_none = isinstance(default, ast.Constant) and default.value is None
    if default is not None and not (is_required and is_none):
        is_config = any(map(CONFIG_OPTION.match, words_of(call)))
        return is_config and default_text(call) == ""
    if is_required:
        return True
    first = call.args[0] if call.args else None
    is_option = isinstance(first, ast.Constant) and str(first.value).startswith("-")
    return not is_option and keyword(call, "nargs") is None


def holds_others(options: Mapping[str, ast.Call]) -> set[str]:
    """The options that take a file with values for others, as configargparse reads it."""
    return {name for name, call in options.items() if keyword(call, "is_config_file") is not None}


def tested(option: str, statements: Sequence[ast.stmt]) -> Iterator[str]:
    """The texts that conditions compare an option with: `args.data == "a"`, `args.data in […]`."""
    names = {f"{name}.{option}" for node in statements for name in _parsed(node)}
    for test in (inner for node in statements for inner in ast.walk(node)):
        if isinstance(test, ast.Compare) and dotted_name(test.left) in names:
            with suppress(ValueError):
                value = ast.literal_eval(test.comparators[0])
                values = value if isinstance(value, (list, tuple, set)) else [value]
                yield from (text for text in values if isinstance(text, str))


def variants(call: ast.Call) -> Iterator[tuple[str, ...]]:
    """The words that give an option each value that it offers beside its default: `--small`, which
    is there or not, and each of `choices`."""
    action, choices = text_of(keyword(call, "action")), keyword(call, "choices")
    if action in _FLAGS:
        yield (words_of(call)[0],)
    with suppress(ValueError):
        values = ast.literal_eval(choices) if choices else ()
        default = keyword(call, "default")
        usual = ast.literal_eval(default) if default else None
        for value in values if isinstance(values, (list, tuple)) else ():
            if isinstance(value, (str, int)) and value != usual:
                yield words_for(call, str(value))


def assumed(statements: Iterable[ast.stmt]) -> Iterator[tuple[str, object]]:
    """The options that the conditions around a call need, each with its value."""
    for node in statements:
        if isinstance(node, Assumption):
            option, value = node.targets[0], node.value
            if isinstance(option, ast.Attribute) and isinstance(value, ast.Constant):
                yield option.attr, value.value


def words_assumed(statements: Iterable[ast.stmt], options: Mapping[str, ast.Call]) -> Iterator[str]:
    """The words of a command by which the conditions around a call hold that do not by default; of
    options that a model may depend on."""
    for name, needed in assumed(statements):
        option = None if RUN_SETTING.match(name) else options.get(name)
        if option and isinstance(needed, str) and default_text(option) != needed:
            yield from words_for(option, needed)
        elif option and needed is True and is_flag(option):
            yield words_of(option)[0]


def asked(statements: Iterable[ast.stmt], options: Mapping[str, ast.Call]) -> Iterator[ast.stmt]:
    """The statements, which ask for what is assumed of anything but these options: a config, or an
    option of another file, may say that the call is not reached."""
    for node in statements:
        name, needed = next(assumed([node]), ("", None))
        if not isinstance(needed, str) or name in options:
            yield node
            continue
        assert isinstance(node, Assumption)
        test = f"{ast.unparse(node.targets[0])} != {needed!r}"
        yield ast.parse(f"if {test}: {NOT_REACHED}").body[0]


def is_reached(node: ast.stmt) -> bool | None:
    """Whether a condition that is asked holds, where that is known."""
    holds = None
    if isinstance(node, ast.If) and isinstance(node.body[0], ast.Raise):
        is_asked = ast.unparse(node.body[0]) == NOT_REACHED
        holds = truth(node.test, {}) if is_asked else None
    return None if holds is None else not holds


def contradicts(
    words_of_option: Mapping[str, Sequence[str]],
    statements: Sequence[ast.stmt],
    options: Mapping[str, ast.Call],
) -> bool:
    """Whether an option has another value than the conditions around a call need, by the words of a
    command, or by its default."""
    for name, needed in assumed(statements):
        option = options.get(name)
        if isinstance(needed, str):
            given = default_text(option) if option else None
            given = value_in(words_of_option[name]) if name in words_of_option else given
            if given not in (None, needed):
                return True
        action = text_of(keyword(option, "action")) if option else None
        is_set = (action == "store_true") == (name in words_of_option)
        if action in _FLAGS and is_set != needed:
            return True
        default = keyword(option, "default") if option else None
        is_empty = default is None or (isinstance(default, ast.Constant) and not default.value)
        takes_value = option is not None and action is None and isinstance(needed, bool)
        if takes_value and is_empty and (name in words_of_option) != needed:
            return True  # `if args.checkpoint:`
    return False


def words_for(call: ast.Call, value: str) -> tuple[str, ...]:
    """What a command line says to give an option this value."""
    first = words_of(call)[0]
    return (first, value) if first.startswith("-") else (value,)


def value_in(words: Sequence[str]) -> str:
    """The value that the words of a command give an option: `--model x`, `--model=x`."""
    return words[-1].rpartition("=")[2]


def takes_rest(option: ast.Call | None) -> bool:
    """Whether this is a positional argument that takes all words that are left: `NET.WIDTH 8`."""
    count = keyword(option, "nargs") if option else None
    return count is not None and (
        dotted_name(count).endswith("REMAINDER") or text_of(count) == "..."
    )


def is_made_up(name: str, option: ast.Call | None, words: Sequence[str]) -> bool:
    """Whether a reader has to replace what the words of a command give an option: a text where it
    is for numbers, `--speaker SPEAKER_ID`, or its own name, `--gpus GPUS`."""
    if len(name) > 1 and value_in(words) == name.upper():
        return True
    kind = keyword(option, "type") if option else None
    is_of_numbers = isinstance(kind, ast.Name) and kind.id in ("int", "float")
    return is_of_numbers and value_in(words).isupper() and value_in(words).isidentifier()


def asks_for_files(test: ast.expr) -> bool:
    """Whether a condition asks for a file."""
    return any(tail(dotted_name(call.func)) in _ASKS_FOR_FILES for call in calls_in(test))


def truth(test: ast.expr, options: dict[str, ast.Call]) -> bool | None:
    """Whether a condition holds with the defaults of the options; None where that is not known."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = truth(test.operand, options)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        truths = {truth(value, options) for value in test.values}
        decides = isinstance(test.op, ast.Or)
        return decides if decides in truths else None if None in truths else not decides
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        compare = _COMPARE.get(type(test.ops[0]))
        with suppress(ValueError, TypeError):
            sides = [_value(side, options) for side in (test.left, test.comparators[0])]
            return bool(compare(*sides)) if compare else None
    if isinstance(test, ast.Call) and tail(dotted_name(test.func)) in _ASKS_FOR_FILES:
        attributes = (node.attr for node in ast.walk(test) if isinstance(node, ast.Attribute))
        is_config = any(map(CONFIG_OPTION.match, attributes))
        return None if is_config else False  # what a script has written or fetched is not there
    if isinstance(test, (ast.Attribute, ast.Constant)):
        with suppress(ValueError):
            return bool(_value(test, options))
    return None


def _value(node: ast.expr, options: dict[str, ast.Call]) -> object:
    """What a literal says, or that of an option's default. Raises ValueError."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        option = options.get(node.attr)
        if option is None or lacks_value(option):
            raise ValueError
        default, action = keyword(option, "default"), keyword(option, "action")
        if default is None:
            return action.value == "store_false" if isinstance(action, ast.Constant) else None
        node = default
    return ast.literal_eval(node)


def with_defaults(
    statements: Sequence[ast.stmt],
    used_by: Sequence[ast.AST],
    options: dict[str, ast.Call],
    unknown: Mapping[tuple[str, str], str] | None = None,
    stored: Collection[str] = (),
    command: Mapping[str, Sequence[str]] | None = None,
) -> list[ast.stmt]:
    """The slice, with only the options that it uses, or that `used_by` uses: the call, and what the
    model reads besides. `options`: those of the file; `unknown`: attributes whose values come from
    data, and where, if they have no default; `stored`: attributes that the file assigns anywhere;
    `command`: its words for options. Raises NoWay if an option that is used must be given, or has
    no value."""
    nodes = [*statements, *used_by]
    parsed = parsed_names(statements)
    names, is_whole = uses(nodes, parsed)
    names |= holds_others(options) & (command or {}).keys()
    attributes = [n for node in nodes for n in ast.walk(node) if isinstance(n, ast.Attribute)]
    set_here = {item.attr for item in attributes if isinstance(item.ctx, ast.Store)}
    unset = names - (command or {}).keys()
    for name in sorted(unset) if parsed and options else ():
        if name in options and lacks_value(options[name]) and name not in _set_in(statements):
            raise NeedsCommand(name)
        if name not in options and name not in stored and name not in set_here:
            raise NoWay(f"the option {name} is not declared beside the others")
    read = {dotted_name(item) for item in attributes}
    for (holder, name), place in unknown.items() if unknown else ():
        if f"{holder}.{name}" in read and name not in options and name not in set_here:
            raise OfData(f"{holder}.{name}", place)
    plain: list[ast.stmt] = []
    declares = False
    for node in statements:
        if isinstance(node, OptionValue):
            plain.append(_valued(node, command or {}))
            continue
        option = next(option_calls([node]), None) if isinstance(node, ast.Expr) else None
        declares |= option is not None
        if option is None and not _parsed(node):
            plain.append(node)
        elif option is None or is_whole or option[0] in names:
            plain.append(_Plain(bool(command)).visit(copy.deepcopy(node)))
    if not command or (not parsed and given_by_options(statements)):
        return plain
    is_any = is_whole or not declares  # a function that parses them has all of them
    taken = (n for n in command if is_any or n in names or n not in options)
    words = [word for name in taken for word in command[name]]
    return [*arguments_of_script(words), *plain]


def given_by_options(statements: Iterable[ast.stmt]) -> set[str]:
    """The options whose values a library hands to functions."""
    names: set[str] = set()
    for node in statements:
        if isinstance(node, OptionValue):
            keys = node.value.keys if isinstance(node.value, ast.Dict) else node.targets
            names |= {str(getattr(key, "value", getattr(key, "id", ""))) for key in keys}
    return names


def _valued(node: OptionValue, command: Mapping[str, Sequence[str]]) -> ast.stmt:
    """An assignment with the value that a command gives its option. Raises NoWay."""
    name, default = min(stores(node)), node.value
    if isinstance(default, ast.Dict):
        pairs = zip(default.keys, default.values, strict=True)
        items = {str(getattr(key, "value", "")): value for key, value in pairs}
        values = [_given(command[k], v) if k in command else v for k, v in items.items()]
        return assign(name, ast.Dict(default.keys, values))
    if name in command:
        return assign(name, _given(command[name], default))
    if isinstance(default, ast.Constant) and default.value is ...:
        raise NeedsCommand(name)
    return assign(name, default)


def _given(words: Sequence[str], default: ast.expr) -> ast.expr:
    """The value that words give an option that has this default: a number if that is no text."""
    value: object = value_in(words)
    if len(words) == 1 and words[0].startswith("-") and "=" not in words[0]:
        return ast.Constant(True)
    if text_of(default) is None:
        with suppress(ValueError, SyntaxError):
            value = ast.literal_eval(str(value))
    return expression(repr(value))


def arguments_of_script(words: Sequence[str]) -> list[ast.stmt]:
    """The statements that give a script a command line."""
    return ast.parse(f"import sys; sys.argv[1:] = {[*words]!r}").body


def parsed_names(statements: Iterable[ast.stmt]) -> set[str]:
    """The names that get the parsed options."""
    return {name for node in statements for name in _parsed(node)}


def _parsed(node: ast.stmt) -> set[str]:
    if not isinstance(node, (ast.Assign, ast.AnnAssign)):
        return set()
    value = node.value.value if isinstance(node.value, ast.Subscript) else node.value
    if isinstance(value, ast.Call) and dotted_name(value.func) == "vars" and value.args:
        value = value.args[0]  # as a dictionary
    values = value.values if isinstance(value, ast.BoolOp) else [value]  # args or parse()
    functions = [item.func for item in values if isinstance(item, ast.Call)]
    names = [f.attr if isinstance(f, ast.Attribute) else dotted_name(f) for f in functions]
    if not any(n in PARSES or "arg" in n or "opt" in n or n == "cli" for n in names):
        return set()
    return {n.id for t in targets_of(node) for n in ast.walk(t) if isinstance(n, ast.Name)}


def _set_in(statements: Sequence[ast.stmt]) -> set[str]:
    """The attributes that get a value whatever they had: not one that is made from theirs."""
    attributes: set[str] = set()
    for node in statements:
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            inner = [item for item in ast.walk(node) if isinstance(item, ast.Attribute)]
            used = {item.attr for item in inner if isinstance(item.ctx, ast.Load)}
            attributes |= {item.attr for item in inner if isinstance(item.ctx, ast.Store)} - used
    return attributes


def uses(nodes: Iterable[ast.AST], parsed: set[str]) -> tuple[set[str], bool]:
    """The attributes of the parsed options that are read, and whether they are used as a whole;
    not of what has their name later: `args = yaml.safe_load(file)`."""
    attributes: set[str] = set()
    wholes, parsed, aliases = 0, set(parsed), set[str]()
    for node in nodes:
        methods = {id(inner.func) for inner in calls_in(node)}
        for inner in ast.walk(node):
            if isinstance(inner, ast.Subscript) and isinstance(inner.value, ast.Name):
                if inner.value.id in parsed and (flag := text_of(inner.slice)):
                    if isinstance(inner.ctx, ast.Load):  # of docopt with its dashes
                        attributes.add(flag.lstrip("-").replace("-", "_"))
                    wholes -= 1
            elif isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Name):
                if inner.value.id in parsed | aliases:
                    is_read = isinstance(inner.ctx, ast.Load) and id(inner) not in methods
                    attributes |= {inner.attr} if is_read else set()
                    wholes -= inner.value.id in parsed
            elif (
                isinstance(inner, ast.Name)
                and inner.id in parsed
                and isinstance(inner.ctx, ast.Load)
            ):
                wholes += 1
        again = _parsed(node) if isinstance(node, ast.stmt) else set()
        parsed |= again
        if isinstance(node, ast.Assign) and getattr(node.value, "id", "") in parsed:
            aliases |= stores(node)  # config = args
        if isinstance(node, ast.Assign) and not again:
            parsed -= stores(node) - loads(node.value)
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
        elif name in PARSES:
            node.args = [] if self.has_command else [ast.List([], ast.Load())]
            node.keywords = [k for k in node.keywords if k.arg not in ("args", "namespace")]
        return node
