"""Which keys stand where in config files, and which of them describe a model."""

from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from nparam_lint.discover import discover
from nparam_lint.discover.files import list_configs, list_texts, reader
from nparam_lint.evidence import EvidenceQuery
from nparam_lint.evidence.config_files import ConfigFiles
from nparam_lint.evidence.configs import ConfigModels
from nparam_lint.evidence.layer_lists import layer_lists
from nparam_lint.ground.config_outline import outline
from nparam_lint.ground.notation import Target

words = st.text("abz_ .-#':{", min_size=1, max_size=5).filter(lambda text: text.strip() == text)
values = st.one_of(st.integers(0, 9), words)
data = st.recursive(
    st.dictionaries(words, values, min_size=1, max_size=3),
    lambda inner: st.dictionaries(
        words, st.one_of(inner, st.lists(st.one_of(inner, values), min_size=1, max_size=3))
    ),
    max_leaves=8,
)


def keys_of(value, above=()):
    if not isinstance(value, (dict, list)):
        return
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(value, dict):
            yield (*above, key)
        yield from keys_of(inner, (*above, key))


@pytest.mark.thorough
@given(data, st.sampled_from([2, 4]))
def test_the_outline_of_yaml_is_what_yaml_reads(value, indent):
    text = yaml.safe_dump(value, default_flow_style=False, sort_keys=False, indent=indent)
    found = outline("a.yaml", text)
    assert [entry.keys for entry in found] == list(keys_of(value))
    lines = text.splitlines()
    assert all(str(entry.keys[-1]).strip("'")[:1] in lines[entry.line - 1] for entry in found)


@pytest.mark.thorough
@given(data)
def test_the_outline_of_json_has_every_key(value):
    found = outline("a.json", json.dumps(value, indent=1))
    assert [e.keys for e in found if isinstance(e.keys[-1], str)] == list(keys_of(value))
    lines = json.dumps(value, indent=1).splitlines()
    named = (entry for entry in found if isinstance(entry.keys[-1], str))
    assert all(json.dumps(entry.keys[-1]) in lines[entry.line - 1] for entry in named)


def test_lines_that_are_not_yaml_say_nothing():
    text = "a: |\n  b: 1\n\n  c: 2\nd: [1,\n  2]\ne: {f: 1, g: x}  # h: 2\n? i\n: j\n- k\n\tl: 3\n"
    found = {entry.keys: (entry.line, entry.value) for entry in outline("a.yaml", text)}
    known = {("a",): (1, ""), ("d",): (5, "[1,"), ("e",): (7, "")}
    known |= {("e", "f"): (7, "1"), ("e", "g"): (7, "x")}
    assert {keys: found[keys] for keys in known} == known


def test_a_mapping_in_brackets_may_go_over_lines():
    text = (
        "model : {\n  NAME: Net,  # a {\n  sizes: [1,\n   {x: 3}],\n"
        "  inner: {k: 'v, w', \"q\": 3 },\n}\nlr: 1\n"
    )
    assert [("/".join(map(str, e.keys)), e.line, e.value) for e in outline("a.yaml", text)] == [
        ("model", 1, ""),
        ("model/NAME", 2, "Net"),
        ("model/sizes", 3, ""),
        ("model/inner", 5, ""),
        ("model/inner/k", 5, "v, w"),
        ("model/inner/q", 5, "3"),
        ("lr", 7, "1"),
    ]


NET = "from torch import nn\nclass {}(nn.Module):\n    def __init__(self, d): super().__init__()\n"
SCRIPT = """import argparse, yaml
from zoo.data import read_data
from zoo.net import build
def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("-c", "--config", default="runs/a.yaml")
    return parser.parse_args()
if __name__ == "__main__":
    args = options()
    with open(args.config) as file:
        config = yaml.safe_load(file)
    config["model"]["lr"] = 3
    rows = read_data(config)
    net = build(**config["model"])
"""
FIT = """import argparse, json
from zoo import net as nets
def fit(rank, h):
    net = getattr(nets, h["name"])(h["d"]).to("cpu")
if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default="")
    args = parser.parse_args()
    with open(args.config) as file:
        data = file.read()
    fit(0, json.loads(data))
"""
OPTIONS = """import argparse, yaml
from zoo.net import Net
parser = argparse.ArgumentParser()
parser.add_argument("--cfg", default="")
parser.add_argument("--rank", default=0)
opt = parser.parse_args()
opt.rank = ask()
opt.world_size = 2
with open(opt.cfg) as file:
    sizes = yaml.safe_load(file)
net = Net(sizes["d"] * opt.world_size)
"""
EVALUATED = """import argparse, os
from zoo import net
from zoo.config import config, update
def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cfg", required=True)
    args = parser.parse_args()
    update(config, args)
    return args
if __name__ == "__main__":
    args = options()
    model_file = os.path.join("runs", "model.pt")
    model = eval("net." + config.NAME + ".get_it")(config)
"""
FILES = {
    "evaluated.py": EVALUATED,
    "evaluated.md": "python evaluated.py --cfg wide/a.yaml\n",
    "wide/a.yaml": "NAME: net\n",
    "zoo/wide.py": NET.format("Wide") + "def get_it(c): return Wide(c.d)\n",
    "zoo/wider.py": NET.format("Wider") + "def get_it(c): return Wider(c.d)\n",
    "bound.py": "import argbind\nfrom zoo.net import Net\nNet = argbind.bind(Net)\n",
    "bound/a.yml": "Net.d: 3\nAdam.lr: 0.1\n",
    "zoo/__init__.py": "",
    "zoo/net.py": NET.format("Net") + "def build(d):\n    return Net(d or config.d)\n",
    "zoo/data.py": "def read_data(c):\n    rows, c.d = open('a'), 3\n    return rows\n",
    "zoo/registry.py": "from mmengine import Registry\nMODELS = Registry('model')\n",
    "train.py": SCRIPT,
    "runs/a.yaml": "model:\n  d: 3\n",
    "runs/b.yaml": "model:\n  d: 4\n",
    "runs/data.yaml": "path: a\n",
    "fit.py": FIT,
    "README.md": "    python fit.py --config fit_1.json\n",
    "fit_1.json": '{"d": 3,\n"name": "Net"}',  # the class that the call looks up
    "fit_2.json": '{"d": 4,\n"name": "Net"}',
    "sizes/b.yaml": "d: 3\n",
    "sizes/a.yaml": "d: 4\n",
    "sizes.py": OPTIONS,
    "sizes.md": "python sizes.py --data coco.yaml --cfg sizes/b.yaml\n",
    "coco.yaml": "names: 4\n",
    "package.json": '{"d": "a", "name": "b"}',
    "configs/_base_/net.py": "model = dict(type='Net', d=3)\n",
    "configs/large.py": "_base_ = ['./_base_/net.py']\nlr = 3\nmodel = dict(d=5)\n",
    "configs/same.py": "lr = 3\n_base_ = './_base_/net.py'\n",
    "configs/schedule.py": "lr = 3\n_base_ = './_base_/lr.py'\n",
    "hub/net.json": '{\n "model": {\n  "_target_": "zoo.net.Net",\n  "d": 3}}\n',
    "hub/latent.yaml": "model:\n  target: zoo.net.Net\n  params: {d: 3}\n",
    "hub/optimizer.yaml": "_target_: torch.optim.Adam\nloss: {_target_: zoo.gone.Loss}\n",
    "hub/resnet.yaml": "net:\n  _target_: torchvision.models.resnet18\n",
    "hub/binary.yaml": b"_target_: zoo.net.Net\xff",
}


def config_models(root, files):
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    found = discover(root, [name for name in files if name.endswith(".py")])
    paths = [*list_configs(root, (), None, None), *list_texts(root, (), None)]
    return ConfigModels(EvidenceQuery(found, (), paths, reader(root)))


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    made = config_models(tmp_path_factory.mktemp("configs"), FILES)
    return {evidence.way.position.path: evidence for _, evidence in made}


SECTIONS = """from torch import nn
class Wide(nn.Module):
    def __init__(self, width, depth, heads, rate=0.1): super().__init__()
class Same(nn.Module):
    def __init__(self, rows, lines, size): super().__init__()
class Alike(Same):
    def __init__(self, rows, lines, size): super().__init__()
class Open(nn.Module):
    def __init__(self, a, b, c, **options): super().__init__()
class Plain(nn.Module):
    def __init__(self, width=1): super().__init__()
def small(width): return Wide(width, 1, 1)
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("lr: 3\nmodel:\n  width: 4\n  depth: 3\n  heads: 2\n", "2 Wide"),
        ("net: {width: 4, depth: 3, heads: 2, rate: 0.5}\n", "1 Wide"),
        ("a:\n  encoder:  # of texts\n    width: 4\n    depth: 3\n    heads: 2\n", "2 Wide"),
        # Less or more than it needs, another section, a value from elsewhere, one of two, anything.
        ("model:\n  width: 4\n  depth: 3\n", ""),
        ("model:\n  width: 4\n  depth: 3\n  heads: 2\n  lr: 1\n", ""),
        ("train:\n  width: 4\n  depth: 3\n  heads: 2\n", ""),
        ("model:\n  width: 4\n  depth: ${layers}\n  heads: 2\n", ""),
        ("model:\n  rows: 4\n  lines: 3\n  size: 2\n", ""),
        ("model:\n  a: 4\n  b: 3\n  c: 2\n", ""),
        # Its name stands beside.
        ("model: Same\nmodel_args:\n  rows: 4\n  lines: 3\n  size: 2\n", "2 Same"),
        ("model: small\nmodel_conf: {width: 4}\n", "2 small"),
        ("model: Plain\nmodel_conf: {width: 4}\n", "2 Plain"),
        ("model: nets.Plain\nmodel_args: {width: 4}\n", "2 Plain"),
        ("model: other.Plain\nmodel_args: {width: 4}\n", ""),
        ("model: Open\nmodel_args: {a: 4, b: 3, c: 2, d: 1}\n", "2 Open"),
        ("model_conf: {width: 4}\n", ""),
    ],
)
def test_a_section_that_gives_a_model_all_that_it_needs(tmp_path, text, expected):
    made = [*config_models(tmp_path, {"nets.py": SECTIONS, "a.yaml": text})]
    told = [f"{way.way.position.line} {way.target.callable}" for _, way in made]
    assert told == [expected] * bool(expected)
    assert all(way.recipe.call == f"{way.target.callable}(**config)" for _, way in made)


READER = """
import argparse, yaml
import nets
def find(name):
    return getattr(nets, name)
if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--config")
    given = parser.parse_args()
    arg = argparse.Namespace(**yaml.safe_load(open(given.config)))
    Model = find(arg.model)
    model = Model(**arg.model_args)
"""


def test_sections_of_files_that_name_one_class(tmp_path):
    files = {f"{n}.yaml": f"model: Plain\nmodel_args: {{width: {n}}}\n" for n in (2, 3)}
    made = config_models(tmp_path, {"nets.py": SECTIONS, "main.py": READER, **files})
    assert [way.way.position.path for _, way in made] == ["2.yaml", "3.yaml"]
    dotted = {name: text.replace("Plain", "nets.Plain") for name, text in files.items()}
    unknown = READER.replace("Model(**arg.model_args)", "Model(arg.model, vars(arg))")
    for main in (READER, unknown):
        made = config_models(tmp_path, {"nets.py": SECTIONS, "main.py": main, **dotted})
        assert {way.way.position.path for _, way in made} == {"2.yaml", "3.yaml"}


def test_a_flag_says_that_an_option_is_a_config(tmp_path):
    reader = READER.replace('"--config"', '"-c", "--config", dest="path"').replace(
        ".config", ".path"
    )
    made = config_models(
        tmp_path,
        {
            "nets.py": SECTIONS,
            "main.py": reader,
            "a.yaml": "model: Plain\nmodel_args: {width: 2}\n",
        },
    )
    assert [way.recipe.call for _, way in made] == ["Model(**arg.model_args)"]


@pytest.mark.parametrize(
    ("change", "setup", "call", "note"),
    [
        ("print(model)", "", "Plain(arg.width)", ""),
        (
            "model.fc = nn.Tanh()",
            "def with_changes(model):\n    model.fc = nn.Tanh()\n    return model",
            "with_changes(Plain(arg.width))",
            "as main.py:{} changes the model",
        ),
        ("model.fc = make(load())", "", "Plain(arg.width)", ""),
        (
            "model.fc = nn.Linear(3, load())",
            "",
            "Plain(arg.width)",
            "before main.py:{} changes the model",
        ),
    ],
)
def test_what_a_script_does_to_the_model_of_a_config_later(tmp_path, change, setup, call, note):
    """And the parts of another model in the script are none of their own."""
    part = (
        "class Whole(nn.Module):\n    def __init__(self, arg):\n        self.a = Plain(arg.width)\n"
    )
    script = (
        "import argparse\nfrom torch import nn\nfrom zoo.net import Plain\n"
        "from read import read\n"
        f"{part}parser = argparse.ArgumentParser()\n"
        "parser.add_argument('--config')\narg = read(parser.parse_args().config)\n"
        f"model = Plain(arg.width)\n{change}\n"
    )
    files = {
        "main.py": script,
        "read.py": "def read(path): return open(path)\n",
        "zoo/net.py": NET.format("Plain"),
        "a.yaml": "width: 2\n",
        "README.md": "python main.py --config a.yaml\n",
    }
    ((_, way),) = config_models(tmp_path, files)
    assert way.recipe.call == call
    assert way.recipe.setup.endswith(setup)
    line = script[: script.index(change)].count("\n") + 1
    assert way.way.words == note.format(line)


def test_of_several_classes_of_one_name_it_is_the_one_beside_the_config(tmp_path):
    files = {}
    for part in ("one", "two"):
        files |= {
            f"{part}/net.py": "@register\n" + NET.format("Net").partition("\n")[2],
            f"{part}/config.py": "class YAMLConfig: pass\n",
            f"{part}/a.yml": "__include__: ['b.yml']\n",
            f"{part}/b.yml": "model: Net\n",
        }
        files[f"{part}/net.py"] = "from torch import nn\n" + files[f"{part}/net.py"]
    made = config_models(tmp_path, files)
    found = [(str(way.target), way.way.position.path, way.recipe.file) for _, way in made]
    assert found == [
        (f"{part}/net.py::Net", f"{part}/a.yml", f"{part}/config.py") for part in ("one", "two")
    ]


def test_a_class_may_stand_in_the_file_that_another_is_based_on(tmp_path):
    files = {
        "base.yaml": "model: Plain\nwidth: 1\n",
        "a/big.yaml": "_BASE_: ../base.yaml\nwidth: 4\n",
        "a/none.yaml": "_BASE_: ../other.yaml\nwidth: 5\n",
        "a/x.yaml": "_BASE_: y.yaml\nwidth: 6\n",
        "a/y.yaml": "_BASE_: x.yaml\nwidth: 7\n",
    }
    reader = READER.replace("**arg.model_args", "arg.width")
    made = config_models(tmp_path, {"nets.py": SECTIONS, "main.py": reader, **files})
    assert [way.way.position.path for _, way in made] == ["a/big.yaml", "base.yaml"]


def test_files_and_what_they_build(models):
    assert {path: (m.way.position.line, str(m.target)) for path, m in models.items()} == {
        "runs/a.yaml": (1, "zoo/net.py::build"),
        "runs/b.yaml": (1, "zoo/net.py::build"),
        "fit_1.json": (2, "zoo/net.py::Net"),
        "fit_2.json": (2, "zoo/net.py::Net"),
        "sizes/b.yaml": (1, "zoo/net.py::Net"),
        "sizes/a.yaml": (1, "zoo/net.py::Net"),
        "configs/large.py": (3, "zoo/net.py::Net"),
        "configs/same.py": (2, "zoo/net.py::Net"),
        "hub/net.json": (3, "zoo/net.py::Net"),
        "hub/latent.yaml": (2, "zoo/net.py::Net"),
        "hub/resnet.yaml": (2, "hub/resnet.yaml"),
        "wide/a.yaml": (1, "zoo/wide.py::get_it"),
        "bound/a.yml": (1, "zoo/net.py::Net"),
    }


def test_what_eval_looks_up_gets_the_config_that_the_options_name(models):
    recipe = models["wide/a.yaml"].recipe
    assert recipe.call == "eval('net.' + config.NAME + '.get_it')(config)"
    assert recipe.setup.splitlines() == [
        "import sys; sys.argv = ['evaluated.py', '--cfg', 'wide/a.yaml']",
        "args = options()",
    ]


def test_a_target_is_called_as_all_do_it(models):
    recipe = models["hub/latent.yaml"].recipe
    assert recipe.call == "Net(**config.model.get('params', {}))"
    assert recipe.setup.endswith("config = OmegaConf.load('hub/latent.yaml')")


def test_argbind_gives_a_class_its_arguments(models):
    recipe = models["bound/a.yml"].recipe
    assert recipe.call == "argbind.bind(Net)()"
    assert "argbind.scope(argbind.load_args('bound/a.yml'))" in recipe.setup


def test_a_script_is_run_as_far_as_the_model_needs_it(models):
    recipe = models["runs/b.yaml"].recipe
    assert recipe.file == "train.py"
    assert recipe.call == "build(**config['model'])"
    assert recipe.setup.splitlines() == [
        "import sys; sys.argv = ['train.py', '--config', 'runs/b.yaml']",
        "args = options()",
        "with open(args.config) as file:",
        "    config = yaml.safe_load(file)",
    ]
    assert models["runs/b.yaml"].way.words == "d as it is before zoo/data.py:2 sets it"


def test_what_a_text_names_comes_before_what_is_beside_it(models):
    assert [path for path in models if path.startswith("sizes/")] == [
        "sizes/b.yaml",
        "sizes/a.yaml",
    ]


def test_what_options_do_not_have_before_is_set(models):
    assert models["sizes/a.yaml"].recipe.setup.splitlines()[-3:] == [
        "opt.world_size = 2",
        "with open(opt.cfg) as file:",
        "    sizes = yaml.safe_load(file)",
    ]
    assert "opt.rank" not in models["sizes/a.yaml"].recipe.setup


def test_what_commands_change_in_a_config_is_a_way_of_its_own(tmp_path):
    names = ("zoo/__init__.py", "zoo/net.py", "sizes.py", "sizes/a.yaml", "sizes/b.yaml")
    command = "python sizes.py --cfg sizes/b.yaml"
    files = {name: FILES[name] for name in names} | {
        "README.md": f"{command} train.lr 3\n{command} net.d 5 train.lr 3\n{command} net.d=6\n"
    }
    told = [
        (model.recipe.setup.partition("\n")[0].partition("argv = ")[2], model.way.words, model.rank)
        for _, model in config_models(tmp_path, files)
    ]
    assert told == [
        ("['sizes.py', '--cfg', 'sizes/b.yaml']", "", 0),
        ("['sizes.py', '--cfg', 'sizes/b.yaml', 'net.d', '5']", "as in README.md:2", 1),
        ("['sizes.py', '--cfg', 'sizes/b.yaml', 'net.d=6']", "as in README.md:3", 1),
        ("['sizes.py', '--cfg', 'sizes/a.yaml']", "", 2),
    ]


def test_a_registry_builds_what_the_library_reads(models):
    recipe = models["configs/large.py"].recipe
    assert (recipe.file, recipe.call) == ("zoo/registry.py", "MODELS.build(config.model)")
    assert recipe.setup.endswith("config = Config.fromfile('configs/large.py')")


def test_a_script_whose_config_nobody_names_reads_those_with_the_keys_that_it_uses(tmp_path):
    files = {
        "net.py": "from torch import nn\n\nclass Net(nn.Module):\n    pass\n\n"
        "def build(options):\n    return Net(options)\n",
        "train.py": "import argparse\nfrom net import build\n"
        "from settings import cfg, load_config\n"
        "if __name__ == '__main__':\n    parser = argparse.ArgumentParser()\n"
        "    parser.add_argument('config')\n    args = parser.parse_args()\n"
        "    load_config(cfg, args.config)\n    model = build(cfg.model)\n",
        "conf/small.yml": "data: x\nmodel:\n  width: 3\n",
        "conf/data.yml": "data: x\n",
    }
    (node, model), *more = config_models(tmp_path, files)
    assert (node.path, model.recipe.call, more) == ("conf/small.yml", "build(cfg.model)", [])
    setup = model.recipe.setup.splitlines()
    assert setup[0] == "import sys; sys.argv = ['train.py', 'conf/small.yml']"
    assert setup[-1] == "load_config(cfg, args.config)"


def test_a_script_may_read_its_arguments_itself(tmp_path):
    files = {
        "net.py": NET.format("Net"),
        "train.py": "import sys\nfrom net import Net\nfrom settings import Config\n"
        "def main(cfg):\n    cfg.device_batch_size = cfg.total // count()\n"
        "    cfg.accumulate = cfg.device_batch_size // 2\n    model = Net(cfg.model)\n"
        "if __name__ == '__main__':\n    path = sys.argv[1]\n    cfg = Config.load(path)\n"
        "    main(cfg)\n",
        "README.md": "The models: conf/z.yaml\n",
        "conf/a.yaml": "lr: 1\nmodel:\n  d: 3\n",
        "conf/b.yaml": "lr: 2\nmodel:\n  d: 3\n",  # the same model
        "conf/z.yaml": "model:\n  d: 4\n",
    }
    models = [model for _, model in config_models(tmp_path, files)]
    assert [model.way.position.path for model in models] == ["conf/z.yaml", "conf/a.yaml"]
    assert models[0].recipe.setup.splitlines() == [
        "import sys; sys.argv = ['train.py', 'conf/z.yaml']",
        "path = sys.argv[1]",
        "cfg = Config.load(path)",
    ]


def test_builders_of_families_of_projects_are_asked(tmp_path):
    files = {
        "net.py": NET.format("Net") + "def build_model_from_cfg(config): ...\n",
        "core.py": "class YAMLConfig:\n    pass\n",
        "cfgs/a.yaml": "model: {\n  NAME: Net,\n  d: 3}\n",
        "conf/base.yml": "model: Net\nNet:\n  pretrained: True\n",
        "conf/b.yml": "__include__: [\n  './base.yml',\n]\nNet:\n  d: 3\n",
    }
    models = {
        node.path: (str(node.target), model.recipe.file, model.recipe.call)
        for node, model in config_models(tmp_path, files)
    }
    assert models == {
        "cfgs/a.yaml": ("net.py::Net", "net.py", "build_model_from_cfg(config['model'])"),
        "conf/b.yml": ("net.py::Net", "core.py", "config.model"),
    }


def test_a_list_of_layers_is_built_by_the_class_whose_default_is_called_like_it(tmp_path):
    layers = "backbone:\n  - [-1, 1, Conv, [3]]\nhead:\n  - [-1, 1, Detect, [nc]]\n"
    scales = "scales:\n  n: [0.33, 0.25]\n  s: [0.33, 0.50]\n"
    models = "".join(
        f"class {name}(nn.Module):\n    def __init__(self, cfg={default!r}, ch=3):\n        pass\n"
        for name, default in (("Detection", "yolo26n.yaml"), ("Pose", "yolo26n-pose.yaml"))
    )
    files = {
        "nn/tasks.py": f"from torch import nn\n{models}",
        "cfg/v8/yolov8.yaml": scales + layers,
        "cfg/v8/yolov8-pose-p6.yaml": "scales:\n  x: [1, 1]\n" + layers,
        "cfg/v9/yolov9c.yaml": layers,
        "cfg/default.yaml": "head: 3\nmodel: yolo26n.pt\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = discover(tmp_path, ["nn/tasks.py"])
    targets = {Target("nn/tasks.py", name) for name in ("Detection", "Pose")}
    query = EvidenceQuery(found, targets, list_configs(tmp_path, (), None, None), reader(tmp_path))
    said = [
        (e.recipe.call, str(e.way.position), e.way.kind) for e in layer_lists(ConfigFiles(query))
    ]
    assert sorted(said) == [
        ("Detection(cfg='cfg/v8/yolov8n.yaml')", "cfg/v8/yolov8.yaml:2", "size"),
        ("Detection(cfg='cfg/v8/yolov8s.yaml')", "cfg/v8/yolov8.yaml:3", "size"),
        ("Detection(cfg='cfg/v9/yolov9c.yaml')", "cfg/v9/yolov9c.yaml:1", "config"),
        ("Pose(cfg='cfg/v8/yolov8x-pose-p6.yaml')", "cfg/v8/yolov8-pose-p6.yaml:2", "size"),
    ]
