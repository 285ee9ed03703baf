"""Jobs that are imported in different ways, or from different packages, have processes of their
own, which share the cores; what becomes of the others where one is killed, or is left."""

from dataclasses import replace
from pathlib import Path

import pytest
from sample_files import write_files
from worker_runs import LINUX, MODES, Run, make_orders, run

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
def built(tmp_path_factory: pytest.TempPathFactory) -> Run:
    root = tmp_path_factory.mktemp("packages")
    write_files(root, {f"{name}/__init__.py": NETS for name in ("few", "many")})
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
    return run(root, jobs)


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


KILLS = """\
import ctypes, os, time
from torch import nn


class Net(nn.Linear):
    def __init__(self, width=3, seconds=0):
        time.sleep(seconds)
        super().__init__(width, 1, bias=False)


class Kills(Net):
    def __init__(self):
        ctypes.CDLL(None).kill(os.getppid(), 9)
"""


def test_a_model_that_kills_the_process_above_costs_itself(tmp_path: Path) -> None:
    """Past the guard, through the C library."""
    write_files(tmp_path, {"net.py": KILLS})
    jobs = make_orders(tmp_path, ["net.py::Net", "net.py::Kills", *["net.py::Net"] * 3])
    jobs = [replace(j, label=f"{j.id} {j.build.callable}") for j in jobs]
    done = run(tmp_path, jobs)
    assert done.failed("1 Kills").code in ("NPL004", "NPL005")  # it may not even be able to
    for number in (0, 2, 3, 4):
        assert done.measured(f"{number} Net").counts.total == 3


@pytest.mark.parametrize("mode", MODES)
def test_what_is_optional_is_left_when_the_time_is_over_and_the_rest_is_not(
    tmp_path: Path, mode: dict[str, str]
) -> None:
    write_files(tmp_path, {"nets.py": KILLS})
    quick, slow, endless = "nets.py::Net(2)", "nets.py::Net(3, 2)", "nets.py::Net(4, 1000)"
    targets = [quick, slow, endless]
    done = run(tmp_path, targets, environ=mode, patience=0.1, optional={0, 2}, width=3)
    assert [done.measured(target).counts.total for target in (quick, slow)] == [2, 3]
    assert done.failed(endless).cause == "not_tried"
