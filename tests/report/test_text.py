"""What a person reads: whole pages, and what must hold of every page."""

import random
import re

import pytest
from msgspec.structs import replace
from render_samples import render_show, rendered
from report_samples import (
    ENVIRONMENT,
    MISSTATED,
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
    unicode_net,
    unmeasured,
)

from nparam_lint.count.measured import DeviceResult, NotMeasured, ParameterRow
from nparam_lint.ground.findings import Finding
from nparam_lint.ground.values import Position
from nparam_lint.report import Options
from nparam_lint.report.folded_modules import make_tree
from nparam_lint.report.style import (
    bar,
    clean,
    drift,
    elide_target,
    human_bytes,
    share,
    wrap_formula,
    wrap_path,
)


def text(value, **options) -> str:
    return rendered("text", value, Options(**options))


def test_a_broken_budget():
    assert (
        text(report(broken_net()))
        == """\
net.py
  ✗ Net  101,786  declared 50_890  +50,896 (+100.01 %)

net.py::Net
module    type        own    total    share                     source
────────  ──────  ───────  ───────  ───────  ─────────────────  ───────────
(total)   Net          16  101,786  100.0 %  ██████████         model.py:10
hidden    Linear  100,480  100,480   98.7 %  █████████▉ frozen  model.py:11
out       Linear    1,290    1,290    1.3 %  ▏                  model.py:13
… and 1 module without parameters

net.py:12:5  NPL001  Net has 101,786 parameters, declared 50_890: +50,896
    (+100.01 %)
    hidden  100,480
    out       1,290
    nparam-lint update net.py::Net

For an explanation and an example: nparam-lint rule NPL001

1 model: 1 measured · 1 budget broken · 1.8 s
.venv/bin/python (the project's .venv) · torch 2.9.0 · meta
"""
    )


def test_a_glob_a_tie_and_folded_blocks():
    assert (
        text(report(glob_gpt()))
        == """\
nanogpt/model.py
  ✓ GPT                     124,373,760  exact
    ✓ [transformer.h.*]  12 × 7,079,424  exact
    ✓ [trainable]           124,373,760  <= 130M

nanogpt/model.py::GPT
module                type                    own           total    share
────────────────────  ───────────────  ──────────  ──────────────  ───────  ────
(total)               GPT                             124,373,760  100.0 %  ████
transformer           ModuleDict                      124,373,760  100.0 %  ████
  wte                 Embedding        38,633,472      38,633,472   31.1 %  █▎
  wpe                 Embedding           786,432         786,432    0.6 %  ▏
  h                   ModuleList                       84,953,088   68.3 %  ██▊
    h.0 … h.11 (12×)  Block                        12 × 7,079,424   68.3 %  ██▊
      ln_1            LayerNorm               768        12 × 768   <0.1 %  ▏
      attn            Causa…Attention              12 × 2,359,296   22.8 %  ▉
        c_attn        Linear            1,769,472  12 × 1,769,472   17.1 %  ▋
        c_proj        Linear              589,824    12 × 589,824    5.7 %  ▎
      ln_2            LayerNorm               768        12 × 768   <0.1 %  ▏
      mlp             MLP                          12 × 4,718,592   45.5 %  █▉
        c_fc          Linear            2,359,296  12 × 2,359,296   22.8 %  ▉
        c_proj        Linear            2,359,296  12 × 2,359,296   22.8 %  ▉
  ln_f                LayerNorm               768             768   <0.1 %  ▏
lm_head               Linear                         (38,633,472)           tied
… and 13 modules without parameters
tied: lm_head.weight = transformer.wte.weight

1 model: 1 measured · 3 budgets hold · 1.8 s
.venv/bin/python (the project's .venv) · torch 2.9.0 · meta
"""
    )


def test_nothing_declared_says_how_to():
    assert (
        text(report(model("net.py::Net", measured(net()))))
        == """\
net.py
  – Net  101,786  with its defaults

net.py::Net
module    type        own    total    share                     source
────────  ──────  ───────  ───────  ───────  ─────────────────  ───────────
(total)   Net          16  101,786  100.0 %  ██████████         model.py:10
hidden    Linear  100,480  100,480   98.7 %  █████████▉ frozen  model.py:11
out       Linear    1,290    1,290    1.3 %  ▏                  model.py:13
… and 1 module without parameters

Nothing is declared yet. To hold a count, write it in the docstring of Net
(net.py:10):

    nparam: 101_786

1 model: 1 measured · 1.8 s
.venv/bin/python (the project's .venv) · torch 2.9.0 · meta
"""
    )


def test_failures_and_warnings():
    assert (
        text(report(unmeasured(), tiny(), besides=(MISSTATED,), environment=None), tables=0)
        == """\
models/unet.py
  ✗ UNet        –  not measured: TypeError: UNet.__init__() missing 1 required…
zoo/tiny.py
  – TinyAE  4,996  no budget

zoo/tiny.py:3:5  NPL013  warning: the docstring says ~2K, TinyAE has 4,996
    parameters
    Correct the number, or make it a budget: a line `nparam: …` with the exact
      count.

models/unet.py:10:1  NPL004  cannot build UNet: TypeError: UNet.__init__()
    missing 1 required positional argument: 'channels'
    Give the arguments: `nparam(width=128): …` in the docstring, or under
      `[tool.nparam-lint.arguments]`.

For an explanation and an example: nparam-lint rule NPL004

2 models: 1 measured, 1 not measured · 1 error · 1 warning · 1.8 s
"""
    )


def test_quiet_is_findings_and_summary():
    assert (
        text(report(broken_net()), quiet=True, width=100)
        == """\
net.py:12:5  NPL001  Net has 101,786 parameters, declared 50_890: +50,896 (+100.01 %)
    hidden  100,480
    out       1,290
    nparam-lint update net.py::Net

For an explanation and an example: nparam-lint rule NPL001

1 model: 1 measured · 1 budget broken · 1.8 s
"""
    )


def test_the_broken_modules_of_a_glob_are_told_apart():
    def one(index: int, actual: int):
        at = Position("net.py", 9, 5)
        return budget(actual, 10, 10, selector="h.*", module=f"h.{index}", at=at)

    parts = [(f"h.{i}", "Linear", 10 if i < 2 else 10 + i) for i in range(7)]
    budgets = tuple(one(i, own) for i, (_, _, own) in enumerate(parts))
    value = report(model("net.py::Net", measured(rows(parts)), budgets=budgets, declared=True))
    assert (
        text(value).split("\n\n")[0]
        == """\
net.py
  ✗ Net                 90
    ✗ [h.*] h.2         12  declared 10  +2 (+20.00 %)
    ✗ [h.*] h.3         13  declared 10  +3 (+30.00 %)
    ✗ [h.*] h.4         14  declared 10  +4 (+40.00 %)
    ✗ … and 2 more
    ✓ [h.*]         2 × 10  exact"""
    )


def test_a_formula_that_fails_elsewhere_is_no_pass():
    at = Position("net.py", 12, 5)
    held = budget(101_786, 101_786, 101_786, "width*2", at=at)
    finding = Finding("NPL011", "error", at, "wrong for width=3")
    value = report(
        model("net.py::Net", measured(net()), budgets=(held,), findings=(finding,), declared=True)
    )
    assert text(value).startswith("net.py\n  ✗ Net  101,786  = width*2\n")


def test_a_finding_without_a_budget_line_shows_its_code():
    held = budget(101_786, 101_786, 101_786)
    finding = Finding("NPL006", "error", Position("net.py", 1, 1), "cuda:0 has 3 more")
    value = report(
        model("net.py::Net", measured(net()), budgets=(held,), findings=(finding,), declared=True)
    )
    assert text(value).startswith("net.py\n  ✗ Net  101,786  exact  NPL006\n")


def sized(i: int):
    return model(f"n{i}.py::Net", measured(rows([("a", "Linear", i), ("b", "Linear", 10)])))


def test_of_few_models_the_largest_have_a_table_and_of_many_what_is_wrong():
    models = [sized(i) for i in (3, 6, 5, 1, 2, 4)]
    part = replace(sized(9), top_level=False)
    declared = [replace(one, declared=True) for one in models]
    page = text(report(*declared[:3]), tables=2)
    assert re.findall(r"(n\d\.py)::Net\nmodule", page) == ["n6.py", "n5.py"]
    assert "… and 1 more table: -v, or nparam-lint show TARGET" in page
    page = text(report(*declared, part, sized(7)), tables=2)
    assert page.splitlines()[0].startswith("8 models: 8 measured")
    page = text(report(*declared, broken_net()), tables=2)
    assert page.startswith("net.py::Net\nmodule")
    assert re.findall(r"^(\w+\.py)::Net\nmodule", page, re.M) == ["net.py"]
    assert "n6.py" not in page
    page = text(report(*declared, part, sized(7)), tables=2, verbose=1)
    assert re.findall(r"(n\d\.py)::Net\nmodule", page) == ["n6.py", "n7.py"]
    page = text(report(*models[:3], part), tables=2)  # a list of all says it better
    assert re.findall(r"(n\d\.py)::Net\nmodule", page) == ["n6.py"]
    assert text(report(*models), tables=0).count("(total)") == 0
    assert text(report(broken_net(), *models), tables=0).count("(total)") == 1


def test_one_table_for_the_variants_of_a_model_and_for_what_is_the_same():
    variant = replace(sized(7), target="n2.py::Net(width=7)")
    again = replace(sized(2), target="train.py::Net")
    page = text(report(sized(2), variant, again))
    assert page.count("(total)") == 1
    assert "more table" not in page


def test_show():
    assert (
        render_show(unicode_net(), Options(verbose=1))
        == """\
modèles/µ.py::Größe
  call        Model()
  defined     modèles/µ.py:10
  counted on  meta

  parameters     1,024
  trainable      1,024
  frozen             0
  non-embedding  1,024  without nn.Embedding modules
  buffers            0
  bytes          4,096  4.1 kB, parameters and buffers

module    type        own    total    share              source
────────  ────────  ─────  ───────  ───────  ──────────  ───────────
(total)   Model              1,024  100.0 %  ██████████  model.py:10
größe     Линейный  1,000    1,000   97.7 %  █████████▊  model.py:11
β         Linear       24       24    2.3 %  ▎           model.py:12

parameter        shape  dtype
────────────  ────────  ───────  ─────────────
größe.weight  10 × 100  float32  also β.weight

! experts: 16,640 parameters that parameters() does not return: 4 modules in a
  plain list (µ.py:7)
note: λ is kept on CPU
"""
    )


def test_show_says_why_active_is_unknown():
    why = "it is unknown how many of the 8 experts in experts a token uses; experts_per_token says"
    page = render_show(model("moe.py::MoE", measured(net(), no_routing=why)), Options(width=80))
    assert (
        page.split("\n\n")[1]
        == """\
  parameters     101,786
  trainable        1,306
  frozen         100,480
  non-embedding  101,786  without nn.Embedding modules
  active         unknown: it is unknown how many of the 8 experts in experts a
                 token uses; experts_per_token says
  buffers              0
  bytes          407,144  407.1 kB, parameters and buffers"""
    )


def test_show_devices():
    devices = {
        "meta": DeviceResult("measured", 101_786),
        "cuda:0": DeviceResult("failed", 101_787, "counts differ", 407_552, ("out.bias: 11",)),
    }
    page = render_show(model("net.py::Net", measured(net(), devices=devices)), Options())
    assert (
        page.split("\n\n")[2]
        == """\
device    status      parameters     bytes    allocated
────────  ────────  ────────────  ────────  ───────────
meta      measured       101,786
cuda:0    failed         101,787  407.1 kB     407.6 kB
cuda:0: counts differ
cuda:0: out.bias: 11"""
    )


def test_show_what_was_not_measured():
    assert (
        render_show(replace(unmeasured(), findings=()), Options())
        == """\
models/unet.py::UNet
  defined  models/unet.py:10

– not measured: TypeError: UNet.__init__() missing 1 required positional
  argument: 'channels'
  needs: channels
  give it: nparam(channels=3): …
"""
    )


# --- what holds of every page ----------------------------------------------------------------

PAGES = {
    "everything": everything(),
    "broken": report(broken_net()),
    "glob": report(glob_gpt()),
    "huge": report(model("huge.py::GPT3", measured(gpt(96, 12_288), rung="cpu"))),
    "long": report(long_named(), unmeasured()),
    "empty": report(),
}


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width", [80, 100, 120])
def test_no_line_is_wider_than_asked(name, width):
    pages = [text(PAGES[name], width=width, verbose=1)]
    pages += [render_show(m, Options(width=width, verbose=1)) for m in PAGES[name].models]
    wide = [line for page in pages for line in page.splitlines() if len(line) > width]
    # A place to jump to is never cut.
    assert [line for line in wide if not re.fullmatch(r"  defined +\S+:\d+", line)] == []


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width", [0, 80, 120])
def test_colour_changes_no_character(name, width):
    colored = text(PAGES[name], width=width, color=True)
    assert "\x1b[" in colored or name == "empty"
    assert re.sub(r"\x1b\[[\d;]*m", "", colored) == text(PAGES[name], width=width)
    assert "\x1b" not in text(PAGES[name], width=width)
    for shown in PAGES[name].models:
        page = render_show(shown, Options(width=width, color=True, verbose=1))
        plain = render_show(shown, Options(width=width, verbose=1))
        assert re.sub(r"\x1b\[[\d;]*m", "", page) == plain


@pytest.mark.parametrize("name", PAGES)
def test_no_trailing_blanks_and_one_newline_at_the_end(name):
    page = text(PAGES[name])
    assert not re.search(r"[ \u2800]+$", page, re.MULTILINE)
    assert "\u2800" not in page
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


MODELS = {
    "net": net(),
    "gpt": gpt(),
    "gpt3": gpt(96, 12_288),
    "vit": rows(
        [
            ("", "ViT", 152_064),
            *((f"layers.{i}.attn", "Attention", 1_000) for i in range(12)),
            *((f"layers.{i}.attn.out", "Linear", 50) for i in range(12)),
            ("head", "Linear", 769_000),
        ]
    ),
    "uneven": rows([(f"layers.{i}.fc", "Linear", 100 + i // 3) for i in range(10)]),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("depth", [None, 1, 2, 3, 9])
def test_printed_tables_add_up(name, width, depth):
    page = render_show(model("m.py::M", measured(MODELS[name])), Options(width=width, depth=depth))
    stated, added = table_sum(page)
    assert stated == added == MODELS[name][0].total


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("depth", [None, 0, 1, 2, 3, 9])
def test_trees_add_up(name, depth):
    tree = make_tree(MODELS[name], depth, 20)
    assert sum(row.counted for row in tree.rows) == MODELS[name][0].total


@pytest.mark.parametrize("seed", range(60))
def test_whatever_the_model_it_adds_up_and_fits(seed):
    chance = random.Random(seed)
    leaves = {
        ".".join(chance.choices(["h", "0", "1", "2", "fc"], k=chance.randint(1, 4))): chance.choice(
            [0, 1, 7, 7_000]
        )
        for _ in range(chance.randint(0, 25))
    }
    root = chance.random() < 0.5
    parts = [(path, f"Type{own}", own) for path, own in sorted(leaves.items())]
    modules = rows([*([("", "Model", 3)] if root else []), *parts])
    for depth in (None, 0, 1, 2, 4):
        tree = make_tree(modules, depth, 20)
        assert sum(row.counted for row in tree.rows) == modules[0].total
        width = chance.randint(60, 120)
        page = render_show(model("m.py::M", measured(modules)), Options(width=width, depth=depth))
        assert all(len(line) <= width for line in page.splitlines())
        if len(tree.rows) > 1:
            assert table_sum(page) == (modules[0].total, modules[0].total)


def test_a_flat_model_of_many_layers_is_cut_and_the_rest_summed():
    modules = rows([(f"l{i}", "Linear", 1_000 + i) for i in range(300)])
    page = text(report(model("flat.py::Flat", measured(modules))))
    stated, added = table_sum(page)
    assert f"\n… and 281 rows with {stated - added:,} parameters\n" in page
    assert page.count("Linear") == 19


@pytest.mark.parametrize("width", [0, 1, 20, 40, 60])
def test_a_narrow_terminal_is_no_reason_to_fail(width):
    for page in PAGES.values():
        assert text(page, width=width, verbose=1)
        assert all(render_show(m, Options(width=width, verbose=1)) for m in page.models)


def test_only_neighbours_of_one_structure_are_folded():
    leaves = [("h.0", "Linear", 5), ("h.1", "Linear", 5), ("h.2", "Conv2d", 5)]
    leaves += [("h.3", "Linear", 5), ("h.5", "Linear", 5), ("h.x", "Linear", 5)]
    labels = [row.label for row in make_tree(rows(leaves), None, 20).rows]
    assert labels == ["(total)", "h", "h.0 … h.1 (2×)", "h.2", "h.3", "h.5", "x"]


def test_a_frozen_block_is_not_folded_with_the_trained():
    leaves = [(f"h.{i}", "Linear", 5) for i in range(4)]
    tree = make_tree(rows(leaves, frozen=["h.0"]), None, 20)
    assert [(row.label, row.marks) for row in tree.rows[2:]] == [
        ("h.0", ("frozen",)),
        ("h.1 … h.3 (3×)", ()),
    ]


def test_a_shared_module_is_shown_once_and_marked():
    first, *others = (f"layers.{i}" for i in range(4))
    made = rows([(first, "Linear", 420), *((path, "Linear", 0) for path in others)])
    shared = tuple(
        replace(row, total=420, trainable=420, shared_with=first) if row.path in others else row
        for row in made
    )
    page = render_show(model("m.py::M", measured(shared)), Options())
    assert re.search(r"  layers.1 … layers.3 \(3×\)  Linear +3 × \(420\) +shared\n", page)
    assert "shared: layers.0 = layers.1 = layers.2 = layers.3\n" in page
    assert table_sum(page) == (420, 420)


def test_the_heaviest_are_opened_until_the_table_is_long():
    modules = rows([(f"m.{i}.{j}", "Linear", 10 * i + j + 1) for i in range(9) for j in range(9)])
    short = make_tree(modules, None, 20)
    assert [row.label for row in short.rows if row.level == 3] == [f"m.8.{j}" for j in range(9)]
    assert any(row.more for row in short.rows)
    assert max(row.level for row in make_tree(modules, None, 19).rows) == 2
    whole = make_tree(modules, None, 100)
    assert sum(row.level == 3 for row in whole.rows) == 81
    assert not any(row.more for row in whole.rows)


def test_modules_of_equal_weight_are_opened_together():
    names = [f"{name}.{part}" for name in "abcd" for part in ("one", "two")]
    modules = rows([(name, f"Type{i}", 5) for i, name in enumerate(names)])
    assert len(make_tree(modules, None, 12).rows) == 5
    assert len(make_tree(modules, None, 13).rows) == 13


def test_numbers_below_folded_blocks_stand_for_each():
    leaves = [(f"layers.{i}.{j}", "Linear", 10 + j) for i in range(3) for j in range(2)]
    labels = [row.label for row in make_tree(rows(leaves), None, 20).rows]
    assert labels[2:] == ["layers.0 … layers.2 (3×)", "layers.*.0", "layers.*.1"]


def test_a_part_that_is_tied_is_told_from_what_is_new():
    modules = rows(
        [("wte", "Embedding", 1_000), ("head", "Linear", 32)],
        tied={"head": ("weight = wte.weight", 1_000)},
    )
    page = render_show(model("m.py::M", measured(modules)), Options(depth=1))
    assert re.search(r"head +Linear +32 +32 \(\+1,000\) +3.1 % .* tied ", page)
    assert table_sum(page) == (1_032, 1_032)


def test_a_narrow_table_keeps_own_and_total_and_gives_up_the_rest_in_order():
    modules = gpt(96, 12_288)
    page = {
        width: render_show(model("m.py::M", measured(modules)), Options(width=width))
        for width in (120, 100, 80, 60)
    }
    assert "model.py:17" in page[120]
    assert "model.py:17" not in page[100]
    assert "CausalSelfAttention" in page[100]
    assert "h.0 … h.95 (96×)" in page[100]
    assert "h.0 … 95 (96×)" in page[80]
    assert "CausalSelfAttention" not in page[80]
    for text_ in page.values():
        assert table_sum(text_) == (modules[0].total, modules[0].total)
        assert re.search(r"^module +type +own +total", text_, re.MULTILINE)


@pytest.mark.parametrize("width", range(60, 130))
def test_a_table_of_short_names_fits_too(width):
    source = "examples/some/long/path/to/a/model.py"
    parts = tuple(
        replace(row, source=f"{source}:{i}") for i, row in enumerate(rows([("a", "A", 1)]))
    )
    parameter = ParameterRow("a.weight", (1,), "int8", True, f"{source}:7")
    found = model("m.py::M", measured(parts, parameters=(parameter,)))
    page = render_show(found, Options(width=width, verbose=1))
    assert max(len(line) for line in page.splitlines()) <= width


def test_a_call_without_blanks_is_broken_after_a_comma():
    call = f"ViT({','.join(f'argument_{i}={i}' for i in range(12))})"
    page = render_show(model("m.py::ViT", measured(net(), call=call)), Options())
    assert all(len(line) <= 80 for line in page.splitlines())
    assert call in re.sub(r"\n +", "", page)


def test_a_hostile_message_cannot_touch_the_terminal():
    reason = "\x1b[2J\x07 two\nlines \u202e"
    value = report(
        model("a.py::A", NotMeasured("NPL005", reason, cause="died")),
        findings=(Finding("NPL005", "error", Position("a.py"), reason, "", (reason,)),),
    )
    page = text(value)
    assert all(c.isprintable() for c in page.replace("\n", ""))
    assert clean(reason) == "\\x1b[2J\\x07 two lines \\u202e"


def test_a_formula_is_broken_where_it_is_read_best():
    text = "width*(layers*(4*width + 3*inner + 2) + words + 1) + 2*words"
    assert wrap_formula(text, 60) == [text]
    assert wrap_formula(text, 56, "  ", "    ") == [
        "  width*(layers*(4*width + 3*inner + 2) + words + 1) +",
        "    2*words",
    ]
    assert wrap_formula(text, 24, "", "  ") == [
        "width*(layers*(4*width +",
        "  3*inner + 2) + words +",
        "  1) + 2*words",
    ]
    # Between factors only where nothing else is left; a number stays with what it multiplies.
    assert wrap_formula("depth*(width*(2*floor(width*ratio)**2 + 1) + 3)", 16) == [
        "depth*(width*",
        "(2*floor(width*",
        "ratio)**2 + 1) +",
        "3)",
    ]
    assert wrap_formula("(inputs, outputs, 3)", 10, "", " ") == ["(inputs,", " outputs,", " 3)"]
    assert wrap_formula("a_long_name", 4) == ["a_long_name"]


def test_a_path_is_broken_after_dots():
    assert wrap_path("  h.*.attention.weight", 16) == ["  h.*.attention.", "    weight"]
    assert wrap_path("layers.post_attention_norm.weight", 12) == [
        "layers.",
        "  pos…_norm.",
        "  weight",
    ]
    assert wrap_path("weight", 12) == ["weight"]


def test_small_helpers():
    assert [bar(part, 1000, 4) for part in (0, 1, 125, 250, 999, 1000)] == [
        "", "▏", "▌", "█", "████", "████",
    ]  # fmt: skip
    assert [share(part, 10_000) for part in (0, 1, 5, 1234, 10_000)] == [
        "", "<0.1 %", "0.1 %", "12.3 %", "100.0 %",
    ]  # fmt: skip
    assert [human_bytes(n) for n in (0, 999, 1000, 50_000_000, 698_326_548_480, 10**15)] == [
        "0 B", "999 B", "1.0 kB", "50.0 MB", "698.3 GB", "1,000.0 TB",
    ]  # fmt: skip
    assert elide_target("models/backbones/resnet.py::ResNet", 20) == "mode…snet.py::ResNet"
    assert elide_target("a.py::AnExtremelyLongName", 12) == "a.py…ongName"


@pytest.mark.parametrize(
    ("actual", "value", "said"),
    [
        (132_155_392, 124_475_904, "+7,679,488 (+6.17 %)"),
        (124_475_905, 124_475_904, "+1 (<0.01 %)"),
        (26_000, 25_000, "+1,000 (+4.00 %)"),
        (500, 1_000, "-500 (-50.00 %)"),
        (5, 0, "+5"),
        (0, 900, "-900 (-100.00 %)"),
        (2**62 + 1, 2**62, "+1 (<0.01 %)"),
        (None, 1, ""),
        (5, None, ""),
    ],
)
def test_drift_is_told_to_the_parameter(actual, value, said):
    assert drift(replace(budget(actual, 1, 1, "x"), value=value)) == said


def test_the_environment_line_follows_what_is_known():
    bare = replace(ENVIRONMENT, torch=None, devices=(), reason="")
    page = text(report(broken_net(), environment=bare))
    assert page.endswith("\n.venv/bin/python · no torch\n")
