"""What statements bind and use, and which of them may be run to make the arguments of a model."""

from __future__ import annotations

import ast
import builtins
import re
import warnings
from functools import lru_cache
from typing import TYPE_CHECKING

from nparam_lint.discover.syntax import FUNCTIONS, dotted_name, parameter_names, tail
from nparam_lint.evidence import config_libraries
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.ground.script_words import (
    CHANGES,
    DATA_FILE,
    LAUNCHED,
    LOADS_CONFIG,
    MUTATES,
    SETS_CONFIG,
    SETS_VARIABLE,
    SLICE_FUNCTIONS,
    SLICE_MODULES,
    WORK,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

ADDS_OPTIONS = late_pattern(
    r"(^|[._])(add|set|register)_(\w+_)?(args|arguments|options|opts|flags)$"
)
_GROUPS = ("add_argument_group", "add_mutually_exclusive_group")
_PARSER = late_pattern(r"(^|_)(arg_?)?parser$")  # what gets one adds to it: `model_opts(parser)`
_OF_LAUNCHER = late_pattern(r"""environ\['((?:LOCAL_)?RANK|WORLD_SIZE)'\](?! = )""")
_EXITS = ("exit", "quit", "sys.exit", "os._exit")
BUILTINS = frozenset(dir(builtins)) | {"__file__", "__name__"}


NOT_REACHED = "raise StopIteration"  # for the worker: the call is none


class NoWay(Exception):
    """What a call needs cannot be said without running what must not be run. `guarded`: a condition
    that is asked needs it, or may."""

    guarded = False


class NotRun(NoWay):
    """The call that must not be run; `name`: what would get its value, at `place`."""

    def __init__(self, call: str) -> None:
        super().__init__(call)
        self.name = self.place = ""

    def __str__(self) -> str:
        call = super().__str__()
        return f"{self.name} comes from {call}() ({self.place})" if self.place else call


class OfData(NotRun):
    """A name whose value data would give."""

    def __init__(self, name: str, place: str) -> None:
        super().__init__("")
        self.name, self.place = name, place

    def __str__(self) -> str:
        return f"{self.name} depends on data ({self.place})"


def loads(*nodes: ast.AST | None) -> set[str]:
    """The free names that nodes use; of `self.a.b` it is `self.a`."""
    return {name for node in nodes if node is not None for name in _free(node)}


def _free(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Attribute) and is_self(node.value):
        return {f"self.{node.attr}"} if isinstance(node.ctx, ast.Load) else set()
    if isinstance(node, ast.Name):
        return {node.id} if isinstance(node.ctx, ast.Load) else set()
    if isinstance(node, ast.arg):
        return set() if node.annotation is None else _free(node.annotation)
    names: set[str] = set()
    for child in ast.iter_child_nodes(node):
        names |= _free(child)
    return names - _local_names(node)


def _local_names(node: ast.AST) -> set[str]:
    """The names that a lambda, a comprehension or a function has for itself."""
    if isinstance(node, (ast.Lambda, *FUNCTIONS)):
        names = set(parameter_names(node.args))
        return names if isinstance(node, ast.Lambda) else names.union(*map(stores, node.body))
    generators = getattr(node, "generators", ())
    return {name for generator in generators for name in stores(generator.target)}


def is_self(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


@lru_cache(1 << 15)  # more than the files have through which one call is followed
def stores(node: ast.AST) -> frozenset[str]:
    """The names that running a node gives a value, `self.a` too."""
    names: set[str] = set()
    stack = [node]
    while stack:
        item = stack.pop()
        if isinstance(item, ast.Name) and isinstance(item.ctx, (ast.Store, ast.Del)):
            names.add(item.id)
        elif isinstance(item, ast.Attribute) and isinstance(item.ctx, ast.Store):
            names |= {f"self.{item.attr}"} if is_self(item.value) else set()
        elif isinstance(item, ast.alias):
            names.add((item.asname or item.name).split(".")[0])
        if isinstance(item, (*FUNCTIONS, ast.ClassDef)):
            names.add(item.name)
        elif not isinstance(item, ast.Lambda):
            stack.extend(ast.iter_child_nodes(item))
    return frozenset(names)


def changed(target: ast.expr) -> Iterator[str]:
    """The names whose values an assignment to this changes: `a` of `a.b`, `a[0]`, `vars(a)[0]`."""
    for item in target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]:
        node = item
        while isinstance(node, (ast.Attribute, ast.Subscript, ast.Starred)):
            if isinstance(node, ast.Attribute) and is_self(node.value):
                break
            node = node.value
            if isinstance(node, ast.Call) and dotted_name(node.func) == "vars" and node.args:
                node = node.args[0]
        if node is not item and isinstance(node, ast.Name):
            yield node.id
        elif node is not item and isinstance(node, ast.Attribute):
            yield f"self.{node.attr}"


def first_given(call: ast.Call) -> str:
    """The name of what a call gets first; of a new group of options that of the parser."""
    first = call.args[0] if call.args else None
    if isinstance(first, ast.Call) and tail(dotted_name(first.func)) in _GROUPS:
        return dotted_name(first.func).rpartition(".")[0]
    return dotted_name(first) if first is not None else ""


def changed_by_call(call: ast.Call) -> tuple[str, bool]:
    """(name, whether it changes the value) of the object that a call as a statement is about."""
    name = dotted_name(call.func)
    first = call.args[0] if call.args else None
    given = first_given(call)
    if given[:1].islower() and (ADDS_OPTIONS.search(name) or _PARSER.search(given)):
        return given, True
    if config_libraries.CHANGES_GIVEN.match(name):
        return given.partition(".")[0], True
    if isinstance(call.func, ast.Attribute):
        about = next(changed(call.func), "") or name.split(".")[0]
        return about, bool(CHANGES.match(call.func.attr) or SETS_CONFIG.match(call.func.attr))
    if first is None:
        return "", False
    if SETS_CONFIG.match(name):
        return "cfg", True
    about, is_loader = dotted_name(first), LOADS_CONFIG.search(name) and len(call.args) > 1
    is_change = name == "setattr" or re.search(r"update|merge|override|overwrite", name)
    return about, bool(is_change or is_loader)


def sets_attributes(node: ast.AST) -> bool:
    """Whether this sets attributes of `self` by names that are worked out:
    `self.__dict__.update(config)`, `setattr(self, key, value)`."""
    return any(
        ast.unparse(call.func) in ("self.__dict__.update", "vars(self).update", "self.__setattr__")
        or (ast.unparse(call.func) == "setattr" and any(map(is_self, call.args[:1])))
        for call in calls_in(node)
    )


def mutated(node: ast.AST) -> set[str]:
    """The names of the objects of which methods that change them are called for their values:
    `depth = options.pop("depth")`."""
    methods = (call.func for call in calls_in(node) if isinstance(call.func, ast.Attribute))
    return {name for func in methods if MUTATES.match(func.attr) for name in changed(func)}


def variables_set(node: ast.AST) -> set[str]:
    """The variables of the environment that an assignment or a call sets, each as `$NAME`; and what
    a library binds."""
    keys: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        keys = [
            item.slice
            for item in node.targets
            if isinstance(item, ast.Subscript) and tail(dotted_name(item.value)) == "environ"
        ]
    elif isinstance(node, ast.Call) and config_libraries.BINDS.search(dotted_name(node.func)):
        return {config_libraries.BOUND}
    elif isinstance(node, ast.Call) and SETS_VARIABLE.search(dotted_name(node.func)):
        for value in node.args[:1]:
            keys += filter(None, value.keys) if isinstance(value, ast.Dict) else [value]
        keys += [ast.Constant(item.arg) for item in node.keywords]
    return {f"${key.value!s}" for key in keys if isinstance(key, ast.Constant)}


def variables(need: set[str]) -> set[str]:
    """The variables of the environment among them, which have a value also if nothing sets them."""
    return {name for name in need if name.startswith("$")}


def targets_of(node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> list[ast.expr]:
    """What an assignment gives a value."""
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def values_given(call: ast.Call) -> list[ast.expr]:
    """The values of all arguments of a call."""
    return [*call.args, *(item.value for item in call.keywords)]


def calls_in(node: ast.AST) -> Iterator[ast.Call]:
    return (item for item in ast.walk(node) if isinstance(item, ast.Call))


def ends_script(body: Sequence[ast.stmt]) -> bool:
    """Whether a block ends with the script, or with an error."""
    end = body[-1] if body else None
    call = end.value if isinstance(end, ast.Expr) else None
    is_exit = isinstance(call, ast.Call) and dotted_name(call.func) in _EXITS
    return is_exit or isinstance(end, ast.Raise)


def does_work(name: str) -> bool:
    """Whether calling a function of this name reads data or does a script's work."""
    return bool(WORK.search(name))


def is_of_data(path: str) -> bool:
    """Whether a file of the project reads data, by its name."""
    return bool(DATA_FILE.search(path))


def is_harmless_outside(name: str) -> bool:
    """Whether calling something of an installed package, or of Python, only makes a value."""
    if config_libraries.HARMLESS.match(name):
        return True
    if does_work(name):
        return False
    head, _, rest = name.partition(".")
    if head in ("transformers", "diffusers"):
        return name.endswith("Config") or "Config." in name
    is_error = name in BUILTINS and name.endswith(("Error", "Exception"))
    return (head in SLICE_MODULES) if rest else (name in SLICE_FUNCTIONS or is_error)


class Assumption(ast.Assign):
    """An assignment that makes a condition true under which a call stands."""


class OptionValue(ast.Assign):
    """An assignment of the default of an option, which a library of command lines hands to a
    function as an argument; `...` where it has none."""


def assign(target: ast.expr | str, value: ast.expr) -> ast.stmt:
    """The statement `target = value`."""
    name = ast.Name(target, ast.Store()) if isinstance(target, str) else target
    return ast.fix_missing_locations(ast.Assign([name], value))


def source_of(statements: Iterable[ast.stmt]) -> str:
    """Their text, with what torchrun says to a process before it, where they do not work without:
    they read `os.environ['RANK']`, and no `if` asks for it."""
    text = "\n".join(ast.unparse(ast.fix_missing_locations(node)) for node in statements)
    read = dict.fromkeys(_OF_LAUNCHER.findall(text))
    values = {name: LAUNCHED[name] for name in read if f"if '{name}'" not in text}
    return f"import os\nos.environ.update({values})\n{text}" if values else text


def expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


@lru_cache(2048)
def changes(node: ast.AST) -> frozenset[str]:
    """The names whose values a statement may change."""
    names: set[str] = set()
    for inner in ast.walk(node):
        names |= variables_set(inner)
        if isinstance(inner, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
            names.update(name for target in targets_of(inner) for name in changed(target))
        elif isinstance(inner, ast.Expr) and isinstance(inner.value, ast.Call):
            name, is_change = changed_by_call(inner.value)
            names |= {name} if is_change else set()
        elif isinstance(inner, ast.For):
            names |= changed_in_turn(inner)
    return frozenset(names | mutated(node))


def changed_in_turn(loop: ast.For) -> set[str]:
    """The objects that a loop changes one after the other: `for parser in (first, second):`."""
    objects = {item.id for item in getattr(loop.iter, "elts", ()) if isinstance(item, ast.Name)}
    is_changing = objects and stores(loop.target) & {n for node in loop.body for n in changes(node)}
    return objects if is_changing else set()


def leaves_rounds(loop: ast.For) -> bool:
    """Whether a loop has a `continue` or a `break` of its own."""
    nodes: list[ast.AST] = [*loop.body]
    while nodes:
        node = nodes.pop()
        if isinstance(node, (ast.Continue, ast.Break)):
            return True
        if not isinstance(node, (ast.For, ast.AsyncFor, ast.While, *FUNCTIONS, ast.ClassDef)):
            nodes += ast.iter_child_nodes(node)
    return False


def parsed(text: str | bytes) -> ast.Module:
    """The syntax tree of a text; an empty one where it is not Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])
