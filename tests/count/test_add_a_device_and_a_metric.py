"""A device is one file, and a metric one row: toys, in a copy of the package, are offered, declared
and reported."""

import json
from pathlib import Path

import pytest
from package_copy import PackageCopy

from nparam_lint.count.measured import ModuleRow
from nparam_lint.ground.metrics import METRICS, WITH_FIELDS

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
ROW = """\
        Metric(
            "bias",
            "parameters",
            "named bias",
            lambda p: p.size if p.name == "bias" else 0,
        ),
"""
NET = '''\
import torch
from torch import nn


class Net(nn.Linear):
    """nparam: 6"""

    def __init__(self):
        super().__init__(2, 2)
        self.weight = nn.Parameter(torch.zeros(2, 2))
'''
BIASED = '''

class Right(nn.Module):
    """nparam[bias]: 10

    nparam[head, bias]: 3
    """

    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(2, 7), nn.Linear(7, 3)
        self.again = self.head


class Wrong(Right):
    """nparam[bias]: 11"""
'''


def replace_in(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> PackageCopy:
    found = PackageCopy(tmp_path_factory.mktemp("toys"), NET)
    (found.project / "biased.py").write_text("from torch import nn\n" + BIASED)
    devices = found.worker / "building" / "devices"
    (devices / "toy.py").write_text(DEVICE.format(absent=None, free=None))
    (devices / "gone.py").write_text(DEVICE.format(absent="the toy is broken", free=None))
    (devices / "full.py").write_text(DEVICE.format(absent=None, free=20))
    (devices / "broken.py").write_text(
        DEVICE.format(absent=None, free="no").replace("return 'no'", "raise RuntimeError('no')")
    )
    start = "    for metric in (\n"
    replace_in(found.root / "nparam_lint" / "ground" / "metrics.py", start, start + ROW)
    wait = "SECONDS_TO_GIVE_BACK = {}\n"
    replace_in(found.worker / "job.py", wait.format(3), wait.format(0))
    return found


def test_they_are_offered(copy: PackageCopy) -> None:
    assert "toy" in copy.run("check", "--help").stdout
    done = copy.run("check", "--no-cache", "--device", "toi")
    assert done.returncode == 2
    assert "did you mean toy?" in done.stderr
    typo = BIASED.replace("nparam[bias]: 11", "nparam[body, biass]: 7")
    (copy.project / "typo.py").write_text(typo)
    done = copy.run("check", "--static", "typo.py")
    (copy.project / "typo.py").unlink()
    assert "did you mean `bias`?" in done.stdout + done.stderr


def test_a_model_is_built_on_the_device_and_its_metric_is_judged(copy: PackageCopy) -> None:
    page = copy.root / "report.json"
    report = ("--format", "json", "--output-file", str(page))
    done = copy.run("check", "--no-cache", "--device", "toy", *report)
    assert done.returncode == 1, done.stdout + done.stderr
    models = {m["target"].partition("::")[2]: m for m in json.loads(page.read_text())["models"]}
    assert models["Net"]["devices"] == {
        "meta": {"status": "measured", "total": 6},
        "cpu:0": {"status": "measured", "total": 6, "bytes": 512},
    }
    # Nor does it say that we were refused to write bytecode of our own: a new device has none.
    assert not models["Net"].get("notes")

    assert "Wrong has 10 bias parameters, declared 11: -1" in done.stdout
    assert "Right has" not in done.stdout
    counts = models["Right"]["counts"]
    assert (counts["total"], counts["bias"]) == (45, 10)
    rows = {row["path"]: row["bias"] for row in models["Right"]["modules"]}
    assert rows == {"": 10, "body": 7, "head": 3, "again": 3}


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("full", "needs 24 bytes; 20 are free, of which 95% are used at most"),
        ("broken", "RuntimeError: no"),
        pytest.param("gone", "the toy is broken", marks=pytest.mark.thorough),
    ],
)
def test_where_it_cannot_be_built_on_it_is_an_error(copy: PackageCopy, name: str, why: str) -> None:
    done = copy.run("check", "--no-cache", "--device", name, "net.py")
    assert done.returncode == 1
    label = "gone" if name == "gone" else "cpu:0"
    said = "cannot be built on" if name == "broken" else "was not built on"
    assert f"Net() {said} {label}" in done.stdout
    assert why in done.stdout


def test_what_has_a_field_of_its_own_is_in_the_table() -> None:
    assert set(WITH_FIELDS) == set(METRICS)
    assert all(hasattr(ModuleRow, name) for name in WITH_FIELDS)
