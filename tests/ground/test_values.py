"""Words for differences."""

from __future__ import annotations

import pytest

from nparam_lint.ground.values import proportion


@pytest.mark.parametrize(
    ("delta", "whole", "words"),
    [
        (0, 5, ""),
        (5, 0, ""),
        (0, 0, ""),
        (1, 3, "+33.33 %"),
        (-1, 3, "-33.33 %"),
        (1, 20_001, "<0.01 %"),
        (-1, 20_001, "<0.01 %"),
        (1, 20_000, "+0.01 %"),
        (1_000, 100, "+1,000.00 %"),
        (1_001, 100, "11×"),
        (-3, 2, "-150.00 %"),
    ],
)
def test_a_difference_in_proportion(delta, whole, words):
    assert proportion(delta, whole) == words
