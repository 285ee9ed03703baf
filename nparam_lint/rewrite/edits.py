"""Writes files, all or none, each in one step; or shows them as a diff."""

from __future__ import annotations

import difflib
import io
import os
import secrets
import shlex
import shutil
import tokenize
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from nparam_lint.ground.errors import UsageError
from nparam_lint.ground.grouping import grouped
from nparam_lint.ground.lines import lines_now, lines_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from nparam_lint.config.session import Session
    from nparam_lint.ground.values import Origin, Position

Place = tuple[int, int]  # line and column, from 1


class Unsafe(Exception):
    """An edit that cannot be made without a risk to something else; the message says why."""


class CannotWrite(UsageError):
    """What could not be written and why; nothing was, unless the message says so."""


class _Declaration(Struct, frozen=True):
    """A budget where it stands; `model` is its target."""

    position: Position
    model: str
    selector: str
    origin: Origin
    old: str


class Edit(_Declaration, frozen=True):
    """A budget that is written: for the first time, where `old` is empty. `count` is what it holds
    for, `modules` how many that a glob matches have it; `because`: why a part of another model gets
    one."""

    new: str
    count: int
    modules: int = 1
    because: str = ""


class Leftover(_Declaration, frozen=True):
    """A budget that does not hold, or a model without one, and why it is left as it is. `count` is
    what the model has; None where that is not known."""

    reason: str
    count: int | None = None


class EditItem(Struct, frozen=True):
    """What makes an edit."""

    edit: Edit


Item = TypeVar("Item", bound=EditItem)


class FileEdit(Struct, frozen=True):
    """A file's bytes, before and after. `name` is its path as reports give it; `old` is None for a
    file that is made."""

    name: str
    path: Path
    old: bytes | None
    new: bytes


class Plan(Struct, frozen=True):
    """What a command is going to do. `noun`: what is written; `held`: how many of these stay
    because they hold, or models because they have one; `hints`: lines of config that would let more
    be done; `step`: what to do when it is carried out; `error`: why nothing could be measured at
    all."""

    edits: tuple[Edit, ...] = ()
    leftovers: tuple[Leftover, ...] = ()
    files: tuple[FileEdit, ...] = ()
    held: int = 0
    hints: tuple[str, ...] = ()
    step: str = ""
    error: str | None = None
    noun: str = "budget"


def as_written(plan: Plan) -> Plan:
    """The plan once its files are written: what it names stands in other lines then."""
    lines: dict[str, dict[int, int]] = {}
    for file in plan.files:
        if file.old is not None:
            lines[file.name] = lines_now(lines_of(file.old), lines_of(file.new))

    def at(position: Position) -> Position:
        line = lines.get(position.path, {}).get(position.line)
        return replace(position, line=line or position.line)

    edits = tuple(replace(edit, position=at(edit.position)) for edit in plan.edits)
    leftovers = tuple(replace(item, position=at(item.position)) for item in plan.leftovers)
    return replace(plan, edits=edits, leftovers=leftovers)


def edit_files(
    items: Iterable[Item],
    session: Session,
    rewrite: Callable[[str, list[Item]], tuple[bytes, bytes, Mapping[Item, str]]],
) -> tuple[list[FileEdit], dict[Item, str]]:
    """The files that are changed; and the items that could not be written, with the reason. A file
    that has several names, by links, is changed once: under each it holds the same. `rewrite` gives
    a file before and after, and the items that it could not write."""
    root = session.root
    files: list[FileEdit] = []
    failures: dict[Item, str] = {}
    base = os.path.realpath(root)
    by_name = grouped(items, lambda item: item.edit.position.path)
    places = {name: os.path.realpath(root / name) for name in by_name}
    is_link = {name: places[name] != os.path.normpath(f"{base}/{name}") for name in by_name}
    faults: dict[str, str] = {}  # of each place, one; "" if there is none
    for name in sorted(by_name, key=lambda name: (is_link[name], name)):
        place, inside = places[name], by_name[name]
        if place not in faults and session.is_outside(root / name):
            faults[place] = "its file is outside of the repository"
        if place in faults:
            failures |= dict.fromkeys(inside, faults[place]) if faults[place] else {}
            continue
        old, new, reasons = rewrite(name, inside)
        failures |= reasons
        faults[place] = next(iter(reasons.values()), "")
        if new != old:
            files.append(FileEdit(name, root / name, old, new))
    return files, failures


def unified_diff(edit: FileEdit) -> str:
    """As git writes it, so that `git apply` takes it."""
    before, after = _lines(edit.old or b""), _lines(edit.new)
    source = "/dev/null" if edit.old is None else f"a/{edit.name}"
    lines = [f"--- {source}\n", f"+++ b/{edit.name}\n"]
    # `difflib.unified_diff` takes what is frequent for noise, and large detours around it.
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for group in matcher.get_grouped_opcodes(3):
        old, new = (group[0][1], group[-1][2]), (group[0][3], group[-1][4])
        lines.append(f"@@ -{_span(*old)} +{_span(*new)} @@\n")
        for kind, old_start, old_end, new_start, new_end in group:
            if kind == "equal":
                lines += [f" {line}" for line in before[old_start:old_end]]
            else:
                lines += [f"-{line}" for line in before[old_start:old_end]]
                lines += [f"+{line}" for line in after[new_start:new_end]]
    missing = "\n\\ No newline at end of file\n"
    return "".join(line if line.endswith("\n") else line + missing for line in lines)


def _span(start: int, end: int) -> str:
    return f"{start if start == end else start + 1},{end - start}"


def _lines(content: bytes) -> list[str]:
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
    except SyntaxError:
        encoding = "utf-8"
    # Not `splitlines`, for which a form feed ends a line.
    return [*io.StringIO(content.decode(encoding, "replace"), newline="\n")]


# --- onto the disk ----------------------------------------------------------------------------


def write_all(edits: Sequence[FileEdit]) -> None:
    """Write every file, or none if a failure can be foreseen. Raises CannotWrite.

    The new content is first written beside each file, then renamed, so that no file is ever half
    written. A symbolic link stays one: what it leads to is replaced.
    """
    places = [Path(os.path.realpath(edit.path)) for edit in edits]
    drafts = [place.with_name(f".{place.name}.{secrets.token_hex(4)}") for place in places]
    names: list[str] = []
    try:
        for edit, place, draft in zip(edits, places, drafts, strict=True):
            _check(edit, place)
            with draft.open("xb") as file:
                file.write(edit.new)
            if edit.old is not None:
                shutil.copymode(place, draft)
        for edit, place, draft in zip(edits, places, drafts, strict=True):
            _check(edit, place)
            draft.replace(place)
            names.append(edit.name)
    except (OSError, Unsafe) as error:
        why = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else str(error)
        state = f"written before: {', '.join(names)}" if names else "nothing was written"
        raise CannotWrite(f"cannot write {why}; {state}") from None
    finally:
        for draft in drafts:
            with suppress(OSError):
                draft.unlink()


def _check(edit: FileEdit, place: Path) -> None:
    """Raises Unsafe for a file that is not what was read, or is not to be written."""
    now = place.read_bytes() if place.exists() else None
    if now != edit.old:
        raise Unsafe(f"{edit.name}: it has changed since it was read; next: run the command again")
    # The owner may be root, who may write everything; what is marked read-only is meant so.
    if now is not None and not (place.stat().st_mode & 0o222 and os.access(place, os.W_OK)):
        path = shlex.quote(os.path.relpath(edit.path))
        raise Unsafe(f"{edit.name}: it is read-only; next: chmod u+w {path}")
