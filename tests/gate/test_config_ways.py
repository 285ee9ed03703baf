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


def test_resolvers_that_a_project_registers_are_those_of_its_configs(tmp_path, nparam_lint):
    """At the top of the script, in what it imports, in a function of either."""
    resolvers = (
        "from omegaconf import OmegaConf\n\n"
        "def register(name):\n"
        "    return lambda f: OmegaConf.register_new_resolver(name, f) or f\n\n"
        "@register('mul')\ndef mul(a, b):\n    return a * b\n\n"
        "def register_resolvers():\n"
        "    for name, resolver in {'half': lambda a: a // 2}.items():\n"
        "        OmegaConf.register_new_resolver(name, resolver)\n"
    )
    train = (
        "import hydra\nfrom omegaconf import OmegaConf\nfrom nets import resolvers\n\n"
        "OmegaConf.register_new_resolver('eval', eval)\n\n"
        "@hydra.main(version_base=None, config_path='conf')\n"
        "def main(cfg):\n"
        "    from nets.resolvers import register_resolvers\n\n"
        "    width = cfg.width\n"
        "    register_resolvers()\n"
        "    OmegaConf.register_new_resolver('plus', lambda a: a + 1)\n"
        "    OmegaConf.register_new_resolver('width', width.get)\n"
        "    hydra.utils.instantiate(cfg.model)\n\n"
        "if __name__ == '__main__':\n    main()\n"
    )
    config = "_target_: nets.net.Net\nd: ${eval:'2+1'}\nh: ${mul:2,${plus:${half:9}}}\n"
    files = {
        "nets/__init__.py": "",
        "nets/net.py": NET,
        "nets/resolvers.py": resolvers,
        "train.py": train,
        "conf/net.yaml": config,
    }
    write_files(tmp_path, files)
    report = json.loads(nparam_lint("--format", "json", cwd=tmp_path).stdout)
    totals = {model["target"]: model["counts"]["total"] for model in report["models"]}
    assert (report["failed_ways"], totals) == ([], {"nets/net.py::Net": 3 * 10 + 10})
