"""Calls the target of a job, and resolves the names in formulas."""

import ast
import builtins
import collections.abc
import contextlib
import importlib
import inspect
import linecache
import operator
import re
import shlex
import sys
import types

from ...ground.nearest import did_you_mean
from ...ground.script_words import CONFIG_CLASS, CONFIG_PARAMETER, MADE_BY_SCRIPT, WITH_CHANGES
from ..state import STATE
from ..symbolic.traced_numbers import symbol
from ..tracing.failures import Failure, Loss, describe, install, missing_package
from ..tracing.project_paths import line_of_error, relative
from .call_arguments import Calls, element, handed_defaults, parted, parts, takes_any
from .config_objects import PLAIN, SYMBOL, is_config, symbol_call
from .downloads import PlainCall
from .partial_exec import partial_file_of
from .placeholders import check_imported, is_placeholder
from .script_run import ScriptRun

UNEXPECTED = re.compile(r"got an unexpected keyword argument '(\w+)'")
MISSING_ARGUMENTS = re.compile(r"missing \d+ required .*argument")  # as Python words it
LOOK_UP_ERRORS = IndexError, KeyError  # of `args[0]`, `kwargs["width"]`
NO_CONFIG = ("builtins", "typing", "torch.", "collections", "pathlib")  # modules of other classes


class Namespace(dict):
    """What a call is evaluated in: its own names, then those of its `module`, with what that has in
    its `__getattr__`. (To copy the names of the module would copy the memory of all it holds.)"""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def __missing__(self, name):
        try:
            return getattr(self.module, name)
        except AttributeError:
            raise KeyError(name) from None


class Call:
    """A call of the target, as text, evaluated in its module's namespace; remembers the arguments
    with which the callable was really called, because formulas refer to them."""

    def __init__(self, job, module, recipe):
        self.module, self.job, self.recipe = module, job, recipe
        # A way names none: what is called at last is known when it is called.
        self.function = self.find(job.build.callable) if job.build.callable else None
        self.arguments = {}
        self.names = {}  # what the call was evaluated in
        self.plain = None  # without weights, if it failed
        self.text = job.build.callable or self.recipe.call

    def find(self, qualname):
        target, where = self.module, self.module.__name__
        for part in qualname.split("."):
            try:
                value = getattr(target, part)
                check_imported(value)
            except Exception as error:
                raise self.missing(target, where, part, error) from None
            target = value
            where += "." + part
        if not callable(target):
            reason = f"{qualname} is {type(target)}, not a class or function"
            raise Failure("NPL004", "not_a_model", reason)
        return target

    def missing(self, holder, where, name, error):
        """The Failure for a name that its holder does not have, or for which its `__getattr__`
        failed, which may import something."""
        reason, loss = f"{where} has no {name!r}", None
        if holder is self.module:
            part = partial_file_of(self.module)
            loss = getattr(error, "loss", None)
            loss = loss or (Loss(describe(part.failure)) if part and part.failure else None)
        if loss is None and not is_about(error, holder, name):
            loss = Loss(describe(error), line_of_error(error), missing_package(error))
        if loss is None:
            reason += did_you_mean(name, dir(holder))
            return Failure("NPL008", "target_missing", reason)
        return Failure(
            "NPL003",
            "package_missing" if loss.package else "import_failed",
            f"{reason}: {loss.why}",
            source=loss.line,
            package=loss.package,
            hint=install(loss.package),
        )

    def __call__(self):
        if not self.job.build.is_way:
            return self.build(Namespace(self.module))
        # Its own classes read what a script would have set before: `Net` that uses a global `args`.
        # What the module's `__getattr__` has is none of its globals.
        names, provided = vars(self.module), Namespace(self.module)
        before = dict(names)
        parts = self.recipe.setup, self.recipe.call, self.recipe.arguments
        text = "\n".join(part or "" for part in parts)
        for word in re.findall(r"[A-Za-z_]\w*", text):
            if word not in names and not hasattr(builtins, word):
                with contextlib.suppress(Exception):
                    names[word] = provided[word]
        try:
            return self.build(names)
        finally:
            names.clear()
            names.update(before)

    def build(self, names):
        """The model that the call makes in a namespace."""
        self.names = names
        names[MADE_BY_SCRIPT] = lambda *_: ScriptRun(self.module, self.job).model()
        if self.recipe.call:
            call = self.recipe.call
            is_changed = call.startswith(f"{WITH_CHANGES}(")  # which is not what is called
            self.text = call[len(WITH_CHANGES) + 1 : -1] if is_changed else call
            if self.recipe.is_run:
                words, *_ = self.recipe.run
                self.text = shlex.join(["python", relative(self.module.__file__), *words])
            if self.recipe.setup:
                try:
                    exec(compile(self.recipe.setup, "<nparam setup>", "exec"), names)
                except StopIteration as error:  # see `entry_of`, and `NOT_REACHED`
                    reason = "the call is not reached"
                    raise Failure("NPL004", "not_a_model", reason) from error
        else:
            arguments = self.recipe.arguments
            if arguments is None:
                arguments = self.default_arguments(names)
            first = self.job.build.callable.split(".")[0]
            names.setdefault(first, getattr(self.module, first))
            self.text = call = f"{self.job.build.callable}({arguments})"
        tree = ast.parse(call.strip(), "<nparam call>", "eval")
        vary = self.job.build.vary
        if vary or self.job.ask.variables:
            self.calls = Calls(ast.Expression(construction(tree.body)), names)
            self.calls.change(dict(vary))
            if vary or self.calls.opens_config:
                self.text = ast.unparse(tree)
            if STATE.trace is not None:
                names[SYMBOL] = symbol
                self.calls.change({n: symbol_call(n, v) for n, v in STATE.trace.point})
        try:
            return self.evaluate(tree, names)
        except Exception as error:
            with contextlib.suppress(Exception):  # as long as the names are there
                whole = ast.unparse(tree)
                self.plain = PlainCall(error, whole, names) if self.job.build.is_way else None
            raise

    def evaluate(self, tree, names):
        names["__nparam_call__"] = self.record
        tree = ast.Expression(recorded(tree.body))
        return eval(compile(ast.fix_missing_locations(tree), "<nparam call>", "eval"), names)

    def record(self, function, *args, **kwargs):
        self.function = self.function or function
        bound = bound_arguments(function, args, kwargs)
        if bound is not None:
            self.arguments = bound
            if self.job.ask.names:  # formulas are about what is given: constructors change it
                self.arguments = {name: as_given(value) for name, value in bound.items()}
        return function(*args, **kwargs)

    def unknown_argument(self, error):
        """The reason, if an exception is about a keyword which the call has, and what is called
        does not take."""
        match = UNEXPECTED.search(str(error)) if isinstance(error, TypeError) else None
        if match is None or not re.search(rf"\b{match[1]}\s*=", self.text):
            return None
        with contextlib.suppress(TypeError, ValueError):
            signature = inspect.signature(self.function)
            names = signature.parameters
            if not takes_any(signature) and match[1] not in names:
                hint = did_you_mean(match[1], names, "it has " + (", ".join(names) or "none"))
                return f"{self.function.__qualname__} has no argument {match[1]}{hint}"
        return None

    def lacking(self, error):
        """(reason, names of the missing arguments), if a class was called without arguments and
        failed because a base class needs some, or a call because a function looks up by its name
        what it takes by `**kwargs`; (None, []) for any other exception."""
        is_short = isinstance(error, TypeError) and MISSING_ARGUMENTS.search(str(error))
        is_bare = isinstance(self.function, type) and self.text.endswith("()")
        of_a_base = is_bare and (is_short or type(error) in LOOK_UP_ERRORS)
        for kind in self.function.__mro__ if of_a_base else ():
            try:
                signature = inspect.signature(vars(kind)["__init__"])
            except (KeyError, TypeError, ValueError):
                continue
            names = [p.name for p in required(signature.parameters.values())][1:]
            if names and (not is_short or f"{kind.__qualname__}.__init__()" in str(error)):
                text = f"{self.job.build.callable} needs {', '.join(names)} ({kind.__name__})"
                return text, names
            if names or not takes_any(signature):
                break
        with contextlib.suppress(TypeError, ValueError):
            name, where = keyword_lacking(error)
            if name and takes_any(inspect.signature(self.function)):
                return f"{self.job.build.callable or self.text} needs {name} ({where})", [name]
        return None, []

    def variables(self):
        """The arguments of the call that can be varied, if the job asks for them."""
        return self.calls.variables(self.arguments) if self.job.ask.variables else []

    def default_arguments(self, names):
        """None, or the default config object; `names` get its class. Whether weights are loaded
        changes no count."""
        try:
            parameters = inspect.signature(self.function).parameters.values()
        except (TypeError, ValueError):
            return ""
        lacking = required(parameters)
        if not lacking:
            return ""
        if [parameter.name for parameter in lacking] == ["pretrained"]:
            return "pretrained=False"
        config = self.default_config(lacking[0]) if len(lacking) == 1 else None
        if config is None:
            missing = [p.name for p in lacking]
            reason = f"{self.job.build.callable} needs {', '.join(missing)}"
            raise Failure("NPL004", "arguments_missing", reason, missing=missing)
        names[config.__name__] = config
        return f"{config.__name__}()"

    def default_config(self, parameter):
        """The config class to build the one required parameter from, when it builds from its
        defaults: the model's `config_class`, or the class that annotates it; or, where nothing
        does and its name says `config`, the module's `<Class>Config`, or its only config class."""
        is_config = parameter.name == "config"
        candidate = getattr(self.function, "config_class", None) if is_config else None
        if candidate is None and parameter.annotation is not parameter.empty:
            candidate = self.annotated(parameter.annotation)
        elif candidate is None and CONFIG_PARAMETER.search(parameter.name):
            classes = {
                name: value
                for name, value in vars(self.module).items()
                if isinstance(value, type) and CONFIG_CLASS.match(name)
            }
            only = next(iter(classes.values())) if len(classes) == 1 else None
            candidate = classes.get(self.job.build.callable.split(".")[-1] + "Config", only)
        is_class = isinstance(candidate, type) and not is_placeholder(candidate)
        if is_class and not candidate.__module__.startswith(NO_CONFIG):
            with contextlib.suppress(Exception):
                candidate()
                return candidate
        return None

    def annotated(self, annotation):
        if isinstance(annotation, str):
            function = inspect.unwrap(self.function)
            function = function.__init__ if isinstance(function, type) else function
            names = dict(vars(self.module))
            names.update(getattr(function, "__globals__", {}))
            try:
                annotation = eval(annotation, names)
            except NameError:  # imported for a type checker alone
                annotation = imported_for_types(function, annotation)
            except Exception:
                return None
        if not isinstance(annotation, type):  # Optional[Config], Config | None
            for part in getattr(annotation, "__args__", ()):
                if isinstance(part, type) and part is not type(None):
                    return part
        return annotation


def construction(node):
    """Of a call that changes the model which another call makes, that other call."""
    is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    return node.args[0] if is_call and node.func.id == WITH_CHANGES else node


def recorded(node):
    """The expression with its call made by `record`; of `build()[1]`, with that of `build`, of what
    changes a model, with that of the model."""
    if isinstance(node, ast.Subscript):
        inner = ast.Subscript(recorded(node.value), node.slice, node.ctx)
        return ast.copy_location(inner, node)
    if not isinstance(node, ast.Call):
        return node
    if construction(node) is not node:
        changed = ast.Call(node.func, [recorded(construction(node))], [])
        return ast.copy_location(changed, node)
    function = ast.copy_location(ast.Name("__nparam_call__", ast.Load()), node)
    call = ast.Call(function, [node.func, *node.args], node.keywords)
    return ast.copy_location(call, node)


def required(parameters):
    """Those that have no default."""
    several = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
    return [p for p in parameters if p.default is p.empty and p.kind not in several]


def keyword_lacking(error):
    """The name that a function looked up in vain in its `**kwargs`, and where; (None, None) for an
    exception that is none of that."""
    trace = error.__traceback__ if type(error) is KeyError else None
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or not trace.tb_frame.f_code.co_flags & inspect.CO_VARKEYWORDS:
        return None, None
    code, (name,) = trace.tb_frame.f_code, error.args
    if type(name) is not str or not name.isidentifier():
        return None, None
    place = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & inspect.CO_VARARGS)
    given = code.co_varnames[place]
    line = linecache.getline(code.co_filename, trace.tb_lineno)
    is_asked = re.search(rf"\b{given}(\[|\.pop\()\W*{name}\b", line)
    return (name, f"{relative(code.co_filename)}:{trace.tb_lineno}") if is_asked else (None, None)


def imported_for_types(function, name):
    """What a name means that the file of a function imports under `if TYPE_CHECKING:`, or None."""
    module = getattr(function, "__module__", None)
    with contextlib.suppress(Exception):
        for node in ast.walk(ast.parse(inspect.getsource(sys.modules[module]))):
            for item in node.names if isinstance(node, ast.ImportFrom) else ():
                if name == (item.asname or item.name):
                    package = sys.modules[module].__package__ if node.level else None
                    source = "." * node.level + (node.module or "")
                    return getattr(importlib.import_module(source, package), item.name)
    return None


def bound_arguments(function, args, kwargs):
    """Name -> value of all arguments of a call, with defaults; None where they are unknown."""
    with contextlib.suppress(Exception):
        signature = inspect.signature(function)
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        arguments = dict(bound.arguments)
        for parameter in signature.parameters.values():
            if parameter.kind is parameter.VAR_KEYWORD:
                arguments.update(arguments.pop(parameter.name, {}))
        return arguments
    return None


def as_given(value, depth=3):
    """A copy of a config object, dictionary or list, to some depth; of anything else itself. No
    code of its class is run."""
    kind = type(value)
    if issubclass(kind, PLAIN) or not depth:
        return value
    with contextlib.suppress(Exception):
        base = next(b for b in (dict, list, object) if issubclass(kind, b))
        twin = base.__new__(kind)
        if base is dict:
            dict.update(twin, {k: as_given(v, depth - 1) for k, v in dict.items(value)})
        elif base is list:
            list.extend(twin, [as_given(v, depth - 1) for v in list.__iter__(value)])
        if base is not kind:
            names = object.__getattribute__(value, "__dict__")
            values = {k: as_given(v, depth - 1) for k, v in names.items()}
            object.__getattribute__(twin, "__dict__").update(values)
        return twin
    return value


def is_about(error, holder, name):
    """Whether an exception says that the holder has no such name, rather than that the lookup
    failed for another reason."""
    if not isinstance(error, AttributeError) or name not in str(error):
        return False
    # Python 3.10 and later tell, unless a `__getattr__` made the exception.
    about, of = getattr(error, "name", None), getattr(error, "obj", None)
    return about in (None, name) and (of is None or of is holder)


def field_value(holder, name):
    """The value of a name of a formula in a config object: a field, or an element of one."""
    field, path = parted(name)
    is_key = path and isinstance(holder, collections.abc.Mapping)
    return element(holder[field] if is_key else operator.attrgetter(field)(holder), path)


def fields_of(holder, names):
    """The plain values in a config object, and those that it has under these names."""
    fields = {}
    with contextlib.suppress(Exception):
        items = holder if isinstance(holder, collections.abc.Mapping) else vars(holder)
        for name, value in items.items():
            if isinstance(name, str) and isinstance(value, PLAIN):
                fields[name] = value
    for name in names:  # properties, aliases and class attributes; elements of lists
        with contextlib.suppress(Exception):
            value = field_value(holder, name)
            if isinstance(value, PLAIN):
                fields.setdefault(name, value)
    return fields


def qualified(argument, holder, name):
    """A field's name with that of the argument that holds it: `config.d`, `config['d']`."""
    field, _ = parted(name)
    is_dict = issubclass(type(holder), dict)
    return f"{argument}[{field!r}]{name[len(field) :]}" if is_dict else f"{argument}.{name}"


def resolve_names(names, arguments, model, function):
    """Values for the names that formulas use: constructor arguments, then fields of arguments that
    are config objects, then integer attributes of the model. Returns (values, every known name).
    `function`: what was called; what a class hands to its base is an argument, too. A field that
    is another number in another config object is known with the name of its argument alone."""
    values, fields, holders, homonyms = {}, {}, {}, {}
    if names and isinstance(function, type):
        arguments = {**handed_defaults(function), **arguments}
    for name, value in arguments.items():
        kind = type(value)  # the object may say that it is of another
        if issubclass(kind, (*PLAIN, list, tuple, dict)):
            values.update(parts(name, value))
            holders.update({name: value} if issubclass(kind, dict) else {})
        elif not issubclass(kind, set):
            holders[name] = value
    for argument, holder in holders.items():
        own = fields_of(holder, names)
        fields = {**own, **fields}
        with contextlib.suppress(Exception):  # whatever its class makes of being asked
            if issubclass(type(holder), dict) or is_config(holder):
                for name, value in own.items():
                    homonyms.setdefault(name, {})[qualified(argument, holder, name)] = value
    several = {
        name: alike
        for name, alike in homonyms.items()
        if name not in values and len({*map(repr, alike.values())}) > 1
    }
    values = {**fields, **values}
    for name, alike in several.items():
        del values[name]
        values.update(alike)
    for name in names:
        if name not in values and name not in several:
            with contextlib.suppress(Exception):
                argument, path = parted(name)
                if path or "." in argument:
                    value = field_value(types.SimpleNamespace(**arguments), name)
                else:
                    value = getattr(model, name)
                if isinstance(value, (bool, int)):
                    values[name] = value
                elif hasattr(value, "__index__") and not hasattr(value, "shape"):
                    values[name] = value.__index__()
    items = dict.items(vars(model))  # asked of no class of the project
    attributes = sorted(k for k, v in items if issubclass(type(v), int) and k[0] != "_")
    asked = {full: None for name in names for full in several.get(name, ())}
    numbers = {n: None for n in sorted(values) if isinstance(values[n], (int, float))}
    return {n: values[n] for n in names if n in values}, [*{**asked, **numbers}, *attributes]
