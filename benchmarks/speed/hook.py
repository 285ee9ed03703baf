"""What a hook costs at a commit: nothing changed, and one model changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from speed.measure import Invalid, Result, Target, alternate, compare, median
from speed.repository import count_variants, generate, git
from speed.tool import fresh

if TYPE_CHECKING:
    from speed.measure import Bench

FILES, MODELS = 2000, 200


def warm(bench: Bench) -> Result:
    """Nothing changed since the last run, in a repository of 2,000 Python files of which 200
    declare a model (`--small`: 200 and 20).

    Ours: `nparam-lint --declared`, the same command having run once before; every repetition must
    measure all models and find all budgets right. Theirs, each a process of its own in the same
    repository: `python -c "import torch"` with the interpreter that has torch; three times
    `git status` plus `python -c pass` with the interpreter that nparam-lint runs in.
    """
    files, models = bench.size(FILES, FILES // 10), bench.size(MODELS, MODELS // 10)
    root, _ = generate(bench, files, models)
    tool, cached = fresh(bench), set()
    first = tool.check(root, models)

    def ours() -> float:
        done = tool.check(root, models, cached=range(models + 1))
        cached.add(done.cached)
        return done.seconds

    def status() -> float:
        return git(bench, root, "status")

    def bare() -> float:
        return bench.run([bench.python, "-c", "import torch"], root).seconds

    def start() -> float:
        return bench.run([bench.own, "-c", "pass"], root).seconds

    sides = {"ours": ours, "torch": bare, "git": status, "python": start}
    alternate(sides, 1)  # the system reads their files into memory
    cached.clear()
    taken = alternate(sides, bench.repetitions)
    both = [3 * g + p for g, p in zip(taken["git"], taken["python"], strict=True)]
    return Result(
        [
            compare("second run / import torch", taken["ours"], taken["torch"], Target(0.15)),
            compare("second run / (3 git status + python)", taken["ours"], both, Target(1)),
        ],
        [
            f"{files:,} files, {models} declared models; from the cache in the second run: "
            f"{' or '.join(f'{n:,}' for n in sorted(cached))} of {models}",
            f"first run: {first.seconds:.1f} s; git status: {median(taken['git'])}; "
            f"python: {median(taken['python'])}",
        ],
    )


def cold(bench: Bench) -> Result:
    """One model of that repository changed.

    Before every run of either side the default width in one model's file is edited to one that no
    run has seen, and its budgets to what the bare loop counts with that width. Ours: `nparam-lint
    --declared` on the whole repository, the same command having run before the edit; the new
    budgets must hold, which are exact. Theirs: a script that imports torch, imports that model's
    module, builds it under `torch.device("meta")` and sums `numel`, in a process of its own; it
    must give the budget.
    """
    files, models = bench.size(FILES, FILES // 10), bench.size(MODELS, MODELS // 10)
    root, made = generate(bench, files, models)
    model = next(m for m in made if m.name.startswith("Vision"))
    rounds = bench.repetitions + 1
    widths = [1024 + 32 * number for number in range(2 * rounds)]
    edits = list(zip(widths, count_variants(bench, root, model, widths), strict=True))
    tool, cached = fresh(bench), set()
    tool.check(root, models)

    def edit() -> int:
        width, total = edits.pop()
        text = model.of_width(width).declaring(total)
        (root / model.path).write_text(text, encoding="utf-8")
        return total

    def ours() -> float:
        edit()
        done = tool.check(root, models, cached=range(models))
        cached.add(done.cached)
        return done.seconds

    module = model.item.partition("::")[0]
    script = "\n".join(
        [
            f"import torch\nfrom {module} import {model.name}",
            f"with torch.device('meta'):\n    model = {model.name}()",
            "print(sum(p.numel() for p in model.parameters()))",
        ]
    )

    def bare() -> float:
        total = edit()
        # Without bytecode: an edit within a second would be taken for the model before it.
        done = bench.run([bench.python, "-B", "-c", script], root)
        if int(done.out) != total:
            raise Invalid(f"the script counts {done.out.strip()}, the budget is {total}")
        return done.seconds

    sides = {"ours": ours, "bare": bare}
    alternate(sides, 1)
    cached.clear()
    taken = alternate(sides, bench.repetitions)
    return Result(
        [compare("one model changed / bare script", taken["ours"], taken["bare"], Target(1.15))],
        [
            f"{files:,} files, {models} declared models, one edited before each run; from the "
            f"cache: {' or '.join(f'{n:,}' for n in sorted(cached))} of {models}"
        ],
    )
