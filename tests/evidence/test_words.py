"""Words by which it is known what a function does, and what a command leaves to its reader."""

from __future__ import annotations

import pytest

from nparam_lint.evidence.commands import is_to_fill_in
from nparam_lint.evidence.statements import does_work


def test_to_trace_a_model_runs_it():
    assert does_work("torch.jit.trace")
    assert not does_work("torch.jit.script")


@pytest.mark.parametrize(
    ("word", "is_known"),
    [
        ("dims=[1,2]", True),
        ("act=['relu', tanh]", True),
        ("[3, 4]", True),
        ("data=[PATH]", False),
        ("[--small]", False),
        ("--size=<n>", False),
        ("data/{a,b}", False),
    ],
)
def test_a_list_is_no_value_to_fill_in(word, is_known):
    assert is_to_fill_in(word) is not is_known
