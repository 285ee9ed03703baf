"""Which environment variables a measurement rests on: those that code has asked for, and those that
C code may read."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from cache_project import Checker, net, new_repository, write

from nparam_lint.cache import decides, is_read_by_c, value_of
from nparam_lint.count.worker_environment import worker_environment

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# Ways to ask for WIDE, whose value is the width of a model; 4 without it.
ASKED = {
    "get": ("import os", "int(os.environ.get('WIDE', 4))"),
    "getenv": ("import os", "int(os.getenv('WIDE') or 4)"),
    "contains": ("import os", "8 if 'WIDE' in os.environ else 4"),
    "item": (
        """\
        import os
        try:
            W = int(os.environ["WIDE"])
        except KeyError:
            W = 4
        """,
        "W",
    ),
    "bytes": ("import os", "int(os.environb.get(b'WIDE', b'4'))"),
    "pop": ("import os", "int(os.environ.pop('WIDE', 4))"),
    "setdefault": ("import os", "int(os.environ.setdefault('WIDE', '4'))"),
    "expanded": ("import os", "int(os.path.expandvars('$WIDE').replace('$WIDE', '4'))"),
    "an early name": ("from os import environ as E", "int(E.get('WIDE', 4))"),
    "unset or empty": ("import os", "4 if os.getenv('WIDE') is None else 8"),
}
# What lists the environment, and so depends on all of it.
LISTED = {
    "dict": "int(dict(os.environ).get('WIDE', 4))",
    "items": "int(next((v for k, v in os.environ.items() if k == 'WIDE'), 4))",
    "copy": "int(os.environ.copy().get('WIDE', 4))",
    "union": "int(({'WIDE': 4} | os.environ)['WIDE'])",
}
LISTER = "wandb/sdk/wandb_settings.py"


@pytest.fixture
def made(tmp_path: Path, nparam_lint: Callable[..., Any]) -> Callable[[dict[str, str]], Checker]:
    def make(files: dict[str, str]) -> Checker:
        root = tmp_path / "project"
        new_repository(root)
        write(root, files)
        return Checker(nparam_lint, root, tmp_path / "cache")

    return make


def all_recalled(checker: Checker) -> bool:
    found = checker.check()
    return found.recalled == found.totals.keys()


@pytest.mark.thorough
def test_what_code_asks_for_and_nothing_else(made: Any) -> None:
    files = {f"{n}.py": net(*asked) for n, asked in enumerate(ASKED.values())}
    checker = made(files)
    assert set(checker.check().totals.values()) == {20}
    checker.environ["OTHER"] = "1"
    assert all_recalled(checker)
    checker.environ["WIDE"] = "8"
    assert set(checker.agree().totals.values()) == {36}
    del checker.environ["WIDE"]
    assert all_recalled(checker)


@pytest.mark.thorough
def test_empty_is_not_unset(made: Any) -> None:
    checker = made({"a.py": net(*ASKED["unset or empty"])})
    assert checker.check().totals == {"a.py::Net": 20}
    checker.environ["WIDE"] = ""
    assert checker.agree().totals == {"a.py::Net": 36}


@pytest.mark.thorough
def test_what_lists_the_environment_depends_on_all_of_it(made: Any) -> None:
    checker = made({f"{n}.py": net("import os", width) for n, width in enumerate(LISTED.values())})
    assert set(checker.check().totals.values()) == {20}
    checker.environ["OTHER"] = "1"
    assert checker.check().recalled == frozenset()
    checker.environ["WIDE"] = "8"
    assert set(checker.agree().totals.values()) == {36}
    assert all_recalled(checker)


@pytest.mark.thorough
def test_a_library_that_looks_for_names_that_begin_so(made: Any) -> None:
    """tqdm, which torch imports, lists the environment for its own variables; so does wandb."""
    lists = "import os\nW = [v for k, v in os.environ.items() if k.startswith('WANDB_W')]\n"
    files = {"wandb/__init__.py": "", "wandb/sdk/__init__.py": "", LISTER: lists}
    checker = made({"a.py": net("from wandb.sdk.wandb_settings import W", "W and 8 or 4"), **files})
    checker.check()
    checker.environ["OTHER"] = "1"
    assert all_recalled(checker)
    checker.environ["WANDB_W"] = "1"
    assert checker.agree().totals == {"a.py::Net": 36}


@pytest.mark.thorough
def test_what_code_has_set_itself_is_not_the_users(made: Any) -> None:
    own = "import os\nos.environ['WIDE'] = '8'\nos.environ.pop('WIDER', None)"
    checker = made({"a.py": net(own, "int(os.environ['WIDE']) + ('WIDER' in os.environ)")})
    assert checker.check().totals == {"a.py::Net": 36}
    checker.environ["WIDE"] = "16"
    assert all_recalled(checker)
    checker.environ["WIDER"] = "1"  # whether it was there was asked
    assert checker.agree().recalled == frozenset()


@pytest.mark.thorough
def test_a_program_sees_what_it_is_given(made: Any) -> None:
    """Without an environment of its own it has the variables that C code sees, and no other."""
    listing = "import os, subprocess\nOUT = subprocess.run(['uname'], capture_output=True)"
    given = "import os, subprocess\nOUT = subprocess.run(['uname'], env=os.environ.copy())"
    checker = made({"a.py": net(listing, 4), "b.py": net(given, 4)})
    checker.check()
    checker.environ["OTHER"] = "1"
    assert checker.check().totals == {"a.py::Net": 20, "b.py::Net": 20}
    unseen = made({"c.py": net("import ctypes", "8 if ctypes.CDLL(None).getenv(b'OTHER') else 4")})
    unseen.environ["OTHER"] = "1"
    assert unseen.check().totals["c.py::Net"] == 20  # it is not there, and cannot matter


@pytest.mark.thorough
def test_what_c_code_may_read_is_part_of_every_measurement(made: Any) -> None:
    checker = made({"a.py": net("", 4)})
    checker.check()
    checker.environ["MKL_CBWR"] = "AVX2"
    assert checker.agree().recalled == frozenset()
    del checker.environ["MKL_CBWR"]
    assert all_recalled(checker)


def test_a_hook_and_a_shell_share_measurements(made: Any) -> None:
    checker = made({"a.py": net("import os, subprocess", "4 if os.environ['PATH'] else 8")})
    checker.check()
    (checker.root / "untracked.py").write_text("")
    subprocess.run(("git", "add", "a.py"), cwd=checker.root, check=True)
    path = f"/usr/lib/git-core:{os.environ['PATH']}"
    checker.environ |= {"PATH": path, "GIT_AUTHOR_DATE": "@1 +0000", "PRE_COMMIT": "1"}
    assert checker.check("--staged").recalled == {"a.py::Net"}


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
    made = worker_environment(environ, "/tmp", "/v/bin/python")
    assert made.process["HF_HOME"] == "/h"
    assert made.on_request == {"FOO": "1"}
    assert made.visible["FOO"] == "1"


def test_programs_are_looked_for_alike_in_a_hook_and_in_a_shell(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "pyvenv.cfg").write_text("")
    paths = ("/usr/bin", f"{tmp_path}/bin:/usr/bin", f"/usr/lib/git-core:{tmp_path}/bin:/usr/bin")
    found = {worker_environment({"PATH": p}, "", "/v/bin/python").process["PATH"] for p in paths}
    assert found == {"/v/bin:/usr/bin"}
