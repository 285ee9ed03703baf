"""`nparam-lint [PATH…]`: count the models under the paths and check their budgets."""

from __future__ import annotations

import os
import shlex
import sys
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from nparam_lint import UsageError
from nparam_lint.cli import common

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from nparam_lint.config.settings import Settings
    from nparam_lint.records import Report
    from nparam_lint.repository.snapshot import Snapshot

# Models. Of more, the formats that have every row of every model take long to write once more, and
# what comes of it is mostly too long to be kept.
MANY = 200

USAGE = "nparam-lint [PATH…] [options]"
DESCRIPTION = "Count the models below PATH and check their budgets."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    common.add_paths(parser)
    parser.add_argument(
        "--declared", action="store_true", help="only models with a declared budget, as in the hook"
    )
    parser.add_argument(
        "--staged",
        action="store_true",
        help="check what is staged for the next commit instead of the working tree",
    )
    parser.add_argument("--static", action="store_true", help="only read source; build nothing")
    parser.add_argument(
        "--fix",
        action="store_true",
        help="first turn plain lists of modules (NPL101) into nn.ModuleList, where that is safe",
    )
    parser.add_argument(
        "--diff", action="store_true", help="with --fix: write and check nothing, print the change"
    )
    common.add_judging(parser)
    common.add_output(parser, "findings")
    common.add_building(parser)


def run(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    start = time.time_ns()  # before the configuration is read, and before the index is
    from nparam_lint.gate import check
    from nparam_lint.report.check_document import check_document

    if options.diff and not options.fix:
        raise UsageError("--diff shows what --fix would write; next: nparam-lint --fix --diff")
    if options.fix and options.staged:
        raise UsageError("--fix writes into the working tree, which --staged does not look at")
    with ExitStack() as stack:
        if options.staged:
            paths, settings = _staged(options, environ, stack)
        else:
            paths = common.checked_paths(options.paths)
            settings = common.settings_for(options, environ, paths[0] if paths else Path.cwd())
        if options.fix and (left := _fix(options, paths, settings, environ)) is not None:
            return left
        if _is_replayable(options, settings, environ):
            from nparam_lint.cache.replay_inputs import ReplayInputs

            settings = replace(settings, replay_inputs=ReplayInputs(start))
        if options.staged or options.declared:
            _refuse_unread(settings, paths)
        report = check(
            settings,
            paths,
            environ,
            declared_only=options.declared,
            static_only=options.static,
            progress=common.progress(),
        )
    code = common.deliver(check_document(report), options, settings, environ)
    # A file that took too long to read may be read in time when less goes on beside.
    in_time = not any(finding.message.endswith("of --timeout") for finding in report.findings)
    if settings.replay_inputs and code < 2 and in_time:
        _keep(report, options, settings, environ, code)
    if settings.store.wants_trim():
        from nparam_lint.cache.housekeeping import trim

        trim(settings.store.base or "")
    return code


def _fix(
    options: argparse.Namespace, paths: list[Path], settings: Settings, environ: Mapping[str, str]
) -> int | None:
    """Fix what can be fixed, and say so on standard error. With `--diff` nothing is written: the
    exit code, 1 where something is left."""
    from nparam_lint.rewrite.edits import unified_diff, write_all
    from nparam_lint.rewrite.module_lists import plan_fixes

    fixes = plan_fixes(settings, paths, environ)
    if not options.diff:
        write_all(fixes.files)
    lines = [f"{item.position}: fixed: {item.detail[0]}" for item in fixes.fixed]
    lines += [f"{item.position}: {item.code} is left: {reason}" for item, reason in fixes.left]
    sys.stderr.write("".join(f"{line}\n" for line in lines))
    if not options.diff:
        return None
    common.write("".join(unified_diff(edit) for edit in fixes.files), options.output_file)
    return int(bool(fixes.left))


def _keep(
    report: Report,
    options: argparse.Namespace,
    settings: Settings,
    environ: Mapping[str, str],
    code: int,
) -> None:
    """Keep the answer for the next run, as it will give it: out of the cache."""
    from nparam_lint.report.check_document import check_document
    from nparam_lint.report.formats import render

    assert settings.replay_inputs
    if len(report.models) > MANY and settings.format not in ("text", "concise"):
        return  # to write every row of every model once more takes longer than it saves
    models = [replace(m, measurement=replace(m.measurement, cached=True)) for m in report.models]
    again = replace(report, models=tuple(models), seconds=0.0)
    shown = common.layout(options, settings, environ)
    text = render(common.format_for(options, settings), check_document(again), shown)
    settings.replay_inputs.add_project(str(settings.home), environ)
    configs = [*([settings.config] if settings.config else []), *settings.extended]
    copy = settings.snapshot  # of which the index tells
    settings.replay_inputs.paths.update(
        str(path) for path in configs if not copy or not path.is_relative_to(copy.directory)
    )
    python = report.environment.python if report.environment else ""
    # The answer alone may be what is new: it counts for when there is too much.
    settings.store.saved += settings.replay_inputs.keep(options.given, environ, text, code, python)


def _is_replayable(
    options: argparse.Namespace, settings: Settings, environ: Mapping[str, str]
) -> bool:
    """Whether the answer is on standard output alone, and about the working tree or the index;
    not about a commit that is pushed."""
    return (
        options.given is not None
        and not options.fix
        and not options.no_cache
        and not options.output_file
        and settings.format != "github"
        and not _pushed(environ)
    )


def _staged(
    options: argparse.Namespace, environ: Mapping[str, str], stack: ExitStack
) -> tuple[list[Path], Settings]:
    """The paths in a copy of the index, and the settings that the index holds."""
    from nparam_lint.repository.git import open_repository
    from nparam_lint.repository.snapshot import copied

    given = [Path(text) for text in options.paths]
    start = (given or [Path.cwd()])[0].absolute()
    repository = open_repository(common.nearest_directory(start), environ)
    pushed = _pushed(environ)
    commit = repository.resolve(pushed) if pushed else None
    copy = stack.enter_context(copied(repository, commit))
    paths = [_copied(copy, path) for path in given]
    start = copy.copy_of(start)
    if options.config:
        options.config = str(_copied(copy, Path(options.config)))
    return paths, common.settings_for(options, environ, start, copy)


def _pushed(environ: Mapping[str, str]) -> str | None:
    """The revision that pre-commit was asked to judge: a commit that is pushed, or `--to-ref`."""
    return environ.get("PRE_COMMIT_TO_REF") or environ.get("PRE_COMMIT_LOCAL_BRANCH") or None


def _copied(copy: Snapshot, path: Path) -> Path:
    copied = copy.copy_of(path)
    if not copied.exists():
        if path.exists():
            raise UsageError(f"{path} is not in the index; next: git add {shlex.quote(str(path))}")
        common.checked_paths([str(path)])
    return copied


# --- config files that nobody reads -----------------------------------------------------------


def _refuse_unread(settings: Settings, paths: list[Path]) -> None:
    """Refuse to skip the config of a project below the root: its budgets would not be checked."""
    from pathspec import GitIgnoreSpec

    from nparam_lint.discover import find_root

    excluded = GitIgnoreSpec.from_lines(settings.exclude)
    top = settings.snapshot.directory if settings.snapshot else None
    for file in _config_files(settings):
        place = settings.root / file
        checked = any(place.is_relative_to(path) for path in paths or [settings.root])
        if place.parent == settings.root or not checked or excluded.match_file(file):
            continue
        if find_root(place.parent, top) == place.parent:
            inner = file.rpartition("/")[0]
            raise UsageError(
                f"{file} configures nparam-lint, but a check that starts above it does not read "
                f"it\nnext: nparam-lint --declared {inner}; as a hook: nparam-lint install-hook "
                f'{inner}, or with pre-commit args: ["{inner}"]\n'
                f'      and in the config above it, if there is one: exclude = ["{inner}/**"]'
            )


def _config_files(settings: Settings) -> Iterator[str]:
    """The files below the root that may be configs, as far as git has them; relative to it."""
    from nparam_lint.repository import ask_git

    copy, root = settings.snapshot, settings.root.resolve()
    if copy:
        files = copy.files(root, ".toml")
    else:
        listed = ask_git(root, "ls-files", "-z", "--", "*.toml") or b""
        files = [os.fsdecode(name) for name in listed.split(b"\0")]
    names = ("nparam-lint.toml", "pyproject.toml")
    yield from (file for file in files if file.rpartition("/")[2] in names)
