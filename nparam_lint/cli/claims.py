"""`nparam-lint claims [PATH…]`: every count that the repository states, and whether it is right."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from nparam_lint import gate
from nparam_lint.cli import common
from nparam_lint.ground.errors import UsageError
from nparam_lint.ground.paths import place_of, within
from nparam_lint.report.claims_document import claims_document
from nparam_lint.report.formats import FORMATS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nparam_lint.config.session import Session
    from nparam_lint.gate.report import Report

USAGE = "nparam-lint claims [PATH…] [options]"
EPILOG = """\
exit codes: 0 no stated count is wrong for certain, 1 one is, 2 nothing could be measured
"""
DESCRIPTION = (
    "Every count of parameters that the repository states, in tables, sentences, comments, keys, "
    "model cards and checkpoints: which model it is about, and why; the wrong ones first. -v lists "
    "those that are about no model that was counted, too."
)


def add_arguments(parser: ArgumentParser) -> None:
    parser.epilog = EPILOG
    common.add_paths(parser)
    common.add_all_ways(parser)
    common.add_output(parser, "findings", verbose="also what is about no model", depth="")
    common.add_building(parser)


def run(options: Namespace) -> int:
    paths = common.checked_paths(options.paths, texts_too=True)
    session = common.session_for(options, paths[0] if paths else Path.cwd())
    session = common.leave_out_inner_projects(session, "nparam-lint claims")
    report = claims_below(paths, session)
    # Where people read, the table says what the findings say.
    has_findings = FORMATS[common.format_for(options, session.settings)] == "findings"
    document = claims_document(report, with_findings=has_findings)
    failed = any(o.verdict == "wrong" and o.strength == "certain" for o in report.stated)
    return common.deliver(document, options, session, failed=failed)


def claims_below(paths: Sequence[Path], session: Session) -> Report:
    """The report on the project with what is stated below some paths. Raises UsageError where
    nothing could be measured."""
    with common.showing_progress(session) as session:
        report = gate.check(session, ())
    if report.error:
        raise UsageError(report.error)
    in_scope = within([place_of(path, session.root) for path in paths])
    findings = [f for f in report.findings if f.code == "NPL013" and in_scope(f.position.path)]
    return replace(
        report,
        stated=tuple(outcome for outcome in report.stated if in_scope(outcome.position.path)),
        findings=tuple(findings),
    )
