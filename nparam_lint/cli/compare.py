"""`nparam-lint compare TARGET TARGET…`: the counts of several models side by side, by role."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from nparam_lint import UsageError, __version__
from nparam_lint.cli import common
from nparam_lint.cli.show import settings_and_target

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from nparam_lint.analysis.documents.compare_document import Compared, Comparison
    from nparam_lint.claims.notation import Target
    from nparam_lint.config.settings import Settings
    from nparam_lint.gate import Progress
    from nparam_lint.records import ModelReport, Report
    from nparam_lint.report.document import Document

USAGE = "nparam-lint compare TARGET TARGET… [options]"
DESCRIPTION = (
    "The counts of several models side by side, by role: embedding, attention, feed-forward, "
    "recurrent, convolution, norm, output, other. The models may belong to different projects; "
    "each is built by its own interpreter. -v lists which modules have which role, and why."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "targets", nargs="*", metavar="TARGET", help="LOCATION::CALLABLE(ARGUMENTS)"
    )
    common.add_output(parser, "")
    common.add_building(parser)


def failure(error: str, _: argparse.Namespace) -> Document:
    from nparam_lint.analysis.documents.compare_document import Comparison, compare_document

    return compare_document(Comparison(__version__, error=error))


def run(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    from nparam_lint.analysis.documents.compare_document import compare_document
    from nparam_lint.records import NotMeasured

    if not options.targets:
        raise UsageError(
            "which models?\nnext: nparam-lint compare 'nets/vit.py::ViT(depth=12)' "
            "'nets/vit.py::ViT(depth=24)'"
        )
    asked = [settings_and_target(options, environ, text) for text in options.targets]
    found = compare(options.targets, asked, environ, common.progress())
    failed = any(isinstance(one.model.measurement, NotMeasured) for one in found.models)
    return common.deliver(compare_document(found), options, asked[0][0], environ, failed=failed)


def compare(
    given: Sequence[str],
    asked: Sequence[tuple[Settings, Target]],
    environ: Mapping[str, str],
    progress: Progress | None = None,
) -> Comparison:
    """Measure the targets, those of one project in one run, and find the roles of their parameters.
    `given`: the targets as they were written, which is how the user knows them. Raises
    NoInterpreter."""
    from nparam_lint.analysis.documents.compare_document import Comparison
    from nparam_lint.gate import show

    start = time.monotonic()
    projects = {settings.root: settings for settings, _ in asked}
    found: dict[int, Compared] = {}
    error = None
    for root, settings in projects.items():
        numbers = [i for i, (own, _) in enumerate(asked) if own.root == root]
        targets = [asked[i][1] for i in numbers]
        report = show(settings, targets, environ, progress)
        error = error or report.error
        models = {model.target: model for model in reversed(report.models)}
        for i in numbers:
            found[i] = _compared(given[i], models[str(asked[i][1])], report)
    ordered = tuple(found[i] for i in sorted(found))
    return Comparison(__version__, ordered, time.monotonic() - start, error)


def _compared(given: str, model: ModelReport, report: Report) -> Compared:
    from nparam_lint.analysis.documents.compare_document import Compared
    from nparam_lint.analysis.roles import find_roles
    from nparam_lint.records import Measured

    measured = model.measurement
    roles = find_roles(measured) if isinstance(measured, Measured) else None
    return Compared(given, model, roles, report.environment)
