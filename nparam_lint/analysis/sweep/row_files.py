"""The rows of a sweep in files: JSON Lines and CSV, which a later run continues after their last
whole line; and Parquet, which is made of such lines at the end."""

from __future__ import annotations

import csv
import io
import json
import os
import random
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from nparam_lint import UsageError
from nparam_lint.analysis.closed_forms.observations import differs
from nparam_lint.analysis.sweep.sweep import SweepRow, written
from nparam_lint.analysis.varied import value_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from io import FileIO
    from pathlib import Path
    from typing import Protocol

    from nparam_lint.analysis.closed_forms.observations import Point, Value

    class Codec(Protocol):
        """How a row is a line, without its end. `head`: what stands before all rows."""

        head: str

        def line(self, row: SweepRow) -> str: ...
        def start(self, point: Point) -> str: ...
        def read(self, line: str) -> SweepRow: ...


COLUMNS = ("nparam", "by", "reason")  # after those of the arguments
ANOTHER = "next: another --out FILE; this one stays as it is"
_KEPT = 8  # rows of a file that are counted once more
_BATCH = 20_000  # rows of a Parquet file that are written together


class JsonLines:
    head = ""

    def line(self, row: SweepRow) -> str:
        told: dict[str, Any] = {**row.point, "nparam": row.count, "by": row.by}
        if row.reason is not None:
            told["reason"] = row.reason
        return msgspec.json.encode(told).decode()

    def start(self, point: Point) -> str:
        return self.line(SweepRow(point, None, "")).partition('"nparam":')[0]

    def read(self, line: str) -> SweepRow:
        """Raises ValueError."""
        told = json.loads(line)
        if not isinstance(told, dict):
            raise ValueError(line)
        count, by, reason = (told.pop(name, None) for name in COLUMNS)
        return SweepRow(told, count, by, reason)


class Csv:
    """A cell has a value as Python writes it, and texts without quotes; an empty one, none."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self.head = _csv_line([*names, *COLUMNS])

    def line(self, row: SweepRow) -> str:
        counted = "" if row.count is None else str(row.count)
        return _csv_line([*self.cells(row.point), counted, row.by, row.reason or ""])

    def cells(self, point: Point) -> list[str]:
        return [_cell(point[name]) if name in point else "" for name in self.names]

    def start(self, point: Point) -> str:
        return _csv_line([*self.cells(point), ""])

    def read(self, line: str) -> SweepRow:
        (cells,) = csv.reader([line])
        pairs = zip(self.names, cells, strict=False)
        count, by, reason = cells[len(self.names) :]
        point = {name: value_of(cell) for name, cell in pairs if cell}
        return SweepRow(point, int(count) if count else None, by, reason or None)


def _cell(value: Value) -> str:
    plain = isinstance(value, str) and value.strip() == value and value_of(value) == value
    return str(value) if plain and value and "\n" not in str(value) else repr(value)


def _csv_line(cells: Sequence[str]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(cells)
    return text.getvalue()


# --- what is there already --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Found:
    """The whole lines of a file: how many rows they are, where they end, and some of them."""

    rows: int = 0
    end: int = 0
    some: tuple[SweepRow, ...] = ()


class _Sample:
    """A few of the rows that are offered, each with the same chance (J. S. Vitter, Random sampling
    with a reservoir, 1985)."""

    def __init__(self) -> None:
        self.rows: list[SweepRow] = []
        self.offered, self.chance = 0, random.Random(0)

    def offer(self, row: SweepRow) -> None:
        if row.count is None:
            return
        self.offered += 1
        at = self.chance.randrange(self.offered)
        if len(self.rows) < _KEPT:
            self.rows.append(row)
        elif at < _KEPT:
            self.rows[at] = row


def found_in(
    path: Path, codec: Codec, points: Iterator[Point], tell: Callable[[SweepRow], None]
) -> Found:
    """What a file has of the rows for these points, in this order; each is told. Raises UsageError
    for a file of anything else."""
    if not path.exists():
        return Found()
    some = _Sample()
    number = end = 0
    with path.open("rb") as file:
        first = next(file, b"") if codec.head else b""
        if first and first.rstrip(b"\r\n") != codec.head.encode():
            _expect_start(first, codec.head, f"{path}:1")
            return Found()
        end = len(first)
        for raw in file:
            point, place = next(points, None), f"{path}:{number + 1 + bool(codec.head)}"
            if point is None:
                raise UsageError(f"{path} has more rows than this sweep: it is another\n{ANOTHER}")
            if not raw.endswith(b"\n"):
                _expect_start(raw, codec.start(point), place)
                break
            row = _read(codec, raw, point, place)
            number, end = number + 1, end + len(raw)
            some.offer(row)
            tell(row)
    return Found(number, end, tuple(some.rows))


def _read(codec: Codec, raw: bytes, point: Point, place: str) -> SweepRow:
    try:
        row = codec.read(raw.decode().rstrip("\r\n"))
    except ValueError:
        raise UsageError(f"{place}: this is no row of a sweep\n{ANOTHER}") from None
    if row.point.keys() != point.keys() or any(differs(row.point[n], v) for n, v in point.items()):
        is_of = f"found {written(row.point)}, expected {written(point)}"
        raise UsageError(f"{place}: {is_of}: the file is of another sweep\n{ANOTHER}")
    return row


def _expect_start(raw: bytes, start: str, place: str) -> None:
    """Whether a line that was not written to its end is one of this sweep."""
    known = start.encode()
    if not (raw.startswith(known) or known.startswith(raw)):
        raise UsageError(f"{place}: this is no row of this sweep\n{ANOTHER}")


# --- writing ----------------------------------------------------------------------------------


class RowFile:
    """Appends rows to a file, of which whole lines stay whatever happens."""

    def __init__(self, path: Path, codec: Codec, found: Found) -> None:
        """Cuts off what comes after the lines that were found. Raises UsageError."""
        self.path, self.codec, self.rows, self.end = path, codec, found.rows, found.end
        try:
            self.file: FileIO = path.open("r+b" if path.exists() else "w+b", buffering=0)
            self.file.truncate(self.end)
            self.file.seek(self.end)
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}") from None
        if not self.end and codec.head:
            self.append([codec.head])

    def write(self, rows: Sequence[SweepRow]) -> None:
        self.append([self.codec.line(row) for row in rows])
        self.rows += len(rows)

    def append(self, lines: Sequence[str]) -> None:
        left = memoryview("".join(f"{line}\n" for line in lines).encode())
        length = len(left)
        try:
            while left:
                left = left[self.file.write(left) or 0 :]
        except OSError as error:
            self.file.truncate(self.end)
            raise UsageError(
                f"cannot write {self.path}: {error.strerror}; its {self.rows:,} rows are whole\n"
                "next: make room, and run the same command again, which goes on there"
            ) from None
        except BaseException:  # Ctrl-C, in the middle of a line
            self.file.truncate(self.end)
            raise
        self.end += length

    def __enter__(self) -> RowFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()


# --- Parquet ----------------------------------------------------------------------------------


def rows_of_parquet(
    path: Path, points: Iterable[Point], tell: Callable[[SweepRow], None]
) -> list[SweepRow] | None:
    """Some rows of a file that has all of a sweep, each of which is told; None where there is none.
    Raises UsageError for a file of anything else, and where Parquet cannot be written."""
    _pyarrow()
    if not path.exists():
        return None
    number, rest, some = 0, iter(points), _Sample()
    for number, row in enumerate(_parquet_rows(path), 1):
        told = {name: v for name, v in next(rest, {}).items() if v is not None}
        if row.point.keys() != told.keys() or any(row.point[n] != v for n, v in told.items()):
            raise UsageError(f"{path} is of another sweep: its row {number} differs\n{ANOTHER}")
        some.offer(row)
        tell(row)
    if next(rest, None) is not None:
        raise UsageError(f"{path} is of another sweep: it has {number:,} rows\n{ANOTHER}")
    return some.rows


def _parquet_rows(path: Path) -> Iterator[SweepRow]:
    try:
        with _pyarrow().ParquetFile(path) as file:
            for batch in file.iter_batches(_BATCH):
                for told in batch.to_pylist():
                    count, by, reason = (told.pop(name, None) for name in COLUMNS)
                    yield SweepRow(
                        {n: v for n, v in told.items() if v is not None}, count, by, reason
                    )
    except (OSError, ValueError) as error:  # of which those of Arrow are
        raise UsageError(f"cannot read {path} as Parquet: {error}\n{ANOTHER}") from None


def to_parquet(lines: Path, path: Path, names: Sequence[str]) -> None:
    """Make a Parquet file of rows in JSON Lines, which are removed. Raises UsageError."""
    parquet = _pyarrow()
    import pyarrow

    kinds: dict[str, set[type]] = {name: set() for name in names}
    for row in _json_rows(lines):
        for name, value in row.point.items():
            kinds[name].add(type(value))
    types = {name: _type(pyarrow, found - {type(None)}) for name, found in kinds.items()}
    types |= {"nparam": pyarrow.int64(), "by": pyarrow.string(), "reason": pyarrow.string()}
    schema = pyarrow.schema(list(types.items()))
    made = path.with_name(f"{path.name}.unfinished")
    texts = [name for name in names if types[name] == pyarrow.string()]
    try:
        with parquet.ParquetWriter(made, schema) as writer:
            rows = _json_rows(lines)
            while batch := list(islice(rows, _BATCH)):
                told = [_told(row, texts) for row in batch]
                writer.write_table(pyarrow.Table.from_pylist(told, schema))
        os.replace(made, path)  # noqa: PTH105
    except (OSError, pyarrow.ArrowInvalid, OverflowError) as error:
        made.unlink(missing_ok=True)
        raise UsageError(f"cannot write {path}: {error}; all rows are in {lines}") from None
    lines.unlink()


def _told(row: SweepRow, texts: Sequence[str]) -> dict[str, Value]:
    point = dict(row.point)
    for name in texts:
        if point.get(name) is not None:
            point[name] = str(point[name])
    return {**point, "nparam": row.count, "by": row.by, "reason": row.reason}


def _json_rows(lines: Path) -> Iterator[SweepRow]:
    codec = JsonLines()
    with lines.open(encoding="utf-8") as file:
        yield from map(codec.read, file)


def _type(pyarrow: Any, kinds: set[type]) -> Any:
    """Of a column; values of several kinds are texts."""
    if kinds <= {bool}:
        return pyarrow.bool_()
    if kinds <= {int}:
        return pyarrow.int64()
    return pyarrow.float64() if kinds <= {int, float} else pyarrow.string()


def _pyarrow() -> Any:
    try:
        from pyarrow import parquet
    except ImportError:
        step = "next: pip install 'nparam-lint[parquet]', or --out FILE.jsonl"
        raise UsageError(f"Parquet files need pyarrow, which is not installed\n{step}") from None
    return parquet
