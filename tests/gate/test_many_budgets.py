"""A model with hundreds of modules and budgets that are all broken: what a run does grows with
their number, and not with its square. What is counted is calls of functions, which are the same in
every run; time is not."""

import cProfile
import gc
import pstats

import pytest
from model_source import TORCH, model_class
from sample_repository import Sample


def net(number, width):
    budgets = "".join(f"    nparam[layers.{n}]: 110\n" for n in range(number))
    return TORCH + model_class(
        "Net",
        f"self.layers = nn.ModuleList(nn.Linear(10, {width}) for _ in range({number}))",
        doc=f"A net.\n\n    nparam: {110 * number}\n{budgets}    ",
    )


@pytest.fixture(scope="module")
def calls(tmp_path_factory, environ, nparam_lint):
    """How many calls a command makes where that many budgets were broken since the last commit."""

    def made(number):
        sample = Sample.create(tmp_path_factory.mktemp("told") / "project", environ)
        sample.committed({"net.py": net(number, 10)})
        sample.write({"net.py": net(number, 11)})
        assert nparam_lint("--declared", "-q", cwd=sample.path).returncode == 1
        return sample.path

    roots = {number: made(number) for number in (40, 80)}

    def run(number, *arguments):
        profile = cProfile.Profile()
        gc.disable()  # Python 3.11.2 crashes when garbage is collected in a run that is profiled
        try:
            profile.enable()
            done = nparam_lint(*arguments, "--no-cache", cwd=roots[number])
        finally:
            profile.disable()
            gc.enable()
        assert done.returncode == 1, done.stderr
        return pstats.Stats(profile).total_calls

    return run


@pytest.mark.first_cases(1)
@pytest.mark.parametrize(
    "arguments",
    [
        *(("--declared", "--format", name) for name in ("junit", "markdown", "html", "text")),
        ("update", "--check"),
    ],
    ids=" ".join,
)
def test_the_work_grows_with_their_number(calls, arguments):
    calls(40, *arguments)  # what a process does once is no part of it
    few, many = (calls(number, *arguments) for number in (40, 80))
    assert 1.2 * few < many < 2.1 * few
