"""Which environment variables a measurement rests on: those that code has asked for, and those that
C code may read."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cache_project import Answer, Checker
from case_books import Book

from nparam_lint.cache import decides, is_read_by_c, value_of
from nparam_lint.count.worker_environment import worker_environment

if TYPE_CHECKING:
    from conftest import Command


BOOK = Book(Path(__file__).with_name("environment.txt"))
KINDS = {case.answer.partition(" ")[0]: case.answer.partition(" ")[2] for case in BOOK.cases}
NAMES = {case.target: case.answer.partition(" ")[0] for case in BOOK.cases}
ASKING, LISTING = ({name for name in KINDS if KINDS[name] == kind} for kind in ("asks", "lists"))
ALWAYS = {"ctypes"}
LISTERS = LISTING | ALWAYS | {"program_with_all"}


def widths(answer: Answer) -> dict[str, int | None]:
    """Those of the models, by name."""
    return {NAMES[target]: total and (total - 4) // 4 for target, total in answer.totals.items()}


@pytest.mark.thorough
def test_exactly_what_a_model_may_see_of_a_change(nparam_lint: Command, tmp_path: Path) -> None:
    checker = Checker.of(BOOK.files, nparam_lint, tmp_path)
    four = dict.fromkeys(KINDS, 4)

    def built(expected: dict[str, int], *more: str, **variables: str) -> set[str]:
        """Which models are, in an environment with these variables."""
        checker.environ = variables
        answer = checker.check(*more)
        assert widths(answer) == expected
        return expected.keys() - set(map(NAMES.__getitem__, answer.recalled))

    assert built(four) == KINDS.keys()
    eight = four | dict.fromkeys((*ASKING, *LISTING), 8)
    assert built(eight, WIDE="8", EMPTY="") == LISTERS | ASKING
    checker.agree()
    assert built(four | {"prefix": 8}, WANDB_W="1", WIDER="1") == LISTERS | {"prefix", "own"}
    assert built(four, MKL_CBWR="AVX2") == KINDS.keys()  # C code may read it
    assert built(four) == ALWAYS

    # A hook finds what a run in a shell has measured.
    subprocess.run(("git", "add", "."), cwd=checker.root, check=True)
    (checker.root / "untracked.py").write_text("")
    path = f"/usr/lib/git-core:{os.environ['PATH']}"
    hook = {"PATH": path, "GIT_AUTHOR_DATE": "@1 +0000", "PRE_COMMIT": "1"}
    assert built(four, "--staged", **hook) == ALWAYS


@pytest.mark.parametrize(
    ("name", "c", "command"),
    [
        ("HF_HOME", True, True),
        ("LC_ALL", True, True),
        ("PATH", False, True),
        ("NPARAM_LINT_DEVICE", False, True),
        ("MY_TOKEN", False, True),
        ("SSH_AUTH_SOCK", False, False),
        ("FOO", False, False),
        ("GIT_AUTHOR_DATE", False, False),
        ("GIT_PREFIX", False, True),
        ("PYTHONDONTWRITEBYTECODE", False, True),
    ],
)
def test_the_list(name: str, c: bool, command: bool) -> None:
    assert (is_read_by_c(name), decides(name)) == (c, command)


def test_several_variables_at_once() -> None:
    environ = {"A_1": "x", "A_2": "y", "B": "z", "PWD": "/here"}
    assert value_of("A_*", environ) == "A_1=x\nA_2=y"
    assert value_of("*", environ) == "A_1=x\nA_2=y\nB=z"
    assert value_of("C_*", environ) == ""
    assert value_of("C", environ) is None


def test_only_python_code_gets_what_is_not_in_the_list() -> None:
    environ = {"FOO": "1", "HF_HOME": "/h", "MY_TOKEN": "x"}
    seen = worker_environment(environ, "/tmp", "/v/bin/python")
    assert seen.process["HF_HOME"] == "/h"
    assert seen.on_request == {"FOO": "1"}
    assert seen.visible["FOO"] == "1"


def test_programs_are_looked_for_alike_in_a_hook_and_in_a_shell(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "pyvenv.cfg").write_text("")
    for path in (
        "/usr/bin",
        f"{tmp_path}/bin:/usr/bin",
        f"/usr/lib/git-core:{tmp_path}/bin:/usr/bin",
    ):
        seen = worker_environment({"PATH": path}, "", "/v/bin/python")
        assert seen.process["PATH"] == "/v/bin:/usr/bin"
