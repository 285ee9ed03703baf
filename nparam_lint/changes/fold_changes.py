"""Changes of modules for people: repeated changes become one line, long lists are summed up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from nparam_lint.ground.grouping import grouped

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from nparam_lint.changes.records import Kind, ModuleChange

_Part = str | tuple[int, int]  # a name, or the numbers that it stands for


class Line(Struct, frozen=True):
    """One change, or `times` the same one in modules that are numbered: `h.0…11.mlp`. `was`: the
    path of the base where that is another. `change` is the first of them; None for a line that
    sums up the changes of several `modules` below its path. `delta`: of one of the `times`."""

    kind: Kind
    parts: tuple[_Part, ...]
    was: tuple[_Part, ...]
    change: ModuleChange | None
    delta: int
    modules: int = 1
    times: int = 1
    notes: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """The path for people: `h.0…11.mlp`."""
        return _text_of(self.parts)

    @property
    def path_before(self) -> str:
        return _text_of(self.was)

    @property
    def sum(self) -> int:
        return self.times * self.delta


def _text_of(parts: Iterable[_Part]) -> str:
    return ".".join(part if isinstance(part, str) else f"{part[0]}…{part[1]}" for part in parts)


def lines_of(
    changes: Sequence[ModuleChange], limit: int, depth: int | None = None
) -> tuple[Line, ...]:
    """Equal changes folded into one line. If there are more than `limit` lines, they are summed up
    at the deepest level that fits; with a `depth`, always at that level."""
    rows = []
    for change in changes:
        then = change.before if change.kind == "renamed" else None
        parts, was = parts_of(change.path), parts_of(then.path if then else change.path)
        rows.append(Line(change.kind, parts, was, change, change.delta, notes=change.notes))
    if depth is not None:
        return folded(_summed(rows, max(depth, 1)))
    deepest = max((len(line.parts) for line in rows), default=0)
    lines = folded(rows)
    for levels in range(deepest - 1, 0, -1):
        if len(lines) <= limit:
            break
        lines = folded(_summed(rows, levels))
    return lines


def parts_of(path: str) -> tuple[str, ...]:
    return tuple(path.split(".")) if path else ()


def _summed(lines: Sequence[Line], levels: int) -> list[Line]:
    """The changes below a module of the last level that is shown, as one."""
    sums = []
    for path, group in grouped(lines, lambda line: line.parts[:levels]).items():
        common = [note for note in group[0].notes if all(note in line.notes for line in group)]
        delta = sum(line.delta for line in group)
        total = Line("changed", path, path, None, delta, len(group), 1, tuple(common))
        sums.append(group[0] if len(group) == 1 else total)
    return sums


def folded(lines: Sequence[Line]) -> tuple[Line, ...]:
    """Equal changes in modules that are numbered, as one line: at each level of the paths, the
    deepest first, lines that differ in a number there alone, and in steps of one."""
    deepest = max((len(line.parts) for line in lines), default=0)
    for at in reversed(range(deepest)):
        runs: list[Line] = []
        ends: dict[object, tuple[int, int]] = {}  # where the run is, and its next number
        for line in lines:
            number = _number(line.parts, at)
            if number is not None:
                key = _key(line, at, number)
                index, following = ends.get(key, (len(runs), number))
                ends[key] = (index if number == following else len(runs)), number + 1
                if index < len(runs) and number == following:
                    run = runs[index]
                    parts, was = _longer(run.parts, at), _longer(run.was, at)
                    times = run.times + line.times
                    runs[index] = replace(run, parts=parts, was=was, times=times)
                    continue
            runs.append(line)
        lines = runs
    return tuple(lines)


def _longer(parts: tuple[_Part, ...], at: int) -> tuple[_Part, ...]:
    """A path with one number more, where it has one there."""
    match parts[at : at + 1]:
        case [(first, last)]:
            return (*parts[:at], (first, last + 1), *parts[at + 1 :])
        case [str() as number] if number.isdecimal():
            return (*parts[:at], (int(number), int(number) + 1), *parts[at + 1 :])
    return parts


def _number(parts: Sequence[_Part], at: int) -> int | None:
    part = parts[at] if at < len(parts) else None
    return int(part) if isinstance(part, str) and part.isdecimal() else None


def _key(line: Line, at: int, number: int) -> object:
    """What is the same of the lines that fold into one."""
    then = _number(line.was, at)
    was = line.was if then is None else (*line.was[:at], then - number, *line.was[at + 1 :])
    counts: object = None
    if (change := line.change) is not None:
        rows = ((row.type, row.source) if row else None for row in (change.before, change.after))
        counts = change.count_before, change.count_after, *rows
    paths = line.parts[:at], line.parts[at + 1 :], was
    return line.kind, paths, line.delta, line.modules, line.times, line.notes, counts
