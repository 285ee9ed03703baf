"""Budget × measurement → findings. Pure, and in exact integers: nothing is rounded to compare."""

from __future__ import annotations

import difflib
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

from nparam_lint.claims import FormulaError, UnknownName, matches
from nparam_lint.claims.grammar import round_count
from nparam_lint.count.worker.capabilities import METRICS, is_accelerator
from nparam_lint.records import BudgetResult, Finding, Position
from nparam_lint.rules.catalogue import RULES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nparam_lint.claims import Selector
    from nparam_lint.claims.grammar import Bounds, Tolerance
    from nparam_lint.records import Budget, Measured, ModuleRow, NotMeasured

HEAVIEST = 5  # modules named below a broken total


def finding(
    code: str, position: Position, message: str, target: str, detail: Sequence[str] = ()
) -> Finding:
    """A finding with the severity that its rule has by default."""
    return Finding(code, RULES[code].severity, position, message, target, tuple(detail))


def judge(
    budget: Budget,
    measured: Measured,
    tolerance: Tolerance | None,
    experts_hint: Sequence[str] = (),
) -> tuple[list[BudgetResult], list[Finding]]:
    """Every count that the budget selects, against its bounds. `tolerance`: the configured one.
    `experts_hint`: lines that say how to declare how many experts a token uses."""
    target = str(budget.target)
    where, selector = budget.position, budget.selector
    if budget.definition and str(budget.definition) not in measured.definitions:
        stale = _other_definition(budget, measured)
        return [], [stale] if budget.origin != "prose" else []
    metric = METRICS[selector.metric]
    if metric.needs_routing and measured.no_routing:
        message = f"the {metric.words} of {measured.call} are unknown: {measured.no_routing}"
        usual = "usual fields of the router or the config: num_experts_per_tok, top_k, moe_top_k"
        return [], [finding("NPL002", where, message, target, [usual, *experts_hint])]
    try:
        bounds = budget.value.bounds(
            measured.names, budget.tolerance or tolerance, forced=budget.tolerance is not None
        )
    except UnknownName as error:
        return [], [_unknown_name(budget, error.name, measured)]
    except FormulaError as error:
        return [], [finding("NPL002", where, f"{error} ({_values(budget, measured)})", target)]
    rows = selected(selector, measured.modules)
    if not rows:
        return [], [_no_module(budget, measured)]
    results: list[BudgetResult] = []
    broken: dict[int, list[ModuleRow]] = {}
    for row in rows:
        actual = amount(row, selector.metric)
        ok = actual in bounds
        base = _base(bounds, actual)
        results.append(
            replace(
                no_result(budget),
                low=bounds.low,
                high=bounds.high,
                actual=actual,
                drift=(actual - base) / base if base else float(actual != base),
                ok=ok,
                module=row.path if selector.module else None,
                value=base,
            )
        )
        if not ok:
            broken.setdefault(actual, []).append(row)
    # Repeated blocks drift together: one finding for all that have the same count.
    findings = [_broken(budget, measured, alike, n, bounds) for n, alike in broken.items()]
    return results, findings


def _other_definition(budget: Budget, measured: Measured) -> Finding:
    """NPL008 for a budget of a definition that Python does not use: one of two in branches, or one
    whose name was rebound."""
    name, here = budget.target.callable, budget.definition
    used = " and ".join(measured.definitions)
    message = f"Python does not use the {name} defined at {here}: {name} is the one at {used}"
    remedies = (
        f"declare the budget at {used}, and delete this one",
        "if another Python version uses this one: # nparam: ignore[NPL008] after the docstring",
    )
    return finding("NPL008", budget.position, message, str(budget.target), remedies)


def no_result(budget: Budget) -> BudgetResult:
    """The result of a budget whose count is not known."""
    return BudgetResult(
        declared=budget.declared,
        selector=str(budget.selector),
        low=None,
        high=None,
        actual=None,
        drift=None,
        ok=False,
        origin=budget.origin,
        position=budget.position,
        module=budget.selector.module or None,
        reason=budget.reason,
    )


def amount(row: ModuleRow, metric: str) -> int:
    """The count of one module that `metric` names; it must be known."""
    count = row.of(metric)
    assert count is not None
    return count


def _base(bounds: Bounds, actual: int) -> int:
    """The number that a difference is measured from: the declared one; in a range, the end that
    was crossed, or the count itself where none was."""
    if bounds.declared is not None:
        return bounds.declared
    if bounds.low is not None and actual < bounds.low:
        return bounds.low
    if bounds.high is not None and actual > bounds.high:
        return bounds.high
    return actual


def selected(selector: Selector, rows: Sequence[ModuleRow]) -> list[ModuleRow]:
    """The modules that a selector names; the model itself where it names none."""
    if not selector.module:
        return list(rows[:1])
    return [row for row in rows if row.path and matches(selector.module, row.path)]


def _broken(
    budget: Budget, measured: Measured, rows: Sequence[ModuleRow], actual: int, bounds: Bounds
) -> Finding:
    metric, row = budget.selector.metric, rows[0]
    name = budget.target.callable + (f"[{row.path}]" if budget.selector.module else "")
    if len(rows) > 1:
        span = f"{row.path} … {rows[-1].path}"
        name = f"each of {budget.target.callable}[{span}] ({len(rows)}×)"
    allowed = _allowed(budget, bounds)
    base = _base(bounds, actual)
    difference = actual - base
    share = f", {100 * difference / base:+.2f} %" if base else ""
    message = (
        f"{name} has {actual:,} {METRICS[metric].words}, declared {allowed}: {difference:+,}{share}"
    )
    detail = []
    if budget.value.names:
        detail.append(f"with {_values(budget, measured)}")
    if not budget.selector.module and METRICS[metric].unit != "buffer elements":
        detail += _heaviest(measured.modules, metric)
    elif row.source:
        detail.append(f"{row.path} is made at {row.source}")
    if budget.reason:
        detail.append(f"reason for this budget: {budget.reason}")
    detail.append(_next_step(budget, actual))
    code = "NPL013" if budget.origin == "prose" else "NPL001"
    return finding(code, budget.position, message, str(budget.target), detail)


def _allowed(budget: Budget, bounds: Bounds) -> str:
    """The budget as declared and, where it admits more than one count, the counts admitted."""
    if bounds.exact_value is not None and bounds.low == bounds.high:
        exact = f"{bounds.exact_value:,}"
        return exact if budget.value.form == "plain" else f"{budget.declared} = {exact}"
    if bounds.low == 0 or bounds.low is None or bounds.high is None:
        return budget.declared
    return f"{budget.declared} ({bounds.low:,} … {bounds.high:,})"


def _values(budget: Budget, measured: Measured) -> str:
    names = sorted(budget.value.names)
    return ", ".join(f"{n}={measured.names[n]}" for n in names if n in measured.names) or "no names"


def _heaviest(rows: Sequence[ModuleRow], metric: str) -> list[str]:
    """Lines for the largest modules, of the first level at which the model divides."""
    root, level = rows[0], ""
    below: dict[str, list[ModuleRow]] = {}
    for row in rows[1:]:
        below.setdefault(row.path.rpartition(".")[0], []).append(row)
    while True:
        children = [r for r in below.get(level, ()) if amount(r, metric)]
        # One whose parameters are all tied adds nothing.
        children = [r for r in children if r.own or not r.tied]
        if len(children) != 1 or children[0].own or children[0].path not in below:
            break
        level = children[0].path
    children.sort(key=lambda r: -amount(r, metric))
    total = amount(root, metric)
    lines = []
    for row in children[:HEAVIEST]:
        share = f"{100 * amount(row, metric) / total:5.1f} %" if total else ""
        source = f"  {row.source}" if row.source else ""
        lines.append(f"{amount(row, metric):>15,}  {share}  {row.path} ({row.type}){source}")
    return ["heaviest modules:", *lines] if lines else []


def _next_step(budget: Budget, actual: int) -> str:
    where = budget.position
    if budget.origin == "prose":
        return f"correct the docstring at {where}, or declare the count there: nparam: {actual:_}"
    if budget.value.names:
        return f"if the change is intended, the formula at {where} must give {actual:_}"
    if budget.value.form in ("plain", "written", "around", "about"):
        command = f"nparam-lint update {shlex.quote(str(budget.target))}"
        return f"if the change is intended: {command}"
    return f"if the change is intended, declare {actual:_} (about {round_count(actual)}) at {where}"


def _unknown_name(budget: Budget, name: str, measured: Measured) -> Finding:
    usable = ", ".join(measured.known_names[:12]) or "nothing, it takes no arguments"
    hint = _near(name, measured.known_names) or f"a formula may use: {usable}"
    message = f"{measured.call} has no argument, config field or integer attribute {name!r}; {hint}"
    return finding("NPL002", budget.position, message, str(budget.target))


def _no_module(budget: Budget, measured: Measured) -> Finding:
    glob = budget.selector.module
    paths = [row.path for row in measured.modules if row.path]
    own = ", ".join([path for path in paths if "." not in path][:8])
    message = f"no module of {measured.call} matches {glob!r}; "
    message += _near(glob, paths, 0.4) or f"its modules: {own}"
    return finding("NPL007", budget.position, message, str(budget.target))


def _near(word: str, known: Sequence[str], cutoff: float = 0.6) -> str:
    near = difflib.get_close_matches(word, known, 1, cutoff)
    return f"did you mean {near[0]!r}?" if near else ""


def judge_devices(
    measured: Measured, position: Position, target: str, required: bool
) -> list[Finding]:
    """NPL006 for every device whose result differs from the first, that failed, or that is required
    but absent."""
    findings = []
    for name, result in measured.devices.items():
        was_measured, message = result.status == "measured", None
        if was_measured and result.differences:
            differ = f"{len(result.differences)} differ"
            message = f"{measured.call} has different parameters on {name}: {differ}"
        elif was_measured and result.total != measured.counts.total:
            message = (
                f"{measured.call} has {measured.counts.total:,} parameters on {measured.rung} and "
                f"{result.total:,} on {name}"
            )
        elif result.status == "failed" and is_accelerator(name):
            message = f"{measured.call} cannot be built on {name}: {result.reason}"
        elif result.status == "skipped" and required:
            message = f"{measured.call} was not built on {name}, which is required: {result.reason}"
        if message:
            findings.append(finding("NPL006", position, message, target, result.differences[:8]))
    return findings


def judge_hidden(measured: Measured, position: Position, target: str) -> list[Finding]:
    """NPL010 for parameters that `parameters()`, and so an optimizer, never sees."""
    findings = []
    for hidden in measured.hidden:
        where = f"self.{hidden.path} (a plain {hidden.what})" if hidden.path else hidden.what
        message = (
            f"{measured.call} keeps {hidden.count:,} parameters in {where}, where parameters() "
            "does not find them"
        )
        at = _position(hidden.source) or position
        remedy = "keep them in an nn.ModuleList, nn.ModuleDict, nn.ParameterList or as attributes"
        findings.append(finding("NPL010", at, message, target, [remedy]))
    return findings


def judge_not_measured(
    failure: NotMeasured, position: Position, target: str, hint: Sequence[str] = ()
) -> Finding:
    """The finding about a declared model that was not counted: where, its output, what to do.
    `hint`: further lines."""
    detail = [f"at {failure.source}"] if failure.source else []
    detail += [f"| {line}" for line in failure.output.splitlines()[-6:]]
    detail += [note for note in failure.notes if note not in failure.reason]
    detail += [failure.hint] if failure.hint else []
    detail += hint
    return finding(failure.code, position, failure.reason, target, detail)


def _position(source: str | None) -> Position | None:
    path, _, line = (source or "").rpartition(":")
    return Position(path, int(line)) if path and line.isdigit() else None
