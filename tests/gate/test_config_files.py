"""Config files as targets: recipes for families of them, budgets in their comments."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_files import write_files

from nparam_lint.discover.claims.comment_budgets import parse_comments

TRAIN = """import json
import tomllib

from torch import nn


class Net(nn.Module):
    def __init__(self, d, h=4, bias=True):
        super().__init__()
        self.a = nn.Linear(d, h, bias=bias)


class Other(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.a = nn.Linear(c["d"], c["h"])


def load(path):
    lines = (line.split("#")[0] for line in open(path))
    return {k.strip(): int(v) for k, v in (line.split(":") for line in lines if ":" in line)}


def build_model(config):
    return Net(**config)
"""
CONFIG = """device = "meta"
[arguments]
"configs/*.yaml" = { call = "train.py::build_model(load(path))" }
"tables/**/*.json" = { setup = "table = json.load(open(path))", call = "train.py::Net(**table)" }
"special/one.toml" = { call = "train.py::Net(**tomllib.load(open(path, 'rb')))" }
"python/*.py" = { call = "train.py::Net(**config)", setup = "from python.a import config" }
"absent/*.yaml" = { call = "train.py::Net(1)" }
"*.py::Oth*" = { setup = "c = dict(d=2, h=3)", arguments = "c" }
[budgets]
"tables/deep/x.json" = 30
"tables/deep/y.json[trainable]" = "7"
"train.py::Other" = 9
"nowhere/z.json" = 9
"""
FILES = {
    "train.py": TRAIN,
    "nparam-lint.toml": CONFIG,
    "configs/right.yaml": "# A small one.\n# nparam: 20\nd: 4  # it's so\nh: 4\n",
    "configs/wrong.yaml": "d: 4\r\nh: 5   # NParam [trainable] : 26\r\n",
    "configs/block.yaml": "# nparam:\n#   20\n#   bytes: 80\nd: 4\n",
    "configs/silent.yaml": "d: 4\nh: 6\n",
    "configs/ignored.yaml": "# nparam: 21  # nparam: ignore[NPL001]\nd: 4\n",
    "configs/unclear.yaml": "# It has nparam: 20 of them.\nd: 4\n# nparam(d=3): 20\n",
    "configs/broken.yaml": "# nparam: 20\nd: four\n",
    "tables/deep/x.json": '{"d": 4, "h": 6}',
    "tables/deep/y.json": '{"d": 4, "h": 2}',
    "special/one.toml": "# nparam: 8\nd = 1\n",
    "python/a.py": "# nparam: 16\nconfig = dict(d=3)\n",
    "python/__init__.py": "",
    "workflow.yaml": "on: push\n# nparam: 12\n",
    "text.yaml": 'a: "x # nparam: 12"\nnparam: 7\n',
}


@pytest.fixture
def place(tmp_path):
    return write_files(tmp_path / "families", FILES)


def test_each_file_of_a_family_is_a_model_and_findings_stand_where_the_numbers_are(
    transcript, expected
):
    expected(transcript("check -v\ncheck --format concise", columns=100))


def test_update_changes_the_number_alone(nparam_lint, place):
    done = nparam_lint("update", "configs/wrong.yaml", cwd=place)
    assert "26 → 25" in done.stdout, done.stdout + done.stderr
    text = (place / "configs/wrong.yaml").read_bytes()
    assert text == b"d: 4\r\nh: 5   # NParam [trainable] : 25\r\n"


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ('"configs/*.yaml" = "d=3"', "a pattern of config files needs a call"),
        ('"configs/a.yaml" = { arguments = "3" }', "a config file needs a call"),
        ('"configs/*.yaml" = { call = "build(path)" }', "expected FILE.py::CALL"),
        ('"configs/*.yaml" = { call = "gone.py::build(path)" }', "there is no file gone.py"),
        ('"net.py::Net" = { call = "train.py::build(3)" }', "which is for config files alone"),
        ('"configs/*.yaml" = { call = "train.py::build(" }', "which is not valid Python"),
    ],
)
def test_a_wrong_recipe_says_what_is_wrong(nparam_lint, tmp_path, entry, said):
    write_files(tmp_path, {"train.py": "", "nparam-lint.toml": f"[arguments]\n{entry}\n"})
    done = nparam_lint(cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert "nparam-lint.toml:2:" in done.stderr


@given(
    st.lists(st.sampled_from(["a: 1", "b: 'x#y'", 'c: "# nparam: 3"', "d: it's", "#", ""])),
    st.sampled_from(["", "  ", "key: value  ", "it's: x  "]),
)
def test_a_comment_is_found_wherever_it_stands(lines, before):
    text = "\n".join([*lines, f"{before}# nparam: 124M"])
    declared, _ = parse_comments("a.yaml", text)
    assert [(d.value.text, d.line) for d in declared] == [("124M", len(lines) + 1)]
