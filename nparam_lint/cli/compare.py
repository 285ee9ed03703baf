"""`nparam-lint compare TARGET TARGET…`: the counts of several models side by side, by role."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from nparam_lint.analysis.documents.compare_document import Compared, Comparison, compare_document
from nparam_lint.analysis.roles import find_roles
from nparam_lint.cli import common
from nparam_lint.cli.targets import locate, refuse_misnamed
from nparam_lint.count.measured import Measured
from nparam_lint.gate import show
from nparam_lint.ground.errors import UsageError
from nparam_lint.report import Document

if TYPE_CHECKING:
    from nparam_lint.claims import Target
    from nparam_lint.config.settings import Settings
    from nparam_lint.gate.context import Progress

USAGE = "nparam-lint compare TARGET TARGET… [options]"
DESCRIPTION = (
    "The counts of several models side by side, by role: embedding, attention, feed-forward, "
    "recurrent, convolution, norm, output, other. The models may belong to different projects; "
    "each is built by its own interpreter. -v lists which modules have which role, and why."
)


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "targets", nargs="*", metavar="TARGET", help="LOCATION::CALLABLE(ARGUMENTS)"
    )
    common.add_output(parser, "")
    common.add_building(parser)


def failure(error: str, _: Namespace) -> Document:
    return compare_document(Comparison(error=error))


def run(options: Namespace) -> int:
    if not options.targets:
        raise UsageError(
            "which models?\nnext: nparam-lint compare 'nets/vit.py::ViT(depth=12)' "
            "'nets/vit.py::ViT(depth=24)'"
        )
    asked = [locate(options, text)[:2] for text in options.targets]
    with common.progress() as progress:
        found = _compare(options, asked, progress)
    failed = any(one.roles is None for one in found.models)
    return common.deliver(compare_document(found), options, asked[0][0], failed=failed)


def _compare(
    options: Namespace, asked: Sequence[tuple[Settings, Target]], progress: Progress | None
) -> Comparison:
    """Measure the targets, those of one project in one run, and find the roles of their parameters.
    Each is called as it was written, which is how the user knows it. Raises NoInterpreter."""
    start = time.monotonic()
    reports = {}
    for root, settings in {settings.root: settings for settings, _ in asked}.items():
        targets = [target for own, target in asked if own.root == root]
        reports[root] = show(settings, targets, options.environ, progress)
        refuse_misnamed(reports[root].models)
    found = []
    for text, (settings, target) in zip(options.targets, asked, strict=True):
        report = reports[settings.root]
        model = next(model for model in report.models if model.target == str(target))
        measured = model.measurement
        roles = find_roles(measured) if isinstance(measured, Measured) else None
        found.append(Compared(text, model, roles, report.environment))
    error = next((report.error for report in reports.values() if report.error), None)
    return Comparison(tuple(found), time.monotonic() - start, error)
