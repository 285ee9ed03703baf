"""Which numbers of a text are counts, and what may name their models: one table for each source."""

from __future__ import annotations

import json
import struct

import pytest

from nparam_lint.claims.stated import stated_counts


def read(path, text):
    """Each count: place, number, measure, and the nearest texts that may name its model."""
    content = text if isinstance(text, bytes) else text.encode()
    return [
        (
            f"{c.line}:{c.column}",
            c.value.text,
            str(c.selector),
            *(name.strip() for name in c.names[:2]),
        )
        for c in stated_counts(path, content)
    ]


TABLES = {
    "millions by the head": (
        "| model | acc | #Params (M) |\n|---|---|---|\n| ViT-B/16 | 81.1 | 86.6 |\n",
        [("3:21", "86.6M", "", "ViT-B/16")],
    ),
    "a suffix of its own": (
        "| model | Params |\n|---|---|\n| `a` | 4.2K |\n| **b** | 7B |\n",
        [("3:9", "4.2k", "", "a"), ("4:11", "7B", "", "b")],
    ),
    "no unit": (
        "| model | params |\n|---|---|\n| a | 27.5 |\n| b | 11,689,512 |\n",
        [("3:7", "27.5M", "", "a"), ("4:7", "11689512", "", "b")],
    ),
    "trainable": (
        "| model | Trainable params |\n|---|---|\n| a | 2M |\n",
        [("3:7", "2M", "trainable", "a")],
    ),
    "the second of two": (
        "name | FLOPs/params.\n:-:|:-:\nnet_1.0 | 0.40B/4.8M\n",
        [("3:17", "4.8M", "", "net_1.0")],
    ),
    "a link to a config": (
        "| Model | Params(M) | Config |\n|--|--|--|\n| R50 | 25.6 | [cfg](configs/r50.py) |\n",
        [("3:9", "25.6M", "", "R50", "cfg")],
    ),
    "rows are measures": (
        "| | small | large |\n|---|---|---|\n| Params | 2M | 7M |\n",
        [("3:12", "2M", "", "small"), ("3:17", "7M", "", "large")],
    ),
    "of a detector, whose backbone the row names": (
        "| Backbone | #params | box mAP |\n|---|---|---|\n| R50 | 44M | 41 |\n",
        [],
    ),
    "of a model, by its measure": (
        "| Model | #params | MAPE | Acc@1 |\n|---|---|---|---|\n| R50 | 44M | 4 | 1 |\n",
        [("3:9", "44M", "", "R50")],
    ),
    "of what the models are the backbone of": (
        "| Backbone of UperNet | Params |\n|---|---|\n| R50 | 33M |\n",
        [],
    ),
    "no count at all": (
        "| model | images | top-1 | FLOPs (G) |\n|---|---|---|---|\n| a | 7M | 76.1 | 4.1 |\n",
        [],
    ),
    "an API": ("| Parameter | Type |\n|---|---|\n| batch_size | 32 |\n", []),
    "a table in code": ("```\n| model | Params |\n|---|---|\n| a | 7M |\n```\n", []),
    "in HTML": (
        "<table>\n<tr><th>Model</th><th>Params</th></tr>\n<tr><td>a</td><td>7M</td>\n",
        [("3:19", "7M", "", "a")],
    ),
}


@pytest.mark.parametrize("case", TABLES)
def test_tables_of_markdown(case):
    text, counts = TABLES[case]
    assert read("README.md", text) == counts


MEASURES = [
    *("AP", "box AP", "bAP", "AP<sup>b</sup>", "AP<sup>val</sup>", "$AP^b$", "AP^bb"),
    *(r"$\text{AP}^{b}$", "mAP<sup>val<br>50-95", "mAP@0.5:0.95", "map50", "mAP(box)"),
    *("mIoU", "MIoU", "miou", "mean IoU", "mIoU/mAcc", "PQ"),
]


@pytest.mark.parametrize("head", MEASURES)
def test_a_table_of_detectors_may_name_their_backbones(head):
    text = f"| Model | #params | {head} |\n|---|---|---|\n| R50 | 44M | 41 |\n"
    (count,) = stated_counts("README.md", text.encode())
    assert count.of_larger
    assert count.names == ("R50",)


SENTENCES = {
    "`Net` has 7M parameters.": [("1:11", "7M", "", "Net  has", "7M parameters.")],
    "# Net\n\nIt has about 7.2 million parameters.": [
        ("3:8", "~7.2M", "", "It has", "about 7.2 million parameters.")
    ],
    "Trained on 7M images for 12k steps on ImageNet-1k.": [],
    "It has fewer than half of the 7M parameters of BERT.": [],
    "Version 1.2 takes 3 parameters.": [],
    "* total parameters = 55,207,087": [
        ("1:22", "55207087", "", "* total parameters =", "55,207,087")
    ],
}


@pytest.mark.parametrize("text", SENTENCES)
def test_sentences_of_markdown(text):
    assert read("docs/a.md", text) == SENTENCES[text]


OTHERS = {
    "front matter": (
        "MODEL_CARD.md",
        "---\nmodel: Net\nparameters: 7000000\n---\n",
        [("3:13", "7e6", "", "Net")],
    ),
    "a grid of reStructuredText": (
        "a.rst",
        "+-------+--------+\n| model | Params |\n+=======+========+\n"
        "| a     | 7M     |\n+-------+--------+\n",
        [("4:11", "7M", "", "a")],
    ),
    "a simple table of reStructuredText": (
        "a.rst",
        "=====  ======\nmodel  Params\n=====  ======\na      7M\n=====  ======\n",
        [("4:8", "7M", "", "a")],
    ),
    "LaTeX": (
        "paper/main.tex",
        "\\begin{tabular}{lr}\n\\toprule\nModel & \\#Params (M) \\\\\n\\midrule\n"
        "\\textbf{Net} & 7.0 \\\\ % old: 8.0\n\\bottomrule\n\\end{tabular}\n",
        [("5:16", "7.0M", "", "Net")],
    ),
    "LaTeX without an end": (
        "main.tex",
        "\\begin{tabular}{lr} Model & Params \\\\ Net & 7M \\\\",
        [("1:45", "7M", "", "Net")],
    ),
    "the text of LaTeX": (
        "main.tex",
        "\\emph{Net} has 7M parameters.",
        [("1:16", "7M", "", "Net  has", "7M parameters.")],
    ),
    "CSV": ("r.csv", "model,param_count\nNet,7.00\n", [("2:5", "7.00M", "", "Net")]),
    "CSV with units": ("r.csv", 'name;params_m\n"Net, v2";7\n', [("2:11", "7M", "", "Net, v2")]),
    "CSV of a measure": (
        "r.csv",
        "name,numTrainableParams\na,7M\n",
        [("2:3", "7M", "trainable", "a")],
    ),
    "comments behind code of YAML": (
        "m.yaml",
        "n: 1 # net_n has 7M parameters\ns: 2 # 9M parameters\n",
        [
            ("1:18", "7M", "", "n: 1  net_n has", "7M parameters"),
            ("2:8", "9M", "", "s: 2", "9M parameters"),
        ],
    ),
    "CSV without names": ("r.csv", "params\n7000000\n", []),
    "YAML": (
        "models.yaml",
        "net_a:\n  depth: 2\n  params: 7.2M  # trained\nnet_b:\n  num_params: 1234\n",
        [("3:11", "7.2M", "", "net_a"), ("5:15", "1234", "", "net_b")],
    ),
    "a metafile": (
        "metafile.yml",
        "Models:\n  - Name: vit\n    Metadata:\n      FLOPs: 1\n      Parameters: 88297192\n"
        "    Config: configs/vit.py\n  - Name: other\n",
        [("5:19", "88297192", "", "Metadata", "vit")],
    ),
    "a comment of YAML": (
        "net.yaml",
        "# Net: 2 layers, 9458752 parameters\nmodel: a\n",
        [("1:18", "9458752", "", "model: a  Net: 2 layers,", "9458752 parameters")],
    ),
    "TOML": ("m.toml", "[net]\nn_parameters = 7_000_000\n", [("2:16", "7e6", "", "net")]),
    "JSON": (
        "m.json",
        '{\n  "net": {\n    "total_parameters": 7000000\n  }\n}\n',
        [("3:25", "7e6", "", "net")],
    ),
    "JSON that is none": (
        "m.json",
        '{"net": {"total_parameters": 1234567, ',
        [("1:30", "1234567", "", "net")],
    ),
    "options are no counts": ("c.yaml", "params: 3\noptimizer:\n  parameters: all\n", []),
    "a dictionary of Python": (
        "m.py",
        'META = dict(name="Net", n_parameters=7_000_000)\n'
        'B = {"vit_b": {"num_params": 86567656}}\n',
        [("1:38", "7e6", "", "Net", "META"), ("2:30", "86567656", "", "vit_b", "B")],
    ),
    "a class of Python": (
        "m.py",
        "class ViT_B_16_Weights:\n    num_params = 86567656\n",
        [("2:18", "86567656", "", "ViT_B_16_Weights")],
    ),
    "a comment beside a call": (
        "m.py",
        "m = vit_b()  # 86.6M params\n",
        [("1:16", "86.6M", "", "m = vit_b()", "86.6M params")],
    ),
    "a docstring of a module": (
        "m.py",
        '"""Nets.\n\nNet has 9.9M parameters.\n"""\n',
        [("3:9", "9.9M", "", "Net has", "9.9M parameters.")],
    ),
    "arguments are no counts": ("m.py", "f(params=3)\nassert n == 5  # params of f\n", []),
    "Python that is none": ("m.py", "def f(:\n    # 7M parameters\n", []),
    "a notebook": (
        "n.ipynb",
        json.dumps(
            {
                "cells": [
                    {"cell_type": "markdown", "source": ["# N\n", "`Net` has 7M parameters.\n"]}
                ]
            },
            indent=1,
        ),
        [("7:16", "7M", "", "Net  has", "7M parameters.")],
    ),
    "a notebook that is none": ("n.ipynb", '{"cells": 7, "params": 3}', []),
    "an index of shards": (
        "model.safetensors.index.json",
        '{"metadata": {"total_parameters": 7000000}, "weight_map": {"l.weight": "a"}}',
        [("1:35", "7000000", "")],
    ),
}


@pytest.mark.parametrize("case", OTHERS)
def test_other_sources(case):
    path, text, counts = OTHERS[case]
    assert read(path, text) == counts


def header(tensors, length=None):
    body = json.dumps(tensors).encode()
    return struct.pack("<Q", len(body) if length is None else length) + body + b"\0" * 64


def test_the_header_of_a_checkpoint_counts_its_tensors():
    tensors = {
        "__metadata__": {"format": "pt"},
        "l.weight": {"dtype": "F32", "shape": [64, 64], "data_offsets": [0, 0]},
        "l.bias": {"dtype": "F32", "shape": [64], "data_offsets": [0, 0]},
    }
    (count,) = stated_counts("model.safetensors", header(tensors))
    assert (count.text, count.value.text, count.weights) == (
        "2 tensors",
        "4160",
        ("l.weight", "l.bias"),
    )


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"1234",
        header({"a": {"shape": [2]}}, length=10**15),
        header({"a": 7}),
        header([1]),
        b"\x02" + b"\0" * 7 + b"{]",
    ],
    ids=["empty", "short", "a length that lies", "no shape", "a list", "no JSON"],
)
def test_a_damaged_checkpoint_states_nothing(content):
    assert not [*stated_counts("model.safetensors", content)]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.md", "| Params |" + "|" * 200_000 + " 7"),
        ("a.md", "parameters " + "7M " * 100_000),
        ("a.md", "<table>" * 50_000 + "params 7"),
        ("a.tex", "\\begin{tabular}" + "{" * 100_000 + " params 7M"),
        ("a.tex", "\\textbf{" * 50_000 + "params 7M"),
        ("a.csv", "model,params\n" + "a,7\n" * 300_000),
        ("a.json", '{"params": ' * 50_000 + "7000000"),
        ("a.yaml", "params: 7000000\n" * 5_000),
        ("a.yaml", " params: 7000000\n" * 1_000 + "a: b\n" * 1_000),
        ("a.ipynb", "[" * 100_000 + "params 7M"),
        ("a.py", "x = " + "(" * 100_000 + "  # 7M params"),
        ("a.py", "x = a" + ".b" * 900 + "\nn_params = 7_000_000\n"),
        ("a.html", "<table><tr><td>params<![bad[ <td>7M"),
        ("a.csv", "model,params\na,7M\0\n" + '"' * 200_000),
    ],
)
def test_what_is_endless_or_never_closed_is_read_in_time(path, text):
    """Each takes milliseconds, or seconds at most; the suite's own limit stops what does not."""
    for count in stated_counts(path, text.encode()):
        assert count.line > 0
