"""Imports the module of a job: from the project's current source, never from stale bytecode, and in
part if the whole file would do a script's work."""

import ast
import builtins
import contextlib
import importlib
import importlib.machinery
import importlib.util
import io
import operator
import os
import sys
import types

from ...ground.facts import digest
from ..state import STATE
from ..tracing.dependency_record import FileRecord
from ..tracing.failures import (
    BarredImport,
    Failure,
    NotTracked,
    install,
    missing_package,
)
from ..tracing.project_paths import (
    from_copy,
    is_ours,
    is_project,
    line_of_error,
    real_path,
    relative,
)
from . import tokenizers
from .definitions import mark_definitions
from .downloads import explain
from .left_out import leave_out
from .partial_exec import PartialFile, is_of_source, may_be_elsewhere, would_work
from .placeholders import guard_imports, without_values
from .plain_gpu import may_help
from .side_effect_guard import is_refusal


def shadows(root):
    """Whether a name at the top of `root` hides an installed package or the standard library."""
    clean = [p for p in sys.path if p and not os.path.realpath(p).startswith(STATE.root + os.sep)]
    standard = {*getattr(sys, "stdlib_module_names", ()), *sys.builtin_module_names}
    try:
        entries = os.listdir(root)
    except OSError:
        return False
    for entry in entries:
        name = entry[:-3] if entry.endswith(".py") else entry
        if not name.isidentifier() or name in ("__init__", "test"):  # nothing imports Python's own
            continue
        if entry == name and not os.path.exists(os.path.join(root, entry, "__init__.py")):
            continue  # a plain directory loses against any installed package
        if name in standard:
            return True
        spec = importlib.machinery.PathFinder.find_spec(name, clean)
        if spec is not None and spec.origin and not is_project(os.path.realpath(spec.origin)):
            return True
    return False


def set_import_path(roots):
    """Put the project's `roots` on the import path: the repository root and `src`, from which the
    project itself is imported, and any directory that shadows nothing, in front; a directory that
    would shadow an installed package last."""
    front, back = [], []
    for root in roots:
        path = os.path.normpath(os.path.join(STATE.root, root))
        is_back = root not in ("", "src") and shadows(path)
        if root not in ("", "src"):
            STATE.record.shared.note("names", path)
        (back if is_back else front).append(path)
    roots = {*front, *back, ""}
    sys.path[:] = front + [p for p in sys.path if p not in roots] + back


def set_arguments(job):
    """The command line that a script would see, whichever was imported first."""
    sys.argv = [os.path.join(STATE.root, job.file or "python")]


def check_name(job):
    """Raise a Failure where an installed package has the name of that which a file lies in."""
    name, file = job.module, job.file
    if file and file.endswith(".ipynb"):
        reason = f"{file} is a notebook: nothing can be imported from it"
        hint = "`show`, `compare` and budgets build what it calls itself"
        raise Failure("NPL003", "import_failed", reason, hint=hint)
    if file and "." in os.path.basename(file)[: -len(".py")]:
        reason = f"{file} cannot be imported: there is a dot in its name"
        raise Failure("NPL003", "import_failed", reason, hint="rename it, or exclude it")
    top = name.split(".")[0]
    if file and top in sys.modules and not is_ours(sys.modules[top]):
        reason = f"{file} cannot be imported as {name!r}: an installed package has the name {top!r}"
        raise Failure("NPL003", "import_failed", reason, next_attempt=True)


def import_target(job):
    """The module of a job, or a Failure that says which line stands in the way."""
    check_name(job)
    name, file = job.module, job.file
    if job.build.recipe.is_run:  # what it needs is imported then
        return script_module(name, os.path.join(STATE.root, file))
    try:
        module = importlib.import_module(name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise import_failure(job, error) from None
    if file:
        path = os.path.realpath(getattr(module, "__file__", None) or "")
        if path != os.path.realpath(os.path.join(STATE.root, file)):
            reason = f"importing {name!r} gave {relative(path)} instead of {file}"
            raise Failure("NPL003", "import_failed", reason, next_attempt=True)
    return module


def script_module(name, path):
    """A module that is not run."""
    module = types.ModuleType(name)
    module.__file__, module.__package__ = path, name.rpartition(".")[0]
    return module


def load_lazily(module, qualname):
    """Packages such as transformers import what defines a class when it is asked for, and with the
    first one most of what all others share: once, here. An error is reported by the job, which
    tries again."""
    with contextlib.suppress(Exception, SystemExit):
        operator.attrgetter(qualname)(module)


def import_failure(job, error):
    """The Failure for an exception that importing the module of a job raised."""
    package = missing_package(error)
    more = {"package": package, "hint": install(package)}
    if package and not job.file and package == job.module.split(".")[0]:
        reason = f"there is no module {error.name!r} in {sys.prefix}"
        return Failure("NPL003", "package_missing", reason, **more)
    cause = "package_missing" if package else cause_of(error, "import_failed")
    return Failure(
        "NPL003",
        cause,
        f"cannot import {job.file or job.module}: {explain(error)}",
        source=line_of_error(error),
        next_attempt=isinstance(error, ImportError) or is_of_source(error),
        not_tracked=isinstance(error, NotTracked),
        asks_gpu=may_help(cause),
        **more,
    )


def cause_of(error, otherwise):
    """The cause of a failure, from the exception that an import or a call raised."""
    if isinstance(error, BarredImport):
        return error.cause
    if is_refusal(error):
        return "refused"
    return "not_tracked" if isinstance(error, NotTracked) else otherwise


class Untracked:
    """The last of the finders: recognises a module that no other finder found as a file that was
    not added to git."""

    @staticmethod
    def find_spec(fullname, path=None, target=None):
        if sys._getframe(2).f_code.co_name != "_find_and_load_unlocked":
            return  # `importlib.util.find_spec` asks whether it is there: it is not
        parts = fullname.split(".")
        folder = "/".join(parts) + "/"
        for file in STATE.untracked:
            steps = file[: -len(".py")].replace("/__init__", "").split("/")
            if steps[-len(parts) :] == parts and not is_part(steps[: -len(parts)]):
                raise NotTracked(file)
        for file in STATE.untracked:
            if file.startswith((folder, "src/" + folder)):
                raise NotTracked(file)


def is_part(steps):
    """Whether a directory of the working tree is a package that is not on the import path: a module
    in it has a longer name than what is looked for."""
    folder = os.path.join(STATE.copy, *steps)
    is_package = "/".join([*steps, "__init__.py"]) in STATE.untracked
    is_package = is_package or os.path.exists(os.path.join(folder, "__init__.py"))
    return is_package and folder not in sys.path


def keep_in_copy(finder):
    """Redirect a finder that leads into the working tree to the copy that is being checked, if this
    run is about one."""
    find = finder.find_spec

    def find_spec(fullname, path=None, target=None):
        spec = find(fullname, path, target)
        if spec is None or not spec.has_location or not STATE.original:
            return spec
        origin = os.path.realpath(spec.origin)
        copied = from_copy(origin)
        if copied == origin or copied is None:
            return spec if copied else None
        inside = [os.path.dirname(copied)] if spec.submodule_search_locations else None
        return importlib.util.spec_from_file_location(
            fullname, copied, submodule_search_locations=inside
        )

    finder.find_spec = find_spec


def exec_project(module, path):
    """`SourceFileLoader.exec_module` for files of the project: compiled from the source as it is
    now (pre-commit's stash makes edits of the same size and time, which bytecode would hide), and
    run in part where the whole file would work or has failed."""
    if path in STATE.barred:
        cause, words = STATE.barred[path]
        raise BarredImport(cause, f"{relative(path)} {words} while it was imported")
    STATE.record.imports().add(path)
    try:
        with io.open(path, "rb") as file:
            source = file.read()
        STATE.record.files.setdefault(path, FileRecord()).source = digest(source)
        tree, is_script, code = compiled(source, path)
    except Exception as error:
        error.nparam_lint_source = True
        raise
    STATE.running.append(path)
    announce()
    try:
        run_project(module, tree, is_script, code, path)
    finally:
        STATE.running.pop()
        announce()


def compiled(source, path):
    """(syntax tree, whether it would do work, code) of a file: a tree alone may hold what Python
    refuses to compile, such as a `return` outside of a function. The tree is None where it is
    nested too deeply to be looked at: such a file runs as a whole or not at all."""
    try:
        tree = ast.parse(source, path)
        is_script = would_work(tree)
        mark_definitions(tree, path)
        if STATE.script_run is not None:
            leave_out(tree, path, is_script=False)
        guard_imports(tree)
        return tree, is_script, compile(tree, path, "exec", dont_inherit=True)
    except (RecursionError, MemoryError):
        return None, False, compile(source, path, "exec", dont_inherit=True)


def announce():
    """Say which file is being run: the innermost is at fault if the process dies."""
    if STATE.on_running:
        STATE.on_running(STATE.running[-1] if STATE.running else None)


def run_project(module, tree, is_script, code, path):
    names, failure = module.__dict__, None
    names.setdefault("__builtins__", vars(builtins))  # else it would get ours (`launch.OwnLoader`)
    if tree is None or (path not in STATE.suspects and not is_script):
        clean = dict(names)
        try:
            with without_values():
                exec(code, names)
            return
        except (Exception, SystemExit) as error:
            if tree is None or may_be_elsewhere(error):
                raise
            failure = error
        names.clear()
        names.update(clean)
        names.update(submodules(module.__name__))  # to import one again does not bind it again
    part = STATE.partial_files[path] = PartialFile(tree, path, names, failure)
    part.run_all()


def submodules(package):
    """Those of a package that have been imported, by their names in it."""
    modules = ((name.rpartition("."), module) for name, module in list(sys.modules.items()))
    return {parts[2]: module for parts, module in modules if parts[0] == package}


def install_loader():
    """Patch the one class that every finder (path, editable install, by file) loads source with."""
    loader = importlib.machinery.SourceFileLoader
    get_code, exec_module = loader.get_code, loader.exec_module

    def place_of(self, fullname):
        """(path of a module, whether it is the project's own)."""
        path = self.get_filename(fullname)
        real = real_path(path)
        copied = from_copy(real)
        if copied is None:
            raise NotTracked(os.path.relpath(real, STATE.original).replace(os.sep, "/"))
        if copied != real:
            path = real = copied
        return path, is_project(real) or is_project(path)

    def project_get_code(self, fullname):
        path, is_own = place_of(self, fullname)
        if is_own:
            STATE.record.inputs().note("content", path)
            with io.open(path, "rb") as file:
                return compile(file.read(), path, "exec", dont_inherit=True)
        STATE.record.record_outside(path)
        return get_code(self, fullname)

    def project_exec_module(self, module):
        path, is_own = place_of(self, module.__name__)
        if is_own:
            exec_project(module, path)
            return
        STATE.record.record_outside(path)
        exec_module(self, module)
        if module.__name__ == tokenizers.BASE:
            tokenizers.watch_tokenizers(module.PreTrainedTokenizerBase)

    loader.get_code, loader.exec_module = project_get_code, project_exec_module
    for finder in sys.meta_path:
        with contextlib.suppress(AttributeError, TypeError):  # it cannot be changed, or is old
            keep_in_copy(finder)
    sys.meta_path.append(Untracked)


def relax_argparse():
    """A script that parses its arguments when imported gets its defaults, not our command line; or
    the one that the setup of a recipe makes."""
    import argparse

    parser = argparse.ArgumentParser
    original = parser.parse_known_args

    def parse(self, args=None, namespace=None, **kwargs):
        for action in self._actions:
            is_text = action.type in (None, str) and action.nargs is None and not action.choices
            if action.required and action.option_strings and is_text and action.default is None:
                action.default = ""  # a name, of which scripts make paths
            action.required = False
            if not action.option_strings and action.nargs is None:
                action.nargs = "?"
        words = sys.argv[1:]
        if args is None:
            args = words
        # A subparser gets what is behind its name, the second of two parsers what the first has
        # left; configargparse adds what stands in a file.
        following = iter(words)
        is_ours = all(word in following for word in args)
        is_ours |= type(self).parse_known_args is not parse
        return original(self, args if is_ours else [], namespace, **kwargs)

    parser.parse_known_args = parse
