"""Names that are replaced in the modules of a model while its constructor is traced.

`int(width * 2 / 3)`, `max(8, width)` and `range(depth)` give plain numbers or ask nothing; what
stands here in their place says what it was given. A float on the left (`0.9 * width`) and a pattern
(`"%d" % width`) do not ask either: such constants are replaced in the code of the functions.
Functions that are cached are called without their cache, which takes numbers of one value for the
same.
"""

import contextlib
import functools
import math
import types

from ..state import STATE
from .traced_numbers import Traced, TracedInt, constant, losing, plain, traced_result

ASKING = ("ceil", "floor", "trunc", "prod")  # they ask a number's own methods
MATH = ("sqrt", "log", "log2", "log10", "exp", "pow", "isqrt", "gcd", "lcm", "comb", "factorial")


def is_traced(values):
    return any(isinstance(value, Traced) for value in values)


class LikeThe(type):
    """The class of what stands in for a built-in class, of which it has all instances, and which
    it is equal to."""

    def __eq__(cls, other):
        return other is cls or other is cls.__base__

    def __hash__(cls):
        return hash(cls.__base__)

    def __repr__(cls):
        return repr(cls.__base__)

    def __instancecheck__(cls, value):
        return isinstance(value, cls.__base__)

    def __subclasscheck__(cls, other):
        return issubclass(other, cls.__base__)


class Whole(int, metaclass=LikeThe):
    def __new__(cls, *values, **more):
        if len(values) == 1 and not more and isinstance(values[0], Traced):
            return values[0].__trunc__()
        return int(*values, **more)


class Real(float, metaclass=LikeThe):
    def __new__(cls, *values):
        if is_traced(values):
            return traced_result(float(plain(values[0])), "float", values[0])
        return float(*values)


class Kind(type, metaclass=LikeThe):
    """`type`: also of numbers that are not traced it gives what `int` is while one is."""

    def __new__(cls, *values, **more):
        kind = type(*values, **more)
        kind = kind.__base__ if len(values) == 1 and isinstance(values[0], Traced) else kind
        return next((other for other in (Whole, Real, Kind) if other == kind), kind)


def extreme(original, name):
    """`max` or `min` of numbers."""

    def choose(*values, **more):
        candidates = values[0] if len(values) == 1 else values
        if more or isinstance(candidates, Traced):
            return original(*values, **more)
        candidates = tuple(candidates)
        if not is_traced(candidates) or not all(isinstance(v, (int, float)) for v in candidates):
            return original(candidates)
        best = candidates[0]
        for candidate in candidates[1:]:
            best = traced_result(original(plain(best), plain(candidate)), name, best, candidate)
        return best

    return choose


def traced_range(*values):
    """`range`."""
    steps = range(*map(plain, values))
    for value in values:
        if isinstance(value, TracedInt):
            STATE.trace.lose("loop", value.row)
            if len(steps) == plain(value):
                STATE.trace.loops[len(steps)] = value.row
    return steps


def function_of_math(original, name):
    def compute(*values):
        if not is_traced(values):
            return original(*values)
        return traced_result(original(*map(plain, values)), name, *values)

    return compute


class Pattern(str):
    """A text that stands in the source, and says what is put into it: `"%d" % width`."""

    def __mod__(self, values):
        for value in values if isinstance(values, tuple) else (values,):
            if isinstance(value, Traced):
                STATE.trace.lose("text", value.row)
        return str(self) % values


def shadows_of_math():
    """Identity of a function -> (it, its replacement)."""
    shadows = {}
    for name, function in vars(math).items():
        if type(function) is type(math.sqrt) and name not in ASKING:
            is_known = name in MATH
            shadow = function_of_math(function, name) if is_known else losing(function, "float()")
            shadows[id(function)] = function, shadow
    return shadows


BUILTINS = {
    "int": Whole,
    "float": Real,
    "type": Kind,
    "max": extreme(max, "max"),
    "min": extreme(min, "min"),
    "range": traced_range,
    **{function.__name__: losing(function, "text") for function in (bin, hex, oct)},
}


@contextlib.contextmanager
def shadowed(modules, looping):
    """While a model is built: in these modules, and in `math` itself; `range` in those that are
    `looping`, too."""
    of_math = shadows_of_math()
    with contextlib.ExitStack() as undo:

        def put(names, name, value):
            if name in names:
                undo.callback(names.__setitem__, name, names[name])
            else:
                undo.callback(names.pop, name, None)
            names[name] = value

        for module in modules:
            names = vars(module)
            for name, value in list(names.items()):
                if id(value) in of_math:
                    put(names, name, of_math[id(value)][1])
                elif type(value) is CACHED:
                    put(names, name, value.__wrapped__)
            for name, value in BUILTINS.items():
                if name not in names:
                    put(names, name, value)
            for kind, name, value in [*cached_methods(module)]:
                undo.callback(setattr, kind, name, vars(kind)[name])
                setattr(kind, name, value)
        for module in looping:
            put(vars(module), "range", traced_range)
        for function, shadow in of_math.values():
            put(vars(math), function.__name__, shadow)
        for function in [each for module in modules for each in functions_of(module)]:
            code = traced_code(function.__code__)
            if code is not None:
                undo.callback(setattr, function, "__code__", function.__code__)
                function.__code__ = code
        yield


CACHED = type(functools.lru_cache(is_traced))


def cached_methods(module):
    """Of the classes that a module defines: (the class, the method's name, it without a cache)."""
    for kind in [value for value in vars(module).values() if isinstance(value, type)]:
        for name, value in vars(kind).items() if kind.__module__ == module.__name__ else ():
            function = getattr(value, "__func__", value)
            if type(function) is CACHED:
                plain = function.__wrapped__
                yield kind, name, plain if function is value else type(value)(plain)


def functions_of(module):
    """The functions and methods that a module defines."""
    name, todo, visited = module.__name__, list(vars(module).values()), set()
    while todo:
        value = todo.pop()
        if id(value) in visited or getattr(value, "__module__", name) != name:
            continue
        visited.add(id(value))
        if isinstance(value, types.FunctionType):
            yield value
            todo.append(getattr(value, "__wrapped__", None))
        elif isinstance(value, (staticmethod, classmethod)):
            todo.append(value.__func__)
        elif isinstance(value, property):
            todo += [value.fget, value.fset]
        elif isinstance(value, type):
            todo += vars(value).values()


def traced_code(code):
    """The code with floats and texts that ask what they meet; None where it has none."""
    constants = list(code.co_consts)
    for place, value in enumerate(constants):
        if type(value) is float:
            constants[place] = constant(value)
        elif type(value) is str and "%" in value:
            constants[place] = Pattern(value)
        elif isinstance(value, types.CodeType):
            constants[place] = traced_code(value) or value
    is_same = all(new is old for new, old in zip(constants, code.co_consts))
    return None if is_same else code.replace(co_consts=tuple(constants))
