"""Values of arguments as expressions: numbers that are to be traced, and config objects."""

import ast
import inspect
import types

from ..symbolic.traced_numbers import Traced, plain

PLAIN = (bool, int, float, str, type(None))
POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
NAMED = (*POSITIONAL[1:], inspect.Parameter.KEYWORD_ONLY)
SYMBOL = "__nparam_symbol__"  # the function that makes a traced number


def symbol_call(name, value):
    """The expression for a value that is to be traced, under the name of its variable."""
    return ast.Call(ast.Name(SYMBOL, ast.Load()), [ast.Constant(name), ast.Constant(value)], [])


def literal(value):
    """The expression for a value, with those that are in it."""
    if isinstance(value, ast.AST):
        return value
    if isinstance(value, dict):
        keys = [ast.Constant(key) for key in value]
        return ast.Dict(keys, [literal(part) for part in value.values()])
    if isinstance(value, (list, tuple)):
        kind = ast.Tuple if isinstance(value, tuple) else ast.List
        return kind([literal(part) for part in value], ast.Load())
    return ast.Constant(value)


def is_config(value):
    """Whether it may be an object that holds values for others."""
    if isinstance(value, (*PLAIN, list, tuple, dict, set, type)) or callable(value):
        return False
    is_ours = not type(value).__module__.startswith(("builtins", "torch.", "pathlib"))
    return is_ours and (hasattr(value, "__dict__") or hasattr(value, "__slots__"))


def alike(value, original):
    """Whether two values, or two objects of them, are the same."""
    if type(value) is not type(original):
        return False
    if is_config(value) and hasattr(value, "__dict__"):
        fields, original_fields = vars(value), vars(original)
        if fields.keys() == original_fields.keys():
            return all(alike(field, original_fields[name]) for name, field in fields.items())
    return bool(value == original)


def call_of(value, names):
    """The call that makes an object like this one, with the arguments that differ from defaults;
    what it is called by is added to the names. Raises ValueError."""
    kind = type(value)
    has_signature = kind is not types.SimpleNamespace
    parameters = inspect.signature(kind).parameters.values() if has_signature else ()
    fields = [p.name for p in parameters if p.kind in NAMED and hasattr(value, p.name)]
    required = [p.name for p in parameters if p.kind in NAMED and p.default is p.empty]
    if not fields:
        fields = required = list(vars(value))
    default = kind(**{name: getattr(value, name) for name in required})
    differing = [n for n in fields if not alike(getattr(default, n, None), getattr(value, n))]
    arguments = [name for name in fields if name in required or name in differing]
    copied = kind(**{name: getattr(value, name) for name in arguments})
    if names.setdefault(kind.__name__, kind) is not kind or not alike(copied, value):
        raise ValueError(f"{kind.__name__} does not say how it was made")
    keywords = [ast.keyword(name, expression(getattr(value, name), names)) for name in arguments]
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
