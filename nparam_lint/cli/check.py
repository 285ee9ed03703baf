"""`nparam-lint [PATH…]`: count the models under the paths and check their budgets."""

from __future__ import annotations

import os
import re
import shlex
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from nparam_lint import gate
from nparam_lint.analysis.formula_analysis import ANALYSIS
from nparam_lint.cache.replay_inputs import ReplayInputs
from nparam_lint.changes import causes
from nparam_lint.cli import common
from nparam_lint.cli.main import COMMANDS
from nparam_lint.config import commands, load
from nparam_lint.config.projects import Project, inner_projects, note_project, projects_of
from nparam_lint.gate import shards
from nparam_lint.gate.report import Report
from nparam_lint.ground.errors import Aside, UsageError
from nparam_lint.ground.paths import relative_path
from nparam_lint.ground.printable import clean
from nparam_lint.report import check_document
from nparam_lint.report.formats import render
from nparam_lint.repository import deleted_files, git, repository_top, snapshot

if TYPE_CHECKING:
    from nparam_lint.config.session import Session
    from nparam_lint.config.settings import Settings
    from nparam_lint.gate.candidates import ProjectSource
    from nparam_lint.gate.hooks import Broken, BudgetCause
    from nparam_lint.repository.snapshot import Snapshot

# Models. Of more, to write every row of every model once more takes longer than it saves, and what
# comes of it is mostly too long to be kept.
MANY = 200

# Seconds of building after which somebody who waits is told what there is by then. What a CI or a
# program reads does not depend on how fast a machine is.
_PATIENCE = 60.0

# What the pre-commit framework sets for its hooks, and git for those of a commit.
_HOOK_VARIABLES = {"PRE_COMMIT", "GIT_INDEX_FILE"}

USAGE = "nparam-lint [PATH…] [options]"
DESCRIPTION = (
    "Count the models below PATH, and the declared models elsewhere that depend on it, and check "
    "their budgets."
)


def add_arguments(parser: ArgumentParser) -> None:
    common.add_paths(parser)
    what = parser.add_argument_group("what is checked")
    what.add_argument(
        "--declared", action="store_true", help="only models with a declared budget, as in the hook"
    )
    what.add_argument("--static", action="store_true", help="only read source; build nothing")
    what.add_argument(
        "--staged",
        action="store_true",
        help="check what is staged for the next commit instead of the working tree",
    )
    common.add_all_ways(what)
    findings = parser.add_argument_group("what is found")
    findings.add_argument(
        "--since",
        metavar="REV",
        help="for a broken budget, say what changed since this revision; REV...: since the merge "
        "base with HEAD (default: since the last commit, or what a pull request starts from)",
    )
    findings.add_argument(
        "--tolerance", help='how far a count may differ from a rounded budget (86.6M): "0.5%%"'
    )
    findings.add_argument(
        "--select", metavar="CODES", help="report only these codes: NPL001,NPL013"
    )
    findings.add_argument("--ignore", metavar="CODES", help="do not report these codes")
    common.add_output(parser, "findings")
    advanced = common.add_building(parser)
    advanced.add_argument(
        "--shard",
        metavar="K/N",
        help="divide the models into N parts, and build and judge the K-th: for N machines, whose "
        "JSON reports nparam-lint merge puts together",
    )


def run(options: Namespace) -> int:
    start = time.time_ns()  # before the configuration is read, and before the index is
    left_out = Aside.left_out
    division = _division(options)
    since = (
        cache(partial(causes.base_at, options.since, options.environ)) if options.since else None
    )
    open_copy = partial(common.session_for, Namespace(**vars(options)))  # a hook changes them
    code = 0
    answers: list[tuple[Report, Project, str]] = []  # and the heading of each

    def find_causes(broken: Broken, source: ProjectSource) -> list[BudgetCause]:
        return causes.causes_since(since, _pushed(options.environ), open_copy, broken, source)

    with ExitStack() as stack:
        if options.staged:
            paths, copy = _staged(options, stack)
        else:
            paths, copy = _paths(options), None
        projects = _projects(options, paths, copy)
        first, inputs = projects[0].session, ReplayInputs(start)
        if since:  # also where nothing is broken
            since(first.home)
        is_text = common.format_for(options, first.settings) == "text"
        waits = is_text and not options.all_ways and "CI" not in options.environ
        for project in projects:
            heading = ""
            if is_text and len(projects) > 1:  # where it is, and what makes it a project
                home, config = first.home, project.session.settings.config
                place = relative_path(project.session.place or home, home)
                made_by = f" ({config.name})" if config else ""
                heading = f"{chr(10) if answers else ''}project {clean(place)}{made_by}\n"
            common.write(heading, None)
            session = project.session.with_settings(patience=_PATIENCE if waits else 0.0)
            project = replace(project, session=replace(session, inputs=inputs))
            with common.showing_progress(project.session) as session:
                report = gate.check(
                    session,
                    project.paths,
                    left_out=project.left_out,
                    declared_only=options.declared,
                    static_only=options.static,
                    # Without paths these are checked as models of their own project.
                    with_dependents=bool(options.paths),
                    analysis=ANALYSIS,
                    find_causes=None if options.static else find_causes,
                    division=division,
                )
            document = check_document.check_document(report)
            code = max(code, common.deliver(document, options, project.session))
            answers.append((report, project, heading))
    with Aside("what the cache keeps of this answer"):
        is_whole = Aside.left_out == left_out
        if code < 2 and is_whole and _is_replayable(options, first.settings):
            _keep(answers, inputs, options, code)
        first.trim_store()
    return code


def _keep(
    answers: Sequence[tuple[Report, Project, str]],
    inputs: ReplayInputs,
    options: Namespace,
    code: int,
) -> None:
    """Keep the answer as the next run will give it, from the cache, and what it rests on besides
    what was read."""
    texts = []
    for report, project, heading in answers:
        session, copy = project.session, project.session.snapshot
        name = common.format_for(options, session.settings)
        if len(report.models) > MANY and name not in ("text", "concise"):
            return
        models = tuple(
            replace(m, measurement=replace(m.measurement, cached=True)) for m in report.models
        )
        again = replace(report, models=models, seconds=0.0)
        document = check_document.check_document(again)
        texts.append(heading + render(name, document, common.layout(options, session)))
        note_project(session, inputs)
        for path in filter(None, (session.settings.config, *session.settings.extended)):
            if not copy or not path.is_relative_to(copy.directory):  # of which the index tells
                inputs.note("content", [str(path)])
    where = answers[-1][0].environment
    python = where.python if where else ""
    # The answer alone may be what is new: it counts for when there is too much.
    size = inputs.keep(options.words, options.environ, "".join(texts), code, python)
    answers[0][1].session.store.saved += size


def _division(options: Namespace) -> shards.Division | None:
    """The part of the models that is asked for."""
    if options.shard is None:
        return None
    if options.static:
        raise UsageError("--shard divides what is built; --static builds nothing")
    match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", options.shard)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise UsageError(f"option --shard is {options.shard!r}, expected one of 1/3, 2/3, 3/3")
    return shards.Division(int(match[1]), int(match[2]))


def _is_replayable(options: Namespace, settings: Settings) -> bool:
    """Whether the answer is on standard output alone, and about the working tree or the index;
    not about a commit that is pushed."""
    return (
        options.words is not None
        and not options.no_cache
        and not options.output_file
        and not options.shard
        and settings.format != "github"
        and not _pushed(options.environ)
    )


def _staged(options: Namespace, stack: ExitStack) -> tuple[list[Path], Snapshot]:
    """The paths in a copy of the index, and the copy. Raises UsageError for a config with which a
    hook would leave out what is around it."""
    originals = [Path(text) for text in options.paths]
    start = (originals or [Path.cwd()])[0].absolute()
    repo = git.open_repository(common.nearest_directory(start), options.environ)
    pushed = _pushed(options.environ)
    commit = repo.resolve(pushed) if pushed else None
    copy = stack.enter_context(snapshot.copied(repo, commit))
    paths = [_copied(copy, path, may_be_gone=True) for path in originals]
    if options.config:
        options.config = str(_copied(copy, Path(options.config)))
    if options.environ.keys() & _HOOK_VARIABLES:
        # A hook is a gate: what its arguments do not name would pass without a word.
        options.paths, paths = [], [copy.directory]
        if options.config:
            config = Path(os.path.normpath(options.config))
            name = config.relative_to(copy.directory).as_posix()
            folder = name.rpartition("/")[0]
            is_found = folder and load.find_config(config.parent) == config
            if folder and not is_found:
                raise UsageError(
                    f"a hook covers the whole repository, and with --config {name} it would check "
                    f"{folder} alone\nnext: call the file {folder}/nparam-lint.toml, which is "
                    "found by itself, and take --config out of the hook's arguments"
                )
            options.config = None if is_found else str(config)
    return paths, copy


def _pushed(environ: Mapping[str, str]) -> str | None:
    """The revision that pre-commit was asked to judge: a commit that is pushed, or `--to-ref`."""
    return environ.get("PRE_COMMIT_TO_REF") or environ.get("PRE_COMMIT_LOCAL_BRANCH") or None


def _copied(copy: Snapshot, path: Path, *, may_be_gone: bool = False) -> Path:
    copied = copy.copy_of(path)
    if not copied.exists():
        if path.exists():
            raise UsageError(f"{path} is not in the index; next: git add {shlex.quote(str(path))}")
        if not (may_be_gone and _is_gone(path)):
            common.checked_paths([str(path)])
    return copied


def _paths(options: Namespace) -> list[Path]:
    """The paths, absolute: what models may depend on, so of any kind, and files that were deleted.
    Raises UsageError for what never was."""
    tests = (Path.is_file, Path.is_dir, _is_gone)
    unknown = [text for text in options.paths if not any(test(Path(text)) for test in tests)]
    common.checked_paths(unknown, (*COMMANDS, "help"))
    return [Path(text).absolute() for text in options.paths]


def _is_gone(path: Path) -> bool:
    """Whether git had a file at or below a path."""
    return bool(deleted_files(path.absolute()))


# --- the projects of a repository -------------------------------------------------------------


def _projects(options: Namespace, paths: Sequence[Path], copy: Snapshot | None) -> list[Project]:
    """What the paths lead to (none: all around the current directory). Raises UsageError for an
    option that is for one project only where there are several."""
    paths = [Path(os.path.abspath(path)) for path in paths]
    here = Path.cwd() if copy is None or paths else copy.copy_of(Path.cwd())
    start = Path(os.path.commonpath(paths)) if paths else here
    first = common.session_for(options, start, copy)
    name = common.format_for(options, first.settings)
    alone = {"--output-file": options.output_file, "--shard": options.shard}
    option = next((option for option, value in alone.items() if value), f"--format {name}")
    if any(alone.values()) or name not in ("text", "concise", "github"):
        # What configures a project inside would not be read.
        for place, file in inner_projects(first).items():
            if file and (not paths or any(place.is_relative_to(path) for path in paths)):
                inner = clean(place.relative_to(first.root).as_posix())
                step = commands.check(first, inner, "--declared " if options.declared else "")
                value = f" {shlex.quote(alone[option])}" if option in alone else ""
                raise UsageError(
                    f"{clean(file)} configures a project of its own, but {option} is for one "
                    "project only, and a check of the directory above it does not read this "
                    f"config\nnext: {step} {option}{value}\n"
                    f'      and in the config above it, if there is one: exclude = ["{inner}/**"]'
                )
        top = repository_top(paths[0]) if paths and copy is None else None
        if outside := [path for path in paths if top and not path.is_relative_to(top)]:
            raise UsageError(f"{outside[0]} is outside the project root {top}")
        return [Project(first, paths)]

    def open_at(place: Path, root: Path) -> Session:
        if root == first.root:
            return first
        own_options = Namespace(**{**vars(options), "config": None})  # which is about the first
        try:
            session = common.session_for(own_options, place, copy, root)
        except UsageError as error:
            raise UsageError(f"in {clean(os.path.relpath(root, first.root))}: {error}") from None
        session = replace(session, inputs=first.inputs, list_below=first.list_below)
        return session.with_settings(format=first.settings.format)

    projects = projects_of(paths, first, open_at, is_whole=bool(options.config))
    if len(projects) > 1:
        options.top = first.home
    return projects
