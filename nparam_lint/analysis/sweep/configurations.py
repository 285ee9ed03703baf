"""The configurations of a sweep, one after the other; never all of them at once."""

from __future__ import annotations

import csv
import json
import re
from itertools import islice
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from nparam_lint.analysis.varied import value_of
from nparam_lint.ground.config_outline import outline
from nparam_lint.ground.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from nparam_lint.analysis.closed_forms.observations import Point, Value

_LOOKED_AT = 1000  # rows of a file in which the values of choices are looked for
_OVERRIDE = re.compile(r"-\s*['\"]?\+{0,2}([\w.@/]+)=(.*?)['\"]?\s*$")


class Configurations(Struct, frozen=True):
    """Gives every configuration, each time that it is iterated. `names`: the arguments that any of
    them sets; `count`: how many there are, None if only the end tells. An argument that one leaves
    out keeps the value of the call."""

    names: tuple[str, ...]
    points: Callable[[], Iterator[Point]]
    count: int | None = None

    def __iter__(self) -> Iterator[Point]:
        return self.points()

    @property
    def first(self) -> Point:
        return next(iter(self), {})

    def values(self, name: str) -> tuple[Value, ...]:
        """The values of an argument among the first configurations, each once."""
        values = {repr(p[name]): p[name] for p in islice(self, _LOOKED_AT) if name in p}
        return tuple(values.values())


def of_grid(values: Mapping[str, Sequence[Value]]) -> Configurations:
    """All combinations; the last argument changes first."""

    def points() -> Iterator[Point]:
        return (dict(zip(values, row, strict=True)) for row in _combinations([*values.values()]))

    return Configurations(tuple(values), points, prod(map(len, values.values())))


def _combinations(columns: Sequence[Sequence[Value]]) -> Iterator[tuple[Value, ...]]:
    """As `itertools.product`, which keeps every value of a range in memory."""
    if not columns:
        yield ()
        return
    for value in columns[0]:
        for row in _combinations(columns[1:]):
            yield (value, *row)


# --- files ------------------------------------------------------------------------------------


def of_file(name: str) -> Configurations:
    """The rows of a CSV file, whose first line has the names, or of JSON Lines. Raises
    UsageError."""
    readers = {".csv": _csv_points, ".jsonl": _json_points, ".ndjson": _json_points}
    reader = readers.get(Path(name).suffix)
    if reader is None:
        raise UsageError(f"option --from is {name!r}, expected a .csv or .jsonl file")
    names: dict[str, None] = {}
    try:
        for point in reader(name):
            names.update(dict.fromkeys(point))
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{name} is not text in UTF-8") from None
    if not names:
        raise UsageError(f"{name} has no configurations")
    return Configurations(tuple(names), lambda: reader(name))


def _csv_points(name: str) -> Iterator[Point]:
    """An empty cell keeps the value of the call."""
    with Path(name).open(encoding="utf-8-sig", newline="") as file:
        rows = csv.reader(file)
        header = [column.strip() for column in next(rows, [])]
        if len({*header}) < len(header) or not all(header):
            raise UsageError(f"{name}:1: found {header}, expected names that are all different")
        for row in filter(None, rows):
            if len(row) != len(header):
                expected = f"expected {len(header)}, as in the first line"
                raise UsageError(f"{name}:{rows.line_num}: found {len(row)} cells, {expected}")
            cells = zip(header, row, strict=True)
            yield {column: value_of(cell.strip()) for column, cell in cells if cell.strip()}


def _json_points(name: str) -> Iterator[Point]:
    with Path(name).open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                point = json.loads(line)
            except ValueError as error:
                raise UsageError(f"{name}:{number}: this is not JSON: {error}") from None
            plain = int | float | str | bool | None
            if not isinstance(point, dict) or not all(isinstance(v, plain) for v in point.values()):
                expected = 'expected an object of numbers and texts: {"d_model": 256}'
                raise UsageError(f"{name}:{number}: found {line.strip()[:60]}, {expected}")
            yield point


# --- Hydra ------------------------------------------------------------------------------------


def of_hydra(
    folder: str, arguments: Sequence[str], mapping: Mapping[str, str]
) -> tuple[Configurations, Mapping[str, str]]:
    """The jobs of a multirun, in their order, and which key each argument has its value from.
    `arguments`: those that the model has; `mapping`: keys by argument, where the names differ.
    Raises UsageError."""
    place = Path(folder)
    if not place.is_dir():
        raise UsageError(f"there is no directory {place}")
    jobs = [hidden.parent for hidden in place.rglob(".hydra") if hidden.is_dir()]
    if not jobs:
        raise UsageError(f"{place} has no job of Hydra: no directory in it has a .hydra inside")

    def order(job: Path) -> list[tuple[int, str]]:
        """`10` after `9`."""
        parts = re.findall(r"\d+|\D+", job.relative_to(place).as_posix())
        return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]

    jobs.sort(key=order)
    keys = _keys(jobs[0], arguments, mapping)

    def points() -> Iterator[Point]:
        for job in jobs:
            config = _config(job)
            yield {name: config[key] for name, key in keys.items() if key in config}

    return Configurations(tuple(keys), points, len(jobs)), keys


def _config(job: Path) -> dict[str, Value]:
    """The keys of a job, dotted, with their values: of its config, or of its overrides alone."""
    place = job / ".hydra"
    try:
        if (file := place / "config.yaml").is_file():
            entries = outline(file.name, file.read_text(encoding="utf-8"))
            plain = (entry for entry in entries if entry.value)
            return {".".join(map(str, entry.keys)): _yaml_value(entry.value) for entry in plain}
        file = place / "overrides.yaml"
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {file}: {error}") from None
    matches = filter(None, map(_OVERRIDE.match, lines))
    return {match[1]: _yaml_value(match[2]) for match in matches}


def _yaml_value(text: str) -> Value:
    return None if text.lower() in ("null", "~") else value_of(text)


def _keys(job: Path, arguments: Sequence[str], mapping: Mapping[str, str]) -> dict[str, str]:
    """The key of each argument: as the mapping says, else its own name, else the only key that ends
    in it."""
    config = _config(job)
    listed = ", ".join(islice(config, 12)) or "no keys"
    for name, key in mapping.items():
        if key not in config:
            raise UsageError(f"option --map: {job} has no key {key!r} for {name}; it has {listed}")
    keys = dict(mapping)
    for name in arguments:
        ends = [key for key in config if key == name or key.endswith(f".{name}")]
        if name in keys or not ends:
            continue
        if len(ends) > 1 and name not in config:
            step = f"next: --map {name}={ends[0]}"
            raise UsageError(f"{job}: {name} may be {' or '.join(ends)}\n{step}")
        keys[name] = name if name in config else ends[0]
    if not keys:
        what = f"{job} sets no argument of the model; it has {listed}"
        raise UsageError(f"{what}\nnext: --map {next(iter(arguments), 'd_model')}=KEY")
    return keys
