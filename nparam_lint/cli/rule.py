"""`nparam-lint rule CODE`: what a finding means, by example."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from nparam_lint.cli import common
from nparam_lint.ground.rule_catalogue import RULES, explain
from nparam_lint.report.style import wrap

USAGE = "nparam-lint rule [CODE]"
DESCRIPTION = "Explain a finding by example."


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "code", nargs="?", metavar="CODE", help="such as NPL001 (default: list all)"
    )


def run(options: Namespace) -> int:
    width = common.terminal_width()
    if options.code is not None:
        common.write(explain(options.code, width), None)
        return 0
    names = max(map(len, RULES.names))
    lines = []
    for code, rule in RULES.items():
        head = f"{code}  {rule.name:<{names}}  "
        lines += wrap(rule.summary, width, head, " " * len(head))
    common.write("\n".join(lines), None)
    return 0
