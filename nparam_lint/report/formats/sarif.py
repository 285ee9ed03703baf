"""SARIF 2.1.0, for GitHub's code scanning and whatever else reads it.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/sarif-v2.1.0-errata01-os-complete.html
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from urllib.parse import quote

from nparam_lint.ground.findings import Finding
from nparam_lint.ground.printable import clean
from nparam_lint.ground.rule_catalogue import RULES, explain
from nparam_lint.ground.version import __version__
from nparam_lint.report import Document, Json, Options
from nparam_lint.report.findings import details, fingerprints, ranked, repository_path
from nparam_lint.report.style import plural

_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_SITE = "https://nparam-lint.github.io/nparam-lint/"
_KEPT = 5_000  # GitHub keeps no more of a run
_FINGERPRINT = "nparamLint/v1"
_ROOT = "%SRCROOT%"


def render(document: Document, options: Options) -> str:
    report = document.report
    assert report is not None
    findings = list(dict.fromkeys(ranked(report)))
    shown = findings[:_KEPT]
    codes = sorted({finding.code for finding in shown})
    identities = fingerprints(report, options)
    rules = [_rule(code) for code in codes]
    notices = []
    if report.error is not None:
        notices.append(("error", "not-checked", report.error))
    if hidden := len(findings) - len(shown):
        more = plural(hidden, "more finding")
        text = f"{more} left out: no more than {_KEPT:,} are kept of a run"
        notices.append(("warning", "findings-left-out", text))
    notes = [
        {"level": level, "descriptor": {"id": name}, "message": {"text": _lines([text])}}
        for level, name, text in notices
    ]
    invocation = {
        "executionSuccessful": report.error is None,
        "toolExecutionNotifications": notes,
    }
    us = {"name": "nparam-lint", "version": __version__, "informationUri": _SITE, "rules": rules}
    run = {
        "tool": {"driver": us},
        "automationDetails": {"id": "nparam-lint/"},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The root of the repository."}}},
        "invocations": [invocation],
        "results": [_result(f, codes.index(f.code), identities[f], options) for f in shown],
    }
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    # ASCII, as in the JSON report.
    return json.dumps(log, separators=(",", ":")) + "\n"


def _rule(code: str) -> Json:
    rule = RULES.get(code)
    if rule is None:
        return {"id": code}
    explanation = " ".join(rule.explanation.split())
    paragraphs = (
        explanation,
        "Reported:",
        f"```\n{rule.example_bad}\n```",
        "Better:",
        f"```\n{rule.example_good}\n```",
        f"**What to do:** {rule.remedy}\n",
    )
    return {
        "id": code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": explanation},
        "helpUri": f"{_SITE}rules/#{code.lower()}-{rule.name}",
        "help": {"text": explain(code), "markdown": "\n\n".join(paragraphs)},
        "defaultConfiguration": {"level": rule.severity},
    }


def _result(finding: Finding, index: int, fingerprint: str, options: Options) -> Json:
    at = finding.position
    path = repository_path(at.path, options)
    try:
        uri = quote(path.encode("utf-8", "surrogateescape"))  # a name as it is on disk
    except UnicodeEncodeError:
        uri = quote(path.encode("utf-8", "replace"))
    # A file of an installed package lies outside of the repository.
    where = {"uri": f"file://{uri}"} if uri.startswith("/") else {"uri": uri, "uriBaseId": _ROOT}
    region = {"startLine": max(at.line, 1), "startColumn": max(at.column, 1)}
    place: Json = {"physicalLocation": {"artifactLocation": where, "region": region}}
    if finding.target:
        place["logicalLocations"] = [{"fullyQualifiedName": clean(finding.target)}]
    return {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": finding.severity,
        "message": {"text": _lines([finding.message, *details(finding)])},
        "locations": [place],
        "partialFingerprints": {_FINGERPRINT: fingerprint},
    }


def _lines(texts: Sequence[str]) -> str:
    return "\n".join(clean(line) for text in texts for line in text.splitlines() or [""])
