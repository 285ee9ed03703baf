"""`nparam-lint annotate` as a user meets it: what each line makes, in the margin of the source."""

from __future__ import annotations

import json

import pytest
from sample_files import write_files

LAYERS = """\
import torch.nn as nn


class MLP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.up = nn.Linear(d, 4 * d)
        self.down = nn.Linear(4 * d, d)

    def forward(self, x):
        return self.down(self.up(x).relu())
"""
MODELS = """\
import torch.nn as nn
from layers import MLP


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.mlp = MLP(d)

    def forward(self, x):
        return x + self.mlp(self.norm(x))


class Net(nn.Module):
    def __init__(self, d=8, depth=3):
        super().__init__()
        self.words = nn.Embedding(50, d)
        self.blocks = nn.ModuleList([Block(d) for _ in range(depth)])
        # one word for each state, with a comment that is too long for a terminal of 80 columns
        self.head = nn.Linear(d, 50, bias=False)


class Other(nn.Module):
    def __init__(self):
        super().__init__()
        self.only = nn.Linear(2, 2)


class Needs(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.one = nn.Linear(width, width)
"""
# Models; those that have lines of their own; lines as the models of the project build them; whole
# files; one that cannot be built; and one that has no line of its own.
COMMANDS = """
annotate nets.py::Net --quiet
annotate nets.py
annotate layers.py
annotate Net --verbose
annotate Net --format concise
annotate Net --format markdown
annotate nets.py::Needs
annotate nets.py::Needs --format concise
annotate plain.py
annotate 'torch.nn::Linear(2, 3)'
"""


@pytest.fixture(scope="module")
def place(place):
    return write_files(place, {"layers.py": LAYERS, "plain.py": "width = 3\n"})


def test_what_is_said(transcript, expected):
    expected(transcript(COMMANDS))


def test_the_numbers_add_up(answered):
    data = json.loads(answered("annotate", "nets.py", "--format", "json").stdout)
    assert data["error"] is None
    assert [model["target"] for model in data["models"]] == ["nets.py::Net", "nets.py::Other"]
    for model in data["models"]:
        total = model["counts"]["total"]
        assert sum(line["count"] for line in model["lines"]) + model["elsewhere"] == total
        assert sum(model["files"].values()) + model["unknown"] == total
        for line in model["lines"]:
            assert line["text"] == MODELS.splitlines()[line["line"] - 1]
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
