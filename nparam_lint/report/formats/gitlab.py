"""GitLab's Code Quality report: a JSON array with one object for each finding.

The merge request shows what is new and what is gone by `fingerprint`, and drops what repeats one.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from nparam_lint.ground.printable import clean
from nparam_lint.ground.values import Position
from nparam_lint.report import Document, Options
from nparam_lint.report.budget_outcomes import UNANSWERED
from nparam_lint.report.findings import details, fingerprints, identity, ranked, repository_path

_NOWHERE = "pyproject.toml"  # stands in: this format needs a file for every finding


def render(document: Document, options: Options) -> str:
    report = document.report
    assert report is not None
    entries = []
    if report.error is not None:
        text = f"nothing could be checked: {report.error}"
        name, severity, place = identity("not checked"), "critical", Position(_NOWHERE)
        entries.append(_entry("nparam-lint", severity, text, place, name, options))
    identities = fingerprints(report, options)
    for finding in dict.fromkeys(ranked(report)):
        # A missing answer is worse than a wrong number, since it may hide any count.
        severity = "critical" if finding.code in UNANSWERED else "major"
        severity = "minor" if finding.severity == "warning" else severity
        place, name = finding.position, identities[finding]
        text = finding.message
        if finding.changes:  # a description has one line
            since, change, *_ = details(finding, sys.maxsize)
            text += f"; {since} {' '.join(change.split())}"
        entries.append(_entry(finding.code, severity, text, place, name, options))
    return json.dumps(entries, indent=1) + "\n"


def _entry(
    code: str, severity: str, message: str, at: Position, fingerprint: str, options: Options
) -> dict[str, Any]:
    path = clean(repository_path(at.path, options))
    return {
        "check_name": code,
        "description": clean(message),
        "severity": severity,
        "fingerprint": fingerprint,
        "location": {"path": path, "lines": {"begin": max(at.line, 1)}},
    }
