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
from typing import TYPE_CHECKING, Any

import pytest
from cache_project import Checker, edit, net, new_repository, write

from nparam_lint.cache.file_facts import FactCache
from nparam_lint.cache.store import Store
from nparam_lint.repository import project_name

if TYPE_CHECKING:
    from collections.abc import Callable

FILES = {
    "a.py": net("import extra, os", "extra.W + len(os.environ['HOME'] and 'x')"),
    "b.py": net("import json\nW = json.load(open('c.json'))", "W"),
    "c.json": "8",
}
TOTALS = {"a.py::Net": 24, "b.py::Net": 36}


def git(root: Path, *words: str) -> None:
    who = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    subprocess.run(["git", *who, *words], cwd=root, check=True, capture_output=True)


def new_environment(place: Path) -> Path:
    """An environment with all that ours has and a package of its own, made anew: files of now."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
    site = next(place.glob("lib/python3*/site-packages"))
    (site / "ours.pth").write_text("\n".join(p for p in sys.path if p.endswith("site-packages")))
    write(site, {"extra/__init__.py": "W = 4\n", "extra-1.0.dist-info/METADATA": "Name: extra\n"})
    return place


@pytest.fixture
def cloned(tmp_path: Path, nparam_lint: Callable[..., Any]) -> tuple[Checker, Checker]:
    """A project that was checked, and a fresh clone of it at another path, with an environment at
    another path and a copy of the cache, all of whose files are new."""
    origin, cache = tmp_path / "nets", tmp_path / "cache"
    new_repository(origin)
    write(origin, FILES)
    git(origin, "remote", "add", "origin", "https://me:pw@host.example/team/nets.git")
    git(origin, "add", ".")
    git(origin, "commit", "-qm", "x")
    first = Checker(nparam_lint, origin, cache, ("--python", new_environment(tmp_path / "one")))
    first.environ["HOME"] = str(tmp_path)
    assert first.check().totals == TOTALS
    clone, copy = tmp_path / "builds" / "12" / "n", tmp_path / "restored"
    git(tmp_path, "clone", "-q", str(origin), str(clone))
    git(clone, "remote", "set-url", "origin", "git@host.example:fork/nets")
    shutil.copytree(cache, copy, copy_function=shutil.copyfile)
    environment = new_environment(tmp_path / "elsewhere" / "two")
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


@pytest.mark.skipif(os.name != "posix", reason="environments look otherwise")
@pytest.mark.thorough
def test_another_package_is_another_key(cloned: tuple[Checker, Checker]) -> None:
    _, clone = cloned
    site = next(Path(str(clone.arguments[1])).glob("lib/python3*/site-packages"))
    (site / "extra-1.0.dist-info").rename(site / "extra-1.1.dist-info")
    assert clone.check("--why-built").recalled == frozenset()
    (site / "extra-1.1.dist-info").rename(site / "extra-1.0.dist-info")
    assert clone.check().recalled == TOTALS.keys()


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://host.example/team/nets.git", "nets//"),
        ("git@host.example:nets", "nets//"),
        ("/srv/git/nets.git/", "nets//"),
    ],
)
def test_what_a_project_is_called(tmp_path: Path, url: str, name: str) -> None:
    new_repository(tmp_path)
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
    cloned: tuple[Checker, Checker], nparam_lint_process: Callable[..., Any]
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
def project(tmp_path: Path, nparam_lint: Callable[..., Any]) -> Checker:
    root = tmp_path / "project"
    new_repository(root)
    write(root, {"part/a.py": net("", 4)})
    checker = Checker(nparam_lint, root, Path())  # what names the cache is what is tested
    checker.environ["NPARAM_LINT_CACHE"] = ""
    return checker


@pytest.mark.thorough
def test_a_relative_path_in_the_config_starts_at_the_config(project: Checker) -> None:
    write(project.root, {"nparam-lint.toml": 'cache = "../kept"\n'})
    here = replace(project, root=project.root / "part")
    assert here.check("--config", project.root / "nparam-lint.toml").totals == {
        "part/a.py::Net": 20
    }
    assert [*(project.root.parent / "kept").glob("v1/*/model-*")]
    assert project.check().recalled == {"part/a.py::Net"}
    subprocess.run(["git", "add", "."], cwd=project.root, check=True)
    assert project.check("--staged").recalled == {"part/a.py::Net"}


def test_the_environment_outranks_the_config(project: Checker) -> None:
    write(project.root, {"nparam-lint.toml": 'cache = "../kept"\n'})
    project.environ["NPARAM_LINT_CACHE"] = "../other"
    project.check()
    assert not (project.root.parent / "kept").exists()
    assert [*(project.root.parent / "other").glob("v1/*/model-*")]


def test_the_old_name_is_an_error(project: Checker, nparam_lint: Callable[..., Any]) -> None:
    for command in ("check", "clean"):
        done = nparam_lint(command, cwd=project.root, NPARAM_LINT_CACHE_DIR="/x")
        assert done.returncode == 2
        assert "NPARAM_LINT_CACHE_DIR is now called NPARAM_LINT_CACHE" in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_only_a_directory_that_is_named_may_be_writable_for_others(tmp_path: Path) -> None:
    base = str(tmp_path / "cache")
    assert Store(base, "nets").save("name", b"body")
    (tmp_path / "cache/v1").chmod(0o777)
    assert Store(base, "nets").load("name") is None
    assert Store(base, "nets", shared=True).load("name") == b"body"


def test_a_disk_that_is_full(tmp_path: Path) -> None:
    """No file may be larger than nothing: every write fails, as on a full disk."""
    limited = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0));"
        "from nparam_lint.cache.store import Store; s = Store(sys.argv[1], 'nets', shared=True);"
        "print(s.save('name', b'body'), s.trouble)"
    )
    base = tmp_path / "full"
    done = subprocess.run(
        [sys.executable, "-c", limited, str(base)], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("False ")
    assert "File too large" in done.stdout
    assert not [*base.rglob("*.partial")]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_cache_that_can_only_be_read(project: Checker) -> None:
    project.environ["NPARAM_LINT_CACHE"] = str(project.root.parent / "kept")
    project.check()
    folders = [*(project.root.parent / "kept").rglob("*/"), project.root.parent / "kept"]
    for folder in folders:
        folder.chmod(0o555)
    assert project.check().recalled == {"part/a.py::Net"}
    for folder in folders:
        folder.chmod(0o755)


# --- why a model is built again -------------------------------------------------------------------


def test_why_a_model_is_built(project: Checker) -> None:
    project.environ["NPARAM_LINT_CACHE"] = str(project.root.parent / "kept")
    imports = "import os\ntry:\n    import wide\nexcept ImportError:\n    os.getenv('FOO')"
    write(
        project.root,
        {"b.py": net(imports, 4), "c.py": net("from w import W", "W"), "w.py": "W = 4"},
    )

    def reasons(*more: object) -> dict[str, str]:
        report = project.check("--why-built", *more).report
        return {m["target"]: m["why_built"] for m in report["models"] if "why_built" in m}

    never = "never built before, or its measurement was not kept"
    assert set(reasons().values()) == {never}
    assert reasons() == {}
    edit(project.root / "w.py", "4", "5")
    assert reasons() == {"c.py::Net": "w.py changed"}
    project.environ["FOO"] = "1"
    assert set(reasons().values()) == {"the environment variable FOO is set"}
    write(project.root, {"wide/x.py": ""})
    assert set(reasons().values()) == {"wide/ is new"}
    project.environ["HF_HOME"] = "/elsewhere"
    assert set(reasons().values()) == {"the environment variable HF_HOME is set"}
    assert set(reasons("--no-cache").values()) == {"the cache is not used"}


@pytest.mark.thorough
def test_why_in_a_report(project: Checker, nparam_lint: Callable[..., Any]) -> None:
    environ = {"NPARAM_LINT_CACHE": str(project.root.parent / "kept")}
    write(
        project.root,
        {f"n{i}.py": net("from w import W", "W") for i in range(4)} | {"w.py": "W = 4"},
    )
    nparam_lint("check", cwd=project.root, **environ)
    edit(project.root / "w.py", "4", "5")
    done = nparam_lint("check", "--why-built", cwd=project.root, **environ)
    assert "  n0.py::Net, n1.py::Net and 2 other models  w.py changed" in done.stdout
    done = nparam_lint("check", "--why-built", cwd=project.root, **environ)
    assert "  nothing  all measurements are from the cache" in done.stdout
    edit(project.root / "w.py", "5", "6")
    done = nparam_lint("show", "n0.py::Net", "--why-built", cwd=project.root, **environ)
    assert "built because" in done.stdout
