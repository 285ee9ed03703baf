"""Runs a file in part where the whole would work, or has failed."""

from __future__ import annotations

import ast
import importlib
import os
import re
import sys
import types

from ..state import STATE
from ..tracing.failures import NotTracked, describe
from ..tracing.project_paths import relative
from .script_analysis import (
    HARMLESS_METHODS,
    HARMLESS_NAMES,
    HARMLESS_ROOTS,
    READING_METHODS,
    UNSAFE_METHODS,
    bound_names,
    calls_in,
    dotted,
    is_main_guard,
    is_stored_name,
    root_name,
)


def partial_file_of(module):
    """The PartialFile of a module's file; None for one that was not read in part."""
    return STATE.partial_files.get(os.path.realpath(getattr(module, "__file__", None) or ""))


def missing_name(error):
    return getattr(error, "name", None) or (re.findall(r"'(\w+)'", str(error)) or [""])[0]


def may_be_elsewhere(error):
    """Whether an import failed that another import path might mend. A package that is not installed
    and that no file of the project could be is missing on every path: it is done without."""
    if isinstance(error, NotTracked):
        return True
    if not isinstance(error, ImportError) or STATE.tolerates_imports:
        return False
    if not isinstance(error, ModuleNotFoundError):  # a name that a file lost by being read in part
        return error.path not in STATE.partial_files
    missing = (error.name or "").split(".")[0]
    STATE.record.shared.facts["importable", missing] = str(missing in STATE.names)
    return missing in STATE.names or missing in sys.modules


class PartialFile:
    """Runs a file in part: its imports, definitions and harmless assignments, one by one.

    A statement that is left out, or fails, takes the names that it would have set with it, so that
    a count never rests on a value that the whole file would have replaced. `lost` says why a name
    is not there.
    """

    def __init__(self, tree, path, namespace):
        self.tree, self.path, self.namespace = tree, path, namespace
        self.lost = {}
        self.lines = {}  # name -> the line at which it was lost
        self.needs = {}  # name -> the package whose absence cost it
        self.functions = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}
        self.flags = 0
        for node in tree.body:
            if isinstance(node, ast.ImportFrom) and node.module == "__future__":
                for alias in node.names:
                    feature = getattr(importlib.import_module("__future__"), alias.name, None)
                    self.flags |= getattr(feature, "compiler_flag", 0)

    def run(self):
        self.block(self.tree.body)
        return self.lost

    def block(self, body):
        for node in body:
            if is_main_guard(node):
                continue
            if isinstance(node, ast.If):
                self.condition(node)
            elif self.is_kept(node):
                self.execute(node)
            else:
                self.lose(node, "set by work at line {} that nparam-lint does not run")

    def condition(self, node):
        if not self.harmless(node.test):
            self.lose(node, "set under a condition at line {} that nparam-lint does not evaluate")
            return
        code = compile(ast.Expression(node.test), self.path, "eval", self.flags, True)
        try:
            chosen = node.body if eval(code, self.namespace) else node.orelse
        except Exception as error:
            self.lose(
                node, "set under a condition at line {} that failed (" + describe(error) + ")"
            )
            return
        self.block(chosen)

    def is_kept(self, node):
        if isinstance(node, (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef)):
            return True
        if isinstance(node, (ast.ClassDef, ast.Pass, ast.Assert, ast.Global)):
            return True
        if isinstance(node, ast.Try):
            inner = node.body + node.orelse + node.finalbody
            return all(self.is_kept(n) for n in inner) and all(
                self.is_kept(n) for h in node.handlers for n in h.body
            )
        if isinstance(node, ast.If):
            return self.harmless(node.test) and all(map(self.is_kept, node.body + node.orelse))
        if isinstance(node, ast.For):
            return self.harmless(node.iter) and all(map(self.is_kept, node.body + node.orelse))
        if isinstance(node, ast.With):
            return all(self.harmless(i.context_expr) for i in node.items) and all(
                map(self.is_kept, node.body)
            )
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            return node.value is None or self.harmless(node.value)
        if isinstance(node, ast.Expr):
            return self.harmless(node.value)
        return type(node).__name__ == "TypeAlias" or isinstance(node, (ast.Raise, ast.Delete))

    def harmless(self, node):
        if any(isinstance(n, (ast.Await, ast.Yield, ast.YieldFrom)) for n in ast.walk(node)):
            return False
        return all(self.harmless_call(call) for call in calls_in(node))

    def harmless_call(self, call):
        name = dotted(call.func)
        root, last = name.split(".")[0], name.rsplit(".", 1)[-1]
        if isinstance(call.func, ast.Attribute):
            if call.func.attr in HARMLESS_METHODS:
                return True
            return root in HARMLESS_ROOTS and last not in UNSAFE_METHODS and ".hub." not in name
        found = self.namespace.get(name)
        if (
            isinstance(found, type)
            and getattr(found, "__module__", "") == self.namespace["__name__"]
        ):
            # A class of this file: a config object is fine, a model is built only when asked for.
            return not any(base.__module__.startswith("torch.") for base in found.__mro__)
        return name in HARMLESS_NAMES

    def execute(self, node):
        code = compile(
            ast.Module(body=[node], type_ignores=[]), self.path, "exec", self.flags, True
        )
        try:
            exec(code, self.namespace)
        except (Exception, SystemExit) as error:
            refused = isinstance(node, ast.Raise) or isinstance(error, AssertionError)
            if may_be_elsewhere(error) or refused:
                raise
            why, needs = "lost at line {}: " + describe(error), None
            if isinstance(error, ModuleNotFoundError):
                needs = (error.name or "").split(".")[0]
            elif isinstance(error, NameError):
                name = missing_name(error)
                needs = self.needs.get(name)
                if name in self.lost:
                    why += " ({!r} was {})".format(name, self.lost[name])
            self.lose(node, why, needs)
        else:
            for name in bound_names(node):
                self.lost.pop(name, None)

    def lose(self, node, why, needs=None):
        names = bound_names(node)
        if not isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            for call in calls_in(node):
                names |= self.changed_by(call, set())
        for name in names:
            if name in self.namespace and name.startswith("__"):
                continue
            self.namespace.pop(name, None)
            self.lost[name] = why.replace("{}", str(node.lineno), 1)
            self.lines[name] = "{}:{}".format(relative(self.path), node.lineno)
            self.needs[name] = needs

    def changed_by(self, call, seen):
        """The names whose values a call that was not made would have changed: `cfg.merge(…)`,
        `setattr(cfg, …)`, a function of this file that assigns to globals or to what it is given.
        A value that was only half made must not be counted with."""
        names = set()
        if isinstance(call.func, ast.Attribute):
            base = dotted(call.func).split(".")[0]
            value = self.namespace.get(base)
            kinds = (types.ModuleType, type, types.FunctionType)
            if base and call.func.attr not in READING_METHODS and not isinstance(value, kinds):
                names.add(base)
            return names
        name = dotted(call.func)
        given = [root_name(argument) for argument in call.args]
        if name in ("setattr", "delattr"):
            names.update(given[:1])
        function = self.functions.get(name)
        if function is not None and name not in seen:
            seen.add(name)
            changed = set()
            for child in ast.walk(function):
                if isinstance(child, ast.Call):
                    changed |= self.changed_by(child, seen)
            stored = bound_names(ast.Module(function.body, []))
            arguments = function.args.posonlyargs + function.args.args
            own = {a.arg for a in arguments + function.args.kwonlyargs}
            declared = {n for g in ast.walk(function) if isinstance(g, ast.Global) for n in g.names}
            plain = {n.id for n in ast.walk(function) if is_stored_name(n)} - declared
            names |= stored & declared
            names |= ((stored | changed) - own - plain) & set(self.namespace)
            by_name = {k.arg: root_name(k.value) for k in call.keywords}
            by_name.update(zip([a.arg for a in arguments], given))
            names.update(by_name.get(n) for n in (stored | changed) & own - plain)
        return names - {None, ""}


def why_missing(module, name):
    """The reason why a name that the source defines is not in the module, from its slice."""
    part = partial_file_of(module)
    if part is None:
        return None
    reason = part.lost.get(name)
    if reason is None and part.failure is not None:
        reason = describe(part.failure)
    return reason


def explain_name_error(error, module):
    """(text, package): why a name that a build lacks was lost when its file was read in part, and
    the package whose absence cost it."""
    if not isinstance(error, NameError):
        return "", None
    name = missing_name(error)
    trace = error.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    here = STATE.partial_files.get(os.path.realpath(trace.tb_frame.f_code.co_filename))
    for part in [here] if here is not None else STATE.partial_files.values():
        if name in part.lost:
            text = " ({!r} in {}: {})".format(name, relative(part.path), part.lost[name])
            return text, part.needs[name]
    return "", None
