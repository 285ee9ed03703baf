"""Budget × measurement → findings. Pure, and in exact integers: nothing is rounded to compare."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from nparam_lint.count.measured import InsideRow
from nparam_lint.gate import measures
from nparam_lint.ground.findings import HEAVIEST, BudgetResult, Finding, finding
from nparam_lint.ground.grouping import grouped
from nparam_lint.ground.metrics import LADDER, METRICS
from nparam_lint.ground.nearest import did_you_mean, nearest
from nparam_lint.ground.notation import FormulaError, UnknownName, matches
from nparam_lint.ground.notation.grammar import round_count
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.ground.values import Position, proportion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from nparam_lint.count.measured import Measured, ModuleRow, NotMeasured
    from nparam_lint.ground.notation import Selector, Target
    from nparam_lint.ground.notation.budget import Budget
    from nparam_lint.ground.notation.grammar import Bounds, Tolerance

_BOUNDS = ("<=", "<", ">=", ">", "range")  # forms that say what is admitted, not what there is
_NAMED = 5  # modules named below a broken total
_REFUSED = late_pattern(r"nparam-lint refused (?!to download)")


def judge(
    budget: Budget,
    measured: Measured,
    tolerance: Tolerance | None,
    experts_hint: Sequence[str] = (),
    update: Callable[[Target, str], str] | None = None,
) -> tuple[list[BudgetResult], list[Finding]]:
    """Every count that the budget selects, against its bounds. `tolerance`: the configured one.
    `experts_hint`: lines that say how to declare how many experts a token uses. `update`: the
    command for a target, and the file of its budget."""
    target = str(budget.target)
    where, selector = budget.position, budget.selector
    parts = _parts(budget, measured)
    if isinstance(parts, Finding):
        return [], [parts]
    metric = METRICS[selector.metric]
    if metric.needs_routing and measured.no_routing:
        message = f"the {metric.words} of {measured.call} are unknown: {measured.no_routing}"
        usual = "usual fields of the router or the config: num_experts_per_tok, top_k, moe_top_k"
        return [], [finding("NPL002", where, message, target, [usual, *experts_hint])]
    results: list[BudgetResult] = []
    findings: list[Finding] = []
    for part, rows in parts:
        try:
            bounds = budget.value.bounds(
                part.names, budget.tolerance or tolerance, forced=budget.tolerance is not None
            )
        except UnknownName as error:
            return [], [finding("NPL002", where, _unknown(error.name, part), target)]
        except FormulaError as error:
            return [], [finding("NPL002", where, f"{error} ({_values(budget, part)})", target)]
        if not rows:
            return [], [_no_module(budget, measured, part)]
        # Repeated blocks drift together: one finding for all that have the same count.
        broken: dict[int, list[ModuleRow]] = {}
        for row in rows:
            result = _result(budget, row, bounds)
            results.append(result)
            if not result.ok:
                broken.setdefault(amount(row, selector.metric), []).append(row)
        findings += [_broken(budget, part, alike, bounds, update) for alike in broken.values()]
    return results, findings


_Part = tuple["Measured | InsideRow", "list[ModuleRow]"]  # whose names a formula uses; modules


def _parts(budget: Budget, measured: Measured) -> list[_Part] | Finding:
    """The modules that a budget is about; of a class inside a model, by how they were made, those
    in it that the selector names."""
    selector, definition = budget.selector, str(budget.definition or "")
    if not budget.target.host:
        if definition and definition not in measured.definitions:
            return _other_definition(budget, measured.definitions)
        return [(measured, selected(selector, measured.modules))]
    instances = [row for row in measured.inside if row.target == str(budget.target.bare)]
    if not instances:
        name = budget.target.callable
        classes = sorted({row.target.partition("::")[2] for row in measured.inside})
        listed = f"the project's classes in it: {', '.join(classes[:8])}" if classes else ""
        hint = did_you_mean(name, classes, listed or "it contains no class of the project")
        step = f"next: name a model that contains {name}, or delete the budget"
        message = f"{measured.call} contains no {name}{hint}"
        return finding("NPL008", budget.position, message, str(budget.target), [step])
    places = tuple(dict.fromkeys(row.source or "" for row in instances))
    if definition and definition not in places:
        return _other_definition(budget, places)
    parts: list[_Part] = []
    for instance in instances:
        paths = {*instance.paths}
        rows = [row for row in measured.modules if row.path in paths]
        if selector.module:
            rows = [
                row
                for row in measured.modules
                for above, below in _splits(row.path)
                if above in paths and matches(selector.module, below)
            ]
        parts.append((instance, rows))
    return parts


def _unknown(name: str, part: Measured | InsideRow) -> str:
    """Why a formula cannot use a name: there is none, or several config objects have it."""
    ends = f".{name}", f"[{name!r}]"
    if len(several := [known for known in part.known_names if known.endswith(ends)]) > 1:
        which = " or ".join(several)
        return f"several config objects have {name!r}; write which is meant: {which}"
    usable = ", ".join(part.known_names[:12]) or "nothing, it takes no arguments"
    hint = did_you_mean(name, part.known_names, f"a formula may use: {usable}")
    return f"{part.call} has no argument, config field or integer attribute {name!r}{hint}"


def _splits(path: str) -> Iterator[tuple[str, str]]:
    """Every module above a path, with the path from there on."""
    dot = path.find(".")
    while dot > 0:
        yield path[:dot], path[dot + 1 :]
        dot = path.find(".", dot + 1)


def _result(budget: Budget, row: ModuleRow, bounds: Bounds) -> BudgetResult:
    """A module against the counts that are admitted."""
    actual = amount(row, budget.selector.metric)
    base = _base(bounds, actual)
    return replace(
        no_result(budget),
        low=bounds.low,
        high=bounds.high,
        actual=actual,
        drift=(actual - base) / base if base else float(actual != base),
        ok=actual in bounds,
        module=row.path if budget.selector.module or budget.target.host else None,
        value=base,
    )


def _other_definition(budget: Budget, definitions: Sequence[str]) -> Finding:
    """NPL008 for a budget of a definition that Python does not use: one of two in branches, or one
    whose name was rebound."""
    name, here = budget.target.callable, budget.definition
    used = " and ".join(definitions)
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


UNEQUAL = "its modules have different counts"  # where a selector names several


def selected(selector: Selector, rows: Sequence[ModuleRow]) -> list[ModuleRow]:
    """The modules that a selector names; the model itself where it names none."""
    if not selector.module:
        return list(rows[:1])
    if "*" not in selector.module:  # a thousand of them on a model of thousands of modules
        return [row for row in rows if row.path == selector.module]
    return [row for row in rows if row.path and matches(selector.module, row.path)]


def _broken(
    budget: Budget,
    part: Measured | InsideRow,
    rows: Sequence[ModuleRow],
    bounds: Bounds,
    update: Callable[[Target, str], str] | None,
) -> Finding:
    """The finding about modules that have the same count."""
    row, metric, host = rows[0], budget.selector.metric, budget.target.host
    actual = amount(row, metric)
    is_part = bool(budget.selector.module or host)
    built = host or budget.target
    of = built.call or built.location
    kind = f", {budget.target.callable}" if host and not budget.selector.module else ""
    name = of + (f"[{row.path}]" if is_part else "") + (f" ({kind[2:]})" if kind else "")
    if len(rows) > 1:
        span = f"{row.path} … {rows[-1].path}"
        name = f"each of {of}[{span}] ({len(rows)}×{kind})"
    base = _base(bounds, actual)
    difference = actual - base
    share = proportion(difference, base)
    message = (
        f"{name} has {actual:,} {METRICS[metric].words}, declared {_admitted(budget, bounds)}: "
        f"{difference:+,}" + (f" ({share})" if share else "")
    )
    detail = []
    if budget.value.names:
        detail.append(f"with {_values(budget, part)}")
    if isinstance(part, InsideRow):
        detail.append(f"made as {part.call}")
    if METRICS[metric].assumed:
        detail.append(f"assumed: {METRICS[metric].assumed}")
    if is_part and row.source:
        detail.append(f"{row.path} is made at {row.source}")
    if budget.reason:
        detail.append(f"reason for this budget: {budget.reason}")
    if measure := measures.explain_budget(budget, bounds, part):
        detail.append(measure)
    detail.append(_next_step(budget, actual, update))
    broken = finding("NPL001", budget.position, message, str(budget.target), detail)
    return replace(broken, result=_result(budget, row, bounds))


def _admitted(budget: Budget, bounds: Bounds) -> str:
    """The budget as declared and, where it admits more than one count, the counts admitted."""
    if bounds.exact_value is not None and bounds.low == bounds.high:
        exact = f"{bounds.exact_value:,}"
        return exact if budget.value.form == "plain" else f"{budget.declared} = {exact}"
    if bounds.low == 0 or bounds.low is None or bounds.high is None:
        return budget.declared
    return f"{budget.declared} ({bounds.low:,} … {bounds.high:,})"


def _values(budget: Budget, measured: Measured | InsideRow) -> str:
    names = sorted(budget.value.names)
    return ", ".join(f"{n}={measured.names[n]}" for n in names if n in measured.names) or "no names"


def heaviest(rows: Sequence[ModuleRow], metric: str) -> list[str]:
    """Lines for the largest modules, of the first level at which the model divides."""
    if METRICS[metric].unit == "buffer elements":
        return []
    root, level = rows[0], ""
    below = grouped(rows[1:], lambda row: row.path.rpartition(".")[0])
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
    for row in children[:_NAMED]:
        share = f"{100 * amount(row, metric) / total:5.1f} %" if total else ""
        source = f"  {row.source}" if row.source else ""
        lines.append(f"{amount(row, metric):>15,}  {share}  {row.path} ({row.type}){source}")
    return [HEAVIEST, *lines] if lines else []


def _next_step(budget: Budget, actual: int, update: Callable[[Target, str], str] | None) -> str:
    where = budget.position
    if budget.value.names:
        return f"if the change is intended, the formula at {where} must give {actual:_}"
    if update and budget.value.form in measures.SINGLE:
        return f"if the change is intended: {update(budget.target, where.path)}"
    about = "" if (rounded := round_count(actual)) == str(actual) else f" (about {rounded})"
    admits = "admit" if budget.value.form in _BOUNDS else "declare"
    return f"if the change is intended, {admits} {actual:_}{about} at {where}"


def _no_module(budget: Budget, measured: Measured, part: Measured | InsideRow) -> Finding:
    glob = budget.selector.module
    paths = [row.path for row in measured.modules if row.path]
    if isinstance(part, InsideRow):
        top = part.paths[0]
        paths = [below for path in paths for above, below in _splits(path) if above == top]
    message = unmatched(glob, part.call, paths)
    return finding("NPL007", budget.position, message, str(budget.target))


def unmatched(glob: str, call: str, paths: Sequence[str]) -> str:
    """What is said of a selector that matches none of these modules: its word may be a metric."""
    words = [*paths, *nearest(glob, METRICS, cutoff=0.75)]
    children = ", ".join([path for path in paths if "." not in path][:8])
    hint = did_you_mean(glob, words, children and f"its modules: {children}", cutoff=0.4)
    return f"no module of {call} matches {glob!r}{hint}"


def judge_devices(
    measured: Measured, position: Position, target: str, required: bool
) -> list[Finding]:
    """NPL006 for every device whose result differs, that failed, or is required but absent."""
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
        elif result.status == "failed" and name != LADDER[0]:  # else it is built on the next
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
        at = Position.read(hidden.source) or position
        remedy = "keep them in an nn.ModuleList, nn.ModuleDict, nn.ParameterList or as attributes"
        if hidden.what == "Tensor":
            remedy = (
                "make it an nn.Parameter last, nn.Parameter(w.to(device)): what .to(), .cuda(), "
                ".half() or arithmetic make of a parameter is a plain tensor"
            )
        findings.append(finding("NPL010", at, message, target, [remedy]))
    return findings


def judge_caught(measured: Measured, position: Position, target: str) -> list[Finding]:
    """NPL004, as a warning, for a model that went on after nparam-lint had refused it something: it
    may be another one where that is allowed. (Weights that are not loaded change no count.)"""
    refused = [note for note in measured.notes if _REFUSED.match(note)]
    if not refused:
        return []
    message = f"{measured.call} caught a refusal: where it is none, it may build another model"
    remedy = "do in the constructor only what makes the model"
    caught = finding("NPL004", position, message, target, [*refused, remedy])
    return [replace(caught, severity="warning")]


def judge_not_measured(
    failure: NotMeasured, position: Position, target: str, hint: Sequence[str]
) -> Finding:
    """The finding about a declared model that was not counted: where, its output, what to do. Of a
    stack, the function where it ended says enough. `hint`: further lines."""
    detail = [f"at {failure.place}"] if failure.place else []
    output = tuple(f"| {line}" for line in failure.output.splitlines()[-6:])
    detail += () if failure.function else output
    detail += [note for note in failure.notes if note not in failure.reason]
    detail += [failure.hint] if failure.hint else []
    detail += hint
    failed = finding(failure.code, position, failure.reason, target, detail)
    return replace(failed, output=output) if failure.function else failed
