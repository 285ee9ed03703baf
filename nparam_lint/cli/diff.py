"""`nparam-lint diff REV [PATH…]`: what changed since a revision, by model and by module."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from nparam_lint import UsageError
from nparam_lint.analysis.diff import Base, DiffReport
from nparam_lint.analysis.documents.diff_document import diff_document
from nparam_lint.analysis.revision_diff import Checkout, compare_revisions, find_moves, is_below
from nparam_lint.claims import TextError
from nparam_lint.claims.grammar import parse_tolerance
from nparam_lint.cli import common
from nparam_lint.repository.git import GitError, open_repository
from nparam_lint.repository.snapshot import copied

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nparam_lint.analysis.revision_diff import Moves
    from nparam_lint.claims.grammar import Tolerance
    from nparam_lint.config.settings import Settings
    from nparam_lint.report import Document
    from nparam_lint.repository.git import Repository
    from nparam_lint.repository.snapshot import Snapshot

USAGE = "nparam-lint diff REV [PATH…] [options]"
DESCRIPTION = (
    "What changed since REV, by model and by module: REV is compared with the working tree. "
    "REV... stands for the merge base of REV and HEAD, which is what a pull request starts from: "
    "nparam-lint diff origin/main..."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "revision",
        metavar="REV",
        nargs="?",
        help="a branch, tag or commit; REV...: the merge base with HEAD",
    )
    common.add_paths(parser)
    parser.add_argument(
        "--declared", action="store_true", help="only models with a declared budget, then or now"
    )
    parser.add_argument(
        "--staged", action="store_true", help="compare what is staged instead of the working tree"
    )
    parser.add_argument(
        "--tolerance",
        dest="drift",
        metavar="DRIFT",
        help='fail if a count changed by more than this ("0.5%%", "50k", "0") and no budget was '
        "added or changed for it",
    )
    common.add_output(parser, "findings")
    common.add_building(parser)


def failure(error: str, options: argparse.Namespace) -> Document:
    base = Base(options.revision or "", "", options.revision or "")
    return diff_document(DiffReport(base, "working tree", error=error))


def run(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    if options.revision is None:
        raise UsageError(
            "since which revision?\nnext: nparam-lint diff HEAD, or nparam-lint diff main... for "
            "what a pull request against main changes"
        )
    tolerance = _tolerance(options.drift)
    start = Path(options.paths[0]).absolute() if options.paths else Path.cwd()
    common.checked_paths([text for text in options.paths if Path(text).exists()])
    # The nearest directory that exists: the path may have been deleted since.
    near = next(place for place in (start, *start.parents) if place.is_dir())
    repository = open_repository(near, environ)
    base = _base(repository, options.revision)
    with ExitStack() as stack:
        if options.staged:
            index = stack.enter_context(copied(repository))
            if options.config and not index.copy_of(Path(options.config)).is_file():
                raise UsageError(f"{options.config} is not in the index; next: git add it")
            settings = _settings_in(index, options, environ, index.copy_of(start))
        else:
            settings = common.settings_for(options, environ, start)
        copy = stack.enter_context(copied(repository, base.commit))
        # The working tree's other files have nothing to do with the base.
        copy = replace(copy, untracked=())
        renames = repository.renames(base.commit, staged=options.staged)
        inside = _inside(settings.home, copy)
        moves = find_moves(renames, inside, lambda path: (copy.directory / path).is_dir())
        then = _settings_then(options, environ, settings, copy, moves, base)
        report = compare_revisions(
            *_checkouts(options, then, settings, copy, moves, base),
            base,
            environ,
            common.progress(),
            moved=moves.files,
            staged=options.staged,
            declared_only=options.declared,
            tolerance=tolerance,
        )
        return common.deliver(diff_document(report), options, settings, environ)


def _tolerance(text: str | None) -> Tolerance | None:
    try:
        return None if text is None else parse_tolerance(text)
    except TextError as error:
        raise UsageError(f"option --tolerance is {text!r}: {error}") from None


def _base(repository: Repository, revision: str) -> Base:
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


def _settings_in(
    copy: Snapshot,
    options: argparse.Namespace,
    environ: Mapping[str, str],
    start: Path,
    root: Path | None = None,
) -> Settings:
    """Those of a copy, by the config file that it has."""
    options = argparse.Namespace(**vars(options))
    if options.config:
        config = copy.copy_of(Path(options.config))
        options.config = str(config) if config.is_file() else None
    return common.settings_for(options, environ, start, copy, root)


def _settings_then(
    options: argparse.Namespace,
    environ: Mapping[str, str],
    settings: Settings,
    copy: Snapshot,
    moves: Moves,
    base: Base,
) -> Settings:
    """The base's, from its own config; without budgets where there was no project yet. Today's root
    counts for both."""
    root = copy.directory / moves.root_then
    if not root.is_dir():
        return replace(settings, root=root, config=None, budgets=(), snapshot=copy)
    try:
        return _settings_in(copy, options, environ, root, root)
    except UsageError as error:
        raise UsageError(f"at {base.called}: {error}") from None


def _checkouts(
    options: argparse.Namespace,
    then: Settings,
    settings: Settings,
    copy: Snapshot,
    moves: Moves,
    base: Base,
) -> tuple[Checkout, Checkout]:
    """Where the base is and where the present is."""
    if not options.paths:
        return Checkout(then, exists=then.root.is_dir()), Checkout(settings)
    top = settings.snapshot.directory if settings.snapshot else copy.home
    old: dict[Path, None] = {}
    new: dict[Path, None] = {}
    for text in options.paths:
        path = _inside(Path(text), copy)
        if not is_below(path, moves.root):
            raise UsageError(f"{text} is outside the project root {settings.home}")
        before = [place for name in moves.then(path) if (place := copy.directory / name).exists()]
        after = [place for name in moves.now(path) if (place := top / name).exists()]
        if not (before or after):
            where = "in the index" if options.staged else "now"
            hint = f"there is no file or directory {text} {where}, and there was none at "
            raise UsageError(hint + base.called)
        old |= dict.fromkeys(before)
        new |= dict.fromkeys(after)
    return Checkout(then, list(old), bool(old)), Checkout(settings, list(new), bool(new))


def _inside(path: Path, copy: Snapshot) -> str:
    """Relative to the repository. Raises UsageError outside of it."""
    text = copy.copy_of(path).relative_to(copy.directory).as_posix()
    return "" if text == "." else text
