"""The JSON document: what no schema says. Each that a test makes is held against its schema."""

import json
import math
from typing import Any

from render_samples import rendered
from report_samples import everything, measured, model, net, report, rows, unicode_net

from nparam_lint.count.measured import DeviceResult
from nparam_lint.ground.findings import BudgetResult, Finding
from nparam_lint.ground.values import Position
from nparam_lint.report import Options


def refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")


def load(value) -> Any:
    text = rendered("json", value, Options())
    assert text.isascii()
    assert text.index("\n") == len(text) - 1  # a run over timm holds 400,000 module rows
    return json.loads(text, parse_constant=refuse)


def load_model(measurement, **more) -> Any:
    return load(report(model("net.py::Net", measurement, **more)))["models"][0]


def test_the_summary_counts_what_is_there():
    document = load(everything())
    summary = document["summary"]
    assert summary["models"] == len(document["models"])
    assert summary["measured"] + summary["not_measured"] == summary["models"]
    assert summary["findings"] == len(document["findings"])


def test_why_active_is_unknown():
    found = load_model(measured(net(), no_routing="nothing says it"))
    assert (found["counts"]["active"], found["no_routing"]) == (None, "nothing says it")


def test_devices_say_only_what_they_know():
    devices = {
        "meta": DeviceResult("measured", 101_786),
        "cuda:0": DeviceResult("skipped", reason="no CUDA device"),
        "cuda:1": DeviceResult("failed", 5, "differs", 512, ("hidden.weight: 1 × 1",)),
    }
    assert load_model(measured(net(), devices=devices))["devices"] == {
        "meta": {"status": "measured", "total": 101_786},
        "cuda:0": {"status": "skipped", "reason": "no CUDA device"},
        "cuda:1": {
            "status": "failed",
            "total": 5,
            "reason": "differs",
            "bytes": 512,
            "differences": ["hidden.weight: 1 × 1"],
        },
    }


def test_numbers_that_are_none_and_those_beyond_floats():
    at = Position("net.py", 1, 1)
    drifts = (math.nan, math.inf, -math.inf, None)
    budgets = tuple(BudgetResult("0", "", 0, 0, 5, one, False, "config", at) for one in drifts)
    loaded = load_model(measured(net()), budgets=budgets)["budgets"]
    assert [one["drift"] for one in loaded] == [None] * 4
    huge = 2**63 + 1
    assert load_model(measured(rows([("x", "Linear", huge)])))["counts"]["total"] == huge


def test_unicode_and_undecodable_names_survive():
    finding = Finding("NPL002", "error", Position("caf\udce9.py"), "≤ 25k\nµ")
    document = load(report(unicode_net(), findings=(finding,)))
    assert document["models"][0]["target"] == "modèles/µ.py::Größe"
    assert document["models"][0]["hidden"][0]["count"] == 16_640
    assert document["models"][0]["parameters"][0]["shape"] == [10, 100]
    assert document["findings"][0]["path"] == "caf\udce9.py"
    assert document["findings"][0]["message"] == "≤ 25k\nµ"
