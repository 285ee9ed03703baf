"""The comment on a pull request and the page of a job's summary."""

import pytest
from msgspec.structs import replace
from render_samples import rendered, summary
from report_checks import Page, as_html, check_markdown
from report_samples import (
    broken_net,
    everything,
    failed,
    many,
    report,
)

from nparam_lint.ground.findings import Finding
from nparam_lint.ground.values import Position
from nparam_lint.report import Options


def markdown(value) -> str:
    text = rendered("markdown", value, Options(width=40, color=True))
    check_markdown(text)
    assert text.startswith("<!-- nparam-lint -->\n")
    return text


def test_names_are_read_back_as_they_are():
    """From a table's cell, from a list, and from the HTML of a summary."""
    for name in ("a|b", "`a`", "``", "a`b``c", " a ", "\\", "a\\|b", "<b>&amp;", "*a*"):
        value = broken_net()
        findings = (replace(value.findings[0], message=name, detail=()),)
        value = replace(value, target=f"net.py::{name}", findings=findings)
        page = check_markdown(rendered("markdown", report(value), Options()))
        assert page.text.count(f"net.py::{name}".strip()) == 3
        assert f"NPL001 {name}".rstrip() in page.text


def test_free_text_speaks_to_nobody():
    texts = ["@everyone", "see #12", "GH-7", "fixes a/b#3", "**bold** _it_", "<img src=x>"]
    for text in (*texts, "[a](b)", "$x$"):
        finding = Finding("NPL002", "error", Position("a.py"), text)
        page = check_markdown(markdown(report(findings=(finding,))))
        assert page.text.replace("\u200b", "").count(f"NPL002 {text}") == 1
        assert "GH-7" not in page.text


def test_a_fence_is_longer_than_what_it_holds():
    finding = Finding("NPL002", "error", Position("a.py"), "x", "", ("```", "<b>", "`````"))
    page = check_markdown(markdown(report(findings=(finding,))))
    assert "```\n<b>\n`````\n" in page.text


# --- cutting ----------------------------------------------------------------------------------


@pytest.mark.first_cases(10)
@pytest.mark.parametrize("limit", [*range(800, 12_000, 397), 100_000])
def test_a_page_is_cut_between_rows(limit):
    value = replace(many(40), findings=(*many(40).findings, *everything().findings))
    text = summary(value, Options(), limit)
    assert len(text.encode()) <= limit
    whole = summary(value, Options())
    page = Page(as_html(text))
    assert set(page.cells) <= {5}
    assert {line for line in text.splitlines() if not line.startswith("*Cut")} <= {
        *whole.splitlines()
    }
    assert ("*Cut to what fits here: " in text) == (text != whole)
    assert text.splitlines()[-1].startswith("<sub>40 models: 40 measured")


def test_what_was_cut_is_counted():
    assert [summary(many(3), Options(), limit) for limit in (-5, 0, 100)] == [""] * 3
    text = summary(many(40), Options(), 5_600)
    broken, _, after = text.partition("**Findings**")
    shown = [broken.count("| ❌ |"), *map(after.count, ("- ❌ ", "Modules of ", "| ❌ |"))]
    assert shown[0] == 40
    assert 1 < shown[1] < 40
    left = [40 - count for count in shown]
    assert (
        f"*Cut to what fits here: {left[1]} findings, {left[2]} module tables, {left[3]} rows "
        "left out.*" in text
    )


@pytest.mark.thorough
def test_a_comment_is_what_github_takes():
    text = markdown(many(700))
    assert 60_000 < len(text.encode()) <= 65_536
    assert "left out.*" in text


@pytest.mark.thorough
def test_an_endless_message_does_not_displace_the_rest():
    value = failed("x" * 2_000_000)
    assert len(summary(value, Options())) < 2_000
    long = Finding("NPL002", "error", Position("a.py"), "x" * 100_000, "", ("y" * 100_000,))
    assert len(markdown(report(findings=(long,)))) < 4_000
