"""Everything that was found → the `Report`, without what settings and comments silence."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nparam_lint import __version__
from nparam_lint.claims.suppressions import apply
from nparam_lint.records import Environment, Measured, Report
from nparam_lint.rules.catalogue import RULES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nparam_lint.config.settings import Settings
    from nparam_lint.gate.measure import CountResult
    from nparam_lint.gate.requests import ProjectSource, Selection
    from nparam_lint.records import Finding, ModelReport

_SOURCE_CODES = frozenset(
    {"NPL002", "NPL008", *(code for code in RULES if code.startswith("NPL1"))}
)
_BUDGET_CODES = frozenset(
    "NPL001 NPL003 NPL004 NPL005 NPL006 NPL007 NPL009 NPL011".split()
)  # found where a budget is declared
_MODEL_CODES = frozenset("NPL010 NPL012 NPL013".split())  # found in models without budgets too
# What NPL010 says of a model that was built, this says of its source.
_SAME_AS_HIDDEN = "NPL101"


def complete_codes(declared_only: bool, static_only: bool) -> frozenset[str]:
    """The codes of which a run finds everything there is in its files. A comment that ignores
    another code may be there for something that was not run, and is not called unused."""
    if static_only:
        return _SOURCE_CODES
    if declared_only:
        return _BUDGET_CODES | {"NPL002", "NPL008"}
    return _BUDGET_CODES | _SOURCE_CODES | _MODEL_CODES


def assemble_report(
    source: ProjectSource,
    selection: Selection,
    counted: CountResult,
    models: Sequence[ModelReport],
    complete: frozenset[str] = frozenset(),
) -> Report:
    """The report on a source whose models were counted and judged. `complete`: see
    `complete_codes`."""
    is_broken = counted.answers.broken is not None
    every = [*source.findings]
    if is_broken:  # then the models' findings say nothing of the models
        complete = frozenset()
    else:
        every += [finding for model in models for finding in model.findings]
    kept = sorted(
        _reported(every, source, complete),
        key=lambda f: (f.position.path, f.position.line, f.position.column, f.code, f.message),
    )
    known = {_identity(finding): finding for finding in kept}
    models = [
        replace(m, findings=() if is_broken else tuple(_known(m.findings, known))) for m in models
    ]
    snapshot = source.settings.snapshot
    return Report(
        version=__version__,
        environment=_environment(counted, models),
        models=tuple(models),
        findings=tuple(kept),
        skipped=tuple(selection.skipped),
        files=len(source.files),
        error=counted.error,
        staged=snapshot is not None and snapshot.commit is None,
    )


def reported_findings(findings: Iterable[Finding], source: ProjectSource) -> list[Finding]:
    """The findings that the source's settings, and the comments in it, do not silence."""
    return list(_reported(findings, source, frozenset()))


def _reported(
    findings: Iterable[Finding], source: ProjectSource, complete: frozenset[str]
) -> Iterator[Finding]:
    """The findings that settings and comments do not silence, with the configured severity; and
    one for each comment that silences nothing."""
    settings = source.settings
    files = {*source.files, *(b.position.path for b in settings.budgets)} if complete else set()

    def is_complete(code: str) -> bool:
        return code in complete and _is_on(code, settings)

    kept = [
        (item, own)
        for item in apply(findings, source.found.tree.source, files, is_complete)
        if _is_on(item.code, own := settings.for_file(item.position.path))
    ]
    hidden = {(f.position.path, f.position.line) for f, _ in kept if f.code == "NPL010"}
    for item, own in kept:
        place = (item.position.path, item.position.line)
        if item.code != _SAME_AS_HIDDEN or place not in hidden:
            severity = own.severity.get(item.code)
            yield replace(item, severity=severity) if severity else item


def _is_on(code: str, settings: Settings) -> bool:
    is_on = (
        any(code.startswith(selected) for selected in settings.select)
        if settings.select
        else RULES[code].enabled
    )
    return is_on and not any(code.startswith(ignored) for ignored in settings.ignore)


def _identity(finding: Finding) -> tuple[object, ...]:
    return finding.code, finding.position, finding.message


def _known(
    findings: Iterable[Finding], known: dict[tuple[object, ...], Finding]
) -> Iterator[Finding]:
    keys = (_identity(finding) for finding in findings)
    return (known[key] for key in keys if key in known)


def _environment(counted: CountResult, models: Sequence[ModelReport]) -> Environment | None:
    if counted.interpreter is None:
        return None
    devices = dict.fromkeys(
        name
        for model in models
        if isinstance(model.measurement, Measured)
        for name, result in model.measurement.devices.items()
        if result.status == "measured"
    )
    interpreter = counted.interpreter
    return Environment(
        interpreter.python, interpreter.reason, counted.answers.torch, tuple(devices)
    )
