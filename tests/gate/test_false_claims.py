"""A model of 220 parameters that claims 110, in any way and at any place: no run passes. Those of
factories are on pages/claims_of_factories.md."""

from __future__ import annotations

import json

from false_claims import NET, READ, UNCLEAR
from sample_files import write_files


def test_no_claim_of_a_wrong_count_passes(tmp_path, nparam_lint):
    files = {
        "read.py": NET.format(claim="\n\n    ".join(READ)),
        "unclear.py": NET.format(claim="\n\n    ".join(UNCLEAR)),
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
    assert found["right.py"] == []
