"""The pages for readers are true: their commands are run, in the project that they build up, and
print what stands below them.

What a page shows is read from its fenced blocks, in their order:

- `console`: commands behind `$ `, each with its output. A line `…` stands for any lines. A block
  that cannot be run here says why in a comment above it: `<!-- not run: needs the network -->`.
- `diff`: an edit of the one file that has the lines of `-`.
- any other whose first line is a comment with a path (`# nets/gpt.py`): that file.

`<!-- the files of docs/tutorial.md -->` stands for those of another page.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from sample_repository import GIT

ROOT = Path(__file__).parents[2]
PAGES = (
    "README.md",
    "docs/tutorial.md",
    "docs/stated-counts.md",
    *sorted(f"docs/{p.name}" for p in ROOT.glob("docs/for-*.md")),
)
NOT_RUN = re.compile(r"<!-- not run: \S.+ -->")
# What a block looks like that is a command although its fence does not say so.
COMMAND = re.compile(r"^(\$ )?(nparam-lint|pip|pytest|git|pre-commit|python|cd) ", re.MULTILINE)
BORROWED = re.compile(r"<!-- the files of (docs/[\w-]+\.md) -->")
FILE = re.compile(r"^(?:#|<!--|%) ([\w./-]+\.\w+)(?: -->)?\n")
# How long something took, where and when, and the names of commits are no claims of a page; nor is
# what was at hand from the cache.
VARIES = re.compile(
    r"(?<= )[\d.]+ s$|\b[0-9a-f]{7}\b|\b\d{4}-\d\d-\d\d\b|(?<=installed )/.*(?=/\.git)"
)
AT_HAND = re.compile(r" \(\d+ from the cache\)")


@dataclass
class Command:
    line: str
    shown: list[str] = field(default_factory=list)

    def matches(self, output: str) -> bool:
        pattern = "".join(
            r"(?:.*\n)*" if line.strip() == "…" else re.escape(normal(line)) for line in self.shown
        )
        return bool(re.fullmatch(pattern, normal(output.strip("\n"))))


def normal(text: str) -> str:
    lines = (AT_HAND.sub("", line.rstrip()) for line in text.split("\n"))
    return "".join(f"{VARIES.sub('~', line)}\n" for line in lines)


def blocks(text: str):
    """The fenced and indented blocks of a page, each with whether a comment says that it cannot be
    run."""
    excused = False
    for token in MarkdownIt().parse(text):
        if token.type in ("fence", "code_block"):
            yield token.info, token.content, excused
        excused = token.type == "html_block" and bool(NOT_RUN.fullmatch(token.content.strip()))


def commands(content: str) -> list[Command]:
    found: list[Command] = []
    for line in content.replace("\\\n", "").splitlines():
        if line.startswith("$ "):
            found.append(Command(line[2:]))
        else:
            found[-1].shown.append(line)
    return found


def write(folder: Path, content: str) -> None:
    """The file that a block is, if it is one."""
    if named := FILE.match(content):
        file = folder / named[1]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, "utf-8")


def edit(folder: Path, content: str) -> None:
    """Replaces the lines of `-` by those of `+`, in the one file that has them."""
    old, new = ("".join(f"{x[1:]}\n" for x in content.splitlines() if x[0] == s) for s in "-+")
    (file,) = (f for f in folder.rglob("*.*") if ".git" not in f.parts and old in f.read_text())
    assert file.read_text().count(old) == 1
    file.write_text(file.read_text().replace(old, new))


@pytest.mark.skipif(not shutil.which("bash"), reason="there is no bash")
@pytest.mark.parametrize(
    "page",
    [  # the page that solves takes as long as the others together
        pytest.param(page, marks=pytest.mark.thorough) if "researchers" in page else page
        for page in PAGES
    ],
)
def test_commands_print_what_the_page_shows(page, nparam_lint, environ, tmp_path, tmp_path_factory):
    settings = GIT | {
        "COLUMNS": "80",
        "NPARAM_LINT_CACHE": str(tmp_path_factory.mktemp("cache")),
        "NPARAM_LINT_DEVICE": "meta",  # as on a machine without a GPU
        "NPARAM_LINT_PYTHON": sys.executable,
    }
    environ = environ | settings
    environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environ['PATH']}"
    text = (ROOT / page).read_text("utf-8")
    for other in BORROWED.findall(text):
        for _, content, _ in blocks((ROOT / other).read_text("utf-8")):
            write(tmp_path, content)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, env=environ, check=True)
    ran = 0
    for info, content, excused in blocks(text):
        if excused:
            assert info == "console" or COMMAND.search(content), content
        elif info == "diff":
            edit(tmp_path, content)
        elif info != "console":
            assert not COMMAND.search(content), f"neither run nor marked:\n{content}"
            write(tmp_path, content)
        else:
            for command in commands(content):
                run_one(command, nparam_lint, environ, settings, tmp_path)
                ran += 1
    assert ran


@pytest.mark.parametrize(
    "output",  # what .ci/run keeps; elsewhere all examples are built, which takes long
    [os.environ.get("FIRST_COMMAND_OUTPUT") or pytest.param(None, marks=pytest.mark.thorough)],
    ids=[""],
)
def test_the_first_command_prints_what_the_readme_shows(nparam_lint, tmp_path, output):
    found = [content for _, content, _ in blocks((ROOT / "README.md").read_text("utf-8"))]
    place = next(n for n, block in enumerate(found) if "&& nparam-lint" in block)
    first = Command(found[place], found[place + 1].splitlines())
    if output:
        printed = Path(output).read_text("utf-8")
    else:
        words = first.line.partition("&& nparam-lint ")[2].split()
        more = {"COLUMNS": "80", "NPARAM_LINT_CACHE": str(tmp_path), "NPARAM_LINT_DEVICE": "meta"}
        done = nparam_lint(*words, cwd=ROOT, **more)
        assert done.returncode == 0
        printed = done.stdout
    assert first.matches(printed), printed


def run_one(command: Command, nparam_lint, environ, settings, folder: Path) -> None:
    words = shlex.split(command.line, comments=True)
    name, _, value = words[0].partition("=")  # a variable before the command
    if value:
        settings, words = settings | {name: value}, words[1:]
    if words[0] == "nparam-lint" and not re.search(r"[|&;<>$]", command.line):
        done = nparam_lint(*words[1:], cwd=folder, **settings)
    else:
        done = subprocess.run(
            ["bash", "-c", command.line],
            cwd=folder,
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
    output = done.stdout + done.stderr
    is_warning = any("warning:" in line for line in command.shown)
    refused = any("NPL" in line or line.startswith("✗ ") for line in command.shown)
    refused &= not is_warning
    assert (done.returncode != 0) == refused, f"{command.line}\n{output}"
    assert not command.shown or command.matches(output), f"$ {command.line}\n{output}"


# --- the reader of the pages itself -----------------------------------------------------------


def test_a_command_is_read_with_what_it_shows():
    one, two = commands("$ a \\\n  b\nx\n…\ny\n$ c\n")
    assert (one.line, two.line, two.shown) == ("a   b", "c", [])
    assert one.matches("x\n1\n2\ny\n")
    assert one.matches("x\ny")
    assert not one.matches("x\n1\ny\nz\n")
    assert not one.matches("1\ny\n")
    assert Command("a", ["1 model · 1.5 s"]).matches("1 model · 0.2 s\n")
    assert not Command("a", ["1 model · 1.5 s"]).matches("2 models · 1.5 s\n")


def test_a_block_needs_a_reason_not_to_be_run():
    page = (
        "<!-- not run: no network -->\n\n```console\n$ a\n```\n\n<!-- not run: -->\n\n    pip b\n"
    )
    assert [(content, excused) for _, content, excused in blocks(page)] == [
        ("$ a\n", True),
        ("pip b\n", False),
    ]
    assert COMMAND.search("pip b\n")
