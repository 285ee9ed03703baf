"""One line for each model that is not as it was, `path:line:col: …`, then one for each finding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nparam_lint.records import Report
from nparam_lint.report import concise
from nparam_lint.report.drift import words
from nparam_lint.report.style import clean

if TYPE_CHECKING:
    from nparam_lint.analysis.diff import DiffReport, ModelDiff
    from nparam_lint.report import Options


def render(report: DiffReport, options: Options) -> str:
    lines = [
        f"{clean(at.path)}:{at.line}:{at.column}: {words.name_of(model)} {_told(model, report)}\n"
        for model in report.models
        if model.status != "same" and words.is_shown(model)
        for at in (model.position,)
    ]
    found = Report(report.version, None, (), report.findings)
    return "".join(lines) + concise.render(found, options)


def _told(model: ModelDiff, report: DiffReport) -> str:
    before, after = model.total_before, model.total_after
    was = f" (was {clean(model.before_target)})" if model.before_target else ""
    if model.status == "not_measured":
        told = [*words.unmeasured_words(model, report), *words.known_count(model, report)]
        return "; ".join(told) + was
    if model.status == "added":
        return f"{after:,} new"
    if model.status == "removed":
        return f"{before:,} gone"
    if model.delta and before is not None and after is not None:
        return f"{before:,} → {after:,} {words.change(before, after)}{was}"
    return f"{after:,} {words.beside_total(model)}{was}"
