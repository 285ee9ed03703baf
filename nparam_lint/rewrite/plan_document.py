"""The documents of `update` and `init`: what is written, what is not changed and why, and a
summary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nparam_lint.ground.printable import clean
from nparam_lint.ground.values import Origin
from nparam_lint.report import (
    Column,
    Document,
    Options,
    Page,
    Parts,
    Row,
    Section,
    Table,
    Text,
)
from nparam_lint.report.json_records import JsonDocument, Placed, record
from nparam_lint.report.style import plural, short_reason
from nparam_lint.rewrite.edits import Edit, Leftover, unified_diff

if TYPE_CHECKING:
    from nparam_lint.report import Block
    from nparam_lint.rewrite.edits import Plan

_HINTS = 12
_COLUMNS = (
    Column("where", "code"),
    Column("model", "code"),
    Column("declared", "code"),
    Column("counted", "number"),
    Column("what is done", "words"),
)


def plan_document(plan: Plan, command: str, dry: bool) -> Document:
    """`dry`: nothing is written."""
    items: list[Edit | Leftover] = [*plan.edits, *plan.leftovers]
    return Document(
        command,
        lambda: _data(plan, command, dry),
        lambda options: _page(plan, command, dry, options),
        lines=tuple(
            f"{item.position}:{item.position.column}: {item.model}{_selected(item)} {_done(item)}"
            for item in items
        ),
    )


def diff_of(plan: Plan) -> str:
    """What `git apply` reads."""
    return "".join(map(unified_diff, plan.files))


@dataclass(kw_only=True)
class DeclaredRecord(Placed):
    """`origin`: where the budget is declared; `actual`: what the model has."""

    target: str
    selector: str
    origin: Origin
    old: str
    actual: int | None


@dataclass(kw_only=True)
class EditRecord(DeclaredRecord):
    new: str
    modules: int
    because: str | None


@dataclass(kw_only=True)
class LeftoverRecord(DeclaredRecord):
    reason: str


@dataclass(kw_only=True)
class PlanSummary:
    edits: int
    left: int
    held: int


@dataclass(kw_only=True)
class PlanDocument(JsonDocument):
    """`written` says whether the edits were made."""

    command: str
    written: bool
    edits: Sequence[EditRecord]
    left: Sequence[LeftoverRecord]
    files: Sequence[str]
    hints: Sequence[str]
    diff: str | None
    summary: PlanSummary


def _data(plan: Plan, command: str, dry: bool) -> PlanDocument:
    edits = [
        record(
            EditRecord,
            edit,
            edit.position,
            target=edit.model,
            actual=edit.count,
            because=edit.because or None,
        )
        for edit in plan.edits
    ]
    leftovers = [
        record(LeftoverRecord, item, item.position, target=item.model, actual=item.count)
        for item in plan.leftovers
    ]
    return PlanDocument(
        command=command,
        written=not dry,
        edits=edits,
        left=leftovers,
        files=[file.name for file in plan.files],
        hints=plan.hints,
        diff=diff_of(plan) if dry else None,
        summary=PlanSummary(edits=len(plan.edits), left=len(plan.leftovers), held=plan.held),
    )


def _page(plan: Plan, command: str, dry: bool, options: Options) -> Page:
    blocks: list[Block] = [] if options.quiet else [_line(edit) for edit in plan.edits]
    unbuilt = [] if command == "update" else [i for i in plan.leftovers if i.count is None]
    blocks += [_line(item) for item in plan.leftovers if item not in unbuilt]
    # Who asked for budgets and got none wants to know why.
    most = len(unbuilt) if options.verbose else 0 if plan.edits or plan.held else _HINTS
    summary = _summary(plan, command, dry, len(unbuilt) <= most)
    blocks.append(Text(summary, kind="verbatim"))
    if plan.step and not options.quiet:
        blocks.append(Text(plan.step, "dim", kind="verbatim"))
    for item in () if options.quiet else unbuilt[:most]:
        reason = short_reason(item.reason, item.model.partition("::")[2])
        blocks.append(Parts((("", _where(item)), ("dim", reason)), plain=True))
    items: list[Edit | Leftover] = [*plan.edits, *plan.leftovers]
    rows = [
        Row((clean(f"{item.position}"), _name(item), item.old, count, _done(item)))
        for item in items
        for count in ("" if item.count is None else f"{item.count:,}",)
    ]
    hints: list[str] = []
    if plan.hints and not options.quiet:  # what the config may say, so that more can be built
        table, *models = plan.hints
        named = models if options.verbose else models[:_HINTS]
        why = f"Not built, since arguments are missing: {len(models):,}. Add them to the config:"
        hints = [why, table, *named]
        if len(named) < len(models):
            hints.append(f"… and {len(models) - len(named):,} more (-v lists them)")
    sections = (
        Section(tuple(blocks), only="text", always=True),
        Section((Table(_COLUMNS, tuple(rows)),), only="page"),
        Section(tuple(Text(f"# {hint}", kind="verbatim") for hint in hints), always=True),
    )
    return Page(sections, "Δ" if plan.edits else "–", summary)


def _line(item: Edit | Leftover) -> Parts:
    """What is done with a budget, or why nothing is."""
    parts = [("", _where(item))]
    if isinstance(item, Leftover):
        count = "" if item.count is None else f"; counted: {item.count:,}"
        parts += [("", item.old)] if item.old else []
        parts.append(("yellow", f"left alone: {clean(item.reason)}{count}"))
    elif item.old:
        times = f", each of {item.modules}" if item.modules > 1 else ""
        parts += [("green", f"{item.old} → {item.new}"), ("", f"({item.count:,}{times})")]
    else:
        parts.append(("green", item.new))
        parts += [("dim", f"({clean(item.because)})")] if item.because else []
    return Parts(tuple(parts), plain=True)


def _done(item: Edit | Leftover) -> str:
    return f"→ {item.new}" if isinstance(item, Edit) else f"left alone: {item.reason}"


def _selected(item: Edit | Leftover) -> str:
    return f"[{item.selector}]" if item.selector else ""


def _name(item: Edit | Leftover) -> str:
    return clean(item.model.removeprefix(f"{item.position.path}::") + _selected(item))


def _where(item: Edit | Leftover) -> str:
    """`nanogpt/model.py:12  GPT[transformer.h.*]`; of another file's model, with its path."""
    return f"{clean(f'{item.position}')}  {_name(item)}".rstrip()


def _summary(plan: Plan, command: str, dry: bool, all_listed: bool) -> str:
    update = command == "update"
    if update and not (plan.edits or plan.leftovers or plan.held):
        if plan.noun != "budget":
            return f"No {plan.noun} here is wrong: nothing to update."
        return "No budget is declared: nothing to update. nparam-lint init writes them."
    parts = []
    if plan.edits:
        verb = ("would be " if dry else "") + ("rewritten" if update else "written")
        files = plan.files
        where = plural(len(files), "file") if len(files) != 1 else clean(files[0].name)
        parts.append(f"{plural(len(plan.edits), plan.noun)} {verb} in {where}")
    elif not update:
        parts.append(f"no {plan.noun} to write")
    if plan.held and update:
        parts.append(f"{plural(plan.held, plan.noun)} {'holds' if plan.held == 1 else 'hold'}")
    elif plan.held:
        parts.append(f"{plural(plan.held, 'model')} {'has' if plan.held == 1 else 'have'} one")
    if plan.leftovers and update:
        parts.append(f"{len(plan.leftovers):,} left alone")
    elif plan.leftovers:
        more = "" if all_listed else " (-v lists them)"
        parts.append(f"{plural(len(plan.leftovers), 'model')} got none{more}")
    return " · ".join(parts)
