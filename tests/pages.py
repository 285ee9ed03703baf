"""Pages of cases: the files of a project, commands, and what these say.

What a page shows is read from its fenced blocks, in their order:

- a language and a path: that file;
- `diff` and a path: an edit of that file, whose lines of `-` stand in it once;
- `console`: commands behind `$ `, each with what it says below it, and its exit code if that is not
  0. Words with `=` before a command are for its environment; `projects/` is that of the tests.

`<!-- cut behind: REGEX -->`: what stands behind it in a line is not ours, and not shown. With
`--update` pages are written anew, to be reviewed.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING

from sample_repository import GIT

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pytest
    from conftest import Command

BLOCK = re.compile(r"^(`{3,})(\w*)(?: ([^\n]+))?\n(.*?)^\1\n", re.MULTILINE | re.DOTALL)
# What may stand in the next line of what is said of the interpreter, if its path is long.
WRAPPED = r"(\n(· )?(meta|cpu|tolerance [0-9.]+%)(, \w+)*( ·[^\n]*)?)?"
CUT = re.compile("<!-- cut behind: (.*) -->")
DATES = dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), "2026-01-01T12:00:00+0000")
PROJECTS = Path(__file__).with_name("projects")


def pages(test_file: str) -> dict[str, Path]:
    """Those beside a file of tests, by name."""
    folder = Path(test_file).with_name("pages")
    return {page.stem: page for page in sorted(folder.glob("*.md"))}


def steady(text: str, cwd: Path) -> str:
    """What a command says, without what is another in each run or on each machine."""
    for pattern, shown in (
        (re.escape(str(cwd)), "HERE"),
        (rf"{re.escape(str(cwd.parent))}(?=\W)", "ABOVE"),
        (re.escape(sys.executable), "PYTHON"),
        (re.escape(sys.prefix), "PREFIX"),
        (rf"(?ms)^PYTHON \(.*?\)\s(· )?torch [^\n]*{WRAPPED}$", "INTERPRETER"),
        (r" · [0-9.]+ s · PYTHON \(.*?\) · torch [^<]*", " · INTERPRETER"),
        (r" \([0-9]+ from the cache\)| · [0-9]+ from the cache|, from the cache", ""),
        (r"(?m)\s·\s+[0-9.]+\s+s(?=$|<)|^[0-9.]+ s\n", ""),
        (r"\([0-9a-f]{7}\)", "(COMMIT)"),
        (r"(?m)(is not in a git repository): fatal.*$", r"\1"),
    ):
        text = re.sub(pattern, shown, text)
    return text


class PageRun:
    """The run of a page in a directory of its own."""

    def __init__(self, folder: Path, environ: Mapping[str, str], nparam_lint: Command) -> None:
        folder.mkdir()
        self.folder = self.cwd = folder
        self.environ = {**environ, **GIT, **DATES, "COLUMNS": "80"}
        self.nparam_lint = nparam_lint

    def hold(self, page: Path, config: pytest.Config) -> None:
        """The page is what its commands say now."""
        text = page.read_text("utf-8")
        self.foreign = CUT.findall(text)
        written = BLOCK.sub(self.block, text)
        if config.getoption("update"):
            page.write_text(written, "utf-8", newline="")
        else:
            pages = text.splitlines(), written.splitlines()
            assert written == text, "\n".join(unified_diff(*pages, "page", "now", lineterm=""))

    def block(self, found: re.Match[str]) -> str:
        marks, kind, path, content = found.groups()
        if kind == "console":
            lines = (line for line in content.splitlines() if line.startswith("$ "))
            content = "".join(f"{line}\n{self.said(line[2:])}" for line in lines)
            return f"{marks}{kind}\n{content}{marks}\n"
        if path:
            file = self.folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes((edited(file, content) if kind == "diff" else content).encode())
        return found[0]

    def said(self, command: str) -> str:
        words = shlex.split(command)
        environ = dict(self.environ)
        while "=" in words[0]:
            name, _, value = words.pop(0).partition("=")
            environ[name] = value
        if words[0] == "cd":
            self.cwd = Path(os.path.normpath(self.cwd / words[1]))
            return ""
        if words[0] == "nparam-lint":
            done = self.nparam_lint(*words[1:], cwd=self.cwd, **environ)
        else:
            words = [re.sub("^projects/", f"{PROJECTS}/", word) for word in words]
            words[0] = sys.executable if words[0] == "python" else words[0]
            done = subprocess.run(
                words, cwd=self.cwd, env=environ, capture_output=True, text=True, check=False
            )
        assert "Traceback" not in done.stderr, done.stderr
        text = steady(done.stdout + done.stderr, self.folder)
        for words in self.foreign:
            text = re.sub(f"(?m)({words}).*", r"\1", text)
        text = "".join(f"{line.rstrip()}\n" for line in text.splitlines())
        return text + (f"[{done.returncode}]\n" if done.returncode else "")


def edited(file: Path, diff: str) -> str:
    """The text of a file with the lines of `+` in place of those of `-`."""
    text = file.read_text("utf-8")
    for old, new in re.findall(r"((?:^-.*\n)+)((?:^\+.*\n)*)", diff, re.MULTILINE):
        old, new = (re.sub("(?m)^.", "", lines) for lines in (old, new))
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def write_files_of(page: Path, folder: Path) -> Path:
    """The files of a page, without its edits; gives the folder."""
    for _, kind, path, content in BLOCK.findall(page.read_text("utf-8")):
        if path and kind != "diff":
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content.encode())
    return folder


def commands_of(page: Path) -> list[str]:
    """What follows `nparam-lint` in the commands of a page."""
    return re.findall(r"^\$ nparam-lint ?(.*)$", page.read_text("utf-8"), re.MULTILINE)
