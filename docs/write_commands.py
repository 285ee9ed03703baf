"""The page docs/commands.md, made from the parsers of all commands.

`python docs/write_commands.py > docs/commands.md` writes it.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator

from nparam_lint.cli.main import COMMANDS, EPILOG, parser_of

_HEAD = """\
# All commands and options

`nparam-lint help COMMAND` shows the same in a terminal. `check` is the command that runs if none is
named: `nparam-lint --declared` is `nparam-lint check --declared`. This page is made from the
parsers in `nparam_lint/cli`.

"""
_SHARED = ("building", "advanced")  # the groups of options that most commands have


def page() -> str:
    """The whole page, in Markdown."""
    groups = parser_of("diff")[1]._action_groups
    groups = [group for group in groups if (group.title or "").startswith(_SHARED)]
    shared = [row for group in groups for row in _rows(group._group_actions)]
    parts = [part for name in COMMANDS for part in _section(name, shared)]
    codes = EPILOG.partition("\n")[0].partition(": ")[2]
    tail = ["## Options for building", "All commands that build models have these.", _table(shared)]
    return _HEAD + "\n\n".join([f"Exit codes: {codes}.", *parts, *tail]) + "\n"


def _section(name: str, shared: list[str]) -> Iterator[str]:
    _, parser = parser_of(name)
    yield f"## {name}"
    yield f"    {parser.usage}"
    yield from _prose(parser.description or "")
    rows = [row for group in parser._action_groups for row in _rows(group._group_actions)]
    has_shared = {*shared} <= {*rows}
    if own := [row for row in rows if not (has_shared and row in shared)]:
        yield _table(own)
    if has_shared:
        yield "Also: the [options for building](#options-for-building)."
    yield from _prose(parser.epilog or "")


def _prose(text: str) -> Iterator[str]:
    """Paragraphs; what is laid out in columns or by hand stays as it is."""
    for paragraph in text.strip("\n").split("\n\n"):
        if paragraph.startswith("  "):
            yield re.sub("^", "  ", paragraph, flags=re.MULTILINE)
        elif paragraph:
            yield _escaped(" ".join(paragraph.split()))


def _rows(actions: Iterable[argparse.Action]) -> list[str]:
    """A row of the table for each that `--help` shows."""
    rows = []
    for action in actions:
        if action.help == argparse.SUPPRESS or isinstance(action, argparse._HelpAction):
            continue
        text = (action.help or "").replace("%%", "%")
        rows.append(f"| {_written(action)} | {_escaped(text)} |")
    return rows


def _written(action: argparse.Action) -> str:
    """As one writes it: `-o FILE`, `--color auto|always|never`, PATH."""
    value = ""
    if action.nargs != 0:
        choices = "|".join(map(str, action.choices or ()))
        value = str(action.metavar or choices or action.dest.upper())
    names = [f"{name} {value}".strip() for name in action.option_strings or ("",)]
    return ", ".join(f"`{name}`".replace("|", r"\|") for name in names)


def _escaped(text: str) -> str:
    return re.sub(r"([*|])", r"\\\1", text)


def _table(rows: list[str]) -> str:
    return "\n".join(["| option | |", "|---|---|", *rows])


if __name__ == "__main__":
    sys.stdout.buffer.write(page().encode("utf-8"))
