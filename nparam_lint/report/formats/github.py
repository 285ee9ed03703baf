"""Workflow commands, which GitHub shows as annotations at their lines; then a log for people.

GitHub keeps 10 errors and 10 warnings of a step and silently drops the rest: the worst come first,
and the tenth says how many are not shown. No other line can be mistaken for a command to the
runner.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

from msgspec.structs import replace

from nparam_lint.ground.printable import clean, inert
from nparam_lint.ground.rule_catalogue import RULES
from nparam_lint.ground.values import Severity
from nparam_lint.report import Document, Options, style
from nparam_lint.report.findings import details, joined, ranked, repository_path
from nparam_lint.report.formats import concise, text

_SHOWN = 10  # of each level in a step
_LISTED = 20  # of those that have no annotation
_LONGEST = 4_000  # characters of a message
_LEVELS: tuple[Severity, ...] = ("error", "warning")
_FAILED = "nparam-lint: nothing could be checked"


def render(document: Document, options: Options) -> str:
    report = document.report
    assert report is not None
    findings = joined(ranked(report))
    lines = [] if report.error is None else [_command("error", {"title": _FAILED}, report.error)]
    for level in _LEVELS:
        alike = [finding for finding in findings if finding.severity == level]
        room = _SHOWN - (len(lines) if level == "error" else 0)
        shown = len(alike) if len(alike) <= room else room - 1
        for finding in alike[:shown]:
            at, rule = finding.position, RULES.get(finding.code)
            properties = {
                "file": repository_path(at.path, options),
                "line": str(at.line),
                "col": str(at.column),
                "title": f"{finding.code} {rule.name}" if rule else finding.code,
            }
            message = "\n".join([finding.message, *details(finding)])
            lines.append(_command(level, properties, message))
        if hidden := alike[shown:]:
            more = style.plural(len(hidden), f"more {level}")
            title = f"… and {more}, in the log and the job summary"
            places = [f"{f.position}: {f.code} {f.message}" for f in hidden[:_LISTED]]
            places += ["…"] * (len(hidden) > _LISTED)
            lines.append(_command(level, {"title": title}, "\n".join(places)))
    return "\n".join([*lines, *(inert(clean(line)) for line in _log(document, options))]) + "\n"


def _command(level: Severity, properties: Mapping[str, str], message: str) -> str:
    text = "\n".join(clean(line) for line in message.splitlines())
    pairs = (f"{name}={_data(clean(value))}" for name, value in properties.items())
    listed = ",".join(pair.replace(":", "%3A").replace(",", "%2C") for pair in pairs)
    return f"::{level} {listed}::{_data(style.elide_end(text, _LONGEST))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _log(document: Document, options: Options) -> list[str]:
    """A line for each finding, and what was counted; only the latter if there are no findings. If
    the document has more than findings, all of its text."""
    plain = replace(options, color=False)  # a runner's log would show the codes, made harmless
    if document.lines:
        return text.render(document, plain).splitlines()
    layout = replace(plain, width=sys.maxsize)
    lines = concise.render(document, options).splitlines()
    page = document.page(replace(layout, quiet=options.quiet or not lines))
    if page.nothing:
        return [page.nothing]
    return [*lines, *([""] if lines else []), *(block.text for block in page.summary)]
