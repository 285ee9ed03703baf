"""torch's compiler is imported where a model needs it, and there works as ever; what only marks
functions for it, or joins tensors on meta, does without."""

from __future__ import annotations

from pathlib import Path

import pytest
from worker_runs import run

# A width tells whether the compiler is there when the model is built.
WIDTH = '1 + ("torch._dynamo" in sys.modules)'
TORCH = "import sys\nimport torch\nfrom torch import nn\n"
MARKS = (
    TORCH
    + f'''
from torch._dynamo.utils import is_compile_supported


@torch.compiler.disable
def one(x):
    """Its words."""
    return x


@torch.compiler.disable(recursive=False)
def two(x):
    return x


@torch._dynamo.allow_in_graph
def three(x):
    return x


@torch.compiler.assume_constant_result
def four():
    return {WIDTH}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        assert (one.__name__, one.__doc__) == ("one", "Its words.")
        self.table = nn.Parameter(torch.cat([torch.zeros(1 << 20, 2)] * one(2)))  # on meta
        self.fc = nn.Linear(4, two(three(four())), bias=False)
'''
)
# Each of these needs the compiler itself: when the file is imported, or in a constructor.
NEEDS = {
    "compiles": ("", "self.fc = torch.compile(self.fc)"),
    "compiles itself": ("", "self.compile()"),
    "configures": ("torch._dynamo.config.suppress_errors = True", ""),
    "imports": ("import torch._dynamo as dynamo", "dynamo.reset()"),
    "imports from torch": ("from torch import _dynamo", "_dynamo.reset()"),
    "imports more": ("from torch._dynamo.utils import counters, is_compile_supported", ""),
    "asks for a class": ("", "assert not isinstance(self, torch._dynamo.OptimizedModule)"),
    "calls what was put off": (
        "from torch._dynamo.utils import is_compile_supported",
        "is_compile_supported('cpu')",
    ),
    "leaves a module alone": ("", "self.more = torch.compiler.disable(nn.Identity())"),
    "leaves a method alone": ("", "torch.compiler.disable(self.forward)"),
    "marks with it": (
        "import torch._dynamo.config\n\n@torch.compiler.disable\ndef f(): ...",
        "f()",
    ),
}
NEEDING = TORCH + (
    "{0}\n\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        self.fc = nn.Linear(2, 3)\n        {1}\n"
)


def test_a_model_that_only_marks_functions_is_built_without_it(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(MARKS)
    found = run(tmp_path, ["net.py::Net"]).measured("net.py::Net")
    assert found.counts.total == 2 * (1 << 20) * 2 + 4 * 1


# One of each kind at every commit: to import the compiler takes seconds.
AT_EVERY_COMMIT = ("compiles", "marks with it")


@pytest.mark.parametrize(
    "kinds", [AT_EVERY_COMMIT, pytest.param(tuple(NEEDS), marks=pytest.mark.thorough)]
)
def test_a_model_that_needs_it_gets_it(tmp_path: Path, kinds: tuple[str, ...]) -> None:
    for number, kind in enumerate(kinds):
        (tmp_path / f"n{number}.py").write_text(NEEDING.format(*NEEDS[kind]))
    targets = {kind: f"n{number}.py::Net" for number, kind in enumerate(kinds)}
    found = run(tmp_path, list(targets.values()))
    totals = {kind: found.measured(target).counts.total for kind, target in targets.items()}
    assert totals == dict.fromkeys(kinds, 9)
