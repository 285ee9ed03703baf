"""Layers that are made after the constructor are counted, or the model is not."""

import dataclasses

import pytest
from worker_runs import Run, make_orders, model_source, run

SOURCE = '''
import functools
import torch
from torch import nn
import torch.nn.functional as F

class LightningModule(nn.Module):
    """As Lightning's."""
    def configure_model(self): pass
    def setup(self, stage): pass
    @property
    def trainer(self): raise RuntimeError("no Trainer")

class Filled(nn.Linear):
    def __init__(self):
        super().__init__(1, 1)
        self.fc = None
    def forward(self, x):
        if self.fc is None:
            self.fc = nn.Linear(x.shape[1], 3).to(x.device)
        return self.fc(x)

class Missing(nn.Linear):
    @torch.no_grad()
    def forward(self, x):
        if not hasattr(self, "fc"):
            self._build(x)
        return self.fc(x)
    def _build(self, x):
        self.add_module("fc", nn.Sequential(nn.ReLU(), nn.Linear(1, 1)))

class Heir(Missing):
    pass

class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(Filled())

class Setup(LightningModule):
    def setup(self, stage):
        self.net = nn.Linear(8, 16)

class Configured(LightningModule):
    def __init__(self):
        super().__init__()
        self.net = None
    def configure_model(self):
        if self.net is None:
            self.net = nn.Linear(8, 16)

class WithTrainer(LightningModule):
    def configure_model(self):
        self.net = nn.Linear(8, self.trainer.width)

class Quiet(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight, self.fc = nn.Parameter(torch.zeros(3)), nn.Linear(1, 1)
        self.cache = self.loss = self.kind = self.part = self.other = None
        self.hidden = self.size = None
        self.past = []
    def forward(self, x):
        self.cache, self.loss = F.linear(x, self.weight), nn.CrossEntropyLoss()
        self.kind, self.part = nn.Linear, isinstance(x, nn.Linear) or Nothing()
        self.weight, self.fc = nn.Parameter(x), nn.Linear(2, 2)
        self.hidden, self.size = nn.ReLU()(x), x.shape
        setattr(x, "layer", nn.Linear(1, 1))
        self._modules[self.kind] = nn.Linear(1, 1)
        self.other.fc = nn.Linear(1, 1)
        self.past.append(x)
    def reset(self):
        self.new = nn.Linear(1, 1)
    def setup(self, stage):
        self.new = nn.Linear(1, 1)
    def helper():
        pass

class Nothing(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = nn.ReLU()
'''
# What is made first, what `forward` then does, and what that makes.
IN_FORWARD = {
    "Weight": ("", 'self.register_parameter("w", nn.Parameter(x))', "w"),
    "Appended": ("self.blocks = nn.ModuleList()", "self.blocks.append(Outer())", "blocks"),
    "Item": ("self.heads = nn.ModuleDict()", 'self.heads["a"] = nn.Linear(2, 1)', "heads"),
    "Extended": (
        "self.blocks = nn.ModuleList()",
        "self.blocks += [nn.Linear(n, 1) for n in x.shape]",
        "blocks",
    ),
    "Weights": (
        "self.weights = nn.ParameterDict()",
        'self.weights["a"] = nn.Parameter(x)',
        "weights",
    ),
    "Both": ("self.a = self.b = None", "self.a, self.b = nn.ReLU(), nn.Linear(1, 1)", "b"),
    "Annotated": ("", "self.c: nn.Module = nn.Linear(1, 1)", "c"),
    "Set": ("", 'setattr(self, "d", nn.Linear(1, 1))', "d"),
    "Inside": ("", 'self._modules["e"] = nn.Linear(1, 1)', "e"),
}
for name, (made, statement, _) in IN_FORWARD.items():
    SOURCE += model_source(name, made) + f"\n    def forward(self, x):\n        {statement}\n"
LINES = [line.strip() for line in SOURCE.splitlines()]
LATE = {
    "Filled()": ("self.fc in forward", "self.fc = nn.Linear(x.shape[1], 3).to(x.device)"),
    "Heir(1, 1)": (
        "self.fc in forward",
        'self.add_module("fc", nn.Sequential(nn.ReLU(), nn.Linear(1, 1)))',
    ),
    "Outer()": ("self.inner.0.fc in forward", "self.fc = nn.Linear(x.shape[1], 3).to(x.device)"),
    "Setup()": ("self.net in setup", "self.net = nn.Linear(8, 16)"),
    **{
        f"{name}()": (f"self.{attribute} in forward", statement)
        for name, (_, statement, attribute) in IN_FORWARD.items()
    },
}
COUNTED = {"Quiet()": 5, "Configured()": 144}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Run:
    root = tmp_path_factory.mktemp("late")
    (root / "m.py").write_text(SOURCE)
    jobs = make_orders(root, [f"m.py::{call}" for call in (*LATE, *COUNTED, "WithTrainer()")])
    (ran,) = make_orders(root, ["m.py::Filled()"], input="torch.zeros(1, 1)")
    (made,) = make_orders(root, ["m.py::Setup()"], setup="m = Setup(); m.setup('fit')", call="m")
    ran = dataclasses.replace(ran, id=len(jobs), label="ran")
    return run(root, [*jobs, ran, dataclasses.replace(made, id=len(jobs) + 1, label="made")])


@pytest.mark.parametrize("call", LATE)
def test_what_is_made_later_is_told(built: Run, call: str) -> None:
    what, statement = LATE[call]
    failure = built.failed(f"m.py::{call}")
    line = LINES.index(statement) + 1
    assert failure.code == "NPL009"
    assert failure.reason == f"{call} makes {what} (m.py:{line}), which has not run"
    expected = "m.setup('fit')" if call == "Setup()" else f'call = "{call}", input = '
    assert expected in (failure.hint or "")


@pytest.mark.parametrize(("label", "total"), [("ran", 2 + 6), ("made", 144)])
def test_what_the_hint_says_counts_it(built: Run, label: str, total: int) -> None:
    assert built.measured(label).counts.total == total


@pytest.mark.parametrize("call", COUNTED)
def test_others_are_counted(built: Run, call: str) -> None:
    assert built.measured(f"m.py::{call}").counts.total == COUNTED[call]


def test_what_needs_a_trainer_fails_with_its_words(built: Run) -> None:
    assert "RuntimeError: no Trainer" in built.failed("m.py::WithTrainer()").reason
