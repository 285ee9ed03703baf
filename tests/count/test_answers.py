"""What is told of the models of each book in `answers/`, which are built by one run; and what plain
torch says on the CPU, in this process, of those that it can build."""

from __future__ import annotations

import warnings
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from answer_books import FOLDER, AnswerBook, told
from msgspec import structs

from nparam_lint.count.measured import Measured

with warnings.catch_warnings():  # a torch without numpy says so once, as it is imported
    warnings.filterwarnings("ignore", "Failed to initialize NumPy")
    import torch
    from torch import nn

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from worker_runs import Run

    from nparam_lint.count.measured import ModuleRow

    Answers = Callable[[str], tuple[Run, Path]]

# Those that are run elsewhere, and look at more than answers; those that are run at night.
ELSEWHERE, AT_NIGHT = (
    ("endless", "harm", "hostile", "reasons"),
    ("compiler_needed", "patches_imported"),
)
BOOKS = {
    p.stem: AnswerBook(p.stem) for p in sorted(FOLDER.glob("*.txt")) if p.stem not in ELSEWHERE
}
ZOO = BOOKS["zoo"]
NAMES = sorted({case.name for case in ZOO.cases})
RANDOM = {"RandomWidth", "RandomTensorWidth", "RandomChoice"}
ONLY_BY_HAND = {"ToCuda", "Cuda", "Giant", "Lazy", *RANDOM}  # plain torch cannot build these here
CYCLES = {"Cycle", "CycleWithOwn"}
CASES = [
    pytest.param(
        name,
        case.number,
        id=f"{name}-{case.target}",
        marks=pytest.mark.thorough if name in AT_NIGHT else (),
    )
    for name, book in BOOKS.items()
    for case in book.cases
]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """The run of a book, and where its files are."""

    @cache
    def run(name: str) -> tuple[Run, Path]:
        place, book = tmp_path_factory.mktemp(name), BOOKS[name]
        site = {"PYTHONPATH": str(place / "site"), "HOME": str(place / "site")}
        more = site if any(path.startswith("../site") for path in book.files) else {}
        return book.run(
            place, common={"parameters": name == "zoo"}, environ=more
        ), place / "project"

    return run


@pytest.mark.parametrize(("name", "number"), CASES)
def test_what_is_told(
    answers: Answers, request: pytest.FixtureRequest, name: str, number: int
) -> None:
    (done, root), book = answers(name), BOOKS[name]
    with_rows = "rows" in book.cases[number].options
    text = told(done.by_label[book.label(number)], root, with_rows=with_rows)
    book.check(number, text, update=request.config.getoption("update"))


@pytest.mark.thorough
def test_spawned_processes_tell_the_same_of_the_zoo(answers: Answers, tmp_path: Path) -> None:
    done = ZOO.run(tmp_path, common={"parameters": True}, environ={"NPARAM_LINT_FORK": "0"})
    forked, _ = answers("zoo")
    for label, result in forked.by_label.items():
        other = done.by_label[label]
        if isinstance(result, Measured):
            assert structs.replace(other, seconds=0.0) == structs.replace(result, seconds=0.0)


# --- beside plain torch ---------------------------------------------------------------------------


def plain(source: str, name: str) -> Any:
    """The model, as torch builds it on the CPU, from a fresh copy of its file."""
    names: dict[str, Any] = {}
    before = torch.get_default_dtype()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(source, names)
            call = "ChangesConfig(Config())" if name == "ChangesConfig" else f"{name}()"
            return eval(call, names)
    finally:
        torch.set_default_dtype(before)


def parameters(module: nn.Module) -> list[nn.Parameter]:
    return list({id(p): p for p in nn.Module.parameters(module)}.values())


def buffers(module: nn.Module) -> list[torch.Tensor]:
    return list({id(b): b for b in nn.Module.buffers(module)}.values())


def below(row: ModuleRow, model: nn.Module) -> nn.Module:
    for part in row.path.split(".") if row.path else ():
        model = model._modules[part]  # type: ignore[assignment]
    return model


@pytest.fixture(scope="module")
def zoo(answers: Answers) -> Callable[[str], Measured]:
    done, _ = answers("zoo")
    labels = {case.name: ZOO.label(case.number) for case in reversed(ZOO.cases)}
    return lambda name: done.measured(labels[name])


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ONLY_BY_HAND])
def test_it_is_what_plain_torch_says(zoo: Callable[[str], Measured], name: str) -> None:
    model, result = plain(ZOO.files["zoo.py"], name), zoo(name)
    # Embeddings, and below the root what turns states back into tokens.
    tokens = [m.weight for m in nn.Module.modules(model) if isinstance(m, nn.Embedding)]
    heads = [m.weight for m in model.children() if isinstance(m, nn.Linear)]
    tokens += [w for w in heads if w.shape in {t.shape for t in tokens}]
    counts = result.counts
    assert counts.non_embedding == counts.total - sum(t.numel() for t in set(tokens))
    listed = [(row.name, row.shape, row.dtype, row.trainable) for row in result.parameters]
    assert listed == [
        (name, tuple(p.shape), str(p.dtype).removeprefix("torch."), p.requires_grad)
        for name, p in nn.Module.named_parameters(model)
    ]
    rows = [row for row in result.modules if row.shared_with is None]
    if name not in CYCLES:  # which have rows of their own
        paths = [path for path, _ in nn.Module.named_modules(model)]
        assert [row.path for row in rows] == paths
    for row in result.modules if name not in CYCLES else result.modules[:1]:
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


@pytest.mark.parametrize("name", [name for name in NAMES if name not in RANDOM])
def test_rows_and_lines_add_up(zoo: Callable[[str], Measured], name: str) -> None:
    result = zoo(name)
    assert result.modules[0].path == ""
    assert sum(row.own for row in result.modules) == result.counts.total
    if name != "LegacyTensor":  # whose parameters torch itself makes, unseen
        assert all((row.source or "").startswith("zoo.py:") for row in result.parameters)
        assert sum(row.own for row in result.lines) == result.counts.total
        counted = [row.count for row in result.lines if row.path == "zoo.py"]
        assert sum(counted) == result.counts.total
        assert all(row.times > 0 for row in result.lines)


@pytest.mark.parametrize(
    "name",
    [
        c.name
        for c in BOOKS["constructors"].cases
        if "nets.py" in c.target and "Random" not in c.name
    ],
)
def test_what_depends_on_values_is_what_plain_torch_says(answers: Answers, name: str) -> None:
    model = plain(BOOKS["constructors"].files["nets.py"], name)
    done, _ = answers("constructors")
    (number,) = (c.number for c in BOOKS["constructors"].cases if c.name == name)
    total = done.measured(BOOKS["constructors"].label(number)).counts.total
    assert total == sum(p.numel() for p in parameters(model))


def test_what_can_be_built_on_meta_is(zoo: Callable[[str], Measured]) -> None:
    expected = {"NanGuard", "orthogonal", "completed", "ChangesConfig", "ChangesShared"}
    if torch.__version__.startswith("2.1."):  # the only one that has no weight norm on meta
        expected |= {"old_weight_norm", "LstmWeightNorm"}
    names = {name for name in NAMES if name not in RANDOM}
    assert {name for name in names if not zoo(name).rung.startswith("meta")} == expected


def test_type_names(zoo: Callable[[str], Measured]) -> None:
    result = zoo("TwoParents")
    assert result.type == "zoo.TwoParents"
    assert result.types == (
        "torch.nn.modules.container.Sequential",
        "torch.nn.modules.linear.Linear",
    )


def test_the_order_of_tying_changes_nothing(zoo: Callable[[str], Measured]) -> None:
    one, two = zoo("TiedOutput"), zoo("TiedInput")
    assert one.counts.by_name() == two.counts.by_name()
    assert [structs.replace(row, source=None) for row in one.modules[1:]] == [
        structs.replace(row, source=None) for row in two.modules[1:]
    ]
