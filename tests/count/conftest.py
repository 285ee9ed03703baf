"""Models of these tests are built by one worker, but for those that are about its own life."""

import pytest


@pytest.fixture(scope="module", autouse=True)
def built_by_one(one_worker: None) -> None:
    pass
