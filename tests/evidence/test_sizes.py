"""Named sizes: which are found, where, and the call that builds each."""

from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING

import pytest
from discover_project import discovered

from nparam_lint.discover.files import reader
from nparam_lint.evidence import EvidenceQuery
from nparam_lint.evidence.sizes import find_sizes
from nparam_lint.ground.notation import Target

if TYPE_CHECKING:
    from pathlib import Path

    from nparam_lint.evidence import Evidence

NET = """
from torch import nn
class Net(nn.Module):
    def __init__(self, dim, depth):
        pass
"""


def sizes(root: Path, sources: dict[str, str]) -> list[Evidence]:
    found = discovered(root, sources)
    wanted = {Target(item.path, item.qualname) for item in found.definitions}
    return list(find_sizes(EvidenceQuery(found, wanted, [], reader(root))))


def built(ways: list[Evidence], target: str) -> list[tuple[str, int, str]]:
    """Name, line and recipe of each way of a target."""
    return [
        (way.way.name, way.way.position.line, "; ".join(filter(None, (way.recipe.setup, call))))
        for way in ways
        if str(way.target) == target and (call := way.recipe.call)
    ]


TABLES = {
    # A class method with a table of its own.
    """
    class Sub(Net):
        @classmethod
        def from_name(cls, name):
            table = {"b0": (1, 2), "b1": (3, 4)}
            return cls(*table[name])
    """: [(n, 10, f'Sub.from_name("{n}")') for n in ("b0", "b1")],
    # Names with a gap, which a loop fills; by the first of what fills it.
    """
    class Sub(Net):
        @classmethod
        def from_name(cls, name): return cls(**BY_NAME[name])
    SIZES = [dict(name="b0", dim=1, depth=1)]
    family = [dict(name="b1{}", dim=1, depth=2), dict(name="b2", dim=1, depth=3)]
    for size in family:
        for kind in ("-base", "-chat"):
            SIZES.append({**size, "name": size["name"].format(kind)})
    BY_NAME = {size["name"]: size for size in SIZES}
    """: [
        ("b0", 10, 'Sub.from_name("b0")'),
        ("b1-base", 11, 'Sub.from_name("b1-base")'),
        ("b2", 11, 'Sub.from_name("b2")'),
    ],
    # Through helpers, to a table at the top level that is completed later.
    """
    SIZES = dict(tiny=dict(dim=1, depth=1))
    SIZES["base"] = dict(dim=2, depth=1)
    SIZES.update({"large": dict(dim=3, depth=1)})
    def params(key): return SIZES[key.lower()]
    def make(dim=3, *, variant): return Net(**params(variant))
    """: [
        ("tiny", 7, 'make(variant="tiny")'),
        ("base", 8, 'make(variant="base")'),
        ("large", 9, 'make(variant="large")'),
    ],
    # A list of entries with names, turned into a dictionary; a config class in between.
    """
    configs = [dict(name="a", dim=1), {"name": "b", "dim": 2}]
    more = [dict(name="c", dim=3)]
    configs.extend(more)
    by_name = {c["name"]: c for c in configs}
    class Config:
        @classmethod
        def from_name(cls, name): return cls(**by_name[name])
    class GPT(nn.Module):
        def __init__(self, config: Config): pass
        @staticmethod
        def from_name(name): return GPT(Config.from_name(name))
    """: [(n, at, f'GPT.from_name("{n}")') for n, at in (("a", 7), ("b", 7), ("c", 8))],
    # The constructor's own name of a size; whole numbers are names, too.
    """
    class ResNet(nn.Module):
        settings = {18: (2, 2), 50: (3, 4), **dict.fromkeys([101, "big"], (3, 4))}
        def __init__(self, depth, width=64): self.blocks = self.settings[depth]
    """: [(n, 8, f"ResNet({n})") for n in ("18", "50", "101")],
    # Tables of what makes each: with arguments bound, beside arguments, functions without a name.
    """
    NETS = {"s": partial(Net, dim=1), "m": lambda: Net(2, 2), "l": (Net, dict(dim=3, depth=2))}
    PAIRS = {"xl": (Net, dict(dim=4))}
    def build(name): return NETS[name]()
    def of_pair(size):
        kind, options = PAIRS[size]
        return kind(**options)
    """: [
        *((n, 7, f'build("{n}")') for n in ("s", "m", "l")),
        ("xl", 8, 'of_pair("xl")'),
    ],
    # A list of objects; an enumeration, by its members.
    """
    SIZES = [Config(name="s", dim=1), Config(name="m", dim=2)]
    BY_NAME = {size.name: size for size in SIZES}
    def build(name): return Net(BY_NAME[name].dim, 1)
    """: [(n, 7, f'build("{n}")') for n in ("s", "m")],
    """
    class Size(enum.Enum):
        SMALL = (1, 2)
        LARGE = (3, 4)
    def build(size: Size = Size.SMALL): return Net(*size.value)
    """: [("SMALL", 8, "build(Size.SMALL)"), ("LARGE", 9, "build(Size.LARGE)")],
    # Comparisons, `match`, annotations.
    """
    def create_model(name, classes=10):
        if name == "s": model = Net(1, 2)
        elif name in ("m", "l"): model = Net(3, 4)
        return model
    """: [("s", 8, 'create_model("s")')] + [(n, 9, f'create_model("{n}")') for n in ("m", "l")],
    """
    def build(size: str):
        match size:
            case "s": return Net(1, 2)
            case "m" | "l": return Net(3, 4)
    """: [("s", 9, 'build("s")'), ("m", 10, 'build("m")'), ("l", 10, 'build("l")')],
    """
    from typing import Literal
    def build(size: Literal["s", "m"]): return Net(len(size), 2)
    """: [("s", 8, 'build("s")'), ("m", 8, 'build("m")')],
    """
    from enum import Enum
    class Kind(Enum):
        S = "s"
        M = "m"
    def build(variant):
        assert variant in Kind
        return Net(len(variant), 2)
    """: [("s", 9, 'build("s")'), ("m", 10, 'build("m")')],
    # A function for each size.
    """
    def _net(dim): return Net(dim, 2)
    def net_s(pretrained=False): return _net(1)
    def net_m(pretrained=False): return _net(2)
    """: [("net_s", 8, "net_s()"), ("net_m", 9, "net_m()")],
    # A method for each size, which makes its class by another one; one that makes something else.
    """
    class Codec(nn.Module):
        def __init__(self, dim, depth): pass
        @staticmethod
        def _of(dim): return Codec(dim, 2)
        @staticmethod
        def small(pretrained=True):
            model = Codec._of(1)
            return model
        @classmethod
        def large(cls): return cls(3, 2)
        @staticmethod
        def positions(): return [1]
    """: [("small", 12, "Codec.small(pretrained=False)"), ("large", 16, "Codec.large()")],
    # A table of functions and classes of the project.
    """
    def small(): return Net(1, 2)
    models = {"s": small, "m": Net}
    def get_model(name): return models[name]()
    """: [("s", 8, 'get_model("s")'), ("m", 8, 'get_model("m")')],
    # A table of config objects, that nothing looks up by name.
    """
    class Config:
        def __init__(self, dim=1): pass
    class Block(nn.Module):
        def __init__(self, config: Config): pass
    class GPT(nn.Module):
        def __init__(self, config: "Config", cache=None): self.block = Block(config)
    sizes = {"s": Config(dim=1), "m": Config(dim=2)}
    """: [(n, 13, f'GPT(sizes["{n}"])') for n in "sm"],
    # The same of functions that make them, called as a function of the file does.
    """
    class GPT(nn.Module):
        class Config: pass
        def __init__(self, config: Config): pass
    def _s(backend): return GPT.Config()
    def _m(backend): return GPT.Config()
    sizes = {"s": _s, "m": _m}
    def spec(flavor, backend="sdpa"):
        config = sizes[flavor](backend=backend)
        return dict(model=config)
    """: [(n, 12, f"GPT(sizes[\"{n}\"](backend='sdpa'))") for n in "sm"],
    # Functions that say in other ways what they make, and what they are called with.
    """
    class GPT(nn.Module):
        class Config: pass
        def __init__(self, config: Config): pass
    def _s(backend) -> GPT.Config:
        config = GPT.Config(); other = GPT.Config()
        return config or other
    def _m(backend): return _s
    sizes = {"s": _s, "m": _m}
    def spec(flavor, backend="sdpa"):
        kwargs = dict(backend=backend)
        return sizes[flavor](**kwargs)
    """: [(n, 14, f"GPT(sizes[\"{n}\"](backend='sdpa'))") for n in "sm"],
    # A record that holds the config, and more.
    """
    from functools import partial
    class GPT(nn.Module):
        class Config: pass
        def __init__(self, config: Config): pass
    class Spec:
        def __init__(self, name, model): pass
    def _config(deep=False): return GPT.Config()
    sizes = {"s": _config, "m": partial(_config, deep=True)}
    def spec(flavor):
        config = sizes[flavor]()
        return Spec(name=flavor, model=config)
    """: [(n, 14, f'GPT(spec("{n}").model)') for n in "sm"],
    # Tables of the arguments of a config class, or of the model.
    """
    from dataclasses import dataclass
    @dataclass
    class GPTConfig:
        n_layer: int
        n_head: int = 4
        n_embd: int = 64
    class GPT(nn.Module):
        def __init__(self, config): pass
    sizes = {"s": dict(n_layer=1), "m": {"n_layer": 2, "n_embd": 8}}
    """: [(n, 15, f'GPT(GPTConfig(**sizes["{n}"]))') for n in "sm"],
    """
    sizes = dict(s={"dim": 1, "depth": 2}, m={"dim": 1, "depth": 4})
    others = dict(s={"dim": 1, "width": 2}, m={"dim": 1, "width": 4})
    """: [(n, 7, f'Net(**sizes["{n}"])') for n in "sm"],
    # No sizes: addresses, an activation, a table of another package's classes, weights.
    """
    URLS = {"tiny": "https://a.b/c", "base": "https://a.b/d"}
    def load_model(name):
        weights = torch.load(download(URLS[name]))
        model = Net(**weights["dims"])
        return model
    """: [],
    """
    class Block(nn.Module):
        acts = {"relu": nn.ReLU, "gelu": nn.GELU}
        def __init__(self, act="relu", norm_type="bn", name="x", config=None):
            self.act = self.acts[act]
            if norm_type == "bn": pass
            elif norm_type == "ln": pass
            self.dtype = {"a": torch.float, "b": torch.int}[config.dtype]
            self.name = self.acts[name]
    """: [],
}


@pytest.mark.parametrize(("source", "expected"), TABLES.items())
def test_sizes(tmp_path: Path, source: str, expected: list[tuple[str, int, str]]) -> None:
    ways = sizes(tmp_path, {"m.py": NET + dedent(source)})
    classes = [way.target for way in ways if way.target.callable[0].isupper()]
    assert len(set(classes)) <= 1
    assert built(ways, str(classes[0]) if classes else "") == expected


def test_other_files(tmp_path: Path) -> None:
    """A size stands where its key does, and is built with the names of the factory's file."""
    ways = sizes(
        tmp_path,
        {
            "zoo/__init__.py": "",
            "zoo/sizes.py": "TABLE = {\n    'a': (1, 2),\n    'b': (3, 4),\n}\n",
            "zoo/nets.py": NET,
            "build.py": """
                from zoo.nets import Net
                from zoo.sizes import TABLE
                def make(model_name): return Net(*TABLE[model_name])
                """,
        },
    )
    found = {
        (str(w.target), w.file, str(w.way.position), w.way.position.column, w.recipe.call)
        for w in ways
    }
    assert found == {
        (target, "build.py", f"zoo/sizes.py:{line}", 5, f'make("{name}")')
        for target in ("zoo/nets.py::Net", "build.py::make")
        for name, line in (("a", 2), ("b", 3))
    }


def test_a_recipe_stands_in_a_file_that_has_its_names_or_imports_them(tmp_path: Path) -> None:
    table = "import torch\nclass Config: pass\nsizes = {'s': Config(1), 'm': Config(2)}\n"
    for names, setup in (("Config", "from table import sizes"), ("Config, sizes", None)):
        net = f"from torch import nn\nfrom table import {names}\nclass GPT(nn.Module):\n"
        net += "    def __init__(self, config: Config): pass\n"
        found = sizes(tmp_path / names, {"table.py": table, "net.py": net})
        expected = [("net.py", setup, f'GPT(sizes["{name}"])') for name in "sm"]
        assert [(way.file, way.recipe.setup, way.recipe.call) for way in found] == expected


def test_weights_are_not_downloaded(tmp_path: Path) -> None:
    source = NET + "def net(pretrained=True): return Net(1, 2)\ndef small(pretrained=False): pass\n"
    (way,) = sizes(tmp_path, {"m.py": source})
    assert (way.way.kind, way.way.position.line, way.recipe.call) == (
        "call",
        6,
        "net(pretrained=False)",
    )


def test_a_loader_of_one_of_two_classes_is_cut_down_to_what_it_returns(tmp_path: Path) -> None:
    load = """
        import torch
        from m import Net
        class Other(Net): pass
        SIZES = {"a": (1, 2), "b": (3, 4)}
        def load(name, wide=True):
            if wide:
                model = Net(*SIZES[name])
            else:
                model = Other(*SIZES[name])
            model.load_state_dict(torch.load(f"{name}.pth"))
            return model
        def loaded(name):
            model = load(name)
            return model.eval()
        """
    ways = sizes(tmp_path, {"m.py": NET, "load.py": load})
    choice = "if wide:\n    model = Net(*SIZES[name])\nelse:\n    model = Other(*SIZES[name])"
    lines = {name: line for name, line, _ in built(ways, "load.py::load")}
    assert lines == {"a": 5, "b": 5}
    texts = [text for _, _, text in built(ways, "load.py::load")]
    assert texts == [f'wide = True\nname = "{n}"\n{choice}; model' for n in "ab"]


@pytest.mark.parametrize("broken", ["def make(name:\n", "TABLE = {'a': (1, 2}\n", "\0"])
def test_broken_file(tmp_path: Path, broken: str) -> None:
    good = NET + "def make(name): return Net(*{'a': (1, 2), 'b': (3, 4)}[name])\n"
    ways = sizes(tmp_path, {"m.py": good, "other.py": f"from m import Net\n{broken}"})
    assert [item[0] for item in built(ways, "m.py::Net")] == ["a", "b"]
