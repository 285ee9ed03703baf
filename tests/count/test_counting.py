"""Every model of the zoo is counted right, in both ways that the worker has of making processes.

The truth is made twice: by hand (`CASES`), and by plain torch on the CPU in this process.
"""

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import zoo_models
from msgspec import structs
from worker_runs import MODES, Run, make_orders, run, snapshot

from nparam_lint.count.measured import Measured, ModuleRow

with warnings.catch_warnings():  # a torch without numpy says so once, as it is imported
    warnings.filterwarnings("ignore", "Failed to initialize NumPy")
    import torch
    from torch import nn


class Case(NamedTuple):
    """What a model has; `bytes` of parameters and buffers (None: four for each)."""

    total: int
    trainable: int | None = None
    buffers: int = 0
    bytes: int | None = None
    hidden: int = 0


CASES = {
    "TiedOutput": Case(50 * 8 + 72),
    "TiedInput": Case(50 * 8 + 72),
    "TiedData": Case(50 * 8 * 2),
    "View": Case(40 + 12),
    "TwoNames": Case(16),
    "TwoParents": Case(16 + 10 + 25),
    "Repeated": Case(20),
    "SharedInShared": Case(16 + 10 + 2),
    "TiedAcross": Case(36 + 3 * 6),
    "Cycle": Case(9),
    "CycleWithOwn": Case(5 + 9 + 2),
    "HiddenParent": Case(9),
    "Root": Case(7 + 1),
    "Branch": Case(6 + 9),
    "Lists": Case(2 + 3 + 5 + 7 + 11),
    "OddNames": Case(2 * (1 + 2 + 3 + 4 + 5 + 6 + 7 + 8)),
    "Nothing": Case(12),
    "InTuple": Case(2, hidden=12 + 4),
    "BareTensor": Case(0, hidden=12),
    "SavedArguments": Case(12),
    "ListedElsewhere": Case(6 + 9),
    "HiddenTwice": Case(0, hidden=12),
    "LstmWeightNorm": Case(4 * 5 * (4 + 5) + 2 * 4 * 5 + 4 * 5),
    "OwnParameters": Case(20 + 10, hidden=20),
    "Frozen": Case(110 + 22, trainable=20),
    "old_weight_norm": Case(30 + 6 + 6),
    "new_spectral_norm": Case(36, buffers=6 + 5),
    "orthogonal": Case(30, buffers=25),
    "completed": Case(12, buffers=7),
    "pruned": Case(28, buffers=24),
    "Complex": Case(12, bytes=12 * 8),
    "Expanded": Case(40),
    "ZeroSize": Case(2),
    "Mixed": Case(106, trainable=100, bytes=40 * 2 + 30 * 2 + 20 * 8 + 10 * 4 + 6),
    "Packed": Case(32, buffers=512 + 32, bytes=512 + 32 * 2 + 32 * 4),
    "Buffers": Case(0, buffers=5 + 11 + 3, bytes=16 * 4 + 3),
    "transformer": Case(
        2 * (288 + (8 * 16 + 16) + (16 * 8 + 8) + 2 * 16)
        + 3 * (2 * 288 + (8 * 16 + 16) + (16 * 8 + 8) + 3 * 16)
        + 2 * 16
    ),
    "lstm": Case(2 * (40 * (6 + 3) + 80 + 30) + 2 * (40 * (6 + 3) + 80 + 30)),
    "batch_norm": Case(108 + 8, buffers=2 * (4 + 4 + 1), bytes=116 * 4 + 16 * 4 + 2 * 8),
    "leaf": Case(40),
    "Item": Case(2 * (10 + 11 + 12 + 13 + 14 + 15) + 6 * 2),
    "MixedDevices": Case(12 + 22, buffers=12),
    "ExplicitCpu": Case(12 + 10),
    "LegacyTensor": Case(12 + 5),
    "NanGuard": Case(2500),
    "DefaultDtype": Case(12, bytes=12 * 8),
    "RandomValues": Case(12),
    "ChangesConfig": Case(8 + 1),
    "ChangesShared": Case(8 * 2 + 2),
    # These cannot be built by plain torch here.
    "ToCuda": Case(20, buffers=3),
    "Cuda": Case(25 + 25 + 9, bytes=25 * 4 + 25 * 2 + 9 * 4),
    "Giant": Case(100_000_000_000),
    "Lazy": Case((3 * 8 * 9 + 8) + 16 + (288 * 5 + 5), buffers=17, bytes=1685 * 4 + 16 * 4 + 8),
}
ONLY_BY_HAND = {"ToCuda", "Cuda", "Giant", "Lazy"}
CYCLES = {"Cycle", "CycleWithOwn"}
RANDOM = ("RandomWidth", "RandomTensorWidth", "RandomChoice")
LAZY_INPUT = "torch.zeros(1, 3, 8, 8)"


def plain(name: str) -> Any:
    """The model, as torch builds it on the CPU, from a fresh copy of the zoo."""
    names: dict[str, Any] = {}
    before = torch.get_default_dtype()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(zoo_models.zoo(), names)
            call = "ChangesConfig(Config())" if name == "ChangesConfig" else f"{name}()"
            return eval(call, names)
    finally:
        torch.set_default_dtype(before)


def parameters(module: nn.Module) -> list[nn.Parameter]:
    return list({id(p): p for p in nn.Module.parameters(module)}.values())


def buffers(module: nn.Module) -> list[torch.Tensor]:
    return list({id(b): b for b in nn.Module.buffers(module)}.values())


@pytest.fixture(scope="module", params=MODES)
def zoo(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    root = tmp_path_factory.mktemp("zoo")
    (root / "zoo.py").write_text(zoo_models.zoo())
    jobs = make_orders(root, [f"zoo.py::{name}" for name in (*CASES, *RANDOM)], parameters=True)
    (bare,) = make_orders(root, ["zoo.py::Lazy"])
    (given,) = make_orders(root, ["zoo.py::Lazy"], parameters=True, input=LAZY_INPUT)
    jobs = [replace(given, id=j.id) if j.label == given.label else j for j in jobs]
    bare = replace(bare, id=len(jobs), label="bare")
    before = snapshot(root)
    found = run(root, [*jobs, bare], environ=request.param)
    assert snapshot(root) == before
    return found


def measured(zoo: Run, name: str) -> Measured:
    return zoo.measured(f"zoo.py::{name}")


@pytest.mark.parametrize("name", CASES)
def test_by_hand(zoo: Run, name: str) -> None:
    case, counts = CASES[name], measured(zoo, name).counts
    trainable = case.total if case.trainable is None else case.trainable
    size = 4 * (case.total + case.buffers) if case.bytes is None else case.bytes
    assert (counts.total, counts.trainable, counts.buffers, counts.bytes) == (
        case.total,
        trainable,
        case.buffers,
        size,
    )
    assert counts.frozen == case.total - trainable
    assert sum(hidden.count for hidden in measured(zoo, name).hidden) == case.hidden


@pytest.mark.parametrize("name", [name for name in CASES if name not in ONLY_BY_HAND])
def test_by_torch(zoo: Run, name: str) -> None:
    model, result = plain(name), measured(zoo, name)
    counts = result.counts
    assert counts.total == sum(p.numel() for p in parameters(model))
    assert counts.trainable == sum(p.numel() for p in parameters(model) if p.requires_grad)
    assert counts.buffers == sum(b.numel() for b in buffers(model))
    assert counts.bytes == sum(t.nbytes for t in [*parameters(model), *buffers(model)])
    # Embeddings, and below the root what turns states back into tokens.
    tokens = [m.weight for m in nn.Module.modules(model) if isinstance(m, nn.Embedding)]
    heads = [m.weight for m in model.children() if isinstance(m, nn.Linear)]
    tokens += [w for w in heads if w.shape in {t.shape for t in tokens}]
    assert counts.non_embedding == counts.total - sum(t.numel() for t in set(tokens))
    listed = [(row.name, row.shape, row.dtype, row.trainable) for row in result.parameters]
    assert listed == [
        (name, tuple(p.shape), str(p.dtype).removeprefix("torch."), p.requires_grad)
        for name, p in nn.Module.named_parameters(model)
    ]


def below(row: ModuleRow, model: nn.Module) -> nn.Module:
    for part in row.path.split(".") if row.path else ():
        model = model._modules[part]  # type: ignore[assignment]
    return model


@pytest.mark.parametrize("name", [n for n in CASES if n not in ONLY_BY_HAND | CYCLES])
def test_rows_by_torch(zoo: Run, name: str) -> None:
    model, result = plain(name), measured(zoo, name)
    rows = [row for row in result.modules if row.shared_with is None]
    assert [row.path for row in rows] == [path for path, _ in nn.Module.named_modules(model)]
    for row in result.modules:
        module = below(row, model)
        assert row.type == type(module).__name__
        assert row.total == sum(p.numel() for p in parameters(module)), row
        assert row.trainable == sum(p.numel() for p in parameters(module) if p.requires_grad), row
        assert row.buffers == sum(b.numel() for b in buffers(module)), row
        assert row.bytes == sum(t.nbytes for t in [*parameters(module), *buffers(module)]), row
        if row.shared_with is not None:
            first = next(r for r in result.modules if r.path == row.shared_with)
            assert below(first, model) is module
            assert row.own == 0


@pytest.mark.parametrize("name", CASES)
def test_rows_add_up(zoo: Run, name: str) -> None:
    result = measured(zoo, name)
    root = result.modules[0]
    assert root.path == ""
    assert sum(row.own for row in result.modules) == root.total


def rows(result: Measured) -> dict[str, ModuleRow]:
    return {row.path: row for row in result.modules}


def test_tied_weights_are_named(zoo: Run) -> None:
    result = measured(zoo, "TiedOutput")
    assert rows(result)["head"].tied == ("weight = embedding.weight",)
    assert (rows(result)["head"].own, rows(result)["head"].total) == (0, 400)
    assert (rows(result)["embedding"].own, rows(result)["embedding"].total) == (400, 400)
    assert result.parameters[0].also == ("head.weight",)
    assert result.counts.non_embedding == 72


def test_the_order_of_tying_changes_nothing(zoo: Run) -> None:
    one, two = measured(zoo, "TiedOutput"), measured(zoo, "TiedInput")
    assert one.counts.by_name() == two.counts.by_name()
    assert [structs.replace(row, source=None) for row in one.modules[1:]] == [
        structs.replace(row, source=None) for row in two.modules[1:]
    ]


def test_a_tied_subtree_counts_the_weight_that_it_shares(zoo: Run) -> None:
    found = rows(measured(zoo, "TiedAcross"))
    assert [found[f"blocks.{i}"].total for i in range(3)] == [42, 42, 42]
    assert [found[f"blocks.{i}.0"].own for i in range(3)] == [42, 6, 6]
    assert found["blocks"].total == 54


def test_a_module_that_stands_twice_points_to_the_first(zoo: Run) -> None:
    assert rows(measured(zoo, "TwoNames"))["two"].shared_with == "one"
    assert rows(measured(zoo, "TwoParents"))["right.0"].shared_with == "left.0"
    repeated = rows(measured(zoo, "Repeated"))
    assert [repeated[f"layers.{i}"].shared_with for i in range(4)] == [None, *["layers.0"] * 3]


def test_a_module_shared_below_a_shared_module(zoo: Run) -> None:
    found = rows(measured(zoo, "SharedInShared"))
    assert (found["a"].total, found["b.a"].total, found["b"].total) == (26, 26, 28)


def test_a_cycle_ends(zoo: Run) -> None:
    found = rows(measured(zoo, "Cycle"))
    assert list(found) == ["", "child", "child.parent"]
    assert found["child.parent"].shared_with == ""
    assert (found["child"].own, found["child"].total, found["child.parent"].total) == (9, 9, 0)


def test_a_child_that_holds_its_parent_keeps_its_own_count(zoo: Run) -> None:
    found = rows(measured(zoo, "CycleWithOwn"))
    assert (found[""].own, found["child"].total, found["other"].total) == (5, 9, 2)


@pytest.mark.parametrize(
    ("name", "note"),
    [
        ("TiedData", "head.weight: shares its storage with embedding.weight"),
        ("View", "part: shares its storage with whole"),
        ("Expanded", "w: expanded"),
    ],
)
def test_odd_storage_is_noted(zoo: Run, name: str, note: str) -> None:
    (said,) = measured(zoo, name).notes
    assert said.startswith(note)


@pytest.mark.parametrize("name", sorted(CASES.keys() - {"TiedData", "View", "Expanded"}))
def test_nothing_else_is_noted(zoo: Run, name: str) -> None:
    assert measured(zoo, name).notes == ()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("InTuple", [("sub.pair", 16, "tuple")]),
        ("BareTensor", [("weight", 12, "Tensor")]),
        ("HiddenTwice", [("a", 12, "list")]),
        ("OwnParameters", [("", 20, "overridden parameters()")]),
    ],
)
def test_hidden_parameters_are_located(
    zoo: Run, name: str, expected: list[tuple[str, int, str]]
) -> None:
    found = measured(zoo, name).hidden
    assert [(h.path, h.count, h.what) for h in found] == expected


def source_line(source: str | None) -> str:
    assert source is not None
    path, _, line = source.rpartition(":")
    assert path == "zoo.py"
    return zoo_models.zoo().splitlines()[int(line) - 1].strip()


def test_every_parameter_knows_its_line(zoo: Run) -> None:
    tensors = {row.name: row for row in measured(zoo, "Root").parameters}
    assert source_line(tensors["scale"].source).startswith("self.scale =")
    assert source_line(tensors["shift"].source).startswith("self.shift =")
    mixed = {row.name: row for row in measured(zoo, "Mixed").parameters}
    assert source_line(mixed["brain.weight"].source).startswith("self.brain =")
    assert source_line(rows(measured(zoo, "Branch"))["block.0"].source).startswith("self.block =")
    assert source_line(measured(zoo, "leaf").parameters[0].source) == "return nn.Linear(9, 4)"
    assert source_line(measured(zoo, "InTuple").hidden[0].source).startswith("self.sub.pair =")


@pytest.mark.parametrize("name", sorted(CASES.keys() - {"LegacyTensor"}))
def test_every_line_is_of_the_project(zoo: Run, name: str) -> None:
    for row in measured(zoo, name).parameters:
        assert (row.source or "").startswith("zoo.py:"), row


@pytest.mark.parametrize("name", sorted(CASES.keys() - {"LegacyTensor"}))
def test_the_lines_make_each_parameter_once(zoo: Run, name: str) -> None:
    found = measured(zoo, name)
    assert sum(row.own for row in found.lines) == found.counts.total
    assert sum(row.count for row in found.lines if row.path == "zoo.py") == found.counts.total
    assert all(row.times > 0 for row in found.lines)


@pytest.mark.parametrize("name", RANDOM)
def test_widths_from_random_numbers_are_reported(zoo: Run, name: str) -> None:
    failure = zoo.failed(f"zoo.py::{name}")
    assert failure.code == "NPL004"
    assert "random" in failure.reason
    assert failure.hint


def test_lazy_parameters_are_reported_without_an_input(zoo: Run) -> None:
    failure = zoo.failed("bare")
    assert failure.code == "NPL009"
    assert "Lazy() has 8 uninitialised lazy parameters: conv.weight" in failure.reason
    assert "input" in (failure.hint or "")


TABLES = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 3)
        positions = torch.arange(0, 1 << 45, 2)
        self.register_buffer("angles", positions.float(), persistent=False)
        small = torch.outer(torch.arange(2048), torch.ones(1024))
        self.register_buffer("tables", small.repeat(1 << 10, 1 << 10) + torch.ones(()), False)
"""


def test_tables_that_no_memory_holds_are_built_on_meta(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(TABLES)
    result = run(tmp_path, ["net.py::Net"]).measured("net.py::Net")
    assert (result.rung, result.counts.total) == ("meta", 9)
    assert result.counts.buffers == (1 << 44) + (1 << 41)


PASSED_ON = """\
from torch import nn


class Base(nn.Module):
    def __init__(self, width, depth):
        super().__init__()


class Plain(Base):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)


class Doubled(Base):
    def __init__(self, *args, **kwargs):
        super().__init__(2 * args[0], **kwargs)


class Named(Base):
    def __init__(self, bias=True, **kwargs):
        super().__init__(kwargs["width"], **kwargs)


class Fixed(Base):
    def __init__(self, **kwargs):
        super().__init__(3, 4, **kwargs)
        nn.Linear()
"""


def test_what_passes_its_arguments_on_needs_what_its_base_needs(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(PASSED_ON)
    names = "Plain", "Doubled", "Named", "Fixed"
    result = run(tmp_path, [f"net.py::{name}" for name in names])
    *failures, own = [result.failed(f"net.py::{name}") for name in names]
    for name, failure in zip(names, failures, strict=False):
        assert failure.reason == f"{name} needs width, depth (Base)"
        assert failure.missing == ("width", "depth")
    assert "Linear.__init__() missing 2" in own.reason


PART = """\
import time
from torch import nn
try:
    from math import sqrt
except ImportError:
    time.sleep(5)
    raise


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(int(sqrt(9)), 2)


train(Net())
"""


def test_what_an_import_would_do_if_it_failed_does_not_stop_it(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(PART)
    assert run(tmp_path, ["script.py::Net"]).measured("script.py::Net").counts.total == 8


TYPED = """\
from __future__ import annotations
from dataclasses import dataclass
from typing import TYPE_CHECKING
from torch import nn
if TYPE_CHECKING:
    from sizes import Sizes


class Net(nn.Module):
    def __init__(self, sizes: Sizes):
        super().__init__()
        self.fc = nn.Linear(sizes.width, 2)


@dataclass
class Bundle:
    net: nn.Module
    step: int = 3


def bundle() -> nn.Module:
    return Bundle(nn.Linear(2, 3))


class Checked(nn.Module):
    def __init__(self):
        super().__init__()
        width = 3
        assert width == 4
"""


def test_what_the_type_checker_imports_and_a_dataclass_are_known(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(TYPED)
    sizes = "from dataclasses import dataclass\n@dataclass\nclass Sizes:\n    width: int = 3\n"
    (tmp_path / "sizes.py").write_text(sizes)
    result = run(tmp_path, [f"net.py::{name}" for name in ("Net", "bundle", "Checked")])
    assert result.measured("net.py::Net").counts.total == 8
    assert result.measured("net.py::bundle").counts.total == 9
    (line,) = [n for n, text in enumerate(TYPED.split("\n"), 1) if "assert" in text]
    reason = f"Checked() raised AssertionError: assert width == 4 (net.py:{line})"
    assert result.failed("net.py::Checked").reason == reason


def test_what_can_be_built_on_meta_is(zoo: Run) -> None:
    expected = {"NanGuard", "orthogonal", "completed", "ChangesConfig", "ChangesShared"}
    if torch.__version__.startswith("2.1."):  # the only one that has no weight norm on meta
        expected |= {"old_weight_norm", "LstmWeightNorm"}
    elsewhere = {name for name in CASES if not measured(zoo, name).rung.startswith("meta")}
    assert elsewhere == expected


def test_type_names(zoo: Run) -> None:
    result = measured(zoo, "TwoParents")
    assert result.type == "zoo.TwoParents"
    assert result.types == (
        "torch.nn.modules.container.Sequential",
        "torch.nn.modules.linear.Linear",
    )
