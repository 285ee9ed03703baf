"""A constructor that could tell that it is run on meta is counted only where it builds the same on
the CPU."""

import pytest
from worker_runs import Run, run

pytestmark = pytest.mark.usefixtures("one_worker")  # torch is imported once for all

# Each way to ask: an expression that is true on meta alone, where `w` is the weight of a layer.
QUESTIONS = {
    "is_meta": "w.is_meta",
    "is_cpu": "not w.is_cpu",
    "device": "w.device.type == 'meta'",
    "device of data": "w.data.device != torch.device('cpu')",
    "device of a new one": "torch.empty(1).device.type == 'meta'",
    "device of the first parameter": "next(self.parameters()).device.type == 'meta'",
    "getattr": "getattr(w, 'is_meta')",
    "a helper": "is_on_meta(w)",
    "a method": "self.on_meta()",
    "a lambda": "(lambda t: t.is_meta)(w)",
    "descriptor": "torch.Tensor.is_meta.__get__(w)",
    "attrgetter": "operator.attrgetter('device.type')(w) == 'meta'",
    "any": "any(p.is_meta for p in self.parameters())",
    "text": "'meta' in repr(w)",
    "formatted": "'meta' in f'{w}'",
    "data_ptr": "w.data_ptr() == 0",
    "storage": "w.untyped_storage().device.type == 'meta'",
    "type": "w.type() != 'torch.FloatTensor'",
    "a value": "not readable(w)",
    "a sum": "not computable(w)",
    "state_dict": "self.state_dict()['layer.weight'].is_meta",
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


def computable(tensor):
    try:
        return tensor.sum().item() is not None
    except RuntimeError:
        return False


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


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Run:
    root = tmp_path_factory.mktemp("questions")
    nets = [NET.format(number=n, question=q) for n, q in enumerate(QUESTIONS.values())]
    (root / "m.py").write_text(MODULE + "".join(nets) + OTHERS)
    numbered = [f"{name}{number}" for number in range(len(nets)) for name in ("Differs", "Agrees")]
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


def test_what_else_may_differ(found: Run) -> None:
    assert "buffers: 3, then 4" in found.failed("m.py::Buffers").reason
    assert "trainable: 20, then 4" in found.failed("m.py::Frozen").reason
    assert found.failed("m.py::Raises").reason == (
        "Raises() looks at the device that it is built on (at m.py:31), and cannot be built on the "
        "CPU: ValueError: meta only"
    )
