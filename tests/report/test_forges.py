"""What forges show of a report: annotations of GitHub, as its runner reads them; Code Quality of
GitLab; SARIF against the schema of its standard. And by what they know a finding again."""

import json

import pytest
from jsonschema import ValidationError
from msgspec.structs import replace
from render_samples import rendered
from report_checks import check_gitlab, check_sarif, commands, sarif_schema
from report_samples import (
    broken_finding,
    broken_net,
    budget,
    many,
    measured,
    model,
    report,
    rows,
)

from nparam_lint.ground.findings import Finding
from nparam_lint.ground.rule_catalogue import RULES, explain
from nparam_lint.ground.values import Position
from nparam_lint.report import Options
from nparam_lint.report.formats import sarif as sarif_format


def github(value, **options) -> str:
    return rendered("github", value, Options(**options))


def gitlab(value, **options):
    return check_gitlab(rendered("gitlab", value, Options(**options)))


def sarif(value, **options):
    return check_sarif(rendered("sarif", value, Options(**options)))


def place_in(run):
    return run["results"][0]["locations"][0]["physicalLocation"]


@pytest.mark.parametrize(
    ("path", "prefix", "shown", "uri"),
    [
        ("net.py", "", "net.py", "net.py"),
        ("./net.py", "", "net.py", "net.py"),
        ("net.py", "packages/nets", "packages/nets/net.py", "packages/nets/net.py"),
        ("a b#c?.py", "", "a b#c?.py", "a%20b%23c%3F.py"),
        ("c:/größe%.py", "", "c:/größe%.py", "c%3A/gr%C3%B6%C3%9Fe%25.py"),
        ("caf\udce9.py", "", "caf\\udce9.py", "caf%E9.py"),
        ("/usr/lib/x y.py", "packages", "/usr/lib/x y.py", "file:///usr/lib/x%20y.py"),
    ],
)
def test_a_path_is_that_in_the_repository(path, prefix, shown, uri):
    finding = broken_finding(path)
    value = report(findings=(finding, finding))  # said twice: one entry
    [entry] = gitlab(value, prefix=prefix)
    assert entry["location"]["path"] == shown
    assert {keys["file"] for _, keys, _ in commands(github(value, prefix=prefix))} == {shown}
    artifact = place_in(sarif(value, prefix=prefix))["artifactLocation"]
    is_inside = {} if uri.startswith("file:") else {"uriBaseId": "%SRCROOT%"}
    assert artifact == {"uri": uri, **is_inside}


# --- GitHub -----------------------------------------------------------------------------------


def command_for(*said):
    """That of one finding: a code, a severity, a place, a message …"""
    [found] = commands(github(report(findings=(Finding(*said),))))
    return found


def test_the_worst_ten_are_annotated_and_the_tenth_counts_the_rest():
    """Errors and warnings have ten each, and a failure is one of the ten; all are in the log."""
    found = commands(github(many(12)))
    assert [keys["file"] for _, keys, _ in found[:9]] == [f"n{i:05}.py" for i in range(12, 3, -1)]
    lines = (
        f"n0000{n}.py:12: NPL001 Net has 1,00{n} parameters, declared 1,000: +{n}"
        for n in (3, 2, 1)
    )
    title = "… and 3 more errors, in the log and the job summary"
    assert found[9:] == [("error", {"title": title}, "\n".join(lines))]
    found = commands(github(many(10)))
    assert len(found) == 10
    assert "more" not in found[9][1]["title"]
    for severity in ("error", "warning"):
        page = github(many(40, severity))
        lines = [line for line in page.splitlines() if not line.startswith("::")]
        assert sum("NPL001" in line for line in lines) == 40
        _, _, rest = commands(page)[-1]
        assert (rest.count("\n"), rest[-2:]) == (20, "\n…")
    value = many(12)
    extra = tuple(replace(f, severity="warning") for f in many(15).findings)
    found = commands(github(replace(value, findings=(*extra, *value.findings))))
    assert [level for level, _, _ in found] == ["error"] * 10 + ["warning"] * 10
    assert found[-1][1]["title"].startswith("… and 6 more warnings")
    failed = commands(github(replace(value, error="no torch")))
    assert [level for level, _, _ in failed] == ["error"] * 10


def test_the_runner_reads_back_what_was_meant():
    text = "100 % of a:b,c\r::d%0A"
    at = Position("dir, 1/a:b#%.py", 7, 3)
    assert command_for("NPL002", "error", at, text, "", ("    two", "::three")) == (
        "error",
        {
            "file": "dir, 1/a:b#%.py",
            "line": "7",
            "col": "3",
            "title": "NPL002 malformed-budget",
        },
        "100 % of a:b,c\n::d%0A\n    two\n::three",
    )
    assert command_for("NPL999", "warning", at, "new")[1]["title"] == "NPL999"
    # An endless message is cut.
    assert command_for("NPL002", "error", at, "x" * 100_000)[2] == "x" * 3_999 + "…"


def test_lines_of_the_log_sort_as_numbers_and_a_message_stays_on_its_line():
    """As in the format `concise`, which has the same lines."""
    findings = (
        Finding("NPL002", "error", Position("a.py", 10, 1), "two\nlines \x1b[31mred"),
        Finding("NPL002", "error", Position("a.py", 9, 2), "second"),
        Finding("NPL002", "error", Position("a.py", 9, 1), "first"),
    )
    assert rendered("concise", report(findings=findings), Options(color=True)) == (
        "a.py:9:1: error: NPL002 first\n"
        "a.py:9:2: error: NPL002 second\n"
        "a.py:10:1: error: NPL002 two lines \\x1b[31mred\n"
    )


# --- SARIF ------------------------------------------------------------------------------------


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
    [invocation] = run["invocations"]
    [told] = invocation["toolExecutionNotifications"]
    assert told["level"] == "warning"
    assert told["message"]["text"] == "2 more findings left out: no more than 50 are kept of a run"
    assert invocation["executionSuccessful"] is True


def test_a_place_before_the_file_is_its_start_and_what_programs_read_is_ascii():
    at = Position("größe\udcff.py", 0, 0)
    value = report(findings=(Finding("NPL003", "error", at, "≤ 25k"),))
    run = sarif(value)
    assert place_in(run)["region"] == {"startLine": 1, "startColumn": 1}
    assert "logicalLocations" not in run["results"][0]["locations"][0]
    for name in ("gitlab", "sarif"):
        assert rendered(name, value, Options()).isascii()


def test_the_schema_refuses_what_is_wrong():
    document = json.loads(rendered("sarif", report(broken_net()), Options()))
    document["runs"][0]["results"][0]["level"] = "fatal"
    with pytest.raises(ValidationError):
        sarif_schema().validate(document)


# --- fingerprints, the same in SARIF and for GitLab ---------------------------------------------


def one(line=12, actual=10, selector="", path="net.py", code="NPL001", call=""):
    """A model with one broken budget, and what is said of it."""
    at = Position(path, line, 5)
    message = f"Net[{selector}] has {actual} parameters, declared {actual + line}: -{line}"
    finding = Finding(code, "error", at, message, f"{path}::Net{call}")
    bound = actual + line
    return model(
        finding.target,
        measured(rows([("a", "Linear", actual)])),
        budgets=(budget(actual, bound, bound, f"{bound}", selector, at=at),),
        findings=(finding,),
        declared=True,
    )


def fingerprints(*models):
    results = sarif(report(*models))["results"]
    prints = [result["partialFingerprints"]["nparamLint/v1"] for result in results]
    assert prints == [entry["fingerprint"] for entry in gitlab(report(*models))]
    return prints


def test_a_fingerprint_outlives_the_line_and_the_numbers():
    assert fingerprints(one(12, 10)) == fingerprints(one(99, 10)) == fingerprints(one(12, 77))
    others = [{"selector": "h.*"}, {"path": "other.py"}, {"code": "NPL011"}, {"call": "(depth=24)"}]
    for other in others:
        assert fingerprints(one()) != fingerprints(one(**other)), other
    # A second finding leaves the first one its fingerprint.
    both = fingerprints(one(12), one(30, selector="h.*"))
    assert set(fingerprints(one(12)) + fingerprints(one(30, selector="h.*"))) == set(both)
    alike = fingerprints(one(12), one(30))
    assert len(set(alike)) == 2
    assert fingerprints(one(12))[0] in alike


def test_what_nothing_else_tells_apart_is_known_by_its_order():
    """Two counts of one glob: their messages sort by the number, which changes."""

    def glob(first: int, second: int):
        at = Position("net.py", 9, 5)
        counts = tuple(enumerate((first, second)))
        found = [
            Finding("NPL001", "error", at, f"{n:,} in h.{i}", "net.py::Net") for i, n in counts
        ]
        parts = measured(rows([("h.0", "A", first), ("h.1", "B", second)]))
        budgets = tuple(budget(n, 5, 5, "5", "h.*", at=at, module=f"h.{i}") for i, n in counts)
        value = model("net.py::Net", parts, budgets=budgets, findings=tuple(found), declared=True)
        by_message = tuple(sorted(found, key=lambda finding: finding.message))
        entries = gitlab(report(value, findings=by_message))
        return {entry["description"][-3:]: entry["fingerprint"] for entry in entries}

    before, after = glob(20, 30), glob(40, 30)
    assert set(before) == {"h.0", "h.1"}
    assert before == after
    assert before["h.0"] != before["h.1"]
