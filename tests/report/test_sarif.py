"""SARIF against the schema of its standard, and what code scanning makes of it."""

import json

import pytest
from jsonschema import ValidationError
from render_samples import rendered
from report_checks import check_sarif, sarif_schema
from report_samples import broken_finding, broken_net, many, report

from nparam_lint.ground.findings import Finding
from nparam_lint.ground.rule_catalogue import RULES, explain
from nparam_lint.ground.values import Position
from nparam_lint.report import Options
from nparam_lint.report.formats import sarif as sarif_format


def sarif(value, **options):
    return check_sarif(rendered("sarif", value, Options(**options)))


def test_the_rules_that_appear_are_explained():
    codes = [*RULES, "NPL999"]  # and one that the catalogue does not have
    found = tuple(Finding(code, "error", Position("a.py"), "x") for code in codes)
    *rules, unknown = sarif(report(findings=found))["tool"]["driver"]["rules"]
    assert unknown == {"id": "NPL999"}
    assert [rule["id"] for rule in rules] == sorted(RULES)
    for rule in rules:
        known = RULES[rule["id"]]
        assert rule["name"] == known.name
        assert rule["shortDescription"]["text"] == known.summary
        assert "\n" not in rule["fullDescription"]["text"]
        assert rule["helpUri"].endswith(f"/rules/#{known.code.lower()}-{known.name}")
        assert rule["help"]["text"] == explain(known.code)
        assert known.example_good in rule["help"]["markdown"]
        assert rule["help"]["markdown"].endswith(f"**What to do:** {known.remedy}\n")
        assert rule["defaultConfiguration"] == {"level": known.severity}


def test_the_worst_are_kept_and_the_rest_is_counted(monkeypatch):
    assert sarif_format._KEPT == 5_000  # as many as GitHub keeps
    monkeypatch.setattr(sarif_format, "_KEPT", 50)
    run = sarif(many(52))
    places = [result["locations"][0]["physicalLocation"] for result in run["results"]]
    uris = [place["artifactLocation"]["uri"] for place in places]
    assert (len(uris), uris[0], uris[-1]) == (50, "n00052.py", "n00003.py")
    [told] = run["invocations"][0]["toolExecutionNotifications"]
    assert told["level"] == "warning"
    assert told["message"]["text"] == "2 more findings left out: no more than 50 are kept of a run"
    assert run["invocations"][0]["executionSuccessful"] is True


@pytest.mark.parametrize(
    ("path", "prefix", "uri", "base"),
    [
        ("net.py", "", "net.py", True),
        ("./net.py", "", "net.py", True),
        ("net.py", "packages/nets", "packages/nets/net.py", True),
        ("a b#c?.py", "", "a%20b%23c%3F.py", True),
        ("c:/größe%.py", "", "c%3A/gr%C3%B6%C3%9Fe%25.py", True),
        ("caf\udce9.py", "", "caf%E9.py", True),
        ("/usr/lib/x y.py", "packages", "file:///usr/lib/x%20y.py", False),
    ],
)
def test_uris(path, prefix, uri, base):
    [result] = sarif(report(findings=(broken_finding(path),)), prefix=prefix)["results"]
    place = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place == {"uri": uri, **({"uriBaseId": "%SRCROOT%"} if base else {})}


def test_a_place_before_the_file_is_its_start():
    found = Finding("NPL003", "error", Position("a.py", 0, 0), "x")
    [result] = sarif(report(findings=(found,)))["results"]
    region = result["locations"][0]["physicalLocation"]["region"]
    assert region == {"startLine": 1, "startColumn": 1}
    assert "logicalLocations" not in result["locations"][0]


def test_the_schema_refuses_what_is_wrong():
    document = json.loads(rendered("sarif", report(broken_net()), Options()))
    document["runs"][0]["results"][0]["level"] = "fatal"
    with pytest.raises(ValidationError):
        sarif_schema().validate(document)
