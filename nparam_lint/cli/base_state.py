"""Another state of the project, which the present one is compared with: what it was at a revision,
in a copy outside the working tree."""

from __future__ import annotations

from argparse import Namespace
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from nparam_lint.changes import Base
from nparam_lint.changes.causes import Past, find_causes
from nparam_lint.changes.revision_diff import Moves, find_moves
from nparam_lint.cli import common
from nparam_lint.ground.errors import UsageError
from nparam_lint.repository.git import GitError, Repository, open_repository
from nparam_lint.repository.snapshot import Snapshot, copied

if TYPE_CHECKING:
    from nparam_lint.config.session import Session
    from nparam_lint.gate.candidates import ProjectSource
    from nparam_lint.gate.hooks import Broken, BudgetCause


@dataclass(frozen=True, slots=True)
class BaseState:
    """`base`: the revision; `copy`: what it holds; `session`: with its own config; `moves`: where
    things were then."""

    base: Base
    copy: Snapshot
    session: Session
    moves: Moves


def base_state(
    base: Base, now: Session, repository: Repository, options: Namespace, stack: ExitStack
) -> BaseState:
    """The project as it was at `base`; the copy lives as long as the `stack`."""
    # The working tree's other files have nothing to do with the base.
    copy = replace(stack.enter_context(copied(repository, base.commit)), untracked=())
    inside = path_inside(now.home, copy)
    renames = repository.renames(base.commit, staged=now.snapshot is not None)
    moves = find_moves(renames, inside, lambda path: (copy.directory / path).is_dir())
    root = copy.directory / moves.root_then  # today's counts for both
    if not root.is_dir():  # there was no project yet
        then = now.with_settings(root=root, config=None, budgets=())
        return BaseState(base, copy, replace(then, snapshot=copy), moves)
    try:
        then = session_in(copy, options, root, root)
        return BaseState(base, copy, replace(then, progress=now.progress), moves)
    except UsageError as error:
        raise UsageError(f"at {base.called}: {error}") from None


def named_base(repository: Repository, revision: str) -> Base:
    """The commit that a revision names; `A...` names the one where A and HEAD parted."""
    left, dots, right = revision.partition("...")
    if dots:
        if right not in ("", "HEAD", "@"):
            raise GitError(
                f"{revision}: a revision is compared with the working tree, not with {right}; "
                f"next: git checkout {right}, then nparam-lint diff {left}..."
            )
        commit = repository.merge_base(left or "HEAD", "HEAD")
        return Base(revision, commit, f"the merge base with {left or 'HEAD'}")
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


def causes_since(
    pushed: str | None,
    options: Namespace,
    broken: Broken,
    source: ProjectSource,
) -> list[BudgetCause]:
    """What made these budgets break since the revision that was asked for, or since the usual one;
    nothing where there is none. `pushed`: the commit that is checked."""
    source.session.inputs.is_complete = False  # another commit may be the last one next time
    with ExitStack() as stack:
        try:
            repository = open_repository(source.session.home, options.environ)
            base = _base_of_check(repository, options, pushed)
            if base is None:
                return []
            state = base_state(base, source.session, repository, options, stack)
            past = Past(state.session, base.called, state.moves.files)
            return find_causes(broken, source, past)
        except UsageError:
            if options.since:
                raise
            return []  # no repository, or a config that was wrong: the heaviest modules are told


# Where continuous integration says what a merge request is compared with, and what stands for it.
_MERGES_INTO = {"GITHUB_BASE_REF": "origin/{}...", "CI_MERGE_REQUEST_DIFF_BASE_SHA": "{}"}


def _base_of_check(repository: Repository, options: Namespace, pushed: str | None) -> Base | None:
    """What was asked for; in a merge request the state that it starts from; else the last commit,
    or the one before where nothing was changed since. None where there is none."""
    if options.since:
        return named_base(repository, options.since)
    for name, revision in _MERGES_INTO.items():
        if options.environ.get(name):
            with suppress(GitError):
                return named_base(repository, revision.format(options.environ[name]))
    is_changed = not pushed and repository.is_changed(staged=options.staged)
    with suppress(GitError):
        return named_base(repository, "HEAD" if is_changed else f"{pushed or 'HEAD'}~1")
    return None


def path_inside(path: Path, copy: Snapshot) -> str:
    """Relative to the repository. Raises UsageError outside of it."""
    text = copy.copy_of(path).relative_to(copy.directory).as_posix()
    return "" if text == "." else text


def session_in(
    copy: Snapshot, options: Namespace, start: Path, root: Path | None = None
) -> Session:
    """A run on a copy, by the config file that it has."""
    options = Namespace(**vars(options))
    if options.config:
        config = copy.copy_of(Path(options.config))
        options.config = str(config) if config.is_file() else None
    return common.session_for(options, start, copy, root)
