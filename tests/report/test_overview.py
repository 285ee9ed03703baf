"""The first screen: what is in a repository that declares nothing, and how big."""

import re

from msgspec.structs import replace
from render_samples import rendered
from report_samples import measured, model, report, rows

from nparam_lint.count.measured import InsideRow, NotMeasured
from nparam_lint.discover.definitions import Containment
from nparam_lint.gate.report import FailedWay
from nparam_lint.ground.values import Position, Way
from nparam_lint.report import Options
from nparam_lint.worker.tracing import failures


def counted(target, total, kind="", way=None, types=(), call="Net()", **more):
    modules = rows([("a", "Linear", total)])
    return model(target, measured(modules, call, type=kind, types=types), way=way, **more)


def way(kind, path, line, name=""):
    return Way(kind, Position(path, line), name)


def page(value, **options):
    return rendered("text", value, Options(**options))


NETS = "nets/vit.py"
VIT, BLOCK, MLP = (f"{NETS}::{name}" for name in ("ViT", "Block", "Mlp"))
SIZES = [
    counted(
        VIT,
        total,
        "nets.vit.ViT",
        way("size", "nets/sizes.py", 9, name),
        types=("nets.vit.Block", "torch.nn.Linear", "nets.vit.Mlp"),
    )
    for name, total in (("tiny", 5_290_000), ("base", 86_567_656), ("huge", 632_045_800))
]
CALLS = [
    counted(VIT, 1_000, "nets.vit.ViT", way("call", "train.py", line), types=("nets.vit.Block",))
    for line in (7, 12, 30)
]
MISSING = NotMeasured("NPL004", "Block needs width", missing=("width",), cause="arguments_missing")
NEEDS = NotMeasured("NPL004", "Head needs dim", missing=("dim",), cause="arguments_missing")
RECIPE = ("To count them, say how to build them, in pyproject.toml:", "[arguments]")
BROKEN = NotMeasured("NPL004", "ViT(scale) raised KeyError: 'qk_scale'", cause="raised")
REPOSITORY = report(
    *SIZES,
    *CALLS,
    counted("nets/vit.py::vit_small", 22_000_000, "nets.vit.ViT", call="vit_small()"),
    counted("nets/vit.py::Mlp", 64, "nets.vit.Mlp", top_level=False),
    counted("nets/rnn.py::Act", 0, "nets.rnn.Act"),
    counted("nets/rnn.py::RNN", 2_048, "nets.rnn.RNN", call="RNN()"),
    skipped=((BLOCK, MISSING), ("nets/head.py::Head", NEEDS), ("nets/head.py::Neck", NEEDS)),
    failed_ways=tuple(FailedWay(VIT, way("call", "old.py", line), BROKEN) for line in (3, 9)),
    ways_left=((VIT, 4),),
    containment=Containment(
        {BLOCK: (VIT,), MLP: (VIT, BLOCK), "nets/head.py::Neck": ("nets/head.py::Head",)},
        {"nets/vit.py::vit_small": VIT},
    ),
    recipes={"nets/head.py::Head": (*RECIPE, '"nets/head.py::Head" = "dim=768"')},
    test_files=3,
)


def test_what_is_in_a_repository_and_how_big():
    assert (
        page(REPOSITORY, tables=0)
        == """\
nets/vit.py
  – ViT    22,000,000  vit_small()
         5.29M … 632M  3 sizes (nets/sizes.py:9)
                1,000  train.py:7, train.py:12, 1 more
      + 2 layers, as built in it: Block, Mlp
nets/rnn.py
  – RNN         2,048  with its defaults

2 models were not counted: they need arguments
nets/head.py
  – Head  needs dim
  … and 1 layer inside them (-v lists them)

To count them, say how to build them, in pyproject.toml:

    [arguments]
    "nets/head.py::Head" = "dim=768"

1 model has no parameters (-v lists it)
2 ways in which the project builds models failed (-v lists them)
4 more ways to build models were not tried (--all-ways)
left out: 3 test files with models (name them to read them)

Nothing is declared yet. To hold these counts: nparam-lint init

5 of 7 models measured in 10 ways · 1.8 s
.venv/bin/python (the project's .venv) · torch 2.9.0 · meta
"""
    )


def test_every_way_and_every_reason_when_asked():
    assert (
        page(REPOSITORY, tables=0, verbose=1)
        == """\
nets/rnn.py
  – Act            0  with its defaults
  – RNN        2,048  with its defaults
nets/vit.py
  – ViT   22,000,000  vit_small()
           5,290,000  tiny (nets/sizes.py:9)
          86,567,656  base (nets/sizes.py:9)
         632,045,800  huge (nets/sizes.py:9)
               1,000  train.py:7, train.py:12, train.py:30
      + 2 layers, as built in it: Block, Mlp

2 models were not counted: they need arguments:
nets/head.py
  – Head  needs dim
Inside these, or returning them:
nets/head.py
  – Neck  Head needs dim

To count them, say how to build them, in pyproject.toml:

    [arguments]
    "nets/head.py::Head" = "dim=768"

2 ways in which the project builds models failed:
old.py
  – ViT  lines 3, 9: KeyError: 'qk_scale'
4 more ways to build models were not tried (--all-ways)
left out: 3 test files with models (name them to read them)

Nothing is declared yet. To hold these counts: nparam-lint init

5 of 7 models measured in 10 ways · 1.8 s
.venv/bin/python (the project's .venv) · torch 2.9.0 · meta
"""
    )


def test_the_reason_of_a_way_that_failed_says_more_than_missing_arguments():
    lacks = NotMeasured(
        "NPL003", "No module named 'lightning'", cause="raised", package="lightning"
    )
    failed = (
        FailedWay(
            BLOCK, way("call", "train.py", 3), replace(BROKEN, reason="Block(3) raised A: b")
        ),
        FailedWay("nets/head.py::Head", way("config", "conf/a.yaml", 1), lacks),
        FailedWay("nets/head.py::Head", way("call", "train.py", 4), BROKEN),
    )
    needs = ((BLOCK, MISSING), ("nets/head.py::Head", NEEDS))
    assert page(report(skipped=needs, failed_ways=failed)).startswith(
        """\
2 models were not counted: 1 failed, 1 cannot import lightning
nets/head.py
  – Head  cannot import lightning
nets/vit.py
  – Block  train.py:3: A: b

To count them, install lightning for .venv/bin/python, or name the project's own
interpreter with --python.
"""
    )


def test_what_to_install_has_the_name_that_installs_it():
    lacks = NotMeasured("NPL003", "No module named 'cv2'", cause="raised", package="cv2")
    shown = page(report(skipped=((VIT, lacks),)))
    assert "  – ViT  cannot import cv2\n" in shown
    assert "To count them, install opencv-python for " in shown
    assert (failures.install("cv2") or "").startswith("install 'opencv-python' into ")


def test_ways_stand_below_what_is_declared():
    declared = counted("nets/gpt.py::GPT", 300, "nets.gpt.GPT", declared=True)
    shown = page(report(declared, *SIZES), tables=0)
    assert shown.startswith(
        """\
nets/gpt.py
  – GPT  300  no budget

nets/vit.py
  – ViT  5.29M … 632M  3 sizes (nets/sizes.py:9)
"""
    )
    assert "Nothing is declared" not in shown


def test_layers_of_one_size_stand_in_the_order_of_their_names():
    names = "ABCDEFGH"
    inside = tuple(InsideRow(f"{NETS}::{name}", f"{name}()", ("a",), 100) for name in names[::-1])
    types = tuple(f"nets.vit.{name}" for name in names[::-1])
    made = measured(rows([("a", "Linear", 800)]), "ViT()", types=types, inside=inside)
    users = Containment({f"{NETS}::{name}": (VIT,) for name in names})
    shown = page(report(model(VIT, made), containment=users), verbose=1)
    assert re.findall(r"(\w) +100  1× in it, 12\.5 %", shown) == list(names)


def test_what_may_be_otherwise_stands_below_its_count():
    told = replace(way("config", "conf/a.yaml", 1), note="N as it is before data.py:3 sets it")
    one = counted(VIT, 12, "nets.vit.ViT", way=told)
    assert ("  – ViT  12  conf/a.yaml:1\n      (N as it is before data.py:3 sets it)\n") in page(
        report(one)
    )


def test_a_call_in_a_function_that_is_listed_says_nothing_new():
    factory = counted("nets/vit.py::vit_small", 12, "nets.vit.ViT", call="vit_small()")
    at = factory.position
    inner = counted(VIT, 12, "nets.vit.ViT", way("call", at.path, at.line + 2))
    other = counted(VIT, 13, "nets.vit.ViT", way("call", at.path, at.line + 3))
    assert "  – ViT  12  vit_small()\n         13  nets/" in page(report(factory, inner, other))


def test_a_function_that_is_a_size_is_shown_once():
    factory = counted("nets/vit.py::vit_small", 12, "nets.vit.ViT", call="vit_small()")
    at = factory.position
    same = counted(VIT, 12, "nets.vit.ViT", way("size", at.path, at.line, "vit_small"))
    shown = page(report(factory, replace(same, position=at)))
    assert shown.startswith("nets/vit.py\n  – ViT  12  vit_small()\n\n")


def test_below_what_is_declared_a_function_is_not_told_again():
    factory = counted("nets/vit.py::vit_small", 12, "nets.vit.ViT", call="vit()", declared=True)
    at = factory.position
    size = counted(VIT, 12, "nets.vit.ViT", way("size", at.path, at.line, "vit_small"))
    size = replace(size, way=replace(size.way, position=at))
    call = counted(VIT, 12, "nets.vit.ViT", way("call", at.path, at.line + 1))
    inner = counted(BLOCK, 5, "nets.vit.Block", way("call", "train.py", 3), top_level=False)
    users = Containment({BLOCK: ("nets/vit.py::vit_small",)})
    shown = page(report(factory, size, call, inner, containment=users), tables=0)
    assert "\nnets/vit.py\n  – Block  5  train.py:3\n\n3 models" in shown
    assert "ViT" not in shown


def test_a_function_inside_another_stands_with_the_class_that_it_makes():
    whole = counted("nets/vit.py::vit_b1", 12, "nets.vit.ViT", call="vit_b1()")
    alias = counted("nets/vit.py::vit", 13, "nets.vit.ViT", call="vit()", top_level=False)
    users = Containment(
        {"nets/vit.py::vit": ("nets/vit.py::vit_b1",)}, {"nets/vit.py::vit_b1": VIT}
    )
    shown = page(report(whole, alias, containment=users))
    assert shown.startswith("nets/vit.py\n  – ViT  12 … 13  2 functions (vit_b1 … vit)\n")


def test_a_class_that_a_function_makes_was_counted():
    made = counted("nets/__init__.py::create", 12, "nets.vit.ViT", call="create()")
    shown = page(report(made, skipped=((VIT, MISSING), (BLOCK, MISSING))))
    assert "  – ViT  12  create()\n" in shown
    assert "1 model was not counted: it needs arguments\nnets/vit.py\n  – Block" in shown


def test_a_part_of_what_was_not_counted_says_so():
    inner = report(
        counted(BLOCK, 12, "nets.vit.Block"),
        skipped=((VIT, BROKEN),),
        containment=Containment({BLOCK: (VIT,)}),
    )
    assert "Block  12  with its defaults\n      (a part of ViT, not counted)\n" in page(inner)


def test_of_a_name_that_is_missing_the_line_that_failed_is_told():
    why = "ImportError: cannot import name 'Conv' from 'Engine' (unknown location)"
    reason = (
        f"ViT() raised NameError: name 'Conv' is not defined ('Conv' in a.py: line 9 failed: {why})"
    )
    lost = NotMeasured("NPL004", reason, cause="raised")
    shown = " ".join(page(report(skipped=((VIT, lost),))).split())
    assert f"– ViT a.py:9: {why} " in shown


def test_copies_of_a_script_that_are_imported_by_its_name_have_their_own_layers():
    def copied(folder, failed=False):
        gpt = counted(f"{folder}/train.py::GPT", 90, "train.GPT", types=("train.Block",))
        block = counted(f"{folder}/train.py::Block", 8, "train.Block", top_level=False)
        return [block] if failed else [gpt, block]

    text = page(report(*copied("a"), *copied("b"), *copied("c", failed=True)), tables=0)
    assert text.startswith("""\
a/train.py
  – GPT    90  with its defaults
      + 1 layer, as built in it: Block
b/train.py
  – GPT    90  with its defaults
      + 1 layer, as built in it: Block
c/train.py
  – Block   8  with its defaults
""")


def test_of_many_models_each_has_a_line_those_of_the_readme_and_of_the_root_first():
    way_of_large = way("call", "train.py", 3)
    models = [
        counted("nets/small.py::Small", 10, "nets.small.Small"),
        counted("nets/large.py::Large", 9_000_000, "nets.large.Large"),
        counted("nets/large.py::Large", 2_000, "nets.large.Large", way_of_large),
        *(counted(f"nets/n{n:02}.py::N{n}", 100 + n, f"nets.n{n:02}.N{n}") for n in range(9)),
        counted("model.py::Root", 20, "model.Root"),
    ]
    named = frozenset({"nets/small.py::Small", "nets/head.py::Head"})
    skipped = (("nets/a.py::A", MISSING), ("nets/head.py::Head", NEEDS))
    text = page(report(*models, named=named, skipped=skipped))
    assert text.startswith("""\
nets/small.py
  – Small             10  with its defaults
model.py
  – Root              20  with its defaults
nets/large.py
  – Large  2.00k … 9.00M  with its defaults, 1 more
nets/n08.py
  – N8               108  with its defaults
""")
    assert "\n… and 2 more models, 100 … 101 (-v lists them)\n" in text
    assert text.index("– Head") < text.index("– A ")
    assert "(total)" not in text  # a list of all says it better
