"""`nparam-lint history TARGET`: the count of a model at each commit that could have changed it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from functools import partial

from nparam_lint.changes.documents.history_document import history_document
from nparam_lint.changes.history import History, HistoryRequest, read_history
from nparam_lint.changes.states import States
from nparam_lint.cli import common
from nparam_lint.cli.targets import locate, show_named
from nparam_lint.ground.errors import UsageError
from nparam_lint.report import Document
from nparam_lint.repository.git import open_repository

USAGE = "nparam-lint history TARGET [--since REV] [--first-parent] [options]"
DESCRIPTION = (
    "The count of a model at each commit that could have changed it: those that change a file "
    "which a build of it reads, or its config. Renamed files are followed. Every commit is built "
    "from a copy, with the packages that are installed now, and remembered. -v also lists the "
    "commits that changed nothing."
)


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("target", metavar="TARGET", help="LOCATION::CALLABLE(ARGUMENTS)[SELECTOR]")
    parser.add_argument("--since", metavar="REV", help="only the commits after this one")
    parser.add_argument(
        "--first-parent",
        action="store_true",
        help="only the commits of the branch itself: a merge stands for what it brings",
    )
    common.add_output(parser, "", verbose="all commits, also those that changed nothing", depth="")
    common.add_building(parser)


def failure(error: str, options: Namespace) -> Document:
    return history_document(History(options.target, error=error))


def run(options: Namespace) -> int:
    session, target, selector = locate(options, options.target, selects=True, may_be_gone=True)
    if options.config:
        raise UsageError("history reads the config that each commit has; next: leave out --config")

    if not target.is_path:
        raise UsageError(
            f"{target.location} is an installed package, of which there is no history here\n"
            "next: name a model of the project, as nets/gpt.py::GPT"
        )

    repository = open_repository(session.home, options.environ)
    with common.showing_progress(session) as session:
        states = States(session, repository, partial(common.session_for, options))
        request = HistoryRequest(target, selector, states, options.since, options.first_parent)
        history = read_history(request)
        if not history.is_counted and not history.error:
            show_named(session, [target])  # raises UsageError where that is why
    document, failed = history_document(history), not history.is_counted
    return common.deliver(document, options, session, failed=failed)
