"""One cache for several clones, environments and machines: what is the same is found, and what
others may have put there is looked at before it is believed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cache_project import Checker, edit, net, new_environment
from sample_files import write_files

from nparam_lint.cache.file_facts import FactCache
from nparam_lint.cache.store import Store
from nparam_lint.repository import project_name

if TYPE_CHECKING:
    from conftest import Command

FILES = {
    "a.py": net("import extra, os", "extra.W + len(os.environ['HOME'] and 'x')"),
    "b.py": net("import json\nW = json.load(open('c.json'))", "W"),
    "c.json": "8",
}
TOTALS = {"a.py::Net": 24, "b.py::Net": 36}


def git(root: Path, *words: str) -> None:
    who = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    subprocess.run(["git", *who, *words], cwd=root, check=True, capture_output=True)


@pytest.fixture
def cloned(tmp_path: Path, nparam_lint: Command) -> tuple[Checker, Checker]:
    """A project that was checked, and a fresh clone of it at another path, with an environment at
    another path and a copy of the cache, all of whose files are new."""
    first = Checker.of(FILES, nparam_lint, tmp_path, "--python", tmp_path / "one")
    first.environ["HOME"] = str(tmp_path)
    new_environment(tmp_path / "one")
    origin = first.root
    git(origin, "remote", "add", "origin", "https://me:pw@host.example/team/nets.git")
    git(origin, "add", ".")
    git(origin, "commit", "-qm", "x")
    assert first.check().totals == TOTALS
    clone, copy = tmp_path / "builds" / "12" / "n", tmp_path / "restored"
    git(tmp_path, "clone", "-q", str(origin), str(clone))
    git(clone, "remote", "set-url", "origin", "git@host.example:fork/nets")
    shutil.copytree(first.cache, copy, copy_function=shutil.copyfile)
    environment = tmp_path / "elsewhere" / "two"
    new_environment(environment)
    second = Checker(nparam_lint, clone, copy, ("--python", environment))
    second.environ["HOME"] = str(tmp_path / "builds")
    return first, second


@pytest.mark.skipif(os.name != "posix", reason="environments look otherwise")
def test_a_fresh_clone_with_yesterdays_cache(cloned: tuple[Checker, Checker]) -> None:
    _, clone = cloned
    assert clone.check().recalled == TOTALS.keys()
    (clone.root / "notes.txt").write_text("")
    assert clone.check().recalled == TOTALS.keys()
    edit(clone.root / "c.json", "8", "9")
    assert clone.agree().totals == TOTALS | {"b.py::Net": 40}
    site = next(Path(str(clone.arguments[1])).glob("lib/python3*/site-packages"))
    edit(site / "extra/__init__.py", "4", "5")
    assert clone.agree().totals == {"a.py::Net": 28, "b.py::Net": 40}


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://host.example/team/nets.git", "nets//"),
        ("git@host.example:nets", "nets//"),
        ("/srv/git/nets.git/", "nets//"),
    ],
)
def test_what_a_project_is_called(tmp_path: Path, url: str, name: str) -> None:
    git(tmp_path, "init", "-q")
    assert project_name(tmp_path) == str(tmp_path)
    git(tmp_path, "remote", "add", "origin", url)
    assert project_name(tmp_path) == name
    (tmp_path / "part").mkdir()
    assert project_name(tmp_path / "part") == f"{name}part"


# --- several writers ------------------------------------------------------------------------------

WRITER = """
import sys
from nparam_lint.cache.file_facts import FactCache
from nparam_lint.cache.store import Store
base, own = sys.argv[1:]
for number in range(20):
    facts = FactCache(Store(base, "nets", shared=True), "facts", int)
    facts.put(f"{own}-{number}", number)
    facts.save(1000)
"""


def test_several_writers_lose_nothing(tmp_path: Path) -> None:
    base = str(tmp_path / "cache")
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, base, str(n)]) for n in range(3)]
    assert [process.wait() for process in writers] == [0, 0, 0]
    facts = FactCache[int](Store(base, "nets", shared=True), "facts", int)
    for writer in range(3):
        assert [facts.get(f"{writer}-{number}") for number in range(20)] == list(range(20))


@pytest.mark.thorough
def test_clones_that_run_at_once(
    cloned: tuple[Checker, Checker], nparam_lint_process: Command
) -> None:
    """What each of them measures is known afterwards."""
    first, second = (replace(one, run=nparam_lint_process) for one in cloned)
    second.cache = first.cache
    for number, checker in enumerate((first, second)):
        (checker.root / "c.json").write_text(f"{number + 3}")
    with ThreadPoolExecutor(2) as pool:
        totals = [one.totals["b.py::Net"] for one in pool.map(Checker.check, (first, second))]
    assert totals == [16, 20]
    assert all(one.check().recalled == TOTALS.keys() for one in (first, second))
    (first.root / "c.json").write_text("4")
    assert first.check().recalled == TOTALS.keys()


# --- where it is, and what may be there -----------------------------------------------------------


@pytest.fixture
def project(tmp_path: Path, nparam_lint: Command) -> Checker:
    return Checker.of({"part/a.py": net("", 4)}, nparam_lint, tmp_path)


def test_where_the_config_and_the_environment_say(project: Checker, tmp_path: Path) -> None:
    """A path in the config starts at the config; the environment outranks it."""
    write_files(project.root, {"nparam-lint.toml": 'cache = "../kept"\n'})
    git(project.root, "add", ".")
    project.environ["NPARAM_LINT_CACHE"] = ""
    inside = replace(project, root=project.root / "part")
    assert inside.check("--config", project.root / "nparam-lint.toml").totals == {
        "part/a.py::Net": 20
    }
    assert [*tmp_path.glob("kept/v1/*/model-*")]
    assert project.check("--staged").recalled == {"part/a.py::Net"}
    project.environ["NPARAM_LINT_CACHE"] = "../other"
    assert project.check().recalled == frozenset()
    assert [*tmp_path.glob("other/v1/*/model-*")]


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_only_a_directory_that_is_named_may_be_writable_for_others(tmp_path: Path) -> None:
    base = str(tmp_path / "cache")
    assert Store(base, "nets").save("name", b"body")
    (tmp_path / "cache/v1").chmod(0o777)
    assert Store(base, "nets").load("name") is None
    assert Store(base, "nets", shared=True).load("name") == b"body"


def test_a_cache_that_cannot_be(project: Checker, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("not a directory")
    for _ in range(2):
        answer = project.check()
        assert (answer.totals, answer.recalled) == ({"part/a.py::Net": 20}, frozenset())
    assert (tmp_path / "cache").read_text() == "not a directory"


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_cache_that_can_only_be_read(project: Checker) -> None:
    project.check()
    folders = [*project.cache.rglob("*/"), project.cache]
    for folder in folders:
        folder.chmod(0o555)
    assert project.check().recalled == {"part/a.py::Net"}
    for folder in folders:
        folder.chmod(0o755)


@pytest.mark.thorough
def test_what_ran_out_of_time_is_tried_again(nparam_lint: Command, tmp_path: Path) -> None:
    slow = net("import os, time", "(time.sleep(60 * os.path.exists('slow')), 4)[1]")
    files = {"a.py": slow, "slow": "", "nparam-lint.toml": '[budgets]\n"a.py::Net" = 20\n'}
    checker = Checker.of(files, nparam_lint, tmp_path)
    for _ in range(2):
        answer = checker.check("--timeout", "1")
        assert (answer.code, answer.recalled) == (1, frozenset())
    (checker.root / "slow").unlink()
    assert checker.check("--timeout", "60").code == 0
