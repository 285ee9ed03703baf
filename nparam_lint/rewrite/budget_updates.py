"""What `nparam-lint update` writes: today's counts, in the budgets that they broke.

Only numbers change. Formulas, limits (`<= 25k`) and ranges say what the count should be,
not what it was, so they are left alone. So is what could not be measured.
"""

from __future__ import annotations

import ast
import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import astuple, replace

from nparam_lint.config import commands
from nparam_lint.count.measured import NotMeasured
from nparam_lint.gate import measure
from nparam_lint.gate.candidates import Selection, why_gone
from nparam_lint.gate.judge import judge
from nparam_lint.gate.reading import read_source
from nparam_lint.ground.errors import UsageError
from nparam_lint.ground.nearest import did_you_mean, did_you_mean_path
from nparam_lint.ground.notation import (
    Selector,
    Target,
    TextError,
    parse_selected,
    parse_target,
    read_expression,
)
from nparam_lint.ground.notation.expression import Formula
from nparam_lint.ground.paths import is_doc, relative_path
from nparam_lint.rewrite import comment_edits, docstring_edits, number_style, toml_edits
from nparam_lint.rewrite.edits import Edit, EditItem, Leftover, Plan, edit_files

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nparam_lint.config.session import Session
    from nparam_lint.config.settings import Settings
    from nparam_lint.count.measured import Measurement
    from nparam_lint.gate.candidates import ProjectSource
    from nparam_lint.ground.notation.budget import Budget
    from nparam_lint.ground.values import Origin, Position
    from nparam_lint.rewrite.number_style import Restated

# Of what cannot be read in files of a kind.
_ORIGINS: dict[str, Origin] = {".py": "docstring", ".toml": "config"}


class _Rewrite(EditItem, frozen=True, eq=False):
    """A budget that is to be written, and the change that does it."""

    change: Restated
    budget: Budget


def plan_update(session: Session, requests: Sequence[UpdateRequest]) -> Plan:
    """Measure the models that are named (or everything that is declared, if none is), and plan
    every edit. Nothing is written. Raises UsageError."""
    root = session.root
    places = {root / item.path for item in requests if item.target is None or item.target.is_path}
    paths = [root, *sorted(p for p in places if p.suffix == ".py" or p.is_dir())]
    source = read_source(session, [p for p in paths if p.exists()], declared_only=True)
    _check_requests(requests, source, root)

    def is_named(target: Target, selector: Selector | None, place: str) -> bool:
        return not requests or any(item.covers(target, selector, place) for item in requests)

    candidates = []
    for model in source.candidates:
        budgets = [b for b in model.budgets if is_named(b.target, b.selector, b.position.path)]
        candidates += [replace(model, budgets=budgets)] if budgets else []
    report = measure(source, Selection(candidates))
    if report.error:
        return Plan(error=report.error)
    reported = {(f.code, f.position, f.message) for f in report.findings}  # not suppressed
    leftovers = []
    for finding in source.findings:  # malformed, stale, or in a file with an error
        at = finding.position
        try:
            target = parse_target(finding.target)
        except TextError:
            target = Target(at.path, "")
        if (finding.code, at, finding.message) in reported and is_named(target, None, at.path):
            default: Origin = "docs" if is_doc(at.path) else "comment"
            origin = _ORIGINS.get(Path(at.path).suffix, default)
            leftovers.append(Leftover(at, finding.target, "", origin, "", finding.message))
    rewrites: list[_Rewrite] = []
    valid_count = 0
    for model, judged in zip(candidates, report.models, strict=True):
        for budget in model.budgets:
            item = _decide(budget, judged.host or judged.measurement, session.settings)
            if isinstance(item, _Rewrite):
                rewrites.append(item)
            elif item:
                leftovers.append(item)
            else:
                valid_count += 1

    files, failures = edit_files(rewrites, session, partial(_rewritten, source=source))
    edits = [item.edit for item in rewrites if item not in failures]
    leftovers += [
        _leftover(item.budget, f"cannot be rewritten: {reason}", item.edit.count)
        for item, reason in failures.items()
    ]
    edits.sort(key=lambda edit: astuple(edit.position))
    leftovers.sort(key=lambda leftover: astuple(leftover.position))
    return Plan(tuple(edits), tuple(leftovers), tuple(files), valid_count)


# --- what is named ----------------------------------------------------------------------------


class UpdateRequest(Struct, frozen=True):
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


def read_request(text: str, root: Path) -> UpdateRequest:
    """Raises UsageError for what is neither a target nor a path of the project."""
    if "::" not in text:
        path = Path(text)
        if not path.exists():
            hint = (
                did_you_mean_path(text) or "; a model is named by its file, too: nets/vit.py::ViT"
            )
            raise UsageError(f"there is no file or directory {text}{hint}")
        return UpdateRequest(text, _relative(path, root))
    try:
        target, selector = parse_selected(text)
    except TextError as error:
        raise UsageError(f"{text!r} is not a target: {error}") from None
    if target.is_path:
        target = replace(target, location=_relative(Path(target.location), root))
    is_selected = text.rstrip().endswith("]")
    return UpdateRequest(text, target.location, target, selector if is_selected else None)


def _relative(path: Path, root: Path) -> str:
    relative = relative_path(path.absolute(), root)
    if relative.startswith("../"):
        raise UsageError(f"{path} is outside of the project at {root}")
    return relative


def _same_call(request: str | None, declaration: str | None) -> bool:
    """No arguments named: all of them are; `()` names the call with the defaults."""
    if request is None:
        return True
    calls = (read_expression(f"f({arguments or ''})") for arguments in (request, declaration))
    first, second = map(ast.dump, calls)
    return first == second


def _same_host(request: Target | None, declaration: Target | None) -> bool:
    """No model named: the class inside any of them; its name alone names it in any file."""
    if request is None:
        return True
    if declaration is None or request.location not in ("", declaration.location):
        return False
    is_same = request.callable == declaration.callable
    return is_same and _same_call(request.arguments or "", declaration.arguments)


def _check_requests(requests: Sequence[UpdateRequest], source: ProjectSource, root: Path) -> None:
    """Raises UsageError for the first argument that names none of the declared budgets."""
    budgets = [b for candidate in source.candidates for b in candidate.budgets]
    for item in requests:
        if any(item.covers(b.target, b.selector, b.position.path) for b in budgets):
            continue
        is_text = Path(item.path).suffix not in ("", ".py")
        path = shlex.quote(item.text.partition("::")[0])
        step = f"; next: nparam-lint {'update --claims' if is_text else 'init'} {path}"
        if item.target is not None:
            if why := why_gone(item.target, root, source.discovery):
                raise UsageError(why)
            targets = [(commands.target_of(source.session, b.target), b.selector) for b in budgets]
            names = [f"{t}[{selector}]" if str(selector) else t for t, selector in targets]
            if not item.target.is_path:
                step = "; next: write one into the config"
            step = did_you_mean(item.text, names, cutoff=0.5) or step
        raise UsageError(f"no budget is declared for {item.text}{step}")


# --- deciding ---------------------------------------------------------------------------------


def _decide(
    budget: Budget, measurement: Measurement, settings: Settings
) -> _Rewrite | Leftover | None:
    """None for a budget that holds."""
    if isinstance(measurement, NotMeasured):
        hint = f" ({measurement.hint})" if measurement.hint else ""
        return _leftover(budget, f"not measured: {measurement.reason}{hint}")
    tolerance = settings.for_file(budget.target.location).tolerance
    results, findings = judge(budget, measurement, tolerance)
    if not results:
        return _leftover(budget, findings[0].message)
    if all(result.ok for result in results):
        return None
    counts = sorted({result.actual for result in results if result.actual is not None})
    count = counts[0] if len(counts) == 1 else None
    value, declared = budget.value, results[0].value
    if any(isinstance(term, Formula) for term in value.terms):
        result = "" if declared is None else f", which gives {declared:,}"
        return _leftover(budget, f"a formula{result}", count)
    if not number_style.is_movable(value):
        kind = "range" if value.form == "range" else "limit"
        return _leftover(budget, f"a {kind}, which is never changed", count)
    if count is None:
        span = f"{counts[0]:,} … {counts[-1]:,}"
        return _leftover(budget, f"its modules have different counts: {span}")
    forced = budget.tolerance is not None
    change = number_style.restate(
        value, count, budget.selector.metric, budget.tolerance or tolerance, forced
    )
    if change is None:
        return _leftover(budget, "no number in this form matches the count", count)
    old, new = value.text, change.result
    if old.isdecimal() and budget.declared == f"{int(old):_}":  # an integer in TOML
        old, new = budget.declared, f"{count:_}"
    return _Rewrite(Edit(*_about(budget), old, new, count, len(results)), change, budget)


def _leftover(budget: Budget, reason: str, count: int | None = None) -> Leftover:
    return Leftover(*_about(budget), budget.value.text, reason, count)


def _about(budget: Budget) -> tuple[Position, str, str, Origin]:
    return budget.position, str(budget.target), str(budget.selector), budget.origin


# --- editing ----------------------------------------------------------------------------------


def _rewritten(
    name: str, items: Sequence[_Rewrite], source: ProjectSource
) -> tuple[bytes, bytes, dict[_Rewrite, str]]:
    """A file before and after, and what could not be written, with the reason."""
    origin = items[0].budget.origin
    failures = {i: "run update once more for it" for i in items if i.budget.origin != origin}
    mine = [item for item in items if item not in failures]
    by_place: dict[Any, _Rewrite] = {
        (item.edit.position.line, item.edit.position.column): item for item in mine
    }
    unsafe: dict[Any, str]
    if origin == "docstring":
        old = source.discovery.tree.source(name)
        new, unsafe = docstring_edits.restate(old, {at: i.change for at, i in by_place.items()})
        return old, new, failures | {by_place[at]: reason for at, reason in unsafe.items()}
    old = (source.settings.root / name).read_bytes()
    try:
        text = old.decode("utf-8")
    except UnicodeDecodeError:
        return old, old, failures | dict.fromkeys(mine, "the file is not UTF-8")
    restate: Callable[..., tuple[str, dict[Any, str]]]
    if origin == "config":
        by_place = _by_key(name, text, mine, source)
        missing = (item for item in mine if item not in by_place.values())
        failures |= dict.fromkeys(missing, "the file has changed since it was read")
        restate = toml_edits.restate
    else:  # comments in config files, numbers in Markdown and reStructuredText
        restate = partial(comment_edits.restate, name)
    text, unsafe = restate(text, {at: item.change for at, item in by_place.items()})
    return old, text.encode(), failures | {by_place[at]: reason for at, reason in unsafe.items()}


def _by_key(
    name: str, text: str, items: Sequence[_Rewrite], source: ProjectSource
) -> dict[toml_edits.Key, _Rewrite]:
    """The budgets by the keys at which a config file has them."""
    entries = [entry for entry in source.budgets if entry.position.path == name]
    keys = toml_edits.budget_keys(text, Path(name).name)
    free = dict(zip(keys, entries, strict=True)) if len(keys) == len(entries) else {}
    by_key: dict[toml_edits.Key, _Rewrite] = {}
    for item in items:
        # In an entry, a model may be called by its name alone.
        target = item.budget.target
        same = (k for k, entry in free.items() if replace(entry, target=target) == item.budget)
        if (key := next(same, None)) is not None:
            del free[key]
            by_key[key] = item
    return by_key
