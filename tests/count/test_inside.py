"""The answer for a model says with which arguments the project's modules in it were made."""

import pytest
from worker_runs import MODES, PROJECTS, Run, run

from nparam_lint.count.measured import InsideRow

ROOT = PROJECTS / "inside"
PATH = "nets/blocks.py"
VALUES = (
    "SimpleNamespace(width=3)",
    "Config(a=1)",
    "BadConfig(…)",
    "Slotted(…)",
    "torch.float16",
    "…",  # long
    "[1, 2, (3,)]",
    "[0, 1, 2, 3, 4, 5, 6, 7, …]",
    "{'a': None}",
    "Linear(…)",
    "…",  # a lambda
    "partial(LayerNorm, eps=1e-06)",
    "Tensor(…)",
    "ReLU",
    "…",  # long
    "[[[1, 2]], 3]",
)


@pytest.fixture(scope="module", params=MODES)
def built(request: pytest.FixtureRequest) -> Run:
    targets = [f"{PATH}::{name}" for name in ("Model", "Patching", "NoSuper", "Plain(2)")]
    targets.append(f"{PATH}::Around(Plain(2))")
    return run(ROOT, targets, environ=request.param)


def rows(built: Run, name: str) -> dict[str, list[InsideRow]]:
    """Those of a model, by the name of the class."""
    found: dict[str, list[InsideRow]] = {}
    for row in built.measured(f"{PATH}::{name}").inside:
        found.setdefault(row.target.removeprefix(f"{PATH}::"), []).append(row)
    return found


def test_calls(built: Run) -> None:
    calls = {
        name: [(row.call, ", ".join(row.paths), row.total) for row in found]
        for name, found in rows(built, "Model").items()
    }
    anything = calls.pop("Anything")
    assert calls == {
        "Plain": [
            ("Plain(width=4)", "plain.0, plain.1, plain.2", 20),
            ("Plain(width=4, heads=3, bias=False, act=ReLU, rate=0.5)", "other", 16),
            ("Plain(width=6)", "lazy.layer", 42),
            ("Plain(width=3, heads=1)", "first.inner", 12),
            ("Plain(width=2, heads=9)", "layers.0.inner, layers.1.inner", 6),
            ("Plain(width=1, heads=…)", "indexed.0, indexed.1, indexed.2, indexed.3, indexed.4", 2),
        ],
        "Child": [
            ("Child(5, 6, 7)", "child", 30),
            ("Child(5, 0, 1, 2, 3, 4, 5, 6, 7, …)", "many", 30),
        ],
        "NoConstructor": [("NoConstructor(width=5)", "none", 30)],
        "New": [("New(width=3)", "new", 3)],
        "Made": [("Made(width=3, scale=3)", "made", 9)],
        "Data": [("Data(width=3, bias=False)", "data", 3)],
        "Decorated": [("Decorated(width=3)", "decorated", 3)],
        "NoHash": [("NoHash(width=3)", "nohash", 3)],
        "Again": [("Again(width=3)", "again", 4)],
        "Empty": [("Empty()", "empty", 0)],
        "Lazy": [("Lazy(width=6)", "lazy", 42)],
        "make_local.<locals>.Local": [("Local(size=2)", "local", 2)],
        "Layer": [
            ("Layer(width=3)", "first", 12),
            ("Layer(width=2, depth=9)", "layers.0, layers.1", 6),
        ],
    }
    assert [call for call, *_ in anything] == [f"Anything(value={value})" for value in VALUES]


def test_where(built: Run) -> None:
    found = rows(built, "Model")
    lines = (ROOT / PATH).read_text().splitlines()

    def line(place: str | None) -> str:
        path, _, number = (place or "").rpartition(":")
        assert path == PATH
        return lines[int(number) - 1].strip()

    plain, data, local = found["Plain"][0], found["Data"][0], found["make_local.<locals>.Local"][0]
    assert line(plain.source) == "class Plain(nn.Module):"
    assert line(plain.made) == "self.plain = nn.ModuleList([Plain(4) for _ in range(3)])"
    assert line(data.source) == "class Data(nn.Module):"
    assert line(local.source) == "def __init__(self, size):"


def test_what_patches_torch_and_what_fails(built: Run) -> None:
    assert [row.call for row in rows(built, "Patching")["Plain"]] == ["Plain(width=4)"]
    assert built.failed(f"{PATH}::NoSuper").cause == "raised"
    assert built.measured(f"{PATH}::Plain(2)").inside == ()  # a model does not contain itself


def test_a_block_that_the_call_itself_makes(built: Run) -> None:
    """No line of the project makes it."""
    [row] = rows(built, "Around(Plain(2))")["Plain"]
    assert (row.call, row.paths, row.total, row.made) == ("Plain(width=2)", ("inner",), 6, None)
