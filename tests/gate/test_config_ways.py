"""Config files of known kinds: each builds its model as the project's own library does."""

from __future__ import annotations

import json
import re

import pytest
from sample_files import write_files

NET = """from torch import nn


class Net(nn.Module):
    def __init__(self, d, h, ckpt_path=None):
        super().__init__()
        self.a = nn.Linear(d, h)
        if ckpt_path:
            open(ckpt_path)


class Around(nn.Module):
    def __init__(self, inner: nn.Module, scale: int):
        super().__init__()
        self.inner, self.last = inner, nn.Linear(scale, 1)
"""
BUILD = """import importlib


def instantiate_from_config(config):
    module, name = config["target"].rsplit(".", 1)
    made = getattr(importlib.import_module(module), name)
    return made(**config.get("params", {}))
"""
TRAIN = """import hydra


@hydra.main(version_base=None, config_path="../conf", config_name="train")
def main(cfg):
    hydra.utils.instantiate(cfg.model)
"""
FILES = {
    "nets/__init__.py": "",
    "nets/net.py": NET,
    "nets/build.py": BUILD,
    "scripts/train.py": TRAIN,
    # Hydra: composed where a file refers to another one.
    "conf/train.yaml": "defaults:\n  - model: small\n  - _self_\nwidth: 3\n",
    "conf/model/small.yaml": "# A small one.\n_target_: nets.net.Net\nd: 4\nh: ${width}\n",
    "conf/model/around.yaml": (
        "_target_: nets.net.Around\nscale: 2\ninner:\n  _target_: nets.net.Net\n  d: 5\n  h: 1\n"
    ),
    "conf/wide/all.yaml": (
        "# @package _global_\ndefaults:\n  - override /model: around\nmodel:\n  scale: 7\n"
    ),
    "conf/model/torn.yaml": "_target_: nets.net.Net\nd: [4\nh: 3\n",
    "conf/model/lost.yaml": "_target_: nets.net.Net\nd: ${no.such.key}\nh: 3\n",
    "conf/model/more.yaml": "defaults:\n  - absent\n_target_: nets.net.Net\nd: 4\nh: 3\n",
    # latent-diffusion's notation, with weights that are not there.
    "latent/a.yaml": (
        "model:\n"
        "  target: nets.net.Net  # nparam: 30\n"
        "  params:\n"
        "    ckpt_path: weights/last.ckpt\n"
        "    d: 4\n"
        "    h: 6\n"
        "data:\n"
        "  target: nets.data.Data\n"
    ),
    "latent/b.json": '{"model": {"target": "nets.net.Net",\n "params": {"d": 1, "h": 1}}}\n',
    # LightningCLI
    "cli/fit.yaml": (
        "trainer:\n"
        "  max_epochs: 3\n"
        "model:\n"
        "  class_path: nets.net.Around\n"
        "  init_args:\n"
        "    scale: 6  # nparam: 24\n"
        "    inner:\n"
        "      class_path: nets.net.Net\n"
        "      init_args: {d: 7, h: 2}\n"
    ),
    # BasicSR: the arguments stand beside the type; the discriminator is not the model.
    "options/test_net.yml": "network_g:\n  type: Net\n  d: 6\n  h: 3\n",
    "options/train_net.yml": (
        "network_g:\n  type: Net\n  d: 6\n  h: 3\nnetwork_d:\n  type: Net\n  d: 1\n  h: 1\n"
        "train:\n  optim_g:\n    type: Adam\n"
    ),
    # torchtune
    "recipe.yaml": "model:\n  _component_: nets.net.Net\n  d: 6\n  h: 4\nepochs: 3\n",
    # A library that is not installed, and what no known kind is.
    "hub/config.json": '{\n  "architectures": ["BertModel"],\n  "model_type": "bert"\n}\n',
    "two.yaml": "# nparam: 9\na: {_target_: nets.net.Net}\nb: {_target_: nets.net.Net}\n",
    "other.yaml": "a: 3\ntarget: production\n",
    "nparam-lint.toml": 'device = "meta"\nways = 20\n[budgets]\n"hub/config.json" = 3\n',
}


@pytest.fixture
def place(tmp_path):
    return write_files(tmp_path / "configs", FILES)


# A file that builds nothing costs itself only; budgets in files of a known kind need no recipe; and
# one without a budget can be shown.
COMMANDS = """
check -v --depth 0
show conf/model/small.yaml --depth 0
"""


def test_each_file_is_a_way_to_build_what_it_names(transcript, expected):
    said = transcript(COMMANDS, columns=500).items()
    words = "(a flow sequence|Could not load 'model/absent'|raised InstantiationException).*"
    expected({name: re.sub(words, r"\1", text) for name, text in said})


@pytest.mark.thorough
def test_init_writes_the_count_where_the_class_is_named(nparam_lint, place):
    done = nparam_lint("init", cwd=place)
    changed = {n for n, text in FILES.items() if (place / n).read_text() != text}
    small, around = "conf/model/small.yaml", "conf/model/around.yaml"
    others = {"conf/train.yaml", "conf/wide/all.yaml", "options/train_net.yml", "recipe.yaml"}
    assert changed == {small, around, *others, "nparam-lint.toml"}, done.stdout + done.stderr
    before, after = FILES[small], (place / small).read_text()
    assert after == before.replace("nets.net.Net\n", "nets.net.Net  # nparam: 15\n")
    before, after = FILES[around], (place / around).read_text()
    assert after == before.replace("nets.net.Around\n", "nets.net.Around  # nparam: 9\n")
    after = (place / "conf/wide/all.yaml").read_text()
    assert "\nmodel:  # nparam: 14\n  scale: 7\n" in after
    config = (place / "nparam-lint.toml").read_text()
    assert config == FILES["nparam-lint.toml"] + '"latent/b.json" = 2\n'


def test_a_project_that_initialises_hydra_itself(tmp_path, nparam_lint):
    """Hydra can be initialised once only; the project still has what it initialised afterwards."""
    own = "from hydra import compose, initialize_config_module\n\n"
    own += "initialize_config_module('nets', version_base=None)\n"
    factory = "\n\ndef wide():\n    return Net(compose('wide').d, 2)\n"
    files = {
        "nets/__init__.py": own,
        "nets/net.py": "from hydra import compose\n" + NET + factory,
        "nets/wide.yaml": "d: 9\n",
        "train.py": TRAIN.replace("../conf", "conf"),
        "conf/train.yaml": "defaults:\n  - model: small\nwidth: 3\n",
        "conf/model/small.yaml": "_target_: nets.net.Net\nd: 4\nh: ${width}\n",
    }
    write_files(tmp_path, files)
    report = json.loads(nparam_lint("--format", "json", cwd=tmp_path).stdout)
    totals = {model["target"]: model["counts"]["total"] for model in report["models"]}
    assert report["failed_ways"] == []
    assert totals == {"nets/net.py::Net": 4 * 3 + 3, "nets/net.py::wide": 9 * 2 + 2}
