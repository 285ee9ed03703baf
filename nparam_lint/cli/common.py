"""What the commands have in common: options, settings, progress, and output: in which format, to
which place, and with which exit code."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from nparam_lint.analysis import roles
from nparam_lint.cli import progress
from nparam_lint.config import projects
from nparam_lint.config import session as sessions
from nparam_lint.config.settings import GENERAL, Settings
from nparam_lint.gate import report
from nparam_lint.ground.errors import Aside, UsageError
from nparam_lint.ground.metrics import DEVICE_NAMES
from nparam_lint.ground.nearest import did_you_mean, did_you_mean_path
from nparam_lint.ground.notation import TextError
from nparam_lint.ground.notation.grammar import Tolerance, parse_tolerance
from nparam_lint.ground.printable import inert
from nparam_lint.report import Document, Options, check_document, style
from nparam_lint.report.formats import (
    FOR_TERMINALS,
    FORMATS,
    Need,
    chunks,
    formats_for,
    markdown,
    refusal,
    render,
)
from nparam_lint.repository import calling_directory, repository_top

if TYPE_CHECKING:
    from nparam_lint.config.session import Session
    from nparam_lint.repository.snapshot import Snapshot


# --- options ----------------------------------------------------------------------------------


def add_paths(parser: ArgumentParser) -> None:
    help = "files or directories (default: the whole project)"
    parser.add_argument("paths", nargs="*", metavar="PATH", help=help)


def add_all_ways(parser: ArgumentParser | argparse._ArgumentGroup) -> None:
    """The option to try all ways to build a model, of which the settings allow some."""
    parser.add_argument(
        "--all-ways",
        action="store_true",
        help="try every way to build a model that the repository has (default: the first 20), "
        "however long it takes",
    )


def add_building(parser: ArgumentParser) -> argparse._ArgumentGroup:
    """Options of how models are built, and the group of those that few need."""
    build = parser.add_argument_group("building")
    build.add_argument(
        "--device", help=f"auto (meta, then cuda if present), {', '.join(DEVICE_NAMES[1:])}"
    )
    build.add_argument("--python", help="the project's interpreter or environment")
    build.add_argument("--config", metavar="FILE", help="config file (default: pyproject.toml)")
    advanced = parser.add_argument_group("advanced (limits, other machines, the cache)")
    advanced.add_argument(
        "--timeout", metavar="SECONDS", help="limit for one model or source file (default: 60)"
    )
    advanced.add_argument(
        "--memory", help='limit for one model: "8GB" (default: half of the machine\'s memory)'
    )
    advanced.add_argument(
        "--jobs", metavar="N", help="models built at the same time (default: one per core)"
    )
    advanced.add_argument(
        "--on", metavar="ADDRESS", help="build on other machines: dask://HOST:PORT"
    )
    advanced.add_argument(
        "--remote-python", metavar="PATH", help="the interpreter there (default: its worker's own)"
    )
    advanced.add_argument(
        "--no-cache", action="store_true", help="neither read nor write the cache"
    )
    return advanced


def add_output(
    parser: ArgumentParser,
    has: Need,
    *,
    verbose: str = "more detail: what was skipped, and why",
    quiet: str = "findings and summary only",
    depth: str = "levels of modules in the tables (default: what fits)",
    echo: bool = True,
) -> None:
    """The options of every command that makes a document; `has`: what the document contains besides
    text and tables. An option whose help is empty is omitted. `echo`: if the document goes to a
    file, the text report goes to standard output, so that a log is never empty."""
    formats = formats_for(has)
    command = parser.get_default("command")

    def format_of(text: str) -> str:
        if text not in formats:
            raise argparse.ArgumentTypeError(refusal(command, text, formats))
        return text

    out = parser.add_argument_group("output")
    out.add_argument(
        "--format",
        type=format_of,
        metavar="FORMAT",
        help=f"{formats[0]} (default), {', '.join(formats[1:])}",
    )
    also = "; where its format is not text, text is printed, too" if echo else ""
    out.add_argument("-o", "--output-file", metavar="FILE", help=f"write the report to FILE{also}")
    add_color(out)
    if depth:
        out.add_argument("--depth", help=depth)
    if verbose:
        out.add_argument("-v", "--verbose", action="count", default=0, help=verbose)
    if quiet:
        out.add_argument("-q", "--quiet", action="store_true", help=quiet)
    parser.set_defaults(formats=formats, echo=echo)


def add_color(out: argparse._ArgumentGroup) -> None:
    choices, help = ("auto", "always", "never"), "auto (default): on a terminal"
    out.add_argument("--color", choices=choices, default="auto", help=help)


# --- from options to settings -----------------------------------------------------------------


def tolerance_of(option: str, text: str | None) -> Tolerance | None:
    """What an option says of how far counts may be apart. Raises UsageError."""
    try:
        return None if text is None else parse_tolerance(text)
    except TextError as error:
        raise UsageError(f"option {option} is {text!r}: {error}") from None


def session_for(
    options: Namespace, start: Path, snapshot: Snapshot | None = None, root: Path | None = None
) -> Session:
    """A run on the project around `start`, in the working tree or in a copy, by the config that is
    there; on that at `root`, where this is known."""
    start = Path(os.path.abspath(start))
    config = Path(options.config).absolute() if options.config else None
    if snapshot and config and not config.is_relative_to(snapshot.directory):
        copied = snapshot.copy_of(config)
        config = copied if copied.is_file() else None
    if config is not None and not config.is_file():
        raise UsageError(f"there is no config file {options.config}")
    values = {name: getattr(options, name, None) for name in GENERAL}
    if config or root is None:
        root = sessions.root_around(start, config, snapshot)
    if values["python"] and os.sep in values["python"]:
        values["python"] = str(Path(values["python"]).expanduser().absolute())
    place = snapshot.original_of(start) if snapshot else start
    session = sessions.open_session(
        root,
        options.environ,
        config=config,
        options=values,
        snapshot=snapshot,
        place=nearest_directory(place) if start.is_relative_to(root) else None,
        caller=calling_directory(options.environ),
        remembers=not options.no_cache,
    )
    if session.settings.format not in FORMATS:
        raise UsageError(refusal("nparam-lint", session.settings.format, formats_for("findings")))
    ways = 0 if getattr(options, "all_ways", False) else session.settings.ways
    return session.with_settings(ways=ways)


def without_inner_projects(
    session: Session, command: str, gate: str = ""
) -> tuple[Session, list[str]]:
    """The run of a command that is about one project, without what is left to those inside; and
    what to do about each of these. `gate`: the option by which the exit code judges; what it does
    not see must not pass. Raises UsageError."""
    session, inner = projects.without_inner_projects(session)
    places = (os.path.relpath(session.home / place) for place in inner)
    steps = [f"{command} {shlex.quote(place)} {gate}".rstrip() for place in places]
    if gate and inner:
        raise UsageError(
            f"{inner[0]} is a project of its own, which {gate.partition(' ')[0]} does not judge "
            f"from above it\nnext: {steps[0]}\n"
            f'      and in the config above it: exclude = ["{inner[0]}/**"]'
        )
    about = zip(inner, steps, strict=True)
    return session, [f"{place} is a project of its own; next: {step}" for place, step in about]


def leave_out_inner_projects(session: Session, command: str, gate: str = "") -> Session:
    """As `without_inner_projects`; says what to do about each."""
    session, about = without_inner_projects(session, command, gate)
    for text in about:
        tell(text)
    return session


def checked_paths(
    texts: list[str], words: Sequence[str] = (), *, texts_too: bool = False
) -> list[Path]:
    """The paths that were given, absolute; `words`: what else may have been meant; `texts_too`:
    they need not be Python. Raises UsageError for one that cannot be checked."""
    paths = [Path(text) for text in texts]
    for path in paths:
        if not (path.is_file() or path.is_dir()):
            target = "::" in str(path)
            hint = did_you_mean_path(path) or did_you_mean(str(path), words)
            hint = f"; to see one model: nparam-lint show '{path}'" if target else hint
            raise UsageError(f"there is no file or directory {path}{hint}")
        if path.is_file() and path.suffix != ".py" and not texts_too:
            raise UsageError(f"{path} is not a Python file; models are read from .py files")
    return [path.absolute() for path in paths]


def nearest_directory(path: Path) -> Path:
    """The nearest directory that exists: the path itself may be deleted in the tree."""
    return next(place for place in (path, *path.parents) if place.is_dir())


@contextmanager
def showing_progress(session: Session) -> Iterator[Session]:
    """The same, showing what is done: in one line of standard error, a terminal, which is removed
    at the end; in lines of it where it is none."""
    is_terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    kind = progress.ProgressLine if is_terminal else progress.ProgressLog
    line = kind(sys.stderr)
    line.show("reading the source…")
    try:
        yield replace(session, progress=line)
    finally:
        line.end()


# --- the way out ----------------------------------------------------------------------------------


def format_for(options: Namespace, settings: Settings) -> str:
    """What was asked for; text where the config or the environment asks for a format that this
    command does not have."""
    return settings.format if settings.format in options.formats else "text"


def deliver(
    document: Document, options: Namespace, session: Session, *, failed: bool = False
) -> int:
    """Write the document in the requested format; returns the exit code: 0 clean, 1 findings or
    `failed`, 2 there is no answer."""
    name, look = format_for(options, session.settings), layout(options, session)
    if name == "html":
        document = replace(document, roles_of=roles.module_roles)
    if name == "github" and (step_summary := options.environ.get("GITHUB_STEP_SUMMARY")):
        # GitHub drops one that is too long as a whole, what other commands of the step wrote
        # included.
        with Aside("the step summary"):
            try:
                with Path(step_summary).open("ab") as stream:
                    room = markdown.SUMMARY - stream.tell()
                    text = markdown.summary(document, look, room)
                    stream.write(text.encode("utf-8", "replace"))
            except OSError as error:
                tell(f"cannot write the step summary: {error}")
    write_chunks(chunks(name, document, look), options.output_file)
    if options.echo and options.output_file and name != "text":
        write(render("text", document, look), None)
    if document.error:
        tell(document.error)
        return 2
    return int(failed or not (document.report is None or document.report.ok))


def tell(text: str) -> None:
    """To people, on standard error; lines of a log are left whole."""
    width = terminal_width() if sys.stderr.isatty() else sys.maxsize
    print(inert("\n".join(style.as_laid_out(f"nparam-lint: {text}", width))), file=sys.stderr)


def deliver_failure(
    error: str, argv: Sequence[str], environ: Mapping[str, str], command: Any, options: Any
) -> int:
    """Report that the request could not be carried out: an error for people and, in a format for
    programs, a document that says the same. `options`: None if not even these could be read; then
    it is the document of a check."""
    tell(error)
    parser = ArgumentParser(add_help=False, exit_on_error=False)
    parser.add_argument("--format", nargs="?", default=environ.get("NPARAM_LINT_FORMAT"))
    parser.add_argument("-o", "--output-file", nargs="?")
    output = parser.parse_known_args(argv)[0]
    formats = getattr(options, "formats", formats_for("findings"))
    if output.format not in formats or output.format in FOR_TERMINALS:
        return 2
    if options is not None and hasattr(command, "failure"):
        document = command.failure(error, options)
    else:
        document = check_document.check_document(report.Report(None, (), (), error=error))
    text = render(output.format, document, Options())
    try:
        write(text, output.output_file)
    except UsageError:
        write(text, None)
    return 2


def write(text: str, file: str | None) -> None:
    """To `file`, else to standard output."""
    write_chunks([text, "" if text.endswith("\n") or not text else "\n"], file)


def write_chunks(
    texts: Iterable[str], file: str | None, mode: str = "w", newline: str | None = None
) -> None:
    """The same of a text that is made while it is written."""
    if file is None:
        try:
            sys.stdout.writelines(texts)
            sys.stdout.flush()
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is still printed goes nowhere
            if not isinstance(error, BrokenPipeError):  # `nparam-lint | head` is no failure
                raise UsageError(f"cannot write to standard output: {error.strerror}") from None
        return
    try:
        with Path(file).open(mode, encoding="utf-8", newline=newline) as stream:
            stream.writelines(texts)
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}") from None


# --- the look -------------------------------------------------------------------------------------


def layout(options: Namespace, session: Session) -> Options:
    verbose, home = int(getattr(options, "verbose", 0)), session.home
    inside = home.relative_to(repository_top(home) or home).as_posix()
    return Options(
        width=terminal_width(),
        color=_wants_color(options, session.settings),
        depth=session.settings.depth,
        verbose=verbose,
        quiet=getattr(options, "quiet", False),
        place=" ".join(getattr(options, "paths", ())),
        declared_only=getattr(options, "declared", False),
        prefix="" if inside == "." else inside,
        below=os.path.relpath(home, getattr(options, "top", home)),
    )


def terminal_width() -> int:
    """The width of the terminal, also when a hook runner captures the output."""
    columns = shutil.get_terminal_size((0, 0)).columns
    if columns == 0:
        with suppress(OSError), Path("/dev/tty").open() as terminal:
            columns = os.get_terminal_size(terminal.fileno()).columns
    return columns or style.WIDTH


def _wants_color(options: Namespace, settings: Settings) -> bool:
    environ = options.environ
    if options.color != "auto":
        return bool(options.color == "always")
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR"):
        return True
    to_file = bool(options.output_file) and format_for(options, settings) == "text"
    return not to_file and sys.stdout.isatty() and environ.get("TERM") != "dumb"
