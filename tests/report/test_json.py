"""The JSON document against the documented schema, written out by hand."""

import json
import math
from typing import Any

import pytest
from render_samples import rendered
from report_samples import (
    broken_net,
    everything,
    glob_gpt,
    measured,
    model,
    net,
    report,
    rows,
    unicode_net,
    unmeasured,
)

from nparam_lint.count.measured import DeviceResult
from nparam_lint.ground.findings import BudgetResult, Finding
from nparam_lint.ground.values import Position
from nparam_lint.ground.version import __version__
from nparam_lint.report import Options

NULL = type(None)
COUNTS = {"total": int, "trainable": int, "frozen": int, "buffers": int, "bytes": int}
MODULE = {"path": str, "type": str, "own": int, "total": int, "trainable": int}
SCHEMA = {
    "version": int,
    "tool": {"name": str, "version": str},
    "environment": (
        NULL,
        {"python": str, "reason": str, "torch": (str, NULL), "devices": [str], "guards": [str]},
    ),
    "error": (NULL, str),
    "models": [
        {
            "target": str,
            "path": str,
            "line": int,
            "call": (str, NULL),
            "status": str,
            "cached": bool,
            "reason": (str, NULL),
            "counts": (NULL, COUNTS),
            "devices": dict,
            "modules": [{**MODULE, "source": (str, NULL)}],
            "budgets": [
                {
                    "declared": str,
                    "selector": str,
                    "low": (int, NULL),
                    "high": (int, NULL),
                    "actual": (int, NULL),
                    "drift": (float, NULL),
                    "ok": bool,
                    "origin": str,
                    "path": str,
                    "line": int,
                    "column": int,
                }
            ],
        }
    ],
    "findings": [
        {
            "code": str,
            "severity": str,
            "path": str,
            "line": int,
            "column": int,
            "target": str,
            "message": str,
        }
    ],
    "summary": {
        "models": int,
        "measured": int,
        "not_measured": int,
        "cached": int,
        "findings": int,
        "seconds": float,
    },
}


def check(value: Any, schema: Any, at: str = "$") -> None:
    """Documented keys are there, in type; others may be added."""
    if isinstance(schema, tuple):
        plain = tuple(kind for kind in schema if isinstance(kind, type))
        shaped = [kind for kind in schema if not isinstance(kind, type)]
        if type(value) in plain:
            return
        assert shaped, (at, value)
        check(value, shaped[0], at)
    elif isinstance(schema, list):
        assert type(value) is list, at
        for index, item in enumerate(value):
            check(item, schema[0], f"{at}[{index}]")
    elif isinstance(schema, dict):
        assert type(value) is dict, at
        for key, kind in schema.items():
            assert key in value, f"{at}.{key}"
            check(value[key], kind, f"{at}.{key}")
    else:
        assert type(value) is schema, (at, value)


def refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")


def load(value) -> Any:
    text = rendered("json", value, Options())
    assert text.endswith("}\n")
    document = json.loads(text, parse_constant=refuse)
    check(document, SCHEMA)
    assert json.loads(json.dumps(document)) == document
    return document


@pytest.mark.parametrize(
    "value",
    [report(), report(environment=None), report(glob_gpt()), report(unmeasured()), everything()],
    ids=["empty", "no environment", "glob", "failure", "everything"],
)
def test_every_report_is_one_valid_document(value):
    document = load(value)
    assert document["version"] == 1
    assert document["tool"] == {"name": "nparam-lint", "version": __version__}
    summary = document["summary"]
    assert summary["models"] == len(document["models"])
    assert summary["measured"] + summary["not_measured"] == summary["models"]
    assert summary["findings"] == len(document["findings"])


def test_an_empty_report_to_the_letter():
    """One line: a run over timm holds 400,000 module rows."""
    text = rendered("json", report(environment=None, seconds=0.0), Options())
    assert text == (
        f'{{"version":1,"tool":{{"name":"nparam-lint","version":"{__version__}"}},'
        '"environment":null,'
        '"error":null,"models":[],"findings":[],"skipped":[],"failed_ways":[],"ways_left":{},"claims":[],"summary":{"models":0,"measu'
        'red":0,"not_measured":0,"cached":0,"findings":0,"errors":0,"warnings":0,"skipped'
        '":0,"files":3,"test_files":0,"elsewhere":null,"seconds":0.0}}'
        "\n"
    )


def test_a_measured_model():
    [found] = load(report(broken_net()))["models"]
    assert found["target"] == "net.py::Net"
    assert found["call"] == "Net()"
    assert found["status"] == "measured"
    assert found["counts"] == {
        "total": 101_786,
        "trainable": 1_306,
        "frozen": 100_480,
        "buffers": 0,
        "bytes": 407_144,
        "non_embedding": 101_786,
        "active": None,
        "gradient_bytes": 0,
        "training_bytes": 407_144,
        "momentum_training_bytes": 407_144,
        "sgd_training_bytes": 407_144,
    }
    assert sum(row["own"] for row in found["modules"]) == found["counts"]["total"]
    assert found["modules"][1]["source"] == "model.py:11"
    [budget] = found["budgets"]
    assert budget["drift"] == pytest.approx(50_896 / 50_890)
    assert (budget["path"], budget["line"], budget["column"]) == ("net.py", 12, 5)
    assert budget["ok"] is False


def test_why_active_is_unknown():
    moe = model("moe.py::MoE", measured(net(), no_routing="nothing says it"))
    [found] = load(report(moe))["models"]
    assert (found["counts"]["active"], found["no_routing"]) == (None, "nothing says it")


def test_what_was_not_measured_has_a_reason_and_no_counts():
    [found] = load(report(unmeasured()))["models"]
    assert found["status"] == "not_measured"
    assert found["counts"] is None
    assert found["modules"] == []
    assert "missing 1 required positional argument" in found["reason"]
    assert (found["code"], found["missing"]) == ("NPL004", ["channels"])


def test_an_error_is_part_of_the_document():
    assert (
        load(report(error="no torch\n  next: install it"))["error"]
        == "no torch\n  next: install it"
    )


def test_devices_say_only_what_they_know():
    devices = {
        "meta": DeviceResult("measured", 101_786),
        "cuda:0": DeviceResult("skipped", reason="no CUDA device"),
        "cuda:1": DeviceResult("failed", 5, "differs", 512, ("hidden.weight: 1 × 1",)),
    }
    [found] = load(report(model("net.py::Net", measured(net(), devices=devices))))["models"]
    assert found["devices"] == {
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


@pytest.mark.parametrize("drift", [math.nan, math.inf, -math.inf, None])
def test_a_drift_that_is_no_number_is_null(drift):
    at = Position("net.py", 1, 1)
    result = BudgetResult("0", "", 0, 0, 5, drift, False, "config", at)
    [found] = load(report(model("net.py::Net", measured(net()), budgets=(result,))))["models"]
    assert found["budgets"][0]["drift"] is None


def test_counts_beyond_floats_stay_exact():
    huge = 2**63 + 1
    [found] = load(report(model("a.py::A", measured(rows([("x", "Linear", huge)])))))["models"]
    assert found["counts"]["total"] == huge


def test_unicode_and_undecodable_names_survive():
    finding = Finding("NPL002", "error", Position("caf\udce9.py"), "≤ 25k\nµ")
    value = report(unicode_net(), findings=(finding,))
    rendered("json", value, Options()).encode("ascii")
    document = load(value)
    assert document["models"][0]["target"] == "modèles/µ.py::Größe"
    assert document["models"][0]["hidden"][0]["count"] == 16_640
    assert document["models"][0]["parameters"][0]["shape"] == [10, 100]
    assert document["findings"][0]["path"] == "caf\udce9.py"
    assert document["findings"][0]["message"] == "≤ 25k\nµ"
