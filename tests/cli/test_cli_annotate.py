"""`nparam-lint annotate` as a user meets it: what each line makes, in the margin of the source."""

from __future__ import annotations

import json
from functools import partial

import pytest
from markdown_it import MarkdownIt
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
ANNOTATED = """\
nets.py
Net(): 2,504 parameters
  parameters        share    line  source
────────────  ──  ───────  ──────  ─────────────────────────────────────────────
                                5  class Block(nn.Module):
                                6      def __init__(self, d):
                                7          super().__init__()
          48  3×    1.9 %       8          self.norm = nn.LayerNorm(d)
       1,656  3×   66.1 %       9          self.mlp = MLP(d)
                                …
                               15  class Net(nn.Module):
                               16      def __init__(self, d=8, depth=3):
                               17          super().__init__()
         400       16.0 %      18          self.words = nn.Embedding(50, d)
     (1,704)  3×               19          self.blocks = nn.ModuleList([Block(d…
                               20          # one word for each state, with a co…
         400       16.0 %      21          self.head = nn.Linear(d, 50, bias=Fa…

Made in other files; above, at the line that led there:
made in      parameters    share
─────────  ────────────  ───────
layers.py         1,656   66.1 %
"""


@pytest.fixture(scope="module")
def place(place):
    return write_files(place, {"layers.py": LAYERS, "plain.py": "width = 3\n"})


@pytest.fixture
def annotate(answered):
    return partial(answered, "annotate", COLUMNS="80")


def test_a_target_and_a_name_and_quiet(annotate):
    assert annotate("nets.py::Net").stdout == ANNOTATED
    assert annotate("Net", "-q").stdout == ANNOTATED.partition("\n\n")[0] + "\n"


def test_a_file_has_each_model_that_has_lines_of_its_own(annotate):
    done = annotate("nets.py").stdout
    assert done.startswith(ANNOTATED)
    assert done.endswith(
        """

nets.py
Other(): 6 parameters
  parameters    share    line  source
────────────  ───────  ──────  ───────────────────────────────────
                           24  class Other(nn.Module):
                           25      def __init__(self):
                           26          super().__init__()
           6  100.0 %      27          self.only = nn.Linear(2, 2)
"""
    )


def test_a_file_of_layers_as_the_models_of_the_project_build_them(annotate):
    assert (
        annotate("layers.py").stdout
        == """\
layers.py
Net(): 2,504 parameters
  parameters        share    line  source
────────────  ──  ───────  ──────  ───────────────────────────────────────
                                4  class MLP(nn.Module):
                                5      def __init__(self, d):
                                6          super().__init__()
         864  3×   34.5 %       7          self.up = nn.Linear(d, 4 * d)
         792  3×   31.6 %       8          self.down = nn.Linear(4 * d, d)
made without a line of this file: 848 (33.9 %)

Made in other files; above, at the line that led there:
made in      parameters    share
─────────  ────────────  ───────
nets.py             848   33.9 %
"""
    )


def test_a_class_inside_a_model(annotate):
    (model,) = json.loads(annotate("layers.py::MLP", "--format", "json").stdout)["models"]
    assert (model["target"], model["file"]) == ("layers.py::MLP", "layers.py")
    assert model["counts"]["total"] == 2504


def test_verbose_has_whole_files(annotate):
    done = annotate("Net", "-v").stdout.splitlines()
    text = MODELS.splitlines()
    numbers = [line[27:33].strip() for line in done[4 : 4 + len(text)]]
    assert numbers == [f"{number}" for number in range(1, len(text) + 1)]
    assert done[4 + len(text) - 1].endswith(text[-1])


def test_the_numbers_add_up(annotate):
    data = json.loads(annotate("nets.py", "--format", "json").stdout)
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


def test_the_json_of_show_has_the_lines_too(answered):
    model, *_ = json.loads(answered("show", "Net", "--format", "json").stdout)["models"]
    assert sum(line["own"] for line in model["lines"]) == model["counts"]["total"]
    assert {line["path"] for line in model["lines"]} == {"nets.py", "layers.py"}


def test_concise(annotate):
    assert annotate("Net", "--format", "concise").stdout.splitlines()[:2] == [
        "nets.py:8:1: 48 parameters (3×), 1.9 % of Net()",
        "nets.py:9:1: 1,656 parameters (3×), 66.1 % of Net()",
    ]


def test_markdown_keeps_the_source_as_it_is(annotate):
    text = annotate("Net", "--format", "markdown").stdout
    (fence,) = (token for token in MarkdownIt().parse(text) if token.type == "fence")
    assert "        self.words = nn.Embedding(50, d)\n" in fence.content


def test_html_keeps_the_source_as_it_is(annotate):
    text = annotate("Net", "--format", "html").stdout
    assert "         400       16.0 %      18          self.words = nn.Embedding(50, d)\n" in text
    assert "# one word for each state, with a comment that is too long for a terminal of 80" in text


def test_the_page_of_show_has_the_source_beside_the_picture(answered):
    text = answered("show", "nets.py::Net", "--format", "html").stdout
    page, source = text.split("Source, with what each line makes: <code>nets.py</code>")
    assert 'class="picture"' in page
    assert "         400       16.0 %      18          self.words = nn.Embedding(50, d)\n" in source


def test_what_cannot_be_built(annotate):
    assert "needs: width" in annotate("nets.py::Needs", code=1).stdout
    line = annotate("nets.py::Needs", "--format", "concise", code=1).stdout
    assert line.startswith("nets.py::Needs: not measured: ")


def test_a_file_without_models(annotate):
    done = annotate("plain.py", code=1)
    assert done.stdout == (
        "No line of plain.py makes a parameter of a model that could be built.\n"
        "next: nparam-lint plain.py\n"
    )


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("gone.py", "there is no file or directory gone.py"),
        (".", ". is a directory, expected a file or a target\nnext: nparam-lint . lists"),
        ("nparam-lint.toml", "nparam-lint.toml is not a Python file"),
        ("nets.py::Net[blocks]", "is not a target"),
        ("Nett", "no model of this project is called Nett; did you mean nets.py::Net?"),
    ],
)
def test_what_is_not_there(annotate, what, said):
    assert said in annotate(what, code=2).stderr


def test_lines_of_a_package(annotate):
    """A model of an installed package is annotated there; that of torch has no line."""
    done = annotate("torch.nn::Linear(2, 3)")
    assert "is known to make a parameter" in done.stdout
