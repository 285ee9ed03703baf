"""What GitHub, GitLab and their like want of findings: an order, a path, and an identity."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from nparam_lint.report.budget_rows import size
from nparam_lint.report.style import by_place

if TYPE_CHECKING:
    from nparam_lint.records import Finding, Position, Report
    from nparam_lint.report.document import Options

_DRIFT = ("NPL001", "NPL013")


def ranked(report: Report) -> list[Finding]:
    """Worst first: errors before warnings, of broken budgets those that are furthest off in
    proportion, then by place. Forges show a few and drop the rest."""
    off: dict[Position, float] = {}
    for model in report.models:
        for budget in model.budgets:
            if not budget.ok:
                off[budget.position] = max(off.get(budget.position, 0.0), size(budget))

    def rank(finding: Finding) -> tuple[object, ...]:
        drift = off.get(finding.position, 0.0) if finding.code in _DRIFT else 0.0
        return (finding.severity != "error", -drift, by_place(finding))

    return sorted(report.findings, key=rank)


def repository_path(path: str, options: Options) -> str:
    """From the root of the repository, in which the project may lie in a directory of its own."""
    path = path.removeprefix("./")
    inside = options.prefix.strip("/")
    return f"{inside}/{path}" if inside and not path.startswith("/") else path


def fingerprints(report: Report, options: Options) -> dict[Finding, str]:
    """An identity for each finding that outlives its line and its numbers, so that a forge knows it
    again: of its path, target, code and selector. Of several that these do not tell apart, each is
    known by its rank among them, in the order of the source and of the model's modules."""
    selectors: dict[tuple[str, Position], str] = {}
    order: dict[Finding, int] = {}
    for model in report.models:
        selectors |= {(model.target, b.position): b.selector for b in model.budgets}
        for finding in model.findings:
            order.setdefault(finding, len(order))

    def place(finding: Finding) -> tuple[object, ...]:
        at = finding.position
        return (at.path, at.line, at.column, order.get(finding, -1), by_place(finding))

    seen: dict[tuple[str, ...], int] = {}
    found: dict[Finding, str] = {}
    for finding in sorted(set(report.findings), key=place):
        selector = selectors.get((finding.target, finding.position), "")
        path = repository_path(finding.position.path, options)
        key = (path, finding.target, finding.code, selector)
        rank = seen[key] = seen.get(key, -1) + 1
        found[finding] = identity(*key, *([str(rank)] if rank else []))
    return found


def identity(*parts: str) -> str:
    """One text for several, of a length that every forge takes."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
