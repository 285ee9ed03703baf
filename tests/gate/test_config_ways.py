"""A project that uses Hydra as we do; config files of known kinds are on pages/config_kinds.md."""

from __future__ import annotations

import json

from sample_files import write_files

NET = """from torch import nn


class Net(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.a = nn.Linear(d, h)
"""
TRAIN = """import hydra


@hydra.main(version_base=None, config_path="conf", config_name="train")
def main(cfg):
    hydra.utils.instantiate(cfg.model)
"""


def test_a_project_that_initialises_hydra_itself(tmp_path, nparam_lint):
    """Hydra can be initialised once only; the project still has what it initialised afterwards."""
    own = "from hydra import compose, initialize_config_module\n\n"
    own += "initialize_config_module('nets', version_base=None)\n"
    factory = "\n\ndef wide():\n    return Net(compose('wide').d, 2)\n"
    files = {
        "nets/__init__.py": own,
        "nets/net.py": "from hydra import compose\n" + NET + factory,
        "nets/wide.yaml": "d: 9\n",
        "train.py": TRAIN,
        "conf/train.yaml": "defaults:\n  - model: small\nwidth: 3\n",
        "conf/model/small.yaml": "_target_: nets.net.Net\nd: 4\nh: ${width}\n",
    }
    write_files(tmp_path, files)
    report = json.loads(nparam_lint("--format", "json", cwd=tmp_path).stdout)
    totals = {model["target"]: model["counts"]["total"] for model in report["models"]}
    assert report["failed_ways"] == []
    assert totals == {"nets/net.py::Net": 4 * 3 + 3, "nets/net.py::wide": 9 * 2 + 2}
