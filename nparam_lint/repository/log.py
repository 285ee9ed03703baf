"""The commits that changed some files, and what these files were called before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nparam_lint.repository.git import Repository

_FORMAT = "%H%x00%P%x00%cs%x00%an%x00%s"


class Commit(Struct, frozen=True):
    """`parents`: the nearest ancestors that are listed, too. `date`: when it was committed,
    `YYYY-MM-DD`."""

    sha: str
    parents: tuple[str, ...]
    date: str
    author: str
    subject: str


def commits_that_change(
    repository: Repository,
    paths: Iterable[str],
    revision: str,
    since: str | None,
    first_parent: bool,
) -> list[Commit]:
    """The commits up to a revision (after `since`) that change one of these paths, newest first;
    and the merges that join them. `first_parent`: those of the branch itself, where a merge stands
    for what it brings."""
    follow = ["--first-parent", "--parents"] if first_parent else ["--simplify-merges"]
    span = [revision, *([f"^{since}"] if since else [])]
    options = ("--topo-order", *follow, f"--format={_FORMAT}")
    log = repository.run("log", *options, *span, "--", *_places(paths))
    return [_commit(line) for line in log.split("\n") if line]


def commit_named(repository: Repository, sha: str) -> Commit:
    return _commit(repository.run("log", "-1", f"--format={_FORMAT}", sha).removesuffix("\n"))


def _commit(line: str) -> Commit:
    sha, parents, date, author, subject = line.split("\0", 4)
    return Commit(sha, tuple(parents.split()), date, author, subject)


def earlier_names(
    repository: Repository, paths: Iterable[str], revision: str
) -> Iterator[tuple[str, str]]:
    """(old, new) for each of the paths that was renamed up to a revision, and for what the old name
    was renamed from."""
    additions = ("-c", "core.quotePath=false", "log", "--no-renames", "--diff-filter=A")
    form = ("--name-only", "--format=%x00%H", revision, "--")
    new_names = set(paths)
    all_names = set(new_names)
    while new_names:
        old_names: set[str] = set()
        for entry in repository.run(*additions, *form, *_places(new_names)).split("\0")[1:]:
            sha, *files = entry.split("\n")
            for old, new in repository.renames_of(sha).items():
                if new in new_names and new in files:
                    old_names.add(old)
                    yield old, new
        new_names = old_names - all_names
        all_names |= new_names


def _places(paths: Iterable[str]) -> list[str]:
    """Paths from the top of the repository, as git takes them; `*` is any."""
    return [f":(top{',glob' if '*' in path else ',literal'}){path}" for path in sorted(set(paths))]
