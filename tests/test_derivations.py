"""The page of derivations is true: each command on it is run, and prints what stands below it."""

from __future__ import annotations

import re
import shlex
import shutil
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
# How many builds it takes, and how long, is no claim of the page.
EFFORT = re.compile(
    r"at \d+ other places, of \d+ models built| \(\d+ from the cache\)| · [\d.]+ s$", re.M
)


def normal(text: str) -> str:
    return EFFORT.sub("", "\n".join(line.rstrip() for line in text.strip("\n").splitlines()))


def test_all_blocks_are_found():
    assert len(BLOCKS) == PAGE.count("    $ ") == 9


# Those that take as long as all others together wait for the night.
LONG = (
    "misread_stack_transformer",
    "LSTMLanguageModel",
    "sockeye_rnn",
    "NanoGPT --budget",
    "RecurrentGPT",
    "why_so_big.py::TransformerLayer",
    "as_published",
)


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(command, marks=pytest.mark.thorough)
        if any(part in command for part in LONG)
        else command
        for command in BLOCKS
    ],
)
def test_command_prints_what_the_page_shows(command, nparam_lint, tmp_path):
    arguments, shown = BLOCKS[command]
    root = ROOT
    if "NPL001" in shown:  # what changed since the last commit is no part of the page
        root = tmp_path
        shutil.copytree(ROOT / "examples", root / "examples")
    done = nparam_lint(*arguments, cwd=root, NPARAM_LINT_PYTHON=sys.executable)
    assert done.returncode == ("NPL001" in shown), done.stdout + done.stderr
    shown = "\n".join(line.removeprefix("    ") for line in shown.splitlines())
    assert normal(done.stdout) == normal(shown)
