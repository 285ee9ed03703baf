"""Calls of models as ways to build them: what is cut out of a script, a test or a text."""

from __future__ import annotations

import ast
import json
import re

import pytest
from discover_project import discovered

from nparam_lint.discover.files import list_configs, list_texts, reader
from nparam_lint.evidence import EvidenceQuery
from nparam_lint.evidence.sources import called
from nparam_lint.evidence.statements import does_work
from nparam_lint.ground.notation import Target

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

    def padded_vocab(self):
        return 8 * max(self.d, 1)

    def read_vocab(self):
        return len(open_vocab())

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
    files = [path for listed in (list_texts, list_configs) for path in listed(root, (), None, None)]
    source = EvidenceQuery(found, wanted, files, reader(root))
    return sorted(called(source), key=lambda way: way.rank)


def told(root, sources):
    """`setup >> call  # note` of each way that these files say."""
    return [
        f"{way.recipe.setup or ''} >> {way.recipe.call}  # {way.way.words}".strip(" #")
        for way in ways(root, sources)
        if way.way.position.path in sources
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Net(3)", ">> Net(3)"),
        ("D = 3\nNet(D, h=D + 1)", ">> Net(D, h=D + 1)"),
        ("def f(d=5):\n    w = d * 2\n    return Net(w)", "w = 5 * 2 >> Net(w)"),
        ("def f(d):\n    x = Net(d)\nf(6)", ">> Net(6)"),
        (
            "import os\nw = int(os.environ['WORLD_SIZE'])\nNet(8 // w)",
            "import os\nos.environ.update({'WORLD_SIZE': '1'})\n"
            "w = int(os.environ['WORLD_SIZE']) >> Net(8 // w)",
        ),
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
        # A config has a size of its own for what data would say.
        (
            "import torch\nclass C:\n def __init__(self, vocab_size=9, d=2): ...\n"
            "words = torch.load('a')\nc = C(vocab_size=len(words), d=3)\nNet(c.d)",
            "c = C(d=3) >> Net(c.d)  # vocab_size by default, not as script.py:6 has it",
        ),
        (
            "import torch\nclass C:\n def __init__(self, vocab_size, d=2): ...\n"
            "c = C(vocab_size=torch.load('a'), d=3)\nNet(c.d)",
            [],
        ),
        # An environment is made, as the script makes it.
        (
            "import gymnasium as gym\nimport time\nname = f'{time.time()}'\n"
            "env = gym.wrappers.RecordVideo(gym.make('CartPole-v1'), name)\n"
            "Net(env.observation_space.shape[0])",
            "name = f'{time.time()}'\n"
            "env = gym.wrappers.RecordVideo(gym.make('CartPole-v1'), name)"
            " >> Net(env.observation_space.shape[0])",
        ),
        ("with open('a') as f:\n    Net(int(f.read()))", []),
        (
            "import json\nwith open('a') as f_in:\n    c = json.loads(f_in.read())\nNet(c['d'])",
            "with open('a') as f_in:\n    c = json.loads(f_in.read()) >> Net(c['d'])",
        ),
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
        # A config that is handed on to what builds it, unless it may be changed before.
        ("from net import Preset\nrun(model=Preset.small(h=2))", ">> Preset.small(h=2).build()"),
        (
            "from net import Preset\ndef f(a):\n    c = Preset.small(h=2)\n    return E(model=c)",
            ">> Preset.small(h=2).build()",
        ),
        ("from net import Preset\nc = Preset.small(h=2)\nc.h = 5\nrun(model=c)", []),
        ("from net import Preset\nrun(model=adapt(Preset.small(h=2)))", []),
        # A method that only computes is run whatever its name, one that reads data is not.
        (
            "from net import Preset\nc = Preset.small(h=2)\nNet(c.padded_vocab(), c.h)",
            "c = Preset.small(h=2) >> Net(c.padded_vocab(), c.h)",
        ),
        ("from net import Preset\nc = Preset.small(h=2)\nNet(c.read_vocab(), c.h)", []),
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
        # A call in no loop comes before one in a loop.
        ("def fit(d):\n    Net(d)\nfor d in load():\n    fit(d)\nfit(6)", ">> Net(6)"),
        # A model is called by the name that an import gives it.
        ("from net import Net as N\n\nN(3)", ">> Net(3)"),
        ("from net import (\n    Big,\n    Net as N,\n)\n\nN(3)", ">> Net(3)"),
        ("import net\n\nnet.Net(3)", ">> Net(3)"),
        ("def f():\n    from net import Net as N\n    return N(3)", ">> Net(3)"),
        # A branch that is not run leaves what was there before.
        (
            "import torch\nd, h, rank = 3, 4, 1\nif rank:\n    h, d = torch.load('a')\nNet(d, h)",
            "d, h, rank = (3, 4, 1) >> Net(d, h)  # d as it is before script.py:5 sets it; "
            "h as it is before script.py:5 sets it",
        ),
        ("try:\n    d = 3\nexcept ValueError:\n    d = 4\nNet(d)", ">> Net(3)"),
        (
            "c = Config()\nfor name in ['d']:\n    setattr(c, name, 3)\nBig(c)",
            "c = Config()\nfor name in ['d']:\n    setattr(c, name, 3) >> Big(c)",
        ),
        ("import click\n@click.option('--d', default=3)\ndef main(d):\n    Net(d)", ">> Net(3)"),
        # No more entries of a table than it has.
        (
            "T = {'a': 3}\nfor k, v in T.items():\n    Net(v)",
            ast.unparse(ast.parse("k, v = next(iter(T.items()))")) + " >> Net(v)",
        ),
        # Where data would give it, the other branch may say it too.
        (
            "rank = 1\nif rank == 0:\n    d = len(make_dataset())\nelse:\n    d = 5\nNet(d)",
            "if rank == 0:\n    d = 5\nelse:\n    d = 5 "
            ">> Net(d)  # d as it is before script.py:3 sets it",
        ),
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
    assert told(tmp_path, {"script.py": f"{USE}{text}\n"}) == expected


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
        ("from helpers import *\nargs = parser.parse_args()\nNet(args.dim)", "args.dim"),
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
    found = told(tmp_path, {"train.py": USE + PARSER + text})
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
BLOCKS = "\n\n".join(
    f"```python\n{block}\n```"
    for block in ("from net import Net\nNet(3)", "from wide import Net\nNet(4)", "Net(5)")
)
# A function of a file makes an object of a class of another; one that data changes.
RUNNER = "class Runner:\n    def __init__(self, args, c):\n        self.c = c\n"
RUNNER += "    def fit(self):\n        net = Net(self.c.d)\n"
DATA = "def load(c):\n    rows = read(c)\ndef read(a):\n    rows, a.d = open('a')\n"
LOADS = f"import argparse\n{USE}from data import load\n"
OPTIONS = "p = argparse.ArgumentParser()\np.add_argument('--d', default=3)\n"
OPTIONS += "p.add_argument('--h', default=3)\nc = p.parse_args()\n"
CHOICE = f"import argparse\n{USE}p = argparse.ArgumentParser()\n"
CHOICE += "p.add_argument('--data', required=True)\na = p.parse_args()\n"
CHOICE += "if a.data in ['faces', 'lfw']:\n    d = 3\nelif a.data == 'mnist':\n    d = 1\n"
CONTEXTS = """\
import net
from contextlib import contextmanager
@contextmanager
def lora(r):
    net.RANK = r
    yield
@contextmanager
def timer(r):
    yield
"""
ENTERS = f"{USE}from c import lora, timer\nR = 8\n"
OTHERS = f"{USE}from layers_of_others import Layer\nlayer = Layer(dim=3)\n"


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        # Texts are read from top to bottom; a name means what the block imports.
        (
            {"README.md": README},
            ["from net import Config\nc = Config(d=6) >> Big(c)", ">> Net(12)", ">> Net(13)"],
        ),
        ({"wide.py": NET, "README.md": BLOCKS}, [">> Net(3)", ">> Net(4)", ">> Net(5)"]),
        # A text shows models of several files with the names of each.
        (
            {f"{n}.py": f"WIDTH_{n} = 3\n{NET.replace('Net', f'Net_{n}')}" for n in ("a", "b")}
            | {"README.md": "```python\nNet_a(WIDTH_a)\nNet_b(WIDTH_b)\n```"},
            [">> Net_a(WIDTH_a)", ">> Net_b(WIDTH_b)"],
        ),
        # Scripts, other files, texts, tests; which say what they parametrise.
        (
            {
                "train.py": f"{USE}Net(1)",
                "a.py": f"{USE}Net(2)",
                "README.md": "```python\nNet(3)\n```",
                "tests/test_a.py": f"{USE}import pytest\n"
                "@pytest.mark.parametrize('d, h', [(4, 5), (6, 7)])\n"
                "def test_b(d, h):\n    Net(d, h=h)",
            },
            [">> Net(1)", ">> Net(2)", ">> Net(3)", ">> Net(4, h=5)", ">> Net(6, h=7)"],
        ),
        # What a function sets that is not run is told, and is no way without a default.
        (
            {"data.py": DATA, "fit.py": f"{LOADS}{OPTIONS}rows = load(c)\nBig(c)\n"},
            ["… >> Big(c)  # d as it is before data.py:4 sets it"],
        ),
        ({"data.py": DATA, "fit.py": f"{LOADS}c = Config()\nrows = load(c)\nBig(c)\n"}, []),
        # A class that holds a model gets its arguments from another file.
        (
            {
                "runner.py": USE + RUNNER,
                "main.py": "from runner import Runner\nfrom net import Config\n"
                "Runner(None, Config(d=7)).fit()\n",
            },
            [f"c = Config(d=7)\n{SELF}self.c = c\nfrom runner import Net >> Net(self.c.d)"],
        ),
        # So does one whose base, in a third file, holds them, and works one out in a method.
        (
            {
                "base.py": "class Base:\n    def __init__(self, options):\n"
                "        self.options = options\n"
                "        self.d = self.find_d()\n"
                "    def find_d(self):\n        return self.options.d + 1\n",
                "runner.py": f"from base import Base\n{USE}class Runner(Base):\n"
                "    def __init__(self, args):\n        super().__init__(args)\n"
                "        self.h = args.h\n"
                "    def model(self):\n        return Net(self.d, h=self.h)\n",
                "main.py": "from runner import Runner\r\nfrom net import Config\r\n"
                "Other = Runner\r\nOther(Config(d=7)).model()\r\n",
            },
            [
                f"args = Config(d=7)\nfrom runner import Runner\n{SELF}"
                "options_of_base = args\nself.options = options_of_base\n"
                "self.find_d = (self.options, Runner.find_d.__get__(self))[-1]\n"
                "self.d = self.find_d()\nself.h = args.h\n"
                "from runner import Net >> Net(self.d, h=self.h)"
            ],
        ),
        # What a branch sets is known where the branch is taken, as in the script.
        (
            {
                "a.py": f"{USE}def fit(kind):\n    if kind == 'a':\n        d = 3\n"
                "    elif kind == 'b':\n        d = 4\n    Net(d)\nfit('b')\n"
            },
            ["if 'b' == 'a':\n    d = 3\nelif 'b' == 'b':\n    d = 4 >> Net(d)"],
        ),
        # What a function sets of itself before.
        (
            {
                "a.py": f"{USE}class Runner:\n    def setup(self):\n        self.d = 4\n"
                "        self.net = Net(self.d)\n"
            },
            [f"{SELF}self.d = 4 >> Net(self.d)"],
        ),
        # A table of classes that the option of another file's script looks up: each by its name.
        (
            {
                "runner.py": f"{USE}def build(args):\n    nets = {{'net': Net, 'big': Big}}\n"
                "    return nets[args.name](args.d)\n",
                "main.py": "import argparse\nfrom runner import build\n"
                "p = argparse.ArgumentParser()\np.add_argument('--name', default='net')\n"
                "p.add_argument('--d', default=3)\nbuild(p.parse_args())\n",
            },
            [
                "p = argparse.ArgumentParser() >> build(p.parse_args())",
                "…['--name', 'net']…nets[args.name](args.d)  # with --name net",
                "…['--name', 'big']…nets[args.name](args.d)  # with --name big",
            ],
        ),
        # Such a table of another file.
        (
            {
                "sizes.py": "from net import *\nNETS = {'n': Net, 'p': Plain, 'q': Plain}\n",
                "net.py": f"{NET}\nclass Plain(nn.Module):\n    def __init__(self, d=3):\n"
                "        super().__init__()\n        self.a = nn.Linear(d, d)\n",
                "main.py": "import argparse\nfrom sizes import NETS\n"
                "p = argparse.ArgumentParser()\np.add_argument('--name', default='p')\n"
                "p.add_argument('--d', default=3)\na = p.parse_args()\nNETS[a.name](a.d)\n",
            },
            [
                "…['--name', 'n']…NETS[a.name](a.d)  # with --name n",
                "…['--name', 'p']…NETS[a.name](a.d)  # with --name p",
                "…['--name', 'q']…NETS[a.name](a.d)  # with --name q",
            ],
        ),
        # What a script sets before a call without arguments is a way.
        (
            {
                "settings.py": "hp = object()\n",
                "a.py": f"from settings import hp\n{USE}def build_model():\n"
                "    return Net(hp.d)\nhp.parse('d=3')\nbuild_model()\n",
            },
            [
                ">> build_model()",
                ">> Net(hp.d)",
            ],
        ),
        # A helper may give the parser its options.
        (
            {
                "helper.py": "def add_model_options(parser, d):\n"
                "    parser.add_argument('--h', default=d)\n",
                "fit.py": f"import argparse\nimport helper\n{USE}p = argparse.ArgumentParser()\n"
                "helper.add_model_options(p, 3)\na = p.parse_args()\nNet(2, h=a.h)\n",
            },
            ["…helper.add_model_options(p, 3)\na = p.parse_args([]) >> Net(2, h=a.h)"],
        ),
        # What reads a config is run, also in a file about data; optparse gets the whole command.
        (
            {
                "data_io.py": "from optparse import OptionParser\nimport configparser\n"
                "def read_conf():\n    p = OptionParser()\n    p.add_option('--cfg')\n"
                "    o, _ = p.parse_args()\n    c = configparser.ConfigParser()\n"
                "    c.read(o.cfg)\n    o.d = c.get('a', 'd')\n    return o\n",
                "fit.py": f"from data_io import read_conf\n{USE}o = read_conf()\nNet(int(o.d))\n",
                "README.md": "python fit.py --cfg a.ini\n",
            },
            ["import sys\nsys.argv[1:] = ['--cfg', 'a.ini']\no = read_conf() >> Net(int(o.d))…"],
        ),
        # What evaluates a trained model is asked last.
        (
            {
                "exp.py": f"{USE}class Exp:\n    def __init__(self, d):\n        self.n = Net(d)\n",
                "eval.py": "from exp import Exp\nExp(9)\n",
                "main.py": "from exp import Exp\nExp(3)\n",
            },
            [">> Net(3)"],
        ),
        # An option that chooses has the first value that it is compared with.
        (
            {"fit.py": f"{CHOICE}Net(d)\n"},
            [
                "import sys\nsys.argv[1:] = ['--data', 'faces']\n… >> Net(d)  # with --data faces",
            ],
        ),
        ({"fit.py": f"{CHOICE}Net(a.data)\n"}, []),
        # A context that sets what a model is made of is entered.
        (
            {"c.py": CONTEXTS, "use.py": f"{ENTERS}with timer(0), lora(R):\n    m = Net(3)\n"},
            [
                "from contextlib import ExitStack\ncontexts_4 = ExitStack()\n"
                "contexts_4.enter_context(lora(R)) >> Net(3)"
            ],
        ),
        ({"c.py": CONTEXTS, "use.py": f"{ENTERS}with lora(input()):\n    Net(3)\n"}, []),
        # A model may get what another package makes; what that says of itself may change.
        ({"use.py": f"{OTHERS}Net(layer)\n"}, ["layer = Layer(dim=3) >> Net(layer)"]),
        ({"use.py": f"{OTHERS}Net(Layer(2))\n"}, [">> Net(Layer(2))"]),
        (
            {"use.py": f"{OTHERS}def f():\n    x = Layer()\n    x.grow()\n    Net(x.dim)\n"},
            [],
        ),
    ],
)
def test_what_several_files_say(tmp_path, sources, expected):
    found = told(tmp_path, sources)
    assert len(found) == len(expected), found
    for text, pattern in zip(found, expected, strict=True):
        assert re.fullmatch(".*".join(map(re.escape, pattern.split("…"))), text, re.DOTALL), text


SCRIPT = """
import argparse, zoo
if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kind", required=True)
    parser.add_argument("--dim", type=int, default=9)
    args = parser.parse_args()
    args.classes = 3
    zoo.MODELS[args.kind](args)
"""
ZOO = """
from torch import nn
class Small(nn.Module):
    def __init__(self, args):
        self.a = nn.Linear(args.dim, args.classes)
class Other(nn.Module):
    def __init__(self, args):
        self.a = nn.Linear(args.dim, args.absent)
MODELS = {"small": Small, "other": Other}
"""


def test_a_model_that_reads_options_alone_is_built_from_those_of_a_script(tmp_path):
    """Of one that no call names; and with those of each command that names it."""
    readme = "python run.py --kind Small --dim 4\npython run.py --kind Other --dim 5\n"
    found = told(tmp_path, {"zoo.py": ZOO, "run.py": SCRIPT, "README.md": readme})
    plain, as_in = (text.partition(" >> ") for text in found)
    assert plain[2] == "Small(args)"
    assert "'--dim', type=int, default=9)\nargs = parser.parse_args([])" in plain[0]
    assert plain[0].endswith("args.classes = 3\nfrom zoo import Small")
    assert as_in[2] == "Small(args)  # as in README.md:1"
    assert as_in[0].startswith("import sys\nsys.argv[1:] = ['--kind', 'Small', '--dim', '4']\n")


CHOOSES = """
from options import get_options
from net import Big, Net
def width_of(name):
    from net import Config, Preset
    kind = {"one": Config, "two": Preset}.get(name)
    return kind(4).d
def run(opts):
    kind = {"small": Net, "big": Big}.get(opts.kind, None)
    assert kind is not None
    model = kind(opts.dim, width_of(opts.task))
if __name__ == "__main__":
    run(get_options())
"""
GIVES = """
import argparse
def get_options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kind", default="small")
    parser.add_argument("--dim", type=int, default=9)
    parser.add_argument("--task", default="one")
    return parser.parse_args()
"""


def test_an_option_looks_a_model_up_in_a_table_with_get(tmp_path):
    """Another file parses the option, and looks another one up; a command that asks for help says
    nothing."""
    readme = "python run.py -h\npython run.py --kind big --dim 4\n"
    sources = {"run.py": CHOOSES, "options.py": GIVES, "README.md": readme}
    found = [way for way in ways(tmp_path, sources) if way.way.position.path == "run.py"]
    assert {(way.target.callable, way.way.words) for way in found} == {
        ("Net", "with --kind small"),
        ("Net", "with --task two"),
        ("Big", "with --kind big"),
        ("Big", "with --task two"),
        ("Big", "as in README.md:2"),
    }


SIZED = """
import argparse
from net import Net
SMALL = dict(d=3)
SIZES = {"small": SMALL}
SIZES["large"] = dict(SMALL, d=9)
parser = argparse.ArgumentParser()
parser.add_argument("--size", choices=sorted(SIZES), default="small")
args = parser.parse_args()
Net(**SIZES[args.size])
"""


def test_each_key_of_a_table_of_variables(tmp_path):
    assert [text.partition(" >> ")[2] for text in told(tmp_path, {"fit.py": SIZED})] == [
        "Net(**SIZES[args.size])",
        "Net(**SIZES[args.size])  # with --size large",
    ]


def test_to_trace_a_model_runs_it():
    assert does_work("torch.jit.trace")
    assert not does_work("torch.jit.script")


LOWERED = """
import argparse
from net import Net
parser = argparse.ArgumentParser()
parser.add_argument("--dataset", default="Faces")
args = parser.parse_args()
if args.dataset.lower() == "faces":
    args.width = 7
elif args.dataset.lower().startswith("city"):
    args.width = 9
Net(args.width)
"""


def test_a_text_that_is_called_after_data_is_no_data(tmp_path):
    readme = "python fit.py --dataset cityscapes\n"
    found = told(tmp_path, {"fit.py": LOWERED, "README.md": readme})
    assert [text.partition(" >> ")[2] for text in found] == [
        "Net(args.width)",
        "Net(args.width)  # as in README.md:1",
    ]


def test_the_names_of_a_recipe_are_those_of_one_file(tmp_path):
    sources = {"wide.py": NET, "README.md": BLOCKS, "runner.py": USE + RUNNER}
    sources["main.py"] = f"{USE}from runner import Runner\nRunner(None, Config(d=7)).fit()\n"
    found = [(str(one.target), one.file, one.recipe.call) for one in ways(tmp_path, sources)]
    assert found == [
        ("net.py::Net", "main.py", "Net(self.c.d)"),
        ("net.py::Net", "net.py", "Net(3)"),
        ("wide.py::Net", "wide.py", "Net(4)"),
        ("wide.py::Net", "wide.py", "Net(5)"),
    ]


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


def test_an_option_is_also_the_other_keys_of_the_table_that_it_is_looked_up_in(tmp_path):
    sizes = "SIZES = {'s': dict(d=1), 'm': dict(d=2), 'l': dict(d=3)}\n"
    script = (
        "import argparse\nfrom sizes import SIZES as KNOWN\n"
        "parser = argparse.ArgumentParser()\n"
        "parser.add_argument('--net_name', default='s')\n"
        "args = parser.parse_args()\nNet(**KNOWN[args.net_name])\n"
    )
    found = ways(tmp_path, {"sizes.py": sizes, "fit.py": f"{USE}{script}"})
    notes = [way.way.words for way in found]
    assert notes == ["", "with --net_name m", "with --net_name l"]


def test_a_table_that_the_function_around_a_call_looks_up(tmp_path):
    files = {
        "net.py": NET,
        "sizes.py": "SIZES = {'s': dict(d=1), 'm': dict(d=2)}\n",
        "fit.py": "import argparse\nfrom sizes import SIZES\nfrom net import Net\n"
        "parser = argparse.ArgumentParser()\n"
        "parser.add_argument('--size', default='s', choices=list(SIZES))\n"
        "def build(args):\n    return Net(**SIZES[args.size])\n"
        "if __name__ == '__main__':\n    args = parser.parse_args()\n    build(args)\n",
    }
    notes = [way.way.words for way in ways(tmp_path, files) if "fit.py" in str(way.target)]
    assert notes == ["", "with --size m"]


def test_what_only_data_gives_is_as_by_default_where_that_is_usual(tmp_path):
    net = """
    from torch import nn
    class Net(nn.Module):
        def __init__(self, d, num_classes=1000, graph=None, width=7): pass
    """
    call = "Net(args_d, num_classes=n, graph=n.edges, width={})"
    script = (
        "from net import Net\nfrom torch.utils.data import DataLoader\nargs_d = 3\n"
        "n = DataLoader('x')\n{}\n"
    )
    by_place = "Net(args_d, n, n.edges, 8)"
    cases = (
        (call.format("8"), "Net(args_d, width=8)"),
        (call.format("n.width"), None),
        (by_place, "Net(args_d, width=8)"),
    )
    for text, expected in cases:
        files = {"net.py": net, "fit.py": script.format(text)}
        found = [way for way in ways(tmp_path, files) if way.way.position.path == "fit.py"]
        assert [way.recipe.call for way in found] == [expected][: bool(expected)]
        words = "num_classes, graph by default, not as n (fit.py:4) has it"
        assert [way.way.words for way in found] == [words][: bool(expected)]


TYPED = """
from dataclasses import dataclass
import {0}

@dataclass
class Args:
    width: int = 10

def main(args: Args, bias: bool = False):
    Net(args.width, bias)

if __name__ == "__main__":
    {1}(main)
"""


@pytest.mark.parametrize("name", ["tyro.cli", "jsonargparse.CLI"])
def test_libraries_give_functions_what_their_types_say(tmp_path, name):
    """They call a function that looks like it; the words of a command are theirs to read."""
    readme = "python fit.py --args.width 20 --seed 3\npython fit.py --help\n"
    script = TYPED.format(name.partition(".")[0], name)
    found = ways(tmp_path, {"README.md": readme, "fit.py": f"{USE}{script}"})
    assert [way.way.words for way in found] == ["", "as in README.md:1"]
    for way in found:
        assert f"    {name}(take)\n" in way.recipe.setup
        assert way.recipe.setup.endswith("args = options.args\nbias = options.bias")
    words = "sys.argv[1:] = ['--args.width', '20', '--seed', '3']"
    assert words in found[1].recipe.setup


CLICK = (
    "import click\n@click.command()\n@click.option('-d', '--depth', default=3)\n"
    "@click.option('--kind', default='1')\n@click.option('--wide', is_flag=True)\n"
)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (
            CLICK + "def main(depth, kind, wide):\n    Net(depth, kind, wide)\nmain()",
            ["Net(3, '1', False)", "Net(9, '2', True)"],
        ),
        (
            CLICK + "def main(**options):\n    Net(**options)\nmain()",
            [
                "options = {'depth': 3, 'kind': '1', 'wide': False}; Net(**options)",
                "options = {'depth': 9, 'kind': '2', 'wide': True}; Net(**options)",
            ],
        ),
        (
            "from click import command, option\n@command()\n@option('--depth', 'd', default=3)\n"
            "def main(d):\n    Net(d)\nmain()",
            ["Net(3)"],
        ),
        (
            "import click\n@click.command()\n@click.option('--depth', 'd', default=3)\n"
            "def main(d):\n    Net(d)\nmain()",
            ["Net(3)", "Net(9)"],
        ),
        (
            "import fire\ndef main(depth=3, kind='1', wide=False):\n    Net(depth, kind, wide)\n"
            "fire.Fire(main)",
            ["Net(3, '1', False)", "Net(9, '2', True)"],
        ),
        (
            "import typer\ndef main(depth: int, kind: str = typer.Option('1')):\n"
            "    Net(depth, kind)\ntyper.run(main)",
            ["Net(9, '2')"],
        ),
        (
            "import typer\ndef main(depth: int, size: str = typer.Option('1', '--kind', '-k')):\n"
            "    Net(depth, size)\ntyper.run(main)",
            ["Net(9, '2')"],
        ),
        ("import fire\ndef main(deep):\n    Net(deep)\nfire.Fire(main)", []),
    ],
)
def test_commands_give_functions_their_arguments(tmp_path, script, expected):
    readme = "python fit.py --depth 9 --kind=2 --wide\npython fit.py -x 3\n"
    found = ways(tmp_path, {"README.md": readme, "fit.py": f"{USE}{script}\n"})
    texts = ["; ".join(filter(None, (w.recipe.setup, w.recipe.call))) for w in found]
    assert texts == expected
    for way, text in zip(found, texts, strict=True):
        assert way.way.words == ("as in README.md:1" if "9" in text else "")


def test_a_class_that_an_option_names_may_be_called_by_a_variable(tmp_path):
    script = (
        "import argparse\nfrom net import *\n"
        "def train(args):\n    kind = args.kind\n    Model = {}\n    Model(d=args.d)\n"
        "parser = argparse.ArgumentParser()\nmodes = parser.add_subparsers(dest='mode')\n"
        "fit = modes.add_parser('fit')\nfit.add_argument('--kind', required=True)\n"
        "fit.add_argument('--d', type=int, default=3)\nargs = parser.parse_args()\ntrain(args)\n"
    )
    readme = "python train.py fit --kind=Other --d 4\n"
    net = f"{NET}\nclass Other(Net): pass\n"
    for value in ("eval(kind)", "globals()[kind]"):
        texts = {"net.py": net, "train.py": script.format(value), "README.md": readme}
        found = [w for w in ways(tmp_path, texts) if w.way.words == "as in README.md:1"]
        assert [way.target.callable for way in found] == ["Other"]
        assert [way.recipe.call for way in found] == ["Model(d=args.d)"]
        assert f"Model = {value}" in found[0].recipe.setup
        words = "sys.argv[1:] = ['fit', '--kind=Other', '--d', '4']"
        assert words in found[0].recipe.setup
        assert "fit = modes.add_parser('fit')" in found[0].recipe.setup


def test_groups_add_options_to_their_parser(tmp_path):
    text = (
        "import argparse\ndef parsed():\n    parser = argparse.ArgumentParser()\n"
        "    group = parser.add_argument_group('net')\n"
        "    other = group.add_mutually_exclusive_group()\n"
        "    other.add_argument('--d', type=int, default=3)\n"
        "    group.add_argument('--lr', default=1)\n"
        "    return parser.parse_args()\nargs = parsed()\nNet(args.d)"
    )
    inline = (
        text.replace("def parsed():\n", "").replace("\n    ", "\n").replace("return ", "args = ")
    )
    inline = inline.replace("args = parsed()\n", "")
    (way,) = ways(tmp_path, {"fit.py": f"{USE}{inline}\n"})
    lines = [
        "parser = argparse.ArgumentParser()",
        "group = parser.add_argument_group('net')",
        "other = group.add_mutually_exclusive_group()",
        "other.add_argument('--d', type=int, default=3)",
        "args = parser.parse_args([])",
    ]
    assert (way.recipe.setup or "").splitlines()[-5:] == lines


def test_a_command_sets_the_variables_before_it(tmp_path):
    script = (
        "import argparse\nfrom net import Net\np = argparse.ArgumentParser()\n"
        "p.add_argument('--d', type=int, default=3)\n"
        "def build(args=None):\n    args = args or p.parse_args()\n    return Net(args.d)\nbuild()"
    )
    readme = "    NET_SIZE=8 OTHER=1 python train.py --d 4\n    NET_SIZE=9 python train.py\n"
    texts = {"net.py": READS, "train.py": script, "README.md": readme}
    found = [way for way in ways(tmp_path, texts) if way.target.callable == "Net"]
    starts = [(w.recipe.setup or "").partition("p = ")[0] for w in found]
    variable = "import os\nos.environ.update(NET_SIZE='{}')\n"
    assert starts == [
        "",
        f"{variable.format(8)}import sys\nsys.argv[1:] = ['--d', '4']\n",
        variable.format(9),
    ]


def test_commands_say_which_config_hydra_composes(tmp_path):
    script = (
        "from importlib.resources import files\nimport hydra\n"
        "@hydra.main(config_path=str(files('zoo') / 'conf'), config_name=None)\n"
        "def main(cfg):\n    kind = hydra.utils.get_class(cfg.kind)\n    Net(kind(cfg.d))\n"
    )
    readme = "python fit.py --config-name small.yaml lr=3 net.d=4\npython fit.py -cn large -m\n"
    texts = {"README.md": readme, "fit.py": f"{USE}{script}"}
    setups = [way.recipe.setup or "" for way in ways(tmp_path, texts)]
    composed = [setup.partition(".compose(")[2].partition("'hydra/")[0] for setup in setups]
    assert composed == ["'small', overrides=['lr=3', 'net.d=4', ", "'large', overrides=["]
    for setup in setups:
        assert "os').path.abspath(str(files('zoo') / 'conf')), version_base=None)" in setup
        assert "kind = hydra.utils.get_class(cfg.kind)" in setup
    assert ways(tmp_path, {"README.md": "", "fit.py": f"{USE}{script}"}) == []


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("a.py --lr 3 --name x", "['a.py', '--lr', '3', '--name', 'x']"),
        ("--lr 3 a.py --best", "['a.py', '--lr', '3', '--best']"),
        ("--lr 3 --name x", ""),
        ("fit a.py", ""),  # which is which is not known
    ],
)
def test_a_command_gives_arguments_that_another_file_parses(tmp_path, words, expected):
    options = """
    import argparse
    def merged():
        parser = argparse.ArgumentParser()
        parser.add_argument("config")
        parser.add_argument("--lr", type=float)
        parser.add_argument("--best", action="store_true")
        parser.add_argument("--name")
        args = parser.parse_args()
        return args, read(args.config)
    """
    script = "from options import merged\nargs, config = merged()\nNet(config.d)\n"
    readme = f"python fit.py {words}"
    texts = {"options.py": options, "fit.py": f"{USE}{script}", "README.md": readme}
    found = [way for way in told(tmp_path, texts) if "README" in way]
    lines = [way.replace("\nargs, config = merged() >> Net(config.d)", "") for way in found]
    whole = f"import sys\nsys.argv[1:] = {expected}  # as in README.md:1"
    assert lines == [whole][: bool(expected)]


@pytest.mark.parametrize(
    ("body", "is_run"),
    [
        ("return {'a': 3, 'b': 4}[name]", True),
        ("with open(name) as f: return len([line.strip() for line in f])", True),
        ("return DataLoader(name).size", False),
        ("return load_vocabulary(name)", False),  # of one function only
        ("return requests.get(name)", False),
    ],
)
def test_a_function_that_only_makes_a_value_is_run_whatever_its_name(tmp_path, body, is_run):
    data = f"import requests\ndef load_vocabulary(name):\n    {body}\n"
    script = "from data.sets import load_vocabulary\nd = load_vocabulary('a')\nNet(d)\n"
    found = ways(tmp_path, {"data/sets.py": data, "fit.py": f"{USE}{script}"})
    assert [way.recipe.call for way in found] == ["Net(d)"][:is_run]


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
    # Loading the script changes them; else the model is built in its own file.
    built = [(way.file, way.recipe.setup, way.recipe.call) for way in ways(tmp_path, files)]
    assert built == [("train.py" if statement else "net.py", None, "Net(3)")]


def test_a_config_class_in_a_file_about_data_is_no_data(tmp_path):
    script = "from data.utils import DataConfig, Frames\nfrom net import Net\n"
    script += "Net(DataConfig(3).n)\nNet(Frames(4).n)\n"
    data = "class DataConfig:\n    n: int = 3\nclass Frames:\n    n = 4\n"
    (way,) = ways(tmp_path, {"net.py": NET, "data/utils.py": data, "train.py": script})
    assert way.recipe.call == "Net(DataConfig(3).n)"


def test_a_file_of_ini_is_read_as_the_script_does(tmp_path):
    script = (
        "import configparser\nfrom net import Net\ndef main():\n"
        "    ini = configparser.ConfigParser()\n    ini.read('net.ini')\n"
        "    Net(ini.getint('net', 'd'))\nmain()\n"
    )
    (way,) = ways(tmp_path, {"net.py": NET, "train.py": script})
    assert way.recipe.setup == "ini = configparser.ConfigParser()\nini.read('net.ini')"


@pytest.mark.parametrize(
    ("statement", "slice_of_it"),
    [
        ("c = C()\n    c.tune()", "c = C()\nc.tune()"),
        ("c = C()\n    c.show()", "c = C()"),
        ("c = C()\n    widen(c)", "c = C()\nwiden(c)"),
        ("c = C()\n    narrow(c)", "c = C()\nnarrow(c)"),
        ("c = C()\n    look(c)", "c = C()"),
        ("c = C()\n    with changed(c, d=3):\n        pass", "c = C()"),
        (
            "c = C()\n    with changed(c, d=3):\n        d = c.d\n    c.d = d",
            "c = C()\nwith changed(c, d=3):\n    d = c.d\nc.d = d",
        ),
    ],
)
def test_what_functions_and_methods_of_the_project_change(tmp_path, statement, slice_of_it):
    conf = (
        "from contextlib import contextmanager\nclass C:\n    def tune(self):\n        self.d = 4\n"
        "    def show(self):\n        print(self.d)\n"
        "def widen(c):\n    c['d'] = 4\ndef narrow(c):\n    vars(c).update(d=4)\n"
        "def look(c):\n    print(c)\n"
        "@contextmanager\ndef changed(c, **k):\n    vars(c).update(k)\n    yield\n"
    )
    script = (
        "from conf import C, changed, look, narrow, widen\nfrom net import Net\n"
        f"def main():\n    {statement}\n    Net(c.d)\nmain()\n"
    )
    (way,) = ways(tmp_path, {"net.py": NET, "conf.py": conf, "train.py": script})
    assert way.recipe.setup == slice_of_it


@pytest.mark.parametrize(
    ("statement", "kept"),
    [
        ("cfg.merge_from_file(args.cfg)", True),
        ("if args.cfg:\n        cfg_from_file(args.cfg)", True),
        ("cfg.merge_from_list(download(args.cfg))", False),
    ],
)
def test_what_main_does_to_a_config_of_another_file(tmp_path, statement, kept):
    """It is done, or it is told: the model reads it."""
    script = (
        "import argparse\nfrom settings import cfg, cfg_from_file\nfrom net import Net\n"
        "def main():\n    parser = argparse.ArgumentParser()\n"
        "    parser.add_argument('--cfg', default='a.yaml')\n    args = parser.parse_args()\n"
        f"    {statement}\n    Net(3)\n"
    )
    net = "from torch import nn\nfrom settings import cfg\nclass Net(nn.Module): pass\n"
    files = {"net.py": net, "settings.py": "cfg = Config()\n", "train.py": script}
    (found,) = [text for text in told(tmp_path, files) if "Net(3)" in text]
    assert (statement.replace("\n    ", "\n") in found) is kept
    assert found.endswith("# cfg as it is before train.py:8 sets it") is not kept


def test_options_by_which_the_function_that_parses_them_sets_others(tmp_path):
    """`args.rows` is one of them; a command that gives any of them gives it all its words."""
    script = (
        "import argparse\nfrom net import Net\ndef get_args():\n"
        "    parser = argparse.ArgumentParser()\n"
        "    parser.add_argument('--data', default='a', choices=['a', 'b'])\n"
        "    parser.add_argument('--name', default='x', choices=['x', 'y'])\n"
        "    args = parser.parse_args()\n    args.folder = args.name\n"
        "    if args.data == 'a':\n        args.rows = 3\n    else:\n        args.rows = 4\n"
        "    return args\nargs = get_args()\nNet(args.rows)\n"
    )
    found = told(tmp_path, {"net.py": NET, "train.py": script})
    assert [text.partition(" >> ")[2] for text in found] == [
        "Net(args.rows)",
        "Net(args.rows)  # with --data b",
    ]
    commands = {"README.md": "    python train.py --data b --name y\n"}
    found = told(tmp_path, {"net.py": NET, "train.py": script, **commands})
    assert found[1].startswith("import sys\nsys.argv[1:] = ['--data', 'b', '--name', 'y']")


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


def test_a_class_of_a_module_that_an_option_names(tmp_path):
    script = (
        "import argparse\nfrom importlib import import_module\n"
        "parser = argparse.ArgumentParser()\nparser.add_argument('--model', default='a')\n"
        "args = parser.parse_args()\n"
        "module = import_module('models.{}'.format(args.model))\n"
        'Kind = getattr(module, "Model")\nmodel = Kind(3)\n'
    )
    model = (
        "from torch import nn\nclass Model(nn.Module):\n    def __init__(self, d):\n        ...\n"
    )
    found = ways(tmp_path, {"run.py": script, "models/a.py": model, "models/b.py": model})
    assert [str(way.target) for way in found] == ["models/a.py::Model"]


@pytest.mark.parametrize("module", ["net", "torchvision.models"])
def test_what_is_looked_up_and_called_without_arguments(tmp_path, module):
    """As PyTorch's own examples do it: the option is needed, though no argument is. What another
    package has by that name is none of the project."""
    script = (
        f"import argparse\nimport {module} as nets\n"
        "names = sorted(n for n in nets.__dict__ if n.islower() and callable(nets.__dict__[n]))\n"
        "parser = argparse.ArgumentParser()\n"
        "parser.add_argument('-a', '--arch', default='small', choices=names)\n"
        "def main():\n    args = parser.parse_args()\n    worker(args.gpu, args)\n"
        "def worker(gpu, args):\n    args.gpu = gpu\n    model = nets.__dict__[args.arch]()\n"
        "parser.add_argument('--gpu', type=int)\n"
    )
    net = f"{NET}\ndef small(d=3):\n    return Net(d)\n"
    found = told(tmp_path, {"main.py": script, "net.py": net})
    looked_up = [text.partition("args = ")[2] for text in found if "nets" in text]
    built = "parser.parse_args([])\ngpu = args.gpu\nargs.gpu = gpu >> nets.__dict__[args.arch]()"
    assert looked_up == [built] * (module == "net")


def test_a_registry_of_another_package_may_have_models_of_the_project(tmp_path):
    """What `create_model` of timm looks up, the project has registered."""
    script = (
        "import argparse\nfrom timm.models import create_model\n"
        "parser = argparse.ArgumentParser()\nparser.add_argument('--model', default='small')\n"
        "args = parser.parse_args()\ncreate_model(args.model, d=3)\n"
    )
    net = f"{NET}\ndef small(d):\n    return Net(d)\n"
    calls = [way.recipe.call for way in ways(tmp_path, {"main.py": script, "net.py": net})]
    assert "create_model(args.model, d=3)" in calls


def test_what_other_files_set_of_the_options_later_is_told(tmp_path):
    later = "class Exp:\n    def build(self):\n        self.args.dim = 2\n        args.rows = 3\n"
    files = {"zoo.py": ZOO, "run.py": SCRIPT}
    assert "  # " not in told(tmp_path, files)[0]
    found = told(
        tmp_path, {**files, "exp.py": f"{later}        self.args.classes = rows.dim = 4\n"}
    )
    assert found[0].endswith("  # dim and 1 more as it is before exp.py:3 sets it")


def test_two_scripts_may_have_functions_of_one_name(tmp_path):
    script = "from net import Net\ndef get_config():\n    return {{'d': {}}}\n"
    script += "config = get_config()\nNet(config['d'])\n"
    found = ways(tmp_path, {"net.py": NET, "a.py": script.format(3), "b.py": script.format(4)})
    assert [way.file for way in found if way.target.location == "net.py"] == ["a.py", "b.py"]


@pytest.mark.parametrize(
    "launch",
    [
        "mp.spawn(work.run, args=(config, 'a'), nprocs=2)",
        "mp.Process(target=work.run, args=(0, config, 'a'))",
        "launch(rank=0, config=config, name='a', func=work.run)",
    ],
)
def test_what_is_launched_gets_its_arguments_from_another_file(tmp_path, launch):
    files = {
        "net.py": NET,
        "work.py": "from net import Net\ndef run(rank, config, name):\n    Net(config['d'])\n",
        "main.py": f"import work\nimport multiprocessing as mp\nconfig = {{'d': 3}}\n{launch}\n",
    }
    found = told(tmp_path, files)
    assert found == ["from work import Net >> Net(config['d'])"]


def test_whatever_gets_a_parser_adds_options_to_it(tmp_path):
    script = (
        "import argparse\nfrom net import Net\ndef sizes(parser):\n"
        "    parser.add_argument('--d', type=int, default=3)\n"
        "parser = argparse.ArgumentParser()\nsizes(parser)\nprint(parser)\n"
        "args = parser.parse_args()\nNet(args.d)\n"
    )
    (found,) = ways(tmp_path, {"net.py": NET, "a.py": script})
    assert "sizes(parser)\n" in found.recipe.setup


def test_of_two_calls_that_are_the_same_that_of_a_script_is_kept(tmp_path):
    call = "from net import Net\nNet(d=3)\n"
    found = ways(tmp_path, {"test_net.py": call, "train.py": call})
    assert [way.way.position.path for way in found] == ["train.py"]
