"""A scheduler and workers of Dask as separate programs, and what may happen to them in a run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from dask_programs import DaskPrograms, environment_with, write_nets
from distributed import Client
from package_copy import PackageCopy
from processes import (
    has_reader,
    marked,
    on_small_disk,
    reading,
    wait_until,
    without_progress,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.filterwarnings("ignore"),  # of Dask and of what it stands on
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc"),
]
NETS = 20  # in three groups


@pytest.fixture
def dask(tmp_path, environ) -> Iterator[DaskPrograms]:
    place = tmp_path / "dask"
    place.mkdir()
    programs = DaskPrograms(place, {**environ, "TMPDIR": str(place)})
    yield programs
    programs.end()


@pytest.fixture
def pipe(tmp_path) -> Path:
    """One model of `waiting_nets` waits there."""
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


@pytest.fixture
def waiting_nets(tmp_path, pipe) -> Path:
    root = tmp_path / "project"
    write_nets(root, NETS, Net0=reading(pipe))
    return root


@contextmanager
def started(root: Path, environ: dict[str, str], *arguments: str) -> Iterator[subprocess.Popen]:
    process = subprocess.Popen(
        [sys.executable, "-m", "nparam_lint", "--format", "json", *arguments],
        cwd=root,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@contextmanager
def let_pass(pipe: Path) -> Iterator[None]:
    """Whoever waits at the pipe goes on."""
    over = threading.Event()

    def write() -> None:
        while not over.wait(0.05):
            has_reader(pipe, b"go")

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def busy(dask: DaskPrograms, name: str) -> bool:
    """Whether a worker has a group."""
    with Client(dask.tcp, set_as_default=False) as client:
        known = client.scheduler_info(n_workers=-1)["workers"]
        address = next(place for place, worker in known.items() if worker["name"] == name)
        return bool(client.processing().get(address))


def assert_all_right(process: subprocess.Popen) -> None:
    output, errors = process.communicate(timeout=100)
    report = json.loads(output)
    totals = {m["target"]: m["counts"]["total"] for m in report["models"]}
    assert totals == {f"net{n}.py::Net{n}": n + 2 for n in range(NETS)}, errors
    assert process.returncode == 0
    assert without_progress(errors) == []


def test_a_worker_that_is_killed_loses_no_answer(dask, waiting_nets, pipe, environ) -> None:
    dask.add_worker("one")
    with started(waiting_nets, environ, "--on", dask.address) as process:
        wait_until(lambda: has_reader(pipe))
        dask.add_worker("two")
        dask.kill("one")
        with let_pass(pipe):
            assert_all_right(process)


def test_a_worker_that_hangs_is_not_waited_for(dask, waiting_nets, pipe, environ) -> None:
    dask.add_worker("one")
    dask.add_worker("two")
    with started(waiting_nets, environ, "--on", dask.address, "--timeout", "100") as process:
        wait_until(lambda: has_reader(pipe))
        # The other worker has done all that there is.
        wait_until(lambda: busy(dask, "one") != busy(dask, "two"))
        hanging = "one" if busy(dask, "one") else "two"
        dask.workers[hanging].send_signal(signal.SIGSTOP)
        with let_pass(pipe):
            assert_all_right(process)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_what_runs_elsewhere_ends_with_the_run(dask, waiting_nets, pipe, environ, number) -> None:
    dask.add_worker("one")
    name, value = "MARK", os.urandom(4).hex()
    with started(waiting_nets, {**environ, name: value}, "--on", dask.address) as process:
        wait_until(lambda: has_reader(pipe))
        process.send_signal(number)
        if number == signal.SIGINT:
            _, errors = process.communicate(timeout=30)
            assert process.returncode == 130
            assert without_progress(errors) == ["nparam-lint: interrupted"]
        wait_until(lambda: not marked(f"{name}={value}"))
    assert dask.workers["one"].poll() is None


def test_a_scheduler_that_ends_costs_only_what_is_not_counted(
    dask, waiting_nets, pipe, environ
) -> None:
    dask.add_worker("one")
    dask.add_worker("two")
    with started(waiting_nets, environ, "--on", dask.address) as process:
        wait_until(lambda: has_reader(pipe))
        wait_until(lambda: busy(dask, "one") != busy(dask, "two"))
        dask.scheduler.kill()
        output, _ = process.communicate(timeout=100)
    report = json.loads(output)
    lost = [f for f in report["findings"] if f["code"] == "NPL005"]
    assert 0 < len(lost) < NETS, output
    assert f"the connection to {dask.address} was lost" in lost[0]["message"]
    assert process.returncode == 1


def test_versions_that_differ(dask, nparam_lint_process, tmp_path) -> None:
    """The other torch is one that only seems to be installed: two real ones would take 1 GB."""
    root = tmp_path / "project"
    write_nets(root, 1)
    dask.add_worker("one")
    other = environment_with(tmp_path / "other", torch="2.1.0")
    dask.add_worker("two", NPARAM_LINT_PYTHON=other)
    done = nparam_lint_process("--on", dask.address, cwd=root)
    assert done.returncode == 2
    for part in ("torch 2.1.0", "has torch 2.", "would be mixed", other, sys.prefix):
        assert part in done.stderr
    assert done.stdout == ""


def test_a_late_worker_with_another_version_is_passed_over(
    dask, waiting_nets, pipe, environ, tmp_path
) -> None:
    dask.add_worker("one")
    with started(waiting_nets, environ, "--on", dask.address) as process:
        wait_until(lambda: has_reader(pipe))
        other = environment_with(tmp_path / "other", torch="2.1.0")
        dask.add_worker("two", NPARAM_LINT_PYTHON=other)
        wait_until(lambda: b"eval" in dask.log("two") or not busy(dask, "two"))
        with let_pass(pipe):
            assert_all_right(process)


def test_machines_that_cannot_build(dask, nparam_lint_process, tmp_path) -> None:
    root = tmp_path / "project"
    write_nets(root, 1)
    copy = PackageCopy(tmp_path / "another", "")
    (copy.root / "nparam_lint" / "_version.py").write_text("version = '0.0.1'\n")
    bare = environment_with(tmp_path / "bare")
    said = {}
    for name, environ in {
        "other": {"PYTHONPATH": str(copy.root)},
        "bare": {"NPARAM_LINT_PYTHON": bare},
        "gone": {"NPARAM_LINT_PYTHON": "/no/such/python"},
    }.items():
        dask.add_worker(name, **environ)
        done = nparam_lint_process("--on", dask.address, cwd=root)
        assert (done.returncode, done.stdout) == (2, "")
        said[name] = done.stderr
        dask.kill(name)
        wait_until(lambda: not _workers(dask))
    assert "has nparam-lint 0.0.1, expected " in said["other"]
    assert f"has no torch in {bare}/bin/python\nnext: install it there" in said["bare"]
    assert "no interpreter at /no/such/python" in said["gone"]


def _workers(dask: DaskPrograms) -> dict[str, object]:
    with Client(dask.tcp, set_as_default=False) as client:
        return client.scheduler_info(n_workers=-1)["workers"]


def test_a_disk_that_is_full(dask, nparam_lint_process, tmp_path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    prefix = on_small_disk(disk)
    root = tmp_path / "project"
    write_nets(root, 1)
    (root / "data.bin").write_bytes(os.urandom(200_000))
    dask.add_worker("one", prefix, TMPDIR=str(disk))
    done = nparam_lint_process("--on", dask.address, "--format", "json", cwd=root)
    assert done.returncode == 1
    assert f"the disk of {disk} is full" in done.stdout
    assert "(it was tried 3 times)" in done.stdout
    dask.add_worker("two")
    done = nparam_lint_process("--on", dask.address, "--format", "json", cwd=root)
    assert done.returncode == 0, done.stdout
