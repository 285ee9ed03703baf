"""Models that are named by their name alone, and files that are named though they are tests."""

import json

import pytest
from sample_files import write_files

GPT = """\
from torch import nn


class Block(nn.Linear):
    def __init__(self, width):
        super().__init__(width, width)


class GPT(nn.Module):
    def __init__(self, width, layers=2):
        super().__init__()
        self.h = nn.ModuleList(Block(width) for _ in range(layers))
"""
NET = "from torch import nn\n\nclass Net(nn.Linear):\n    def __init__(self, n=3):\n"
NET += "        super().__init__(n, n)\n"
FILES = {
    "nets/gpt.py": GPT,
    "nets/old.py": NET,
    "nets/new.py": NET,
    "train.py": "from nets.gpt import GPT\n\nmodel = GPT(width=8)\nlarge = GPT(16, layers=4)\n",
    "tests/fixtures/fakes.py": NET.replace("Net", "Fake"),
    "nparam-lint.toml": 'device = "meta"\n',
}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return write_files(tmp_path_factory.mktemp("project"), FILES)


def test_a_model_is_shown_by_its_name_as_the_project_builds_it(nparam_lint, project):
    done = nparam_lint("show", "GPT", cwd=project, COLUMNS="80")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(
        """\
nets/gpt.py::GPT
  call         GPT(width=8)
  as built in  train.py:3
  defined      nets/gpt.py:9
"""
    )
    assert "As the project also builds it:\n  1,088  train.py:4\n" in done.stdout
    done = nparam_lint("show", "GPT(4)", "--format", "json", cwd=project / "nets")
    [model] = [one for one in json.loads(done.stdout)["models"] if not one.get("inside")]
    assert (model["target"], model["counts"]["total"]) == ("nets/gpt.py::GPT(4)", 40)


def test_every_command_knows_a_model_by_its_name(nparam_lint, project):
    done = nparam_lint("compare", "GPT(4)", "Block(3)", "--format", "json", cwd=project)
    assert done.returncode == 0
    assert [one["target"] for one in json.loads(done.stdout)["models"]] == [
        "nets/gpt.py::GPT(4)",
        "nets/gpt.py::Block(3)",
    ]
    done = nparam_lint("formula", "Block(3)[trainable]", cwd=project)
    assert "width*(width + 1)" in done.stdout


def test_test_files_are_left_out_in_words_and_read_where_they_are_named(nparam_lint, project):
    done = nparam_lint(cwd=project)
    assert "left out: 1 test file with models (name it to read it)\n" in done.stdout
    assert "Fake" not in done.stdout
    for path in ("tests/fixtures", "tests", "tests/fixtures/fakes.py"):
        done = nparam_lint(path, cwd=project)
        assert "  – Fake  12  with its defaults\n" in done.stdout
        assert "left out" not in done.stdout


def test_what_is_to_be_filled_in_has_the_value_that_calls_give_most_often(nparam_lint, tmp_path):
    calls = "from net import Net\nfrom wide import Wide\n\nNet(n=4)\nNet(n=8)\nWide(n=8)\n"
    wide, other = (NET.replace("Net", name) for name in ("Wide", "Other"))
    other = other.replace("n=3", "n")
    files = {"net.py": NET, "wide.py": wide, "train.py": calls, "other.py": other}
    write_files(tmp_path, files)
    done = nparam_lint("--device", "meta", cwd=tmp_path)
    assert '"other.py::Other" = "n=8"' in done.stdout


def test_a_size_that_a_config_leaves_to_be_set_is_to_be_filled_in(nparam_lint, tmp_path):
    config = "from dataclasses import dataclass\n@dataclass\nclass Args:\n    n: int = -1\n"
    net = NET.replace("n=3", "args: Args").replace("(n, n)", "(4, args.n)")
    write_files(tmp_path, {"net.py": config + net})
    done = nparam_lint("--device", "meta", cwd=tmp_path)
    assert '"net.py::Net" = "args=Args(n=…)"' in done.stdout
