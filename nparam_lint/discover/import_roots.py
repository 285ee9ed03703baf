"""How a file can be imported: under which name, and with which directories on the import path."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nparam_lint.discover.files import join, parent
from nparam_lint.records import ImportAttempt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nparam_lint.discover.source_tree import Tree


def import_plan(path: str, tree: Tree) -> tuple[ImportAttempt, ...]:
    """The ways to import the file, best first.

    The name comes from climbing its packages, unless the repository itself imports it under a
    longer one (packages without `__init__.py`), then from `src` and the root, then from shorter
    names that the repository uses, last from the file alone. Behind the directory that the name
    needs come those that the file's own imports need, directly or through other files.

    Whether a directory shadows an installed package only the worker can know.
    """
    secondary = _needed_roots(path, tree)
    reach = _relative_reach(path, tree)
    attempts: dict[tuple[str, str], ImportAttempt] = {}
    if reach == "" and tree.name:
        # The project's own directory is the package: its name is the first part of the dotted one.
        module = ".".join(filter(None, (tree.name, _module(path, ""))))
        attempts[module, ".."] = ImportAttempt(module, ("..", *secondary))
    for root in _name_roots(path, reach, tree):
        module = _module(path, root)
        if module:
            roots = tuple(dict.fromkeys((root, *secondary)))
            attempts.setdefault((module, root), ImportAttempt(module, roots))
    return tuple(attempts.values())


def _module(path: str, root: str) -> str:
    inside = path[len(root) + 1 :] if root else path
    dotted = inside[: -len(".py")].replace("/", ".")
    return "" if dotted == "__init__" else dotted.removesuffix(".__init__")


def _name_roots(path: str, reach: str | None, tree: Tree) -> Iterator[str]:
    """The directories above the file from which its dotted name may start, best first."""
    climbed = tree.climb(path)
    named: list[str] = []
    if climbed not in ("", "src"):  # else climbing says it all, and asking reads every file
        named = [root for root in _ancestors(parent(path)) if _imported_as(path, root, tree)]
    # The longest name first, if longer than the climbed one.
    longer = [root for root in reversed(named) if len(root) < len(climbed)]
    # A relative import fails unless the package that it names stands below the root.
    sound = [root for root in (*longer, climbed) if _within(reach, root)]
    # Packages without `__init__.py`: as near as the relative imports allow.
    yield from sound or (root for root in _ancestors(climbed) if _within(reach, root))
    yield from (root for root in ("src", "") if root == climbed or _within(climbed, root))
    yield climbed
    yield from named
    yield parent(parent(path)) if path.endswith("__init__.py") else parent(path)


def _ancestors(folder: str) -> Iterator[str]:
    """`folder` and all above it, up to the root ""."""
    yield folder
    while folder:
        folder = parent(folder)
        yield folder


def _within(folder: str | None, root: str) -> bool:
    """Is `folder` really below `root`?"""
    return folder is None or (folder != root and (not root or folder.startswith(f"{root}/")))


def _imported_as(path: str, root: str, tree: Tree) -> bool:
    """Does a file of the repository import this one by the name that it has below `root`?"""
    module = _module(path, root)
    here = (root, join(root, module.replace(".", "/")))
    return any(tree.locate(importer, module) == here for importer in tree.importers.get(module, ()))


def _needed_roots(path: str, tree: Tree) -> list[str]:
    """The directories from which absolute imports start, those of the file itself first."""
    found = dict.fromkeys((*tree.leads_to(path)[0], *tree.needed_roots.of(path)))
    own = parent(path)
    first = [own] if own in found else []
    usual = [root for root in ("src", "") if root in tree.folders]
    return [*first, *usual, *found]


def _relative_reach(path: str, tree: Tree) -> str | None:
    """The outermost package that relative imports name, from the file or from those that it
    reaches by relative imports; None where there are none."""
    return min(tree.relative_packages.of(path), key=len, default=None)
