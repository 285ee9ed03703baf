"""What is installed: the wheel, built and put into an environment that has no torch."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
BIN = "Scripts" if os.name == "nt" else "bin"
VERSION = "12.3.4"  # what a build is told; test_version.py has what it finds out from git


def pip(environ, *arguments):
    subprocess.run(
        [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments],
        env=environ,
        stdin=subprocess.DEVNULL,
        check=True,
    )


@pytest.fixture(scope="module")
def bare(environ):
    """The environment without what could lead to packages other than the installed ones."""
    return {key: value for key, value in environ.items() if key != "PYTHONPATH"}


@pytest.fixture(scope="module")
def wheel(bare, tmp_path_factory):
    """Built from a copy: a build writes the version into the source."""
    directory, source = tmp_path_factory.mktemp("wheel"), tmp_path_factory.mktemp("source")
    left_out = shutil.ignore_patterns("__pycache__", "_version.py")
    shutil.copytree(ROOT / "nparam_lint", source / "nparam_lint", ignore=left_out)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    told = bare | {"SETUPTOOLS_SCM_PRETEND_VERSION": VERSION}
    # With the tools at hand: that those which pyproject.toml names are enough, the hooks of
    # pre-commit show, whose environment is built from source as well.
    options = ("--no-deps", "--no-build-isolation", "--wheel-dir", directory)
    pip(told, "wheel", *options, source)
    (built,) = directory.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(bare, wheel, tmp_path_factory):
    """Runs the installed command; only its own environment is on the path."""
    place = tmp_path_factory.mktemp("installed") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], env=bare, check=True)
    python = place / BIN / Path(sys.executable).name
    pip(bare, "--python", python, "install", wheel)

    def run(*arguments, cwd, command="nparam-lint"):
        return subprocess.run(
            [place / BIN / command, *arguments],
            cwd=cwd,
            env=bare | {"PATH": str(place / BIN)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )

    return run


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    assert wheel.name == f"nparam_lint-{VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    package = {name for name in names if name.startswith("nparam_lint/")}
    assert {"nparam_lint/worker/launch.py", "nparam_lint/py.typed"} <= package
    sources = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("nparam_lint/**/*.py")}
    sources.add("nparam_lint/_version.py")
    assert {name for name in package if name.endswith(".py")} == sources
    assert {name.partition("/")[0] for name in names} == {
        "nparam_lint",
        f"nparam_lint-{VERSION}.dist-info",
    }


def test_the_index_page_leads_to_the_repository(wheel):
    with zipfile.ZipFile(wheel) as archive:
        about = archive.read(f"nparam_lint-{VERSION}.dist-info/METADATA").decode("utf-8")
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["urls"]
    headers = Parser().parsestr(about)
    assert headers.get_all("Project-URL") == [f"{name}, {url}" for name, url in urls.items()]
    page = headers.get_payload()
    assert f"]({urls['Repository']}/blob/main/docs/adopt.md" in page
    assert re.search(
        r"!\[[^]]+\]\(https://raw\.githubusercontent\.com/.*failing-commit\.svg\)", page
    )
    assert not re.search(r"\]\((?!https://|#)", page)


def test_what_is_released_passes_the_check_of_the_index(bare, wheel, tmp_path):
    shutil.copy(wheel, tmp_path)
    (source := tmp_path / "source").mkdir()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    include = project["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    left_out = shutil.ignore_patterns("__pycache__", "_version.py", "node_modules")
    for name in ("pyproject.toml", *include):
        for path in ROOT.glob(name.lstrip("/")):
            to = source / path.name
            shutil.copytree(path, to, ignore=left_out) if path.is_dir() else shutil.copy(path, to)
    told = bare | {"SETUPTOOLS_SCM_PRETEND_VERSION": VERSION}
    build = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", tmp_path]
    subprocess.run(build, cwd=source, env=told, check=True, capture_output=True)
    released = sorted(tmp_path.glob("nparam_lint-*"))
    assert len(released) == 2
    check = [sys.executable, "-m", "twine", "--no-color", "check", "--strict", *released]
    done = subprocess.run(check, capture_output=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stdout.count("PASSED")) == (0, 2), done.stdout + done.stderr
    with tarfile.open(released[1]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"docs/conf.py", "tests/test_wheel.py", "README.md", "constraints.txt"} <= names


def test_the_wheel_is_small(wheel):
    assert 20_000 < wheel.stat().st_size < 1_190_000  # of it 60 kB draw pages for the browser


# At every commit hooks/test_pre_commit.py has such an installation, made by pre-commit.
@pytest.mark.thorough
def test_installed_without_torch_it_counts_in_the_interpreter_that_has_it(
    installed, project, tmp_path
):
    done = installed("-c", "import nparam_lint as n; print(n.__file__)", cwd="/", command="python")
    assert "site-packages" in done.stdout
    done = installed("-c", "import torch", cwd=tmp_path, command="python")
    assert "No module named 'torch'" in done.stderr
    assert installed("--version", cwd=tmp_path).stdout == f"nparam-lint {VERSION}\n"
    done = installed("--python", sys.executable, "--format", "json", cwd=project("right"))
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    asked = [m for m in report["models"] if not m.get("way")]
    assert {m["target"]: m["counts"]["total"] for m in asked} == {
        "nets/block.py::Block(64)": 6_336,
        "nets/lm.py::TiedLM": 44_672,
        "nets/mlp.py::MLP": 101_770,
        "nets/mlp.py::MLP(width=64)": 50_890,
        "nets/mlp.py::wide": 407_050,
    }
    assert report["findings"] == []
    assert report["environment"]["python"] == sys.executable
    done = installed("--python", sys.executable, "--format", "concise", cwd=project("drift"))
    assert (done.returncode, done.stdout.count("NPL001")) == (1, 4)


@pytest.mark.thorough
def test_without_any_torch_it_says_so_and_what_to_do(installed, project):
    done = installed(cwd=project("right"))
    assert done.returncode == 2
    assert "✓" not in done.stdout
    for part in ("no model can be built with ", "No module named 'torch'", "next: ", "--python"):
        assert part in done.stderr


@pytest.mark.thorough  # each makes an environment
@pytest.mark.parametrize(
    "command",
    [
        ("tox", "-e", "nparam"),
        ("nox", "-s", "nparam"),
        ("uv", "run", "--no-project", "--with", "nparam-lint", "nparam-lint", "--declared"),
    ],
    ids=lambda command: command[0],
)
def test_what_the_page_says_of_runners_runs(bare, wheel, project, command):
    """With the config files that the page has, and the wheel in place of the index."""
    program = Path(sys.executable).with_name(command[0])
    if not program.exists():
        pytest.skip(f"there is no {command[0]}")
    root = project("right")
    page = (ROOT / "docs/adopt.md").read_text("utf-8")
    for name, text in re.findall(r"```\w+\n# (tox\.ini|noxfile\.py)\n(.*?)```", page, re.DOTALL):
        (root / name).write_text(text, "utf-8")
    done = subprocess.run(
        [program, *command[1:]],
        cwd=root,
        env=bare
        | {"PIP_FIND_LINKS": str(wheel.parent), "UV_FIND_LINKS": str(wheel.parent)}
        | {"NPARAM_LINT_PYTHON": sys.executable, "TOX_OVERRIDE": "testenv.pass_env=*"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "budgets hold" in done.stdout + done.stderr
