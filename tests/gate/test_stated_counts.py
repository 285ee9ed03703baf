"""Counts that a repository states, unasked: bound to its models, judged, told; none accused that
may be right."""

from __future__ import annotations

import json

import pytest
from model_source import TORCH, model_class
from sample_files import write_files

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
'''
FILES = {
    "nets.py": NETS,
    "README.md": (
        "# Nets\n\n`Net` has 7M parameters.\n\n| model | Params (k) |\n|---|---|\n"
        "| Net | 4.2 |\n| Net-S | 10.1 |\n| net_b | 1.1M |\n| Other | 3M |\n"
    ),
    "MODEL_CARD.md": "---\nmodel: Net\nparameters: 7000000\n---\nNet has about 4k parameters.\n",
    "net.yaml": "# net_small: 2 layers, 9458752 parameters\nmodel: nets.net_small\n",
    "paper/main.tex": "\\begin{tabular}{lr} Model & \\#Params \\\\ Net & 7.0M \\\\\n",
    "results.csv": "model,param_count\nNet,7.00\nnet_small,10100\n",
    "model.safetensors.index.json": (
        '{"metadata": {"total_parameters": 7000000}, '
        '"weight_map": {"l.weight": "a", "l.bias": "a"}}\n'
    ),
    "nparam-lint.toml": 'device = "meta"\n',
}


@pytest.fixture(scope="module")
def claims(tmp_path_factory, nparam_lint):
    """Each stated count of the project, by its place."""
    root = tmp_path_factory.mktemp("stated")
    write_files(root, FILES)
    done = nparam_lint("claims", "--format", "json", cwd=root)
    assert done.returncode == 1, done.stderr
    every = json.loads(done.stdout)["claims"]
    assert [c["verdict"] for c in every] == sorted(
        (c["verdict"] for c in every), key=["wrong", "right", "unknown"].index
    )
    return {f"{c['path']}:{c['line']}": c for c in every}


VERDICTS = {
    "nets.py:1": ("wrong", "certain", "nets.py::Net", 4160, "the text names Net"),
    "nets.py:4": ("wrong", "certain", "nets.py::Net", 4160, "beside it stands the name Net"),
    "nets.py:8": ("wrong", "certain", "nets.py::Net", 4160, "it stands in the model's docstring"),
    "README.md:3": ("wrong", "certain", "nets.py::Net", 4160, "the text names Net"),
    "README.md:7": ("right", "certain", "nets.py::Net", 4160, "beside it stands the name Net"),
    "README.md:8": (
        "right",
        "certain",
        "nets.py::net_small",
        10_100,
        "beside it stands the name Net-S",
    ),
    "README.md:9": (
        "wrong",
        "certain",
        "nets.py::net_base",
        1_001_000,
        "beside it stands the name net_b",
    ),
    "README.md:10": ("unknown", "", None, None, ""),
    "MODEL_CARD.md:3": ("wrong", "certain", "nets.py::Net", 4160, "beside it stands the name Net"),
    "MODEL_CARD.md:5": ("right", "certain", "nets.py::Net", 4160, "the text names Net"),
    "net.yaml:1": ("wrong", "certain", "nets.py::net_small", 10_100, "the text names net_small"),
    "paper/main.tex:1": ("wrong", "certain", "nets.py::Net", 4160, "beside it stands the name Net"),
    "results.csv:2": ("wrong", "certain", "nets.py::Net", 4160, "beside it stands the name Net"),
    "results.csv:3": (
        "right",
        "certain",
        "nets.py::net_small",
        10_100,
        "beside it stands the name net_small",
    ),
}


def test_each_place_where_a_count_is_stated(claims):
    keys = ("verdict", "strength", "target", "actual", "because")
    found = {place: tuple(claim[key] for key in keys) for place, claim in claims.items()}
    del found["model.safetensors.index.json:1"]
    assert found == VERDICTS


def test_a_checkpoint_whose_tensors_two_models_have_accuses_none(claims):
    """Net and the factories that return it have the same modules, and other counts."""
    claim = claims["model.safetensors.index.json:1"]
    assert (claim["verdict"], claim["strength"]) == ("wrong", "likely")


def told(root, nparam_lint, files, *arguments, code=0):
    write_files(root, {"nparam-lint.toml": 'device = "meta"\n', **files})
    done = nparam_lint(*arguments, "--format", "json", cwd=root)
    assert done.returncode == code, done.stdout + done.stderr
    document = json.loads(done.stdout)
    return [(f["path"], f["line"], f["message"]) for f in document["findings"]]


ONE = TORCH + model_class("GridNet", "self.fc = nn.Linear(9, 10)")


# What may be right, or about something else.
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
]


def texts(silent):
    return {f"silent_{number}.md": f"{text}\n" for number, text in enumerate(silent)}


def test_a_wrong_count_is_a_warning_where_it_stands_and_no_other_is_told(tmp_path, nparam_lint):
    files = {"nets.py": ONE, "README.md": "GridNet has 120 parameters.\n"} | texts(SILENT)
    files["docs/a.md"] = "GridNet is a 120k parameter model.\n"
    wrong = [
        ("README.md", 1, "GridNet has 100 parameters, stated: 120 parameters (-16.67 %)"),
        ("docs/a.md", 1, "GridNet has 100 parameters, stated: 120k parameter (-99.92 %)"),
    ]
    assert told(tmp_path, nparam_lint, files) == wrong
    files["nparam-lint.toml"] = 'device = "meta"\n[severity]\nNPL013 = "error"\n'
    assert told(tmp_path, nparam_lint, files, code=1) == wrong


# No more is said than that the model has so many.
PLAIN = [
    "GridNet has 120 parameters.",
    "Our GridNet (120 parameters) reaches 82 % on ImageNet-1k.",
    "GridNet has 2.1G FLOPs and a total of 120 parameters, and RegNetY-16GF has 84M.",
    "Here's how you'd instantiate a GridNet (120 param version):",
    "# GridNet\n\nA grid of CNN layers, 120 parameters.",
]
# The number may be another model's, or that of what GridNet is a part of.
OF_OTHERS = [
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


def test_a_sentence_that_names_something_else_accuses_no_model(tmp_path, nparam_lint):
    files = {"nets.py": ONE} | texts(OF_OTHERS)
    files |= {f"plain_{number}.md": f"{text}\n" for number, text in enumerate(PLAIN)}
    found = [path for path, *_ in told(tmp_path, nparam_lint, files)]
    assert found == [f"plain_{number}.md" for number in range(len(PLAIN))]
    files["nets.py"] = ONE.replace("nn.Linear(9, 10)", "nn.Linear(11, 10)")
    assert told(tmp_path, nparam_lint, files) == []  # 120 parameters


DOCUMENTED = {
    "gemma_7b": ("Builder for a gemma_7b model with 7B parameters.", True),
    "llama3_8b": ("A Llama3 model w/ the default 8b parameter values of https://x.y/LLaMA.", True),
    "volo_d3": ("VOLO-D3 model, FLOPs: 8G, Params: 59M, 84.1% Top-1", True),
    "SmallCNN": ("A small CNN with 50K parameters.", True),
    "TinyBert": ("A student of BERT-base (110M parameters).", False),
    "Head": ("Put on top of a frozen DINOv2 ViT-B/14 (86M parameters).", False),
    "Adapter": ("Adapter for LLaMA. The base model with its 6.7B parameters stays frozen.", False),
    "Small": ("Distilled from a 33M-parameter DEMUCS.", False),
    "Student": ("A student of resnet50 (25M parameters).", False),
    "Rival": ("A small net. Unlike DEMUCS, which has 33M parameters, it is fast.", False),
}


def test_a_docstring_that_names_another_model_accuses_none(tmp_path, nparam_lint):
    source = TORCH + "".join(
        f'\n\nclass {name}(nn.Linear):\n    """{doc}"""\n\n'
        "    def __init__(self):\n        super().__init__(64, 64)\n"
        for name, (doc, _) in DOCUMENTED.items()
    )
    source += '\n\ndef build():\n    """A SmallCNN of 50K parameters."""\n    return SmallCNN()\n'
    files = {"my_encoder.py": source}
    found = [message.split()[0] for *_, message in told(tmp_path, nparam_lint, files)]
    plain = [name for name, (_, is_plain) in DOCUMENTED.items() if is_plain]
    assert found == [*plain, "build"]


NEAR = (
    TORCH
    + """
class SpanNet(nn.Module):
    def __init__(self, d=999):
        super().__init__()
        self.fc = nn.Linear(d, 1000, bias=False)


def span_net_large():
    return SpanNet(7000)


def span_net_small():
    return SpanNet(100)
"""
)


SIZES = "\n\nSIZES = {'base': {'d': 999}}\n\n\ndef load(name):\n    return SpanNet(**SIZES[name])\n"
ALMOST = [
    "SpanNet has 1.00M parameters.",  # rounded up
    "SpanNet has only 7M parameters.",  # as its family has
    # What is built of a class, below its name; a name that several rows share.
    "| model | params |\n|--|--|\n| SpanNet | 7M |",
    "| model | width | params |\n|--|--|--|\n| SpanNet | 2 | 2k |\n| | 3 | 3k |",
    "<table><tr><th>model</th><th>width</th><th>params</th></tr>"
    "<tr><td rowspan=2>SpanNet</td><td>2</td><td>2k</td></tr>"
    "<tr><td>3</td><td>3k</td></tr></table>",
    # Three models, and none of them right: of another data set, perhaps.
    "| model | params |\n|--|--|\n"
    "| SpanNet | 3M |\n| span_net_large | 8M |\n| span_net_small | 0.3M |",
]
# Each size has a name of its own, and the class has the count of one.
OF_SIZES = """
class WideNet(nn.Module):
    WIDTHS = {"tiny": 8, "small": 16, "base": 32}

    def __init__(self, size="tiny"):
        super().__init__()
        self.fc = nn.Linear(self.WIDTHS[size], 100, bias=False)


def widenet_tiny():
    return WideNet("tiny")


def widenet_small():
    return WideNet("small")


def widenet_base():
    return WideNet("base")
"""
CHOICES = """
class ManyNet(nn.Module):
    def __init__(self, name):
        super().__init__()
        self.fc = nn.Linear({"mini": 9, "midi": 19, "maxi": 99}[name], 10)


def main():
    ManyNet("mini"), ManyNet("midi"), ManyNet("maxi")
"""
TABLE = "| model | params |\n|--|--|\n"
PARTS = "| widenet_tiny | 1.6k |\n| widenet_small | 2.4k |\n| widenet_base | 4.9k |\n"
NEAR_BY = {
    "a class of several sizes": {
        "wide.py": TORCH + OF_SIZES,
        "README.md": f"{TABLE}| WideNet | 46.8k |\n",
    },
    "numbers of which one is another size's": {
        "wide.py": TORCH + OF_SIZES,
        "README.md": TABLE + PARTS.replace("2.4k", "3,200"),
    },
    "numbers of which one is another choice's": {
        "many.py": TORCH + CHOICES,
        "README.md": f"{TABLE}| mini | 1,000 |\n| midi | 4.9k |\n| maxi | 7.2k |\n",
    },
    "the encoder of a model": {
        "wide_encoder.py": TORCH + OF_SIZES,
        "README.md": "widenet_base has 4.9k parameters.\n",
    },
    "a task": {
        "wide.py": TORCH + OF_SIZES,
        "detection/README.md": f"{TABLE}| widenet_base | 4.9k |\n",
        "heading.md": f"### Mask R-CNN on COCO\n\n{TABLE}| widenet_base | 4.9k |\n",
        "head.md": "| model | params | PCKh@0.5 |\n|--|--|--|\n| widenet_base | 4.9k | 9 |\n",
        "rows.md": "| | widenet_base |\n|--|--|\n| params | 4.9k |\n| WER | 4.9 |\n",
    },
    "the model itself": {"nets.py": NEAR + SIZES} | texts(ALMOST),
    "with its head": {
        "detection/nets.py": NEAR + SIZES,
        "README.md": "SpanNet has 1.4M parameters.\n",
    },
    "a size far away": {
        "a/nets.py": NEAR + SIZES,
        "b/README.md": "| size | params |\n|--|--|\n| base | 1.4M |\n",
    },
}


@pytest.mark.parametrize("name", NEAR_BY)
def test_a_number_of_a_model_near_it_is_no_finding(tmp_path, nparam_lint, name):
    wrong = {"grid.py": ONE, "wrong.md": "GridNet has 120 parameters.\n"}
    found = told(tmp_path, nparam_lint, NEAR_BY[name] | wrong)
    assert [path for path, *_ in found] == ["wrong.md"]


def test_sizes_encoders_and_tasks_that_the_text_names_are_found(tmp_path, nparam_lint):
    row = "| widenet_base | 4.9k |\n"
    files = {
        "broad.py": TORCH
        + OF_SIZES.replace("Wide", "Broad").replace(
            "Module):", 'Module):\n    """A net with 46.8k parameters."""', 1
        ),
        "wide.py": TORCH + OF_SIZES,
        "README.md": "# WideNet: for detection\n\n## Models\n\n" + TABLE + row,
        "part.md": TABLE + PARTS.replace("1.6k", "800"),
        "pose/nets_encoder.py": TORCH + model_class("PoseNet", "self.fc = nn.Linear(9, 10)"),
        "pose/README.md": "## Encoders\n\n" + TABLE + "| PoseNet | 4.9k |\n",
    }
    found = [(path, line) for path, line, _ in told(tmp_path, nparam_lint, files)]
    assert found == [
        ("README.md", 7),
        ("broad.py", 5),
        ("part.md", 4),
        ("part.md", 5),
        ("pose/README.md", 5),
    ]


def test_a_size_alone_is_a_name_where_the_model_is(tmp_path, nparam_lint):
    table = "# SpanNet: it spans\n\n## Sizes\n\n| size | params |\n|--|--|\n"
    files = {
        "a/nets.py": NEAR + SIZES,
        "README.md": table + "| base | 1.4M |\n| large | 8M |\n",
    }
    assert [line for _, line, _ in told(tmp_path, nparam_lint, files)] == [7, 8]


def test_a_config_that_names_the_model(tmp_path, nparam_lint):
    files = {
        "nets.py": ONE,
        "conf/grid.yaml": "# GridNet of 3, 120 parameters\n_target_: nets.GridNet\n"
        "n_parameters: 130\n",
    }
    assert [(path, line) for path, line, _ in told(tmp_path, nparam_lint, files)] == [
        ("conf/grid.yaml", 1),
        ("conf/grid.yaml", 3),
    ]


SIZED = """\
from torch import nn


class SizedNet(nn.Module):
    '''{}'''

    def __init__(self, d{}):
        super().__init__()
        self.fc = nn.Linear(d, 10)


def small():
    return SizedNet(d=9)


def large():
    return SizedNet(d=99)
"""


@pytest.mark.parametrize(
    ("default", "doc", "stated"),
    [
        ("=19", "", 200),  # its defaults, and no other way fits
        ("=19", "", 100),  # another way
        ("", "", 200),  # nobody says which
        ("", "nparam(d=19): 200", 300),  # a budget's arguments are no defaults
    ],
)
def test_a_class_that_is_built_in_several_ways(tmp_path, nparam_lint, default, doc, stated):
    files = {
        "nets.py": SIZED.format(doc, default),
        "README.md": f"SizedNet has {stated + (stated == 200)} parameters.\n",
    }
    wrong = [("README.md", 1, "SizedNet has 200 parameters, stated: 201 parameters (-0.50 %)")]
    expected = wrong if (default, stated) == ("=19", 200) else []
    assert told(tmp_path, nparam_lint, files) == expected


CHOSEN = """\
from torch import nn


class ChosenNet(nn.Module):
    def __init__(self, name, weights=""):
        super().__init__()
        self.fc = nn.Linear({"mini": 9, "maxi": 99}[name], 10)


def main():
    ChosenNet("mini", weights="ImageNet")
    ChosenNet(name="maxi")
"""


def test_a_string_that_chooses_a_model_names_it_and_no_other_string_does(tmp_path, nparam_lint):
    files = {
        "nets.py": CHOSEN,
        "README.md": "| model | params |\n|--|--|\n| mini | 200k |\n| maxi | 1k |\n\n"
        "ImageNet has 1.2M parameters.\n",
    }
    assert told(tmp_path, nparam_lint, files) == [
        ("README.md", 3, "mini has 100 parameters, stated: 200k (params) (-99.95 %)")
    ]


def test_a_count_of_another_data_set_accuses_no_model(tmp_path, nparam_lint):
    body = ("self.body = nn.Linear(8, 8)", "self.head = nn.Linear(8, 1000)")
    files = {
        "nets.py": TORCH + model_class("ClassNet", *body),
        "README.md": "ClassNet has 162 parameters.\n\nClassNet has 172 parameters.\n",
    }
    assert [line for _, line, _ in told(tmp_path, nparam_lint, files)] == [3]


def test_a_row_that_links_to_the_config_of_a_model(tmp_path, nparam_lint):
    files = {
        "nets.py": SIZED.format("", "=19"),
        "conf/wide.yaml": "_target_: nets.SizedNet\nd: 39\n",
        "README.md": "| config | params |\n|---|---|\n| [a net](conf/wide.yaml) | 1,400 |\n",
    }
    (told_of,) = told(tmp_path, nparam_lint, files)
    assert told_of[:2] == ("README.md", 3)


BRANCHES = """
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


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(Branches(), Norm())
"""


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("):", "this is it after its fuse and switch_to_deploy(): 674"),
        (", checkpoint):", None),  # nobody knows what with
        ("):\n        raise SystemExit(1)", None),
    ],
    ids=["its own methods", "one that needs arguments", "one that fails"],
)
def test_the_count_for_inference_is_that_of_the_models_own_methods(
    tmp_path, nparam_lint, more, said
):
    nets = "import torch\n" + TORCH + BRANCHES.replace("{more}", more)
    files = {"nets.py": nets, "README.md": "`Net` has 674 parameters.\n"}
    done = nparam_lint("--format", "json", cwd=write_files(tmp_path / "p", files))
    (finding,) = json.loads(done.stdout)["findings"]
    assert finding["message"].startswith("Net has 756 parameters, stated: 674 parameters")
    step = "to correct it: nparam-lint update --claims README.md"
    assert finding["detail"] == [said or step]


def test_the_count_of_another_size_is_called_that(tmp_path, nparam_lint):
    readme = "| model | params |\n|---|---|\n| net_small | 1,001,000 |\n"
    files = {"nets.py": NETS, "README.md": readme}
    done = nparam_lint("--format", "json", cwd=write_files(tmp_path / "p", files))
    details = [f["detail"] for f in json.loads(done.stdout)["findings"] if f["path"] != "nets.py"]
    assert details == [["this is what net_base has"]]


def test_a_column_of_megabytes_may_hold_either_but_is_named_where_it_holds_counts(
    tmp_path, nparam_lint
):
    readme = (
        "| model | Params (MB) |\n|---|---|\n| net_small | 0.0404 |\n| net_base | 4.004 |\n\n"
        "| model | Params (MB) |\n|---|---|\n| net_small | 0.0101 |\n| net_base | 1.001 |\n"
    )
    nets = NETS.replace("9.9M", "4,160").replace("5M", "4,160").replace("7_000_000", "4160")
    root = write_files(tmp_path / "p", {"nets.py": nets, "README.md": readme})
    done = nparam_lint("--format", "concise", cwd=root)
    assert done.stdout == (
        "README.md:6:11: warning: NPL107 0.0101 (Params (MB)) is no size: net_small has 0.0101 "
        "million parameters\n"
    )


def test_a_model_that_is_called_after_another_count_is_listed(tmp_path, nparam_lint):
    factories = "\n\n".join(
        f"def {name}():\n    return Net({width})"
        for name, width in [("net_1M", 1000), ("net_2M", 1000), ("net2_5_1M", 1100), ("v8m", 100)]
    )
    configs = {f"conf/{size}.yaml": "_target_: nets.Net\nd: 1000\n" for size in ("1M", "7B")}
    nets = NETS.replace("9.9M", "4,160").replace("5M", "4,160").replace("7_000_000", "4160")
    root = write_files(tmp_path / "p", {"nets.py": nets + "\n\n" + factories, **configs})
    assert nparam_lint("--format", "concise", cwd=root).stdout == ""
    done = nparam_lint("claims", "--format", "json", cwd=root)
    listed = {c["text"]: c["strength"] for c in json.loads(done.stdout)["claims"]}
    del listed["4,160 parameters"], listed["n_parameters=4160"]
    assert listed == {"net_2M": "likely", "7B.yaml": "likely"}


def test_of_many_the_first_are_shown(tmp_path, nparam_lint):
    text = "\n".join(f"GridNet has {n}k parameters.\n" for n in range(20, 32))
    files = {"nets.py": ONE, "README.md": text}
    assert len(told(tmp_path, nparam_lint, files)) == 12
    done = nparam_lint(cwd=tmp_path)
    assert done.stdout.count("GridNet has 100 parameters, stated: ") == 10
    assert "… and 2 more stated counts: nparam-lint claims" in done.stdout


def test_what_is_too_large_for_a_text_is_not_read(tmp_path, nparam_lint):
    table = "model,params\nGridNet,7M\n"
    files = {"nets.py": ONE, "small.csv": table, "large.csv": table + "x,1\n" * 1_500_000}
    assert [path for path, *_ in told(tmp_path, nparam_lint, files)] == ["small.csv"]
