"""What `nparam-lint update` writes: today's counts, in the budgets that they broke.

Only numbers change. Formulas, limits (`<= 25k`) and ranges say what the count should be,
not what it was, so they are left alone. So is what could not be measured.
"""

from __future__ import annotations

import ast
import os
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nparam_lint.claims import (
    Selector,
    Target,
    TextError,
    is_doc,
    parse_selected,
    parse_target,
    read_expression,
)
from nparam_lint.claims.expression import Formula
from nparam_lint.count.measured import NotMeasured
from nparam_lint.gate import measure
from nparam_lint.gate.candidates import Selection, why_gone
from nparam_lint.gate.judge import judge
from nparam_lint.gate.reading import read_source
from nparam_lint.ground.errors import UsageError
from nparam_lint.ground.nearest import did_you_mean, did_you_mean_path
from nparam_lint.rewrite import comment_edits, docstring_edits, number_style, toml_edits
from nparam_lint.rewrite.edits import Edit, Left, Plan, edit_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from nparam_lint.claims.budget import Budget
    from nparam_lint.config.session import Session
    from nparam_lint.config.settings import Settings
    from nparam_lint.count.measured import Measurement
    from nparam_lint.gate.candidates import Candidate, ProjectSource
    from nparam_lint.ground.findings import Finding
    from nparam_lint.ground.values import Origin, Position
    from nparam_lint.rewrite.number_style import Restated

# Of what cannot be read in files of a kind.
_ORIGINS: dict[str, Origin] = {".py": "docstring", ".toml": "config"}


@dataclass(frozen=True, eq=False, slots=True)
class _Wanted:
    """A budget that is to be written, and the change that does it."""

    edit: Edit
    change: Restated
    budget: Budget

    def left(self, reason: str) -> Left:
        return _left(self.budget, f"cannot be rewritten: {reason}", self.edit.count)


def plan_update(
    session: Session,
    named: Sequence[Named],
) -> Plan:
    """Measure the named models (or everything that is declared, if none is named), and plan every
    edit. Nothing is written. Raises UsageError."""
    root = session.root
    places = {root / item.path for item in named if item.target is None}
    places |= {root / n.path for n in named if n.target is not None and n.target.is_path}
    paths = [root, *sorted(p for p in places if p.suffix == ".py" or p.is_dir())]
    source = read_source(session, [p for p in paths if p.exists()], declared_only=True)
    _check_named(named, source, root)
    candidates = [r for one in source.candidates if (r := _only_named(one, named)).is_declared]
    report = measure(source, Selection(candidates))
    if report.error:
        return Plan(error=report.error)
    reported = {(f.code, f.position, f.message) for f in report.findings}  # not suppressed
    unread = [f for f in source.findings if (f.code, f.position, f.message) in reported]
    left = [*_unreadable(unread, named)]
    wanted: list[_Wanted] = []
    held = 0
    for model, judged in zip(candidates, report.models, strict=True):
        for budget in model.budgets:
            item = _decide(budget, judged.host or judged.measurement, session.settings)
            if isinstance(item, _Wanted):
                wanted.append(item)
            elif item:
                left.append(item)
            else:
                held += budget.origin != "prose"

    placed = [(item.edit.position.path, item) for item in wanted]
    rewrite = partial(_rewritten, source=source)
    files, failed = edit_files(placed, session, rewrite)
    edits = [item.edit for item in wanted if item not in failed]
    left += [item.left(reason) for item, reason in failed.items()]
    return Plan(
        tuple(sorted(edits, key=_place)), tuple(sorted(left, key=_place)), tuple(files), held
    )


def _place(item: Edit | Left) -> tuple[str, int, int]:
    return item.position.path, item.position.line, item.position.column


def _only_named(model: Candidate, named: Sequence[Named]) -> Candidate:
    """The model with only the budgets that are named, and the claims in its prose."""
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
            otherwise: Origin = "docs" if is_doc(at.path) else "comment"
            origin = _ORIGINS.get(Path(at.path).suffix, otherwise)
            yield Left(at, found.target, "", origin, "", found.message)


# --- what is named ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Named:
    """One argument. With a `target`: its budgets, for all arguments where it has none and for all
    selectors where `selector` is None. Without: the budgets that stand at or below `path` (relative
    to the root), or are about what is defined there."""

    text: str
    path: str
    target: Target | None = None
    selector: Selector | None = None

    def covers(self, target: Target, selector: Selector | None, place: str) -> bool:
        """Whether it names the budget for `target` (with any selector: None) that stands in the
        file `place`."""
        if self.target is None:
            return any(
                self.path == "." or p == self.path or p.startswith(f"{self.path}/")
                for p in (place, target.location)
            )
        return (
            self.target.bare == target.bare
            and _same_call(self.target.arguments, target.arguments)
            and _same_host(self.target.host, target.host)
            and (self.selector is None or self.selector == selector)
        )


def read_named(text: str, root: Path) -> Named:
    """Raises UsageError for what is neither a target nor a path of the project."""
    if "::" not in text:
        path = Path(text)
        if not path.exists():
            raise UsageError(f"there is no file or directory {text}{did_you_mean_path(text)}")
        return Named(text, _relative(path, root))
    try:
        target, selector = parse_selected(text)
    except TextError as error:
        raise UsageError(f"{text!r} is not a target: {error}") from None
    if target.is_path:
        target = replace(target, location=_relative(Path(target.location), root))
    chosen = selector if text.rstrip().endswith("]") else None
    return Named(text, target.location, target, chosen)


def _relative(path: Path, root: Path) -> str:
    relative = os.path.relpath(path.absolute(), root).replace(os.sep, "/")
    if relative.startswith("../"):
        raise UsageError(f"{path} is outside of the project at {root}")
    return relative


def _same_call(named: str | None, declared: str | None) -> bool:
    """No arguments named: all of them are; `()` names the call with the defaults."""
    if named is None:
        return True
    trees = (read_expression(f"f({arguments or ''})") for arguments in (named, declared))
    one, other = (ast.dump(tree) for tree in trees)
    return one == other


def _same_host(named: Target | None, declared: Target | None) -> bool:
    """No model named: the class inside any of them; its name alone names it in any file."""
    if named is None:
        return True
    if declared is None or named.location not in ("", declared.location):
        return False
    is_same = named.callable == declared.callable
    return is_same and _same_call(named.arguments or "", declared.arguments)


def _check_named(named: Sequence[Named], source: ProjectSource, root: Path) -> None:
    """Raises UsageError for the first argument that names none of the declared budgets."""
    budgets = [
        b for candidate in source.candidates for b in candidate.budgets if b.origin != "prose"
    ]
    for item in named:
        if not any(item.covers(b.target, b.selector, b.position.path) for b in budgets):
            names = [
                f"{b.target}[{b.selector}]" if str(b.selector) else str(b.target) for b in budgets
            ]
            if item.target and (gone := why_gone(item.target, root, source.found)):
                raise UsageError(gone)
            step = f"; next: nparam-lint init {item.path}"
            if item.target is not None and not item.target.is_path:
                step = "; next: write one into the config"
            hint = did_you_mean(item.text, names, cutoff=0.5) if item.target else ""
            raise UsageError(f"no budget is declared for {item.text}{hint or step}")


# --- deciding ---------------------------------------------------------------------------------


def _decide(budget: Budget, measurement: Measurement, settings: Settings) -> _Wanted | Left | None:
    """None for a budget that holds."""
    if isinstance(measurement, NotMeasured):
        if budget.origin == "prose":
            return None  # no check relies on it
        hint = f" ({measurement.hint})" if measurement.hint else ""
        return _left(budget, f"not measured: {measurement.reason}{hint}")
    tolerance = settings.for_file(budget.target.location).tolerance
    results, findings = judge(budget, measurement, tolerance)
    if not results:
        return _left(budget, findings[0].message)
    if all(result.ok for result in results):
        return None
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
        return _left(budget, "no number in this form matches the count", count)
    old, new = budget.value.text, change.result
    if old.isdecimal() and budget.declared == f"{int(old):_}":  # an integer in TOML
        old, new = budget.declared, f"{count:_}"
    return _Wanted(Edit(*_about(budget), old, new, count, len(results)), change, budget)


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
    old = budget.declared if budget.origin == "prose" else budget.value.text
    return Left(*_about(budget), old, reason, count)


def _about(budget: Budget) -> tuple[Position, str, str, Origin]:
    return budget.position, str(budget.target), str(budget.selector), budget.origin


# --- editing ----------------------------------------------------------------------------------


def _rewritten(
    name: str, items: Sequence[_Wanted], source: ProjectSource
) -> tuple[bytes, bytes, dict[_Wanted, str]]:
    """A file before and after, and what could not be written, with the reason."""
    origin = items[0].budget.origin
    place = source.settings.root / name
    old = source.found.tree.source(name) if origin == "docstring" else place.read_bytes()
    failed = {i: "run update once more for it" for i in items if i.budget.origin != origin}
    mine = [item for item in items if item not in failed]
    if origin == "config":
        by_place: dict[Any, _Wanted] = _by_key(name, old.decode("utf-8"), mine, source)
        missing = (item for item in mine if item not in by_place.values())
        failed |= dict.fromkeys(missing, "the file has changed since it was read")
    else:
        by_place = {(i.edit.position.line, i.edit.position.column): i for i in mine}
    new, unsafe = _restated(name, old, origin, {at: i.change for at, i in by_place.items()})
    return old, new, failed | {by_place[at]: reason for at, reason in unsafe.items()}


def _by_key(
    name: str, text: str, items: Sequence[_Wanted], source: ProjectSource
) -> dict[toml_edits.Key, _Wanted]:
    """The budgets by the keys at which a config file has them."""
    entries = [entry for entry in source.budgets if entry.position.path == name]
    keys = toml_edits.budget_keys(text, toml_edits.table_of(Path(name).name))
    free = dict(zip(keys, entries, strict=True)) if len(keys) == len(entries) else {}
    found: dict[toml_edits.Key, _Wanted] = {}
    for item in items:
        # In an entry, a model may be called by its name alone.
        target = item.budget.target
        same = (k for k, entry in free.items() if replace(entry, target=target) == item.budget)
        if (key := next(same, None)) is not None:
            del free[key]
            found[key] = item
    return found


def _restated(
    name: str, old: bytes, origin: Origin, changes: Mapping[Any, Restated]
) -> tuple[bytes, dict[Any, str]]:
    """A file with other numbers at some places or keys; and those that were not changed, with the
    reason."""
    if origin == "docstring":
        return docstring_edits.restate(old, changes)
    try:
        text = old.decode("utf-8")
    except UnicodeDecodeError:
        return old, dict.fromkeys(changes, "the file is not UTF-8")
    restate: Callable[..., tuple[str, dict[Any, str]]] = toml_edits.restate
    if origin != "config":  # comments in config files, numbers in Markdown and reStructuredText
        restate = partial(comment_edits.restate, name)
    new, failed = restate(text, changes)
    return new.encode("utf-8"), failed
