"""Claims that stand where no budget is read: each is told at its place."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest
from case_books import Case, ProjectBook, cases_beside

from nparam_lint.api.flake8_plugin import Plugin
from nparam_lint.discover.scan import scan_source


@pytest.mark.parametrize(("book", "case"), cases_beside(__file__, "unread"))
def test_a_claim_where_none_is_read_is_told_with_its_place(
    book: ProjectBook, case: Case, request: pytest.FixtureRequest
) -> None:
    text = case.files["net.py"].decode()
    facts = scan_source("net.py", text.encode())
    assert facts.problem is None
    places = [(one.position.line, one.position.column) for one in facts.unread]
    for line, column in places:
        assert text.split("\n")[line - 1][column - 1 :].lower().startswith("nparam")
    found = Plugin(ast.parse(text), "net.py", text.splitlines(keepends=True)).run()
    by_plugin = {(line, column + 1) for line, column, said, _ in found if said.startswith("NPL002")}
    assert by_plugin == {*places}
    lines = [f"{one.position}:{one.position.column} {one.message}" for one in facts.unread]
    said = "\n".join(lines) or "none"
    book.check(case.number, said, update=request.config.getoption("update"))


def test_class_methods_and_static_factories_that_declare_are_found() -> None:
    facts = scan_source(
        "net.py",
        dedent('''
        class Net:
            class Part:
                @staticmethod
                def wide(width=3, *, depth):
                    """nparam: 110"""
            @classmethod
            def small(cls, width: int = 3):
                """A small one.

                nparam: 5
                """
            @classmethod
            def load(cls):
                """Not declared."""
            def forward(self):
                """No factory."""
        ''').encode(),
    )
    assert [(m.qualname, [p.name for p in m.parameters]) for m in facts.methods] == [
        ("Net.Part.wide", ["width", "depth"]),
        ("Net.small", ["width"]),
    ]
