"""Which numbers of a text are counts, and what may name their models: one table for each source."""

from __future__ import annotations

import json
import struct

import pytest

from nparam_lint.discover.claims.stated import stated_counts


def read(path, text):
    """Each count: place, number, measure, and the nearest texts that may name its model."""
    content = text if isinstance(text, bytes) else text.encode()
    return "".join(
        f"  {c.line}:{c.column} {c.value.text} [{c.selector}] "
        f"{' | '.join(name.strip() for name in c.names[:2])}".rstrip()
        + "\n"
        for c in stated_counts(path, content)
    )


def table(head, *rows):
    cells = "|".join("---" for _ in head.split("|"))
    return "".join(f"| {row} |\n" for row in (head, cells, *rows))


TABLES = {
    "millions by the head": table("model | acc | #Params (M)", "ViT-B/16 | 81.1 | 86.6"),
    "a suffix of its own": table("model | Params", "`a` | 4.2K", "**b** | 7B"),
    "no unit": table("model | params", "a | 27.5", "b | 11,689,512"),
    "trainable": table("model | Trainable params", "a | 2M"),
    "the second of two": "name | FLOPs/params.\n:-:|:-:\nnet_1.0 | 0.40B/4.8M\n",
    "a footnote": table("Model | Params", "a | 7M[^1]", "b | 8M†", "c | 9M $^*$"),
    "a link to a config": table("Model | Params(M) | Config", "R50 | 25.6 | [cfg](configs/r50.py)"),
    "rows are measures": table(" | small | large", "Params | 2M | 7M"),
    "of a detector, whose backbone the row names": table(
        "Backbone | #params | box mAP", "R50 | 44M | 41"
    ),
    "of a model, by its measure": table("Model | #params | MAPE | Acc@1", "R50 | 44M | 4 | 1"),
    "of what the models are the backbone of": table("Backbone of UperNet | Params", "R50 | 33M"),
    "no count at all": table("model | images | top-1 | FLOPs (G)", "a | 7M | 76.1 | 4.1"),
    "an API": table("Parameter | Type", "batch_size | 32"),
    "a table in code": f"```\n{table('model | Params', 'a | 7M')}```\n",
    "in HTML": "<table>\n<tr><th>Net</th><th>#<br />params</th></tr>\n<tr><td>a</td><td>7M</td>\n",
    "sentences": """\
`Net` has 7M parameters.

Net has **7.3M** parameters, or *7.4M parameters*, or __7,500,000__ parameters. 2*7M parameters.

- Parameters: **7.6M**

# Net

It has about 7.2 million parameters.

Trained on 7M images for 12k steps on ImageNet-1k.

It has fewer than half of the 7M parameters of BERT.

Version 1.2 takes 3 parameters.

net_a and net_b have 1.5M and 2.5M parameters respectively.
Of the two models, net_c, net_d and net_e have 1M, 2M and 3M parameters.
net_f and net_g have 7M parameters.

* total parameters = 55,207,087
""",
}
TABLES["badges"] = """\
![params](https://img.shields.io/badge/params-1.9M-blue) ![acc](https://img.shields.io/badge/acc-81-red)
<img alt="size" src="https://img.shields.io/badge/Parameters-555K-blue">
"""
TABLES["in Chinese"] = (
    table("模型 | 参数量 (M) | mIoU", "net_m | 4.05 | 74")
    + """
net_m 的参数量约为 405万。net_s 共有 191万 个参数。比 net_m 少 200万 参数。参数 batch = 12800。
参数量 500M-1B
"""
)
TABLES["with a comma for decimals"] = table("Modell | Parameter", "a | 22.797.672", "b | 31,8 Mio.")
TABLES["in Russian"] = (
    "Модель net имеет 11,7 млн параметров, меньше, чем a.\n\nnet: 11,7 млн параметров.\n"
)


MEASURES = [
    *("AP", "box AP", "bAP", "AP<sup>b</sup>", "AP<sup>val</sup>", "$AP^b$", "AP^bb"),
    *(r"$\text{AP}^{b}$", "mAP<sup>val<br>50-95", "mAP@0.5:0.95", "map50", "mAP(box)"),
    *("mIoU", "MIoU", "miou", "mean IoU", "mIoU/mAcc", "PQ"),
]


@pytest.mark.parametrize("head", MEASURES)
def test_a_table_of_detectors_may_name_their_backbones(head):
    text = table(f"Model | #params | {head}", "R50 | 44M | 41")
    (count,) = stated_counts("README.md", text.encode())
    assert count.of_larger
    assert count.names == ("R50",)


# Texts by the name of their file.
OTHERS = {
    "MODEL_CARD.md": ["---\nmodel: Net\nparameters: 7000000\n---\n"],
    "a.rst": [
        "+-------+--------+\n| model | Params |\n+=======+========+\n"
        "| a     | 7M     |\n+-------+--------+\n",
        "=====  ======\nmodel  Params\n=====  ======\na      7M\n=====  ======\n",
        ".. list-table::\n   :header-rows: 1\n\n   * - Model\n     - Params (M)\n   * - a\n"
        "     - 5.72\n\nText.\n",
        '.. csv-table:: More\n   :header: "Model", "Params"\n\n   "a, v2", "86.6M"\n',
    ],
    "paper/main.tex": [
        "\\begin{tabular}{lr}\n\\toprule\nModel & \\#Params (M) \\\\\n\\midrule\n"
        "\\textbf{Net} & 7.0 \\\\ % old: 8.0\n\\bottomrule\n\\end{tabular}\n",
        "\\begin{tabular}{lr} Model & Params \\\\ Net & 7M \\\\",  # without an end
        "\\emph{Net} has 7M parameters.",
        "\\begin{tabular}{lrrr}Model & Params & \\multicolumn{2}{c}{Acc} \\\\\n"
        "a & 7.0\\,M & 1 & 2 \\\\ b & 8M$^{1}$ & 3 & 4 \\\\ c & 9M\\textsuperscript{2} & 5 & 6",
    ],
    "r.csv": [
        "model,param_count\nNet,7.00\n",
        'name;params_m\n"Net, v2";7\n',
        "name,numTrainableParams\na,7M\n",
        "params\n7000000\n",  # no names
    ],
    "models.yaml": [
        "n: 1 # net_n has 7M parameters\ns: 2 # 9M parameters\n",
        "net_a:\n  depth: 2\n  params: 7.2M  # trained\nnet_b:\n  num_params: 1234\n",
        "Models:\n  - Name: vit\n    Metadata:\n      FLOPs: 1\n      Parameters: 88297192\n"
        "    Config: configs/vit.py\n  - Name: other\n",
        "# Net: 2 layers, 9458752 parameters\nmodel: a\n",
        "a:\n  n_parameters: 2,912,010\nb: {num_params: 1234, depth: 567}\n",
        "params: 3\noptimizer:\n  parameters: all\n",  # options
    ],
    "m.toml": ["[net]\nn_parameters = 7_000_000\n"],
    "m.json": [
        '{\n  "net": {\n    "total_parameters": 7000000\n  }\n}\n',
        '{"net": {"total_parameters": 1234567, ',  # cut off
        '[{"name": "a", "num_params": 1234}, {"num_params": 5678, "name": "b"}]',
        '{"a": {"x": {"num_params": 1234}}, "b": {"num_params": 5678, "x": {"name": "c"}}}',
    ],
    "m.py": [
        'META = dict(name="Net", n_parameters=7_000_000)\n'
        'B = {"vit_b": {"num_params": 86567656}}\n',
        "class ViT_B_16_Weights:\n    num_params = 86567656\n",
        "m = vit_b()  # 86.6M params\n",
        'PARAMS_M = {\n    "vit_b": 86.6,\n}\nA = {"vit_l": {"params": 304.3}}\n',
        'num_params = {"lr": None, "a": True, "b": "c"}\nparams = {"d": 7000000}\n'
        'MODEL_PARAM = {"e": 700}\n',
        '"""Nets.\n\nNet has 9.9M parameters.\n"""\n',
        "f(params=3)\nassert n == 5  # params of f\n",  # arguments
        "def f(:\n    # 7M parameters\n",  # no Python
    ],
    "n.ipynb": [
        '{\n "cells": [\n  {\n   "cell_type": "markdown",\n   "source": [\n    "# N\\n",\n'
        '    "`Net` has 7M parameters.\\n"\n   ]\n  }\n ]\n}',
        '{"cells": 7, "params": 3}',
    ],
    "model.safetensors.index.json": [
        '{"metadata": {"total_parameters": 7000000}, "weight_map": {"l.weight": "a"}}'
    ],
}


def test_what_each_source_states(expected):
    said = {title: f"{text}{read('README.md', text)}" for title, text in TABLES.items()}
    for path, texts in OTHERS.items():
        said[path] = "".join(f"{text.rstrip()}\n{read(path, text)}" for text in texts)
    expected(said)


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
        ("a.md", "parameters and " + "a" * 1900 + " have 7M"),
        ("a.md", "parameters and " + "a, " * 600 + " have 7M"),
        ("a.md", "params " + "<img " * 20_000 + "![](" * 20_000),
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
