"""Modules that TorchScript made, by themselves and as parts of others: counted as what they were
made of is."""

import pytest
from worker_runs import Run, run

MODULE = """\
import torch
from torch import nn
from torch.jit import script, trace


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(10, 10)
        self.register_buffer("table", torch.zeros(7))

    def forward(self, x):
        return self.lin(x) + self.table.sum()


class Old(torch.jit.ScriptModule):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(10, 10)
        self.register_buffer("table", torch.zeros(7))

    @torch.jit.script_method
    def forward(self, x):
        return self.lin(x)


class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.top_k = 1
        self.experts = nn.ModuleList([nn.Linear(10, 10) for _ in range(2)])

    def forward(self, x):
        for expert in self.experts:
            x = expert(x)
        return x


def traced():
    return trace(Inner(), torch.zeros(1, 10))


class Parts(nn.Module):
    def __init__(self, *parts):
        super().__init__()
        for number, part in enumerate(parts):
            setattr(self, f"part{number}", part)


def once():
    part = script(Inner())
    return Parts(part, part)


def tied():
    inner = Inner()
    return Parts(script(inner), inner)


def hidden():
    model = Parts()
    model.parts = [script(Inner())]
    return model
"""
# Each call -> its parameters, elements of buffers, and the classes of its modules by their paths.
INNER = {"": "Inner", "lin": "Linear"}


def inside(name: str, rows: dict[str, str] = INNER) -> dict[str, str]:
    return {f"{name}.{path}".rstrip("."): kind for path, kind in rows.items()}


OLD = {"": "Old", "lin": "Linear"}
CALLS = {
    "script(Inner())": (110, 7, INNER),
    "traced()": (110, 7, INNER),
    "Old()": (110, 7, OLD),
    "Parts(script(Inner()))": (110, 7, {"": "Parts"} | inside("part0")),
    "Parts(traced())": (110, 7, {"": "Parts"} | inside("part0")),
    "Parts(Old())": (110, 7, {"": "Parts"} | inside("part0", OLD)),
    "once()": (110, 7, {"": "Parts"} | inside("part0") | {"part1": "Inner"}),
    "tied()": (110, 7, {"": "Parts"} | inside("part0") | inside("part1")),
    "nn.Sequential(nn.Sequential(script(nn.Sequential(Inner(), nn.ReLU()))))": (
        110,
        7,
        dict.fromkeys(("", "0", "0.0"), "Sequential") | inside("0.0.0") | {"0.0.1": "ReLU"},
    ),
    "Parts(nn.Embedding(3, 2), script(nn.Linear(2, 3)))": (
        15,
        0,
        {"": "Parts", "part0": "Embedding", "part1": "Linear"},
    ),
    "hidden()": (0, 0, {"": "Parts"}),
}
EMBEDDING, EXPERTS = "Parts(script(nn.Embedding(3, 2)))", "Parts(script(Experts()))"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Run:
    root = tmp_path_factory.mktemp("compiled")
    (root / "m.py").write_text(MODULE)
    return run(root, [f"m.py::{call}" for call in (*CALLS, EMBEDDING, EXPERTS)])


@pytest.mark.parametrize("call", CALLS)
def test_a_compiled_module_is_counted_as_what_it_was(found: Run, call: str) -> None:
    parameters, buffers, kinds = CALLS[call]
    model = found.measured(f"m.py::{call}")
    assert (model.counts.total, model.counts.buffers) == (parameters, buffers)
    assert {row.path: row.type for row in model.modules} == kinds


def test_what_is_compiled_keeps_its_part_in_other_counts(found: Run) -> None:
    assert found.measured(f"m.py::{EMBEDDING}").counts.non_embedding == 0
    counts = found.measured(f"m.py::{EXPERTS}").counts
    assert (counts.total, counts.active) == (220, 110)


def test_a_compiled_module_in_a_list_is_hidden(found: Run) -> None:
    (hidden,) = found.measured("m.py::hidden()").hidden
    assert (hidden.path, hidden.count, hidden.source) == ("parts", 110, "m.py:9")
