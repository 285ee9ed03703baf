"""What nparam-lint does on a real GPU: all of it in one go, in less than eight minutes.

    python benchmarks/cuda.py [--python PYTHON] [--models 200] [--minutes 8] [--write]

Run it in the environment that has nparam-lint and pytest. `--python` names the interpreter that has
torch for CUDA (default: this one), and as far as they are to be built timm and transformers.
Without a GPU it says so and ends. What is not done in so many minutes is left. `--device cpu` tries
the script itself. `--write` puts the results into cuda-results.md.

- *tests*: `pytest -m cuda`.
- *too large*: a layer that no GPU holds, and a small model after it: the first is refused with its
  reason, the second counted.
- *examples*: every model of examples/ on meta, then also on the device.
- *zoo*: `--models` models of timm and transformers, half of each, on meta, then also on the device:
  the time of both, models whose parameters differ, and of each the bytes that the allocator took in
  proportion to those that were counted.

Exit code 1: a test failed, a device differs from meta, or what is too large was not refused.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent
_GPU = """\
import torch
if not torch.cuda.is_available():
    raise SystemExit(3)
found = torch.cuda.get_device_properties(0)
print(f"{found.name}, {found.total_memory / 2**30:.0f} GiB, torch {torch.__version__}")
"""
_TOO_LARGE = """\
from torch import nn


class TooLarge(nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = nn.Linear(2_000_000, 2_000_000, bias=False)  # 16 TB


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = nn.Linear(3, 4)
"""

Json = dict[str, Any]


@dataclass
class Results:
    """`lines` of the table; `wrong`: what makes the exit code 1."""

    lines: list[tuple[str, str, str]] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def add(self, what: str, said: str, seconds: str = "") -> None:
        self.lines.append((what, said, seconds))
        print(f"{what}: {said}" + (f" ({seconds})" if seconds else ""), flush=True)


@dataclass(frozen=True)
class Machine:
    """`end`: when all has to be done, as `time.monotonic` tells it."""

    python: str
    device: str
    end: float

    @property
    def left(self) -> float:
        return max(self.end - time.monotonic(), 1)

    @property
    def label(self) -> str:
        return "cuda:0" if self.device == "cuda" else self.device

    def report(self, place: Path, *options: str, device: str) -> tuple[float, Json]:
        """The JSON report of a check in a directory, without a cache."""
        command = [sys.executable, "-m", "nparam_lint", *options, "--device", device, "--no-cache"]
        start = time.monotonic()
        done = subprocess.run(
            [*command, "--format", "json", "--python", self.python],
            cwd=place,
            stdout=subprocess.PIPE,
            timeout=self.left,
            check=False,
        )
        return time.monotonic() - start, json.loads(done.stdout)


def tests(machine: Machine, results: Results) -> None:
    start = time.monotonic()
    marked = [p for p in (ROOT / "tests").rglob("test_*.py") if "mark.cuda" in p.read_text("utf-8")]
    done = subprocess.run(
        # A plug-in for benchmarks takes it for an error that tests run beside each other.
        [sys.executable, "-m", "pytest", "-q", "-m", "cuda", "-rs", "-p", "no:benchmark", *marked],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=machine.left,
        check=False,
    )
    said = done.stdout.strip().splitlines()
    results.add("tests", said[-1] if said else done.stderr[-300:], _taken(start))
    if done.returncode:
        results.wrong.append("pytest -m cuda:\n" + "\n".join(said[-40:]))


def compared(what: str, machine: Machine, results: Results, place: Path, *options: str) -> None:
    """Build what a directory has on meta alone, then on the device as well."""
    alone, _ = machine.report(place, *options, device="meta")
    taken, report = machine.report(place, *options, device=machine.device)
    every = [model for model in report["models"] if "inside" not in model]
    on_device = [(model, model["devices"].get(machine.label, {})) for model in every]
    built = [(model, there) for model, there in on_device if there.get("status") == "measured"]
    differing = [model["target"] for model, there in built if there.get("differences")]
    differing += [m["target"] for m, there in built if there["total"] != m["counts"]["total"]]
    results.add(
        what,
        f"{len(built)} of {len(every)} models built on {machine.label}, {len(differing)} differ "
        "from meta",
        f"{taken:.0f} s; on meta alone {alone:.0f} s",
    )
    results.wrong += [f"{what}: {target} differs from meta" for target in differing]
    shares = sorted(
        (there["bytes"] / model["counts"]["bytes"], model["target"])
        for model, there in built
        if there.get("bytes") and model["counts"]["bytes"]
    )
    if shares:
        middle = statistics.median(share for share, _ in shares)
        results.add(
            f"{what}, bytes",
            f"the allocator took {middle:.3f} times what was counted (median of {len(shares)}; "
            f"{shares[0][0]:.3f} to {shares[-1][0]:.3f}, {shares[-1][1]})",
        )
    for model, there in on_device:
        if there.get("status") not in ("measured", None):
            print(f"  {model['target']}: {there['status']}: {there.get('reason')}", flush=True)


def zoo(machine: Machine, results: Results, count: int, scratch: Path) -> None:
    lines = ["[budgets]"]
    for package in ("timm", "transformers"):
        command = [machine.python, str(HERE / "inside" / "candidates.py"), package, str(count // 2)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            results.add(f"zoo, {package}", f"left out: {done.stderr.strip().splitlines()[-1]}")
            continue
        lines += [f'{json.dumps(target)} = ">= 0"' for target in json.loads(done.stdout)]
    place = scratch / "zoo"
    place.mkdir()
    (place / "nparam-lint.toml").write_text("\n".join([*lines, ""]), encoding="utf-8")
    compared("zoo", machine, results, place, "--declared")


def too_large(machine: Machine, results: Results, scratch: Path) -> None:
    place = scratch / "large"
    place.mkdir()
    (place / "net.py").write_text(_TOO_LARGE, encoding="utf-8")
    start = time.monotonic()
    _, report = machine.report(place, device=machine.device)
    large, small = sorted(report["models"], key=lambda model: model["target"], reverse=True)
    there = large["devices"].get(machine.label, {})
    reason = there.get("reason") or large["reason"]
    results.add("too large", f"{there.get('status', large['status'])}: {reason}", _taken(start))
    if there.get("status") == "measured" or not reason:
        results.wrong.append("what is too large was not refused")
    if small["devices"].get(machine.label, {}).get("status") != "measured":
        results.wrong.append(f"the small model after it was not built: {small['devices']}")


def write(results: Results, gpu: str) -> None:
    table = [f"| {what} | {said} | {seconds} |" for what, said, seconds in results.lines]
    text = [
        "# On a GPU",
        "",
        "Written by `benchmarks/cuda.py --write`, which says what each line is.",
        "",
        f"{gpu}; {os.cpu_count()} cores.",
        "",
        "| what | found | time |",
        "| --- | --- | --- |",
        *table,
        *(["", "Wrong:", ""] if results.wrong else []),
        *(f"- {line}" for line in results.wrong),
        "",
    ]
    (HERE / "cuda-results.md").write_text("\n".join(text), encoding="utf-8")


def _taken(start: float) -> str:
    return f"{time.monotonic() - start:.0f} s"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--python", default=sys.executable, help="the interpreter that has torch")
    parser.add_argument("--models", type=int, default=200, help="of timm and transformers")
    parser.add_argument("--minutes", type=float, default=8)
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--write", action="store_true", help="write cuda-results.md")
    options = parser.parse_args()
    end = time.monotonic() + 60 * options.minutes
    machine, results = Machine(options.python, options.device, end), Results()
    command = [machine.python, "-c", _GPU]
    asked = subprocess.run(command, capture_output=True, text=True, check=False)
    gpu = asked.stdout.strip() or "no CUDA device"
    print(gpu, flush=True)
    if asked.returncode and options.device == "cuda":
        print(f"nothing was measured: {machine.python} has no CUDA device", file=sys.stderr)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        steps = {
            "tests": lambda: tests(machine, results),
            "too large": lambda: too_large(machine, results, scratch),
            "examples": lambda: compared("examples", machine, results, ROOT, "examples"),
            "zoo": lambda: zoo(machine, results, options.models, scratch),
        }
        for name, step in steps.items():
            try:
                step()
            except subprocess.TimeoutExpired:
                results.add(name, f"not finished in {options.minutes:g} minutes")
                results.wrong.append(f"{name} was not finished")
            except (OSError, ValueError, KeyError) as error:
                results.wrong.append(f"{name}: {type(error).__name__}: {error}")
    if options.write:
        write(results, gpu)
    for line in results.wrong:
        print(f"wrong: {line}", file=sys.stderr)
    return int(bool(results.wrong))


if __name__ == "__main__":
    sys.exit(main())
