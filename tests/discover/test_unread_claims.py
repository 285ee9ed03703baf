"""Claims that stand where no budget is read: each is told at its place."""

from __future__ import annotations

from textwrap import dedent

import pytest
from case_books import Case, ProjectBook, cases_beside
from false_claims import PLACES, source

from nparam_lint.api.flake8_plugin import Plugin
from nparam_lint.discover.scan import scan_source


@pytest.mark.parametrize(
    ("place", "text"),
    [(place, source(text)) for place, texts in PLACES.items() for text in texts],
)
def test_a_claim_where_none_is_read_is_told_with_its_place(place: str, text: str) -> None:
    facts = scan_source("net.py", text.encode())
    assert facts.problem is None
    (problem,) = facts.unread
    assert f" in {place}, which is not read; expected `nparam: " in problem.message
    line = text.split("\n")[problem.position.line - 1]
    assert line[problem.position.column - 1 :].lower().startswith("nparam")
    (found,) = [f for f in _flake8(text) if f[2].startswith("NPL002")]
    assert found[:2] == (problem.position.line, problem.position.column - 1)


def _flake8(text: str) -> list[tuple[int, int, str, type[Plugin]]]:
    import ast

    return list(Plugin(ast.parse(text), "net.py", text.splitlines(keepends=True)).run())


@pytest.mark.parametrize(("book", "case"), cases_beside(__file__, "unread"))
def test_what_is_told_of_claims_in_a_file(
    book: ProjectBook, case: Case, request: pytest.FixtureRequest
) -> None:
    unread = scan_source("net.py", case.files["net.py"]).unread
    lines = [f"{one.position}:{one.position.column} {one.message}" for one in unread]
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
