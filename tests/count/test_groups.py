"""Jobs that are imported in different ways, or from different packages, have processes of their
own, which share the cores."""

from pathlib import Path

import pytest
from worker_runs import LINUX, Run, run

from nparam_lint.ground.orders import Build, ImportAttempt, Order, Recipe

pytestmark = pytest.mark.skipif(not LINUX, reason="elsewhere each process builds by itself")

# As wide as the number of the process that imported the module, and of those that build meanwhile.
NETS = """\
import os
import time
from torch import nn


class Net(nn.Module):
    def __init__(self, seconds=0.0):
        super().__init__()
        time.sleep(seconds)
        self.importer = nn.Linear(os.getppid(), 1, bias=False)
        with open(f"/proc/{os.getppid()}/task/{os.getppid()}/children") as file:
            self.builders = nn.Linear(len(file.read().split()), 1, bias=False)
"""
MANY = [f"seconds={0.02 + number / 1e6}" for number in range(40)]  # none is like another


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("packages")
    for name in ("few", "many"):
        (found / name).mkdir()
        (found / name / "__init__.py").write_text(NETS)
    return found


def build(root: Path) -> Run:
    asked = [("few", ""), *(("many", arguments) for arguments in MANY)]
    jobs = [
        Order(
            number,
            f"{name}({arguments})",
            None,
            (ImportAttempt(name, ("",)),),
            Build("Net", Recipe(arguments)),
        )
        for number, (name, arguments) in enumerate(asked)
    ]
    return run(root, jobs, environ={"NPARAM_LINT_FORK": "1"})


@pytest.fixture(scope="module")
def built(root: Path) -> Run:
    return build(root)


def processes(found: Run, name: str, path: str) -> set[int]:
    return {
        next(row.total for row in found.measured(label).modules if row.path == path)
        for label in found.by_label
        if label.startswith(name)
    }


def test_two_packages_are_imported_by_two_processes(built: Run) -> None:
    importers = processes(built, "few", "importer") | processes(built, "many", "importer")
    assert len(importers) == 2


def test_a_group_takes_over_the_cores_of_one_that_has_ended(built: Run) -> None:
    assert max(processes(built, "many", "builders")) == 2
