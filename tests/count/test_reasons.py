"""Why a model was not counted is told truly, and alike for the whole project and for the model."""

from __future__ import annotations

import json
from textwrap import dedent
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from sample_files import write_files

if TYPE_CHECKING:
    from conftest import Command


class Reason(NamedTuple):
    """What is told of a target: `words` are in the reason, and `source` is the line at fault."""

    code: str
    cause: str
    words: tuple[str, ...]
    source: str | None = None


def missing(package: str, code: str, *words: str) -> Reason:
    said = f"No module named '{package}'"
    return Reason(code, "package_missing", (*words, said))


NET = """
from torch import nn
class {0}(nn.Linear):
    "nparam: 110"
    def __init__(self):
        super().__init__(10, {1})
"""
FILES = {
    # A config that other files ask, which lacks what a package would have made.
    "conf.py": """
        import os
        from no_yacs.config import CfgNode as CN
        _C = CN()
        _C.DIM = 10
        def get():
            return _C.clone()
    """,
    "asks.py": "import conf" + NET.format("Net", "conf._C.DIM"),
    "calls.py": "import conf" + NET.format("Net", "conf.get().DIM"),
    "takes.py": "from conf import _C" + NET.format("Net", "_C.DIM"),
    "takes_late.py": NET.format("Net", "width()") + "def width():\n    from conf import _C\n",
    # A script that builds a model with what it lacks itself.
    "ways/own_conf.py": """
        from no_yacs.config import CfgNode as CN
        _C = CN()
        _C.DIM = 10
    """,
    "ways/sized.py": """
        from torch import nn
        class Sized(nn.Linear):
            def __init__(self, width):
                super().__init__(10, width)
    """,
    "ways/starts.py": "from own_conf import _C\nfrom sized import Sized\nmodel = Sized(_C.DIM)\n",
    # Two files that import one another, so that one is seen before it is done.
    "circle.py": """
        from no_yacs.config import CfgNode as CN
        _C = CN()
        import asks_circle
    """,
    "asks_circle.py": "import circle\nWIDTH = circle._C.DIM" + NET.format("Net", "WIDTH"),
    "takes_circle.py": "from circle import _C" + NET.format("Net", "_C.DIM"),
    "by_circle.py": "import circle" + NET.format("Net", "circle._C.DIM"),
    # A package that takes all names of another, of which one cannot be had.
    "star/__init__.py": "from .conv import *\nfrom .rest import *\n",
    "star/rest.py": NET.format("Rest", "10"),
    "star/conv/__init__.py": """
        from .bad import Bad
        from .good import Good
        __all__ = classes = ["Bad", "Good"]
    """,
    "star/conv/good.py": NET.format("Good", "10"),
    "star/conv/bad.py": "from no_scatter import Base\nclass Bad(Base): pass\n",
    "star/uses.py": "import star" + NET.format("Uses", "star.Good().out_features"),
    "star/uses_bad.py": "import star" + NET.format("Uses", "star.Bad().out_features"),
    "star/takes_bad.py": "from star import Bad" + NET.format("Takes", "Bad().out_features"),
    "star/heir_of_bad.py": "from star import Bad\nclass Heir(Bad):\n    'nparam: 110'\n",
    # A package that fails after it has imported a module of its own.
    "fails/__init__.py": "import fails.parts\nimport no_fails\nimport fails.net\n",
    "fails/parts.py": "WIDTH = 10\n",
    "fails/net.py": "import fails" + NET.format("Net", "fails.parts.WIDTH"),
    # What torch is asked for tells of a script only where it is no question about torch itself.
    "asks_torch.py": """
        import torch
        MKL = "USE_MKL=OFF" in torch.__config__.show()
        try:
            import no_lib
            WIDTH = torch.hub.load(no_lib)
        except Exception:
            WIDTH = 10
    """,
    "takes_width.py": "from asks_torch import WIDTH" + NET.format("Net", "WIDTH"),
    # A package whose names are imported when they are asked for.
    "lazy/__init__.py": """
        def __getattr__(name):
            if name == "Net":
                from .net import Net
                return Net
            if name == "Lacks":
                from .lacks import Lacks
                return Lacks
            if name == "Raises":
                from . import raises
                return raises.Raises
            if name == "Moved":
                from . import moved
                return moved.Moved
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    """,
    "lazy/net.py": NET.format("Net", "10"),
    "lazy/lacks.py": "import torch\nclass Lacks(torch.nn.NoSuchLayer): pass\n",
    "lazy/raises.py": "raise ImportError('too old')\n",
    "lazy/moved.py": "",
    # An installed package that has the name of one of the repository's files.
    "same/__init__.py": "",
    "same/deep/__init__.py": "",
    "same/deep/no_spmd.py": "import no_spmd as spmd\ndef helper(): return 10\n",
    "same/deep/no_ops.py": "def helper(): return 10\n",
    "same/deep/spmd.py": "import no_spmd" + NET.format("Net", "no_spmd.width()"),
    "same/deep/ops.py": (
        "import no_ops\nfrom same.deep.no_ops import helper" + NET.format("Net", "no_ops.width()")
    ),
    "same/net.py": (
        "import no_ops\nfrom same.deep.ops import helper" + NET.format("Net", "no_ops.width()")
    ),
    # One that a script's neighbour is.
    "alone/__init__.py": "",
    "alone/layers.py": "WIDTH = 10\n",
    "alone/net.py": "from layers import WIDTH" + NET.format("Net", "WIDTH"),
}
# Models that need arguments, in files that cannot be imported for one reason or another: the check
# of the project does not try to.
NEEDY = """
from torch import nn
class Net(nn.Linear):
    def __init__(self, width, depth):
        super().__init__(width, depth)
"""
FILES |= {
    "needy/right.py": NEEDY,
    "needy/no_package.py": "import no_package" + NEEDY,
    "needy/raises.py": NEEDY + "raise RuntimeError('not today')\n",
    "needy/ends.py": NEEDY + "import os\nos._exit(3)\n",
    "needy/renamed.py": NEEDY + "del Net\n",
    "needy/base.py": "from no_base import Base\n" + NEEDY.replace("nn.Linear)", "Base, nn.Linear)"),
}
CONFIG = """
[budgets]
"star::Bad" = 110
"star::Good" = 110
"star::Rest" = 110
"star/__init__.py::Bad" = 110
"star::Baad" = 110
"lazy::Net" = 110
"lazy/__init__.py::Net" = 110
"lazy::Lacks" = 110
"lazy/__init__.py::Lacks" = 110
"lazy::Raises" = 110
"lazy::Moved" = 110
"lazy::Gone" = 110
"""
LACKS = Reason("NPL003", "import_failed", ("module 'torch.nn' has no attribute 'NoSuchLayer'",))
REASONS = {
    "asks.py::Net": missing("no_yacs", "NPL004", "conf.py"),
    "calls.py::Net": missing("no_yacs", "NPL004", "'_C' in conf.py: "),
    "takes.py::Net": missing("no_yacs", "NPL004", "conf.py"),
    "takes_late.py::Net": missing("no_yacs", "NPL004", "conf.py"),
    "asks_circle.py::Net": missing("no_yacs", "NPL004", "circle.py"),
    "takes_circle.py::Net": missing("no_yacs", "NPL004", "circle.py"),
    "by_circle.py::Net": missing("no_yacs", "NPL004", "circle.py"),
    "star::Bad": missing("no_scatter", "NPL003", "star has no 'Bad'"),
    "star/__init__.py::Bad": missing("no_scatter", "NPL003", "star has no 'Bad'"),
    "star/uses_bad.py::Uses": missing("no_scatter", "NPL004"),
    "star/takes_bad.py::Takes": missing("no_scatter", "NPL004"),
    "star/heir_of_bad.py::Heir": missing("no_scatter", "NPL003"),
    "star::Baad": Reason("NPL008", "target_missing", ("star has no 'Baad'",)),
    "lazy::Lacks": LACKS,
    "lazy/__init__.py::Lacks": LACKS,
    "lazy::Raises": Reason(
        "NPL003", "import_failed", ("ImportError: too old",), "lazy/raises.py:1"
    ),
    "lazy::Moved": Reason("NPL003", "import_failed", ("module 'lazy.moved' has no attribute",)),
    "lazy::Gone": Reason("NPL008", "target_missing", ("lazy has no 'Gone'",)),
    "same/deep/spmd.py::Net": missing("no_spmd", "NPL004"),
    "same/deep/ops.py::Net": missing("no_ops", "NPL004"),
    "same/net.py::Net": missing("no_ops", "NPL004"),
}
COUNTED = (
    "star::Good",
    "star::Rest",
    "star/uses.py::Uses",
    "takes_width.py::Net",
    "fails/net.py::Net",
    "lazy::Net",
    "lazy/__init__.py::Net",
    "alone/net.py::Net",
)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Any:
    files = {**FILES, "nparam-lint.toml": CONFIG}
    top = tmp_path_factory.mktemp("reasons")
    return write_files(top, {name: dedent(source) for name, source in files.items()})


@pytest.fixture(scope="module")
def told(nparam_lint: Command, root: Any) -> dict[str, Any]:
    """What the check of the whole project says, by target."""
    report = json.loads(nparam_lint(".", "--format", "json", cwd=root).stdout)
    return {model["target"]: model for model in report["models"]}


@pytest.mark.parametrize("target", REASONS)
def test_the_reason_is_the_true_one(told: dict[str, Any], target: str) -> None:
    expected, model = REASONS[target], told[target]
    assert (model["code"], model["cause"]) == (expected.code, expected.cause), model["reason"]
    assert [words for words in expected.words if words not in model["reason"]] == []
    if expected.source is not None:
        assert model["source"] == expected.source


# One for each way to lose a name.
FEW = ("takes.py::Net", "by_circle.py::Net", "star::Bad", "lazy::Raises", "same/deep/ops.py::Net")


@pytest.mark.parametrize("target", FEW)
def test_it_is_the_same_where_the_model_alone_is_asked_for(
    nparam_lint: Command, root: Any, told: dict[str, Any], target: str
) -> None:
    asked = nparam_lint("show", target, "--no-cache", "--format", "json", cwd=root)
    (model,) = json.loads(asked.stdout)["models"]
    assert model["reason"] == told[target]["reason"]
    assert (model["code"], model["source"]) == (told[target]["code"], told[target]["source"])


@pytest.fixture(scope="module")
def needy(nparam_lint: Command, root: Any) -> dict[str, str]:
    report = json.loads(nparam_lint("needy", "--format", "json", cwd=root).stdout)
    return {one["target"]: one["reason"] for one in report["skipped"]}


ASKED = [
    *(("show", name) for name in FILES if name.startswith("needy")),
    ("formula", "needy/base.py"),
]


@pytest.mark.parametrize(("command", "name"), ASKED)
def test_what_needs_arguments_is_told_so_whichever_way_it_is_asked_for(
    nparam_lint: Command, root: Any, needy: dict[str, str], command: str, name: str
) -> None:
    asked = json.loads(nparam_lint(command, f"{name}::Net", "--format", "json", cwd=root).stdout)
    told = asked["models"][0] if command == "show" else asked
    assert told["reason"] == needy[f"{name}::Net"] == "Net needs width, depth"
    if (command, name) == ("show", "needy/base.py"):
        assert told["hint"].startswith("besides: base has no 'Net'")
        assert "No module named 'no_base'" in told["hint"]


def test_what_a_script_lacks_is_why_what_it_builds_is_not_counted(
    nparam_lint: Command, root: Any
) -> None:
    report = json.loads(nparam_lint("ways", "--format", "json", cwd=root).stdout)
    (one,) = report["failed_ways"]
    assert (one["target"], one["cause"]) == ("ways/sized.py::Sized", "package_missing")
    words = ("name '_C' is not defined ('_C' in ways/own_conf.py: ", "named 'no_yacs'")
    assert [word for word in words if word not in one["reason"]] == []


@pytest.mark.parametrize("target", COUNTED)
def test_what_needs_nothing_of_it_is_counted(told: dict[str, Any], target: str) -> None:
    assert told[target].get("reason") is None
    assert all(budget["ok"] for budget in told[target]["budgets"])
