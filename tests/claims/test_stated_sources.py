"""Which numbers of a text are counts, and what may name their models: one table for each source."""

from __future__ import annotations

import json
import struct

import pytest

from nparam_lint.discover.claims.stated import stated_counts


def table(head, *rows):
    cells = "|".join("---" for _ in head.split("|"))
    return "".join(f"| {row} |\n" for row in (head, cells, *rows))


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
        "4,160 in 2 tensors",
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
