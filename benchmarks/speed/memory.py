"""Peak memory of the front end and of the worker's processes."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from speed.measure import Invalid, Result, Row, Skipped
from speed.repository import generate
from speed.tool import command, fresh, write_project
from speed.zoo import installed

if TYPE_CHECKING:
    from speed.measure import Bench
    from speed.tool import Tool

_EVERY = 0.01  # seconds between two looks
_PEAK = re.compile(r"^VmHWM:\s+(\d+) kB", re.MULTILINE)
_SHARE = re.compile(r"^Pss:\s+(\d+) kB", re.MULTILINE)


def memory(bench: Bench) -> Result:
    """Memory at its peak, on Linux, as /proc tells it every 10 ms.

    Ours: the front end's process (resident, VmHWM), and all of the worker's processes together
    (their shares, Pss, which divides a page among those that have it), in a first run of
    `nparam-lint --declared` on a repository of 2,000 files with 200 declared models (`--small`: 200
    and 20), and of `nparam-lint --declared --format json` on 300 models of timm (`--small`: 30).
    Theirs: `python -c pass` with the front end's interpreter (VmHWM); `import torch`, or `import
    timm` where the models are timm's, with the interpreter that has it (Pss at its end).
    """
    if not sys.platform.startswith("linux"):
        raise Skipped("memory is read from /proc, which only Linux has")
    models = bench.size(200, 20)
    root, _ = generate(bench, 10 * models, models)
    rows, notes = _compared(bench, root, "repository", "torch")
    try:
        totals, _ = installed(bench, {"timm": bench.size(300, 30)})
    except Skipped as reason:
        return Result(rows, [*notes, f"models of timm are left out: {reason}"])
    project = bench.folder("memory")
    write_project(bench, project, totals)
    more, noted = _compared(bench, project, f"{len(totals)} timm", "timm", "--format", "json")
    return Result([*rows, *more], [*notes, *noted])


def _compared(
    bench: Bench, project: Path, what: str, package: str, *options: str
) -> tuple[list[Row], list[str]]:
    front, worker = _peaks(fresh(bench), project, "--declared", *options)
    nothing = _own(bench, bench.own, "pass", "status", _PEAK)
    imported = _own(bench, bench.python, f"import {package}", "smaps_rollup", _SHARE)
    rows = [
        _row(f"front end, {what} / python", front, nothing),
        _row(f"worker, {what} / import {package}", worker, imported),
    ]
    over = f"{what}: the worker over import {package}: {_text(worker - imported)}"
    return rows, [over]


def _row(what: str, ours: int, theirs: int) -> Row:
    return Row(what, _text(ours), _text(theirs), ours / theirs)


def _text(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"


def _own(bench: Bench, python: str, code: str, file: str, pattern: re.Pattern[str]) -> int:
    """What /proc says in `file` of a process that has run `code`, in bytes."""
    shown = f"print(open('/proc/self/{file}').read())"
    found = pattern.search(bench.run([python, "-c", f"{code}\n{shown}"], bench.scratch).out)
    if not found:
        raise Skipped(f"the kernel says nothing of {pattern.pattern} in /proc/self/{file}")
    return 1024 * int(found[1])


def _peaks(tool: Tool, project: Path, *options: str) -> tuple[int, int]:
    """Peak bytes of the front end, and of all that it starts together."""
    process = subprocess.Popen(
        [*command(), *options, "--python", tool.bench.python],
        cwd=project,
        env=tool.environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    front = worker = 0
    while process.poll() is None:
        front = max(front, _said(process.pid, "status", _PEAK))
        below = _family(process.pid)
        shares = sum(_said(pid, "smaps_rollup", _SHARE) for pid in below)
        if below == _family(process.pid):  # else a page was counted before a fork and after it
            worker = max(worker, shares)
        time.sleep(_EVERY)
    if process.returncode:
        raise Invalid(f"nparam-lint exited with {process.returncode} in {project.name}")
    return front, worker


def _family(pid: int) -> list[int]:
    """All processes below one, as far as they are still there."""
    found = [pid]
    for one in found:
        for children in Path(f"/proc/{one}/task").glob("*/children"):
            with suppress(OSError):
                found += map(int, children.read_text().split())
    return found[1:]


def _said(pid: int, file: str, pattern: re.Pattern[str]) -> int:
    try:
        found = pattern.search(Path(f"/proc/{pid}/{file}").read_text())
    except OSError:  # it has ended
        return 0
    return 1024 * int(found[1]) if found else 0
