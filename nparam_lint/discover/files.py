"""Which Python files belong to the project, and where the project's root is."""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
from functools import cache, partial
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from nparam_lint.discover.claims import stated
from nparam_lint.ground.errors import UsageError
from nparam_lint.ground.paths import (
    CONFIG_SUFFIXES,
    DOC_SUFFIXES,
    ancestors,
    join,
    parent,
    place_of,
    relative_path,
)
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.repository import ask_git

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from nparam_lint.repository.snapshot import Snapshot

    _Below = Callable[[Path], list[str]]  # what `list_below` says

# Never the project's own source, wherever they are; the last has copies that Jupyter keeps.
_FOREIGN = frozenset({"site-packages", "node_modules", "__pycache__", ".ipynb_checkpoints"})
CONFIGS = ("nparam-lint.toml", "pyproject.toml")  # the first of them is read
_PROJECT_FILES = ("pyproject.toml", "setup.py", "setup.cfg")
# Of files that are asked for: source, what may configure it, and what may say how large it is.
_SCRIPTS = (".sh", ".bash", ".sbatch", ".slurm", ".mk", "makefile")
_TEXT_KINDS = (*DOC_SUFFIXES, ".txt", ".ipynb", *_SCRIPTS)
_KINDS = (*dict.fromkeys((".py", *CONFIG_SUFFIXES, *_TEXT_KINDS, *stated.SUFFIXES)),)
_HUGE = 64_000_000  # bytes of a file that is not even looked at: nobody writes so much
_MODULES = (".py", ".so", ".pyd")
# Also where it is misspelt: that is said when it is read.
_OUR_TABLE = late_pattern(
    rb"""^\s*\[+\s*(?:\w+\s*\.\s*)?["']?nparam[-_.]?lint\b""", re.MULTILINE | re.IGNORECASE
)


def find_root(path: Path, top: Path | None = None) -> Path:
    """The project's root for `path`: the nearest ancestor that configures us (not beyond the git
    repository), else the git top level, else the nearest Python project, else the directory.
    `top` stands for the git top level where there is no repository, as in a snapshot of one."""
    start = Path(os.path.abspath(path))
    if not start.is_dir():
        start = start.parent
    inside = [start, *start.parents]
    toplevel = next((d for d in inside if d == top or (d / ".git").exists()), None)
    if toplevel is not None:
        inside = inside[: inside.index(toplevel) + 1]
    configured = next(filter(_configures_us, inside), None)
    projects = (d for d in inside if any(_is_readable_file(d / name) for name in _PROJECT_FILES))
    return configured or toplevel or next(projects, start)


def _is_readable_file(path: Path) -> bool:
    """Never raises, as `Path.is_file` does below a directory that is closed to us."""
    return os.path.isfile(path)  # noqa: PTH113


def _configures_us(directory: Path) -> bool:
    if _is_readable_file(directory / "nparam-lint.toml"):
        return True
    try:
        text = (directory / "pyproject.toml").read_bytes()
    except OSError:
        return False
    if _OUR_TABLE.search(text):
        return True
    if b"nparam-lint" not in text:
        return False
    try:  # `[tool]` and `nparam-lint = {…}`; or no more than a dependency
        tool = tomllib.loads(text.decode()).get("tool")
    except ValueError:
        return False
    return isinstance(tool, dict) and "nparam-lint" in tool


def list_files(
    root: Path,
    paths: Sequence[Path] = (),
    exclude: Sequence[str] = (),
    tracked: Sequence[str] | None = None,
    below: _Below | None = None,
) -> list[str]:
    """The Python files under `paths` (default: `root`), relative to `root`, with `/`, sorted.

    Git decides what belongs to the project: tracked files, and untracked ones that are not ignored.
    A file that is named itself is always included; a directory that is named although git ignores
    it is walked. `exclude` holds patterns as in a `.gitignore`. `tracked` are the files of `root`
    where it is a copy, in which git cannot be asked. A directory that may not be looked into is
    named as `folder/`: to read it will say why. `below`: what remembers for other lists too.

    Raises FileNotFoundError for a path that does not exist, UsageError for one outside `root`.
    """

    def tracked_below(path: Path) -> list[str]:
        folder = place_of(path, root)
        prefix = f"{folder}/" if folder else ""
        names = (n.removeprefix(prefix) for n in tracked or () if n.startswith(prefix))
        return _existing(path, names)

    listed_below = (below or list_below) if tracked is None else tracked_below
    is_excluded = matcher(tuple(exclude))
    files: set[str] = set()
    for path in paths or (root,):
        relative = place_of(path, root)
        if _is_readable_file(path):
            if path.suffix == ".py":
                files.add(relative)
        elif os.path.isdir(path):  # noqa: PTH112
            names = (name for name in listed_below(path) if name.endswith((".py", "/")))
            inside = (join(relative, name) for name in names)
            files.update(name for name in inside if not is_excluded(name))
        else:
            raise FileNotFoundError(f"{path} does not exist")
    return sorted(files)


def list_importable(root: Path, below: _Below | None = None) -> list[str]:
    """All Python files that the project's imports may reach: nothing excluded, submodules too."""
    files = set(list_files(root, below=below))
    try:
        modules = (root / ".gitmodules").read_text("utf-8", "replace")
    except OSError:
        modules = ""
    for match in re.finditer(r"^\s*path\s*=\s*(.+?)\s*$", modules, re.MULTILINE):
        submodule = root / match[1]
        if submodule.is_dir() and submodule.resolve().is_relative_to(root.resolve()):
            files.update(list_files(root, [submodule], below=below))
    return sorted(files)


def _of_kind(
    kinds: tuple[str, ...],
    root: Path,
    exclude: Sequence[str],
    tracked: Sequence[str] | None,
    below: _Below | None = None,
) -> list[str]:
    """The project's files whose names end like this, our configs left out. `tracked`, `below`: see
    `list_files`."""
    names = (below or list_below)(root) if tracked is None else _existing(root, tracked)
    is_excluded = matcher(tuple(exclude))
    return sorted(
        name
        for name in names
        if name.lower().endswith(kinds)
        and name.rpartition("/")[2] not in CONFIGS
        and not is_excluded(name)
    )


list_configs = partial(_of_kind, CONFIG_SUFFIXES)
list_docs = partial(_of_kind, DOC_SUFFIXES)  # Markdown and reStructuredText
list_texts = partial(_of_kind, _TEXT_KINDS)  # which may say how models are built
list_stating = partial(_of_kind, stated.SUFFIXES)  # which may state counts


def list_buildable(root: Path, snapshot: Snapshot | None) -> list[str]:
    """The files below `root` that a build may read: those that git does not ignore, of any kind,
    and of those that it does, source and compiled modules."""
    if snapshot:
        top = root.relative_to(snapshot.directory).as_posix()
        names = [*snapshot.files(root, "", "importable")]
        for link in (os.path.relpath(path, top) for path in snapshot.linked):
            if link.startswith(".."):
                continue
            if link.endswith(_MODULES) and _is_file(f"{root}/{link}"):
                names.append(link)
            elif os.path.isdir(root / link):  # noqa: PTH112
                names += (f"{link}/{name}" for name in _walk(root / link, _MODULES))
        return names
    ask = ("ls-files", "-z", "--exclude-standard")
    tracked = ask_git(root, "ls-files", "-z", "-c", "--recurse-submodules")
    if tracked is None:
        return list(_walk(root, ("",)))
    ignored = ask_git(root, *ask, "-o", "-i", "--", *(f"*{kind}" for kind in _MODULES)) or b""
    untracked = ask_git(root, *ask, "-o") or b""
    return sorted(_existing(root, _decoded(b"".join((tracked, untracked, ignored)))))


def inner_folders(root: Path, files: Iterable[str]) -> dict[str, str]:
    """The directories below `root` that hold source or TOML, relative to it, outer ones first, and
    the config file of each that configures us; "" of the others. `files`: those of `root`, as
    `list_below` tells."""
    is_foreign = _foreign(root)
    folders: set[str] = {""}
    configs: dict[str, str] = {}
    for file in files:
        folder, _, name = file.rpartition("/")
        is_source = name.endswith((".py", *CONFIG_SUFFIXES))
        if folder and is_source and not is_foreign(folder):
            folders.update(takewhile(lambda above: above not in folders, ancestors(folder)))
            if name in CONFIGS:
                configs[folder] = min(file, configs.get(folder, file))
    ours = {folder: file for folder, file in configs.items() if _configures_us(root / folder)}
    return {folder: ours.get(folder, "") for folder in sorted(folders - {""})}


def named_files(root: Path, paths: Sequence[Path]) -> frozenset[str]:
    """Those of `paths` that are files, as the lists here name them."""
    return frozenset(place_of(path, root) for path in paths if _is_readable_file(path))


def reader(root: Path) -> Callable[[str], bytes]:
    """A function that reads a file, given its name in these lists. It raises OSError."""
    folder = os.fspath(root)

    def read(path: str) -> bytes:
        # Not waiting for what a named pipe may never say.
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        descriptor = os.open(f"{folder}/{path}", flags)
        with open(descriptor, "rb", buffering=0) as file:  # noqa: PTH123  # half the time
            state = os.fstat(descriptor)
            if not stat.S_ISREG(state.st_mode):
                raise OSError(errno.EINVAL, "it is no regular file")
            if state.st_size > _HUGE:
                raise OSError(errno.EFBIG, f"it has more than {_HUGE // 10**6} MB")
            return file.read()

    return read


@cache
def matcher(patterns: tuple[str, ...]) -> Callable[[str], bool]:
    """Whether patterns as in a `.gitignore` match a path."""
    if not patterns:
        return lambda _: False
    from pathspec import GitIgnoreSpec  # most projects name no patterns

    return GitIgnoreSpec.from_lines(patterns).match_file


def list_below(directory: Path) -> list[str]:
    """The source and the config files of a directory that git does not ignore, relative to it; if
    git cannot say, or ignores the directory itself, all of them. A directory in it that cannot be
    read is listed with a `/` at its end.

    Raises UsageError where it may not be looked into itself.
    """
    # Not `:(icase)`, by which git finds nothing in folders of folders that it does not track.
    kinds = ["*" + re.sub("[a-z]", lambda m: f"[{m[0]}{m[0].upper()}]", kind) for kind in _KINDS]
    listed = ask_git(directory, "ls-files", "-co", "--exclude-standard", "-z", "--", *kinds)
    if listed is None or not (listed or ask_git(directory, "check-ignore", "-q", ".") is None):
        return list(_walk(directory))
    return _existing(directory, _decoded(listed))


def _decoded(listed: bytes) -> set[str]:
    return {os.fsdecode(name) for name in listed.split(b"\0") if name}


def _existing(directory: Path, names: Iterable[str]) -> list[str]:
    """Those of the project that are there: tracked files may be deleted, links may be broken."""
    top, is_foreign = os.fspath(directory), _foreign(directory)
    return [name for name in names if not is_foreign(parent(name)) and _is_file(f"{top}/{name}")]


def _foreign(directory: Path) -> Callable[[str], bool]:
    """Whether a folder is in an environment, or belongs to an installed package: even if git does
    not ignore it, it is not part of the project."""
    top = os.fspath(directory)

    @cache
    def is_foreign(folder: str) -> bool:
        return bool(folder) and (
            is_foreign(parent(folder))
            or folder.rpartition("/")[2] in _FOREIGN
            or os.path.exists(f"{top}/{folder}/pyvenv.cfg")  # noqa: PTH110  # raises nothing
        )

    return is_foreign


def _is_file(path: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode)  # noqa: PTH116  # three times as fast
    except PermissionError:
        return True  # reading it will say why it cannot be read
    except OSError:
        return False


def _walk(directory: Path, kinds: tuple[str, ...] = _KINDS) -> Iterator[str]:
    top = os.fspath(directory)
    closed: list[str] = []

    def note(error: OSError) -> None:
        if error.filename == top:
            raise UsageError(f"{top} cannot be looked into: {error.strerror}")
        if not isinstance(error, FileNotFoundError):  # gone meanwhile
            closed.append(relative_path(error.filename, top))

    for folder, subfolders, names in os.walk(top, onerror=note):
        subfolders[:] = [name for name in subfolders if not _is_skipped(folder, name)]
        for name in names:
            path = os.path.join(folder, name)  # noqa: PTH118
            if name.lower().endswith(kinds) and _is_file(path):
                yield relative_path(path, top)
    yield from (f"{name}/" for name in closed)


def _is_skipped(folder: str, name: str) -> bool:
    path = os.path.join(folder, name)  # noqa: PTH118
    if name.startswith(".") or name in _FOREIGN or name.endswith(".egg-info"):
        return True
    if name in ("build", "dist"):  # what setuptools leaves behind, but not a package of that name
        return not os.path.exists(f"{path}/__init__.py")  # noqa: PTH110
    return os.path.exists(f"{path}/pyvenv.cfg")  # noqa: PTH110
