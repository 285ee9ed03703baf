"""What a commit costs where a worker stays between runs."""

from __future__ import annotations

import os
import time
from contextlib import suppress
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
NETS = {
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
    for name, (source, count, imports, target) in NETS.items():
        if name != "torch":
            try:
                bench.needs(name)
            except Skipped:
                notes.append(f"{name} is not installed")
                continue
        tool, root = fresh(bench), bench.folder(name)
        environ = {**tool.environ, "NPARAM_LINT_PYTHON": bench.python}
        for role in ("AUTHOR", "COMMITTER"):
            environ |= {f"GIT_{role}_NAME": "benchmark", f"GIT_{role}_EMAIL": "b@example.org"}
        inside = replace(bench, environ=environ)
        widths = iter(range(8, 8000, 8))

        def edit(
            root: Path = root,
            source: str = source,
            count: object = count,
            widths: object = widths,
        ) -> None:
            width = next(widths)  # type: ignore[call-overload]
            text = source.format(width=width, total=count(width))  # type: ignore[operator]
            (root / "net.py").write_text(text, encoding="utf-8")

        def committed(inside: Bench = inside, root: Path = root, edit: object = edit) -> float:
            edit()  # type: ignore[operator]
            git(inside, root, "add", ".")
            return git(inside, root, "commit", "-qm", "Wider")

        def bare(imports: str = imports, root: Path = root) -> float:
            return bench.run([bench.python, "-c", imports], root).seconds

        edit()
        commit(bench, root)
        inside.run([*command(), "install-hook"], root)
        alone = alternate({"ours": committed, "theirs": bare}, 2)
        rows.append(compare(f"{name}: none stays / import", alone["ours"], alone["theirs"]))
        (root / "nparam-lint.toml").write_text("resident = true\n", encoding="utf-8")
        for _ in range(2):  # the first starts it, the second tells it what it has to import
            committed()
            size = _wait(tool, root, inside)
        try:
            taken = alternate({"ours": committed, "theirs": bare}, bench.repetitions)
            size = _wait(tool, root, inside)
        finally:
            inside.run([*command(), "clean"], root)
        rows.append(compare(f"{name}: commit / import", taken["ours"], taken["theirs"], target))
        notes.append(f"what stays for {name}: {size}")
    return Result(rows, notes)


def _wait(tool: Tool, root: Path, bench: Bench) -> str:
    """How large the process that stays is, once it is there. Raises Invalid."""
    for _ in range(20):
        lines = bench.run([*command(), "doctor"], root).out.splitlines()
        for line in lines:
            if line.startswith("resident") and "process" in line:
                with suppress(IndexError):
                    return line.split(": ")[1].partition(";")[0]
        time.sleep(0.5)
    raise Invalid(f"no worker stays in {os.fspath(tool.cache)}")
