"""Which statement of the project's source defined what a name leads to.

A file may have several definitions of one name, or give it to something else later. The line of a
class cannot be found afterwards (before Python 3.13 a class does not know it), and a decorator may
return anything. So each definition in a file records the object that it made, first without its
decorators, then as they return it.
"""

import ast
import builtins
import contextlib
import functools
import inspect
import linecache
import os
import types

from ..state import STATE
from ..tracing.project_paths import relative

NOTE = "__nparam_defined__"
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
MANY = 500  # objects that are looked through for the definition of one


def mark_definitions(tree, path):
    """Let the classes and functions of a file record what they made, by decorators that return
    their argument; definitions inside functions, which no target can name, are left unchanged."""
    todo = list(tree.body)
    while todo:
        node = todo.pop()
        if isinstance(node, DEFINITIONS):
            decorators, notes = node.decorator_list, []
            for _ in range(2 if decorators else 1):
                place = [ast.Constant(path), ast.Constant(node.lineno)]
                notes.append(ast.Call(ast.Name(NOTE, ast.Load()), place, []))
                for part in ast.walk(notes[-1]):
                    # The line of the first decorator is that of the code.
                    ast.copy_location(part, decorators[0] if decorators else node)
            node.decorator_list = [notes[0], *decorators, *notes[1:]]
        if not isinstance(node, DEFINITIONS[:2]):
            for field in ("body", "orelse", "finalbody", "handlers", "cases"):
                todo += getattr(node, field, ())


def note_definition(path, line):
    def note(made):
        if STATE.script_run is not None:
            made = STATE.script_run.noted(made, path)
        if callable(made):  # one that returns another definition's object has made none
            STATE.definitions.setdefault(id(made), (made, path, line))
        return made

    return note


setattr(builtins, NOTE, note_definition)


@functools.lru_cache(maxsize=None)
def statements_of(path):
    """All statements of a file, those around others first; none of what is no file."""
    try:
        tree = ast.parse("".join(linecache.getlines(path)))
    except (SyntaxError, ValueError):
        return []
    return [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]


def definitions_of(function, job):
    """The definitions, as `path:line`, that a callable comes from: its own, or those of what it
    wraps; else where its code stands, or its name. None of an installed package's are known."""
    if not job.file:
        return []
    places, visited, todo = [], set(), [function]
    while todo and len(visited) < MANY:
        value = todo.pop(0)
        value = getattr(value, "__func__", value)
        if id(value) in visited or isinstance(value, types.ModuleType):
            continue
        visited.add(id(value))
        if id(value) in STATE.definitions:
            places.append(_place(job, *STATE.definitions[id(value)][1:]))
        else:
            todo += filter(callable, _originals(value))
    if places:
        return list(dict.fromkeys(places))
    with contextlib.suppress(Exception):
        path = inspect.getsourcefile(function)
        return [_place(job, path, inspect.getsourcelines(function)[1])]
    names = (getattr(function, name, None) for name in ("__module__", "__qualname__"))
    return [".".join(filter(None, names)) or type(function).__qualname__]


def _originals(value):
    """The original objects that a wrapper, or a class made by a decorator, holds."""
    if isinstance(value, type):
        return value.__mro__[1:]
    objects = [*getattr(value, "__dict__", {}).values()]
    if isinstance(value, functools.partial):
        objects += [value.func, *value.args, *value.keywords.values()]
    if isinstance(value, types.FunctionType):
        for cell in value.__closure__ or ():
            with contextlib.suppress(ValueError):  # it is empty
                objects.append(cell.cell_contents)
        objects += [*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
    return objects


def _place(job, path, line):
    """The file of the job may be a link to what was run."""
    is_own = os.path.realpath(path) == os.path.realpath(os.path.join(STATE.root, job.file))
    return "{}:{}".format(job.file if is_own else relative(path), line)
