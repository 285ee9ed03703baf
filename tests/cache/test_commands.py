"""Every command that counts says, beside what a plain check remembered, what it says without."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from cache_project import net, new_repository, without_cache, write
from sample_repository import GIT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

READING = "import os\nW = len(open(os.path.join(os.path.dirname(__file__), 'w.txt')).read())"
FILES = {
    "a.py": net("from w import W", "W").replace(":\n", ':\n    """nparam: 20"""\n', 1),
    "b.py": net(READING, "W").replace(":\n", ':\n    """nparam: >= 30"""\n', 1),
    "c.py": net("", 3),
    "w.py": "W = 4\n",
    "w.txt": "x" * 8,
    "nparam-lint.toml": '[budgets]\n"c.py::Net" = 16\n',
}
CHECK = ("check", "--format", "json")
COMMANDS = {
    "check": ("check",),
    "staged": ("check", "--staged", "--format", "json"),
    "diff": ("diff", "HEAD~1", "--format", "json"),
    "show": ("show", "a.py::Net"),
    "update": ("update", "--check"),
    "pytest": ("pytest", "--nparam", "-p", "no:cacheprovider", "-p", "no:hypothesispytest"),
}
FORKS = (
    pytest.param({}, id="fork"),
    pytest.param({"NPARAM_LINT_FORK": "0"}, id="spawn", marks=pytest.mark.thorough),
)


@dataclass(frozen=True)
class Project:
    """Two commits, something else staged, and something else again in the working tree."""

    root: Path
    environ: dict[str, str]
    nparam_lint: Callable[..., Any]

    def ask_here(self, words: tuple[str, ...], cache: Path, **more: str) -> tuple[int, Any, str]:
        """The same as `ask`, without a process where the command is ours."""
        if words[0] == "pytest":
            return self.ask(words, cache, **more)
        told = {"NPARAM_LINT_CACHE": str(cache), **more}
        return said(self.nparam_lint(*words, cwd=self.root, **told))

    def ask(self, words: tuple[str, ...], cache: Path, **more: str) -> tuple[int, Any, str]:
        """(exit code, what is printed, what is said besides), without what may differ."""
        command = words if words[0] == "pytest" else ("nparam_lint", *words)
        done = subprocess.run(
            [sys.executable, "-B", "-m", *command],
            cwd=self.root,
            env=self.environ | more | {"NPARAM_LINT_CACHE": str(cache)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
        return said(done)


def said(done: subprocess.CompletedProcess[str]) -> tuple[int, Any, str]:
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, without_cache(done.stdout), done.stderr


@pytest.fixture(scope="module")
def project(
    tmp_path_factory: pytest.TempPathFactory,
    environ: dict[str, str],
    nparam_lint: Callable[..., Any],
) -> Project:
    root = tmp_path_factory.mktemp("commands") / "project"
    new_repository(root)
    for files, then in (
        (FILES, "commit -qm one"),
        ({"w.py": "W = 5\n", "c.py": net("", 2)}, "commit -qm two"),
        ({"w.py": "W = 6\n", "d.py": net("", 7)}, "status"),
    ):
        write(root, files)
        for words in ("add .", then):
            git = ["git", *words.split()]
            subprocess.run(git, cwd=root, env=os.environ | GIT, check=True, capture_output=True)
    write(root, {"w.py": "W = 7\n", "w.txt": "x" * 6})
    return Project(root, environ, nparam_lint)


@pytest.fixture(scope="module")
def anew(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """What a command says that remembers nothing."""

    @cache
    def ask(words: tuple[str, ...]) -> Any:
        return project.ask_here(words, tmp_path_factory.mktemp("empty"))

    return ask


@pytest.fixture(scope="module", params=FORKS)
def warm(
    request: pytest.FixtureRequest, project: Project, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, dict[str, str]]:
    """A cache that a plain check has filled, and how it was to make processes."""
    found = tmp_path_factory.mktemp("warm")
    project.ask(CHECK, found, **request.param)
    # The models, and what breaks its budget with all parameters: now and at the last commit they
    # are in one entry.
    assert len([*found.rglob("model-*")]) == 4 + 3
    return found, request.param


# The others count by way of the same check.
AT_NIGHT = ("diff", "update", "pytest")


@pytest.mark.first_cases(1)
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.thorough) if n in AT_NIGHT else n for n in COMMANDS]
)
def test_it_says_what_it_says_without_a_cache(
    name: str, project: Project, warm: Any, anew: Any
) -> None:
    words, (cache, how) = COMMANDS[name], warm
    for ask in (project.ask_here, project.ask):  # the second time from what itself has kept
        assert ask(words, cache, **how) == anew(words)
