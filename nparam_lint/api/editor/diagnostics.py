"""Findings as an editor shows them, and which of them are shown in which file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from nparam_lint.api.editor.answers import read_lines
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.ground.printable import clean
from nparam_lint.ground.values import Position
from nparam_lint.report import style

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from pygls.workspace import PositionCodec

    from nparam_lint.ground.findings import Finding

SOURCE = "nparam-lint"
_SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
}
_REST = late_pattern(r"\S.*?(?=\s*$)")


class Board:
    """The findings that are shown, by project and by file."""

    def __init__(self) -> None:
        self._findings: dict[Path, list[Finding]] = {}

    def replace(
        self, root: Path, findings: Iterable[Finding], owner: str | None = None
    ) -> set[Path]:
        """Show these findings of a project: instead of those about the models of the file `owner`,
        or, without one, instead of all. Gives the files in which something changes, or may."""
        before = self._findings.get(root, [])
        staying = [
            finding
            for finding in before
            if owner is not None
            and finding.code  # what is wrong with the config has none
            and (finding.target.partition("::")[0] or finding.position.path) != owner
        ]
        self._findings[root] = list(dict.fromkeys((*staying, *findings)))
        return {root / finding.position.path for finding in (*before, *self._findings[root])}

    def of(self, path: Path) -> Iterator[tuple[Path, Finding]]:
        """The findings in a file, each with the root of its project."""
        for root, findings in self._findings.items():
            yield from ((root, f) for f in findings if root / f.position.path == path)


def _range(
    lines: Sequence[str], at: Position, codec: PositionCodec, width: int | None = None
) -> types.Range:
    """So many characters, or what is left of the line."""
    text = lines[at.line - 1] if at.line <= len(lines) else ""
    start = at.column - 1
    end = len(text) if width is None else start + width
    if width is None and (rest := _REST.search(text, start)):
        start, end = rest.span()
    return types.Range(
        types.Position(at.line - 1, codec.client_num_units(text[:start])),
        types.Position(at.line - 1, codec.client_num_units(text[:end])),
    )


def diagnostic(
    finding: Finding,
    root: Path,
    lines: Sequence[str],
    codec: PositionCodec,
    rule_page: Callable[[str], str | None],
) -> types.Diagnostic:
    """`lines`: of the file that it is in; `rule_page`: where the page of a rule is."""
    href = rule_page(finding.code) if finding.code else None
    at, width = finding.position, None  # the rest of the line, unless the declared number is known
    budget = finding.lines[0] if finding.lines else None
    if budget and (budget.position.path, budget.position.line) == (at.path, at.line):
        at, width = budget.position, budget.width
    related = []
    for line in finding.lines[1:]:  # those that were edited, and those that make what changed
        words = f"{finding.since}: this line" if finding.since else "this line"
        related.append(_at(line.position, f"{words} changed", root, codec))
    for change in finding.changes:
        times = f" ({change.times}×)" if change.times > 1 else ""
        words = f"{change.mark} {change.path}{times}  {change.what}  {style.signed(change.delta)}"
        place = Position.read(change.source) or finding.position
        related.append(_at(place, words, root, codec))
    return types.Diagnostic(
        _range(lines, at, codec, width),
        clean(finding.message),
        _SEVERITIES[finding.severity],
        code=finding.code or None,
        code_description=types.CodeDescription(href) if href else None,
        source=SOURCE,
        related_information=related or None,
    )


def _at(
    at: Position, words: str, root: Path, codec: PositionCodec
) -> types.DiagnosticRelatedInformation:
    path = root / at.path
    where = _range(read_lines(path), Position(at.path, at.line), codec)
    return types.DiagnosticRelatedInformation(types.Location(path.as_uri(), where), clean(words))
