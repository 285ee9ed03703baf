"""A device is one file: a toy one, in a copy of the package, is offered, built on and reported."""

import json

import pytest
from package_copy import PackageCopy

DEVICE = """\
LABEL = "cpu:0"
IS_AUTOMATIC = False
allocated = iter((100, 612))


def why_absent(torch):
    return {absent!r}


def free_bytes(torch):
    return {free!r}


def allocated_bytes(torch):
    return next(allocated)
"""
NET = """\
import torch
from torch import nn


class Net(nn.Linear):
    \"\"\"nparam: 6\"\"\"

    def __init__(self):
        super().__init__(2, 2)
        self.weight = nn.Parameter(torch.zeros(2, 2))
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> PackageCopy:
    found = PackageCopy(tmp_path_factory.mktemp("device"), NET)
    devices = found.worker / "building" / "devices"
    (devices / "toy.py").write_text(DEVICE.format(absent=None, free=None))
    (devices / "gone.py").write_text(DEVICE.format(absent="the toy is broken", free=None))
    (devices / "full.py").write_text(DEVICE.format(absent=None, free=20))
    (devices / "broken.py").write_text(
        DEVICE.format(absent=None, free="no").replace("return 'no'", "raise RuntimeError('no')")
    )
    job = found.worker / "job.py"
    text = job.read_text("utf-8")
    assert "SECONDS_TO_GIVE_BACK = 3\n" in text
    job.write_text(
        text.replace("SECONDS_TO_GIVE_BACK = 3\n", "SECONDS_TO_GIVE_BACK = 0\n"), "utf-8"
    )
    return found


def test_it_is_offered(copy: PackageCopy) -> None:
    assert "toy" in copy.run("check", "--help").stdout
    done = copy.run("check", "--no-cache", "--device", "toi")
    assert done.returncode == 2
    assert "did you mean toy?" in done.stderr


def test_a_model_is_built_on_it_and_compared(copy: PackageCopy) -> None:
    done = copy.run("check", "--no-cache", "--device", "toy", "--format", "json")
    assert done.returncode == 0, done.stdout + done.stderr
    (model,) = json.loads(done.stdout)["models"]
    assert model["devices"] == {
        "meta": {"status": "measured", "total": 6},
        "cpu:0": {"status": "measured", "total": 6, "bytes": 512},
    }
    # Nor does it say that we were refused to write bytecode of our own: a new device has none.
    assert not model.get("notes")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("full", "needs 24 bytes; 20 are free, of which 95% are used at most"),
        ("broken", "RuntimeError: no"),
        pytest.param("gone", "the toy is broken", marks=pytest.mark.thorough),
    ],
)
def test_where_it_cannot_be_built_on_it_is_an_error(copy: PackageCopy, name: str, why: str) -> None:
    done = copy.run("check", "--no-cache", "--device", name)
    assert done.returncode == 1
    label = "gone" if name == "gone" else "cpu:0"
    said = "cannot be built on" if name == "broken" else "was not built on"
    assert f"Net() {said} {label}" in done.stdout
    assert why in done.stdout
