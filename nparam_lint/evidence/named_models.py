"""The models that an option of a script names: `models.__dict__[args.arch]()`, `getattr(nets,
args.net)(3)`, `create_model(args.model)`, `importlib.import_module(args.model).Net()`."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, NamedTuple

from nparam_lint.discover.syntax import IN_MODULE, called_name, dotted_name, flat, tail, text_of
from nparam_lint.evidence.arguments import arguments_known
from nparam_lint.evidence.literal_tables import read_table, tables_in
from nparam_lint.evidence.options import default_text, defaulting_to, value_in, variants, words_for
from nparam_lint.evidence.statements import NoWay
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.ground.script_words import LOOK_UPS, LOOKED_UP_VALUE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from nparam_lint.evidence.file_names import FileNames
    from nparam_lint.evidence.literal_tables import Entry, SizeTable
    from nparam_lint.ground.notation import Target

LOOKED_UP = late_pattern("|".join(LOOK_UPS) + r"|globals\(\)\[[^\]]*\]\(")
GIVEN_LOOKED_UP = late_pattern(LOOKED_UP_VALUE, re.MULTILINE)
_IMPORTS = late_pattern(r"(^|\.)(import_module|__import__)$")


class ChosenModel(NamedTuple):
    """`option`: the attribute that has the name of the `target`; `words`: those of a command that
    give it, none where it is the default; `value`: the same, where the script that has the option
    is not known yet."""

    target: Target
    option: str
    words: tuple[str, ...] = ()
    value: str = ""

    def as_default(self, options: Mapping[str, ast.Call]) -> dict[str, ast.Call]:
        """The option as if its value were the default, for a script with these options."""
        value = self.value or (value_in(self.words) if self.words else None)
        return {self.option: defaulting_to(value, self.option, options)} if value else {}

    def words_in(self, options: Mapping[str, ast.Call]) -> tuple[str, ...]:
        """The words in a script with these options. Raises NoWay where it has not this one."""
        if not self.value:
            return self.words
        if self.option not in options:
            raise NoWay(f"nothing says what {self.option} is")
        return words_for(options[self.option], self.value)


def named_models(calls: FileNames, call: ast.Call) -> list[ChosenModel]:
    """Those that a call may give: by default, as commands say, or as the option offers; of the
    latter only what cannot be built by its name alone."""
    options, search = calls.text.options, calls.search
    function = _value_of(calls, call.func, call)
    if entries := [*_in_table(calls, function)]:
        return entries
    if not (options or calls.text.imports_by_name):
        return []
    naming, attribute = _naming(calls, call, function)
    if isinstance(naming, ast.Name):
        naming = _value_of(calls, naming, call)
    if naming is None:
        return []
    inner = [*filter(None, map(_option_of, ast.walk(naming)))]
    option = next((name for name in inner if name in options), None)
    if option is None:
        is_of_module = attribute and len(inner) == 1
        return [*_in_modules(calls, naming, inner[0], attribute)] if is_of_module else []
    models: dict[Target, ChosenModel] = {}

    for value, words, is_said in _values(calls, option):
        name = _folded(naming, option, value) if value else None
        target = _named(calls, function, name, attribute) if name else None
        if target and (is_said or search.query.needs_arguments(target)):
            models.setdefault(target, ChosenModel(target, option, words))
    return [*models.values()]


def _option_of(node: ast.AST) -> str:
    """The option that a value may be: `args.model`, or `config["model"]`, of the same as a
    dictionary."""
    match node:
        case ast.Attribute(value=ast.Constant()):  # `"nets.{}".format`
            return ""
        case ast.Attribute(attr=name) | ast.Subscript(slice=ast.Constant(str(name))):
            return name
    return ""


def _in_modules(
    calls: FileNames, naming: ast.expr, option: str, attribute: str
) -> Iterator[ChosenModel]:
    """The models of one name in the modules that an option of another file may name:
    `__import__(config["model"]).Generator()`."""
    for target in calls.search.by_name.get(attribute, ()):
        module = target.location.removesuffix(".py").replace("/", ".")
        value = module.rpartition(".")[2]
        if target.callable == attribute and _folded(naming, option, value) == module:
            yield ChosenModel(target, option, value=value)


def _in_table(calls: FileNames, function: ast.expr) -> Iterator[ChosenModel]:
    """The models of a table that is written out, here or where it is imported from, or those of its
    modules: `{"a": A, "b": B}[args.model]`, `MODELS.get(args.model)`, `modules[args.model].Net`;
    or of one that a function looks up so: `module_for(args).Net`. Those that decorators
    register, where no table is written out."""
    attribute, here = "", calls
    if isinstance(function, ast.Attribute):
        attribute, function = f".{function.attr}", function.value
    local: Mapping[str, SizeTable] = {}
    key = _key(function)
    arguments: Mapping[str, ast.expr] = {}
    name = dotted_name(function.func) if isinstance(function, ast.Call) and not key else ""
    symbol = calls.resolve(name) if name and calls.is_bound(name) else None
    if symbol and symbol.kind == "function" and isinstance(function, ast.Call):
        node = calls.search.function(symbol)
        body = [*flat(node.body)] if node else []
        returned = [item.value for item in body if isinstance(item, ast.Return) and item.value]
        if node and len(returned) == 1 and (key := _key(returned[0])):
            arguments = arguments_known(node, function, is_method=False)
            local, calls = tables_in(node.body), calls.search.file_calls(symbol.where)
    if key is None:
        return
    written, option = key
    if isinstance(option, ast.Name):
        option = arguments.get(option.id, option)
    if not isinstance(option, ast.Attribute):
        return
    search, where = calls.search, calls.path
    entries: tuple[Entry, ...] = ()
    if isinstance(written, ast.Name) and written.id not in local and calls.is_bound(written.id):
        where, entries = search.query.size_names.global_table(where, written.id) or (where, ())
    else:
        if isinstance(written, ast.Name) and written.id not in local:
            assigned = _assignments(calls, written.id)
            written = assigned[0].value if len(assigned) == 1 else written
        table = read_table(written, local)
        entries = table.entries if table else ()
    for entry in entries:
        name = dotted_name(called_by(entry.value)) if entry.value else ""
        symbol = search.file_calls(where).resolve(name + attribute) if name else None
        if target := search.target_of(symbol):
            yield ChosenModel(target, option.attr, value=entry.name)
    registered = () if entries else search.registered.items()
    is_declared = bool(registered) and option.attr in here.text.options
    values = {value for value, *_ in _values(here, option.attr)} if is_declared else None
    for name, classes in registered:
        if values is not None and name not in values:
            continue
        symbol = search.file_calls(classes[0].where).resolve(classes[0].name + attribute)
        if len(classes) == 1 and (target := search.target_of(symbol)):
            yield ChosenModel(target, option.attr, value=name)


def called_by(value: ast.expr) -> ast.expr:
    """What a call of a value calls: of `partial(Net, 3)`, and `lambda: Net(3)`."""
    match value:
        case ast.Lambda(body=ast.Call(function)):
            return function
        case ast.Call(function, [first, *_]) if tail(dotted_name(function)) == "partial":
            return first
    return value


def _values(calls: FileNames, option: str) -> Iterator[tuple[str | None, tuple[str, ...], bool]]:
    """The values that an option of a script has by default, as commands say, and by its choices:
    each with the words of a command that give it, and whether it is more than offered."""
    options = calls.text.options
    yield default_text(options[option]), (), True
    for command in calls.search.commands_of(calls.path):
        if words := command.by_option(options).get(option):
            yield value_in(words), words, True
    for words in variants(options[option]):
        yield value_in(words), words, False


def _key(node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """A table, and what is looked up in it."""
    match node:
        case ast.Subscript(table, ast.Attribute() | ast.Name() as key):
            return table, key
        case ast.Call(ast.Attribute(table, "get"), [ast.Attribute() | ast.Name() as key, *_]):
            return table, key
    return None


def _value_of(calls: FileNames, node: ast.expr, call: ast.Call) -> ast.expr:
    """What a variable of the file was given last before a call; another expression as it is."""
    if isinstance(node, ast.Name) and not calls.is_bound(node.id):
        before = [n for n in _assignments(calls, node.id) if n.lineno <= call.lineno]
        return before[-1].value if before else node
    return node


def _naming(calls: FileNames, call: ast.Call, function: ast.expr) -> tuple[ast.expr | None, str]:
    """What says which model a call gives; and what is called in the module that it is the name of,
    if it is that. `function`: what is called."""
    match function:
        case ast.Attribute(ast.Call(ast.Name("eval"), [naming]), str(name)):
            return naming, name
        case ast.Attribute(holder, str(name)) | ast.Call(
            ast.Name("getattr"), [holder, ast.Constant(str(name))]
        ) if calls.text.imports_by_name:
            module = _value_of(calls, holder, call)
            if isinstance(module, ast.Call) and _IMPORTS.search(dotted_name(module.func)):
                return next(iter(module.args), None), name
    if isinstance(function, ast.Call) and dotted_name(function.func) == "eval":
        return next(iter(function.args), None), ""
    if not LOOKED_UP.search(ast.unparse(function) + "("):
        return None, ""
    if isinstance(function, ast.Subscript):
        return function.slice, ""
    given = function.args[1:] if isinstance(function, ast.Call) else call.args
    return next(iter([*given, *(item.value for item in call.keywords)]), None), ""


def _assignments(calls: FileNames, name: str) -> list[ast.Assign]:
    """Those anywhere in the file that give a name a value."""
    return [n for n in calls.assignments.get(name, ()) if isinstance(n, ast.Assign)]


def _folded(node: ast.expr, option: str, value: str) -> str | None:
    """The text that an expression is where the option has this value."""
    if isinstance(node, (ast.Attribute, ast.Subscript)):
        return value if _option_of(node) == option else None
    if isinstance(node, ast.FormattedValue):
        return _folded(node.value, option, value)
    match node:
        case ast.Call(func=ast.Attribute(ast.Constant(str(form)), "format"), args=[inner]):
            text = _folded(inner, option, value)
            return form.replace("{}", text, 1) if text and form.count("{}") == 1 else None
    if isinstance(node, ast.JoinedStr):
        parts = node.values
    elif isinstance(node, ast.BinOp):
        parts = [node.left, node.right]
    else:
        return text_of(node)
    texts = [_folded(part, option, value) for part in parts]
    return None if None in texts else "".join(filter(None, texts))


def _named(calls: FileNames, function: ast.expr, name: str, attribute: str) -> Target | None:
    """The model of a name: in the module that it is looked up in, or else anywhere; or what the
    module of that name has as an attribute."""
    search = calls.search
    if attribute:
        if target := search.target_of(calls.resolve(f"{name}.{attribute}")):
            return target  # by a name that the file gives the module
        file = f"/{name.replace('.', '/')}"
        ends = f"{file}.py", f"{file}/__init__.py"
        paths = [path for path in search.discovery.tree.files if f"/{path}".endswith(ends)]
        paths.sort(key=lambda path: path.count("/"))  # what is deep below may be a copy
        is_sure = paths and [path.count("/") for path in paths].count(paths[0].count("/")) == 1
        return search.target_of(search.names.resolve(paths[0], attribute)) if is_sure else None
    module, is_module, _ = called_name(function).partition(IN_MODULE)
    if is_module and calls.is_bound(module) and not calls.is_from_project(module.partition(".")[0]):
        return None  # `torchvision.models.__dict__[args.net]()`
    for node in ast.walk(function):
        if isinstance(node, ast.Name):
            dotted = name if node.id == "eval" else f"{node.id}.{name}"
            if target := search.target_of(calls.resolve(dotted)):
                return target
    targets = search.by_name.get(name, ())
    return targets[0] if len(targets) == 1 else None
