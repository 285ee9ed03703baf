"""Config files that list a model's layers, as those of YOLO do: a line `[from, repeats, module,
arguments]` for each, below `backbone` and `head`. Those of ultralytics are built by its own YOLO,
others by a class that has such a file as a default; one with `scales` by its name with that of a
scale: `yolov8n.yaml` of `yolov8.yaml`."""

from __future__ import annotations

import re
from posixpath import basename, splitext
from typing import TYPE_CHECKING

from nparam_lint.evidence import Evidence
from nparam_lint.ground.notation import Target
from nparam_lint.ground.orders import Recipe
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.ground.values import Position, Way

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nparam_lint.evidence.config_files import ConfigFile, ConfigFiles

_DEFAULT = late_pattern(r"""['"]([\w./-]+\.ya?ml)['"]$""")
# Up to the version in a file's name, where no scale follows.
_NUMBER = late_pattern(r"^(?:.*/)?[^/\d]*\d+(?![\da-z])")
_IMPORT = "from ultralytics import "
# What its head, or its name, says of the class of ultralytics that reads it; else it is a YOLO.
_CLASSES = {"RTDETRDecoder": "RTDETR", "yoloe-": "YOLOE"}
_LISTS = frozenset({"backbone", "head"})


def _words(path: str) -> set[str]:
    """Those of a file's name, without version and scale: `yolo`, `seg` of `yolov8n-seg.yaml`."""
    name = re.sub(r"v?\d+[a-z]?", "-", splitext(basename(path))[0].lower())
    return set(re.findall("[a-z]{2,}", name))


def _lists_layers(file: ConfigFile) -> bool:
    return "backbone" in file.text and {entry.keys[0] for entry in file.entries} >= _LISTS


def layer_lists(files: ConfigFiles) -> Iterator[Evidence]:
    """The files of this kind, each built by ultralytics, or by the class whose default is called
    most like it."""
    listing = [file for at in files.paths if (file := files.file(at)) and _lists_layers(file)]
    if not listing:
        return
    copies = files.query.python_with("def yaml_model_load(")  # of ultralytics
    is_read = bool(copies or files.query.python_with(_IMPORT))
    classes = [
        (definition, parameter.name, _words(match[1]))
        for definition in files.discovery.definitions
        for parameter in definition.parameters or ()
        if (match := _DEFAULT.match(parameter.default or ""))
    ]
    for file in listing:
        path = file.path
        scales = [e for e in file.entries if e.keys[0] == "scales" and len(e.keys) == 2]
        names = {_NUMBER.sub(rf"\g<0>{scale.keys[1]}", path): scale for scale in scales}
        if is_read and scales:
            text = f"{basename(path)} {file.text}"
            kind = next((name for mark, name in _CLASSES.items() if mark in text), "YOLO")
            for name, scale in names.items():
                way = Way("config", Position(path, scale.line), name)
                recipe = Recipe(setup=_IMPORT + kind, call=f"{kind}({name!r}).model")
                yield Evidence(Target(path, ""), way, copies[0] if copies else "torch", recipe)
            continue
        if not classes:
            continue
        words = _words(path)
        definition, parameter, _ = max(
            classes, key=lambda item: (len(item[2] & words), -len(item[2] - words))
        )
        target = Target(definition.path, definition.qualname)
        if target not in files.query.targets:
            continue
        ways = [(Way("config", Position(path, 1), path), path)]
        if scales:
            ways = [
                (Way("size", Position(path, scale.line), splitext(basename(name))[0]), name)
                for name, scale in names.items()
            ]
        for way, name in ways:
            recipe = Recipe(call=f"{definition.qualname}({parameter}={name!r})")
            yield Evidence(target, way, definition.path, recipe)
