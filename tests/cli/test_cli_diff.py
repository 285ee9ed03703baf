"""`nparam-lint diff` touches nothing, and builds the same of both sides. What it says of what
changed, and of what it cannot compare, is on its page."""

from __future__ import annotations

import json
import os

import pytest
from sample_repository import AWKWARD, GIT, Sample

NETS = '''\
import torch.nn as nn


class Deep(nn.Module):
    """nparam(depth=4): 80"""

    def __init__(self, depth=2):
        super().__init__()
        self.h = nn.ModuleList(nn.Linear(4, 4) for _ in range(depth))


class Wide(nn.Linear):
    def __init__(self, width):
        super().__init__(width, 4)
'''
CONFIG = """\
[arguments]
"nets.py::Wide" = "width=2"
[budgets]
"nets.py::Wide" = 12
"nets.py::Deep" = { budget = 60, setup = "n = 3", call = "Deep(n)" }
"""


@pytest.fixture
def sample(tmp_path, environ):
    """A repository with one commit, at a path as users have them."""
    made = Sample.create(tmp_path / AWKWARD, environ)
    made.committed({"nets.py": NETS})
    return made


@pytest.fixture
def changes(sample, nparam_lint):
    """What is told of each model there, when nothing was touched."""

    def run(*arguments):
        before = sample.state()
        options = ("--device", "meta", "--tolerance", "0", "--format", "json")
        done = nparam_lint("diff", "HEAD", *arguments, *options, cwd=sample.path, **GIT)
        assert sample.state() == before
        assert "Traceback" not in done.stderr
        models = json.loads(done.stdout)["models"]
        return [(m["target"], m["status"], m["call_before"], m["delta"]) for m in models]

    return run


def test_what_one_side_builds_with_arguments_is_built_on_the_other(sample, changes):
    """By a budget of the base, by one of today, by a recipe, by today's config."""
    today = NETS.replace("(depth=4): 80", "(depth=5): 100")
    sample.write({"nets.py": today, "nparam-lint.toml": CONFIG})
    assert changes("--declared") == [
        ("nets.py::Deep", "same", "Deep()", 0),
        ("nets.py::Deep", "same", "Deep(n)", 0),
        ("nets.py::Deep(depth=4)", "same", "Deep(depth=4)", 0),
        ("nets.py::Deep(depth=5)", "same", "Deep(depth=5)", 0),
        ("nets.py::Wide", "same", "Wide(width=2)", 0),
    ]


def test_the_index_stays_as_it_is(sample, changes):
    os.utime(sample.path / "nets.py", (1, 1))  # which git would note in it
    assert {status for _, status, *_ in changes()} == {"same"}
    sample.add({"nets.py": NETS.replace("(4, 4)", "(4, 5)")})
    sample.write({"nets.py": NETS.replace("(4, 4)", "(4, 6)"), "more.py": NETS})
    deltas = [
        [delta for target, *_, delta in changes(*how) if target == "nets.py::Deep"]
        for how in (["--staged"], [])
    ]
    assert deltas == [[10], [20]]
