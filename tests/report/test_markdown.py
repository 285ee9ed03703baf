"""The comment on a pull request and the page of a job's summary."""

import pytest
from msgspec.structs import replace
from render_samples import rendered, summary
from report_checks import Page, as_html, check_markdown
from report_samples import (
    broken_net,
    budget,
    everything,
    failed,
    glob_gpt,
    many,
    measured,
    model,
    net,
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


def test_what_passes_is_one_line():
    assert markdown(report(glob_gpt())) == (
        "<!-- nparam-lint -->\n✅ **nparam-lint**: 3 budgets hold\n"
    )


def test_a_broken_budget():
    assert (
        markdown(report(broken_net()))
        == """\
<!-- nparam-lint -->
### ❌ nparam-lint: 1 budget broken

| | model | declared | actual | drift |
|---|---|---|---:|---:|
| ❌ | `net.py::Net` | `50_890` | 101,786 | +50,896 (+100.01 %) |

**Findings**

- ❌ `net.py:12` **NPL001** Net has 101,786 parameters, declared 50\\_890: +50,896 (+100.01 %)
  ```text
  hidden  100,480
  out       1,290
  nparam-lint update net.py::Net
  ```

<details>
<summary>Modules of <code>net.py::Net</code>: 101,786 parameters</summary>

```text
module    type        own    total    share                     source
────────  ──────  ───────  ───────  ───────  ─────────────────  ───────────
(total)   Net          16  101,786  100.0 %  ██████████         model.py:10
hidden    Linear  100,480  100,480   98.7 %  █████████▉ frozen  model.py:11
out       Linear    1,290    1,290    1.3 %  ▏                  model.py:13
… and 1 module without parameters
```

</details>

<details>
<summary>1 model with what is declared</summary>

| | model | declared | actual | drift |
|---|---|---|---:|---:|
| ❌ | `net.py::Net` | `50_890` | 101,786 | +50,896 (+100.01 %) |

</details>

<sub>1 model: 1 measured · 1 budget broken · 1.8 s · .venv/bin/python (the project's .venv) · \
torch 2.9.0 · meta</sub>
"""
    )


def test_a_failure():
    assert (
        markdown(failed())
        == """\
<!-- nparam-lint -->
### ❌ nparam-lint: nothing could be checked

```text
no model can be built with .venv/bin/python
  it says: no torch
```

<sub>0 models · 0.0 s</sub>
"""
    )


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (
            everything(),
            "❌ nparam-lint: 1 budget broken · 1 other error · 3 budgets hold · 1 warning",
        ),
        (
            report(model("a.py::A", measured(net()))),
            "➖ nparam-lint: 1 model counted, no budget declared",
        ),
        (report(environment=None), "➖ nparam-lint: nothing to check"),
        (replace(report(), source_only=True), "✅ **nparam-lint**: 3 Python files, source only"),
    ],
)
def test_the_first_words(value, said):
    assert markdown(value).splitlines()[1].removeprefix("### ") == said


def test_the_page_of_what_passes_has_the_table():
    page = summary(report(glob_gpt()), Options())
    assert page.startswith("### ✅ nparam-lint: 3 budgets hold\n")
    assert (
        "| ✅ | `nanogpt/model.py::GPT[transformer.h.*]` | `7_079_424` | 12 × 7,079,424 |  |"
        in page
    )


def test_rows_tell_what_is_off_in_a_glob():
    def one(index: int, actual: int):
        at = Position("net.py", 9, 5)
        return budget(actual, 10, 10, "10", "h.*", module=f"h.{index}", at=at)

    counts = [10, 10, 12, 12, 13]
    at = Position("net.py", 9, 5)
    value = model(
        "net.py::Net",
        measured(net()),
        budgets=tuple(one(i, n) for i, n in enumerate(counts)),
        findings=(Finding("NPL001", "error", at, "off", "net.py::Net"),),
        declared=True,
    )
    rows = [line for line in summary(report(value), Options()).splitlines() if line[:2] == "| "]
    assert rows == [
        "| | model | declared | actual | drift |",
        "| ❌ | `net.py::Net[h.*] h.4` | `10` | 13 | +3 (+30.00 %) |",
        "| ❌ | `net.py::Net[h.*] h.2 … h.3` | `10` | 2 × 12 | +2 (+20.00 %) |",
        "| | model | declared | actual | drift |",
        "| ❌ | `net.py::Net[h.*] h.2 … h.3` | `10` | 2 × 12 | +2 (+20.00 %) |",
        "| ❌ | `net.py::Net[h.*] h.4` | `10` | 13 | +3 (+30.00 %) |",
        "| ✅ | `net.py::Net[h.*]` | `10` | 2 × 10 |  |",
    ]


@pytest.mark.parametrize(
    "name", ["a|b", "`a`", "``", "a`b``c", " a ", "\\", "a\\|b", "<b>&amp;", "*a*"]
)
def test_names_are_read_back_as_they_are(name):
    """From a table's cell, from a list, and from the HTML of a summary."""
    value = broken_net()
    value = replace(
        value,
        target=f"net.py::{name}",
        findings=(replace(value.findings[0], message=name, detail=()),),
    )
    page = check_markdown(rendered("markdown", report(value), Options()))
    assert page.text.count(f"net.py::{name}".strip()) == 3
    assert f"NPL001 {name}".rstrip() in page.text


@pytest.mark.parametrize(
    "text",
    [
        "@everyone",
        "see #12",
        "GH-7",
        "fixes a/b#3",
        "**bold** _it_",
        "<img src=x>",
        "[a](b)",
        "$x$",
    ],
)
def test_free_text_speaks_to_nobody(text):
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


@pytest.mark.parametrize("limit", [-5, 0, 100])
def test_no_room_no_page(limit):
    assert summary(many(3), Options(), limit) == ""


@pytest.mark.thorough
def test_an_endless_message_does_not_displace_the_rest():
    value = failed("x" * 2_000_000)
    assert len(summary(value, Options())) < 2_000
    long = Finding("NPL002", "error", Position("a.py"), "x" * 100_000, "", ("y" * 100_000,))
    assert len(markdown(report(findings=(long,)))) < 4_000
