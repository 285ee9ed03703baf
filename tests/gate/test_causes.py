"""What a broken budget says of its cause: every way in which a count can change, in one project."""

from __future__ import annotations

import json
import re

import pytest
from model_source import model_class
from sample_files import BUILDS_BY_JSON, write_files
from sample_repository import Sample

HEAD = """\
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, d, mult=4):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.fc = nn.Linear(d, mult * d)
        self.proj = nn.Linear(mult * d, d)
"""
# A model each: its budget, its body, and what is edited in it.
CASES = {
    "wider": (
        "1_136",
        "self.h = nn.ModuleList(Block(8, 4) for _ in range(2))",
        ("Block(8, 4)", "Block(8, 5)"),
    ),
    "deeper": (
        "1_136",
        "self.h = nn.ModuleList(Block(8) for _ in range(2))",
        ("range(2)", "range(4)"),
    ),
    "inserted": (
        "72 + 90",
        "self.net = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 10))",
        ("nn.Linear(8, 10)", "nn.LayerNorm(8), nn.Linear(8, 10)"),
    ),
    "untied": (
        "80",
        "self.wte = nn.Embedding(10, 8)\n"
        "self.head = nn.Linear(8, 10, bias=False)\n"
        "self.head.weight = self.wte.weight",
        ("self.head.weight = self.wte.weight", "self.head.requires_grad_(True)"),
    ),
    "tied": (
        "160",
        "self.wte = nn.Embedding(10, 8)\n"
        "self.head = nn.Linear(8, 10, bias=False)\n"
        "self.head.requires_grad_(True)",
        ("self.head.requires_grad_(True)", "self.head.weight = self.wte.weight"),
    ),
    "unbiased": (
        "90",
        "self.fc = nn.Linear(8, 10, bias=True)",
        ("bias=True", "bias=False"),
    ),
    "hidden": (
        "144",
        "self.fcs = nn.ModuleList([nn.Linear(8, 8), nn.Linear(8, 8)])",
        ("nn.ModuleList([nn.Linear(8, 8), nn.Linear(8, 8)])", "[nn.Linear(8, 8), nn.Linear(8, 8)]"),
    ),
    "retyped": (
        "72",
        "self.act = nn.Linear(8, 8)",
        ("nn.Linear(8, 8)", "nn.Bilinear(8, 8, 8)"),
    ),
    "frozen[trainable]": (
        "1_136",
        "self.h = nn.ModuleList(Block(8) for _ in range(2)).requires_grad_(True)",
        ("True", "False"),
    ),
    "thawed[frozen]": (
        "72",
        "self.fc = nn.Linear(8, 8).requires_grad_(False)",
        ("False", "True"),
    ),
    "half[bytes]": (
        "360",
        "self.fc = nn.Linear(8, 8)\nself.norm = nn.BatchNorm1d(8, affine=False)\n"
        "self.to(torch.float32)",
        ("torch.float32", "torch.float16"),
    ),
    "dense": (
        "2_368",
        "self.h = nn.ModuleList(nn.Linear(8 * i + 8, 8) for i in range(8))",
        ("8 * i + 8, 8", "8 * i + 8, 9"),
    ),
    "part[h.*]": (
        "72",
        "self.h = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))\nself.fc = nn.Linear(8, 8)",
        ("nn.Linear(8, 8) for", "nn.Linear(9, 8) for"),
    ),
}


OTHERS = (
    "from torch import nn\n\nWIDTH = {width}\n\n\ndef width():\n    return 2 * WIDTH\n"
    + model_class("One", "self.a = nn.Linear({width} - 2, 1)  # {width}", doc="nparam: 3")
    + model_class("Base", "self.b = nn.Linear(width(), 1)")
    + '\n\nclass Two(Base):\n    """nparam: 9"""\n'
    + model_class("Three", "self.c = nn.Linear(5, 1)", doc="nparam: 6")
)
STACKED = """\
from torch import nn

import sizes


class Far(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(sizes.WIDTH, 4)


class Held(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 2, bias={bias})
        self.out = nn.Linear(3, 2, bias={bias})
"""
STACK = '''\
from torch import nn

from stacked import {layer}


class {layer}{n}(nn.Module):
    """nparam: {n} * 16"""

    def __init__(self):
        super().__init__()
        self.layers{n} = nn.ModuleList({layer}() for _ in range({n}))
'''
FEED = '''\
from torch import nn
\f
class {name}(nn.Module):
    """nparam: {budget}"""

    def __init__(self, wide={wide}):
        super().__init__()
        self.fc = nn.Linear(8, wide){more}

        self.act = nn.ReLU()
'''
BUILDS = """\


def build(path="{path}"):
    return Net(json.load(open(path)))
"""
READS = model_class("Net", "self.fc = nn.Linear(h['d'], 8)", doc="{doc}", takes="h")


def sources(edited):
    """The project before and after all edits: each of another kind, in files of its own."""
    parts = [HEAD]
    for name, (budget, body, edit) in CASES.items():
        called, bracket, rest = name.partition("[")
        layers = body.replace(*edit) if edited else body
        parts.append(model_class(called.title(), layers, doc=f"nparam{bracket}{rest}: {budget}"))
    files = {
        "nets.py": "\n\n".join(parts),
        "others.py": OTHERS.format(width=5 if edited else 4),
        "sizes.py": f"WIDTH = {4 if edited else 3}\nOTHER = {4 if edited else 3}\n",
        "stacked.py": STACKED.format(bias=not edited),
        "net.py": "from torch import nn\n" + READS.format(doc="It is new." if edited else ""),
        "other.json": "2" if edited else "1",
        "nparam-lint.toml": '[budgets]\n"small.json" = 72\n"build.py::build" = 72\n',
    }
    for path, script in ("small.json", "train.py"), ("big.json", "build.py"):
        files[path] = '{\n  "d": 9\n}\n' if edited else '{\n  "d": 8\n}\n'
        source = BUILDS_BY_JSON + BUILDS.format(path=path)
        files[script] = source.replace("small.json", path)
    for layer in ("Far", "Held"):
        files |= {f"{layer}{n}.py": STACK.format(layer=layer, n=n) for n in (1, 2)}
    more = "" if edited else "\n        self.b = nn.LayerNorm(4, bias=False)"
    wide = 11 if edited else 10
    files["feed.py"] = FEED.format(name="Feed", budget=90, wide=wide, more="")
    files["less.py"] = FEED.format(name="Less", budget=103, wide=11, more=more)
    return files


@pytest.fixture
def sample(tmp_path, environ):
    return Sample.create(tmp_path / "r", environ)


@pytest.fixture
def place(sample):
    return sample.path


def test_the_cause_is_what_was_edited(sample, nparam_lint, transcript, expected):
    """In what was built, and in the source: shown and underlined. A model is not explained by an
    edit of another; and the causes add up to the difference."""
    sample.committed(sources(edited=False))
    sample.write(sources(edited=True))
    said = transcript("check --declared -qv", columns=100, **sample.environ)
    done = nparam_lint("--declared", "--format", "json", cwd=sample.path, **sample.environ)
    broken = [f for f in json.loads(done.stdout)["findings"] if f["code"] == "NPL001"]
    assert len(broken) > len(CASES)
    for finding in broken:
        told = re.search(r": ([+-][\d,]+)( \(|$)", finding["message"])
        assert sum(one["delta"] for one in finding["changes"]) == int(told[1].replace(",", ""))
    said |= compared(sample, transcript)
    expected(said | told_as_one(sample, transcript))
    done = nparam_lint("--format", "gitlab", cwd=sample.path, **sample.environ)
    words = json.loads(done.stdout)[0]["description"].partition("; ")[2]
    assert words == "changed since HEAD, when it had 2: ~ f.fc 1×1 → 2×1 +2 layers.py:7"


NET = """\
from torch import nn


class Net(nn.Module):
    def __init__(self, d=8):
        super().__init__()
        self.fc = nn.Linear(d, {out})
"""
CONFIG = '[budgets]\n"{place}::Net" = "{budget}"\n'


def compared(sample, transcript):
    """Two commits, the second of which moves the model and breaks its budget; then edits."""
    said = {}

    def note(state, options="", **more):
        told = transcript(f"check --declared -q {options}", **sample.environ, **more)
        said.update((f"{name}, {state}", text) for name, text in told.items())

    sample.git("rm", "-rqf", ".")
    sample.committed(
        {"a.py": NET.format(out="d"), "nparam-lint.toml": CONFIG.format(place="a.py", budget=72)}
    )
    sample.git("tag", "v1")
    sample.git("mv", "a.py", "b.py")
    sample.committed(
        {"b.py": NET.format(out="2*d"), "nparam-lint.toml": CONFIG.format(place="b.py", budget=72)}
    )
    note("of a commit that breaks it")
    note("of a tag", "--since v1")
    sample.git("update-ref", "refs/remotes/origin/main", "v1")
    note("of a pull request", GITHUB_BASE_REF="main")
    sample.write({"nparam-lint.toml": CONFIG.format(place="b.py", budget=73)})
    note("of a new budget")
    sample.write({"b.py": NET.format(out="3*d")})
    note("of one that was broken before")
    # Below a line with a new one the words that changed are underlined.
    sample.write({"b.py": NET.format(out="3*d").rstrip() + "\n        self.act = nn.ReLU()\n"})
    note("of an edit above a new line")
    note("of no revision", "--since v2")
    return said


LAYER = """\
from torch import nn


class Layer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, {out})
"""
MODEL = '''\
from torch import nn

from layers import Layer


class {name}(nn.Module):
    """nparam: {total}"""

    def __init__(self):
        super().__init__()
        self.f = Layer({d})
'''


def told_as_one(sample, transcript):
    """What one edit broke is one finding."""
    sample.git("rm", "-rqf", ".")
    totals = {1: "2", 2: "6", 3: "10 .. 13", 4: "20", 5: "30", 6: "42"}
    files = {
        f"m{d}.py": MODEL.format(name=f"Model{d}", total=total, d=d) for d, total in totals.items()
    }
    files["nparam-lint.toml"] = '[budgets]\n"m6.py::Model6[f]" = "42"\n'
    sample.committed(files | {"layers.py": LAYER.format(out="d")})
    sample.add({"layers.py": LAYER.format(out="2 * d")})
    return transcript("check --declared -q --staged", **sample.environ)


def test_of_many_findings_the_later_ones_are_short(tmp_path, nparam_lint):
    """And without a repository the heaviest modules are told, where no table has them."""
    nets = "".join(
        model_class(f"Net{n}", f"self.f = nn.Linear({n}, 1)", doc="nparam: 1") for n in range(1, 9)
    )
    write_files(tmp_path, {"a.py": f"from torch import nn\n{nets}"})
    texts = [nparam_lint(*more, cwd=tmp_path).stdout for more in (["-q"], ["-qv"], [])]
    assert [text.count("if the change is intended") for text in texts] == [5, 8, 5]
    assert [text.count("NPL001  Net") for text in texts] == [8, 8, 8]
    assert ["The rest in short (-v: in full):\n" in text for text in texts] == [True, False, True]
    assert ["heaviest modules:\n" in text for text in texts] == [True, True, False]
    assert ["f         Linear" in text for text in texts] == [False, False, True]
    assert not any("since" in text for text in texts)
