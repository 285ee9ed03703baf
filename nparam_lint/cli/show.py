"""`nparam-lint show TARGET`: the per-module table of any model, with or without a budget."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from nparam_lint import UsageError
from nparam_lint.cli import common

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from nparam_lint.claims.notation import Selector, Target
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
    from nparam_lint.gate import show
    from nparam_lint.records import NotMeasured
    from nparam_lint.report.show_document import show_document

    settings, target = settings_and_target(options, environ, options.target)
    report = show(settings, [target], environ, common.progress())
    failed = any(isinstance(model.measurement, NotMeasured) for model in report.models)
    return common.deliver(show_document(report), options, settings, environ, failed=failed)


def settings_and_target(
    options: argparse.Namespace, environ: Mapping[str, str], text: str
) -> tuple[Settings, Target]:
    """The target that a text names, relative to its project, and the project's settings."""
    from nparam_lint.claims.notation import TextError, parse_target

    try:
        target = parse_target(text)
    except TextError as error:
        raise UsageError(f"{text!r} is not a target: {error}") from None
    return settings_for_target(options, environ, target)


def settings_and_selected(
    options: argparse.Namespace, environ: Mapping[str, str], text: str
) -> tuple[Settings, Target, Selector]:
    """The same for a text that may end in a selector."""
    from nparam_lint.claims.notation import TextError, parse_selected

    try:
        target, selector = parse_selected(text)
    except TextError as error:
        raise UsageError(f"{text!r} is not a target: {error}") from None
    return *settings_for_target(options, environ, target), selector


def settings_for_target(
    options: argparse.Namespace, environ: Mapping[str, str], target: Target
) -> tuple[Settings, Target]:
    """The settings of the project that a target belongs to, and the target relative to that."""
    start = Path.cwd()
    if target.is_path:
        start = Path(target.location)
        if not start.is_file():
            raise UsageError(f"there is no file {target.location}")
    settings = common.settings_for(options, environ, start)
    if target.is_path:
        inside = os.path.relpath(start.absolute(), settings.root).replace(os.sep, "/")
        target = replace(target, location=inside)
    return settings, target
