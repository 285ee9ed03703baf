"""`nparam-lint claims` in formats for programs and forges; pages/claims.md has the rest."""

from __future__ import annotations

import json

import pytest

PAGE = "claims"


@pytest.mark.parametrize("format", ["github", "sarif", "gitlab", "junit", "markdown", "html"])
def test_in_every_format(answered, format):
    assert "4,160" in answered("claims", "README.md", "--format", format, code=1).stdout


def test_each_place_in_json(answered):
    stated = json.loads(answered("claims", "--format", "json", code=1).stdout)["claims"]
    verdicts = [one["verdict"] for one in stated]
    assert verdicts == ["wrong"] * 7 + ["right"] * 2 + ["unknown"]
    (first,) = [one for one in stated if (one["path"], one["line"]) == ("README.md", 7)]
    keys = ("column", "strength", "target", "actual", "because")
    because = "beside it stands the name Net"
    assert [first[key] for key in keys] == [9, "certain", "nets.py::Net", 4160, because]


def test_update_leaves_line_ends_as_they_are(answered, place):
    text = b"a: 1\r\nnet_small:\r\n  n_parameters: 9_000  # why\r\n"
    (place / "d.yaml").write_bytes(text)
    assert "9_000 → 10_100" in answered("update", "--claims", "d.yaml").stdout
    assert (place / "d.yaml").read_bytes() == text.replace(b"9_000", b"10_100")
