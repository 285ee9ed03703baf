"""What `check` says: verdicts, tables of what broke and of what is new, what was not counted and
what to do next, a summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import get_args

from nparam_lint.count.measured import Measured, ModuleRow
from nparam_lint.gate.report import ModelReport, Report
from nparam_lint.report import (
    Block,
    Document,
    Fact,
    Facts,
    Options,
    Page,
    Parts,
    Section,
    Text,
    check_data,
    findings,
    folded_modules,
    not_counted,
    overview,
)
from nparam_lint.report.budget_outcomes import (
    ModelBudgets,
    State,
    declared_budgets,
    is_empty,
    is_undeclared,
    total_of,
    worst,
)
from nparam_lint.report.style import plural

_ROWS, _FEW_ROWS = 20, 3  # twice as many, where one level has them
_ROWS_BESIDE = 6  # what could not be counted
_BRIEF_TABLES = 2
_FIRST = 1  # of the models, where nothing is declared: there is a list of all
_FEW_MODELS = 3  # where one of them has a table
_TONES = {"holds": "green", "broken": "red", "not checked": "red", "ignored": "dim"}
_TONES |= {"stated": "", "errors": "red", "warnings": "yellow"}
_WORST_FIRST = ("broken", "not checked", "errors", "holds", "ignored", "warnings")


def check_document(report: Report) -> Document:
    return Document(
        "check",
        lambda: check_data.check_data(report),
        lambda options: _page(report, options),
        report.error,
        report,
    )


def _page(report: Report, options: Options) -> Page:
    verdicts = _verdicts(report)
    mark, headline = "✗", "nothing could be checked"
    if report.error is None:
        is_judged = any(state in verdicts for state in get_args(State))
        words = [verdicts[name] for name in _WORST_FIRST if name in verdicts]
        headline = " · ".join(words if is_judged else [*words, _undeclared(report)])
        mark = worst(report.findings) or ("✓" if is_judged or report.source_only else "–")
    summary = _summary(report, verdicts, options)
    subjects = report.models, report.skipped, report.failed_ways, report.findings, report.error
    if not any(subjects):
        return Page((), mark, headline, nothing_found(report, options), summary)
    sections = [] if report.error else [*_counted_models(report, options)]
    gaps = (report.error, report.skipped, report.failed_ways, report.ways_left, report.test_files)
    if any(gaps) or any(map(is_empty, report.models)):  # else the module is not read
        for blocks in (not_counted.uncounted, not_counted.left_aside):
            sections.append(Section(tuple(blocks(report, options)), only="text"))
    if report.skipped:
        fold = f"Not counted: {plural(len(report.skipped), 'model')}"
        listing = not_counted.listed(report.skipped, report.inside_by_target)
        sections.append(Section((listing,), only="page", fold=fold))
    if besides := [Fact(m.target, m.because) for m in report.models if m.because]:
        fold = f"Checked besides: {plural(len(besides), 'model')}"
        sections.append(Section((Facts(tuple(besides)),), only="page", fold=fold))
    sections.append(Section(tuple(_next_step(report)), closing=True, only="text"))
    return Page(tuple(sections), mark, headline, "", summary)


def _counted_models(report: Report, options: Options) -> Iterator[Section]:
    """What is declared, with its verdict; and what the repository says of how it builds others. A
    terminal that has no verdict to show shows what is there; of many models, its findings alone."""
    is_first, is_long = is_undeclared(report), _is_long(report, options)
    alone = [model for model in report.models if model.way is None]
    if judged := tuple(model for model in alone if options.verbose or not is_empty(model)):
        block = ModelBudgets(judged, options.depth)
        yield Section((block,), only="page" if is_first or is_long or options.is_brief else "")
    if is_first and report.models:
        yield Section(overview.overview(report, report.models, options), only="text")
    if ways := [model for model in report.models if model.way is not None]:
        listing = overview.overview(report, ways, options)
        yield Section(listing, only="page" if is_first or is_long else "")
    yield from _tables(report, options)


def _is_long(report: Report, options: Options) -> bool:
    """Whether a list of all that holds would hide what does not, and say nothing where all does."""
    is_asked = options.verbose or is_undeclared(report)
    return not is_asked and _distinct(report.models) > _FEW_MODELS


def _verdicts(report: Report) -> dict[str, str]:
    """What has come of the budgets, and how many findings there are about none that is declared:
    `2 budgets broken`, `1 other error`. By what `_TONES` has."""
    budgets, on_budgets = declared_budgets(report)
    verdicts: dict[str, str] = {
        state: f"{plural(n, 'budget')} {'hold' if state == 'holds' and n > 1 else state}"
        for state, n in Counter(budget.state for budget in budgets).items()
    }
    true = sum(o.verdict == "right" and o.strength == "certain" for o in report.stated)
    if true:
        verdicts["stated"] = f"{plural(true, 'stated count')} {'holds' if true == 1 else 'hold'}"
    for severity in ("error", "warning"):
        every = [finding for finding in report.findings if finding.severity == severity]
        if besides := sum(finding not in on_budgets for finding in every):
            name = f"other {severity}" if besides < len(every) else severity
            verdicts[f"{severity}s"] = plural(besides, name)
    return verdicts


def _undeclared(report: Report) -> str:
    if report.source_only:
        return f"{plural(report.files, 'Python file')}, source only"
    if not report.models:
        return "nothing to check"
    counted = _distinct(m for m in report.models if isinstance(m.measurement, Measured))
    return f"{plural(counted, 'model')} counted, no budget declared"


def _tables(report: Report, options: Options) -> Iterator[Section]:
    """Of models with a broken budget, of those that one edit broke the first; and of the largest
    that stand for themselves, as far as they were asked for. Where something is declared, without
    -v, of what declares it, and of a few."""
    is_first, users = is_undeclared(report), report.containment.users
    counted = {model.bare for model in report.models if total_of(model) is not None}
    every = is_first or bool(options.verbose)
    tables: dict[tuple[ModuleRow, ...], ModelReport] = {}
    names: set[str] = set()
    for model in report.models:  # one table for what is the same, one for the variants of a model
        measured = model.measurement
        if isinstance(measured, Measured) and sum(row.total > 0 for row in measured.modules) > 1:
            name = model.bare
            is_asked = model.top_level and not model.because and (every or model.declared)
            # Of a part of models that could not be counted, the first screen has the count alone.
            is_part = counted.isdisjoint(users.get(name, [name]))
            is_asked = is_asked and bool(options.verbose or model.declared or not is_part)
            is_new = is_asked and name not in names and measured.modules not in tables
            if is_new or _is_broken(model):
                tables.setdefault(measured.modules, model)
                names.add(name)
    sound = [model for model in tables.values() if not _is_broken(model)]
    sound.sort(key=lambda model: -(total_of(model) or 0))
    is_short = is_first and not options.verbose and not_counted.nowhere_counted(report)
    most: int | None = None  # all of them
    if options.is_brief or _is_long(report, options):
        most = 0
    elif is_first:
        few = 1 if is_short else _FEW_MODELS
        most = _FIRST if options.verbose or len(sound) <= few else 0
    hidden = [] if most is None else sound[most:]
    broken = [model for model in tables.values() if _is_broken(model)]
    if broken and not options.verbose:
        alike = {f.target for group in findings.shared_causes(report.findings) for f in group[1:]}
        hidden += [model for model in broken if model.target in alike]
        distinct = [model for model in broken if model.target not in alike]
        hidden += distinct[_BRIEF_TABLES if options.is_brief else _FEW_MODELS :]
    usual = _ROWS_BESIDE if is_short else _ROWS
    hidden_ids = {id(model) for model in hidden}  # to compare thousands of reports takes minutes
    for model in tables.values():
        measured = model.measurement
        if isinstance(measured, Measured) and id(model) not in hidden_ids:
            how = "" if measured.rung == "meta" else f"counted on {measured.rung}"
            rows = options.rows or (_FEW_ROWS if options.is_brief else usual)
            block = folded_modules.Modules(measured, options.depth, rows, brief=options.is_brief)
            yield Section((block,), model.target, only="text", note=how, closing=options.is_brief)
    if hidden and most != 0:
        how = "nparam-lint show TARGET" if options.verbose else "-v, or nparam-lint show TARGET"
        more = f"… and {plural(len(hidden), 'more table')}: {how}"
        yield Section((Text(more, "dim", kind="verbatim"),), only="text")


def _is_broken(model: ModelReport) -> bool:
    return any(not budget.ok for budget in model.budgets)


# --- what to do next ------------------------------------------------------------------------------


def _next_step(report: Report) -> Iterator[Block]:
    """How to declare a budget, told with the largest model counted; only where none is declared."""
    if report.error or not report.models or report.shard or not is_undeclared(report):
        return
    # It has parameters, and a docstring of the project to write them in; if it has its defaults, no
    # call of the project may make another of it.
    otherwise = {failed.target for failed in report.failed_ways}
    models = [
        m
        for m in report.models
        if total_of(m)
        and m.target.startswith(f"{m.position.path}::")
        and (m.way or m.bare not in otherwise)
    ]
    best = max(models, key=lambda m: (m.top_level, total_of(m)), default=None)
    if best is None:
        text, line = "a count, write it in the model's docstring", "nparam: 1.2M"
    elif any(model.way for model in report.models):
        text = "To hold these counts: nparam-lint init"
        if not any(total_of(model) and model.is_declarable for model in report.models):
            text = "To hold a count, say in the config how the model is built: [arguments]"
        yield Text(f"Nothing is declared yet. {text}")
        return
    else:
        name, at = best.bare.partition("::")[2], best.position
        text = "the counts: nparam-lint init, or write one in the docstring of "
        text += f"{name} ({at.path}:{at.line})"
        line = f"nparam: {total_of(best):_}"
    yield from (Text(f"Nothing is declared yet. To hold {text}:"), Text("", kind="verbatim"))
    yield Text(line, "green", "    ", kind="verbatim")


def nothing_found(report: Report, options: Options) -> str:
    where = f" under {options.place}" if options.place else ""
    files = plural(report.files, "Python file")
    if report.shard and report.shard.partition.count:
        models = plural(report.shard.partition.count, "model")
        return f"Nothing to do in {report.shard}: the other shards have all {models}."
    if not report.files:
        text = f"No Python file{where or ' was found'}: nothing to check."
    elif report.source_only:
        text = f"No finding in the source of {files}{where}; nothing was built."
    elif options.declared_only:
        text = f"No budget is declared in {files}{where}: nothing to check."
    else:
        text = (
            f"No model found in {files}{where}: nparam-lint looks for subclasses of torch.nn.Module"
            " and functions that return them."
        )
    if tests := report.test_files:
        was, it = ("was", "it") if tests == 1 else ("were", "them")
        text += f" {plural(tests, 'test file')} with models {was} left out: name {it} to read {it}."
    elsewhere = _elsewhere(report)
    return f"{text} Elsewhere: {elsewhere}." if elsewhere else text


def _elsewhere(report: Report) -> str:
    """How many of the models that are declared outside of the given paths depend on these."""
    elsewhere = report.elsewhere
    if elsewhere is None or not elsewhere.declared:
        return ""
    verb = "depends" if elsewhere.dependent <= 1 else "depend"
    may = f", {elsewhere.possible} may" if elsewhere.possible else ""
    models = plural(elsewhere.declared, "declared model")
    return f"{elsewhere.dependent or 'none'} of {models} {verb} on the given paths{may}"


# --- the summary: how many models and budgets, how long it took, and who counted ------------------


def _summary(report: Report, verdicts: Mapping[str, str], options: Options) -> tuple[Parts, ...]:
    shown = ("errors", "warnings") if report.error else _TONES
    outcomes = [(_TONES[name], verdicts[name]) for name in shown if name in verdicts]
    counts = _counts(report, options.is_brief)
    if options.is_brief and report.staged:
        counts = f"staged: {counts}"
        if report.findings and report.ok:
            outcomes.append(("", "this stops no commit"))
    lines = [Parts((("", counts), *outcomes, ("", f"{report.seconds:.1f} s")))]
    if shard := report.shard:
        models = plural(shard.partition.count, "model")
        lines.append(Parts((("", f"{shard}: {len(shard.judged):,} of {models}"),)))
    if elsewhere := _elsewhere(report):
        lines.append(Parts((("dim", f"elsewhere: {elsewhere}"),)))
    if options.quiet or options.is_brief:
        return tuple(lines)
    if likely := sum(outcome.strength == "likely" for outcome in report.stated):
        numbers = "number looks like a count" if likely == 1 else "numbers look like counts"
        lines.append(Parts((("dim", f"{likely:,} more {numbers}: nparam-lint claims"),)))
    # What a device did not say is said: it is no agreement. Where meta failed, CPU counted.
    silent = Counter(
        (name, device.status, device.reason or "no reason given", device.is_absent)
        for model in report.models
        for name, device in model.measurement.devices.items()
        if device.status == "skipped"
        or (device.status == "failed" and name != "meta" and total_of(model) is not None)
    )
    environment = report.environment
    if environment is not None:
        python, reason = environment.python, environment.reason
        absent = sorted((name, why) for name, _, why, is_absent in silent if is_absent)
        about = (
            f"{python} ({reason})" if reason else python,
            f"torch {environment.torch}" if environment.torch else "no torch",
            ", ".join(environment.devices),
            *(f"{name} skipped ({why})" for name, why in absent if options.verbose),
        )
        words = (("dim", part) for part in about if part)
        staged = [("dim", "judged: what is staged")] if report.staged else []
        lines.append(Parts((*words, *staged), "dim"))
    for (name, status, why, is_absent), count in silent.items():
        if environment is None or options.verbose or not is_absent:
            text = f"{name} {status} for {plural(count, 'model')}: {why}"
            lines.append(Parts((("dim", text),)))
    return tuple(lines)


def _counts(report: Report, brief: bool) -> str:
    models = report.models
    if report.source_only:
        return f"{plural(report.files, 'Python file')}, source only"
    if report.error or not models:
        return "no model measured" if models or report.skipped else "0 models"
    every = _distinct(models)
    measured = _distinct(model for model in models if total_of(model) is not None)
    cached = _distinct(model for model in models if model.measurement.cached)
    ways = any(model.way for model in models) and len(models) > every
    in_ways = f" in {len(models):,} ways" if ways else ""
    recalled = f" ({cached:,} from the cache)" if cached else ""
    if is_undeclared(report) and (uncounted := len(not_counted.nowhere_counted(report))):
        # All models that were found are meant, where nothing says which are wanted.
        return f"{measured:,} of {plural(every + uncounted, 'model')} measured{in_ways}{recalled}"
    unmeasured = f", {every - measured:,} not measured" if measured < every else ""
    success = f": {measured:,} measured{in_ways}" if unmeasured or not brief else ""
    return f"{plural(every, 'model')}{success}{unmeasured}{recalled}"


def _distinct(models: Iterable[ModelReport]) -> int:
    """How many there are, each with all the ways to build it."""
    variants: dict[str, int] = {}
    for model in models:
        variants[model.target] = variants.get(model.target, 0) + (model.way is None)
    return sum(max(count, 1) for count in variants.values())
