"""Which environment variables a measurement rests on: those that code has asked for, and those that
C code may read."""

from __future__ import annotations

import os
import subprocess
from textwrap import indent
from typing import TYPE_CHECKING

import pytest
from cache_project import Answer, Checker, net

from nparam_lint.cache import decides, is_read_by_c, value_of
from nparam_lint.count.reasons import NEVER
from nparam_lint.count.worker_environment import worker_environment

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Command


def reading(statements: str, width: object = "w") -> str:
    """A model whose constructor does that, and is as wide as the statements or an expression say.
    (What is read while modules are imported counts for all models of a run.)"""
    body = indent(statements, "    ")
    return net(
        f"import ctypes, os, subprocess\ndef width():\n{body}\n    return {width}", "width()"
    )


# Ways to ask for WIDE, whose value is the width of a model; 4 without it.
ASKING = {
    "get": reading("w = os.environ.get('WIDE', 4)", "int(w)"),
    "getenv": reading("w = os.getenv('WIDE') or 4", "int(w)"),
    "contains": reading("w = 8 if 'WIDE' in os.environ else 4"),
    "item": reading("try:\n    w = int(os.environ['WIDE'])\nexcept KeyError:\n    w = 4"),
    "bytes": reading("w = int(os.environb.get(b'WIDE', b'4'))"),
    "pop": reading("w = int(os.environ.pop('WIDE', 4))"),
    "setdefault": reading("w = int(os.environ.setdefault('WIDE', '4'))"),
    "expanded": reading("w = int(os.path.expandvars('$WIDE').replace('$WIDE', '4'))"),
    "early_name": reading("from os import environ as E\nw = int(E.get('WIDE', 4))"),
    "empty": reading("w = 4 if os.getenv('EMPTY') is None else 8"),
}
# What lists the environment, and so depends on all of it.
LISTING = {
    "dict": reading("w = int(dict(os.environ).get('WIDE', 4))"),
    "items": reading("w = int(next((v for k, v in os.environ.items() if k == 'WIDE'), 4))"),
    "copy": reading("w = int(os.environ.copy().get('WIDE', 4))"),
    "union": reading("w = int(({'WIDE': 4} | os.environ)['WIDE'])"),
}
OTHERS = {
    "nothing": net("", 4),
    # tqdm, which torch imports, lists the environment for its own variables; so does wandb.
    "prefix": reading("from wandb.sdk.wandb_settings import W\nw = 8 if W else 4"),
    # What code has set itself is not the user's; whether it was there is asked.
    "own": reading(
        "os.environ['SIZE'] = '4'\nos.environ.pop('WIDER', None)",
        "int(os.environ['SIZE']) + ('WIDER' in os.environ)",
    ),
    # A program has the variables that C code sees, and no other, unless it is given some.
    "program": reading("subprocess.run(['uname'], capture_output=True)", 4),
    "program_with_all": reading(
        "subprocess.run(['uname'], env=os.environ.copy(), capture_output=True)", 4
    ),
    # It is not there, and cannot matter. (What was read by ctypes is never kept.)
    "ctypes": reading("w = 8 if ctypes.CDLL(None).getenv(b'WIDE') else 4"),
}
MODELS = ASKING | LISTING | OTHERS
WANDB = {
    "wandb/__init__.py": "",
    "wandb/sdk/__init__.py": "",
    "wandb/sdk/wandb_settings.py": (
        "import os\nW = [v for k, v in os.environ.items() if k.startswith('WANDB_W')]\n"
    ),
}
ALWAYS = {"ctypes"}
LISTERS = LISTING.keys() | ALWAYS | {"program_with_all"}


def name_of(target: str) -> str:
    return target.removeprefix("of_").removesuffix(".py::Net")


def widths(answer: Answer) -> dict[str, int | None]:
    """Those of the models, by name."""
    return {name_of(target): total and (total - 4) // 4 for target, total in answer.totals.items()}


@pytest.mark.thorough
def test_exactly_what_a_model_may_see_of_a_change(nparam_lint: Command, tmp_path: Path) -> None:
    files = {f"of_{name}.py": source for name, source in MODELS.items()} | WANDB
    checker = Checker.of(files, nparam_lint, tmp_path)
    four = dict.fromkeys(MODELS, 4)
    whys: set[str] = set()

    def built(expected: dict[str, int], *more: str, **variables: str) -> set[str]:
        """Which models are, in an environment with these variables."""
        checker.environ = variables
        answer = checker.check(*more)
        assert widths(answer) == expected
        whys.update(m["why_built"] for m in answer.report["models"] if "why_built" in m)
        return expected.keys() - set(map(name_of, answer.recalled))

    assert built(four) == MODELS.keys()
    eight = four | dict.fromkeys((*ASKING, *LISTING), 8)
    assert built(eight, WIDE="8", EMPTY="") == LISTERS | ASKING.keys()
    checker.agree()
    assert built(four | {"prefix": 8}, WANDB_W="1", WIDER="1") == LISTERS | {"prefix", "own"}
    assert built(four, "--why-built", MKL_CBWR="AVX2") == MODELS.keys()  # C code may read it
    assert whys == {"the environment variable MKL_CBWR is set", NEVER}
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
