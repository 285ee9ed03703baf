"""The first screen: what is in a repository that declares nothing, and how big."""

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
    modules = rows([("", "Net", total)])  # the total is all that there is to say: no table
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


def lost(*reasons):
    """Models that could not be built, with these reasons."""
    failures = [NotMeasured("NPL004", reason, cause="raised") for reason in reasons]
    return report(skipped=tuple((VIT, failure) for failure in failures))


def copied(folder, failed=False):
    """A script, and a class in it that is part of its model."""
    gpt = counted(f"{folder}/train.py::GPT", 90, "train.GPT", types=("train.Block",))
    block = counted(f"{folder}/train.py::Block", 8, "train.Block", top_level=False)
    return [block] if failed else [gpt, block]


def of_one_size():
    """Layers that weigh the same, in another order than that of their names."""
    names = "HGFEDCBA"
    inside = tuple(InsideRow(f"{NETS}::{name}", f"{name}()", ("a",), 100) for name in names)
    types = tuple(f"nets.vit.{name}" for name in names)
    made = measured(rows([("a", "Linear", 800)]), "ViT()", types=types, inside=inside)
    users = Containment({f"{NETS}::{name}": (VIT,) for name in names})
    return report(model(VIT, made), containment=users)


def of_many():
    """More than have room, of which the README names some."""
    models = [
        counted("nets/small.py::Small", 10, "nets.small.Small"),
        counted("nets/large.py::Large", 9_000_000, "nets.large.Large"),
        counted("nets/large.py::Large", 2_000, "nets.large.Large", way("call", "train.py", 3)),
        *(counted(f"nets/n{n:02}.py::N{n}", 100 + n, f"nets.n{n:02}.N{n}") for n in range(9)),
        counted("model.py::Root", 20, "model.Root"),
    ]
    named = frozenset({"nets/small.py::Small", "nets/head.py::Head"})
    skipped = (("nets/a.py::A", MISSING), ("nets/head.py::Head", NEEDS))
    return report(*models, named=named, skipped=skipped)


SMALL = counted("nets/vit.py::vit_small", 12, "nets.vit.ViT", call="vit_small()")
HERE = SMALL.position


def placed(kind, line=0, total=12, name=""):
    """A way near the function that makes a small one."""
    at = way(kind, HERE.path, HERE.line + line, name)
    return counted(VIT, total, "nets.vit.ViT", at)


def declared_function():
    """It is told with its verdict; the ways that lead through it are not told again."""
    inner = counted(BLOCK, 5, "nets.vit.Block", way("call", "train.py", 3), top_level=False)
    users = Containment({BLOCK: (SMALL.target,)})
    ways = placed("size", name="vit_small"), placed("call", 1)
    return report(replace(SMALL, declared=True), *ways, inner, containment=users)


def function_in_another():
    whole = counted("nets/vit.py::vit_b1", 12, "nets.vit.ViT", call="vit_b1()")
    alias = counted("nets/vit.py::vit", 13, "nets.vit.ViT", call="vit()", top_level=False)
    users = {"nets/vit.py::vit": ("nets/vit.py::vit_b1",)}
    return report(whole, alias, containment=Containment(users, {"nets/vit.py::vit_b1": VIT}))


def failed_ways():
    """Their reasons say more than missing arguments."""
    lacks = NotMeasured(
        "NPL003", "No module named 'lightning'", cause="raised", package="lightning"
    )
    raised = replace(BROKEN, reason="Block(3) raised A: b")
    ways = (
        FailedWay(BLOCK, way("call", "train.py", 3), raised),
        FailedWay("nets/head.py::Head", way("config", "conf/a.yaml", 1), lacks),
        FailedWay("nets/head.py::Head", way("call", "train.py", 4), BROKEN),
    )
    return report(skipped=((BLOCK, MISSING), ("nets/head.py::Head", NEEDS)), failed_ways=ways)


def test_first_screens(expected):
    missing_cv2 = NotMeasured("NPL003", "No module named 'cv2'", cause="raised", package="cv2")
    otherwise = replace(way("config", "conf/a.yaml", 1), note="N as it is before data.py:3 sets it")
    made = counted("nets/__init__.py::create", 12, "nets.vit.ViT", call="create()")
    part = counted(BLOCK, 12, "nets.vit.Block")
    why = "ImportError: cannot import name 'Conv' from 'Engine' (unknown location)"
    of_conv = f"NameError: name 'Conv' is not defined ('Conv' in a.py: line 9 failed: {why})"
    declared = counted("nets/gpt.py::GPT", 300, "nets.gpt.GPT", declared=True)
    screens = {
        "what is in a repository, and how big": REPOSITORY,
        "a way that failed says more than missing arguments": failed_ways(),
        "what to install has the name that installs it": report(skipped=((VIT, missing_cv2),)),
        "ways stand below what is declared": report(declared, *SIZES),
        "what may be otherwise stands below its count": report(
            counted(VIT, 12, "nets.vit.ViT", way=otherwise)
        ),
        "a call in a function that is listed says nothing new": report(
            SMALL, placed("call", 2), placed("call", 3, 13)
        ),
        "a function that is a size is shown once": report(SMALL, placed("size", name="vit_small")),
        "below what is declared a function is not told again": declared_function(),
        "a function inside another, with the class that it makes": function_in_another(),
        "a class that a function makes was counted": report(
            made, skipped=((VIT, MISSING), (BLOCK, MISSING))
        ),
        "a part of what was not counted says so": report(
            part, skipped=((VIT, BROKEN),), containment=Containment({BLOCK: (VIT,)})
        ),
        "of a name that is missing, the line that failed": lost(f"ViT() raised {of_conv}"),
        "copies of a script have their own layers": report(
            *copied("a"), *copied("b"), *copied("c", failed=True)
        ),
        "of many models each has a line": of_many(),
    }
    every = {
        "every way and every reason": page(REPOSITORY, verbose=1),
        "layers of one size, by name": page(of_one_size(), verbose=1),
    }
    expected({name: page(value) for name, value in screens.items()} | every)
    assert (failures.install("cv2") or "").startswith("install 'opencv-python' into ")
    assert "(total)" not in page(of_many())  # a list of all says it better
