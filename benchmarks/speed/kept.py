"""What a cache still knows after what happens every day: a new file, a variable, a fresh clone."""

from __future__ import annotations

import itertools
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from speed.measure import Result, Skipped, Target, alternate, compare
from speed.repository import git
from speed.tool import Tool, fresh, write_project
from speed.zoo import installed

if TYPE_CHECKING:
    from speed.measure import Bench

EACH, FEW = 40, 6


def kept(bench: Bench) -> Result:
    """40 models of timm and 40 of transformers (`--small`: 6 of each), exact budgets in a config.

    Ours: `nparam-lint --declared` after one such run, and then after `echo > notes.txt` in the
    project's directory (each time another name); with an environment variable that was never set
    before; and in a fresh clone at another path, with a virtual environment at another path that
    has the same packages, and a copy of the cache, whose files are all new. In each all models must
    come from the cache. Theirs: the same command with an empty cache, in the same project.
    """
    each = bench.size(EACH, FEW)
    totals, notes = installed(bench, {"timm": each, "transformers": each})
    project, models = bench.folder("kept"), len(totals)
    write_project(bench, project, totals)
    git(bench, project, "remote", "add", "origin", "https://host.example/team/kept.git")
    tool, numbers = fresh(bench), itertools.count()
    tool.check(project, models)
    yesterday = bench.folder("yesterday")
    _copy(tool.cache, yesterday)
    every = range(models, models + 1)

    def note() -> float:
        (project / f"notes{next(numbers)}.txt").write_text("\n", encoding="utf-8")
        return tool.check(project, models, every).seconds

    def variable() -> float:
        told = replace(bench, environ={**bench.environ, f"FOO{next(numbers)}": "1"})
        return Tool(told, tool.cache).check(project, models, every).seconds

    def clone() -> float:
        number = next(numbers)
        place = bench.folder(f"clone{number}")
        git(bench, place, "clone", "-q", str(project), "kept")
        url = ("remote", "set-url", "origin", "git@host.example:team/kept.git")
        git(bench, place / "kept", *url)
        elsewhere = replace(bench, python=_environment(bench, bench.folder(f"venv{number}")))
        restored = bench.folder(f"restored{number}")
        _copy(yesterday, restored)
        return Tool(elsewhere, restored).check(place / "kept", models, every).seconds

    def nothing() -> float:
        return fresh(bench).check(project, models).seconds

    sides = {"note": note, "variable": variable, "clone": clone, "cold": nothing}
    taken = alternate(sides, min(3, bench.repetitions))
    return Result(
        [
            compare("after echo > notes.txt", taken["note"], taken["cold"], Target(0.1)),
            compare("with another variable", taken["variable"], taken["cold"], Target(0.1)),
            compare("in a fresh clone", taken["clone"], taken["cold"], Target(0.2)),
        ],
        [*notes, f"{models} models, all of them from the cache in each of the three runs"],
    )


def _copy(cache: Path, place: Path) -> None:
    """As CI restores a directory: the same content, with new times."""
    shutil.copytree(cache, place, copy_function=shutil.copyfile, dirs_exist_ok=True)


def _environment(bench: Bench, place: Path) -> str:
    """An environment at another path with the same packages: its interpreter."""
    packages = next(Path(bench.python).parents[1].glob("lib/python3*/site-packages"), None)
    if packages is None or not (packages.parents[2] / "pyvenv.cfg").is_file():
        raise Skipped("the interpreter with torch is not that of a virtual environment")
    bench.run([bench.python, "-m", "venv", "--without-pip", str(place)], place)
    own = place / packages.relative_to(packages.parents[2])
    shutil.rmtree(own)
    own.symlink_to(packages)
    return str(place / "bin" / "python")
