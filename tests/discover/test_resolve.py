from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from discover_project import discovered, targets

from nparam_lint import discover as models

if TYPE_CHECKING:
    from pathlib import Path

MODEL = "from torch import nn\nclass Net(nn.Module):\n    def __init__(self, dim=3): pass\n"


@pytest.mark.parametrize(
    "source",
    [
        "import torch\nclass X(torch.nn.Module): pass",
        "import torch as t\nclass X(t.nn.Module): pass",
        "import torch.nn as nn\nclass X(nn.Module): pass",
        "from torch import nn as N\nclass X(N.Module): pass",
        "from torch.nn import Module as M\nclass X(M): pass",
        "import torch.nn\nclass X(torch.nn.modules.conv._ConvNd): pass",
        "from torch import nn\nclass X(nn.Sequential): pass",
        "from torch import nn\nBase = nn.Module\nclass X(Base): pass",
        "from torch.nn import *\nclass X(Module): pass",
        "from torch import nn\nclass X(Mixin, nn.Module): pass",
        "import pytorch_lightning as pl\nclass X(pl.LightningModule): pass",
        "from transformers import LlamaForCausalLM\nclass X(LlamaForCausalLM): pass",
        "from mmengine.model import BaseModule\nclass X(BaseModule): pass",
        "from torchvision.models import ResNet\nclass X(ResNet): pass",
        "from torch_geometric.nn import MessagePassing as MP\nclass X(MP): pass",
        "try:\n    from torch.nn import Module\nexcept ImportError:\n    Module = object\n"
        "class X(Module): pass",
        "try:\n    from fast import Base\nexcept ImportError:\n    import torch\n"
        "    class Base(torch.nn.Module): pass\nclass X(Base): pass",
        "import torch\nfrom audiotools.ml import BaseModel\nclass X(BaseModel):\n"
        "    def forward(self, x): pass",
    ],
)
def test_models(tmp_path: Path, source: str) -> None:
    assert "m.py::X" in targets(discovered(tmp_path, {"m.py": source}))


@pytest.mark.parametrize(
    "source",
    [
        "import torch\nclass X(torch.autograd.Function): pass",
        "from torch.utils.data import Dataset\nclass X(Dataset): pass",
        "from torch import nn\nclass X(nn.Parameter): pass",
        "import torch\nclass X(torch.optim.Optimizer): pass",
        "import torch, enum\nclass X(enum.Enum): pass",
        "from flax.linen import Module  # torch\nclass X(Module): pass",
        "from paddle.nn import Layer  # torch\nclass X(Layer):\n    def forward(self, x): pass",
        "import torch\nfrom audiotools.ml import BaseModel\nclass X(BaseModel): pass",
        "import torch, grad\nclass X(grad.Function):\n    def forward(ctx): pass",
        "from transformers import PretrainedConfig\nclass X(PretrainedConfig): pass",
        "from huggingface_hub import PyTorchModelHubMixin\nclass X(PyTorchModelHubMixin): pass",
        "from torch.utils.data import *\nfrom torch.nn import *\nclass X(Dataset): pass",
        "from torch import nn\ndef f():\n    class X(nn.Module): pass",
        "from torch import nn\nfrom typing import Protocol\nclass X(nn.Module, Protocol): pass",
        "from torch import nn\nfrom abc import *\nclass X(nn.Module, ABC):\n"
        "    @abstractmethod\n    def f(self): pass",
        "import torch\nclass A(B): pass\nclass B(X): pass\nclass X(A): pass",
        "import torch\nclass X(X): pass",
    ],
)
def test_no_models(tmp_path: Path, source: str) -> None:
    assert targets(discovered(tmp_path, {"m.py": source})) == set()


@pytest.mark.parametrize(
    "sources",
    [
        {"model.py": MODEL, "use.py": "from model import Net\nclass X(Net): pass"},
        {"model.py": MODEL, "use.py": "import model as m\nclass X(m.Net): pass"},
        {"a/__init__.py": "", "a/m.py": MODEL, "use.py": "import a.m\nclass X(a.m.Net): pass"},
        {"a/__init__.py": "from .m import Net as N", "a/m.py": MODEL}
        | {"use.py": "import a\nclass X(a.N): pass"},
        {"a/__init__.py": "from .m import *", "a/m.py": MODEL}
        | {"use.py": "from a import Net\nclass X(Net): pass"},
        {"src/a/__init__.py": "", "src/a/m.py": MODEL}
        | {"use.py": "from a.m import Net\nclass X(Net): pass"},
        {"ns/deep/m.py": MODEL, "use.py": "from ns.deep import m\nclass X(m.Net): pass"},
        {"m.py": MODEL, "base.py": "from m import Net\nBase = Net"}
        | {"use.py": "from base import Base\nclass X(Base): pass"},
        {"m.py": MODEL, "mid.py": "from m import Net\nclass Mid(Net): pass"}
        | {"use.py": "from mid import Mid\nclass X(Mid): pass"},
        {"lib/one/m1.py": MODEL, "use.py": "from m1 import Net\nclass X(Net): pass"},
    ],
)
@pytest.mark.parametrize("few", [True, False])
def test_bases_in_other_files(
    tmp_path: Path, sources: dict[str, str], few: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Both ways of choosing which files without a word of torch to parse.
    monkeypatch.setattr(models, "_FEW", 300 if few else 0)
    found = discovered(tmp_path, sources)
    assert "use.py::X" in targets(found)
    # The constructor is inherited too, and the base's file need not be among the files.
    only = discovered(tmp_path, {}, files=["use.py"])
    (definition,) = only.definitions
    assert definition.parameters is not None
    assert [parameter.name for parameter in definition.parameters] == ["dim"]


def test_relative_imports_and_scripts_beside_each_other(tmp_path: Path) -> None:
    found = discovered(
        tmp_path,
        {
            "pkg/base.py": MODEL,
            "pkg/sub/use.py": "from ..base import Net\nclass X(Net): pass",
            "one/model.py": "class Net: pass",
            "one/use.py": "from model import Net\nclass NoModel(Net): pass",
            "two/model.py": MODEL,
            "two/use.py": "from model import Net\nclass IsModel(Net): pass",
        },
    )
    assert targets(found) == {
        "pkg/base.py::Net",
        "pkg/sub/use.py::X",
        "two/model.py::Net",
        "two/use.py::IsModel",
    }


def test_a_directory_called_torch_is_not_torch(tmp_path: Path) -> None:
    found = discovered(
        tmp_path,
        {"tools/torch/nn.py": "class Module: pass", "tools/m.py": MODEL},
    )
    assert targets(found) == {"tools/m.py::Net"}


def test_cycles_of_imports_end(tmp_path: Path) -> None:
    found = discovered(
        tmp_path,
        {
            "a.py": "from b import *\nfrom b import B\nimport torch\nclass A(B): pass",
            "b.py": "from a import *\nfrom a import A\nimport torch\nclass B(A): pass",
            "c.py": "from a import *\nimport torch\nclass C(torch.nn.Module): pass",
        },
    )
    assert targets(found) == {"c.py::C"}
    assert found.names("c.py") == {"A", "B", "C", "torch"}


@pytest.mark.parametrize(
    "source",
    [
        "def f() -> Net: ...",
        "def f() -> 'Optional[Net]': ...",
        "def f(): return Net()",
        "def f():\n    net = Net(5)\n    net.load()\n    return net.eval()",
        "def _g(): return Net()\ndef f(): return _g()",
        "def f(): return Net.from_name('x')",
        "def f():\n    from m import Net as N\n    return N()",
        "@register_model\ndef f(): return _create('x')",
        "@MODELS.register_module()\ndef f(): return make('x')",
        "@BACKBONES.register_module()\ndef f(): return make('x')",
        "def f(): return nn.Sequential(nn.Linear(2, 2))",
        "def f() -> nn.Module: return TABLE['x']()",
        "import timm\ndef f(): return timm.create_model('resnet50')",
        "def f(x):\n    '''One.\n\n    nparam: 5\n    '''\n    return x",
    ],
)
def test_factories(tmp_path: Path, source: str) -> None:
    found = discovered(tmp_path, {"m.py": f"{MODEL}\n{source}\n"})
    assert targets(found) == {"m.py::Net", "m.py::f"}
    assert found.definitions[-1].kind == "factory"


def test_a_function_that_is_named_for_it_builds_a_model(tmp_path: Path) -> None:
    names = ("build_model", "get_net", "_make_network", "build_optimizer", "get_model_name")
    source = "".join(f"def {name}(c):\n    return table[c]()\n" for name in names)
    found = targets(discovered(tmp_path, {"m.py": f"import torch\n{source}"}))
    assert found == {"m.py::build_model", "m.py::get_net"}  # no private one


@pytest.mark.parametrize(
    "source",
    [
        "def f() -> list[Net]: ...",
        "def f() -> Type[Net]: return Net",
        "def f(): yield Net()",
        "def f(): return nn.Conv2d(1, 2, 3)",
        "def f(net: nn.Module) -> nn.Module: return net",
        "def f(net):\n    if x:\n        net = Net()\n    return net",
        "def f(net: Net) -> Net: return Net(net.dim)",
        "def f(): return g()\ndef g(): return f()",
        "def test_f() -> Net: ...",
        "def _f() -> Net: ...",
        "class A:\n    def f(self) -> Net: ...",
        "@register_dataset\ndef f(): return make('x')",
        "async def f(): return Net()",
    ],
)
def test_no_factories(tmp_path: Path, source: str) -> None:
    assert targets(discovered(tmp_path, {"m.py": f"{MODEL}\n{source}\n"})) == {"m.py::Net"}


def test_a_budget_makes_a_definition_of_anything(tmp_path: Path) -> None:
    source = """
    class A(unknown.Base):
        '''One.

        :nparam[trainable]: 5
        '''
    class B:
        def __init__(self):
            '''nparam(dim=3): 5'''
    class C: 'nparams of this are many'
    def _f(): 'nparam: 5'
    """
    found = discovered(tmp_path, {"m.py": source, "tests/test_m.py": source})
    expected = {
        f"{path}::{name}" for path in ("m.py", "tests/test_m.py") for name in ["A", "B", "_f"]
    }
    assert targets(found) == expected
    (definition,) = [item for item in found.definitions if item.target == "m.py::B"]
    assert [[line.text for line in doc] for doc in definition.docstrings] == [["nparam(dim=3): 5"]]


def test_test_files_hold_no_models_unless_declared_or_named(tmp_path: Path) -> None:
    test = f"{MODEL}\ndef test_it(): pass\n"
    sources = {"tests/helper.py": MODEL, "test_a.py": test, "test_time_pool.py": MODEL}
    assert targets(discovered(tmp_path, sources)) == {"test_time_pool.py::Net"}
    found = discovered(tmp_path, sources, in_full=["test_a.py"])
    assert targets(found) == {"test_time_pool.py::Net", "test_a.py::Net"}


def test_declared_only_is_the_fast_way(tmp_path: Path) -> None:
    declared = MODEL.replace("    def", "    'nparam: 5'\n    def")
    found = discovered(
        tmp_path,
        {"a.py": MODEL, "b.py": f"{declared}\nclass Other(Net): pass", "c.py": MODEL},
        declared_only=True,
        in_full=["c.py"],
    )
    assert targets(found) == {"b.py::Net", "c.py::Net"}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("class X(nn.Module): pass", []),
        ("class X(nn.Sequential): pass", []),
        ("class X(nn.Linear): pass", None),
        ("class X(Net): pass", ["dim"]),
        ("class Mixin: pass\nclass X(Mixin, Net): pass", ["dim"]),
        ("class Left(nn.Module): pass\nclass X(Left, Net): pass", ["dim"]),
        ("@dataclass\nclass X(nn.Module):\n    a: int\n    b: int = 2", ["a", "b"]),
        ("class X(Net):\n    def __init__(self): pass", []),
        ("from hub import HubMixin\nclass X(nn.Module, HubMixin): pass", []),
    ],
)
def test_parameters(tmp_path: Path, source: str, expected: list[str] | None) -> None:
    found = discovered(tmp_path, {"m.py": f"{MODEL}\n{source}\n"})
    (definition,) = [item for item in found.definitions if item.qualname == "X"]
    taken = definition.parameters
    assert (None if taken is None else [parameter.name for parameter in taken]) == expected


def test_all_definitions_of_a_name_are_found(tmp_path: Path) -> None:
    source = """
    from torch import nn
    if nn:
        class A(nn.Module): 'One.'
        class B(nn.Module): 'nparam: 5'
        class C(nn.Module): pass
    else:
        class A(nn.Module): pass
        class B(nn.Module): 'Two.'
        class C(nn.Module): pass
    class Outer(nn.Module):
        class Inner(nn.Module): pass
        class Last(Inner): pass
    """
    found = discovered(tmp_path, {"m.py": source})
    lines = [(item.qualname, item.line) for item in found.definitions]
    in_branches = [("A", 4), ("B", 5), ("C", 6), ("A", 8), ("B", 9), ("C", 10)]
    assert lines == [*in_branches, ("Outer", 11), ("Outer.Inner", 12), ("Outer.Last", 13)]


def test_a_broken_file_does_not_hide_the_others(tmp_path: Path) -> None:
    found = discovered(tmp_path, {"a.py": MODEL, "b.py": "import torch\nclass A(:\n"})
    assert targets(found) == {"a.py::Net"}
    (problem,) = found.problems
    assert (problem.position.path, problem.position.line) == ("b.py", 2)
    gone = discovered(tmp_path, {}, files=["a.py", "gone.py"])
    assert [item.position.path for item in gone.problems] == ["gone.py"]
    assert targets(gone) == {"a.py::Net"}


def test_names_of_a_file(tmp_path: Path) -> None:
    found = discovered(tmp_path, {"a.py": MODEL, "b.py": "from a import *\nx, y = 1, 2\n"})
    assert found.names("b.py") == {"nn", "Net", "x", "y"}
    assert found.names("none.py") == frozenset()


def test_files_that_name_no_model_are_not_parsed(tmp_path: Path) -> None:
    plain = "import json\nclass A:\n    def f(self): return json.loads('1')\n"
    many = {f"m{number}.py": plain for number in range(models._FEW + 1)}
    few = {"net.py": MODEL, "use.py": "from net import Net\nclass X(Net): pass"}
    found = discovered(tmp_path, many | few)
    assert targets(found) == {"net.py::Net", "use.py::X"}
    assert len(found.tree._facts) < 10


def test_what_is_looked_up_in_a_module_of_models_is_one(tmp_path):
    """By its names, or by `getattr`; also where these come from elsewhere. Other modules have
    none."""
    net = "from torch import nn\nclass Net(nn.Module): ...\n"
    use = "from nets import vit\nimport nets, torch, plain\n"
    functions = {
        "a": "vit.__dict__[name](3)",
        "b": "getattr(nets, name)(3).eval()",
        "c": "plain.__dict__[name](3)",
        "d": "getattr(torch, name)(3)",
        "e": "getattr(cfg, name)(3)",
    }
    use += "".join(f"def {n}(name):\n    return {value}\n" for n, value in functions.items())
    use += (
        "def f(name):\n    import nets as inner\n    net = inner.__dict__[name]()\n    return net\n"
    )
    files = {"nets/__init__.py": "from .vit import *\n", "nets/vit.py": net, "use.py": use}
    found = discovered(tmp_path, {**files, "plain.py": "def small(): ...\n"})
    assert targets(found) == {"nets/vit.py::Net", "use.py::a", "use.py::b", "use.py::f"}
