"""What a person reads: what must hold of every page, and large tables. Others are on pages/text.md,
notes.md and overview.md."""

import random
import re

import pytest
from msgspec.structs import replace
from render_samples import render_show, rendered
from report_samples import (
    broken_finding,
    broken_net,
    budget,
    everything,
    glob_gpt,
    gpt,
    long_named,
    measured,
    model,
    net,
    report,
    rows,
    tiny,
    unmeasured,
)

from nparam_lint.count.measured import NotMeasured, ParameterRow
from nparam_lint.ground.findings import Finding
from nparam_lint.ground.values import Position
from nparam_lint.report import Options
from nparam_lint.report.folded_modules import make_tree
from nparam_lint.report.style import (
    bar,
    clean,
    columns,
    drift,
    elide_apart,
    elide_middle,
    elide_target,
    human_bytes,
    share,
    short_reason,
    wrap_formula,
    wrap_path,
)
from nparam_lint.worker.tracing import failures


def text(value, **options) -> str:
    return rendered("text", value, Options(**options))


def show(measurement, **options) -> str:
    return render_show(model("m.py::M", measurement), Options(**options))


def shared_layers():
    first, *others = (f"layers.{i}" for i in range(4))
    made = rows([(first, "Linear", 420), *((path, "Linear", 0) for path in others)])
    return tuple(
        replace(row, total=420, trainable=420, shared_with=first) if row.path in others else row
        for row in made
    )


PARTLY_TIED = rows(
    [("wte", "Embedding", 1_000), ("head", "Linear", 32)],
    tied={"head": ("weight = wte.weight", 1_000)},
)


def edited_net():
    """A model that an edit broke."""
    found = replace(broken_finding(), result=broken_net().budgets[0])
    return replace(broken_net(), findings=(found,))


def test_whole_pages(expected):
    wide = gpt(96, 12_288)
    flat = rows([(f"l{i}", "Linear", 1_000 + i) for i in range(300)])
    pages = {
        "a flat model is cut, and the rest summed up": text(
            report(model("flat.py::Flat", measured(flat)))
        ),
        "a shared module is shown once and marked": show(measured(shared_layers())),
        "one model that an edit broke": render_show(
            edited_net(), Options(), check="nparam-lint {}".format
        ),
    }
    for width in (120, 100, 80, 60):  # `own` and `total` stay
        pages[f"a table in {width} columns"] = show(measured(wide), width=width)
    expected(pages | words())


def sized(i: int):
    return model(f"n{i}.py::Net", measured(rows([("a", "Linear", i), ("b", "Linear", 10)])))


def test_of_few_models_the_largest_have_a_table_and_of_many_what_is_wrong():
    models = [sized(i) for i in (3, 6, 5, 1, 2, 4)]
    part = replace(sized(9), top_level=False)
    declared = [replace(one, declared=True) for one in models]

    def tables(*models, **options):
        page = text(report(*models), **options)
        return re.findall(r"^(\w+)\.py::Net\nmodule", page, re.MULTILINE), page

    assert tables(*declared[:3])[0] == ["n3", "n6", "n5"]
    shown, page = tables(*declared, part, sized(7))
    assert (shown, page.splitlines()[0][:20]) == ([], "8 models: 8 measured")
    shown, page = tables(*declared, broken_net())
    assert (shown, "n6.py" in page) == (["net"], False)
    assert len(tables(*declared, part, sized(7), verbose=1)[0]) == 7
    shown, page = tables(*models[:3], part)  # a list of all says it better
    assert shown == ["n6"]
    assert "… and 2 more tables: -v, or nparam-lint show TARGET" in page
    assert tables(*models)[0] == []
    assert tables(broken_net(), *models)[0] == ["net"]
    # One for the variants of a model, and for what is the same.
    variant = replace(sized(7), target="n2.py::Net(width=7)")
    shown, page = tables(sized(2), variant, replace(sized(2), target="train.py::Net"))
    assert (len(shown), "more table" in page) == (1, False)


# --- what holds of every page ----------------------------------------------------------------

PAGES = {
    "everything": everything(),
    "broken": report(broken_net()),
    "glob": report(glob_gpt()),
    "huge": report(model("huge.py::GPT3", measured(gpt(96, 12_288), rung="cpu"))),
    "long": report(long_named(), unmeasured()),
    "empty": report(),
}


def pages_of(name, **options):
    """That of the check, and those that show its models."""
    value = PAGES[name]
    shown = (render_show(one, Options(**({"verbose": 1} | options))) for one in value.models)
    return [text(value, **options), *shown]


@pytest.mark.parametrize("name", PAGES)
def test_pages_fit_and_colour_changes_no_character(name):
    for width in (80, 100, 120):
        for page in pages_of(name, width=width, verbose=1):
            wide = [line for line in page.splitlines() if len(line) > width]
            # A place to jump to is never cut.
            assert [line for line in wide if not re.fullmatch(r"  defined +\S+:\d+", line)] == []
    for width in (0, 1, 20, 40, 60, 80):  # a narrow terminal is no reason to fail
        plain, colored = pages_of(name, width=width), pages_of(name, width=width, color=True)
        assert "\x1b[" in colored[0] or name == "empty"
        assert [re.sub(r"\x1b\[[\d;]*m", "", page) for page in colored] == plain
        for page in plain:
            assert not re.search(r"[ \u2800]+$|[\x1b\u2800]", page, re.MULTILINE)
            assert page.endswith("\n")
            assert "\n\n\n" not in page


def number(cell: str) -> int:
    """`12 × 768`; in brackets stands what is counted elsewhere: `(4,096)`, `32 (+4,096)`."""
    times, _, each = cell.rpartition(" × ")
    counted = each.partition("(")[0].replace(",", "")
    return int(times.replace(",", "") or 1) * int(counted or 0)


def table_sum(page: str) -> tuple[int, int]:
    """The total that a printed table states, and what its rows add up to: of a row that has rows
    below it, only its own, as often as its total says."""
    lines = page.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("module "))
    edges = [match.span() for match in re.finditer("─+", lines[start + 1])]
    columns = lines[start].split()
    body = []
    for line in lines[start + 2 :]:
        if not line or line.startswith(("…", "tied:", "shared:", "--depth")):
            break
        cells = [line[a:b] for a, b in edges]
        indent = len(cells[0]) - len(cells[0].lstrip())
        body.append((indent, *(cells[columns.index(name)].strip() for name in ("own", "total"))))
    (_, own, total), *rest = body
    added = number(own or "0")
    for (indent, own, count), after in zip(rest, [*rest[1:], (0, "", "")], strict=True):
        times, sign, _ = count.rpartition(" × ")
        below = after[0] > indent
        added += number(times + sign + (own or "0")) if below else number(count)
    return number(total), added


VIT = [("", "ViT", 152_064), ("head", "Linear", 769_000)]
VIT += [(f"layers.{i}.attn", "Attention", 1_000) for i in range(12)]
VIT += [(f"layers.{i}.attn.out", "Linear", 50) for i in range(12)]
UNEVEN = rows([(f"layers.{i}.fc", "Linear", 100 + i // 3) for i in range(10)])
MODELS = [net(), gpt(), gpt(96, 12_288), rows(VIT), UNEVEN, shared_layers(), PARTLY_TIED]


def random_modules(chance):
    names = ("h", "0", "1", "2", "fc")
    paths = [".".join(chance.choices(names, k=chance.randint(1, 4))) for _ in range(25)]
    leaves = {path: chance.choice([0, 1, 7, 7_000]) for path in paths[: chance.randint(0, 25)]}
    root = [("", "Model", 3)] * chance.randint(0, 1)
    return rows([*root, *((path, f"Type{own}", own) for path, own in sorted(leaves.items()))])


@pytest.mark.parametrize("seed", range(60))
def test_whatever_the_model_it_adds_up_and_fits(seed):
    chance = random.Random(seed)
    cases = [(random_modules(chance), 60), *((modules, 80) for modules in MODELS[seed : seed + 1])]
    for modules, narrowest in cases:
        for depth in (None, 0, 1, 2, 3, 4, 9):
            tree = make_tree(modules, depth, 20)
            assert sum(row.counted for row in tree.rows) == modules[0].total
            width = chance.randint(narrowest, 120)
            page = show(measured(modules), width=width, depth=depth)
            assert all(len(line) <= width for line in page.splitlines())
            if len(tree.rows) > 1:
                assert table_sum(page) == (modules[0].total, modules[0].total)


def test_the_heaviest_are_opened_until_the_table_is_long():
    modules = rows([(f"m.{i}.{j}", "Linear", 10 * i + j + 1) for i in range(9) for j in range(9)])
    short = make_tree(modules, None, 20)
    assert [row.label for row in short.rows if row.level == 3] == [f"m.8.{j}" for j in range(9)]
    assert any(row.more for row in short.rows)
    assert max(row.level for row in make_tree(modules, None, 19).rows) == 2
    whole = make_tree(modules, None, 100)
    assert sum(row.level == 3 for row in whole.rows) == 81
    assert not any(row.more for row in whole.rows)
    # Those of equal weight together.
    names = [f"{name}.{part}" for name in "abcd" for part in ("one", "two")]
    modules = rows([(name, f"Type{i}", 5) for i, name in enumerate(names)])
    assert [len(make_tree(modules, None, limit).rows) for limit in (12, 13)] == [5, 13]


def test_a_table_of_short_names_fits_too():
    source = "examples/some/long/path/to/a/model.py"
    parts = tuple(
        replace(row, source=f"{source}:{i}") for i, row in enumerate(rows([("a", "A", 1)]))
    )
    parameter = ParameterRow("a.weight", (1,), "int8", True, f"{source}:7")
    for width in range(60, 130):
        page = show(measured(parts, parameters=(parameter,)), width=width, verbose=1)
        assert max(len(line) for line in page.splitlines()) <= width


def test_a_hostile_message_cannot_touch_the_terminal():
    reason = "\x1b[2J\x07 two\nlines \u202e"
    value = report(
        model("a.py::A", NotMeasured("NPL005", reason, cause="died")),
        findings=(Finding("NPL005", "error", Position("a.py"), reason, "", (reason,)),),
    )
    page = text(value)
    assert all(c.isprintable() for c in page.replace("\n", ""))
    assert clean(reason) == "\\x1b[2J\\x07 two lines \\u202e"


# --- words ------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [80, 120])
def test_a_wide_character_is_laid_out_as_two_narrow_ones(width):
    def pages(sign: str) -> list[str]:
        leaves = [(f"{sign}.{i}.fc_{sign}", f"{sign}Linear", 1_000) for i in range(3)]
        measurement = measured(rows([*leaves, (f"{sign * 2}head", "Linear", 24)]))
        place = Position(f"{sign}/{sign * 2}.py", 12, 5)
        target = f"{place.path}::Net_{sign}"
        broken = budget(3_024, 3_000, 3_000, at=place)
        message = " ".join(["is", sign * 9, f"{sign}(a,b),"] * 7)
        said = Finding("NPL001", "error", place, message, target)
        net = model(target, measurement, budgets=(broken,), findings=(said,))
        failed = NotMeasured("NPL004", "raised", f"{sign * 20} {message}")
        skipped = [(f"{place.path}::{sign}{n}", failed) for n in ("", "b")]
        value = replace(report(net, tiny()), skipped=skipped)
        return [
            text(value, width=width, verbose=1),
            render_show(net, Options(width=width)),
            *wrap_formula(f"{sign}*(n + {sign}**2) - " * 9, width),
            *wrap_path(f"{sign}layers." * 30, width),
        ]

    assert [page.replace("网", "ww") for page in pages("网")] == pages("ww")


@pytest.mark.parametrize("width", range(2, 12))
def test_what_is_cut_takes_no_more_than_its_columns(width):
    names = ["网络模型一二三", "网络模型一二四", "a网b络c模", "abcdefghijkl"]
    short = [*elide_apart(names, width).values(), *(elide_middle(name, width) for name in names)]
    assert all(columns(name) <= width for name in short)


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
    "NameError: name 'pair' is not defined ('pair' in nets.py: set at line 43 by work that "
    "nparam-lint does not run, since the file failed (ImportError: no 'x' in y))": "Net",
    "cannot import a.py: raised eyebrows": "Net",
}
FORMULA = "width*(layers*(4*width + 3*inner + 2) + words + 1) + 2*words"
# Between factors only where nothing else is left; a number stays with what it multiplies.
NESTED = "depth*(width*(2*floor(width*ratio)**2 + 1) + 3)"
CHANGES = [
    *((132_155_392, 124_475_904), (124_475_905, 124_475_904), (26_000, 25_000), (500, 1_000)),
    *((5, 0), (0, 900), (2**62 + 1, 2**62), (None, 1), (5, None)),
]


def words():
    """What words and numbers come to, a line each."""
    formulas = [
        *(wrap_formula(FORMULA, *more) for more in ((60,), (56, "  ", "    "), (24, "", "  "))),
        wrap_formula(NESTED, 16),
        wrap_formula("(inputs, outputs, 3)", 10, "", " "),
        wrap_formula("a_long_name", 4),
    ]
    paths = [
        wrap_path(path, width)
        for path, width in (
            ("  h.*.attention.weight", 16),
            ("layers.post_attention_norm.weight", 12),
            ("weight", 12),
        )
    ]
    sizes = (0, 999, 1000, 50_000_000, 698_326_548_480, 10**15)
    one = budget(1, 1, 1, "x")
    return {
        "formulas are broken where they are read best": "\n\n".join(map("\n".join, formulas))
        + "\n",
        "paths": "\n\n".join(map("\n".join, paths)) + "\n",
        "reasons do not repeat the name beside them": "".join(
            f"{short_reason(reason, REASONS[reason])}\n" for reason in REASONS
        ),
        "bars": f"{[bar(part, 1000, 4) for part in (0, 1, 125, 250, 999, 1000)]}\n",
        "shares": f"{[share(part, 10_000) for part in (0, 1, 5, 1234, 10_000)]}\n",
        "bytes": f"{[human_bytes(n) for n in sizes]}\n",
        "targets that are cut": elide_target("models/backbones/resnet.py::ResNet", 20)
        + "\n"
        + elide_target("a.py::AnExtremelyLongName", 12)
        + "\n",
        "drift is told to the parameter": "".join(
            f"{actual} of {value}: {drift(replace(one, actual=actual, value=value))}".rstrip()
            + "\n"
            for actual, value in CHANGES
        ),
    }


def test_the_worker_names_what_installs_a_module():
    """As on pages/overview.md, where it is not the module's own name."""
    assert (failures.install("cv2") or "").startswith("install 'opencv-python' into ")
