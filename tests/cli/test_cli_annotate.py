"""`nparam-lint annotate` as a user meets it: what each line makes, in the margin of the source."""

from __future__ import annotations

import json
import shlex

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
# What is asked, and the exit code.
COMMANDS = {
    "nets.py::Net --quiet": 0,
    "nets.py": 0,  # each model that has lines of its own
    "layers.py": 0,  # as the models of the project build them
    "Net --verbose": 0,  # whole files
    "Net --format concise": 0,
    "Net --format markdown": 0,
    "nets.py::Needs": 1,
    "nets.py::Needs --format concise": 1,
    "plain.py": 1,
    "'torch.nn::Linear(2, 3)'": 0,  # which has no line of its own
}
NOTHING = {
    "gone.py": "there is no file or directory gone.py",
    ".": ". is a directory, expected a file or a target\nnext: nparam-lint . lists",
    "nparam-lint.toml": "nparam-lint.toml is not a Python file",
    "nets.py::Net[blocks]": "is not a target",
    "Nett": "no model of this project is called Nett; did you mean nets.py::Net?",
}


@pytest.fixture(scope="module")
def place(place):
    return write_files(place, {"layers.py": LAYERS, "plain.py": "width = 3\n"})


def test_what_is_said(answered, expected):
    expected(
        {
            f"annotate {words}": answered(
                "annotate", *shlex.split(words), code=code, COLUMNS="80"
            ).stdout
            for words, code in COMMANDS.items()
        }
    )


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


@pytest.mark.parametrize("what", NOTHING)
def test_what_is_not_there(answered, what):
    assert NOTHING[what] in answered("annotate", what, code=2).stderr
