"""`nparam-lint show TARGET`: the per-module table of any model, with or without a budget."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from functools import partial

from nparam_lint.cli import common
from nparam_lint.cli.targets import locate, show_named
from nparam_lint.config import commands
from nparam_lint.count.measured import NotMeasured
from nparam_lint.ground.errors import UsageError
from nparam_lint.ground.notation import Target
from nparam_lint.report.show_document import show_document
from nparam_lint.report.training import OPTIMIZERS
from nparam_lint.repository import repository_top

USAGE = "nparam-lint show TARGET [options]"
DESCRIPTION = (
    "The per-module table of any model: nets/vit.py::ViT(depth=24), "
    "torchvision.models::resnet50(), or ViT, where the project has one model of that name. -v "
    "lists every parameter."
)


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("target", metavar="TARGET", help="LOCATION::CALLABLE(ARGUMENTS)")
    parser.add_argument(
        "--training",
        choices=OPTIMIZERS,
        metavar="OPTIMIZER",
        help="what training takes, in bytes: weights, gradients, optimizer, checkpoint "
        f"({', '.join(OPTIMIZERS)})",
    )
    common.add_all_ways(parser)
    common.add_output(parser, "findings")
    common.add_building(parser)


def run(options: Namespace) -> int:
    session, target, _ = locate(options, options.target)
    with common.showing_progress(session) as session:
        report = show_named(session, [target])
    failed = any(isinstance(model.measurement, NotMeasured) for model in report.models)
    optimizer = OPTIMIZERS.get(options.training)
    if optimizer and any(model.host for model in report.models):
        host = target.host or Target("", "the model that contains it")
        raise UsageError(
            f"--training is about a whole model, and {target.callable} is counted inside one\n"
            f"next: {commands.show(session, host)} --training {options.training}"
        )
    check = partial(commands.check, session) if repository_top(session.root) else None
    document = show_document(report, session.root, optimizer, check=check)
    return common.deliver(document, options, session, failed=failed)
