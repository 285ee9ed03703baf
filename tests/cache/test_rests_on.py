"""What the answer that is given again rests on, besides the files of the project."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from cache_project import Checker, net, new_repository, write
from sample_repository import GIT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.name != "posix", reason="elsewhere no answer is kept")

# Nothing has to be built to find fault with it.
WRONG = net("", 4).replace(":\n", ':\n    """nparam: about 20"""\n', 1)
STAGED = ("check", "--staged", "--static", "--format", "json")
OURS = "\n".join(path for path in sys.path if path.endswith("site-packages"))


@pytest.fixture
def made(tmp_path: Path, nparam_lint_process: Callable[..., Any]) -> Callable[..., Checker]:
    """A checker of a repository with a budget that cannot be read."""

    def make(files: dict[str, str], *arguments: object) -> Checker:
        root = tmp_path / "project"
        new_repository(root)
        write(root, {"a.py": WRONG, **files})
        return Checker(nparam_lint_process, root, tmp_path / "cache", arguments)

    return make


def add(root: Path, path: str = ".") -> None:
    subprocess.run(["git", "add", path], cwd=root, env=os.environ | GIT, check=True)


def keep_answer(checker: Checker) -> None:
    """What was changed less than 50 ms before a run began is not relied upon."""
    time.sleep(0.06)
    checker.check()


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("way", "arguments"),
    [
        pytest.param("base.toml", (), marks=pytest.mark.thorough),
        pytest.param("../base.toml", (), marks=pytest.mark.thorough),
        ("base.toml", ("--staged",)),
        pytest.param("../base.toml", ("--staged",), marks=pytest.mark.thorough),
    ],
)
def test_a_config_that_another_one_extends(made: Any, way: str, arguments: tuple[str, ...]) -> None:
    """Edited, and led to another one."""
    checker = made({"nparam-lint.toml": f'extend = "{way}"\n'}, "--static", *arguments)
    base = checker.root / way
    other = base.with_name("other.toml")
    base.write_text('ignore = ["NPL002"]\n')
    other.write_text('ignore = ["NPL002"]\n')

    def stage() -> None:
        if arguments:
            add(checker.root)

    stage()
    keep_answer(checker)
    base.write_text('select = ["NPL002"]\n')
    stage()
    assert checker.check().code == checker.check("--no-cache").code == 1
    keep_answer(checker)
    base.unlink()
    base.symlink_to(other.name)
    stage()
    assert checker.check().code == checker.check("--no-cache").code == 0


@pytest.mark.parametrize("named", ["", "VIRTUAL_ENV"])
@pytest.mark.thorough
def test_an_environment_that_had_no_torch(made: Any, tmp_path: Path, named: str) -> None:
    checker = made({".gitignore": "/.venv/\n"})
    place = tmp_path / "active" if named else checker.root / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
    if named:
        checker.environ[named] = str(place)
    keep_answer(checker)
    site = next(place.glob("lib/python3*/site-packages"))
    (site / "ours.pth").write_text(OURS + "\n")
    assert checker.check().report["environment"]["python"] == str(place / "bin" / "python")


@pytest.mark.thorough
def test_what_is_staged_while_the_index_is_copied(made: Any, tmp_path: Path) -> None:
    """A run that looks at an index that is no more must not speak for the next one."""
    # To copy these takes longer than the 50 ms that are not relied upon.
    files = {f"data/{i}": str(i) * 1_000_000 for i in range(10, 60)}
    checker = made(files | {"a.py": net("", 4)}, "--staged")
    add(checker.root)
    copies = tmp_path / "copies"
    copies.mkdir()
    more = {"NPARAM_LINT_CACHE": str(checker.cache), "TMPDIR": str(copies)}
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(checker.run, *STAGED, cwd=checker.root, **more)
        while not first.done() and not [*copies.glob("*/data")]:
            time.sleep(0.001)
        write(checker.root, {"a.py": WRONG})
        add(checker.root, "a.py")
    assert first.result().returncode == 0  # it saw what was staged at first
    done = checker.run(*STAGED, cwd=checker.root, **more)
    assert done.returncode == 1, done.stdout
