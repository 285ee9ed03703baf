from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from nparam_lint.discover.definitions import Parameter
from nparam_lint.discover.scan import scan_source

if TYPE_CHECKING:
    from nparam_lint.discover.scan import FileFacts


def scan(source: str) -> FileFacts:
    return scan_source("m.py", dedent(source).lstrip("\n").encode())


def assert_docstring_at_its_place(source: str, qualname: str = "A") -> list[str]:
    """Every line's text stands in the source where the line says."""
    facts = scan_source("m.py", source.encode())
    (doc,) = (item.docstring for item in facts.classes if item.qualname == qualname)
    lines = source.replace("\r\n", "\n").split("\n")
    for line in doc:
        assert lines[line.line - 1][line.column - 1 :].startswith(line.text), line
    return [line.text for line in doc]


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        (
            'class A:\n    """One.\n\n    nparam: 5\n    """\n',
            ["One.", "", "    nparam: 5", "    "],
        ),
        ("class A:\n    '''\n    nparam: 5'''\n", ["", "    nparam: 5"]),
        ('class A: "nparam: 5"\n', ["nparam: 5"]),
        ("class A:\n    r'''a\\d\n    b'''\n", ["a\\d", "    b"]),
        ('class A:\n    u"""é nparam: 5"""\n', ["é nparam: 5"]),
        ('class A: 1; "x"\n', []),
        ('class A:\r\n    """One\r\n    two"""\r\n', ["One", "    two"]),
        ('class A:\n    ("one\\n"\n     "nparam: 5")\n', ["one", "nparam: 5"]),
        ('class A:\n    """\\\n    nparam: 5"""\n', ["    nparam: 5"]),
        ('class A:\n    "é" "nparam"\n', None),
        ('class A:\n    """a\\tb\n    nparam: 5"""\n', None),
        ('class A:\n    f"{x}"\n', []),
        ('class A:\n    b"x"\n', []),
    ],
)
def test_docstring_lines(source: str, texts: list[str] | None) -> None:
    if texts is not None:
        assert assert_docstring_at_its_place(source) == texts
    else:
        (facts,) = scan_source("m.py", source.encode()).classes
        assert facts.docstring


def test_escapes_keep_the_lines_where_they_are() -> None:
    (facts,) = scan_source("m.py", b'class A:\n    """a\\tb \\x41\n    nparam: 5\\n"""\n').classes
    assert [(line.text, line.line, line.column) for line in facts.docstring] == [
        ("a\tb A", 2, 8),
        ("    nparam: 5", 3, 1),
    ]


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
    ("body", "returned"),
    [
        ("return Net(3)", {"Net"}),
        ("return Net(3).to(d).eval()", {"Net"}),
        ("m = Net(3)\n    m = m.cuda()\n    return m", {"Net"}),
        ("return A() if x else b.B()", {"A", "b.B"}),
        ("if x:\n        m = A()\n    else:\n        m = B()\n    return m", {"A", "B"}),
        ("yield Net()", set()),
        ("def g(): return Net()\n    return 3", set()),
        ("return Net(), 3", {"Net"}),
        ("m = Net()\n    return {'model': m, 'loss': Loss()}", {"Net", "Loss"}),
        ("kind = A if x else b.B\n    return kind(3)", {"kind", "A", "b.B"}),
        ("kind = {'a': A, 'b': b.B}[x]\n    return kind(3)", {"kind", "A", "b.B"}),
        ("return {'a': A, 'b': b.B}[x](3)", {"A", "b.B"}),
        ("kinds = {'a': A, 'b': b.B}\n    return kinds[x](3)", {"kinds", "A", "b.B"}),
        ("return KINDS[x](3)", {"KINDS", "C"}),
        ("kind = KINDS[x]\n    return kind(3)", {"kind", "KINDS", "C"}),
        ("return KINDS(3)", {"KINDS"}),
    ],
)
def test_returned_calls(body: str, returned: set[str]) -> None:
    source = f"def f(x):\n    {body}\nKINDS = {{'c': C}}\n"
    (facts,) = scan_source("m.py", source.encode()).functions
    assert set(facts.returned) == returned


@pytest.mark.parametrize(
    ("annotation", "names"),
    [
        ("Net", ("Net",)),
        ("'Optional[m.Net]'", ("m.Net",)),
        ("Net | None", ("Net",)),
        ("Union[A, 'B']", ("A", "B")),
        ("Net[T]", ("Net",)),
        ("list[Net]", ("list",)),
        ("Type[Net]", ("Type",)),
        ("'not ( valid'", ()),
        ("A[  # one of\n        int\n    ]", ("A",)),
        (" | ".join(["Net"] * 1100), ()),
    ],
)
def test_annotation_names(annotation: str, names: tuple[str, ...]) -> None:
    source = f"def f(a: {annotation}, b: int, *, c: {annotation} = 3, d=x) -> {annotation}: pass\n"
    (facts,) = scan_source("m.py", source.encode()).functions
    assert facts.takes == (*names, "int")
    assert facts.gives == names
    (facts,) = scan_source("m.py", b"def f(a, *b: Net, c: Net = 3): pass\n").functions
    assert facts.takes == facts.gives == ()


@pytest.mark.parametrize(
    ("source", "line", "column", "message"),
    [
        (b"x = 1\nclass A(:\n", 2, 9, "cannot be parsed: invalid syntax"),
        # What has a syntax tree need not compile.
        (b"x = 1\nreturn x\n", 2, 1, "cannot be parsed: 'return' outside function"),
        (b"x = f(a=1, b=2, a=3)\n", 1, 17, "keyword argument repeated: a"),
        (b"x = 1\ny = \0\n", 2, 1, "null bytes"),
        (b"x = 1\ny = '\xff'\n", 2, 6, "byte 0xff is not valid utf-8"),
        (b"# coding: klingon\n", 1, 1, "klingon"),
        (b"x = " + b"(" * 50_000, 1, 1, "parsed"),
        (b"x = " + b"-" * 100_000 + b"1", 1, 1, "nested too deeply"),
    ],
)
def test_what_cannot_be_read_is_a_problem(
    source: bytes, line: int, column: int, message: str
) -> None:
    problem = scan_source("m.py", source).problem
    assert problem is not None
    assert message in problem.message
    assert problem.position.line == line
    if column > 1:
        assert problem.position.column == column


def test_declared_encoding_and_deep_elif_chains() -> None:
    facts = scan_source("m.py", "# coding: latin-1\nclass A: 'é'\n".encode("latin-1"))
    assert facts.classes[0].docstring[0].text == "é"
    assert scan_source("m.py", b"\xef\xbb\xbfclass A: 'x'\n").classes
    chain = "if a: pass\n" + "elif a: pass\n" * 150 + "else:\n    class A: pass\n"
    assert scan_source("m.py", chain.encode()).classes[0].qualname == "A"
