"""`nparam-lint diff REV [PATH…]`: what changed since a revision, by model and by module."""

from __future__ import annotations

import shlex
from argparse import ArgumentParser, Namespace
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from nparam_lint.changes.documents.diff_document import diff_document
from nparam_lint.changes.records import Base, DiffReport
from nparam_lint.changes.revision_diff import compare_revisions
from nparam_lint.changes.states import States, named_base
from nparam_lint.cli import common
from nparam_lint.gate.report import Report
from nparam_lint.ground.errors import UsageError
from nparam_lint.report import Document
from nparam_lint.repository.git import open_repository
from nparam_lint.repository.snapshot import copied

USAGE = "nparam-lint diff REV [PATH…] [options]"
DESCRIPTION = (
    "What changed since REV, by model and by module: REV is compared with the working tree. "
    "REV... stands for the merge base of REV and HEAD, which is what a pull request starts from: "
    "nparam-lint diff origin/main..."
)


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "revision",
        metavar="REV",
        nargs="?",
        help="a branch, tag or commit; REV...: the merge base with HEAD",
    )
    common.add_paths(parser)
    parser.add_argument(
        "--declared", action="store_true", help="only models with a declared budget, then or now"
    )
    parser.add_argument(
        "--staged", action="store_true", help="compare what is staged instead of the working tree"
    )
    parser.add_argument(
        "--tolerance",
        dest="drift",
        metavar="DRIFT",
        help='fail if a count changed by more than this ("0.5%%", "50k", "0") and no budget was '
        "added or changed for it",
    )
    common.add_output(parser, "findings")
    common.add_building(parser)


def failure(error: str, options: Namespace) -> Document:
    base = Base(options.revision or "", "", options.revision or "")
    return diff_document(DiffReport(base, "working tree", Report(None, (), (), error=error)))


def run(options: Namespace) -> int:
    if options.revision is None:
        raise UsageError(
            "since which revision?\nnext: nparam-lint diff HEAD, or nparam-lint diff main... for "
            "what a pull request against main changes"
        )
    tolerance = common.tolerance_of("--tolerance", options.drift)
    start = Path(options.paths[0]).absolute() if options.paths else Path.cwd()
    common.checked_paths([text for text in options.paths if Path(text).exists()])
    repository = open_repository(common.nearest_directory(start), options.environ)
    base = named_base(repository, options.revision)
    with ExitStack() as stack:
        if options.staged:
            index = stack.enter_context(copied(repository))
            if options.config and not index.copy_of(Path(options.config)).is_file():
                raise UsageError(f"{options.config} is not in the index; next: git add it")
            session = common.session_for(options, index.copy_of(start), index)
        else:
            session = common.session_for(options, start)
        command = f"nparam-lint diff {options.revision}"
        gate = f"--tolerance {shlex.quote(options.drift)}" if options.drift else ""
        session, about = common.without_inner_projects(session, command, gate)
        with common.showing_progress(session) as session:
            states = States(session, repository, partial(common.session_for, options))
            past = stack.enter_context(states.at(base))
            report = compare_revisions(
                past,
                session,
                options.paths,
                declared_only=options.declared,
                tolerance=tolerance,
            )
        report = replace(report, notes=(*report.notes, *about))
        return common.deliver(diff_document(report), options, session)
