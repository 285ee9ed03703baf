"""Every command of ours on a page has options that there are. What the pages show of its output is
compared elsewhere, as far as it can be run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from nparam_lint.cli.main import COMMANDS, parser_of

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "examples/README.md"]
PAGES += sorted(f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md"))
PAGES.remove("docs/commands.md")  # made from the parsers, and of forms of commands
_PROMPT = re.compile(r"^(?:\w*\$ +)?(?:[A-Z_]+=\S+ )*(?=nparam-lint\b)")
_FORM = re.compile(r"\[|…| \| ")  # of a command, rather than a command


def texts(tokens):
    """The lines of blocks of code, and code in text."""
    for token in tokens:
        if token.type in ("fence", "code_block"):
            yield from token.content.replace("\\\n", " ").splitlines()
        elif token.type == "code_inline":
            yield token.content
        yield from texts(token.children or ())


def commands(page):
    for text in texts(MarkdownIt().enable("table").parse((ROOT / page).read_text("utf-8"))):
        text = text.strip()
        match = _PROMPT.match(text)
        if match and not _FORM.search(text):
            words = shlex.split(text[match.end() :], comments=True)
            ends = (n for n, word in enumerate(words) if word in ("&&", "||", "|", ">", ";"))
            words = words[: next(ends, len(words))]
            if words[0] == "nparam-lint" and words[1:] != ["--version"]:
                yield words[1:]


@pytest.mark.parametrize("page", [page for page in PAGES if any(commands(page))])
def test_commands_have_options_that_there_are(page):
    for words in commands(page):
        name, rest = (words[0], words[1:]) if words and words[0] in COMMANDS else ("check", words)
        if name != "help" and words != [name]:  # what a command is called, in a sentence
            parser_of(name)[1].read(rest)


def test_commands_are_found():
    assert sum(len([*commands(page)]) for page in PAGES) > 120
