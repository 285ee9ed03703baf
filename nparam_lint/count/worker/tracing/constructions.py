"""With which arguments the project's modules were made, as their constructors saw them."""

import contextlib
import enum
import functools
import inspect
import itertools
import sys
import types
import typing
import weakref
from typing import Optional

from ..state import STATE
from .project_paths import project_file, relative

UNKNOWN = "…"
STEPS = 8  # frames of wrappers and metaclasses between a constructor and the one that it calls
LONGEST, LONGEST_VALUE, MOST_ITEMS = 160, 60, 8  # characters of a call and of a value; items of it
MOST_CALLS = 12  # different ones of a class that are kept apart
PLAIN = (type(None), bool, int, float, complex)
UNCHANGING = frozenset((*PLAIN, str))
SEQUENCES = (list, tuple, set, frozenset)
NAMED = (type, types.FunctionType, types.BuiltinFunctionType, enum.Enum, functools.partial)
TORCH = (("torch", "dtype"), ("torch", "Size"))
DEPTH = 2


class Construction(typing.NamedTuple):
    """How a module was made. `values`: the arguments by name, frozen (those of `*args` under `*`);
    None where they are not known. `arguments`: themselves, where formulas ask for any."""

    module: weakref.ref
    code: Optional[types.CodeType]
    values: Optional[dict]
    arguments: Optional[dict]


class Frozen(typing.NamedTuple):
    """An object as it was when a constructor got it: its class and its attributes, None where these
    are not of interest."""

    kind: type
    held: Optional[dict]


def note_construction(module):
    """Note with which arguments a module of the project is being made; called by the constructor of
    `nn.Module`, which comes first in most constructors, before they give their arguments other
    values. It is called for every module there is: it must be fast."""
    if STATE.constructions is None:
        return
    kind = type(module)
    known = STATE.own_classes.get(id(kind))
    if (own_class(kind) if known is None else known[1]) is None:
        return
    try:
        frame = constructor_of(module, kind, sys._getframe(2))
        made = weakref.ref(module), None, None, None
        if frame is not None:
            values = arguments_of(frame)
            defaults = {} if values.get("*") else STATE.signatures[frame.f_code].defaults
            frozen = {
                name: frozen_value(value)
                for name, value in values.items()
                if value is not defaults.get(name, STATE)
            }
            kept = values if STATE.keeps_arguments else None
            made = made[0], frame.f_code, frozen, kept
        STATE.constructions[id(module)] = Construction(*made)
    except Exception:  # whatever its class makes of being asked
        STATE.constructions.pop(id(module), None)


def note_copy(module):
    """A module that is copied was made with the arguments of the original. (`copy` has both at hand
    where it gives the copy its state.)"""
    frame = sys._getframe(2)
    if STATE.constructions and frame.f_code.co_name == "_reconstruct":
        original = construction_of(frame.f_locals.get("x"))
        if original is not None:
            copied = original._replace(module=weakref.ref(module))
            STATE.constructions[id(module)] = copied


def construction_of(module):
    found = STATE.constructions.get(id(module))
    return found if found is not None and found.module() is module else None


def own_class(kind):
    """The nearest class of the project that a class is, or is made of (torch derives some of its
    own); None where there is none."""
    known = STATE.own_classes.get(id(kind))
    if known is None:
        own = next((base for base in kind.__mro__ if project_file(base.__module__)), None)
        known = STATE.own_classes[id(kind)] = kind, own
    return known[1]


# --- arguments --------------------------------------------------------------------------------


class Signature:
    """What a constructor takes, by its code. `first`: the name of what it makes; where that is the
    first of `*args`, `is_wrapped`."""

    def __init__(self, kind, code):
        count, named = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
        names = code.co_varnames
        more = iter(names[named:])
        self.varargs = next(more) if code.co_flags & inspect.CO_VARARGS else None
        self.varkeywords = next(more) if code.co_flags & inspect.CO_VARKEYWORDS else None
        self.is_wrapped = not count
        self.first = names[0] if count else self.varargs
        self.positional, self.keywords = names[1:count], names[count:named]
        self.defaults = {}
        for base in kind.__mro__:
            function = vars(base).get(code.co_name)
            if getattr(function, "__code__", None) is code:
                self.defaults = dict(zip(names[:count][::-1], (function.__defaults__ or ())[::-1]))
                self.defaults.update(function.__kwdefaults__ or {})

    def makes(self, frame):
        value = frame.f_locals.get(self.first)
        return next(iter(value), None) if self.is_wrapped and value else value


def signature_of(kind, code):
    found = STATE.signatures.get(code)
    if found is None:
        found = STATE.signatures[code] = Signature(kind, code)
    return found


def constructor_of(module, kind, frame):
    """The frame of the outermost constructor that makes a module: its class's own, as a rule."""
    found, steps = None, 0
    while frame is not None and steps < STEPS:
        code = frame.f_code
        if code.co_name == "__init__":
            if signature_of(kind, code).makes(frame) is not module:
                break
            found, steps = frame, 0
        elif code.co_name == "__new__" and found is None:
            found = frame if signature_of(kind, code).makes(frame) is kind else None
        steps += 1
        frame = frame.f_back
    return found


def arguments_of(frame):
    """The arguments of a call by name; those of `*args` under `*`."""
    values, signature = frame.f_locals, STATE.signatures[frame.f_code]
    found = {name: values[name] for name in signature.positional if name in values}
    if signature.varargs:
        found["*"] = values.get(signature.varargs, ())[signature.is_wrapped :]
    for name in signature.keywords:
        if name in values:
            found[name] = values[name]
    if signature.varkeywords:
        found.update(values.get(signature.varkeywords, {}))
    return found


def frozen_value(value, depth=0):
    """What an argument is by now, as far as its text needs it. (To write the text takes longer, and
    most are the same as others.) Modules and tensors are not kept alive."""
    kind = type(value)
    if kind in UNCHANGING:
        return value
    try:
        if kind in SEQUENCES:
            first = itertools.islice(value, MOST_ITEMS + 1) if depth < DEPTH else ()
            return kind([frozen_value(item, depth + 1) for item in first])
        if kind is dict:
            first = itertools.islice(value.items(), MOST_ITEMS + 1) if depth < DEPTH else ()
            return {key: frozen_value(item, depth + 1) for key, item in first}
        if issubclass(kind, NAMED) or (kind.__module__, kind.__name__) in TORCH:
            return value
        if hasattr(kind, "named_modules") or hasattr(kind, "untyped_storage"):
            return Frozen(kind, None)
        return Frozen(kind, dict(value if issubclass(kind, dict) else vars(value)))
    except Exception:  # it has no attributes, or does not show them
        return Frozen(kind, None)


# --- as text ----------------------------------------------------------------------------------


def call_text(code, values):
    """The arguments as they would be written, without those that have their default."""
    signature = STATE.signatures[code]
    defaults, parts, length = signature.defaults, [], 0
    unnamed = signature.positional if values.get("*") else ()
    for name, value in values.items():
        if name == "*":
            shown = ", ".join(map(text_of, value))
        elif name in unnamed:
            shown = text_of(value)
        elif name in defaults and is_same(value, defaults[name]):
            continue
        else:
            shown = f"{name}={text_of(value)}"
        length += len(shown)
        if length > LONGEST:
            parts.append(UNKNOWN)
            break
        if shown:
            parts.append(shown)
    return ", ".join(parts)


def is_same(value, default):
    return value is default or (type(value) is type(default) in UNCHANGING and value == default)


def text_of(value, depth=0):
    """A frozen value as it would be written, as far as that is short."""
    try:
        text = _text_of(value, depth)
    except Exception:
        return UNKNOWN
    return text if len(text) <= LONGEST_VALUE * 2 else UNKNOWN


def _text_of(value, depth):
    kind = type(value)
    if kind is Frozen:
        return f"{value.kind.__name__}({', '.join(fields_of(value, depth))})"
    if kind is str:
        return repr(value) if len(value) <= LONGEST_VALUE else UNKNOWN
    if kind in UNCHANGING:
        return repr(value)
    if isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType)):
        return value.__name__ if value.__name__.isidentifier() else UNKNOWN
    if isinstance(value, enum.Enum):
        return f"{kind.__name__}.{value.name}"
    if depth > DEPTH:
        return UNKNOWN
    if kind is dict:
        items = [f"{text_of(k)}: {text_of(v, depth + 1)}" for k, v in value.items()]
        return "{%s}" % ", ".join(bounded(items))
    if kind in SEQUENCES:
        items = ", ".join(bounded([text_of(item, depth + 1) for item in value]))
        one = "," if kind is tuple and len(value) == 1 else ""
        return {list: "[%s]", tuple: f"(%s{one})"}.get(kind, "{%s}") % items
    if kind is functools.partial:
        given = [*map(frozen_value, (value.func, *value.args))]
        named = [f"{k}={text_of(frozen_value(v), depth + 1)}" for k, v in value.keywords.items()]
        return f"partial({', '.join(bounded([*map(text_of, given), *named]))})"
    return repr(value)  # a dtype


def bounded(items):
    return items if len(items) <= MOST_ITEMS else [*items[:MOST_ITEMS], UNKNOWN]


def fields_of(config, depth):
    """The fields of a config object: of a dataclass those that differ from their defaults."""
    if config.held is None:
        return [UNKNOWN]
    declared = getattr(config.kind, "__dataclass_fields__", {})
    parts, length = [], 0
    for name, field in config.held.items():
        if type(name) is not str or name[:1] == "_":
            continue
        if name in declared and is_same(field, declared[name].default):
            continue
        part = f"{name}={text_of(frozen_value(field), depth + 1)}"
        length += len(part) + 2
        if length > LONGEST_VALUE:
            return [*parts, UNKNOWN]
        parts.append(part)
    return parts


def call_of(kind, made, known):
    """The call that made a module; `known`: those of the same values."""
    if made is None or made.values is None:
        return f"{kind.__name__}({UNKNOWN})"
    identity = (id(kind), made.code, tuple(made.values), *map(identity_of, made.values.values()))
    if identity not in known:
        known[identity] = f"{kind.__name__}({call_text(made.code, made.values)})"
    return known[identity]


def identity_of(value):
    """Equal for values that have the same text; all are kept, so that no `id` is given away."""
    if type(value) is Frozen and value.held is not None:
        return id(value.kind), tuple(map(id, value.held.values()))
    return id(value)


# --- the answer -------------------------------------------------------------------------------


def inside_rows(count, names, resolve):
    """The modules of the project that a counted model contains, those that were made alike
    together. `names`: those that formulas ask for; `resolve`: see `call_target.resolve_names`."""
    found, calls, texts = {}, {}, {}
    rows = {row["path"]: row for row in count.rows if "shared_with" not in row}
    for path, module in count.modules.items():
        kind = own_class(type(module)) if path else None
        if kind is None:
            continue
        made = construction_of(module)
        given = made.arguments if made and made.arguments else {}
        values, known = resolve(names, given, module) if names else ({}, ())
        row = rows[path]
        text = call_of(kind, made, texts)
        of_kind = calls.setdefault(kind, set())
        if text not in of_kind and len(of_kind) >= MOST_CALLS:
            text = f"{kind.__name__}({UNKNOWN})"
        of_kind.add(text)
        key = (kind, text, row["total"], tuple(values.items()))
        if key in found:
            found[key]["paths"].append(path)
            continue
        target, source = place_of(kind)
        found[key] = {
            "target": target,
            "call": text,
            "paths": [path],
            "total": row["total"],
            "source": source,
            "made": row["source"],
            "names": values,
            "known_names": known,
        }
    return list(found.values())


def place_of(kind):
    """The target that a class is, and where it is defined."""
    _, path, line = STATE.definitions.get(id(kind), (None, None, None))
    if path is None:  # it is defined inside a function: its constructor is near
        path, line = project_file(kind.__module__), None
        with contextlib.suppress(Exception):
            line = vars(kind)["__init__"].__code__.co_firstlineno
    name = relative(path)
    return f"{name}::{kind.__qualname__}", f"{name}:{line}" if line else None
