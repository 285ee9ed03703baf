"""`assert_nparams`, and the fixture `nparams` of the pytest plugin."""

import pytest
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


@pytest.mark.parametrize(
    ("expected", "more"),
    [
        (231, {}),
        ("231", {}),
        ("0.23k", {}),
        ("230 ± 1%", {}),
        ("200..240", {}),
        ("<= 231", {}),
        ("> 230", {}),
        ("~ 235", {}),
        (230, {"tolerance": "1%"}),
        (230, {"tolerance": 1}),
        ("depth*width*(width + 1) + width + 1", {}),
        ("width*(width + 1)", {"module": "layers.*"}),
        (10, {"module": "head", "metric": "trainable"}),
        ("0.924KB", {"metric": "bytes"}),
        ("<= 4KB", {"metric": "training_bytes"}),
    ],
)
def test_budgets_that_hold(expected, more):
    assert assert_nparams(Net, expected, **more).total == 231


def test_what_is_wrong_is_told_with_the_heaviest_modules():
    with pytest.raises(AssertionError) as caught:
        assert_nparams(Net(depth=3), "231 ± 1%")
    assert str(caught.value) == (
        "Net has 341 parameters, declared 231 ± 1% (229 … 233): +110 (+47.62 %)\n"
        "heaviest modules:\n"
        "            330   96.8 %  layers (ModuleList)\n"
        "             11    3.2 %  head (Linear)"
    )


@pytest.mark.parametrize(
    ("expected", "more", "said"),
    [
        ("<= 230", {}, "declared <= 230: +1"),
        ("1k..2k", {}, "declared 1k..2k (1,000 … 2,000): -769"),
        (231, {"metric": "trainable"}, "Net has 230 trainable parameters, declared 231: -1"),
        (111, {"module": "layers.*"}, "each of Net[layers.0 … layers.1] (2×) has 110"),
        ("depth*width", {}, "declared depth*width = 20: +211"),
    ],
)
def test_budgets_that_are_broken(expected, more, said):
    with pytest.raises(AssertionError) as caught:
        assert_nparams(Net, expected, **more)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("expected", "more", "said"),
    [
        ("86.6", {}, "'86.6' is not a budget: found '86.6', a decimal without a suffix"),
        (1, {"metric": "trainabel"}, "no metric 'trainabel'; did you mean trainable?"),
        (1, {"module": "heads"}, "no module of Net() matches 'heads'; did you mean head?"),
        (1, {"tolerance": "x"}, "'x' is not a tolerance: "),
        ("widht*2", {}, "integer attribute 'widht'; did you mean width?"),
    ],
)
def test_what_is_no_budget_is_no_failed_assertion(expected, more, said):
    with pytest.raises(UsageError) as caught:
        assert_nparams(Net, expected, **more)
    assert said in str(caught.value)


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
