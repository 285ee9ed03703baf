"""What commands give to the models of config files: for LightningCLI, and for Hydra."""

from __future__ import annotations

import re

from test_configs import config_models

NET = (
    "from torch import nn\n"
    "class Net(nn.Module):\n"
    "    def __init__(self, d, out, depth=1): super().__init__()\n"
    "class Free(nn.Module):\n"
    "    def __init__(self, d=1): super().__init__()\n"
)
LIGHTNING = "model:\n  net:\n    class_path: zoo.net.{}\n    init_args: {{depth: 2}}\n"
COMMANDS = """
python main.py fit \\
 --config=conf/a.yaml \\ # of the network
 --config=conf/data/b.yaml \\
 --model.net.d=12 \\ # twice the channels
 --model.net.init_args.out 4 \\
 --model.net.ckpt_path=x.pt --model.lr=3 --data.d=7
python main.py fit -c conf/a.yaml --model.net.d=1 --model.net.out=2 --trainer.devices 4
python main.py fit -c conf/a.yaml --model.net.d=<D> --model.net.out=2
python main.py fit -c conf/free.yaml --model.net.d 5
python main.py test -c conf/free.yaml --model.net.lr 5
"""


def told(root, files):
    """(path, recipe, note, rank) of each model in the configs."""
    return [
        (evidence.way.position.path, evidence.recipe, evidence.way.words, evidence.rank)
        for _, evidence in config_models(root, {"zoo/__init__.py": "", "zoo/net.py": NET, **files})
    ]


def test_options_of_a_command_are_given_to_a_model_of_lightning_cli(tmp_path):
    files = {
        "main.py": "from lightning.pytorch.cli import LightningCLI\nLightningCLI()\n",
        "README.md": COMMANDS,
        "conf/a.yaml": LIGHTNING.format("Net"),
        "conf/free.yaml": LIGHTNING.format("Free"),
        "conf/other.yaml": LIGHTNING.format("Net"),
        "conf/further/away.yaml": LIGHTNING.format("Net"),
    }
    calls = [
        (
            path.removeprefix("conf/"),
            " ".join(re.findall(r"'--model\.(\S+)'", recipe.call)),
            note,
            rank,
        )
        for path, recipe, note, rank in told(tmp_path, files)
    ]
    assert sorted(calls) == [
        ("a.yaml", "d=1 out=2", "as in README.md:8", 1),
        ("a.yaml", "d=12 out=4", "as in README.md:2", 0),
        ("free.yaml", "", "", 0),
        ("free.yaml", "d=5", "as in README.md:10", 1),
        ("further/away.yaml", "", "", 0),
        ("other.yaml", "d=12 out=4", "d, out as in README.md:2 for conf/a.yaml", 0),
    ]


def test_a_class_that_lightning_cli_gets_has_its_arguments_in_the_config(tmp_path):
    """Unless another part gives one of them."""
    main = "from lightning.pytorch.cli import LightningCLI\nfrom zoo.net import Net\n"
    own = "class Tool(LightningCLI):\n    def add_arguments_to_parser(self, p): {}\nTool(Net)\n"
    config = "seed: 1\nmodel:\n  d: 3\n  out: 4\n"
    files = {
        "README.md": "python main.py fit -c conf/a.yaml --model.depth=2\n",
        "conf/a.yaml": config,
        "conf/part.yaml": "model:\n  d: 3\n",
    }
    mains = {
        main + own.format("pass"): True,
        f"{main}LightningCLI(model_class=Net)\n": True,
        main + own.format("p.link_arguments('data.depth', 'model.depth')"): False,
        f"{main}LightningCLI(Data)\n": False,
    }
    for text, is_known in mains.items():
        found = told(tmp_path, {"main.py": text, **files})
        assert [(path, note) for path, _, note, _ in found] == [
            ("conf/a.yaml", ""),
            ("conf/a.yaml", "as in README.md:1"),
        ][: 2 * is_known]
        for _, recipe, _, _ in found:
            assert "config = {'class_path': name, 'init_args': config}" in recipe.setup


LINKS = """
from lightning.pytorch.cli import LightningCLI

class Tool(LightningCLI):
    def add_arguments_to_parser(self, parser):
        parser.link_arguments("data.init_args.rows", "model.init_args.net.init_args.out")
        parser.link_arguments("data.init_args.size", "model.init_args.net.init_args.d")
        parser.link_arguments("data.init_args.size", "model.init_args.net.init_args.nothing")
        parser.link_arguments("data.init_args.size", "model.init_args.other.init_args.d")
        parser.link_arguments("trainer.steps", "model.init_args.depth", apply_on="instantiate")

Tool(subclass_mode_model=True)
"""
LINKED = """
model:
  class_path: zoo.net.Whole
  init_args:
    net:
      class_path: zoo.net.Net
      init_args: {depth: 2}
data:
  class_path: zoo.data.Rows
  init_args: {size: 7}
"""


def test_what_a_script_links_to_a_model_it_has(tmp_path):
    """From the file, or by the default of what the file names; where neither says it, there is no
    way."""
    whole = f"{NET}class Whole(nn.Module):\n    def __init__(self, net): super().__init__()\n"
    data = "class Rows:\n    def __init__(self, size, rows{}): pass\n"
    files = {"main.py": LINKS, "conf/a.yaml": LINKED, "zoo/net.py": whole}
    found = told(tmp_path, {**files, "zoo/data.py": data.format("=(3, 4)")})
    linked = [recipe.setup.rpartition("instantiate_classes\n")[2] for _, recipe, *_ in found]
    size = "yaml.safe_load('7')"
    assert linked == [
        "config['init_args']['net'].setdefault('init_args', {})['out'] = [3, 4]\n"
        f"config['init_args']['net'].setdefault('init_args', {{}})['d'] = {size}",
        f"config.setdefault('init_args', {{}})['out'] = [3, 4]\n"
        f"config.setdefault('init_args', {{}})['d'] = {size}",
    ]
    assert told(tmp_path, {**files, "zoo/data.py": data.format("")}) == []


def test_a_config_of_hydra_is_composed_as_each_command_says(tmp_path):
    """What only changes the run is none of them; a file that is named may choose another group;
    one command may sweep over values."""
    words = ["model=net model.d=3", "trainer.devices=2", "data={NAME} model.d=5", "exp=big net.d=4"]
    words.append("-m model=net model.d=1,2")
    files = {
        "train.py": "import hydra\n@hydra.main('conf', config_name='main')\ndef run(cfg): pass\n",
        "README.md": "".join(f"python train.py {word}\n" for word in words),
        "conf/main.yaml": "defaults:\n  - model: free\n  - exp: null\n",
        "conf/model/net.yaml": "_target_: zoo.net.Net\nd: 1\nout: 2\n",
        "conf/model/free.yaml": "_target_: zoo.net.Free\n",
        "conf/exp/big.yaml": "# @package _global_\ndefaults:\n  - override /model: net\n",
    }
    files["train.py"] = files["train.py"].replace("'conf'", "config_path='conf'")
    commanded = [way for way in told(tmp_path, files) if way[2].startswith("as in README")]
    found = [(recipe.setup.rpartition("compose(")[2], note) for _, recipe, note, _ in commanded]
    assert found == [
        ("'main', overrides=['model=net', 'model.d=3'])", "as in README.md:1"),
        ("'main', overrides=['exp=big', 'net.d=4'])", "as in README.md:4"),
        ("'main', overrides=['model=net', 'model.d=1'])", "as in README.md:5"),
        ("'main', overrides=['model=net', 'model.d=2'])", "as in README.md:5"),
    ]


def test_what_a_script_of_hydra_does_to_its_model_is_told(tmp_path):
    script = (
        "import hydra\nfrom hydra.utils import instantiate\n"
        "@hydra.main(config_path='conf')\ndef run(cfg):\n"
        "    net, cfg.other.d = instantiate(cfg.other), 3\n"
        "    net = instantiate(cfg.model)\n    net.fc = None\n"
    )
    config = "{}:\n  _target_: zoo.net.Net\n  d: 1\n  out: 2\n"
    text = config.format("model") + config.format("other")
    ways = told(tmp_path, {"train.py": script, "conf/config.yaml": text})
    assert [note for _, _, note, _ in ways] == ["before train.py:7 changes the model", ""]


def test_what_a_config_of_hydra_leaves_open_is_as_a_command_says(tmp_path):
    main = "import hydra\n@hydra.main(config_name='main.yaml')\ndef run(cfg): pass\n"
    defaults = (
        "defaults:\n  - model: ???\n  - data: ???\n  - tracker: ???\nwidth: ???\nrun_name: ???\n"
    )
    net = "_target_: zoo.net.Net\nd: ${width}\nout: 3\n"
    files = {
        "cli/train.py": main,
        "README.md": "python -m cli.train -cp conf/fit run_name=a model=small data=$D width=$W\n"
        "python -m cli.train --config-path=conf/fit run_name=b model=small data=web width=8\n",
        "cli/conf/fit/main.yaml": defaults,
        "cli/conf/fit/model/small.yaml": net,
        "cli/conf/fit/model/large.yaml": net,
        "cli/conf/fit/model/vit/huge.yaml": net,
    }
    ways = {path: (recipe.setup, note) for path, recipe, note, _ in told(tmp_path, files)}
    setup, note = ways["cli/conf/fit/model/large.yaml"]
    assert "initialize_config_dir(os.path.abspath('cli/conf/fit')" in setup
    words = "['model=large', 'data=web', '~tracker', 'width=8']"
    assert setup.endswith(f"config = compose('main', overrides={words})")
    assert note == "data=web as in README.md:2; width=8 as in README.md:2"
    setup, _ = ways["cli/conf/fit/model/vit/huge.yaml"]
    assert "overrides=['model=vit/huge', " in setup


def test_the_names_of_a_recipe_are_those_of_the_script_that_registers_resolvers(tmp_path):
    resolvers = (
        "from omegaconf import OmegaConf\n"
        "def register_resolvers(): OmegaConf.register_new_resolver('mul', lambda a, b: a * b)\n"
    )
    run = (
        "import hydra\nfrom zoo import resolvers\n"
        "@hydra.main(config_path='conf')\n"
        "def run(cfg):\n"
        "    OmegaConf.clear_resolvers()\n"
        "    resolvers.register_resolvers()\n"
    )
    files = {
        "zoo/resolvers.py": resolvers,
        "train.py": run,
        "other/train.py": "import hydra\n@hydra.main(config_path='conf')\ndef run(cfg): pass\n",
        "conf/a.yaml": "_target_: zoo.net.Free\nd: ${mul:2,3}\n",
        "other/conf/a.yaml": "_target_: zoo.net.Free\nd: ${oc.env:D}\n",
    }
    ways = {path: recipe for path, recipe, _, _ in told(tmp_path, files)}
    assert ways["conf/a.yaml"].file == "train.py"
    assert ways["conf/a.yaml"].setup.splitlines()[:4] == [
        "from hydra.utils import instantiate",
        "from contextlib import suppress",
        "with suppress(NameError, ValueError):",
        "    resolvers.register_resolvers()",
    ]
    assert ways["other/conf/a.yaml"].file == "zoo/net.py"
