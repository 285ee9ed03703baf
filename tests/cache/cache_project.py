"""Projects whose models read something, and what may happen to it between two runs."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

from sample_files import write_files

from nparam_lint.cache import replay

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def net(imports: str, width: object, name: str = "Net") -> str:
    """The source of a model with `4 * width + 4` parameters."""
    return (
        f"import torch.nn as nn\n{imports}\n"
        f"class {name}(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        f"        self.a = nn.Linear({width}, 4)\n"
    )


def edit(path: Path, old: str, new: str) -> None:
    """Change a file so that its size and its time of modification stay."""
    assert len(old) == len(new)
    text, state = path.read_text(), path.stat()
    assert old in text
    path.write_text(text.replace(old, new))
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))


def swap(path: Path, old: str, new: str) -> None:
    """The same, by putting another file in its place."""
    other = path.with_name(path.name + ".new")
    shutil.copy2(path, other)
    edit(other, old, new)
    other.replace(path)


def link(path: Path, target: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to(target)


def tree(folder: Path) -> dict[str, bytes | None]:
    """Everything below a directory: path → content, None for what is no file."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


def new_environment(place: Path, width: int = 4) -> Path:
    """An environment that has all that ours has, and a package `extra` of its own: the directory
    that packages are installed in."""
    python = Path(os.path.realpath(sys.executable))
    version = ".".join(map(str, sys.version_info[:3]))
    config = f"home = {python.parent}\ninclude-system-site-packages = false\nversion = {version}\n"
    write_files(place, {"pyvenv.cfg": config})
    link(place / "bin/python", str(python))
    site = place / "lib" / f"python3.{sys.version_info[1]}" / "site-packages"
    ours = "\n".join(path for path in sys.path if path.endswith("site-packages"))
    write_files(site, {"ours.pth": ours + "\n"})
    install(site, width, "1.0")
    return site


def install(site: Path, width: int, version: str) -> None:
    for old in site.glob("extra*"):
        shutil.rmtree(old)
    metadata = f"Name: extra\nVersion: {version}\n"
    write_files(
        site,
        {"extra/__init__.py": f"W = {width}\n", f"extra-{version}.dist-info/METADATA": metadata},
    )


def replayed(root: Path, arguments: Sequence[str], environ: Mapping[str, str]) -> Any:
    """The last answer to a command, if it is given again: its exit code, and what is printed."""
    output, before = io.TextIOWrapper(io.BytesIO(), "utf-8", newline=""), Path.cwd()
    with mock.patch.dict(os.environ, environ, clear=True), redirect_stdout(output):
        os.chdir(root)
        try:
            code = replay(arguments, os.environ, lambda *_: None)
        finally:
            os.chdir(before)
    return None if code is None else (code, output.buffer.getvalue().decode())


def without_cache(text: str) -> Any:
    """What a command printed, without what may depend on the cache; JSON as what it says."""
    if text.startswith("{"):
        document = json.loads(text)
        for record in (*document.get("models", ()), document.get("summary", {})):
            for name in ("cached", "seconds"):
                record.pop(name, None)
        return document
    text = re.sub(r" \([\d,]+ from the cache\)|, from the cache", "", text)
    return re.sub(r"\d+\.\d+ ?s\b( =+)?$", "… s", text, flags=re.MULTILINE)


@dataclass(frozen=True)
class Answer:
    """What a run said. `report`: all of it that must not depend on the cache; `recalled`: the
    models that were."""

    code: int
    report: dict[str, Any]
    recalled: frozenset[str]

    @property
    def totals(self) -> dict[str, int | None]:
        models = self.report["models"]
        return {m["target"]: m["counts"]["total"] if m.get("counts") else None for m in models}


def answer(done: subprocess.CompletedProcess[str]) -> Answer:
    assert "Traceback" not in done.stderr, done.stderr
    document = json.loads(done.stdout)
    recalled = frozenset(m["target"] for m in document["models"] if m["cached"])
    assert document["summary"]["cached"] == len(recalled)
    return Answer(done.returncode, without_cache(done.stdout), recalled)


@dataclass
class Checker:
    """Checks a project with what is remembered, and without."""

    run: Any
    root: Path
    cache: Path
    arguments: tuple[object, ...] = ()
    environ: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, files: Mapping[str, str], run: Any, place: Path, *arguments: object) -> Checker:
        """One of a repository with these files."""
        root = place / "project"
        root.mkdir()
        subprocess.run(["git", "init", "-q"], cwd=root, check=True)
        write_files(root, files)
        return cls(run, root, place / "cache", arguments)

    def check(self, *more: object) -> Answer:
        environ = {"NPARAM_LINT_CACHE": str(self.cache), **self.environ}
        arguments = ("check", *self.arguments, *more, "--format", "json")
        return answer(self.run(*arguments, cwd=self.root, **environ))

    def agree(self) -> Answer:
        """A run that remembers, one that does not, and one that remembers the first say the same;
        returns the first."""
        cached, anew = self.check(), self.check("--no-cache")
        assert anew.recalled == frozenset()
        assert cached.report == anew.report
        assert self.check().report == anew.report
        return cached
