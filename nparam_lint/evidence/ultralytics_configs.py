"""Config files that ultralytics builds detectors by: with `backbone`, `head`, and `scales` by a
letter of the file's name (`yolo11n.yaml` is size `n` of `yolo11.yaml`)."""

from __future__ import annotations

import re
from posixpath import basename
from typing import TYPE_CHECKING

from nparam_lint.discover.name_resolution import Symbol
from nparam_lint.evidence.config_files import ModelNode
from nparam_lint.ground.orders import Recipe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nparam_lint.evidence.config_files import ConfigFiles

_IMPORT = "from ultralytics import "
_BEFORE_SIZE = re.compile(r"yolo(?:e-)?v?\d+(?![nslmx\d])")
# What its head, or its name, says of the class that reads it; anything else is a YOLO.
_CLASSES = {"RTDETRDecoder": "RTDETR", "yoloe-": "YOLOE"}


class UltralyticsConfigs:
    """Those of a project that imports ultralytics, or has its own copy."""

    def __init__(self, files: ConfigFiles) -> None:
        self.files = files

    def __iter__(self) -> Iterator[tuple[ModelNode, Recipe, str]]:
        """Each size of each file, with the name that stands for it."""
        own = self.files.python_with("def yaml_model_load(")
        if not (own or self.files.python_with(_IMPORT)):
            return
        for path in self.files.paths:
            file = self.files.file(path) if path.endswith((".yaml", ".yml")) else None
            if file is None or "backbone:" not in file.text:
                continue
            lines = {entry.keys: entry.line for entry in file.entries}
            if not {("backbone",), ("head",), ("scales",)} <= lines.keys():
                continue
            text = f"{basename(path)}\n{file.text}"
            kind = next((name for mark, name in _CLASSES.items() if mark in text), "YOLO")
            symbol = Symbol("outside", "", f"ultralytics.{kind}")
            sized = _BEFORE_SIZE.search(basename(path))
            sizes = [keys for keys in lines if keys[:1] == ("scales",) and len(keys) == 2]
            for keys in sizes if sized else [("scales",)]:
                end = len(path) - len(basename(path)) + (sized.end() if sized else 0)
                name = f"{path[:end]}{keys[-1] if sized else ''}{path[end:]}"
                node = ModelNode(path, keys, lines[keys], "ultralytics", kind, symbol)
                setup, call = f"{_IMPORT}{kind}", f"{kind}({name!r}).model"
                yield node, Recipe(setup=setup, call=call, file=own[0] if own else "torch"), name
