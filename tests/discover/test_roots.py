"""Under which name a file is imported, and with which directories on the import path."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from case_books import cases_beside
from discover_project import discovered

if TYPE_CHECKING:
    from pathlib import Path

    from case_books import Case, ProjectBook


@pytest.mark.parametrize(("book", "case"), cases_beside(__file__, "imports"))
def test_names_and_roots_best_first(
    tmp_path: Path, book: ProjectBook, case: Case, request: pytest.FixtureRequest
) -> None:
    sources = {path: content.decode() for path, content in case.files.items()}
    plan = discovered(tmp_path / "nodes", sources).plan(case.asked)
    said = [f"{a.module} from {', '.join(root or '.' for root in a.roots)}" for a in plan]
    book.check(case.number, "\n".join(said), update=request.config.getoption("update"))
