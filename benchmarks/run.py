"""Times nparam-lint against what it replaces, side by side in one run.

    python benchmarks/run.py --python VENV/bin/python [--only NAME …] [--small] [--write]

Run it in the environment that has nparam-lint; `--python` names the interpreter that has torch, and
as far as they are to be compared timm, transformers, pytest, torchinfo and fvcore. What is missing
is skipped and said so. The benchmarks are the functions below; the docstring of each says exactly
what both sides do. All that they generate lies in a temporary directory and is removed.

Times are medians of whole processes. Only ratios have targets, and a target that is not met is no
failure. Exit code 1: a benchmark is invalid, since the sides did not do the same work or a run was
not what it was taken for (a cold one that was answered from a cache).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from speed import (
    asserts,
    editor,
    growth,
    hook,
    kept,
    lines,
    machine,
    memory,
    peers,
    resident,
    scan,
    shards,
    sweep,
    ways,
    zoo,
)
from speed.measure import Bench, Invalid, Skipped
from speed.table import Section, page, read_profiles, text_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from speed.measure import Result

BENCHMARKS: dict[str, Callable[[Bench], Result]] = {
    "warm": hook.warm,
    "cold": hook.cold,
    "resident": resident.resident,
    "kept": kept.kept,
    "zoo": zoo.zoo,
    "pytest": asserts.pytest,
    "peers": peers.peers,
    "scan": scan.scan,
    "ways": ways.ways,
    "lines": lines.lines,
    "editor": editor.editor,
    "memory": memory.memory,
    "growth": growth.growth,
    "shards": shards.shards,
    "sweep": sweep.sweep,
}
HERE = Path(__file__).parent
REPETITIONS, FEW = 7, 2  # the second with --small


def run_one(name: str, bench: Bench) -> Section:
    function = BENCHMARKS[name]
    print(f"{name} …", file=sys.stderr, flush=True)
    start = time.monotonic()
    try:
        result = function(bench)
    except Skipped as why:
        section = Section(name, function, why_not=str(why))
    except Invalid as why:
        section = Section(name, function, why_not=str(why), failed=True)
    else:
        section = Section(name, function, result.rows, result.notes)
    print(f"{name}: {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
    for line in (*section.notes, *section.why_not.splitlines()):
        print(f"    {line}", file=sys.stderr, flush=True)
    return section


def write(sections: list[Section], described: list[str]) -> None:
    profiles = read_profiles((HERE / "profile.md").read_text(encoding="utf-8"))
    left = [
        Section(name, function, why_not="not run")
        for name, function in BENCHMARKS.items()
        if name not in {section.name for section in sections}
    ]
    text = page([*sections, *left], described, profiles)
    (HERE / "RESULTS.md").write_text(text, encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--python", required=True, help="the interpreter that has torch")
    parser.add_argument("--only", nargs="+", choices=BENCHMARKS, help="these (default: all)")
    parser.add_argument("--small", action="store_true", help="small sizes, for trying out")
    parser.add_argument(
        "--repetitions", type=int, metavar="N", help=f"of each side (default: {REPETITIONS})"
    )
    parser.add_argument("--write", action="store_true", help="keep the results in RESULTS.md")
    options = parser.parse_args()
    if options.write and (options.only or options.small):
        parser.error("RESULTS.md is of one whole run: --write goes with neither --only nor --small")
    if not Path(options.python).is_file():
        parser.error(f"there is no interpreter {options.python}")
    python = str(Path(options.python).absolute())
    before = machine.load()
    with tempfile.TemporaryDirectory(prefix="nparam-lint-benchmark-") as scratch:
        repetitions = options.repetitions or (FEW if options.small else REPETITIONS)
        bench = Bench(python, Path(scratch).resolve(), options.small, repetitions)
        bench.needs("torch")
        often = f"each side {repetitions} times, those that take minutes 3 times at most"
        sections: list[Section] = []
        described: list[str] = []
        for name in options.only or BENCHMARKS:
            sections.append(run_one(name, bench))
            described = [*machine.describe(bench, before), often]
            if options.write:  # as far as it has come: the whole takes the better part of an hour
                write(sections, described)
    print(text_table(sections))
    print("\n".join(described))
    return int(any(section.failed for section in sections))


if __name__ == "__main__":
    raise SystemExit(main())
