"""Modules of the list are read when something asks for a name in them."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

import pytest
from case_books import cases_beside
from sample_files import write_files

from nparam_lint.ground.late import LATE

PROGRAM = """
from nparam_lint.ground import late
late.LATE = {"pack", "pack.one", "pack.two", "pack.broken"}
try:
    exec(%r)
except AttributeError as error:
    print(f"no {error.obj.__name__}.{error.name}")
"""


@pytest.mark.parametrize(("book", "case"), cases_beside(__file__, "late"))
def test_a_module_is_read_once_and_late(tmp_path, book, case, request):
    write_files(tmp_path, {path: content.decode() for path, content in case.files.items()})
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM % case.asked],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    said = done.stdout.removesuffix("\n")
    book.check(case.number, said, update=request.config.getoption("update"))


def test_each_of_the_list_is_there():
    assert [name for name in sorted(LATE) if find_spec(name) is None] == []
