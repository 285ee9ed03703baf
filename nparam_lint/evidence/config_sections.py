"""Models that a section of a config file gives all arguments of, whatever reads it: `model: {width:
64, depth: 3, heads: 4}`, or `model: Net` beside `model_args: {width: 64}`."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from nparam_lint.discover.name_resolution import Symbol
from nparam_lint.evidence.config_files import ModelNode
from nparam_lint.ground.patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nparam_lint.discover.definitions import Definition
    from nparam_lint.evidence.config_files import ConfigFile, ConfigFiles
    from nparam_lint.ground.config_outline import Keys

_SECTION = late_pattern(
    r"(?P<name>(?:model|net|network|encoder|backbone)(?:_?\w)?)"
    r"(?P<arguments>_(?:args|params|kwargs|conf|config|cfg|opts?))?$"
)
_IN_TEXT = late_pattern(rf"^\s*[\"']?{_SECTION.pattern[:-1]}[\"']?\s*:\s*([{{#].*)?$", re.MULTILINE)
_TELLING = 3  # arguments that a model needs, by which it is known without its name
_INTERPOLATED = "${"


class ConfigSections:
    """The sections of config files that are the arguments of one model."""

    def __init__(self, files: ConfigFiles) -> None:
        self.files = files

    @cached_property
    def _models(self) -> list[tuple[Definition, set[str], set[str] | None]]:
        """Each with the names of the arguments that it needs, and of all; None: it takes any."""
        models: list[tuple[Definition, set[str], set[str] | None]] = []
        for item in self.files.discovery.definitions:
            parameters = item.parameters or ()
            needed = {p.name for p in parameters if p.required}
            is_open = any(p.kind in ("varargs", "varkwargs") for p in parameters)
            models.append((item, needed, None if is_open else {p.name for p in parameters}))
        return models

    def nodes(self, file: ConfigFile) -> Iterator[ModelNode]:
        """Those of a file, one for each of its sections."""
        if not _IN_TEXT.search(file.text):
            return
        values: dict[Keys, str] = {keys: value for keys, _, value in file.entries}
        for keys, line, value in file.entries:
            match = None if value else _SECTION.match(str(keys[-1]))
            if match is None:
                continue
            inside = {str(below[-1]): values[below] for below in values if below[:-1] == keys}
            if not inside or _INTERPOLATED in "".join(inside.values()):
                continue
            name = values.get((*keys[:-1], match["name"]), "") if match["arguments"] else ""
            fitting = [
                item
                for item, needed, every in self._models
                if needed <= inside.keys() and (every is None or inside.keys() <= every)
                if (_is_called(item, name) if name else every and len(needed) >= _TELLING)
            ]
            if len(fitting) == 1:
                (item,) = fitting
                is_class = item.kind == "class"
                symbol = Symbol("class" if is_class else "function", item.path, item.qualname)
                marker = match["name"] if "." in name else ""
                yield ModelNode(
                    file.path, keys, line, "section", item.qualname, symbol, marker=marker
                )


def _is_called(item: Definition, name: str) -> bool:
    """Whether a config names a model so: by its name, or by that behind the one of its module."""
    module, _, last = name.rpartition(".")
    file = "/" + module.replace(".", "/")
    return item.qualname == last and (
        not module or f"/{item.path}".endswith((f"{file}.py", f"{file}/__init__.py"))
    )
