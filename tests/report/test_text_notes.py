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


def verdicts(value, **options) -> str:
    return text(value, tables=0, **options).split("\n\n")[0]


def counted(target: str, total: int = 10, **more):
    parts = [("a", "Linear", total - 4), ("b", "Linear", 4)] if total else [("a", "ReLU", 0)]
    return model(target, measured(rows(parts)), **more)


# --- verdicts ---------------------------------------------------------------------------------


def test_models_stand_below_their_file_and_variants_together():
    models = [
        counted("a.py::Net", 40_224, declared=True),
        counted("timm::create_model('resnet50')", 25_557_032),
        counted("a.py::Net(d_model=48, d_ff=192)", 87_984),
    ]
    assert (
        verdicts(report(*models))
        == """\
a.py
  – Net                            40,224  no budget
  – Net(d_model=48, d_ff=192)      87,984  no budget
timm
  – create_model('resnet50')   25,557,032  no budget"""
    )


def declared(text_: str, actual: int, selector: str = "", line: int = 1, low: int | None = None):
    low = actual if low is None else low
    at = Position("a.py", line, 5)
    return budget(actual, low, low, text_, selector, at=at)


def test_a_formula_stands_where_it_fits():
    block = "4*n_heads*d_head*d_model + 3*n_heads*d_head + d_model"
    budgets = (
        declared("40_224", 40_224, line=1),
        declared("vocabulary*width + " + " + ".join(f"layer_{i}*width" for i in range(9)), 40_224),
        declared("width", 64, "ih", line=3),
        declared(block, 12_704, "layers.*", line=4),
    )
    name = "a.py::Net(width=64, layers=12, heads=4, dropout=0.1)"
    assert (
        verdicts(report(counted(name, 40_224, budgets=budgets, declared=True)))
        == """\
a.py
  ✓ Net(width=64, layers=12, heads=4, dropout=0.1)  40,224  exact
    ✓ = vocabulary*width + layer_0*width + layer_1*width + layer_2*width + laye…
    ✓ [ih]                                              64  = width
    ✓ [layers.*]                                    12,704
        = 4*n_heads*d_head*d_model + 3*n_heads*d_head + d_model"""
    )


def test_a_second_budget_of_the_total_that_is_broken_says_its_drift():
    budgets = (declared("10", 10), declared("width*3", 10, line=2, low=9))
    page = verdicts(report(counted("a.py::Net", budgets=budgets, declared=True)))
    assert page.splitlines()[-1] == "    ✗ declared width*3  +1 (+11.11 %)"


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


def test_a_reason_does_not_repeat_the_name_beside_it():
    assert short_reason("Net(3) raised ValueError: no", "Net(3)") == "ValueError: no"
    assert short_reason("Net needs width", "Net") == "needs width"
    assert short_reason("Net/train.py:60 builds it", "Net") == "Net/train.py:60 builds it"
    assert short_reason("cannot import a.py: raised eyebrows", "Net") == (
        "cannot import a.py: raised eyebrows"
    )


# --- what has no parameters, and what was not counted ----------------------------------------


def test_models_without_parameters_are_counted_and_listed_when_asked():
    value = report(counted("a.py::Act", 0), counted("a.py::Drop", 0), counted("a.py::Net"))
    page = text(value)
    assert "Act" not in page
    assert "\n2 models have no parameters (-v lists them)\n" in page
    assert "  – Act    0  with its defaults\n" in text(value, verbose=1)
    assert "no parameters" not in text(value, verbose=1)
    zero = counted("a.py::Act", 0, budgets=(declared("0", 0),), declared=True)
    assert "  ✓ Act  0  exact" in text(report(zero))
    assert "1 model has no parameters (-v lists it)" in text(report(counted("a.py::Act", 0)))


def lacks(package, reason="cannot be imported", code="NPL003"):
    return NotMeasured(code, reason, cause="package_missing", package=package)


SKIPPED = (
    ("zoo/a.py::A", needs("width", "depth")),
    ("zoo/b.py::Bottleneck", replace(needs("planes"), reason="Bottleneck needs planes")),
    (
        "zoo/a.py::C",
        NotMeasured(
            "NPL004",
            "C() raised TypeError: B.__init__() missing 1 required argument: 'x'",
            cause="arguments_missing",
        ),
    ),
    (
        "zoo/a.py::D",
        lacks("timm", "D() raised NameError: name 'x' is not defined (No module named 'timm')"),
    ),
    (
        "zoo/b.py::E",
        lacks("timm", "cannot import zoo/b.py: ModuleNotFoundError: No module named 'timm.data'"),
    ),
    (
        "zoo/b.py::F",
        NotMeasured(
            "NPL004",
            "F() raised ValueError: depth must be positive, and a multiple of eight",
            cause="raised",
        ),
    ),
    (
        "zoo/b.py::G",
        NotMeasured("NPL005", "the worker did not respond for 240 s", cause="timed_out"),
    ),
)


def test_what_was_not_counted_is_told_by_kind_of_reason():
    assert text(report(skipped=SKIPPED, environment=None)) == (
        "7 models were not counted: 3 need arguments, 2 cannot import timm, 1 failed, 1\n"
        "ran out of time\n"
        "zoo/a.py\n"
        "  – A  needs width, depth\n"
        "  – C  TypeError: B.__init__() missing 1 required argument: 'x'\n"
        "  – D  cannot import timm\n"
        "zoo/b.py\n"
        "  – Bottleneck  needs planes\n"
        "  – E           cannot import timm\n"
        "  – F           ValueError: depth must be positive, and a multiple of eight\n"
        "  … and 1 more model (-v lists them)\n"
        "\n"
        "no model measured · 1.8 s\n"
    )
    declared = counted("a.py::A", declared=True)  # whoever declares budgets knows the others
    assert "ran out of time (-v lists them)\n\n1 model" in text(report(declared, skipped=SKIPPED))


def test_what_was_not_counted_is_listed_when_asked():
    page = text(report(skipped=SKIPPED), verbose=1)
    assert page.startswith(
        """\
7 models were not counted: 3 need arguments, 2 cannot import timm, 1 failed, 1
ran out of time:
zoo/a.py
  – A  needs width, depth
  – C  TypeError: B.__init__() missing 1 required argument: 'x'
  – D  NameError: name 'x' is not defined (No module named 'timm')
zoo/b.py
  – Bottleneck  needs planes
  – E           cannot import zoo/b.py: ModuleNotFoundError: No module named
                'timm.data'
  – F           ValueError: depth must be positive, and a multiple of eight
  – G           the worker did not respond for 240 s

"""
    )


BOOM = NotMeasured("NPL004", "boom", cause="raised")
# As the worker words it, without one of the words that a search for "time" would look for.
LATE = NotMeasured("NPL005", "a took longer than 60 s while it was built", cause="timed_out")
LARGE = NotMeasured("NPL005", "Net() needs a lot", cause="out_of_memory")


@pytest.mark.parametrize(
    ("failures", "said"),
    [
        ([needs("x")], "1 model was not counted: it needs arguments"),
        ([needs("x"), needs("y")], "2 models were not counted: they need arguments"),
        ([lacks("a")], "1 model was not counted: it cannot import a"),
        ([BOOM, BOOM], "2 models were not counted: they failed"),
        ([LATE], "1 model was not counted: it ran out of time"),
        ([LARGE], "1 model was not counted: it ran out of memory"),
        (
            [*map(lacks, "abcde"), BOOM],
            "6 models were not counted: 2 cannot import other packages, 1 cannot import a, 1",
        ),
    ],
)
def test_one_kind_of_cause_is_not_counted_twice(failures, said):
    skipped = tuple((f"a.py::A{i}", failure) for i, failure in enumerate(failures))
    assert said in text(report(skipped=skipped)).splitlines()


def test_missing_packages_are_named_where_nothing_could_be_counted():
    skipped = (SKIPPED[3], ("a.py::X", lacks("einops")))
    page = " ".join(text(report(skipped=skipped)).split())
    assert (
        "To count them, install einops and timm for .venv/bin/python, or name the project's own "
        "interpreter with --python."
    ) in page
    declared = counted("a.py::A", declared=True)
    assert "To count them" not in text(report(declared, skipped=skipped))


def test_the_largest_top_level_model_is_proposed():
    models = [
        counted("a.py::Act", 0),
        counted("a.py::Small", 10),
        replace(counted("a.py::Part", 900), top_level=False),
        counted("a.py::Large(width=9)", 500),
        counted("timm::create_model('resnet50')", 10_000),
    ]
    models[-1] = replace(models[-1], position=Position("pyproject.toml", 9))
    page = text(report(*models))
    assert "docstring of Large\n(a.py:10):\n\n    nparam: 500\n" in page
    assert "    nparam: 1.2M\n" in text(report(models[0]))
    assert "    nparam: 900\n" in text(report(models[2]))
    assert "Nothing is declared" not in text(report(*models, glob_gpt()))


def test_nothing_found_is_one_line():
    assert " ".join(text(report(files=12), place="src").split()) == (
        "No model found in 12 Python files under src: nparam-lint looks for subclasses of "
        "torch.nn.Module and functions that return them."
    )
    assert "in 1 Python file: " in text(report(files=1), width=120)
    assert text(report(files=0)) == "No Python file was found: nothing to check.\n"
    assert text(report(files=0), place="docs") == "No Python file under docs: nothing to check.\n"
    assert text(report(files=3), declared_only=True) == (
        "No budget is declared in 3 Python files: nothing to check.\n"
    )


def test_an_error_leaves_one_line_of_the_models():
    value = report(
        unmeasured(),
        findings=(Finding("NPL002", "error", Position("a.py", 3, 1), "what is ~?", "", ("x",)),),
        skipped=SKIPPED[:2],
        environment=replace(ENVIRONMENT, torch=None, devices=()),
        error="no model can be built with .venv/bin/python\n  it says: no torch",
    )
    assert (
        text(value)
        == """\
3 models were not counted: no model can be built with .venv/bin/python

a.py:3:1  NPL002  what is ~?
    x

For an explanation and an example: nparam-lint rule NPL002

no model measured · 1 error · 1.8 s
.venv/bin/python (the project's .venv) · no torch
"""
    )


# --- findings and the last lines --------------------------------------------------------------


def test_what_was_said_of_a_model_is_not_said_again():
    heavy = ("heaviest modules:", "    100,480  hidden", "declare 1")
    first, second = (replace(broken_finding(), message=m, detail=heavy) for m in ("one", "two"))
    second = replace(second, detail=(*heavy[:2], "declare 2"), position=Position("net.py", 13, 5))
    other = replace(second, target="net.py::Other", position=Position("net.py", 14, 5))
    page = text(report(findings=(first, second, other)), quiet=True)
    assert page.count("heaviest modules:\n        100,480  hidden\n") == 2
    assert re.findall("declare .", page) == ["declare 1", "declare 2", "declare 2"]


def test_of_a_budget_that_many_modules_break_a_few_are_told():
    many = tuple(replace(broken_finding(), message=f"Net[h.{i}] has {i}") for i in range(12))
    page = text(report(findings=many))
    assert page.count("NPL001  Net[") == 3
    assert "\n\n… and 9 more like it\n\n" in page


def last(value, **options) -> str:
    found = text(value, quiet=True, width=120, **options)
    return found.rstrip("\n").rpartition("\n")[2]


def test_budgets_that_hold_and_that_are_broken_are_counted():
    assert last(report(glob_gpt())) == "1 model: 1 measured · 3 budgets hold · 1.8 s"
    assert last(report(broken_net())) == "1 model: 1 measured · 1 budget broken · 1.8 s"
    one = counted("a.py::A", budgets=(declared("10", 10),), declared=True)
    assert last(report(one)) == "1 model: 1 measured · 1 budget holds · 1.8 s"
    assert last(report(glob_gpt(), broken_net())) == (
        "2 models: 2 measured · 3 budgets hold · 1 budget broken · 1.8 s"
    )
    silenced = replace(broken_net(), findings=())
    assert last(report(silenced)) == "1 model: 1 measured · 1 budget ignored · 1.8 s"
    assert last(report(tiny(), besides=(MISSTATED,))) == "1 model: 1 measured · 1 warning · 1.8 s"
    right = StatedOutcome(Position("a.md"), None, "right", "certain")
    assert last(report(counted("a.py::A"), stated=(right,))) == (
        "1 model: 1 measured · 1 stated count holds · 1.8 s"
    )


def test_a_budget_that_was_not_checked_does_not_hold():
    value = replace(unmeasured(), budgets=(budget(None, None, None, "1M"),))
    assert last(report(value)) == (
        "1 model: 0 measured, 1 not measured · 1 budget not checked · 1.8 s"
    )
    page = text(report(broken_net(), value), quiet=True, width=120)
    assert page.rstrip().endswith("1 budget broken · 1 budget not checked · 1.8 s")


@pytest.mark.parametrize(
    "models",
    [
        [broken_net()],
        [replace(unmeasured(), budgets=(budget(None, None, None, "1M"),))],
        [broken_net(), replace(unmeasured(), budgets=(budget(None, None, None, "1M"),))],
        [unmeasured()],
        [broken_net(), unmeasured()],
    ],
)
def test_the_headline_and_the_summary_count_alike(models):
    """What is about a declared budget is told with it, and not once more."""
    value = report(*models)
    headline = check_document(value).page(Options()).headline
    for kind in ("error", "warning"):
        said = [re.search(rf"\d+ (other )?{kind}s?", line) for line in (headline, last(value))]
        assert {found and found[0] for found in said} == {said[0] and said[0][0]}


def test_a_glob_holds_when_it_holds_for_each():
    some = tuple(
        replace(declared("10", 10 + i // 2, "h.*", low=10), module=f"h.{i}") for i in range(3)
    )
    broken = replace(broken_finding(), position=some[0].position)
    value = report(counted("a.py::A", 31, budgets=some, findings=(broken,), declared=True))
    assert last(value) == "1 model: 1 measured · 1 budget broken · 1.8 s"


def test_the_cache_is_told():
    found = counted("a.py::A")
    value = report(replace(found, measurement=replace(found.measurement, cached=True)))
    assert last(value) == "1 model: 1 measured (1 from the cache) · 1.8 s"


def test_an_absent_device_is_said_where_more_is_wanted():
    devices = {
        "meta": DeviceResult("measured"),
        "cuda": DeviceResult("skipped", None, "no CUDA device", is_absent=True),
    }
    value = report(model("net.py::Net", measured(net(), devices=devices)))
    last = ".venv/bin/python (the project's .venv) · torch 2.9.0 · meta"
    assert text(value, width=100).splitlines()[-1] == last
    assert text(value, width=100, verbose=1).splitlines()[-2] == (
        f"{last} · cuda skipped (no CUDA device)"
    )
    assert text(value, verbose=1).splitlines()[-1] == "cuda skipped for 1 model: no CUDA device"
    assert "cuda skipped for 1 model" in text(replace(value, environment=None))
    shown = render_show(value.models[0], Options())
    assert "  counted on  meta, cuda skipped (no CUDA device)\n" in shown
    assert "device " not in shown


def test_what_else_a_device_did_not_say_has_its_line():
    devices = {
        "meta": DeviceResult("failed", None, "boom"),
        "cuda": DeviceResult("skipped", None, "too big"),
    }
    value = report(model("net.py::Net", measured(net(), devices=devices)))
    assert text(value).endswith(" · meta\ncuda skipped for 1 model: too big\n")


SHOWN = """\
net.py:12:5  NPL001  Net has 101,786 parameters, declared 50_890: +50,896
    (+100.01 %)
"""


def test_what_is_broken_is_said_once_where_one_model_is_shown():
    found = broken_net()
    page = render_show(found, Options(width=80))
    assert SHOWN in page
    assert page.count("+50,896") == 1
    # What holds beside it is said; what could not be built is said by its finding alone.
    holds = declared("784*width", 100_352, line=3)
    page = render_show(replace(found, budgets=(*found.budgets, holds)), Options(width=80))
    assert "= 784*width\n" in page
    assert page.count("+50,896") == 1
    page = render_show(unmeasured(), Options(width=80))
    assert page.count("missing 1 required positional") == 1
    assert "heaviest" not in render_show(found, Options(quiet=True))
