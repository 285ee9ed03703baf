"""A run that is divided among machines, and put together again, says what the whole run says. What
is told of each part, and what cannot be put together, is on the page."""

from __future__ import annotations

import json

import pytest

PAGE = "merge"


@pytest.fixture(scope="module")
def shards(place, nparam_lint):
    """The reports of three shards."""
    reports = [place / f"{number}.json" for number in (1, 2, 3)]
    for number, report in enumerate(reports, 1):
        given = ("--shard", f"{number}/3", "--format", "json", "--output-file", report)
        assert nparam_lint(*given, cwd=place).stderr == ""
    return reports


def without_times(document):
    for model in document["models"]:
        model.pop("seconds", None)
        model.pop("cached", None)
    for name in ("seconds", "cached"):
        document["summary"].pop(name)
    return document


def test_the_union_is_what_the_whole_run_says(place, nparam_lint, shards):
    whole = nparam_lint("--format", "json", "--no-cache", cwd=place)
    merged = nparam_lint("merge", *shards, "--format", "json", cwd=place)
    assert (merged.returncode, merged.stderr) == (whole.returncode, "") == (1, "")
    found = without_times(json.loads(merged.stdout))
    assert found == without_times(json.loads(whole.stdout))
    codes = [finding["code"] for finding in found["findings"]]
    assert {"NPL001", "NPL007", "NPL008", "NPL015"} <= {*codes}
    assert codes.count("NPL015") == 1  # that about NPL005: the others silence something somewhere


@pytest.mark.parametrize("name", ["text", "sarif", "junit", "markdown", "gitlab", "concise"])
def test_in_every_format(place, nparam_lint, shards, name):
    wide = {"COLUMNS": "200"}
    whole = nparam_lint("--format", name, cwd=place, **wide)
    merged = nparam_lint("merge", *shards, "--format", name, cwd=place, **wide)

    def steady(text):
        lines = text.replace(" (7 from the cache)", "").splitlines()
        return [line for line in lines if " s" not in line and "time=" not in line]

    assert steady(merged.stdout) == steady(whole.stdout)
    assert merged.returncode == whole.returncode
