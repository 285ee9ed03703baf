"""What `check` says: verdicts, tables of what broke and of what is new, what was not counted and
what to do next, a summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from nparam_lint.count.measured import Measured, ModuleRow
from nparam_lint.gate.report import ModelReport, Report
from nparam_lint.report import (
    Document,
    Fact,
    Facts,
    Page,
    Parts,
    Section,
    Text,
    check_data,
    folded_modules,
    not_counted,
    overview,
)
from nparam_lint.report.budget_outcomes import (
    ModelBudgets,
    all_budgets,
    declared_budgets,
    is_empty,
    is_undeclared,
    total_of,
    worst,
)
from nparam_lint.report.style import clean, grouped, plural

if TYPE_CHECKING:
    from nparam_lint.report import Block, Options
    from nparam_lint.report.check_data import CheckDocument

_ROWS, _FEW_ROWS = 20, 3  # twice as many, where one level has them
_BRIEF_TABLES = 2
_FIRST = 1  # of the models, where nothing is declared: there is a list of all
_NAMED = 3  # models that were built for the same reason
_TONES = {"holds": "green", "broken": "red", "not checked": "red", "ignored": "dim"}
_TONES |= {"prose": "", "errors": "red", "warnings": "yellow"}


def check_document(report: Report, *, why_built: bool = False) -> Document:
    """`why_built`: it is wanted why models were built."""

    def data() -> CheckDocument:
        return check_data.check_data(report)

    return Document("check", data, lambda o: _page(report, o, why_built), report.error, report)


def _page(report: Report, options: Options, why_built: bool) -> Page:
    mark, words = _headline(report)
    summary = _summary(report, options)
    if not (report.models or report.skipped or report.findings or report.error):
        return Page((), mark, " · ".join(words), nothing_found(report, options), summary)
    sections = [] if report.error else [*_counted_models(report, options)]
    sections += _uncounted(report, options)
    if besides := [Fact(clean(m.target), m.because) for m in report.models if m.because]:
        fold = f"Checked besides: {plural(len(besides), 'model')}"
        sections.append(Section((Facts(tuple(besides)),), only="page", fold=fold))
    if why_built:
        sections.append(_built(report.models))
    sections.append(Section(tuple(_next_step(report)), closing=True, only="text"))
    return Page(tuple(sections), mark, " · ".join(words), "", summary)


def _counted_models(report: Report, options: Options) -> Iterator[Section]:
    """What is declared, with its verdict; and what the repository says of how it builds others. A
    terminal that has no verdict to show shows what is there."""
    is_first = is_undeclared(report)
    own = tuple(m for m in report.models if m.way is None and (options.verbose or not is_empty(m)))
    if own:
        block = ModelBudgets(own, options.depth)
        yield Section((block,), only="page" if is_first or options.is_brief else "")
    if others := [m for m in report.models if m.way is not None or is_first]:
        if is_first:
            yield Section(overview.overview(report, others, options), only="text")
        ways = [model for model in others if model.way is not None]
        yield Section(overview.overview(report, ways, options), only="page" if is_first else "")
    yield from _tables(report, options)


def _built(models: Iterable[ModelReport]) -> Section:
    """Why models were built again, together where several have the same reason."""
    built = (model for model in models if model.measurement.why_built)
    facts = []
    for why, alike in grouped(built, lambda model: model.measurement.why_built).items():
        names = list(dict.fromkeys(model.target for model in alike))
        named = names if len(names) <= _NAMED else names[: _NAMED - 1]
        left = len(names) - len(named)
        more = f" and {plural(left, 'other model')}" if left else ""
        facts.append(Fact(clean(", ".join(named) + more), clean(why)))
    facts = facts or [Fact("nothing", "all measurements are from the cache")]
    return Section((Facts(tuple(facts)),), title="built in this run", always=True)


def _uncounted(report: Report, options: Options) -> Iterator[Section]:
    there = (report.error, report.skipped, report.failed_ways, report.ways_left, report.test_files)
    if not (any(there) or any(map(is_empty, report.models))):
        return
    yield Section(tuple(not_counted.uncounted(report, options)), only="text")
    yield Section(tuple(not_counted.left_aside(report, options)), only="text")
    if report.skipped:
        fold = f"Not counted: {plural(len(report.skipped), 'model')}"
        yield Section(
            (not_counted.listed(report.skipped, report.inside_by_target),), only="page", fold=fold
        )


def _headline(report: Report) -> tuple[str, list[str]]:
    """A mark and a few words, worst first: `✗`, `2 budgets broken`, `1 warning`. The mark is –
    where nothing is declared."""
    if report.error is not None:
        return "✗", ["nothing could be checked"]
    declared, _ = declared_budgets(report)
    told = _told(report)
    order = ("broken", "not checked", "errors", "holds", "ignored", "warnings")
    words = [told[name] for name in order if name in told]
    if not declared:
        words.append(_undeclared(report))
    mark = worst(report.findings) or ("✓" if declared or report.source_only else "–")
    return mark, words


def _told(report: Report) -> dict[str, str]:
    """What has come of the budgets, and how many findings there are about none that is declared:
    `2 budgets broken`, `1 other error`. By what `_TONES` has."""
    declared, about = declared_budgets(report)
    states = Counter(budget.state for budget in declared)
    told: dict[str, str] = {
        state: f"{plural(n, 'budget')} {'hold' if state == 'holds' and n > 1 else state}"
        for state, n in states.items()
    }
    if held := sum(claim.prose and claim.state == "holds" for claim in all_budgets(report)):
        told["prose"] = f"{plural(held, 'claim')} in prose {'holds' if held == 1 else 'hold'}"
    for severity in ("error", "warning"):
        every = [finding for finding in report.findings if finding.severity == severity]
        if others := sum(finding not in about for finding in every):
            name = f"other {severity}" if others < len(every) else severity
            told[f"{severity}s"] = plural(others, name)
    return told


def _undeclared(report: Report) -> str:
    if report.source_only:
        return f"{plural(report.files, 'Python file')}, source only"
    if not report.models:
        return "nothing to check"
    counted = _distinct(m for m in report.models if isinstance(m.measurement, Measured))
    return f"{plural(counted, 'model')} counted, no budget declared"


def _tables(report: Report, options: Options) -> Iterator[Section]:
    """Of every model with a broken budget, and of the largest that stand for themselves, as far as
    they were asked for; where something is declared, without -v, of what declares it."""
    is_first = is_undeclared(report)
    every = is_first or bool(options.verbose)
    tables: dict[tuple[ModuleRow, ...], ModelReport] = {}
    seen: set[str] = set()
    for model in report.models:  # one table for what is the same, one for the variants of a model
        found = model.measurement
        if isinstance(found, Measured) and sum(row.total > 0 for row in found.modules) > 1:
            name = model.target.partition("(")[0]
            is_asked = model.top_level and not model.because and (every or model.declared)
            is_new = is_asked and name not in seen and found.modules not in tables
            if is_new or _is_broken(model):
                tables.setdefault(found.modules, model)
                seen.add(name)
    others = [model for model in tables.values() if not _is_broken(model)]
    others.sort(key=lambda model: -(total_of(model) or 0))
    most = min(options.tables, _FIRST) if is_first else options.tables
    most = 0 if options.is_brief else most
    left = others[max(most, 0) :]
    if options.is_brief:
        left += [model for model in tables.values() if _is_broken(model)][_BRIEF_TABLES:]
    hidden = {id(model) for model in left}  # to compare thousands of reports takes minutes
    for modules, model in tables.items():
        if id(model) not in hidden:
            rung = getattr(model.measurement, "rung", "meta")
            how = "" if rung == "meta" else f"counted on {rung}"
            rows = options.rows or (_FEW_ROWS if options.is_brief else _ROWS)
            block = folded_modules.Modules(modules, options.depth, rows, brief=options.is_brief)
            name = clean(model.target)
            yield Section((block,), name, only="text", note=how, closing=options.is_brief)
    if left and most:
        more = f"… and {plural(len(left), 'more table')}: -v, or nparam-lint show TARGET"
        yield Section((Text(more, "dim", kind="verbatim"),), only="text")


def _is_broken(model: ModelReport) -> bool:
    return any(not budget.ok and budget.origin != "prose" for budget in model.budgets)


# --- what to do next ------------------------------------------------------------------------------


def _next_step(report: Report) -> Iterator[Block]:
    """How to declare a budget, told with the largest model counted; only where none is declared."""
    if report.error or not report.models or report.shard or not is_undeclared(report):
        return
    # It has parameters, and a docstring of the project to write them in.
    own = (m for m in report.models if total_of(m) and m.target.startswith(f"{m.position.path}::"))
    best = max(own, key=lambda m: (m.top_level, total_of(m)), default=None)
    if best is None:
        where, line = "the model's docstring", "nparam: 1.2M"
    elif any(model.way for model in report.models):
        yield Text("Nothing is declared yet. To hold these counts: nparam-lint init")
        return
    else:
        name, at = clean(best.target.partition("::")[2].partition("(")[0]), best.position
        where = f"the docstring of {name} ({clean(at.path)}:{at.line})"
        line = f"nparam: {total_of(best):_}"
    text = f"Nothing is declared yet. To hold a count, write it in {where}:"
    yield from (Text(text), Text("", kind="verbatim"))
    yield Text(line, "green", "    ", kind="verbatim")


def nothing_found(report: Report, options: Options) -> str:
    where = f" under {clean(options.place)}" if options.place else ""
    files = plural(report.files, "Python file")
    if report.shard and report.shard.partition.count:
        others = plural(report.shard.partition.count, "model")
        return f"Nothing to do in {report.shard}: the other shards have all {others}."
    if not report.files:
        said = f"No Python file{where or ' was found'}: nothing to check."
    elif report.source_only:
        said = f"No finding in the source of {files}{where}; nothing was built."
    elif options.declared_only:
        said = f"No budget is declared in {files}{where}: nothing to check."
    else:
        said = (
            f"No model found in {files}{where}: nparam-lint looks for subclasses of torch.nn.Module"
            " and functions that return them."
        )
    if tests := report.test_files:
        was, it = ("was", "it") if tests == 1 else ("were", "them")
        left = f"{plural(tests, 'test file')} with models {was} left out"
        said += f" {left}: name {it} to read {it}."
    elsewhere = _elsewhere(report)
    return f"{said} Elsewhere: {elsewhere}." if elsewhere else said


def _elsewhere(report: Report) -> str:
    """How many of the models that are declared outside of the given paths depend on these."""
    if report.elsewhere is None or not report.elsewhere.declared:
        return ""
    it = report.elsewhere
    verb = "depends" if it.dependent <= 1 else "depend"
    may = f", {it.possible} may" if it.possible else ""
    models = plural(it.declared, "declared model")
    return f"{it.dependent or 'none'} of {models} {verb} on the given paths{may}"


# --- the summary: how many models and budgets, how long it took, and who counted ------------------


def _summary(report: Report, options: Options) -> tuple[Parts, ...]:
    told = _told(report)
    shown = ("errors", "warnings") if report.error else _TONES
    found = [(_TONES[name], told[name]) for name in shown if name in told]
    counted = _counted(report, options.is_brief)
    if options.is_brief and report.staged:
        counted = f"staged: {counted}"
    lines = [Parts((("", counted), *found, ("", f"{report.seconds:.1f} s")))]
    if shard := report.shard:
        whole = plural(shard.partition.count, "model")
        lines.append(Parts((("", f"{shard}: {len(shard.judged):,} of {whole}"),)))
    if elsewhere := _elsewhere(report):
        lines.append(Parts((("dim", f"elsewhere: {elsewhere}"),)))
    if options.quiet or options.is_brief:
        return tuple(lines)
    silent, where = _silent(report), report.environment
    if where is not None:
        absent = sorted((name, reason) for name, _, reason, is_absent in silent if is_absent)
        about = (
            f"{where.python} ({where.reason})" if where.reason else where.python,
            f"torch {where.torch}" if where.torch else "no torch",
            ", ".join(where.devices),
            *(f"{name} skipped ({reason})" for name, reason in absent),
        )
        words = (("dim", clean(part)) for part in about if part)
        staged = [("dim", "judged: what is staged")] if report.staged else []
        lines.append(Parts((*words, *staged), "dim"))
    for (name, status, reason, is_absent), count in silent.items():
        if where is None or options.verbose or not is_absent:
            text = f"{name} {status} for {plural(count, 'model')}: {clean(reason)}"
            lines.append(Parts((("dim", text),)))
    return tuple(lines)


def _counted(report: Report, brief: bool) -> str:
    models = report.models
    if report.source_only:
        return f"{plural(report.files, 'Python file')}, source only"
    if report.error or not models:
        return "no model measured" if models or report.skipped else "0 models"
    every = _distinct(models)
    measured = _distinct(model for model in models if total_of(model) is not None)
    cached = _distinct(model for model in models if model.measurement.cached)
    left = f", {every - measured:,} not measured" if measured < every else ""
    ways = sum(model.way is not None for model in models)
    in_ways = f" in {len(models):,} ways" if ways and len(models) > every else ""
    recalled = f" ({cached:,} from the cache)" if cached else ""
    said = f": {measured:,} measured{in_ways}" if left or not brief else ""
    return f"{plural(every, 'model')}{said}{left}{recalled}"


def _distinct(models: Iterable[ModelReport]) -> int:
    """How many there are, each with all the ways to build it."""
    seen: dict[str, int] = {}
    for model in models:
        seen.setdefault(model.target, 0)
        seen[model.target] += model.way is None
    return sum(max(count, 1) for count in seen.values())


def _silent(report: Report) -> Counter[tuple[str, str, str, bool]]:
    """What a device did not say is said: it is no agreement. Where meta failed, CPU counted."""
    return Counter(
        (name, device.status, device.reason or "no reason given", device.is_absent)
        for model in report.models
        for name, device in model.measurement.devices.items()
        if device.status == "skipped"
        or (device.status == "failed" and name != "meta" and total_of(model) is not None)
    )
