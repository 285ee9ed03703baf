"""With which arguments the project's modules were made, as their constructors saw them."""

import contextlib
import enum
import functools
import inspect
import itertools
import sys
import types
import typing
from typing import Optional

from ..state import STATE
from .project_paths import project_file, relative

UNKNOWN = "…"
STEPS = 8  # frames of wrappers and metaclasses between a constructor and the one that it calls
LONGEST, LONGEST_VALUE, MOST_ITEMS = 160, 60, 8  # characters of a call and of a value; items of it
MOST_CALLS = 3  # different ones, of a class and with the same count, that are kept apart
UNCHANGING = frozenset((type(None), bool, int, float, complex, str))
SEQUENCES = (list, tuple, set, frozenset)
TORCH = (("torch", "dtype"), ("torch", "Size"))
DEPTH = 2


class Construction(typing.NamedTuple):
    """How a module was made, which is kept so that its id is not given away. `parts`: the arguments
    as they would be written; `arguments`: themselves, by name, where formulas ask for any."""

    module: object
    parts: tuple
    arguments: Optional[dict]


class OwnClass:
    """A class of modules, and the class of the project that it is, or is made of (torch derives
    some of its own)."""

    __slots__ = ("defaults", "kind", "project_class")

    def __init__(self, kind):
        self.kind, self.defaults = kind, {}
        bases = (base for base in kind.__mro__ if project_file(base.__module__))
        self.project_class = next(bases, None)

    def defaults_of(self, code):
        """Those of the arguments of one of its constructors."""
        defaults = self.defaults.get(id(code))
        if defaults is None:
            defaults = self.defaults[id(code)] = {}
            for base in self.kind.__mro__:
                function = vars(base).get(code.co_name)
                if getattr(function, "__code__", None) is code:
                    names = code.co_varnames[: code.co_argcount]
                    defaults.update(zip(names[::-1], (function.__defaults__ or ())[::-1]))
                    defaults.update(function.__kwdefaults__ or {})
        return defaults


def note_construction(module):
    """Note where a module is being made, and one of the project with which arguments; called by the
    constructor of `nn.Module`, which comes first in most constructors, before they give their
    arguments other values. It is called for nearly every module there is: it must be fast."""
    if STATE.constructions is None:
        return
    kind, caller, origins = type(module), sys._getframe(2), STATE.origins
    module_class = own_class(kind)
    try:
        frame = constructor_of(module, module_class, caller)
        origins.keep(module, origins.site_of(frame.f_back if frame else caller))
        if module_class.project_class is None:
            return
        parts, arguments = (UNKNOWN,), None
        if frame is not None:
            arguments = arguments_of(frame)
            parts = call_parts(frame.f_code, arguments, module_class)
        elif kind.__init__.__code__ is sys._getframe(1).f_code:  # it has none of its own
            parts = ()
        arguments = arguments if STATE.keeps_arguments else None
        STATE.constructions[id(module)] = Construction(module, parts, arguments)
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
    construction = STATE.constructions.get(id(original))
    if construction is not None:
        STATE.constructions[id(module)] = construction._replace(module=module)


def own_class(kind):
    if id(kind) not in STATE.own_classes:
        STATE.own_classes[id(kind)] = OwnClass(kind)
    return STATE.own_classes[id(kind)]


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
    if id(code) not in STATE.signatures:  # to hash a code, all of it is read
        STATE.signatures[id(code)] = Signature(code)
    return STATE.signatures[id(code)]


def constructor_of(module, module_class, frame):
    """The frame of the outermost constructor that makes a module: its class's own, as a rule."""
    outermost, steps = None, 0
    while frame is not None and steps < STEPS:
        code = frame.f_code
        if code.co_name == "__init__":
            if signature_of(code).makes(frame) is not module:
                break
            outermost, steps = frame, 0
        elif code.co_name == "__new__" and outermost is None:
            outermost = frame if signature_of(code).makes(frame) is module_class.kind else None
        steps += 1
        frame = frame.f_back
    return outermost


def arguments_of(frame):
    """The arguments of a call by name, those of `*args` under `*`."""
    values, signature = frame.f_locals, signature_of(frame.f_code)
    arguments = {name: values[name] for name in signature.positional}
    if signature.varargs:
        arguments["*"] = values.get(signature.varargs, ())[signature.is_wrapped :]
    for name in signature.keywords:
        arguments[name] = values[name]
    if signature.varkeywords:
        arguments.update(values.get(signature.varkeywords, {}))
    return arguments


# --- as text ----------------------------------------------------------------------------------


def call_parts(code, arguments, module_class):
    """The arguments as they would be written, without those that have their default."""
    parts, length = [], 0
    unnamed, defaults = (), module_class.defaults_of(code)
    if arguments.get("*"):
        unnamed, defaults = signature_of(code).positional, {}
    for name, value in arguments.items():
        if name in defaults and is_same(value, defaults[name]):
            continue
        if name == "*":
            texts = [text_of(item) for item in value[: MOST_ITEMS + 1]]
        else:
            texts = [text_of(value) if name in unnamed else f"{name}={text_of(value)}"]
        length += sum(map(len, texts))
        if length > LONGEST:
            return (*parts, UNKNOWN)
        parts += bounded(texts)
    return tuple(parts)


def is_same(value, default):
    return value is default or (type(value) is type(default) in UNCHANGING and value == default)


def text_of(value, depth=0):
    """A value as it would be written, as far as that is short."""
    try:
        text = long_text_of(value, depth)
    except Exception:
        return UNKNOWN
    return text if len(text) <= LONGEST_VALUE * 2 else UNKNOWN


def long_text_of(value, depth):
    kind = type(value)
    if kind in UNCHANGING:
        return UNKNOWN if kind is str and len(value) > LONGEST_VALUE else repr(value)
    if issubclass(kind, (type, types.FunctionType, types.BuiltinFunctionType)):
        return value.__name__ if value.__name__.isidentifier() else UNKNOWN
    if issubclass(kind, enum.Enum):
        return f"{kind.__name__}.{value.name}"
    if depth > DEPTH:
        return UNKNOWN
    if kind is dict:
        first = itertools.islice(value.items(), MOST_ITEMS + 1)
        items = [f"{text_of(k)}: {text_of(v, depth + 1)}" for k, v in first]
        return "{%s}" % ", ".join(bounded(items))
    if kind in SEQUENCES:
        first = itertools.islice(value, MOST_ITEMS + 1)
        items = ", ".join(bounded([text_of(item, depth + 1) for item in first]))
        comma = "," if kind is tuple and len(value) == 1 else ""
        return {list: "[%s]", tuple: f"(%s{comma})"}.get(kind, "{%s}") % items
    if issubclass(kind, functools.partial):
        words = [f"{k}={text_of(v, depth + 1)}" for k, v in value.keywords.items()]
        items = bounded([*map(text_of, (value.func, *value.args)), *words])
        return f"partial({', '.join(items)})"
    if (kind.__module__, kind.__name__) in TORCH:
        return repr(value)
    return f"{kind.__name__}({', '.join(fields_of(value, depth))})"


def bounded(items):
    return items if len(items) <= MOST_ITEMS else [*items[:MOST_ITEMS], UNKNOWN]


def fields_of(value, depth):
    """The fields of a config object: of a dataclass those that differ from their defaults. Nothing
    of a module or a tensor, and of what does not show them."""
    kind = type(value)
    if hasattr(kind, "named_modules") or hasattr(kind, "untyped_storage"):
        return [UNKNOWN]
    try:
        fields = dict(value if issubclass(kind, dict) else vars(value))
    except Exception:
        return [UNKNOWN]
    declared = getattr(kind, "__dataclass_fields__", {})
    parts, length = [], 0
    for name, field in fields.items():
        if type(name) is not str or name[:1] == "_":
            continue
        if name in declared and is_same(field, declared[name].default):
            continue
        part = f"{name}={text_of(field, depth + 1)}"
        length += len(part) + 2
        if length > LONGEST_VALUE:
            return [*parts, UNKNOWN]
        parts.append(part)
    return parts


def merged(calls):
    """One call for several: with `…` for the arguments in which they differ (`layer=…`)."""
    texts = {}
    for parts in calls:
        for place, part in enumerate(parts):
            name, equals, _ = part.partition("=")
            is_named = equals and name.isidentifier()
            texts.setdefault(name if is_named else place, []).append(part)
    parts = []
    for name, shown in texts.items():
        is_alike = len(shown) == len(calls) and len({*shown}) == 1
        unknown = f"{name}={UNKNOWN}" if isinstance(name, str) else UNKNOWN
        parts.append(shown[0] if is_alike else unknown)
    return tuple(parts)


# --- the answer -------------------------------------------------------------------------------


def inside_rows(count, names, resolve):
    """The modules of the project that a counted model contains, those that were made alike
    together. `names`: those that formulas ask for; `resolve`: see `call_target.resolve_names`."""
    constructions, groups, merges = {}, {}, {}
    counts = {row["path"]: row for row in count.rows if "shared_with" not in row}
    for path, module in count.modules.items():
        kind = own_class(type(module)).project_class if path else None
        if kind is not None:
            unseen = Construction(module, (UNKNOWN,), None)
            construction = STATE.constructions.get(id(module), unseen)
            constructions[path] = kind, construction
            group = id(kind), counts[path]["total"]
            groups.setdefault(group, {})[construction.parts] = None
    rows = {}
    for path, (kind, construction) in constructions.items():
        row, parts = counts[path], construction.parts
        group = id(kind), row["total"]
        if len(groups[group]) > MOST_CALLS:
            parts = merges[group] = merges.get(group) or merged(groups[group])
        text, module = ", ".join(parts), count.modules[path]
        given, values, usable = construction.arguments, {}, ()
        if names:
            values, usable = resolve(names, given or {}, module, None if given is None else kind)
        key = (id(kind), text, row["total"], tuple(values.items()))
        if key in rows:
            rows[key]["paths"].append(path)
            continue
        target, source = place_of(kind)
        rows[key] = {
            "target": target,
            "call": f"{kind.__name__}({text})",
            "paths": [path],
            "total": row["total"],
            "source": source,
            "made": row.get("source"),
            "names": values,
            "known_names": usable,
        }
    return list(rows.values())


def place_of(kind):
    """The target that a class is, and where it is defined."""
    _, path, line = STATE.definitions.get(id(kind), (None, None, None))
    if path is None:  # it is defined inside a function: its constructor is near
        path, line = project_file(kind.__module__), None
        with contextlib.suppress(Exception):
            line = vars(kind)["__init__"].__code__.co_firstlineno
    name = relative(path)
    return f"{name}::{kind.__qualname__}", f"{name}:{line}" if line else None
