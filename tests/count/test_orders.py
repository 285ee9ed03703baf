"""Quick models are built several to an order, and looked at together for patches: each count is
still what it would be if the model were alone, and what one of them breaks costs only itself."""

import collections
from dataclasses import replace
from pathlib import Path

import pytest
from test_patches import BREAKING, BUILDING, BUILT, COUNTING, HONEST, NET
from worker_runs import Run, make_jobs, run

from nparam_lint.records import Measured, NotMeasured

pytestmark = pytest.mark.usefixtures("one_worker")  # torch is imported once for all
FULL = 64  # models before the first that does something: orders are as long as they become
EVERY = 12  # an order of 16 has one or two that do
LIMIT = 8.0  # seconds; more than an order of several has
# What one of these models does, and what then is said of it (None: it is counted).
DOES = {
    "raises": ("raise ValueError('no')", "raised"),
    "ends": ("os._exit(3)", "died"),
    "exits": ("sys.exit(3)", "raised"),
    "hangs": ("time.sleep(60)", "timed_out"),
    "needs a value": ("self.layer = nn.Linear(int(torch.ones(10).sum().item()), 10)", None),
    "imports": ("import late", None),
}
PLAIN = HONEST.replace("import torch\n", "import os, sys, time\nimport torch\n", 1)


def build(root: Path, bodies: list[str]) -> Run:
    """Plain models, and after the first FULL of them one with each of `bodies` among every EVERY;
    labels tell their numbers and what they do."""
    (root / "plain.py").write_text(PLAIN)
    (root / "late.py").write_text("")
    files = ["plain.py"] * FULL
    for number, body in enumerate(bodies):
        (root / f"m{number:02d}.py").write_text(body)
        files += ["plain.py"] * (EVERY - 1)
        files.insert(FULL + EVERY * number + number % EVERY, f"m{number:02d}.py")
    jobs = make_jobs(root, [f"{file}::Net" for file in files])
    named = [replace(job, label=f"{job.id} {job.file}") for job in jobs]
    return run(root, named, timeout=LIMIT, width=2)


def of_file(found: Run, file: str) -> list[Measured | NotMeasured]:
    return [result for label, result in found.by_label.items() if label.endswith(f" {file}")]


def test_what_a_constructor_patches_changes_no_model_after_it(tmp_path: Path) -> None:
    patches = {name: text for name, text in (BUILDING | COUNTING).items() if name not in BREAKING}
    late = [patch.replace("\n", "\n        ") for patch in patches.values()]
    bodies = [BUILT.format(early="", late=patch) for patch in late]
    found = build(tmp_path, bodies)
    plain = of_file(found, "plain.py")
    totals = [result.counts.total for result in plain if isinstance(result, Measured)]
    assert collections.Counter(totals) == {NET[0]: FULL + (EVERY - 1) * len(bodies)}
    for number in range(len(bodies)):
        (result,) = of_file(found, f"m{number:02d}.py")
        assert isinstance(result, Measured), result
        assert result.counts.total == NET[0]


def test_what_one_of_several_breaks_costs_only_itself(tmp_path: Path) -> None:
    texts = [PLAIN + f"        {body}\n" for body, _ in DOES.values()]
    found = build(tmp_path, texts)
    assert all(isinstance(result, Measured) for result in of_file(found, "plain.py"))
    causes = {
        name: None if isinstance(result, Measured) else result.cause
        for name, file in zip(DOES, (f"m{n:02d}.py" for n in range(len(DOES))), strict=True)
        for result in of_file(found, file)
    }
    assert causes == {name: cause for name, (_, cause) in DOES.items()}
