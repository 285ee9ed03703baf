"""`nparam-lint annotate` as a user meets it: what each line makes, in the margin of the source."""

from __future__ import annotations

import json

import pytest

PAGE = "annotate"


def test_the_numbers_add_up(answered, place):
    source = (place / "nets.py").read_text().splitlines()
    data = json.loads(answered("annotate", "nets.py", "--format", "json").stdout)
    assert data["error"] is None
    assert [model["target"] for model in data["models"]] == ["nets.py::Net", "nets.py::Other"]
    for model in data["models"]:
        total = model["counts"]["total"]
        assert sum(line["count"] for line in model["lines"]) + model["elsewhere"] == total
        assert sum(model["files"].values()) + model["unknown"] == total
        for line in model["lines"]:
            assert line["text"] == source[line["line"] - 1]
            assert line["share"] == pytest.approx(line["count"] / total)
            assert 0 <= line["own"] <= line["count"]
    inside = json.loads(answered("annotate", "layers.py::MLP", "--format", "json").stdout)
    (model,) = inside["models"]
    assert (model["target"], model["file"]) == ("layers.py::MLP", "layers.py")
    assert model["counts"]["total"] == 2504


def test_pages_keep_the_source_as_it_is(answered):
    """That of `show` has it beside the picture; its JSON has the lines, too."""
    line = "         400       16.0 %      18          self.words = nn.Embedding(50, d)\n"
    text = answered("annotate", "Net", "--format", "html").stdout
    assert line in text
    assert "# one word for each state, with a comment that is too long for a terminal of 80" in text
    text = answered("show", "nets.py::Net", "--format", "html").stdout
    page, source = text.split("Source, with what each line makes: <code>nets.py</code>")
    assert 'class="picture"' in page
    assert line in source
    model, *_ = json.loads(answered("show", "Net", "--format", "json").stdout)["models"]
    assert sum(line["own"] for line in model["lines"]) == model["counts"]["total"]
    assert {line["path"] for line in model["lines"]} == {"nets.py", "layers.py"}
