"""What the tests that really build models share: sample projects, and a neutral environment."""

from __future__ import annotations

import gc
import io
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from unittest import mock

import pytest
from hypothesis import settings
from processes import waiting_worker
from schema_checks import _valid_reports, validate_output  # noqa: F401 (a fixture of all tests)

from nparam_lint.cli.main import main
from nparam_lint.count import worker_process
from nparam_lint.ground.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# A shell that starts us with `&` has us ignore Ctrl-C, and what we start would inherit that. Tests
# interrupt what they start.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A check of a commit must not fail by chance, or by how busy its machine is.
settings.register_profile("commit", derandomize=True, deadline=None)
settings.load_profile("commit")

Command: TypeAlias = "Callable[..., subprocess.CompletedProcess[str]]"

PROJECTS = Path(__file__).with_name("projects")
# Whatever would choose another interpreter, another repository or another look.
_PERSONAL = re.compile(
    r"(NPARAM_LINT|GIT|GITHUB|COV|PYTEST)_.*|VIRTUAL_ENV|CONDA_PREFIX|COLUMNS|LINES|NO_COLOR|FORCE_COLOR"
    r"|PRE_COMMIT(_.*)?"
    r"|PYTHON(DONTWRITEBYTECODE|UNBUFFERED|WARNINGS|UTF8|IOENCODING)"
)
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # what is imported a hundred times is compiled once


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update", action="store_true", help="write what is printed into the files that expect it"
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """One process for files or tests that are named, which are few; else one a core."""
    return 0 if all(Path(place.partition("::")[0]).is_file() for place in config.args) else None


# Those that take longest begin first, so that all processes end at about the same time.
_LONGEST = (
    "cli/test_cli_pages.py",
    "gate/test_gate_pages.py",
    "hooks/test_pre_commit.py",
    "cache/test_properties.py",
    "count/test_answers.py",
    "count/test_survival.py",
    "api/test_pytest_plugin.py",
    "hooks/test_hook_pages.py",
    "cli/test_cli_formula.py",
    "cache/test_replay.py",
    "count/test_harm.py",
    "count/test_staying.py",
    "cli/test_cli_diff.py",
    "docs/test_page_commands.py",
)


def pytest_collection_finish() -> None:
    """No collection of garbage looks through the thousands of tests again."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)  # before `-m` looks at the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Which cases of a test are left to the night, and the order of files; that of the tests in a
    file stays."""
    seen: Counter[str] = Counter()
    for item in items:
        name = item.nodeid.partition("[")[0]
        seen[name] += 1
        most = item.get_closest_marker("first_cases")
        if most and seen[name] > most.args[0]:
            item.add_marker(pytest.mark.thorough)
    ranks = {f"tests/{name}": rank for rank, name in enumerate(_LONGEST)}
    items.sort(key=lambda item: ranks.get(item.nodeid.partition("::")[0], len(ranks)))


@pytest.fixture
def expected(request: pytest.FixtureRequest) -> Callable[[dict[str, str]], None]:
    """Compares texts, by what each shows, with those in the file beside the test that is named
    after it: `expected/test_text.txt`. With `--update` that file is written, to be reviewed."""

    def compare(texts: dict[str, str]) -> None:
        file = request.path.parent / "expected" / f"{request.path.stem}.txt"
        parts = [f"{name}\n{text}" for name, text in texts.items()]
        written = "".join(f"===== {part}" for part in parts).replace(__version__, "VERSION")
        if request.config.getoption("update"):
            file.parent.mkdir(exist_ok=True)
            file.write_text(written, "utf-8", newline="")
        assert file.read_text("utf-8").split("\n=====") == written.split("\n=====")

    return compare


@pytest.fixture(scope="session")
def environ(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """This machine's environment, without anybody's preferences, and without what is remembered of
    other runs."""
    kept = {key: value for key, value in os.environ.items() if not _PERSONAL.fullmatch(key)}
    return kept | {"NPARAM_LINT_CACHE": str(tmp_path_factory.mktemp("cache"))}


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A fresh copy of a sample project, outside of this repository."""

    def copy(name: str) -> Path:
        ignore = shutil.ignore_patterns("__pycache__")
        return Path(
            shutil.copytree(PROJECTS / name, tmp_path_factory.mktemp(name) / name, ignore=ignore)
        )

    return copy


@pytest.fixture(scope="session")
def without_torch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter that has nothing but the standard library."""
    place: Path = tmp_path_factory.mktemp("bare") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
    return place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


@pytest.fixture(scope="session")
def last_worker() -> Iterator[None]:
    """Ends the worker that waits, when all tests are over."""
    yield
    worker_process.end_waiting()


@pytest.fixture(scope="module", autouse=True)
def one_worker(last_worker: None) -> Iterator[None]:  # noqa: ARG001
    """What is built in this process is built by one worker: torch is imported once for all tests.
    Those that are about the life of a worker have a fixture of this name that does nothing."""
    with waiting_worker(imports=False):
        yield


@pytest.fixture(scope="module")
def nparam_lint(environ: dict[str, str]) -> Command:
    """Runs the command line in this process; `more` is added to the environment. `terminal`: where
    errors go."""

    def run(
        *arguments: object,
        cwd: Path,
        encoding: str = "utf-8",
        terminal: io.TextIOWrapper | None = None,
        **more: str,
    ) -> subprocess.CompletedProcess[str]:
        command = [*map(str, arguments)]
        output, errors = (io.TextIOWrapper(io.BytesIO(), encoding, newline="") for _ in range(2))
        before = Path.cwd()
        with (
            mock.patch.dict(os.environ, environ | more, clear=True),
            mock.patch.object(sys, "argv", ["nparam-lint", *command]),
            mock.patch.object(tempfile, "tempdir", None),  # found out anew, from the environment
            redirect_stdout(output),
            redirect_stderr(terminal or errors),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            os.chdir(cwd)
            try:
                code = main()
            except SystemExit as end:  # --help
                code = int(end.code or 0)
            finally:
                os.chdir(before)
        told = []
        for stream in (output, errors):
            stream.flush()
            told.append(stream.buffer.getvalue().decode(encoding))
        return subprocess.CompletedProcess(command, code, *told)

    return run


@pytest.fixture(scope="session")
def nparam_lint_process(environ: dict[str, str]) -> Command:
    """The same in a process of its own, as a user runs it, with a worker of its own."""

    def run(
        *arguments: object, cwd: Path, python: str = sys.executable, **more: str
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [python, "-m", "nparam_lint", *map(str, arguments)],
            cwd=cwd,
            env=environ | more,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
        validate_output(done.stdout)
        return done

    return run
