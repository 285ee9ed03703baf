"""What a function would still have set when it ended with an error: nobody knows it then."""

import ast
import collections
import contextlib
import sys
import types
from traceback import walk_tb

from ..tracing.project_paths import is_ours, is_project
from .definitions import statements_of
from .partial_exec import FUNCTIONS, dotted, inside

LOOPS = (ast.For, ast.While)
BODIES = ("body", "orelse", "finalbody")
CONTAINERS = (dict, list, set, collections.deque)
DEEPEST = 3  # methods of methods


def forget_rest(error, line, lost):
    """Put `lost` in the place of what would have been set, or changed: by what is inside of the
    statement at a line that an error has ended, and behind it by the functions of the project that
    the error went through. Gives the objects that are changed by methods, and that a function was
    given or has made: those who hold them have to forget them, too."""
    (frame, _), *inner = walk_tb(error.__traceback__)
    nodes = [node for node in statements_of(frame.f_code.co_filename) if node.lineno == line]
    given = []
    for node in nodes[:1]:
        parts = [part for name in BODIES for part in getattr(node, name, ())]
        parts += getattr(node, "targets", [])
        given += forget(parts, frame.f_locals, frame.f_globals, lost)
    for frame, at in inner:
        function = function_of(frame.f_code)
        body = function.body if function else []
        rest = [*rest_of(body, at), *(node for node in body if isinstance(node, ast.Global))]
        given += forget(rest, frame.f_locals, frame.f_globals, lost)
    return given


def forget(statements, own, around, lost, depth=DEEPEST):
    """The same of some statements, by the variables of their function and of the file around."""
    given = []
    parts = [part for node in statements for part in inside(node)] if depth else []
    set_around = {name for part in parts if isinstance(part, ast.Global) for name in part.names}
    for part in parts:
        is_set = isinstance(getattr(part, "ctx", None), ast.Store)
        if isinstance(part, ast.Name) and is_set and part.id in set_around:
            around[part.id] = lost
        elif isinstance(part, ast.Attribute) and is_set:
            put(value_of(part.value, own, around), part.attr, lost)
        elif isinstance(part, ast.Subscript) and is_set:
            holder, key = value_of(part.value, own, around), part.slice
            if isinstance(holder, dict) and isinstance(key, ast.Constant):
                holder[key.value] = lost
            else:
                given += lose(part.value, own, around, lost)
        elif isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute):
            holder = value_of(part.func.value, own, around)
            method = getattr(type(holder), part.func.attr, None) if is_of_project(holder) else None
            if not isinstance(method, types.FunctionType):
                given += lose(part.func.value, own, around, lost)
            elif function := function_of(method.__code__):
                names = dict.fromkeys(method.__code__.co_varnames[:1], holder)
                given += forget(function.body, names, method.__globals__, lost, depth - 1)
    return given


def rest_of(body, line):
    """The statements that come behind a line, or that it is in; of a loop all."""
    for node in body:
        if node.end_lineno < line:
            continue
        parts = [part for name in BODIES for part in getattr(node, name, ())]
        parts += [part for handler in getattr(node, "handlers", ()) for part in handler.body]
        within = [part for part in parts if part.lineno <= line <= part.end_lineno]
        if within and node.lineno <= line and not isinstance(node, LOOPS):
            yield from rest_of(parts, line)
        else:
            yield node


def lose(node, own, around, lost):
    """Forget what a method of it changes: an attribute, or a global variable. What a function has
    for itself, or was given, is handed back."""
    value = value_of(node, own, around)
    if not (isinstance(value, CONTAINERS) or is_of_project(value)):
        return []
    if isinstance(node, ast.Attribute):
        put(value_of(node.value, own, around), node.attr, lost)
        return []
    if node.id not in own or own is around:
        around[node.id] = lost
    return [value]


def put(holder, attribute, lost):
    is_object = holder is not None and not isinstance(holder, (types.ModuleType, type))
    if is_object and not isinstance(holder, sys.modules["torch"].nn.Module):
        with contextlib.suppress(Exception):
            setattr(holder, attribute, lost)


def value_of(node, own, around):
    """That of a dotted name; None where there is none."""
    first, *rest = dotted(node).split(".")
    value = own.get(first, around.get(first)) if first else None
    for name in rest:
        value = getattr(value, name, None)
    return value


def is_of_project(value):
    name = type(value).__module__
    is_model = isinstance(value, sys.modules["torch"].nn.Module)
    return not is_model and (name == "__main__" or is_ours(sys.modules.get(name)))


def function_of(code):
    """The definition of a function of the project; None where it is not known."""
    for node in statements_of(code.co_filename) if is_project(code.co_filename) else ():
        if isinstance(node, FUNCTIONS) and node.name == code.co_name:
            lines = [node.lineno, *(part.lineno for part in node.decorator_list)]
            if code.co_firstlineno in lines:
                return node
    return None
