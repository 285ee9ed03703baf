"""A number that does not fit a model is told which other count of the model it is."""

from __future__ import annotations

import json

from model_source import TORCH, model_class
from sample_files import write_files

FROZEN = (
    "self.backbone = nn.Linear(10, 10).requires_grad_(False)",
    "self.head = nn.Linear(10, 5)",
)
POSITIONS = (
    "self.wte = nn.Embedding(50, 8)",
    "self.wpe = nn.Embedding(16, 8)",
    "self.fc = nn.Linear(8, 8)",
)
EXPERTS = (
    "self.top_k = 2",
    "self.gate = nn.Linear(8, 4, bias=False)",
    "self.experts = nn.ModuleList(nn.Linear(8, 8) for _ in range(4))",
)
BUFFER = ("self.fc = nn.Linear(4, 4)", "self.register_buffer('mask', torch.zeros(30))")
NORM = ("self.conv = nn.Conv2d(3, 8, 3, bias=False)", "self.bn = nn.BatchNorm2d(8)")
UNTIED = (
    "self.transformer = nn.Sequential(nn.Linear(60, 60), nn.Linear(60, 60))",
    "self.lm_head = nn.Linear(60, 90)",
)
CLASSES = ("self.body = nn.Linear(8, 8)", "self.head = nn.Linear(8, 1000)")
MILLION = ("self.fc = nn.Linear(1000, 1000, bias=False)",)


MEASURES = [
    (FROZEN, "nparam: 55", "55 is its trainable parameters"),
    (FROZEN, "nparam: 0.11k", "0.11k is its frozen parameters: 110"),
    (POSITIONS, "nparam: 72", "72 is its parameters without embeddings"),
    (POSITIONS, "nparam: 472", "472 is its parameters without positions"),
    (EXPERTS, "nparam: ~180", "~180 is its active parameters: 176"),
    (BUFFER, "nparam: 50", "50 is its parameters and buffers"),
    (NORM, "nparam: 224", "224 is it with each norm fused into its convolution"),
    (CLASSES, "nparam: 162", "162 is it with 10 classes"),
    (UNTIED, "nparam: 7_320", "7_320 is its transformer alone"),
    (UNTIED, "nparam: 7.3k", "7.3k is its transformer alone: 7,320"),
    (UNTIED, "nparam: 3.66k", "3.66k is its transformer.0 alone: 3,660"),
    (UNTIED, "It has 7.3K parameters.", "this is its transformer alone: 7,320"),
    (MILLION, "nparam: 0.954M", "0.954M is its count divided by 1024², not by a million"),
    (MILLION, "nparam: 4.0M", "4.0M is its megabytes in float32, not millions of parameters"),
    (MILLION, "nparam: 3.81M", "3.81M is its mebibytes in float32, not millions of parameters"),
    (
        MILLION,
        "nparam: 2.0M",
        "2.0M is its megabytes in half precision, not millions of parameters",
    ),
    (
        MILLION,
        "nparam: 1.91M",
        "1.91M is its mebibytes in half precision, not millions of parameters",
    ),
]
# What says nothing about the number.
SILENT = [
    (UNTIED, "nparam: 5"),  # it fits none
    (UNTIED, "nparam: <= 7_320"),
    (UNTIED, "nparam: 7k..8k"),
    (FROZEN, "nparam[head]: 110"),
    (FROZEN, "nparam[trainable]: 110"),
    # An exact number is a count: four times as many parameters are another model.
    (MILLION, "nparam: 4_000_000"),
    (FROZEN, "nparam: 0.66k"),  # few, and its bytes
    (FROZEN, "nparam(in Whole): 55"),  # a part inside a model
]
HOLD = [(FROZEN, "nparam: 165"), (FROZEN, "nparam: <= 200"), (FROZEN, "nparam[trainable]: 55")]


def test_a_number_that_is_another_count_of_the_model_is_called_that(tmp_path, nparam_lint):
    models = [*((body, budget) for body, budget, _ in MEASURES), *SILENT, *HOLD]
    classes = [
        model_class(f"Net{n}", *body, doc=f"A net.\n\n    {budget}\n    ")
        for n, (body, budget) in enumerate(models)
    ]
    part = len(models) - len(HOLD) - 1  # the last that is silent
    classes.append(model_class("Whole", f"self.part = Net{part}()"))
    files = {
        "nparam-lint.toml": 'device = "meta"\n',
        "net.py": "import torch\n" + TORCH + "\n\n".join(classes),
    }
    done = nparam_lint("--format", "json", cwd=write_files(tmp_path, files))
    found = {f["target"]: f["detail"][0] for f in json.loads(done.stdout)["findings"]}
    part_of_whole = f"net.py::Net{part}(in net.py::Whole)"
    said = [found.pop(f"net.py::Net{n}", None) for n in range(len(models))]
    said[part] = found.pop(part_of_whole)
    assert said[: len(MEASURES)] == [sentence for *_, sentence in MEASURES]
    silent = said[len(MEASURES) : -len(HOLD)]
    assert not any(" is it" in sentence for sentence in silent)
    assert said[-len(HOLD) :] == [None] * len(HOLD)
