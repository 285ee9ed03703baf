"""Numbers and lines in docstrings: all other bytes stay."""

import pytest
from case_books import cases_beside
from hypothesis import given, settings
from hypothesis import strategies as st
from rewritten_lines import lines_changed

from nparam_lint.discover.claims.docstring_budgets import parse_docstring
from nparam_lint.discover.definitions import Definition
from nparam_lint.discover.scan import scan_source
from nparam_lint.ground.notation.grammar import parse_value
from nparam_lint.rewrite import docstring_edits
from nparam_lint.rewrite.docstring_edits import budgets
from nparam_lint.rewrite.number_style import restate


def declared(source):
    """(line, column) → value of every budget in the file."""
    facts = scan_source("x.py", source)
    assert facts.problem is None
    docstrings = [item.docstring for item in (*facts.classes, *facts.functions, *facts.methods)]
    docstrings += [item.init.docstring for item in facts.classes if item.init]
    found = [budget for lines in docstrings for budget in parse_docstring(lines)[0]]
    return {(budget.line, budget.column): budget.value.text for budget in found}


def rewritten(source, count, where=None):
    """The source with `count` in all of its budgets, or in those at some places."""
    source = source.encode() if isinstance(source, str) else source
    changes = {
        place: restate(parse_value(value), count)
        for place, value in declared(source).items()
        if where is None or place in where
    }
    return docstring_edits.restate(source, changes)


def changed(source, count):
    new, failed = rewritten(source, count)
    assert failed == {}
    return new.decode() if isinstance(source, str) else new


@pytest.mark.parametrize(("book", "case"), cases_beside(__file__, "docstrings"))
def test_what_is_written(book, case, request):
    source = case.files["net.py"]
    if book.path.stem == "numbers":
        new, failed = rewritten(source, 125_891_072)
        failed = {f"{line}:{column}": why for (line, column), why in failed.items()}
    else:
        new, failed = given_budgets(source)
        assert [*declared(new).values()] == ["1_234"] * new.count(b"nparam")
    said = [*(f"! {where}: {why}" for where, why in failed.items()), *lines_changed(source, new)]
    book.check(case.number, "\n".join(said), update=request.config.getoption("update"))


# --- another number ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "frame", ["class A: 'nparam: %s'", 'class A:\n    """\ufeffnparams： `%s`"""\n']
)
def test_only_the_number_changes(frame):
    assert changed(frame % "124M", 125_891_072) == frame % "126M"


@pytest.mark.parametrize(
    "frame",
    [
        b'\xef\xbb\xbf# first\r\nclass A:\r\n\t"""A. \t\r\n\tnparam: %s\r\n\t"""\r\n\tx = 1\r\n',
        '# coding: latin-1\nclass A:\n    """Größe.\n\n    nparam: %s\n    """\n'.encode("latin-1"),
        '# ünïcode\nclass Ä:\n    "ä nparam"; x = "é"\ndef f(): """nparam: %s"""; "ß"\n'.encode(),
    ],
    ids=["BOM, CRLF and tabs", "latin-1", "one line"],
)
def test_encodings_and_line_ends_stay(frame):
    assert changed(frame % b"5M", 125_891_072) == frame % b"126M"


def test_only_what_is_named_changes():
    source = 'class A:\n    """nparam: 5M\n    nparam[a]: 5M\n    """\n'
    new, failed = rewritten(source, 6_000_000, {(3, 16)})
    assert (new.decode(), failed) == (source.replace("[a]: 5M", "[a]: 6M"), {})


def test_a_file_that_libcst_would_change_is_left_alone():
    source = b'class A:\r    """nparam: 5M"""\r'
    new, failed = rewritten(source, 6_000_000)
    assert new == source
    assert failed == {(2, 16): "libcst would change other parts of the file"}


def test_the_places_are_those_of_the_file():
    found = budgets('"""A.\r\n\r\n    nparam: 5M\r\n    """', (7, 5))
    assert found == {(9, 13): (None, "", "", "5M")}


escapes = st.sampled_from(("\\x41", "\\\\", "\\N{DIGIT ONE}", "\\t", "\\'", "\\\n", "é", "5M", "{"))


@settings(max_examples=100)
@given(st.lists(escapes, max_size=4).map("".join), st.lists(escapes, max_size=4).map("".join))
def test_whatever_stands_around_it(before, after):
    frame = f'class A:\n    """{before} A.\n    nparam: %s\n    {after}"""\n'
    assert changed(frame % "5M", 6_000_000) == frame % "6M"


# --- another line -----------------------------------------------------------------------------


def given_budgets(source, value="1_234"):
    """The source with a budget for every class and function at its top level, or in a class."""
    source = source.encode() if isinstance(source, str) else source
    facts = scan_source("x.py", source)
    definitions = [
        Definition("x.py", item.qualname, kind, item.line, item.column)
        for kind, items in (("class", facts.classes), ("factory", facts.functions))
        for item in items
    ]
    new, failed = docstring_edits.add(source, {one: [(None, value)] for one in definitions})
    return new, {definition.qualname: reason for definition, reason in failed.items()}


def test_a_budget_is_added_to_what_has_no_line_end_or_many_escapes():
    added = "\n\n    nparam: 1_234\n    "
    assert given_budgets('class A: """One."""; x = 1') == (
        f'class A:\n    """One.{added}"""; x = 1'.encode(),
        {},
    )
    many = 60 * "\\d" + "'"  # which is read in time
    assert given_budgets(f'class A:\n    r"""{many}"""\n') == (
        f'class A:\n    r"""{many}{added}"""\n'.encode(),
        {},
    )


def test_encodings_stay_when_a_line_is_added():
    old = '\ufeff# größe\nclass A:\n    """Größe."""\n'.encode()
    written, failed = given_budgets(old)
    new = '\ufeff# größe\nclass A:\n    """Größe.\n\n    nparam: 1_234\n    """\n'
    assert (written, failed) == (new.encode(), {})


def test_a_definition_that_is_gone_is_not_found():
    source = b"class A:\n    x = 1\n"
    gone = Definition("x.py", "B", "class", 7, 1)
    written, failed = docstring_edits.add(source, {gone: [(None, "5")]})
    assert (written, failed) == (source, {gone: "it has moved since it was found"})
