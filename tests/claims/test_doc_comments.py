"""Counts in Markdown and reStructuredText: which numbers comments bind, and to what."""

from __future__ import annotations

import re
import textwrap
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nparam_lint.claims.doc_comments import parse_docs


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


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("It has 86.6M <!-- nparam: a.py::A --> parameters.", "1:8 86.6M"),
        ("It has **86,567,656** parameters.<!-- nparam: a.py::A -->", "1:10 86,567,656"),
        ("ViT-B/16 of 2021 has 86.6M, 81.1 % <!-- nparam: a.py::A -->", "1:22 86.6M"),
        ("12 layers, ~86.6 million parameters <!--nparam: a.py::A-->", "1:12 ~86.6M"),
        ("<!-- nparam: a.py::A --> `86_567_656` parameters", "1:27 86_567_656"),
        ("1M<!-- nparam: a.py::A --> 2M", "1:1 1M"),
        ("| a | 1M | 2.5M <!-- nparam: a.py::A --> | 3M |", "1:12 2.5M"),
        ("| a | <!-- nparam: a.py::A --> 2.5M | 3M |", "1:32 2.5M"),
        ("224×224, 7.2e6 params, 4-8x <!-- nparam: a.py::A -->", "1:10 7.2e6"),
        ("\n<!-- nparam: a.py::A -->\n\n\nIt has\n86.6M.\n", "6:1 86.6M"),
        ("- a list\n\n    5M <!-- nparam: a.py::A -->", "3:5 5M"),
        ("5M <!--- nparam: a.py::A --->", "1:1 5M"),
        ("`<!--` and 5M <!-- nparam: a.py::A -->", "1:12 5M"),
        ("has > 1.2M <!-- nparam: a.py::A -->", "1:5 > 1.2M"),
        ("> 1.2M <!-- nparam: a.py::A --> is quoted", "1:3 1.2M"),
        ("<b>1.2M</b> <!-- nparam: a.py::A -->", "1:4 1.2M"),
        ("has 7.1M ± 2% <!-- nparam: a.py::A -->", "1:5 7.1M ± 2%"),
        ("7.1M +/- 100k, 3 % <!-- nparam: a.py::A -->", "1:1 7.1M +/- 100k"),
        (
            "| Net | Params (M) |\n|---|---|\n| a | 7.1 ± 2% <!-- nparam: a.py::A --> |",
            "3:7 7.1M ± 2%",
        ),
    ],
)
def test_the_nearest_number_is_bound(line, value):
    ((at, target, selector, text),) = bound(line)
    assert (f"{at} {text}", target, selector) == (value, "a.py::A", "")


def test_the_target_is_in_the_notation_of_the_whole_tool():
    text = (
        "330 MB <!-- nparam: a.py::A(depth = 24)[encoder, bytes] --> 1k <!-- nparam: t.m::f() -->"
    )
    assert bound(text) == [
        ("1:1", "a.py::A(depth = 24)", "encoder, bytes", "330 MB"),
        ("1:61", "t.m::f()", "", "1k"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "`5M <!-- nparam: a.py::A -->`",
        "```\n5M <!-- nparam: a.py::A -->\n```",
        "~~~~ md\n```\n5M <!-- nparam: a.py::A -->\n```\n~~~~",
        "text\n\n    5M <!-- nparam: a.py::A -->\n\n    6M <!-- nparam: a.py::A -->",
        "5M <!-- a note on nparam: 3 -->",
        "5M <!-- nparam-lint: a.py::A -->",
        "5M <!-- nparam: ignore[NPL001] -->",
    ],
)
def test_code_and_other_comments_bind_nothing(text):
    assert bound(text) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("5M <!-- nparams: a.py::A -->", "1:4 found `nparams:`, expected `nparam: TARGET`"),
        ("5M <!-- nparam a.py::A -->", "1:4 found `nparam`, expected `nparam: TARGET`"),
        ("5M <!-- nparam: a.py:A -->", "1:4 found `a.py:A`, expected LOCATION::CALLABLE such as "),
        ("x\n<!-- nparam: a.py::A -->", "2:1 found no number before the comment in its line, and "),
        (
            "<!-- nparam: a.py::A -->\n12 layers, 5M",
            "1:1 found several numbers in the paragraph below (12, 5M), expected one; next: put ",
        ),
        ("86.6 <!-- nparam: a.py::A -->", "1:1 found '86.6', a decimal without a suffix; did you "),
        ("86 MB <!-- nparam: a.py::A -->", "1:1 found `MB`, which counts bytes; expected "),
        (
            "<!-- nparam: a.py::A -->\n| a |\n|---|\n| 5M |",
            "1:1 found `a.py::A`, expected `nparam: COLUMN = TARGET` above a table",
        ),
        ("<!-- nparam: P = a.py::A -->\n5M", "1:1 found no table of Markdown below the comment"),
    ],
)
def test_what_cannot_be_read_says_where(text, said):
    assert fault(text).startswith(said)


TABLE = """\
| Model | Acc. | #Params (M) |
|:------|-----:|------------:|
| [`vit_b`](a.md) | 81.1 | **86.6** |
| ViT-L | 82 | 304.3M |
| other | 79 | – |
"""


def test_a_column_whose_targets_follow_from_the_rows():
    text = f"<!-- nparam: #params = a.py::{{Model}}[trainable]\n     ViT-L = - -->\n\n{TABLE}"
    assert bound(text) == [("6:30", "a.py::vit_b", "trainable", "86.6M")]


def test_rows_whose_targets_are_listed():
    rows = "ViT-L = a.py::vit(depth=24)\nvit_b = a.py::vit(name='b')"
    assert bound(f"<!-- nparam: #Params (M)\n{rows}\n-->\n{TABLE}") == [
        ("7:30", "a.py::vit(name='b')", "", "86.6M"),
        ("8:16", "a.py::vit(depth=24)", "", "304.3M"),
    ]


def test_a_cell_with_a_comment_of_its_own_is_left_to_it():
    table = TABLE.replace("304.3M", "304.3 <!-- nparam: a.py::own -->")
    found = bound(f"<!-- nparam: #Params = a.py::{{Model}} -->\n{table}")
    assert sorted(found) == [
        ("4:30", "a.py::vit_b", "", "86.6M"),
        ("5:16", "a.py::own", "", "304.3M"),
    ]


@pytest.mark.parametrize(
    ("head", "said"),
    [
        (
            "Parms = a.py::{Model}",
            "1:1 the table has no column 'Parms'; did you mean #Params (M)?",
        ),
        ("Acc. = a.py::{Modell}", "1:1 the table has no column 'Modell'; did you mean Model?"),
        ("#Params\nvit_c = a.py::A", "1:1 the table has no row 'vit_c'; did you mean vit_b?"),
        ("#Params\nvit_b", "1:1 found `vit_b`, expected `ROW = TARGET`"),
        ("#Params\nvit_b = a.py:A", "5:28 found `a.py:A`, expected LOCATION::CALLABLE such as "),
    ],
)
def test_what_a_table_does_not_have(head, said):
    found, faults = parse_docs("README.md", f"<!-- nparam: {head} -->\n{TABLE}")
    texts = [f"{one.line}:{one.column} {one.message}" for one in faults]
    assert not found
    assert all(said in text for text in texts)
    assert texts


def test_restructuredtext_has_a_comment_above_a_paragraph():
    text = """\
Title
=====

.. nparam: a.py::A[trainable]

It has 86.6M parameters::

    .. nparam: a.py::B

    3M

.. nparam: a.py::C

1_000.
"""
    assert bound(text, "a.rst") == [
        ("6:8", "a.py::A", "trainable", "86.6M"),
        ("14:1", "a.py::C", "", "1_000"),
    ]


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


@given(
    st.lists(
        st.sampled_from(
            [
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
        )
    )
)
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


@pytest.mark.parametrize(
    "text",
    ["`nparam: 5M`", "```\nnparam: 5M\n```", "nparam: how many", "n_params: 5M", "nparam-lint: 5"],
)
def test_the_word_in_code_or_beside_no_number_is_no_claim(text):
    assert bound(text) == []


@pytest.mark.parametrize("cell", ["100-110", "100..110", "7,5M", "224×224", "v2"])
def test_a_cell_without_a_count_is_told(cell):
    table = "| M | P |\n|---|---|\n| a | {} |\n| b | – |\n| c | –[^1] |"
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
