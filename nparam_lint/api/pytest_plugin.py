"""The pytest plugin: `pytest --nparam`, and the fixture `nparams`.

pytest loads this file wherever nparam-lint is installed, and looks into all that it has, modules
too: so it imports nothing but pytest, and `pytest_budgets` where the option is given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import nparam_lint

if TYPE_CHECKING:
    from collections.abc import Callable

    from nparam_lint.api.counts import Counts


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("nparam", "parameter counts (nparam-lint)").addoption(
        "--nparam",
        action="store_true",
        help="check the declared parameter counts of the project's models: one test for each",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "nparam: a declared parameter count (pytest --nparam)")
    if config.getoption("nparam"):
        from nparam_lint.api.pytest_budgets import BudgetPlugin

        config.pluginmanager.register(BudgetPlugin(config), "nparam-lint")


@pytest.fixture
def nparams() -> Callable[..., Counts]:
    """`nparam_lint.assert_nparams`: `nparams(model, "124M ± 1%")` asserts the count of a model."""
    return nparam_lint.assert_nparams
