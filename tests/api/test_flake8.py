"""The plugin inside the real flake8, run as a user runs it."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib.metadata import version

import pytest
from sample_files import write_files

from nparam_lint.api.flake8_plugin import Plugin
from nparam_lint.ground.rule_catalogue import RULES

HEAD = "from torch import nn\n\n\nclass Net(nn.Module):\n    def build(self):\n"
LIST = "        self.layers = [nn.Linear(2, 2), nn.Linear(2, 2)]"
MESSAGE = (
    "NPL101 self.layers keeps nn.Linear in a plain list, where parameters() does not find it; "
    "make self.layers an nn.ModuleList"
)
COMMENTS = (
    *("noqa", "noqa: NPL101", "nparam: ignore[NPL101]"),
    *("noqa: E501", "nparam: ignore[NPL102]", "a word"),
)
CASES = {rule.code: rule.invalid for rule in RULES.values() if rule.invalid}
SOURCES = {
    **{f"{code.lower()}.py": next(iter(cases)) for code, cases in CASES.items()},
    "others.py": f"import os\n{HEAD}{LIST}\n",
    "comments.py": HEAD
    + "".join(
        f"{LIST.replace('layers', f'layers{n}')}  # {comment}\n"
        for n, comment in enumerate(COMMENTS)
    ),
    "syntax.py": f"{HEAD}{LIST}\ndef (:\n",
    "right.py": HEAD + LIST.replace("[", "nn.ModuleList([").replace("]", "])") + "\n",
}
ENCODED = f"name = 'Größe'\n{HEAD}{LIST}\n"


@pytest.fixture(scope="module")
def flake8(tmp_path_factory, environ):
    root = write_files(tmp_path_factory.mktemp("flake8"), SOURCES)
    (root / "latin.py").write_bytes(f"# -*- coding: latin-1 -*-\n{ENCODED}".encode("latin-1"))
    (root / "cp1252.py").write_bytes(f"# as Windows wrote it\n{ENCODED}".encode("cp1252"))

    def run(*arguments, stdin=None):
        return subprocess.run(
            [sys.executable, "-m", "flake8", *arguments],
            cwd=root,
            env=environ,
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )

    return run


@pytest.fixture(scope="module")
def printed(flake8):
    """The lines about each file."""
    done = flake8("--select", "F401,E9,NPL", "--jobs", "2")
    assert (done.returncode, done.stderr) == (1, "")
    lines = [line.removeprefix("./").partition(":")[::2] for line in done.stdout.splitlines()]
    return {name: sorted(line for file, line in lines if file == name) for name, _ in lines}


def test_flake8_knows_the_plugin(flake8):
    installed = version("nparam-lint")
    assert f"nparam-lint: {installed}" in " ".join(flake8("--version").stdout.split())


@pytest.mark.parametrize("code", CASES)
def test_every_rule_speaks_through_flake8(printed, code):
    places = (line.partition(" ") for line in next(iter(CASES[code].values())).splitlines())
    expected = sorted(f"{place}: {code} {message}" for place, _, message in places)
    lines = [line for line in printed[f"{code.lower()}.py"] if "F401" not in line]
    assert len(lines) == len(expected)
    assert all(map(str.startswith, lines, expected))


def test_it_is_on_beside_the_other_checks_and_off_by_its_code(printed, flake8):
    assert printed["others.py"] == ["1:1: F401 'os' imported but unused", f"7:9: {MESSAGE}"]
    assert flake8("--extend-ignore", "NPL101,F", "others.py").stdout == ""


def test_comments_silence_their_line_alone(printed):
    said = {n: MESSAGE.replace("layers", f"layers{n}") for n in (3, 4, 5)}
    assert printed["comments.py"] == sorted(f"{6 + n}:9: {text}" for n, text in said.items())


def test_a_syntax_error_is_left_to_flake8(printed):
    assert [line.split()[1] for line in printed["syntax.py"]] == ["E999"]


def test_files_in_other_encodings_and_one_without_fault(printed):
    assert printed["latin.py"] == printed["cp1252.py"] == [f"8:9: {MESSAGE}"]
    assert "right.py" not in printed


def test_standard_input(flake8):
    name = ("--stdin-display-name", "nets/net.py")
    done = flake8("--select", "NPL", *name, "-", stdin=f"{HEAD}{LIST}\n")
    assert done.stdout == f"nets/net.py:6:9: {MESSAGE}\n"


def fails(*_):
    raise KeyError("a")


def test_a_file_without_torch_is_not_looked_at_and_a_defect_is_said_of_its_file(monkeypatch):
    monkeypatch.setattr("nparam_lint.gate.rules.lint.parse_text", fails)
    assert list(Plugin(ast.parse(""), "x.py", ["x = 1"]).run()) == []
    ((line, column, text, _),) = Plugin(ast.parse(""), "net.py", [HEAD]).run()
    said = "NPL003 not checked: a defect of nparam-lint: KeyError: 'a' in gate/rules/lint.py:"
    assert (line, column, text.startswith(said)) == (1, 0, True), text
