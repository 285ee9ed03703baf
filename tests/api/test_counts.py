"""`nparam_lint.count` of real models: each count is also worked out with torch alone."""

import json
import random

import pytest
import torch
from torch import nn

import nparam_lint
from nparam_lint import count
from nparam_lint.ground.errors import UsageError

# What torch says of its own old ways, and of layers that are slow.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc = nn.Linear(width, width)
        self.register_buffer("mask", torch.ones(width, width))


class GPT(nn.Module):
    def __init__(self, n_layer=2, width=8, vocab=20):
        super().__init__()
        self.wte = nn.Embedding(vocab, width)
        self.h = nn.ModuleList(Block(width) for _ in range(n_layer))
        self.head = nn.Linear(width, vocab, bias=False)
        self.head.weight = self.wte.weight
        self.h[0].fc.bias.requires_grad_(False)


def by_torch(model):
    found = list(model.parameters())
    return sum(p.numel() for p in found), sum(p.numel() for p in found if p.requires_grad)


def test_every_count_of_a_live_model():
    model = GPT()
    counts = nparam_lint.count(model)
    assert (counts.total, counts.trainable) == by_torch(model) == (304, 296)
    assert (counts.frozen, counts.non_embedding, counts.buffers) == (8, 144, 128)
    assert counts.bytes == 4 * (304 + 128)
    assert counts.of("bytes", "h.1") == counts["h.1"].bytes == 4 * (72 + 64)
    assert sum(row.own for row in counts.modules) == counts.total
    assert [row.path for row in counts.modules] == [name for name, _ in model.named_modules()]
    assert {p.name: p.shape for p in counts.parameters} == {
        name: tuple(p.shape) for name, p in model.named_parameters()
    }
    assert counts.parameters[0].also == ("head.weight",)
    assert counts.to_dict()["counts"]["total"] == 304


def test_a_class_is_built_where_it_takes_no_memory():
    counts = nparam_lint.count(GPT, 1, width=1 << 18, vocab=1 << 20)  # of 1.4 TB
    assert counts.call == "GPT(1, width=262144, vocab=1048576)"
    assert counts.total == (1 << 38) + (1 << 36) + (1 << 18)


def test_no_numbers_are_drawn_there(monkeypatch):
    """That would import 800 modules, once."""
    monkeypatch.setattr(nn.init, "_no_grad_normal_", None)
    assert nparam_lint.count(nn.Embedding, 20, 8).total == 160


def test_the_same_as_on_the_command_line(nparam_lint, tmp_path):
    lines = (
        "import torch\nfrom torch import nn\n\n\ndef make():\n    return nn.Transformer(16, 2)\n"
    )
    (tmp_path / "net.py").write_text(lines)
    done = nparam_lint("show", "net.py::make", "--format", "json", cwd=tmp_path)
    own = count(nn.Transformer, 16, 2).to_dict()["counts"]
    assert json.loads(done.stdout)["models"][0]["counts"] == own


@pytest.mark.first_cases(1)
@pytest.mark.filterwarnings("ignore:.torch.jit.script. is")
@pytest.mark.parametrize(
    "wrap",
    [
        nn.DataParallel,
        torch.compile,
        lambda model: model.to("meta"),
        lambda model: model.half(),
        lambda model: torch.jit.script(nn.Sequential(*model.h[0].children())),
    ],
    ids=["data parallel", "compiled", "meta", "half", "script"],
)
def test_wrapped_models(wrap):
    model = wrap(GPT())
    assert (nparam_lint.count(model).total, nparam_lint.count(model).trainable) == by_torch(model)


def test_what_was_lazy_counts_once_it_has_a_shape():
    lazy = nn.Sequential(nn.LazyLinear(3))
    with pytest.raises(UsageError, match="2 uninitialised lazy parameters"):
        nparam_lint.count(lazy)
    lazy(torch.zeros(1, 5))
    assert nparam_lint.count(lazy).total == 18


def test_what_parameters_lacks_is_told():
    model = Block(2)
    model.lost = [nn.Linear(2, 2)]
    (hidden,) = nparam_lint.count(model).hidden
    assert (hidden.path, hidden.count) == ("lost", 6)
    exported = torch.export.export(nn.Linear(4, 4), (torch.ones(1, 4),)).module()
    assert nparam_lint.count(exported).hidden == ()  # its graph knows the weights from before


def test_a_constructor_that_looks_at_its_device_is_built_on_the_cpu():
    def make():
        width = 4 if torch.empty(1).device.type == "cpu" else 8
        return nn.Linear(width, 1)

    counts = nparam_lint.count(make)
    assert counts.total == 5


def test_nothing_of_the_process_changes():
    states = torch.get_rng_state(), random.getstate(), nn.init.normal_, nn.Module.__init__

    def make():
        random.random()
        return nn.Linear(int(torch.rand(1) * 0) + 3, 3)

    assert nparam_lint.count(make).total == 12
    assert torch.equal(torch.get_rng_state(), states[0])
    assert (random.getstate(), nn.init.normal_, nn.Module.__init__) == states[1:]
    assert not nn.Linear(2, 2).weight.is_meta


def test_an_exception_of_the_constructor_passes():
    def make():
        raise RuntimeError("no weights")

    with pytest.raises(RuntimeError, match="no weights"):
        nparam_lint.count(make)


@pytest.mark.parametrize(
    ("model", "args", "said"),
    [
        (3, (), "found int, expected a module, or what makes one"),
        (lambda: 3, (), "<lambda> returned int, not a model"),
        (nn.Linear(2, 2), (1,), "Linear is built already, and takes no arguments"),
    ],
)
def test_what_is_no_model(model, args, said):
    with pytest.raises(UsageError, match=said):
        nparam_lint.count(model, *args)


def test_names_that_are_not_there():
    counts = nparam_lint.count(GPT)
    with pytest.raises(UsageError, match="no metric 'trainabel'; did you mean trainable"):
        counts.of("trainabel")
    with pytest.raises(UsageError, match="no module 'wtee'; did you mean wte"):
        counts["wtee"]


class Router(nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = nn.ModuleList(nn.Linear(4, 4) for _ in range(4))
        self.router = nn.Linear(4, 4)


def test_what_is_unknown_is_not_a_number():
    counts = nparam_lint.count(Router)
    assert counts.active is None
    with pytest.raises(UsageError, match=r"active parameters of Router\(\) are unknown: "):
        counts.of("active")


def test_as_text():
    counts = nparam_lint.count(GPT, n_layer=3)
    assert repr(counts) == "Counts(GPT(n_layer=3): 376 parameters)"
    assert "h.1 … h.2 (2×)" in str(counts)
    assert str(counts).startswith("GPT(n_layer=3)\n")
