"""The page of derivations is true: each command on it is run, and prints what stands below it."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "derivations.md").read_text(encoding="utf-8")

# A block: the command, continued behind backslashes, and indented lines up to the next prose.
BLOCK = re.compile(r"^    \$ nparam-lint ((?:.*\\\n)*.*)\n((?:    .*\n|\n)*)", re.MULTILINE)
BLOCKS = {
    shlex.join(arguments): (arguments, match[2])
    for match in BLOCK.finditer(PAGE)
    for arguments in [shlex.split(match[1].replace("\\\n", " "))]
}
COMPARISON = next(arguments for arguments, _ in BLOCKS.values() if "100k" in arguments)
# How many builds it takes is no claim of the page.
BUILDS = re.compile(r"at \d+ other places, of \d+ models built")


def normal(text: str) -> str:
    return BUILDS.sub("", "\n".join(line.rstrip() for line in text.strip("\n").splitlines()))


@pytest.fixture(scope="module")
def printed():
    return {}


@pytest.fixture
def run(nparam_lint, printed):
    def once(arguments):
        if (key := tuple(arguments)) not in printed:
            done = nparam_lint(*arguments, cwd=ROOT, NPARAM_LINT_PYTHON=sys.executable)
            assert done.returncode == 0, done.stdout + done.stderr
            printed[key] = done.stdout
        return printed[key]

    return once


def test_all_blocks_are_found():
    assert len(BLOCKS) == PAGE.count("    $ ") == 8


@pytest.mark.parametrize("command", BLOCKS)
def test_command_prints_what_the_page_shows(command, run):
    arguments, shown = BLOCKS[command]
    shown = "\n".join(line.removeprefix("    ") for line in shown.splitlines())
    assert normal(run(arguments)) == normal(shown)


@pytest.mark.parametrize(("budget", "column"), [("100k", 1), ("1M", 3)])
def test_table_has_the_best_of_each_architecture(budget, column, run):
    _, _, table = PAGE.partition("| | at 100k |")
    rows = [line.split("|")[1:-1] for line in table.splitlines()[2:] if line.startswith("|")]
    shown = [
        (f"{row[0].strip()}({row[column].strip(' `')})", row[column + 1].strip()) for row in rows
    ]
    text = run([budget if word == "100k" else word for word in COMPARISON])
    counts = re.findall(r"^ .* ([\d,]*,\d{3})  +[+-]", text, re.MULTILINE)
    assert shown == list(zip(re.findall(r"^best: (.*)$", text, re.MULTILINE), counts, strict=True))
    assert len(shown) == 4
