"""Runs nparam-lint as its users do, and takes no run for what it was not."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from speed.measure import Invalid, Totals, run
from speed.repository import commit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from speed.measure import Bench, Done

_MODELS = re.compile(r"^([\d,]+) models?(?: \(([\d,]+) from the cache\))? · ")  # all measured
_HOLDS = re.compile(r"([\d,]+) budgets? holds?\b")


def command() -> list[str]:
    """nparam-lint of this very interpreter's environment."""
    script = Path(sys.executable).with_name("nparam-lint")
    return [str(script)] if script.is_file() else [sys.executable, "-m", "nparam_lint"]


@dataclass(frozen=True, slots=True)
class Tool:
    """nparam-lint with a cache of its own: a new one knows nothing from before."""

    bench: Bench
    cache: Path

    @property
    def environ(self) -> dict[str, str]:
        return {**self.bench.environ, "NPARAM_LINT_CACHE": str(self.cache)}

    def run(self, project: Path, *options: str, codes: Sequence[int] = (0,)) -> Done:
        return run([*command(), *options], project, self.environ, codes)

    def check(self, project: Path, models: int, cached: range | None = None) -> Checked:
        """`nparam-lint --declared` in `project`, where every budget is exact and right. Raises
        Invalid unless `models` were measured, all budgets hold, and as many came from the cache as
        `cached` allows (default: none)."""
        done = self.run(project, "--declared", "--python", self.bench.python)
        found = next(filter(None, map(_MODELS.match, done.out.splitlines())), None)
        holds = _HOLDS.search(done.out)
        if not found or not holds:
            raise Invalid(f"the summary of nparam-lint cannot be read:\n{done.out[-1000:]}")
        every, hit = (int((text or "0").replace(",", "")) for text in found.groups())
        if every != models or int(holds[1].replace(",", "")) < models:
            raise Invalid(f"expected {models} models whose budgets hold:\n{done.out[-1000:]}")
        _allow(hit, cached)
        return Checked(done.seconds, hit)

    def report(self, project: Path, cached: range | None = None) -> tuple[float, Totals]:
        """`nparam-lint --declared --format json`, which has the per-module table of every model:
        (seconds, total by target). Raises Invalid for a model that was not measured, one without
        a table, and one from the cache where `cached` does not allow it."""
        options = ("--declared", "--format", "json", "--python", self.bench.python)
        done = self.run(project, *options, codes=(0, 1))
        document: dict[str, Any] = json.loads(done.out)
        totals: Totals = {}
        for model in document["models"]:
            if model["status"] != "measured":
                raise Invalid(f"{model['target']} was not measured: {model['reason']}")
            if not model["modules"]:
                raise Invalid(f"{model['target']} has no table")
            totals[model["target"]] = model["counts"]["total"]
        _allow(document["summary"]["cached"], cached)
        return done.seconds, totals


@dataclass(frozen=True, slots=True)
class Checked:
    """A run whose budgets all hold; `cached`: models whose counts came from the cache."""

    seconds: float
    cached: int


def fresh(bench: Bench) -> Tool:
    """The tool with an empty cache."""
    return Tool(bench, bench.folder("cache"))


def _allow(hit: int, cached: range | None) -> None:
    if hit not in (cached or range(1)):
        raise Invalid(f"{hit} models came from the cache; this run is not what it is taken for")


def write_project(bench: Bench, root: Path, budgets: Totals) -> None:
    """A git repository that holds a config with an exact budget for every target, nothing else."""
    lines = [f"{json.dumps(target)} = {total}" for target, total in budgets.items()]
    text = "\n".join(["[budgets]", *lines]) + "\n"
    (root / "nparam-lint.toml").write_text(text, encoding="utf-8")
    commit(bench, root)
