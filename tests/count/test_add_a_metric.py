"""A metric is one row: a toy one, in a copy of the package, is declared, judged and reported."""

import json

import pytest
from package_copy import PackageCopy

from nparam_lint.count.measured import ModuleRow
from nparam_lint.ground.metrics import METRICS, WITH_FIELDS

ROW = """\
        Metric(
            "bias",
            "parameters",
            "named bias",
            lambda p: p.size if p.name == "bias" else 0,
        ),
"""
NET = """\
from torch import nn


class Right(nn.Module):
    \"\"\"nparam[bias]: 10

    nparam[head, bias]: 3
    \"\"\"

    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(2, 7), nn.Linear(7, 3)
        self.again = self.head


class Wrong(Right):
    \"\"\"nparam[bias]: 11\"\"\"
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> PackageCopy:
    found = PackageCopy(tmp_path_factory.mktemp("metric"), NET)
    table = found.root / "nparam_lint" / "ground" / "metrics.py"
    text = table.read_text(encoding="utf-8")
    head, mark, tail = text.partition("    for metric in (\n")
    assert mark
    table.write_text(head + mark + ROW + tail, encoding="utf-8")
    return found


def test_it_is_declared_judged_and_in_json(copy: PackageCopy) -> None:
    page = copy.root / "report.json"
    done = copy.run(*("check", "--format", "json", "--output-file", str(page), "net.py"))
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Wrong has 10 bias parameters, declared 11: -1" in done.stdout
    assert "Right has" not in done.stdout
    models = {model["target"]: model for model in json.loads(page.read_text("utf-8"))["models"]}
    model = models["net.py::Right"]
    assert (model["counts"]["total"], model["counts"]["bias"]) == (45, 10)
    rows = {row["path"]: row["bias"] for row in model["modules"]}
    assert rows == {"": 10, "body": 7, "head": 3, "again": 3}


def test_a_near_miss_of_it_is_suggested(copy: PackageCopy) -> None:
    (copy.project / "typo.py").write_text(NET.replace("nparam[bias]: 11", "nparam[body, biass]: 7"))
    done = copy.run("check", "--static", "typo.py")
    assert "did you mean `bias`?" in done.stdout + done.stderr


def test_what_has_a_field_of_its_own_is_in_the_table() -> None:
    assert set(WITH_FIELDS) == set(METRICS)
    assert all(hasattr(ModuleRow, name) for name in WITH_FIELDS)
