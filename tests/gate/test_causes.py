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
# A model each: its budget, its body, what is edited in it, and what is said of that.
CASES = {
    "wider": (
        "1_136",
        "self.h = nn.ModuleList(Block(8, 4) for _ in range(2))",
        ("Block(8, 4)", "Block(8, 5)"),
        ["~ h.0…1.fc 32×8 → 40×8 2 144", "~ h.0…1.proj 8×32 → 8×40 2 128"],
    ),
    "deeper": (
        "1_136",
        "self.h = nn.ModuleList(Block(8) for _ in range(2))",
        ("range(2)", "range(4)"),
        ["+ h.2…3 Block 2 1136"],
    ),
    "inserted": (
        "72 + 90",
        "self.net = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 10))",
        ("nn.Linear(8, 10)", "nn.LayerNorm(8), nn.Linear(8, 10)"),
        ["+ net.1 LayerNorm 1 16"],
    ),
    "untied": (
        "80",
        "self.wte = nn.Embedding(10, 8)\n"
        "self.head = nn.Linear(8, 10, bias=False)\n"
        "self.head.weight = self.wte.weight",
        ("self.head.weight = self.wte.weight", "self.head.requires_grad_(True)"),
        ["~ head weight is no longer tied to wte.weight 1 80"],
    ),
    "tied": (
        "160",
        "self.wte = nn.Embedding(10, 8)\n"
        "self.head = nn.Linear(8, 10, bias=False)\n"
        "self.head.requires_grad_(True)",
        ("self.head.requires_grad_(True)", "self.head.weight = self.wte.weight"),
        ["~ head weight is tied to wte.weight now 1 -80"],
    ),
    "unbiased": (
        "90",
        "self.fc = nn.Linear(8, 10, bias=True)",
        ("bias=True", "bias=False"),
        ["~ fc bias removed (10) 1 -10"],
    ),
    "hidden": (
        "144",
        "self.fcs = nn.ModuleList([nn.Linear(8, 8), nn.Linear(8, 8)])",
        ("nn.ModuleList([nn.Linear(8, 8), nn.Linear(8, 8)])", "[nn.Linear(8, 8), nn.Linear(8, 8)]"),
        ["− fcs ModuleList now in a plain list 1 -144"],
    ),
    "retyped": (
        "72",
        "self.act = nn.Linear(8, 8)",
        ("nn.Linear(8, 8)", "nn.Bilinear(8, 8, 8)"),
        ["~ act Linear → Bilinear, 8×8 → 8×8×8 1 448"],
    ),
    "frozen[trainable]": (
        "1_136",
        "self.h = nn.ModuleList(Block(8) for _ in range(2)).requires_grad_(True)",
        ("True", "False"),
        ["~ h frozen now 1 -1136"],
    ),
    "thawed[frozen]": (
        "72",
        "self.fc = nn.Linear(8, 8).requires_grad_(False)",
        ("False", "True"),
        ["~ fc trainable now 1 -72"],
    ),
    "half[bytes]": (
        "360",
        "self.fc = nn.Linear(8, 8)\nself.norm = nn.BatchNorm1d(8, affine=False)\n"
        "self.to(torch.float32)",
        ("torch.float32", "torch.float16"),
        ["~ fc float32 → float16 1 -144", "~ norm float32 → float16 1 -32"],
    ),
    "dense": (
        "2_368",
        "self.h = nn.ModuleList(nn.Linear(8 * i + 8, 8) for i in range(8))",
        ("8 * i + 8, 8", "8 * i + 8, 9"),
        ["~ h.* Linear of several sizes 8 296"],
    ),
    "part[h.*]": (
        "72",
        "self.h = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))\nself.fc = nn.Linear(8, 8)",
        ("nn.Linear(8, 8) for", "nn.Linear(9, 8) for"),
        ["~ h.0 8×8 → 8×9 1 8"],
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
    for name, (budget, body, edit, _) in CASES.items():
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


@pytest.fixture(scope="module")
def edited(tmp_path_factory, environ):
    sample = Sample.create(tmp_path_factory.mktemp("causes") / "r", environ)
    sample.committed(sources(edited=False))
    sample.write(sources(edited=True))
    return sample


@pytest.fixture(scope="module")
def broken(edited, nparam_lint):
    """By class, the finding of each model after all edits."""
    done = nparam_lint("--declared", "--format", "json", cwd=edited.path, **edited.environ)
    found = json.loads(done.stdout)["findings"]
    return {one["target"].partition("::")[2]: one for one in found if one["code"] == "NPL001"}


@pytest.mark.parametrize("name", CASES)
def test_the_cause_is_what_was_edited(broken, name):
    budget, _, _, said = CASES[name]
    finding = broken[name.partition("[")[0].title()]
    assert [
        f"{one['mark']} {one['path']} {one['what']} {one['times']} {one['delta']}"
        for one in finding["changes"]
    ] == said
    assert finding["since"] == f"changed since HEAD, when it had {eval(budget):,}"


def test_the_causes_add_up_to_the_difference(broken):
    assert len(broken) > len(CASES)
    for finding in broken.values():
        told = re.search(r": ([+-][\d,]+)( \(|$)", finding["message"])
        assert sum(one["delta"] for one in finding["changes"]) == int(told[1].replace(",", ""))


@pytest.fixture(scope="module")
def told(edited, nparam_lint):
    """The text of the finding that begins so."""
    done = nparam_lint("--declared", "-qv", cwd=edited.path, COLUMNS="100", **edited.environ)
    texts = done.stdout.split("\n\n")

    def beginning(words):
        (text,) = [text for text in texts if text.startswith(words)]
        return text

    return beginning


def test_a_model_is_not_explained_by_an_edit_of_another(broken, told):
    assert "Three" not in broken
    assert "| WIDTH = 5" not in told("others.py:9")
    assert "self.a = nn.Linear(5 - 2, 1)" in told("others.py:9")
    two = told("others.py:21")
    assert "3 | WIDTH = 5" in two
    assert "self.a" not in two


SHOWN = {
    "two imports away": [
        "sizes.py:1:9  NPL001  2 models changed since HEAD: 2 budgets broken",
        "    1 | WIDTH = 4",
        "      |         ^",
        "  ✗ Far1.py:7",
    ],
    "in containers": [
        "stacked.py:15:35  NPL001  2 models changed since HEAD: 2 budgets broken",
        "    15 |         self.fc = nn.Linear(3, 2, bias=False)",
        "       |                                   ^^^^^^^^^^",
        "    16 |         self.out = nn.Linear(3, 2, bias=False)",
        "       |                                    ^^^^^^^^^^",
        "  ✗ Held1.py:7",
    ],
    "in a config file": [
        "nparam-lint.toml:2:1  NPL001  small.json has 80 parameters, declared 72: +8 (+11.11 %)",
        '    2 | "small.json" = 72',
        "      |                ^^",
        "    small.json",
        '    2 |   "d": 9',
        "      |        ^",
        "    changed since HEAD, when it had 72:",
        "      ~ fc  8×8 → 8×9  +8  net.py:7",
    ],
    "in a config file that a function reads": [
        "nparam-lint.toml:3:1  NPL001  build has 80 parameters, declared 72: +8 (+11.11 %)",
        '    3 | "build.py::build" = 72',
        "      |                     ^^",
        "    big.json",
        '    2 |   "d": 9',
        "      |        ^",
    ],
    # Lines are numbered as Python does.
    "behind a form feed": [
        "feed.py:4:16  NPL001  Feed has 99 parameters, declared 90: +9 (+10.00 %)",
        '    4 |     """nparam: 90"""',
        "      |                ^^",
        "    6 |     def __init__(self, wide=11):",
        "      |                        ^^^^^^^",
        "    changed since HEAD",
    ],
    "what is gone": [
        "less.py:4:16  NPL001  Less has 99 parameters, declared 103: -4 (-3.88 %)",
        '    4 |     """nparam: 103"""',
        "      |                ^^^",
        "    changed since HEAD",
    ],
}


@pytest.mark.parametrize("name", SHOWN)
def test_what_was_edited_is_shown_and_underlined(told, name):
    *lines, last = SHOWN[name]
    found = told(lines[0]).split("\n")
    assert found[: len(lines)] == lines
    assert found[len(lines)].startswith(last)


NET = """\
from torch import nn


class Net(nn.Module):
    def __init__(self, d=8):
        super().__init__()
        self.fc = nn.Linear(d, {out})
"""
CONFIG = '[budgets]\n"{place}::Net" = "{budget}"\n'


@pytest.fixture
def sample(tmp_path, environ):
    """Two commits, the second of which moves the model and breaks its budget."""
    made = Sample.create(tmp_path / "r", environ)
    made.committed(
        {"a.py": NET.format(out="d"), "nparam-lint.toml": CONFIG.format(place="a.py", budget=72)}
    )
    made.git("tag", "v1")
    made.git("mv", "a.py", "b.py")
    made.committed(
        {"b.py": NET.format(out="2*d"), "nparam-lint.toml": CONFIG.format(place="b.py", budget=72)}
    )
    return made


def said(done):
    """What is said between the source and the heaviest modules, or the next step."""
    lines = [line for line in done.stdout.splitlines() if line.startswith("    ")]
    kept = [line for line in lines if "|" not in line and line.strip() != "b.py"]
    return "\n".join(line.strip() for line in kept[:2])


def test_what_it_is_compared_with(sample, nparam_lint):
    def told(*options, **more):
        return said(nparam_lint("--declared", *options, cwd=sample.path, **sample.environ, **more))

    cause = "~ fc  8×8 → 16×8  +72  b.py:7"
    assert told() == f"changed since HEAD~1, when it had 72:\n{cause}"
    assert told("--since", "v1") == f"changed since v1, when it had 72:\n{cause}"
    sample.git("update-ref", "refs/remotes/origin/main", "v1")
    base = "the merge base with origin/main"
    assert told(GITHUB_BASE_REF="main") == f"changed since {base}, when it had 72:\n{cause}"
    sample.write({"nparam-lint.toml": CONFIG.format(place="b.py", budget=73)})
    assert told().startswith("the model is as it was at HEAD: the budget is new or was changed\n")
    sample.write({"b.py": NET.format(out="3*d")})
    assert told() == (
        "changed since HEAD, when it had 144, which broke the budget too:\n"
        "~ fc  16×8 → 24×8  +72  b.py:7"
    )
    # Below a line with a new one the words that changed are underlined.
    sample.write({"b.py": NET.format(out="3*d").rstrip() + "\n        self.act = nn.ReLU()\n"})
    done = nparam_lint("--declared", cwd=sample.path, **sample.environ)
    assert done.stdout.splitlines()[1:6] == [
        '    2 | "b.py::Net" = "73"',
        "      |                ^^",
        "    b.py",
        "    7 |         self.fc = nn.Linear(d, 3*d)",
        "      |                                ^^^",
    ]
    done = nparam_lint("--declared", "--since", "v2", cwd=sample.path, **sample.environ)
    missing = "nparam-lint: there is no revision 'v2'"
    assert (done.returncode, done.stderr.partition(";")[0]) == (2, missing)


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
SHARED = """\
layers.py:7:32  NPL001  6 models changed since HEAD: 7 budgets broken
    7 |         self.fc = nn.Linear(d, 2 * d)
      |                                ^^^
  ✗ m1.py:7             Model1             4  declared 2         +2 (+100.00 %)
  ✗ m2.py:7             Model2            12  declared 6         +6 (+100.00 %)
  ✗ m3.py:7             Model3            24  declared 10 .. 13  +11 (+84.62 %)
  ✗ m4.py:7             Model4            40  declared 20        +20 (+100.00 %)
  ✗ m5.py:7             Model5            60  declared 30        +30 (+100.00 %)
  ✗ m6.py:7             Model6            84  declared 42        +42 (+100.00 %)
  ✗ nparam-lint.toml:2  m6.py::Model6[f]  84  declared 42        +42 (+100.00 %)
    m1.py::Model1 changed since HEAD, when it had 2:
      ~ f.fc  1×1 → 2×1  +2  layers.py:7
    if the change is intended, admit 24 at m3.py:7
    f is made at m6.py:11
    if the change is intended: nparam-lint update
"""


def test_what_one_edit_broke_is_one_finding(tmp_path, environ, nparam_lint):
    totals = {1: "2", 2: "6", 3: "10 .. 13", 4: "20", 5: "30", 6: "42"}
    files = {
        f"m{d}.py": MODEL.format(name=f"Model{d}", total=total, d=d) for d, total in totals.items()
    }
    files["nparam-lint.toml"] = '[budgets]\n"m6.py::Model6[f]" = "42"\n'
    made = Sample.create(tmp_path / "r", environ)
    made.committed(files | {"layers.py": LAYER.format(out="d")})
    write_files(made.path, {"layers.py": LAYER.format(out="2 * d")})
    done = nparam_lint("--declared", "-q", cwd=made.path, COLUMNS="80", **made.environ)
    assert done.stdout.partition("\n\n")[0] + "\n" == SHARED
    made.git("add", ".")
    done = nparam_lint("--declared", "--staged", cwd=made.path, **made.environ)
    (step,) = re.findall("(?s)if the change is intended:\\s+(.*?)\n\n", done.stdout)
    assert " ".join(step.split()).endswith(
        "nparam-lint update && git add m1.py m2.py m4.py m5.py m6.py nparam-lint.toml"
    )
    done = nparam_lint("--format", "gitlab", cwd=made.path, **made.environ)
    words = json.loads(done.stdout)[0]["description"].partition("; ")[2]
    assert words == "changed since HEAD, when it had 2: ~ f.fc 1×1 → 2×1 +2 layers.py:7"


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
