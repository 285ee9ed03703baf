"""`nparam-lint show TARGET`: the per-module table of any model, with or without a budget."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from nparam_lint import UsageError
from nparam_lint.claims import Selector, Target, TextError, parse_selected, parse_target
from nparam_lint.cli import common
from nparam_lint.gate import show
from nparam_lint.records import NotMeasured
from nparam_lint.report.show_document import show_document

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from nparam_lint.config.settings import Settings

USAGE = "nparam-lint show TARGET [options]"
DESCRIPTION = (
    "The per-module table of any model: nets/vit.py::ViT(depth=24), "
    "torchvision.models::resnet50(). -v lists every parameter."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", metavar="TARGET", help="LOCATION::CALLABLE(ARGUMENTS)")
    common.add_output(parser, "findings")
    common.add_building(parser)


def run(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    settings, target, _ = locate(options, environ, options.target)
    report = show(settings, [target], environ, common.progress())
    failed = any(isinstance(model.measurement, NotMeasured) for model in report.models)
    return common.deliver(show_document(report), options, settings, environ, failed=failed)


def locate(
    options: argparse.Namespace, environ: Mapping[str, str], text: str, *, selects: bool = False
) -> tuple[Settings, Target, Selector]:
    """The target that a text names, relative to its project, with the project's settings; and the
    selector at the end of the text, where it may have one."""
    try:
        target, selector = parse_selected(text) if selects else (parse_target(text), Selector())
    except TextError as error:
        raise UsageError(f"{text!r} is not a target: {error}") from None
    start = _file(target) if target.is_path else Path.cwd()
    settings = common.settings_for(options, environ, start)
    if target.is_path:
        target = _below(target, settings.root)
    if target.host and target.host.is_path:
        target = replace(target, host=_below(target.host, settings.root))
    return settings, target, selector


def _file(target: Target) -> Path:
    if not Path(target.location).is_file():
        raise UsageError(f"there is no file {target.location}")
    return Path(target.location)


def _below(target: Target, root: Path) -> Target:
    """The target with its path relative to the project."""
    inside = os.path.relpath(_file(target).absolute(), root).replace(os.sep, "/")
    return replace(target, location=inside)
