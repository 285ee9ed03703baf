"""The targets that a command line names: in full, or by the name of a model alone."""

from __future__ import annotations

import difflib
import os
import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from nparam_lint import UsageError
from nparam_lint.claims import Selector, Target, TextError, parse_selected, parse_target
from nparam_lint.cli import common

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping

    from nparam_lint.config.settings import Settings
    from nparam_lint.records import Definition

_NAME = re.compile(r"\s*([^\W\d]\w*(?:\.[^\W\d]\w*)*)\s*(?=[(\[]|$)")
_CANDIDATES = 8


def locate(
    options: argparse.Namespace, environ: Mapping[str, str], text: str, *, selects: bool = False
) -> tuple[Settings, Target, Selector]:
    """The target that a text names, relative to its project, with the project's settings; and the
    selector at the end of the text, where it may have one. `GPT` alone will do where the project
    has one model of that name. Raises UsageError if the text is not a target, if there is no such
    file or model, or if several models have that name."""
    name = _NAME.match(text)
    if name and not name[1].endswith(".py"):
        text = _in_full(options, environ, name[1], text[name.end() :])
    try:
        target, selector = parse_selected(text) if selects else (parse_target(text), Selector())
    except TextError as error:
        raise UsageError(f"{text!r} is not a target: {error}") from None
    start = Path(target.location) if target.is_path else Path.cwd()
    settings = common.settings_for(options, environ, start)
    if target.is_path and not start.is_file():
        near = _called(_tail(target.callable), settings) if target.callable else []
        hint = f"; did you mean {_listed(near, settings)}?" if near else ""
        raise UsageError(f"there is no file {target.location}{hint}")
    if target.is_path:
        target = _below(target, settings.root)
    if target.host and target.host.is_path:
        target = replace(target, host=_below(target.host, settings.root))
    return settings, target, selector


def _below(target: Target, root: Path) -> Target:
    """The target with its path relative to the project."""
    location = os.path.relpath(Path(target.location).absolute(), root).replace(os.sep, "/")
    return replace(target, location=location)


def _tail(name: str) -> str:
    return name.rpartition(".")[2]


def _in_full(options: argparse.Namespace, environ: Mapping[str, str], name: str, rest: str) -> str:
    """The target of the one model of the project that has this name."""
    settings = common.settings_for(options, environ, Path.cwd())
    found = _called(name, settings)
    if len(found) == 1:
        return f"{_from_here(found[0], settings)}{rest}"
    if found:
        listed = "\n".join(f"  {_from_here(one, settings)}" for one in found[:_CANDIDATES])
        left = len(found) - _CANDIDATES
        more = f"\n  … and {left:,} more" if left > 0 else ""
        said = f"{len(found)} models are called {name}"
        raise UsageError(f"{said}\nnext: name one of them:\n{listed}{more}")
    every = _definitions(settings, lambda _: True)
    by_name = {_tail(one.qualname).lower(): one for one in reversed(every)}
    close = difflib.get_close_matches(_tail(name).lower(), by_name, 3)
    hint = f"; did you mean {_listed([by_name[one] for one in close], settings)}?" if close else ""
    raise UsageError(
        f"no model of this project is called {name}{hint}\n"
        "next: name it in full, as nets/vit.py::ViT or torchvision.models::resnet50"
    )


def _called(name: str, settings: Settings) -> list[Definition]:
    """The models of this name: first those called so in full, and those outside of tests."""
    word = _tail(name).encode()
    found = _definitions(settings, lambda source: word in source)
    for same in (
        [one for one in found if one.qualname == name],
        [one for one in found if f".{one.qualname}".endswith(f".{name}")],
    ):
        if same:
            return list({one.target: one for one in same}.values())
    return []


def _definitions(settings: Settings, may_hold: Callable[[bytes], bool]) -> list[Definition]:
    """The models in the files whose source may hold them; in tests where there are no others."""
    from nparam_lint.discover import discover, list_project, reader

    files, importable = list_project(settings.root, (), settings.exclude)
    read, chosen = reader(settings.root), []
    for path in files:
        with suppress(OSError):
            chosen += [path] if may_hold(read(path)) else []
    for wanted in ((), chosen):
        found = discover(
            settings.root,
            chosen,
            importable=importable,
            wanted=wanted,
            store=settings.store,
            timeout=settings.timeout,
        )
        if found.definitions:
            break
    return list(found.definitions)


def _listed(found: list[Definition], settings: Settings) -> str:
    return " or ".join(_from_here(one, settings) for one in found[:3])


def _from_here(definition: Definition, settings: Settings) -> str:
    """Its target as it is named in the current directory."""
    place = os.path.relpath(settings.root / definition.path).replace(os.sep, "/")
    return f"{place}::{definition.qualname}"
