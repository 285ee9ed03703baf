"""Stands for what an import of a package that is not installed would have bound: enough of it to
read the files that name it, and nothing that a model could be made of."""

import ast
import builtins
import contextlib
import dis
import gc
import inspect
import sys
import types

from ..state import STATE
from ..tracing.failures import LostName

CHECK = "__nparam_check__"
IMPORT_ERRORS = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}
# Of what Python asks of a value, by operators and statements.
VALUES = """
    iter next len bool contains setitem delitem index int float complex round abs neg pos invert
    lt le gt ge enter exit await add sub mul matmul truediv floordiv mod divmod pow lshift rshift
    and xor radd rsub rmul rmatmul rtruediv rfloordiv rmod rdivmod rpow rlshift rrshift rand rxor
"""
OF_TYPES = ("typing", "types", "annotationlib")  # modules of what stands in annotations
NOT_HELD = (types.FunctionType, types.ModuleType, types.FrameType, type)  # they only name it
MOST_OBJECTS = 200_000  # of those that a model holds


class Placeholder(type):
    """The class of placeholders. What is asked of one gives another, as long as no value is needed:
    an annotation needs a class, `except` one of exceptions."""

    def __new__(kind, name, bases, names):
        for base in filter(is_placeholder, bases):
            refuse(base)
        return super().__new__(kind, name, bases, names)

    def __getattr__(cls, name):
        code, place = sys._getframe(1).f_code, sys._getframe(1).f_lasti
        is_written = dis.opname[code.co_code[place]].startswith("LOAD_")
        # Python and libraries ask for their notes. What else `hasattr` gives is not known.
        is_note = name.startswith("__") and name != "__version__"
        if is_note or (name.startswith("_") and not is_written):
            raise AttributeError(name)
        return part_of(cls, f".{name}") if is_written else refuse(cls)

    def __setattr__(cls, name, value):
        refuse(cls)

    def __getitem__(cls, key):
        return part_of(cls, f"[{key!r}]")

    def __call__(cls, *args, **kwargs):
        """As a decorator of a method, or to make one. Whatever else calls it may want its arguments
        changed."""
        code = sys._getframe(1).f_code
        is_of_class = not code.co_flags & inspect.CO_OPTIMIZED and code.co_name != "<module>"
        return part_of(cls, f"() {len(STATE.placeholders)}") if is_of_class else refuse(cls)

    def __instancecheck__(cls, value):
        # There are no objects of what is not there. What is, and lacks a package, may have some.
        is_absent = cls.nparam_path.partition(".")[0] == cls.nparam_loss.package
        return False if is_absent and not is_placeholder(value) else refuse(cls)

    __subclasscheck__ = __instancecheck__

    def __eq__(cls, other):
        is_type = isinstance(other, type) or type(other).__module__ in OF_TYPES
        is_known = cls is other or (is_type and (STATE.running or not is_placeholder(other)))
        return cls is other if is_known else refuse(cls)

    __hash__ = type.__hash__


def is_placeholder(value):
    return issubclass(type(value), Placeholder)


def placeholder(path, name, loss):
    """The one for what has a dotted name in its package. `name`: by which its loss is told."""
    if path not in STATE.placeholders:
        names = {"nparam_path": path, "nparam_loss": loss, "__module__": loss.package}
        STATE.placeholders[path] = Placeholder(name, (BaseException,), names)
    return STATE.placeholders[path]


def part_of(cls, step):
    return placeholder(cls.nparam_path + step, cls.__name__, cls.nparam_loss)


def refuse(cls, *args):
    """Raise that the package is needed; it is noted, as what goes on all the same is not what it is
    with the package. (A script that is run notes it where it catches the error.)"""
    name = cls.__name__
    is_line = ":" in name  # of a script, which was left out
    error = NameError(f"{name} gave no value" if is_line else f"name {name!r} is not defined")
    error.loss = cls.nparam_loss
    if STATE.script_run is None:
        STATE.refused = STATE.refused or error
    raise error


for _name in VALUES.split():
    setattr(Placeholder, f"__{_name}__", refuse)
for _name in ("add_note", "args", "with_traceback"):  # which exceptions have
    setattr(Placeholder, _name, property(lambda cls, step=f".{_name}": part_of(cls, step)))


@contextlib.contextmanager
def without_values():
    """In this context what is at the top of a file fails where it needs a value, even if it goes on
    without."""
    before, STATE.refused = STATE.refused, None
    try:
        yield
        if STATE.refused is not None:
            raise STATE.refused
    finally:
        STATE.refused = before


def check_model(model):
    """Raise if what was built has needed a value, or holds a placeholder."""
    todo, visited = [model] if STATE.placeholders else [], set()
    while todo and len(visited) < MOST_OBJECTS and STATE.refused is None:
        value = todo.pop()
        if is_placeholder(value):
            refuse(value)
        if id(value) not in visited and not issubclass(type(value), NOT_HELD):
            visited.add(id(value))
            todo += filter(gc.is_tracked, gc.get_referents(value))
    if STATE.refused is not None:
        raise STATE.refused


def check_imported(*values):
    """Raise what Python would have raised for what was imported from another file."""
    for value in filter(is_placeholder, values):
        raise LostName(value.nparam_loss.first, value.nparam_loss)


setattr(builtins, CHECK, check_imported)


def guard_imports(tree):
    """Let `try` statements that go on without a package see that an import has failed."""
    for node in ast.walk(tree):
        body = node.body if isinstance(node, ast.Try) and import_handler(node) else ()
        for part in [part for part in body if isinstance(part, ast.ImportFrom)]:
            words = {alias.asname or alias.name for alias in part.names} - {"*"}
            names = [ast.Name(word, ast.Load()) for word in words]
            check = ast.Expr(ast.Call(ast.Name(CHECK, ast.Load()), names, []))
            ast.fix_missing_locations(ast.copy_location(check, part))
            body.insert(body.index(part) + 1, check)


def import_handler(node):
    """The clause by which a `try` statement goes on if an import fails; None if it has none."""
    for handler in node.handlers:
        words = {getattr(part, "id", None) for part in ast.walk(handler.type or ast.Pass())}
        if handler.type is None or words & IMPORT_ERRORS:
            raises = any(isinstance(part, ast.Raise) for part in ast.walk(handler))
            return None if raises else handler
    return None
