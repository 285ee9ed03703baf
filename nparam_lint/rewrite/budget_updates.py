"""What `nparam-lint update` writes: today's counts, in the budgets that they broke.

Only numbers change. Formulas, limits (`<= 25k`) and ranges say what the count should be,
not what it was, so they are left alone. So is what could not be measured.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from nparam_lint.claims.expression import Formula
from nparam_lint.claims.notation import Target, TextError, parse_target
from nparam_lint.gate.measure import RunContext
from nparam_lint.gate.pipeline import measure, read_source
from nparam_lint.gate.requests import Selection
from nparam_lint.judge import judge
from nparam_lint.records import NotMeasured
from nparam_lint.rewrite import docstring_edits, number_style, toml_edits
from nparam_lint.rewrite.edits import Edit, FileEdit, Left, Plan, is_outside
from nparam_lint.rewrite.selected_budgets import check_named

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from nparam_lint.config.settings import ConfigBudget, Settings
    from nparam_lint.gate.measure import Progress
    from nparam_lint.gate.requests import ModelRequest, ProjectSource
    from nparam_lint.judge import Budget
    from nparam_lint.records import Finding, Measurement, Origin
    from nparam_lint.rewrite.number_style import Restated
    from nparam_lint.rewrite.selected_budgets import Named


@dataclass(frozen=True, slots=True)
class _Held:
    """A budget that holds."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A budget that is to be written, and the change that does it."""

    edit: Edit
    change: Restated
    budget: Budget

    def left(self, reason: str) -> Left:
        return _left(self.budget, f"cannot be rewritten: {reason}", self.edit.count)


def plan_update(
    settings: Settings,
    named: Sequence[Named],
    environ: Mapping[str, str],
    progress: Progress | None = None,
) -> Plan:
    """Measure what is named (or everything that is declared, if nothing is), and work out every
    edit. Nothing is written. Raises NothingNamed."""
    places = {settings.root / item.path for item in named if item.target is None}
    places |= {settings.root / n.path for n in named if n.target is not None and n.target.is_path}
    paths = [settings.root, *sorted(p for p in places if p.suffix == ".py" or p.is_dir())]
    source = read_source(settings, [p for p in paths if p.exists()], declared_only=True)
    check_named(named, source.requests, source.found.tree.files)
    requests = [r for one in source.requests if (r := _only_named(one, named)).is_declared]
    context = RunContext(settings, environ, progress)
    report = measure(source, Selection(requests), context)
    if report.error:
        return Plan(error=report.error)
    heard = {(f.code, f.position, f.message) for f in report.findings}  # not silenced by anybody
    unread = [f for f in source.findings if (f.code, f.position, f.message) in heard]
    left = [*_unreadable(unread, named)]
    wanted: list[_Wanted] = []
    held = 0
    for model, judged in zip(requests, report.models, strict=True):
        for budget in model.budgets:
            match _decide(budget, judged.measurement, settings):
                case _Wanted() as item:
                    wanted.append(item)
                case Left() as item:
                    left.append(item)
                case _Held():
                    held += budget.origin != "prose"
    files, failed = _files(wanted, source, environ)
    lost = {id(item.edit) for item, _ in failed}
    edits = [item.edit for item in wanted if id(item.edit) not in lost]
    left += [item.left(reason) for item, reason in failed]
    return Plan(tuple(sorted(edits, key=_place)), tuple(sorted(left, key=_place)), files, held)


def _place(item: Edit | Left) -> tuple[str, int, int]:
    return item.position.path, item.position.line, item.position.column


def _only_named(model: ModelRequest, named: Sequence[Named]) -> ModelRequest:
    """The model with those of its budgets that are named; what its prose says stays with them."""
    budgets = [
        b
        for b in model.budgets
        if not named
        or b.origin == "prose"
        or any(item.covers(b.target, b.selector, b.position.path) for item in named)
    ]
    return replace(model, budgets=budgets)


def _unreadable(findings: Sequence[Finding], named: Sequence[Named]) -> Iterator[Left]:
    """Declarations that cannot be checked: malformed, stale, or in a file with an error."""
    for found in findings:
        try:
            target = parse_target(found.target)
        except TextError:
            target = Target(found.position.path, "")
        at = found.position
        if not named or any(item.covers(target, None, at.path) for item in named):
            origin: Origin = "docstring" if at.path.endswith(".py") else "config"
            yield Left(at, found.target, "", origin, "", found.message)


# --- deciding ---------------------------------------------------------------------------------


def _decide(budget: Budget, measurement: Measurement, settings: Settings) -> _Held | _Wanted | Left:
    if isinstance(measurement, NotMeasured):
        if budget.origin == "prose":
            return _Held()  # nobody relies on it
        hint = f" ({measurement.hint})" if measurement.hint else ""
        return _left(budget, f"not measured: {measurement.reason}{hint}")
    tolerance = settings.for_file(budget.target.location).tolerance
    results, findings = judge(budget, measurement, tolerance)
    if not results:
        return _left(budget, findings[0].message)
    if all(result.ok for result in results):
        return _Held()
    counts = sorted({result.actual for result in results if result.actual is not None})
    count = counts[0] if len(counts) == 1 else None
    if reason := _stays(budget, results[0].value):
        return _left(budget, reason, count)
    if count is None:
        few = f"{counts[0]:,} … {counts[-1]:,}"
        return _left(budget, f"its modules have different counts: {few}")
    own = budget.tolerance
    change = number_style.restate(
        budget.value, count, budget.selector.metric, own or tolerance, own is not None
    )
    if change is None:
        return _left(budget, "no number in this form holds", count)
    old, new = budget.value.text, change.result
    if old.isdecimal() and budget.declared == f"{int(old):_}":  # an integer in TOML
        old, new = budget.declared, f"{count:_}"
    edit = Edit(
        budget.position,
        str(budget.target),
        str(budget.selector),
        budget.origin,
        old,
        new,
        count,
        len(results),
    )
    return _Wanted(edit, change, budget)


def _stays(budget: Budget, declared: int | None) -> str | None:
    """Why a broken budget is not rewritten; None if it is."""
    value = budget.value
    if budget.origin == "prose":
        return "a count in prose is not rewritten; correct it by hand"
    if any(isinstance(term, Formula) for term in value.terms):
        return f"a formula, which gives {declared:,}" if declared is not None else "a formula"
    if not number_style.is_movable(value):
        return f"a {'range' if value.form == 'range' else 'limit'}, which is never changed"
    return None


def _left(budget: Budget, reason: str, count: int | None = None) -> Left:
    return Left(
        budget.position,
        str(budget.target),
        str(budget.selector),
        budget.origin,
        budget.declared if budget.origin == "prose" else budget.value.text,
        reason,
        count,
    )


# --- editing ----------------------------------------------------------------------------------


def _files(
    wanted: Sequence[_Wanted], source: ProjectSource, environ: Mapping[str, str]
) -> tuple[tuple[FileEdit, ...], list[tuple[_Wanted, str]]]:
    """The files with every change made; and the changes that could not be made, with the reason."""
    by_file: dict[str, list[_Wanted]] = defaultdict(list)
    for item in wanted:
        by_file[item.budget.position.path].append(item)
    files: list[FileEdit] = []
    failed: list[tuple[_Wanted, str]] = []
    for name, items in sorted(by_file.items()):
        path = source.settings.root / name
        if is_outside(path, source.settings.root, environ):
            failed += [(item, "its file is outside of the repository") for item in items]
            continue
        rewrite = _in_docstrings if items[0].budget.origin == "docstring" else _in_config
        old, new, reasons = rewrite(name, items, source)
        failed += [(items[number], reason) for number, reason in reasons.items()]
        if new != old:
            files.append(FileEdit(name, path, old, new))
    return tuple(files), failed


def _in_docstrings(
    name: str, items: Sequence[_Wanted], source: ProjectSource
) -> tuple[bytes, bytes, dict[int, str]]:
    old = source.found.tree.source(name)
    places = [(item.edit.position.line, item.edit.position.column) for item in items]
    changes = {place: item.change for place, item in zip(places, items, strict=True)}
    new, failed = docstring_edits.restate(old, changes)
    return old, new, {places.index(place): reason for place, reason in failed.items()}


def _in_config(
    name: str, items: Sequence[_Wanted], source: ProjectSource
) -> tuple[bytes, bytes, dict[int, str]]:
    old = (source.settings.root / name).read_bytes()
    text = old.decode("utf-8")
    entries = [entry for entry in source.settings.budgets if entry.position.path == name]
    keys = toml_edits.budget_keys(text, toml_edits.table_of(Path(name).name))
    free = dict(zip(keys, entries, strict=True)) if len(keys) == len(entries) else {}
    chosen: dict[toml_edits.Key, int] = {}
    failed: dict[int, str] = {}
    for number, item in enumerate(items):
        same = (key for key, entry in free.items() if _is_entry(entry, item.budget))
        key = next(same, None)
        if key is None:
            failed[number] = "the file has changed since it was read"
        else:
            del free[key]
            chosen[key] = number
    new, unsafe = toml_edits.restate(text, {key: items[n].change for key, n in chosen.items()})
    return old, new.encode("utf-8"), failed | {chosen[k]: reason for k, reason in unsafe.items()}


def _is_entry(entry: ConfigBudget, budget: Budget) -> bool:
    return (
        entry.position == budget.position
        and (entry.target, entry.selector) == (budget.target, budget.selector)
        and (entry.value, entry.tolerance) == (budget.value, budget.tolerance)
    )
