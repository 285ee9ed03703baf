"""Counts that a repository states, unasked: bound to its models, judged, told; none accused that
may be right."""

from __future__ import annotations

import json

import pytest
from model_source import TORCH, model_class
from sample_files import write_files

META = 'device = "meta"\n'
NETS = '''\
"""A small net. Net has 9.9M parameters."""
from torch import nn

META = dict(name="Net", n_parameters=7_000_000)


class Net(nn.Module):
    """A net with 5M parameters."""

    def __init__(self, d=64):
        super().__init__()
        self.l = nn.Linear(d, d)


def net_small():
    return Net(100)


def net_base():
    return Net(1000)


def net_1M():
    return Net(1000)


def net_2M():
    return Net(1000)


def net2_5_1M():
    return Net(1100)


class Needy(nn.Module):
    """A net of 5M parameters, if somebody says its width and depth."""

    def __init__(self, width, depth):
        super().__init__()
'''
FILES = {
    "nets.py": NETS,
    "README.md": (
        "# Nets\n\n`Net` has 7M parameters.\n\n| model | Params (k) |\n|---|---|\n"
        "| Net | 4.2 |\n| Net-S | 10.1 |\n| net_b | 1.1M |\n| Other | 3M |\n"
    ),
    "MODEL_CARD.md": "---\nmodel: Net\nparameters: 7000000\n---\nNet has about 4k parameters.\n",
    "net.yaml": "# net_small: 2 layers, 9458752 parameters\nmodel: nets.net_small\n",
    "conf/1M.yaml": "_target_: nets.Net\nd: 1000\n",
    "conf/7B.yaml": "_target_: nets.Net\nd: 1000\n",
    "paper/main.tex": "\\begin{tabular}{lr} Model & \\#Params \\\\ Net & 7.0M \\\\\n",
    "results.csv": "model,param_count\nNet,7.00\nnet_small,10100\n",
    "model.safetensors.index.json": (
        '{"metadata": {"total_parameters": 7000000}, '
        '"weight_map": {"l.weight": "a", "l.bias": "a"}}\n'
    ),
    "nparam-lint.toml": META,
}


@pytest.fixture
def place(tmp_path):
    return write_files(tmp_path / "nets", FILES)


def test_each_place_where_a_count_is_stated(transcript, expected):
    """The wrong ones first. Net and the factories that return it have the same modules, and other
    counts; models that are called after another count are listed."""
    expected(transcript("claims -v", columns=120))


GRID = TORCH + model_class("GridNet", "self.fc = nn.Linear(9, 10)")  # 100 parameters
# No more is said than that the model has so many.
WRONG = [
    "GridNet has 120 parameters.",
    "GridNet is a 120k parameter model.",
    "Our GridNet (120 parameters) reaches 82 % on ImageNet-1k.",
    "GridNet has 2.1G FLOPs and a total of 120 parameters, and RegNetY-16GF has 84M.",
    "Here's how you'd instantiate a GridNet (120 param version):",
    "# GridNet\n\nA grid of CNN layers, 120 parameters.",
]
# It may be right; or the number be another model's, or that of what GridNet is a part of.
SILENT = [
    "GridNet has 100 parameters.",
    "OtherNet has 120 parameters.",
    "GridNet has fewer than half of the 120 parameters of OtherNet.",
    "It has a GridNet for the audio, and a 120k parameter language model.",
    "GridNet saw 120M images, v1.2, 76.1 % and 120k steps.",
    "| Backbone | Params | mAP |\n|--|--|--|\n| GridNet | 120M | 41 |",
    "## GridNet and what came after\n\nIt has 120 parameters.",
    "| model | Params |\n|--|--|\n| GridNet | 100 |\n\n"
    "| model (22k) | Params |\n|--|--|\n| GridNet | 1.2k |",
    "| model | Params |\n|--|--|\n| GridNet† | 120 |",  # the same, or another variant
    "GridNet has 120 <!-- nparam: ignore[NPL013] --> parameters.",
    "GridNet is distilled from RegNetY-16GF (84M parameters).",
    "GridNet surpasses ParC-Net-S, which has 5.0M parameters, by 1.2%.",
    "GridNet beats ResNet-50 (25.6M parameters) by 1.2%.",
    "GridNet beats Mamba (25M parameters).",
    "We use ViT-B (86M parameters) as the teacher of GridNet.",
    "We use a model (86M parameters) as the teacher of GridNet.",
    "Mask R-CNN with GridNet has 31M parameters.",
    "GridNet has 31M parameters with Mask R-CNN.",
    "An ensemble of four GridNet has 27M parameters.",
    "GridNet can be fine-tuned with only 0.1M trainable parameters.",
    "GridNet beats GridNet-XL (7M parameters).",
    "# GridNet\n\nDistilled from RegNetY-16GF (84M parameters).",
]


def test_a_text_accuses_a_model_where_it_names_nothing_else(tmp_path, nparam_lint):
    texts = {f"wrong_{n}.md": text for n, text in enumerate(WRONG)}
    texts |= {f"silent_{n}.md": text for n, text in enumerate(SILENT)}
    # What is too large for a text is not read.
    texts["large.csv"] = "model,params\nGridNet,7M\n" + "x,1\n" * 1_500_000
    root = write_files(tmp_path, {"nets.py": GRID, "nparam-lint.toml": META, **texts})
    done = nparam_lint("--format", "json", cwd=root)
    found = json.loads(done.stdout)["findings"]
    assert [f["path"] for f in found] == [f"wrong_{n}.md" for n in range(len(WRONG))]
    assert {(f["code"], f["severity"]) for f in found} == {("NPL013", "warning")}
    assert found[0]["message"] == "GridNet has 100 parameters, stated: 120 parameters (-16.67 %)"
    assert done.returncode == 0


DOCUMENTED = {
    "gemma_7b": ("Builder for a gemma_7b model with 7B parameters.", True),
    "llama3_8b": ("A Llama3 model w/ the default 8b parameter values of https://x.y/LLaMA.", True),
    "volo_d3": ("VOLO-D3 model, FLOPs: 8G, Params: 59M, 84.1% Top-1", True),
    "SmallCNN": ("A small CNN with 50K parameters.", True),
    "TinyBert": ("A student of BERT-base (110M parameters).", False),
    "Probe": ("Put on top of a frozen DINOv2 ViT-B/14 (86M parameters).", False),
    "Adapter": ("Adapter for LLaMA. The base model with its 6.7B parameters stays frozen.", False),
    "Distilled": ("Distilled from a 33M-parameter DEMUCS.", False),
    "Student": ("A student of resnet50 (25M parameters).", False),
    "Rival": ("A small net. Unlike DEMUCS, which has 33M parameters, it is fast.", False),
}


def documented():
    yield TORCH
    for name, (doc, is_wrong) in DOCUMENTED.items():
        mark = "  # wrong" if is_wrong else ""
        yield f'class {name}(nn.Linear):\n    """{doc}"""{mark}\n'
        yield "    def __init__(self):\n        super().__init__(64, 64)\n"
    yield 'def build():\n    """A SmallCNN of 50K parameters."""  # wrong\n    return SmallCNN()\n'


def sizes(name):
    """A class of which each size has a name of its own, and the class has the count of one: 800,
    1,600 and 3,200."""
    low = name.lower()
    factories = "".join(
        f'def {low}_{size}():\n    return {name}("{size}")\n' for size in ("tiny", "small", "base")
    )
    widths = '{"tiny": 8, "small": 16, "base": 32}[size]'
    body = f"self.fc = nn.Linear({widths}, 100, bias=False)"
    return TORCH + model_class(name, body, takes='size="tiny"') + factories


def choices(name, names):
    """A model of 100, 200 or 1,000 parameters by the string that it is made with."""
    body = f"self.fc = nn.Linear({dict(zip(names, (9, 19, 99), strict=False))}[name], 10)"
    calls = ", ".join(f'{name}("{one}", weights="ImageNet")' for one in names)
    return TORCH + model_class(name, body, takes="name, weights") + f"def main():\n    {calls}\n"


def ways(name, default="", doc=""):
    """A model that is built in two ways, of 100 and 1,000 parameters, besides its defaults."""
    net = model_class(name, "self.fc = nn.Linear(d, 10)", doc=doc, takes=f"d{default}")
    low = name.lower()
    made = f"def {low}_a():\n    return {name}(d=9)\n\ndef {low}_b():\n    return {name}(d=99)\n"
    return f"{TORCH}{net}\n{made}"


SPAN = (
    TORCH
    + model_class("SpanNet", "self.fc = nn.Linear(d, 1000, bias=False)", takes="d=999")
    + """
def span_net_large():
    return SpanNet(7000)

def span_net_small():
    return SpanNet(100)
"""
)
FUSED = """\
import torch
from torch import nn


class Branches(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.width = width
        self.wide, self.narrow = nn.Conv2d(8, 8, 3), nn.Conv2d(8, 8, 1)

    def switch_to_deploy(self{more}
        self.deployed = nn.Conv2d(8, 8, 3)
        weight = self.narrow.weight.data
        self.deployed.weight.data = self.wide.weight.data + nn.functional.pad(weight, [1, 1, 1, 1])
        del self.wide, self.narrow


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.norm = nn.Linear(8, 10, bias=False), nn.BatchNorm1d(10)

    @torch.no_grad()
    def fuse(self):
        return nn.Linear(8, 10, bias=bool(self.norm.weight.numel()))


class {name}(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(Branches(), Norm())
"""
TABLE = "| model | params |\n|--|--|\n"
# The files of each case; what is found stands in the lines that say "wrong".
CASES = {
    "docstrings": {"my_encoder.py": "\n".join(documented())},
    "a folder with a bracket": {
        "net (1)/near.py": TORCH
        + model_class(
            "NearNet", "self.fc = nn.Linear(9, 10)", doc="1,200 parameters. <!-- wrong -->"
        )
    },
    "rounded up": {"span.py": SPAN, "span_a.md": "SpanNet has 1.00M parameters."},
    "as its family has": {"span_b.md": "SpanNet has only 7M parameters."},
    "what is built of a class, below its name": {"span_c.md": f"{TABLE}| SpanNet | 7M |"},
    "a name that several rows share": {
        "span_d.md": "| model | width | params |\n|--|--|--|\n| SpanNet | 2 | 2k |\n| | 3 | 3k |",
        "span_e.md": "<table><tr><th>model</th><th>width</th><th>params</th></tr>"
        "<tr><td rowspan=2>SpanNet</td><td>2</td><td>2k</td></tr>"
        "<tr><td>3</td><td>3k</td></tr></table>",
    },
    "three models, and none of them right": {  # of another data set, perhaps
        "span_f.md": f"{TABLE}| SpanNet | 3M |\n| span_net_large | 8M |\n| span_net_small | 0.3M |",
    },
    "a class of several sizes": {
        "wide.py": sizes("WideNet"),
        "wide_a.md": f"{TABLE}| WideNet | 46.8k |\n",
    },
    "numbers of which one is another size's": {
        "wide_b.md": TABLE + "| widenet_tiny | 1.6k |\n| widenet_small | 3,200 |\n"
        "| widenet_base | 4.9k |\n",
    },
    "numbers of which one is right": {
        "wide_c.md": f"{TABLE}| widenet_tiny | 800 |\n| widenet_small | 2.4k |<!-- wrong -->\n"
        "| widenet_base | 4.9k |<!-- wrong -->\n",
    },
    "numbers of which one is another choice's": {
        "many.py": choices("ManyNet", ("mini", "midi", "maxi")),
        "many.md": f"{TABLE}| mini | 1,000 |\n| midi | 4.9k |\n| maxi | 7.2k |\n",
    },
    "the encoder of a model": {
        "slim_encoder.py": sizes("SlimNet"),
        "slim.md": "slimnet_base has 4.9k parameters.\n",
    },
    "an encoder that the text calls so": {
        "pose/nets_encoder.py": TORCH + model_class("PoseNet", "self.fc = nn.Linear(9, 10)"),
        "pose/README.md": f"## Encoders\n\n{TABLE}| PoseNet | 4.9k |<!-- wrong -->\n",
    },
    "a task": {
        "detection/README.md": f"{TABLE}| widenet_base | 4.9k |\n",
        "heading.md": f"### Mask R-CNN on COCO\n\n{TABLE}| widenet_base | 4.9k |\n",
        "head.md": "| model | params | PCKh@0.5 |\n|--|--|--|\n| widenet_base | 4.9k | 9 |\n",
        "rows.md": "| | widenet_base |\n|--|--|\n| params | 4.9k |\n| WER | 4.9 |\n",
    },
    "a task of all": {
        "wide_d.md": f"# WideNet: for detection\n\n## Models\n\n{TABLE}"
        "| widenet_base | 4.9k |<!-- wrong -->\n",
    },
    "with its head": {
        "detection/plan.py": TORCH + model_class("PlanNet", "self.fc = nn.Linear(9, 10)"),
        "plan.md": "PlanNet has 120 parameters.\n",
    },
    "sizes in the docstring of their class": {
        "broad.py": sizes("BroadNet").replace(
            "Module):", 'Module):\n    """A net with 46.8k parameters."""  # wrong', 1
        )
    },
    "a config that names the model": {
        "yam.py": TORCH + model_class("YamNet", "self.fc = nn.Linear(9, 10)"),
        "conf/yam.yaml": "# YamNet of 3, 120 parameters, wrong\n_target_: yam.YamNet\n"
        "n_parameters: 130  # wrong\n",
    },
    "its defaults, and no other way fits": {
        "one.py": ways("OneNet", "=19"),
        "one.md": "OneNet has 201 parameters. <!-- wrong -->",
    },
    "another way fits": {"two.py": ways("TwoNet", "=19"), "two.md": "TwoNet has 100 parameters."},
    "nobody says which": {"any.py": ways("AnyNet"), "any.md": "AnyNet has 201 parameters."},
    "a budget's arguments are no defaults": {
        "new.py": ways("NewNet", "", "nparam(d=19): 200"),
        "new.md": "NewNet has 300 parameters.",
    },
    "a string that chooses a model": {
        "tall.py": choices("TallNet", ("flat", "tall")),
        "tall.md": f"{TABLE}| flat | 200k |<!-- wrong -->\n| tall | 0.2k |\n\n"
        "ImageNet has 1.2M parameters.\n",
    },
    "another data set": {
        "data.py": TORCH
        + model_class("DataNet", "self.body = nn.Linear(8, 8)", "self.head = nn.Linear(8, 1000)"),
        "data.md": "DataNet has 162 parameters.\n\nDataNet has 172 parameters. <!-- wrong -->\n",
    },
    "a row that links to a config": {
        "link.py": ways("LinkNet", "=19"),
        "conf/wide.yaml": "_target_: link.LinkNet\nd: 39\n",
        "link.md": "| config | params |\n|--|--|\n"
        "| [a net](conf/wide.yaml) | 1,400 |<!-- wrong -->\n",
    },
    "a detector that a config file builds, and a class that may be its backbone": {
        "spot.py": ways("SpotNet", "=19"),
        "conf/SpotDet-s.yaml": "_target_: spot.SpotNet\nd: 39\n",
        "spot.md": "| Model | params | mAP |\n|--|--|--|\n"
        "| SpotDet-S | 4.9k | 41 |<!-- wrong -->\n| SpotNet | 4.9k | 41 |\n",
    },
    "a column of megabytes that holds either": {
        "bytes.md": "| model | Params (MB) |\n|---|---|\n"
        "| widenet_tiny | 0.0032 |\n| widenet_base | 0.0128 |\n",
    },
    "a column of megabytes that holds counts": {
        "counts.md": "| model | Params (MB) |<!-- wrong -->\n|---|---|\n"
        "| widenet_tiny | 0.0008 |\n| widenet_base | 0.0032 |\n",
    },
}
# What is said of a number besides: which other count of the project it is.
SAID = {
    "another size": (
        sizes("SameNet"),
        f"{TABLE}| samenet_tiny | 3,200 |",
        "this is what samenet_base has",
    ),
    "its own methods": (
        FUSED.format(name="FusedNet", more="):"),
        "FusedNet has 674 parameters.",
        "this is it after its fuse and switch_to_deploy(): 674",
    ),
    "one that needs arguments": (  # nobody knows what with
        FUSED.format(name="LoadedNet", more=", checkpoint):"),
        "LoadedNet has 674 parameters.",
        None,
    ),
    "one that fails": (
        FUSED.format(name="FailingNet", more="):\n        raise SystemExit(1)"),
        "FailingNet has 674 parameters.",
        None,
    ),
}


@pytest.fixture(scope="module")
def found(tmp_path_factory, nparam_lint):
    """The findings about each file of all cases."""
    root = write_files(tmp_path_factory.mktemp("cases"), {"nparam-lint.toml": META})
    for files in CASES.values():
        write_files(root, files)
    for n, (source, text, _) in enumerate(SAID.values()):
        write_files(root, {f"said_{n}.py": source, f"said_{n}.md": text})
    done = nparam_lint("--format", "json", cwd=root)
    by_path = {}
    for finding in json.loads(done.stdout)["findings"]:
        by_path.setdefault(finding["path"], []).append(finding)
    return by_path


@pytest.mark.parametrize("name", CASES)
def test_which_numbers_are_wrong_for_certain(found, name):
    files = CASES[name]
    told = [f"{path}:{f['line']}" for path in files for f in found.get(path, ())]
    assert told == [
        f"{path}:{number}"
        for path, text in files.items()
        for number, line in enumerate(text.split("\n"), 1)
        if "wrong" in line
    ]


@pytest.mark.parametrize("name", SAID)
def test_what_is_said_of_a_number_that_is_another_count(found, name):
    path = f"said_{[*SAID].index(name)}.md"
    (finding,) = found[path]
    step = f"to correct it: nparam-lint update --claims {path}"
    assert finding["detail"] == [SAID[name][2] or step]


def test_a_column_that_calls_millions_megabytes_is_told_so(found):
    (finding,) = found["counts.md"]
    assert (finding["code"], finding["column"]) == ("NPL107", 11)
    assert finding["message"] == (
        "0.0008 (Params (MB)) is no size: widenet_tiny has 0.0008 million parameters"
    )


# Which model has a size for its name depends on where it is.
SIZES = "\n\nSIZES = {'base': {'d': 999}}\n\n\ndef load(name):\n    return SpanNet(**SIZES[name])\n"


def test_a_size_alone_is_a_name_where_the_model_is(tmp_path, nparam_lint):
    files = {
        "a/nets.py": SPAN + SIZES,
        "README.md": "# SpanNet: it spans\n\n## Sizes\n\n| size | params |\n|--|--|\n"
        "| base | 1.4M |\n| large | 8M |\n",
        "b/README.md": "| size | params |\n|--|--|\n| base | 1.4M |\n",
    }
    done = nparam_lint("--format", "concise", cwd=write_files(tmp_path, files))
    assert [line[:11] for line in done.stdout.splitlines()] == ["README.md:7", "README.md:8"]


def test_of_many_the_first_are_shown(tmp_path, nparam_lint):
    text = "\n".join(f"GridNet has {n}k parameters.\n" for n in range(20, 32))
    done = nparam_lint(cwd=write_files(tmp_path, {"nets.py": GRID, "README.md": text}))
    assert done.stdout.count("GridNet has 100 parameters, stated: ") == 10
    assert "… and 2 more stated counts: nparam-lint claims" in done.stdout
