"""Config files that list a model's layers, as those of YOLO do: a line `[from, repeats, module,
arguments]` for each, below `backbone` and `head`. A class that has such a file as a default builds
all of them; one with `scales` by its name with that of a scale: `yolov8n.yaml` of `yolov8.yaml`."""

from __future__ import annotations

import re
from posixpath import basename, splitext
from typing import TYPE_CHECKING

from nparam_lint.evidence import Evidence
from nparam_lint.ground.notation import Target
from nparam_lint.ground.orders import Recipe
from nparam_lint.ground.values import Position, Way

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nparam_lint.evidence.config_files import ConfigFiles

_DEFAULT = re.compile(r"""['"]([\w./-]+\.ya?ml)['"]$""")
_NUMBER = re.compile(r"^(?:.*/)?[^/\d]*\d+")  # up to the version in a file's name
_LISTS = frozenset({"backbone", "head"})


def _words(path: str) -> set[str]:
    """Those of a file's name, without version and scale: `yolo`, `seg` of `yolov8n-seg.yaml`."""
    name = re.sub(r"v?\d+[a-z]?", "-", splitext(basename(path))[0].lower())
    return set(re.findall("[a-z]{2,}", name))


def layer_lists(files: ConfigFiles) -> Iterator[Evidence]:
    """The files of this kind, each built by the class whose default is called most like it."""
    classes = [
        (definition, parameter.name, _words(match[1]))
        for definition in files.discovery.definitions
        for parameter in definition.parameters or ()
        if (match := _DEFAULT.match(parameter.default or ""))
    ]
    for path in files.paths if classes else ():
        entries = file.entries if (file := files.file(path)) else ()
        if not {entry.keys[0] for entry in entries} >= _LISTS:
            continue
        words = _words(path)
        definition, parameter, _ = max(
            classes, key=lambda item: (len(item[2] & words), -len(item[2] - words))
        )
        target = Target(definition.path, definition.qualname)
        if target not in files.query.targets:
            continue
        ways = [(Way("config", Position(path, 1), path), path)]
        if scales := [e for e in entries if e.keys[0] == "scales" and len(e.keys) == 2]:
            names = [_NUMBER.sub(rf"\g<0>{scale.keys[1]}", path, count=1) for scale in scales]
            ways = [
                (Way("size", Position(path, scale.line), splitext(basename(name))[0]), name)
                for scale, name in zip(scales, names, strict=True)
            ]
        for way, name in ways:
            recipe = Recipe(call=f"{definition.qualname}({parameter}={name!r})")
            yield Evidence(target, way, definition.path, recipe)
