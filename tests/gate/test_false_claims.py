"""A model of 220 parameters that claims 110, in any way and at any place: no run passes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from false_claims import NET, READ, UNCLEAR
from sample_files import write_files

FACTORIES = """from torch import nn


class Net(nn.Module):
    def __init__(self, width=10):
        super().__init__()
        self.layer = nn.Linear(width, 20)

    @classmethod
    def small(cls):
        \"\"\"nparam: 120\"\"\"
        return cls(5)

    @classmethod
    def wide(cls, width=30):
        \"\"\"nparam: 110

        nparam(width=2): 20*width + 20
        \"\"\"
        return cls(width)

    @staticmethod
    def plain():
        \"\"\"NPARAM: 110\"\"\"
        return nn.Linear(10, 20)

    class Part(nn.Module):
        @staticmethod
        def make():
            \"\"\"nparam: 110\"\"\"
            return Net()
"""


@pytest.fixture(scope="module")
def findings(tmp_path_factory, nparam_lint):
    """(file, code) → target, line and column of each, from one run over all of them."""
    files = {
        **{f"read_{n}.py": NET.format(claim=claim) for n, claim in enumerate(READ)},
        **{f"unclear_{n}.py": NET.format(claim=claim) for n, claim in enumerate(UNCLEAR)},
        "factories.py": FACTORIES,
        "nothing.py": "# nparam: 110\n",  # nothing in it looks like a model
        "right.py": NET.format(claim="**NPARAM : 220**"),
    }
    root = write_files(tmp_path_factory.mktemp("claims"), files)
    done = nparam_lint("--format", "json", "--device", "meta", cwd=root)
    assert done.returncode == 1, done.stdout + done.stderr
    found = {}
    for item in json.loads(done.stdout)["findings"]:
        place = item["target"], item["line"], item["column"]
        found.setdefault(Path(item["path"]).stem, []).append((item["code"], *place))
    return found


@pytest.mark.parametrize("number", range(len(READ)), ids=READ)
def test_a_claim_that_is_clear_is_judged(findings, number):
    (found,) = findings[f"read_{number}"]
    assert found[:2] == ("NPL001", f"read_{number}.py::Net")


@pytest.mark.parametrize("number", range(len(UNCLEAR)), ids=UNCLEAR)
def test_a_claim_that_is_unclear_is_malformed(findings, number):
    ((code, _, line, column),) = findings[f"unclear_{number}"]
    assert (code, line) == ("NPL002", 7)
    assert column > 4


def test_a_file_without_models_is_looked_at(findings):
    assert findings["nothing"] == [("NPL002", "", 1, 3)]


def test_class_methods_and_static_factories_are_targets_of_their_own(findings):
    assert findings["factories"] == [
        ("NPL001", "factories.py::Net.wide", 16, 20),
        ("NPL001", "factories.py::Net.plain", 24, 20),
        ("NPL001", "factories.py::Net.Part.make", 30, 24),
    ]


def test_a_right_claim_in_another_spelling_passes(findings):
    assert "right" not in findings
