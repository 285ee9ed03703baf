"""Values of arguments as expressions: numbers that are to be traced, and config objects."""

import ast
import inspect
import types

from ..symbolic.traced_numbers import Traced, plain

PLAIN = (bool, int, float, str, type(None))
POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
NAMED = (*POSITIONAL[1:], inspect.Parameter.KEYWORD_ONLY)
SYMBOL = "__nparam_symbol__"  # the function that makes a traced number


class TracedValue:
    """A value that is to be traced, under the name of its variable."""

    def __init__(self, name, value):
        self.name, self.value = name, value


def literal(value):
    """The expression for a value."""
    if isinstance(value, TracedValue):
        parts = [ast.Constant(value.name), ast.Constant(value.value)]
        return ast.Call(ast.Name(SYMBOL, ast.Load()), parts, [])
    if isinstance(value, dict):
        keys = [ast.Constant(key) for key in value]
        return ast.Dict(keys, [literal(part) for part in value.values()])
    if isinstance(value, (list, tuple)):
        kind = ast.Tuple if isinstance(value, tuple) else ast.List
        return kind([literal(part) for part in value], ast.Load())
    return ast.Constant(value)


def is_config(value):
    """Whether it may be an object that holds values for others."""
    known = isinstance(value, (*PLAIN, list, tuple, dict, set, type)) or callable(value)
    is_ours = not type(value).__module__.startswith(("builtins", "torch.", "pathlib"))
    return not known and is_ours and (hasattr(value, "__dict__") or hasattr(value, "__slots__"))


def alike(one, other):
    """Whether two values, or two objects of them, are the same."""
    if type(one) is not type(other):
        return False
    if is_config(one) and hasattr(one, "__dict__") and vars(one).keys() == vars(other).keys():
        return all(alike(value, vars(other)[name]) for name, value in vars(one).items())
    return bool(one == other)


def call_of(value, names):
    """The call that makes an object like this one, with the arguments that differ from defaults;
    what it is called by is added to the names. Raises ValueError."""
    kind = type(value)
    has_signature = kind is not types.SimpleNamespace
    parameters = inspect.signature(kind).parameters.values() if has_signature else ()
    fields = [p.name for p in parameters if p.kind in NAMED and hasattr(value, p.name)]
    given = [p.name for p in parameters if p.kind in NAMED and p.default is p.empty]
    if not fields:
        fields = given = list(vars(value))
    made = kind(**{name: getattr(value, name) for name in given})
    differing = [n for n in fields if not alike(getattr(made, n, None), getattr(value, n))]
    kept = [name for name in fields if name in given or name in differing]
    made = kind(**{name: getattr(value, name) for name in kept})
    if names.setdefault(kind.__name__, kind) is not kind or not alike(made, value):
        raise ValueError(f"{kind.__name__} does not say how it was made")
    keywords = [ast.keyword(name, expression(getattr(value, name), names)) for name in kept]
    return ast.Call(ast.Name(kind.__name__, ast.Load()), [], keywords)


def expression(value, names):
    """The expression for a value, or for an object of them. Raises ValueError."""
    if is_config(value):
        return call_of(value, names)
    if isinstance(value, Traced):
        return ast.Constant(plain(value))
    if ast.literal_eval(repr(value)) != value:
        raise ValueError(value)
    return literal(value)
