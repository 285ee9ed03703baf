"""The models that depend on the given paths and are declared elsewhere in the project.

Whoever edits a layer and checks its file wants to know about the models that use it. There are two
sources: the import statements of the project's files, and the cache, which knows what earlier
builds have read. Only the cache knows about data, and about modules with computed names. A model
that may depend on the paths, and is in neither source, is built: then the cache knows it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from msgspec.structs import replace

from nparam_lint.discover.files import reader
from nparam_lint.discover.source_tree import SourceTree, reachable
from nparam_lint.gate.report import Elsewhere
from nparam_lint.ground.errors import UsageError
from nparam_lint.ground.paths import join, parent, place_of, within
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.repository import ask_git, deleted_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from nparam_lint.gate.candidates import Candidate, ProjectSource
    from nparam_lint.ground.findings import Finding

# Functions that run a file which no import statement names.
_COMPUTED = late_pattern(
    rb"\b(import_module|__import__|spec_from_file_location|SourceFileLoader|run_path|run_module"
    rb"|iter_modules|walk_packages|resolve_name|get_class|instantiate|locate)\s*\("
    rb"|(?<![\w.])exec\s*\("
)

# Suffixes of data files that models may read.
_DATA = tuple(".yaml .yml .json .toml .ini .cfg .csv .txt .npy .npz .pt .pth .pkl".split())


def with_dependents(
    source: ProjectSource,
    paths_read: Callable[[Sequence[Candidate], ProjectSource], Sequence[str | None]] | None,
) -> tuple[ProjectSource, Elsewhere]:
    """A source that was read with its `dependents`, without the models elsewhere that depend on
    none of its `places`; and the number of these models. `paths_read`: for each model the place
    that an earlier build of it has read; empty where it read none, None where that is not known,
    as of all of them without it.

    Raises UsageError for a place that never was, or has no project around it.
    """
    models = _ModelsElsewhere(source)
    models.explain_by_imports()
    unknown = [model for model in models.elsewhere if not model.because]
    if paths_read:
        unknown = _not_built_before(unknown, paths_read(unknown, source))
    models.explain_by_unknown_reads(unknown)
    dependent = sum(bool(model.because) for model in models.elsewhere)
    possible = sum(bool(model.because) for model in unknown)
    return models.narrowed(), Elsewhere(len(models.elsewhere), dependent - possible, possible)


class _ModelsElsewhere:
    """The declared models outside of the given places. `because` of what each depends on these is
    written into its candidate."""

    def __init__(self, source: ProjectSource) -> None:
        self.source = source
        self.is_given = within(source.places)
        self.tree = _tree(source)
        self.elsewhere = [
            r for r in source.candidates if r.is_declared and not self.is_given(r.target.location)
        ]
        at_fault = map(_at_fault, source.findings)
        self.locations = {*at_fault, *(r.target.built.location for r in self.elsewhere)}
        # A model inside another one is built from the other's file, which may be given.
        inside = {r.target.built.location for r in self.elsewhere if r.target.host}
        self.files = {
            at: _file(self.tree, at)
            for at in self.locations
            if at in inside or not self.is_given(at)
        }
        self.importers = _importers(self.tree, self.files.values())
        self.why: dict[str, str] = {}  # by locations

    def explain_by_imports(self) -> None:
        """What the source says: imports, the config, texts that state counts."""
        settings, places = self.source.settings, self.source.places
        ends = _ends(self.importers, filter(self.is_given, self.tree.files))
        self.why = {
            at: f"depends on {ends[file]}" for at, file in self.files.items() if file in ends
        }
        configs = {os.path.realpath(path) for path in (settings.config, *settings.extended) if path}
        for place in places:
            if os.path.realpath(settings.root / place) in configs:  # all models depend on it
                self.why = dict.fromkeys(self.files, f"is configured by {place}")
                break
        for model in self.elsewhere:
            docs = (b.position.path for b in model.budgets if b.origin == "docs")
            count_in = next((f"has a count in {path}" for path in docs if self.is_given(path)), "")
            model.because = count_in or self.why.get(model.target.built.location, "")

    def explain_by_unknown_reads(self, unknown: Sequence[Candidate]) -> None:
        """Of models of which no build has told what they read: they may depend on data, and on what
        is imported by a computed name."""
        if not unknown:
            return
        data = _data(self.source, self.tree)
        reached = {*self.files.values(), *self.importers}.intersection(self.tree.files)
        computing = (path for path in reached if _COMPUTED.search(self.tree.source(path)))
        computed = _ends(self.importers, computing)
        on = f"may depend on {data or self.source.places[0]}"
        for model in unknown:
            recipe, file = model.build.recipe, self.files[model.target.built.location]
            if data is not None or "import" in f"{recipe.setup} {recipe.call}" or file in computed:
                model.because = f"{on}: what it reads is known once it is built"

    def narrowed(self) -> ProjectSource:
        """The source without the models that depend on none of the places."""
        dependent = [r for r in self.elsewhere if r.because]
        in_scope = {*self.why, *filter(self.is_given, self.locations)}
        in_scope |= {r.target.location for r in dependent}
        in_scope |= {r.target.built.location for r in dependent}
        return replace(
            self.source,
            candidates=[
                r for r in self.source.candidates if self.is_given(r.target.location) or r.because
            ],
            findings=[
                f
                for f in self.source.findings
                if _at_fault(f) in in_scope or self.is_given(f.position.path)
            ],
        )


def _at_fault(finding: Finding) -> str:
    return finding.target.partition("::")[0] or finding.position.path


def _not_built_before(
    models: Sequence[Candidate], read_places: Sequence[str | None]
) -> list[Candidate]:
    """Those of the models of which no earlier build has told what it read; the others are told
    which of the places that was."""
    for model, place in zip(models, read_places, strict=True):
        model.because = f"depends on {place}" if place else ""
    return [model for model, place in zip(models, read_places, strict=True) if place is None]


def that_reach(location: str, source: ProjectSource) -> list[Candidate]:
    """The models of a source whose files import a file, directly or through others, or are it."""
    tree = source.discovery.tree
    files = {r.location: _file(tree, r.location) for r in source.candidates}
    reaching = _ends(_importers(tree, files.values()), [location])
    return [candidate for candidate in source.candidates if files[candidate.location] in reaching]


# --- what the source says ---------------------------------------------------------------------


def _tree(source: ProjectSource) -> SourceTree:
    """The project's files, and the deleted files among the places, so that files that still import
    them are found. Raises UsageError for a place that never was."""
    tree, session = source.discovery.tree, source.session
    gone: set[str] = set()
    for place in source.places:
        if not os.path.lexists(session.root / place):
            files = deleted_files(session.home / place)
            if not files:
                raise UsageError(f"there is no file or directory {place}")
            gone.update(place_of(path, session.home) for path in files)
    if not tree.files:
        path = session.home / source.places[0]
        raise UsageError(f"{path} is outside of a project: no Python file is around it")
    python = {path for path in gone if path.endswith(".py")}
    if not python:
        return tree
    return SourceTree(tree.files | python, reader(session.root), tree.name, session.store)


def _file(tree: SourceTree, location: str) -> str:
    """The file of the project that a target's location means, if any: itself, or a module's."""
    if location.endswith(".py"):
        return location
    prefixes = (join(root, location.replace(".", "/")) for root in ("", "src"))
    return next(filter(None, map(tree.module_file, prefixes)), location)


def _importers(tree: SourceTree, starts: Iterable[str]) -> dict[str, list[str]]:
    """For each file that importing these may run, the files that import it."""
    importers: dict[str, list[str]] = {}

    def run_by(path: str) -> Iterator[str]:
        for imported in _run_by(tree, path):
            importers.setdefault(imported, []).append(path)
            yield imported

    reachable(starts, run_by)
    return importers


def _run_by(tree: SourceTree, path: str) -> Iterator[str]:
    """The other files that importing one of them runs: its packages', and what it imports."""
    folder = parent(path)
    while folder and tree.is_package(folder):
        yield join(folder, "__init__.py")
        folder = parent(folder)
    if path not in tree.files:
        return
    yield from tree.leads_to(path).files
    if b"import *" not in tree.source(path):
        return
    for item in tree.facts(path).imports:
        if item.name != "*":
            continue
        # `from package import *` imports the modules that the package's `__all__` names.
        located = tree.locate(path, item.module) or ("", None)
        package = tree.relative(path, item.level, item.module) if item.level else located[1]
        if package is not None and tree.is_package(package):
            names = tree.facts(join(package, "__init__.py")).exports or ()
            yield from filter(None, (tree.module_file(join(package, name)) for name in names))


def _ends(importers: Mapping[str, Sequence[str]], ends: Iterable[str]) -> dict[str, str]:
    """For each file from which imports lead to one of these `ends`, the nearest of them."""
    # What a package holds says more than its __init__, which is run for all of it.
    nearest = {end: end for end in sorted(ends, key=lambda end: (end.endswith("__init__.py"), end))}
    todo = list(nearest)
    for path in todo:
        for importer in importers.get(path, ()):
            if importer not in nearest:
                nearest[importer] = nearest[path]
                todo.append(importer)
    return nearest


def _data(source: ProjectSource, tree: SourceTree) -> str | None:
    """A place that is no source, or a file in one that models may read: any code may do that."""
    git = ("ls-files", "-co", "--exclude-standard", "-z")
    for place in source.places:
        if place in tree.folders:
            listed = ask_git(source.session.home / place, *git) or b""
            names = (os.fsdecode(name) for name in listed.split(b"\0"))
            if data := next((name for name in names if name.endswith(_DATA)), None):
                return join(place, data)
        elif place not in tree.files:
            return place
    return None
