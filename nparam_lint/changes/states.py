"""The project at a revision: in a copy outside the working tree, by its own config, and comparable
with the present. `diff`, `history` and what explains a broken budget all open it here."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from nparam_lint.changes.records import Base
from nparam_lint.ground.errors import UsageError
from nparam_lint.repository.git import GitError
from nparam_lint.repository.snapshot import copied

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from nparam_lint.config.session import Session
    from nparam_lint.ground.notation import Target
    from nparam_lint.repository.git import Repository
    from nparam_lint.repository.snapshot import Snapshot

    Places = Sequence[Path] | None  # paths to look under (none: all); None: nothing is there
    # A run around a place in a copy, on the project at a root there, by the config that is there.
    OpenCopy = Callable[[Path, Snapshot, Path], Session]


class Past(Struct, frozen=True):
    """The project at a revision, the `base`. `moves`: where its files are now."""

    base: Base
    session: Session
    moves: Moves

    def places(self, paths: Sequence[str], now: Session) -> tuple[Places, Places]:
        """Where to look for what is, or was, at some paths of the working tree: at the revision,
        and now. Raises UsageError for a path that has nothing on either side."""
        if not paths:
            return () if self.session.root.is_dir() else None, ()
        copy = self.session.snapshot
        assert copy is not None
        top = now.snapshot.directory if now.snapshot else copy.home
        then: dict[Path, None] = {}
        today: dict[Path, None] = {}
        for text in paths:
            path = _inside(Path(text), copy)
            if not is_below(path, self.moves.root):
                raise UsageError(f"{text} is outside the project root {now.home}")
            names_then, names_now = self.moves.places(path)
            before = [place for n in names_then if (place := copy.directory / n).exists()]
            after = [place for n in names_now if (place := top / n).exists()]
            if not (before or after):
                where = "in the index" if now.is_staged else "now"
                hint = f"there is no file or directory {text} {where}, and there was none at "
                raise UsageError(hint + self.base.called)
            then |= dict.fromkeys(before)
            today |= dict.fromkeys(after)
        return [*then] or None, [*today] or None


class States(Struct, frozen=True):
    """The states that the project of a run has had."""

    now: Session
    repository: Repository
    open_copy: OpenCopy

    @contextmanager
    def at(self, base: Base) -> Iterator[Past]:
        """The project as it was at a revision, wherever it was there. Raises UsageError."""
        with copied(self.repository, base.commit, is_past=True) as copy:
            renames = self.repository.renames(base.commit, staged=self.now.snapshot is not None)
            root = _inside(self.now.home, copy)
            moves = find_moves(renames, root, lambda path: (copy.directory / path).is_dir())
            place = copy.directory / moves.root_then
            if place.is_dir():
                try:
                    then = self.session_at(copy, place, moves.back)
                except UsageError as error:
                    raise UsageError(f"at {base.called}: {error}") from None
                then = replace(then, progress=self.now.progress)
            else:  # there was no project yet
                then = self.now.with_settings(root=place, config=None, budgets=())
                then = replace(then, snapshot=copy)
            yield Past(base, then, moves)

    def session_at(self, copy: Snapshot, root: Path, back: Mapping[str, str]) -> Session:
        """A run on a copy with its own budgets and arguments; with today's limits, device and
        excluded files, and with today's arguments for what it says nothing about. `back`: files of
        today → where they were."""
        then, today = self.open_copy(root, copy, root), self.now.settings
        arguments = {
            in_moved_file(target, back): recipe for target, recipe in today.arguments.items()
        }
        return then.with_settings(
            device=today.device,
            timeout=today.timeout,
            memory=today.memory,
            jobs=today.jobs,
            exclude=today.exclude,
            arguments={**arguments, **then.settings.arguments},
        )


def named_base(repository: Repository, revision: str) -> Base:
    """The commit that a revision names; `A...` names the one where A and HEAD parted."""
    branch, dots, end = revision.partition("...")
    if dots:
        if end not in ("", "HEAD", "@"):
            raise GitError(
                f"{revision}: a revision is compared with the working tree, not with {end}; "
                f"next: git checkout {end}, then nparam-lint diff {branch}..."
            )
        commit = repository.merge_base(branch or "HEAD")
        return Base(revision, commit, f"the merge base with {branch or 'HEAD'}")
    try:
        commit = repository.resolve(revision)
    except GitError as error:
        start, several, _ = revision.partition("..")
        if several:
            hint = "one revision is compared with the working tree"
            raise GitError(f"{error}\n{hint}: nparam-lint diff {start}, or {start}...") from None
        if Path(revision).exists():
            hint = f"{revision} is a path: nparam-lint diff HEAD {revision}"
            raise GitError(f"{error}\n{hint}") from None
        raise
    return Base(revision, commit, commit[:7] if commit.startswith(revision) else revision)


# --- where things were: paths relative to the repository, with `/` --------------------------------


class Moves(Struct, frozen=True):
    """`renames`: old → new, as git tells it. `root`: the project's directory now, `root_then`: at
    the base; both are empty where it is the whole repository."""

    renames: Mapping[str, str]
    root: str
    root_then: str

    @property
    def files(self) -> dict[str, str]:
        """What was renamed, relative to the two roots."""
        return {
            _relative(old, self.root_then): _relative(new, self.root)
            for old, new in self.renames.items()
            if is_below(old, self.root_then) and is_below(new, self.root)
        }

    @property
    def back(self) -> dict[str, str]:
        """Where these files of today were."""
        return {new: old for old, new in self.files.items()}

    def places(self, path: str) -> tuple[list[str], list[str]]:
        """Where to look, at the base and now, for what is or was at a path below the root."""
        then = "/".join(filter(None, (self.root_then, _relative(path, self.root))))
        before, after = [then], [path]
        for old, new in self.renames.items():
            was, now = is_below(old, then), is_below(new, path)
            if now and not was and is_below(old, self.root_then):
                before.append(old)
            if was and not now and is_below(new, self.root):
                after.append(new)
        return before, after


def find_moves(renames: Mapping[str, str], root: str, was: Callable[[str], bool]) -> Moves:
    """`was`: whether a directory existed at the base. Where the root did not, it was what most of
    its files were renamed from."""
    if not root or was(root):
        return Moves(renames, root, root)
    places: Counter[str] = Counter()
    for old, new in renames.items():
        name = new.removeprefix(f"{root}/")
        if name != new and old.endswith(f"/{name}"):
            places[old.removesuffix(f"/{name}")] += 1
    return Moves(renames, root, places.most_common(1)[0][0] if places else root)


def in_moved_file(target: Target, moved: Mapping[str, str]) -> Target:
    """The target in the file that its own is on the other side."""
    return replace(target, location=moved.get(target.location, target.location))


def is_below(path: str, directory: str) -> bool:
    """Whether a path is a directory or below it; "" is the repository."""
    return not directory or path == directory or path.startswith(f"{directory}/")


def _inside(path: Path, copy: Snapshot) -> str:
    """Relative to the repository. Raises UsageError outside of it."""
    text = copy.copy_of(path).relative_to(copy.directory).as_posix()
    return "" if text == "." else text


def _relative(path: str, directory: str) -> str:
    return path.removeprefix(directory).removeprefix("/") if directory else path
