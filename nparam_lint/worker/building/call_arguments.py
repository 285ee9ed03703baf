"""The arguments of a call that can be varied, and the call with other values for them."""

import ast
import contextlib
import copy
import functools
import inspect
import math
import operator
import re
import types
import typing

from ..tracing.failures import Failure
from .config_objects import NAMED, PLAIN, POSITIONAL, alike, call_of, is_config, literal

ELEMENTS = 32  # numbers in one list or dictionary that are varied one by one; more are data
LARGEST_DIVISOR = 1 << 16  # that a number is tried with, to find a prime
_KEY = re.compile(r"\[(?:(-?\d+)|'(\w+)')\]")
_PART = re.compile(rf"(\w+(?:\.\w+)*)((?:{_KEY.pattern})*)")


class Calls:
    """A call, and the calls among its arguments that create config objects: `GPT(GPTConfig())`.
    `inner`: those of objects inside of config objects, by their place: `attn`, `attn.rope`."""

    def __init__(self, tree, names):
        """`tree`: of an expression; `names`: what it is evaluated in."""
        self.names = names
        self.calls = []  # (node, signature), the outermost first
        call = tree.body
        given = [*call.args, *(k.value for k in call.keywords)] if is_call(call) else []
        for node in filter(is_call, [call, *given]):
            with contextlib.suppress(Exception):  # no signature, or a name that is not there
                self.calls.append((node, signature_of(self.value(node.func), node)))
        self.inner = {}
        for node, signature in self.calls[1:]:
            self.find_inner("", node, signature)

    def find_inner(self, above, node, signature):
        """Those that are written among the arguments of a call for a config object."""
        for name, part in written_in(node, signature).items():
            with contextlib.suppress(Exception):
                own = signature_of(self.value(part.func), part) if is_call(part) else None
                if own:
                    self.inner[above + name] = part, own
                    self.find_inner(f"{above}{name}.", part, own)

    def value(self, node):
        tree = ast.fix_missing_locations(ast.Expression(node))
        return eval(compile(tree, "<nparam call>", "eval"), self.names)

    def change(self, changes):
        """Give arguments other values, in the call or in the one that makes its config."""
        lists = {}
        for part, value in changes.items():
            name, path = parted(part)
            found = self.taking(name)
            if found is None:
                call = ast.unparse(self.calls[0][0]) if self.calls else "the call"
                reason = f"{name!r} cannot be varied: it is neither an argument of {call} nor of "
                reason += "a config object that is made in that call"
                raise Failure("NPL004", "raised", reason)
            if path:
                whole = lists[name] if name in lists else self.now(*found)
                value = lists[name] = with_element(whole, path, value)
            set_argument(*found, literal(value))

    def modify(self, wanted):
        """Multiply whole numbers among the arguments, and add to them: (name, times, plus). None
        adds what the next prime needs."""
        changes = {}
        for name, times, plus in wanted:
            argument, path = parted(name)
            found = self.taking(argument)
            value = None if found is None else self.now(*found)
            with contextlib.suppress(Exception):
                value = element(value, path)
            if type(value) is not int:
                raise Failure("NPL004", "raised", f"{name!r} is {value!r}, not a whole number")
            new = value * times
            changes[name] = prime_above(new) if plus is None else new + plus
        self.change(changes)

    def now(self, node, signature, name):
        """The value that an argument has in a call."""
        given = written_in(node, signature)
        if name in given:
            return self.value(given[name])
        parameter = signature.parameters.get(name)
        if parameter is not None and isinstance(parameter.default, (*PLAIN, list, tuple, dict)):
            return parameter.default
        if node is self.calls[0][0]:
            return None
        return getattr(self.value(node), name, None)  # made by a factory

    def taking(self, name):
        """(call, signature, name there) of the call that has a parameter of this name; else of one
        that takes any keyword, config objects first."""
        above, _, name = name.rpartition(".")
        calls = [found for found in [self.making(above)] if found] if above else self.calls
        for call in calls:
            parameter = call[1].parameters.get(name)
            if parameter is not None and parameter.kind in NAMED:
                return (*call, name)
        for call in [*calls[1:], *calls[:1]]:
            if takes_any(call[1]):
                return (*call, name)
        return None

    def making(self, place):
        """The call that makes an object inside of a config object; it is written where it was not.
        `config.n_layer` means `n_layer`, if `config` is an argument."""
        found = None if place in self.inner else self.taking(place)
        with contextlib.suppress(Exception):
            if found and found[0] is self.calls[0][0]:
                own = written_in(found[0], found[1])[found[2]]
                return next(call for call in self.calls if call[0] is own)
            if found:
                node, signature, name = found
                call = call_of(getattr(self.value(node), name), self.names)
                set_argument(node, signature, name, call)
                self.inner[place] = call, signature_of(self.value(call.func), call)
        return self.inner.get(place)

    def following(self, node, signature, values):
        """The fields of a config object that are computed from others unless they are given: they
        change when only another one is changed. A field whose default is a number does not count:
        others only keep it within limits."""
        found = set()
        open_ = {n for n, p in signature.parameters.items() if type(p.default) not in (int, float)}
        numbers = {n: v for n, v in values.items() if type(v) is int and v}
        given = written_in(node, signature)
        for name, value in numbers.items():
            for new in (2 * value, value + 1, value // 2):
                other = copy.deepcopy(node)
                with contextlib.suppress(Exception):
                    set_argument(other, signature, name, literal(new))
                    made = self.value(other)
                    changed = {n for n, v in values.items() if differ(getattr(made, n, v), v)}
                    found |= (changed & open_) - {name, *given}
        return found

    def variables(self, arguments):
        """The arguments that can be varied. `arguments`: those of the outermost call."""
        rows = {}
        for node, signature in self.calls[:1]:
            self.tell(rows, "", node, signature, given(node, signature, arguments))
        for node, signature in self.calls[1:]:
            self.tell_fields(rows, "", node, signature)
        return list(rows.values())

    def tell_fields(self, rows, above, node, signature):
        """Those of a config object, and of the objects in it. `above`: its place."""
        values = {}
        with contextlib.suppress(Exception):
            made = self.value(node)
            signature = with_fields(signature, made)
            found = {n: getattr(made, n) for n in signature.parameters if hasattr(made, n)}
            values = {**found, **given(node, signature, {})}
            open_ = self.following(node, signature, values)
            open_ |= {n for n, v in found.items() if is_made(n, v, signature) or "label" in n}
            values.update(dict.fromkeys(open_ - set(written_in(node, signature))))
        self.tell(rows, above, node, signature, values)
        for name in [name for name, value in values.items() if is_config(value)]:
            with contextlib.suppress(Exception):
                inner = self.inner.get(above + name) or self.written_out(
                    made, node, signature, name
                )
                self.tell_fields(rows, f"{above}{name}.", *inner)

    def written_out(self, made, node, signature, name):
        """The call that would make a field of a config object. Raises ValueError where it would not
        give the same object."""
        call, other = call_of(getattr(made, name), self.names), copy.deepcopy(node)
        set_argument(other, signature, name, call)
        if not alike(self.value(other), made):
            raise ValueError(name)
        return call, signature_of(self.value(call.func), call)

    def tell(self, rows, above, node, signature, values):
        choices = literals(self.value(node.func))
        holder = "" if node is self.calls[0][0] else ast.unparse(node.func)
        for name, parameter in signature.parameters.items():
            value = values.get(name, parameter.default)
            for part, number in parts(name, value) if parameter.kind in NAMED else ():
                row = {"name": above + part, "value": number, "holder": holder}
                rows.setdefault(above + part, dict(row, choices=choices.get(name, [])))


def prime_above(number):
    """The next one, from a number on that is itself the first candidate."""
    found = max(number, 2)
    while any(found % n == 0 for n in range(2, min(math.isqrt(found), LARGEST_DIVISOR) + 1)):
        found += 1
    return found


def differ(one, other):
    """Whether two values that could be varied are not the same."""
    try:
        return isinstance(other, (*PLAIN, list, tuple)) and bool(one != other)
    except Exception:
        return False


def is_made(name, value, signature):
    """Whether a list or a dictionary was made in place of a default that is none."""
    is_plain = isinstance(signature.parameters[name].default, PLAIN)
    return isinstance(value, (list, tuple, dict)) and is_plain


def parts(name, value):
    """(name, value) of what can be varied in an argument: itself, or the numbers in a list or a
    dictionary."""
    if issubclass(type(value), PLAIN):
        return [(name, value)]
    found = [
        (name + "".join(f"[{key!r}]" for key in path), leaf)
        for path, leaf in leaves(value)
        if type(leaf) in (int, float)
    ]
    return found if len(found) <= ELEMENTS else []


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
    found = [leaf for i, part in enumerate(items) for leaf in leaves(part, (*path, i))]
    return found if all(issubclass(type(leaf), PLAIN) for _, leaf in found) else []


def parted(name):
    """Split `dims[1][0]` into a name and keys."""
    found = _PART.fullmatch(name)
    if found is None:
        return name, []
    keys = _KEY.findall(found.group(2))
    return found.group(1), [int(index) if index else key for index, key in keys]


def element(value, path):
    return functools.reduce(operator.getitem, path, value)


def with_element(value, path, new):
    """A list, a tuple, or a dictionary, as it is but for one element."""
    if not path:
        return new
    try:
        changed = dict(value) if isinstance(value, dict) else list(value)
        changed[path[0]] = with_element(changed[path[0]], path[1:], new)
    except (TypeError, LookupError):
        reason = f"{value!r} has no element {path[0]!r}"
        raise Failure("NPL004", "raised", reason) from None
    return tuple(changed) if isinstance(value, tuple) else changed


def written_in(node, signature):
    """Name of an argument -> the expression that a call has for it."""
    names = [name for name, p in signature.parameters.items() if p.kind in POSITIONAL]
    found = dict(zip(names, node.args))
    found.update((keyword.arg, keyword.value) for keyword in node.keywords)
    return found


def given(node, signature, arguments):
    """The values of the arguments of the outermost call; of constants as they stand in it, where
    the callable does not name them."""
    found = {}
    for name, value in written_in(node, signature).items():
        with contextlib.suppress(ValueError):
            found[name] = ast.literal_eval(value)
    return dict(found, **arguments)


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
    found = inspect.signature(function)
    known = list(found.parameters.values())
    if takes_any(found):
        new = [k.arg for k in node.keywords if k.arg and k.arg not in found.parameters]
        known += [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in new]
        known.sort(key=lambda parameter: parameter.kind)
    if any(p.kind in NAMED for p in found.parameters.values()):
        return found.replace(parameters=known)
    inner = function.__init__ if isinstance(function, type) else function
    for overload in getattr(typing, "get_overloads", lambda _: ())(inner):
        named = list(inspect.signature(overload).parameters.values())
        named = named[1:] if isinstance(function, type) else named
        if any(p.kind in NAMED for p in named):
            return inspect.Signature(named)
    return inspect.Signature(known)


def with_fields(signature, made):
    """Where a call takes any keywords (`Config.from_name("tiny", **changes)`): those of the class
    of what it made, too."""
    own = signature.parameters
    if not takes_any(signature) or isinstance(made, PLAIN):
        return signature
    fields = inspect.signature(type(made)).parameters.values()
    named = [p for p in fields if p.kind in NAMED and p.name not in own]
    named = [p.replace(kind=p.KEYWORD_ONLY) for p in named]
    return inspect.Signature([*(p for p in own.values() if p.kind is not p.VAR_KEYWORD), *named])


def set_argument(node, signature, name, value):
    """Where it is given by position it stays there, else it becomes a keyword."""
    places = [n for n, p in signature.parameters.items() if p.kind in POSITIONAL]
    place = places.index(name) if name in places else len(node.args)
    before = node.args[: place + 1]
    if place < len(node.args) and not any(isinstance(a, ast.Starred) for a in before):
        node.args[place] = value
    else:
        kept = [keyword for keyword in node.keywords if keyword.arg != name]
        node.keywords = [*kept, ast.keyword(name, value)]


def literals(function):
    """Name of a parameter -> the values that its annotation, a `Literal`, allows."""
    found = {}
    with contextlib.suppress(Exception):
        hints = dict(typing.get_type_hints(function))
        if isinstance(function, type):
            hints.update(typing.get_type_hints(function.__init__))
        for name, hint in hints.items():
            if typing.get_origin(hint) is typing.Literal:
                found[name] = [v for v in typing.get_args(hint) if isinstance(v, PLAIN)]
    return found
