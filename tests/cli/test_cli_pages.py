"""What commands say: the pages beside this file."""

import pytest
from pages import PageRun, pages

PAGES = pages(__file__)
for _name in ("history", "refusals"):  # which test_cli_history.py and test_forgiving.py hold
    PAGES.pop(_name)


@pytest.mark.parametrize("name", PAGES)
def test_commands_say_what_stands_below_them(name, tmp_path, environ, nparam_lint, request):
    PageRun(tmp_path / "project", environ, nparam_lint).hold(PAGES[name], request.config)
