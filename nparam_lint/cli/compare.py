"""`nparam-lint compare TARGET TARGET…`: the counts of several models side by side, by role."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace

from nparam_lint.analysis.documents.compare_document import Compared, Comparison, compare_document
from nparam_lint.analysis.roles import find_roles
from nparam_lint.cli import common
from nparam_lint.cli.targets import locate, show_named
from nparam_lint.count.measured import Measured
from nparam_lint.ground.errors import UsageError
from nparam_lint.report import Document

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
    parser.add_argument(
        "--within",
        metavar="TOLERANCE",
        help='fail if two totals are further apart than this ("10%%" of the smaller, "50k")',
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
    within = common.tolerance_of("--within", options.within)
    if within and len(options.targets) < 2:
        raise UsageError("option --within compares two models or more\nnext: name another TARGET")
    targets = [locate(options, text)[:2] for text in options.targets]
    start = time.monotonic()
    reports = {}  # one of each project
    for root, session in {session.root: session for session, _ in targets}.items():
        inside = [target for project, target in targets if project.root == root]
        with common.showing_progress(session) as session:
            reports[root] = show_named(session, inside)
    models = []  # each called as it was written, which is how the user knows it
    for text, (session, target) in zip(options.targets, targets, strict=True):
        report = reports[session.root]
        model = next(model for model in report.models if model.target == str(target))
        measured = model.measurement
        roles = find_roles(measured) if isinstance(measured, Measured) else None
        models.append(Compared(text, model, roles, report.environment))
    error = next((report.error for report in reports.values() if report.error), None)
    comparison = Comparison(tuple(models), time.monotonic() - start, error, within)
    failed = any(model.roles is None for model in models)
    distances = comparison.distances
    failed = failed or bool(distances and distances.far)
    return common.deliver(compare_document(comparison), options, targets[0][0], failed=failed)
