"""What was not counted, and why: models that stand for themselves first; and what to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from nparam_lint.count.measured import NotMeasured
from nparam_lint.gate.report import FailedWay, Inside, Report
from nparam_lint.ground.grouping import grouped
from nparam_lint.ground.metrics import INSTALLED_AS
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.report import (
    Block,
    Column,
    Listing,
    ListingLine,
    Options,
    Row,
    Table,
    Text,
    overview,
)
from nparam_lint.report.budget_outcomes import is_empty, is_undeclared
from nparam_lint.report.style import elide_end, first, percent, plural, short_reason

Skipped = Sequence[tuple[str, NotMeasured]]
_PACKAGES = 3
_FEW = 3  # without -v
_RECIPES = 2
_LONGEST = 120  # characters of a reason, without -v
# By its name, or that of its file or folder, no model whose count anyone would state.
_IS_NO_MODEL = late_pattern(
    r"(?:Loss|Criterion|Metric|Transforms?|Augment\w*|Sampler|Scheduler)$"
    r"|(?:^|[/_])(?:loss|losses|criterions?|criteria|metrics?|augment\w*)(?:/|\.py)"
)
# Of a way that is a command: with its words there is no room for why it failed.
_COMMAND = late_pattern(r"^\S+:1: (python \S+)(?: .+?)?(?= raised |: )")
_ALIKE = 3  # names of models with the same reason
_SAID = {  # of models that were not counted, by cause
    "arguments_missing": "need arguments",
    "timed_out": "ran out of time",
    "not_tried": "were not tried",
    "out_of_memory": "ran out of memory",
}


def uncounted(report: Report, options: Options) -> Iterator[Block]:
    """The models that were not counted, and what to do about it."""
    if report.error:
        if count := len(report.models) + len(report.skipped):
            yield Text(f"{_not_counted(count)}: {report.error.partition(chr(10))[0]}")
        return
    skipped = nowhere_counted(report)
    if not skipped:
        return
    structure = report.containment
    alone = {target for target, _ in skipped if target not in structure.users}
    # A function that returns one of these is no model beside it.
    alone = {target for target in alone if structure.returns.get(target) not in alone}
    models = [item for item in skipped if item[0] in alone]
    models.sort(key=lambda item: (item[0].count("/"), item[0].partition("::")[0]))
    models.sort(key=lambda item: bool(_IS_NO_MODEL.search(item[0])))
    models.sort(key=lambda item: (item[0] not in report.named, item[1].cause == "not_tried"))
    parts = [item for item in skipped if item[0] not in alone]
    most = _FEW if is_undeclared(report) or len(models) <= _FEW else 0
    most = len(models) if options.verbose else most
    shown, them = models[:most], "it" if len(skipped) == 1 else "them"
    lists = f" (-v lists {them})" if not shown else ":" if options.verbose else ""
    yield Text(f"{_not_counted(len(skipped))}: {_kinds(skipped)}{lists}", "dim")
    if shown:
        yield listed(_by_reason(shown, options.verbose))
        if options.verbose and parts:
            yield Text("Inside these, or returning them:", "dim")
            yield listed(_by_reason(parts, options.verbose))
        elif more := _more(len(models) - most, parts, report):
            yield Text(f"… and {more} (-v lists them)", "dim", "  ", "    ")
    targets = {target for target, _ in skipped}  # nothing says whether what texts state is right
    stated = [outcome for outcome in report.stated if outcome.uncounted in targets]
    for outcome in stated[:_FEW]:
        name = outcome.uncounted.partition("::")[2]
        text = f"{outcome.position} states {outcome.count.text} of {name}"
        yield Text(f"{text}, which is not checked", "yellow")
    if hidden := len(stated[_FEW:]):
        yield Text(f"… and {plural(hidden, 'more stated count')} (nparam-lint claims -v)", "dim")
    if is_undeclared(report):
        yield from _remedy(report, models, len(models) if options.verbose else _RECIPES)


def left_aside(report: Report, options: Options) -> Iterator[Block]:
    """Models without parameters; ways that failed or were not tried; test files."""
    if report.error:
        return
    empty = len({model.target for model in report.models if is_empty(model)})
    if empty and not options.verbose:
        verb, them = ("has", "it") if empty == 1 else ("have", "them")
        yield Text(f"{plural(empty, 'model')} {verb} no parameters (-v lists {them})", "dim")
    counted = {model.target for model in report.models}
    for target, why in report.skipped:
        if target in counted:  # in other ways than the config says
            text = f"as the config says it, {target} was not counted: {why.reason}"
            yield Text(f"{text}{f' ({why.place})' if why.place else ''}", "yellow")
    yield from ways_not_built(report, options)
    if report.stopped_after:
        after = f"stopped after {report.stopped_after:g} s of building"
        yield Text(f"{after}; to the end: nparam-lint --all-ways", "yellow")
    if tests := report.test_files:
        it = "it" if tests == 1 else "them"
        files = f"{plural(tests, 'test file')} with models"
        yield Text(f"left out: {files} (name {it} to read {it})", "dim")


def _more(models: int, parts: Skipped, report: Report) -> str:
    """What is not listed: `2 more models and 14 layers inside them`."""
    functions = sum(target in report.containment.returns for target, _ in parts)
    layers = len(parts) - functions
    kinds = [plural(models, "more model")] if models > 0 else []
    kinds += [f"{plural(layers, 'layer')} inside them"] if layers else []
    returns = "returns" if functions == 1 else "return"
    kinds += [f"{plural(functions, 'function')} that {returns} one"] if functions else []
    return " and ".join(kinds)


def nowhere_counted(report: Report) -> Skipped:
    """Those that were skipped, and were neither made by something else nor are inside what was
    built. Where its value would come from says more than that an argument is lacking, and so does
    the reason why a way that has them failed: the first, or one that failed in the model's file."""
    skipped = report.skipped
    if skipped and report.models:
        of_type = overview.TypeIndex(report)
        kinds = ((model, getattr(model.measurement, "type", "")) for model in report.models)
        built = {of_type.target(kind, model) for model, kind in kinds}  # whatever made it
        built |= of_type.inside(report.models)
        built |= report.inside_by_target.keys()
        skipped = tuple(item for item in skipped if item[0] not in built)
    failed_ways = grouped(report.failed_ways, lambda failed: failed.target)
    reasons = []
    for target, failure in skipped:
        path, ways = target.partition("::")[0], failed_ways.get(target, ())
        inside = (way for way in ways if way.failure.place.rpartition(":")[0] == path)
        failed = next(inside, next(iter(ways), None))
        gap = report.gaps.get(target)
        if gap and not (failed and gap in failed.way.words):
            failure = replace(failure, reason=gap)
        elif failed is not None and failure.cause == "arguments_missing":
            text = short_reason(failed.failure.reason, target.partition("::")[2])
            failure = replace(failed.failure, reason=f"{failed.way.position}: {text}")
        reasons.append((target, failure))
    return reasons


def _by_reason(skipped: Skipped, verbose: int) -> Skipped:
    """Models of one file with the same reason in one line. Without -v, short reasons and the first
    names; of a missing package no more than its name."""

    def place_and_reason(item: tuple[str, NotMeasured]) -> tuple[str, str]:
        path, _, name = item[0].partition("::")
        package = "" if verbose else item[1].package
        return path, f"cannot import {package}" if package else short_reason(item[1].reason, name)

    lines: list[tuple[str, NotMeasured]] = []
    for (path, reason), items in grouped(skipped, place_and_reason).items():
        names = [target.partition("::")[2] for target, _ in items]
        names = names if verbose else first(names, _ALIKE)
        if not verbose:
            reason = elide_end(_COMMAND.sub(r"\1", reason), _LONGEST)
        lines.append((f"{path}::{', '.join(names)}", replace(items[0][1], reason=reason)))
    return lines


def _remedy(report: Report, skipped: Skipped, most: int) -> Iterator[Block]:
    """What to install, and lines to paste into the config."""
    failures = [*(f for _, f in skipped), *(failed.failure for failed in report.failed_ways)]
    lacking = dict.fromkeys(INSTALLED_AS.get(f.package, f.package) for f in failures if f.package)
    packages = [*lacking][:_PACKAGES]
    if packages and report.environment is not None:
        python = report.environment.python
        yield Text("", kind="verbatim")
        yield Text(
            f"To count them, install {' and '.join(packages)} for {python}, or name the project's "
            "own interpreter with --python."
        )
    models = [
        (target, failure)
        for target, failure in skipped
        if target in report.recipes and not (failure.package or _IS_NO_MODEL.search(target))
    ]
    # A recipe helps less where one is known, and fails.
    needing = [item for item in models if item[1].cause == "arguments_missing"]
    recipes = [report.recipes[target] for target, _ in needing or models]
    if recipes:
        (sentence, table, _), *_ = recipes
        yield Text("", kind="verbatim")
        yield Text(sentence)
        yield Text("", kind="verbatim")
        lines = [table, *(line for _, _, line in recipes[:most])]
        yield from (Text(line, "green", "    ", kind="verbatim") for line in lines)


def ways_not_built(report: Report, options: Options) -> Iterator[Block]:
    """The ways to build models that failed, and those that were not tried."""
    if ways := report.failed_ways:
        count = f"{plural(len(ways), 'way')} in which the project builds models failed"
        yield Text(f"{count}{':' if options.verbose else ' (-v lists them)'}", "dim")
    if ways and options.verbose:
        lines = []
        for (path, name, reason), same in grouped(ways, _where_and_why).items():
            sizes = ", ".join(failed.way.name for failed in same if failed.way.kind == "size")
            numbers = list(dict.fromkeys(str(failed.way.position.line) for failed in same))
            why = f"line{'s' if numbers[1:] else ''} {', '.join(numbers)}: {reason}"
            line = ListingLine("–", f"{name} {sizes}".strip(), verdict=why, tone="dim")
            lines.append((path, line))
        rows = (Row((way.target, str(way.way.position), way.failure.reason)) for way in ways)
        columns = Column("model", "code"), Column("way", "code"), Column("because", "words")
        table = Table(columns, tuple(rows), noun="way")
        yield Listing.of(lines, table, reasons=True)
    if untried := sum(count for _, count in report.ways_left):
        verb = "was" if untried == 1 else "were"
        more = plural(untried, "more way")
        yield Text(f"{more} to build models {verb} not tried (--all-ways)", "dim")


def _where_and_why(failed: FailedWay) -> tuple[str, str, str]:
    name = failed.target.partition("::")[2] or failed.target
    return failed.way.position.path, name, short_reason(failed.failure.reason, name)


def absent(measured: NotMeasured, indent: str = "") -> Iterator[Text]:
    """Why a model was not measured, and what would help."""
    inside = f"{indent}  "
    yield Text(f"– not measured: {measured.reason}", "red", indent, inside)
    if measured.place:
        yield Text(f"at {measured.place}", "", inside, inside)
    if measured.missing:
        yield Text(f"needs: {', '.join(measured.missing)}", "", inside, f"{inside}  ")
    if measured.hint:
        yield Text(measured.hint, "", inside, f"{inside}  ")


# --- in words -------------------------------------------------------------------------------------


def _not_counted(count: int) -> str:
    return "1 model was not counted" if count == 1 else f"{count:,} models were not counted"


def _kinds(skipped: Skipped) -> str:
    """`8 need arguments, 1 cannot import tiktoken`."""
    kinds: Counter[str] = Counter()
    for _, failure in skipped:
        cause = failure.cause if failure.cause in _SAID else "failed"
        kinds[f"import {failure.package}" if failure.package else cause] += 1
    for kind in [kind for kind in kinds if kind.startswith("import ")][_PACKAGES:]:
        kinds["import other packages"] += kinds.pop(kind)
    parts = []
    for kind, count in kinds.most_common():  # of one kind alone: `they need arguments`
        who = f"{count:,}" if len(kinds) > 1 else "it" if count == 1 else "they"
        what = f"cannot {kind}" if kind.startswith("import ") else _SAID.get(kind, kind)
        one = what.replace("need ", "needs ").replace("were ", "was ")
        parts.append(f"{who} {one if count == 1 else what}")
    return ", ".join(parts)


def listed(skipped: Skipped, inside: Mapping[str, Sequence[Inside]] | None = None) -> Listing:
    """By file, with the reasons in full; of what is `inside` counted models how they build it."""
    lines, rows = [], []
    for target, failure in skipped:
        where, _, name = target.partition("::")
        instances = inside_words(inside[target]) if inside and target in inside else ""
        words = instances or short_reason(failure.reason, name)
        lines.append((where, ListingLine("–", name, verdict=words, tone="dim")))
        rows.append(Row((target, instances or failure.reason)))
    table = Table((Column("model", "code"), Column("because", "words")), tuple(rows), noun="model")
    return Listing.of(lines, table, reasons=True)


def inside_words(instances: Sequence[Inside]) -> str:
    """How a class that nobody can call alone is built: `as built in GPT (12×), 7,087,872, 5.7 %`.
    Of several ways that which is met most often; how many others there are."""
    most = max(instances, key=lambda inside: inside.times)
    name, each = most.model.target.partition("::")[2], f"{most.row.total:,}"
    more = f"; {plural(len(instances) - 1, 'other way')}" if len(instances) > 1 else ""
    return f"as built in {name} ({most.times}×), {each}, {percent(most.share)}{more}"
