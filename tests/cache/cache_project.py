"""Projects whose models read something, and what may happen to it between two runs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import textwrap
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def net(imports: str, width: object, name: str = "Net") -> str:
    """The source of a model with `4 * width + 4` parameters."""
    return (
        f"import torch.nn as nn\n{textwrap.dedent(imports)}\n"
        f"class {name}(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        f"        self.a = nn.Linear({width}, 4)\n"
    )


def write(root: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))


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
    other.write_text(path.read_text())
    state = path.stat()
    os.utime(other, ns=(state.st_atime_ns, state.st_mtime_ns))
    edit(other, old, new)
    other.replace(path)


def link(path: Path, target: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to(target)


def new_repository(root: Path) -> None:
    root.mkdir(parents=True, exist_ok=True)
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)


def without_cache(text: str) -> Any:
    """What a command printed, without what may depend on the cache; JSON as what it says."""
    if text.startswith("{"):
        said = json.loads(text)
        for model in said.get("models", ()):
            for name in ("cached", "seconds"):
                model.pop(name, None)
        for name in ("cached", "seconds"):
            said.get("summary", {}).pop(name, None)
        return said
    text = re.sub(r" \([\d,]+ from the cache\)|, from the cache", "", text)
    return re.sub(r"\d+\.\d+ ?s\b( =+)?$", "… s", text, flags=re.MULTILINE)


@dataclass(frozen=True)
class Answer:
    """What a run said. `report`: all of it that must not depend on the cache; `recalled`: the
    models that were."""

    code: int
    report: dict[str, Any]
    recalled: frozenset[str]
    errors: str

    @property
    def totals(self) -> dict[str, int | None]:
        models = self.report["models"]
        return {m["target"]: m["counts"]["total"] if m.get("counts") else None for m in models}


def answer(done: subprocess.CompletedProcess[str]) -> Answer:
    assert "Traceback" not in done.stderr, done.stderr
    report = json.loads(done.stdout)
    recalled = frozenset(m["target"] for m in report["models"] if m["cached"])
    assert report["summary"].pop("cached") == len(recalled)
    for model in report["models"]:
        del model["cached"]
        model.pop("seconds", None)  # a class inside another model took none of its own
    report["summary"].pop("seconds", None)
    return Answer(done.returncode, report, recalled, done.stderr)


def differences(one: Answer, other: Answer) -> list[str]:
    """Where two answers differ, with what each says there: whole reports are too long to read."""
    pairs = [("exit code", one.code, other.code), ("", one.report, other.report)]
    found: list[str] = []
    for where, a, b in pairs:  # grows while it is walked
        if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
            pairs += [(f"{where}.{key}", a[key], b[key]) for key in a]
        elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
            pairs += [(f"{where}[{i}]", x, y) for i, (x, y) in enumerate(zip(a, b, strict=True))]
        elif a != b:
            found.append(f"{where}: {a!r} != {b!r}")
    return found


@dataclass
class Checker:
    """Checks a project with what is remembered, and without."""

    run: Any
    root: Path
    cache: Path
    arguments: tuple[object, ...] = ()
    environ: dict[str, str] = field(default_factory=dict)

    def check(self, *more: object) -> Answer:
        environ = {"NPARAM_LINT_CACHE": str(self.cache), **self.environ}
        given = ("check", *self.arguments, *more, "--format", "json")
        return answer(self.run(*given, cwd=self.root, **environ))

    def both(self) -> tuple[Answer, Answer]:
        """What a run says that remembers, and what one says that does not."""
        return self.check(), self.check("--no-cache")

    def agree(self) -> Answer:
        """Both, and a third that remembers the first, say the same; returns the first."""
        cached, anew = self.both()
        assert anew.recalled == frozenset()
        assert cached.totals == anew.totals
        assert differences(cached, anew) == []
        assert differences(self.check(), anew) == []
        return cached
