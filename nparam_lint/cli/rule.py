"""`nparam-lint rule CODE`: what a finding means, by example."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from nparam_lint.cli import common
from nparam_lint.ground.rule_catalogue import RULES, explain

USAGE = "nparam-lint rule [CODE]"
DESCRIPTION = "Explain a finding by example."


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "code", nargs="?", metavar="CODE", help="such as NPL001 (default: list all)"
    )


def run(options: Namespace) -> int:
    if options.code is None:
        rows = (f"{code}  {rule.name:<28} {rule.summary}" for code, rule in RULES.items())
        common.write("\n".join(rows), None)
    else:
        common.write(explain(options.code), None)
    return 0
