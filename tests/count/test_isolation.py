"""Several models are built in one process only as long as none changes what the next starts from:
every count is what it would be if the model were alone."""

from pathlib import Path

import pytest
from worker_runs import Run, run

pytestmark = pytest.mark.usefixtures("one_worker")  # torch is imported once for all

# Each way for a constructor to leave something behind: what stands in the module, and an expression
# that gives the width and changes it.
WAYS = {
    "a counter": ("count = [0]", "bump(count)"),
    "a global": ("number = 8", "take_global()"),
    "a class attribute": ("class Made:\n    number = 8", "take_attribute()"),
    "a shared config": ("import types\nconfig = types.SimpleNamespace(width=8)", "take_config()"),
    "a config in a config": (
        "import types\nouter = types.SimpleNamespace(sizes={'inner': [8]})",
        "take_inner()",
    ),
    "a default argument": ("", "default()"),
    "an attribute of a function": ("", "attribute()"),
    "a variable of a closure": ("", "closure()"),
    "an iterator": ("widths = iter(range(8, 80))", "next(widths)"),
    "a generator": ("numbers = (n for n in range(8, 80))", "next(numbers)"),
    "an own random generator": (
        "import random\nrng = random.Random(0)",
        "8 + len({rng.random() for _ in range(3)}) * 0 + draws(rng)",
    ),
    "a cache": ("", "cached().pop()"),
    "slots": ("class Slots:\n    __slots__ = ('n',)\nslots = Slots()\nslots.n = 8", "take_slots()"),
    "a queue": ("import collections\nqueue = collections.deque([8, 9, 10, 11])", "queue.popleft()"),
    "a set": ("left = {8}", "(left.pop() if left else 9)"),
    "another module": ("import shared", "take_shared()"),
    "a class of another module": ("from shared import Kept", "take_kept()"),
    "a function of another module": ("from shared import kept", "kept()"),
    "the environment": (
        "import os",
        "int(os.environ.setdefault('WIDTH', '7')) + moved('WIDTH')",
    ),
    "torch": ("", "take_torch()"),
    "a registry": ("registry = {}", "register()"),
    "a dataclass default": (
        "from dataclasses import dataclass, field\n@dataclass\nclass C:\n    sizes: tuple = (8,)\n"
        "    extra = [8]",
        "(C.extra.append(C.extra[-1] + 1) or C.extra[-2])",
    ),
}

MODULE = """\
import functools
import torch
from torch import nn
{setup}

def bump(box):
    box[0] += 1
    return 7 + box[0]
def take_global():
    global number
    number += 1
    return number - 1
def take_attribute():
    Made.number += 1
    return Made.number - 1
def take_config():
    config.width += 1
    return config.width - 1
def take_inner():
    outer.sizes['inner'].append(outer.sizes['inner'][-1] + 1)
    return outer.sizes['inner'][-2]
def default(box=[8]):
    box[0] += 1
    return box[0] - 1
def attribute():
    attribute.n = getattr(attribute, 'n', 7) + 1
    return attribute.n
def make():
    n = 7
    def inner():
        nonlocal n
        n += 1
        return n
    return inner
closure = make()
@functools.lru_cache
def cached():
    return [11, 10, 9, 8]
def draws(rng):
    return int(rng.random() * 1000)
def take_slots():
    slots.n += 1
    return slots.n - 1
def take_kept():
    Kept.number += 1
    return Kept.number - 1
def take_shared():
    shared.width += 1
    return shared.width - 1
def moved(name):
    os.environ[name] = str(int(os.environ[name]) + 1)
    return 1
def take_torch():
    wide = torch.get_default_dtype() is torch.float32
    torch.set_default_dtype(torch.float64)
    return 8 if wide else 9
def register():
    registry[len(registry)] = 1
    return 7 + len(registry)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear({width}, 1, bias=False)
{more}
"""
SHARED = """\
width = 8

class Kept:
    number = 8

def kept(box=[7]):
    box[0] += 1
    return box[0]
"""


NAMES = ("Net", "Two", "Three", "Four")


def module_of(way: str) -> str:
    return f"nets_{list(WAYS).index(way)}.py"


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """All of every way, in one process as far as they allow it."""
    root = tmp_path_factory.mktemp("together")
    more = "\n".join(f"class {name}(Net):\n    pass" for name in NAMES[1:])
    for way, (setup, width) in WAYS.items():
        (root / module_of(way)).write_text(MODULE.format(setup=setup, width=width, more=more))
    (root / "shared.py").write_text(SHARED)
    return run(root, [f"{module_of(way)}::{name}" for way in WAYS for name in NAMES], width=1)


@pytest.mark.parametrize("way", WAYS)
def test_each_model_starts_from_what_was_imported(together: Run, way: str) -> None:
    found = [together.measured(f"{module_of(way)}::{name}").counts.total for name in NAMES]
    # What a model that is built by itself has; 258: a seeded generator's fourth draw.
    alone = 8 + 258 if way == "an own random generator" else 8
    assert found == [alone] * len(NAMES)


def test_models_that_change_nothing_share_a_process(tmp_path: Path) -> None:
    """Or the test above would not test what it says."""
    names = ["Net", "Two", "Three", "Four"]
    more = "\n".join(f"class {name}(Net):\n    pass" for name in names[1:])
    setup = "import os\ntable = {'a': [1, 2]}"
    text = MODULE.format(setup=setup, width="os.getpid()", more=more)
    (tmp_path / "nets.py").write_text(text)
    found = run(tmp_path, [f"nets.py::{name}" for name in names], width=1)
    assert len({found.measured(f"nets.py::{name}").counts.total for name in names}) == 1
