"""Models that are built by the processes of a Dask cluster."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from dask_programs import comparable, write_nets
from distributed import LocalCluster

from nparam_lint.count import remote_machines, remote_run
from nparam_lint.ground.version import __version__ as nparam_lint_version

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.filterwarnings("ignore")  # of Dask and of what it stands on


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    more = {"processes": False, "protocol": "tcp", "dashboard_address": None}
    with LocalCluster(n_workers=2, threads_per_worker=1, **more) as cluster:
        yield cluster.scheduler_address.replace("tcp://", "dask://")
        _close_all()


def _close_all() -> None:
    for machines in remote_machines._open.values():
        machines.shutdown(wait=False)
    remote_machines._open.clear()


def test_answers_are_those_of_a_local_run(nparam_lint, project, address, monkeypatch) -> None:
    monkeypatch.setattr(remote_run, "LEAST", 2)  # several groups, also of few models
    root = project("default_config")
    here = nparam_lint("--no-cache", "--format", "json", cwd=root)
    there = nparam_lint("--on", address, "--format", "json", cwd=root)
    told = [line for line in there.stderr.splitlines() if "counting" not in line]  # how far it is
    assert told == here.stderr.splitlines()
    assert comparable(there.stdout) == comparable(here.stdout)
    environment = json.loads(there.stdout)["environment"]
    assert environment["reason"] == f"{address}, 2 machines"
    assert environment["torch"] == json.loads(here.stdout)["environment"]["torch"]
    assert len(json.loads(there.stdout)["models"]) > 4


@pytest.mark.thorough
def test_doctor_names_the_machines(nparam_lint, tmp_path, address) -> None:
    done = nparam_lint("doctor", "--on", address, cwd=tmp_path)
    first, *machines = done.stdout.splitlines()
    assert first == f"machines        2 at {address}"
    assert len(machines) == 2
    for line in machines:
        assert f"nparam-lint {nparam_lint_version}, Python {platform.python_version()}" in line
        assert f"({sys.executable})" in line
    assert done.returncode == 0


@pytest.mark.thorough
def test_what_is_staged_is_sent(nparam_lint, tmp_path, address) -> None:
    root = tmp_path / "project"
    write_nets(root, 2)
    subprocess.run(["git", "add", "net0.py"], cwd=root, check=True)
    (root / "net0.py").write_text("broken(")
    done = nparam_lint("--staged", "--on", address, "--format", "json", cwd=root)
    assert [m["target"] for m in json.loads(done.stdout)["models"]] == ["net0.py::Net0"]
    assert done.returncode == 0, done.stdout


@pytest.mark.thorough
def test_modules_that_change_each_other_are_built_together(
    nparam_lint, tmp_path, address, monkeypatch
) -> None:
    monkeypatch.setattr(remote_run, "LEAST", 1)
    (tmp_path / "sizes.py").write_text("SIZES = [1]\n")
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.py").write_text(
            "import sizes\nfrom torch import nn\nsizes.SIZES.append(1)\n\n\n"
            f"class {name.upper()}(nn.Linear):\n    def __init__(self):\n"
            "        super().__init__(sum(sizes.SIZES), 1)\n"
        )
    here = nparam_lint("--no-cache", "--format", "json", cwd=tmp_path)
    there = nparam_lint("--on", address, "--format", "json", cwd=tmp_path)
    assert comparable(there.stdout) == comparable(here.stdout)


@pytest.mark.parametrize(
    ("text", "hint"),
    [("nonsense://host", ""), ("dusk://host:1", "; did you mean dask?"), ("dask://", "")],
)
def test_an_address_that_nobody_knows(nparam_lint, tmp_path, text, hint) -> None:
    done = nparam_lint("--on", text, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines()[1].startswith(
        f"option --on is {text!r}, expected local, dask://HOST:PORT{hint}"
    )


def test_nobody_answers(nparam_lint, project, monkeypatch) -> None:
    monkeypatch.setattr("nparam_lint.count.engines.dask.CONNECTING", 0.5)
    done = nparam_lint("--on", "dask://127.0.0.1:9", cwd=project("right"))
    assert done.returncode == 2
    assert done.stderr == (
        "nparam-lint: dask://127.0.0.1:9 cannot be reached: Timed out trying to connect to "
        "tcp://127.0.0.1:9 after 0.5 s\nnext: see that it runs, and that this machine may connect "
        "to it; or leave out --on to count here\n"
    )


@pytest.mark.thorough
def test_there_is_no_worker(nparam_lint, project, monkeypatch) -> None:
    monkeypatch.setattr(remote_run, "PATIENCE", 0.5)
    with LocalCluster(n_workers=0, dashboard_address=None) as cluster:
        address = cluster.scheduler_address.replace("tcp://", "dask://")
        done = nparam_lint("--on", address, cwd=project("right"))
        _close_all()
    assert done.returncode == 2
    assert done.stderr == (
        f"nparam-lint: no machine can be used at {address}, for 0.5 s now\n"
        "next: start workers there, and see that they stay\n"
    )


def test_the_extra_is_not_installed(nparam_lint, project, monkeypatch) -> None:
    monkeypatch.delitem(sys.modules, "nparam_lint.count.engines.dask", raising=False)
    monkeypatch.setitem(sys.modules, "distributed", None)  # Python then says that there is none
    done = nparam_lint("--on", "dask://127.0.0.1:1", cwd=project("right"))
    assert done.returncode == 2
    assert done.stderr == (
        "nparam-lint: dask://127.0.0.1:1 needs the package distributed, which is not installed; "
        "next: pip install 'nparam-lint[dask]'\n"
    )


def test_no_secret_and_no_place_is_sent() -> None:
    environ = {
        "MODEL_SIZE": "large",
        "API_TOKEN": "abc",
        "PATH": "/usr/bin:/bin",
        "HOME": "/home/me",
        "DATA": "/data",
        "PYTHONPATH": "src:/x",
        "USER": "me",
        "CUDA_VISIBLE_DEVICES": "0",
        "REGISTRY": "https://me:secret@host/x",
        "NPARAM_LINT_ON": "dask://h:1",
    }
    assert remote_run.sent_environment(environ) == {"MODEL_SIZE": "large"}
