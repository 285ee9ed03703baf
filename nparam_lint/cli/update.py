"""`nparam-lint update [TARGET…]`: write today's counts into the declared budgets."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from nparam_lint.cli import common
from nparam_lint.cli.common import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from nparam_lint.config.settings import Settings
    from nparam_lint.rewrite.edits import Plan
    from nparam_lint.rewrite.plan_text import Look

USAGE = "nparam-lint update [TARGET…] [--diff | --check] [options]"
DESCRIPTION = """\
Write today's counts into the budgets that do not hold, and keep their form: 124M becomes 126M,
124_475_904 becomes 125_891_072, and 7.1M ± 2% keeps its ± 2%. Budgets that hold are not touched.
Formulas, limits (<= 25k), ranges and prose are not changed, but reported.

A TARGET names the budgets of one model, nets/vit.py::ViT or nets/vit.py::ViT(depth=24)[encoder],
or those of a file or a directory. Without a TARGET, all budgets of the project are checked.
"""
EPILOG = """\
exit codes: 0 all these budgets hold now; 1 a budget that does not hold was not changed or, with
--check, a budget would change; 2 the update could not be done
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = EPILOG
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="model, selector, or path")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit code 1 if a budget would change"
    )
    add_writing(parser)
    common.add_building(parser)


def add_writing(parser: argparse.ArgumentParser) -> None:
    """The options of what writes into files."""
    parser.add_argument(
        "--diff", action="store_true", help="write nothing; print what would change"
    )
    out = parser.add_argument_group("output")
    out.add_argument("--format", choices=("text", "json"), help="text (default) or json")
    out.add_argument("--output-file", metavar="FILE", help="write the report there instead")
    out.add_argument("--color", choices=("auto", "always", "never"), default="auto")
    out.add_argument(
        "-q", "--quiet", action="store_true", help="only what was not changed, and a summary"
    )


def run(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    from nparam_lint.rewrite.budget_updates import plan_update
    from nparam_lint.rewrite.plan_text import render_update
    from nparam_lint.rewrite.selected_budgets import NothingNamed, read_named

    first = Path(options.targets[0].partition("::")[0]) if options.targets else Path.cwd()
    start = first if first.exists() else Path.cwd()
    settings = common.settings_for(options, environ, start)
    try:
        named = [read_named(text, settings.root) for text in options.targets]
        plan = common.guarded(lambda: plan_update(settings, named, environ, common.progress()))
    except NothingNamed as error:
        raise UsageError(str(error)) from None
    dry = options.diff or options.check
    carry_out(plan, options, environ, dry, settings, render_update)
    broken = any(item.origin != "prose" for item in plan.left)
    return int(broken or (options.check and bool(plan.edits)))


def carry_out(
    plan: Plan,
    options: argparse.Namespace,
    environ: Mapping[str, str],
    dry: bool,
    settings: Settings,
    render: Callable[[Plan, Look], str],
) -> None:
    """Write the files of a plan unless `dry`, and say what was done."""
    import sys

    from nparam_lint.report.style import Paint
    from nparam_lint.rewrite.edits import CannotWrite, write_all
    from nparam_lint.rewrite.plan_text import Look, render_diff, render_json

    if plan.error:
        raise UsageError(plan.error)
    if not dry:
        try:
            write_all(plan.files)
        except CannotWrite as error:
            raise UsageError(str(error)) from None
    paint = Paint(common.wants_color(options, settings, environ))
    look = Look(paint, dry, options.quiet, getattr(options, "verbose", False))
    if (options.format or settings.format) == "json":
        common.write(render_json(plan, options.command, dry), options.output_file)
    elif options.diff:  # what `git apply` reads, and beside it what people read
        common.write(render_diff(plan), options.output_file)
        sys.stderr.write(render(plan, look))
    else:
        common.write(render(plan, look), options.output_file)
