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


def said_of(text: str) -> str:
    """What is read in a docstring, what is refused, and else what is a claim inside a line."""
    declared, malformed = read(text)
    said = [(fault.line, fault.column, fault.message) for fault in malformed]
    for one in declared:
        called = "" if one.arguments is None else f"({one.arguments})"
        inside = f"(in {one.host})" if one.host else ""
        what = f"[{one.selector}]" * bool(str(one.selector))
        said.append((one.line, one.column, f"nparam{called}{inside}{what}: {one.value.text}"))
    if not said:
        for number, line in enumerate(dedent(text).split("\n"), 1):
            if stray := find_stray(line):
                assert line[stray.offset :].startswith(stray.text)
                what = f"stray `{stray.text}`, as in `{stray.line}`"
                said.append((number, stray.offset + 1, what))
    lines = (f"    {line}:{column} {what}\n" for line, column, what in sorted(said))
    return re.sub(r"(?m) a Python call: .*", " a Python call", "".join(lines))


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


# By what they show, lines of docstrings; what is read of each is in the expected file.
LINES = {
    "budgets": [
        *("nparam: 124_475_904", "  nparam: 86.6M  # ViT-B", ":nparam[trainable]: 1.2M"),
        *("nparam[transformer.h.*]: 7_087_872", "nparam[trainable, encoder]: <= 5k"),
        *("nparam[bytes]: <= 50MB", "nparam(n_layer=24): 354M", "nparam(): 354M"),
        *("nparam(C(a=')]:'))[trainable] : 5", "nparam: n if kind == 'a: b' else 3"),
        *("nparam(in nets/gpt.py::GPT): 7", "**nparam**[trainable](in GPT(n=2)): 7M"),
        "nparam:\n    (in m.py::Net)[up]: d * 3\n    (in + 3) * d",
    ],
    "a clear spelling holds all that a budget does": [
        *("Nparam[trainable]: 5", "nparam (n=3) [h.*] : 5", "NPARAM(GPT(\n    n=3)): 5"),
        *("**nparam: ~86.6M ± 2%**", "**nparam: 7.1M ± 2%**", "(nparam: (width + 2)*4)"),
        *("Nparam: width*10", "nparam : 2*width  # exact", "**nparam:**\n    5"),
        *("Nparam:\n\n    • 5", "nparam : int\n    5"),  # a name that no model has
    ],
    "an unclear spelling is malformed and says how to write it": [
        *("nparam = 5", "nparam == 5", "nparam=5", "nparam 5", "nparam\t5", "nparam is 5"),
        *("nparam -> 5", "nparam → 5", "nparam – 5", "nparam about 5", "nparam, about 5"),
        *("nparam <= 5k", "nparam of the net: 5", "nparam ..... 5", "nparam - 5", "nparam; 5"),
        *("nparam, 5", "nparam ~5k.", "nparam (5)", "nparam [trainable] 5", "n_params = 5"),
        *("NPARAM 5", "**nparam** 5", "| nparam | 5 |", ":nparam 5:", "nparam\n------\n5"),
        *("nparam\n    5", "Nparam: 5 in all", "nparam: 5 5", "nparam.l: 5", "nparam.h.0 = 5"),
        *("nparam l: 5", "nparam/l: <= 5k", "<b>nparam:</b> 5", "<b>nparam: 5</b>"),
        '<li class="a"><code>nparam</code>: <b>5</b></li>',
        *("nparam (int): how many\n    5", "nparam (int):\n\n    ``5``"),
        ".. attribute:: nparam\n\n    5",
        ".. py:attribute:: nparam\n    :type: int\n    :value: 5",
    ],
    "a claim inside a line is a stray": [
        *("A net. nparam: 5", "It has (nparam: 5).", "Budget: nparam[h.*] : 5k, all told"),
        *("Its nparam is about 5.", ":ivar nparam: 5", "1.nparam: 5", "a net of 5 nparams"),
        *("the nparam (5)", "see nparam: width*10 + 10", ":param nparam: 5"),
    ],
    "a malformed line is never skipped": [
        *("    nparam: 12X", "nparam[bytes: 5", "nparam(a=1: 5", "nparam(a=1]: 5"),
        *("nparam(a='1): 5", "nparam[bytes] 5", "nparam[bytes]", "nparam[bytes]:"),
        *("nparam[a, b]: 5", "nparam[total]: 5MB", "- nparam: n +* 2", "nparam:"),
        "nparam(1 2): 5",
    ],
}
WHOLE = {
    "a block holds every form": """\
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
    """,
    "prose in a block is malformed": "nparam[bytes]: 5\nnparam:\n  about five\n  6\n",
    "a block on the first line is indented like the docstring": (
        "nparam:\n        5M\n    Prose.\n"
    ),
    "arguments over several lines": (
        "nparam(GPTConfig(\n    n_layer=24,\n    n_head=16))[trainable]: 354M\nProse (here)."
    ),
    "open arguments do not swallow the next budget": "nparam(a=1: 5\nnparam(b=2): 6",
}


def test_what_is_read_of_each_spelling(expected) -> None:
    """And of the budget below it: none is swallowed."""
    said = {}
    for title, lines in LINES.items():
        texts = []
        for line in lines:
            texts.append(f"{line}\n" + said_of(f"A model.\n{line}"))
            below = said_of(f"A model.\n{line}\n\nnparam: 7")
            assert below.endswith(" nparam: 7\n")
        said[title] = "".join(texts)
    said |= {title: f"{dedent(text)}\n{said_of(text)}" for title, text in WHOLE.items()}
    expected(said)
    assert budget_lines(lines_of(WHOLE["arguments over several lines"])) == {0, 1, 2}


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
    "",
    "  ",
    "- ",
    "• ",
    "3. ",
    "> ",
    "(",
    "# ",
    "\u200b",
    "A net. ",
    "It has ",
    "é ",
    "(see ",
]
_LINKS = [
    ":",
    " : ",
    "：",
    " = ",
    " ",
    "::",
    " is ",
    " -> ",
    ":\u00a0",
    " ≤ ",
    ": **",
    "\t",
    " == ",
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
