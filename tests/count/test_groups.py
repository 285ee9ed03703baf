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


def test_a_module_that_cannot_be_imported_is_not_imported_again_for_the_next_model(
    tmp_path: Path,
) -> None:
    net = "import torch\nfrom pkg.registry import register\n\n"
    net += "@register\nclass {}(torch.nn.Linear):\n    pass\n"
    files = {
        "pkg/__init__.py": "from .nets import a, b\nfrom .version import version\n",
        "pkg/registry.py": "names = set()\n\ndef register(cls):\n"
        "    assert cls.__name__ not in names, 'twice'\n    names.add(cls.__name__)\n"
        "    return cls\n",
        "pkg/nets/__init__.py": "",
        "pkg/nets/a.py": net.format("A"),
        "pkg/nets/b.py": net.format("B"),
    }
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    calls = {
        "pkg/nets/a.py::A(2, 3)": 9,
        "pkg/nets/a.py::A(3, 3)": 12,
        "pkg/nets/b.py::B(4, 3)": 15,
    }
    found = run(tmp_path, list(calls))
    assert {call: found.measured(call).counts.total for call in calls} == calls
