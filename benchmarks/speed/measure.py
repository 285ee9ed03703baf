"""What a benchmark is given, what it returns, and how time is taken: whole processes, in turn."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

INSIDE = Path(__file__).parents[1] / "inside"  # programs for the interpreter that has torch
_MISSING = """\
import importlib.util, sys
print(*(name for name in sys.argv[1:] if importlib.util.find_spec(name) is None))
"""

Totals = dict[str, int]
Side = Callable[[], float]


class Skipped(Exception):
    """This cannot be measured here; the text says why."""


class Invalid(Exception):
    """The two sides did different work, or a run was not what it was taken for."""


@dataclass(frozen=True, slots=True)
class Target:
    """What a ratio should be: at most `limit`, or with `least` at least that."""

    limit: float
    least: bool = False

    def __str__(self) -> str:
        return f"{'≥' if self.least else '≤'} {self.limit:g}"

    def met(self, ratio: float) -> bool:
        return ratio >= self.limit if self.least else ratio <= self.limit


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: what is compared, both sides as text, their ratio, its target."""

    what: str
    ours: str
    theirs: str = ""
    ratio: float | None = None
    target: Target | None = None


@dataclass(frozen=True, slots=True)
class Result:
    rows: Sequence[Row]
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Done:
    """A process that has ended: its wall seconds, exit code, and what it printed."""

    seconds: float
    code: int
    out: str


@dataclass(frozen=True, slots=True)
class Bench:
    """`python`: the interpreter with torch. `scratch`: removed at the end. `small`: sizes for
    trying out. `repetitions`: of what takes seconds. `environ`: that of every process."""

    python: str
    scratch: Path
    small: bool
    repetitions: int
    environ: Mapping[str, str] = field(default_factory=lambda: environment())

    def size(self, full: int, small: int) -> int:
        return small if self.small else full

    @property
    def own(self) -> str:
        """The interpreter that nparam-lint runs in."""
        return sys.executable

    def folder(self, name: str) -> Path:
        """A new empty directory."""
        return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.scratch))

    def run(self, command: Sequence[str], cwd: Path, codes: Sequence[int] = (0,)) -> Done:
        return run(command, cwd, self.environ, codes)

    def inside(self, program: str, *arguments: str, cwd: Path | None = None) -> Done:
        """Run one of the programs for the interpreter that has torch."""
        return self.run(self.inside_command(program, *arguments), cwd or self.scratch)

    def inside_command(self, program: str, *arguments: str) -> list[str]:
        return [self.python, str(INSIDE / program), *arguments]

    def needs(self, *modules: str) -> None:
        """Raises Skipped where the interpreter with torch lacks one of `modules`."""
        missing = self.run([self.python, "-c", _MISSING, *modules], self.scratch).out.split()
        if missing:
            raise Skipped(f"the interpreter with torch has no {', '.join(missing)}")

    def build(
        self, how: str, items: Sequence[str], *options: str, cwd: Path | None = None
    ) -> tuple[float, Totals, dict[str, str]]:
        """Run the loop that builds `items`: (seconds of the process, totals, failures)."""
        place = self.folder("loop")
        asked, answered = place / "items.json", place / "totals.json"
        asked.write_text(json.dumps(list(items)), encoding="utf-8")
        done = self.inside("loop.py", how, str(asked), str(answered), *options, cwd=cwd)
        answer = json.loads(answered.read_text(encoding="utf-8"))
        return done.seconds, answer["totals"], answer["failed"]


def environment() -> dict[str, str]:
    """The environment of both sides: no settings of the user's for git or for us, no network, no
    GPU, a fixed width."""
    own = ("NPARAM_LINT_", "GIT_", "PYTHONDONTWRITEBYTECODE", "PYTHONPROFILE")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(own)}
    return kept | {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "COLUMNS": "120",
        "CUDA_VISIBLE_DEVICES": "",
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
    }


def run(
    command: Sequence[str], cwd: Path, environ: Mapping[str, str], codes: Sequence[int] = (0,)
) -> Done:
    """Run a process to its end; Invalid when it exits otherwise than with one of `codes`."""
    start = time.perf_counter()
    done = subprocess.run(
        command,
        cwd=cwd,
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    seconds = time.perf_counter() - start
    if done.returncode not in codes:
        last = (done.stderr or done.stdout).decode("utf-8", "replace").strip()[-2000:]
        shown = " ".join(command)[:200]
        raise Invalid(f"exit status {done.returncode}, expected {codes[0]}: {shown}\n{last}")
    return Done(seconds, done.returncode, done.stdout.decode("utf-8", "replace"))


def alternate(
    sides: Mapping[str, Side], repetitions: int, *, turned: bool = True
) -> dict[str, list[float]]:
    """The seconds of each side, taken in turn, so that a slow minute of the machine hits all of
    them; with `turned` every second time in the opposite order."""
    taken: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(repetitions):
        for name in reversed([*sides]) if turned and number % 2 else sides:
            taken[name].append(sides[name]())
    return taken


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """The median of the ratios of what was taken next to each other."""
    return statistics.median(a / b for a, b in zip(ours, theirs, strict=True))


def compare(
    what: str, ours: Sequence[float], theirs: Sequence[float], target: Target | None = None
) -> Row:
    """A row of two sides in seconds. Where the target is a minimum, it is how often faster."""
    least = target is not None and target.least
    found = ratio(theirs, ours) if least else ratio(ours, theirs)
    return Row(what, median(ours), median(theirs), found, target)


def median(taken: Sequence[float]) -> str:
    return seconds(statistics.median(taken))


def seconds(value: float) -> str:
    if value < 1:
        return f"{1000 * value:.0f} ms"
    return f"{value:.2f} s" if value < 10 else f"{value:,.0f} s"


def same(ours: Totals, theirs: Totals, what: str) -> None:
    """Raises Invalid unless both sides counted the same models, to the parameter."""
    keys = [key for key in {**ours, **theirs} if ours.get(key) != theirs.get(key)]
    if keys:
        shown = ", ".join(f"{k}: {ours.get(k)} and {theirs.get(k)}" for k in sorted(keys)[:5])
        raise Invalid(f"{what}: {len(keys)} totals differ: {shown}")
