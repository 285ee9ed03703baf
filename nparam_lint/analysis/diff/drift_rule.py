"""NPL014: a count changed by more than the tolerance, and no budget declares it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from nparam_lint.analysis.diff.fold_changes import lines_of
from nparam_lint.records import Finding, Measured
from nparam_lint.rules.catalogue import RULES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from nparam_lint.analysis.diff.diff_records import Base, ModelDiff
    from nparam_lint.analysis.diff.fold_changes import Line
    from nparam_lint.claims.grammar import Tolerance

CODE = "NPL014"
_NAMED = 5  # modules below a finding


def judge_drift(
    models: Sequence[ModelDiff],
    tolerance: Tolerance,
    base: Base,
    heed: Callable[[Iterable[Finding]], list[Finding]],
) -> list[ModelDiff]:
    """The models with their findings. What nobody declares and is part of a model that changed
    with it is judged there; a budget of the same model with other arguments explains it, too."""
    changed = [model for model in models if model.delta]
    judged = []
    for model in models:
        if _drifts(model, tolerance) and not model.explained:
            others = [] if model.declared else [m for m in changed if m is not model]
            wholes = [other for other in others if _contains(other, model)]
            variants = [other for other in others if _bare(other) == _bare(model)]
            by = next((other for other in (*wholes, *variants) if other.explained), None)
            if by is not None:
                words = f"with {_name(by)}: {by.explanation}"
                model = replace(model, explained=True, explanation=words)
            elif not wholes:
                model = replace(model, findings=tuple(heed([_finding(model, base)])))
        judged.append(model)
    return judged


def _drifts(model: ModelDiff, tolerance: Tolerance) -> bool:
    delta, total = model.delta, model.total_before
    return bool(delta) and abs(delta or 0) > tolerance.of(Fraction(total or 0))


def _contains(whole: ModelDiff, part: ModelDiff) -> bool:
    now, inner = whole.after, part.after
    return isinstance(now, Measured) and isinstance(inner, Measured) and inner.type in now.types


def _bare(model: ModelDiff) -> str:
    return model.target.partition("(")[0]


def _name(model: ModelDiff) -> str:
    return model.target.partition("::")[2]


def _finding(model: ModelDiff, base: Base) -> Finding:
    before, after, delta = model.total_before, model.total_after, model.delta
    assert before is not None
    assert after is not None
    assert delta is not None
    share = f", {100 * delta / before:+,.2f} %" if before else ""
    message = (
        f"{_name(model)} has {after:,} parameters, {before:,} at {base.called}: {delta:+,}{share}; "
        f"{model.explanation}"
    )
    lines = sorted(lines_of(model.modules, _NAMED), key=lambda line: -abs(line.sum))
    detail = [_told(line) for line in lines[:_NAMED] if line.sum]
    remedy = f"if the change is meant, declare it: nparam: {after:_}"
    severity = RULES[CODE].severity
    told = (*(["changed most:", *detail] if detail else []), remedy)
    return Finding(CODE, severity, model.position, message, model.target, told)


def _told(line: Line) -> str:
    source = line.change.row.source if line.change else None
    return f"{line.sum:>+15,}  {line.path or '(its own)'}" + (f"  {source}" if source else "")
