"""What is loaded when it is first used, and the one place that says so.

A file imports all that it needs at its top. A module that is listed here is then in `sys.modules`,
but its file is read when something asks for a name in it: so a run pays for what it does. What
imports a library that takes long (libcst, pygls) is such a module, never the library.
"""

from __future__ import annotations

import sys
from _thread import RLock  # without `threading`, which a run that changes nothing does not need
from importlib import import_module
from importlib.machinery import PathFinder, SourceFileLoader
from types import ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec

LATE = frozenset(
    f"nparam_lint.{name}"
    for name in """
    analysis
    analysis.boundaries
    analysis.missing_term
    analysis.roles
    api.editor.server
    api.notebook
    cache.housekeeping
    changes
    changes.causes
    cli.main
    cli.progress
    config
    config.commands
    config.load
    config.positions
    config.session
    count.moved_lines
    count.recall
    count.remote_machines
    count.remote_run
    count.resident
    count.worker_process
    discover
    discover.claims
    discover.claims.comment_budgets
    discover.claims.doc_comments
    discover.claims.suppressions
    discover.parallel_scan
    discover.unread_claims
    evidence.commands
    evidence.configs
    evidence.containment
    evidence.file_calls
    evidence.named_parameters
    evidence.notebooks
    evidence.object_changes
    evidence.plain_parsers
    evidence.script_runs
    evidence.sources
    evidence.statements
    gate
    gate.count_verdicts
    gate.dependents
    gate.doubted_counts
    gate.explanations
    gate.fill_in
    gate.formula_check
    gate.inside
    gate.measures
    gate.model_names
    gate.row_settings
    gate.report
    gate.rules.lint
    gate.rules.source_file
    gate.rules.values
    gate.script_runs
    gate.shards
    gate.stated_counts
    gate.ways
    ground.lines
    ground.notation.expression
    ground.version
    report
    report.check_data
    report.check_document
    report.findings
    report.folded_modules
    report.formats
    report.formats.markdown
    report.lines_by_file
    report.not_counted
    report.overview
    report.show_document
    repository.git
    repository.snapshot
    rewrite
    rewrite.budget_updates
    rewrite.docstring_edits
    rewrite.edits
    rewrite.new_budgets
    worker.in_process
""".split()
)


class UnreadModule(ModuleType):
    """A module whose file has not been read; any name that it lacks is the reason to do so."""

    def __getattr__(self, name: str) -> object:
        child = f"{self.__name__}.{name}"
        if PathFinder.find_spec(child, self.__dict__.get("__path__", ())):
            return import_module(child)  # of this package, which stays unread
        loader = self.__spec__ and self.__spec__.loader
        assert isinstance(loader, LateLoader)
        loader.read(self)
        return ModuleType.__getattribute__(self, name)


class LateLoader(SourceFileLoader):
    """Makes the module, and runs its file later."""

    def __init__(self, fullname: str, path: str) -> None:
        super().__init__(fullname, path)
        self._lock, self._is_reading = RLock(), False

    def exec_module(self, module: ModuleType) -> None:
        module.__class__ = UnreadModule

    def read(self, module: ModuleType) -> None:
        """Run the file, unless it is being run: then the name is not there yet. Another thread
        waits until all names are there; as no file imports itself by way of others, no two threads
        wait for each other."""
        with self._lock:
            is_read = type(module) is not UnreadModule
            if is_read or self._is_reading:
                return
            self._is_reading = True
            try:
                super().exec_module(module)
                module.__class__ = ModuleType
            finally:
                self._is_reading = False


class LateFinder(PathFinder):
    """Finds the modules of the list where Python would."""

    @classmethod
    def find_spec(
        cls, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = super().find_spec(fullname, path, target) if fullname in LATE else None
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = LateLoader(fullname, spec.loader.path)
        return spec


sys.meta_path.insert(0, LateFinder)
