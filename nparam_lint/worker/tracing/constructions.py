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
MOST_CALLS = 3  # different ones, of a class and with the same count, that are kept apart
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


class OwnClass:
    """A class of modules, and the class of the project that it is, or is made of (torch derives
    some of its own). `others`: ids of the codes of constructors that make something else."""

    __slots__ = ("defaults", "kind", "others", "own")

    def __init__(self, kind):
        self.kind, self.others, self.defaults = kind, {}, {}
        self.own = next((base for base in kind.__mro__ if project_file(base.__module__)), None)

    def defaults_of(self, code):
        """Those of the arguments of one of its constructors."""
        found = self.defaults.get(id(code))
        if found is None:
            found = self.defaults[id(code)] = {}
            for base in self.kind.__mro__:
                function = vars(base).get(code.co_name)
                if getattr(function, "__code__", None) is code:
                    names = code.co_varnames[: code.co_argcount]
                    found.update(zip(names[::-1], (function.__defaults__ or ())[::-1]))
                    found.update(function.__kwdefaults__ or {})
        return found


def note_construction(module):
    """Note where a module is being made, and one of the project with which arguments; called by the
    constructor of `nn.Module`, which comes first in most constructors, before they give their
    arguments other values. It is called for nearly every module there is: it must be fast."""
    if STATE.constructions is None:
        return
    kind, caller, origins = type(module), sys._getframe(2), STATE.origins
    known = STATE.own_classes.get(id(kind)) or own_class(kind)
    try:
        if known.own is None:
            site = origins.calls_above(caller, "project")
            if not site:
                frame = constructor_of(module, known, caller)
                site = origins.calls_above(frame.f_back if frame else caller, "package")
            origins.keep(module, site)
            return
        made = weakref.ref(module), None, None, None
        frame = constructor_of(module, known, caller)
        origins.note_made(module, frame.f_back if frame else caller)
        if frame is not None:
            made = made[0], *arguments_of(frame, known)
        elif known.kind.__init__.__code__ is sys._getframe(1).f_code:  # it has none of its own
            made = made[0], None, {}, None
        STATE.constructions[id(module)] = Construction(*made)
    except Exception:  # whatever its class makes of being asked
        STATE.constructions.pop(id(module), None)


def note_copy(module):
    """A module that is copied was made where the original was, with its arguments. (`copy` has both
    at hand where it gives the copy its state.)"""
    frame = sys._getframe(2)
    if STATE.constructions is None:
        return
    while frame is not None and frame.f_code.co_name == "__setstate__":  # of a subclass
        frame = frame.f_back
    if frame is None or frame.f_code.co_name != "_reconstruct":
        return
    original = frame.f_locals.get("x")
    STATE.origins.note_copy(original, module)
    made = construction_of(original)
    if made is not None:
        STATE.constructions[id(module)] = made._replace(module=weakref.ref(module))


def construction_of(module):
    found = STATE.constructions.get(id(module))
    return found if found is not None and found.module() is module else None


def own_class(kind):
    known = STATE.own_classes.get(id(kind))
    if known is None:
        known = STATE.own_classes[id(kind)] = OwnClass(kind)
    return known


# --- arguments --------------------------------------------------------------------------------


class Signature:
    """What a constructor takes, by its code. `first`: the name of what it makes; where that is the
    first of `*args`, `is_wrapped`."""

    def __init__(self, code):
        self.code = code  # whose id must not be given away
        names, self.varargs, self.varkeywords = inspect.getargs(code)
        count = code.co_argcount
        self.is_wrapped = not count
        self.first = names[0] if count else self.varargs
        self.positional, self.keywords = names[1:count], names[count:]

    def makes(self, frame):
        value = frame.f_locals.get(self.first)
        return next(iter(value), None) if self.is_wrapped and value else value


def signature_of(code):
    found = STATE.signatures.get(id(code))  # to hash a code, all of it is read
    if found is None:
        found = STATE.signatures[id(code)] = Signature(code)
    return found


def constructor_of(module, known, frame):
    """The frame of the outermost constructor that makes a module: its class's own, as a rule."""
    found, steps = None, 0
    while frame is not None and steps < STEPS:
        code = frame.f_code
        if code.co_name == "__init__":
            if id(code) in known.others:
                break
            if signature_of(code).makes(frame) is not module:
                if not isinstance(module, type(signature_of(code).makes(frame))):
                    known.others[id(code)] = code
                break
            found, steps = frame, 0
        elif code.co_name == "__new__" and found is None:
            found = frame if signature_of(code).makes(frame) is known.kind else None
        steps += 1
        frame = frame.f_back
    return found


def arguments_of(frame, known):
    """What a Construction has of a call: its code; the arguments by name, frozen, without those
    that have their default; and themselves, if they are needed."""
    code, values = frame.f_code, frame.f_locals
    signature = signature_of(code)
    found = {name: values[name] for name in signature.positional}
    if signature.varargs:
        found["*"] = values.get(signature.varargs, ())[signature.is_wrapped :]
    for name in signature.keywords:
        found[name] = values[name]
    if signature.varkeywords:
        found.update(values.get(signature.varkeywords, {}))
    defaults = {} if found.get("*") else known.defaults_of(code)
    frozen = {
        name: value if type(value) in UNCHANGING else frozen_value(value)
        for name, value in found.items()
        if name not in defaults or not is_same(value, defaults[name])
    }
    return code, frozen, found if STATE.keeps_arguments else None


def frozen_value(value, depth=0):
    """What an argument is by now, as far as its text needs it. (To write the text takes longer, and
    most are the same as others.) Modules and tensors are not kept alive."""
    kind = type(value)
    if kind in UNCHANGING:
        return value
    try:
        if id(kind) in STATE.config_classes:  # nearly all that constructors get is one of these
            return Frozen(kind, dict(vars(value)))
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
        if issubclass(kind, dict):
            return Frozen(kind, dict(value))
        STATE.config_classes[id(kind)] = kind
        return Frozen(kind, dict(vars(value)))
    except Exception:  # it has no attributes, or does not show them
        return Frozen(kind, None)


# --- as text ----------------------------------------------------------------------------------


def call_parts(code, values):
    """The arguments as they would be written, without those that have their default."""
    if values is None:
        return (UNKNOWN,)
    if not values:
        return ()
    parts, length = [], 0
    unnamed = signature_of(code).positional if values.get("*") else ()
    for name, value in values.items():
        if name == "*":
            shown = [*map(text_of, value)]
        elif name in unnamed:
            shown = [text_of(value)]
        else:
            shown = [f"{name}={text_of(value)}"]
        length += sum(map(len, shown))
        if length > LONGEST:
            return (*parts, UNKNOWN)
        parts += shown
    return tuple(parts)


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


def parts_of(made, known):
    """The arguments with which a module was made, as text; `known`: those of the same values."""
    if made is None or not made.values:
        return call_parts(None, made and made.values)
    identity = (id(made.code), tuple(made.values), *map(identity_of, made.values.values()))
    if identity not in known:
        known[identity] = call_parts(made.code, made.values)
    return known[identity]


def merged(calls):
    """One call for several: with `…` for the arguments in which they differ (`layer=…`)."""
    texts = {}
    for parts in calls:
        for place, part in enumerate(parts):
            name, equals, _ = part.partition("=")
            is_named = equals and name.isidentifier()
            texts.setdefault(name if is_named else place, []).append(part)
    found = []
    for name, shown in texts.items():
        is_alike = len(shown) == len(calls) and len({*shown}) == 1
        unknown = f"{name}={UNKNOWN}" if isinstance(name, str) else UNKNOWN
        found.append(shown[0] if is_alike else unknown)
    return tuple(found)


def identity_of(value):
    """Equal for values that have the same text; all are kept, so that no `id` is given away."""
    if type(value) is Frozen and value.held is not None:
        return id(value.kind), tuple(map(id, value.held.values()))
    return id(value)


# --- the answer -------------------------------------------------------------------------------


def inside_rows(count, names, resolve):
    """The modules of the project that a counted model contains, those that were made alike
    together. `names`: those that formulas ask for; `resolve`: see `call_target.resolve_names`."""
    known, made_as, groups, merges = {}, {}, {}, {}
    rows = {row["path"]: row for row in count.rows if "shared_with" not in row}
    for path, module in count.modules.items():
        kind = own_class(type(module)).own if path else None
        if kind is not None:
            made = construction_of(module)
            parts = parts_of(made, known)
            made_as[path] = kind, made, parts
            groups.setdefault((id(kind), rows[path]["total"]), {})[parts] = None
    found = {}
    for path, (kind, made, parts) in made_as.items():
        row = rows[path]
        group = id(kind), row["total"]
        if len(groups[group]) > MOST_CALLS:
            parts = merges[group] = merges.get(group) or merged(groups[group])
        text = ", ".join(parts)
        given = made.arguments if made and made.arguments else {}
        module = count.modules[path]
        values, usable = resolve(names, given, module) if names else ({}, ())
        key = (id(kind), text, row["total"], tuple(values.items()))
        if key in found:
            found[key]["paths"].append(path)
            continue
        target, source = place_of(kind)
        found[key] = {
            "target": target,
            "call": f"{kind.__name__}({text})",
            "paths": [path],
            "total": row["total"],
            "source": source,
            "made": row.get("source"),
            "names": values,
            "known_names": usable,
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
