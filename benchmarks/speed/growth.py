"""How time grows with the number of targets and of files."""

from __future__ import annotations

import math
import statistics
from itertools import pairwise
from typing import TYPE_CHECKING

from speed.measure import Result, Row, Target, seconds
from speed.repository import commit, generate
from speed.tool import Tool, fresh

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from speed.measure import Bench

LONG = 60.0  # seconds; what takes longer is not repeated
SLOPE = Target(1.1)
_FOLDER = 100  # files

_CLASS = '''\
class Net{number}(nn.Module):
    """nparam: {total}"""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear({inputs}, 8)
'''


def growth(bench: Bench) -> Result:
    """Time of `nparam-lint --declared` against the number of targets and of files.

    Targets: 10, 100, 1,000 and 10,000 modules of one layer, each with its exact budget, one in each
    file, and all in one file, which holds 5,000 at most (files of more than 1 MB are not read); the
    first run (no cache) and the next. Files: 1,000, 10,000 and
    100,000 Python files of which 10 declare a model; likewise. `--small` leaves out the largest of
    each. The sizes are run in turn. The ratio is the largest local exponent: the slope between
    neighbouring sizes of log time over log size, 1 for time in proportion to size.
    """
    targets = [10, 100, 1000, *([] if bench.small else [10_000])]
    together = [*targets[:3], *([] if bench.small else [5000])]
    files = [1000, 10_000, *([] if bench.small else [100_000])]
    rows: list[Row] = []
    notes: list[str] = []
    for what, sizes, make in (
        ("targets in one file", together, _one_file),
        ("targets in a file each", targets, _many_files),
        ("files, 10 targets", files, _plain_files),
    ):
        places = {size: make(bench, size) for size in sizes}
        models = {size: 10 if sizes is files else size for size in sizes}
        first, second = _timed(bench, places, models)
        for name, taken in (("first", first), ("second", second)):
            slopes = _slopes(sizes, taken)
            rows.append(Row(f"{what}, {name} run", seconds(taken[-1]), "", max(slopes), SLOPE))
            shown = ", ".join(f"{n:,}: {seconds(t)}" for n, t in zip(sizes, taken, strict=True))
            exponents = ", ".join(f"{slope:.2f}" for slope in slopes)
            notes.append(f"{what}, {name} run: {shown}; exponents {exponents}")
    return Result(rows, notes)


def _timed(
    bench: Bench, places: dict[int, Path], models: dict[int, int]
) -> tuple[list[float], list[float]]:
    """The median seconds of the first and the second run at each size."""
    first: dict[int, list[float]] = {size: [] for size in places}
    second: dict[int, list[float]] = {size: [] for size in places}
    for _ in range(min(3, bench.repetitions)):
        for size, root in places.items():
            if first[size] and first[size][0] > LONG:
                continue
            tool: Tool = fresh(bench)
            every = range(models[size] + 1)
            first[size].append(tool.check(root, models[size]).seconds)
            second[size].append(tool.check(root, models[size], cached=every).seconds)
    return [statistics.median(t) for t in first.values()], [
        statistics.median(t) for t in second.values()
    ]


def _slopes(sizes: Sequence[int], taken: Sequence[float]) -> list[float]:
    points = [(math.log(n), math.log(t)) for n, t in zip(sizes, taken, strict=True)]
    return [(b[1] - a[1]) / (b[0] - a[0]) for a, b in pairwise(points)]


def _tiny(number: int) -> str:
    inputs = 1 + number % 97
    return _CLASS.format(number=number, inputs=inputs, total=8 * inputs + 8)


def _one_file(bench: Bench, size: int) -> Path:
    text = "\n\n".join(["from torch import nn\n", *map(_tiny, range(size))])
    return _written(bench, {"nets.py": text})


def _many_files(bench: Bench, size: int) -> Path:
    files = {
        f"acme/part_{number // _FOLDER:03}/net_{number:05}.py": "from torch import nn\n\n\n"
        + _tiny(number)
        for number in range(size)
    }
    folders = {path.rpartition("/")[0] for path in files} | {"acme"}
    return _written(bench, files | {f"{folder}/__init__.py": "" for folder in folders})


def _plain_files(bench: Bench, size: int) -> Path:
    return generate(bench, size, 10)[0]


def _written(bench: Bench, files: dict[str, str]) -> Path:
    root = bench.folder("growth")
    for path, text in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    commit(bench, root)
    return root
