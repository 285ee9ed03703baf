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
    elif book.path.stem == "folds":
        said = folded(*lines)
    elif book.path.stem == "moves":
        said = moved(lines)
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
    said = [f"error: {found.check.error}"] if found.check.error else []
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
    said += [f"only listed: {target}: {why.reason}" for target, why in found.check.skipped]
    said += [f"{one.code} about {one.target}" for one in found.check.findings]
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


def folded(before, after, *limits):
    limits = {word: int(number) for word, number in limits}
    changes = compared(*(sized(text) for _, text in (before, after)))
    return [
        f"{line.kind} {line.path_before + ' → ' if line.path_before != line.path else ''}"
        f"{line.path} {line.times} × {line.delta:+}"
        for line in lines_of(changes, limits.get("limit", 20), limits.get("depth"))
    ]


def sized(text):
    return gpt(*map(int, text.split()[1:])) if text.startswith("gpt ") else text.replace(", ", "\n")


# --- models ---------------------------------------------------------------------------------------


def test_drift_without_a_budget_is_a_finding_with_the_modules_and_the_remedy():
    sides = [model("a.py::Net", SIX)], [model("a.py::Net", SIX.replace("60", "90"))]
    found = diff(*sides, "5%", now="index")
    (only,) = found.check.findings
    assert only.message == (
        "Net has 240 parameters, 210 at main: +30 (+14.29 %); no budget declares it"
    )
    assert only.detail == (
        "changed most:",
        "            +30  part6",
        "if the change is intended, declare it: nparam: 240",
    )
    assert (only.severity, only.position) == ("error", Position("a.py", 10, 1))
    assert (found.base, found.now, found.tolerance, found.check.files) == (BASE, "index", "5%", 3)
    unreported = diff(*sides, "0", reported=lambda _: [])
    assert (unreported.check.findings, unreported.models[0].explained) == ((), False)


def moved(lines):
    """The root as it was, all files that moved, and the places."""
    sides = {word: rest.split() for word, rest in lines if word in ("-", "+")}
    renames = dict(zip(sides.get("-", ()), sides.get("+", ()), strict=True))
    inside = next((rest for word, rest in lines if word == "in"), "")
    moves = find_moves(renames, inside, lambda _: ("root", "there") in lines)
    said = [f"root: {moves.root_then or '.'}"]
    said += [f"{before} → {after}" for before, after in moves.files.items()]
    for word, rest in lines:
        if not rest:
            then, now = map(", ".join, moves.places(word))
            said.append(f"{word}: was {then}; is {now}")
    return said
