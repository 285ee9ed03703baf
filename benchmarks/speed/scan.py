"""Reading a large source tree."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from speed.measure import Invalid, Result, alternate, compare
from speed.repository import commit
from speed.tool import fresh

if TYPE_CHECKING:
    from speed.measure import Bench, Done

_FILES = re.compile(r"\b([\d,]+) Python files?\b")

_PARSE = """\
import ast, pathlib, sys
files = sorted(pathlib.Path().rglob("*.py"))
for file in files:
    ast.parse(file.read_bytes())
print(len(files))
"""


def scan(bench: Bench) -> Result:
    """The source tree of transformers as it is installed, copied into a git repository (`--small`:
    one of its folders in forty).

    Ours: `nparam-lint --static`, which reads every file, finds all definitions and their budgets,
    runs the rules that need the source alone, and builds nothing; without a cache, and once more
    with what that run left. Also with `--declared`, the part of it that every hook run does: files
    without a budget and without a model cannot matter. Theirs: a process of nparam-lint's own
    interpreter that reads each file and parses it with `ast`, and nothing more.
    """
    bench.needs("transformers")
    root = bench.folder("scan")
    files = copied(bench, root)
    last = {"all": fresh(bench), "declared": fresh(bench)}

    def ours(kind: str, first: bool) -> float:
        if first:
            last[kind] = fresh(bench)
        options = ["--static", *(["--declared"] if kind == "declared" else [])]
        done = last[kind].run(root, *options, codes=(0, 1))
        _read_all(done, files)
        return done.seconds

    def parse() -> float:
        done = bench.run([bench.own, "-c", _PARSE], root)
        if int(done.out) != files:
            raise Invalid(f"parsed {done.out.strip()} files, there are {files}")
        return done.seconds

    sides = {
        "parse": parse,
        "first": lambda: ours("all", True),
        "second": lambda: ours("all", False),
        "first declared": lambda: ours("declared", True),
        "second declared": lambda: ours("declared", False),
    }
    alternate({"parse": parse}, 1)  # the system reads the files into memory
    taken = alternate(sides, min(3, bench.repetitions), turned=False)
    return Result(
        [
            compare("first --static / ast.parse", taken["first"], taken["parse"]),
            compare("second --static / ast.parse", taken["second"], taken["parse"]),
            compare("first, --declared / ast.parse", taken["first declared"], taken["parse"]),
            compare("second, --declared / ast.parse", taken["second declared"], taken["parse"]),
        ],
        [f"{files:,} files, {_size(root) / 1e6:.0f} MB"],
    )


def copied(bench: Bench, root: Path) -> int:
    """Copy the tree below `root` and commit it; the number of its files."""
    code = "import importlib.util as u; print(u.find_spec('transformers').origin)"
    source = Path(bench.run([bench.python, "-c", code], root).out.strip()).parent
    files = [file.relative_to(source) for file in sorted(source.rglob("*.py"))]
    if bench.small:
        folders = sorted({file.parent for file in files})[::40]
        files = [file for file in files if file.parent in folders]
    for file in files:
        copy = root / source.name / file
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / file, copy)
    commit(bench, root)
    return len(files)


def _size(root: Path) -> int:
    return sum(file.stat().st_size for file in root.rglob("*.py"))


def _read_all(done: Done, files: int) -> None:
    said = _FILES.search(done.out)
    if not said or int(said[1].replace(",", "")) != files:
        raise Invalid(f"expected a summary of {files} files:\n{done.out[-500:]}")
