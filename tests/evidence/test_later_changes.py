"""What scripts do to a model after the call that makes it."""

from __future__ import annotations

import re

import pytest
from test_calls import told

NET = """
from torch import nn

class Net(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, 3)
        self.blocks = nn.ModuleList()

    def build(self, rows):
        self.table = nn.Embedding(rows, 2)
        return self

    def add_both(self):
        for block in self.blocks:
            self.add(block)

    def add(self, block):
        block.low = nn.Tanh()

    def prepare(self):
        self.is_ready = True
        return self
"""
LORA = """
from torch import nn

def adapted(model, r):
    for block in model.blocks:
        put_into(block, r)
    return model

def put_into(block, r):
    setattr(block, "low", nn.Linear(2, r))

def converted(module):
    for name, child in module.named_children():
        setattr(module, name, converted(child))
    return module

class Tools:
    def cut(self, model):
        del model.fc

def probe(model):
    probes = []
    probes.append(nn.Linear(model.d, 2))
    return probes

KINDS = [adapted]

class Trainer:
    def __init__(self, model):
        model.fc = nn.Tanh()

class Holder:
    def __init__(self, model):
        self.model = model
        self.model.fc = nn.Tanh()

def initialize(model):
    model.fc.bias.data.zero_()
    model.is_new = True
"""
START = "import torch\nfrom torch import nn\nfrom lora import *\nfrom net import Net\n"


@pytest.mark.parametrize(
    ("script", "changes"),
    [
        ("net = Net(3)\nnet.fc = nn.Linear(3, 9)", "net.fc = nn.Linear(3, 9)"),
        (  # what it needs of the statements between, and nothing else of them
            "net = Net(3).cuda()\nn = net.fc.in_features\nprint(n)\nnet.fc = nn.Linear(n, 9)\n"
            "net.fc.bias.data.zero_()\nloss = net.loss = nn.MSELoss()",
            "n = net.fc.in_features\nnet.fc = nn.Linear(n, 9)",
        ),
        (
            "net = Net(3)\nnet.fc.weight = net.blocks[0].weight",
            "net.fc.weight = net.blocks[0].weight",
        ),
        ("net = Net(3)\nnet.blocks[0] = nn.Identity()", "net.blocks[0] = nn.Identity()"),
        ("net = Net(3)\nnet.blocks.append(nn.Tanh())", "net.blocks.append(nn.Tanh())"),
        ("net = Net(3)\ndel net.fc", "del net.fc"),
        ("net = Net(3)\nadapted(net, 4)\nnet.train()", "adapted(net, 4)"),
        ("net = adapted(Net(3), r=4)", "net = adapted(net, r=4)"),
        ("net = Net(3)\nnet = adapted(net, r=4)\nnet = net.to('cpu')", "net = adapted(net, r=4)"),
        ("net = Net(3)\nnet.build(50)", "net.build(50)"),
        ("net = Net(3).build(50)", "net = net.build(50)"),
        ("net = Net(3)\nif True:\n    print(1)\n    net.build(50)", "if True:\n    net.build(50)"),
        ("net = Net(3)\nwith torch.no_grad():\n    net.build(50)", "net.build(50)"),
        ("if 1:\n    net = Net(3)\nelse:\n    net = Net(2)\nnet.build(5)", "net.build(5)"),
        (  # what may not run gives another value then
            "net = Net(3)\nn = 4\nif D:\n    n = 5\nnet.fc = nn.Linear(3, n)",
            "n = 4\nif D:\n    n = 5\nnet.fc = nn.Linear(3, n)",
        ),
        (
            "net = Net(3)\nn = 4\nif D:\n    n = 5\n    net.fc = nn.Linear(3, n)\nnet.build(n)",
            "n = 4\nif D:\n    n = 5\n    net.fc = nn.Linear(3, n)\nnet.build(n)",
        ),
        # Parts that are taken away, tied, cut, or found in it by other names.
        ("net = Net(3)\nnet.blocks = net.blocks[:2]", "net.blocks = net.blocks[:2]"),
        ("net = Net(3)\nnet.fc = None", "net.fc = None"),
        ("net = Net(3)\nnet.blocks.pop(-1)", "net.blocks.pop(-1)"),
        ("net = Net(3)\nsetattr(net, 'fc', nn.Tanh())", "setattr(net, 'fc', nn.Tanh())"),
        ("net = Net(3)\nconverted(net)", "converted(net)"),
        ("net = Net(3)\nTools().cut(net)", None),
        ("net = Net(3)\ntools = Tools()\ntools.cut(net)", "tools = Tools()\ntools.cut(net)"),
        ("net = Net(3)\nKINDS[0](net)", "KINDS[0](net)"),
        ("net = Net(3)\nnet.add_both()", "net.add_both()"),
        (
            "net = Net(3)\nfirst = net.blocks\nfirst[0] = nn.Tanh()",
            "first = net.blocks\nfirst[0] = nn.Tanh()",
        ),
        (
            "net = Net(3)\nwhile len(net.blocks):\n    net.blocks.pop()",
            "while len(net.blocks):\n    net.blocks.pop()",
        ),
        ("net = b = Net(3)\nb.fc = nn.Tanh()", "b = net\nb.fc = nn.Tanh()"),
        ("net, size = Net(3), 4\nnet.fc = nn.Linear(3, 9)", "net.fc = nn.Linear(3, 9)"),
        (  # it may end before
            "net = Net(3)\nif D:\n    exit()\nnet.fc = nn.Linear(3, 9)",
            "if D:\n    return net\nnet.fc = nn.Linear(3, 9)",
        ),
        (
            "def main():\n    def cut(m):\n        del m.fc\n    net = Net(3)\n    cut(net)",
            "cut(net)",
        ),
        (
            "net = Net(3)\nfor m in net.children():\n    m.low = nn.Tanh()",
            "for m in net.children():\n    m.low = nn.Tanh()",
        ),
        (  # and what is frozen then
            "net = Net(3)\nfor p in net.parameters():\n    p.requires_grad = False\n"
            "net.blocks[0].requires_grad_(True)\nnet.fc = nn.Linear(3, 9)",
            "for p in net.parameters():\n    p.requires_grad = False\n"
            "net.blocks[0].requires_grad_(True)\nnet.fc = nn.Linear(3, 9)",
        ),
        # What changes nothing, and what has the name later.
        ("net = Net(3)\nnet.requires_grad_(False)", None),
        ("net = Net(3)\nprobe(net)", None),
        ("net = Net(3)\nfor net in nets:\n    net.fc = nn.Linear(3, 9)", None),
        ("net = Net(3)\nnet.prepare()\ninitialize(net)\nnet.eval()", None),
        ("net = Net(3)\nnet = other()\nnet.fc = nn.Linear(3, 9)", None),
        ("Net(3)\nnet.fc = nn.Linear(3, 9)", None),
    ],
)
def test_what_is_done_to_a_model_belongs_to_the_way(tmp_path, script, changes):
    files = {"net.py": NET, "lora.py": LORA, "train.py": f"{START}{script}\n"}
    found = [text for text in told(tmp_path, files) if "Net(3)" in text]
    if changes is None:
        assert found == [">> Net(3)"]
    else:
        assert len(found) == 1
        body, _, note = found[0].partition(" >> with_changes(Net(3))  # as train.py:")
        lines = body.partition("def with_changes(net):\n")[2].splitlines()
        assert "\n".join(line[4:] for line in lines) == f"{changes}\nreturn net"
        assert note.endswith(" changes the model")


@pytest.mark.parametrize(
    "script",
    [
        "net = Net(3)\nnet = nn.DataParallel(net)\nnet.module.fc = nn.Linear(3, 9)",
        "net = Net(3)\nTrainer(net)",
        "net = Net(3)\nHolder(net)",
        "part = 3\ndel part.fc\nnet = Net(part)",
        "part = 3\nadapted(part, 2)\nnet = Net(part)",
        # In another method of the object.
        "class Runner:\n    def start(self):\n        self.net = Net(3)\n"
        "    def adapt(self):\n        self.net.fc = nn.Tanh()",
    ],
)
def test_what_is_done_by_what_has_the_model_is_told(tmp_path, script):
    files = {"net.py": NET, "lora.py": LORA, "train.py": f"{START}{script}\n"}
    (found,) = [text for text in told(tmp_path, files) if "Net(" in text]
    assert re.search(r"Net\(\w+\)  # before train.py:\d changes the model$", found)


def test_what_the_caller_of_a_builder_changes_is_told(tmp_path):
    make = "from net import Net\ndef make(d):\n    net = Net(d, 2)\n    return net\n"
    script = f"{START}from make import make\nnet = make(3)\nnet.fc = nn.Linear(3, 9)\n"
    files = {"net.py": NET.replace("(self, d)", "(self, d, h)"), "make.py": make}
    every = told(tmp_path, {**files, "lora.py": LORA, "train.py": script})
    (inner,) = [text for text in every if "Net(" in text]
    assert inner.endswith("Net(3, 2)  # before train.py:7 changes the model")
    (outer,) = [text for text in every if "with_changes(make(3))" in text]
    assert outer.endswith("# as train.py:7 changes the model")


def test_neither_of_two_changes_is_forgotten(tmp_path):
    """The one of the builder needs what is not run; the other is its caller's."""
    make = "from torch import nn\nfrom net import Net\ndef make(d):\n    net = Net(d, 2)\n"
    make += "    net.fc = nn.Linear(3, len(load_classes()))\n    return net\n"
    script = f"{START}from make import make\nnet = make(3)\nnet.fc = nn.Linear(3, 9)\n"
    files = {"net.py": NET.replace("(self, d)", "(self, d, h)"), "make.py": make}
    every = told(tmp_path, {**files, "lora.py": LORA, "train.py": script})
    (inner,) = [text for text in every if "Net(" in text]
    both = "before train.py:7 changes the model; before make.py:5 changes the model"
    assert inner.endswith(f"Net(3, 2)  # {both}")


def test_what_is_not_run_is_told(tmp_path):
    """Where the change needs what is not run, the model is as it is before; in its own class it is
    called by its name."""
    script = f"{START}net = Net(3)\nnet.fc = nn.Linear(3, len(load_classes()))\n"
    files = {"net.py": NET, "lora.py": LORA, "train.py": script}
    assert told(tmp_path, files) == [">> Net(3)  # before train.py:6 changes the model"]
    inner = "class Runner:\n    def start(self, d=3):\n        self.net = Net(d)\n"
    inner += "        self.net.fc = nn.Linear(d, 9)\n"
    (found,) = told(tmp_path, {**files, "train.py": f"{START}{inner}"})
    assert "d = 3\ndef with_changes(net):\n    net.fc = nn.Linear(d, 9)\n    return net" in found
