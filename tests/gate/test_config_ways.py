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


def test_what_a_script_changes_in_its_config_belongs_to_the_way(tmp_path, nparam_lint):
    """As far as the config alone says it."""
    edits = (
        "    from omegaconf import open_dict\n"
        "    with open_dict(cfg):\n"
        "        cfg.model.d = cfg.model.d * cfg.width\n"
        "    cfg['model']['h'] = {}\n"
        "    cfg.seed = 3\n"
    )
    for number, value in enumerate(("cfg.width", "len(load_classes())")):
        train = TRAIN.replace("    hydra", edits.format(value) + "    hydra")
        files = {
            "net.py": NET,
            "train.py": train,
            "conf/train.yaml": "width: 3\nmodel:\n  _target_: net.Net\n  d: 4\n  h: 5\n",
            "conf/model/wide.yaml": "_target_: net.Net\nd: 7\nh: 2\n",
        }
        root = tmp_path / str(number)
        write_files(root, files)
        report = json.loads(nparam_lint("--format", "json", cwd=root).stdout)
        ways = {(m["counts"]["total"], m["way"].get("note")) for m in report["models"]}
        assert report["failed_ways"] == []
        told = "before train.py:9 changes the model"
        if number == 0:
            assert (4 * 3 * 3 + 3, None) in ways
            assert (7 * 2 + 2, "before train.py:8 changes the model") in ways
        else:
            assert (4 * 3 * 5 + 5, told) in ways
