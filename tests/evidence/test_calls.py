"""Calls of models as ways to build them: what is cut out of a script, a test or a text."""

from __future__ import annotations

import ast
import json

import pytest
from discover_project import discovered

from nparam_lint.claims import Target
from nparam_lint.discover import list_texts, reader
from nparam_lint.evidence import EvidenceQuery
from nparam_lint.evidence.sources import called

NET = """
from dataclasses import dataclass
from torch import nn

@dataclass
class Config:
    d: int = 3
    h: int = 4

class Net(nn.Module):
    def __init__(self, d, h=4):
        super().__init__()
        self.a = nn.Linear(d, h)

@dataclass
class Preset:
    d: int
    h: int = 4

    @classmethod
    def small(cls, h):
        return cls(3, h)

    def build(self) -> "Net":
        return load(Net, self)

    def build_words(self):
        return [self.d, self.h]

class Big(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.net = Net(config.d, config.h)
        self.two = Net(3)
"""
SELF = "from types import SimpleNamespace\nself = SimpleNamespace()\n"
USE = "from net import Big, Config, Net\n"


def ways(root, sources):
    found = discovered(root, {"net.py": NET, **sources})
    wanted = {Target(d.path, d.qualname) for d in found.definitions}
    source = EvidenceQuery(found, wanted, list_texts(root, (), None), reader(root))
    return sorted(called(source), key=lambda way: way.rank)


def told(root, path, text):
    """`setup >> call` of each way that a file says."""
    return [
        f"{way.recipe.setup or ''} >> {way.recipe.call}".strip()
        for way in ways(root, {path: text})
        if way.way.position.path == path
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Net(3)", ">> Net(3)"),
        ("D = 3\nNet(D, h=D + 1)", ">> Net(D, h=D + 1)"),
        ("def f(d=5):\n    w = d * 2\n    return Net(w)", "w = 5 * 2 >> Net(w)"),
        ("def f(d):\n    x = Net(d)\nf(6)", ">> Net(6)"),
        ("def f(d, *a, **k):\n    x = Net(d, *a, **k)\nf(7)", ">> Net(7)"),
        ("def f(d, *a):\n    x = Net(d, *a)\nf(7, 8)", ">> Net(7, *(8,))"),
        ("def f(d, **k):\n    x = Net(d, **k)\nf(7, h=8)", "k = {'h': 8} >> Net(7, **k)"),
        (
            "t = {'d': 2}\ndef f(d, h=3):\n    x = Net(d, h)\nf(**t)",
            "d = t['d']\nh = t.get('h', 3) >> Net(d, h)",
        ),
        (
            "t = {'d': 2, 'h': 3}\ndef f(d, **k):\n    x = Net(d, **k)\nf(**t, a=1)",
            "d = t['d']\n"
            "k = {**{k: v for k, v in t.items() if k not in ('d',)}, 'a': 1} >> Net(d, **k)",
        ),
        ("def f(d, h):\n    x = Net(d, h)\nf(**{'d': 1}, **{'h': 2})", []),
        ("for d in (3, 5):\n    Net(d)", [">> Net(3)", ">> Net(5)"]),
        (
            "for i, (d, h) in enumerate([(1, 2)]):\n    Net(d, h)",
            ast.unparse(ast.parse("i, (d, h) = (0, (1, 2))")) + " >> Net(d, h)",
        ),
        ("nets = [Net(d) for d in [8, 9]]", [">> Net(8)", ">> Net(9)"]),
        ("c = Config()\nc.d = 5\nBig(c)", "c = Config()\nc.d = 5 >> Big(c)"),
        ("t = {}\nt['d'] = 4\nNet(**t)", "t = {}\nt['d'] = 4 >> Net(**t)"),
        (
            "if 3 > 2:\n    d = 4\nelse:\n    d = 5\nNet(d)",
            "if 3 > 2:\n    d = 4\nelse:\n    d = 5 >> Net(d)",
        ),
        (
            "class T:\n def __init__(self, d=3):\n  self.d = d\n def b(self):\n  Net(self.d)",
            f"{SELF}self.d = 3 >> Net(self.d)",
        ),
        ("class T:\n d = 6\n def b(self):\n  Net(self.d)", f"{SELF}self.d = T.d >> Net(self.d)"),
        ("import torch\nc = torch.load('a')\nNet(c.d)", []),
        (
            "import torch, sys\nif sys.argv[1:]:\n d = torch.load('a')\nelif sys.path:\n d = 5\n"
            "else:\n sys.exit(1)\nNet(d)",
            "if sys.argv[1:]:\n    raise ValueError('this is not run: torch.load')\n"
            "elif sys.path:\n    d = 5\n"
            "else:\n    raise ValueError('the script ends here') >> Net(d)",
        ),
        ("with open('a') as f:\n    Net(int(f.read()))", []),
        (
            "import json\nwith open('a') as f:\n    c = json.load(f)\nNet(c['d'])",
            "with open('a') as f:\n    c = json.load(f) >> Net(c['d'])",
        ),
        (
            "import torch.multiprocessing as mp\ndef work(rank, d):\n    Net(d, rank)\n"
            "mp.spawn(work, args=(6,), nprocs=2)",
            ">> Net(6, 0)",
        ),
        (
            "from threading import Thread\ndef work(d):\n    Net(d)\nThread(target=work, args=[6])",
            ">> Net(6)",
        ),
        ("def work(d):\n    Net(d)\nstart(work, 6)", []),  # who knows with what
        # What reads options is run by itself.
        (
            "from transformers import HfArgumentParser\np = HfArgumentParser(Config)\n"
            "a = p.parse_args_into_dataclasses()[0]\nNet(a.d)",
            "p = HfArgumentParser(Config)\na = p.parse_args_into_dataclasses()[0] >> Net(a.d)",
        ),
        (
            "from absl import flags\nF = flags.FLAGS\nflags.DEFINE_integer('d', 3, '')\nNet(F.d)",
            "__import__('absl.flags').flags.FLAGS.mark_as_parsed() >> Net(F.d)",
        ),
        # A method of a config that makes a model; not one that makes something else.
        (
            "from net import Preset\nc = Preset.small(h=2)\nn = c.build()",
            "c = Preset.small(h=2) >> c.build()",
        ),
        ("from net import Preset\nPreset(7).build()", ">> Preset(7).build()"),
        ("from net import Preset\nPreset(7).build_words()", []),
        ("import tyro\nNet(tyro.cli(Config).d)", ">> Net(tyro.cli(Config).d)"),
        (
            "from simple_parsing import ArgumentParser\np = ArgumentParser()\n"
            "p.add_arguments(Config, dest='c')\na = p.parse_args()\nNet(a.c.d)",
            "p = ArgumentParser()\np.add_arguments(Config, dest='c')\na = p.parse_args([]) "
            ">> Net(a.c.d)",
        ),
        (
            "from transformers import AutoConfig\nNet(AutoConfig.from_pretrained('a').hidden_size)",
            [],
        ),
        ("def f(data):\n    Net(len(data))", []),
        ("Net(3); Net(d=3)", ">> Net(3)"),
        ("d = 3\nif os.path.exists('a'):\n d = load('a')\nNet(d)", ">> Net(3)"),
        ("c = Config()\nc.d = len(load())\nBig(c)", []),
        ("c = Config()\nc.other = len(load())\nBig(c)", "c = Config() >> Big(c)"),
        ("a = load()\nc = Config()\nc.other = a.size\nBig(c)", "c = Config() >> Big(c)"),
        ("a = load()\nc = Config()\nc.d = a.size\nBig(c)", []),
        ("Net(...)", []),
        (
            "model = Big(Config())\nfor name, child in model.named_children():\n    Net(child.d)",
            ">> Big(Config())",
        ),
    ],
)
def test_what_a_call_needs(tmp_path, text, expected):
    expected = [expected] if isinstance(expected, str) else expected
    assert told(tmp_path, "script.py", f"{USE}{text}\n") == expected


PARSER = """
import argparse
import net as nets
parser = argparse.ArgumentParser()
parser.add_argument("--dim", type=int, default=5, help="how wide")
parser.add_argument("--data-path", required=True)
parser.add_argument("--given", required=True)
parser.add_argument("--model", default="Net", choices=["Net", "Big"])
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("args = parser.parse_args()\nNet(args.dim)", "args.dim"),
        (
            "def main(args):\n Net(args.dim)\n"
            "if __name__ == '__main__':\n args = parser.parse_args()\n main(args)",
            "args.dim",
        ),
        ("args = parser.parse_args()\nNet(args.given)", None),
        ("args = parser.parse_args()\nif args.model == 'b':\n Net(args.dim)", "args.model = 'b'"),
        ("args = parser.parse_args()\nif 'b' in args.model:\n Net(args.dim)", None),
        ("args = parser.parse_args()\nNet(args.nowhere)", None),
        ("args = parser.parse_args()\nargs.dim, x = load_data()\nNet(args.dim)", "args.dim"),
        ("args = parser.parse_args()\nnets.__dict__[args.model](args.dim)", "args.dim"),
        ("args = parser.parse_args()\ngetattr(nets, args.model)(args.dim)", "args.dim"),
    ],
)
def test_options_have_their_defaults(tmp_path, text, expected):
    found = told(tmp_path, "train.py", USE + PARSER + text)
    if expected is None:
        assert found == []
    else:
        only, *named = found
        assert all("sys.argv[1:] = ['--model', 'Big']" in other for other in named)
        assert "add_argument('--dim', type=int, default=5)\n" in only
        assert "parse_args([])" in only
        assert "data-path" not in only
        assert "given" not in only
        assert expected in only


def test_a_class_that_holds_a_model_gets_its_arguments_from_another_file(tmp_path):
    runner = f"{USE}class Runner:\n    def __init__(self, args, c):\n        self.c = c\n"
    runner += "    def fit(self):\n        net = Net(self.c.d)\n"
    main = "from runner import Runner\nfrom net import Config\nRunner(None, Config(d=7)).fit()\n"
    (way,) = ways(tmp_path, {"runner.py": runner, "main.py": main})
    assert (way.way.position.path, way.file, way.recipe.call) == (
        "runner.py",
        "main.py",
        "Net(self.c.d)",
    )
    assert "self.c = c" in way.recipe.setup
    assert "c = Config(d=7)" in way.recipe.setup


def test_a_call_in_no_loop_comes_before_one_in_a_loop(tmp_path):
    text = "def fit(d):\n    Net(d)\nfor d in load():\n    fit(d)\nfit(6)\n"
    assert told(tmp_path, "a.py", f"{USE}{text}") == [">> Net(6)"]


def test_a_star_import_hides_no_name_of_the_file(tmp_path):
    text = f"from helpers import *\n{USE}{PARSER}args = parser.parse_args()\nNet(args.dim)\n"
    (way,) = told(tmp_path, "a.py", text)
    assert way.endswith("args = parser.parse_args([]) >> Net(args.dim)")


def test_what_a_script_sets_before_a_call_without_arguments_is_a_way(tmp_path):
    text = f"from settings import hp\n{USE}def build_model():\n    return Net(hp.d)\n"
    sources = {"settings.py": "hp = object()\n", "a.py": f"{text}hp.parse('d=3')\nbuild_model()\n"}
    found = [w for w in ways(tmp_path, sources) if w.recipe.call == "build_model()"]
    assert [w.recipe.setup for w in found] == ["from settings import hp\nhp.parse('d=3')"]


def test_a_test_says_what_it_parametrises(tmp_path):
    text = f"""import pytest
{USE}
@pytest.mark.parametrize('d, h', [(1, 2), (3, 4)])
def test_a(d, h):
    Net(d, h=h)
"""
    assert told(tmp_path, "tests/test_a.py", text) == [">> Net(1, h=2)", ">> Net(3, h=4)"]


README = """
# A title

```python
from net import Config
c = Config(d=6)
```

It is called like so, with `d` as you like:

```py
Big(c)
Net(d)
```

```bash
Net(9)
```

>>> net = Net(
...     12)
>>> Net(13)
"""


def test_texts_are_read_from_top_to_bottom(tmp_path):
    assert told(tmp_path, "README.md", README) == [
        "from net import Config\nc = Config(d=6) >> Big(c)",
        ">> Net(12)",
        ">> Net(13)",
    ]


def test_a_name_means_what_the_block_imports(tmp_path):
    blocks = ("from net import Net\nNet(3)", "from wide import Net\nNet(4)", "Net(5)")
    text = "\n\n".join(f"```python\n{block}\n```" for block in blocks)
    found = ways(tmp_path, {"wide.py": NET, "README.md": text})
    assert [(str(one.target), one.recipe.call) for one in found] == [
        ("net.py::Net", "Net(3)"),
        ("wide.py::Net", "Net(4)"),
        ("wide.py::Net", "Net(5)"),
    ]


def test_a_text_shows_models_of_several_files_with_the_names_of_each(tmp_path):
    sources = {f"{n}.py": f"WIDTH_{n} = 3\n{NET.replace('Net', f'Net_{n}')}" for n in ("a", "b")}
    text = "```python\nNet_a(WIDTH_a)\nNet_b(WIDTH_b)\n```"
    calls = [way.recipe.call for way in ways(tmp_path, {**sources, "README.md": text})]
    assert calls == ["Net_a(WIDTH_a)", "Net_b(WIDTH_b)"]


@pytest.mark.parametrize("indent", [1, None])  # None: in one line
def test_a_notebook_says_where(tmp_path, indent):
    cells = [
        {"cell_type": "markdown", "source": ["Net(1)"]},
        {"cell_type": "code", "source": ["%matplotlib inline\n", "from net import Net\n"]},
        {"cell_type": "code", "source": ["d = 4\n", "net = Net(d)"]},
    ]
    text = json.dumps({"cells": cells}, indent=indent)
    (way,) = (w for w in ways(tmp_path, {"a.ipynb": text}) if w.way.position.path == "a.ipynb")
    assert way.recipe.call == "Net(4)"
    assert "net = Net(d)" in text.split("\n")[way.way.position.line - 1]


def test_the_order_and_what_is_left_out(tmp_path):
    sources = {
        "train.py": f"{USE}Net(1)",
        "a.py": f"{USE}Net(2)",
        "README.md": "```python\nNet(3)\n```",
        "tests/test_a.py": f"{USE}def test_b():\n    Net(4)",
    }
    found = ways(tmp_path, sources)
    assert [w.recipe.call for w in found] == [f"Net({number})" for number in range(1, 5)]
    assert {w.file for w in found} == {"net.py"}


@pytest.mark.parametrize(
    "text",
    [
        "from net import Net as N\n\nN(3)\n",
        "from net import (\n    Big,\n    Net as N,\n)\n\nN(3)\n",
        "import net\n\nnet.Net(3)\n",
        "from net import *\n\nNet(3)\n",
        "def f():\n    from net import Net\n    return Net(3)\n",
    ],
)
def test_a_model_is_called_by_the_name_that_an_import_gives_it(tmp_path, text):
    (way,) = told(tmp_path, "use.py", text)
    assert way.endswith("(3)")


def test_what_a_function_sets_that_is_not_run_is_told(tmp_path):
    data = "def load(c):\n    rows = read(c)\ndef read(a):\n    rows, a.d = open('a')\n"
    head = f"import argparse\n{USE}from data import load\n"
    parser = "p = argparse.ArgumentParser()\np.add_argument('--d', default=3)\n"
    parser += "p.add_argument('--h', default=3)\n"
    end = "rows = load(c)\nBig(c)\n"
    files = {
        "data.py": data,
        "with_default.py": f"{head}{parser}c = p.parse_args()\n{end}",
        "without.py": f"{head}c = Config()\n{end}",
    }
    (found,) = ways(tmp_path, files)
    assert found.way.position.path == "with_default.py"
    assert found.way.note == "d as it is before data.py:4 sets it"


def test_a_command_gives_what_has_no_default(tmp_path):
    script = f"import argparse\n{USE}p = argparse.ArgumentParser()\n"
    script += "p.add_argument('-d', '--dim', type=int)\np.add_argument('--h', required=True)\n"
    script += "p.add_argument('--lr')\na = p.parse_args()\nNet(a.dim, h=a.h)\n"
    commands = "usage: fit.py --h H\nH=7\npython fit.py -d 2 \\\n --h $H --lr 1"
    (tmp_path / "run.sh").write_text(commands)
    (found,) = ways(tmp_path, {"fit.py": script})
    assert found.recipe.setup.startswith("import sys\nsys.argv[1:] = ['-d', '2', '--h', '7']\n")
    assert found.recipe.setup.endswith("a = p.parse_args()")
    assert found.way.note == "as in run.sh:3"


def test_a_config_file_without_a_name_needs_a_command(tmp_path):
    script = f"import argparse\n{USE}p = argparse.ArgumentParser()\n"
    script += "p.add_argument('--cfg', default='')\np.add_argument('--tag', default='')\n"
    script += "a = p.parse_args()\nNet(a.cfg)\nNet(a.tag)\n"
    (plain,) = ways(tmp_path, {"fit.py": script})
    assert plain.recipe.call == "Net(a.tag)"
    (tmp_path / "README.md").write_text("python fit.py --cfg a.yaml")
    assert [way.way.note for way in ways(tmp_path, {})] == ["as in README.md:1", ""]


def test_a_helper_may_give_the_parser_its_options(tmp_path):
    helper = "def add_model_options(parser, d):\n    parser.add_argument('--h', default=d)\n"
    script = f"import argparse\nimport helper\n{USE}p = argparse.ArgumentParser()\n"
    script += "helper.add_model_options(p, 3)\na = p.parse_args()\nNet(2, h=a.h)\n"
    (found,) = ways(tmp_path, {"helper.py": helper, "fit.py": script})
    assert "helper.add_model_options(p, 3)\n" in found.recipe.setup


@pytest.mark.parametrize(
    ("text", "call", "note"),
    [
        # A branch that is not run leaves what was there before.
        (
            "d = 3\nif rank == 0:\n    d = torch.load('a').d\nNet(d)",
            "Net(3)",
            "d as it is before fit.py:6 sets it",
        ),
        # Where data would give it, the other branch may say it too.
        (
            "if rank == 0:\n    d = len(make_dataset())\nelse:\n    d = 5\nNet(d)",
            "Net(d)",
            "d as it is before fit.py:4 sets it",
        ),
    ],
)
def test_what_is_not_run_may_leave_a_value(tmp_path, text, call, note):
    (found,) = ways(tmp_path, {"fit.py": f"import torch\nrank = 1\n{USE}{text}\n"})
    assert (found.way.note, found.recipe.call) == (note, call)
    assert "raise" not in (found.recipe.setup or "")


PAIR = """
from net import Big, Config, Net
def both(d, h=4):
    net = Net(d, h).eval()
    big = Big(Config(d, h))
    return {}
"""


@pytest.mark.parametrize(
    ("returned", "parts"),
    [("net, big", ["[0]", "[1]"]), ("{'n': net, 'b': big, 'o': 3}", ["['n']", "['b']"])],
)
def test_what_a_function_returns_beside_others_is_called_by_it(tmp_path, returned, parts):
    script = "from pair import both\nn, b = both(d=7)\n"
    files = {"pair.py": PAIR.format(returned), "fit.py": script}
    text = "```python\nfrom pair import both\nboth(8)\n```\n"
    (tmp_path / "README.md").write_text(text)
    called = {(w.target.callable, w.file, w.recipe.call) for w in ways(tmp_path, files)}
    for name, part in zip(("Net", "Big"), parts, strict=True):
        assert (name, "fit.py", f"both(d=7){part}") in called
        assert (name, "pair.py", f"both(8){part}") in called


LIBRARIES = [
    (
        "import fiddle as fdl\ndef base():\n    c = fdl.Config(Net, d=3)\n    return c\n"
        "net = fdl.build(base())",
        "",
        "fdl.build(base())",
    ),
    (
        "from hydra_zen import builds, instantiate\nC = builds(Net, d=3)\nnet = instantiate(C)",
        "C = builds(Net, d=3)",
        "instantiate(C)",
    ),
    (
        "import hydra\n@hydra.main(config_path='conf', config_name='a.yaml', version_base=None)\n"
        "def main(cfg):\n    Net(cfg.d)",
        "with __import__('hydra').initialize_config_dir(__import__('os').path.abspath('conf'), "
        "version_base=None):\n    cfg = __import__('hydra').compose('a', overrides="
        "['hydra/job_logging=default', 'hydra/hydra_logging=default'])",
        "Net(cfg.d)",
    ),
    (
        "import hydra\n@hydra.main(version_base=None)\ndef main(cfg):\n    Net(cfg.d)",
        "with __import__('hydra').initialize(None, version_base=None):\n"
        "    cfg = __import__('hydra').compose('config', overrides="
        "['hydra/job_logging=default', 'hydra/hydra_logging=default'])",
        "Net(cfg.d)",
    ),
    ("import hydra\n@hydra.main(config_path=P)\ndef main(cfg):\n    Net(cfg.d)", None, None),
    (
        "import draccus\n@draccus.wrap()\ndef main(c: Config):\n    Net(c.d)",
        "c = draccus.parse(Config, args=[])",
        "Net(c.d)",
    ),
    (
        "import gin\ngin.parse_config_file('a.gin')\nNet(3)",
        "gin.parse_config_file('a.gin')",
        "Net(3)",
    ),
]


@pytest.mark.parametrize(("text", "setup", "call"), LIBRARIES)
def test_config_libraries_are_asked_themselves(tmp_path, text, setup, call):
    found = ways(tmp_path, {"fit.py": f"{USE}{text}\n"})
    assert [(w.recipe.setup or "", w.recipe.call) for w in found] == [(setup, call)][: bool(call)]


def test_an_option_that_chooses_has_the_first_value_that_it_is_compared_with(tmp_path):
    script = f"import argparse\n{USE}p = argparse.ArgumentParser()\n"
    script += "p.add_argument('--data', required=True)\na = p.parse_args()\n"
    script += "if a.data in ['faces', 'lfw']:\n    d = 3\nelif a.data == 'mnist':\n    d = 1\n"
    (found,) = ways(tmp_path, {"fit.py": f"{script}Net(d)\n"})
    assert found.recipe.setup.startswith("import sys\nsys.argv[1:] = ['--data', 'faces']\n")
    assert found.way.note == "with --data faces"
    assert not ways(tmp_path, {"fit.py": f"{script}Net(a.data)\n"})


def test_a_context_that_sets_what_a_model_is_made_of_is_entered(tmp_path):
    contexts = "import net\nfrom contextlib import contextmanager\n"
    contexts += "@contextmanager\ndef lora(r):\n    net.RANK = r\n    yield\n"
    contexts += "@contextmanager\ndef timer(r):\n    yield\n"
    use = f"{USE}from c import lora, timer\nR = 8\n"
    files = {"c.py": contexts, "use.py": f"{use}with timer(0), lora(R):\n    model = Net(3)\n"}
    (found,) = ways(tmp_path, files)
    assert found.recipe.setup == (
        "from contextlib import ExitStack\ncontexts_4 = ExitStack()\n"
        "contexts_4.enter_context(lora(R))"
    )
    files["use.py"] = f"{use}with lora(input()):\n    Net(3)\n"
    assert not ways(tmp_path, files)


def test_a_model_may_get_what_another_package_makes(tmp_path):
    use = f"{USE}from layers_of_others import Layer\nlayer = Layer(dim=3)\n"
    (found,) = ways(tmp_path, {"use.py": f"{use}Net(layer)\n"})
    assert found.file == "use.py"
    assert [way.recipe.call for way in ways(tmp_path, {"use.py": f"{use}Net(Layer(2))\n"})] == [
        "Net(Layer(2))"
    ]
    # What it says of itself may change before it is asked.
    rest = "def main():\n    layer = Layer()\n    layer.grow()\n    Net(layer.dim)\n"
    assert not ways(tmp_path, {"use.py": use + rest})


READS = """
    import os
    from torch import nn
    class Net(nn.Module):
        def __init__(self, d):
            self.a = nn.Linear(d, int(os.environ["NET_SIZE"]))
            self.b = "KIND" in os.environ and os.getenv("KIND")
"""


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("os.environ['NET_SIZE'] = str(size)", "os.environ['NET_SIZE'] = str(7)\n"),
        ("os.environ.update({'KIND': size})", "os.environ.update({'KIND': 7})\n"),
        ("os.environ.update(KIND=size)", "os.environ.update(KIND=7)\n"),
        ("os.environ.setdefault('KIND', size)", "os.environ.setdefault('KIND', 7)\n"),
        (
            "if size: os.environ['KIND'] = 'a'",
            "if 7:\n    os.environ['KIND'] = 'a'\n",
        ),
        ("os.environ['PORT'] = str(port())", ""),  # nobody reads it
        ("os.environ['NET_SIZE'] = download()", None),
        ("set_up()", None),
    ],
)
def test_what_a_script_sets_in_the_environment_a_way_sets(tmp_path, statement, expected):
    script = f"""
    import os
    def set_up():
        os.environ["KIND"] = "a"
    def build(d):
        from net import Net
        return Net(d)
    def main(size):
        {statement}
        os.environ["OTHER"] = "1"
        build(3)
    if __name__ == "__main__":
        main(size=7)
    """
    found = ways(tmp_path, {"net.py": READS, "train.py": script})
    setup = f"{expected}from net import Net" if expected else None
    calls = [] if expected is None else [(setup, "Net(3)")]
    found = [way.recipe for way in found if way.target.location == "net.py"]
    assert [(recipe.setup, recipe.call) for recipe in found] == calls


@pytest.mark.parametrize(
    ("imports", "statement"),
    [
        ("import settings", "settings.WIDTH = 7"),
        ("import settings", "settings.set_width(7)"),
        ("from settings import SIZES", "SIZES['w'] = 7"),
        ("from settings import SIZES", "SIZES.update(w=7)"),
        ("import net", "net.settings.WIDTH = 7"),
        ("from net import Net", "setattr(Net, 'width', 7)"),
        ("import torch", ""),
        ("import settings", ""),
    ],
)
def test_what_a_script_changes_in_other_files_a_way_changes(tmp_path, imports, statement):
    script = f"""
    import torch
    {imports}
    from net import Net
    torch.backends.cudnn.benchmark = True
    {statement}
    Net(3)
    """
    settings = "WIDTH = 4\nSIZES = {}\ndef set_width(n): pass\n"
    net = "from torch import nn\nimport settings\nclass Net(nn.Module): pass\n"
    files = {"net.py": net, "settings.py": settings, "train.py": script}
    recipes = [way.recipe for way in ways(tmp_path, files)]
    setup = f"{imports}\n{statement}" if statement else None
    assert [(recipe.setup, recipe.call) for recipe in recipes] == [(setup, "Net(3)")]


def test_options_of_the_script_beside_a_model_and_of_none_further_out(tmp_path):
    script = (
        "import argparse\nfrom importlib import import_module\n"
        "parser = argparse.ArgumentParser()\nparser.add_argument('--width', default={}, type=int)\n"
        "args = parser.parse_args()\nmodel = import_module('models.' + args.model).Model(args)\n"
    )
    model = (
        "from torch import nn\n\nclass Model(nn.Module):\n    def __init__(self, args):\n"
        "        super().__init__()\n        self.a = nn.Linear(args.width, 1)\n"
    )
    files = {"run.py": script.format(3), "models/a.py": model}
    files |= {f"inner/{path}": text for path, text in files.items()}
    found = ways(tmp_path, files)
    assert {(way.target.location, way.way.position.path) for way in found} == {
        ("models/a.py", "run.py"),
        ("inner/models/a.py", "inner/run.py"),
    }
