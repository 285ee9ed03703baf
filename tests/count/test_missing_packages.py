"""What a file names of a package that is not installed: what needs no value of it is counted, and
all else fails for that package."""

from __future__ import annotations

import json
from textwrap import dedent, indent
from typing import TYPE_CHECKING, Any

import pytest
from sample_files import write_files

if TYPE_CHECKING:
    from conftest import Command

NET = """
class Net({base}):
    "nparam: 110"
    {inside}
    def __init__(self):
        super().__init__({width}, 10)
        {made}
"""


def net(
    module: str = "", made: str = "", inside: str = "", width: str = "10", base: str = "nn.Linear"
) -> str:
    """A file that imports what is missing in several ways, with more at its top, in its class, or
    in its constructor."""
    head = """
        import typing, functools, no_pkg, no_pkg.deep.ops, no_pkg.deep as deep
        from no_pkg.parts import Part as P, make, Error
        from torch import nn
    """
    made, inside = indent(dedent(made), " " * 8).strip(), indent(dedent(inside), " " * 4).strip()
    text = NET.format(base=base, inside=inside, width=width, made=made)
    return dedent(head) + dedent(module) + text


# A file that others import, which Python could not.
LIB = """
from no_pkg.parts import Part as P, KNN
class Layer(KNN): ...
class Lost: width = P.WIDTH + 1
@P.jit
def fast(): ...
def plain(x: P.Inner): return 10
"""
FALLS_BACK = """
try:
    from lib import {name}
    IS_THERE = True
except ImportError:
    IS_THERE = False
"""
# Uses that need no value of the package: its models have the count that they have with it.
HARMLESS = {
    # As timm's zoos have their configs: a function of the file that only gives a value.
    "configs": net(
        """
        def _cfg(url="", **options): return {"url": url, **options}
        CFGS = {"s": _cfg(url="x", width=10)}
        """,
        width="CFGS['s']['width']",
    ),
    "annotation": net("def f(x: typing.Union[dict, P.Inner], y: P = 3) -> no_pkg.deep.ops.T: ..."),
    "annotations": net("def f(x: typing.Optional[P], y: typing.List[P], z: P['a b', 3]): ..."),
    "dataclass": net("import dataclasses\n@dataclasses.dataclass\nclass C:\n    x: P = None\n"),
    "generic": net("T = typing.TypeVar('T', P, int)\nclass G(typing.Generic[T]): x: P[T]\n"),
    "decorator": net("@no_pkg.jit\ndef f(x): ...\n"),
    "decorator_made": net("@no_pkg.jit(nopython=True, keys=['a'])\ndef f(x): ...\n"),
    "decorator_inside": net(inside="@staticmethod\n@no_pkg.jit(fast=[1])\ndef f(x): ..."),
    "decorator_of_class": net("@no_pkg.record\nclass C: ...\n"),
    "register": net("@no_pkg.REGISTRY.register('net')\nclass Base(nn.Linear): ...", base="Base"),
    "isinstance": net(made="if isinstance(self, (P, no_pkg.A)): self.more = nn.Linear(3, 3)"),
    "issubclass": net(made="if issubclass(type(self), P): self.more = nn.Linear(3, 3)"),
    "default": net("def f(x=P.DEFAULT, *, y=no_pkg.TABLE['y']): return 10\n", width="f()"),
    "constant": net("CLASS = no_pkg.KNN\nNAMES = {P: [make], 'x': deep.Y}\n"),
    "constant_of_class": net(inside="kind = no_pkg.KNN"),
    "never_called": net("def f(): return P(3) + make()\n", inside="def forward(self): P()"),
    "base": net("class A(P): ...\nclass B(A, metaclass=type(P)): x = A.x\nclass C(B, dict): ..."),
    "except": net(made="try: {}['x']\nexcept (Error, P.Other): pass\nexcept KeyError: pass"),
    "identity": net("import no_pkg.parts as p\nT = {P.A: 10, P.B: 3}\n", width="T[p.Part.A]"),
    "not_none": net(made="if P is None or no_pkg is None: self.more = nn.Linear(3, 3)"),
    "several": net("from no_pkg import a, b as c\nX = a.x, c.y\nimport no_other, os\nos.path\n"),
    "falls_back": net("try:\n    import no_pkg.x as X\nexcept ImportError:\n    X = None\n")
    + "        if X is not None: self.more = nn.Linear(3, 3)\n",
    "has": net("try:\n    import no_pkg\n    HAS = no_pkg.version() > 3\n    HAS_IT = True\n")
    + "        if HAS_IT: self.more = nn.Linear(3, 3)\n",
    "find_spec": net(
        "import importlib.util",
        "if importlib.util.find_spec('no_pkg'): self.more = nn.Linear(3, 3)",
    ),
}
HARMLESS |= {
    "imports": net("import lib\nfrom lib import KNN, Layer, Lost, fast\ndef f(x: lib.KNN): ..."),
    "imports_all": net("from lib import *\ndef f(x: KNN, y: Layer): ...\n", width="plain(3)"),
}
for _name in ("KNN", "Layer", "Lost", "fast"):
    _made = "if IS_THERE: self.more = nn.Linear(3, 3)"
    HARMLESS[f"falls_back_{_name}"] = net(FALLS_BACK.format(name=_name), _made)
    _inside = "def more(self):\n" + indent(FALLS_BACK.format(name=_name), "    ")
    _inside += "        if IS_THERE: self.more = nn.Linear(3, 3)".replace("        ", "    ")
    HARMLESS[f"falls_back_late_{_name}"] = net("", "self.more()", _inside)
HARMLESS["has"] = HARMLESS["has"].replace(
    "    HAS_IT = True\n", "    HAS_IT = True\nexcept ImportError:\n    HAS_IT = False\n"
)
# Uses on which the count may depend.
NEEDED = {
    "called": net(made="self.x = no_pkg.Thing()"),
    "called_before": net("X = no_pkg.thing(3)\n", width="X"),
    "called_in_vain": net(made="try: make()\nexcept Exception: pass"),
    "changes": net("c = dict(w=10)\ndef f():\n    make(c)\n    return c\nc = f()", width="c['w']"),
    "decorated": net("@no_pkg.jit(fast=True)\ndef f(): return 10\n", width="f()"),
    "decorated_net": net("@no_pkg.record"),
    "inherits": net(base="P"),
    "inherits_too": net("class A(P.Base): ...\n", base="A, nn.Linear"),
    "inner_inherits": net("class A(P): ...\n", made="self.more = A()"),
    "attribute": net(made="self.more = no_pkg.activation"),
    "attribute_of_list": net(made="self.more = [dict(a=(P.x,))]"),
    "attribute_of_object": net("class C: pass\n", made="self.c = C()\nself.c.x = P['x']"),
    "class_given": net("class A(P): ...\n", made="self.more = A"),
    "width": net(width="no_pkg.WIDTH"),
    "truth": net(made="if P.FLAG: self.more = nn.Linear(3, 3)"),
    "order": net(made="if P.VERSION > '1': self.more = nn.Linear(3, 3)"),
    "version": net(made="if no_pkg.__version__ > '1': self.more = nn.Linear(3, 3)"),
    "equal": net(made="if P.KIND == 'a': self.more = nn.Linear(3, 3)"),
    "element": net(made="if 'a' in P.KINDS: self.more = nn.Linear(3, 3)"),
    "length": net(made="self.more = nn.Linear(3, len(P.KINDS))"),
    "loop": net(made="for width in P.WIDTHS: self.more = nn.Linear(3, width)"),
    "sum": net(made="self.more = nn.Linear(3, 3 + 2 * P.WIDTH)"),
    "hasattr": net(made="if hasattr(no_pkg, 'new'): self.more = nn.Linear(3, 3)"),
    "getattr": net(made="self.more = nn.Linear(3, getattr(no_pkg, 'WIDTH', 3))"),
    "subclass": net(
        "class A(P): ...\n", made="self.more = nn.Linear(3, 3 + issubclass(A, deep.B))"
    ),
    "swallowed": net("try: WIDTH = no_pkg.W + 1\nexcept Exception: WIDTH = 10\n", width="WIDTH"),
    "identical": net(made="if P.A is P.B or P.A is not P.A or P is P.A: return\nP()"),
    "instance_of_lost": net("class A: x = P + 1\n", made="if not isinstance(3, A): P.x"),
    "imports_layer": net("from lib import Layer\n", made="self.more = Layer()"),
    "imports_lost": net("import lib\n", made="self.more = lib.Lost()"),
    "imports_all_lost": net("from lib import *\n", made="self.more = Lost()"),
    "imports_function": net("from lib import fast\n", width="fast()"),
    "branch": net("if no_pkg.VERSION > 2: WIDTH = 10\nelse: WIDTH = 3\n", width="WIDTH"),
    "setting": net("no_pkg.WIDTH = 10\n", width="no_pkg.WIDTH"),
    "raises_itself": net("try: import no_pkg as n\nexcept ImportError: raise", width="n.WIDTH"),
}


def files() -> dict[str, str]:
    samples = {f"harmless/{name}.py": text for name, text in HARMLESS.items()}
    samples["lib.py"] = LIB
    samples |= {f"needed/{name}.py": text for name, text in NEEDED.items()}
    return samples


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return write_files(tmp_path_factory.mktemp("missing"), files())


@pytest.fixture(scope="module")
def told(nparam_lint: Command, root: Any) -> dict[str, Any]:
    report = json.loads(nparam_lint(".", "--format", "json", cwd=root).stdout)
    return {model["target"]: model for model in report["models"]}


@pytest.mark.parametrize("name", HARMLESS)
def test_what_needs_no_value_is_counted(told: dict[str, Any], name: str) -> None:
    model = told[f"harmless/{name}.py::Net"]
    assert model.get("reason") is None
    assert model["counts"]["total"] == 110


@pytest.mark.parametrize("name", NEEDED)
def test_what_needs_one_is_not(told: dict[str, Any], name: str) -> None:
    model = told[f"needed/{name}.py::Net"]
    assert (model["status"], model["cause"]) == ("not_measured", "package_missing"), model["reason"]
    assert "No module named 'no_pkg" in model["reason"]
    assert model["hint"].startswith("install 'no_pkg' into ")
