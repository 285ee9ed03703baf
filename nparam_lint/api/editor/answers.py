"""What a check finds of a file, for an editor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from nparam_lint.analysis.formula_analysis import ANALYSIS
from nparam_lint.changes import causes
from nparam_lint.config.load import ConfigError
from nparam_lint.config.session import Progress, Session, open_session, root_around
from nparam_lint.config.settings import Settings
from nparam_lint.gate import check, with_lines_of
from nparam_lint.gate.report import Report
from nparam_lint.ground.errors import UsageError
from nparam_lint.ground.findings import Finding
from nparam_lint.ground.lines import lines_of
from nparam_lint.ground.paths import place_of

_NOTHING = Report(None, (), ())


class FileAnswer(Struct, frozen=True):
    """What was found of the file at `place` in its project. `text`: its lines, as they were.
    `is_built`: whether models were to be built at all. Why nothing was checked or built is the
    report's error."""

    session: Session
    place: str
    text: Sequence[str]
    report: Report
    is_built: bool = True


def read_lines(path: Path) -> list[str]:
    """Those of a file; none where it cannot be read."""
    try:
        return lines_of(path.read_bytes())
    except OSError:
        return []


def check_file(
    path: Path,
    environ: Mapping[str, str],
    progress: Progress,
    *,
    builds: bool,
    inside: bool = True,
) -> FileAnswer:
    """The findings of `check` for this file alone, and what its lines make. `builds`: whether code
    may be run. `inside`: whether the file is in a folder of the workspace; what is around any other
    file is not looked at."""
    text = read_lines(path)
    if not inside:
        alone = Session(Settings(path.parent), environ, list_below=lambda _: [path.name])
        report = check(alone, [path], static_only=True, with_dependents=False)
        return FileAnswer(alone, path.name, text, report, is_built=False)
    answer = replace(session_of(path, environ), text=text)
    if answer.report.error or answer.report.findings:
        return answer
    session = replace(answer.session, progress=progress)
    try:
        report = check(
            session, [path], static_only=not builds, with_dependents=False, analysis=ANALYSIS
        )
        if builds and (report.models or report.skipped):
            lines = with_lines_of(answer.place, report, session)
            report = replace(lines, findings=report.findings)
    except UsageError as error:
        report = replace(_NOTHING, error=str(error))
    return FileAnswer(session, answer.place, text, report, builds)


def check_around(
    paths: Sequence[Path], environ: Mapping[str, str], progress: Progress
) -> tuple[Finding, ...] | None:
    """The findings of `check` for files of one project, and for what depends on them, with what
    made each difference. None where nothing could be checked, which `check_file` tells."""
    answer = session_of(paths[0], environ)
    if answer.report.error or answer.report.findings:
        return None
    session = replace(answer.session, progress=progress)
    find_causes = causes.causes_by(environ)
    try:
        report = check(session, paths, analysis=ANALYSIS, find_causes=find_causes)
    except UsageError:
        return None
    session.trim_store()
    return None if report.error else report.findings


def session_of(path: Path, environ: Mapping[str, str]) -> FileAnswer:
    """A run on the project of a file; where its config is wrong, what is, as findings."""
    root = root_around(path)
    place = place_of(path, root)
    try:
        return FileAnswer(open_session(root, environ, place=path.parent), place, [], _NOTHING)
    except ConfigError as error:
        there = [problem for problem in error.problems if problem.position.path]
        findings = (Finding("", p.severity, p.position, p.message) for p in there)
        elsewhere = "\n".join(p.message for p in error.problems if p not in there)
        report = replace(_NOTHING, findings=tuple(findings), error=elsewhere or None)
        return FileAnswer(Session(Settings(root), environ), place, [], report)
