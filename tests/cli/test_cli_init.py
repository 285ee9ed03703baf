"""`nparam-lint init` as a user meets it: what gets a budget, where, and that the next check passes.
Everything runs for real."""

import json

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


def test_a_diff_writes_nothing_and_is_what_would_be_written(tmp_path, init, applied, contents):
    root = write_files(tmp_path / "project", FILES)
    done = init(root, "--diff", "-q")
    summary = "4 budgets would be written in 2 files · 1 model has one · 3 models got none"
    assert (done.returncode, done.stderr) == (0, f"{summary} (-v lists them)\n")
    assert contents(root) == FILES
    assert applied(root, done.stdout) == INITIALISED


HEAD = "from torch import nn\n\n\n"
SIZED = "class Net(nn.Linear):\n    def __init__(self, d):\n        super().__init__(d, d)\n"
SCRIPT = """\
from net import Net

if __name__ == "__main__":
    sizes = {}
    sizes["d"] = 3
    net = Net(**sizes)
"""


def test_the_check_says_how_to_declare_what_can_be(tmp_path, nparam_lint):
    root = write_files(tmp_path, {"net.py": HEAD + SIZED, "train.py": SCRIPT})
    (screen,) = [line for line in nparam_lint(cwd=root).stdout.splitlines() if "To hold" in line]
    assert screen.endswith("say in the config how the model is built: [arguments]")
    for call in ("Net(D)", "Net(3)"):
        (root / "eval.py").write_text(f"from net import Net\nD = 3\nnet = {call}\n")
        said = nparam_lint(cwd=root).stdout
        assert "\nNothing is declared yet. To hold these counts: nparam-lint init" in said


@pytest.mark.parametrize(
    ("options", "command", "written"),
    [
        ([], "init", "b c/net.py"),
        (["--all"], "init", "b c/net.py"),
        (["--claims"], "init --claims", "b c/README.md"),
    ],
)
def test_a_project_inside_is_left_to_its_own_settings(
    tmp_path, init, contents, options, command, written
):
    """Its config says what is left out, and how models are built."""
    files = {
        "top.py": "x = 1\n",
        "b c/net.py": HEAD + SIZED,
        "b c/vendored/net.py": HEAD + SIZED.replace("d)", "d=4)", 1),
        "b c/nparam-lint.toml": 'exclude = ["vendored/**"]\n[arguments]\n"net.py::Net" = "d=99"\n',
        "b c/README.md": "`Net` has 9,900 parameters.\n",
    }
    root = write_files(tmp_path / "project", files)
    done = init(root, *options)
    said = f"nparam-lint: b c is a project of its own; next: nparam-lint {command} 'b c'\n"
    assert (done.returncode, done.stderr) == (0, said)
    assert contents(root) == files
    done = init(root, *options, "b c")
    assert (done.returncode, done.stderr) == (0, "")
    after = contents(root)
    assert [name for name in files if after[name] != files[name]] == [written]


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
