"""The plugin inside the real flake8, run as a user runs it."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib.metadata import version

import pytest

from nparam_lint.ground.rule_catalogue import RULES
from nparam_lint.plugins.flake8_plugin import Plugin

HEAD = "from torch import nn\n\n\nclass Net(nn.Module):\n    def build(self):\n"
LIST = "        self.layers = [nn.Linear(2, 2), nn.Linear(2, 2)]"
MESSAGE = (
    "NPL101 self.layers keeps nn.Linear in a plain list, where parameters() does not find it; "
    "make self.layers an nn.ModuleList"
)


@pytest.fixture
def flake8(tmp_path, environ):
    def run(*arguments, stdin=None):
        return subprocess.run(
            [sys.executable, "-m", "flake8", *arguments],
            cwd=tmp_path,
            env=environ,
            input=stdin,
            capture_output=True,
            check=False,
        )

    return run


def test_flake8_knows_the_plugin(flake8):
    installed = version("nparam-lint")
    assert f"nparam-lint: {installed}" in " ".join(flake8("--version").stdout.decode().split())


def test_every_rule_speaks_through_flake8(flake8, tmp_path):
    expected = []
    for rule in (rule for rule in RULES.values() if rule.invalid):
        source, findings = next(iter(rule.invalid.items()))
        name = f"{rule.code.lower()}.py"
        (tmp_path / name).write_text(source, encoding="utf-8")
        for line in findings.splitlines():
            place, _, message = line.partition(" ")
            expected.append(f"./{name}:{place}: {rule.code} {message}")
    done = flake8("--select", "NPL", "--jobs", "2")
    lines = done.stdout.decode().splitlines()
    assert done.returncode == 1
    assert len(lines) == len(expected)
    for line, start in zip(sorted(lines), sorted(expected), strict=True):
        assert line.startswith(start)


def test_it_is_on_beside_the_other_checks_and_off_by_its_code(flake8, tmp_path):
    (tmp_path / "net.py").write_text(f"import os\n{HEAD}{LIST}\n")
    done = flake8("--select", "F,NPL", "net.py")
    assert done.stdout.decode().splitlines() == [
        "net.py:1:1: F401 'os' imported but unused",
        f"net.py:7:9: {MESSAGE}",
    ]
    assert flake8("--extend-ignore", "NPL101,F", "net.py").stdout == b""


def test_comments_silence_their_line_alone(flake8, tmp_path):
    silent = ("noqa", "noqa: NPL101", "nparam: ignore[NPL101]")
    about_others = ("noqa: E501", "nparam: ignore[NPL102]", "a word")
    lines = (
        f"{LIST.replace('layers', f'layers{n}')}  # {comment}\n"
        for n, comment in enumerate((*silent, *about_others))
    )
    (tmp_path / "net.py").write_text(HEAD + "".join(lines))
    done = flake8("--select", "NPL", "net.py")
    assert done.stdout.decode().splitlines() == [
        f"net.py:{6 + n}:9: {MESSAGE.replace('layers', f'layers{n}')}" for n in (3, 4, 5)
    ]


def test_standard_input(flake8):
    source = f"{HEAD}{LIST}\n".encode()
    done = flake8("--select", "NPL", "-", stdin=source)
    assert done.stdout.decode() == f"stdin:6:9: {MESSAGE}\n"
    done = flake8("--select", "NPL", "--stdin-display-name", "nets/net.py", "-", stdin=source)
    assert done.stdout.decode() == f"nets/net.py:6:9: {MESSAGE}\n"


def test_a_syntax_error_is_left_to_flake8(flake8, tmp_path):
    (tmp_path / "net.py").write_text(f"{HEAD}{LIST}\ndef (:\n")
    done = flake8("--select", "NPL,E9", "net.py")
    assert done.returncode == 1
    assert done.stderr == b""
    assert [line.split()[1] for line in done.stdout.decode().splitlines()] == ["E999"]


def test_files_in_other_encodings_and_one_without_fault(flake8, tmp_path):
    right = LIST.replace("[", "nn.ModuleList([").replace("]", "])")
    for name, encoding, cookie, line in (
        ("a.py", "latin-1", "# -*- coding: latin-1 -*-", LIST),
        ("b.py", "cp1252", "# as Windows wrote it", LIST),
        ("c.py", "utf-8", "# right", right),
    ):
        source = f"{cookie}\nname = 'Größe'\n{HEAD}{line}\n"
        (tmp_path / name).write_bytes(source.encode(encoding))
    done = flake8("--select", "NPL", "--jobs", "1")
    told = [f"./{name}:8:9: {MESSAGE}" for name in ("a.py", "b.py")]
    assert (sorted(done.stdout.decode().splitlines()), done.stderr) == (told, b"")


def test_files_without_torch_cost_nothing():
    code = (
        "import ast, sys; from nparam_lint.plugins.flake8_plugin import Plugin;"
        "print(list(Plugin(ast.parse('x = 1'), 'x.py', ['x = 1']).run()),"
        " {'libcst', 'torch'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[] set()\n"


def test_columns_count_from_zero_for_flake8():
    source = f"{HEAD}{LIST}\n"
    found = list(Plugin(ast.parse(source), "net.py", source.splitlines(keepends=True)).run())
    assert found == [(6, 8, MESSAGE, Plugin)]


def test_a_defect_is_said_of_its_file(monkeypatch):
    monkeypatch.setattr("nparam_lint.rules.lint.lint_source", lambda *_: {}["a"])
    ((line, column, text, _),) = Plugin(ast.parse(""), "net.py", [HEAD]).run()
    said = "NPL003 not checked: a defect of nparam-lint: KeyError: 'a' in plugins/flake8_plugin.py:"
    assert (line, column, text.startswith(said)) == (1, 0, True), text
