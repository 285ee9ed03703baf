"""Models of the gate's tests are built by one worker."""

import pytest


@pytest.fixture(scope="module", autouse=True)
def built_by_one(one_worker: None) -> None:
    pass
