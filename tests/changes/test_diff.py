"""Two reports → what changed: the modules, which model is which, and what a budget explains."""

from __future__ import annotations

from pathlib import Path

import pytest
from diff_samples import (
    BASE,
    SIX,
    budget,
    diff,
    failed,
    finding,
    gpt,
    measured,
    model,
    needs,
    report,
    rows,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from nparam_lint.changes.fold_changes import lines_of
from nparam_lint.changes.module_changes import compare_modules
from nparam_lint.changes.states import find_moves
from nparam_lint.count.measured import Hidden, InsideRow
from nparam_lint.discover.definitions import Containment
from nparam_lint.ground.values import Position


def compared(before, after):
    before, after = (rows(side) if isinstance(side, str) else side for side in (before, after))
    changes = compare_modules(before, after)
    assert sum(change.delta for change in changes) == after[0].total - before[0].total
    return changes


def told(before, after):
    """Each change as one text."""
    texts = []
    for change in compared(before, after):
        was = f"{change.before.path} → " if change.kind == "renamed" else ""
        notes = f" ({'; '.join(change.notes)})" if change.notes else ""
        counts = f"{change.count_before} → {change.count_after}"
        texts.append(f"{change.kind} {was}{change.path}: {counts}{notes}")
    return texts


# --- modules --------------------------------------------------------------------------------------

CHANGES = Path(__file__).with_name("data").joinpath("module_changes.txt").read_text("utf-8")


@pytest.mark.parametrize("case", CHANGES.split("\n# ")[1:], ids=lambda case: case.split("\n")[0])
def test_what_is_said_of_modules(case):
    _, before, after, *expected = case.rstrip().split("\n")
    before, after = (side[2:].replace(", ", "\n") for side in (before, after))
    assert told(before, after) == [line.removeprefix("= ") for line in expected]


def test_the_parameters_of_the_root_itself():
    before, after = rows("fc Linear 3", own=5), rows("fc Linear 3", own=7)
    assert told(before, after) == ["changed : 5 → 7"]


def test_a_weight_that_is_no_longer_tied():
    assert told(gpt(), gpt()) == []
    assert told(gpt(1), gpt(1, tied=False)) == [
        "changed head: 0 → 38633472 (no longer tied: weight = wte.weight)"
    ]
    assert told(gpt(1, tied=False), gpt(1)) == [
        "changed head: 38633472 → 0 (tied: weight = wte.weight)"
    ]


NAMES = st.sampled_from(["a", "b", "c", "0", "1", "2", "3"])
LEAVES = st.dictionaries(
    st.lists(NAMES, min_size=1, max_size=4).map(".".join),
    st.tuples(st.sampled_from(["Linear", "Conv2d"]), st.integers(0, 3)),
    max_size=14,
)


@pytest.mark.thorough
@settings(max_examples=150)
@given(LEAVES, LEAVES, st.integers(1, 6))
def test_the_differences_of_any_two_models_add_up_folded_or_not(before, after, limit):
    before, after = (
        rows("\n".join(f"{path} {kind} {own}" for path, (kind, own) in leaves.items()))
        for leaves in (before, after)
    )
    changes = compare_modules(before, after)
    delta = after[0].total - before[0].total
    assert sum(change.delta for change in changes) == delta
    for lines in (lines_of(changes, limit), lines_of(changes, 99), lines_of(changes, 99, 1)):
        assert sum(line.sum for line in lines) == delta
    seen = [(c.kind == "removed", c.path) for c in changes if c.kind in ("added", "removed")]
    assert len(seen) == len(set(seen))


# --- folding --------------------------------------------------------------------------------------


def folded(before, after, limit=20, depth=None):
    return [
        f"{line.kind} {line.path_before + ' → ' if line.path_before != line.path else ''}"
        f"{line.path} {line.times} × {line.delta:+}"
        for line in lines_of(compared(before, after), limit, depth)
    ]


def test_the_same_change_in_every_block_is_one_line():
    assert folded(gpt(12), gpt(12, hidden=5)) == [
        "changed h.0…11.fc 12 × +590592",
        "changed h.0…11.proj 12 × +589824",
    ]
    assert folded(gpt(2), gpt(6)) == ["added h.2…5 4 × +7084800"]
    nested = "\n".join(f"s.{i}.{j}.fc Linear 10" for i in range(3) for j in range(2))
    assert folded(nested, nested.replace("10", "12")) == ["changed s.0…2.0…1.fc 6 × +2"]


def test_what_is_not_the_same_or_has_a_gap_does_not_fold():
    before = "h.1 Linear 10\nh.2 Linear 20\nh.4 Linear 10\nh.5 Linear 10\nh.7 Linear 10"
    assert folded(before, before.replace("0", "1")) == [
        "changed h.1 1 × +1",
        "changed h.2 1 × +1",
        "changed h.4…5 2 × +1",
        "changed h.7 1 × +1",
    ]


def test_renumbered_layers_fold_where_they_moved_by_as_much():
    layers = "\n".join(f"net.{i} Conv2d 10 @net.py:4" for i in range(5))
    moved = "\n".join(f"net.{i + 1} Conv2d 10 @net.py:4" for i in range(5))
    assert folded(layers, f"net.0 Embedding 3\n{moved}") == [
        "added net.0 1 × +3",
        "renamed net.0…4 → net.1…5 5 × +0",
    ]


def test_too_many_lines_are_summed_up_at_the_deepest_level_that_fits():
    before = "\n".join(f"{a}.{b} Linear {i}0" for i, a in enumerate("abc", 1) for b in "xyz")
    after = before.replace("0", "1").replace("c.z Linear 31", "c.z Linear 90")
    assert len(folded(before, after)) == 9
    sums = ["changed a 1 × +3", "changed b 1 × +3", "changed c 1 × +62"]
    assert folded(before, after, limit=5) == folded(before, after, depth=1) == sums


# --- models: which is which -----------------------------------------------------------------------


def status(found):
    return {
        m.target: f"{m.status}{f' from {m.before_target}' if m.before_target else ''}"
        for m in found.models
    }


def models(contents):
    """By the target, what each holds."""
    return [model(target, content) for target, content in contents.items()]


LARGE, GROWN = SIX.replace("0", "00"), SIX.replace("Linear 60", "Linear 66")
# What there was, what there is, and what became of each; git says of git.py that it was a.py.
WHICH = {
    "a model is the same, changed, new or gone": (
        {"a.py::Same": SIX, "a.py::Net": SIX, "a.py::Old": "x Linear 3"},
        {"a.py::Same": SIX, "a.py::Net": GROWN, "b.py::New": "y Conv2d 4"},
        {
            "a.py::Same": "same",
            "a.py::Net": "changed",
            "a.py::Old": "removed",
            "b.py::New": "added",
        },
    ),
    "its file was renamed": (
        {"a.py::Net": SIX},
        {"git.py::Net": SIX},
        {"git.py::Net": "renamed from a.py::Net"},
    ),
    "the name counts before a rename of the file": (
        {"a.py::Net": SIX, "git.py::Net": "x Linear 1"},
        {"a.py::Net": "x Linear 2", "git.py::Net": SIX},
        {"a.py::Net": "changed", "git.py::Net": "changed"},
    ),
    "another name, and the same modules": (
        {"a.py::Net": SIX},
        {"a.py::Other": SIX},
        {"a.py::Other": "renamed from a.py::Net"},
    ),
    "another name, and nearly the same modules": (
        {"a.py::Net": SIX},
        {"a.py::Other": GROWN},
        {"a.py::Other": "renamed from a.py::Net"},
    ),
    "another file": (
        {"a.py::Net": SIX},
        {"deep/b.py::Net": SIX},
        {"deep/b.py::Net": "renamed from a.py::Net"},
    ),
    "small models are soon alike": (
        {"a.py::Encoder": "fc Linear 10"},
        {"a.py::Head": "fc Linear 10"},
        {"a.py::Encoder": "removed", "a.py::Head": "added"},
    ),
    "three layers of other names": (
        {"a.py::Encoder": "a Linear 10\nb Linear 20\nc Linear 30"},
        {"a.py::Head": "d Linear 10\ne Linear 20\nf Linear 30"},
        {"a.py::Encoder": "removed", "a.py::Head": "added"},
    ),
    "a small model of nearly the same name": (
        {"a.py::Probe": "fc Linear 10"},
        {"a.py::ProbeNet": "fc Linear 10"},
        {"a.py::ProbeNet": "renamed from a.py::Probe"},
    ),
    "what could be two models is neither": (
        {"a.py::Net": SIX},
        {"a.py::One": SIX, "a.py::Two": SIX},
        {"a.py::Net": "removed", "a.py::One": "added", "a.py::Two": "added"},
    ),
    "variants of a renamed class stay apart": (
        {"a.py::Net": SIX, "a.py::Net(width=10)": LARGE},
        {"a.py::Other": SIX, "a.py::Other(width=10)": LARGE},
        {
            "a.py::Other": "renamed from a.py::Net",
            "a.py::Other(width=10)": "renamed from a.py::Net(width=10)",
        },
    ),
}
EVIDENCE = {
    "its file was renamed": "git renamed the file",
    "another name, and the same modules": "the same 6 modules",
    "another name, and nearly the same modules": "5 of 6 modules are the same",
}


@pytest.mark.parametrize("case", WHICH)
def test_which_model_is_which(case):
    before, after, expected = WHICH[case]
    moved = {"a.py": "git.py"} if "git.py::Net" in after else {}
    found = diff(models(before), models(after), moved=moved)
    assert status(found) == expected
    assert found.findings == ()
    assert found.models[0].evidence == EVIDENCE.get(case, found.models[0].evidence)


def test_one_target_that_is_built_in_several_ways_is_compared_way_by_way():
    small, large = measured("x Linear 1", "Net(1)"), measured("x Linear 9", "Net(9)")
    before = [model("a.py::Net", small), model("a.py::Net", large)]
    after = [model("a.py::Net", large), model("a.py::Net", small)]
    assert [m.status for m in diff(before, after).models] == ["same", "same"]


def test_other_arguments_and_parameters_that_are_out_of_sight_now_are_told():
    before = measured("x Linear 1", "Net(d=1)")
    hidden = measured("x Linear 2", "Net(d=2)", hidden=(Hidden("blocks", 40, "list"),))
    found = diff([model("a.py::Net", before)], [model("a.py::Net", hidden)])
    assert found.models[0].notes == (
        "built as Net(d=2), before as Net(d=1)",
        "parameters that parameters() does not return: 0 → 40",
    )


# --- models that could not be measured ------------------------------------------------------------


def test_what_is_not_measured_on_one_side_is_never_the_same():
    one = diff([model("a.py::Net", SIX)], [model("a.py::Net", failed())])
    other = diff([model("a.py::Net", failed())], [model("a.py::Net", SIX)])
    assert status(one) == status(other) == {"a.py::Net": "not_measured"}
    assert one.models[0].reasons == (None, "No module named 'einops'")
    assert other.models[0].reasons == ("No module named 'einops'", None)
    skipped = report(skipped=(("a.py::Net", needs("width")),))
    assert diff(skipped, [model("a.py::Net", SIX)]).models[0].reasons == ("needs width", None)
    assert diff([model("a.py::Net", SIX)], skipped).models[0].reasons == (None, "needs width")


def test_what_nobody_declares_and_was_counted_on_neither_side_is_only_listed():
    skipped = report(skipped=(("a.py::Net", needs("width")),))
    for before in (skipped, report()):
        found = diff(before, skipped)
        assert (found.models, found.unmeasured) == ((), (("a.py::Net", needs("width")),))
    assert diff(skipped, report()).unmeasured == ()


def test_a_declared_model_that_is_not_measured_is_a_finding():
    broken = model("a.py::Net", failed(), budget("210"))
    now = report(broken, findings=(finding("NPL003", "a.py::Net"), finding("NPL001", "b.py::X")))
    for before in ([model("a.py::Net", SIX)], [broken], []):
        found = diff(before, now)
        assert status(found) == {"a.py::Net": "not_measured"}
        assert [f.code for f in found.findings] == ["NPL003"]


def test_a_file_that_cannot_be_read_has_lost_no_model():
    syntax = finding("NPL003", "", "b.py", 3)
    now, moved = report(findings=(syntax,)), {"a.py": "b.py"}
    lost = {"b.py": "cannot be parsed: invalid syntax"}
    found = diff([model("a.py::Net", SIX)], now, moved=moved, unreadable=({}, lost))
    assert status(found) == {"b.py::Net": "not_measured from a.py::Net"}
    assert found.models[0].reasons[1] == "b.py cannot be parsed: invalid syntax"
    assert found.findings == (syntax,)
    back = diff([], [model("b.py::Net", SIX)], moved=moved, unreadable=({"a.py": "x"}, {}))
    assert status(back) == {"b.py::Net": "not_measured from a.py::Net"}
    assert diff([], now, unreadable=(lost, lost)).findings == ()  # which is no news


def test_a_run_that_measured_nothing_at_all_compares_nothing():
    found = diff([model("a.py::Net", SIX)], report(error="no torch"))
    assert (found.error, found.models) == ("no torch", ())
    found = diff(report(error="no torch"), [model("a.py::Net", SIX)])
    assert found.error == "at main: no torch"


def test_what_was_only_built_with_arguments_is_not_missed_without_them():
    before = report(model("a.py::Net(depth=2)", SIX, budget("210")))
    after = report(model("b.py::Net(depth=2)", SIX), skipped=(("b.py::Net", needs("depth")),))
    found = diff(before, after, moved={"a.py": "b.py"})
    assert status(found) == {"b.py::Net(depth=2)": "renamed from a.py::Net(depth=2)"}
    assert found.unmeasured == ()
    before = report(*before.models, skipped=(("a.py::Net", needs("depth")),))
    assert diff(before, after, moved={"a.py": "b.py"}).unmeasured == ()


# --- drift that no budget explains ----------------------------------------------------------------


def judged(before, after, tolerance="0", total=(210, 211)):
    """(explained, explanation) of one model whose total goes from 210 to 211; what is not explained
    is a finding."""
    grown = SIX.replace("Linear 60", f"Linear {60 + total[1] - total[0]}")
    found = diff(
        [model("nets.py::Net", SIX, *before)], [model("nets.py::Net", grown, *after)], tolerance
    )
    (only,) = found.models
    assert bool(found.findings) == (not only.explained)
    return only.explained, only.explanation


def test_drift_without_a_budget_is_a_finding_with_the_modules_and_the_remedy():
    sides = [model("a.py::Net", SIX)], [model("a.py::Net", SIX.replace("60", "90"))]
    found = diff(*sides, "5%", now="index")
    (only,) = found.findings
    assert only.message == (
        "Net has 240 parameters, 210 at main: +30 (+14.29 %); no budget declares it"
    )
    assert only.detail == (
        "changed most:",
        "            +30  part6",
        "if the change is intended, declare it: nparam: 240",
    )
    assert (only.severity, only.position) == ("error", Position("a.py", 10, 1))
    assert (found.base, found.now, found.tolerance, found.files) == (BASE, "index", "5%", 3)
    unreported = diff(*sides, "0", reported=lambda _: [])
    assert (unreported.findings, unreported.models[0].explained) == ((), False)


@pytest.mark.parametrize(
    ("tolerance", "total", "codes"),
    [
        ("0", 211, ["NPL014"]),
        ("0.5%", 211, []),  # 1 of 210 is 0.476 %
        ("0.4%", 211, ["NPL014"]),
        ("1", 211, []),
        ("5", 203, ["NPL014"]),
        (None, 211, []),
    ],
)
def test_drift_within_the_tolerance_is_none(tolerance, total, codes):
    after = model("a.py::Net", SIX.replace("Linear 60", f"Linear {60 + total - 210}"))
    found = diff([model("a.py::Net", SIX)], [after], tolerance)
    assert found.models[0].explanation == "no budget declares it"
    assert [f.code for f in found.findings] == codes


OLD = budget("210", ok=False)
CONFIG = budget("<= 300", origin="config", position=Position("pyproject.toml", 4, 1))
WIDE, FORMULA = budget("<= 300", 211), budget("12*width + 6", 211)
STUCK = budget("12*width + 6", 211, value=210, ok=False)
GLOB = budget("10", 10, selector="part*", module="part1")
# Budgets then and now; whether they explain it, and in which words.
EXPLAINED = [
    ((OLD,), (budget("211", 211),), "yes: budget 210 → 211 (nets.py:11)"),
    ((), (budget("211", 211),), "yes: new budget 211 (nets.py:11)"),
    ((OLD,), (OLD, CONFIG), "yes: new budget <= 300 (pyproject.toml:4)"),
    (
        (),
        (budget("61", 61, selector="part6", module="part6"),),
        "yes: new budget[part6] 61 (nets.py:11)",
    ),
    ((OLD,), (budget("212", 211, ok=False),), "no: the budget 212 (nets.py:11) does not hold"),
    (
        (budget("1_000"),),
        (budget("1,000", 211),),
        "no: the budget 1,000 (nets.py:11) was not changed",
    ),
    (
        (budget("7.1M ± 2%"),),
        (budget("7.1M ± 3%", 211),),
        "yes: budget 7.1M ± 2% → 7.1M ± 3% (nets.py:11)",
    ),
    ((WIDE,), (WIDE,), "no: the budget <= 300 (nets.py:11) was not changed"),
    (
        (budget("12*width + 6", value=210),),
        (FORMULA,),
        "yes: the formula at nets.py:11 gives it",
    ),
    (
        (budget("12*width + 6", value=210),),
        (STUCK,),
        "no: the budget 12*width + 6 (nets.py:11) was not changed",
    ),
    ((), (budget("3", 3, selector="buffers"),), "no: no budget declares it"),
    ((), (GLOB,), "yes: new budget[part*] 10 (nets.py:11)"),
    (
        (),
        (GLOB, budget("10", 60, selector="part*", module="part6", ok=False)),
        "no: the budget 10 (nets.py:11) does not hold",
    ),
]


@pytest.mark.parametrize(("before", "after", "expected"), EXPLAINED)
def test_which_budgets_explain_a_difference(before, after, expected):
    explained, words = judged(before, after)
    assert f"{'yes' if explained else 'no'}: {words}" == expected


def test_a_new_model_is_explained_by_a_budget_and_is_no_drift_without():
    bare, declared = model("a.py::A", SIX), model("a.py::B", "x Conv2d 1", budget("1", 1))
    found = diff([], [bare, declared], "0")
    assert [(m.target, m.explained) for m in found.models] == [("a.py::A", None), ("a.py::B", True)]
    assert found.findings == ()


def test_a_model_that_is_gone_is_explained_if_its_budgets_are_gone():
    declared = model("a.py::Net", SIX, budget("210", 210))
    assert [m.explained for m in diff([declared], [], "0").models] == [True]
    stale = report(findings=(finding("NPL008", "a.py::Net", "pyproject.toml", 3),))
    for tolerance in (None, "0"):
        found = diff([declared], stale, tolerance)
        assert [m.explained for m in found.models] == [False]
        assert [f.code for f in found.findings] == ["NPL008"]


def whole(modules):
    """A model whose last part is of the project's class Part."""
    return measured(modules, inside=(InsideRow("a.py::Part", "Part()", ("part6",), 60),))


def test_a_part_is_explained_with_the_whole_and_gets_no_finding_beside_its():
    grown = SIX.replace("60", "70")

    def both(*budgets):
        part = measured(grown, "Part()")
        return [
            model("a.py::Net", whole(grown), *budgets),
            model("a.py::Part", part, top_level=False),
        ]

    before = [model("a.py::Net", SIX), model("a.py::Part", SIX)]
    found = diff(before, both(budget("220", 220)), "0")
    assert {m.target: m.explanation for m in found.models} == {
        "a.py::Net": "new budget 220 (nets.py:11)",
        "a.py::Part": "with Net: new budget 220 (nets.py:11)",
    }
    assert found.findings == ()
    assert [f.target for f in diff(before, both(), "0").findings] == ["a.py::Net"]


def test_a_part_is_judged_with_the_whole_also_where_that_stays_within_the_tolerance():
    part = model("a.py::Part", measured("x Linear 10", "Part()"))
    before = [model("a.py::Net", SIX), part]
    part = model("a.py::Part", measured("x Linear 11", "Part()"))
    after = [model("a.py::Net", whole(SIX.replace("60", "61"))), part]
    assert diff(before, after, "1%").findings == ()
    assert [f.target for f in diff(before, after, "0.1%").findings] == ["a.py::Net"]


def test_a_factory_is_judged_with_the_whole_that_has_what_it_returns():
    before = [model("a.py::Net", SIX), model("a.py::part", "x Linear 10")]
    grown = whole(SIX.replace("60", "61"))
    after = [model("a.py::Net", grown), model("a.py::part", "x Linear 11")]
    for returns, targets in (({"a.py::part": "a.py::Part"}, []), ({}, ["a.py::part"])):
        now = report(*after, containment=Containment(returns=returns))
        assert [f.target for f in diff(report(*before), now, "1%").findings] == targets


# In which module a model has the part, and in which it changed.
ALONE = {
    "the whole is the same": ("part6", SIX),
    "the whole changed in another module": ("part6", SIX.replace("10", "11")),
    "the whole has only modules of the same class of torch": ("", SIX.replace("60", "61")),
}


@pytest.mark.parametrize("case", ALONE)
def test_a_part_that_drifts_alone_has_its_own_finding(case):
    path, grown = ALONE[case]
    sequential = "torch.nn.modules.container.Sequential"
    inside = (InsideRow("a.py::Part", "Part()", (path,), 60),) if path else ()
    before, after = (
        [
            model("a.py::Net", measured(modules, types=(sequential,), inside=inside)),
            model("a.py::Part", measured(part, "Part()", type=sequential)),
        ]
        for modules, part in ((SIX, "x Linear 10"), (grown, "x Linear 90"))
    )
    assert [f.target for f in diff(before, after, "1%").findings] == ["a.py::Part"]


def test_other_arguments_of_a_declared_model_are_explained_with_it():
    before = [model("a.py::Net", SIX), model("a.py::Net(2)", SIX)]
    grown = SIX.replace("60", "70")
    after = [model("a.py::Net", grown), model("a.py::Net(2)", grown, budget("220", 220))]
    assert diff(before, after, "0").findings == ()


# --- where a project was --------------------------------------------------------------------------


def test_paths_of_the_base_and_of_today():
    renames = {"nets/old.py": "nets/new.py", "lib/x.py": "nets/x.py", "a.txt": "b.txt"}
    moves = find_moves(renames, "", lambda _: True)
    assert moves.files == renames
    assert moves.places("nets") == (["nets", "lib/x.py"], ["nets"])
    assert moves.places("nets/new.py") == (["nets/new.py", "nets/old.py"], ["nets/new.py"])
    assert moves.places("nets/old.py") == (["nets/old.py"], ["nets/old.py", "nets/new.py"])
    assert moves.places("lib") == (["lib"], ["lib", "nets/x.py"])
    inside = find_moves(renames, "nets", lambda _: True)
    assert inside.files == {"old.py": "new.py"}


def test_a_project_whose_directory_was_renamed():
    renames = {"old/a.py": "new/a.py", "old/b/c.py": "new/b/c.py", "other/a.py": "new/d/a.py"}
    moves = find_moves(renames, "new", lambda _: False)
    assert moves.root_then == "old"
    assert moves.files == {"a.py": "a.py", "b/c.py": "b/c.py"}
    assert moves.places("new/b") == (["old/b"], ["new/b"])
    assert find_moves({}, "new", lambda _: False).root_then == "new"
