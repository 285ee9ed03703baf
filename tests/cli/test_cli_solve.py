"""`nparam-lint solve` as a user meets it: real models, each solution really built."""

from __future__ import annotations

import json
import math
from functools import partial
from itertools import product

import pytest
from msgspec.structs import replace

from nparam_lint.analysis.documents.solve_document import solve_document
from nparam_lint.analysis.solutions import CaseForm, Met, Solutions, Solved
from nparam_lint.report import Options
from nparam_lint.report.formats import render

MODELS = """\
import math

import torch.nn as nn


class GPT(nn.Module):
    def __init__(self, n_layer=2, n_embd=32, n_head=4, vocab=100):
        super().__init__()
        assert n_embd % n_head == 0
        self.wte = nn.Embedding(vocab, n_embd)
        self.h = nn.ModuleList(nn.Linear(n_embd, 3 * n_embd) for _ in range(n_layer))


class LSTM(nn.Module):
    def __init__(self, hidden=32, vocab=100):
        super().__init__()
        self.embed = nn.Embedding(vocab, hidden)
        self.rnn = nn.LSTM(hidden, hidden)


class Encoder(nn.Module):
    def __init__(self, width=256, depth=4, hidden=1024, heads=4, vocab=1000):
        super().__init__()
        assert width % heads == 0
        self.embed = nn.Embedding(vocab, width)
        self.h = nn.ModuleList()
        for _ in range(depth):
            attention = nn.Linear(width, 3 * width), nn.Linear(width, width), nn.LayerNorm(width)
            feed_forward = nn.Linear(width, hidden), nn.Linear(hidden, width)
            self.h.append(nn.Sequential(*attention, *feed_forward))


class Floor(nn.Module):
    def __init__(self, d=64):
        super().__init__()
        self.fixed, self.l = nn.Embedding(1000, 5), nn.Linear(d, d)


class Shortcut(nn.Module):
    def __init__(self, cin=64, cout=64):
        super().__init__()
        self.l, self.m = nn.Embedding(cin, cout), nn.Embedding(cin, cout)
        if cin != 4 * cout:
            self.shortcut = nn.Embedding(cin, 4 * cout)


class Common(nn.Module):
    def __init__(self, a=24, b=36):
        super().__init__()
        assert math.gcd(a, b) == 12
        self.l = nn.Linear(a, b)


class Wide(nn.Module):
    def __init__(self, d_model=16, d_ff=64, bias=True, extra=None, spare=1):
        super().__init__()
        self.up = nn.Linear(d_model, d_ff, bias=bias)
        self.down = nn.Linear(d_ff, d_model, bias=bias)


class Rounded(nn.Module):
    def __init__(self, d=512, multiple=16, scale=1.3):
        super().__init__()
        self.l = nn.Embedding(d, multiple * math.ceil(int(scale * int(8 * d / 3)) / multiple))


class Text(nn.Module):
    def __init__(self, n=16):
        super().__init__()
        self.l = nn.Linear(int(str(n)), 3)


class Root(nn.Module):
    def __init__(self, n=16):
        super().__init__()
        self.layer = nn.Linear(n * n + int(str(n)[-1]), 3)


class Rooted(Root):
    def __init__(self, n=16, d=4):
        super().__init__(n)
        self.d = nn.Linear(d, 3 * d)


class Strict(nn.Module):
    def __init__(self, d_model=16, d_ff=64, n_layer=2, mode=2):
        super().__init__()
        if d_ff != 4 * d_model:
            raise ValueError("d_ff must be 4*d_model")
        if mode != 2:
            raise ValueError("mode must be 2")
        self.h = nn.ModuleList(nn.Linear(d_model, d_ff) for _ in range(n_layer))


class Widths(nn.Module):
    def __init__(self, first, widths=(16, 32)):
        super().__init__()
        self.h = nn.ModuleList(nn.Linear(a, b) for a, b in zip([first, *widths], widths))
"""


@pytest.fixture
def solve(answered):
    return partial(answered, "solve")


def answers(done):
    return json.loads(done.stdout)["targets"]


def lstm(hidden):
    return 100 * hidden + 8 * hidden * (hidden + 1)


def gpt(n_layer, n_embd):
    return 100 * n_embd + n_layer * (3 * n_embd**2 + 3 * n_embd)


@pytest.mark.thorough
def test_several_unknowns_and_what_the_model_asks(solve):
    question = ["nets.py::GPT", "--budget", "1M", "--vary", "n_embd,n_layer=1..12"]
    (found,) = answers(solve(*question, "--format", "json"))
    assert found["forms"] == [{"form": "n_embd*(3*n_layer*(n_embd + 1) + vocab)", "where": ""}]
    best = min(abs(gpt(n, d) - 1_000_000) for n in range(1, 13) for d in range(4, 2000, 4))
    assert abs(found["points"][0]["count"] - 1_000_000) == best
    for point in found["points"]:
        values = point["values"]
        assert point["count"] == gpt(values["n_layer"], values["n_embd"])
        assert values["n_embd"] % 4 == 0
        assert values["n_layer"] <= 12


@pytest.mark.thorough
def test_the_call_can_be_used_as_it_stands(solve, nparam_lint, place):
    question = ["nets.py::LSTM", "--budget", "50k", "--vary", "hidden", "--under"]
    (found,) = answers(solve(*question, "--format", "json"))
    point = found["points"][0]
    assert (
        point["count"]
        <= 50_000
        < 100 * (point["values"]["hidden"] + 1)
        + 8 * ((point["values"]["hidden"] + 1) * (point["values"]["hidden"] + 2))
    )
    shown = nparam_lint("show", f"nets.py::{point['call']}", "--format", "json", cwd=place)
    assert json.loads(shown.stdout)["models"][0]["counts"]["total"] == point["count"]


def test_one_condition_says_all(solve):
    """A tie, limits, and what must hold besides."""
    question = ["nets.py::Wide", "--budget", "100_000", "--vary", "d_model,d_ff", "--number", "2"]
    where = "d_ff == 4*d_model and 100 <= d_model <= 1024 and d_model % 8 == 0"
    (found,) = answers(solve(*question, "--where", where, "--format", "json"))
    assert [point["values"] for point in found["points"]] == [
        {"d_model": 112, "d_ff": 448},
        {"d_model": 104, "d_ff": 416},
    ]
    assert (found["limits"], found["doubts"]) == ({}, [])


@pytest.mark.parametrize(
    ("tie", "d_ff"),
    [
        ("d_ff == trunc(8*d_model/3)", 298),
        ("abs(4*d_model) == d_ff", 448),
        ("d_ff == (4*d_model if d_model > 100 else d_model)", 448),
    ],
)
def test_what_is_no_polynomial_ties_too(solve, tie, d_ff):
    budget = str(2 * 112 * d_ff + 112 + d_ff)
    question = ["nets.py::Wide", "--budget", budget, "--vary", "d_model", "--where", tie]
    (answer,) = answers(solve(*question, "--format", "json"))
    assert answer["points"][0]["values"] == {"d_model": 112, "d_ff": d_ff}


TABLE = """\
closest to 100,000 and 1,000,000 parameters

model      arguments               parameters    off
─────────  ────────────────────  ────────────  ─────  ───────
100,000
  GPT      n_embd=120 n_layer=2        99,120   -880  -0.88 %
  LSTM     hidden=105                  99,540   -460  -0.46 %
1,000,000
  GPT      n_embd=284 n_layer=4       999,680   -320  -0.03 %
  LSTM     hidden=347               1,000,748   +748  +0.07 %

each was built; no others are nearer
"""


@pytest.mark.thorough
def test_several_targets_and_budgets_give_one_table(solve):
    question = ["--budget", "100k,1M", "--vary", "hidden,n_embd,n_layer=1..12"]
    assert solve("nets.py::GPT", "nets.py::LSTM", *question).stdout == TABLE


@pytest.mark.thorough
def test_several_without_limits_keep_to_the_proportions_of_the_call(solve):
    question = ["nets.py::Encoder", "--budget", "5M", "--format", "json"]
    (found,) = answers(solve(*question, "--vary", "width,depth,hidden,heads"))
    assert found["limits"].keys() == {"width", "depth", "hidden", "heads"}
    for point in found["points"]:
        assert point["values"]["width"] % point["values"]["heads"] == 0
        for name, (low, high) in found["limits"].items():
            assert low <= point["values"][name] <= high
    (free,) = answers(solve(*question, "--free", "--vary", "width,hidden"))
    assert free["limits"] == {}
    assert abs(free["points"][0]["count"] - 5_000_000) < 100


def test_what_only_the_defaults_forbid_is_said(solve):
    question = ["nets.py::GPT", "--vary", "n_embd,n_layer", "--budget", str(gpt(5, 4))]
    exact = solve(*question, "--exact", code=1)
    told = f"no arguments within the defaults give 700; the nearest give {gpt(2, 4)} (-180): "
    assert told in " ".join(exact.stdout.split())
    assert "; with --free: GPT(n_layer=5, n_embd=4) has 700" in " ".join(exact.stdout.split())
    near = solve(*question, "--number", "1")
    assert "nearer with --free: GPT(n_layer=5, n_embd=4) (700, exact)" in near.stdout
    free = solve(*question, "--exact", "--free")
    assert "best: GPT(n_layer=5, n_embd=4)" in free.stdout


@pytest.mark.parametrize(
    ("question", "told"),
    [
        (["--budget", "10"], "no arguments come within 5 % of 10; 5,000 do not depend on d"),
        (["--budget", "10", "--exact"], "no arguments give 10; the nearest give 5,002 (+4,992): "),
        (["--budget", "10", "--under"], "no arguments give 10 or less; the nearest give 5,002 "),
        (["--budget", "1M", "--where", "d < 9"], "no arguments come within 5 % of 1,000,000"),
    ],
)
def test_a_budget_that_cannot_be_met_fails(solve, question, told):
    done = solve("nets.py::Floor", "--vary", "d", *question, code=1)
    assert f"– {told}" in " ".join(done.stdout.split())


def test_all_cases_of_a_form_are_searched(solve):
    question = ["nets.py::Shortcut", "--vary", "cin", "--exact", "--budget"]
    (found,) = answers(solve(*question, str(256 * 64 * 2), "--format", "json"))
    assert [point["values"] for point in found["points"]] == [{"cin": 256}]
    assert found["forms"] == [
        {"form": "6*cin*cout", "where": "cin != 4*cout"},
        {"form": "2*cin*cout", "where": "cin == 4*cout"},
    ]


def test_what_the_selector_counts_is_said(solve):
    done = solve("nets.py::Floor[bytes]", "--vary", "d", "--budget", "40KB", "--number", "1")
    assert done.stdout.startswith("closest to 40,000 bytes\n\nnets.py::Floor[bytes]\n")
    assert "  d    bytes    off\n" in done.stdout


@pytest.mark.thorough
def test_a_selector_is_about_each_module_that_it_matches(solve):
    (found,) = answers(
        solve("nets.py::GPT[h.*]", "--budget", "3168", "--vary", "n_embd", "--format", "json")
    )
    assert (found["forms"][0]["form"], found["points"][0]["values"]) == (
        "3*n_embd*(n_embd + 1)",
        {"n_embd": 32},
    )
    done = solve("nets.py::GPT[*]", "--budget", "3168", "--vary", "n_embd", code=1)
    assert "– its modules have different counts\n" in done.stdout


def test_floats_of_the_call_are_followed(solve):
    question = ["nets.py::Rounded", "--vary", "d=1..300,multiple=1..20", "--budget", "123_456"]
    (found,) = answers(solve(*question, "--format", "json"))
    sizes = product(range(1, 301), range(1, 21))
    counts = [d * m * math.ceil(int(1.3 * int(8 * d / 3)) / m) for d, m in sizes]
    best = min(abs(count - 123_456) for count in counts)
    assert abs(found["points"][0]["count"] - 123_456) == best
    assert found["doubts"] == []


def test_a_form_that_is_not_proved_gives_no_guarantee(solve):
    done = solve("nets.py::Text", "--vary", "n", "--budget", "10k")
    told = "each was built; the closed form is verified, not proved: others may be nearer"
    assert told in done.stdout


def test_conditions_may_have_functions_of_numbers(solve):
    done = solve("nets.py::Common", "--vary", "a,b", "--budget", "5k", "--format", "json")
    for point in answers(done)[0]["points"]:
        assert math.gcd(*point["values"].values()) == 12


@pytest.mark.thorough
def test_what_the_model_ties_follows(solve):
    question = ["nets.py::Strict", "--budget", "100k", "--vary", "d_model,n_layer=1..4"]
    (found,) = answers(solve(*question, "--format", "json"))
    assert [*found["points"][0]["values"]] == ["d_model", "n_layer", "d_ff"]
    assert all(p["values"]["d_ff"] == 4 * p["values"]["d_model"] for p in found["points"])


@pytest.mark.thorough
def test_elements_of_lists(solve):
    question = ["nets.py::Widths(8)", "--budget", "10k", "--vary", "widths[1]"]
    (found,) = answers(solve(*question, "--number", "2", "--format", "json"))
    assert [p["values"]["widths[1]"] for p in found["points"]] == [580, 579]
    assert found["points"][0]["call"] == "Widths(8, widths=(16, 580))"


def test_what_makes_no_difference_is_left_alone(solve):
    question = ["nets.py::Wide", "--budget", "5k", "--vary", "d_ff,spare", "--number", "1"]
    done = solve(*question)
    assert "left as in the call, since the count is the same: spare=1" in done.stdout
    assert "best: Wide(d_ff=151)" in done.stdout


def test_exactly_the_budget_or_the_nearest(solve):
    question = ["nets.py::GPT", "--vary", "n_embd,n_layer=1..12", "--exact", "--format", "json"]
    (found,) = answers(solve(*question, "--budget", str(gpt(5, 64))))
    assert {"n_embd": 64, "n_layer": 5} in [point["values"] for point in found["points"]]
    (found,) = answers(solve(*question, "--budget", str(gpt(5, 64) + 1), code=1))
    assert found["points"] == []
    assert found["reason"] == (
        "no arguments give 68,801; the nearest give 68,800 (-1): GPT(n_layer=5, n_embd=64)"
    )


def test_a_budget_that_is_too_small(solve):
    done = solve("nets.py::GPT", "--budget", "50", "--vary", "n_embd", "--under", code=1)
    told = "– no arguments give 50 or less; the nearest give 520 (+470): GPT(n_embd=4)"
    assert told in done.stdout


def test_what_nothing_meets_names_the_conditions(solve):
    question = ["nets.py::GPT", "--budget", "1M", "--vary", "n_embd=5..7,n_layer=1..3"]
    done = solve(*question, code=1)
    told = "– nothing meets n_embd % n_head == 0 with n_embd 5..7, n_layer 1..3; next: other limits"
    assert told in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("model", "names", "why"),
    [
        ("Root", ["n"], "no closed form found; n could not be followed: a loop or an index"),
        ("Rooted", ["n", "d"], "a closed form was only found for n=16 (its value)"),
    ],
)
def test_without_a_closed_form_there_is_no_answer(solve, model, names, why):
    question = [f"nets.py::{model}", "--budget", "10k", "--vary", ",".join(names)]
    (found,) = answers(solve(*question, "--format", "json", code=1))
    values = ",".join(f"{name}=…" for name in names)
    step = f"next: count candidates: nparam-lint sweep nets.py::{model} --vary {values}"
    assert (found["points"], found["reason"]) == ([], f"{why}; {step}")


def test_an_unknown_with_a_closed_form_is_solved_for(solve):
    """Where another argument has none, which keeps its value."""
    done = solve("nets.py::Rooted", "--budget", "10k", "--vary", "d")
    assert "best: Rooted(d=55)" in done.stdout
    told = "some paths of the constructor have no closed form: others may be nearer there"
    assert f"each was built; {told}" in done.stdout


def test_a_model_that_needs_arguments(solve):
    done = solve("nets.py::Widths", "--budget", "1M", "--vary", "first", code=1)
    told = "– Widths needs first; next: give them values: nets.py::Widths(first=…)"
    assert told in done.stdout


def test_a_document_says_why_there_is_no_answer(solve):
    done = solve("nets.py::GPT", "--budget", "1M", "--vary", "depth", "--format", "json", code=2)
    document = json.loads(done.stdout)
    assert document["error"] in done.stderr
    assert (document["budget"], document["targets"]) == (None, [])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nets.py::GPT"], "which budget?\nnext: nparam-lint solve"),
        (["nets.py::GPT", "--budget", "10M"], "which arguments are unknown?"),
        (["--budget", "10M", "--vary", "a"], "which model?"),
        (["nets.py::GPT", "--budget", "lots", "--vary", "a"], "option --budget is 'lots'"),
        (["nets.py::GPT", "--budget=-5", "--vary", "n_embd"], "`-5` gives -5, below zero"),
        (["nets.py::GPT", "--budget", "0", "--vary", "n_embd"], "expected a number such as 10M"),
        (["nets.py::GPT", "--budget", "1,000,000,0", "--vary", "n_embd"], "option --budget is '0'"),
        (["nets.py::GPT", "--budget", "1M,", "--vary", "a"], "expected 10M, or several: 100k,1M"),
        (
            ["nets.py::GPT", "--budget", "1M", "--vary", "n_embd", "--number", "0"],
            "option --number is 0, expected at least 1",
        ),
        (
            ["nets.py::GPT", "--budget", "1M", "--vary", "n_head"],
            "n_head makes no difference to the count of GPT()",
        ),
        (
            ["nets.py::Strict", "--budget", "1M", "--vary", "mode"],
            "mode cannot be varied in Strict(): ValueError: mode must be 2",
        ),
        (
            ["nets.py::GPT[body]", "--budget", "1M", "--vary", "n_embd"],
            "no module of GPT() matches 'body'; its modules: wte, h",
        ),
        (
            ["nets.py::GPT[bytes]", "nets.py::LSTM", "--budget", "1MB", "--vary", "n_embd"],
            "found targets of bytes and of total, expected those of one",
        ),
        (["nets.py::GPT", "--budget", "10M", "--vary", "a-b"], "expected a name or name=1..24"),
        (["nets.py::GPT", "--budget", "10M", "--vary", "n_embd=8..4"], "has no values"),
        (
            ["nets.py::GPT", "--budget", "10M", "--vary", "depth"],
            "has no argument depth; whole numbers that it has: n_layer, n_embd, n_head, vocab",
        ),
        (["nets.py::Wide", "--budget", "1M", "--vary", "extra"], "extra is None in Wide()"),
        (["nets.py::GPT", "--budget", "1M", "--vary", "n_embd", "--where", "4"], "a comparison"),
        (
            ["nets.py::GPT", "--budget", "1M", "--vary", "n_embd", "--where", "vocab == 4*nembd"],
            "option --where: nets.py::GPT has no whole number 'nembd'; did you mean n_embd?",
        ),
        (
            ["nets.py::GPT", "--budget", "1M", "--vary", "n_embd", "--where", "n_embd % x == 0"],
            "option --where: nets.py::GPT has no whole number 'x'; it has n_layer, n_embd",
        ),
        (
            ["nets.py::GPT", "--budget", "1M", "--vary", "n_embd", "--where", "nembd > 200"],
            "option --where: no target has an argument 'nembd'; did you mean n_embd?",
        ),
        (
            ["nets.py::GPT", "--budget", "1M", "--vary", "n_embd,nlayer"],
            "option --vary: no target has an argument 'nlayer'; did you mean n_layer?",
        ),
    ],
)
def test_usage(solve, arguments, message):
    assert message in solve(*arguments, code=2).stderr


def test_a_condition_is_about_the_targets_that_have_its_names(solve):
    question = ["nets.py::LSTM", "nets.py::Floor", "--budget", "100k", "--vary", "hidden,d"]
    lstm, floor = answers(solve(*question, "--where", "d > 310", "--format", "json"))
    assert (lstm["points"][0]["values"], floor["points"][0]["values"]) == (
        {"hidden": 105},
        {"d": 311},
    )
    done = solve(*question, "--where", "e > 310", code=2)
    assert "option --where: no target has an argument 'e'; there are: hidden, vocab, d" in (
        done.stderr
    )


# --- the page ---------------------------------------------------------------------------------


def answer(target, budget, form, *rows, **more):
    points = [Met(values, count, f"{target}(…)") for values, count in rows]
    return Solved(f"nets.py::{target}", budget, "", form, tuple(points), **more)


DEEP = answer(
    "Deep",
    100_000,
    (CaseForm("3*d*n"),),
    ({"d": 64, "n": 520}, 99_840),
    ({"d": 63, "n": 530}, 100_170),
)
WIDE = answer(
    "Wide", 100_000, (), ({"d": 100, "n": 330}, 99_000), doubts=("why",), limits={"d": (50, 200)}
)
NONE = Solved("nets.py::None_", 100_000, reason="the model cannot be built")
LONG = answer(
    "Long",
    100_000,
    (CaseForm("a*b"),),
    ({"a_long_name": 12, "another": 3, "a_third_name": 40}, 100_000),
)

SHARED = """\
closest to 100,000 parameters

model      d    n    parameters     off
───────  ───  ───  ────────────  ──────  ───────
Deep      64  520        99,840    -160  -0.16 %
          63  530       100,170    +170  +0.17 %
Wide     100  330        99,000  -1,000  -1.00 %
None_                         –

– None_: the model cannot be built

nets.py::Deep
  3*d*n
  best: Deep(…)
        Deep(…)

nets.py::Wide
  best: Wide(…)

nets.py::None_

Deep: each was built; no others are nearer
Wide: each was built; why

defaults (--free lifts them):
  Wide: d=50..200: half to twice the call's proportions
"""


@pytest.mark.parametrize("width", [80, 120])
def test_shared_arguments_are_columns(width):
    page = Solutions("closest", (100_000,), (DEEP, WIDE, NONE))
    assert render("text", solve_document(page), Options(width=width, verbose=1)) == SHARED


NARROW = """\
no more than 100,000 and 200,000 parameters

model    arguments                   parameters    off
───────  ────────────────────────  ────────────  ─────  ───────
100,000
  Deep   d=64 n=520                      99,840   -160  -0.16 %
         d=63 n=530                     100,170   +170  +0.17 %
  Long   a_long_name=12 another=3       100,000  exact
         a_third_name=40
200,000
  Deep                                        –
  Long   a_long_name=12 another=3       200,020    +20  +0.01 %
         a_third_name=40

– Deep at 200,000: why

each was built; no others are nearer
"""


def test_other_arguments_are_named_in_each_row():
    more = replace(DEEP, budget=200_000, points=(), reason="why")
    long = replace(LONG, budget=200_000, points=(Met(LONG.points[0].values, 200_020, ""),))
    page = Solutions("under", (100_000, 200_000), (DEEP, LONG, more, long))
    shown = render("text", solve_document(page), Options(width=72))
    assert shown == NARROW
    assert max(map(len, shown.splitlines())) <= 72


def test_a_document_has_every_target_for_every_budget():
    page = Solutions("closest", (100_000, 200_000), (DEEP, replace(DEEP, budget=200_000)))
    document = json.loads(render("json", solve_document(page), Options()))
    assert (document["budget"], document["budgets"]) == (None, [100_000, 200_000])
    assert [one["budget"] for one in document["targets"]] == [100_000, 200_000]
    assert document["targets"][0]["points"][0] == {
        "values": {"d": 64, "n": 520},
        "count": 99_840,
        "call": "Deep(…)",
    }
    one = Solutions("closest", (100_000,), (WIDE,))
    assert json.loads(render("json", solve_document(one), Options()))["budget"] == 100_000
