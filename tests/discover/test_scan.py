from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from case_books import cases_beside

from nparam_lint.discover.scan import scan_source

if TYPE_CHECKING:
    from case_books import Case, ProjectBook

    from nparam_lint.discover.definitions import Parameter
    from nparam_lint.discover.scan import FileFacts


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


def whole(facts: FileFacts, _: str) -> str:
    lines = []
    for one in facts.classes:
        lines.append(f"class {one.qualname}: {', '.join(one.bases)}".rstrip(": "))
        lines += [f"  field {parameter(field)}" for field in one.fields or ()]
        if one.init:
            lines += [f"  takes {parameter(taken)}" for taken in one.init.parameters]
        lines += ["  declares a budget"] * one.declares
    lines += [
        f"function {one.qualname}" + ", declares a budget" * one.declares for one in facts.functions
    ]
    for one in facts.imports:
        name = f" {one.name}" if one.name else ""
        lines.append(f"import {'.' * one.level}{one.module}{name} as {one.bound}")
    lines += [f"{name} is {other}" for name, other in facts.aliases]
    lines += [f"exports {name}" for name in sorted(facts.exports or ())]
    return "\n".join([*lines, f"names: {', '.join(sorted(facts.names))}"])


def parameter(one: Parameter) -> str:
    needed = "!" * (one.required and not one.kind.startswith("var"))
    kind = "" if one.kind == "positional" else f" ({one.kind})"
    annotation = f": {one.annotation}" if one.annotation else ""
    default = f" = {one.default}" if one.default else ""
    return f"{one.name}{needed}{annotation}{default}{kind}"


TOLD = {
    "docstrings": docstring_of,
    "returned": returned,
    "annotations": annotations,
    "problems": problem_of,
    "wholes": whole,
}


@pytest.mark.parametrize(("book", "case"), cases_beside(__file__, "facts"))
def test_what_a_file_says(book: ProjectBook, case: Case, request: pytest.FixtureRequest) -> None:
    source = case.files["m.py"]
    facts = scan_source("m.py", source)
    said = TOLD[book.path.stem](facts, source.decode(errors="replace"))
    book.check(case.number, said, update=request.config.getoption("update"))


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
