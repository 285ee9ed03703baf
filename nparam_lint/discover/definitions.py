"""From files to model definitions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from nparam_lint.discover import installed_names
from nparam_lint.discover.files import list_importable, reader
from nparam_lint.discover.import_plan import ImportPlanner
from nparam_lint.discover.models import Models
from nparam_lint.discover.name_resolution import Names
from nparam_lint.discover.scan import scan_source
from nparam_lint.discover.source_tree import SourceTree
from nparam_lint.discover.syntax import rare_collection
from nparam_lint.records import Position

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from pathlib import Path

    from nparam_lint.cache.store import Store
    from nparam_lint.discover.parallel_scan import Scan
    from nparam_lint.records import Definition, ImportAttempt, Problem

_FEW = 300
_FEW_WORDS = 50  # up to which searching for each costs less than telling the words of a file apart
# What turns a file into the words in it, at the speed of memory.
_NO_WORD = bytes(
    byte if chr(byte).isalnum() or byte == ord("_") or byte > 127 else ord(" ")
    for byte in range(256)
)


@dataclass(frozen=True)
class Discovery:
    """What was found in `files`, of which those that could matter were `parsed`. `plan`, `names`
    and `modules` answer for any file of the project."""

    files: tuple[str, ...]
    parsed: tuple[str, ...]
    definitions: tuple[Definition, ...]
    problems: tuple[Problem, ...]
    models: Models

    @property
    def tree(self) -> SourceTree:
        return self.models.names.tree

    @cached_property
    def positions(self) -> dict[tuple[str, str], Position]:
        """(path, qualified name) → where it is defined."""
        return {(d.path, d.qualname): Position(d.path, d.line, d.column) for d in self.definitions}

    @cached_property
    def _planner(self) -> ImportPlanner:
        return ImportPlanner(self.tree)

    def plan(self, path: str) -> tuple[ImportAttempt, ...]:
        """The ways to import the file, best first."""
        with rare_collection():  # one plan may follow the imports of thousands of files
            return self._planner.plan(path)

    def modules(self, path: str) -> frozenset[str]:
        """The qualified names of the `nn.Module` classes that the file defines."""
        return self.models.modules(path) if path in self.tree.files else frozenset()

    def names(self, path: str) -> frozenset[str]:
        """The names at the file's top level; empty where there is no such file."""
        return self.models.names.names(path) if path in self.tree.files else frozenset()


def discover(
    root: Path,
    files: Sequence[str],
    *,
    read: Callable[[str], bytes] | None = None,
    importable: Iterable[str] | None = None,
    wanted: Collection[str] = (),
    declared_only: bool = False,
    store: Store | None = None,
    scan: Scan = scan_source,
) -> Discovery:
    """Find the model classes and the factories in `files` (relative to `root`).

    `read` replaces reading from disk (it raises OSError); `importable` the files that imports may
    reach (default: all Python files of the project). Test files count for what declares a budget
    only. With `declared_only` so do all files, and those without the word `nparam` are not even
    parsed: the hook's fast way. `wanted` files (named by the user, or by a budget in the config)
    are looked through in full in either case. `store`: where what a file's content says is kept
    for the next run; after it asked for plans, the caller has `SourceTree.remember` keep those too.
    `scan`: what reads a file; a function at the top level of a module.
    """
    if importable is None:
        importable = list_importable(root) if read is None else ()
    every = {*importable, *files}
    tree = SourceTree(every, read or reader(root), root.absolute().name, store, scan)
    with rare_collection():
        found = _discovered(tree, files, wanted, declared_only)
    tree.remember()
    return found


def _discovered(
    tree: SourceTree, files: Sequence[str], wanted: Collection[str], declared_only: bool
) -> Discovery:
    models = Models(Names(tree))
    strict: set[str] = set()  # those in which only a declared budget makes a definition
    parsed: list[str] = []
    rest: list[str] = []
    for path in files:
        source = tree.source(path)
        if path not in wanted and (declared_only or _is_test(path, source)):
            strict.add(path)
        # One that is empty perhaps could not be read: parsing it brings out why.
        if not source:
            parsed.append(path)
        elif _defines(source):
            if b"nparam" in source if path in strict else installed_names.is_hinted(source):
                parsed.append(path)
            elif path not in strict:
                rest.append(path)
    tree.scan_all(parsed)
    parsed += _naming_models(tree, models, rest)
    problems = (tree.facts(path).problem for path in parsed)
    return Discovery(
        tuple(files),
        tuple(sorted(set(parsed))),
        tuple(
            definition
            for path in sorted(set(parsed))
            for definition in models.definitions(path, declared_only=path in strict)
        ),
        tuple(problem for problem in problems if problem is not None),
        models,
    )


def _is_test(path: str, source: bytes) -> bool:
    *folders, name = path.split("/")
    if not {"test", "tests", "testing"}.isdisjoint(folders) or name == "conftest.py":
        return True
    # timm has layers/test_time_pool.py, which is a layer.
    return (name.startswith("test_") or name.endswith("_test.py")) and b"def test_" in source


def _defines(source: bytes) -> bool:
    return b"class " in source or b"def " in source


def _naming_models(tree: SourceTree, models: Models, rest: list[str]) -> list[str]:
    """Of the files without a word of torch those that may hold a model all the same, because they
    name one of the repository's (`class Tiny(BaseNet)`)."""
    if len(rest) <= _FEW:  # parsing them costs less than finding out
        return [path for path in rest if tree.leads_to(path)[1]]
    # The chain from a base to its heir may lead through any file of the project, so ask them all.
    fresh: list[str] = []
    left: list[str] = []
    without = frozenset(rest)
    for path in sorted(tree.files):
        hinted = path not in without and installed_names.is_hinted(tree.source(path))
        (fresh if hinted else left).append(path)
    added: set[str] = set()
    while fresh and left:
        words = {name.encode() for path in fresh for name in models.model_names(path)}
        fresh = [path for path in left if _has_any(words, tree.source(path))]
        added.update(fresh)
        left = [path for path in left if path not in added]
    return sorted(added.intersection(rest))


def _has_any(words: set[bytes], source: bytes) -> bool:
    if len(words) <= _FEW_WORDS and not any(word in source for word in words):
        return False
    return not words.isdisjoint(source.translate(_NO_WORD).split())
