from __future__ import annotations

import time
import unicodedata
from textwrap import dedent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nparam_lint.claims.docstring_budgets import (
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


def test_a_class_inside_a_model() -> None:
    text = """
    nparam(in nets/gpt.py::GPT): 7
    **nparam**[trainable](in GPT(n=2)): 7M
    nparam:
        (in m.py::Net)[up]: d * 3
        (in + 3) * d
    """
    declared, malformed = read(text)
    assert [(str(budget.host), str(budget.selector), budget.value.text) for budget in declared] == [
        ("nets/gpt.py::GPT", "", "7"),
        ("GPT(n=2)", "trainable", "7M"),
        ("m.py::Net", "up", "d * 3"),
    ]
    assert [(fault.line, fault.column) for fault in malformed] == [(6, 6)]


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


# These lists can only grow. In other spellings a budget is read where a reader would take it for
# one.
@pytest.mark.parametrize(
    "line",
    [
        *(
            "nparam : 5",
            "nparam :5",
            "NPARAM: 5",
            "Nparam: 5",
            "nParam: 5",
            "nparam:: 5",
            "nparam := 5",
        ),
        *(
            "nparams: 5",
            "n_param: 5",
            "n_params : 5",
            "n-param: 5",
            "N_PARAMS: 5",
            "nparameters: 5",
        ),
        *("nparam： 5", "nparam：５", "nparam∶ 5", "ｎparam: 5".replace("ｎ", "n")),
        *("`nparam: 5`", "``nparam``: 5", "nparam: `5`", "`nparam`: `5`"),
        *("**nparam: 5**", "**nparam**: 5", "**nparam:** 5", "nparam: **5**", "*nparam*: 5"),
        *("__nparam: 5__", "__nparam__: 5", "__nparam:__ 5", "_nparam_: 5"),
        *("• nparam: 5", "+ nparam: 5", "– nparam: 5", "— nparam: 5", "◦ nparam: 5", "· nparam: 5"),
        *("1. nparam: 5", "12) nparam: 5", "a) nparam: 5", "iv. nparam: 5", "-nparam: 5"),
        *("> nparam: 5", ">> nparam: 5", "> - nparam: 5", "- [x] nparam: 5", "- [ ] nparam: 5"),
        *(
            ".. nparam:: 5",
            ".. nparam: 5",
            ":nparam : 5",
            "@nparam: 5",
            "# nparam: 5",
            "| nparam: 5",
        ),
        *("(nparam: 5)", "[nparam: 5]", "<nparam: 5>", "{nparam: 5}", "nparam: 5;"),
        *("'nparam: 5'", '"nparam: 5"', "“nparam: 5”", "«nparam: 5»", "nparam: '5'", "nparam: $5$"),
        *(
            "\ufeffnparam: 5",
            "\u200bnparam: 5",
            "nparam\u200b: 5",
            "nparam:\u00a05",
            "\u2060nparam: 5",
        ),
        *("nparam:\t5", "\tnparam: 5", "nparam:5", "nparam:    5   "),
        *("nparam [total]: 5", "nparam[total] : 5", "Nparam [ total ] : 5", "**nparam[total]**: 5"),
    ],
)
def test_a_clear_spelling_is_read(line: str) -> None:
    assert summary(f"A model.\n\n{line}\n") == [(None, "", "5")]
    assert mentions(f'"""{line}"""'.encode())
    assert mentions(f'"""A net.\\n{line}"""'.encode())
    assert declares(lines_of(line))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Nparam[trainable]: 5", (None, "trainable", "5")),
        ("nparam (n=3) [h.*] : 5", ("n=3", "h.*", "5")),
        ("NPARAM(GPT(\n    n=3)): 5", ("GPT( n=3)", "", "5")),
        ("**nparam: ~86.6M ± 2%**", None),
        ("**nparam: 7.1M ± 2%**", (None, "", "7.1M ± 2%")),
        ("(nparam: (width + 2)*4)", (None, "", "(width + 2)*4")),
        ("Nparam: width*10", (None, "", "width*10")),
        ("nparam : 2*width  # exact", (None, "", "2*width")),
        ("nparam : int\n    5", (None, "", "int")),  # a name that no model has
        ("**nparam:**\n    5", (None, "", "5")),
        ("Nparam:\n\n    • 5", (None, "", "5")),
    ],
)
def test_a_clear_spelling_holds_all_that_a_budget_does(
    line: str, expected: tuple[str | None, str, str] | None
) -> None:
    declared, malformed = read(f"A model.\n\n{line}\n")
    assert len(malformed) == (expected is None)
    found = [(budget.arguments, str(budget.selector), budget.value.text) for budget in declared]
    assert found == [expected] * (expected is not None)


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("nparam = 5", "nparam: 5"),
        ("nparam == 5", "nparam: 5"),
        ("nparam=5", "nparam: 5"),
        ("nparam 5", "nparam: 5"),
        ("nparam\t5", "nparam: 5"),
        ("nparam is 5", "nparam: 5"),
        ("nparam -> 5", "nparam: 5"),
        ("nparam → 5", "nparam: 5"),
        ("nparam – 5", "nparam: 5"),
        ("nparam about 5", "nparam: 5"),
        ("nparam, about 5", "nparam: 5"),
        ("nparam <= 5k", "nparam: <= 5k"),
        ("nparam of the net: 5", "nparam: 5"),
        ("nparam ..... 5", "nparam: 5"),
        ("nparam - 5", ""),
        ("nparam; 5", ""),
        ("nparam, 5", ""),
        ("nparam ~5k.", "nparam: ~5k"),
        ("nparam (5)", "nparam: 5"),
        ("nparam [trainable] 5", "nparam[trainable]: 5"),
        ("n_params = 5", "nparam: 5"),
        ("NPARAM 5", "nparam: 5"),
        ("**nparam** 5", "nparam: 5"),
        ("| nparam | 5 |", "nparam: 5"),
        (":nparam 5:", "nparam: 5"),
        ("nparam\n------\n5", ""),
        ("nparam\n    5", ""),
        ("Nparam: 5 in all", ""),
        ("nparam: 5 5", ""),
        ("nparam.l: 5", "nparam[l]: 5"),
        ("nparam.h.0 = 5", "nparam[h.0]: 5"),
        ("nparam l: 5", ""),
        ("nparam/l: <= 5k", ""),
        ("<b>nparam:</b> 5", ""),
        ("<b>nparam: 5</b>", ""),
        ('<li class="a"><code>nparam</code>: <b>5</b></li>', ""),
        ("nparam (int): how many\n    5", ""),
        ("nparam (int):\n\n    ``5``", ""),
        (".. attribute:: nparam\n\n    5", ""),
        (".. py:attribute:: nparam\n    :type: int\n    :value: 5", ""),
    ],
)
def test_an_unclear_spelling_is_malformed_and_says_how_to_write_it(line: str, wanted: str) -> None:
    declared, malformed = read(f"A model.\n{line}")
    assert declared == []
    (fault,) = malformed
    assert (fault.line, fault.message.endswith(f", as in `{wanted}`")) == (2, bool(wanted))


@pytest.mark.parametrize(
    ("line", "text", "wanted"),
    [
        ("A net. nparam: 5", "nparam: 5", "nparam: 5"),
        ("It has (nparam: 5).", "nparam: 5", "nparam: 5"),
        ("Budget: nparam[h.*] : 5k, all told", "nparam[h.*] : 5k", "nparam[h.*]: 5k"),
        ("Its nparam is about 5.", "nparam is about 5", "nparam: 5"),
        (":ivar nparam: 5", "nparam: 5", "nparam: 5"),
        ("1.nparam: 5", "nparam: 5", "nparam: 5"),
        ("a net of 5 nparams", "5 nparams", "nparam: 5"),
        ("the nparam (5)", "nparam (5)", "nparam: 5"),
        ("see nparam: width*10 + 10", "nparam: width*10 + 10", "nparam: width*10 + 10"),
        (":param nparam: 5", "nparam: 5", "nparam: 5"),
    ],
)
def test_a_claim_inside_a_line_is_a_stray(line: str, text: str, wanted: str) -> None:
    assert read(f"A model.\n{line}") == ([], [])
    stray = find_stray(line)
    assert stray is not None
    assert (stray.text, stray.line) == (text, wanted)
    assert line[stray.offset :].startswith(text)


@pytest.mark.parametrize(
    "line",
    [
        *(
            "",
            "nparam",
            "nparam (int): n",
            "nparam : int",
            "nparam : int, default 5",
            "Nparam: about",
        ),
        *("nparam : int\n    How many, 3 or 4", "nparam.l: how many", ".. attribute:: nparam"),
        *("nparam (int, optional): the number", "n_params: int = 5", "nparams (List[int]): three"),
        *(
            "nparam = sum(p.numel() for p in net.parameters())",
            ">>> nparam = 5",
            ">>> n_params = 5",
        ),
        *("nparam: ignore[NPL101]".title(), "nparam-lint 0.2", "nparam_lint: 5", "nparam.py:5"),
        *("nparam * 4 bytes", "nparam / 1e6", "nparam, 3 layers", "nparam. 3 layers", "2*nparam"),
        *("net.nparam = 5", "total_nparam: 5", "nparam_total: 5", "nparam5: 5", "--nparam 5"),
        *("if nparam > 5: split", "f(nparam, 5)", "inparam: 5", "len(nparams) - 1"),
    ],
)
def test_a_mere_mention_is_no_claim(line: str) -> None:
    assert read(f"A model.\n{line}") == ([], [])
    assert find_stray(line) is None


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
    assert [budget.value.text for budget in declared] == ["7"]
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
    assert [(budget.value.text, budget.line, budget.column) for budget in declared] == [
        ("5M", 2, 9)
    ]


def test_prose_in_a_block_is_malformed() -> None:
    declared, malformed = read("nparam[bytes]: 5\nnparam:\n  about five\n  6\n")
    assert [budget.value.text for budget in declared] == ["5", "6"]
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
