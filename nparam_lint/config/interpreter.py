"""Finds the project's own interpreter: the only one that has its dependencies, including torch.

Nothing is installed or synced. Prefixes are compared as they are spelled by the environments
themselves; resolving symbolic links would make every virtual environment look like its base.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from shutil import which

from msgspec import Struct

from nparam_lint.ground.errors import UsageError
from nparam_lint.repository import repository_top


class Interpreter(Struct, frozen=True):
    """`python`: the executable. `reason`: why this one. `without`: (executable, reason) of those
    before it, which have no torch; where none has, it is the first of them."""

    python: str
    reason: str
    without: tuple[tuple[str, str], ...] = ()

    @property
    def passed_over(self) -> list[str]:
        """The interpreters that were rejected before it, with the reasons."""
        return [f"{python} ({reason}) has no torch" for python, reason in self.without]


ENVIRONMENTS = (".venv", "venv")  # folders that have one


def find_interpreter(
    home: Path,
    environ: Mapping[str, str],
    place: Path | None = None,
    name: str | None = None,
    reason: str = "",
) -> Interpreter:
    """The interpreter that builds the models of the project at `home`: the one that `name` stands
    for (who says so is the `reason`), or the nearest to `place`. Raises UsageError where the
    name is of nothing that can be run."""
    if name:
        return Interpreter(named_interpreter(name, home, reason), reason)
    without: list[tuple[str, str]] = []
    for python, why in _candidates(home, environ, place or home):
        if _same(_prefix(python), sys.prefix) and not _own_has_torch():
            continue
        if _has_torch(python):
            return Interpreter(python, why, tuple(without))
        without.append((python, why))
    if without:
        return Interpreter(*without[0], tuple(without))
    return Interpreter(sys.executable, "no other environment was found")


def named_interpreter(value: str, base: Path, why: str) -> str:
    """The executable that `value` names: its path, relative to `base`, or that of an environment.
    `why`: where it was asked for. Raises UsageError."""
    path = Path(value).expanduser()
    if os.sep not in value and not (base / path).exists() and (command := which(value)):
        return command
    path = path if path.is_absolute() else base / path
    if path.is_dir():  # an environment rather than its executable
        path = _executable(path) or path
    if not path.is_file():
        raise UsageError(
            f"no interpreter at {path} ({why}, {value!r}): name an existing one, such as "
            ".venv/bin/python, or leave it out to have it found"
        )
    return str(path)


def _candidates(root: Path, environ: Mapping[str, str], place: Path) -> Iterator[tuple[str, str]]:
    """(executable, reason), best first. Our own interpreter stands before those on PATH: a hook's
    isolated environment has no torch, and one that has torch was given it on purpose."""
    for where, what in _directories(root, place):
        for name in ENVIRONMENTS:
            if python := _executable(where / name):
                yield str(python), f"{name} in {what}"
    active = environ.get("VIRTUAL_ENV")
    if active and not _same(active, sys.prefix) and (python := _executable(Path(active))):
        yield str(python), "VIRTUAL_ENV"
    if _own_has_torch():
        yield sys.executable, "nparam-lint's own environment has torch"
    for directory in environ.get("PATH", "").split(os.pathsep):
        for name in ("python3", "python"):
            path = Path(directory) / (name + (".exe" if os.name == "nt" else ""))
            if directory and path.is_file() and not _same(_prefix(str(path)), sys.prefix):
                yield str(path), "next on PATH"
                break
    conda = environ.get("CONDA_PREFIX")
    if conda and (python := _executable(Path(conda))):
        yield str(python), "CONDA_PREFIX"


def environments_in(root: Path, folders: Iterable[str]) -> dict[str, str]:
    """Those of the folders below `root` that have an environment of their own, and its path; in
    a linked worktree, also those that have one in the main worktree."""
    top, main = _worktrees(root)
    tops = [str(root), *([str(main / root.relative_to(top))] if main else [])]
    return {
        folder: f"{folder}/{name}"
        for folder in folders
        for start in tops
        for name in ENVIRONMENTS
        if os.path.isdir(f"{start}/{folder}/{name}")  # noqa: PTH112  # for thousands of folders
        and _executable(Path(start, folder, name))
    }


def _directories(root: Path, place: Path) -> Iterator[tuple[Path, str]]:
    """Where the environment of `place` may be, nearest first, and how that is called: from there up
    to the top of the repository, and then the same in the main worktree."""
    top, main = _worktrees(root)
    above = [p for p in (place, *place.parents) if p.is_relative_to(top)] or [root]
    for folder in above:
        yield folder, "the project" if folder == root else str(folder)
    for folder in above:
        if main:
            twin = main / folder.relative_to(top)
            yield twin, "the main worktree" if twin == main else str(twin)


def _executable(environment: Path) -> Path | None:
    for name in ("bin/python", "bin/python3", "Scripts/python.exe", "python.exe"):
        if (environment / name).is_file():
            return environment / name
    return None


def _worktrees(root: Path) -> tuple[Path, Path | None]:
    """The top of the working tree (`root` without a repository), and, where it is a linked one, of
    the main one: `.git` is a file that points there."""
    top = repository_top(root)
    if top and (top / ".git").is_file():
        text = (top / ".git").read_text(errors="replace").strip().removeprefix("gitdir: ")
        main, is_linked, _ = text.rpartition("/worktrees/")
        if is_linked:
            return top, (top / main).parent
    return top or root, None


def _prefix(python: str) -> str:
    return str(Path(python).parent.parent)


def _same(path: str, prefix: str) -> bool:
    return os.path.normcase(os.path.abspath(path)) == os.path.normcase(os.path.abspath(prefix))


def _own_has_torch() -> bool:
    return importlib.util.find_spec("torch") is not None


def watched(interpreter: Interpreter) -> set[str] | None:
    """The directories that torch would come into, of those that were passed over; None where it may
    come from anywhere."""
    directories: set[str] = set()
    for python, _ in interpreter.without:
        prefix = Path(_prefix(python))
        if not (prefix / "pyvenv.cfg").is_file():
            return None
        directories.update(map(str, (prefix / "pyvenv.cfg", *_packages(prefix))))
    return directories


def _packages(prefix: Path) -> list[Path]:
    return [*prefix.glob("lib/python3*/site-packages"), prefix / "Lib" / "site-packages"]


def _has_torch(python: str) -> bool:
    """Whether torch is there: seen on disk in a virtual environment, which takes no time, else
    asked (a shim or a system interpreter keeps its packages anywhere)."""
    if python == sys.executable:
        return _own_has_torch()
    prefix = Path(_prefix(python))
    packages = _packages(prefix)
    if any((p / "torch" / "__init__.py").is_file() for p in packages):
        return True
    settings = prefix / "pyvenv.cfg"
    if settings.is_file():
        text = settings.read_text(errors="replace").replace(" ", "").lower()
        if "include-system-site-packages=true" not in text:
            return any(any(p.glob("*.pth")) for p in packages) and _can_import_torch(python)
    return _can_import_torch(python)


def _can_import_torch(python: str) -> bool:
    code = "import importlib.util as u, sys; sys.exit(u.find_spec('torch') is None)"
    try:
        process = subprocess.run(
            [python, "-c", code], capture_output=True, stdin=subprocess.DEVNULL, timeout=20, cwd="/"
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return process.returncode == 0
