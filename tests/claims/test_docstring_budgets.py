from __future__ import annotations

import re
import time
import unicodedata
from textwrap import dedent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nparam_lint.discover.claims.docstring_budgets import (
    Declared,
    Malformed,
    budget_lines,
    declares,
    find_stray,
    mentions,
    parse_docstring,
)
from nparam_lint.ground.values import DocLine

PROPERTY = settings(max_examples=80)


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
    return [(budget.arguments, str(budget.selector), budget.value.text) for budget in declared]


# These lists can only grow. In other spellings a budget is read where a reader would take it for
# one.
CLEAR = """\
nparam : 5|nparam :5|NPARAM: 5|Nparam: 5|nParam: 5|nparam:: 5|nparam := 5|nparams: 5|n_param: 5
n_params : 5|n-param: 5|N_PARAMS: 5|nparameters: 5|nparam： 5|nparam：５|nparam∶ 5|nparam: 5
`nparam: 5`|``nparam``: 5|nparam: `5`|`nparam`: `5`|**nparam: 5**|**nparam**: 5|**nparam:** 5
nparam: **5**|*nparam*: 5|__nparam: 5__|__nparam__: 5|__nparam:__ 5|_nparam_: 5
• nparam: 5|+ nparam: 5|– nparam: 5|— nparam: 5|◦ nparam: 5|· nparam: 5|- nparam: 5|* nparam: 5
1. nparam: 5|12) nparam: 5|a) nparam: 5|iv. nparam: 5|-nparam: 5|> nparam: 5|>> nparam: 5
> - nparam: 5|- [x] nparam: 5|- [ ] nparam: 5|.. nparam:: 5|.. nparam: 5|:nparam : 5|:nparam: 5
@nparam: 5|# nparam: 5|(nparam: 5)|[nparam: 5]|<nparam: 5>|{nparam: 5}|nparam: 5;
'nparam: 5'|"nparam: 5"|“nparam: 5”|«nparam: 5»|nparam: '5'|nparam: $5$
nparam:\t5|\tnparam: 5|nparam:5|nparam:    5   |nparam [total]: 5|nparam[total] : 5|nparam[total]: 5
Nparam [ total ] : 5|**nparam[total]**: 5|\ufeffnparam: 5|\u200bnparam: 5|nparam\u200b: 5
nparam:\u00a05|\u2060nparam: 5
"""


def test_a_clear_spelling_is_read() -> None:
    for line in (*re.split(r"[|\n]", CLEAR.rstrip("\n")), "| nparam: 5"):
        assert summary(f"A model.\n\n{line}\n") == [(None, "", "5")], line
        assert mentions(f'"""{line}"""'.encode())
        assert mentions(f'"""A net.\\n{line}"""'.encode())
        assert declares(lines_of(line))


def test_arguments_over_several_lines_are_lines_of_a_budget() -> None:
    text = "nparam(GPTConfig(\n    n_layer=24,\n    n_head=16))[trainable]: 354M\nProse (here)."
    assert budget_lines(lines_of(text)) == {0, 1, 2}


MENTIONS = [
    *("", "nparam", "nparam (int): n", "nparam : int", "nparam : int, default 5", "Nparam: about"),
    *("nparam : int\n    How many, 3 or 4", "nparam.l: how many", ".. attribute:: nparam"),
    *("nparam (int, optional): the number", "n_params: int = 5", "nparams (List[int]): three"),
    *("nparam = sum(p.numel() for p in net.parameters())", ">>> nparam = 5", ">>> n_params = 5"),
    *("nparam: ignore[NPL101]".title(), "nparam-lint 0.2", "nparam_lint: 5", "nparam.py:5"),
    *("nparam * 4 bytes", "nparam / 1e6", "nparam, 3 layers", "nparam. 3 layers", "2*nparam"),
    *("net.nparam = 5", "total_nparam: 5", "nparam_total: 5", "nparam5: 5", "--nparam 5"),
    *("if nparam > 5: split", "f(nparam, 5)", "inparam: 5", "len(nparams) - 1"),
]


def test_a_mere_mention_is_no_claim() -> None:
    for line in MENTIONS:
        assert read(f"A model.\n{line}") == ([], []), line
        assert find_stray(line) is None, line


_LEADS = [
    *("", "  ", "- ", "• ", "3. ", "> ", "(", "# ", "\u200b"),
    *("A net. ", "It has ", "é ", "(see "),
]
_LINKS = [
    *(":", " : ", "：", " = ", " ", "::", " is ", " -> "),
    *(":\u00a0", " ≤ ", ": **", "\t", " == "),
]
_VALUES = ["110", "1_100", "86.6M", "~58k", "<= 25k", "１１０", "`110`", "'110'", "1..2", "110*2"]


@PROPERTY
@given(
    st.sampled_from(_LEADS),
    st.sampled_from(["", "**", "`", "_", "*", "``", "**_"]),
    st.sampled_from(["nparam", "NPARAM", "nParam", "nparams", "n_param", "N-Params"]),
    st.booleans(),
    st.sampled_from(["", "(n=2)", " (n=2)", "[trainable]", " [h.*] "]),
    st.sampled_from(_LINKS),
    st.sampled_from(_VALUES),
    st.sampled_from(["", ".", ")", "**", "`", " parameters", "  # exact", ", frozen", " ± 2%"]),
)
def test_the_word_beside_a_number_is_never_skipped(
    lead: str, mark: str, word: str, ends: bool, what: str, link: str, value: str, tail: str
) -> None:
    if word != "nparam" and "=" in link and any(map(str.isalpha, lead)):
        return  # may be code
    text = f"{lead}{mark}{word}{mark[::-1] * ends}{what}{link}{value}{tail}"
    declared, malformed = parse_docstring([DocLine(text, 3, 9)])
    assert declared or malformed or find_stray(text), text
    for place in (*declared, *malformed):
        assert place.line == 3
        assert 9 <= place.column <= 9 + len(text)
    for budget in declared:  # what is read is what is written
        written = unicodedata.normalize("NFKC", f"{value}{tail}").strip("`'*).")
        assert budget.value.text.rstrip(".") == written.partition("#")[0].strip(" `'*).")


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
    assert text[budget.column - column :].startswith(budget.value.text)
    assert budget.value.text == value


def test_a_staircase_of_the_word_and_a_row_of_it_are_read_in_time() -> None:
    start = time.process_time()
    assert find_stray("nparam: " * 8_000) is None
    assert read("\n".join(f"{' ' * depth}nparam x" for depth in range(800))) == ([], [])
    assert time.process_time() - start < 10


@pytest.mark.thorough
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
