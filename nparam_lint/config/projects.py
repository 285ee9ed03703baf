"""The projects of a repository: a directory with a config of its own is one, and so is one with an
environment of its own. And what decides which files one has, and its interpreter."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from nparam_lint.cache import CONTENT, STATE
from nparam_lint.config.interpreter import ENVIRONMENTS, environments_in
from nparam_lint.discover.files import CONFIGS, find_root, inner_folders, matcher
from nparam_lint.ground.errors import UsageError
from nparam_lint.repository import ask_git, repository_top

if TYPE_CHECKING:
    from nparam_lint.cache.replay_inputs import ReplayInputs
    from nparam_lint.config.session import Session

_DECIDING = (*CONFIGS, "setup.py", ".gitignore", ".gitmodules")


class Project(Struct, frozen=True):
    """A project that is checked separately. `paths`: what is asked about; empty: all of it.
    `left_out`: directories whose entries in the config are looked at in another project."""

    session: Session
    paths: Sequence[Path]
    left_out: Sequence[Path] = ()


def projects_of(
    paths: Sequence[Path],
    first: Session,
    open_at: Callable[[Path, Path], Session],
    *,
    is_whole: bool,
) -> list[Project]:
    """What absolute `paths` lead to (none: all of the `first`), the outermost first. `open_at`:
    opens the project at a root, for a place in it. `is_whole`: no path leads out of the first.
    Raises UsageError for paths that have no repository in common."""
    copy = first.snapshot
    paths_by_root: dict[Path, list[Path]] = {} if paths else {first.root: []}
    for path in paths:
        top = copy.directory if copy else repository_top(path)
        root = first.root if is_whole else find_root(path, top)
        near = next(iter(paths_by_root), root)
        if top is None or not near.is_relative_to(top):  # no repository of both
            if not path.is_relative_to(near):
                raise UsageError(f"{path} is outside the project root {near}")
            root = near
        paths_by_root.setdefault(root, []).append(path)
    projects: dict[object, Project] = {}
    for root in sorted(paths_by_root):
        for project in _divided(root, paths_by_root[root], open_at):
            session = project.session  # one further out may ask about all that is inside
            projects.setdefault((session.root, session.place), project)
    return list(projects.values())


def _divided(
    root: Path, paths: Sequence[Path], open_at: Callable[[Path, Path], Session]
) -> Iterator[Project]:
    """The project at `root`, with the paths that are in it, and the projects inside it."""
    session = open_at(Path(os.path.commonpath(paths or [root])), root)
    inner = inner_projects(session)
    for place in (root, *inner):
        deeper = [folder for folder in inner if place in folder.parents]
        paths_here = [
            path
            for path in paths
            if path.is_relative_to(place) and not any(map(path.is_relative_to, deeper))
        ]
        if place != root and (not paths or any(place.is_relative_to(path) for path in paths)):
            paths_here.append(place)
        if paths and not paths_here:
            continue
        if inner.get(place):
            yield from _divided(place, paths_here, open_at)
            continue
        part = replace(_without(session, deeper), place=session.home / place.relative_to(root))
        yield Project(part, paths_here, [folder for folder in deeper if not inner[folder]])


def without_inner_projects(session: Session) -> tuple[Session, list[str]]:
    """The run on what is not left to projects inside, for a command that is about one; and their
    directories."""
    inner = [place for place, config in inner_projects(session).items() if config]
    return _without(session, inner), [
        folder.relative_to(session.root).as_posix() for folder in inner
    ]


def environments_inside(session: Session) -> dict[str, str]:
    """The folders of a project that have an environment of their own, and its path."""
    root = session.root
    return environments_in(root, inner_folders(root, session.list_below(root)))


def _without(session: Session, folders: Sequence[Path]) -> Session:
    names = (folder.relative_to(session.root).as_posix() for folder in folders)
    patterns = (re.sub(r"([][*?!#\\ ])", r"\\\1", name) for name in names)  # of these alone
    exclude = (*session.settings.exclude, *(f"/{pattern}/" for pattern in patterns))
    return session.with_settings(exclude=exclude)


def inner_projects(session: Session) -> dict[Path, str]:
    """The projects inside of one, outer ones first, and their config; "" of one that has none, but
    an environment of its own. What is in a project with a config is left to that."""
    copy, root, settings = session.snapshot, session.root, session.settings
    files = copy.files(root, (".py", ".toml")) if copy else session.list_below(root)
    folders = inner_folders(root, files)
    environments = {} if settings.python else environments_in(session.home, folders)
    projects: dict[Path, str] = {}
    is_excluded = matcher(settings.exclude)
    for folder, config in folders.items():
        place = root / folder
        is_left = any(projects[outer] and place.is_relative_to(outer) for outer in projects)
        is_project = config or folder in environments
        if is_project and not is_left and not is_excluded(config or f"{folder}/__init__.py"):
            projects[place] = config
    return projects


def note_project(session: Session, inputs: ReplayInputs) -> None:
    """Note everything that decides which files belong to the project, in a git working tree, and
    which interpreter it uses; of what is staged, also the commit that it is compared with."""
    root, environ = str(session.home), session.environ
    listing = ask_git(root, "ls-files", "-oi", "--exclude-standard", "--directory", "-z")
    if listing is None:
        inputs.is_complete = False
        return
    ignored = {n.rstrip("/") for n in os.fsdecode(listing).split("\0") if n.endswith("/")}
    for folder, subfolders, names in os.walk(root):
        configs = (os.path.join(folder, name) for name in names if name in _DECIDING)
        inputs.note(CONTENT, [folder, *configs])
        here = os.path.relpath(folder, root)
        subfolders[:] = [
            name
            for name in subfolders
            if name != ".git" and os.path.normpath(os.path.join(here, name)) not in ignored
        ]
    inputs.note(CONTENT, _of_git(root, environ, is_staged=session.is_staged))
    above = root
    while not os.path.exists(os.path.join(above, ".git")) and above != os.path.dirname(above):
        above = os.path.dirname(above)
        names = [".git", *_DECIDING, *ENVIRONMENTS]
        inputs.note(CONTENT, [os.path.join(above, name) for name in names])
    environments = filter(None, map(environ.get, ("VIRTUAL_ENV", "CONDA_PREFIX")))
    inputs.note(CONTENT, (os.path.join(place, "bin") for place in environments))
    inputs.note(STATE, filter(os.path.isabs, environ.get("PATH", "").split(os.pathsep)))
    inputs.note(STATE, ("/dev/nvidiactl", "/dev/nvidia0"))  # whether there is a GPU


def _of_git(root: str, environ: Mapping[str, str], *, is_staged: bool) -> Iterator[str]:
    """The paths of git's data and of its ignore rules; the main working tree."""
    answer = os.fsdecode(ask_git(root, "rev-parse", "--git-dir") or b"").removesuffix("\n")
    git = common = os.path.abspath(os.path.join(root, answer))
    with suppress(OSError, ValueError), open(f"{git}/commondir", encoding="utf-8") as file:
        common = os.path.abspath(os.path.join(git, file.read().removesuffix("\n")))
    yield os.path.join(git, "index")
    if is_staged:
        head = os.path.join(git, "HEAD")
        yield head
        with suppress(OSError, ValueError), open(head, encoding="utf-8") as file:
            yield os.path.join(common, file.read().removeprefix("ref: ").strip())
        yield from (os.path.join(common, name) for name in ("packed-refs", "reftable/tables.list"))
    yield from (os.path.join(common, name) for name in ("info/exclude", "config"))
    yield os.path.dirname(common)
    home = os.path.expanduser("~")
    base = environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    yield os.path.join(home, ".gitconfig")
    yield from (os.path.join(base, "git", name) for name in ("config", "ignore"))
    yield "/etc/gitconfig"
    excludes = ask_git(root, "config", "--type=path", "core.excludesFile") or b""
    if name := os.fsdecode(excludes).strip():
        yield os.path.join(root, name)
    if environ.get("GIT_INDEX_FILE"):
        yield os.path.join(root, environ["GIT_INDEX_FILE"])
