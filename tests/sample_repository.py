"""Git repositories for tests: real git, independent of anybody's configuration."""

from __future__ import annotations

import hashlib
import os
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_CONFIG = {
    "init.defaultBranch": "main",
    "protocol.file.allow": "always",  # submodules of this machine
    "core.excludesFile": os.devnull,
    "core.attributesFile": os.devnull,
    "commit.gpgSign": "false",
    "gc.auto": "0",
}
GIT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@example.org",
    "GIT_EDITOR": "true",
    "GIT_CONFIG_COUNT": str(len(_CONFIG)),
    **{f"GIT_CONFIG_KEY_{i}": key for i, key in enumerate(_CONFIG)},
    **{f"GIT_CONFIG_VALUE_{i}": value for i, value in enumerate(_CONFIG.values())},
}
# As users have them: blanks, an apostrophe, letters beyond ASCII, and even a line end.
AWKWARD = "l'été\nà Paris"


@dataclass
class Sample:
    """A working tree. `environ`: what git and its hooks run with."""

    path: Path
    environ: dict[str, str] = field(repr=False)

    @classmethod
    def create(cls, path: Path, environ: dict[str, str]) -> Sample:
        path.mkdir(parents=True)
        made = cls(path, environ | GIT)
        made.git("init", "--quiet")
        return made

    def git(self, *arguments: object, check: bool = True, **more: str) -> str:
        """What git prints, without the last line break."""
        done = self.attempt(*arguments, **more)
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done.stdout.removesuffix("\n")

    def attempt(
        self, *arguments: object, cwd: Path | None = None, **more: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["git", *map(str, arguments)],
            cwd=cwd or self.path,
            env=self.environ | more,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            timeout=120,
            check=False,
        )

    def write(self, files: dict[str, str | bytes | None]) -> None:
        """Files by path; None deletes."""
        for name, content in files.items():
            place = self.path / name
            if content is None:
                place.unlink()
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content.encode() if isinstance(content, str) else content)

    def add(self, files: dict[str, str | bytes | None]) -> None:
        self.write(files)
        self.git("add", "--", *files)

    def commit(
        self, *arguments: object, message: str = "change", **more: str
    ) -> subprocess.CompletedProcess[str]:
        return self.attempt("commit", "--quiet", "-m", message, *arguments, **more)

    def committed(self, files: dict[str, str | bytes | None]) -> None:
        """A commit that no hook judges."""
        self.add(files)
        self.git("commit", "--quiet", "--no-verify", "--message", "base")

    def state(self) -> dict[str, str]:
        """Each file of the working tree and of the repository: its kind, mode, times and content.
        Git's own notes of what was tried last are left out."""
        notes = ("COMMIT_EDITMSG",)
        return {
            os.fsdecode(name.relative_to(self.path)): _fingerprint(name)
            for name in sorted(self.path.rglob("*"))
            if name.name not in notes
        }


def _fingerprint(path: Path) -> str:
    status = path.lstat()
    if path.is_symlink():
        return f"link to {path.readlink()}"
    if path.is_dir():
        return f"directory {status.st_mode:o}"
    content = hashlib.sha256(path.read_bytes()).hexdigest()
    if path.name.startswith("sharedindex."):  # git touches it each time that it reads it
        return f"{status.st_mode:o} {content}"
    return f"{status.st_mode:o} {status.st_mtime_ns} {content}"
