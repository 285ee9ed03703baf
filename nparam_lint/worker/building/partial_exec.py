"""Runs a file in part, if running all of it would do a script's work, according to its source, or
has failed."""

from __future__ import annotations
import __future__

import ast
import contextlib
import copy
import functools
import inspect
import os
import re
import sys
import textwrap
import types
from traceback import walk_tb

from ...ground.script_words import (
    FILE_FUNCTIONS,
    FILE_MODULES,
    PLAIN_METHODS,
    READING_METHODS,
    REGISTERS,
    UNSAFE_METHODS,
    WORK_FUNCTION,
    WORK_METHODS,
    WORK_NAMES,
)
from ..state import STATE
from ..tracing.failures import Loss, LostName, NotTracked, describe, missing_package
from ..tracing.project_paths import is_ours, is_project, relative
from . import downloads
from .definitions import NOTE
from .placeholders import CHECK, import_handler, is_placeholder, placeholder, without_values

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
IMPORTS = (ast.Import, ast.ImportFrom)
KEPT = (*IMPORTS, *FUNCTIONS, ast.ClassDef, ast.Pass, ast.Assert, ast.Global, ast.Raise, ast.Delete)
CONTAINERS = (dict, list, set)
MOST_HELD = 1000  # containers in one that are looked at
REPORTS = re.compile("print|show|display|plot|dump|save|write|log|debug|info|warn|error|seed|exit")
STAR_IMPORT = re.compile(r"^[ \t]*from\s+\S+\s+import\s*\*", re.MULTILINE)
# A statement that is kept where this expression in it is harmless -> its field.
EVALUATED = {
    ast.If: "test",
    ast.For: "iter",
    ast.Assign: "value",
    ast.AnnAssign: "value",
    ast.AugAssign: "value",
    ast.Expr: "value",
}


def dotted(node):
    """`a.b.c` for an attribute chain, else the empty string."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def inside(node, closed=(*FUNCTIONS, ast.ClassDef, ast.Lambda)):
    """A node and what is in it, but for what functions and classes have for themselves."""
    todo = [node]
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, closed):
            todo.extend(ast.iter_child_nodes(node))


def calls_in(node):
    """The calls that running `node` makes; bodies of functions and lambdas only run when called."""
    parts = inside(node, closed=(*FUNCTIONS, ast.Lambda))
    return (part for part in parts if isinstance(part, ast.Call))


def is_main_guard(node):
    return (
        isinstance(node, ast.If)
        and isinstance(node.test, ast.Compare)
        and any(isinstance(n, ast.Name) and n.id == "__name__" for n in ast.walk(node.test))
    )


def would_work(tree):
    """Whether running the whole file would do a script's work (train, parse, plot) rather than
    define things. A wrong answer does no harm: what runs is guarded and limited, and a file that
    fails is read in part anyway."""
    local = {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}
    for node in tree.body:
        if isinstance(node, (*FUNCTIONS, *IMPORTS, ast.ClassDef)) or is_main_guard(node):
            continue
        if isinstance(node, ast.While):
            return True
        for call in calls_in(node):
            name = dotted(call.func)
            if (
                name in WORK_NAMES
                or name.rpartition(".")[2] in ("DataLoader", "load_dataset")
                or (name in local and WORK_FUNCTION.match(name))
                or (isinstance(call.func, ast.Attribute) and is_work(call.func))
                or any(k.arg == "download" for k in call.keywords)
            ):
                return True
    return False


def is_work(method):
    """Whether calling an attribute trains, shows or starts something. Functions of torch and numpy
    with such names (`torch.__config__.show`) do not, except those that join other processes."""
    name = dotted(method)
    is_safe = name.startswith(("torch.", "np.", "numpy.")) and "distributed" not in name
    return method.attr in WORK_METHODS and not is_safe


def bound_names(node):
    """The names that a statement would bind or change; what a function or a class binds inside is
    its own."""
    names, todo = set(), [node]
    while todo:
        child = todo.pop()
        if isinstance(child, (*FUNCTIONS, ast.ClassDef)):
            names.add(child.name)
            continue
        if isinstance(getattr(child, "ctx", None), (ast.Store, ast.Del)):
            names.add(root_name(child))
        elif isinstance(child, ast.alias):
            names.add((child.asname or child.name).split(".")[0])
        todo += ast.iter_child_nodes(child)
    return names - {""}


def root_name(node):
    """`a` for `a`, `a.b` or `a[0]`: the object that a call may change if it gets it as an
    argument."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Starred)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def partial_file_of(module):
    """The PartialFile of a module's file; None for one that was not read in part."""
    return STATE.partial_files.get(os.path.realpath(getattr(module, "__file__", None) or ""))


def is_of_source(error):
    """Whether a file of the project could not even be read or compiled; not if it is about a string
    passed to `eval`, or a file that was opened."""
    return getattr(error, "nparam_lint_source", False)


def may_be_elsewhere(error):
    """Whether another import path might make a failed import work. A package that is not installed,
    and that no file of the project could be, is missing on every path: the import is skipped. A
    file of the project that Python cannot read or compile is never skipped."""
    if isinstance(error, NotTracked) or is_of_source(error):
        return True
    if isinstance(error, LostName):
        return False
    if not isinstance(error, ImportError) or STATE.tolerates_imports:
        return False
    if not isinstance(error, ModuleNotFoundError):  # lost in a file read in part
        return error.path not in STATE.partial_files
    missing = (error.name or "").split(".")[0]
    STATE.record.shared.facts["importable", missing] = str(missing in STATE.names)
    return missing in STATE.names or missing in sys.modules


class PartialFile:
    """Runs a file in part: its imports, definitions and harmless assignments, one by one.
    `failure`: of the file as a whole; None for a script, which is not run as a whole.

    If a statement is skipped or fails, the names that it would have set are removed, so that a
    count never depends on a value that the whole file would have replaced.
    """

    def __init__(self, tree, path, namespace, failure):
        self.tree, self.path, self.namespace, self.failure = tree, path, namespace, failure
        self.lost = {}  # name -> Loss
        self.own_getattr = None  # what the file itself defines as `__getattr__`
        self.functions = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}
        futures = {
            alias.name
            for node in tree.body
            if isinstance(node, ast.ImportFrom) and node.module == "__future__"
            for alias in node.names
        }.intersection(__future__.all_feature_names)
        self.flags = sum(getattr(__future__, name).compiler_flag for name in futures)

    def run_all(self):
        names = self.namespace
        # From the start: a file that this one imports may import it in turn.
        names["__getattr__"] = explain = self.explain_loss
        self.run(self.tree.body)
        if names.get("__getattr__") is not explain:
            self.own_getattr, names["__getattr__"] = names.get("__getattr__"), explain
        exports = names.get("__all__")
        if isinstance(exports, (list, tuple)):  # `from … import *` gets what there is
            names["__all__"] = [name for name in exports if name in names or name not in self.lost]

    def explain_loss(self, name):
        """The module's `__getattr__`: tells another file why it cannot have a name."""
        with contextlib.suppress(AttributeError):
            if self.own_getattr is not None:
                return self.own_getattr(name)
        loss = self.lost.get(name)
        if loss is None:
            module = self.namespace["__name__"]
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        raise LostName(f"{relative(self.path)} has no {name!r}: {loss.why}", loss)

    def run(self, body):
        for node in body:
            if is_main_guard(node):
                continue
            if isinstance(node, ast.If):
                self.condition(node)
            elif isinstance(node, ast.Try) and not self.is_kept(node):
                self.attempt(node)
            elif self.is_kept(node):
                self.execute(node)
            else:
                self.skip(node, "set at line {} by work that nparam-lint does not run")

    def attempt(self, node):
        """Run the parts of a `try` statement that are not skipped: not what it does if it fails,
        unless it then goes on without a package."""
        handler, parts = import_handler(node), [*node.body, *node.orelse]
        imports = [part for part in node.body if isinstance(part, IMPORTS) or is_check(part)]
        with contextlib.suppress(Exception, SystemExit):  # another is told when it is run below
            try:
                self.exec(imports if handler else [])
            except ImportError:
                parts = handler.body
        self.run([*parts, *node.finalbody])

    def exec(self, body):
        code = compile(ast.Module(body, []), self.path, "exec", self.flags, True)
        with without_values():
            exec(code, self.namespace)

    def condition(self, node):
        if not self.harmless(node.test):
            self.skip(node, "set under a condition at line {} that nparam-lint does not evaluate")
            return
        code = compile(ast.Expression(node.test), self.path, "eval", self.flags, True)
        try:
            with without_values():
                branch = node.body if eval(code, self.namespace) else node.orelse
        except Exception as error:
            why = "set under a condition at line {} that failed (" + downloads.explain(error) + ")"
            self.lose(node, why, before=loss_behind(error))
        else:
            self.run(branch)

    def is_kept(self, node):
        if isinstance(node, KEPT) or type(node).__name__ == "TypeAlias":
            return True
        bodies = [getattr(node, "body", ()), getattr(node, "orelse", ())]
        if isinstance(node, ast.Try):
            evaluated = []
            bodies += [node.finalbody, *(handler.body for handler in node.handlers)]
        elif isinstance(node, ast.With):
            evaluated = [item.context_expr for item in node.items]
        elif type(node) in EVALUATED:
            evaluated = [getattr(node, EVALUATED[type(node)])]
        else:
            return False
        return all(map(self.harmless, filter(None, evaluated))) and all(
            self.is_kept(inner) for body in bodies for inner in body
        )

    def harmless(self, node):
        if any(isinstance(n, (ast.Await, ast.Yield, ast.YieldFrom)) for n in ast.walk(node)):
            return False
        return all(map(self.harmless_call, calls_in(node)))

    def harmless_call(self, call):
        name = dotted(call.func)
        if isinstance(call.func, ast.Attribute):
            if call.func.attr in PLAIN_METHODS:
                return True
            if call.func.attr in UNSAFE_METHODS or ".hub." in name:
                return False
            return name.split(".")[0] in FILE_MODULES
        value, module = self.namespace.get(name), self.namespace["__name__"]
        is_here = getattr(value, "__module__", "") == module
        if isinstance(value, type) and (is_here or hasattr(value, "__dataclass_fields__")):
            # A config object is fine, a model is built only when asked for.
            return not any(base.__module__.startswith("torch.") for base in value.__mro__)
        return name in FILE_FUNCTIONS or name == CHECK or self.only_gives_a_value(name)

    def only_gives_a_value(self, name):
        """Whether this is a function of the file that returns a value made of its arguments, as
        `def _cfg(url="", **options): return {"url": url, **options}` of timm's zoos does."""
        function = self.functions.get(name)
        if function is None or name in self.lost:
            return False
        if any(dotted(getattr(item, "func", item)) != NOTE for item in function.decorator_list):
            return False
        body = [node for node in function.body if not isinstance(node, ast.Expr)]
        is_value = len(body) == 1 and isinstance(body[0], ast.Return)
        return is_value and not any(calls_in(body[0]))

    def is_lost(self, name):
        return name in self.lost or is_placeholder(self.namespace.get(name))

    def unregistered(self, node):
        """A definition without the decorators of a registry that could not be imported
        (`@BACKBONES.register_module()`): they enter it somewhere, and return it as it is."""
        decorators = [
            item
            for item in node.decorator_list
            if not REGISTERS.search(name := dotted(getattr(item, "func", item)))
            or not self.is_lost(name.partition(".")[0])
        ]
        if len(decorators) < len(node.decorator_list):
            node = copy.copy(node)
            node.decorator_list = decorators
        return node

    def execute(self, node):
        is_definition = isinstance(node, (*FUNCTIONS, ast.ClassDef))
        try:
            self.exec([self.unregistered(node) if is_definition else node])
        except (Exception, SystemExit) as error:
            is_own = any(isinstance(inner, ast.Assert) for inner in ast.walk(node))
            refused = isinstance(node, ast.Raise) or (isinstance(error, AssertionError) and is_own)
            if may_be_elsewhere(error) or refused:
                raise
            is_import = isinstance(node, IMPORTS) and isinstance(error, ImportError)
            if is_import and len(node.names) > 1:  # the others may be there
                for alias in node.names:
                    one = copy.copy(node)
                    one.names = [alias]
                    self.execute(one)
                return
            why, before, package = "line {} failed", loss_behind(error), missing_package(error)
            if not isinstance(error, LostName):
                why += ": " + downloads.explain(error)
            self.lose(node, f"{why} ({before.first})" if before else why, package, before)
            if is_definition or isinstance(node, IMPORTS):
                self.stand_in(node)
        else:
            for name in bound_names(node):
                self.lost.pop(name, None)

    def stand_in(self, node):
        """Bind a placeholder to the name of a definition that failed for a missing package, or of
        what an import would have had. (Another value might have been None.)"""
        path = f"{self.namespace['__name__']}.{getattr(node, 'name', '')}"
        if isinstance(node, IMPORTS):
            alias, module = node.names[0], getattr(node, "module", None)
            path = f"{module}.{alias.name}" if module else alias.name
            top = path.partition(".")[0]
            if top in STATE.names or getattr(node, "level", 0) or alias.name == "*":
                return  # a file of the project
            path = path if module or alias.asname else top
        for name in bound_names(node) & set(self.lost):
            if self.lost[name].package:
                self.namespace[name] = placeholder(path, name, self.lost[name])

    def skip(self, node, why):
        if self.failure is not None:  # else it would have been run with the rest
            why += f", since the file failed ({describe(self.failure)})"
        self.lose(node, why, missing_package(self.failure))

    def lose(self, node, why, package=None, before=None):
        """Take away the names that a statement sets. `before`: the Loss that it failed for."""
        names = bound_names(node)
        if not isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            changed = set()
            for call in calls_in(node):
                changed |= changed_by(call, self.namespace, self.functions, set())
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
                changed |= changed_outside(node.value, self.namespace)
            names |= changed | aliases(changed, self.namespace)
        why, file = why.replace("{}", str(node.lineno), 1), relative(self.path)
        for name in names:
            if not (name in self.namespace and name.startswith("__")):
                self.namespace.pop(name, None)
                loss = Loss(why, f"{file}:{node.lineno}", package, f"{name!r} in {file}: {why}")
                if before:
                    loss = before._replace(why=why, package=package or before.package)
                self.lost.setdefault(name, loss)


def changed_by(call, namespace, functions, callers):
    """The names whose values a skipped call would have changed: `cfg.merge(…)`, `setattr(cfg, …)`,
    a function or class method of the project that assigns to its arguments, or to the globals of
    this file. A value that is only half made must not be used for a count. `functions`: those of
    the file that has this `namespace`; `callers`: those that were followed."""
    name = dotted(call.func)
    roots = [root_name(argument) for argument in call.args]
    base, is_elsewhere = name.split(".")[0], is_other_file(namespace, name.split(".")[0])
    its_names, its_functions, function, names = namespace, functions, functions.get(name), set()
    if is_elsewhere:  # what it does to a class is not known
        names.update(root for root in roots if isinstance(namespace.get(root), type))
    if function is None:
        value, is_of_class = callable_of(namespace.get(base), call.func)
        if value is not None:
            function, its_names = definition_of(value.__code__), value.__globals__
            its_functions = functions if its_names is namespace else {}
            roots[:0] = [base] * is_of_class  # `cls` is its first argument
    if function is None and is_elsewhere:
        return names
    if function is None and isinstance(call.func, ast.Attribute):
        kinds = (types.ModuleType, type, types.FunctionType, os.PathLike, str)
        unchanged = call.func.attr in READING_METHODS or isinstance(namespace.get(base), kinds)
        return {base} if base and not unchanged else set()
    if name in ("setattr", "delattr"):
        names.update(roots[:1])
    text = call.args[0] if name == "exec" and call.args else None
    if isinstance(text, ast.Constant) and isinstance(text.value, str):
        with contextlib.suppress(SyntaxError):
            names |= bound_names(ast.parse(text.value))
    if function is not None and function not in callers:
        callers.add(function)
        nodes = list(ast.walk(function))
        bound = bound_names(ast.Module(function.body, []))
        changes = set(bound)
        for child in nodes:
            if isinstance(child, ast.Call):
                changes |= changed_by(child, its_names, its_functions, callers)
        positional = [a.arg for a in function.args.posonlyargs + function.args.args]
        parameters = {*positional, *(a.arg for a in function.args.kwonlyargs)}
        globals_ = {n for g in nodes if isinstance(g, ast.Global) for n in g.names}
        variables = [node for node in nodes if isinstance(node, ast.Name)]
        local = {n.id for n in variables if isinstance(n.ctx, ast.Store)} - globals_
        outer = bound & globals_ | changes - parameters - local
        if its_names is namespace:
            names |= outer & set(namespace)
        else:  # `settings.WIDTH = 32`, and what it sets in its own file
            module = sys.modules.get(its_names.get("__name__"))
            objects = [its_names[n] for n in outer & set(its_names)] + [module] * bool(globals_)
            held = [o for o in objects if isinstance(o, (types.ModuleType, *CONTAINERS))]
            names |= {n for n, v in namespace.items() if any(v is item for item in held)}
        by_name = {k.arg: root_name(k.value) for k in call.keywords}
        by_name.update(zip(positional, roots))
        names.update(by_name.get(n) for n in changes & parameters - local)
    return names - {None, ""}


def changed_outside(call, namespace):
    """The containers and plain objects that a skipped call hands to a function of an installed
    package for its effect: `merge(CFG, {…})`, `bisect.insort(WIDTHS, 24)`; not to print or save
    them."""
    name = dotted(call.func)
    value = namespace.get(name.split(".")[0])
    module = value if isinstance(value, types.ModuleType) else inspect.getmodule(value)
    if module is None or is_ours(module) or REPORTS.search(name.rpartition(".")[2]):
        return set()
    roots = {argument.id for argument in call.args if isinstance(argument, ast.Name)}
    kinds = (*CONTAINERS, types.SimpleNamespace)
    return {root for root in roots if isinstance(namespace.get(root), kinds)}


def aliases(names, namespace):
    """The other names of a file that share a container with these: `net = CONFIG["net"]`."""
    changed = set().union(*(held_in(namespace.get(name)) for name in names))
    if not changed:  # as mostly
        return set()
    return {name for name, value in namespace.items() if not changed.isdisjoint(held_in(value))}


def held_in(value):
    """The identities of a container and of those in it."""
    seen, todo = {}, [value]
    while todo and len(seen) < MOST_HELD:
        item = todo.pop()
        if isinstance(item, CONTAINERS) and id(item) not in seen:
            seen[id(item)] = item
            # Not by a method of a package, which may load all that it names.
            todo += dict.values(item) if isinstance(item, dict) else item
    return set(seen)


def is_other_file(namespace, name):
    """Whether a name is that of a module, or of a function, of another file of the project."""
    value = namespace.get(name)
    if isinstance(value, types.FunctionType):
        value = sys.modules.get(value.__module__)
    is_module = isinstance(value, types.ModuleType) and value.__dict__ is not namespace
    return is_module and is_ours(value)


def callable_of(value, node):
    """(the function of the project that `f`, `module.f` or `Class.method` is, whether it is one of
    a class); None for another. `value`: that of its first name."""
    if isinstance(node, ast.Attribute):
        if not (isinstance(node.value, ast.Name) and isinstance(value, (types.ModuleType, type))):
            return None, False
        value = inspect.getattr_static(value, node.attr, None)
    is_of_class = isinstance(value, classmethod)
    value = value.__func__ if is_of_class else value
    is_function = isinstance(value, types.FunctionType)
    is_known = is_function and is_project(value.__code__.co_filename)
    return (value, is_of_class) if is_known else (None, False)


@functools.lru_cache(maxsize=None)  # one tree of each: by it is known which were followed
def definition_of(code):
    """Where a function of the project is defined, as a tree; None where that cannot be read."""
    with contextlib.suppress(OSError, SyntaxError, ValueError):
        for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(code)))):
            if isinstance(node, ast.FunctionDef):
                return node
    return None


def is_check(node):
    return isinstance(node, ast.Expr) and dotted(getattr(node.value, "func", node)) == CHECK


def loss_behind(error):
    """The Loss that an exception follows from: of a placeholder, of a name that another file has
    lost, or of one that is undefined where it is used, which a star import may have had to give;
    None where it is about anything else."""
    if not isinstance(error, NameError) or hasattr(error, "loss"):
        return getattr(error, "loss", None)
    *_, (frame, _) = walk_tb(error.__traceback__)
    file = frame.f_code.co_filename
    if file.startswith("<nparam "):  # a call, which has the names of its module
        file = frame.f_globals.get("__file__") or file
    name = getattr(error, "name", None) or (re.findall(r"'(\w+)'", str(error)) or [""])[0]
    path = os.path.realpath(file)
    parts = [STATE.partial_files[path]] if path in STATE.partial_files else []
    with contextlib.suppress(OSError, ValueError), open(path, encoding="utf-8") as source:
        if STAR_IMPORT.search(source.read()):  # which gives no more than what there is
            parts += STATE.partial_files.values()
    return next((part.lost[name] for part in parts if name in part.lost), None)
