"""The scripts of `completion`, in the real shells: what Tab writes on a terminal."""

import os
import pty
import select
import shutil
import subprocess
import sys
import time

import pytest
from sample_files import write_files

from nparam_lint.cli.completion import commands
from nparam_lint.cli.main import COMMANDS

LAST = 60  # seconds to wait for what a shell writes
# The line up to where Tab is pressed → what it ends with then.
LINES = {
    "nparam-lint sho": "nparam-lint show ",
    "nparam-lint show --out": "nparam-lint show --output-file",
    "nparam-lint --stag": "nparam-lint --staged",
    "nparam-lint show --format js": "nparam-lint show --format json",
    "nparam-lint show vit.py::ViT --format js": "nparam-lint show vit.py::ViT --format json",
    "nparam-lint show nets/v": "nparam-lint show nets/vit.py",
    "nparam-lint init ne": "nparam-lint init nets/",
    "nparam-lint rule NPL007": "nparam-lint rule NPL007 ",
    "nparam-lint help doc": "nparam-lint help doctor",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return write_files(tmp_path_factory.mktemp("project"), {"nets/vit.py": ""})


@pytest.fixture(scope="module")
def home(tmp_path_factory, environ):
    """The environment of a shell, in which `nparam-lint` is this one."""
    folder = tmp_path_factory.mktemp("bin")
    start = folder / "nparam-lint"
    start.write_text(f'#!/bin/sh\nexec {sys.executable} -m nparam_lint "$@"\n')
    start.chmod(0o755)
    path = f"{folder}{os.pathsep}{environ['PATH']}"
    return environ | {"PATH": path, "HOME": str(folder), "TERM": "dumb", "COLUMNS": "200"}


@pytest.fixture(scope="module")
def script(tmp_path_factory, home):
    def make(shell):
        if shutil.which(shell) is None:
            pytest.skip(f"{shell} is not installed")
        file = tmp_path_factory.mktemp("script") / f"nparam-lint.{shell}"
        text = subprocess.run(
            ["nparam-lint", "completion", shell], env=home, capture_output=True, check=True
        ).stdout
        file.write_bytes(text)
        return file

    return make


def test_all_commands_and_options_are_known():
    found = {command.name: command for command in commands()}
    assert [*found] == [*COMMANDS, "help"]
    names = [name for option in found["show"].options for name in option.names]
    assert {"--training", "-o", "--output-file", "-v"} <= {*names}
    by_name = {option.names[-1]: option for option in found["check"].options}
    assert by_name["--format"].values[:3] == ("text", "concise", "json")
    assert by_name["--staged"].kind == "flag"


class Terminal:
    """A shell at a terminal, to which one types."""

    def __init__(self, command, cwd, env):
        self.text = ""
        pid, self.end = pty.fork()
        if pid == 0:
            os.chdir(cwd)
            os.execvpe(command[0], command, env)
        self.pid = pid

    def wait_for(self, words, start=0):
        deadline = time.monotonic() + LAST
        while words not in self.text[start:]:
            left = deadline - time.monotonic()
            assert left > 0, f"no {words!r} in {self.text[start:]!r}"
            if select.select([self.end], [], [], left)[0]:
                written = os.read(self.end, 65536).decode(errors="replace")
                self.text += written.replace("\a", "")  # which zsh rings in the middle of a word

    def type(self, words):
        os.write(self.end, words.encode())

    def close(self):
        os.close(self.end)
        os.waitpid(self.pid, 0)


@pytest.fixture(scope="module", params=["bash", "zsh"])
def terminal(request, script, place, home):
    file = script(request.param)
    command = {"bash": ["bash", "--norc", "-i"], "zsh": ["zsh", "-f", "-i"]}[request.param]
    shell = Terminal(command, place, home)
    shell.type("PS1='$ '; PS2=''\n")
    if request.param == "zsh":
        shell.type("autoload -U compinit; compinit -u -D; unsetopt zle_bracketed_paste\n")
    shell.type(f"source {file}; echo REA''DY\n")
    shell.wait_for("READY")
    yield shell
    shell.close()


@pytest.mark.parametrize("line", LINES)
def test_tab_at_a_terminal(terminal, line):
    start = len(terminal.text)
    terminal.type("\x15echo BEG''IN\n")
    terminal.wait_for("BEGIN", start)
    start = len(terminal.text)
    terminal.type(f"{line}\t")
    terminal.wait_for(LINES[line], start)


def test_tab_in_fish(script, place, home):
    file = script("fish")
    asked = "\n".join(f"complete -C '{line}'; echo '--'" for line in LINES)
    done = subprocess.run(
        ["fish", "--no-config", "-c", f"source {file}\n{asked}"],
        cwd=place,
        env=home,
        capture_output=True,
        encoding="utf-8",
        timeout=LAST,
        check=False,
    )
    assert done.stderr == ""
    answers = [text.strip().splitlines() for text in done.stdout.split("--\n")]
    for (line, whole), found in zip(LINES.items(), answers, strict=False):
        word = whole.split()[-1]
        assert any(one.split("\t")[0].startswith(word) for one in found), (line, found)
