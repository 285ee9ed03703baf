"""What changes around a project, and what happens to the cache: the answers are those of a run
without one."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from cache_project import Checker, edit, net, new_repository, write
from processes import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

TWO = {"a.py": net("import extra", "extra.W"), "b.py": net("", 16)}


def new_environment(place: Path, width: int) -> Path:
    """An environment that has all that ours has, and a package `extra` of its own: the directory
    that packages are installed in."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
    site = next(place.glob("lib/python3*/site-packages"))
    ours = "\n".join(path for path in sys.path if path.endswith("site-packages"))
    (site / "ours.pth").write_text(ours + "\n")
    install(site, width, "1.0")
    return site


def install(site: Path, width: int, version: str) -> None:
    for old in site.glob("extra*"):
        shutil.rmtree(old)
    write(site, {"extra/__init__.py": f"W = {width}\n"})
    write(site, {f"extra-{version}.dist-info/METADATA": f"Name: extra\nVersion: {version}\n"})


@pytest.fixture
def made(tmp_path: Path, nparam_lint: Callable[..., Any]) -> Callable[..., Checker]:
    """A checker of a repository with some files."""

    def make(files: dict[str, str], *arguments: object) -> Checker:
        root = tmp_path / "project"
        new_repository(root)
        write(root, files)
        return Checker(nparam_lint, root, tmp_path / "cache", arguments)

    return make


@pytest.mark.thorough
@pytest.mark.skipif(os.name != "posix", reason="environments look otherwise")
def test_packages_and_interpreters(made: Any, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    site = new_environment(one, 4)
    new_environment(two, 8)
    checker = made(TWO, "--python", one)
    other = Checker(checker.run, checker.root, checker.cache, ("--python", two))
    assert checker.check().totals == {"a.py::Net": 20, "b.py::Net": 68}
    assert other.check().totals["a.py::Net"] == 36
    assert len(checker.check().recalled) == len(other.check().recalled) == 2
    install(site, 12, "2.0")
    assert checker.check().totals["a.py::Net"] == 52
    edit(site / "extra/__init__.py", "12", "16")  # in place, as one does to try something
    assert checker.agree().totals["a.py::Net"] == 68


@pytest.mark.thorough
def test_branches(made: Any) -> None:
    checker = made({"a.py": net("from w import W", "W"), "w.py": "W = 4\n", "b.py": net("", 3)})

    def git(*words: str) -> None:
        who = ("-c", "user.name=x", "-c", "user.email=x@example.org")
        subprocess.run(["git", *who, *words], cwd=checker.root, check=True, capture_output=True)

    git("add", ".")
    git("commit", "-m", "one")
    git("branch", "-M", "first")
    assert checker.agree().totals["a.py::Net"] == 20
    git("checkout", "-b", "second")
    write(checker.root, {"w.py": "W = 8\n"})
    assert checker.agree().recalled == {"b.py::Net"}
    git("commit", "-am", "two")
    for name, total in (("first", 20), ("second", 36), ("first", 20)):
        git("checkout", name)
        found = checker.check()
        assert (found.totals["a.py::Net"], len(found.recalled)) == (total, 2)


@pytest.mark.thorough
def test_another_version_of_the_tool(
    made: Any, nparam_lint_process: Callable[..., Any], tmp_path: Path
) -> None:
    import nparam_lint

    package = tmp_path / "tool" / "nparam_lint"
    shutil.copytree(Path(nparam_lint.__file__).parent, package)
    checker = replace(made({"a.py": net("", 4)}), run=nparam_lint_process)
    checker.environ["PYTHONPATH"] = str(package.parent)
    assert checker.check().totals == {"a.py::Net": 20}
    assert checker.check().recalled
    with (package / "gate" / "report.py").open("a") as file:
        file.write("# changed\n")
    assert not checker.check().recalled


@pytest.mark.thorough
def test_what_ran_out_of_time_is_tried_again(made: Any) -> None:
    slow = net("import os, time", "(time.sleep(60 * os.path.exists('slow')), 4)[1]")
    checker = made({"a.py": slow, "slow": "", "nparam-lint.toml": '[budgets]\n"a.py::Net" = 20\n'})
    for _ in range(2):
        found = checker.check("--timeout", "1")
        assert (found.code, found.recalled) == (1, frozenset())
    (checker.root / "slow").unlink()
    assert checker.check("--timeout", "60").code == 0


def test_a_variable_and_what_cannot_be_built(made: Any) -> None:
    """A failure is remembered until the model can be built; a count as often as the variable has
    that value."""
    failing = net("from w import W", "W if W > 3 else 1 // 0")
    config = '[budgets]\n"a.py::Net" = 20\n'
    checker = made({"a.py": failing, "w.py": "W = 2\n", "nparam-lint.toml": config})
    write(checker.root, {"b.py": net("import os", "int(os.environ.get('WIDE', 4))")})
    found = checker.check()
    assert (found.code, found.totals) == (1, {"a.py::Net": None, "b.py::Net": 20})
    checker.environ["WIDE"] = "8"
    found = checker.agree()
    assert (found.totals["b.py::Net"], found.recalled) == (36, {"a.py::Net"})
    del checker.environ["WIDE"]
    edit(checker.root / "w.py", "2", "4")
    found = checker.agree()
    assert (found.code, found.totals) == (0, {"a.py::Net": 20, "b.py::Net": 20})
    assert found.recalled == {"b.py::Net"}


# --- several at a time, killed, damaged ----------------------------------------------------------

MANY = {f"m{i}.py": net("from shared import W", f"W + {i}") for i in range(6)} | {
    "shared.py": "W = 4\n"
}
TOTALS = {f"m{i}.py::Net": 4 * (4 + i) + 4 for i in range(6)}


@pytest.mark.thorough
@pytest.mark.parametrize(("number", "edits"), [(2, False), (4, True)])
def test_several_runs_at_once(
    made: Any, nparam_lint_process: Callable[..., Any], number: int, edits: bool
) -> None:
    checker = replace(made(MANY), run=nparam_lint_process)
    with ThreadPoolExecutor(number) as pool:
        cold = [found.totals for found in pool.map(lambda _: checker.check(), range(number))]
        if edits:
            edit(checker.root / "m3.py", "3", "5")
        warm = [found.totals for found in pool.map(lambda _: checker.check(), range(number))]
    assert cold == [TOTALS] * number
    assert warm == [TOTALS | ({"m3.py::Net": 40} if edits else {})] * number


# What can be seen in the directory for temporary files, and in the cache, which each run fills on.
MOMENTS: dict[str, str] = {
    "starts": "project",
    "imports torch": "temporary/nparam-lint-*",
    "has read the source": "cache/*/*/facts*",
    "keeps a measurement": "cache/*/*/model-*",
    "keeps its answer": "cache/*/*/run-*",
}


@pytest.mark.skipif(os.name != "posix", reason="there is no such signal")
@pytest.mark.parametrize(
    "moments",
    [
        pytest.param(("keeps a measurement", "keeps its answer"), id="while it keeps"),
        pytest.param(MOMENTS, id="at any moment"),
    ],
)
@pytest.mark.thorough
def test_a_run_that_is_killed(
    made: Any, environ: dict[str, str], tmp_path: Path, moments: Iterable[str]
) -> None:
    checker = made(MANY)
    (tmp_path / "temporary").mkdir()
    more = {"NPARAM_LINT_CACHE": str(checker.cache), "TMPDIR": str(tmp_path / "temporary")}
    for moment in moments:
        process = subprocess.Popen(
            [sys.executable, "-m", "nparam_lint"],
            cwd=checker.root,
            env=environ | more,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_until(lambda: any(tmp_path.glob(MOMENTS[moment])) or process.poll() is not None)  # noqa: B023
        process.send_signal(signal.SIGKILL)
        process.wait()
        shutil.rmtree(tmp_path / "temporary")
        (tmp_path / "temporary").mkdir()
    assert checker.check().totals == TOTALS


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "cut off": lambda data: data[: len(data) // 2],
    "emptied": lambda _: b"",
    "a flipped bit": lambda data: data[:20] + bytes([data[20] ^ 1]) + data[21:],
    "grown": lambda data: data + b"x",
}


def test_damaged_entries(made: Any) -> None:
    checker = made(MANY)
    assert checker.check().totals == TOTALS
    for damage in DAMAGE.values():
        files = [path for path in checker.cache.rglob("*") if path.is_file()]
        # What nparam-lint is, under a name without a dash, a process reads and writes but once.
        entries = [path for path in files if "-" in path.name]
        assert len(entries) > len(TOTALS)
        for path in entries:
            path.write_bytes(damage(path.read_bytes()))
        found = checker.check()
        assert (found.totals, found.recalled) == (TOTALS, frozenset())


@pytest.mark.thorough
def test_single_entries_that_are_gone(made: Any) -> None:
    """What others refer to may be the first to go."""
    checker = made(MANY)
    checker.check()
    for kind in ("shared", "inputs", "model", "python", "run"):
        for path in checker.cache.rglob(f"{kind}-*"):
            path.unlink()
        assert checker.check().totals == TOTALS
        assert len(checker.check().recalled) == len(TOTALS)


def test_a_cache_that_cannot_be(made: Any, tmp_path: Path) -> None:
    checker = made(MANY)
    (tmp_path / "cache").write_text("not a directory")
    for _ in range(2):
        found = checker.check()
        assert (found.totals, found.recalled) == (TOTALS, frozenset())
    assert (tmp_path / "cache").read_text() == "not a directory"
