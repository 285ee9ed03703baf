"""SARIF against the schema of its standard, and what code scanning makes of it."""

import json

import pytest
from jsonschema import ValidationError
from msgspec.structs import replace
from render_samples import rendered
from report_checks import check_sarif, sarif_schema
from report_samples import (
    broken_finding,
    broken_net,
    everything,
    failed,
    glob_gpt,
    many,
    report,
)

from nparam_lint.ground.findings import Finding
from nparam_lint.ground.rule_catalogue import RULES, explain
from nparam_lint.ground.values import Position
from nparam_lint.ground.version import __version__
from nparam_lint.report import Options


def sarif(value, **options):
    return check_sarif(rendered("sarif", value, Options(**options)))


def test_a_broken_budget():
    run = sarif(report(broken_net()))
    assert run["results"] == [
        {
            "ruleId": "NPL001",
            "ruleIndex": 0,
            "level": "error",
            "message": {
                "text": "Net has 101,786 parameters, declared 50_890: +50,896 (+100.01 %)\n"
                "hidden  100,480\nout       1,290\nnparam-lint update net.py::Net"
            },
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": "net.py", "uriBaseId": "%SRCROOT%"},
                        "region": {"startLine": 12, "startColumn": 5},
                    },
                    "logicalLocations": [{"fullyQualifiedName": "net.py::Net"}],
                }
            ],
            "partialFingerprints": {
                "nparamLint/v1": "8aae3ac99b179ddccdcea5722f9ece3e8c2292a6972bb0ed7180241031126f8c"
            },
        }
    ]
    assert run["invocations"] == [{"executionSuccessful": True, "toolExecutionNotifications": []}]
    assert run["tool"]["driver"]["name"] == "nparam-lint"
    assert run["tool"]["driver"]["version"] == __version__


def test_the_document_names_its_schema_and_version():
    document = json.loads(rendered("sarif", report(), Options()))
    assert document["version"] == "2.1.0"
    assert document["$schema"].endswith("/sarif-schema-2.1.0.json")


def test_the_rules_that_appear_are_explained():
    rules = sarif(everything())["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["NPL001", "NPL004", "NPL013"]
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


def test_every_rule_of_the_catalogue_is_valid():
    found = tuple(Finding(code, "error", Position("a.py"), "x") for code in RULES)
    rules = sarif(report(findings=found))["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == sorted(RULES)
    assert all("help" in rule for rule in rules)


def test_a_rule_that_the_catalogue_does_not_have():
    found = Finding("NPL999", "error", Position("a.py"), "new")
    assert sarif(report(findings=(found,)))["tool"]["driver"]["rules"] == [{"id": "NPL999"}]


def test_what_passes_has_no_results():
    run = sarif(report(glob_gpt()))
    assert run["results"] == run["tool"]["driver"]["rules"] == []


def test_a_failure_is_an_unsuccessful_invocation():
    [invocation] = sarif(failed())["invocations"]
    assert invocation == {
        "executionSuccessful": False,
        "toolExecutionNotifications": [
            {
                "level": "error",
                "descriptor": {"id": "not-checked"},
                "message": {
                    "text": "no model can be built with .venv/bin/python\n  it says: no torch"
                },
            }
        ],
    }


@pytest.mark.thorough
def test_the_worst_five_thousand_are_kept_and_the_rest_is_counted():
    # Not against the schema, which takes seconds for what holds for one result as well.
    (run,) = json.loads(rendered("sarif", many(5_002), Options()))["runs"]
    assert len(run["results"]) == 5_000
    uris = [
        result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        for result in run["results"]
    ]
    assert uris[0] == "n05002.py"
    assert uris[-1] == "n00003.py"
    [told] = run["invocations"][0]["toolExecutionNotifications"]
    assert told["level"] == "warning"
    assert told["message"]["text"] == (
        "2 more findings left out: no more than 5,000 are kept of a run"
    )
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


def test_a_fingerprint_outlives_the_line_and_the_message():
    moved = replace(broken_finding(line=99), message="Net has 7 parameters", detail=())
    known = [
        sarif(report(findings=(finding,)))["results"][0]["partialFingerprints"]
        for finding in (broken_finding(), moved, replace(moved, target="net.py::Other"))
    ]
    assert known[0] == known[1] != known[2]


def test_the_schema_refuses_what_is_wrong():
    document = json.loads(rendered("sarif", report(broken_net()), Options()))
    document["runs"][0]["results"][0]["level"] = "fatal"
    with pytest.raises(ValidationError):
        sarif_schema().validate(document)
