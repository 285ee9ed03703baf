"""What is asked of git. Nothing here changes the user's index, tree or references.

A hook runs with `GIT_*` variables that say which index is about to be committed (`git commit -a`
and `git commit PATH` use a temporary one): those are kept for the repository that they belong to,
made absolute, and withheld from every other (a submodule, a repository elsewhere).
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_OF_A_REPOSITORY = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")
# `status` and its like would refresh the index on disk; large files are left as their pointers.
_ALWAYS = {"GIT_OPTIONAL_LOCKS": "0", "GIT_LFS_SKIP_SMUDGE": "1", "LC_ALL": "C"}
_PLACES = ("rev-parse", "--show-toplevel", "--absolute-git-dir")


class GitError(Exception):
    """Git cannot do what was asked; the message says why, and the next step."""


@dataclass(frozen=True, slots=True)
class Repository:
    """A working tree. `top`: its directory, absolute. `environ`: what its git commands run with."""

    top: Path
    environ: Mapping[str, str] = field(repr=False)

    def run(self, *arguments: str, **more: str) -> str:
        """The output of a git command. Raises GitError with what git says."""
        done = self.attempt(*arguments, **more)
        if done.returncode:
            said = os.fsdecode(done.stderr).strip() or f"exit status {done.returncode}"
            raise GitError(f"git {arguments[0]} failed in {self.top}: {said}")
        return os.fsdecode(done.stdout)

    def attempt(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[bytes]:
        """A git command that may fail; `more` is added to its environment."""
        return _git(self.top, {**self.environ, **more}, *arguments)

    def listed(self, *arguments: str, **more: str) -> list[str]:
        """The paths that a command with `-z` prints."""
        return [name for name in self.run(*arguments, **more).split("\0") if name]

    # --- questions ----------------------------------------------------------------------------

    def resolve(self, revision: str) -> str:
        """The commit that a revision names. Raises GitError in words."""
        named = f"{revision}^{{commit}}"
        done = self.attempt("rev-parse", "--verify", "--quiet", "--end-of-options", named)
        if done.returncode == 0:
            return os.fsdecode(done.stdout).strip()
        if self.attempt("rev-parse", "--verify", "--quiet", "HEAD").returncode:
            raise GitError(f"there is no revision {revision!r}: the repository has no commit yet")
        if self.run("rev-parse", "--is-shallow-repository").strip() == "true":
            raise GitError(
                f"there is no revision {revision!r} in this shallow clone; "
                f"next: git fetch --depth=1 origin {revision}, or clone with its whole history"
            )
        raise GitError(f"there is no revision {revision!r}; git branch -a and git tag list them")

    def untracked(self) -> list[str]:
        """Files that are neither tracked nor ignored: a commit would lack them."""
        return self.listed("ls-files", "-o", "--exclude-standard", "-z")

    def unstaged(self) -> list[str]:
        """Tracked files whose content in the working tree is not the index's."""
        return self.listed("diff-files", "--name-only", "-z", "--ignore-submodules=all")

    def ignored(self) -> list[str]:
        """What git ignores; a directory that is ignored as a whole ends with `/`."""
        return self.listed("ls-files", "-o", "-i", "--exclude-standard", "--directory", "-z")

    def renames(self, revision: str) -> dict[str, str]:
        """Old path → new path of the files that were renamed between a commit and now."""
        fields = self.listed(
            "diff", "--find-renames", "--diff-filter=R", "--name-status", "-z", revision, "--"
        )
        return {old: new for _, old, new in zip(*[iter(fields)] * 3, strict=True)}

    # --- copies -------------------------------------------------------------------------------

    def export_index(self, directory: Path) -> Exported:
        """Write what is staged below `directory`."""
        return self._export(directory, {})

    def export_commit(self, commit: str, directory: Path) -> Exported:
        """Write a commit's tree below `directory`, by way of an index of its own."""
        with tempfile.TemporaryDirectory(prefix="nparam-lint-index-") as temporary:
            index = {"GIT_INDEX_FILE": str(Path(temporary) / "index")}
            self.run("read-tree", commit, **index)
            return self._export(directory, index)

    def _export(self, directory: Path, index: Mapping[str, str]) -> Exported:
        entries = [entry.partition("\t") for entry in self.listed("ls-files", "-s", "-z", **index)]
        unmerged = sorted({path for about, _, path in entries if not about.endswith(" 0")})
        if unmerged:
            raise GitError(f"{unmerged[0]} is not merged; resolve it, then git add {unmerged[0]}")
        self.run("checkout-index", "--all", "--quiet", f"--prefix={directory}{os.sep}", **index)
        tracked: list[str] = []
        submodules: dict[str, Exported] = {}
        for about, _, path in entries:
            mode, commit, _ = about.split(" ")
            if mode == "160000":
                submodules[path] = self._export_submodule(path, commit, directory / path)
            elif os.path.lexists(directory / path):  # else left out by a sparse checkout
                tracked.append(path)
        return Exported(self, tuple(tracked), submodules)

    def _export_submodule(self, path: str, commit: str, directory: Path) -> Exported:
        """A submodule at the commit that is recorded; empty where it is not checked out."""
        inner = open_repository(self.top / path, self.environ)
        if inner.top == self.top:
            return Exported(inner, (), {})
        if inner.attempt("cat-file", "-e", commit + "^{commit}").returncode:
            raise GitError(
                f"the submodule {path} lacks the recorded commit {commit[:12]}; "
                f"next: git submodule update --init {path}"
            )
        return inner.export_commit(commit, directory)


@dataclass(frozen=True, slots=True)
class Exported:
    """The files that were written, relative to their repository, and its submodules by path."""

    repository: Repository
    tracked: tuple[str, ...]
    submodules: Mapping[str, Exported]


def open_repository(start: Path, environ: Mapping[str, str]) -> Repository:
    """The repository whose working tree `start` lies in. Raises GitError where there is none."""
    bare = {k: v for k, v in environ.items() if not k.startswith("GIT_")} | _ALWAYS
    if path := environ.get("GIT_EXEC_PATH"):
        bare["GIT_EXEC_PATH"] = path
    told = {key: os.path.abspath(environ[key]) for key in _OF_A_REPOSITORY if environ.get(key)}
    own = {**bare, **told}
    plain = _git(start, bare, *_PLACES)
    if plain.returncode == 0:
        top, directory = os.fsdecode(plain.stdout).splitlines()
        # Those of another repository: a hook that asks about one elsewhere.
        same = "GIT_DIR" not in told or Path(told["GIT_DIR"]).samefile(directory)
        return Repository(Path(top), own if same else bare)
    named = _git(start, own, *_PLACES)  # `git --git-dir=… --work-tree=… commit`
    if named.returncode == 0 and "GIT_WORK_TREE" in told:
        return Repository(Path(os.fsdecode(named.stdout).splitlines()[0]), own)
    raise GitError(f"{start} is in no git repository: {os.fsdecode(plain.stderr).strip()}")


def _git(
    directory: Path, environ: Mapping[str, str], *arguments: str
) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            ["git", *arguments],
            cwd=directory,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except OSError as error:
        raise GitError(f"git cannot be run: {error.strerror or error}") from None
