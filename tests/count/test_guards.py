"""Which guards are on is known and told; memory that is shared between processes is the builder's
own, so that nothing of the user's in /dev/shm can be changed."""

import json
import os
import sys
from pathlib import Path

import pytest
from case_books import Book
from sample_files import write_files

from nparam_lint.worker.building.kernel_guard import landlock_version

pytestmark = pytest.mark.skipif(not landlock_version(), reason="this kernel has no Landlock")

BOOK = Book(Path(__file__).with_name("guards.txt"))
NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(10, 10)
"""
# Puts as many rules on itself as are asked for, and goes on as Python. A process with 15 may mount
# nothing; one with 16 gets no more rules.
STACK = """\
#!{python}
import ctypes, os, struct, sys
call = ctypes.CDLL(None).syscall
ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)
ruleset = struct.pack("=Q", 1 << 12)  # to make symbolic links
for _ in range({number}):
    made = call(444, ruleset, ctypes.c_size_t(8), 0)
    assert call(446, made, 0) == 0
    os.close(made)
os.execv("{python}", ["{python}", *sys.argv[1:]])
"""


def stacked(root, number):
    python = root / "python"
    python.write_text(STACK.format(python=sys.executable, number=number))
    python.chmod(0o755)
    return python


@pytest.fixture(scope="module")
def told(nparam_lint, tmp_path_factory):
    """The report on all models, and the user's file after it."""
    root = tmp_path_factory.mktemp("memory")
    victim = Path(f"/dev/shm/nparam-lint-test-{os.getpid()}")
    victim.write_text("mine")
    before = {path.name for path in victim.parent.iterdir()}
    nets = BOOK.files["nets.py"].replace("THERE", str(victim))
    write_files(root, {"nets.py": nets})
    try:
        done = nparam_lint("--device", "meta", "--format", "json", cwd=root)
        content = victim.exists() and victim.read_text()
        left = {path.name for path in victim.parent.iterdir()} - before
    finally:
        victim.unlink(missing_ok=True)
    report = json.loads(done.stdout)
    again = json.loads(nparam_lint("--device", "meta", "--format", "json", cwd=root).stdout)
    report["again"] = again["environment"]["guards"]
    counted = {m["target"]: m["counts"]["total"] for m in report["models"]}
    return report, counted, content, {name for name in left if "nparam" in name}


def test_what_was_there_is_not_changed_and_nothing_is_left(told):
    _, _, content, left = told
    assert (content, left) == ("mine", set())


@pytest.mark.parametrize("case", [c for c in BOOK.cases if c.answer == "110"], ids=lambda c: c.name)
def test_what_is_shared_between_processes_can_be_made(told, case):
    assert told[1].get(case.target) == 110, told[0]["skipped"]


def test_the_report_says_which_guards_were_on(told):
    report, *_ = told
    guards = report["environment"]["guards"]
    assert guards[0] == "audit hook"
    assert f"Landlock {landlock_version()}" in guards
    assert report["again"] == guards
    assert not [note for model in report["models"] for note in model["notes"]]


@pytest.mark.thorough
def test_where_no_memory_can_be_had_the_refusal_says_what_to_do(nparam_lint, tmp_path):
    first = [BOOK.cases[number].target for number in (0, 5, 8)]  # a lock, a number, a tensor
    budgets = "".join(f'"{target}" = 110\n' for target in first)
    write_files(tmp_path, {**BOOK.files, "nparam-lint.toml": f"[budgets]\n{budgets}"})
    python = stacked(tmp_path, 15)
    done = nparam_lint("--declared", "--python", python, "--format", "json", cwd=tmp_path)
    report = json.loads(done.stdout)
    assert f"Landlock {landlock_version()}" in report["environment"]["guards"]
    assert {model["cause"] for model in report["models"]} == {"refused"}
    for model in report["models"]:
        assert (
            "next: make locks, queues and shared tensors where the model is trained"
            in (model["hint"])
        )


def test_a_guard_that_cannot_be_put_on_is_told(nparam_lint, tmp_path):
    write_files(tmp_path, {"net.py": f"from torch import nn\n{NET}"})
    python = stacked(tmp_path, 16)
    doctor = nparam_lint("doctor", "--python", python, cwd=tmp_path).stdout
    (line,) = (line for line in doctor.splitlines() if line.startswith("guards"))
    promised = f"Landlock {landlock_version()}"
    said = f"built without the guard {promised}, which cannot be put on"
    assert said in line
    done = nparam_lint("--python", python, "--device", "meta", "--format", "json", cwd=tmp_path)
    report = json.loads(done.stdout)
    assert promised not in report["environment"]["guards"]
    (model,) = report["models"]
    assert model["counts"]["total"] == 110
    assert any(note.startswith(said) for note in model["notes"])
