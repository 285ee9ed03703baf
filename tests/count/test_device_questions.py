"""A constructor that could tell that it is run on meta is counted only where it builds the same on
the CPU."""

import pytest
from worker_runs import Run, run

# Each way to ask: an expression that is true on meta alone, where `w` is the weight of a layer.
QUESTIONS = {
    "is_meta": "w.is_meta",
    "is_cpu": "not w.is_cpu",
    "device": "w.device.type == 'meta'",
    "device of a new one": "torch.empty(1).device.type == 'meta'",
    "a helper": "is_on_meta(w)",
    "descriptor": "torch.Tensor.is_meta.__get__(w)",
    "attrgetter": "operator.attrgetter('device.type')(w) == 'meta'",
    "text": "'meta' in repr(w)",
    "data_ptr": "w.data_ptr() == 0",
    "storage": "w.untyped_storage().device.type == 'meta'",
    "type": "w.type() != 'torch.FloatTensor'",
    "a value": "not readable(w)",
    "an initial value": "not computable(nn.init.ones_(w), 16)",
    "exec": "executed('r = w.device.type', w=w) == 'meta'",
    "dlpack": "not exported(w)",
}
MODULE = """\
import operator
import torch
from torch import nn


def is_on_meta(tensor):
    return tensor.is_meta


def readable(tensor):
    try:
        tensor[0, 0].item()
    except Exception:
        return False
    return True


def computable(tensor, expected):
    try:
        return tensor.sum().item() == expected
    except RuntimeError:
        return False


def exported(tensor):
    try:
        return tensor.detach().__dlpack__() is not None
    except (BufferError, RuntimeError):
        return False


def executed(text, **names):
    exec(text, names)
    return names["r"]


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def on_meta(self):
        return self.layer.weight.is_meta
"""
NET = """

class Differs{number}(Base):
    def __init__(self):
        super().__init__()
        w = self.layer.weight
        self.more = nn.Linear(4, 5 if {question} else 4)


class Agrees{number}(Base):
    def __init__(self):
        super().__init__()
        w = self.layer.weight
        self.more = nn.Linear(4, 4)
        self.where = {question}
"""
OTHERS = """

class Buffers(Base):
    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.zeros(3 if self.on_meta() else 4))


class Frozen(Base):
    def __init__(self):
        super().__init__()
        self.layer.weight.requires_grad_(self.on_meta())


class Raises(Base):
    def __init__(self):
        super().__init__()
        if not self.on_meta():
            raise ValueError("meta only")
"""
# Widths of 4 that are read from what an initialiser has written: `w` is a tensor of 4 elements.
VALUES = {
    "ones": "nn.init.ones_(w); n = int(w.sum())",
    "constant": "nn.init.constant_(w, 0.5); n = int(w.sum().item() * 2)",
    "zeros": "nn.init.zeros_(w); n = 4 + int(w.abs().sum() > 0)",
    "uniform": "nn.init.uniform_(w, 2, 3); n = 4 if w.min() >= 2 else 5",
    "in place": "w.normal_(9, 0.1); n = 4 if w.min() > 7 else 5",
    "a norm": "n = int(nn.LayerNorm(4).weight.sum())",
    "an activation": "n = int(nn.PReLU(16).weight.sum())",
}
READS = """

class Reads{number}(nn.Module):
    def __init__(self):
        super().__init__()
        w = {tensor}
        {read}
        self.more = nn.Linear(4, n)
"""
TENSORS = ("torch.empty(4)", "torch.zeros(4)")  # the second is a real one on meta, too


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Run:
    root = tmp_path_factory.mktemp("questions")
    nets = [NET.format(number=n, question=q) for n, q in enumerate(QUESTIONS.values())]
    (root / "m.py").write_text(MODULE + "".join(nets) + OTHERS)
    given = [{"tensor": t, "read": read} for t in TENSORS for read in VALUES.values()]
    reads = [READS.format(number=number, **parts) for number, parts in enumerate(given)]
    with (root / "m.py").open("a") as file:
        file.write("".join(reads))
    numbered = [f"Reads{number}" for number in range(len(reads))]
    numbered += [f"{name}{number}" for number in range(len(nets)) for name in ("Differs", "Agrees")]
    return run(root, [f"m.py::{name}" for name in (*numbered, "Buffers", "Frozen", "Raises")])


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_constructor_that_looks_at_the_device(found: Run, question: str) -> None:
    number = [*QUESTIONS].index(question)
    failure = found.failed(f"m.py::Differs{number}")
    assert (failure.code, failure.cause) == ("NPL004", "device")
    assert failure.reason.endswith(
        "has different parameters on meta and on the CPU: more.weight: [5, 4] float32, then [4, 4] "
        "float32; more.bias: [5] float32, then [4] float32; total: 45, then 40"
    )
    assert failure.source is not None
    assert failure.source.startswith("m.py:")
    assert found.measured(f"m.py::Agrees{number}").counts.total == 40


@pytest.mark.parametrize("name", VALUES)
def test_a_width_that_an_initialiser_has_written(found: Run, name: str) -> None:
    number = [*VALUES].index(name)
    for one in (number, number + len(VALUES)):
        assert found.measured(f"m.py::Reads{one}").counts.total == 20


def test_what_else_may_differ(found: Run) -> None:
    assert "buffers: 3, then 4" in found.failed("m.py::Buffers").reason
    assert "trainable: 20, then 4" in found.failed("m.py::Frozen").reason
    assert found.failed("m.py::Raises").reason == (
        "Raises() looks at the device that it is built on (at m.py:43), and cannot be built on the "
        "CPU: ValueError: meta only"
    )
