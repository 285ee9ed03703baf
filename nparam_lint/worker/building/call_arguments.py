"""The arguments of a call that can be varied, and the call with other values for them."""

import ast
import collections
import contextlib
import copy
import functools
import inspect
import math
import operator
import re
import textwrap
import types
import typing

from ..tracing.failures import Failure
from .config_objects import NAMED, PLAIN, POSITIONAL, alike, call_of, is_config, literal

ELEMENTS = 32  # numbers in one list or dictionary that are varied one by one; more are data
_KEY = re.compile(r"\[(?:(-?\d+)|'(\w+)')\]")
_PART = re.compile(rf"(\w+(?:\.\w+)*)((?:{_KEY.pattern})*)")


class Calls:
    """A call, and the calls among its arguments that create config objects: `GPT(GPTConfig())`.
    `inner`: those of objects inside of config objects, by their place: `attn`, `attn.rope`, and
    with the argument that they are in: `config.attn`."""

    def __init__(self, tree, names):
        """`tree`: of an expression; `names`: what it is evaluated in."""
        self.names = names
        self.calls = []  # (node, signature), the outermost first
        call = tree.body
        self.opens_config = is_call(call) and self.write_configs(call)
        arguments = [*call.args, *(k.value for k in call.keywords)] if is_call(call) else []
        for node in filter(is_call, [call, *arguments]):
            with contextlib.suppress(Exception):  # no signature, or a name that is not there
                self.calls.append((node, signature_of(self.value(node.func), node)))
        self.inner, self.holders = {}, {}
        if self.calls:
            self.holders = {id(part): name for name, part in written_in(*self.calls[0]).items()}
        for node, signature in self.calls[1:]:
            self.find_inner("", node, signature)
            if id(node) in self.holders:
                self.find_inner(f"{self.holders[id(node)]}.", node, signature)

    def write_configs(self, call):
        """Whether config objects are defaults of the call (`c=Config()`): they are written into it,
        so that what they hold can be varied."""
        written = False
        with contextlib.suppress(Exception):
            signature = signature_of(self.value(call.func), call)
            for name, parameter in signature.parameters.items():
                is_open = parameter.kind in NAMED and name not in written_in(call, signature)
                if is_open and is_config(parameter.default):
                    set_argument(call, signature, name, call_of(parameter.default, self.names))
                    written = True
        return written

    def find_inner(self, above, node, signature):
        """Those that are written among the arguments of a call for a config object."""
        for name, part in written_in(node, signature).items():
            with contextlib.suppress(Exception):
                if is_call(part):
                    inner = part, signature_of(self.value(part.func), part)
                    self.inner[above + name] = inner
                    self.find_inner(f"{above}{name}.", *inner)

    def value(self, node):
        tree = ast.fix_missing_locations(ast.Expression(node))
        return eval(compile(tree, "<nparam call>", "eval"), self.names)

    def change(self, changes):
        """Give arguments other values, in the call or in the one that makes its config."""
        lists = {}
        for part, value in changes.items():
            name, path = parted(part)
            argument = self.argument(name)
            if argument is None:
                call = ast.unparse(self.calls[0][0]) if self.calls else "the call"
                reason = f"{name!r} cannot be varied: it is neither an argument of {call} nor of "
                reason += "a config object that is made in that call"
                raise Failure("NPL004", "raised", reason)
            if path:
                whole = lists[name] if name in lists else self.current_value(*argument)
                value = lists[name] = with_element(whole, path, value)
            set_argument(*argument, literal(value))

    def current_value(self, node, signature, name):
        """The value that an argument has in a call."""
        expressions = written_in(node, signature)
        if name in expressions:
            return self.value(expressions[name])
        parameter = signature.parameters.get(name)
        if parameter is not None and isinstance(parameter.default, (*PLAIN, list, tuple, dict)):
            return parameter.default
        if node is self.calls[0][0]:
            return None
        return getattr(self.value(node), name, None)  # made by a factory

    def argument(self, name):
        """(call, signature, name there) of the call that has a parameter of this name; else of one
        that takes any keyword, config objects first."""
        above, _, name = name.rpartition(".")
        calls = [*filter(None, [self.inner_call(above)])] if above else self.calls
        for call in calls:
            parameter = call[1].parameters.get(name)
            if parameter is not None and parameter.kind in NAMED:
                return (*call, name)
        for call in [*calls[1:], *calls[:1]]:
            if takes_any(call[1]):
                return (*call, name)
        return None

    def inner_call(self, place):
        """The call that makes an object inside of a config object; it is written where it was not.
        `config.n_layer` means `n_layer`, if `config` is an argument."""
        argument = None if place in self.inner else self.argument(place)
        with contextlib.suppress(Exception):
            if argument:
                node, signature, name = argument
                if node is self.calls[0][0]:
                    expression = written_in(node, signature)[name]
                    return next(call for call in self.calls if call[0] is expression)
                call = call_of(getattr(self.value(node), name), self.names)
                set_argument(node, signature, name, call)
                self.inner[place] = call, signature_of(self.value(call.func), call)
        return self.inner.get(place)

    def following(self, node, signature, values):
        """The fields of a config object that are computed from others unless they are given: they
        change when only another one is changed. A field whose default is a number does not count:
        others only keep it within limits."""
        names = set()
        open_ = {n for n, p in signature.parameters.items() if type(p.default) not in (int, float)}
        open_ -= written_in(node, signature).keys()
        numbers = {n: v for n, v in values.items() if type(v) is int and v}
        for name, value in numbers.items():
            for new in (2 * value, value + 1, value // 2):
                varied = copy.deepcopy(node)
                with contextlib.suppress(Exception):
                    set_argument(varied, signature, name, literal(new))
                    config = self.value(varied)
                    changed = {n for n, v in values.items() if differ(getattr(config, n, v), v)}
                    names |= changed & open_ - {name}
        return names

    def variables(self, arguments):
        """The arguments that can be varied. `arguments`: those of the outermost call."""
        self.rows, configs = {}, []
        for node, signature in self.calls[1:]:
            with contextlib.suppress(Exception):
                signature = with_fields(signature, self.value(node))
            configs.append((node, signature))
        calls = [*self.calls[:1], *configs]
        uses = collections.Counter(name for _, signature in calls for name in signature.parameters)
        self.shared = {name for name, number in uses.items() if number > 1}
        for node, signature in self.calls[:1]:
            self.add_rows("", node, signature, constants(node, signature) | arguments)
        for node, signature in configs:
            self.add_fields("", node, signature)
        return list(self.rows.values())

    def full_name(self, above, node, name):
        """That of an argument of a call; a field that others are called like has its holder."""
        is_shared = name in self.shared and id(node) in self.holders
        return f"{self.holders[id(node)]}.{name}" if is_shared else above + name

    def add_fields(self, above, node, signature):
        """Those of a config object, and of the objects in it. `above`: its place."""
        values = {}
        with contextlib.suppress(Exception):
            config = self.value(node)
            signature = with_fields(signature, config)
            fields = {n: getattr(config, n) for n in signature.parameters if hasattr(config, n)}
            values = fields | constants(node, signature)
            open_ = self.following(node, signature, values)
            for name, value in fields.items():
                # A list that was made in place of a default that is none.
                is_plain = isinstance(signature.parameters[name].default, PLAIN)
                if "label" in name or (is_plain and isinstance(value, (list, tuple, dict))):
                    open_.add(name)
            values.update(dict.fromkeys(open_ - set(written_in(node, signature))))
        self.add_rows(above, node, signature, values)
        for name in [name for name, value in values.items() if is_config(value)]:
            with contextlib.suppress(Exception):
                place = self.full_name(above, node, name)
                inner = self.inner.get(place)
                if inner is None:  # the call that would make it, if it gives the same object
                    call, copied = call_of(getattr(config, name), self.names), copy.deepcopy(node)
                    set_argument(copied, signature, name, call)
                    if not alike(self.value(copied), config):
                        continue
                    inner = call, signature_of(self.value(call.func), call)
                self.add_fields(f"{place}.", *inner)

    def add_rows(self, above, node, signature, values):
        choices = literals(self.value(node.func))
        holder = "" if node is self.calls[0][0] else ast.unparse(node.func)
        for name, parameter in signature.parameters.items():
            value = values.get(name, parameter.default)
            place = self.full_name(above, node, name)
            for part, number in parts(place, value) if parameter.kind in NAMED else ():
                row = {"name": part, "value": number, "holder": holder}
                self.rows.setdefault(part, dict(row, choices=choices.get(name, [])))


def differ(value, original):
    """Whether two values that could be varied are not the same."""
    try:
        return isinstance(original, (*PLAIN, list, tuple)) and bool(value != original)
    except Exception:
        return False


def parts(name, value):
    """(name, value) of what can be varied in an argument: itself, or the numbers in a list or a
    dictionary; none of them is infinite."""
    if issubclass(type(value), PLAIN):
        return [(name, value)] if is_finite(value) else []
    numbers = [
        (name + "".join(f"[{key!r}]" for key in path), leaf)
        for path, leaf in leaves(value)
        if type(leaf) in (int, float) and is_finite(leaf)
    ]
    return numbers if len(numbers) <= ELEMENTS else []


def is_finite(value):
    return not issubclass(type(value), float) or math.isfinite(value)


def leaves(value, path=()):
    """(keys, value) of every number in nested lists and dictionaries; nothing for a list of other
    things. They are read as lists and dictionaries are, whatever their classes override."""
    kind = type(value)
    if issubclass(kind, dict):
        items = [(k, v) for k, v in dict.items(value) if type(k) is str and k.isidentifier()]
        return [leaf for key, part in items for leaf in leaves(part, (*path, key))]
    if not issubclass(kind, (list, tuple)):
        return [(path, value)] if path else []
    items = (list if issubclass(kind, list) else tuple).__iter__(value)
    pairs = [leaf for i, part in enumerate(items) for leaf in leaves(part, (*path, i))]
    return pairs if all(issubclass(type(leaf), PLAIN) for _, leaf in pairs) else []


def parted(name):
    """Split `dims[1][0]` into a name and keys."""
    match = _PART.fullmatch(name)
    if match is None:
        return name, []
    return match[1], [int(index) if index else key for index, key in _KEY.findall(match[2])]


def element(value, path):
    return functools.reduce(operator.getitem, path, value)


def with_element(value, path, new):
    """A list, a tuple, or a dictionary, as it is but for one element."""
    if not path:
        return new
    try:
        elements = dict(value) if isinstance(value, dict) else list(value)
        elements[path[0]] = with_element(elements[path[0]], path[1:], new)
    except (TypeError, LookupError):
        reason = f"{value!r} has no element {path[0]!r}"
        raise Failure("NPL004", "raised", reason) from None
    return tuple(elements) if isinstance(value, tuple) else elements


def written_in(node, signature):
    """Name of an argument -> the expression that a call has for it."""
    names = [name for name, p in signature.parameters.items() if p.kind in POSITIONAL]
    return {**dict(zip(names, node.args)), **{k.arg: k.value for k in node.keywords}}


def constants(node, signature):
    """The values of the arguments that stand in a call as constants."""
    values = {}
    for name, value in written_in(node, signature).items():
        with contextlib.suppress(ValueError):
            values[name] = ast.literal_eval(value)
    return values


def is_call(node):
    return isinstance(node, ast.Call)


def takes_any(signature):
    """Whether a callable takes keywords of any name."""
    return any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())


def signature_of(function, node):
    """The signature of a callable; if it takes anything, that of its first overload, else the
    keywords of this call."""
    if function is types.SimpleNamespace:  # it has none
        names = [k.arg for k in node.keywords if k.arg]
        return inspect.Signature([inspect.Parameter(n, NAMED[-1]) for n in names])
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())
    if takes_any(signature):
        if isinstance(function, type):
            parameters += handed_to_base(function, signature.parameters)
        new = [k.arg for k in node.keywords if k.arg and k.arg not in {p.name for p in parameters}]
        parameters += [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in new]
        parameters.sort(key=lambda parameter: parameter.kind)
    if any(p.kind in NAMED for p in signature.parameters.values()):
        return signature.replace(parameters=parameters)
    inner = function.__init__ if isinstance(function, type) else function
    for overload in getattr(typing, "get_overloads", lambda _: ())(inner):
        named = list(inspect.signature(overload).parameters.values())
        named = named[1:] if isinstance(function, type) else named
        if any(p.kind in NAMED for p in named):
            return inspect.Signature(named)
    return inspect.Signature(parameters)


def handed_to_base(kind, names, as_it_is=False):
    """The parameters of a class's bases that its constructor gets by `**kwargs`, and hands to them
    by `super().__init__(…, **kwargs)`, with the defaults of `kwargs.setdefault("layers", 4)`;
    `names`: of its own; `as_it_is`: only if that is all that it does with `kwargs`."""
    parameters, taken, defaults = [], set(names), {}
    with contextlib.suppress(Exception):  # no source, or no constructor
        bases = [base for base in kind.__mro__ if "__init__" in vars(base)]
        for place, base in enumerate(bases[1:]):
            constructor = bases[place].__init__
            several = [
                p.name
                for p in inspect.signature(constructor).parameters.values()
                if p.kind is p.VAR_KEYWORD
            ]
            tree = ast.parse(textwrap.dedent(inspect.getsource(constructor)))
            (call,) = [
                node
                for node in ast.walk(tree)
                if is_call(node)
                and re.fullmatch(r"super\(.*\)\.__init__", ast.unparse(node.func))
                and any(k.arg is None and ast.unparse(k.value) in several for k in node.keywords)
            ]
            uses = sum(isinstance(n, ast.Name) and n.id in several for n in ast.walk(tree)) - 1
            for node in filter(is_call, ast.walk(tree)):
                if ast.unparse(node.func) in [f"{name}.setdefault" for name in several]:
                    with contextlib.suppress(ValueError):
                        defaults.setdefault(*map(ast.literal_eval, node.args))
                        uses -= 1
            if as_it_is and uses:
                break
            inner = [*inspect.signature(base.__init__).parameters.values()][1:]
            taken |= {k.arg for k in call.keywords} | {p.name for p in inner[: len(call.args)]}
            new = [p for p in inner if p.kind in NAMED and p.name not in taken]
            parameters += [p.replace(kind=p.KEYWORD_ONLY) for p in new]
            taken |= {p.name for p in new}
    return [p.replace(default=defaults.get(p.name, p.default)) for p in parameters]


@functools.lru_cache(maxsize=256)
def handed_defaults(kind):
    """The defaults of what a class hands to its bases, where nothing else may change `kwargs`."""
    with contextlib.suppress(Exception):
        parameters = handed_to_base(kind, inspect.signature(kind).parameters, as_it_is=True)
        return {p.name: p.default for p in parameters if p.default is not p.empty}
    return {}


def with_fields(signature, config):
    """Where a call takes any keywords (`Config.from_name("tiny", **changes)`): those of the class
    of what it made, too."""
    parameters = signature.parameters
    if not takes_any(signature) or isinstance(config, PLAIN):
        return signature
    fields = inspect.signature(type(config)).parameters.values()
    fields = [p for p in fields if p.kind in NAMED and p.name not in parameters]
    fields = [p.replace(kind=p.KEYWORD_ONLY) for p in fields]
    named = [p for p in parameters.values() if p.kind is not p.VAR_KEYWORD]
    return inspect.Signature([*named, *fields])


def set_argument(node, signature, name, value):
    """Where it is given by position it stays there, else it becomes a keyword."""
    places = [n for n, p in signature.parameters.items() if p.kind in POSITIONAL]
    place = places.index(name) if name in places else len(node.args)
    before = node.args[: place + 1]
    if place < len(node.args) and not any(isinstance(a, ast.Starred) for a in before):
        node.args[place] = value
    else:
        keywords = [keyword for keyword in node.keywords if keyword.arg != name]
        node.keywords = [*keywords, ast.keyword(name, value)]


def literals(function):
    """Name of a parameter -> the values that its annotation, a `Literal`, allows."""
    choices = {}
    with contextlib.suppress(Exception):
        hints = dict(typing.get_type_hints(function))
        if isinstance(function, type):
            hints.update(typing.get_type_hints(function.__init__))
        for name, hint in hints.items():
            if typing.get_origin(hint) is typing.Literal:
                choices[name] = [v for v in typing.get_args(hint) if isinstance(v, PLAIN)]
    return choices
