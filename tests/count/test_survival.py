"""Whatever the project's code does costs the one model, with a message that helps; the others are
counted right, nothing is written, and nothing stays behind.

All hostile files are in one project, run once with forked and once with spawned processes; those
that never end are in a second one, with a short limit of time.
"""

from __future__ import annotations

import os
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import pytest
from answer_books import AnswerBook, told
from processes import marked
from sample_files import write_files
from worker_runs import LINUX, MODES, Run, run, snapshot

from nparam_lint.count.measured import NotMeasured

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs signals and fork")

HOSTILE, ENDLESS = AnswerBook("hostile"), AnswerBook("endless")
PATIENCE = {"hostile": 60.0, "endless": 1.5}  # seconds
MEMORY = 1 << 30
GOOD = 25  # models that come after one of the first each
SECRETS = ("MY_API_TOKEN", "DB_PASSWORD", "AWS_SECRET_ACCESS_KEY", "OPENAI_API_KEY")
on_linux = pytest.mark.skipif(not LINUX, reason="looks for processes in /proc, which needs Linux")


@pytest.fixture(scope="module", autouse=True)
def one_worker() -> None:
    """Each of these looks at what is left when its own worker has ended."""


class World(NamedTuple):
    """A run in its own directory: the project's files before and after, those of the home, and
    the processes that were left."""

    run: Run
    root: Path
    before: dict[str, bytes | None]
    after: dict[str, bytes | None]
    home: dict[str, bytes | None]
    left: dict[int, str]


@pytest.fixture(scope="module", params=MODES)
def worlds(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, World]:
    """A run of each book. A good model comes after each other one of the hostile constructors."""
    worlds = {}
    for book in (HOSTILE, ENDLESS):
        place, name, marker = tmp_path_factory.mktemp("world"), book.path.stem, uuid.uuid4().hex
        root, home = write_files(place / "project", book.files), place / "home"
        home.mkdir()
        before = snapshot(root)
        environ = {
            **request.param,
            "HOME": str(home),
            "TORCH_SURVIVAL_MARKER": marker,
            "HARMLESS_SETTING": "kept",
            **dict.fromkeys(SECRETS, "secret"),
        }
        orders = book.orders(root)
        if book is HOSTILE:
            good = [replace(orders[0], label=f"good {number}") for number in range(GOOD)]
            first = zip(orders, good, strict=False)
            orders = [*(order for pair in first for order in pair), *orders[GOOD:]]
        orders = [replace(order, id=number) for number, order in enumerate(orders)]
        done = run(root, orders, timeout=PATIENCE[name], memory=MEMORY, environ=environ)
        worlds[name] = World(done, root, before, snapshot(root), snapshot(home), marked(marker))
    return worlds


@pytest.mark.parametrize(
    ("book", "number"),
    [
        pytest.param(book, case.number, id=f"{book.path.stem}-{case.target}")
        for book in (HOSTILE, ENDLESS)
        for case in book.cases
    ],
)
def test_what_is_told(
    worlds: dict[str, World], request: pytest.FixtureRequest, book: AnswerBook, number: int
) -> None:
    world = worlds[book.path.stem]
    text = told(world.run.by_label[book.label(number)], world.root)
    book.check(number, text, update=request.config.getoption("update"))


def test_every_other_model_is_counted(worlds: dict[str, World]) -> None:
    run = worlds["hostile"].run
    counts = [run.measured(label).counts for label in run.by_label if label.startswith("good")]
    assert [(c.total, c.bytes) for c in counts] == [(9, 36)] * GOOD


def test_reasons_are_short(worlds: dict[str, World]) -> None:
    for world in worlds.values():
        for result in world.run.by_label.values():
            if isinstance(result, NotMeasured):
                assert len(result.reason) < 1000
                assert "\n" not in result.reason


def output(world: World, book: AnswerBook, name: str) -> str:
    (number,) = (case.number for case in book.cases if case.name == name)
    return world.run.failed(book.label(number)).output


@on_linux
def test_a_crash_shows_where(worlds: dict[str, World]) -> None:
    text = output(worlds["hostile"], HOSTILE, "Segfaults")
    assert text.startswith("Fatal Python error: Segmentation fault")
    assert "h.py" in text


def test_only_what_the_model_printed_is_shown(worlds: dict[str, World]) -> None:
    text = output(worlds["hostile"], HOSTILE, "ExitsHard")
    assert text.strip("x") == "\nsaid goodbye"
    assert len(text) == 4000


def test_where_a_constructor_was_is_shown_where_it_never_ends(
    worlds: dict[str, World], request: pytest.FixtureRequest
) -> None:
    for name in ("Loops", "IgnoresSignals"):
        text = output(worlds["endless"], ENDLESS, name)
        if "fork" in request.node.callspec.id and name == "Loops":
            assert "endless.py" in text
        assert "launch.py" not in text


def test_nothing_is_written(worlds: dict[str, World]) -> None:
    for world in worlds.values():
        assert world.after == world.before
        assert world.home == {}
        assert not any("__pycache__" in path for path in world.after)


@on_linux
def test_no_process_is_left(worlds: dict[str, World]) -> None:
    assert [world.left for world in worlds.values()] == [{}, {}]
