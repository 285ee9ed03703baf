"""`nparam-lint schema [NAME]`: the JSON Schema of the config, or of a command's JSON report."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from nparam_lint.api.schemas import schemas, text_of
from nparam_lint.cli import common

USAGE = "nparam-lint schema [NAME]"
DESCRIPTION = (
    "Print the JSON Schema of the config (config), or of what a command prints with --format json "
    "(check, show, diff, …)."
)


def add_arguments(parser: ArgumentParser) -> None:
    names = list(schemas())
    parser.add_argument(
        "name", nargs="?", metavar="NAME", choices=names, help=f"{', '.join(names)} (default: list)"
    )
    parser.add_argument("-o", "--output-file", metavar="FILE", help="write it to FILE")


def run(options: Namespace) -> int:
    makers = schemas()
    if options.name is None:
        rows = [f"{name:<10} {make()['title']}" for name, make in makers.items()]
        common.write("\n".join(rows), options.output_file)
    else:
        common.write(text_of(makers[options.name]()), options.output_file)
    return 0
