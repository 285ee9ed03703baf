"""The verdicts: every bound to the parameter, and messages that say what to do."""

import re

import pytest
from case_books import cases_beside
from diff_samples import rows
from msgspec.structs import replace

from nparam_lint.count.measured import DeviceResult, Hidden, Measured, NotMeasured
from nparam_lint.gate.judge import heaviest, judge, judge_devices, judge_hidden, judge_not_measured
from nparam_lint.ground.findings import Finding
from nparam_lint.ground.notation import parse_selector, parse_target
from nparam_lint.ground.notation.budget import Budget
from nparam_lint.ground.notation.grammar import parse_tolerance, parse_value
from nparam_lint.ground.values import Position

HERE = Position("net.py", 7, 13)
TARGET = "net.py::Net"


def model(modules, names=None, measured=None, **more):
    """A measured model: its modules, or how many parameters it has. `names` are what a formula may
    use; `more` belongs to its root."""
    root, *others = rows(modules if isinstance(modules, str) else f"a Conv2d {modules}")
    names = names or {}
    return Measured(
        "Net()",
        (replace(root, **more), *others),
        names=names,
        known_names=tuple(names),
        **measured or {},
    )


def budget(text, selector="", *, tolerance=None, **more):
    chosen = parse_selector(selector)
    return Budget(
        parse_target(TARGET),
        chosen,
        parse_value(text, chosen.metric),
        text,
        HERE,
        tolerance=tolerance and parse_tolerance(tolerance),
        **{"origin": "docstring", **more},
    )


def verdict(text, measured, selector="", configured=None, tolerance=None, **more):
    configured = configured and parse_tolerance(configured)
    declared = budget(text, selector, tolerance=tolerance, **more)
    return judge(declared, measured, configured, update=command)


def command(target, _):
    return f"nparam-lint update {target}"


def holds(text, total, metric="total", configured=None, own=None):
    measured = model(total, {"width": 100}, bytes=total)
    (result,), findings = verdict(text, measured, metric, configured, tolerance=own)
    assert result.ok is (not findings)
    return result.ok


# --- the books --------------------------------------------------------------------------------


@pytest.mark.parametrize(("book", "case"), cases_beside(__file__, "verdicts"))
def test_what_is_said_of_a_budget(book, case, request):
    if book.path.stem == "devices":
        said = devices(case.asked.split("\n"))
    else:
        is_bound = book.path.stem == "bounds"
        said = bounds(case.asked) if is_bound else verdicts(case.asked, case.files)
    book.check(case.number, said, update=request.config.getoption("update"))


def bounds(asked):
    text, *tolerances = asked.split(", ")
    given = dict(tolerance.split() for tolerance in tolerances)
    metric = "bytes" if text.endswith(" in bytes") else "total"
    text, more = text.removesuffix(" in bytes"), (given.get("configured"), given.get("own"))
    (result,), _ = verdict(text, model(1, {"width": 100}), metric, *more)
    low, high = result.low, result.high
    assert holds(text, low, metric, *more)
    assert not (low and holds(text, low - 1, metric, *more))
    assert holds(text, 10**30 if high is None else high, metric, *more)
    assert high is None or not holds(text, high + 1, metric, *more)
    return f"{low:_}.." + ("" if high is None else f"{high:_}")


def verdicts(asked, files):
    asked, _, total = asked.partition(" of ")
    selector, text = re.fullmatch(r"(?:\[(.*)\] )?(.*)", asked).groups()
    text_of = {name: content.decode().strip() for name, content in files.items()}
    names = dict(pair.split("=") for pair in text_of["names"].split(", ") if pair)
    measured = model(
        int(total) if total else text_of["model"],
        {name: int(value) for name, value in names.items()},
    )
    results, findings = verdict(text, measured, selector or "")
    said = [f"{one.module or 'Net'} holds: {one.actual:,}" for one in results if one.ok]
    for one in findings:
        assert (one.severity, one.position, one.target) == ("error", HERE, TARGET)
        usual = f"if the change is intended: {command(TARGET, None)}"
        said.append(f"{one.code} {one.message}")
        said += [f"  {line}" for line in one.detail if line != usual]
    return "\n".join(said)


def devices(lines):
    results, hidden, differing = {}, [], []
    for line in lines:
        name, _, rest = line.partition(" ")
        if name == "differing":
            differing += [f"{one}: [4] float32, then [5] float32" for one in rest.split()]
        elif rest.startswith("hides "):
            count, what, at = re.fullmatch(r"hides (\d+): (.*?)(?: at (.*))?", rest).groups()
            hidden.append(Hidden(name.strip("-"), int(count), what, at))
        elif rest:
            found = re.fullmatch(r"(\w+)(?: (\d+)(?:, (\d+) bytes)?)?(?:: (.*))?", rest)
            count, memory = (number and int(number) for number in found.groups()[1:3])
            results[name] = DeviceResult(found[1], count, found[4], memory)
    if differing:
        last = [*results][-1]
        results[last] = replace(results[last], differences=tuple(differing))
    measured = model(1_000, measured={"devices": results, "hidden": tuple(hidden)})
    findings = judge_devices(measured, HERE, TARGET, "required" in lines)
    said = []
    for one in [*findings, *judge_hidden(measured, HERE, TARGET)]:
        assert one.target == TARGET
        place = f"{one.position}:{one.position.column}"
        said.append(f"{one.code} {one.severity} at {place}: {one.message}")
        said += [f"  {line}" for line in one.detail]
    return "\n".join(said) or "nothing"


# --- beyond floats ----------------------------------------------------------------------------


def test_integers_beyond_every_float_are_told_apart():
    huge = 2**70 + 1
    assert float(huge) == float(huge - 1)  # the trap
    assert holds("1_180_591_620_717_411_303_425", huge)
    assert not holds("1_180_591_620_717_411_303_425", huge - 1)
    (result,), (finding,) = verdict("1_180_591_620_717_411_303_425", model(huge - 1))
    assert result.value == huge
    assert "1,180,591,620,717,411,303,424" in finding.message
    assert finding.message.endswith(": -1 (<0.01 %)")
    names = {"width": 2**35}
    (result,), _ = verdict("width**2 + 1", model(huge, names=names))
    assert result.ok
    (result,), _ = verdict("width**2 + 1", model(huge + 1, names=names))
    assert not result.ok


def test_active_parameters_are_counted_where_the_routing_is_known_and_never_guessed():
    (result,), _ = verdict("700", model(1_000, active=700), "active")
    assert (result.actual, result.ok) == (700, True)
    unknown = model(1_000, measured={"no_routing": "nothing says how many experts a token uses"})
    results, (finding,) = verdict("<= 1k", unknown, "active")
    assert (results, finding.code, finding.severity) == ([], "NPL002", "error")
    assert finding.message.endswith("nothing says how many experts a token uses")
    lines = ("[arguments]", '"net.py::Net" = { experts_per_token = … }')
    _, (told,) = judge(budget("1k", "active"), unknown, None, lines)
    assert told.detail == (*finding.detail, *lines)


# --- what a finding says --------------------------------------------------------------------


def test_the_finding_shows_declared_counted_difference_and_the_heaviest_modules():
    sizes = (5, 40, 0, 30, 1, 20, 9)
    parts = (f"body.{i} Linear {size} @net.py:{10 + i}" for i, size in enumerate(sizes))
    measured = model("\n".join(parts))
    (result,), (finding,) = verdict("100", measured, reason="the chip holds 100")
    assert heaviest(measured.modules, "total") == [
        "heaviest modules:",
        "             40   38.1 %  body.1 (Linear)  net.py:11",
        "             30   28.6 %  body.3 (Linear)  net.py:13",
        "             20   19.0 %  body.5 (Linear)  net.py:15",
        "              9    8.6 %  body.6 (Linear)  net.py:16",
        "              5    4.8 %  body.0 (Linear)  net.py:10",
    ]
    assert finding == Finding(
        "NPL001",
        "error",
        HERE,
        "Net has 105 parameters, declared 100: +5 (+5.00 %)",
        TARGET,
        (
            "reason for this budget: the chip holds 100",
            "if the change is intended: nparam-lint update net.py::Net",
        ),
        result,
    )
    assert (result.drift, result.value, result.reason) == (0.05, 100, "the chip holds 100")
    assert (result.position, result.origin, result.declared) == (HERE, "docstring", "100")


def test_a_tied_head_beside_the_body_does_not_hide_what_is_in_the_body():
    table = "body.table Embedding 30\nbody.blocks Linear 20"
    measured = model(f"{table}\nhead Linear 0 also=30 tied=weight = body.table.weight")
    assert heaviest(measured.modules, "total")[1:3] == [
        "             30   60.0 %  body.table (Embedding)",
        "             20   40.0 %  body.blocks (Linear)",
    ]


@pytest.mark.parametrize(
    ("text", "total", "value", "drift"),
    [("1.0k", 1_050, 1_000, 0.05), ("100..200", 150, 150, 0.0), ("0", 3, 0, 1.0)],
)
def test_drift_is_measured_from_the_declared_number_also_where_it_holds(text, total, value, drift):
    (result,), _ = verdict(text, model(total))
    assert (result.ok, result.value, result.drift) == (text != "0", value, drift)


# --- devices, hidden parameters, failures ---------------------------------------------------


def test_what_was_not_measured_is_told_with_all_that_is_known():
    failure = NotMeasured(
        "NPL005",
        "Net() died: signal 9",
        cause="died",
        hint="raise memory",
        source="net.py:12",
        output="\n".join(f"line {i}" for i in range(9)),
        notes=("net.py was read in part", "signal 9"),
    )
    finding = judge_not_measured(failure, HERE, TARGET, ["and another hint"])
    assert (finding.code, finding.severity, finding.position) == ("NPL005", "error", HERE)
    assert finding.message == "Net() died: signal 9"
    assert finding.detail == (
        "at net.py:12",
        *(f"| line {i}" for i in range(3, 9)),
        "net.py was read in part",
        "raise memory",
        "and another hint",
    )
