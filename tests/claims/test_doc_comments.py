"""Counts in Markdown and reStructuredText: which numbers comments bind, and to what."""

from __future__ import annotations

import re
import textwrap
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nparam_lint.discover.claims.doc_comments import parse_docs


def bound(text, path="README.md"):
    """(place, target, selector, value) of each number; there are no faults."""
    found, faults = parse_docs(path, text)
    assert not faults
    return [
        (f"{one.line}:{one.column}", str(one.target), str(one.selector), one.value.text)
        for one in found
    ]


def fault(text, path="README.md"):
    """The one fault, with its place; nothing is bound."""
    found, (only,) = parse_docs(path, text)
    assert not found
    return f"{only.line}:{only.column} {only.message}"


def said_of(text, path="README.md"):
    """What is bound in a text and what is wrong in it, with their places."""
    found, faults = parse_docs(path, text)
    lines = [(one.line, one.column, one.message) for one in faults]
    for one in found:
        selector = f"[{one.selector}]" if str(one.selector) else ""
        lines.append((one.line, one.column, f"{one.target}{selector} {one.value.text}"))
    lines = "".join(f"  {line}:{column} {what}\n" for line, column, what in sorted(lines))
    return f"{text.rstrip()}\n{lines}"


A = "<!-- nparam: a.py::A -->"
NEAREST = [
    *(f"It has 86.6M {A} parameters.", f"It has **86,567,656** parameters.{A}"),
    *(f"ViT-B/16 of 2021 has 86.6M, 81.1 % {A}", f"12 layers, ~86.6 million parameters {A}"),
    *("5M<!--nparam: a.py::A-->", f"{A} `86_567_656` parameters", f"1M{A} 2M"),
    *(f"| a | 1M | 2.5M {A} | 3M |", f"| a | {A} 2.5M | 3M |", f"224×224, 7.2e6 params, 4-8x {A}"),
    *(f"\n{A}\n\n\nIt has\n86.6M.\n", f"- a list\n\n    5M {A}", "5M <!--- nparam: a.py::A --->"),
    *(
        f"`<!--` and 5M {A}",
        f"has > 1.2M {A}",
        f"maybe, > 1.2M {A}",
        f"> 1.2M {A} is quoted",
        f"<b>1.2M</b> {A}",
    ),
    *(f"has 7.1M ± 2% {A}", f"7.1M +/- 100k, 3 % {A}"),
    f"| Net | Params (M) |\n|---|---|\n| a | 7.1 ± 2% {A} |",
    "330 MB <!-- nparam: a.py::A(depth = 24)[encoder, bytes] --> 1k <!-- nparam: t.m::f() -->",
]
UNREADABLE = [
    *("5M <!-- nparams: a.py::A -->", "5M <!-- nparam a.py::A -->", "5M <!-- nparam: a.py:A -->"),
    *(f"x\n{A}", f"{A}\n12 layers, 5M", f"86.6 {A}", f"86 MB {A}"),
    *(f"{A}\n| a |\n|---|\n| 5M |", "<!-- nparam: P = a.py::A -->\n5M"),
]
NOTHING = [
    *(f"`5M {A}`", f"```\n5M {A}\n```", f"~~~~ md\n```\n5M {A}\n```\n~~~~"),
    *(f"text\n\n    5M {A}\n\n    6M {A}", "5M <!-- a note on nparam: 3 -->"),
    *("5M <!-- nparam-lint: a.py::A -->", "5M <!-- nparam: ignore[NPL001] -->"),
    *("`nparam: 5M`", "```\nnparam: 5M\n```", "nparam: how many", "n_params: 5M", "nparam-lint: 5"),
]


def test_code_other_comments_and_the_word_beside_no_number_bind_nothing():
    for text in NOTHING:
        assert bound(text) == [], text


TABLE = """\
| Model | Acc. | #Params (M) |
|:------|-----:|------------:|
| [`vit_b`](a.md) | 81.1 | **86.6** |
| ViT-L | 82 | 304.3M |
| other | 79 | – |
"""


# What stands in the comment above the table.
HEADS = [
    "#params = a.py::{Model}[trainable]\n     ViT-L = -",
    "#Params (M)\nViT-L = a.py::vit(depth=24)\nvit_b = a.py::vit(name='b')\n",
    *("Parms = a.py::{Model}", "Acc. = a.py::{Modell}", "#Params\nvit_c = a.py::A"),
    *("#Params\nvit_b", "#Params\nvit_b = a.py:A"),
]
OWN = TABLE.replace("304.3M", "304.3 <!-- nparam: a.py::own -->")  # a comment of its own
RST = """\
Title
=====

.. nparam: a.py::A[trainable]

It has 86.6M parameters::

    .. nparam: a.py::B

    3M

.. nparam: a.py::C

1_000.
"""


def test_what_comments_bind(expected):
    said = {
        "the nearest number": "".join(map(said_of, NEAREST)),
        "what cannot be read": "".join(map(said_of, UNREADABLE)),
    }
    for head in HEADS:
        said[f"a table below {head}"] = said_of(f"<!-- nparam: {head} -->\n{TABLE}")
    own = said_of(f"<!-- nparam: #Params = a.py::{{Model}} -->\n{OWN}")
    expected(said | {"a cell with a comment of its own": own, "a.rst": said_of(RST, "a.rst")})


def test_the_examples_of_the_page_bind_what_it_says():
    page = (Path(__file__).parents[2] / "docs/counts-in-docs.md").read_text("utf-8")
    assert bound(page) == []  # they are code there
    blocks = re.findall(r"(?:^    .*\n|^\n(?=    ))+", page, re.MULTILINE)
    texts = [textwrap.dedent(block) for block in blocks]
    found = [
        (target, value)
        for text in texts
        for *_, target, _, value in bound(text, "a.rst" if ".. nparam" in text else "a.md")
    ]
    b, large = "vit.py::vit_b_16", "vit.py::vit_l_16"
    assert found == [
        (b, "86.6M"),
        (b, "330 MB"),
        ("vit.py::ViT(depth=24)", "304.3M"),
        *((b, "86.6M"), (large, "304.3M")),
        *((b, "86.6M"), (large, "304.3M")),
        (b, "86.6M"),
    ]


@given(
    st.lists(
        st.sampled_from(["text", "| a |", "|---|", "", "- item", "    code", "```", "<!-- x -->"])
    ),
    st.integers(1, 10**12),
)
def test_places_are_those_of_the_text(lines, count):
    text = "\n".join(
        [
            *lines,
            "```" if lines.count("```") % 2 else "",
            "",
            f"x {count:,}<!-- nparam: a.py::A -->",
        ]
    )
    ((at, *_, value),) = bound(text)
    assert (at, value) == (f"{len(lines) + 3}:3", f"{count:,}")


WORDS = [
    "<!--",
    "-->",
    " nparam: ",
    "a.py::A",
    "= ",
    "| ",
    "|--|",
    "\n",
    "5M ",
    "`",
    "```",
    "{",
    "x",
]


@given(st.lists(st.sampled_from(WORDS)))
def test_whatever_is_written_can_be_read(parts):
    found, faults = parse_docs("README.md", "".join(parts))
    assert all(one.line and one.column for one in (*found, *faults))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("5M {{/* {} */}}", "1:8"),
        ("5M <!- {} ->", "1:8"),
        ("5M\n<!-- {}\n", "2:6"),
        ("[//]: # ({})", "1:10"),
        ("5M # {}", "1:6"),
        ("- **{}**", "1:5"),
    ],
)
@pytest.mark.parametrize(
    "claim",
    ["nparam: a.py::A", "nparam : 5M", "nparam[bytes]: <= 5MB", "nparam: P (M) = a.py::{M}"],
)
def test_a_claim_outside_of_comments_is_told(text, place, claim):
    said = fault(text.format(claim))
    assert said.startswith(f"{place} found `{claim}")
    assert said.endswith("` outside of a comment, expected `<!-- nparam: TARGET -->`")


@pytest.mark.parametrize("text", ["..nparam: a.py::A\n\n5M", "..\n  nparam: a.py::A\n\n5M"])
def test_a_claim_outside_of_the_comments_of_restructured_text_is_told(text):
    assert fault(text, "a.rst").endswith("outside of a comment, expected `.. nparam: TARGET`")


def test_a_cell_without_a_count_is_told():
    table = "| M | P |\n|---|---|\n| a | {} |\n| b | – |\n| c | –[^1] |"
    for cell in ("100-110", "100..110", "7,5M", "224×224", "v2"):
        said = fault(f"<!-- nparam: P = a.py::{{M}} -->\n{table.format(cell)}\n")
        assert said.startswith(f"4:7 found `{cell}`, expected one count; next: write `ROW = -`")


@pytest.mark.first_cases(2)
@pytest.mark.parametrize(
    "part",
    ["<!--", "<!--\n", "<!-- nparam: a.py::A\n", "<!-- nparam: a.py::A -->\n", "` ", "<!---", " "],
)
def test_what_is_opened_and_never_closed_is_read_in_time(part):
    start = time.process_time()
    parse_docs("README.md", part * 20_000)
    parse_docs("README.md", f"nparam:{part * 40_000}")
    parse_docs("README.md", f"<!-- nparam: a{part * 20_000}x -->")
    assert time.process_time() - start < 10


def test_a_long_text_is_read_in_time():
    row = "| 5 <!-- nparam: a.py::A --> | x |\n"
    table = "\n| P (M) | b |\n|---|---|\n" + row * 3000
    start = time.process_time()
    assert len(bound(f"{'1' * 10**6} {'` ' * 10**5}\n{'| 1M ' * 10**5}\n{table}")) == 3000
    assert time.process_time() - start < 10
