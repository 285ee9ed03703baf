"""Code Quality: what GitLab shows, and by what it, and SARIF, know a finding again."""

import json

import pytest
from render_samples import rendered
from report_checks import check_gitlab
from report_samples import broken_finding, budget, measured, model, report, rows

from nparam_lint.ground.findings import Finding
from nparam_lint.ground.values import Position
from nparam_lint.report import Options


def gitlab(value, **options):
    return check_gitlab(rendered("gitlab", value, Options(**options)))


@pytest.mark.parametrize(
    ("path", "prefix", "shown"),
    [
        ("net.py", "packages/nets", "packages/nets/net.py"),
        ("./net.py", "", "net.py"),
        ("/usr/lib/net.py", "packages", "/usr/lib/net.py"),
    ],
)
def test_a_project_inside_its_repository(path, prefix, shown):
    finding = broken_finding(path)
    [entry] = gitlab(report(findings=(finding, finding)), prefix=prefix)  # said twice: one entry
    assert entry["location"]["path"] == shown


def test_everything_is_ascii():
    found = Finding("NPL002", "error", Position("größe\udcff.py"), "≤ 25k")
    text = rendered("gitlab", report(findings=(found,)), Options())
    [entry] = json.loads(text.encode("ascii"))
    assert entry["location"]["path"] == "größe\\udcff.py"


# --- fingerprints -----------------------------------------------------------------------------


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
    return [entry["fingerprint"] for entry in gitlab(report(*models))]


def test_a_fingerprint_outlives_the_line_and_the_numbers():
    assert fingerprints(one(12, 10)) == fingerprints(one(99, 10)) == fingerprints(one(12, 77))
    others = [{"selector": "h.*"}, {"path": "other.py"}, {"code": "NPL011"}, {"call": "(depth=24)"}]
    for other in others:
        assert fingerprints(one()) != fingerprints(one(**other)), other


def test_a_second_finding_leaves_the_first_one_its_fingerprint():
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
