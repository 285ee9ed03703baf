from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING

import pytest
from case_books import cases_beside

from nparam_lint.discover.definitions import Parameter
from nparam_lint.discover.scan import scan_source

if TYPE_CHECKING:
    from case_books import Case, ProjectBook

    from nparam_lint.discover.scan import FileFacts


def scan(source: str) -> FileFacts:
    return scan_source("m.py", dedent(source).lstrip("\n").encode())


def docstring_of(facts: FileFacts, source: str) -> str:
    """Its lines, each at its place: there the source has its text, but for escapes."""
    lines = source.replace("\r\n", "\n").split("\n")
    told = []
    for line in facts.classes[0].docstring:
        is_there = lines[line.line - 1][line.column - 1 :].startswith(line.text)
        told.append(f"{line.line}:{line.column} {line.text!r}{'' if is_there else ', escaped'}")
    return "\n".join(told) or "none"


def returned(facts: FileFacts, _: str) -> str:
    return ", ".join(sorted(set(facts.functions[0].returned))) or "none"


def annotations(facts: FileFacts, _: str) -> str:
    (function,) = facts.functions
    takes, gives = (f" {', '.join(one)}".rstrip() for one in (function.takes, function.gives))
    return f"takes{takes}; gives{gives}"


def problem_of(facts: FileFacts, _: str) -> str:
    problem = facts.problem
    return f"{problem.position}:{problem.position.column} {problem.message}" if problem else "none"


TOLD = {
    "docstrings": docstring_of,
    "returned": returned,
    "annotations": annotations,
    "problems": problem_of,
}


@pytest.mark.parametrize(("book", "case"), cases_beside(__file__, "facts"))
def test_what_a_file_says(book: ProjectBook, case: Case, request: pytest.FixtureRequest) -> None:
    source = case.files["m.py"]
    facts = scan_source("m.py", source)
    said = TOLD[book.path.stem](facts, source.decode(errors="replace"))
    book.check(case.number, said, update=request.config.getoption("update"))


def test_constructor_parameters_as_written() -> None:
    (facts,) = scan(
        """
        class Net(nn.Module):
            def __init__(self, a, b: int = 3, *args, c: "Config", d=dict(
                    x=1), **kw):
                '''nparam: 5'''
        """
    ).classes
    assert facts.init is not None
    assert facts.init.parameters == (
        Parameter("a", True),
        Parameter("b", False, "int", "3"),
        Parameter("args", False, kind="varargs"),
        Parameter("c", True, '"Config"', kind="keyword"),
        Parameter("d", False, None, "dict( x=1)", "keyword"),
        Parameter("kw", False, kind="varkwargs"),
    )
    assert facts.declares


@pytest.mark.parametrize(
    ("line", "declares"),
    [("nparam: 5", True), ("- nparam[bytes]: 5", True), ("nparam : int", False)],
)
def test_what_declares_a_budget(line: str, declares: bool) -> None:
    source = f'def f():\n    """F.\n\n    {line}\n    """\n'
    (facts,) = scan_source("m.py", source.encode()).functions
    assert facts.declares is declares


def test_dataclass_fields_are_the_constructor() -> None:
    (facts,) = scan(
        """
        @dataclasses.dataclass(eq=False)
        class Net(nn.Module):
            kind: ClassVar[str] = "net"
            dim: int
            depth: int = 2
            sizes: list[int] = field(default_factory=list)
            cache: dict = field(default=None, init=False)
        """
    ).classes
    assert facts.fields == (
        Parameter("dim", True, "int"),
        Parameter("depth", False, "int", "2"),
        Parameter("sizes", False, "list[int]", "list()"),
    )


def test_classes_count_wherever_an_import_would_find_them() -> None:
    facts = scan(
        """
        try:
            import x
        except ImportError:
            class A(Base[T], call()):
                class Inner(b.C): pass
        if flag:
            class B: pass
        else:
            with y as z:
                class C: pass
        def f():
            class Hidden: pass
        if __name__ == "__main__":
            class Main: pass
        if "__main__" == __name__:
            class Turned: pass
        """
    )
    found = {item.qualname: item.bases for item in facts.classes}
    assert found == {"A": ("Base",), "A.Inner": ("b.C",), "B": (), "C": ()}
    assert facts.names == {"x", "A", "B", "C", "f", "z"}


def test_imports_and_aliases() -> None:
    facts = scan(
        """
        import a.b, c.d as e
        from ..f import (g as h, i)
        from j import *
        Base = nn.Module if x else Other
        __all__ = ["Base"]
        """
    )
    assert [(i.module, i.level, i.name, i.bound) for i in facts.imports] == [
        ("a", 0, None, "a"),
        ("c.d", 0, None, "e"),
        ("f", 2, "g", "h"),
        ("f", 2, "i", "i"),
        ("j", 0, "*", "*"),
    ]
    assert facts.aliases == (("Base", "nn.Module"), ("Base", "Other"))
    assert facts.exports == {"Base"}


@pytest.mark.parametrize(
    ("source", "message"),
    [(b"x = " + b"(" * 50_000, "parsed"), (b"x = " + b"-" * 100_000 + b"1", "nested too deeply")],
)
def test_what_is_nested_too_deeply_is_a_problem(source: bytes, message: str) -> None:
    problem = scan_source("m.py", source).problem
    assert problem is not None
    assert message in problem.message
    assert problem.position.line == 1


def test_an_annotation_that_is_nested_too_deeply_has_no_names() -> None:
    (facts,) = scan_source(
        "m.py", f"def f(a: {'|'.join(['Net'] * 1100)}): pass\n".encode()
    ).functions
    assert facts.takes == ()


def test_declared_encoding_and_deep_elif_chains() -> None:
    facts = scan_source("m.py", "# coding: latin-1\nclass A: 'é'\n".encode("latin-1"))
    assert facts.classes[0].docstring[0].text == "é"
    assert scan_source("m.py", b"\xef\xbb\xbfclass A: 'x'\n").classes
    chain = "if a: pass\n" + "elif a: pass\n" * 150 + "else:\n    class A: pass\n"
    assert scan_source("m.py", chain.encode()).classes[0].qualname == "A"
