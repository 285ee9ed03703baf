"""Runs git. Nothing here changes the user's index, working tree or references.

A hook runs with `GIT_*` variables that say which index is about to be committed (`git commit -a`
and `git commit PATH` use a temporary one): those are kept for the repository that they belong to,
made absolute, and withheld from every other (a submodule, a repository elsewhere).
"""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from nparam_lint.ground.errors import UsageError
from nparam_lint.ground.nearest import did_you_mean
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.ground.temporary import temporary_directory
from nparam_lint.repository import repository_top, run_git

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Collection, Iterable, Mapping, Sequence

# Variables that select a repository.
_OF_A_REPOSITORY = (
    "GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_COMMON_DIR GIT_OBJECT_DIRECTORY".split()
)
# Variables that apply to every repository: configuration, limits of the search, and how a partial
# clone fetches what it lacks. All others (pathspec modes, tracing, external diffs) change what git
# prints.
_OF_THE_USER = tuple(
    "GIT_CONFIG GIT_EXEC_PATH GIT_CEILING_DIRECTORIES GIT_DISCOVERY_ACROSS_FILESYSTEM "
    "GIT_ALLOW_PROTOCOL GIT_PROTOCOL GIT_ASKPASS GIT_TERMINAL_PROMPT GIT_HTTP GIT_SSH GIT_SSL "
    "GIT_PROXY".split()
)
# `status` and its like would refresh the index on disk; large files are left as their pointers.
_ALWAYS = {"GIT_OPTIONAL_LOCKS": "0", "GIT_LFS_SKIP_SMUDGE": "1", "LANGUAGE": "en"}
_TOP = ("rev-parse", "--show-toplevel")
# For the index of an export: no hook hears of it, and no part of it is kept in the repository.
_PRIVATE = (
    *("-c", f"core.hooksPath={os.devnull}"),
    *("-c", "core.splitIndex=false"),
    *("-c", "core.fsmonitor=false"),
)
_RELATIVE = late_pattern(r"[~^@:{]")  # counted from another revision, by way of the history
_LINK, _SUBMODULE = "120000", "160000"

_CLONE = "clone with its whole history (fetch-depth: 0 of actions/checkout)"
# How many old lines; where new lines begin, and how many.
_HUNK = late_pattern(r"@@ -[0-9]+(?:,([0-9]+))? \+([0-9]+)(?:,([0-9]+))? @@")


class GitError(UsageError):
    """Git cannot do what was asked; the message says why, and the next step."""


@dataclass(frozen=True, slots=True)
class Repository:
    """A working tree. `top`: its directory, absolute. `environ`: what its git commands run with."""

    top: Path
    environ: Mapping[str, str] = field(repr=False)

    def run(self, *arguments: str, stdin: bytes = b"", index: Path | None = None) -> str:
        """The output of a git command. Raises GitError with what git says."""
        process = self.attempt(*arguments, stdin=stdin, index=index)
        if process.returncode:
            message = os.fsdecode(process.stderr).strip() or f"exit status {process.returncode}"
            command = next(word for word in arguments if word != "-c" and "=" not in word)
            raise GitError(f"git {command} failed in {self.top}: {message}")
        return os.fsdecode(process.stdout)

    def attempt(
        self, *arguments: str, stdin: bytes = b"", index: Path | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        """A git command that may fail. `index`: one that it uses instead of the repository's."""
        environ = {**self.environ, "GIT_INDEX_FILE": str(index)} if index else self.environ
        return _git(self.top, environ, arguments, stdin)

    def listed(self, *arguments: str, index: Path | None = None) -> list[str]:
        """The paths that a command with `-z` prints."""
        return [name for name in self.run(*arguments, index=index).split("\0") if name]

    # --- questions ----------------------------------------------------------------------------

    def resolve(self, revision: str, depth: str = "--depth=1") -> str:
        """The commit that a revision names. Raises GitError in words; `depth`: how much must be
        fetched where a shallow clone lacks it."""
        name = f"{revision}^{{commit}}"
        verify = ("rev-parse", "--verify", "--quiet")
        process = self.attempt(*verify, "--end-of-options", name)
        if process.returncode == 0:
            return os.fsdecode(process.stdout).strip()
        if self.attempt(*verify, "HEAD").returncode:
            raise GitError(f"there is no revision {revision!r}: the repository has no commit yet")
        if self.is_shallow():
            raise GitError(
                f"there is no revision {revision!r} in this shallow clone; "
                f"next: {self._fetch(revision, depth)}, or {_CLONE}"
            )
        names = self.run("for-each-ref", "--format=%(refname:short)").split()
        near = [name for name in names if name.endswith(f"/{revision}")]
        there = "git log shows" if _RELATIVE.search(revision) else "git branch -a and git tag list"
        hint = did_you_mean(near[0] if near else revision, names, f"{there} them")
        raise GitError(f"there is no revision {revision!r}{hint}")

    def has(self, commit: str, path: str) -> bool:
        """Whether a commit has a file or a directory there."""
        return self.attempt("cat-file", "-e", f"{commit}:{path}").returncode == 0

    def merge_base(self, revision: str) -> str:
        """The commit at which a revision and HEAD parted. Raises GitError in words."""
        commits = [self.resolve(name, "--unshallow") for name in (revision, "HEAD")]
        process = self.attempt("merge-base", *commits)
        if process.returncode == 0:
            return os.fsdecode(process.stdout).strip()
        why = f"{revision} and HEAD have no commit in common"
        if self.is_shallow():
            raise GitError(f"{why} in this shallow clone; next: git fetch --unshallow, or {_CLONE}")
        raise GitError(f"{why}; next: compare with {revision} itself")

    def _fetch(self, revision: str, depth: str) -> str:
        """The command that brings a revision into a shallow clone."""
        remote, _, branch = revision.partition("/")
        if _RELATIVE.search(revision):
            return "git fetch --unshallow"
        if branch and remote in self.run("remote").split():
            return f"git fetch {depth} {remote} +refs/heads/{branch}:refs/remotes/{revision}"
        name = revision if re.fullmatch("[0-9a-f]{7,64}", revision) else f"{revision}:{revision}"
        return f"git fetch {depth} origin {name}"

    def is_shallow(self) -> bool:
        """Whether the history ends before its beginning."""
        return self.run("rev-parse", "--is-shallow-repository").strip() == "true"

    def untracked(self) -> list[str]:
        """Files that are neither tracked nor ignored. A repository inside, which is no submodule,
        is one entry that ends with `/`."""
        return self.listed("ls-files", "-o", "--exclude-standard", "-z")

    def differing(self) -> dict[str, str]:
        """The tracked files whose content in the working tree is not the index's, each with git's
        letter: `A` for one that is only meant to be added (`git add -N`)."""
        # Unlike `diff-files`, `diff` compares contents where only the times differ, and notes that
        # in the index: in a copy, whose own time still says which entries cannot be trusted.
        index = self.top / self.run("rev-parse", "--git-path", "index").removesuffix("\n")
        with temporary_directory("nparam-lint-index-") as place:
            copy = Path(place) / "index"
            if index.exists():
                shutil.copy2(index, copy)
            fields = self.listed(
                *(*_PRIVATE, "diff", "--name-status", "-z", "--no-ext-diff", "--no-renames"),
                "--ignore-submodules=all",
                index=copy,
            )
        return dict(zip(fields[1::2], fields[::2], strict=True))

    def ignored(self) -> list[str]:
        """What git ignores; a directory that is ignored as a whole ends with `/`."""
        return self.listed("ls-files", "-o", "-i", "--exclude-standard", "--directory", "-z")

    def renames(self, commit: str, *, staged: bool) -> dict[str, str]:
        """Old path → new path of the files that were renamed between a commit and now, which is the
        working tree or (`staged`) the index. Git sees no file that is not tracked."""
        # Unlike `diff`, it never refreshes the index on disk.
        return self._renames("diff-index", *(["--cached"] if staged else []), commit, "--")

    def renames_of(self, commit: str) -> dict[str, str]:
        """Old path → new path of the files that a commit renamed."""
        return self._renames("diff-tree", "-r", "--no-commit-id", commit)

    def _renames(self, *command: str) -> dict[str, str]:
        options = ("--find-renames", "-l0", "-z", "--name-status", "--diff-filter=R")
        fields = self.listed(command[0], *options, "--ignore-submodules=all", *command[1:])
        return {old: new for _, old, new in zip(*[iter(fields)] * 3, strict=True)}

    def staged_lines(self, folder: str, suffixes: Iterable[str]) -> dict[str, set[int]]:
        """The numbers of the lines that the next commit adds or changes, in files of some kinds
        below a folder of the repository; the paths are relative to it."""
        inside = re.sub(r"[\\*?[]", r"\\\g<0>", folder)
        top = ":(top,glob,icase)" + (f"{inside}/**/*" if folder else "**/*")
        changed = ("--cached", "--no-renames", "--", *(f"{top}{suffix}" for suffix in suffixes))
        plain = (
            "--no-color",
            "--no-ext-diff",
            "--no-textconv",
            "--text",
            "-U0",
            "--inter-hunk-context=0",
        )
        # The names, as they are: in the patch there are prefixes, and quotes.
        output = self.run("diff", *plain, "--numstat", "-z", "-p", *changed)
        listing, _, patch = output.partition("\0\0")
        names = (entry.split("\t", 2)[2] for entry in listing.split("\0"))
        lines: dict[str, set[int]] = {}
        path, header, inside_hunk = "", "", 0
        for line in patch.split("\n"):
            if inside_hunk:
                inside_hunk -= line.startswith(("-", "+"))
            elif line.startswith("diff --git "):
                # A file that became a link has two patches, of one name.
                path = path if line == header else next(names)
                header = line
            elif hunk := _HUNK.match(line):
                start, count = int(hunk[2]), int(hunk[3] or 1)
                inside_hunk = int(hunk[1] or 1) + count
                lines.setdefault(path, set()).update(range(start, start + count))
        below = f"{folder}/" if folder else ""  # in no other case than this, unlike the suffixes
        return {p.removeprefix(below): n for p, n in lines.items() if p.startswith(below)}

    def is_changed(self, *, staged: bool) -> bool:
        """Whether a tracked file of the working tree, or of the index, differs from HEAD, or seems
        to: its time is another."""
        index = ["--cached"] if staged else []
        return self.attempt("diff-index", "--quiet", *index, "HEAD", "--").returncode == 1

    def hooks(self) -> Path:
        """The directory that git looks for hooks in, which need not exist."""
        return self.top / self.run("rev-parse", "--git-path", "hooks").removesuffix("\n")

    # --- copies -------------------------------------------------------------------------------

    def export(
        self,
        directory: Path,
        commit: str | None = None,
        intended: Collection[str] = (),
        prefix: str = "",
    ) -> list[Exported]:
        """Write a commit's tree below `directory`, which is at `prefix` in what is exported; by
        default what is staged, a commit's content if it were made now, without the files that are
        only `intended` to be added. What was written of it, then of each submodule in it."""
        entries = []
        tree = ("ls-tree", "-r", "-z", "--full-tree")
        for line in self.listed(*((*tree, commit) if commit else ("ls-files", "-s", "-z"))):
            about, _, path = line.partition("\t")
            mode, *more = about.split(" ")  # of a tree: type, blob; of the index: blob, stage
            if not commit and more[1] != "0":
                raise GitError(f"{path} is not merged; resolve it, then git add :/{path}")
            if path not in intended:
                entries.append(_Entry(mode, more[bool(commit)], path))
        absent = self._absent(entries)
        files = [e for e in entries if e.mode != _SUBMODULE and e.path not in absent]
        self._write(directory, files)
        exported = Exported(
            self,
            prefix,
            [prefix + entry.path for entry in files],
            [prefix + entry.path for entry in files if entry.mode == _LINK],
            [prefix + path for path in sorted(absent)],
        )
        submodules = (
            self._export_submodule(entry, directory / entry.path, f"{prefix}{entry.path}/")
            for entry in entries
            if entry.mode == _SUBMODULE
        )
        return [exported, *chain.from_iterable(submodules)]

    def _absent(self, entries: Iterable[_Entry]) -> frozenset[str]:
        """The files that the sparse checkout of a partial clone omits, and that nothing has fetched
        yet: to fetch them one by one could take hours."""
        partial = r"^remote\..*\.(promisor|partialclonefilter)$"
        if self.attempt("config", "--get-regexp", partial).returncode:
            return frozenset()
        listed = self.listed("ls-files", "-t", "-z")
        omitted = {entry[2:] for entry in listed if entry.startswith("S ")}
        if not omitted:
            return frozenset()
        # To ask for one by its name would fetch it.
        every = ("cat-file", "--batch-all-objects", "--unordered", "--batch-check=%(objectname)")
        stored = set(self.run(*every).split())
        return frozenset(e.path for e in entries if e.path in omitted and e.blob not in stored)

    def _write(self, directory: Path, files: Iterable[_Entry]) -> None:
        """Check the files out through an index of their own: with the conversions that a checkout
        does (line ends, filters), and without what an index says about the user's tree."""
        records = b"".join(
            os.fsencode(f"{entry.mode} {entry.blob}\t{entry.path}") + b"\0" for entry in files
        )
        with temporary_directory("nparam-lint-index-") as place:
            index = Path(place) / "index"
            update = ("update-index", "-z", "--index-info")
            self.run(*_PRIVATE, *update, stdin=records, index=index)
            every_core = ("-c", "checkout.workers=0")  # half of the time for thousands of files
            checkout = ("checkout-index", "--all", "--quiet", f"--prefix={directory}{os.sep}")
            try:
                self.run(*_PRIVATE, *every_core, *checkout, index=index)
            except GitError as error:  # no space there, or a filter that fails
                message = str(error).replace(f"{directory}{os.sep}", "")
                raise GitError(f"{message}\n(a copy is made in {directory.parent})") from None

    def _export_submodule(self, entry: _Entry, directory: Path, prefix: str) -> list[Exported]:
        """A submodule at the commit that is recorded; nothing where it is not checked out."""
        directory.mkdir(parents=True, exist_ok=True)
        place = self.top / entry.path
        if not (place / ".git").exists():
            return []
        inner = open_repository(place, self.environ)
        if inner.attempt("cat-file", "-e", f"{entry.blob}^{{commit}}").returncode:
            raise GitError(
                f"the submodule {entry.path} lacks the recorded commit {entry.blob[:12]}; "
                f"next: git submodule update --init :/{entry.path}"
            )
        return inner.export(directory, entry.blob, prefix=prefix)


class _Entry(Struct, frozen=True):
    """A file of an index or a tree; of a submodule, `blob` is the commit."""

    mode: str
    blob: str
    path: str


class Exported(Struct, frozen=True):
    """The files of one repository that were written, those of them that are symbolic links, and the
    files that are not there to be written. All of them begin with `prefix`: where it is in what is
    exported."""

    repository: Repository
    prefix: str
    tracked: Sequence[str]
    links: Sequence[str]
    absent: Sequence[str]


def open_repository(start: Path, environ: Mapping[str, str]) -> Repository:
    """The repository whose working tree `start` lies in. Raises GitError where there is none."""
    bare = {
        key: value
        for key, value in environ.items()
        if not key.startswith("GIT_") or key.startswith(_OF_THE_USER)
    } | _ALWAYS
    variables = {key: os.path.abspath(environ[key]) for key in _OF_A_REPOSITORY if environ.get(key)}
    if variables:
        # About the repository of the current directory, where git starts its hooks. It may lie in
        # a working tree that does not know of it: `git --git-dir=… --work-tree=… commit`.
        hook_environ = {**bare, **variables}
        hook_top = _place(_git(Path.cwd(), hook_environ, _TOP))
        if hook_top and start.resolve().is_relative_to(hook_top.resolve()):
            nearest = repository_top(start.resolve())
            nested = nearest is not None and hook_top.resolve() in nearest.parents
            if not nested or _directory(start, bare) == _directory(Path.cwd(), hook_environ):
                return Repository(hook_top, hook_environ)
    answer = _git(start, bare, _TOP)
    top = _place(answer)
    if top is None:
        raise GitError(f"{start} is not in a git repository: {os.fsdecode(answer.stderr).strip()}")
    return Repository(top, bare)


def _directory(place: Path, environ: Mapping[str, str]) -> Path | None:
    """The repository that is used in a place."""
    directory = _place(_git(place, environ, ("rev-parse", "--absolute-git-dir")))
    return directory and directory.resolve()


def _place(process: subprocess.CompletedProcess[bytes]) -> Path | None:
    """The one path that git names, in which there may be line ends; None where it fails."""
    return None if process.returncode else Path(os.fsdecode(process.stdout).removesuffix("\n"))


def _git(
    directory: Path, environ: Mapping[str, str], arguments: Sequence[str], stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    if not directory.is_dir():
        raise GitError(f"there is no directory {directory}")
    try:
        return run_git(directory, environ, arguments, stdin)
    except OSError as error:
        raise GitError(f"git cannot be run: {error.strerror or error}") from None
