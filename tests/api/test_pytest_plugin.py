"""The pytest plugin, and a test that checks a project: real runs of pytest."""

import re
import subprocess
import sys
from functools import partial

import pytest
from inner_pytest import run_pytest
from sample_files import write_files

MODELS = '''\
from torch import nn


class Right(nn.Module):
    """nparam: 20"""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)


class Drifted(nn.Module):
    """nparam: 100"""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(10, 10)
        self.second = nn.Linear(10, 1)


class Needs(nn.Module):
    """nparam: 12"""

    def __init__(self, width):
        super().__init__()
'''
TEST = """\
import nparam_lint


def test_declared_counts():
    assert nparam_lint.check(".").ok


def test_with_all_that_is_wrong():
    report = nparam_lint.check(".")
    assert report.ok, str(report)
"""
DRIFTED = "model.py:13 NPL001 Drifted has 121 parameters, declared 100: +21 (+21.00 %)"
NEEDS = "model.py:22 NPL004 Needs needs width"


@pytest.fixture
def run(environ, tmp_path):
    return partial(run_pytest, environ, "-q", cwd=tmp_path)


def test_nothing_is_imported(environ, tmp_path):
    test = """\
import sys


def test_modules():
    read = {n: type(m).__name__ != "UnreadModule" for n, m in sys.modules.items()}
    room = "nparam_lint.api"
    ours = {n for n, is_read in read.items() if n.startswith("nparam_lint.") and is_read}
    assert ours == {room, f"{room}.pytest_plugin", "nparam_lint.ground", "nparam_lint.ground.late"}
    assert not {"torch", "libcst", "tabulate", "pathspec"} & set(sys.modules)
"""
    files = {"test_modules.py": test, "model.py": MODELS, "nparam-lint.toml": "this is not TOML"}
    write_files(tmp_path, files)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "nparam_lint.api.pytest_plugin"],
        cwd=tmp_path,
        env=environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert re.fullmatch(r"\. +\[100%\]\n1 passed in \S+\n", done.stdout)


def test_an_assertion_says_which_budgets_are_broken(run, tmp_path):
    write_files(tmp_path, {"model.py": MODELS, "tests/test_declared.py": TEST})
    done = run("-rN")
    assert done.returncode == 1
    said = [line.removeprefix("E").strip() for line in done.stdout.splitlines() if line[:1] == "E"]
    assert f"+  where False = <Report: {DRIFTED}; {NEEDS}>.ok" in said
    at = said.index(f"AssertionError: {DRIFTED}")
    assert said[at + 1] == NEEDS
    (tmp_path / "model.py").write_text(MODELS.partition("\n\nclass Drifted")[0])
    assert run().returncode == 0


def test_a_report_of_many_errors_is_not_too_long_for_pytest(run, tmp_path):
    drifted = "".join(f'class A{n}(Drifted):\n    """nparam: {n}"""\n\n\n' for n in range(9))
    write_files(tmp_path, {"model.py": f"{MODELS}\n\n{drifted}", "tests/test_declared.py": TEST})
    done = run("-k", "declared")
    assert f"where False = <Report: {DRIFTED}; {NEEDS}; model.py:" in done.stdout
    assert "; and 9 more>.ok\n" in done.stdout or "; and 8 more>.ok\n" in done.stdout
