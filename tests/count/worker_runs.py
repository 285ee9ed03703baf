"""What the tests of counting share: jobs as the program makes them, and a run of them."""

import os
import sys
from collections.abc import Mapping, Sequence, Set
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from nparam_lint.cache.store import Store
from nparam_lint.config.interpreter import Interpreter
from nparam_lint.config.session import Progress, Session, silent
from nparam_lint.config.settings import Settings
from nparam_lint.count.measured import Measured, NotMeasured
from nparam_lint.count.run import Answers, run_orders
from nparam_lint.count.worker_process import wait_for_end
from nparam_lint.discover import discover
from nparam_lint.discover.files import list_files
from nparam_lint.ground.orders import Ask, Build, Order, Recipe

PROJECTS = Path(__file__).resolve().parent.parent / "projects"
PYTHON = sys.executable
# How processes are made, as the environment says it. Spawned ones import torch anew for each that
# dies.
MODES = [
    pytest.param({}, id="fork"),
    pytest.param({"NPARAM_LINT_FORK": "0"}, id="spawn", marks=pytest.mark.thorough),
]
LINUX = sys.platform.startswith("linux")


def make_orders(root: Path, targets: Sequence[str], **common: Any) -> list[Order]:
    """An order for each `path::callable` or `path::callable(arguments)`, imported as it would be in
    a real run. `common`: what all recipes, builds and asks have."""
    files = list_files(root)
    found = discover(root, files, importable=files)
    orders = []
    for number, target in enumerate(targets):
        path, _, call = target.partition("::")
        name, bracket, arguments = call.partition("(")
        more = {"arguments": arguments[:-1] if bracket else None, **common}
        recipe, build, ask = (
            {field.name: more[field.name] for field in fields(kind) if field.name in more}
            for kind in (Recipe, Build, Ask)
        )
        made = Build(name, Recipe(**recipe), **build)
        orders.append(Order(number, target, path, found.plan(path), made, Ask(**ask)))
    return orders


class Run:
    """The answers of one run, by target."""

    def __init__(self, answers: Answers, jobs: Sequence[Order]) -> None:
        self.answers = answers
        self.by_label = {job.label: answers.measurements[job.id] for job in jobs}

    def measured(self, target: str) -> Measured:
        result = self.by_label[target]
        assert isinstance(result, Measured), result
        return result

    def failed(self, target: str) -> NotMeasured:
        result = self.by_label[target]
        assert isinstance(result, NotMeasured), result
        return result


def run(
    root: Path,
    jobs: Sequence[Order] | Sequence[str],
    *,
    timeout: float = 60.0,
    memory: int = 0,
    width: int = 2,
    environ: Mapping[str, str] | None = None,
    progress: Progress = silent,
    patience: float = 0.0,
    optional: Set[int] = frozenset(),
) -> Run:
    listed = [j for j in jobs if isinstance(j, Order)]
    listed = listed or make_orders(root, [j for j in jobs if isinstance(j, str)])
    limits = {"timeout": timeout, "memory": memory, "jobs": width, "patience": patience}
    session = make_session(root, os.environ | (environ or {}), progress=progress, **limits)
    names = {path.stem for path in root.iterdir()}
    answers = run_orders(session, names, listed, optional=optional)
    wait_for_end()  # as a command does before it ends
    return Run(answers, listed)


def make_session(
    root: Path,
    environ: Mapping[str, str] = os.environ,
    python: str = PYTHON,
    progress: Progress = silent,
    store: Store | None = None,
    **settings: Any,
) -> Session:
    """A run on the project at `root` whose models are built with `python`."""
    session = Session(Settings(root, **settings), environ, progress=progress)
    session = replace(session, interpreter=Interpreter(python, "for the test"))
    return replace(session, store=store) if store else session


def snapshot(root: Path) -> dict[str, bytes | None]:
    """Every file below `root` with its content, every directory with None."""
    return {
        str(path.relative_to(root)): path.read_bytes() if path.is_file() else None
        for path in root.rglob("*")
    }
