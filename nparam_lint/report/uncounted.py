"""What was not counted, and what to do next: the lines between the tables and the summary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nparam_lint.report import style
from nparam_lint.report.budget_outcomes import is_empty, total_of
from nparam_lint.report.document import Column, Listing, ListingLine, Row, Section, Table, Text
from nparam_lint.report.style import clean, plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from nparam_lint.records import ModelReport, NotMeasured, Report
    from nparam_lint.report.document import Block, Options

# Cause -> what is said of one such model, and of several.
_SAID: dict[str, tuple[str, str]] = {
    "arguments_missing": ("needs arguments", "need arguments"),
    "timed_out": ("ran out of time", "ran out of time"),
    "out_of_memory": ("ran out of memory", "ran out of memory"),
}
_FAILED = ("failed", "failed")
_PACKAGES = 3


def uncounted_sections(report: Report, options: Options) -> Iterator[Section]:
    yield Section(_blocks(report, options), only="text")
    if report.skipped:
        fold = f"Not counted: {plural(len(report.skipped), 'model')}"
        yield Section((_listed(report.skipped),), only="page", fold=fold)
    yield Section(_next_step(report), closing=True, only="text")


def _blocks(report: Report, options: Options) -> tuple[Block, ...]:
    if report.error:
        count = len(report.models) + len(report.skipped)
        why = f"{_were(count, 'counted')}: {clean(report.error.partition(chr(10))[0])}"
        return (Text(why),) if count else ()
    blocks: list[Block] = []
    empty = sum(map(is_empty, report.models))
    if empty and not options.verbose:
        verb, it = ("has", "it") if empty == 1 else ("have", "them")
        text = f"{plural(empty, 'model')} {verb} no parameters (-v lists {it})"
        blocks.append(Text(text, "dim"))
    if report.skipped:
        kinds = _kinds(report.skipped)
        told = _were(len(report.skipped), "counted")
        told += ": " + ", ".join(_told(kind, count, kinds) for kind, count in kinds.items())
        it = "it" if len(report.skipped) == 1 else "them"
        told = f"{told}:" if options.verbose else f"{told} (-v lists {it})"
        blocks.append(Text(told, "dim"))
    if options.verbose:
        blocks.append(_listed(report.skipped))
    elif report.skipped and not report.models:
        blocks += _remedy(report)
    return tuple(blocks)


def _listed(skipped: Sequence[tuple[str, NotMeasured]]) -> Listing:
    files: dict[str, list[ListingLine]] = {}
    for target, failure in skipped:
        where, _, name = clean(target).partition("::")
        told = style.short_reason(failure.reason, name)
        files.setdefault(where, []).append(ListingLine("–", name, verdict=told, tone="dim"))
    columns = Column("model", "code"), Column("because", "words")
    table = Table(
        columns, tuple(Row((target, failure.reason)) for target, failure in skipped), noun="model"
    )
    return Listing(tuple((where, tuple(found)) for where, found in files.items()), table, True)


def _were(count: int, what: str) -> str:
    return f"1 model was not {what}" if count == 1 else f"{count:,} models were not {what}"


def _kinds(skipped: Sequence[tuple[str, NotMeasured]]) -> dict[str, int]:
    """How many for each kind of cause, the most frequent first."""
    found: dict[str, int] = {}
    for _, failure in skipped:
        kind = _kind(failure)
        found[kind] = found.get(kind, 0) + 1
    packages = [kind for kind in found if kind.startswith("import ")]
    for kind in packages[_PACKAGES:]:
        found["import others"] = found.get("import others", 0) + found.pop(kind)
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def _kind(failure: NotMeasured) -> str:
    if failure.package:
        return f"import {clean(failure.package)}"
    return failure.cause if failure.cause in _SAID else "failed"


def _told(kind: str, count: int, kinds: Mapping[str, int]) -> str:
    """`9 need arguments`; of one kind alone, `they need arguments`."""
    one = count == 1
    who = f"{count:,}" if len(kinds) > 1 else "it" if one else "they"
    if kind.startswith("import "):
        return f"{who} cannot {kind.replace('import others', 'import other packages')}"
    return f"{who} {_SAID.get(kind, _FAILED)[0 if one else 1]}"


def _remedy(report: Report) -> list[Block]:
    """Where nothing could be counted because packages are missing: which, and where to."""
    kinds = [kind for kind in _kinds(report.skipped) if kind.startswith("import ")]
    names = [kind.partition(" ")[2] for kind in kinds if kind != "import others"]
    if not names or report.environment is None:
        return []
    text = (
        f"To count them, install {' and '.join(names)} for {clean(report.environment.python)}, or "
        "name the project's own interpreter with --python."
    )
    return [Text(text)]


def _next_step(report: Report) -> tuple[Block, ...]:
    """How to declare a budget, told with the largest model counted; only where none is declared."""
    known = [m for m in report.models if m.declared or m.budgets]
    if known or report.error or not (report.models or report.skipped):
        return ()
    best = max(
        filter(_stands, report.models), key=lambda m: (m.top_level, total_of(m)), default=None
    )
    if best is not None:
        name, at = clean(best.target.partition("::")[2].partition("(")[0]), best.position
        where = f"the docstring of {name} ({clean(at.path)}:{at.line})"
        line = f"nparam: {total_of(best):_}"
    elif any(failure.cause == "arguments_missing" for _, failure in report.skipped):
        where = "the model's docstring, with the arguments that build it"
        line = "nparam(width=128, depth=4): 1.2M"
    elif report.models:
        where, line = "the model's docstring", "nparam: 1.2M"
    else:
        return ()
    text = f"Nothing is declared yet. To hold a count, write it in {where}:"
    return Text(text), Text("", kind="verbatim"), Text(line, "green", "    ", kind="verbatim")


def _stands(model: ModelReport) -> bool:
    """Whether it has parameters, and a docstring of the project to write them in."""
    return bool(total_of(model)) and model.target.startswith(f"{model.position.path}::")


def nothing_found(report: Report, options: Options) -> str:
    where = f" under {clean(options.place)}" if options.place else ""
    if not report.files:
        return f"No Python file{where or ' was found'}: nothing to check."
    files = plural(report.files, "Python file")
    if report.source_only:
        return f"No finding in the source of {files}{where}; nothing was built."
    if options.declared_only:
        return f"No budget is declared in {files}{where}: nothing to check."
    return (
        f"No model found in {files}{where}: nparam-lint looks for subclasses of torch.nn.Module "
        "and functions that return them."
    )
