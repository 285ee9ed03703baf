"""The answer for a model says with which arguments the project's modules in it were made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from worker_runs import MODES, PROJECTS, Run, run

if TYPE_CHECKING:
    from collections.abc import Callable

    from nparam_lint.count.measured import InsideRow

ROOT = PROJECTS / "inside"
PATH = "nets/blocks.py"


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


def test_calls(built: Run, expected: Callable[[dict[str, str]], None]) -> None:
    """With which arguments; at which paths; how many parameters each has."""
    expected(
        {
            name: "".join(f"{row.call}: {row.total} at {', '.join(row.paths)}\n" for row in found)
            for name, found in rows(built, "Model").items()
        }
    )


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
