"""`nparam-lint update [TARGET…]`: write today's counts into the declared budgets."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from nparam_lint.cli import common
from nparam_lint.cli.claims import claims_below
from nparam_lint.config import commands
from nparam_lint.ground.errors import UsageError
from nparam_lint.report.formats import render
from nparam_lint.repository import repository_top
from nparam_lint.rewrite import stated_edits
from nparam_lint.rewrite.budget_updates import plan_update, read_request
from nparam_lint.rewrite.edits import Plan, as_written, write_all
from nparam_lint.rewrite.plan_document import diff_of, plan_document

if TYPE_CHECKING:
    from nparam_lint.config.session import Session

USAGE = "nparam-lint update [TARGET…] [--diff | --check] [options]"
DESCRIPTION = """\
Write current counts into the budgets that do not hold, and keep their form: 124M becomes 126M,
124_475_904 becomes 125_891_072, and 7.1M ± 2% keeps its tolerance. Budgets that hold stay.
Formulas, limits (<= 25k) and ranges are not changed, but reported; counts that texts state are
written with --claims.

A TARGET names the budgets of one model, nets/vit.py::ViT or nets/vit.py::ViT(depth=24)[encoder],
or those of a file or a directory. Without a TARGET, all budgets of the project are checked.
"""
EPILOG = """\
exit codes: 0 all these budgets hold now; 1 a budget that does not hold was not changed or, with
--check, a budget would change; 2 the update could not run
"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="model, selector, or path")
    parser.add_argument(
        "--claims",
        action="store_true",
        help="instead, the counts that the texts at or below TARGET state, a file or a directory",
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit code 1 if a budget would change"
    )
    add_writing(parser, "")
    common.add_building(parser)


def add_writing(parser: ArgumentParser, verbose: str) -> None:
    """The options of what writes into files; `verbose`: the help of -v, where there is one."""
    parser.add_argument(
        "--diff", action="store_true", help="write nothing; print what would change"
    )
    quiet = "only what was not changed, and a summary"
    common.add_output(parser, "", verbose=verbose, quiet=quiet, depth="", echo=False)


def run(options: Namespace) -> int:
    first = Path(options.targets[0].partition("::")[0]) if options.targets else Path.cwd()
    start = first if first.exists() else Path.cwd()
    session = common.session_for(options, start)
    if options.claims:
        paths = common.checked_paths(options.targets, texts_too=True)
        plan = stated_edits.plan_numbers(claims_below(paths, session).stated, session)
    else:
        requests = [read_request(text, session.root) for text in options.targets]
        if not requests:
            gate = "--check" if options.check else ""
            session = common.leave_out_inner_projects(session, "nparam-lint update", gate)
        with common.showing_progress(session) as session:
            plan = plan_update(session, requests)
    dry = options.diff or options.check
    failed = bool(plan.leftovers) or (options.check and bool(plan.edits))
    return carry_out(plan, options, session, dry=dry, failed=failed)


def carry_out(plan: Plan, options: Namespace, session: Session, *, dry: bool, failed: bool) -> int:
    """Write the files of a plan unless `dry`, and say what was done. Gives the exit code."""
    if plan.error:
        raise UsageError(plan.error)
    if not dry:
        write_all(plan.files)
        plan = as_written(plan)
        if plan.edits and repository_top(session.home):
            add = commands.git_add(session, [file.path for file in plan.files])
            plan = replace(plan, step=f"next: {add}")
    document = plan_document(plan, options.command, dry)
    if options.diff and common.format_for(options, session.settings) == "text":
        common.write(diff_of(plan), options.output_file)  # and beside it what people read
        sys.stderr.write(render("text", document, common.layout(options, session)))
        return int(failed)
    return common.deliver(document, options, session, failed=failed)
