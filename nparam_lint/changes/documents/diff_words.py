"""What the formats of a comparison have in common: numbers, names, and the headline."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from nparam_lint.count.measured import Measured
from nparam_lint.ground.metrics import METRICS
from nparam_lint.ground.values import proportion
from nparam_lint.report.style import plural, signed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nparam_lint.changes.records import DiffReport, ModelDiff, Status

MARKS: dict[Status, str] = {
    "same": "=",
    "changed": "~",
    "renamed": "→",
    "added": "+",
    "removed": "−",
    "not_measured": "!",
}
_STATUS_WORDS: dict[Status, str] = {
    "changed": "changed",
    "renamed": "renamed",
    "added": "new",
    "removed": "gone",
    "not_measured": "not measured",
}
_NAMED = 2  # models of the headline


def change(delta: int, before: int | None) -> str:
    """`+7,679,488 (+6.17 %)`: exact, and in proportion."""
    percent = share(delta, before)
    return signed(delta) + (f" ({percent})" if percent else "")


def share(delta: int, before: int | None) -> str:
    """`+6.17 %`; nothing where there was nothing before."""
    return proportion(delta, before or 0).replace("-", "−")


def since(report: DiffReport) -> str:
    """`main (1a2b3c4)`"""
    called, short = report.base.called, report.base.commit[:7]
    return called if called == short else f"{called} ({short})"


def is_shown(model: ModelDiff) -> bool:
    """Not what came or went without any parameters: activations, routers, criteria."""
    return bool(
        model.status in ("changed", "not_measured")
        or model.total_before
        or model.total_after
        or model.declared
        or model.findings
    )


def is_changed(model: ModelDiff) -> bool:
    """Both sides were counted, and something is not the same."""
    return model.status == "changed" or (model.status == "renamed" and bool(counts_of(model)))


def counts_of(model: ModelDiff) -> list[str]:
    """What changed: `frozen 0 → 12,345`."""
    if not isinstance(model.before, Measured) or not isinstance(model.after, Measured):
        return []
    changes = []
    for name, metric in METRICS.items():
        was, now = model.before.counts.of(name), model.after.counts.of(name)
        if was != now and metric.is_listed:
            values = ("–" if count is None else f"{count:,}" for count in (was, now))
            changes.append(f"{metric.label} {' → '.join(values)}")
    return changes


def beside_total(model: ModelDiff) -> str:
    """Of a model whose total is the same: what is not. Frozen says what trainable says."""
    counts = [text for text in counts_of(model) if not text.startswith("trainable ")]
    if counts:
        return f"same total; {', '.join(counts)}"
    renamed = sum(item.kind == "renamed" for item in model.modules)
    if renamed == len(model.modules) and renamed:
        return f"same total; {plural(renamed, 'module')} renamed"
    return "same total, in other modules" if model.modules else "unchanged"


def largest_first(models: Iterable[ModelDiff]) -> list[ModelDiff]:
    """Those that stand for themselves before those that others contain."""
    return sorted(models, key=lambda m: (not (m.top_level or m.declared), -abs(m.delta or 0)))


def headline(report: DiffReport) -> str:
    """`2 models changed: GPT +7,679,488 (+6.17 %), ViT −12 (−<0.01 %) · 1 new`"""
    if report.check.error is not None:
        return "nothing could be compared"
    models = largest_first(filter(is_changed, report.models))
    parts = []
    if models:
        largest = [model for model in models if model.delta][:_NAMED]
        names = [f"{m.name} {change(m.delta or 0, m.total_before)}" for m in largest]
        names += ["…"] if names and len(models) > len(names) else []
        listed = f": {', '.join(names)}" if names else ""
        parts.append(f"{plural(len(models), 'model')} changed{listed}")
    parts += [text for status, text in tally(report).items() if status != "changed"]
    if parts:
        return " · ".join(parts)
    shown = [model for model in report.models if is_shown(model)]
    if len(shown) == 1:
        return f"{shown[0].name} is unchanged"
    return f"{compared(report)}, none changed" if shown else "no model to compare"


def is_same(report: DiffReport) -> bool:
    """Whether nothing changed that is worth reporting."""
    shown = filter(is_shown, report.models)
    return all(model.status == "same" and not model.notes for model in shown)


def tally(report: DiffReport) -> dict[Status, str]:
    """`2 changed`, `1 new`, … by status, in this order."""
    counts = Counter(model.status for model in report.models if is_shown(model))
    counts["changed"] = sum(map(is_changed, report.models))
    return {s: f"{counts[s]:,} {word}" for s, word in _STATUS_WORDS.items() if counts[s]}


def compared(report: DiffReport) -> str:
    """How many models, without those that have no parameters."""
    return plural(sum(map(is_shown, report.models)), "model")


def unmeasured_words(model: ModelDiff, report: DiffReport) -> list[str]:
    """Of a model that was not counted on one side or on both: where, and why."""
    before, after = model.reasons
    then = report.base.called
    if before is not None and before == after:
        return [f"not measured, then or now: {before}"]
    words = [f"not measured now: {after}"] if after is not None else []
    return words + ([f"not measured at {then}: {before}"] if before is not None else [])


def known_count(model: ModelDiff, report: DiffReport) -> list[str]:
    """That of the other side."""
    if model.total_before is not None:
        return [f"{model.total_before:,} at {report.base.called}"]
    return [f"{model.total_after:,} now"] if model.total_after is not None else []
