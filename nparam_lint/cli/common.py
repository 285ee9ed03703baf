"""What the commands have in common: options, settings, progress, and how a report leaves."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from nparam_lint.capabilities import device_names

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Mapping

    from nparam_lint.config.settings import Settings
    from nparam_lint.records import Finding, Report
    from nparam_lint.report import Options
    from nparam_lint.repository.snapshot import Snapshot

T = TypeVar("T")

TABLES = 16  # a model zoo has hundreds; -v prints them all
_SETTINGS = ("python", "device", "tolerance", "timeout", "memory", "jobs", "format", "depth")


class UsageError(Exception):
    """The command cannot do what was asked; the message says what to do."""


# --- options ----------------------------------------------------------------------------------


def add_paths(parser: argparse.ArgumentParser) -> None:
    help = "files or directories (default: the current directory)"
    parser.add_argument("paths", nargs="*", metavar="PATH", help=help)


def add_output(parser: argparse.ArgumentParser) -> None:
    out = parser.add_argument_group("output")
    out.add_argument(
        "--format",
        help="text (default), concise, json, markdown, html; github, gitlab, sarif, junit for CI",
    )
    out.add_argument(
        "--output-file", metavar="FILE", help="write the report there; standard output gets text"
    )
    out.add_argument("--depth", help="how deep the tables go (default: what fits)")
    out.add_argument("--color", choices=("auto", "always", "never"), default="auto")
    out.add_argument(
        "-v", "--verbose", action="count", default=0, help="more detail: what was skipped, why"
    )
    out.add_argument("-q", "--quiet", action="store_true", help="findings and summary only")


def add_building(parser: argparse.ArgumentParser) -> None:
    build = parser.add_argument_group("building")
    build.add_argument(
        "--device", help=f"auto (meta, then cuda where present), {', '.join(device_names()[1:])}"
    )
    build.add_argument("--python", help="the project's interpreter or environment")
    build.add_argument("--config", metavar="FILE", help="config file (default: pyproject.toml)")
    build.add_argument("--timeout", metavar="SECONDS", help="for one model (default: 60)")
    build.add_argument("--memory", help='for one model: "8GB" (default: half of the machine\'s)')
    build.add_argument("--jobs", metavar="N", help="models built at a time (default: one per core)")
    build.add_argument("--no-cache", action="store_true", help="neither read nor write the cache")


def add_judging(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--tolerance", help='how far a count may be from a rounded budget (86.6M): "0.5%%"'
    )
    parser.add_argument("--select", metavar="CODES", help="report only these codes: NPL001,NPL013")
    parser.add_argument("--ignore", metavar="CODES", help="do not report these codes")


# --- from options to settings -----------------------------------------------------------------


def settings_for(
    options: argparse.Namespace,
    environ: Mapping[str, str],
    start: Path,
    snapshot: Snapshot | None = None,
    root: Path | None = None,
) -> Settings:
    """The settings of the project around `start`, in the working tree or in a copy; of that at
    `root`, where this is known."""
    from nparam_lint.config.load import ConfigError, load_settings
    from nparam_lint.discover import find_root
    from nparam_lint.report import FORMATS

    config = Path(options.config).absolute() if options.config else None
    if config is not None and not config.is_file():
        raise UsageError(f"there is no config file {options.config}")
    given = {name: getattr(options, name, None) for name in (*_SETTINGS, "select", "ignore")}
    top = snapshot.directory if snapshot else None
    root = config.parent if config else root or find_root(start.absolute(), top)
    if given["python"] and os.sep in given["python"]:
        given["python"] = str(Path(given["python"]).expanduser().absolute())
    try:
        settings = load_settings(root, config, environ, given, snapshot)
    except ConfigError as error:
        raise UsageError(f"the configuration is wrong\n{error}") from None
    if settings.format not in FORMATS:
        import difflib

        near = difflib.get_close_matches(settings.format, FORMATS, 1)
        hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(FORMATS)}"
        raise UsageError(f"there is no format {settings.format!r}; {hint}")
    return settings if options.no_cache else settings.remembering(environ)


def checked_paths(texts: list[str]) -> list[Path]:
    """The paths that were given, absolute. Raises UsageError for one that cannot be checked."""
    paths = [Path(text) for text in texts]
    for path in paths:
        if not path.exists():
            target = "::" in str(path)
            hint = f"; to see one model: nparam-lint show '{path}'" if target else ""
            raise UsageError(f"there is no file or directory {path}{hint}")
        if path.is_file() and path.suffix != ".py":
            raise UsageError(f"{path} is not a Python file; models are read from .py files")
    return [path.absolute() for path in paths]


def guarded(work: Callable[[], T]) -> T:
    """Do the work; a missing interpreter is a usage error."""
    from nparam_lint.count.interpreter import NoInterpreter

    try:
        return work()
    except NoInterpreter as error:
        raise UsageError(str(error)) from None


def progress() -> Callable[[int, int, str], None] | None:
    """A line on the terminal that says how far the counting is; nothing elsewhere."""
    if not sys.stderr.isatty():
        return None

    def show(done: int, every: int, label: str) -> None:
        width = shutil.get_terminal_size().columns
        text = "" if done == every else f"counting {done}/{every}  {label}"[: width - 1]
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)

    return show


# --- the way out ------------------------------------------------------------------------------


def deliver(
    report: Report,
    options: argparse.Namespace,
    settings: Settings,
    environ: Mapping[str, str],
    *,
    page: Callable[[Options], str] | None = None,
    failed: bool = False,
) -> int:
    """Write the report in the requested format; returns the exit code. `page` renders what is shown
    to people instead of the text report. If another format goes to a file, the text report goes to
    standard output: an empty log helps nobody."""
    from nparam_lint.report import FORMATS

    shown = layout(options, settings)

    def rendered(name: str) -> str:
        return page(shown) if name == "text" and page else FORMATS[name](report, shown)

    if settings.format == "github":
        from nparam_lint.report.markdown import summary

        append_step_summary(lambda room: summary(report, shown, room), environ)
    write(rendered(settings.format), options.output_file)
    if options.output_file and settings.format != "text":
        write(rendered("text"), None)
    return exit_code(report.error, report.findings, failed)


def exit_code(error: str | None, findings: Iterable[Finding], failed: bool = False) -> int:
    """0 no findings, 1 findings, 2 the check could not be done; then the error is printed."""
    if error:
        print(f"nparam-lint: {error}", file=sys.stderr)
        return 2
    return int(failed or any(finding.severity == "error" for finding in findings))


def failed(error: Exception, document: str, options: argparse.Namespace) -> int:
    """Report that the command could not be carried out: the error for people on standard error, and
    a document in the requested format that says the same. Returns the exit code."""
    print(f"nparam-lint: {error}", file=sys.stderr)
    write(document, options.output_file)
    return 2


def write(text: str, file: str | None) -> None:
    """To `file`, else to standard output."""
    if text and not text.endswith("\n"):
        text += "\n"
    if file is None:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    try:
        Path(file).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}") from None


def append_step_summary(render: Callable[[int], str], environ: Mapping[str, str]) -> None:
    """Under GitHub Actions, the tables for the page of the run; `render` is told how many bytes
    there is room for. GitHub drops a step's summary that is too long as a whole, what other
    commands of the step wrote included."""
    file = environ.get("GITHUB_STEP_SUMMARY")
    if not file:
        return
    from nparam_lint.report.blocks import SUMMARY

    try:
        with Path(file).open("ab") as stream:
            stream.write(render(SUMMARY - stream.tell()).encode("utf-8", "replace"))
    except OSError as error:
        print(f"nparam-lint: cannot write the step summary: {error}", file=sys.stderr)


def layout(options: argparse.Namespace, settings: Settings) -> Options:
    from nparam_lint.report import Options

    return Options(
        width=terminal_width(),
        color=wants_color(options, settings, os.environ),
        depth=settings.depth,
        verbose=options.verbose,
        quiet=options.quiet,
        tables=TABLES if not options.verbose else sys.maxsize,
        place=" ".join(getattr(options, "paths", ())),
        declared_only=getattr(options, "declared", False),
        prefix=_prefix(settings.home),
    )


def _prefix(home: Path) -> str:
    """Where a project lies in its repository: "" at the top, and where there is no repository."""
    tops = (top for top in (home, *home.parents) if (top / ".git").exists())
    inside = home.relative_to(next(tops, home)).as_posix()
    return "" if inside == "." else inside


def terminal_width() -> int:
    """The width of the terminal, also where a hook runner stands between it and us."""
    columns = shutil.get_terminal_size((0, 0)).columns
    if columns == 0:
        try:
            with Path("/dev/tty").open() as terminal:
                columns = os.get_terminal_size(terminal.fileno()).columns
        except OSError:
            pass
    return columns or 100


def wants_color(
    options: argparse.Namespace, settings: Settings, environ: Mapping[str, str]
) -> bool:
    if options.color != "auto":
        return bool(options.color == "always")
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR"):
        return True
    to_file = bool(options.output_file) and settings.format == "text"
    return not to_file and sys.stdout.isatty() and environ.get("TERM") != "dumb"
