"""`nparam-lint [PATH…]`: count the models under the paths and check their budgets."""

from __future__ import annotations

import os
import re
import shlex
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from nparam_lint.cli import common
from nparam_lint.gate.report import Report
from nparam_lint.ground.errors import Aside, UsageError
from nparam_lint.ground.printable import clean
from nparam_lint.report.formats import render

if TYPE_CHECKING:
    from nparam_lint.cache.replay_inputs import ReplayInputs
    from nparam_lint.config.settings import Settings
    from nparam_lint.gate.context import Broken, Cause, Causes, FormulaAnalysis, RunContext
    from nparam_lint.gate.requests import ProjectSource
    from nparam_lint.gate.shards import Division
    from nparam_lint.repository.snapshot import Snapshot

# Models. Of more, the formats that have every row of every model take long to write once more, and
# what comes of it is mostly too long to be kept.
MANY = 200

# What the pre-commit framework sets for its hooks, and git for those of a commit.
_HOOK_VARIABLES = {"PRE_COMMIT", "GIT_INDEX_FILE"}

USAGE = "nparam-lint [PATH…] [options]"
DESCRIPTION = (
    "Count the models below PATH, and the declared models elsewhere that depend on it, and check "
    "their budgets."
)


def add_arguments(parser: ArgumentParser) -> None:
    common.add_paths(parser)
    parser.add_argument(
        "--declared", action="store_true", help="only models with a declared budget, as in the hook"
    )
    parser.add_argument(
        "--staged",
        action="store_true",
        help="check what is staged for the next commit instead of the working tree",
    )
    parser.add_argument(
        "--since",
        metavar="REV",
        help="for a broken budget, say what changed since this revision; REV...: since the merge "
        "base with HEAD (default: since the last commit, or what a pull request starts from)",
    )
    common.add_all_ways(parser)
    parser.add_argument("--static", action="store_true", help="only read source; build nothing")
    parser.add_argument(
        "--shard",
        metavar="K/N",
        help="divide the models into N parts, and build and judge the K-th: for N machines, whose "
        "JSON reports nparam-lint merge puts together",
    )
    parser.add_argument(
        "--costs",
        metavar="REPORT.json",
        help="with --shard: divide by how long each model took to build in an earlier run; the "
        "same file on all machines",
    )
    parser.add_argument(
        "--fix",
        action="store_true",
        help="first turn plain lists of modules (NPL101) into nn.ModuleList, where that is safe",
    )
    parser.add_argument(
        "--diff", action="store_true", help="with --fix: write and check nothing, print the change"
    )
    common.add_why_built(parser)
    common.add_judging(parser)
    common.add_output(parser, "findings")
    common.add_building(parser)


def run(options: Namespace) -> int:
    start = time.time_ns()  # before the configuration is read, and before the index is
    given = Namespace(**vars(options))  # a hook changes them
    if options.diff and not options.fix:
        raise UsageError("--diff shows what --fix would write; next: nparam-lint --fix --diff")
    if options.fix and options.staged:
        raise UsageError("--fix writes into the working tree, which --staged does not check")
    division = _division(options)
    inputs, code = None, 0
    reports: list[tuple[Report, _Project]] = []
    with ExitStack() as stack:
        if options.staged:
            paths, copy = _staged(options, stack)
        else:
            paths, copy = _given_paths(options), None
        projects = _projects(options, paths, copy)
        settings = projects[0].settings
        if options.fix and (left := _fix(options, paths, settings)) is not None:
            return left
        if _is_replayable(options, settings):
            from nparam_lint.cache.replay_inputs import ReplayInputs

            inputs = ReplayInputs(start)
        for project in projects:
            heading = project.heading if common.format_for(options, settings) == "text" else ""
            common.write(heading, None)
            causes = partial(_causes, given)
            report, project_code = _check(project, inputs, options, causes, division)
            code = max(code, project_code)
            reports.append((report, project))
    with Aside("what the cache keeps of this answer"):
        if inputs and code < 2:
            _keep(reports, inputs, options, code)
        if settings.store.wants_trim():
            from nparam_lint.cache.housekeeping import trim

            trim(settings.store.base or "")
    return code


def _keep(
    reports: Sequence[tuple[Report, _Project]], inputs: ReplayInputs, options: Namespace, code: int
) -> None:
    """Keep the answer, for the next run to print again."""
    texts = [_again(report, project, inputs, options) for report, project in reports]
    if None in texts:
        return
    where = reports[-1][0].environment
    text = "".join(map(str, texts))
    # The answer alone may be what is new: it counts for when there is too much.
    python = where.python if where else ""
    size = inputs.keep(options.given, options.environ, text, code, python)
    reports[0][1].settings.store.saved += size


def _check(
    project: _Project,
    inputs: ReplayInputs | None,
    options: Namespace,
    causes: Causes,
    division: Division | None,
) -> tuple[Report, int]:
    """Check one project and print what is found: the report, and its exit code."""
    from nparam_lint.gate import check
    from nparam_lint.report.check_document import check_document

    settings = replace(project.settings, replay_inputs=inputs, why_built=options.why_built)
    settings = replace(settings, ways=0) if options.all_ways else settings
    with common.progress() as progress:
        report = check(
            settings,
            project.paths,
            options.environ,
            left_out=project.left_out,
            declared_only=options.declared,
            static_only=options.static,
            dependents=bool(options.paths),  # else they are checked as models of their own project
            progress=progress,
            analysis=_formula_analysis,
            causes=None if options.static else causes,
            division=division,
        )
    document = check_document(report, why_built=options.why_built)
    return report, common.deliver(document, options, settings)


def _division(options: Namespace) -> Division | None:
    """The part of the models that is asked for."""
    if options.shard is None:
        if options.costs:
            raise UsageError("--costs says how to divide the models; it goes with --shard K/N")
        return None
    if options.static or options.fix:
        raise UsageError("--shard divides what is built; --static and --fix build nothing")
    from nparam_lint.gate.shards import Division
    from nparam_lint.report.check_data import read_report, seconds_by_target

    match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", options.shard)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise UsageError(f"option --shard is {options.shard!r}, expected one of 1/3, 2/3, 3/3")
    costs = seconds_by_target(read_report(options.costs)) if options.costs else {}
    return Division(int(match[1]), int(match[2]), costs)


def _fix(options: Namespace, paths: list[Path], settings: Settings) -> int | None:
    """Fix what can be fixed, and say so on standard error. With `--diff` nothing is written: the
    exit code, 1 where something is left."""
    from nparam_lint.rewrite.edits import unified_diff, write_all
    from nparam_lint.rewrite.module_lists import plan_fixes

    fixes = plan_fixes(settings, paths, options.environ)
    if not options.diff:
        write_all(fixes.files)
    lines = [f"{item.position}: fixed: {item.detail[0]}" for item in fixes.fixed]
    lines += [f"{item.position}: {item.code} not fixed: {reason}" for item, reason in fixes.left]
    sys.stderr.write("".join(f"{line}\n" for line in lines))
    if not options.diff:
        return None
    common.write("".join(unified_diff(edit) for edit in fixes.files), options.output_file)
    return int(bool(fixes.left))


def _again(
    report: Report, project: _Project, inputs: ReplayInputs, options: Namespace
) -> str | None:
    """The answer as the next run will give it, from the cache. None: it is not kept."""
    from nparam_lint.report.check_document import check_document

    settings = project.settings
    name = common.format_for(options, settings)
    if len(report.models) > MANY and name not in ("text", "concise"):
        return None  # to write every row of every model once more takes longer than it saves
    models = [
        replace(m, measurement=replace(m.measurement, cached=True, why_built=""))
        for m in report.models
    ]
    again = replace(report, models=tuple(models), seconds=0.0)
    document = check_document(again, why_built=options.why_built)
    text = render(name, document, common.layout(options, settings))
    inputs.add_project(str(settings.home), options.environ)
    configs = [*([settings.config] if settings.config else []), *settings.extended]
    copy = settings.snapshot  # of which the index tells
    inputs.paths.update(
        str(path) for path in configs if not copy or not path.is_relative_to(copy.directory)
    )
    return project.heading + text if name == "text" else text


def _is_replayable(options: Namespace, settings: Settings) -> bool:
    """Whether the answer is on standard output alone, and about the working tree or the index;
    not about a commit that is pushed."""
    return (
        options.given is not None
        and not options.fix
        and not options.no_cache
        and not options.output_file
        and not options.shard
        and settings.format != "github"
        and not _pushed(options.environ)
    )


def _staged(options: Namespace, stack: ExitStack) -> tuple[list[Path], Snapshot]:
    """The paths in a copy of the index, and the copy."""
    from nparam_lint.repository.git import open_repository
    from nparam_lint.repository.snapshot import copied

    given = [Path(text) for text in options.paths]
    start = (given or [Path.cwd()])[0].absolute()
    repository = open_repository(common.nearest_directory(start), options.environ)
    pushed = _pushed(options.environ)
    commit = repository.resolve(pushed) if pushed else None
    copy = stack.enter_context(copied(repository, commit))
    paths = [_copied(copy, path, may_be_gone=True) for path in given]
    if options.config:
        options.config = str(_copied(copy, Path(options.config)))
    if options.environ.keys() & _HOOK_VARIABLES:
        # A hook is a gate: what its arguments do not name would pass without a word.
        options.paths, paths = [], [copy.directory]
        if options.config:
            options.config = _config_for_all(Path(options.config), copy)
    return paths, copy


def _config_for_all(config: Path, copy: Snapshot) -> str | None:
    """The config that a hook was given: that of the whole repository, or one that is found where it
    is (None). Raises UsageError where a hook that reads it would leave out what is around it."""
    from nparam_lint.config import find_config

    config = Path(os.path.normpath(config))
    if config.parent == copy.directory:
        return str(config)
    if find_config(config.parent) == config:
        return None
    name = config.relative_to(copy.directory).as_posix()
    folder = name.rpartition("/")[0]
    raise UsageError(
        f"a hook covers the whole repository, and with --config {name} it would check {folder} "
        f"alone\nnext: call the file {folder}/nparam-lint.toml, which is found by itself, and take "
        "--config out of the hook's arguments"
    )


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


def _given_paths(options: Namespace) -> list[Path]:
    """The paths, absolute: what models may depend on, so of any kind, and files that were deleted.
    Raises UsageError for what never was."""
    if options.fix:
        return common.checked_paths(options.paths)
    from nparam_lint.cli.main import COMMANDS  # of which one may have been meant

    known = (Path.is_file, Path.is_dir, _is_gone)
    unknown = [text for text in options.paths if not any(test(Path(text)) for test in known)]
    common.checked_paths(unknown, COMMANDS)
    return [Path(text).absolute() for text in options.paths]


def _is_gone(path: Path) -> bool:
    """Whether git had a file at or below a path."""
    from nparam_lint.repository import deleted_files

    return bool(deleted_files(path.absolute()))


# --- the projects of a repository -------------------------------------------------------------


def _causes(
    options: Namespace, broken: Broken, source: ProjectSource, context: RunContext
) -> list[Cause]:
    from nparam_lint.cli.base_state import causes_since  # a passing run compares with nothing

    if source.settings.replay_inputs:
        source.settings.replay_inputs.is_complete = False  # another commit may be the last one then
    return causes_since(_pushed(options.environ), options, broken, source, context)


def _formula_analysis() -> FormulaAnalysis:
    from nparam_lint.analysis.formula_analysis import ANALYSIS

    return ANALYSIS


@dataclass(frozen=True, slots=True)
class _Project:
    """A project that is checked separately, with its own settings and interpreter. `paths`: what is
    asked about; empty: all of it. `left_out`: directories whose entries in the config are looked at
    in another project. `heading`: what stands above its report, where it is one of several."""

    settings: Settings
    paths: Sequence[Path]
    left_out: Sequence[Path] = ()
    heading: str = ""


def _projects(options: Namespace, paths: Sequence[Path], copy: Snapshot | None) -> list[_Project]:
    """What the paths lead to (none: all around the current directory). A directory with a config
    of its own is a project, and so is one with an environment of its own."""
    from nparam_lint.discover import find_root, list_below

    below = cache(list_below)
    paths = [Path(os.path.abspath(path)) for path in paths]
    here = Path.cwd() if copy is None or paths else copy.copy_of(Path.cwd())
    start = Path(os.path.commonpath(paths)) if paths else here
    first = replace(common.settings_for(options, start, copy), below=below)
    name = common.format_for(options, first)
    alone = {"--fix": options.fix, "--output-file": options.output_file, "--shard": options.shard}
    one = next((option for option, given in alone.items() if given), f"--format {name}")
    if any(alone.values()) or name not in ("text", "concise", "github"):
        if options.declared or not options.fix:
            _refuse_unread(first, paths, one)
        return [_Project(first, paths)]

    def load(place: Path, root: Path) -> Settings:
        if root == first.root:
            return first
        own_options = Namespace(**{**vars(options), "config": None})  # which is about the first
        try:
            own = common.settings_for(own_options, place, copy, root)
        except UsageError as error:
            raise UsageError(f"in {clean(os.path.relpath(root, first.root))}: {error}") from None
        return replace(own, format=first.format, below=below)

    asked: dict[Path, list[Path]] = {} if paths else {first.root: []}
    for path in paths:
        top = copy.directory if copy else common.repository_top(path)
        root = first.root if options.config else find_root(path, top)
        near = next(iter(asked), root)
        if top is None or not near.is_relative_to(top):  # no repository of both
            if not path.is_relative_to(near):
                raise UsageError(f"{path} is outside the project root {near}")
            root = near
        asked.setdefault(root, []).append(path)
    parts = (project for root in sorted(asked) for project in _split(root, asked[root], load))
    found: dict[object, _Project] = {}
    for part in parts:  # the outermost first, which may ask about all that is inside
        found.setdefault((part.settings.root, part.settings.place), part)
    if len(found) > 1:
        options.asked = first.home
        for number, (key, part) in enumerate(found.items()):
            found[key] = replace(part, heading=_heading(part, first.home, number == 0))
    return list(found.values())


def _split(
    root: Path, paths: Sequence[Path], load: Callable[[Path, Path], Settings]
) -> Iterator[_Project]:
    """The project at `root`, with the paths that are in it, and the projects inside it."""
    settings = load(Path(os.path.commonpath(paths or [root])), root)
    inner = _inner(settings)
    for place in (root, *inner):
        deeper = [other for other in inner if other != place and other.is_relative_to(place)]
        others = [path for path in paths if any(path.is_relative_to(other) for other in deeper)]
        mine = [path for path in paths if path.is_relative_to(place) and path not in others]
        if place != root and (not paths or any(place.is_relative_to(path) for path in paths)):
            mine.append(place)
        if paths and not mine:
            continue
        if inner.get(place):
            yield from _split(place, mine, load)
            continue
        exclude = (f"/{_literal(other.relative_to(root).as_posix())}/" for other in deeper)
        own = replace(
            settings,
            exclude=(*settings.exclude, *exclude),
            place=settings.home / place.relative_to(root),
        )
        left_out = [other for other in deeper if not inner[other]]
        yield _Project(own, mine, left_out)


def _inner(settings: Settings) -> dict[Path, str]:
    """The projects inside of one, outer ones first, and their config; "" of one that has none, but
    an environment of its own. What is in a project with a config is left to that."""
    from nparam_lint.count.interpreter import environments_in
    from nparam_lint.discover import inner_folders, list_below, matcher

    copy, root = settings.snapshot, settings.root
    below = settings.below or list_below
    folders = inner_folders(root, copy.files(root, (".py", ".toml")) if copy else below(root))
    environments = {} if settings.python else environments_in(settings.home, folders)
    found: dict[Path, str] = {}
    is_excluded = matcher(settings.exclude)
    for folder, config in folders.items():
        place = root / folder
        is_left = any(found[outer] and place.is_relative_to(outer) for outer in found)
        is_project = config or folder in environments
        if is_project and not is_left and not is_excluded(config or f"{folder}/__init__.py"):
            found[place] = config
    return found


def _literal(path: str) -> str:
    """A path as a pattern that stands for it alone."""
    return re.sub(r"([][*?!#\\ ])", r"\\\1", path)


def _heading(project: _Project, home: Path, is_first: bool) -> str:
    """`project packages/nets (nparam-lint.toml)`: where it is, and what makes it one."""
    settings = project.settings
    name = clean(os.path.relpath(settings.place or home, home).replace(os.sep, "/"))
    config = f" ({settings.config.name})" if settings.config else ""
    return f"{'' if is_first else chr(10)}project {name}{config}\n"


def _refuse_unread(settings: Settings, paths: Sequence[Path], one: str) -> None:
    """Refuse to skip the config of an inner project, in a format or file that can hold only one
    project."""
    for place, file in _inner(settings).items():
        if file and (not paths or any(place.is_relative_to(path) for path in paths)):
            inner = clean(place.relative_to(settings.root).as_posix())
            raise UsageError(
                f"{clean(file)} configures a project of its own, but {one} reports on one project "
                "only, and a check of the directory above it does not read this config\nnext: "
                f"nparam-lint --declared {inner} {one}\n"
                f'      and in the config above it, if there is one: exclude = ["{inner}/**"]'
            )
