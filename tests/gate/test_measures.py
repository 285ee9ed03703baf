"""A number that does not fit a model is told which other count of the model it is."""

from __future__ import annotations

import pytest
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


# Numbers that are another count of their model.
MEASURES = [
    *((FROZEN, f"nparam: {number}") for number in ("55", "0.11k")),
    *((POSITIONS, f"nparam: {number}") for number in ("72", "472")),
    *((EXPERTS, "nparam: ~180"), (BUFFER, "nparam: 50"), (NORM, "nparam: 224")),
    *((CLASSES, "nparam: 162"), (UNTIED, "It has 7.3K parameters.")),
    *((UNTIED, f"nparam: {number}") for number in ("7_320", "7.3k", "3.66k")),
    *((MILLION, f"nparam: {number}M") for number in ("0.954", "4.0", "3.81", "2.0", "1.91")),
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
MODELS = [*MEASURES, *SILENT, *HOLD]


@pytest.fixture
def place(tmp_path):
    classes = [
        model_class(f"Net{n}", *body, doc=f"A net.\n\n    {budget}\n    ")
        for n, (body, budget) in enumerate(MODELS)
    ]
    part = len(MODELS) - len(HOLD) - 1  # the last that is silent
    classes.append(model_class("Whole", f"self.part = Net{part}()"))
    files = {
        "nparam-lint.toml": 'device = "meta"\n',
        "net.py": "import torch\n" + TORCH + "\n\n".join(classes),
    }
    return write_files(tmp_path / "nets", files)


def test_a_number_that_is_another_count_of_the_model_is_called_that(transcript, expected):
    said = transcript("check -qv", columns=100)
    expected(said)
    (text,) = said.values()
    assert text.count(" is its ") + text.count(" is it ") == len(MEASURES)
