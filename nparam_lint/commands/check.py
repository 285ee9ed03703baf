"""`nparam-lint [PATH…]`: count the models under the paths and check their budgets."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from nparam_lint.commands import shared
from nparam_lint.commands.shared import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from nparam_lint.settings import Settings

USAGE = "nparam-lint [PATH…] [options]"
DESCRIPTION = "Count the models under PATH and check their budgets."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    shared.add_paths(parser)
    parser.add_argument(
        "--declared", action="store_true", help="only models with a declared budget, as in the hook"
    )
    parser.add_argument(
        "--staged",
        action="store_true",
        help="judge what is staged, which a commit would contain, instead of the working tree",
    )
    parser.add_argument(
        "--static", action="store_true", help="what the source alone shows; nothing is built"
    )
    shared.add_judging(parser)
    shared.add_output(parser)
    shared.add_building(parser)


def run(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    from nparam_lint.core import check
    with ExitStack() as stack:
        if options.staged:
            paths, settings = _staged(options, environ, stack)
        else:
            paths = shared.checked_paths(options.paths)
            settings = shared.settings_for(options, environ, paths[0] if paths else Path.cwd())
        try:
            report = shared.guarded(
                lambda: check(
                    settings,
                    paths,
                    environ,
                    declared_only=options.declared,
                    static_only=options.static,
                    progress=shared.progress(),
                )
            )
        except ValueError as error:  # a path outside the project
            raise UsageError(str(error)) from None
    return shared.deliver(report, options, settings, environ)


def _staged(
    options: argparse.Namespace, environ: Mapping[str, str], stack: ExitStack
) -> tuple[list[Path], Settings]:
    """The paths in a copy of the index, and the settings that the index holds."""
    from nparam_lint import snapshot
    from nparam_lint.git import GitError, open_repository

    given = [Path(text) for text in options.paths] or [Path.cwd()]
    try:
        repository = open_repository(given[0] if given[0].is_dir() else Path.cwd(), environ)
        copy = stack.enter_context(snapshot.staged(repository))
        paths = [copy.copy_of(path) for path in given]
        if options.config:
            options.config = str(copy.copy_of(Path(options.config)))
    except (GitError, ValueError) as error:
        raise UsageError(str(error)) from None
    for path, text in zip(paths, given, strict=True):
        if not path.exists():
            raise UsageError(f"{text} is not in the index; next: git add {text}")
    settings = shared.settings_for(options, environ, paths[0], copy.directory)
    return paths if options.paths else [], replace(settings, snapshot=copy)
