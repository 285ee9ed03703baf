"""What it costs to divide a check among machines, and how evenly it is divided."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from speed.measure import Invalid, Result, Row, Target
from speed.repository import generate
from speed.tool import fresh

if TYPE_CHECKING:
    from speed.measure import Bench

_SHARDS = 8  # each as if on a machine of its own


def shards(bench: Bench) -> Result:
    """A repository of 1,200 files with 400 models (`--small`: 200 with 60), checked as a whole, and
    in eight shards one after the other.

    Ours: the seconds to build the models of all shards, added up, and those of the shard that
    builds longest; each in a run of its own without a cache. Theirs: the seconds to build all of
    them in the run of the whole, and an eighth of these. Whole runs are in the notes: each reads
    the source and imports torch. The union of the eight has to say what the whole says.
    """
    files, models = bench.size(1200, 200), bench.size(400, 60)
    root, _ = generate(bench, files, models)
    place = bench.folder("reports")
    options = ("--declared", "--no-cache", "--format", "json", "--python", bench.python)
    tool = fresh(bench)
    whole = place / "whole.json"
    taken = tool.run(root, *options, "--output-file", str(whole)).seconds
    runs, built, reports = [], [], []
    for number in range(1, _SHARDS + 1):
        file = place / f"{number}.json"
        shard = ("--shard", f"{number}/{_SHARDS}", "--output-file", str(file))
        runs.append(tool.run(root, *options, *shard).seconds)
        document = json.loads(file.read_text(encoding="utf-8"))
        built.append(_seconds(document))
        reports.append(str(file))
    merged = json.loads(tool.run(root, "merge", *reports, "--format", "json").out)
    first = json.loads(whole.read_text(encoding="utf-8"))
    if _said(merged) != _said(first):
        raise Invalid("the union of the shards says something else than the whole")
    every = _seconds(first)
    return Result(
        [
            _row("building, all shards / whole", sum(built), every, Target(1.15)),
            _row("building, largest shard / an eighth", max(built), every / _SHARDS, Target(1.25)),
            _row("whole runs, slowest shard / whole", max(runs), taken),
        ],
        [
            f"{models} models; runs of the shards: {', '.join(f'{one:.1f} s' for one in runs)}; "
            f"of the whole: {taken:.1f} s"
        ],
    )


def _row(what: str, ours: float, theirs: float, target: Target | None = None) -> Row:
    return Row(what, f"{ours:.2f} s", f"{theirs:.2f} s", ours / theirs, target)


def _seconds(document: dict) -> float:
    return sum(model.get("seconds", 0.0) for model in document["models"])


def _said(document: dict) -> list[tuple[str, int, bool]]:
    return [
        (model["target"], model["counts"]["total"], all(b["ok"] for b in model["budgets"]))
        for model in document["models"]
    ]
