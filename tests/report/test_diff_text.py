"""The comparison as people read it: whole outputs, and what holds at every width."""

import pytest
from diff_samples import (
    SIX,
    diff,
    failed,
    gpt,
    measured,
    model,
    needs,
    report,
    samples,
)

from nparam_lint.analysis.documents.diff_document import diff_document
from nparam_lint.analysis.documents.diff_words import change
from nparam_lint.report import Options
from nparam_lint.report.formats import render


def text(found, **options) -> str:
    return render("text", diff_document(found), Options(**({"width": 80} | options)))


SAMPLES = """\
main (1a2b3c4) → working tree

gpt.py
  ~ Block     4,724,736 →   5,315,328     +590,592  (+12.50 %)
      with GPT: budget 123_651_072 → 137_816_064 (gpt.py:12)
  ~ GPT     123,651,072 → 137,816,064  +14,164,992  (+11.46 %)
      budget 123_651_072 → 137_816_064 (gpt.py:12)
net.py
  ~ Frozen                      5,866  same total; frozen 0 → 4,640
  ~ Grown            60 →          65           +5  (+8.33 %)  NPL014
  − Old              16                gone
  ! ViT  not measured now: No module named 'einops'; 1,000 at main
  + Probe                          77  new
zoo/new.py
  → Tiny                        5,866  unchanged
      was zoo/old.py::Tiny (git renamed the file)

gpt.py::GPT
  module       type       before      after         change  source
─────────────  ──────  ─────────  ─────────  ─────────────  ────────
~ h.0…11.fc    Linear  2,362,368  2,952,960  12 × +590,592  gpt.py:8
~ h.0…11.proj  Linear  2,360,064  2,949,888  12 × +589,824  gpt.py:9

net.py::Grown
  module    type      after    change  source
──────────  ──────  ───────  ────────  ─────────
+ c         Linear        5        +5  net.py:33

net.py::Frozen
  module    type      before    after      change
──────────  ──────  ────────  ───────  ──────────
~ conv2     Conv2d     4,640    4,640  frozen now

1 model could be counted on neither side (-v says why)

net.py:30:1  NPL014  Grown has 65 parameters, 60 at main: +5 (+8.33 %); no
    budget declares it
    changed most:
                 +5  c  net.py:33
    if the change is intended, declare it: nparam: 65

net.py:51:9  NPL003  a finding about net.py::ViT
    `nparam-lint doctor` says which interpreter was chosen, and why.

For an explanation and an example: nparam-lint rule CODE

9 models: 4 changed, 1 renamed, 1 new, 1 gone, 1 not measured · 2 errors · 1.0 s
/venv/bin/python (VIRTUAL_ENV) · torch 2.13.0 · tolerance 0.5%
"""


def test_everything_that_can_become_of_a_model():
    assert text(samples()) == SAMPLES


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 200])
def test_lines_fit_the_width(width):
    deep = "\n".join(f"very.deeply.nested.modules.n{i}.of.a.model{i} Linear {i}1" for i in range(9))
    deep += " @research/experiments/ablations/networks/deep.py:42"
    large = [model("research/experiments/ablations/networks/deep.py::VeryDeepNetwork", deep)]
    moved = [
        model("research/experiments/deep.py::VeryDeepNetwork", deep.replace("1", "2", 40)),
        model("a.py::Net", failed("a reason that is long " * 9)),
    ]
    for found in (samples(), diff(large, moved), diff([model("a.py::Net", SIX), *large], moved)):
        for line in text(found, width=width, verbose=1).splitlines():
            assert len(line) <= width or " " not in line.strip() or "rule CODE" in line


def test_colors_change_no_letter():
    colored = text(samples(), color=True)
    assert "\x1b[33m~\x1b[0m" in colored
    plain = colored
    for code in ("0", "1", "2", "31", "32", "33", "36"):
        plain = plain.replace(f"\x1b[{code}m", "")
    assert plain == SAMPLES


def test_no_change_is_one_calm_line():
    same = [model("a.py::Net", SIX), model("a.py::Act", "act ReLU 0")]
    assert text(diff(same, same)) == "No change since main (1a2b3c4): 1 model · 1.0 s\n"
    skipped = report(*same, skipped=(("a.py::Needs", needs("width")),))
    assert text(diff(skipped, skipped)) == (
        "No change since main (1a2b3c4): 1 model; 1 could be counted on neither side (-v\n"
        "lists them) · 1.0 s\n"
    )
    assert text(diff([], [])) == "No change since main (1a2b3c4): 0 models · 1.0 s\n"


def test_what_came_or_went_without_parameters_is_no_news():
    found = diff([model("a.py::Net", SIX)], [model("a.py::Net", SIX), model("a.py::Act", "a X 0")])
    assert text(found) == "No change since main (1a2b3c4): 1 model · 1.0 s\n"
    assert "+ Act" in text(found, verbose=1)


def test_verbose_lists_what_is_unchanged_and_what_could_not_be_counted():
    skipped = report(model("a.py::Net", SIX), skipped=(("a.py::Needs", needs("width")),))
    assert (
        text(diff(skipped, skipped), verbose=1)
        == """\
main (1a2b3c4) → working tree

a.py
  = Net  210  unchanged

1 model could be counted on neither side
  a.py::Needs: needs width

1 model: none changed · 1.0 s
/venv/bin/python (VIRTUAL_ENV) · torch 2.13.0
"""
    )


def test_quiet_is_findings_and_summary_only():
    quiet = text(samples(), quiet=True)
    assert quiet.startswith("net.py:30:1  NPL014")
    assert quiet.endswith("1 not measured · 2 errors · 1.0 s\n")


def test_models_that_changed_alike_share_a_table():
    before = [model(f"net.py::{name}", SIX) for name in "ABCDEFG"]
    after = [model(f"net.py::{name}", SIX.replace("60", "61")) for name in "ABCDEFG"]
    table = text(diff(before, after)).split("\n\n")[2]
    assert (
        table
        == """\
net.py::A
  module    type      before    after    change
──────────  ──────  ────────  ───────  ────────
~ part6     Linear        60       61        +1
the same in net.py::B, net.py::C, net.py::D, net.py::E, 2 more"""
    )


def test_only_so_many_tables_are_printed():
    before = [model(f"net.py::{name}", SIX) for name in "ABC"]
    after = [model(f"net.py::{n}", SIX.replace("60", f"6{i}")) for i, n in enumerate("ABC", 1)]
    told = text(diff(before, after), tables=1)
    assert "net.py::C\n" in told  # which changed most
    assert "net.py::A\n" not in told
    assert "… and 2 more tables: -v" in told


def test_what_moved_or_fails_alike_shares_a_line():
    before = [
        model(f"old.py::{name}", SIX.replace("1", n)) for n, name in zip("23", "AB", strict=1)
    ]
    before += [model("x.py::C", SIX), model("x.py::D", SIX)]
    after = [model(f"new.py::{name}", SIX.replace("1", n)) for n, name in zip("23", "AB", strict=1)]
    after += [model("x.py::C", failed()), model("x.py::D", failed())]
    verdicts = text(diff(before, after, moved={"old.py": "new.py"})).split("\n\n")[1]
    assert (
        verdicts
        == """\
new.py
  → A, B  moved from old.py, unchanged
x.py
  ! C, D  not measured now: No module named 'einops'; 210 at main"""
    )


def test_renamed_and_moved_modules():
    before = "encoder.a Linear 10\nencoder.b Linear 20\nnet.0 Conv2d 5\nnet.1 Conv2d 5"
    after = (
        "body.encoder.a Linear 10\nbody.encoder.b Linear 20\n"
        "net.0 Linear 3\nnet.1 Conv2d 5\nnet.2 Conv2d 5"
    )
    table = text(diff([model("a.py::Net", before)], [model("a.py::Net", after)])).split("\n\n")[2]
    assert (
        table
        == """\
a.py::Net
  module                  type          before    after    change
────────────────────────  ──────────  ────────  ───────  ────────
→ encoder → body.encoder  ModuleList        30       30   renamed
+ net.0                   Linear                      3        +3
→ net.0…1 → 1…2           Conv2d             5        5   renamed"""
    )


def test_notes_that_are_long_stand_below_their_row():
    found = diff(
        [model("gpt.py::GPT", measured(gpt(1)))], [model("gpt.py::GPT", measured(gpt(1, 4, False)))]
    )
    assert (
        text(found).split("\n\n")[2]
        == """\
gpt.py::GPT
  module    type      before       after       change  source
──────────  ──────  ────────  ──────────  ───────────  ─────────
~ head      Linear         0  38,633,472  +38,633,472  gpt.py:23
      no longer tied: weight = wte.weight"""
    )


def test_a_model_with_hundreds_of_changes_is_summed_up():
    places = [f"layer{i}.{j}.conv{k}" for i in range(1, 4) for j in range(9) for k in (1, 2, 3)]
    before = "\n".join(f"{place} Conv2d {i}" for i, place in enumerate(places, 1))
    after = "\n".join(f"{place} Conv2d {i * i}" for i, place in enumerate(places, 1))
    found = diff([model("a.py::Net", before)], [model("a.py::Net", after)])
    table = """\
a.py::Net
  module    type          change
──────────  ──────────  ────────
~ layer1    26 changes    +6,552
~ layer2    27 changes   +45,918
~ layer3    27 changes  +124,650"""
    assert text(found).split("\n\n")[2] == table
    assert len(text(found, depth=2).split("\n\n")[2].splitlines()) == 3 + 27


def test_a_flat_model_keeps_what_changed_most():
    flat = [f"name{chr(97 + i)} Linear {i + 1}" for i in range(26)]
    after = [f"name{chr(97 + i)} Linear {2 * i + 2}" for i in range(26)]
    found = diff([model("a.py::Net", "\n".join(flat))], [model("a.py::Net", "\n".join(after))])
    table = text(found).split("\n\n")[2].splitlines()
    assert (len(table), table[3].split()[:2]) == (24, ["~", "nameg"])
    assert table[-1] == "… and 6 more changes, +21 together: --depth and -v show more"
    assert len(text(found, verbose=1).split("\n\n")[2].splitlines()) == 3 + 26


def test_what_comes_from_the_project_cannot_move_the_cursor():
    nasty = "\x1b[2J\r::error::x"
    found = diff(
        [model(f"a{nasty}.py::Net", measured(SIX, f"Net({nasty})"))],
        [model(f"a{nasty}.py::Net", failed(f"no {nasty}")), model("b.py::New", SIX)],
    )
    assert "\x1b" not in text(found, verbose=1)
    assert "\r" not in text(found, verbose=1)


def test_a_change_is_never_rounded_to_none():
    assert change(1, 100_000_000) == "+1 (<0.01 %)"
    assert change(-1, 100_000_000) == "−1 (<0.01 %)"
    assert change(-1, 3) == "−1 (−33.33 %)"
    assert change(5, 0) == "+5"


def test_where_nothing_could_be_compared_there_is_no_report():
    assert text(diff([], report(error="no torch"))) == ""
