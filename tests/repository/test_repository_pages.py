"""What is exported and copied of a repository: the pages beside this file. Neither the repository
nor the working tree is changed, and no copy remains."""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pages import PageRun, pages, steady
from sample_repository import AWKWARD, Sample

from nparam_lint.ground.errors import UsageError
from nparam_lint.repository.git import GitError, open_repository
from nparam_lint.repository.snapshot import copied

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGES = pages(__file__)


class RepositoryRun(PageRun):
    """`export` writes what is staged, or a commit, and `copy` makes a copy: their files, and what
    is known of them. `export --as-cloned`: it is what git checks out of a commit of it.
    `differing`: what a commit would lack."""

    def said(self, command: str) -> str:
        name, *words = shlex.split(command)
        asked = {"export": self.export, "copy": self.copy, "differing": self.differing}
        if name not in asked:
            return super().said(command)
        sample, as_cloned = Sample(self.folder, self.environ), words == ["--as-cloned"]
        before = sample.state()
        try:
            lines = [*asked[name](*words[as_cloned:])]
        except (GitError, UsageError) as error:
            lines = [f"! {error}"]
        assert sample.state() == before
        assert not as_cloned or self.files == self.cloned()
        text = "".join(f"{line.rstrip()}\n" for line in lines)
        return steady(text, self.folder)

    def export(self, *words: str) -> Iterator[str]:
        repository = open_repository(self.cwd, self.environ)
        commits = [repository.resolve(word) for word in words]
        intended = [path for path, letter in repository.differing().items() if letter == "A"]
        with tempfile.TemporaryDirectory() as place:
            found, *submodules = repository.export(Path(place), *commits, intended=intended)
            self.files = read(Path(place))
        tracked = [path for one in (found, *submodules) for path in one.tracked]
        assert sorted(tracked) == sorted(self.files)
        for path, content in self.files.items():
            yield f"{path!r}: {content!r}"
        for one in submodules:
            yield f"submodule {one.prefix.rstrip('/')}: {one.repository.top}"

    def cloned(self) -> dict[str, str | bytes]:
        sample, place = Sample(self.folder, self.environ), self.folder.with_name("clone")
        sample.git("commit", "--quiet", "--allow-empty", "--message", "now")
        sample.git("clone", "--quiet", *self.settings, sample.path, place)
        shutil.rmtree(place / ".git")
        files = read(place)
        shutil.rmtree(place)
        return files

    @property
    def settings(self) -> list[str]:
        """Those of the repository that say how files are checked out."""
        done = Sample(self.folder, self.environ).git("config", "--local", "--list")
        kept = (line for line in done.splitlines() if line.startswith(("core.autocrlf", "filter.")))
        return [word for line in kept for word in ("--config", line)]

    def differing(self) -> Iterator[str]:
        repository = open_repository(self.cwd, self.environ)
        yield from (f"{letter} {path}" for path, letter in repository.differing().items())
        yield f"untracked: {', '.join(repository.untracked())}"
        yield f"ignored: {', '.join(repository.ignored())}"

    def copy(self, *words: str) -> Iterator[str]:
        with copied(open_repository(self.cwd, self.environ), *words) as copy:
            assert copy.home == self.folder
            assert not any((copy.directory / name).exists() for name in copy.untracked)
            assert list((copy.directory / ".git").iterdir()) == []  # projects find their top by it
            for name in ("tracked", "importable", "linked", "untracked", "unstaged", "commit"):
                value = getattr(copy, name)
                yield f"{name}: {value if isinstance(value, str) else ', '.join(value or ())}"
            for path, content in read(copy.directory).items():
                shown = content if isinstance(content, str) else repr(content)
                yield f"{path}: {shown}".replace(str(copy.directory), "COPY")
        assert not copy.directory.exists()


def read(directory: Path) -> dict[str, str | bytes]:
    """What is in each file; a link's content is its target."""
    paths = sorted(path for path in directory.rglob("*") if path.is_symlink() or path.is_file())
    return {
        os.fsdecode(path.relative_to(directory)): (
            f"-> {path.readlink()}" if path.is_symlink() else path.read_bytes()
        )
        for path in paths
    }


@pytest.mark.parametrize("name", PAGES)
def test_what_is_exported_and_copied(name, tmp_path, environ, nparam_lint, request, monkeypatch):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    run = RepositoryRun(tmp_path / AWKWARD, environ, nparam_lint)
    run.hold(PAGES[name], request.config)
    assert list((tmp_path / "temporary").iterdir()) == []
