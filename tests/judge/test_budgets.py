"""The verdicts: every bound to the parameter, and messages that say what to do."""

import pytest
from msgspec.structs import replace

from nparam_lint.count.measured import DeviceResult, Hidden, Measured, ModuleRow, NotMeasured
from nparam_lint.gate.judge import heaviest, judge, judge_devices, judge_hidden, judge_not_measured
from nparam_lint.ground.findings import Finding
from nparam_lint.ground.notation import parse_selector, parse_target
from nparam_lint.ground.notation.budget import Budget
from nparam_lint.ground.notation.grammar import parse_tolerance, parse_value
from nparam_lint.ground.values import Position

HERE = Position("net.py", 7, 13)
TARGET = "net.py::Net"


def row(path, total, *, kind="Linear", trainable=None, buffers=0, line=None, **more):
    trainable = total if trainable is None else trainable
    return ModuleRow(
        path=path,
        type=kind,
        total=total,
        trainable=trainable,
        frozen=total - trainable,
        buffers=buffers,
        bytes=4 * (total + buffers),
        source=f"net.py:{line}" if line else None,
        **{"own": 0, **more},
    )


def model(total, *rows, names=None, measured=None, **more):
    """A measured model; `names` are what a formula may use. `more` belongs to its root."""
    root = row("", total, kind="Net", **more)
    return Measured(
        "Net()",
        (root, *rows),
        names=names or {},
        known_names=tuple(names or ()),
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


def verdict(text, measured, selector="", configured=None, **more):
    configured = configured and parse_tolerance(configured)
    return judge(budget(text, selector, **more), measured, configured, update=command)


def command(target, _):
    return f"nparam-lint update {target}"


def holds(text, total):
    (result,), findings = verdict(text, model(total, names={"width": 100}))
    assert result.ok is (not findings)
    return result.ok


# --- the edges of every form ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("1_000", 1_000, 1_000),
        ("1,000", 1_000, 1_000),
        ("124_475_904", 124_475_904, 124_475_904),
        ("1k", 500, 1_999),
        ("1.0k", 950, 1_099),
        ("86.6M", 86_550_000, 86_699_999),
        ("28M", 27_500_000, 28_999_999),
        ("1.24B", 1_235_000_000, 1_249_999_999),
        ("671G", 670_500_000_000, 671_999_999_999),
        ("1e6", 500_000, 1_999_999),
        ("1.5e6", 1_450_000, 1_599_999),
        ("7.1M ± 2%", 6_958_000, 7_242_000),
        ("7.1M +/- 50k", 7_050_000, 7_150_000),
        ("1_000 ± 3", 997, 1_003),
        ("1_001 ± 0.1%", 1_000, 1_002),
        ("<= 25k", 0, 25_000),
        ("≤ 25k", 0, 25_000),
        ("< 25k", 0, 24_999),
        (">= 25k", 25_000, None),
        ("> 25k", 25_001, None),
        ("26.5M..27.5M", 26_500_000, 27_500_000),
        ("3..3", 3, 3),
        ("~58k", 55_100, 60_900),
        ("12*width", 1_200, 1_200),
        ("12*width + 4 if width > 99 else 7", 1_204, 1_204),
        ("12*width ± 1%", 1_188, 1_212),
        ("<= 3*width", 0, 300),
        ("width..2*width", 100, 200),
    ],
)
def test_bounds_hold_to_the_parameter(text, low, high):
    assert holds(text, low)
    assert not (low and holds(text, low - 1))
    far = 10**30 if high is None else high
    assert holds(text, far)
    assert high is None or not holds(text, high + 1)
    (result,), _ = verdict(text, model(low, names={"width": 100}))
    assert (result.low, result.high, result.actual, result.ok) == (low, high, low, True)


@pytest.mark.parametrize(
    ("text", "low", "high"), [("50MB", 49_500_000, 50_999_999), ("<= 1KiB", 0, 1_024)]
)
def test_bounds_of_bytes(text, low, high):
    def ok(size):
        measured = model(1)
        root = replace(measured.modules[0], bytes=size)
        (result,), _ = verdict(text, replace(measured, modules=(root,)), "bytes")
        return result.ok

    assert ok(low)
    assert ok(high)
    assert not ok(high + 1)
    assert not (low and ok(low - 1))


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


# --- tolerances -----------------------------------------------------------------------------


def edges(text, low, high, configured, own=None):
    """Whether a budget holds just below its bounds, at them, and just above."""

    def ok(total):
        measured = model(total, names={"width": 100})
        (result,), _ = verdict(text, measured, "", configured, tolerance=own)
        return result.ok

    return [ok(low - 1), ok(low), ok(high), ok(high + 1)]


INSIDE = [False, True, True, False]


def test_a_configured_tolerance_replaces_the_implied_one_only():
    assert edges("86.6M", 85_734_000, 87_466_000, "1%") == INSIDE
    assert edges("86.6M", 86_600_000, 86_600_000, "0%") == INSIDE
    assert edges("86.6M", 86_599_000, 86_601_000, "1k") == INSIDE
    assert edges("~50_000", 49_500, 50_500, "1%") == INSIDE
    assert edges("1_000", 1_000, 1_000, "10%") == INSIDE
    assert edges("12*width", 1_200, 1_200, "10%") == INSIDE
    assert edges(">= 25k", 25_000, 25_000, "10%") == [False, True, True, True]
    assert edges("1_000..2_000", 1_000, 2_000, "10%") == INSIDE
    assert edges("1_000 ± 2%", 980, 1_020, "10%") == INSIDE


def test_a_budgets_own_tolerance_outranks_the_configured_one_and_holds_for_exact_values():
    assert edges("86.6M", 86_500_000, 86_700_000, "5%", "100k") == INSIDE
    assert edges("1_000", 900, 1_100, "0.1%", "10%") == INSIDE
    assert edges("1_000", 900, 1_100, None, "10%") == INSIDE
    assert edges("12*width", 1_195, 1_205, "0.1%", "5") == INSIDE
    assert edges("1_000 ± 2%", 980, 1_020, "0.1%", "10%") == INSIDE


# --- which count ----------------------------------------------------------------------------

MIXED = model(
    1_000,
    row("encoder", 600, trainable=500, embedding=200, buffers=7, kind="Encoder", line=12),
    row("encoder.table", 200, own=200, trainable=200, embedding=200, kind="Embedding", line=3),
    row("encoder.layer", 400, own=400, trainable=300, buffers=7, line=4),
    row("decoder", 400, own=400, kind="Linear", line=13),
    trainable=900,
    embedding=200,
    buffers=7,
)


@pytest.mark.parametrize(
    ("selector", "count", "words"),
    [
        ("", 1_000, "parameters"),
        ("total", 1_000, "parameters"),
        ("trainable", 900, "trainable parameters"),
        ("frozen", 100, "frozen parameters"),
        ("buffers", 7, "buffer elements"),
        ("bytes", 4_028, "bytes"),
        ("non_embedding", 800, "non-embedding parameters"),
        ("encoder", 600, "parameters"),
        ("encoder, trainable", 500, "trainable parameters"),
        ("frozen, encoder", 100, "frozen parameters"),
        ("encoder, buffers", 7, "buffer elements"),
        ("encoder, bytes", 2_428, "bytes"),
        ("encoder, non_embedding", 400, "non-embedding parameters"),
        ("encoder.table, non_embedding", 0, "non-embedding parameters"),
        ("decoder, frozen", 0, "frozen parameters"),
    ],
)
def test_a_selector_chooses_what_is_counted(selector, count, words):
    module = parse_selector(selector).module
    (result,), findings = verdict(str(count), MIXED, selector)
    assert (result.actual, result.ok, findings) == (count, True, [])
    assert result.module == (module or None)
    (result,), (finding,) = verdict(str(count + 1), MIXED, selector)
    assert (finding.code, result.ok, result.actual) == ("NPL001", False, count)
    name = f"Net[{module}]" if module else "Net"
    said = f"{name} has {count:,} {words}, declared {count + 1:,}: -1"
    assert finding.message.partition(" (")[0] == said


def test_a_glob_holds_for_each_module_that_it_matches():
    blocks = [row(f"h.{i}", 10 + (i == 2), own=10, line=20 + i) for i in range(4)]
    measured = model(41, row("h", 41, kind="ModuleList"), *blocks)
    results, findings = verdict("10", measured, "h.*")
    assert [(r.module, r.actual, r.ok) for r in results] == [
        ("h.0", 10, True),
        ("h.1", 10, True),
        ("h.2", 11, False),
        ("h.3", 10, True),
    ]
    (finding,) = findings
    assert finding.message == "Net[h.2] has 11 parameters, declared 10: +1 (+10.00 %)"
    assert "h.2 is made at net.py:22" in finding.detail
    results, findings = verdict("11", measured, "h.*")
    assert [r.ok for r in results] == [False, False, True, False]
    (finding,) = findings  # blocks that drift alike are told together
    assert finding.message == (
        "each of Net[h.0 … h.3] (3×) has 10 parameters, declared 11: -1 (-9.09 %)"
    )
    assert "h.0 is made at net.py:20" in finding.detail
    results, findings = verdict("12", measured, "h.*")
    assert [f.message.split(":")[0] for f in findings] == [
        "each of Net[h.0 … h.3] (3×) has 10 parameters, declared 12",
        "Net[h.2] has 11 parameters, declared 12",
    ]


@pytest.mark.parametrize(
    ("selector", "hint"),
    [
        ("encodr", "did you mean encoder?"),
        ("encoder.tabel", "did you mean encoder.table?"),
        ("encoder.layers, trainable", "did you mean encoder.layer?"),
        ("trainabel", "did you mean trainable?"),
        ("zzz.*", "its modules: encoder, decoder"),
    ],
)
def test_a_selector_that_matches_nothing_is_an_error_with_a_suggestion(selector, hint):
    results, (finding,) = verdict("<= 10M", MIXED, selector)
    assert results == []
    assert (finding.code, finding.severity, finding.position) == ("NPL007", "error", HERE)
    module = parse_selector(selector).module
    assert finding.message == f"no module of Net() matches {module!r}; {hint}"


def test_the_root_is_no_module_that_a_glob_may_match():
    for glob in ("*", "**"):
        (result,), _ = verdict("600", model(1_000, row("encoder", 600)), glob)
        assert result.module == "encoder"


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


# --- formulas -------------------------------------------------------------------------------

UNKNOWN = "Net() has no argument, config field or integer attribute '{}'; {}"


def test_a_formula_that_is_broken_shows_its_value_and_its_names():
    names = {"width": 10, "depth": 3}
    _, (finding,) = verdict("depth*(width**2 + width)", model(331, names=names))
    assert finding.message == (
        "Net has 331 parameters, declared depth*(width**2 + width) = 330: +1 (+0.30 %)"
    )
    assert "with depth=3, width=10" in finding.detail


@pytest.mark.parametrize(
    ("text", "names", "said"),
    [
        ("width / 3", {"width": 100}, "`width / 3` gives 100/3, not a whole number (width=100)"),
        ("width - 101", {"width": 100}, "`width - 101` gives -1, below zero (width=100)"),
        ("1 // (width - 100)", {"width": 100}, "`1 // (width - 100)` divides by zero (width=100)"),
        ("width..99", {"width": 100}, "`width..99` gives 100..99, an empty range (width=100)"),
        ("hiden * 2", {"hidden": 5}, UNKNOWN.format("hiden", "did you mean hidden?")),
        ("zzz", {"h": 5, "d": 2}, UNKNOWN.format("zzz", "a formula may use: h, d")),
        ("zzz", {}, UNKNOWN.format("zzz", "a formula may use: nothing, it takes no arguments")),
    ],
)
def test_a_formula_without_a_whole_value_is_an_error_never_rounded(text, names, said):
    results, (finding,) = verdict(text, model(33, names=names))
    assert (results, finding.code, finding.severity) == ([], "NPL002", "error")
    assert finding.message == said


# --- what a finding says --------------------------------------------------------------------


def test_the_finding_shows_declared_counted_difference_and_the_heaviest_modules():
    measured = model(
        105,
        row("body", 105, kind="Sequential", line=9),
        *[
            row(f"body.{i}", size, own=size, line=10 + i)
            for i, size in enumerate((5, 40, 0, 30, 1, 20, 9))
        ],
    )
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
    measured = model(
        50,
        row("body", 50, kind="ModuleDict"),
        row("body.table", 30, kind="Embedding", own=30),
        row("body.blocks", 20, own=20),
        row("head", 30, own=0, tied=("weight = body.table.weight",)),
    )
    assert heaviest(measured.modules, "total")[1:3] == [
        "             30   60.0 %  body.table (Embedding)",
        "             20   40.0 %  body.blocks (Linear)",
    ]


@pytest.mark.parametrize(
    ("text", "total", "end"),
    [
        ("86.6M", 86_700_000, "declared 86.6M (86,550,000 … 86,699,999): +100,000 (+0.12 %)"),
        ("<= 25k", 26_000, "declared <= 25k: +1,000 (+4.00 %)"),
        (">= 25k", 24_999, "declared >= 25k: -1 (<0.01 %)"),
        ("100..200", 50, "declared 100..200 (100 … 200): -50 (-50.00 %)"),
        ("100..200", 300, "declared 100..200 (100 … 200): +100 (+50.00 %)"),
        ("0", 12, "declared 0: +12"),
        ("1", 1_000, "declared 1: +999 (1,000×)"),
    ],
)
def test_the_difference_is_measured_from_what_was_declared(text, total, end):
    _, (finding,) = verdict(text, model(total))
    assert finding.message == f"Net has {total:,} parameters, {end}"


@pytest.mark.parametrize(
    ("text", "total", "value", "drift"),
    [("1.0k", 1_050, 1_000, 0.05), ("100..200", 150, 150, 0.0), ("0", 3, 0, 1.0)],
)
def test_drift_is_measured_from_the_declared_number_also_where_it_holds(text, total, value, drift):
    (result,), _ = verdict(text, model(total))
    assert (result.ok, result.value, result.drift) == (text != "0", value, drift)


# --- devices, hidden parameters, failures ---------------------------------------------------


META = DeviceResult("measured", 1_000)
FAILED = DeviceResult("failed", reason="no kernel")
SKIPPED = DeviceResult("skipped", reason="no CUDA device")
DIFFERENCES = tuple(f"layer.{i}.weight: [4] float32, then [5] float32" for i in range(10))
NOT_BUILT = "Net() was not built on cuda, which is required: no CUDA device"


@pytest.mark.parametrize(
    ("devices", "required", "said"),
    [
        ({"meta": META, "cuda": DeviceResult("measured", 1_000, bytes=4_000)}, False, []),
        ({"meta": META, "cuda": META}, True, []),
        (
            {"meta": META, "cuda": DeviceResult("measured", 1_010, differences=DIFFERENCES)},
            False,
            [("Net() has different parameters on cuda: 10 differ", DIFFERENCES[:8])],
        ),
        (
            {"meta": META, "cpu": DeviceResult("measured", 1_001)},
            False,
            [("Net() has 1,000 parameters on meta and 1,001 on cpu", ())],
        ),
        (
            {"meta": META, "cuda:0": FAILED},
            False,
            [("Net() cannot be built on cuda:0: no kernel", ())],
        ),
        # What could not be built on plain meta was counted further down: that is no disagreement.
        ({"meta": FAILED, "cpu": META}, False, []),
        ({"meta": META, "cuda": SKIPPED}, False, []),
        ({"meta": META, "cuda": SKIPPED}, True, [(NOT_BUILT, ())]),
    ],
    ids="bytes agree differs total failed failed_on_meta skipped skipped_and_required".split(),
)
def test_what_devices_say(devices, required, said):
    findings = judge_devices(model(1_000, measured={"devices": devices}), HERE, TARGET, required)
    assert findings == [
        Finding("NPL006", "error", HERE, message, TARGET, detail) for message, detail in said
    ]


def test_hidden_parameters_are_a_warning_where_they_are_made():
    hidden = (
        Hidden("blocks", 60, "list", "net.py:42"),
        Hidden("", 5, "overridden parameters()", None),
    )
    first, second = judge_hidden(model(20, measured={"hidden": hidden}), HERE, TARGET)
    assert (first.code, first.severity, first.position) == (
        "NPL010",
        "warning",
        Position("net.py", 42, 1),
    )
    assert "keeps 60 parameters in self.blocks (a plain list)" in first.message
    assert "nn.ModuleList" in first.detail[0]
    assert second.position == HERE
    assert "5 parameters in overridden parameters()" in second.message


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
