"""What the commands have in common: options, settings, progress."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from nparam_lint.capabilities import device_names

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping

    from nparam_lint.config.settings import Settings
    from nparam_lint.repository.snapshot import Snapshot

T = TypeVar("T")

_SETTINGS = ("python", "device", "tolerance", "timeout", "memory", "jobs", "format", "depth")


class UsageError(Exception):
    """The command cannot be carried out; the message says why, and what to do."""


# --- options ----------------------------------------------------------------------------------


def add_paths(parser: argparse.ArgumentParser) -> None:
    """The positional PATHs."""
    help = "files or directories (default: the current directory)"
    parser.add_argument("paths", nargs="*", metavar="PATH", help=help)


def add_building(parser: argparse.ArgumentParser) -> None:
    """Options of how models are built."""
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
    """Options of what is a finding."""
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
    from nparam_lint.report.formats import FORMATS, formats_for, refusal

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
        raise UsageError(refusal("nparam-lint", settings.format, formats_for("findings")))
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
    """Shows progress in one line of the terminal; None if standard error is not a terminal."""
    if not sys.stderr.isatty():
        return None

    def show(done: int, every: int, label: str) -> None:
        width = shutil.get_terminal_size().columns
        text = "" if done == every else f"counting {done}/{every}  {label}"[: width - 1]
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)

    return show
