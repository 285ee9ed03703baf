"""Config files in Python, as mmengine reads them: `model = dict(type="ImageClassifier", …)`."""

from __future__ import annotations

import ast
import re
from functools import cached_property
from posixpath import normpath
from typing import TYPE_CHECKING

from nparam_lint.discover.source_tree import cyclic_method
from nparam_lint.discover.syntax import text_of
from nparam_lint.evidence.config_files import ModelNode
from nparam_lint.ground.orders import Recipe
from nparam_lint.ground.paths import join, parent
from nparam_lint.ground.patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nparam_lint.evidence import Evidence
    from nparam_lint.evidence.config_files import ConfigFiles

_CONFIG = late_pattern(rb"^(_base_\s*=|model\s*=\s*dict\()", re.MULTILINE)


class RegistryConfigs:
    """The Python configs of a project that has a registry of models."""

    def __init__(self, files: ConfigFiles) -> None:
        self.files = files
        self._tree = files.discovery.tree

    @cached_property
    def _registry(self) -> str | None:
        """The file that defines the registry."""
        return min(self.files.query.python_with("MODELS = Registry("), key=len, default=None)

    @cached_property
    def _reader(self) -> str:
        """The module whose `Config` reads them: mmengine's, or what the project has of its own."""
        paths = self.files.query.python_with("def fromfile(")
        own = [path for path in paths if b"\nclass Config" in self._tree.source(path)]
        if not (own and self._registry):
            return "mmengine.config"
        return self.files.query.module_for(min(own, key=len), self._registry)

    def __iter__(self) -> Iterator[tuple[ModelNode, Evidence]]:
        for path in sorted(self._tree.files) if self._registry else ():
            source = self._tree.source(path)
            is_part = any(part.startswith("_") for part in path.split("/"))  # configs/_base_
            if is_part or not _CONFIG.search(source):
                continue
            line, name = self._model(path)
            symbol = self.files.registered(name, path) if line else None
            if symbol:
                setup = f"from {self._reader} import Config\nconfig = Config.fromfile({path!r})"
                recipe = Recipe(
                    setup=setup, call="MODELS.build(config['model'])", file=self._registry
                )
                node = ModelNode(path, ("model",), line, "registry", name, symbol)
                yield node, node.evidence(recipe)

    @cyclic_method((0, ""))  # many configs have one base
    def _model(self, path: str) -> tuple[int, str]:
        """The line of a config that sets the model, or names the file that does; and its type."""
        line, name = 0, ""
        for node in self.files.query.syntax(path).body if path in self._tree.files else ():
            target = node.targets[0] if isinstance(node, ast.Assign) else None
            if not isinstance(node, ast.Assign) or not isinstance(target, ast.Name):
                continue
            if target.id == "_base_":
                for base in _texts(node.value):
                    if inherited := self._model(normpath(join(parent(path), base)))[1]:
                        line, name = node.lineno, inherited
            elif target.id == "model" and isinstance(node.value, ast.Call):
                kinds = (_texts(item.value) for item in node.value.keywords if item.arg == "type")
                line, name = node.lineno, next((text for kind in kinds for text in kind), name)
        return (line, name) if name else (0, "")


def _texts(node: ast.expr) -> list[str]:
    parts = node.elts if isinstance(node, (ast.List, ast.Tuple)) else [node]
    return [text for part in parts if (text := text_of(part)) is not None]
