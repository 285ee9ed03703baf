"""The last lines: how many models and budgets, how long it took, and who counted."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from nparam_lint.records import Measured
from nparam_lint.report.budget_outcomes import all_budgets
from nparam_lint.report.document import Parts
from nparam_lint.report.style import NO_CUDA, clean, plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nparam_lint.records import Report
    from nparam_lint.report.document import Options

_Part = tuple[str, str]


def summary_of(report: Report, options: Options) -> tuple[Parts, ...]:
    budgets = [] if report.error else list(_budgets(report))
    parts = [("", _models(report)), *budgets, *_findings(report, bool(budgets))]
    lines = [Parts((*parts, ("", f"{report.seconds:.1f} s")))]
    if options.quiet:
        return tuple(lines)
    silent = _silent(report)
    absent = sorted({(name, reason) for name, _, reason in silent if reason in NO_CUDA})
    if report.environment is not None:
        known = [f"{name} skipped ({reason})" for name, reason in absent]
        judged = ["judged: what is staged"] if report.staged else []
        about = [*_environment(report), *known, *judged]
        lines.append(Parts(tuple(("dim", clean(part)) for part in about), "dim"))
    for (name, status, reason), count in silent.items():
        if report.environment is None or options.verbose or (name, reason) not in absent:
            text = f"{name} {status} for {plural(count, 'model')}: {clean(reason)}"
            lines.append(Parts((("dim", text),)))
    return tuple(lines)


def _models(report: Report) -> str:
    models = report.models
    if report.source_only:
        return f"{plural(report.files, 'Python file')}, source only"
    if report.error or not models:
        return "no model measured" if models or report.skipped else "0 models"
    measured = sum(isinstance(model.measurement, Measured) for model in models)
    cached = sum(model.measurement.cached for model in models)
    text = f"{plural(len(models), 'model')}: {measured:,} measured"
    if measured < len(models):
        text += f", {len(models) - measured:,} not measured"
    return text + (f" ({cached:,} from the cache)" if cached else "")


def _budgets(report: Report) -> Iterator[_Part]:
    every = all_budgets(report)
    states = Counter(claim.state for claim in every if not claim.prose)
    if good := states["holds"]:
        yield ("green", f"{plural(good, 'budget')} {'holds' if good == 1 else 'hold'}")
    if states["broken"]:
        yield ("red", f"{plural(states['broken'], 'budget')} broken")
    if states["not checked"]:
        yield ("red", f"{plural(states['not checked'], 'budget')} not checked")
    if states["ignored"]:
        yield ("dim", f"{plural(states['ignored'], 'budget')} ignored")
    if held := sum(claim.prose and claim.state == "holds" for claim in every):
        yield ("", f"{plural(held, 'claim')} in prose {'holds' if held == 1 else 'hold'}")


def _findings(report: Report, budgets: bool) -> Iterator[_Part]:
    """Broken budgets have been counted as such."""
    found = [f for f in report.findings if not (budgets and f.code == "NPL001")]
    errors = sum(finding.severity == "error" for finding in found)
    other = len(found) < len(report.findings)
    if errors:
        yield ("red", plural(errors, "other error" if other else "error"))
    if len(found) > errors:
        yield ("yellow", plural(len(found) - errors, "warning"))


def _environment(report: Report) -> list[str]:
    where = report.environment
    assert where is not None
    python = f"{where.python} ({where.reason})" if where.reason else where.python
    torch = f"torch {where.torch}" if where.torch else "no torch"
    return [python, torch, *([", ".join(where.devices)] if where.devices else [])]


def _silent(report: Report) -> dict[tuple[str, str, str], int]:
    """What a device did not say is said: it is no agreement. Where meta failed, CPU counted."""
    silent: dict[tuple[str, str, str], int] = {}
    for model in report.models:
        for name, device in model.measurement.devices.items():
            asked = name != "meta" and isinstance(model.measurement, Measured)
            if device.status == "skipped" or (device.status == "failed" and asked):
                key = (name, device.status, device.reason or "no reason given")
                silent[key] = silent.get(key, 0) + 1
    return silent
