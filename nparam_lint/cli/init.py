"""`nparam-lint init [PATH…]`: write budgets for the models that have none."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from nparam_lint.cli import common
from nparam_lint.cli.claims import claims_below
from nparam_lint.cli.update import add_writing, carry_out
from nparam_lint.rewrite import stated_edits
from nparam_lint.rewrite.new_budgets import Wishes, plan_init

USAGE = "nparam-lint init [PATH…] [--diff] [options]"
DESCRIPTION = """\
Write a budget for every model that has none and can be built, and for each named size of it: into
its docstring (a new one, if it has none), or into the config, if that is not possible. These models
are skipped: parts of other models that were counted, models in test files, models without
parameters, and models with random widths.
"""
EPILOG = """\
exit codes: 0 done, 1 a budget could not be written, 2 nothing could be measured
"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.epilog = EPILOG
    common.add_paths(parser)
    parser.add_argument(
        "--into",
        choices=("docstring", "config"),
        help="write only there (default: docstring, else config)",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--exact", action="store_true", help="exact counts: 86_567_656 (default)")
    form.add_argument("--rounded", action="store_true", help="rounded counts: 86.6M")
    parser.add_argument("--all", action="store_true", help="also models that are parts of others")
    parser.add_argument(
        "--claims",
        action="store_true",
        help="comments instead, for right counts that Markdown and reStructuredText state",
    )
    add_writing(parser, "list the models that got no budget, and why")
    common.add_building(parser)


def run(options: Namespace) -> int:
    paths = common.checked_paths(options.paths, texts_too=options.claims)
    here = Path.cwd()
    session = common.session_for(options, paths[0] if paths else here)
    if session.settings.config is None and session.root.is_relative_to(here):
        # Where nothing marks the project, what is made must be found again from here.
        session = common.session_for(options, here)
    command = "nparam-lint init --claims" if options.claims else "nparam-lint init"
    session = common.leave_out_inner_projects(session, command)
    if options.claims:
        plan = stated_edits.plan_comments(claims_below(paths, session).stated, session)
        return carry_out(plan, options, session, dry=options.diff, failed=bool(plan.leftovers))
    wishes = Wishes(options.into, options.rounded, options.all)
    with common.showing_progress(session) as session:
        plan = plan_init(session, paths, wishes)
    failed = any(item.count is not None for item in plan.leftovers)
    return carry_out(plan, options, session, dry=options.diff, failed=failed)
