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


A = "<!-- nparam: a.py::A -->"
NOTHING = [
    *(f"`5M {A}`", f"```\n5M {A}\n```", f"~~~~ md\n```\n5M {A}\n```\n~~~~"),
    *(f"text\n\n    5M {A}\n\n    6M {A}", "5M <!-- a note on nparam: 3 -->"),
    *("5M <!-- nparam-lint: a.py::A -->", "5M <!-- nparam: ignore[NPL001] -->"),
    *("`nparam: 5M`", "```\nnparam: 5M\n```", "nparam: how many", "n_params: 5M", "nparam-lint: 5"),
]


def test_code_other_comments_and_the_word_beside_no_number_bind_nothing():
    for text in NOTHING:
        assert bound(text) == [], text


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
