"""A model of 220 parameters that claims 110, in any way and at any place: no run passes."""

from __future__ import annotations

import json

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


def test_no_claim_of_a_wrong_count_passes(tmp_path, nparam_lint):
    files = {
        "read.py": NET.format(claim="\n\n    ".join(READ)),
        "unclear.py": NET.format(claim="\n\n    ".join(UNCLEAR)),
        "factories.py": FACTORIES,
        "nothing.py": "# nparam: 110\n",  # nothing in it looks like a model
        "right.py": NET.format(claim="**NPARAM : 220**"),
    }
    write_files(tmp_path, files)
    done = nparam_lint("--format", "json", "--device", "meta", cwd=tmp_path)
    found = {path: [] for path in files}
    for item in json.loads(done.stdout)["findings"]:
        place = item["code"], item["target"], item["line"], item["column"]
        found[item["path"]].append(place)
    assert {(code, target) for code, target, *_ in found["read.py"]} == {("NPL001", "read.py::Net")}
    assert len(found["read.py"]) == len(READ)
    lines = files["unclear.py"].splitlines()
    unclear = [(code, lines[line - 1].strip()) for code, _, line, _ in found["unclear.py"]]
    assert unclear == [("NPL002", claim) for claim in UNCLEAR]
    assert all(column > 4 for *_, column in found["unclear.py"])
    assert found["nothing.py"] == [("NPL002", "", 1, 3)]
    assert found["factories.py"] == [
        ("NPL001", "factories.py::Net.wide", 16, 20),
        ("NPL001", "factories.py::Net.plain", 24, 20),
        ("NPL001", "factories.py::Net.Part.make", 30, 24),
    ]
    assert found["right.py"] == []
