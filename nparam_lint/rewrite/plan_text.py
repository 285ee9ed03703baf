"""A plan as text: what is written, what is left as it is and why, and a summary; or as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from nparam_lint import __version__
from nparam_lint.report.style import clean, plural, short_reason
from nparam_lint.rewrite.edits import Edit, Left, unified_diff

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nparam_lint.report.style import Paint
    from nparam_lint.rewrite.edits import Plan

_HINTS = 12


@dataclass(frozen=True, slots=True)
class Look:
    """`dry`: nothing is written. `quiet`: only what is left, and the summary; `verbose`: also the
    models that were not measured, and every hint."""

    paint: Paint
    dry: bool = False
    quiet: bool = False
    verbose: bool = False


def render_diff(plan: Plan) -> str:
    return "".join(map(unified_diff, plan.files))


def render_json(plan: Plan, command: str, dry: bool) -> str:
    """One document; `written` says whether the edits were made."""
    document = {
        "version": 1,
        "tool": {"name": "nparam-lint", "version": __version__},
        "command": command,
        "written": not dry,
        "edits": [{**_common(e), "new": e.new, "modules": e.modules} for e in plan.edits],
        "left": [{**_common(item), "reason": item.reason} for item in plan.left],
        "files": [file.name for file in plan.files],
        "hints": list(plan.hints),
        "diff": render_diff(plan) if dry else None,
        "summary": {"edits": len(plan.edits), "left": len(plan.left), "held": plan.held},
    }
    return json.dumps(document, separators=(",", ":")) + "\n"


def _common(item: Edit | Left) -> dict[str, Any]:
    return {
        **asdict(item.position),
        "target": item.model,
        "selector": item.selector,
        "origin": item.origin,
        "old": item.old,
        "actual": item.count,
    }


# --- update -----------------------------------------------------------------------------------


def render_update(plan: Plan, look: Look) -> str:
    lines = [] if look.quiet else [_edited(edit, look.paint) for edit in plan.edits]
    lines += [_left(item, look.paint) for item in plan.left]
    return "\n".join([*lines, *_update_summary(plan, look)]) + "\n"


def _edited(edit: Edit, paint: Paint) -> str:
    times = f", each of {edit.modules}" if edit.modules > 1 else ""
    new = paint("green", clean(edit.new))
    return f"{_where(edit)}  {clean(edit.old)} → {new}  ({edit.count:,}{times})"


def _left(item: Left, paint: Paint) -> str:
    has = "" if item.count is None else f"; counted: {item.count:,}"
    told = f"left alone: {clean(item.reason)}{has}"
    return "  ".join(
        part for part in (_where(item), clean(item.old), paint("yellow", told)) if part
    )


def _where(item: Edit | Left) -> str:
    """`nanogpt/model.py:12  GPT[transformer.h.*]`; of another file's model, with its path."""
    at = item.position
    name = item.model.removeprefix(f"{at.path}::") + (f"[{item.selector}]" if item.selector else "")
    return f"{clean(at.path)}:{at.line}  {clean(name)}".rstrip()


def _update_summary(plan: Plan, look: Look) -> Iterator[str]:
    if not (plan.edits or plan.left or plan.held):
        yield "No budget is declared: nothing to update. nparam-lint init writes them."
        return
    parts = []
    if plan.edits:
        done = "would be rewritten" if look.dry else "rewritten"
        parts.append(f"{plural(len(plan.edits), 'budget')} {done} in {_files(plan)}")
    if plan.held:
        parts.append(f"{plural(plan.held, 'budget')} {'holds' if plan.held == 1 else 'hold'}")
    if plan.left:
        parts.append(f"{len(plan.left):,} left alone")
    yield " · ".join(parts)


def _files(plan: Plan) -> str:
    return plural(len(plan.files), "file") if len(plan.files) != 1 else clean(plan.files[0].name)


# --- init -------------------------------------------------------------------------------------


def render_init(plan: Plan, look: Look) -> str:
    lines = [] if look.quiet else [_given(edit, look.paint) for edit in plan.edits]
    failed = [item for item in plan.left if item.count is not None]
    lines += [_left(item, look.paint) for item in failed]
    lines += _init_summary(plan, look)
    lines += [
        _unbuilt(item, look.paint) for item in plan.left if look.verbose and item not in failed
    ]
    if not look.quiet:
        lines += _hint_lines(plan.hints, look)
    return "\n".join(lines) + "\n"


def _given(edit: Edit, paint: Paint) -> str:
    return f"{_where(edit)}  {paint('green', clean(edit.new))}"


def _unbuilt(item: Left, paint: Paint) -> str:
    name = item.model.partition("::")[2]
    return f"{_where(item)}  {paint('dim', short_reason(item.reason, name))}"


def _init_summary(plan: Plan, look: Look) -> Iterator[str]:
    parts = []
    if plan.edits:
        done = "would be written" if look.dry else "written"
        parts.append(f"{plural(len(plan.edits), 'budget')} {done} in {_files(plan)}")
    else:
        parts.append("no budget to write")
    if plan.held:
        parts.append(f"{plural(plan.held, 'model')} {'has' if plan.held == 1 else 'have'} one")
    if plan.left:
        more = "" if look.verbose else " (-v lists them)"
        parts.append(f"{plural(len(plan.left), 'model')} got none{more}")
    yield " · ".join(parts)


def _hint_lines(hints: Sequence[str], look: Look) -> Iterator[str]:
    if not hints:
        return
    table, *models = hints
    shown = models if look.verbose else models[:_HINTS]
    yield ""
    yield f"# Not built, since arguments are missing: {len(models):,}. Add them to the config:"
    yield f"# {table}"
    yield from (f"# {clean(line)}" for line in shown)
    if len(shown) < len(models):
        yield f"# … and {len(models) - len(shown):,} more (-v lists them)"
