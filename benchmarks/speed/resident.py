"""What a commit costs where a worker stays between runs."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from speed.measure import Invalid, Result, Row, Skipped, Target, alternate, compare
from speed.repository import commit, git
from speed.tool import command, fresh

if TYPE_CHECKING:
    from pathlib import Path

    from speed.measure import Bench
    from speed.tool import Tool

# name -> (source of the model, parameters for a width, what is imported, the target)
NETS: dict[str, tuple[str, Callable[[int], int], str, Target]] = {
    "torch": (
        "from torch import nn\n\n\nclass Net(nn.Sequential):\n"
        '    """nparam: {total}"""\n\n'
        "    def __init__(self):\n"
        "        super().__init__(nn.Linear(64, {width}), nn.Linear({width}, 64))\n",
        lambda width: 129 * width + 64,
        "import torch",
        Target(0.1),
    ),
    "transformers": (
        "from torch import nn\nfrom transformers import GPT2Config, GPT2Model\n\n\n"
        "class Net(nn.Module):\n"
        '    """nparam: {total}"""\n\n'
        "    def __init__(self):\n        super().__init__()\n"
        "        config = GPT2Config(n_embd=48, n_layer=2, n_head=4)\n"
        "        self.gpt = GPT2Model(config)\n        self.head = nn.Linear(48, {width})\n",
        lambda width: 2_518_128 + 49 * width,
        "import torch, transformers; transformers.GPT2Model",
        Target(0.05),
    ),
}


def resident(bench: Bench) -> Result:
    """A commit of one changed model, whose hook is nparam-lint's with `resident = true`.

    Ours: `git commit` of a model whose width was edited, and its budget, to values that no run has
    seen; the process that stays has been asked before each whether it is there, and has the
    packages that the model imports. Theirs: a process that imports torch, or torch and
    transformers. The memory that stays, and a commit without a process that stays, are told.
    """
    rows: list[Row] = []
    notes = []
    for name in NETS:
        try:
            bench.needs(name)
        except Skipped as error:
            notes.append(str(error))
            continue
        found, size = _of_net(bench, name)
        rows += found
        notes.append(f"what stays for {name}: {size}")
    return Result(rows, notes)


def _of_net(bench: Bench, name: str) -> tuple[list[Row], str]:
    """The rows of one net, and how large the process that stays is."""
    source, count, imports, target = NETS[name]
    tool, root = fresh(bench), bench.folder(name)
    environ = {**tool.environ, "NPARAM_LINT_PYTHON": bench.python}
    for role in ("AUTHOR", "COMMITTER"):
        environ |= {f"GIT_{role}_NAME": "benchmark", f"GIT_{role}_EMAIL": "b@example.org"}
    inside = replace(bench, environ=environ)
    widths = itertools.count(8, 8)

    def edit() -> None:
        width = next(widths)
        text = source.format(width=width, total=count(width))
        (root / "net.py").write_text(text, encoding="utf-8")

    def committed() -> float:
        edit()
        git(inside, root, "add", ".")
        return git(inside, root, "commit", "-qm", "Wider")

    def bare() -> float:
        return bench.run([bench.python, "-c", imports], root).seconds

    edit()
    commit(bench, root)
    inside.run([*command(), "install-hook"], root)
    sides = {"ours": committed, "theirs": bare}
    alone = alternate(sides, 2)
    (root / "nparam-lint.toml").write_text("resident = true\n", encoding="utf-8")
    try:
        for _ in range(2):  # the first starts it, the second tells it what it has to import
            committed()
            _wait(tool, root, inside)
        taken = alternate(sides, bench.repetitions)
        size = _wait(tool, root, inside)
    finally:
        inside.run([*command(), "clean"], root)
    rows = [
        compare(f"{name}: none stays / import", alone["ours"], alone["theirs"]),
        compare(f"{name}: commit / import", taken["ours"], taken["theirs"], target),
    ]
    return rows, size


def _wait(tool: Tool, root: Path, bench: Bench) -> str:
    """How large the process that stays is, once it is there. Raises Invalid."""
    for _ in range(20):
        lines = bench.run([*command(), "doctor"], root).out.splitlines()
        for line in lines:
            if line.startswith("resident") and " process " in line:
                return line.split(": ")[1].partition(";")[0]
        time.sleep(0.5)
    raise Invalid(f"no worker stays in {os.fspath(tool.cache)}")
