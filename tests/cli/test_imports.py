"""How much of the package a run reads: what is counted is modules, in a process of their own."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache

import pytest

from nparam_lint.cli.main import COMMANDS

NET = '''\
import torch.nn as nn


class Net(nn.Module):
    """A net.

    nparam: 110
    """

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(10, 10)
'''
# What `nparam-lint` does, and then writes down. An answer that is given again leaves at once.
RUN = """
import json, os, sys
file, *sys.argv[1:] = sys.argv[1:]
from nparam_lint.cli import main
def write(code):
    read = (name for name, m in sys.modules.items() if type(m).__name__ != "UnreadModule")
    ours = sorted(name for name in read if name.partition(".")[0] == "nparam_lint")
    with open(file, "w") as stream:
        json.dump([code, ours], stream)
leave = os._exit
os._exit = lambda code: (write(code), leave(code))
write(main())
"""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory, environ):
    """The modules of ours that a command loads on a project of one file; its cache is its own, and
    filled by the runs before."""
    root = tmp_path_factory.mktemp("project")
    (root / "net.py").write_text(NET)
    (root / "nparam-lint.toml").write_text('device = "meta"\n')
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    told = tmp_path_factory.mktemp("told") / "modules.json"

    def run(*arguments, cache):
        place = tmp_path_factory.getbasetemp() / cache
        subprocess.run(
            [sys.executable, "-c", RUN, str(told), *arguments],
            cwd=root,
            env={**environ, "NPARAM_LINT_CACHE": str(place)},
            check=True,
            stdout=subprocess.PIPE,
        )
        code, modules = json.loads(told.read_text())
        assert code == 0
        return modules

    return run


@pytest.fixture(scope="module")
def first(loaded):
    """The same for the first run of a check, which builds; each is run once."""
    return cache(lambda *arguments: loaded(*arguments, cache=f"check{len(arguments)}"))


@pytest.mark.parametrize(("arguments", "most"), [([], 96), (["--declared"], 85)])
def test_a_check_loads_little(first, arguments, most):
    modules = first(*arguments)
    assert len(modules) <= most, " ".join(modules)
    assert sum(name.startswith("nparam_lint.report") for name in modules) <= 8
    higher = re.compile(r"nparam_lint\.(analysis|api|changes|rewrite)\.")
    above = [name for name in modules if higher.match(name)]
    assert above == ["nparam_lint.analysis.formula_analysis"]  # what reads the rest of it


def test_an_answer_that_is_given_again_loads_nothing_but_the_cache(first, loaded):
    first()
    # What was changed less than 50 ms before a run began is not relied upon.
    runs = (loaded(cache="check0") for _ in range(50))
    assert next(modules for modules in runs if "nparam_lint.gate" not in modules) == [
        "nparam_lint",
        "nparam_lint.cache",
        "nparam_lint.cache.store",
        "nparam_lint.cli",
        "nparam_lint.count",
        "nparam_lint.ground",
        "nparam_lint.ground.facts",
        "nparam_lint.ground.late",
    ]


@pytest.mark.parametrize(
    "command", ["rule", "clean", pytest.param("doctor", marks=pytest.mark.thorough)]
)
def test_a_command_loads_no_other(loaded, command):
    modules = loaded(command, cache="other")
    listed = {f"nparam_lint.cli.{name.replace('-', '_')}" for name in COMMANDS}
    assert listed.intersection(modules) == {f"nparam_lint.cli.{command}"}
