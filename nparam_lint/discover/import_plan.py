"""How a file can be imported: under which name, and with which directories on the import path."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from nparam_lint.ground.orders import ImportAttempt
from nparam_lint.ground.paths import ancestors, join, parent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from nparam_lint.discover.source_tree import SourceTree


class ImportPlanner:
    """Plans imports of the files of one tree."""

    def __init__(self, tree: SourceTree) -> None:
        self._tree = tree
        # The roots that absolute imports need, of a file and of all that importing it imports.
        self._roots = Closures(lambda path: tree.leads_to(path)[:2])
        # The packages that relative imports start from, of a file and of those that it so reaches.
        self._packages = Closures(lambda path: tree.leads_to(path)[2:4])

    def plan(self, path: str) -> tuple[ImportAttempt, ...]:
        """The ways to import the file, best first.

        The name comes from climbing its packages, unless the repository itself imports it under a
        longer one (packages without `__init__.py`), then from `src` and the root, then from shorter
        names that the repository uses, last from the file alone. Behind the directory that the name
        needs come those that the file's own imports need, directly or through other files.

        Only the worker can know whether a directory shadows an installed package.
        """
        # The directories from which absolute imports start, those of the file itself first.
        needed = dict.fromkeys((*self._tree.leads_to(path).roots, *self._roots.of(path)))
        beside = [parent(path)] if parent(path) in needed else []
        usual = [root for root in ("src", "") if root in self._tree.folders]
        further = [*beside, *usual, *needed]
        # The outermost package that relative imports name; None where there are none.
        outermost = min(self._packages.of(path), key=len, default=None)
        attempts: dict[tuple[str, str], ImportAttempt] = {}
        name = self._tree.name
        if outermost == "" and name:
            # The project's own directory is the package: the dotted name begins with its name.
            module = ".".join(filter(None, (name, _module(path, ""))))
            attempts[module, ".."] = ImportAttempt(module, ("..", *further))
        for root in self._name_roots(path, outermost):
            module = _module(path, root)
            if all(module.split(".")):  # below a hidden folder there is no such name
                roots = tuple(dict.fromkeys((root, *further)))
                attempts.setdefault((module, root), ImportAttempt(module, roots))
        return tuple(attempts.values())

    def _name_roots(self, path: str, outermost: str | None) -> Iterator[str]:
        """The directories above the file from which its dotted name may start, best first."""
        climbed = self._tree.climb(path)
        importing: list[str] = []  # below which a file of the repository names this one
        if climbed not in ("", "src"):  # else climbing says it all, and asking reads every file
            for root in ancestors(parent(path)):
                module = _module(path, root)
                here = (root, join(root, module.replace(".", "/")))
                importers = self._importers.get(module, ())
                if any(self._tree.locate(importer, module) == here for importer in importers):
                    importing.append(root)
        # The longest name first, if longer than the climbed one.
        longer = [root for root in reversed(importing) if len(root) < len(climbed)]
        # A relative import fails unless the package that it names stands below the root.
        sound = [root for root in (*longer, climbed) if _within(outermost, root)]
        # Packages without `__init__.py`: as near as the relative imports allow.
        yield from sound or (root for root in ancestors(climbed) if _within(outermost, root))
        yield from (root for root in ("src", "") if root == climbed or _within(climbed, root))
        yield climbed
        yield from importing
        if path.endswith("__init__.py"):
            yield parent(parent(path))
        elif not self._tree.misleads(path):
            yield parent(path)

    @cached_property
    def _importers(self) -> dict[str, list[str]]:
        """For each dotted name that is imported absolutely, the files that do so."""
        importers: dict[str, list[str]] = {}
        for path in sorted(self._tree.files):
            for level, module, names, _ in self._tree.imports(path):
                if not level:
                    for dotted in (module, *(f"{module}.{name}" for name in names)):
                        importers.setdefault(dotted, []).append(path)
        return importers


def _module(path: str, root: str) -> str:
    inside = path[len(root) + 1 :] if root else path
    dotted = inside[: -len(".py")].replace("/", ".")
    return "" if dotted == "__init__" else dotted.removesuffix(".__init__")


def _within(folder: str | None, root: str) -> bool:
    """Is `folder` really below `root`?"""
    return folder is None or (folder != root and (not root or folder.startswith(f"{root}/")))


class Closures:
    """For a node, the values of it and of every node that can be reached from it, each once.
    `links` gives the values of one node, and the nodes that follow it.

    Nodes in one cycle have the same result: each strongly connected component is computed once
    (Tarjan's algorithm, without recursion), so that asking for all nodes costs no more than for
    one. Files that import each other in cycles form such components: in a large package nearly all
    files are in one.
    """

    def __init__(self, links: Callable[[str], tuple[Sequence[str], Sequence[str]]]) -> None:
        self._links = links
        self._values: dict[str, tuple[str, ...]] = {}

    def of(self, start: str) -> tuple[str, ...]:
        if start in self._values:
            return self._values[start]
        links = {start: self._links(start)}
        index, low = {start: 0}, {start: 0}
        path, on_path = [start], {start}
        work = [(start, iter(links[start][1]))]
        while work:
            node, following = work[-1]
            for successor in following:
                if successor in self._values:
                    continue
                if successor not in index:
                    index[successor] = low[successor] = len(index)
                    path.append(successor)
                    on_path.add(successor)
                    links[successor] = self._links(successor)
                    work.append((successor, iter(links[successor][1])))
                    break
                if successor in on_path:
                    low[node] = min(low[node], index[successor])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    part = [path.pop()]
                    while part[-1] != node:
                        part.append(path.pop())
                    on_path.difference_update(part)
                    values: dict[str, None] = {}
                    for member in reversed(part):
                        values.update(dict.fromkeys(links[member][0]))
                        for successor in links[member][1]:
                            values.update(dict.fromkeys(self._values.get(successor, ())))
                    self._values.update(dict.fromkeys(part, tuple(values)))
        return self._values[start]
