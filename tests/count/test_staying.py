"""Where a model is built in several runs its modules are imported once, as long as nothing else is
asked for; the answers, and what they rest on, are those of a process of its own."""

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from processes import marked, wait_until, waiting_worker
from sample_files import write_files
from test_run import front_environment
from worker_runs import LINUX, PYTHON, Run, make_orders, make_session, run

from nparam_lint.cache.store import Store
from nparam_lint.count.measured import Measured
from nparam_lint.count.run import run_orders
from nparam_lint.count.worker_process import end_waiting, reused_worker, wait_for_end

pytestmark = pytest.mark.skipif(not LINUX, reason="elsewhere processes are spawned, not forked")


@pytest.fixture(scope="module", autouse=True)
def one_worker() -> None:
    """These tests end and begin workers themselves."""


NETS = """\
import ctypes
import os
from torch import nn


class Net(nn.Module):
    '''As wide as the number of the process that imported its module.'''

    def __init__(self, extra=0):
        super().__init__()
        self.a = nn.Linear(os.getppid(), 1, bias=False)


class Fails(Net):
    def __init__(self):
        super().__init__()
        raise ValueError("no")


class Kills(Net):
    def __init__(self):
        ctypes.CDLL(None).kill(os.getppid(), 9)
"""
NET, OTHER = "nets.py::Net", "other.py::Net"
FORK = {"NPARAM_LINT_FORK": "1"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "nets.py").write_text(NETS)
    (tmp_path / "other.py").write_text(NETS)
    return tmp_path


@pytest.fixture
def stay(last_worker: None) -> Iterator[None]:  # noqa: ARG001
    """Torch is imported once for these tests; each has a project, and thus groups, of its own."""
    with waiting_worker(imports=True):
        yield


def build(root: Path, targets: Sequence[str], timeout: float = 60.0) -> Run:
    return run(root, targets, timeout=timeout, environ=FORK)


def importer(root: Path, *targets: str, timeout: float = 60.0) -> int:
    """The process that imported the module of the first target, as it builds all of them."""
    targets = targets or (NET,)
    return build(root, targets, timeout).measured(targets[0]).counts.total


def is_there(process: int) -> bool:
    return Path(f"/proc/{process}").exists()


@pytest.mark.usefixtures("stay")
@pytest.mark.thorough
def test_two_runs_share_one_import(root: Path) -> None:
    first = importer(root)
    assert is_there(first)
    assert importer(root, f"{NET}(extra=1)", NET, "nets.py::Fails") == first
    assert importer(root, f"{NET}(extra=2)") == first


@pytest.mark.thorough
def test_nothing_is_kept_unless_more_is_to_come(root: Path) -> None:
    first = importer(root)
    wait_for_end()
    assert not is_there(first)
    with reused_worker():
        second = importer(root)
        assert is_there(second)
    wait_for_end()
    assert not is_there(second)
    assert first != second


@pytest.mark.usefixtures("stay")
@pytest.mark.thorough
def test_other_modules_are_imported_by_another_process(root: Path) -> None:
    """Also more, or less, than before: what one module does another could see."""
    asked = [(NET,), (OTHER,), (NET, OTHER), (NET,)]
    processes = []
    for targets in asked:
        assert not any(map(is_there, processes[:-1]))
        processes.append(importer(root, *targets))
    assert len(set(processes)) == len(asked)


@pytest.mark.usefixtures("stay")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
@pytest.mark.thorough
def test_one_that_dies_or_hangs_while_it_waits_is_replaced(root: Path, number: int) -> None:
    first = importer(root, timeout=3)
    os.kill(first, number)
    second = importer(root, timeout=3)
    assert second != first
    assert not is_there(first)
    assert importer(root, timeout=3) == second


@pytest.mark.usefixtures("stay")
def test_orders_may_be_larger_than_a_pipe(root: Path) -> None:
    first = importer(root)
    (job,) = make_orders(root, [NET])
    many = [replace(job, id=i, label="x" * 400_000 + str(i)) for i in range(3)]
    done = run(root, many, environ=FORK)
    assert {done.measured(job.label).counts.total for job in many} == {first}


@pytest.mark.usefixtures("stay")
def test_a_model_cannot_kill_the_process_above(root: Path) -> None:
    first = importer(root)
    done = build(root, ["nets.py::Kills"])
    assert "super().__init__()" in str(done.failed("nets.py::Kills").hint)
    assert importer(root) == first


@pytest.mark.usefixtures("stay")
def test_what_could_not_be_imported_is_imported_again(root: Path) -> None:
    (root / "other.py").write_text("import nets\nraise ValueError('not yet')\n")
    assert "not yet" in build(root, [OTHER]).failed(OTHER).reason
    (root / "other.py").write_text(NETS)
    assert importer(root, OTHER) > 0


FRONT = """\
import sys
from nparam_lint.count.worker_process import reused_worker
from test_staying import Path, importer
with reused_worker():
    print(importer(Path(sys.argv[1])), flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("number", [None, signal.SIGKILL])
@pytest.mark.thorough
def test_no_process_is_left(root: Path, number: int | None) -> None:
    """When the front end ends, or is killed, while one waits."""
    marker = uuid.uuid4().hex
    more = {"PYTHONPATH": os.pathsep.join(sys.path), "TORCH_SURVIVAL_MARKER": marker}
    with subprocess.Popen(
        [PYTHON, "-c", FRONT, str(root)],
        env=front_environment(**FORK) | more,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as front:
        assert front.stdout
        process = int(front.stdout.readline())
        assert process in marked(marker)
        if number is not None:
            front.send_signal(number)
        front.communicate(timeout=20)
        wait_until(lambda: not marked(marker), 5)


HANGS = """\
import os
import time
from torch import nn


class Net(nn.Module):
    '''As wide as the number of the process that builds it.'''

    def __init__(self, hangs=False):
        super().__init__()
        self.a = nn.Linear(os.getpid(), 1, bias=False)
        if hangs:  # when its directory is removed
            os.rmdir = lambda path: time.sleep(1000)
"""


def test_what_a_process_does_after_the_last_result_is_not_waited_for(last_worker, tmp_path):  # noqa: ARG001
    (tmp_path / "nets.py").write_text(HANGS)
    last = f"{NET}(hangs=True)"
    with reused_worker():
        done = run(tmp_path, [NET, last], width=1, environ=FORK)
        builder = done.measured(last).counts.total
        assert is_there(builder)
        os.kill(builder, signal.SIGKILL)
        assert importer(tmp_path, NET) != builder


# --- what is remembered -----------------------------------------------------------------------

CAREFUL = """\
import importlib.util
from torch import nn
from width import WIDTH


class Net(nn.Module):
    def __init__(self, extra=0):
        super().__init__()
        self.a = nn.Linear(WIDTH, 1 + WIDER, bias=False)


WIDER = importlib.util.find_spec("wider") is not None
"""


@pytest.mark.thorough
def test_what_is_remembered_of_several_runs_of_one_process(tmp_path: Path) -> None:
    """It rests on what was imported for the first; a file that came after that was not seen."""
    end_waiting()  # what has waited since before the project was made knows of another time
    root = tmp_path / "project"
    write_files(root, {"nets.py": CAREFUL, "width.py": "WIDTH = 8\n"})
    store = Store(str(tmp_path / "cache"), str(root))

    def build(arguments: str) -> tuple[int, bool]:
        """How many parameters it has, and whether that was remembered."""
        orders = make_orders(root, [f"nets.py::Net({arguments})"])
        session = make_session(root, os.environ | FORK, store=store)
        result = run_orders(session, {"nets", "width"}, orders).measurements[0]
        assert isinstance(result, Measured), result
        return result.counts.total, result.cached

    with reused_worker():
        assert [build("extra=1"), build("extra=2")] == [(8, False), (8, False)]
    assert [build("extra=1"), build("extra=2")] == [(8, True), (8, True)]
    (root / "width.py").write_text("WIDTH = 9\n")
    with reused_worker():
        assert build("extra=2") == (9, False)
        (root / "wider.py").touch()
        assert build("extra=3") == (9, False)
    assert build("extra=3") == (18, False)
