"""The pytest plugin: the fixture `nparams`.

pytest loads this file wherever nparam-lint is installed, and looks into all that it has, modules
too: so it imports nothing but pytest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import nparam_lint

if TYPE_CHECKING:
    from collections.abc import Callable

    from nparam_lint.api.counts import Counts


@pytest.fixture
def nparams() -> Callable[..., Counts]:
    """`nparam_lint.assert_nparams`: `nparams(model, "124M ± 1%")` asserts the count of a model."""
    return nparam_lint.assert_nparams
