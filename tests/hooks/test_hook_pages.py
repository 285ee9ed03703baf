"""What a check of the index says of whole repositories: the pages beside this file. It changes
neither the repository nor the working tree, and nothing remains of the copy."""

from __future__ import annotations

import sys

import pytest
from pages import PageRun, pages
from sample_repository import AWKWARD, Sample

PAGES = pages(__file__)
PAGES.pop("ci_gate")  # which test_ci_gate.py holds


class JudgedRun(PageRun):
    def said(self, command: str) -> str:
        sample, is_judged = Sample(self.folder, self.environ), "--staged" in command
        before = sample.state() if is_judged else None
        text = super().said(command)
        if is_judged:
            assert sample.state() == before
            assert not list(self.folder.parent.glob("*/nparam-lint-copy*"))
        assert "nparam-lint-copy" not in text
        return text


@pytest.mark.parametrize("name", PAGES)
def test_commands_say_what_stands_below_them(name, tmp_path, environ, nparam_lint, request):
    (tmp_path / "temporary").mkdir()
    told = {"NPARAM_LINT_PYTHON": sys.executable, "TMPDIR": str(tmp_path / "temporary")}
    run = JudgedRun(tmp_path / AWKWARD, environ | told, nparam_lint)
    run.hold(PAGES[name], request.config)
