"""Two reports → what changed. The books in `cases/` have modules and models on both sides, and what
is told of them."""

from __future__ import annotations

import re

import pytest
from case_books import cases_beside
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

BUDGET = re.compile(r"budget (?:\[(.*)\] )?(.*?)(?: = (\d+))?(?: at (\S+):(\d+))?( broken)?")


@pytest.mark.parametrize(("book", "case"), cases_beside(__file__, "cases"))
def test_what_is_told(book, case, request):
    lines = [line.partition(" ")[::2] for line in case.asked.split("\n")]
    if book.path.stem == "modules":
        said = told(*(rows(text.replace(", ", "\n")) for _, text in lines))
    else:
        said = told_of_models(lines, case.files)
    book.check(case.number, "\n".join(said), update=request.config.getoption("update"))


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
    return texts or ["nothing"]


def told_of_models(lines, known):
    """What became of each, then those that are only listed, and findings. `lines`: a first word and
    the rest; `known`: modules, by what they are called."""
    settings = [(word, rest) for word, rest in lines if word not in ("-", "+")]
    returns = dict(rest.split() for word, rest in settings if word == "returns:")
    sides = [[rest for word, rest in lines if word == sign] for sign in "-+"]
    before, after = (side_of(side, known, returns) for side in sides)
    unreadable = tuple(
        {line.split()[2]: "cannot be parsed" for line in side if line.startswith("cannot read ")}
        for side in sides
    )
    usual = "0" if any("| budget" in rest for _, rest in lines) else None
    tolerance = next((rest for word, rest in settings if word == "tolerance"), usual)
    moved = dict(
        rest.removesuffix(" now").split(" is ") for word, rest in settings if word == "git:"
    )
    tolerance = None if tolerance == "none" else tolerance
    found = diff(before, after, tolerance, unreadable, moved=moved)
    said = [f"error: {found.error}"] if found.error else []
    for one in found.models:
        text = f"{one.status} {one.target}"
        text += f" from {one.before_target}" if one.before_target else ""
        text += f": {one.evidence}" if one.evidence else ""
        if tolerance and one.explained is not None:
            text += ", explained" if one.explained else ", not explained"
            text += f": {one.explanation}" if one.explanation else ""
        said.append(text)
        reasons = zip(("at the base", "now"), one.reasons, strict=True)
        said += [f"  {when}: {reason}" for when, reason in reasons if reason]
        said += [f"  {note}" for note in one.notes]
    said += [f"only listed: {target}: {why.reason}" for target, why in found.unmeasured]
    said += [f"{one.code} about {one.target}" for one in found.findings]
    return said or ["nothing"]


def side_of(lines, known, returns):
    """The report that these lines are about."""
    models, skipped, findings, error = [], [], [], None
    for line in lines:
        target, _, rest = line.partition(" ")
        if target == "error":
            error = rest
        elif target == "finding":
            code, _, what = rest.split()
            findings.append(finding(code, what, what.partition("::")[0]))
        elif rest.startswith("needs "):
            skipped.append((target, needs(rest.removeprefix("needs "))))
        elif target != "cannot":
            models.append(model_of(target, *rest.split(" | "), known=known))
    return report(
        *models,
        skipped=tuple(skipped),
        findings=tuple(findings),
        error=error,
        containment=Containment(returns=returns),
    )


def model_of(target, modules, *others, known):
    name = target.partition("::")[2]
    call, more, budgets = name if "(" in name else f"{name}()", {}, []
    for text in others:
        if text.startswith("budget "):
            budgets.append(budget_of(text))
        elif found := re.fullmatch(r"has (\S+::(\w+)) in (\w+)", text):
            more["inside"] = (InsideRow(found[1], f"{found[2]}()", (found[3],), 60),)
        elif text.startswith("has types "):
            more["types"] = tuple(text.split()[2:])
        elif text.startswith("of type "):
            more["type"] = text.split()[2]
        elif text.startswith("hides "):
            more["hidden"] = (Hidden("blocks", int(text.split()[1]), "list"),)
        elif text.startswith("built as "):
            call = text.removeprefix("built as ")
    leaves = known.get(modules, modules.encode()).decode().strip().replace(", ", "\n")
    found = failed() if modules == "failed" else measured(leaves, call, **more)
    return model(target, found, *budgets, top_level="a part" not in others)


def budget_of(text):
    selector, declared, count, path, line, broken = BUDGET.fullmatch(text).groups()
    at = {"position": Position(path, int(line), 1), "origin": "config"} if path else {}
    count = count and int(count)
    return budget(declared, count, selector=selector or "", ok=not broken, **at)


# --- modules --------------------------------------------------------------------------------------


def test_the_parameters_of_the_root_itself():
    before, after = rows("fc Linear 3", own=5), rows("fc Linear 3", own=7)
    assert told(before, after) == ["changed : 5 → 7"]


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


# --- models ---------------------------------------------------------------------------------------


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
