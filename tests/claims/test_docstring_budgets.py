from __future__ import annotations

from textwrap import dedent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nparam_lint.claims.docstring_budgets import Declared, Malformed, budget_lines, parse_docstring
from nparam_lint.records import DocLine

PROPERTY = settings(max_examples=200)


def lines_of(text: str, column: int = 8) -> list[DocLine]:
    """As discovery gives them: the first line begins after the quotes, the others at column 1."""
    return [
        DocLine(line, number, column if number == 1 else 1)
        for number, line in enumerate(text.split("\n"), 1)
    ]


def read(text: str) -> tuple[list[Declared], list[Malformed]]:
    return parse_docstring(lines_of(dedent(text)))


def summary(text: str) -> list[tuple[str | None, str, str]]:
    declared, malformed = read(text)
    assert malformed == []
    return [(budget.arguments, str(budget.selector), budget.text) for budget in declared]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("nparam: 124_475_904", (None, "", "124_475_904")),
        ("  nparam: 86.6M  # ViT-B", (None, "", "86.6M")),
        ("- nparam: 5", (None, "", "5")),
        ("* nparam: 5", (None, "", "5")),
        (":nparam: 5", (None, "", "5")),
        (":nparam[trainable]: 1.2M", (None, "trainable", "1.2M")),
        ("nparam[total]: 5", (None, "", "5")),
        ("nparam[transformer.h.*]: 7_087_872", (None, "transformer.h.*", "7_087_872")),
        ("nparam[trainable, encoder]: <= 5k", (None, "encoder, trainable", "<= 5k")),
        ("nparam[bytes]: <= 50MB", (None, "bytes", "<= 50MB")),
        ("nparam(n_layer=24): 354M", ("n_layer=24", "", "354M")),
        ("nparam(): 354M", ("", "", "354M")),
        ("nparam(C(a=')]:'))[trainable] : 5", ("C(a=')]:')", "trainable", "5")),
        ("nparam: n if kind == 'a: b' else 3", (None, "", "n if kind == 'a: b' else 3")),
    ],
)
def test_budget_lines(line: str, expected: tuple[str | None, str, str]) -> None:
    assert summary(f"A model.\n\n{line}\n") == [expected]


@pytest.mark.parametrize(
    "line",
    [
        "nparam (int): n",
        "nparam : int",
        "nparam is 5",
        "nparams: 5",
        "x nparam: 5",
        "Nparam: 5",
        "",
    ],
)
def test_other_lines_are_no_budgets(line: str) -> None:
    assert read(f"A model.\n{line}") == ([], [])


@pytest.mark.parametrize(
    ("line", "column", "message"),
    [
        ("    nparam: 12X", 13, "found '12X', expected a count such as"),
        ("nparam[bytes: 5", 7, "found `[` that is never closed"),
        ("nparam(a=1: 5", 7, "found `(` that is never closed"),
        ("nparam(a=1]: 5", 11, "found `]`, expected `)`"),
        ("nparam(a='1): 5", 10, "a string that is never closed"),
        ("nparam[bytes] 5", 14, "found `5`, expected `:` and a count"),
        ("nparam[bytes]", 14, "found the end of the line"),
        ("nparam[bytes]:", 15, "found nothing"),
        ("nparam[a, b]: 5", 11, "expected one metric"),
        ("nparam(1 2): 5", 8, "the arguments of a Python call"),
        ("nparam[total]: 5MB", 17, "counts bytes"),
        ("- nparam: n +* 2", 14, "found 'n +* 2'"),
        ("nparam:", 8, "found nothing after `nparam:`"),
    ],
)
def test_malformed_lines_are_never_skipped(line: str, column: int, message: str) -> None:
    declared, malformed = read(f"A model.\n{line}\n\nnparam: 7")
    assert [budget.text for budget in declared] == ["7"]
    (fault,) = malformed
    assert message in fault.message
    assert (fault.line, fault.column) == (2, column)


def test_a_block_holds_every_form() -> None:
    text = """\
    A model.

    nparam:
        124M

        - [trainable]: 100M
        (n=2)[bytes]: <= 50MB
        (n + 2)*k
        transformer.h.*: 7M
        encoder, trainable: 1M
        nparam(n=3): 5M

    Not a budget: 5
    nparam[frozen]: 3
    """
    assert summary(text) == [
        (None, "", "124M"),
        (None, "trainable", "100M"),
        ("n=2", "bytes", "<= 50MB"),
        (None, "", "(n + 2)*k"),
        (None, "transformer.h.*", "7M"),
        (None, "encoder, trainable", "1M"),
        ("n=3", "", "5M"),
        (None, "frozen", "3"),
    ]


def test_a_block_on_the_first_line_is_indented_like_the_docstring() -> None:
    lines = lines_of("nparam:\n        5M\n    Prose.\n")
    declared, malformed = parse_docstring(lines)
    assert malformed == []
    assert [(budget.text, budget.line, budget.column) for budget in declared] == [("5M", 2, 9)]


def test_prose_in_a_block_is_malformed() -> None:
    declared, malformed = read("nparam[bytes]: 5\nnparam:\n  about five\n  6\n")
    assert [budget.text for budget in declared] == ["5", "6"]
    assert [(fault.line, fault.column) for fault in malformed] == [(3, 3)]


def test_arguments_over_several_lines() -> None:
    text = "nparam(GPTConfig(\n    n_layer=24,\n    n_head=16))[trainable]: 354M\nProse (here)."
    (budget,), malformed = read(text)
    assert malformed == []
    assert budget.arguments == "GPTConfig( n_layer=24, n_head=16)"
    assert (budget.line, budget.column) == (3, text.split("\n")[2].index("354M") + 1)
    assert budget_lines(lines_of(text)) == {0, 1, 2}


def test_open_arguments_do_not_swallow_the_next_budget() -> None:
    declared, malformed = read("nparam(a=1: 5\nnparam(b=2): 6")
    assert [budget.arguments for budget in declared] == ["b=2"]
    assert [(fault.line, fault.column) for fault in malformed] == [(1, 14)]


@PROPERTY
@given(
    st.sampled_from(["", "  ", "- ", "    * ", ":"]),
    st.sampled_from(["", "(n=2)", "(f(')]:'))", "[trainable]", "(n=1)[h.*]"]),
    st.sampled_from([":", ": ", ":   "]),
    st.sampled_from(["5", "86.6M", "7.1M ± 2%", "<= 25k", "1..2", "~58k", "(n + 1)*2"]),
    st.sampled_from(["", "  ", " # note: (x"]),
    st.integers(1, 9),
)
def test_columns_point_at_the_value(
    lead: str, what: str, colon: str, value: str, tail: str, column: int
) -> None:
    text = f"{lead}nparam{what}{colon}{value}{tail}"
    (budget,), malformed = parse_docstring([DocLine(text, 3, column)])
    assert malformed == []
    assert budget.line == 3
    assert text[budget.column - column :].startswith(budget.text)
    assert budget.text == value


@PROPERTY
@given(
    st.lists(
        st.text("nparm:()[]'# 5M.,", max_size=20).map(lambda text: f"nparam{text}")
        | st.text("nparm:()[]' 5M", max_size=12)
        | st.text(max_size=12),
        max_size=5,
    )
)
def test_any_docstring_can_be_read(texts: list[str]) -> None:
    lines = [DocLine(text, number, 1) for number, text in enumerate(texts, 1)]
    declared, malformed = parse_docstring(lines)
    for place in (*declared, *malformed):
        assert 1 <= place.column <= len(texts[place.line - 1]) + 1
    heads = {n for n, text in enumerate(texts, 1) if text.startswith(("nparam(", "nparam["))}
    assert len(declared) + len(malformed) >= len(heads)
