"""The comparison as a comment on a pull request."""

import re

import pytest
from diff_samples import SIX, diff, measured, model, report, rows, samples
from report_checks import Page, as_html

from nparam_lint.analysis.documents.diff_document import diff_document
from nparam_lint.changes import Base, DiffReport
from nparam_lint.count.measured import NotMeasured
from nparam_lint.report import Options
from nparam_lint.report.formats import render
from nparam_lint.report.formats.markdown import summary


def check(text: str) -> Page:
    """Models have five columns, modules seven; nothing but our own elements, nobody is called."""
    page = Page(as_html(text))
    ours = "h3 p ul li table thead tbody tr th td code pre details summary strong em sub"
    assert {tag for tag, _ in page.tags} <= set(ours.split())
    assert set(page.cells) <= {5, 7}
    assert not re.search(r"[@#]\w", page.prose)
    return page


def markdown(found) -> str:
    text = render("markdown", diff_document(found), Options(width=40, color=True))
    check(text)
    assert text.startswith("<!-- nparam-lint diff -->\n")
    return text


def test_everything_that_can_become_of_a_model():
    assert (
        markdown(samples())
        == """\
<!-- nparam-lint diff -->
### ❌ nparam-lint diff: 4 models changed: GPT +14,164,992 (+11.46 %), Grown +5 (+8.33 %), … · \
1 renamed · 1 new · 1 gone · 1 not measured

| | model | before | after | change |
|---|---|---:|---:|---|
| ~ | `gpt.py::Block` | 4,724,736 | 5,315,328 | +590,592 (+12.50 %); with GPT: budget \
123\\_651\\_072 → 137\\_816\\_064 (gpt.py:12) |
| ~ | `gpt.py::GPT` | 123,651,072 | 137,816,064 | +14,164,992 (+11.46 %); budget \
123\\_651\\_072 → 137\\_816\\_064 (gpt.py:12) |
| ~ | `net.py::Frozen` | 5,866 | 5,866 | same total; frozen 0 → 4,640 |
| ~ | `net.py::Grown` | 60 | 65 | +5 (+8.33 %) |
| − | `net.py::Old` | 16 |  | gone |
| ⚠️ | `net.py::ViT` | 1,000 |  | not measured now: No module named 'einops' |
| + | `net.py::Probe` |  | 77 | new |
| → | `zoo/new.py::Tiny` | 5,866 | 5,866 | unchanged; was zoo/old.py::Tiny (git renamed the file) |

**Findings**

- ❌ `net.py:30` **NPL014** Grown has 65 parameters, 60 at main: +5 (+8.33 %); no budget declares it
  ```text
  changed most:
               +5  c  net.py:33
  if the change is intended, declare it: nparam: 65
  ```
- ❌ `net.py:51` **NPL003** a finding about net.py::ViT

<details>
<summary>Modules of <code>gpt.py::GPT</code></summary>

| | module | type | before | after | change | source |
|---|---|---|---:|---:|---:|---|
| ~ | `h.0…11.fc` | Linear | 2,362,368 | 2,952,960 | 12 × +590,592 | `gpt.py:8` |
| ~ | `h.0…11.proj` | Linear | 2,360,064 | 2,949,888 | 12 × +589,824 | `gpt.py:9` |

</details>

<details>
<summary>Modules of <code>net.py::Grown</code></summary>

| | module | type | before | after | change | source |
|---|---|---|---:|---:|---:|---|
| + | `c` | Linear |  | 5 | +5 | `net.py:33` |

</details>

<details>
<summary>Modules of <code>net.py::Frozen</code></summary>

| | module | type | before | after | change | source |
|---|---|---|---:|---:|---:|---|
| ~ | `conv2` | Conv2d | 4,640 | 4,640 | frozen now |  |

</details>

<sub>9 models compared · main (1a2b3c4) → working tree · 1 could be counted on neither side · \
torch 2.13.0 · tolerance 0.5%</sub>
"""
    )


def test_no_change_is_one_line():
    same = [model("a.py::Net", SIX), model("a.py::Tiny", "fc Linear 3")]
    assert markdown(diff(same, same)) == (
        "<!-- nparam-lint diff -->\n"
        "✅ **nparam-lint diff**: 2 models, none changed since main (1a2b3c4)\n"
    )
    assert "Net is unchanged since main" in markdown(diff(same[:1], same[:1]))
    assert "no model to compare since main" in markdown(diff([], []))


def test_drift_that_is_no_failure_is_no_alarm():
    grown = diff([model("a.py::Net", SIX)], [model("a.py::Net", SIX.replace("60", "61"))])
    assert "### Δ nparam-lint diff: 1 model changed: Net +1 (+0.48 %)\n" in markdown(grown)
    lost = diff(
        [model("a.py::Net", SIX)], [model("a.py::Net", NotMeasured("NPL004", "no", cause="raised"))]
    )
    assert "### ⚠️ nparam-lint diff: 1 not measured\n" in markdown(lost)


def test_a_failure_is_told_under_the_same_marker():
    failed = DiffReport(Base("x", "", "x"), "working tree", error="no revision\nnext: …")
    assert (
        markdown(failed)
        == """\
<!-- nparam-lint diff -->
### ❌ nparam-lint diff: nothing could be compared

```text
no revision
next: …
```
"""
    )


def test_the_project_cannot_write_into_the_comment():
    nasty = "</details> @everyone | `x` <!-- --> [a](b)"
    found = diff(
        [model(f"a|{nasty}.py::Net", measured(SIX, f"Net({nasty!r})"))],
        report(
            model(f"a|{nasty}.py::Net", NotMeasured("NPL004", f"raised {nasty}", cause="raised"))
        ),
    )
    page = check(markdown(found))
    assert "@everyone" not in page.prose
    assert page.cells == [5, 5]
    nasty = "</details> | `x` <!-- --> [a](b)"
    tie = f"head Linear 0 tied={nasty}"
    before, after = (rows(f"a|b Li|near 3\n{text}") for text in (tie, "head Linear 3"))
    page = check(
        markdown(
            diff([model("a.py::Net", measured(before))], [model("a.py::Net", measured(after))])
        )
    )
    assert page.cells == [5, 5, 7, 7]
    assert f"no longer tied: {nasty}" in page.text


@pytest.mark.thorough
def test_what_is_too_long_is_cut_between_rows():
    before = [model(f"net{i}.py::Net", SIX) for i in range(600)]
    after = [model(f"net{i}.py::Net", SIX.replace("60", f"6{i}")) for i in range(600)]
    found = diff(before, after, "0")
    text = markdown(found)
    assert 30_000 < len(text.encode()) <= 65_536
    assert "left out.*" in text
    for limit in (0, 100, 2_000, 40_000):
        page = summary(diff_document(found), Options(), limit)
        assert len(page.encode()) <= limit
        check(page)
