"""The repository's importable files: the facts of each, and which file an import refers to."""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from functools import cached_property, wraps
from itertools import pairwise
from posixpath import normpath
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from msgspec.structs import replace

from nparam_lint.cache.file_facts import FactCache
from nparam_lint.discover import parallel_scan
from nparam_lint.discover.definitions import Problem
from nparam_lint.discover.scan import (
    A_PROCESS,
    FileFacts,
    Imports,
    import_statements,
    scan_source,
    scan_within,
)
from nparam_lint.ground.facts import digest as digest_of
from nparam_lint.ground.paths import ancestors, join, parent
from nparam_lint.ground.values import Position

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator

    from nparam_lint.cache.store import Store
    from nparam_lint.discover.scan import Scan
    from nparam_lint.ground.values import Severity

_Method = TypeVar("_Method", bound="Callable[..., Any]")
_Node = TypeVar("_Node", bound="Hashable")
# Packages that a repository's own directory of that name must not be taken for.
_PACKAGES = frozenset(
    """
    torch torchvision torchaudio torchtext torch_geometric transformers timm diffusers
    lightning pytorch_lightning lightning_fabric mmengine mmcv mmdet mmseg mmcls mmpretrain
    fairseq peft accelerate datasets detectron2 monai numpy scipy sklearn pandas tensorflow
    keras jax flax triton huggingface_hub wandb hydra omegaconf einops tokenizers safetensors
    tqdm yaml pytest
    """.split()
)


def cyclic_method(*meanwhile: object) -> Callable[[_Method], _Method]:
    """`functools.cache` for a method that may come back to its own question, to which the answer is
    `meanwhile` as long as it is looked for. What it answered is kept with the instance."""

    def decorate(method: _Method) -> _Method:
        name = f"_answers_of_{method.__name__}"

        @wraps(method)
        def ask(self: Any, *key: Hashable) -> Any:
            answers = self.__dict__.setdefault(name, {})
            if key not in answers:
                if meanwhile:
                    (answers[key],) = meanwhile
                answers[key] = method(self, *key)
            return answers[key]

        return ask  # type: ignore[return-value]

    return decorate


cached_method = cyclic_method()  # one that does not come back


def reachable(starts: Iterable[_Node], links: Callable[[_Node], Iterable[_Node]]) -> list[_Node]:
    """The starts, and all that their links lead to, each once."""
    nodes = dict.fromkeys(starts)
    pending = [*nodes]
    while pending:
        fresh = [node for node in links(pending.pop()) if node not in nodes]
        nodes.update(dict.fromkeys(fresh))
        pending += fresh
    return [*nodes]


class Leads(NamedTuple):
    """Where the imports of a file lead. `roots`: those that absolute imports need; `files`: the
    files that any import runs; `packages`: those from which relative imports start; `siblings`: the
    files that these name; `surely`: the files that are run by imports at top level, under no
    condition and in no function."""

    roots: tuple[str, ...]
    files: tuple[str, ...]
    packages: tuple[str, ...]
    siblings: tuple[str, ...]
    surely: tuple[str, ...]


class SourceTree:
    """`files`: all Python files that imports may reach, relative to the root. `reader` gives the
    content of one of them, or raises OSError. `name`: what the root directory is called. `store`:
    where what was worked out from a content is kept for the next run (see `remember`). `scan`: what
    reads a content; a function at the top level of a module. `timeout`: seconds for one file."""

    def __init__(
        self,
        files: Iterable[str],
        reader: Callable[[str], bytes],
        name: str = "",
        store: Store | None = None,
        scan: Scan = scan_source,
        timeout: float = 60.0,
    ) -> None:
        self.files = frozenset(files)
        self.name = name
        self._read = reader
        self._scan = scan
        self._timeout = timeout
        self._digests: dict[str, str] = {}
        self._fact_cache = FactCache[FileFacts](store, "facts", FileFacts)
        self._import_cache = FactCache[Imports](store, "imports", Imports)
        self._facts: dict[str, FileFacts] = {}

    # --- content ------------------------------------------------------------------------------

    def source(self, path: str) -> bytes:
        """The file's content; empty where it cannot be read."""
        try:
            return self._content(path)
        except OSError:
            return b""

    def digest(self, path: str) -> str:
        """A name for the content that the file's facts are about. Raises OSError."""
        if path not in self._digests:
            self._content(path)
        return self._digests[path]

    def _content(self, path: str) -> bytes:
        content = self._read(path)
        if path not in self._digests:
            self._digests[path] = digest_of(content)
        return content

    def facts(self, path: str) -> FileFacts:
        if path not in self._facts:
            try:
                self._facts[path] = self._cached(path) or self._scanned(path, self._read(path))
            except OSError as error:
                reason = f"cannot be read: {error.strerror or error}"
                # A directory: nobody knows whether there is any source in it.
                severity: Severity = "warning" if path.endswith("/") else "error"
                problem = Problem(Position(path), reason, severity)
                self._facts[path] = FileFacts(path, problem=problem)
        return self._facts[path]

    def scan_all(self, paths: Iterable[str]) -> None:
        """Read the files that are not known yet, on all cores if they are many."""
        contents: dict[str, bytes] = {}
        path_by_digest: dict[str, str] = {}  # of several files with one content, one is read
        for path in paths:
            with suppress(OSError):
                facts = self._facts.get(path) or self._cached(path)
                if facts is not None:
                    self._facts[path] = facts
                elif path_by_digest.setdefault(self.digest(path), path) == path:
                    contents[path] = self._read(path)
        if sum(map(len, contents.values())) < A_PROCESS:
            return  # each is read when it is asked for
        for path, (facts, imports) in parallel_scan.scan_many(contents, self._scan, self._timeout):
            self._facts[path] = self._scanned(path, contents[path], facts)
            self._import_cache.put(self._digests[path], imports)

    def _cached(self, path: str) -> FileFacts | None:
        facts = self._fact_cache.get(self.digest(path))
        if facts and facts.suspect is None and self._scan is not scan_source:
            return None  # a run that has no use for the rules has read it
        return facts and _moved(facts, path)

    def _scanned(self, path: str, content: bytes, facts: FileFacts | None = None) -> FileFacts:
        """What the content says, which others may have read; kept for the next run."""
        facts = facts or scan_within(self._scan, self._timeout, path, content)
        self._digests[path] = digest_of(content)
        if not facts.fleeting:
            self._fact_cache.put(self._digests[path], _moved(facts, ""))
        return facts

    @cached_method
    def imports(self, path: str) -> Imports:
        """Every import statement of the file, those inside functions too."""
        try:
            digest = self.digest(path)
        except OSError:
            return ()
        statements = self._import_cache.get(digest)
        if statements is None:
            statements = import_statements(self.source(path))
            self._import_cache.put(digest, statements)
        return statements

    def remember(self) -> None:
        """Keep what was worked out since the last call for the next run."""
        self._fact_cache.save(self.room)
        self._import_cache.save(self.room)

    @property
    def room(self) -> int:
        """How many contents are kept: enough for other branches, and for edits that may be
        reverted, but not for the whole history of the project."""
        return 2 * len(self.files) + 100

    # --- layout -------------------------------------------------------------------------------

    @cached_property
    def folders(self) -> frozenset[str]:
        """All directories with Python files at or below them; "" is the root."""
        return frozenset({""}.union(*map(ancestors, {parent(path) for path in self.files})))

    @cached_property
    def holders(self) -> dict[str, list[str]]:
        """For each name that could be imported, the directories in which it stands."""
        holders: dict[str, set[str]] = {}
        for path in self.files:
            holders.setdefault(path.rpartition("/")[2][:-3], set()).add(parent(path))
        for folder in self.folders - {""}:
            holders.setdefault(folder.rpartition("/")[2], set()).add(parent(folder))
        return {name: sorted(folders) for name, folders in holders.items()}

    def is_package(self, folder: str) -> bool:
        return join(folder, "__init__.py") in self.files

    def is_module(self, prefix: str) -> bool:
        return prefix in self.folders or f"{prefix}.py" in self.files

    def module_file(self, prefix: str) -> str | None:
        """The file that importing the module or package at `prefix` runs; None: a bare folder."""
        for path in (join(prefix, "__init__.py"), f"{prefix}.py"):
            if path in self.files:
                return path
        return None

    def climb(self, path: str) -> str:
        """The first directory above the file that is no package; at most the root."""
        folders = ancestors(parent(path))
        return next(folder for folder in folders if not (folder and self.is_package(folder)))

    # --- imports ------------------------------------------------------------------------------

    def relative(self, path: str, level: int, module: str) -> str | None:
        """The prefix that `from ..module import` means in the file; None: above the root."""
        above = list(ancestors(parent(path)))
        if level > len(above):
            return None
        prefix = join(above[level - 1], module.replace(".", "/"))
        return prefix if self.is_module(prefix) else None

    @cached_method
    def locate(self, path: str, module: str) -> tuple[str, str] | None:
        """The root and the prefix that `import module` means in the file, if it is the project's.

        Tried in this order: where the file's own package stands, `src`, the project root, the
        file's directory, the directories above it, and the only other one that has such a module.
        """
        head = module.partition(".")[0]
        holders = self.holders.get(head)
        if not holders:
            return None
        relative = module.replace(".", "/")
        for root in dict.fromkeys(self._roots(path, head)):
            prefix = join(root, relative)
            # No file imports itself: `import whisper` in audio/whisper.py means the package.
            itself = prefix == path[: -len(".py")]
            is_there = root in holders and self.is_module(prefix) and not itself
            is_there = is_there and not self._is_project_of(join(root, head))
            if is_there and not self._wraps_or_belongs(path, module, root):
                return root, prefix
        if head in _PACKAGES or head in sys.stdlib_module_names:
            return None
        # A directory from which scripts import is no package itself, unless they say so.
        source = self.source(path) if b"sys.path" in self.source(path) else b""
        text = source.decode("utf-8", "replace")
        added = re.findall(r"[\"'/]([\w-]+)[\"'/]", text)
        roots = [
            root
            for root in holders
            if (not self.is_package(root) or root.rpartition("/")[2] in added)
            and self.is_module(join(root, relative))
            and not self._is_project_of(join(root, head))
            and not self._wraps_or_belongs(path, module, root)
        ]
        if len(roots) > 1:  # one of them is added by its path, from beside the script or the top
            paths = re.findall(r"sys\.path\.\w+\([^\n]*?[\"']([^\"'\n]+)[\"']", text)
            beside = (normpath(join(at, added)) for at in (parent(path), "") for added in paths)
            roots = [root for root in beside if root in roots][:1]
        return (roots[0], join(roots[0], relative)) if len(roots) == 1 else None

    def _is_project_of(self, folder: str) -> bool:
        """Whether a folder is no package, but the project of one of that name, to be installed."""
        package = join(folder, folder.rpartition("/")[2])
        has_setup = join(folder, "setup.py") in self.files
        return has_setup and self.is_package(package) and not self.is_package(folder)

    def _wraps_or_belongs(self, path: str, module: str, root: str) -> bool:
        """Whether `import module` means an installed package, although `root` has a file of that
        name: one that imports the package itself; or one that is imported as a part of the package
        around it, and binds nothing of what the import names."""
        head = module.partition(".")[0]
        name = join(root, head)
        file = self.module_file(name)
        if file == f"{name}.py" and file != path:
            absolute = (to.partition(".")[0] for level, to, *_ in self.imports(file) if not level)
            if head in absolute:
                return True
        if not self.is_package(root) or "/".join(name.split("/")[-2:]) not in self._members:
            return False
        prefix = join(root, module.replace(".", "/"))
        file = self.module_file(prefix)
        bound = self.facts(file).names if file else ()
        return not any(
            name in bound or self.is_module(join(prefix, name))
            for level, to, names, _ in self.imports(path)
            if not level and to == module
            for name in names
        )

    def misleads(self, path: str) -> bool:
        """Whether an import of the file means an installed package, and would find a file beside it
        if the file's own directory were on the import path."""
        folder = parent(path)
        return any(
            folder in self.holders.get(module.partition(".")[0], ())
            and self._wraps_or_belongs(path, module, folder)
            for level, module, *_ in self.imports(path)
            if not level
        )

    @cached_property
    def _members(self) -> frozenset[str]:
        """`package/module` of all that is imported as a part of a package."""
        members: set[str] = set()
        for path in self.files:
            for level, module, names, _ in self.imports(path):
                start = self.relative(path, level, module) if level else module.replace(".", "/")
                for name in ("", *names):
                    parts = join(start or "", name).split("/")
                    members.update(map("/".join, pairwise(parts)))
        return frozenset(members)

    def _roots(self, path: str, head: str) -> Iterator[str]:
        if head in _PACKAGES:
            # `tools/torch` is not torch; but this may be the repository of timm itself.
            yield from (root for root in ("src", "") if self.is_package(join(root, head)))
            return
        folder = parent(path)
        if head in sys.stdlib_module_names:
            # A script's own directory comes before the standard library; nothing else does.
            yield from () if self.is_package(folder) else (folder,)
            return
        yield self.climb(path)
        yield from ("src", "", *ancestors(folder))

    @cached_method
    def leads_to(self, path: str) -> Leads:
        leads: tuple[dict[str, None], ...] = ({}, {}, {}, {}, {})
        roots, files, packages, siblings, surely = leads
        above = [*ancestors(parent(path))]
        for level, module, names, is_sure in self.imports(path):
            if level:
                prefix = self.relative(path, level, module)
                packages[above[:level][-1]] = None
            else:
                root, prefix = self.locate(path, module) or (None, None)
                if root is not None:
                    roots[root] = None
            names = names if prefix in self.folders else ()  # else they are no modules
            for inner in () if prefix is None else (prefix, *(join(prefix, n) for n in names)):
                run = tuple(self._run_by(inner))
                files.update(dict.fromkeys(run))
                surely.update(dict.fromkeys(run if is_sure else ()))
                if level:
                    siblings.update(dict.fromkeys(run[:1]))
        return Leads(*map(tuple, leads))

    def run_with(self, paths: Iterable[str]) -> list[str]:
        """These files, and all files that importing them is certain to run, each once."""
        return reachable(paths, lambda path: self.leads_to(path).surely)

    def may_run_with(self, paths: Iterable[str]) -> list[str]:
        """The same with all files that what they import may run, in a function or a branch."""
        return reachable(paths, lambda path: self.leads_to(path).files)

    def _run_by(self, prefix: str) -> Iterator[str]:
        """The files that importing the module at `prefix` runs: its packages' and its own."""
        file = self.module_file(prefix)
        if file is not None:
            yield file
            while (prefix := parent(prefix)) and self.is_package(prefix):
                yield join(prefix, "__init__.py")


def _moved(facts: FileFacts, path: str) -> FileFacts:
    """The facts of the same content at another path."""

    def moved(problem: Problem) -> Problem:
        return replace(problem, position=replace(problem.position, path=path))

    problem, unread = facts.problem, facts.unread
    return replace(
        facts, path=path, problem=problem and moved(problem), unread=tuple(map(moved, unread))
    )
