"""`assert_nparams`, and the fixture `nparams` of the pytest plugin."""

import ast

import pytest
from case_books import cases_beside
from inner_pytest import run_pytest
from torch import nn

import nparam_lint
from nparam_lint import assert_nparams
from nparam_lint.ground.errors import UsageError


class Net(nn.Module):
    def __init__(self, width=10, depth=2):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.head = nn.Linear(width, 1)
        self.head.bias.requires_grad_(False)


@pytest.mark.parametrize(("book", "case"), cases_beside(__file__, "asserted"))
def test_what_is_asserted(book, case, request):
    expected, *given = case.asked.split("; ")
    more = dict(text.split("=", 1) for text in given)
    if more.get("tolerance", "").isdigit():
        more["tolerance"] = int(more["tolerance"])
    try:
        said = f"holds: {assert_nparams(Net, ast.literal_eval(expected), **more).total}"
    except (AssertionError, UsageError) as error:
        said = f"{type(error).__name__}: {error}"
    book.check(case.number, said, update=request.config.getoption("update"))


def test_what_is_wrong_is_told_with_the_heaviest_modules():
    with pytest.raises(AssertionError) as caught:
        assert_nparams(Net(depth=3), "231 ± 1%")
    assert str(caught.value) == (
        "Net has 341 parameters, declared 231 ± 1% (229 … 233): +110 (+47.62 %)\n"
        "heaviest modules:\n"
        "            330   96.8 %  layers (ModuleList)\n"
        "             11    3.2 %  head (Linear)"
    )


def test_counts_are_asserted_as_well():
    counts = nparam_lint.count(Net, depth=1)
    assert assert_nparams(counts, 121) is counts
    with pytest.raises(UsageError, match="a formula, which needs the model"):
        assert_nparams(counts, "width*2")


def test_the_fixture_in_a_run_of_pytest(environ, tmp_path):
    (tmp_path / "test_layer_sizes.py").write_text(
        """\
from torch import nn

def test_right(nparams):
    assert nparams(nn.Linear(3, 3), 12).trainable == 12

def test_wrong(nparams):
    nparams(nn.Linear(3, 3), "1k ± 1%")
"""
    )
    done = run_pytest(environ, "-q", cwd=tmp_path)
    assert "1 failed, 1 passed" in done.stdout
    assert "E       AssertionError: Linear has 12 parameters, declared 1k ± 1%" in done.stdout
    assert "checks.py" not in done.stdout  # the traceback ends in the test
