"""Other tools that count parameters, on models that are easily counted wrong and on common ones."""

from __future__ import annotations

import json
import re
import shutil
from functools import partial
from typing import TYPE_CHECKING

from speed.measure import INSIDE, Result, Row, Skipped, alternate, compare, same, seconds
from speed.tool import fresh, write_project
from speed.zoo import common

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from speed.measure import Bench, Side, Totals

COMMON, SMALL = 20, 3  # models of timm
TOOLS = ("torchinfo", "fvcore")
_TRANSFORMERS = ("GPT2LMHeadModel(GPT2Config())", "T5ForConditionalGeneration(T5Config())")
_CASE = re.compile(
    r'^class (\w+)\(nn\.Module\):\n    """[^"]*?\n    nparam: ([\d_]+)\n', re.MULTILINE
)

Counts = dict[str, int | str]  # item → count, or why there is none


def peers(bench: Bench) -> Result:
    """torchinfo and fvcore on the same models.

    Counts: of small models that are easily counted wrong (`inside/cases.py`), and as far as they
    are installed of GPT-2 and T5 of transformers and 20 models of timm (`--small`: 3). Wrong is
    what differs from the sum over the distinct parameters of all modules, which for the small
    models must be what was derived by hand. Time: of the installed models alone. Theirs: a process
    that builds every model on the CPU and asks the tool for its total. Ours: the first run (no
    cache) of `nparam-lint --declared --format json`. Imports are part of both.
    """
    tools = [tool for tool in TOOLS if _has(bench, tool)]
    if not tools:
        raise Skipped(f"the interpreter with torch has neither {' nor '.join(TOOLS)}")
    small, others = bench.folder("cases"), bench.folder("common")
    shutil.copy(INSIDE / "cases.py", small)
    cases, real = _cases(small), _installed(bench)
    write_project(bench, small, {})
    truth = {k: int(n) for k, n in _asked(bench, "distinct", [*cases, *real], small)[1].items()}
    same({item: truth[item] for item in cases}, cases, "distinct parameters and by hand")
    write_project(bench, others, {item: truth[item] for item in real})
    told = {"nparam-lint": _reported(bench, small)[1]}
    told |= {tool: _asked(bench, tool, [*cases], small)[1] for tool in tools}

    def ours() -> float:
        taken, counts = _reported(bench, others)
        told["nparam-lint"] |= counts
        return taken

    def theirs(tool: str) -> float:
        taken, counts = _asked(bench, tool, real, others)
        told[tool] |= counts
        return taken

    sides: dict[str, Side] = {"nparam-lint": ours} | {t: partial(theirs, t) for t in tools}
    taken = alternate(sides, min(3, bench.repetitions)) if real else {}
    rows = [compare(f"time / {t}", taken["nparam-lint"], taken[t]) for t in tools if real]
    wrong = {tool: [i for i in truth if counts.get(i) != truth[i]] for tool, counts in told.items()}
    rows += [
        Row(f"counts wrong or missing / {t}", str(len(wrong["nparam-lint"])), str(len(wrong[t])))
        for t in tools
    ]
    each = (f"{name} {seconds(min(times) / len(real))}" for name, times in taken.items())
    notes = [
        f"counted: {len(truth)} models, timed: {len(real)} of them; a model, imports included, at "
        f"best: {', '.join(each)}"
    ]
    for tool, missed in wrong.items():
        notes += [f"{tool}: {i} is {told[tool].get(i)}, not {truth[i]:,}" for i in missed]
    absent = [tool for tool in TOOLS if tool not in tools]
    return Result(rows, [*notes, *(f"{tool} is not installed: skipped" for tool in absent)])


def _has(bench: Bench, tool: str) -> bool:
    try:
        bench.needs(tool)
    except Skipped:
        return False
    return True


def _cases(project: Path) -> Totals:
    """The small models and their totals, as their docstrings claim them."""
    found = _CASE.findall((project / "cases.py").read_text(encoding="utf-8"))
    return {f"cases::{name}()": int(total) for name, total in found}


def _reported(bench: Bench, project: Path) -> tuple[float, Counts]:
    """Seconds and counts of nparam-lint, by items as the loops write them."""
    taken, totals = fresh(bench).report(project)
    counts: Counts = {}
    for target, total in totals.items():
        path, _, name = target.partition(".py::")
        counts[f"{path}::{name}()" if name else target] = total
    return taken, counts


def _installed(bench: Bench) -> list[str]:
    items = []
    if _has(bench, "transformers"):
        items += [f"transformers::{call}" for call in _TRANSFORMERS]
    if _has(bench, "timm"):
        items += common(bench, bench.size(COMMON, SMALL))
    return items


def _asked(bench: Bench, tool: str, items: Sequence[str], project: Path) -> tuple[float, Counts]:
    place = bench.folder("peer")
    asked, answered = place / "items.json", place / "counts.json"
    asked.write_text(json.dumps(list(items)), encoding="utf-8")
    done = bench.inside("peers.py", tool, str(asked), str(answered), cwd=project)
    return done.seconds, json.loads(answered.read_text(encoding="utf-8"))
