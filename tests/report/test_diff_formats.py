"""The comparison for programs: JSON, annotations, a line for each model."""

import json

from diff_samples import COMMIT, SIX, diff, finding, measured, model, report, samples
from report_checks import check_github

from nparam_lint.analysis.documents.diff_document import diff_document
from nparam_lint.changes import Base, DiffReport
from nparam_lint.ground.version import __version__
from nparam_lint.report import Options
from nparam_lint.report.formats import formats_for, render


def rendered(name, found) -> str:
    return render(name, diff_document(found), Options(width=80))


def test_every_format_can_be_rendered():
    for name in formats_for("findings"):
        assert rendered(name, samples()).endswith("\n")


def test_concise_is_a_line_for_each_model_that_is_not_as_it_was():
    assert (
        rendered("concise", samples())
        == """\
gpt.py:10:1: Block 4,724,736 → 5,315,328 +590,592 (+12.50 %)
gpt.py:10:1: GPT 123,651,072 → 137,816,064 +14,164,992 (+11.46 %)
net.py:20:1: Frozen 5,866 same total; frozen 0 → 4,640
net.py:30:1: Grown 60 → 65 +5 (+8.33 %)
net.py:40:1: Old 16 gone
net.py:50:1: ViT not measured now: No module named 'einops'; 1,000 at main
net.py:60:1: Probe 77 new
zoo/new.py:10:1: Tiny 5,866 unchanged (was zoo/old.py::Tiny)
net.py:30:1: error: NPL014 Grown has 65 parameters, 60 at main: +5 (+8.33 %); no budget declares it
net.py:51:9: error: NPL003 a finding about net.py::ViT
"""
    )
    same = [model("a.py::Net", SIX)]
    assert rendered("concise", diff(same, same)) == ""


def test_github_annotates_the_findings_and_logs_the_rest():
    text = rendered("github", samples())
    assert [(name, keys["file"], keys["line"]) for name, keys, _ in check_github(text)] == [
        ("error", "net.py", "30"),
        ("error", "net.py", "51"),
    ]
    assert text.endswith(rendered("text", samples()))


def test_nothing_of_the_project_speaks_to_the_runner():
    path = "::error::##[error]x.py"
    before, after = [model(f"{path}::Net", SIX)], [model(f"{path}::Net", SIX.replace("60", "61"))]
    assert check_github(rendered("github", diff(before, after))) == []
    assert len(check_github(rendered("github", diff(before, after, "0")))) == 1


def test_failures_are_documents():
    failed = DiffReport(Base("x", "", "x"), "working tree", error="no revision x")
    assert rendered("text", failed) == rendered("concise", failed) == ""
    ((level, _, message),) = check_github(rendered("github", failed))
    assert (level, message) == ("error", "no revision x")
    document = json.loads(rendered("json", failed))
    assert (document["error"], document["models"]) == ("no revision x", [])


# --- JSON -----------------------------------------------------------------------------------------


def test_the_json_document():
    document = json.loads(rendered("json", samples()))
    assert {key: document[key] for key in ("version", "tool", "base", "now", "tolerance")} == {
        "version": 1,
        "tool": {"name": "nparam-lint", "version": __version__},
        "base": {"revision": "main", "commit": COMMIT, "called": "main"},
        "now": "working tree",
        "tolerance": "0.5%",
    }
    assert document["environment"]["torch"] == "2.13.0"
    assert [(m["target"], m["status"], m["delta"]) for m in document["models"]] == [
        ("gpt.py::Block", "changed", 590_592),
        ("gpt.py::GPT", "changed", 14_164_992),
        ("net.py::Encoder", "same", 0),
        ("net.py::Frozen", "changed", 0),
        ("net.py::Grown", "changed", 5),
        ("net.py::Old", "removed", None),
        ("net.py::ViT", "not_measured", None),
        ("net.py::Probe", "added", None),
        ("zoo/new.py::Tiny", "renamed", 0),
    ]
    assert [(f["code"], f["path"], f["line"]) for f in document["findings"]] == [
        ("NPL014", "net.py", 30),
        ("NPL003", "net.py", 51),
    ]
    assert document["skipped"] == [
        {
            "target": "net.py::Needs",
            "reason": "needs width, depth",
            "cause": "arguments_missing",
            "top_level": True,
        }
    ]
    assert document["summary"] == {
        "models": 9,
        "same": 1,
        "changed": 4,
        "renamed": 1,
        "added": 1,
        "removed": 1,
        "not_measured": 1,
        "skipped": 1,
        "findings": 2,
        "errors": 2,
        "warnings": 0,
        "seconds": 1.0,
        "files": 3,
    }


def test_a_model_of_the_json_document():
    models = {m["target"]: m for m in json.loads(rendered("json", samples()))["models"]}
    grown = models["net.py::Grown"]
    assert (grown["before"]["total"], grown["after"]["total"]) == (60, 65)
    assert (grown["path"], grown["line"], grown["column"]) == ("net.py", 30, 1)
    assert (grown["explained"], grown["explanation"]) == (False, "no budget declares it")
    assert grown["drift"] == 5 / 60
    assert grown["modules"] == [
        {
            "path": "c",
            "status": "added",
            "before": None,
            "after": {
                "path": "c",
                "type": "Linear",
                "count": 5,
                "own": 5,
                "total": 5,
                "trainable": 5,
                "buffers": 0,
                "bytes": 20,
                "source": "net.py:33",
            },
            "delta": 5,
            "notes": [],
        }
    ]
    tiny = models["zoo/new.py::Tiny"]
    assert (tiny["before_target"], tiny["evidence"]) == ("zoo/old.py::Tiny", "git renamed the file")
    lost = models["net.py::ViT"]
    assert (lost["reason_before"], lost["reason_after"]) == (None, "No module named 'einops'")
    assert (lost["before"]["total"], lost["after"]) == (1_000, None)
    assert len(models["gpt.py::GPT"]["modules"]) == 24
    assert models["gpt.py::GPT"]["explained"] is True
    assert models["net.py::Encoder"]["explained"] is None


def test_the_json_document_is_plain_ascii_and_has_no_infinity():
    found = diff([model("µ.py::Net", measured("ß X 0"))], [model("µ.py::Net", measured("ß X 4"))])
    text = rendered("json", found)
    assert text.isascii()
    assert json.loads(text)["models"][0]["drift"] is None


def test_findings_without_a_model_are_in_every_format():
    stale = finding("NPL008", "gone.py::Net", "pyproject.toml", 3)
    found = diff([], report(findings=(stale,)))
    assert json.loads(rendered("json", found))["findings"][0]["target"] == "gone.py::Net"
    for name in formats_for("findings"):
        assert "NPL008" in rendered(name, found)
