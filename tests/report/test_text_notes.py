"""The lines beside verdicts and tables: names cut to fit, what was not counted, the last lines."""

import re

import pytest
from msgspec.structs import replace
from render_samples import render_show, rendered
from report_samples import (
    ENVIRONMENT,
    MISSTATED,
    broken_finding,
    broken_net,
    budget,
    glob_gpt,
    measured,
    model,
    needs,
    net,
    report,
    rows,
    tiny,
    unmeasured,
)

from nparam_lint.count.measured import DeviceResult, NotMeasured
from nparam_lint.gate.report import StatedOutcome
from nparam_lint.ground.findings import Finding
from nparam_lint.ground.values import Position
from nparam_lint.report import Options
from nparam_lint.report.check_document import check_document
from nparam_lint.report.style import elide_apart, short_reason


def text(value, **options) -> str:
    return rendered("text", value, Options(**options))


def counted(target: str, total: int = 10, **more):
    """The total is all that there is to say of its modules: it has no table."""
    return model(target, measured(rows([("", "Net", total)])), **more)


def declared(text_: str, actual: int, selector: str = "", line: int = 1, low: int | None = None):
    low = actual if low is None else low
    at = Position("a.py", line, 5)
    return budget(actual, low, low, text_, selector, at=at)


def not_counted(code, reason, cause, package=None):
    return NotMeasured(code, reason, cause=cause, **({"package": package} if package else {}))


def lacks(package, reason="cannot be imported"):
    return not_counted("NPL003", reason, "package_missing", package)


NO_TIMM = "ModuleNotFoundError: No module named 'timm.data'"
LACKS_X = "C() raised TypeError: B.__init__() missing 1 required argument: 'x'"
NAME_X = "D() raised NameError: name 'x' is not defined (No module named 'timm')"
NEGATIVE = "F() raised ValueError: depth must be positive, and a multiple of eight"
SKIPPED = (
    ("zoo/a.py::A", needs("width", "depth")),
    ("zoo/b.py::Bottleneck", replace(needs("planes"), reason="Bottleneck needs planes")),
    ("zoo/a.py::C", not_counted("NPL004", LACKS_X, "arguments_missing")),
    ("zoo/a.py::D", lacks("timm", NAME_X)),
    ("zoo/b.py::E", lacks("timm", f"cannot import zoo/b.py: {NO_TIMM}")),
    ("zoo/b.py::F", not_counted("NPL004", NEGATIVE, "raised")),
    ("zoo/b.py::G", not_counted("NPL005", "the worker did not respond for 240 s", "timed_out")),
)
DECLARED = counted("a.py::A", declared=True)
FORMULAS = (
    declared("40_224", 40_224, line=1),
    declared("vocabulary*width + " + " + ".join(f"layer_{i}*width" for i in range(9)), 40_224),
    declared("width", 64, "ih", line=3),
    declared("4*n_heads*d_head*d_model + 3*n_heads*d_head + d_model", 12_704, "layers.*", line=4),
)
TWICE = (declared("10", 10), declared("width*3", 10, line=2, low=9))
ZERO = counted("a.py::Act", 0, budgets=(declared("0", 0),), declared=True)
UNCHECKED = replace(unmeasured(), budgets=(budget(None, None, None, "1M"),))


def said_twice():
    """The same heaviest modules below several findings about a model, and about another."""
    heavy = ("heaviest modules:", "    100,480  hidden", "declare 1")
    first, second = (replace(broken_finding(), message=m, detail=heavy) for m in ("one", "two"))
    second = replace(second, detail=(*heavy[:2], "declare 2"), position=Position("net.py", 13, 5))
    return first, second, replace(second, target="net.py::Other", position=Position("net.py", 14))


def proposed():
    """Of these, the largest that stands for itself is proposed."""
    models = [
        counted("a.py::Act", 0),
        counted("a.py::Small", 10),
        replace(counted("a.py::Part", 900), top_level=False),
        counted("a.py::Large(width=9)", 500),
        counted("timm::create_model('resnet50')", 10_000),
    ]
    models[-1] = replace(models[-1], position=Position("pyproject.toml", 9))
    return models


def on_devices(**devices):
    return report(model("net.py::Net", measured(net(), devices=devices)))


def whole_pages():
    variants = [
        counted("a.py::Net", 40_224, declared=True),
        counted("timm::create_model('resnet50')", 25_557_032),
        counted("a.py::Net(d_model=48, d_ff=192)", 87_984),
    ]
    name = "a.py::Net(width=64, layers=12, heads=4, dropout=0.1)"
    formulas = counted(name, 40_224, budgets=FORMULAS, declared=True)
    twice = counted("a.py::Net", budgets=TWICE, declared=True)
    empty = report(counted("a.py::Act", 0), counted("a.py::Drop", 0), counted("a.py::Net"))
    uncountable = (SKIPPED[3], ("a.py::X", lacks("einops")))
    malformed = Finding("NPL002", "error", Position("a.py", 3, 1), "what is ~?", "", ("x",))
    no_torch = report(
        unmeasured(),
        findings=(malformed,),
        skipped=SKIPPED[:2],
        environment=replace(ENVIRONMENT, torch=None, devices=()),
        error="no model can be built with .venv/bin/python\n  it says: no torch",
    )
    alike = tuple(replace(broken_finding(), message=f"Net[h.{i}] has {i}") for i in range(12))
    absent = DeviceResult("skipped", None, "no CUDA device", is_absent=True)
    on_meta = on_devices(meta=DeviceResult("measured"), cuda=absent)
    holds = declared("784*width", 100_352, line=3)
    edited = replace(broken_finding(), result=broken_net().budgets[0])
    edited = replace(broken_net(), findings=(edited,))
    return {
        "variants of a model stand together": text(report(*variants)),
        "a formula stands where it fits": text(report(formulas)),
        "a second budget of the total is broken": text(report(twice)),
        "two models without parameters": text(empty),
        "they are listed when asked": text(empty, verbose=1),
        "one model without parameters": text(report(counted("a.py::Act", 0))),
        "a declared count of none": text(report(ZERO)),
        "what was not counted, by kind": text(report(skipped=SKIPPED, environment=None)),
        "it is listed when asked": text(report(skipped=SKIPPED), verbose=1),
        # Whoever declares budgets knows the others.
        "it is counted beside a budget": text(report(DECLARED, skipped=SKIPPED)),
        "packages are missing": text(report(skipped=uncountable)),
        "packages are missing beside a budget": text(report(DECLARED, skipped=uncountable)),
        "the largest is proposed": text(report(*proposed())),
        "nothing to propose": text(report(proposed()[0])),
        "a part is proposed": text(report(proposed()[2])),
        "a project without a model": text(report(files=12), place="src"),
        "one file without a model": text(report(files=1), width=120),
        "a project without a file": text(report(files=0)),
        "a folder without a file": text(report(files=0), place="docs"),
        "no budget": text(report(files=3), declared_only=True),
        "an error leaves one line of the models": text(no_torch),
        "what was said of a model is not said again": text(
            report(findings=said_twice()), quiet=True
        ),
        "of a budget that many modules break": text(report(findings=alike)),
        "an absent device": text(on_meta, width=100),
        "it is said where more is wanted": text(on_meta, width=100, verbose=1),
        "it is said where nothing else is": text(replace(on_meta, environment=None)),
        "it is said of a model": render_show(on_meta.models[0], Options()),
        "a device did not say": text(
            on_devices(
                meta=DeviceResult("failed", None, "boom"),
                cuda=DeviceResult("skipped", None, "too big"),
            )
        ),
        "one model that an edit broke": render_show(
            edited, Options(), check="nparam-lint {}".format
        ),
        "one model that is broken, and holds": render_show(
            replace(broken_net(), budgets=(*broken_net().budgets, holds)), Options()
        ),
        "one model that is broken, quiet": render_show(broken_net(), Options(quiet=True)),
        "one model that cannot be built": render_show(unmeasured(), Options()),
    }


BOOM = NotMeasured("NPL004", "boom", cause="raised")
# As the worker words it, without one of the words that a search for "time" would look for.
LATE = NotMeasured("NPL005", "a took longer than 60 s while it was built", cause="timed_out")
LARGE = NotMeasured("NPL005", "Net() needs a lot", cause="out_of_memory")


FAILURES = [
    *([needs("x")], [needs("x"), needs("y")], [lacks("a")], [BOOM, BOOM], [LATE], [LARGE]),
    [*map(lacks, "abcde"), BOOM],
]


GLOB = tuple(replace(declared("10", 10 + i // 2, "h.*", low=10), module=f"h.{i}") for i in range(3))
OFF = replace(broken_finding(), position=GLOB[0].position)
RIGHT = StatedOutcome(Position("a.md"), None, "right", "certain")
CACHED = replace(DECLARED, measurement=replace(DECLARED.measurement, cached=True))


LAST_LINES = [
    report(glob_gpt()),
    report(broken_net()),
    report(counted("a.py::A", budgets=(declared("10", 10),), declared=True)),
    report(glob_gpt(), broken_net()),
    report(replace(broken_net(), findings=())),
    report(tiny(), besides=(MISSTATED,)),
    report(DECLARED, stated=(RIGHT,)),
    report(UNCHECKED),
    report(broken_net(), UNCHECKED),
    report(unmeasured()),
    report(broken_net(), unmeasured()),
    # A glob holds when it holds for each.
    report(counted("a.py::A", 31, budgets=GLOB, findings=(OFF,), declared=True)),
    report(CACHED),
]


def last_lines():
    """What is about a declared budget is told with it, and not once more: the last line and the
    headline count alike."""
    for value in LAST_LINES:
        last = text(value, quiet=True, width=120).rstrip("\n").rpartition("\n")[2]
        headline = check_document(value).page(Options()).headline
        for kind in ("error", "warning"):
            counts = [re.findall(rf"\d+ (?:other )?{kind}s?", line) for line in (headline, last)]
            assert counts[0] == counts[1]
        yield f"{headline}\n{last}\n"


# --- names and reasons --------------------------------------------------------------------------


@pytest.mark.parametrize("width", [24, 30, 40])
def test_names_that_are_cut_keep_what_differs(width):
    names = [
        'StackTransformer(d_model=20, d_ff=80, layers="20.superposition-8.1")',
        'StackTransformer(d_model=20, d_ff=80, layers="20.superposition-16.1")',
        'StackTransformer(d_model=24, d_ff=96, layers="24.superposition-16.1")',
        "StackTransformer(d_model=20, d_ff=80, dropout=0.125, layers=12, heads=4, tied=True)",
        "StackTransformer(d_model=20, d_ff=80, dropout=0.250, layers=12, heads=4, tied=True)",
        "StackTransformer",
    ]
    cut = elide_apart([*names, names[0]], width)
    assert list(cut) == names
    assert all(len(short) <= width for short in cut.values())
    assert len(set(cut.values())) == len(names)
    assert cut["StackTransformer"] == "StackTransformer"


def test_a_name_is_cut_at_its_end_where_that_tells_it():
    names = ["Net(width=1024, depth=3)", "Net(depth=9)"]
    assert elide_apart(names, 16)[names[0]] == "Net(width=1024,…"
    assert elide_apart(["abcdef"], 1) == {"abcdef": "…"}
    assert elide_apart(["abcdef"], 0) == {"abcdef": "…"}
    assert elide_apart([], 5) == {}


REASONS = {
    "Net(3) raised ValueError: no": "Net(3)",
    "Net needs width": "Net",
    "Net/train.py:60 builds it": "Net",
    "a.py:9: net_l1() raised b.py:3: OSError: no": "Net",
    "a.py:2: NameError: name 'pad' is not defined "
    "('loader' in data.py: set at line 11 by work that nparam-lint does not run)": "Net",
    "cannot import a.py: raised eyebrows": "Net",
}


def test_whole_lines(expected):
    """One kind of cause is not counted twice; a reason does not repeat the name beside it."""
    skipped = [[(f"a.py::A{i}", one) for i, one in enumerate(failures)] for failures in FAILURES]
    lines = {
        "what was not counted": "".join(
            text(report(skipped=tuple(some))).partition("\n")[0] + "\n" for some in skipped
        ),
        "headlines and last lines": "".join(last_lines()),
        "reasons": "".join(f"{short_reason(reason, REASONS[reason])}\n" for reason in REASONS),
    }
    expected(whole_pages() | lines)
