"""Code Quality: what GitLab shows, and by what it knows a finding again."""

import json

import pytest
from msgspec.structs import replace
from render_samples import rendered
from report_checks import check_gitlab
from report_samples import (
    broken_finding,
    broken_net,
    budget,
    everything,
    failed,
    glob_gpt,
    measured,
    model,
    report,
    rows,
)

from nparam_lint.ground.findings import Finding
from nparam_lint.ground.values import Position
from nparam_lint.report import Options


def gitlab(value, **options):
    return check_gitlab(rendered("gitlab", value, Options(**options)))


def test_one_object_for_each_finding_worst_first():
    assert gitlab(everything()) == [
        {
            "check_name": "NPL001",
            "description": "Net has 101,786 parameters, declared 50_890: +50,896 (+100.01 %)",
            "severity": "major",
            "fingerprint": "8aae3ac99b179ddccdcea5722f9ece3e8c2292a6972bb0ed7180241031126f8c",
            "location": {"path": "net.py", "lines": {"begin": 12}},
        },
        {
            "check_name": "NPL004",
            "description": "cannot build UNet: TypeError: UNet.__init__() missing 1 required "
            "positional argument: 'channels'",
            "severity": "critical",
            "fingerprint": "b7afb5d6f83b1fd00cf4c0c68fd12e17d27ed2b9ea748f756314246475a30c56",
            "location": {"path": "models/unet.py", "lines": {"begin": 10}},
        },
        {
            "check_name": "NPL013",
            "description": "the docstring says ~2K, TinyAE has 4,996 parameters",
            "severity": "minor",
            "fingerprint": "88220798d815c52e119e710ced855867b370ca0d8fcdfc57a5bd2a7951f6339d",
            "location": {"path": "zoo/tiny.py", "lines": {"begin": 3}},
        },
    ]


def test_what_passes_is_an_empty_array():
    assert rendered("gitlab", report(glob_gpt()), Options()) == "[]\n"
    assert rendered("gitlab", report(environment=None), Options()) == "[]\n"


def test_a_failure_is_a_finding():
    [entry] = gitlab(failed())
    assert entry["description"] == (
        "nothing could be checked: no model can be built with .venv/bin/python   it says: no torch"
    )
    assert entry["severity"] == "critical"
    assert entry["location"] == {"path": "pyproject.toml", "lines": {"begin": 1}}


def test_a_project_inside_its_repository():
    [entry] = gitlab(report(broken_net()), prefix="packages/nets")
    assert entry["location"]["path"] == "packages/nets/net.py"
    [entry] = gitlab(report(findings=(broken_finding("./net.py"),)))
    assert entry["location"]["path"] == "net.py"
    [entry] = gitlab(report(findings=(broken_finding("/usr/lib/net.py"),)), prefix="packages")
    assert entry["location"]["path"] == "/usr/lib/net.py"


def test_everything_is_ascii():
    found = Finding("NPL002", "error", Position("größe\udcff.py"), "≤ 25k")
    text = rendered("gitlab", report(findings=(found,)), Options())
    [entry] = json.loads(text.encode("ascii"))
    assert entry["location"]["path"] == "größe\\udcff.py"


# --- fingerprints -----------------------------------------------------------------------------


def one(line: int = 12, actual: int = 10, selector: str = "", path: str = "net.py", code="NPL001"):
    """A model with one broken budget, and what is said of it."""
    at = Position(path, line, 5)
    message = f"Net[{selector}] has {actual} parameters, declared {actual + line}: -{line}"
    finding = Finding(code, "error", at, message, f"{path}::Net")
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


@pytest.mark.parametrize(
    "other",
    [one(selector="h.*"), one(path="other.py"), one(code="NPL011")],
    ids=["selector", "path", "code"],
)
def test_a_fingerprint_tells_apart(other):
    assert fingerprints(one()) != fingerprints(other)


def test_a_fingerprint_tells_targets_apart():
    deep = replace(one(), target="net.py::Net(depth=24)")
    deep = replace(deep, findings=(replace(deep.findings[0], target=deep.target),))
    assert fingerprints(one()) != fingerprints(deep)


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
        found = [
            Finding("NPL001", "error", at, f"{n:,} in h.{i}", "net.py::Net")
            for i, n in enumerate((first, second))
        ]
        parts = measured(rows([("h.0", "A", first), ("h.1", "B", second)]))
        budgets = tuple(
            budget(n, 5, 5, "5", "h.*", at=at, module=f"h.{i}")
            for i, n in enumerate((first, second))
        )
        value = model("net.py::Net", parts, budgets=budgets, findings=tuple(found), declared=True)
        sorted_ = tuple(sorted(found, key=lambda finding: finding.message))
        entries = gitlab(report(value, findings=sorted_))
        return {entry["description"][-3:]: entry["fingerprint"] for entry in entries}

    before, after = glob(20, 30), glob(40, 30)
    assert set(before) == {"h.0", "h.1"}
    assert before == after
    assert before["h.0"] != before["h.1"]


def test_the_same_said_twice_is_one_entry():
    assert len(gitlab(report(findings=(broken_finding(), broken_finding())))) == 1
