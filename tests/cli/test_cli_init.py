"""`nparam-lint init` as a user meets it: what gets a budget, where, and that the next check passes.
Everything runs for real."""

import json
import subprocess
from textwrap import indent

import pytest
from sample_files import write_files

NET = '''\
"""Networks."""
import random

from torch import nn


class Part(nn.Module):
    """Inside of Net."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Sequential(nn.Linear(10, 10))


class Net(nn.Module):
    """A net."""

    def __init__(self, width=1000):
        super().__init__()
        self.part = Part()
        self.head = nn.Linear(10, width)


class Pieces(nn.Module):
    "In " "pieces."

    layer = None

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(9, 9)


class Bare(nn.Linear):
    def __init__(self): super().__init__(2, 3)  # six and three


class Known(nn.Module):
    """nparam[layer]: 6"""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)


class Loss(nn.Module):
    """Without parameters."""


class Random(nn.Linear):
    def __init__(self):
        super().__init__(2, random.randrange(1, 9))


class Needy(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.layers = nn.ModuleList(Inner(width, width) for _ in range(depth))

    def wider(self):
        return Needy(len(self.layers), 9)


class Inner(nn.Linear):
    def __init__(self, a, b):
        super().__init__(a, b)


def tiny(): return nn.Sequential(nn.Linear(1, 1))
'''
WRITTEN = (
    NET.replace('"""A net."""', '"""A net.\n\n    nparam: 11_110\n    """')
    .replace("class Bare(nn.Linear):\n", 'class Bare(nn.Linear):\n    """nparam: 9"""\n\n')
    .replace("def tiny(): return", 'def tiny():\n    """nparam: 2"""\n    return')
)
TEST = (
    "from torch import nn\nclass Fake(nn.Linear):\n    def __init__(self): super().__init__(1, 1)\n"
)
# What a token uses does not say how a model is built.
PYPROJECT = """\
[project]
name = "x"  # mine

[tool.nparam-lint]
timeout = 60

[tool.nparam-lint.arguments]
"nets/net.py::Needy" = { experts_per_token = 2 }

[tool.ruff]
"""
TABLE = '\n[tool.nparam-lint.budgets]\n"nets/net.py::Pieces" = 90\n'
FILES = {"nets/net.py": NET, "tests/test_net.py": TEST, "pyproject.toml": PYPROJECT}
INITIALISED = FILES | {"nets/net.py": WRITTEN, "pyproject.toml": PYPROJECT + TABLE}
HINTS = """
# Not built, since arguments are missing: 1. Add them to the config:
# [tool.nparam-lint.arguments]
# "nets/net.py::Needy" = "width=…, depth=…"
"""


@pytest.fixture(scope="module")
def init(nparam_lint):
    def run(root, *arguments, **more):
        return nparam_lint("init", *arguments, "--device", "meta", cwd=root, **more)

    return run


@pytest.fixture(scope="module")
def checked(nparam_lint):
    """What a check of the declared models says: the exit code, and what was declared."""

    def run(root):
        done = nparam_lint("--declared", "--device", "meta", "--format", "json", cwd=root)
        models = json.loads(done.stdout)["models"]
        models = [model for model in models if model["way"] is None]
        return done.returncode, {m["target"]: [b["declared"] for b in m["budgets"]] for m in models}

    return run


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """What no test writes to; it is no git repository."""
    return write_files(tmp_path_factory.mktemp("init"), FILES)


@pytest.fixture
def root(tmp_path):
    """The same for a test that does."""
    return write_files(tmp_path / "project", FILES)


@pytest.fixture(scope="module")
def initialised(tmp_path_factory, init):
    """A project after `init`, and what the command said."""
    root = write_files(tmp_path_factory.mktemp("initialised"), FILES)
    return root, init(root)


def test_what_has_none_gets_a_budget_where_it_can_have_one(initialised, contents, checked):
    root, done = initialised
    assert contents(root) == INITIALISED
    lines = """\
nets/net.py:15  Net  11_110
nets/net.py:37  Bare  9
nets/net.py:74  tiny  2
pyproject.toml:13  nets/net.py::Pieces  90
4 budgets written in 2 files · 1 model has one · 3 models got none (-v lists them)
"""
    assert (done.returncode, done.stdout, done.stderr) == (0, lines + HINTS, "")
    assert checked(root) == (
        0,
        {
            "nets/net.py::Net": ["11_110"],
            "nets/net.py::Bare": ["9"],
            "nets/net.py::tiny": ["2"],
            "nets/net.py::Pieces": ["90"],
            "nets/net.py::Known": ["6"],
        },
    )


def test_twice_is_once_and_v_says_why_others_got_none(initialised, init, contents):
    root, _ = initialised
    done = init(root, "-v")
    assert (done.returncode, done.stderr) == (0, "")
    summary, needy, inner, random = done.stdout.removesuffix(HINTS).splitlines()
    assert summary == "no budget to write · 5 models have one · 3 models got none"
    assert needy == "nets/net.py:60  Needy  needs width, depth"
    assert inner == "nets/net.py:69  Inner  needs a, b"
    assert random.startswith("nets/net.py:55  Random  ")
    assert "its widths come from random numbers" in random
    assert contents(root) == INITIALISED


def test_a_diff_writes_nothing_and_is_what_would_be_written(project, init, applied, contents):
    done = init(project, "--diff", "-q")
    summary = "4 budgets would be written in 2 files · 1 model has one · 3 models got none"
    assert (done.returncode, done.stderr) == (0, f"{summary} (-v lists them)\n")
    assert contents(project) == FILES
    assert applied(project, done.stdout) == INITIALISED


def test_rounded_and_all_into_the_config(root, init, checked, contents):
    done = init(root, "nets", "--into", "config", "--rounded", "--all")
    assert done.returncode == 0
    table = (
        "\n[tool.nparam-lint.budgets]\n"
        '"nets/net.py::Bare" = 9\n'
        '"nets/net.py::Net" = "11.1k"\n'
        '"nets/net.py::Part" = 110\n'
        '"nets/net.py::Pieces" = 90\n'
        '"nets/net.py::tiny" = 2\n'
    )
    assert contents(root) == FILES | {"pyproject.toml": PYPROJECT + table}
    code, declared = checked(root)
    assert (code, len(declared)) == (0, 6)


def test_without_any_config_one_is_made_at_the_directory_that_it_is_run_in(root, init, checked):
    (root / "pyproject.toml").unlink()
    done = init(root, "nets/net.py", "--into", "config", "-q")
    assert (done.returncode, done.stderr) == (0, "")
    assert (root / "nparam-lint.toml").read_text() == (
        "[budgets]\n"
        '"nets/net.py::Bare" = 9\n'
        '"nets/net.py::Net" = 11_110\n'
        '"nets/net.py::Pieces" = 90\n'
        '"nets/net.py::tiny" = 2\n'
    )
    code, declared = checked(root)
    assert (code, len(declared)) == (0, 5)


def test_what_cannot_be_written_where_it_is_to_be_is_said(root, init, contents):
    done = init(root, "--into", "docstring", "-q")
    lines = """\
nets/net.py:27  Pieces  left alone: its docstring is not one plain literal; counted: 90
3 budgets written in nets/net.py · 1 model has one · 4 models got none (-v lists them)
"""
    assert (done.returncode, done.stdout, done.stderr) == (1, lines, "")
    assert contents(root) == FILES | {"nets/net.py": WRITTEN}


def test_the_budget_goes_to_the_definition_that_python_uses(nparam_lint, tmp_path):
    classes = "class {0}(nn.Linear):\n    def __init__(self): super().__init__(10, {1})\n"
    branches = "if nn:\n" + indent(classes.format("Net", 20), "    ")
    branches += "else:\n" + indent(classes.format("Net", 10), "    ")
    rebound = classes.format("Two", 20) + classes.format("Three", 10) + "Two = Three\n"
    (tmp_path / "net.py").write_text("from torch import nn\n" + branches + rebound)
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)

    nparam_lint("init", ".", cwd=tmp_path)
    written = (tmp_path / "net.py").read_text()
    assert written.count("nparam") == 2
    assert written.index("nparam: 220") < written.index("else:")
    assert written.index("class Three") < written.index("nparam: 110")
    assert nparam_lint(".", cwd=tmp_path).returncode == 0


WAYS = '''\
from torch import nn

SIZES = {"tiny": (2, 1), "base": (4, 2)}


class Sized(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))

    @classmethod
    def from_name(cls, name):
        width, depth = SIZES[name]
        return cls(width, depth)


class Called(nn.Linear):
    """Only a script knows how to build it."""

    def __init__(self, width, bias=True):
        super().__init__(width, width, bias)


class Broken(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
        raise RuntimeError("no data")


class Inner(nn.Linear):
    def __init__(self):
        super().__init__(2, 2)
'''


def test_the_ways_that_the_project_names_get_budgets(tmp_path, init, checked):
    files = {
        "nets.py": WAYS,
        "train.py": "from nets import Called\n\nmodel = Called(3, bias=False)\n",
        "pyproject.toml": "[tool.nparam-lint]\ntimeout = 60\n",
    }
    root = write_files(tmp_path / "project", files)
    done = init(root)
    assert done.stdout.splitlines()[:5] == [
        "nets.py:34  Inner  6  (inside Broken, which was not counted)",
        "nets.py:17  Called(3, bias=False)  9",
        "pyproject.toml:6  nets.py::Sized.from_name('tiny')  6",
        "pyproject.toml:5  nets.py::Sized.from_name('base')  40",
        "4 budgets written in 2 files · 1 model got none (-v lists them)",
    ]
    assert (
        '"""Only a script knows how to build it.\n\n    nparam(3, bias=False): 9\n    """'
        in (root / "nets.py").read_text()
    )
    code, declared = checked(root)
    assert (code, declared["nets.py::Called(3, bias=False)"]) == (0, ["9"])


SCRIPT = """\
from net import Net

if __name__ == "__main__":
    sizes = {}
    sizes["d"] = 3
    net = Net(**sizes)
"""


def test_where_there_is_nothing_to_write_it_is_said_why(tmp_path, init, nparam_lint):
    net = "class Net(nn.Module):\n def __init__(self, d):\n  super().__init__()\n"
    (tmp_path / "net.py").write_text(f"from torch import nn\n{net}  self.a = nn.Linear(d, d)\n")
    (tmp_path / "train.py").write_text(SCRIPT)
    summary, net = init(tmp_path).stdout.splitlines()
    assert summary == "no budget to write · 1 model got none"
    said = "train.py:6 builds it with more than one call: say them in the config (setup)"
    assert net == f"net.py:2  Net  {said}"
    (screen,) = [
        line for line in nparam_lint(cwd=tmp_path).stdout.splitlines() if "To hold" in line
    ]
    assert screen.endswith("say in the config how the model is built: [arguments]")
    for call in ("Net(D)", "Net(3)"):
        (tmp_path / "eval.py").write_text(f"from net import Net\nD = 3\nnet = {call}\n")
        assert "\nNothing is declared yet. To hold these counts: nparam-lint init" in (
            nparam_lint(cwd=tmp_path).stdout
        )
        assert f"{call}  12\n" in init(tmp_path, "--diff").stderr


def test_a_factory_gets_one_budget_though_it_is_a_size_of_its_class_too(tmp_path, init):
    source = "from torch import nn\n\n\nclass Net(nn.Linear):\n    def __init__(self, d):\n"
    source += "        super().__init__(d, d)\n"
    for name, width in (("net_s", 2), ("net_b", 3)):
        source += f"\n\ndef {name}():\n    return Net({width})\n"
    (tmp_path / "zoo.py").write_text(source)
    assert init(tmp_path).stdout.splitlines()[:2] == ["zoo.py:9  net_s  6", "zoo.py:14  net_b  12"]
    assert '    """nparam: 6"""' in (tmp_path / "zoo.py").read_text()
    assert not (tmp_path / "nparam-lint.toml").exists()


def test_what_only_a_trainer_builds_is_no_part_of_a_model(init, tmp_path):
    (tmp_path / "net.py").write_text(
        "from torch import nn\n"
        "class Net(nn.Module):\n"
        "    def __init__(self, width):\n"
        "        super().__init__()\n"
        "        self.layer = nn.Linear(width, 1)\n"
        "class Trainer:\n"
        "    def __init__(self, width): self.net = Net(width)\n"
    )
    assert '# "net.py::Net" = "width=…"\n' in init(tmp_path).stdout


def test_a_file_with_two_names_is_written_once(nparam_lint, tmp_path):
    net = NET[: NET.index("class Pieces")]
    config = "_target_: net.Net\nwidth: 3\n"
    files = {"net.py": net, "sub/other.py": net.replace("Net", "Other"), "sub/a.yaml": config}
    root = write_files(tmp_path / "links", files)
    for name in ("a.yaml", "other.py"):
        (root / name).symlink_to(f"sub/{name}")
    done = nparam_lint("init", "--device", "meta", cwd=root)
    assert done.returncode == 0, done.stderr
    text = (root / "a.yaml").read_text()
    assert text == "_target_: net.Net  # nparam: 143\nwidth: 3\n"
    assert (root / "other.py").read_text().count("nparam: 11_110") == 1
    (root / "sub/a.yaml").write_text(text.replace("143", "142"))
    done = nparam_lint("update", "--device", "meta", cwd=root)
    assert done.returncode == 0, done.stderr
    assert (root / "a.yaml").read_text() == text
    assert (root / "a.yaml").is_symlink()
