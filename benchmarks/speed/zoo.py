"""A thousand installed models, against the loop that builds each of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from speed.measure import Result, Skipped, Target, alternate, compare, same, seconds
from speed.tool import fresh, write_project

if TYPE_CHECKING:
    from collections.abc import Mapping

    from speed.measure import Bench, Totals

TIMM, SMALL, ALL = 1000, 60, 0
LARGEST = 100_000_000  # parameters of what is built on a CPU, with its values
_CANDIDATES = 3  # as many as wanted are looked at, to find enough that are not larger


def zoo(bench: Bench) -> Result:
    """1,000 models of timm, evenly spread over its names, and the base model of every architecture
    of transformers that its default config builds (`--small`: 60 of each).

    Ours: the first run (no cache) of `nparam-lint --declared --format json` in a project whose
    config has an exact budget for each of them: every per-module table, on all cores. Theirs, one
    process each: the bare loop, which builds each under `torch.device("meta")` and sums `numel`;
    the fast loop, the same on one core with `gc.disable()` and with the initialisers turned off.
    All three must give the same total for every model. Imports are part of all.
    """
    wanted = {"timm": bench.size(TIMM, SMALL), "transformers": bench.size(ALL, SMALL)}
    totals, notes = installed(bench, wanted)
    project = bench.folder("zoo")
    write_project(bench, project, totals)

    def ours() -> float:
        taken, counted = fresh(bench).report(project)
        same(counted, totals, "nparam-lint and the bare loop")
        return taken

    def loop(how: str) -> float:
        taken, counted, _ = bench.build(how, list(totals))
        same(counted, totals, f"the {how} loop and the one before")
        return taken

    sides = {"ours": ours, "bare": lambda: loop("bare"), "fast": lambda: loop("fast")}
    taken = alternate(sides, min(3, bench.repetitions))
    each = {name: seconds(min(times) / len(totals)) for name, times in taken.items()}
    return Result(
        [
            compare("whole run / bare loop", taken["ours"], taken["bare"], Target(0.3)),
            compare("whole run / fast loop", taken["ours"], taken["fast"], Target(1)),
        ],
        [
            *notes,
            "a model, imports included, at best: "
            + ", ".join(f"{name} {text}" for name, text in each.items()),
        ],
    )


def installed(bench: Bench, wanted: Mapping[str, int]) -> tuple[Totals, list[str]]:
    """Models of packages that the bare loop builds, with their totals, and notes on those that it
    does not. `wanted`: package → candidates to try; ALL for all. A package that is not there is
    left out. Raises Skipped where none is there."""
    totals: Totals = {}
    notes: list[str] = []
    for package, count in wanted.items():
        try:
            bench.needs(package)
        except Skipped as reason:
            notes.append(f"no models of {package}: {reason}")
            continue
        names = json.loads(bench.inside("candidates.py", package, str(count)).out)
        built = bench.build("bare", names, "--tolerant")[1]
        totals |= built
        notes.append(f"{package}: {len(built):,} of {len(names):,} candidates can be built")
    if not totals:
        raise Skipped(f"the interpreter with torch has none of {', '.join(wanted)}")
    return totals, notes


def common(bench: Bench, count: int) -> Totals:
    """`count` models of timm such as people build on a CPU, evenly spread over its names."""
    totals = installed(bench, {"timm": count * _CANDIDATES})[0]
    fit = [(target, total) for target, total in totals.items() if total <= LARGEST]
    return dict(fit[i * len(fit) // count] for i in range(count))
