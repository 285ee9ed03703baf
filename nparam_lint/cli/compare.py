"""`nparam-lint compare TARGET TARGET…`: the counts of several models side by side, by role."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from nparam_lint import __version__
from nparam_lint.cli import common
from nparam_lint.cli.common import UsageError
from nparam_lint.cli.show import settings_and_target

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from nparam_lint.claims.notation import Target
    from nparam_lint.config.settings import Settings
    from nparam_lint.gate.measure import Progress
    from nparam_lint.records import ModelReport, Report
    from nparam_lint.report.compare import Column, Comparison

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
    common.add_output(parser)
    common.add_building(parser)


def run(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    from nparam_lint.report import Options
    from nparam_lint.report.compare import COMPARE_FORMATS, Comparison

    try:
        return _run(options, environ)
    except UsageError as error:
        format = options.format or environ.get("NPARAM_LINT_FORMAT")
        if format == "text" or format not in COMPARE_FORMATS:
            raise
        failed = Comparison(__version__, error=str(error))
        return common.failed(error, COMPARE_FORMATS[format](failed, Options()), options)


def _run(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    from nparam_lint.records import NotMeasured
    from nparam_lint.report.compare import COMPARE_FORMATS

    if not options.targets:
        raise UsageError(
            "which models?\nnext: nparam-lint compare 'nets/vit.py::ViT(depth=12)' "
            "'nets/vit.py::ViT(depth=24)'"
        )
    asked = [settings_and_target(options, environ, text) for text in options.targets]
    settings = asked[0][0]
    if settings.format not in COMPARE_FORMATS:
        there = ", ".join(COMPARE_FORMATS)
        raise UsageError(f"compare has no format {settings.format!r}; it has {there}")
    comparison = common.guarded(lambda: compare(options.targets, asked, environ, common.progress()))
    shown = common.layout(options, settings)
    common.write(COMPARE_FORMATS[settings.format](comparison, shown), options.output_file)
    if options.output_file and settings.format != "text":
        common.write(COMPARE_FORMATS["text"](comparison, shown), None)
    models = (column.model.measurement for column in comparison.columns)
    return common.exit_code(
        comparison.error, (), any(isinstance(measured, NotMeasured) for measured in models)
    )


def compare(
    given: Sequence[str],
    asked: Sequence[tuple[Settings, Target]],
    environ: Mapping[str, str],
    progress: Progress | None = None,
) -> Comparison:
    """Measure the targets, those of one project in one run, and find the roles of their parameters.
    `given`: the targets as they were written, which is how the user knows them. Raises
    NoInterpreter."""
    from nparam_lint.gate.pipeline import show
    from nparam_lint.report.compare import Comparison

    start = time.monotonic()
    projects = {settings.root: settings for settings, _ in asked}
    columns: dict[int, Column] = {}
    error = None
    for root, settings in projects.items():
        numbers = [i for i, (own, _) in enumerate(asked) if own.root == root]
        targets = [asked[i][1] for i in numbers]
        report = show(settings, targets, environ, progress)
        error = error or report.error
        models = {model.target: model for model in reversed(report.models)}
        for i in numbers:
            columns[i] = _column(given[i], models[str(asked[i][1])], report)
    ordered = tuple(columns[i] for i in sorted(columns))
    return Comparison(__version__, ordered, time.monotonic() - start, error)


def _column(given: str, model: ModelReport, report: Report) -> Column:
    from nparam_lint.analysis.roles import find_roles
    from nparam_lint.records import Measured
    from nparam_lint.report.compare import Column

    measured = model.measurement
    roles = find_roles(measured) if isinstance(measured, Measured) else None
    return Column(given, model, roles, report.environment)
