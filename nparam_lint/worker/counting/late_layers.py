"""Layers that are made after the constructor: in the first `forward`, or in Lightning's `setup`.

An attribute of the model that is missing, None or an empty container is filled later, if the source
of a method that runs then puts there what a class with parameters makes; or of a function that gets
the model there, or of an object that it has and asks for its parameters."""

import ast
import contextlib
import inspect
import itertools
import sys
from textwrap import dedent
from types import CodeType, FunctionType, ModuleType

from ..tracing.project_paths import is_installed, line_text
from .hidden_parameters import LINEAGE, NAME, NAMESPACE

REGISTERS = ("add_module", "register_module", "register_parameter")
AN_INPUT = 'declare an input: {{ call = "{}", input = "torch.zeros(1, …)" }}'
SETUP = 'declare it as it is after that: {{ setup = "m = {}; m.setup(\'fit\')", call = "m" }}'


def why_incomplete(count, text, has_run=False):
    """(why what `text` made is not the whole model, how to declare that), or None. `has_run`: its
    `forward` has made what it makes."""
    if count.lazy:
        first = ", ".join(count.lazy[:4])
        reason = f"{text} has {len(count.lazy)} uninitialised lazy parameters: {first}"
        return reason, AN_INPUT.format(text)
    classes = {}  # id of a class -> what is made later in its objects, and by whom
    for path, module in count.modules.items():
        kind = type(module)
        if id(kind) not in classes:
            late = [*late_layers(count.originals, kind, has_run)]
            classes[id(kind)] = late, None if has_run else line_of_helper(count.originals, module)
        late, line_of_maker = classes[id(kind)]
        for method, name, line in late:
            if is_empty(count.originals, module, name):
                where = ".".join(filter(None, ("self", path, name)))
                hint = SETUP if method == "setup" else AN_INPUT
                reason = f"{text} makes {where} in {method} ({line}), which has not run"
                return reason, hint.format(text)
        if line_of_maker:
            reason = f"{text} makes parameters in forward ({line_of_maker}), which has not run"
            return reason, AN_INPUT.format(text)
    return None


def is_empty(torch, module, name):
    """Whether a module has nothing of that name, or a container with nothing in it."""
    attributes = torch.attributes(module)
    registered = dict([*torch.own_parameters(module), *torch.own_children(module)])
    value = registered.get(name, attributes.get(name))
    is_list = issubclass(type(value), torch.containers)
    if is_list:
        return not (torch.own_children(value) or torch.own_parameters(value))
    return value is None


def late_layers(torch, kind, has_run):
    """(method, attribute, `path:line`) of what the methods of a class of the project make."""
    methods = methods_of(torch, kind)
    is_lightning = "LightningModule" in map(NAME, LINEAGE(kind))
    later = ("forward", "__call__") * (not has_run)
    for first in ("setup",) * is_lightning + later:
        for function in reached_by(methods, first):
            for maker, own in makers(torch, function):
                with contextlib.suppress(OSError, SyntaxError, TypeError):  # there is none
                    for attribute, line in assigned_layers(torch, maker, own):
                        yield first, attribute, line_text(maker.__code__.co_filename, line)


def methods_of(torch, kind):
    """The methods and properties of a class of the project, and of its bases there."""
    methods = {}
    for base in reversed([base for base in LINEAGE(kind) if base is not torch.Module]):
        namespace = NAMESPACE(base)
        if not is_installed(str(namespace.get("__module__"))):
            for name, value in namespace.items():
                function = value.fget if type(value) is property else value
                if type(function) is FunctionType:
                    methods[name] = function
    return methods


def reached_by(methods, first):
    """A method, and those that it calls."""
    reached = [first] if first in methods else []
    for name in reached:
        function = unwrapped(methods[name])
        names = names_in(function.__code__)
        reached += [n for n in names if n in methods and n not in reached]
        yield function


def makers(torch, method):
    """(function, the number of the argument that has the attributes) of those that name a class
    with parameters: a method, and functions of the project that it hands its object to. Nearly no
    method does, and its source is not read then."""
    if makes_parameters(torch, method):
        yield method, 0
    names = method.__globals__
    functions = {name: names.get(name) for name in names_in(method.__code__)}
    functions = {
        name: function
        for name, function in functions.items()
        if type(function) is FunctionType and not is_installed(function.__module__)
        if makes_parameters(torch, unwrapped(function))
    }
    own_name = method.__code__.co_varnames[:1]
    with contextlib.suppress(OSError, SyntaxError, TypeError):  # there is no source
        tree = ast.parse(dedent(inspect.getsource(method))) if functions else ast.Module([], [])
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            function = functions.get(getattr(call.func, "id", None))
            for place, value in enumerate(call.args):
                if function is not None and is_self(value, own_name):
                    yield unwrapped(function), place


def line_of_helper(torch, module):
    """`path:line` of what registers parameters by names that only a run tells, for a `forward` that
    asks for them: an object of the project that the module has, `self.weights.get(shape)`, or a
    function that its constructor does not call; None where there is none."""
    registering = {}
    for kind in map(type, torch.attributes(module).values()):
        is_module = any(base is torch.Module for base in LINEAGE(kind))
        name = NAMESPACE(kind).get("__module__")
        if not is_module and type(name) is str and name in sys.modules and not is_installed(name):
            for method_name, method in NAMESPACE(kind).items():
                if type(method) is FunctionType:
                    registering[method_name] = method
    methods = methods_of(torch, type(module))
    made = names_in(methods["__init__"].__code__) if "__init__" in methods else ()
    for function in reached_by(methods, "forward"):
        asked = [registering[name] for name in names_in(function.__code__) if name in registering]
        others = (maker for maker, _ in makers(torch, function) if maker is not function)
        asked += [maker for maker in others if maker.__name__ not in made]
        for maker in asked:
            registers = not set(REGISTERS).isdisjoint(names_in(maker.__code__))
            if registers and makes_parameters(torch, maker):
                return line_text(maker.__code__.co_filename, maker.__code__.co_firstlineno)
    return None


def makes_parameters(torch, function):
    return any(has_parameters(torch, value) for value in meanings(torch, function))


def assigned_layers(torch, function, own=0):
    """(attribute, line) of each to which a function assigns, adds or registers such a call; `own`:
    the number of the argument that has the attributes."""
    lines, start = inspect.getsourcelines(function)
    own_name = function.__code__.co_varnames[own : own + 1]
    for node in ast.walk(ast.parse(dedent("".join(lines)))):
        for name, value in assignments(node, own_name):
            calls = (call.func for call in ast.walk(value) if isinstance(call, ast.Call))
            if name and any(has_parameters(torch, meaning(call, function)) for call in calls):
                yield name, start + node.lineno - 1


def assignments(node, own_name):
    """(attribute, expression) of what a statement assigns, adds or registers."""
    if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)) and node.value:
        pairs = [(target, node.value) for target in getattr(node, "targets", ())]
        for target, value in pairs or [(node.target, node.value)]:
            values = getattr(value, "elts", None) or itertools.repeat(value)
            pairs += zip(getattr(target, "elts", ()), values)  # of `self.a, self.b = …`
            yield target_attribute(target, own_name), value
    elif isinstance(node, ast.Call) and (
        attribute(node.func, own_name) in REGISTERS
        or (
            getattr(node.func, "id", None) == "setattr"
            and any(is_self(a, own_name) for a in node.args[:1])
        )
    ):
        yield from ((name.value, node) for name in node.args[:2] if isinstance(name, ast.Constant))
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        yield attribute(node.func.value, own_name), node  # self.layers.append(…)


def target_attribute(target, own_name):
    """X of `self.X`, `self.X[…]` and `self._modules["X"]`."""
    if not isinstance(target, ast.Subscript):
        return attribute(target, own_name)
    holder = attribute(target.value, own_name)
    if holder not in ("_modules", "_parameters"):
        return holder
    return target.slice.value if isinstance(target.slice, ast.Constant) else None


def is_self(node, own_name):
    return getattr(node, "id", None) in own_name


def attribute(node, own_name):
    """X of `self.X`; None of anything else."""
    is_own = isinstance(node, ast.Attribute) and is_self(node.value, own_name)
    return node.attr if is_own else None


def meaning(node, function):
    """What a dotted name means in a function; None where that is no plain look-up."""
    if isinstance(node, ast.Name):
        return function.__globals__.get(node.id)
    holder = meaning(node.value, function) if isinstance(node, ast.Attribute) else None
    return vars(holder).get(node.attr) if type(holder) is ModuleType else None


def meanings(torch, function):
    """What the names in the code of a function may mean."""
    names, globals_ = names_in(function.__code__), function.__globals__
    modules = [globals_[name] for name in names if type(globals_.get(name)) is ModuleType]
    spaces = globals_, torch.layers, *map(vars, modules)
    return [space[name] for space in spaces for name in names if name in space]


def names_in(code):
    """The names in a code, and in those of its comprehensions and lambdas."""
    inner = [names_in(constant) for constant in code.co_consts if type(constant) is CodeType]
    return [*code.co_names, *(name for names in inner for name in names)]


def has_parameters(torch, value, above=()):
    """Whether it is the class of parameters, or of modules whose constructor names one that is."""
    if not issubclass(type(value), type) or any(value is holder for holder in above):
        return False
    if value is torch.Parameter:
        return True
    bases = LINEAGE(value)[:-1] if torch.Module in LINEAGE(value) else ()
    makers = (NAMESPACE(base).get("__init__") for base in bases if base is not torch.Module)
    return any(
        has_parameters(torch, meaning, (*above, value))
        for maker in makers
        if type(maker) is FunctionType
        for meaning in meanings(torch, unwrapped(maker))
    )


def unwrapped(function):
    """The function that a decorator wrapped, if that can be told."""
    inner = inspect.unwrap(function)
    return inner if type(inner) is FunctionType else function
