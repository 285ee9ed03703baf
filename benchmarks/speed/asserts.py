"""What people write today, a test that builds and counts, against the tool."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from speed.measure import Invalid, Result, Target, alternate, compare
from speed.tool import Tool, fresh, write_project
from speed.zoo import common

if TYPE_CHECKING:
    from pathlib import Path

    from speed.measure import Bench, Totals

MODELS, SMALL = 50, 8

_TEST = """\
import pytest
import timm

COUNTS = {counts}


@pytest.mark.parametrize("name", COUNTS)
def test_count(name):
    model = timm.create_model(name)
    assert sum(p.numel() for p in model.parameters()) == COUNTS[name]
"""


def pytest(bench: Bench) -> Result:
    """50 models of timm with up to 100 million parameters, evenly spread (`--small`: 8).

    Theirs: `python -m pytest` with the interpreter that has torch, on a file that builds each on
    the CPU, sums `numel` over its parameters and compares; all must pass. Ours: `nparam-lint
    --declared` in a project with the same counts as budgets, without a cache, and once more with
    what that run left; all budgets must hold. The ratio is how many times faster ours is.
    """
    bench.needs("timm", "pytest")
    totals = common(bench, bench.size(MODELS, SMALL))
    project, tests = bench.folder("budgets"), bench.folder("tests")
    write_project(bench, project, totals)
    _write_tests(tests, totals)
    last = [fresh(bench)]
    cached: set[int] = set()

    def first() -> float:
        last[0] = fresh(bench)
        return last[0].check(project, len(totals)).seconds

    def second() -> float:
        return _again(last[0], project, len(totals), cached)

    def theirs() -> float:
        command = [bench.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tests)]
        done = bench.run(command, tests)
        if f"{len(totals)} passed" not in done.out:
            raise Invalid(f"expected {len(totals)} tests to pass:\n{done.out[-1000:]}")
        return done.seconds

    sides = {"first": first, "second": second, "pytest": theirs}
    taken = alternate(sides, min(3, bench.repetitions), turned=False)
    return Result(
        [
            compare("pytest / first run", taken["first"], taken["pytest"], Target(10, least=True)),
            compare(
                "pytest / second run", taken["second"], taken["pytest"], Target(100, least=True)
            ),
        ],
        [f"from the cache in the second run: {max(cached)} of {len(totals)} models"],
    )


def _again(tool: Tool, project: Path, models: int, cached: set[int]) -> float:
    done = tool.check(project, models, cached=range(models + 1))
    cached.add(done.cached)
    return done.seconds


def _write_tests(folder: Path, totals: Totals) -> None:
    names = {target.split("'")[1]: total for target, total in totals.items()}
    text = _TEST.format(counts=json.dumps(names, indent=4))
    (folder / "test_counts.py").write_text(text, encoding="utf-8")
