"""`nparam-lint diff REV [PATH…]`: what changed since a revision, by model and by module."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from nparam_lint import UsageError
from nparam_lint.analysis.diff.path_moves import find_moves, is_below
from nparam_lint.cli import common

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nparam_lint.analysis.diff import Base
    from nparam_lint.analysis.diff.path_moves import Moves
    from nparam_lint.analysis.revision_diff import Checkout
    from nparam_lint.claims.grammar import Tolerance
    from nparam_lint.config.settings import Settings
    from nparam_lint.report.document import Document
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


def run(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    if options.revision is None:
        raise UsageError(
            "since which revision?\nnext: nparam-lint diff HEAD, or nparam-lint diff main... for "
            "what a pull request against main changes"
        )
    with ExitStack() as stack:
        return _run(options, environ, stack)


def failure(error: str, options: argparse.Namespace) -> Document:
    from nparam_lint.analysis.diff import Base, DiffReport
    from nparam_lint.analysis.documents.diff_document import diff_document

    base = Base(options.revision or "", "", options.revision or "")
    return diff_document(DiffReport(base, "working tree", error=error))


def _run(options: argparse.Namespace, environ: Mapping[str, str], stack: ExitStack) -> int:
    from nparam_lint.analysis.documents.diff_document import diff_document
    from nparam_lint.analysis.revision_diff import RevisionComparison, compare_revisions
    from nparam_lint.repository.git import open_repository
    from nparam_lint.repository.snapshot import copied

    tolerance = _tolerance(options.drift)
    given = [Path(text).absolute() for text in options.paths]
    common.checked_paths([text for text in options.paths if Path(text).exists()])
    start = common.nearest_directory(given[0] if given else Path.cwd())
    repository = open_repository(start, environ)
    base = _base(repository, options.revision)
    index = stack.enter_context(copied(repository)) if options.staged else None
    settings = _settings(options, environ, given, index)
    copy = stack.enter_context(copied(repository, base.commit))
    # What the working tree has besides has nothing to do with the base.
    copy = replace(copy, untracked=())
    renames = repository.renames(base.commit, staged=options.staged)
    inside = _inside(settings.home, copy)
    moves = find_moves(renames, inside, lambda path: (copy.directory / path).is_dir())
    then, now = _checkouts(options, environ, settings, copy, moves, base)
    wanted = RevisionComparison(
        then, now, base, moves.files, options.staged, options.declared, tolerance
    )
    report = compare_revisions(wanted, environ, common.progress())
    return common.deliver(diff_document(report), options, settings, environ)


def _tolerance(text: str | None) -> Tolerance | None:
    from nparam_lint.claims.grammar import GrammarError, parse_tolerance

    if text is None:
        return None
    try:
        return parse_tolerance(text)
    except GrammarError as error:
        raise UsageError(f"option --tolerance is {text!r}: {error}") from None


def _base(repository: Repository, revision: str) -> Base:
    """The commit that a revision names; `A...` names the one where A and HEAD parted."""
    from nparam_lint.analysis.diff import Base
    from nparam_lint.repository.git import GitError

    left, dots, right = revision.partition("...")
    try:
        if dots:
            if right not in ("", "HEAD", "@"):
                raise GitError(
                    f"{revision}: a revision is compared with the working tree, not with "
                    f"{right}; next: check {right} out, then nparam-lint diff {left}..."
                )
            commit = repository.merge_base(left or "HEAD", "HEAD")
            return Base(revision, commit, f"the merge base with {left or 'HEAD'}")
        commit = repository.resolve(revision)
    except GitError as error:
        if ".." in revision and not dots:
            hint = "one revision is compared with the working tree"
            start = revision.partition("..")[0]
            raise GitError(f"{error}\n{hint}: nparam-lint diff {start}, or {start}...") from None
        if Path(revision).exists():
            raise GitError(
                f"{error}\n{revision} is a path: nparam-lint diff HEAD {revision}"
            ) from None
        raise
    return Base(revision, commit, commit[:7] if commit.startswith(revision) else revision)


def _settings(
    options: argparse.Namespace,
    environ: Mapping[str, str],
    given: Sequence[Path],
    index: Snapshot | None,
) -> Settings:
    """Today's."""
    start = given[0] if given else Path.cwd()
    if index is None:
        return common.settings_for(options, environ, start)
    options = argparse.Namespace(**vars(options))
    if options.config:
        config = index.copy_of(Path(options.config))
        if not config.is_file():
            raise UsageError(f"{options.config} is not in the index; next: git add it")
        options.config = str(config)
    return common.settings_for(options, environ, index.copy_of(start), index)


def _checkouts(
    options: argparse.Namespace,
    environ: Mapping[str, str],
    settings: Settings,
    copy: Snapshot,
    moves: Moves,
    base: Base,
) -> tuple[Checkout, Checkout]:
    """Where the base is and where the present is. Today's root counts for both."""
    from nparam_lint.analysis.revision_diff import Checkout

    top = settings.snapshot.directory if settings.snapshot else copy.home
    root = copy.directory / moves.root_then
    then = _settings_then(options, environ, settings, copy, root, base)
    exists = root.is_dir()
    if not options.paths:
        return Checkout(then, exists=exists), Checkout(settings)
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


def _settings_then(
    options: argparse.Namespace,
    environ: Mapping[str, str],
    settings: Settings,
    copy: Snapshot,
    root: Path,
    base: Base,
) -> Settings:
    """The base's, from its own config; without budgets where there was no project yet."""
    if not root.is_dir():
        return replace(settings, root=root, config=None, budgets=(), snapshot=copy)
    options = argparse.Namespace(**vars(options))
    if options.config:
        config = copy.copy_of(Path(options.config))
        options.config = str(config) if config.is_file() else None
    try:
        return common.settings_for(options, environ, root, copy, root)
    except UsageError as error:
        raise UsageError(f"at {base.called}: {error}") from None


def _inside(path: Path, copy: Snapshot) -> str:
    """Relative to the repository. Raises UsageError outside of it."""
    text = copy.copy_of(path).relative_to(copy.directory).as_posix()
    return "" if text == "." else text
