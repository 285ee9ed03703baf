"""A budget of a block inside a model, for programs; its page is pages/budgets_inside.md."""

from __future__ import annotations

import json

import pytest
from pages import pages, write_files_of

PAGE = pages(__file__)["budgets_inside"]


def test_a_model_is_built_once(tmp_path, nparam_lint):
    place = write_files_of(PAGE, tmp_path)
    data = json.loads(nparam_lint("--format", "json", cwd=place).stdout)
    models = {model["target"]: model for model in data["models"] if model["way"] is None}
    block, whole = "nets/blocks.py::Block(in nets/gpt.py::GPT)", "nets/gpt.py::GPT"
    assert [models[name]["top_level"] for name in (block, whole)] == [False, True]
    (inside,) = [m for m in data["models"] if m["way"] and m["target"] == "nets/blocks.py::Block"]
    assert (inside["paths"], inside["counts"]["total"]) == (["h.0", "h.1"], 296)
    way = {"kind": "inside", "path": "nets/gpt.py", "line": 23, "column": 1, "name": whole}
    assert inside["way"] == way
    assert inside["share"] == pytest.approx(296 / 668)
