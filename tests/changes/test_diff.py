"""Two reports → what changed: the modules, which model is which, and what a budget explains."""

from __future__ import annotations

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
from nparam_lint.count.measured import Hidden
from nparam_lint.ground.values import Position


def told(before, after):
    """Each change as one text."""
    return [_told(change) for change in _compare(before, after)]


def _compare(before, after):
    before, after = (rows(side) if isinstance(side, str) else side for side in (before, after))
    changes = compare_modules(before, after)
    assert sum(change.delta for change in changes) == after[0].total - before[0].total
    return changes


def _told(change):
    was = change.before.path if change.before else ""
    path = f"{was} → {change.path}" if change.kind == "renamed" else change.path
    notes = f" ({'; '.join(change.notes)})" if change.notes else ""
    return f"{change.kind} {path}: {change.count_before} → {change.count_after}{notes}"


# --- modules --------------------------------------------------------------------------------------


def test_what_is_the_same_is_not_told():
    assert told(gpt(), gpt()) == []
    assert told("fc Linear 10 @net.py:5", "fc Linear 10 @net.py:9") == []


def test_a_module_that_grew_is_told_where_it_holds_the_parameters():
    before = "encoder.fc Linear 10\nencoder.act ReLU 0\nhead Linear 5"
    after = "encoder.fc Linear 12\nencoder.act ReLU 0\nhead Linear 5"
    assert told(before, after) == ["changed encoder.fc: 10 → 12"]


def test_what_is_new_or_gone_is_told_once_with_all_that_is_below_it():
    before = "encoder.a Linear 10\nencoder.b Linear 20\nhead Linear 5"
    after = "head Linear 5\nprobe.0 Linear 3\nprobe.1 Linear 4"
    assert told(before, after) == ["removed encoder: 30 → 0", "added probe: 0 → 7"]


def test_what_is_gone_stands_where_it_was():
    before = "a Linear 1\nb Conv1d 2\nc Linear 3\nd Conv2d 4"
    assert told(before, "a Linear 9\nc Linear 8") == [
        "changed a: 1 → 9",
        "removed b: 2 → 0",
        "changed c: 3 → 8",
        "removed d: 4 → 0",
    ]


def test_the_parameters_of_the_root_itself():
    before, after = rows("fc Linear 3", own=5), rows("fc Linear 3", own=7)
    assert told(before, after) == ["changed : 5 → 7"]


def test_a_renamed_module_is_one_line():
    before = "encoder.a Linear 10\nencoder.b Linear 20\nhead Linear 5"
    after = "backbone.a Linear 10\nbackbone.b Linear 20\nhead Linear 5"
    assert told(before, after) == ["renamed encoder → backbone: 30 → 30"]


def test_renamed_siblings_of_one_kind_keep_their_order():
    before, after = "ln_1 LayerNorm 4\nln_2 LayerNorm 4", "norm1 LayerNorm 4\nnorm2 LayerNorm 4"
    assert told(before, after) == [
        "renamed ln_1 → norm1: 4 → 4",
        "renamed ln_2 → norm2: 4 → 4",
    ]


def test_what_could_be_two_modules_is_neither():
    before, after = "norm LayerNorm 4", "norm1 LayerNorm 4\nnorm2 LayerNorm 4"
    assert told(before, after) == [
        "removed norm: 4 → 0",
        "added norm1: 0 → 4",
        "added norm2: 0 → 4",
    ]


def test_equal_counts_of_other_types_are_no_rename():
    assert told("a Linear 10", "b Conv1d 10") == ["removed a: 10 → 0", "added b: 0 → 10"]


def test_a_module_that_was_renamed_and_changed():
    parts = [f"p{i} Linear {i + 1}" for i in range(5)]
    before = "\n".join(f"encoder.{part}" for part in parts)
    after = "\n".join(f"body.{part}" for part in parts).replace("p4 Linear 5", "p4 Linear 6")
    assert told(before, after) == ["renamed encoder → body: 15 → 15", "changed body.p4: 5 → 6"]


def test_a_part_that_moved_to_another_parent_is_one_line():
    part = "a Linear 10\n{0}b Linear 20"
    before = f"encoder.{part.format('encoder.')}\nhead Linear 5"
    after = f"net.body.{part.format('net.body.')}\nhead Linear 5\nnet.extra Linear 2"
    assert told(before, after) == ["renamed encoder → net.body: 30 → 30", "added net.extra: 0 → 2"]


def test_a_single_layer_that_moved_must_have_kept_its_name():
    before, after = "body.wte Embedding 10\nbody.x Linear 2", "wte Embedding 10\ny Linear 2"
    assert told(before, after) == [
        "removed body.x: 2 → 0",
        "renamed body.wte → wte: 10 → 10",
        "added y: 0 → 2",
    ]


def test_layers_behind_one_that_is_put_between_get_other_numbers():
    before = "net.0 Conv2d 10\nnet.1 ReLU 0\nnet.2 Conv2d 20\nnet.3 ReLU 0\nnet.4 Linear 5"
    after = (
        "net.0 Conv2d 10\nnet.1 BatchNorm2d 4 buffers=3\nnet.2 ReLU 0\n"
        "net.3 Conv2d 20\nnet.4 ReLU 0\nnet.5 Linear 5"
    )
    assert told(before, after) == [
        "added net.1: 0 → 4",
        "renamed net.2 → net.3: 20 → 20",
        "renamed net.4 → net.5: 5 → 5",
    ]


def test_a_layer_that_got_another_number_and_another_size_is_one_line():
    before = "net.0 Conv2d 10\nnet.1 Linear 20\nnet.2 Conv2d 30"
    after = "net.0 Embedding 1\nnet.1 Conv2d 10\nnet.2 Linear 25\nnet.3 Conv2d 30"
    assert told(before, after) == [
        "added net.0: 0 → 1",
        "renamed net.0 → net.1: 10 → 10",
        "changed net.2: 20 → 25 (was net.1)",
        "renamed net.2 → net.3: 30 → 30",
    ]


def test_a_layer_of_another_type_at_the_same_place_is_the_same_place():
    before = "net.0.bn BatchNorm2d 4\nnet.0.conv Conv2d 10\nnet.1 Linear 3"
    after = "net.0.conv Conv2d 10\nnet.0.bn BatchNorm2d 6\nnet.1 Conv2d 5"
    before, after = (
        rows(f"net.0 {kind} 0\n{text}")
        for kind, text in (("PreActBlock", before), ("Block", after))
    )
    assert told(before, after) == ["changed net.0.bn: 4 → 6", "changed net.1: 3 → 5"]


def test_blocks_that_were_added_at_the_end():
    assert told(gpt(2), gpt(3)) == ["added h.2: 0 → 7084800"]


def test_a_weight_that_is_no_longer_tied():
    assert told(gpt(1), gpt(1, tied=False)) == [
        "changed head: 0 → 38633472 (no longer tied: weight = wte.weight)"
    ]
    assert told(gpt(1, tied=False), gpt(1)) == [
        "changed head: 38633472 → 0 (tied: weight = wte.weight)"
    ]


def test_what_came_without_parameters_of_its_own_is_told_for_what_it_shares():
    head = "head Linear 0 also=10 shared=wte tied=weight = wte.weight"
    assert told("wte Embedding 10\nact ReLU 0", f"wte Embedding 10\n{head}") == [
        "added head: 0 → 0 (tied: weight = wte.weight; shared with wte)"
    ]
    assert told("a Linear 1", "a Linear 1\nmask Mask 0 buffers=64") == [
        "added mask: 0 → 0 (buffers 64)"
    ]


# --- what else changes ----------------------------------------------------------------------------


def test_what_is_frozen_is_told_at_the_highest_module_that_is_frozen_throughout():
    before = "encoder.a Linear 10\nencoder.b Linear 20\nhead Linear 5"
    after = "encoder.a Linear 10 frozen\nencoder.b Linear 20 frozen\nhead Linear 5"
    assert told(before, after) == ["changed encoder: 30 → 30 (frozen now)"]
    assert told(after, before) == ["changed encoder: 30 → 30 (trainable now)"]
    one = "encoder.a Linear 10\nencoder.b Linear 20 frozen\nhead Linear 5"
    assert told(before, one) == ["changed encoder.b: 20 → 20 (frozen now)"]
    assert told("a Linear 1", "a Linear 1 frozen") == ["changed : 1 → 1 (frozen now)"]


def test_a_part_that_grew_and_froze_says_both_once():
    assert told("a Linear 1\nb Linear 2", "a Linear 5 frozen\nb Linear 2") == [
        "changed a: 1 → 5 (frozen now)"
    ]
    both = told("a Linear 1 frozen\nb Linear 2", "a Linear 5 frozen\nb Linear 2")
    assert both == ["changed a: 1 → 5"]


def test_another_dtype_is_told_where_it_holds_throughout():
    before = "a Linear 10\nb.c Linear 20\nb.d Linear 30"
    assert told(before, before.replace("0", "0 half")) == ["changed : 60 → 60 (bytes 240 → 120)"]
    assert told(before, before.replace("30", "30 half")) == [
        "changed b.d: 30 → 30 (bytes 120 → 60)"
    ]


def test_buffers_are_told_at_the_module_that_holds_them():
    assert told("a.bn BatchNorm1d 4 buffers=5", "a.bn BatchNorm1d 4 buffers=9") == [
        "changed a.bn: 4 → 4 (buffers 5 → 9)"
    ]
    assert told("a.bn BatchNorm1d 4 buffers=5", "a.bn BatchNorm1d 8 buffers=9") == [
        "changed a.bn: 4 → 8"
    ]


# --- all of it adds up ----------------------------------------------------------------------------

NAMES = st.sampled_from(["a", "b", "c", "0", "1", "2", "3"])
LEAVES = st.dictionaries(
    st.lists(NAMES, min_size=1, max_size=4).map(".".join),
    st.tuples(st.sampled_from(["Linear", "Conv2d"]), st.integers(0, 3)),
    max_size=14,
)


def _rows(leaves):
    return rows("\n".join(f"{path} {kind} {own}" for path, (kind, own) in leaves.items()))


@pytest.mark.thorough
@settings(max_examples=150)
@given(LEAVES, LEAVES, st.integers(1, 6))
def test_the_differences_of_any_two_models_add_up_folded_or_not(before, after, limit):
    one, other = _rows(before), _rows(after)
    changes = compare_modules(one, other)
    delta = other[0].total - one[0].total
    assert sum(change.delta for change in changes) == delta
    for lines in (lines_of(changes, limit), lines_of(changes, 99), lines_of(changes, 99, 1)):
        assert sum(line.sum for line in lines) == delta
    seen = [(c.kind == "removed", c.path) for c in changes if c.kind in ("added", "removed")]
    assert len(seen) == len(set(seen))


# --- folding --------------------------------------------------------------------------------------


def folded(before, after, limit=20, depth=None):
    lines = lines_of(_compare(before, after), limit, depth)
    return [
        f"{line.kind} {line.path_before + ' → ' if line.path_before != line.path else ''}"
        f"{line.path} {line.times} × {line.delta:+}"
        for line in lines
    ]


def test_the_same_change_in_every_block_is_one_line():
    assert folded(gpt(12), gpt(12, hidden=5)) == [
        "changed h.0…11.fc 12 × +590592",
        "changed h.0…11.proj 12 × +589824",
    ]
    assert folded(gpt(2), gpt(6)) == ["added h.2…5 4 × +7084800"]


def test_blocks_in_blocks_fold_at_both_numbers():
    before = "\n".join(f"s.{i}.{j}.fc Linear 10" for i in range(3) for j in range(2))
    assert folded(before, before.replace("10", "12")) == ["changed s.0…2.0…1.fc 6 × +2"]


def test_what_is_not_the_same_or_has_a_gap_does_not_fold():
    before = "h.1 Linear 10\nh.2 Linear 20\nh.4 Linear 10\nh.5 Linear 10\nh.7 Linear 10"
    after = "h.1 Linear 11\nh.2 Linear 21\nh.4 Linear 11\nh.5 Linear 11\nh.7 Linear 11"
    assert folded(before, after) == [
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
    assert folded(before, after, limit=5) == [
        "changed a 1 × +3",
        "changed b 1 × +3",
        "changed c 1 × +62",
    ]
    assert folded(before, after, depth=1) == folded(before, after, limit=5)


# --- models: which is which -----------------------------------------------------------------------


def status(found):
    return {
        m.target: f"{m.status}{f' from {m.before_target}' if m.before_target else ''}"
        for m in found.models
    }


def test_a_model_is_the_same_changed_new_or_gone():
    before = [model("a.py::Same", SIX), model("a.py::Net", SIX), model("a.py::Old", "x Linear 3")]
    after = [
        model("a.py::Same", SIX),
        model("a.py::Net", SIX.replace("60", "61")),
        model("b.py::New", "y Conv2d 4"),
    ]
    found = diff(before, after)
    assert status(found) == {
        "a.py::Same": "same",
        "a.py::Net": "changed",
        "a.py::Old": "removed",
        "b.py::New": "added",
    }
    assert [m.delta for m in found.models] == [1, None, 0, None]
    assert found.findings == ()


def test_a_model_of_a_file_that_git_renamed():
    found = diff([model("a.py::Net", SIX)], [model("b.py::Net", SIX)], moved={"a.py": "b.py"})
    assert status(found) == {"b.py::Net": "renamed from a.py::Net"}
    assert found.models[0].evidence == "git renamed the file"


def test_the_name_counts_before_a_rename_of_the_file():
    before = [model("a.py::Net", SIX), model("b.py::Net", "x Linear 1")]
    after = [model("a.py::Net", "x Linear 2"), model("b.py::Net", SIX)]
    found = diff(before, after, moved={"a.py": "b.py"})
    assert status(found) == {"a.py::Net": "changed", "b.py::Net": "changed"}


def test_a_class_that_was_renamed_in_its_file_is_known_by_its_modules():
    found = diff([model("a.py::Net", SIX)], [model("a.py::Other", SIX)])
    assert status(found) == {"a.py::Other": "renamed from a.py::Net"}
    assert found.models[0].evidence == "the same 6 modules"


def test_a_class_that_was_renamed_and_changed_a_little():
    grown = SIX.replace("Linear 60", "Linear 66")
    found = diff([model("a.py::Net", SIX)], [model("a.py::Other", grown)])
    assert status(found) == {"a.py::Other": "renamed from a.py::Net"}
    assert found.models[0].evidence == "5 of 6 modules are the same"
    assert found.models[0].delta == 6


def test_a_class_that_moved_to_another_file():
    found = diff([model("a.py::Net", SIX)], [model("deep/b.py::Net", SIX)])
    assert status(found) == {"deep/b.py::Net": "renamed from a.py::Net"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("fc Linear 10", "fc Linear 10"),  # small models are soon alike
        ("a Linear 10", "b Linear 10"),
        ("a Linear 10\nb Linear 20\nc Linear 30", "d Linear 10\ne Linear 20\nf Linear 30"),
        ("fc Linear 10", "fc Conv1d 10"),
    ],
)
def test_equal_counts_of_small_models_are_no_rename(old, new):
    found = diff([model("a.py::Encoder", old)], [model("a.py::Head", new)])
    assert status(found) == {"a.py::Encoder": "removed", "a.py::Head": "added"}


def test_a_small_model_is_known_where_its_name_is_nearly_the_same():
    found = diff([model("a.py::Probe", "fc Linear 10")], [model("a.py::ProbeNet", "fc Linear 10")])
    assert status(found) == {"a.py::ProbeNet": "renamed from a.py::Probe"}


def test_what_could_be_two_models_is_neither():
    found = diff([model("a.py::Net", SIX)], [model("a.py::One", SIX), model("a.py::Two", SIX)])
    assert status(found) == {
        "a.py::Net": "removed",
        "a.py::One": "added",
        "a.py::Two": "added",
    }


def test_variants_of_a_renamed_class_stay_apart():
    large = SIX.replace("0", "00")
    before = [model("a.py::Net", SIX), model("a.py::Net(width=10)", large)]
    after = [model("a.py::Other", SIX), model("a.py::Other(width=10)", large)]
    assert status(diff(before, after)) == {
        "a.py::Other": "renamed from a.py::Net",
        "a.py::Other(width=10)": "renamed from a.py::Net(width=10)",
    }


def test_one_target_that_is_built_in_several_ways_is_compared_way_by_way():
    small, large = measured("x Linear 1", "Net(1)"), measured("x Linear 9", "Net(9)")
    before = [model("a.py::Net", small), model("a.py::Net", large)]
    after = [model("a.py::Net", large), model("a.py::Net", small)]
    assert [m.status for m in diff(before, after).models] == ["same", "same"]


def test_other_arguments_in_the_config_are_told():
    before, after = measured("x Linear 1", "Net(d=1)"), measured("x Linear 2", "Net(d=2)")
    found = diff([model("a.py::Net", before)], [model("a.py::Net", after)])
    assert found.models[0].notes == ("built as Net(d=2), before as Net(d=1)",)


def test_parameters_that_are_out_of_sight_now_are_told():
    hidden = measured("x Linear 1", hidden=(Hidden("blocks", 40, "list"),))
    found = diff([model("a.py::Net", "x Linear 1")], [model("a.py::Net", hidden)])
    assert found.models[0].notes == ("parameters that parameters() does not return: 0 → 40",)


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
    lost = {"b.py": "cannot be parsed: invalid syntax"}
    syntax = finding("NPL003", "", "b.py", 3)
    found = diff(
        [model("a.py::Net", SIX)],
        report(findings=(syntax,)),
        moved={"a.py": "b.py"},
        unreadable=({}, lost),
    )
    assert status(found) == {"b.py::Net": "not_measured from a.py::Net"}
    assert found.models[0].reasons[1] == "b.py cannot be parsed: invalid syntax"
    assert found.findings == (syntax,)
    back = diff(
        [], [model("b.py::Net", SIX)], moved={"a.py": "b.py"}, unreadable=({"a.py": "x"}, {})
    )
    assert status(back) == {"b.py::Net": "not_measured from a.py::Net"}


def test_a_file_that_could_never_be_read_is_no_news():
    lost = {"old.py": "cannot be parsed"}
    now = report(findings=(finding("NPL003", "", "old.py", 3),))
    assert diff([], now, unreadable=(lost, lost)).findings == ()


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
    """(explained, explanation, codes) of one model whose total goes from 210 to 211."""
    grown = SIX.replace("Linear 60", f"Linear {60 + total[1] - total[0]}")
    found = diff(
        [model("nets.py::Net", SIX, *before)], [model("nets.py::Net", grown, *after)], tolerance
    )
    (only,) = found.models
    return only.explained, only.explanation, [f.code for f in found.findings]


def test_drift_without_a_budget_is_a_finding_with_the_modules_and_the_remedy():
    assert judged((), ()) == (False, "no budget declares it", ["NPL014"])
    found = diff([model("a.py::Net", SIX)], [model("a.py::Net", SIX.replace("60", "90"))], "5%")
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


def test_drift_within_the_tolerance_is_none():
    assert judged((), (), "0.5%")[2] == []  # 1 of 210 is 0.476 %
    assert judged((), (), "0.4%")[2] == ["NPL014"]
    assert judged((), (), "1")[2] == []
    assert judged((), (), "5", (210, 203))[2] == ["NPL014"]


def test_without_a_tolerance_drift_is_no_failure():
    assert judged((), (), None) == (False, "no budget declares it", [])


def test_a_budget_that_was_changed_and_holds_explains():
    old, new = budget("210", ok=False), budget("211", 211)
    assert judged((old,), (new,)) == (True, "budget 210 → 211 (nets.py:11)", [])
    assert judged((), (new,)) == (True, "new budget 211 (nets.py:11)", [])
    config = budget("<= 300", origin="config", position=Position("pyproject.toml", 4, 1))
    assert judged((old,), (old, config)) == (True, "new budget <= 300 (pyproject.toml:4)", [])
    part = budget("61", 61, selector="part6", module="part6")
    assert judged((), (part,)) == (True, "new budget[part6] 61 (nets.py:11)", [])


def test_a_budget_that_was_changed_but_does_not_hold_explains_nothing():
    old, new = budget("210"), budget("212", 211, ok=False)
    assert judged((old,), (new,)) == (
        False,
        "the budget 212 (nets.py:11) does not hold",
        ["NPL014"],
    )


def test_a_budget_that_says_the_same_in_other_words_was_not_changed():
    old, new = budget("1_000"), budget("1,000", 211)
    assert judged((old,), (new,)) == (
        False,
        "the budget 1,000 (nets.py:11) was not changed",
        ["NPL014"],
    )
    assert judged((budget("7.1M ± 2%"),), (budget("7.1M ± 3%", 211),))[0] is True


def test_a_budget_that_allows_both_explains_nothing():
    wide = budget("<= 300", 211)
    assert judged((wide,), (wide,))[1] == "the budget <= 300 (nets.py:11) was not changed"


def test_a_formula_that_follows_the_arguments_explains():
    old, new = budget("12*width + 6", value=210), budget("12*width + 6", 211)
    assert judged((old,), (new,)) == (True, "the formula at nets.py:11 gives it", [])
    stuck = budget("12*width + 6", 211, value=210, ok=False)
    assert judged((old,), (stuck,))[0] is False


def test_a_budget_of_buffers_explains_nothing():
    buffers = budget("3", 3, selector="buffers")
    assert judged((), (buffers,))[2] == ["NPL014"]


def test_a_glob_explains_where_it_holds_for_each_module():
    good = budget("10", 10, selector="part*", module="part1")
    bad = budget("10", 60, selector="part*", module="part6", ok=False)
    assert judged((), (good,))[0] is True
    assert judged((), (good, bad))[0] is False


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


def test_a_part_is_explained_with_the_whole_and_gets_no_finding_beside_its():
    grown = SIX.replace("60", "70")

    def both(*budgets):
        part = measured(grown, "Part()")
        whole = measured(grown, types=("nets.Part",))
        return [model("a.py::Net", whole, *budgets), model("a.py::Part", part, top_level=False)]

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
    whole = measured(SIX.replace("60", "61"), types=("nets.Part",))
    after = [model("a.py::Net", whole), model("a.py::Part", measured("x Linear 11", "Part()"))]
    assert diff(before, after, "1%").findings == ()
    assert [f.target for f in diff(before, after, "0.1%").findings] == ["a.py::Net"]


def test_a_part_that_drifts_alone_has_its_own_finding():
    whole = model("a.py::Net", measured(SIX, types=("nets.Part",)))
    after = [whole, model("a.py::Part", SIX.replace("60", "70"))]
    found = diff([whole, model("a.py::Part", SIX)], after, "0")
    assert [f.target for f in found.findings] == ["a.py::Part"]


def test_other_arguments_of_a_declared_model_are_explained_with_it():
    before = [model("a.py::Net", SIX), model("a.py::Net(2)", SIX)]
    grown = SIX.replace("60", "70")
    after = [model("a.py::Net", grown), model("a.py::Net(2)", grown, budget("220", 220))]
    assert diff(before, after, "0").findings == ()


def test_findings_are_heeded():
    before, after = [model("a.py::Net", SIX)], [model("a.py::Net", SIX.replace("60", "70"))]
    found = diff(before, after, "0", reported=lambda _: [])
    assert (found.findings, found.models[0].explained) == ((), False)


def test_the_report_says_what_was_compared():
    found = diff([], report(files=7), "0.5%", now="index")
    assert (found.base, found.now, found.tolerance, found.files) == (BASE, "index", "0.5%", 7)


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
