"""A model with hundreds of modules and budgets that are all broken: what a run does grows with
their number, and not with its square. What is counted is calls of functions, which are the same in
every run; time is not."""

import json
import subprocess
import sys

import pytest
from model_source import TORCH, model_class
from sample_repository import Sample

# What `nparam-lint` does, and then writes down how many calls that took. Python 3.11.2 crashes when
# garbage is collected in a run that is profiled.
RUN = """
import cProfile, gc, os, sys
gc.disable()
gc.enable = lambda: None
file, *sys.argv[1:] = sys.argv[1:]
from nparam_lint.cli import main
profile = cProfile.Profile()
def leave(code, leave=os._exit):
    profile.disable()
    with open(file, "w") as stream:
        stream.write(str(sum(entry.callcount for entry in profile.getstats())))
    leave(code)
os._exit = leave
leave(profile.runcall(main))
"""


def net(number, width):
    budgets = "".join(f"    nparam[layers.{n}]: 110\n" for n in range(number))
    return TORCH + model_class(
        "Net",
        f"self.layers = nn.ModuleList(nn.Linear(10, {width}) for _ in range({number}))",
        doc=f"A net.\n\n    nparam: {110 * number}\n{budgets}    ",
    )


@pytest.fixture(scope="module")
def calls(tmp_path_factory, environ):
    """How many calls a command makes where that many budgets were broken since the last commit."""
    told = tmp_path_factory.mktemp("told") / "calls"

    def made(number):
        sample = Sample.create(tmp_path_factory.mktemp("told") / "project", environ)
        sample.committed({"net.py": net(number, 10)})
        sample.write({"net.py": net(number, 11)})
        return sample.path

    roots = {number: made(number) for number in (150, 300)}

    def run(number, *arguments):
        here = {"cwd": roots[number], "env": environ, "stdout": subprocess.DEVNULL}
        done = subprocess.run(
            [sys.executable, "-c", RUN, str(told), *arguments],
            stderr=subprocess.DEVNULL,
            check=False,
            **here,
        )
        assert done.returncode == 1
        return json.loads(told.read_text())

    return run


@pytest.mark.parametrize(
    "arguments",
    [
        ("--declared", "--format", "junit"),
        pytest.param(("--declared",), marks=pytest.mark.thorough),
        pytest.param(("--declared", "--format", "markdown"), marks=pytest.mark.thorough),
        pytest.param(("--declared", "--format", "html"), marks=pytest.mark.thorough),
        pytest.param(("update", "--check"), marks=pytest.mark.thorough),
    ],
    ids=" ".join,
)
def test_the_work_grows_with_their_number(calls, arguments):
    few, many = (calls(number, *arguments) for number in (150, 300))
    assert 1.2 * few < many < 2.1 * few
