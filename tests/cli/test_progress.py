"""What a run tells on a terminal while it works, and in which characters."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
import threading
import time

import pytest
from sample_files import write_files

from nparam_lint.cli.progress import ProgressLine, ProgressLog

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs a terminal")

MODELS = '''\
import torch.nn as nn


class One(nn.Linear):
    """nparam: 4"""

    def __init__(self, d=2):
        super().__init__(d, 1)


class Two(nn.Module):
    """nparam: 6"""

    def __init__(self, d=2):
        super().__init__()
        self.two = nn.Linear(d, 2)
        self.last = nn.Identity()
'''
READING = "reading the source…"
KINDS = [READING, "starting torch…", "importing the project…", "counting …"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    files = {"nets.py": MODELS, "nparam-lint.toml": 'device = "meta"\n'}
    return write_files(tmp_path_factory.mktemp("project"), files)


class Terminal:
    """A pseudo-terminal, and what was written to it."""

    def __init__(self, encoding="utf-8"):
        self.encoding, self.told = encoding, b""
        self.ours, self.theirs = pty.openpty()
        self.stream = io.TextIOWrapper(
            os.fdopen(self.theirs, "wb", 0), encoding, write_through=True
        )
        self.reader = threading.Thread(target=self.read, daemon=True)  # some are not asked
        self.reader.start()

    def read(self):
        try:
            while data := os.read(self.ours, 4096):
                self.told += data
        except OSError:  # the other end is closed
            pass

    def text(self):
        """All of it, when nobody writes any more."""
        self.stream.close()
        self.reader.join()
        os.close(self.ours)
        return self.told.decode(self.encoding)

    def lines(self):
        """The texts of the one line, one after the other."""
        first, *shown = self.text().split("\r\x1b[K")
        assert not first
        return shown


@pytest.fixture
def run(place, nparam_lint):
    """Runs a command whose standard error is a terminal: what it showed there, and its output."""

    def on_terminal(*arguments, encoding="utf-8", TERM="xterm"):
        terminal = Terminal(encoding)
        look = {"encoding": encoding, "terminal": terminal.stream, "COLUMNS": "80", "TERM": TERM}
        return terminal, nparam_lint(*arguments, cwd=place, **look).stdout

    return on_terminal


def kinds(lines):
    """Each kind of line once, in their order, without numbers."""
    plain = (re.sub(r"\d+/\d+.*", "…", re.sub(r"  \d+ s$", "", line)) for line in lines)
    return list(dict.fromkeys(plain))


@pytest.mark.first_cases(3)
@pytest.mark.parametrize(
    "command",
    [
        ["nets.py"],
        ["show", "One"],
        ["annotate", "nets.py"],
        ["compare", "One", "Two"],
        ["formula", "One"],
        ["solve", "One", "--budget", "9", "--vary", "d"],
        ["update", "--diff"],
        ["init", "--diff", "--all"],
    ],
    ids=lambda command: command[0],
)
def test_every_command_that_builds_shows_one_line_and_removes_it(run, command):
    terminal, output = run(*command, "--no-cache")
    shown = terminal.lines()
    assert shown[0] == READING
    assert not shown.pop().startswith(("reading", "starting", "importing", "counting"))
    assert any(re.match(r"counting \d+/\d+  (nets\.py::)?(One|Two)", line) for line in shown)
    assert set(kinds(shown)) <= {*KINDS}
    assert all(len(line) < 80 for line in shown)
    assert "counting" not in output


def test_a_first_run_tells_of_torch_before_the_first_model(place, environ):
    terminal = Terminal()
    subprocess.run(
        [sys.executable, "-m", "nparam_lint", "--no-cache", "nets.py"],
        cwd=place,
        env=environ | {"TERM": "xterm", "COLUMNS": "80"},
        stdout=subprocess.DEVNULL,
        stderr=terminal.theirs,
        check=False,
    )
    assert kinds(terminal.lines()) == [*KINDS, ""]


def test_nothing_is_told_where_nobody_looks(run, answered):
    assert answered("nets.py", "--no-cache", code=1).stderr == ""
    terminal, _ = run("nets.py", "--no-cache", TERM="dumb")
    assert terminal.text() == ""


def test_an_error_follows_on_a_clean_line(run):
    terminal, _ = run("show", "One(width=3)", "--no-cache", "--python", "/nope/python")
    *_, last = terminal.lines()
    assert last.startswith("nparam-lint: no interpreter at /nope/python")


def test_how_long_it_still_takes(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    line = ProgressLine(io.StringIO())
    line.label, line.every, line.began = "nets/vit.py::ViT", 40, 100.0
    assert line.text(101.0) == "counting 0/40  nets/vit.py::ViT"
    line.count = 10
    assert line.text(110.0) == "counting 10/40  nets/vit.py::ViT  about 30 s left"
    assert line.text(200.0) == "counting 10/40  nets/vit.py::ViT  about 5 min left"
    line.count = 39
    assert line.text(139.0) == "counting 39/40  nets/vit.py::ViT"
    line.label = "nets/a_long_path/of_many_names/vit.py::VisionTransformer"
    assert line.text(139.0) == "counting 39/40  nets/a_l…ny_names/vit.py::VisionTransformer"


def test_runs_after_each_other_count_on():
    told = io.StringIO()
    line = ProgressLine(told)
    line(0, 3, "One")
    line(3, 3, "One")
    line(0, 2, "One")
    line.start -= 12
    assert re.fullmatch(r"counting 3/5  One  1[23] s", line.text(time.monotonic()))
    line.end()
    assert told.getvalue().endswith("\r\x1b[K")


def test_a_log_gets_a_line_now_and_then():
    told = io.StringIO()
    line = ProgressLog(told)
    line.show(READING)
    line(0, 3, "One")
    line.drawn -= 21
    line(1, 3, "Two")
    line(2, 3, "Three")  # at once
    line.end()
    assert re.fullmatch(r"nparam-lint: counting 1/3  Two.*\n", told.getvalue())


# --- characters -----------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_bars_and_ticks_in_other_encodings(run, encoding):
    terminal, output = run("nets.py", "--no-cache", encoding=encoding)
    assert "?" not in output + terminal.text()
    marks = [line.split()[:2] for line in output.splitlines() if line.startswith("  ")]
    assert ["x", "One"] in marks
    assert ["+", "Two"] in marks


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_columns_stay_straight(run, encoding):
    shown, plain = (
        run("show", "Two", "--no-cache", encoding=name)[1].splitlines()
        for name in (encoding, "utf-8")
    )
    assert list(map(len, shown)) == list(map(len, plain))
    bars = [line.split()[-2 if "nets.py" in line else -1] for line in shown if " %" in line]
    assert bars == ["##########", "##########"]


def test_an_answer_that_is_printed_again_has_the_same_characters(place, environ):
    def printed():
        command = [sys.executable, "-m", "nparam_lint", "nets.py"]
        ascii_only = environ | {"PYTHONIOENCODING": "ascii"}
        done = subprocess.run(command, cwd=place, env=ascii_only, capture_output=True, check=False)
        return done.stdout

    for path in (place / "nets.py", place):  # what has just changed is not relied upon
        os.utime(path, (1_600_000_000, 1_600_000_000))
    first, again = printed(), printed()
    assert first.isascii()
    assert b"x " in first
    assert [line for line in again.splitlines() if b" s" not in line][:3] == [
        line for line in first.splitlines() if b" s" not in line
    ][:3]
    assert b"?" not in again
