"""The models that a notebook defines itself, as the notebook builds them."""

from __future__ import annotations

import ast
import dataclasses
import re
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

from nparam_lint.discover.syntax import dotted_name
from nparam_lint.evidence.places import DEFINITIONS, IMPORTS, SourceText
from nparam_lint.evidence.statements import (
    BUILTINS,
    does_work,
    expression,
    loads,
    source_of,
    stores,
)
from nparam_lint.evidence.texts import LARGE, NO_NOTEBOOK, TEXT, TextCalls, code_of_notebook
from nparam_lint.ground.grouping import grouped
from nparam_lint.ground.notation import Target
from nparam_lint.ground.orders import Recipe
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.ground.values import Position

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from nparam_lint.evidence import Evidence
    from nparam_lint.evidence.call_cuts import Cut
    from nparam_lint.evidence.file_calls import CalledFiles
    from nparam_lint.evidence.places import Place

_DEFINES_CLASS = late_pattern(rb"\bclass\s+\w+\s*\(\s*\w")
_HOME = "builtins"  # a module whose names are there anyway


def find_notebooks(files: CalledFiles, _: object) -> Iterator[Evidence]:
    """A way for each call of a model that is defined in the same notebook."""
    for path in files.query.other_files:
        if path.endswith(".ipynb") and (notebook := _notebook(files, path)):
            yield from notebook.evidence()
            for name in sorted(notebook.own):
                reason = "no cell builds it in a way that is followed"
                files.query.not_followed.setdefault(str(Target(path, name)), reason)


def recipes_of(files: CalledFiles, targets: Mapping[Target, str | None]) -> dict[Target, Recipe]:
    """How to build models of notebooks: with these arguments, or as the first call of each has
    them."""
    recipes: dict[Target, Recipe] = {}
    for path, inside in grouped(targets, lambda target: target.location).items():
        if (notebook := _notebook(files, path)) is None:
            continue
        first: dict[Target, Recipe] = {}
        for evidence in notebook.evidence():
            first.setdefault(evidence.target, dataclasses.replace(evidence.recipe, file=_HOME))
        for target in inside:
            if (arguments := targets[target]) is not None:
                recipes[target] = notebook.recipe(target.callable, arguments)
            elif target in first:
                recipes[target] = first[target]
    return recipes


def _notebook(files: CalledFiles, path: str) -> NotebookModels | None:
    content = files.query.content(path)
    if len(content) > LARGE or not _DEFINES_CLASS.search(content):
        return None
    with suppress(*NO_NOTEBOOK):  # which is said where calls are looked for
        code = code_of_notebook(content.decode("utf-8", "replace"))
        return NotebookModels(files, path, code, content.count(b"\n") + 1)
    return None


class NotebookModels(TextCalls):
    """The calls of the models of one notebook. Each brings along what it needs of the notebook, its
    class among it: a notebook cannot be imported."""

    def __init__(self, search: CalledFiles, path: str, text: str, last: int) -> None:
        super().__init__(search, path, text, last)
        self.text = SourceText(
            text, self.tree, self.is_harmless, path=path, is_part=self.is_part, bases=self.bases
        )

    @cached_property
    def own(self) -> set[str]:
        """The names of the models that the notebook defines at its top level."""
        models, names = self.search.discovery.models, set[str]()
        for node in self.tree.body:
            if isinstance(node, ast.ClassDef):
                bases = [name for name in map(dotted_name, node.bases) if name]
                if not names.isdisjoint(bases) or any(
                    models.is_model(self.resolve(name)) for name in bases
                ):
                    names.add(node.name)
        return names

    def places(self) -> Iterator[Place]:
        pattern = re.compile(rf"\b({'|'.join(map(re.escape, sorted(self.own)))})\s*\(")
        places = self.text.places(pattern) if self.own else ()
        return (p for p in places if self.own.isdisjoint(owner.name for owner in p.classes))

    def placed(self, _: Place) -> tuple[int, bool]:
        return TEXT, False

    def targets(self, call: ast.Call) -> Iterator[tuple[Target, str]]:
        self.line = call.lineno
        if (name := dotted_name(call.func)) in self.own:
            yield Target(self.path, name), ""

    def is_part(self, call: ast.Call) -> bool:
        return dotted_name(call.func) in self.own or super().is_part(call)

    def is_harmless_by_name(self, call: ast.Call) -> bool:
        name = dotted_name(call.func)
        is_own = name in self.text.definitions
        return not does_work(name) if is_own else super().is_harmless_by_name(call)

    def prepares(self, _: Target) -> bool:
        return True  # what is called without arguments has to be defined, too

    def is_whole_when_loaded(self, _: Target) -> bool:
        return False  # a notebook is not loaded

    def evidence_of(
        self, target: Target, call: ast.Call, cut: Cut, at: Position, rank: int, part: str
    ) -> Evidence:
        at = at if at.line <= self.last else Position(at.path)
        statements = [*self.defining(call, *cut.statements), *cut.statements]
        return self.search.evidence(target, call, statements, at, rank, _HOME, part)

    def recipe(self, name: str, arguments: str) -> Recipe:
        """What builds a model of the notebook with these arguments."""
        call = expression(f"{name}({arguments})")
        call.lineno = self.last + 1
        return Recipe(setup=source_of(self.defining(call)), call=ast.unparse(call), file=_HOME)

    def defining(self, call: ast.expr, *statements: ast.stmt) -> list[ast.stmt]:
        """The imports, definitions and constants of the notebook that a call needs, with the
        statements before it, imports first: of those of one name the last before the call."""
        needed: dict[ast.stmt, None] = {}
        made = (node for node in statements if not isinstance(node, IMPORTS))
        names = {name for node in made for name in stores(node)}
        todo: list[ast.AST] = [call, *statements]
        stars = [node for node in self.tree.body if "*" in stores(node)]
        while todo:
            for name in loads(todo.pop()) - names:
                names.add(name)
                is_sure = name in self.text.available
                kinds = ast.stmt if is_sure else (*IMPORTS, *DEFINITIONS)
                body = (node for node in self.tree.body if isinstance(node, kinds))
                every = [node for node in body if name in stores(node)]
                before = [node for node in every if node.lineno < call.lineno] or every
                defining = before[-1:] if every or name in BUILTINS else stars
                needed |= dict.fromkeys(defining)
                todo += before[-1:]
        return sorted(needed, key=lambda node: (not isinstance(node, IMPORTS), node.lineno))
