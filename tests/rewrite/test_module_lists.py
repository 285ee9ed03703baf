"""`nparam-lint --fix`: what a plain list holds is registered afterwards, or is left and said."""

from __future__ import annotations

import subprocess
import sys
from textwrap import indent

import pytest
import torch

from nparam_lint.cli.main import main
from nparam_lint.gate.rules import built
from nparam_lint.gate.rules.lint import lint_source
from nparam_lint.rewrite.module_lists import TAKEN, fix

LOOP = "def forward(self, x):\n    for layer in self.layers:\n        x = layer(x)\n    return x"
FIXED = {
    "list": (built("self.layers = [nn.Linear(2, 2), nn.ReLU()]", LOOP), 6),
    "comprehension": (built("self.layers = [nn.Linear(2, 2) for _ in range(3)]", LOOP), 18),
    "filled": (
        built(
            "self.layers = []\nfor _ in range(3):\n    self.layers.append(nn.Linear(2, 2))", LOOP
        ),
        18,
    ),
    "parameters": (built("self.ws = [nn.Parameter(torch.zeros(5)) for _ in range(3)]"), 15),
    "dict": (built("self.heads = {'a': nn.Linear(2, 2), 'b': nn.Linear(2, 1)}"), 9),
    "filled dict": (built("self.heads = {}\nself.heads['a'] = nn.Linear(2, 2)"), 6),
}
LEFT = {
    "self.heads = {str(k): nn.Linear(2, 2) for k in range(2)}": "that is written out",
    "self.heads = {1: nn.Linear(2, 2), 2: nn.Linear(2, 2)}": "does not take all of its keys",
    "self.heads = {'type': nn.Linear(2, 2), 'b': nn.ReLU()}": "does not take all of its keys",
    "self.layers = [nn.Linear(2, 2), n]": "line 6 may add something",
    "self.layers = (nn.Linear(2, 2), nn.Linear(2, 2))": "that is written out",
    "layers = [nn.Linear(2, 2), nn.ReLU()]\nself.layers = layers": "that is written out",
    "self.layers = [nn.Linear(2, 2), nn.Parameter(torch.ones(2))]": "different kinds of things",
    "self.layers = [nn.Linear(2, 2), nn.ReLU()]\nself.layers.sort()": "line 7 uses it in a way",
    "self.layers: list = [nn.Linear(2, 2), nn.ReLU()]": "line 6 uses it in a way",
}


def built_count(source):
    names = {}
    exec(compile(source, "net.py", "exec"), names)
    return sum(parameter.numel() for parameter in names["Net"]().parameters())


@pytest.mark.parametrize("case", FIXED)
def test_what_is_fixed_is_counted(case):
    source, count = FIXED[case]
    (finding,) = lint_source(source, "net.py")
    assert built_count(source) == 0
    new, left = fix(source.encode(), [finding], frozenset({"Net"}))
    assert left == {}
    assert lint_source(new.decode(), "net.py") == []
    assert built_count(new.decode()) == count


@pytest.mark.parametrize("body", LEFT)
def test_what_may_not_be_safe_is_left(body):
    source = built(body).encode()
    (finding,) = lint_source(source.decode(), "net.py")
    new, left = fix(source, [finding], frozenset({"Net"}))
    assert new == source
    assert LEFT[body] in left[finding]


USES = {
    "class Sub(Net):\n    def sort(self):\n        self.layers.sort()\n": "line 10",
    "def prune(net):\n    net.layers.remove(net.layers[0])\n": "line 9",
    "class Other(nn.Module):\n    def sort(self):\n        self.layers.sort()\n": "",
    "def last(net):\n    return [*reversed(net.layers)], net.layers[-1]\n": "",
}


@pytest.mark.parametrize("use", USES)
def test_it_is_left_where_others_need_a_list(use):
    source = built("self.layers = [nn.Linear(2, 2), nn.ReLU()]")
    together = f"{source}\n{use}"
    (finding,) = lint_source(together, "net.py")
    _, left = fix(together.encode(), [finding], frozenset({"Net"}))
    assert [reason.partition(" uses")[0] for reason in left.values()] == [USES[use]] * bool(left)
    assert bool(left) == bool(USES[use])
    apart = f"from net import Net\n{use}".encode()
    _, left = fix(source.encode(), [finding], frozenset({"Net"}), [("a.py", apart)])
    assert [reason.startswith("a.py:") for reason in left.values()] == [True] * bool(USES[use])
    _, left = fix(source.encode(), [finding], frozenset({"Net"}), [("a.py", use.encode())])
    assert bool(left) == ("Net" in use)


def test_a_list_before_super_init_is_left():
    source = "from torch import nn\nclass Net(nn.Module):\n    def __init__(self):\n"
    source += "        self.layers = [nn.Linear(2, 2), nn.ReLU()]\n        super().__init__()\n"
    (finding,) = lint_source(source, "net.py")
    _, left = fix(source.encode(), [finding], frozenset({"Net"}))
    assert left == {finding: "it is not created in __init__, after super().__init__()"}


def test_the_keys_that_torch_refuses_are_known():
    both = {*dir(torch.nn.ModuleDict()), *dir(torch.nn.ParameterDict())}
    assert {name for name in both if not name.startswith("_")} <= TAKEN


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_layout_and_comments_stay(newline):
    body = """
        self.layers = [  # é
            nn.Linear( 2,2 ),
            # the last

            nn.ReLU(),
        ]
    """
    source = built(body).replace("\n", newline)
    findings = lint_source(source, "net.py")
    new, left = fix(source.encode(), findings, frozenset({"Net"}))
    assert left == {}
    expected = source.replace("= [  # é", "= nn.ModuleList([  # é")
    assert new.decode() == expected.replace(f"        ]{newline}", f"        ]){newline}")


def test_a_file_that_libcst_would_change_is_left():
    source = built("self.layers = [nn.Linear(2, 2), nn.ReLU()]")
    (finding,) = lint_source(source, "net.py")
    old = source.replace("\n", "\r").encode()
    new, left = fix(old, [finding], frozenset({"Net"}))
    assert (new, left) == (old, {finding: "libcst would change other parts of the file"})


@pytest.mark.parametrize(
    ("head", "layer", "spelled"),
    [
        ("import torch", "torch.nn.Linear", "torch.nn.ModuleList(["),
        ("import torch.nn as nn, torch", "nn.Linear", "nn.ModuleList(["),
        ("import torch\nfrom torch.nn import Linear, ModuleList", "Linear", "= ModuleList(["),
    ],
)
def test_the_class_is_named_as_the_file_can_name_it(head, layer, spelled):
    body = f"super().__init__()\nself.layers = [{layer}(2, 2), {layer}(2, 2)]"
    source = f"{head}\nclass Net(torch.nn.Module):\n    def __init__(self):\n"
    source += indent(body, "        ") + "\n"
    new, left = fix(source.encode(), lint_source(source, "net.py"), frozenset({"Net"}))
    assert left == {}
    assert spelled in new.decode()
    assert built_count(new.decode()) == 12


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    good = built("self.layers = [nn.Linear(2, 2) for _ in range(3)]", LOOP)
    (tmp_path / "net.py").write_text(good)
    (tmp_path / "other.py").write_text(built("self.layers = (nn.Linear(2, 2), nn.ReLU())"))
    return tmp_path


def test_fix_writes_and_checks_what_it_wrote(project, capsys):
    assert main(["--fix", "--static", "--no-cache", "--format", "concise"]) == 0
    out, err = capsys.readouterr()
    assert (
        "= nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])" in (project / "net.py").read_text()
    )
    assert (
        "net.py:6: fixed: make self.layers an nn.ModuleList\nother.py:6: NPL101 not fixed: "
    ) in err
    assert "net.py" not in out.replace("other.py", "")
    assert "other.py:6:9: warning: NPL101" in out


def test_diff_writes_nothing(project, capsys):
    before = (project / "net.py").read_text()
    assert main(["--fix", "--diff", "--no-cache"]) == 1
    out, _ = capsys.readouterr()
    assert (project / "net.py").read_text() == before
    subprocess.run(["git", "apply", "-"], input=out, text=True, check=True, cwd=project)
    assert "nn.ModuleList([" in (project / "net.py").read_text()


def test_the_count_of_a_fixed_model_has_its_layers(project, capsys):
    (project / "other.py").unlink()
    arguments = ["--no-cache", "--format", "json", "--python", sys.executable]
    main(["--fix", *arguments])
    out, _ = capsys.readouterr()
    assert '"total":18,' in out
    assert "NPL010" not in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["--diff"], "--diff shows what --fix would write"), (["--fix", "--staged"], "--staged")],
)
def test_options_that_do_not_go_together(capsys, arguments, message):
    assert main(arguments) == 2
    assert message in capsys.readouterr().err


def test_a_suppressed_finding_is_not_fixed(project):
    path = project / "net.py"
    silent = path.read_text().replace("range(3)]", "range(3)]  # nparam: ignore[NPL101]")
    path.write_text(silent)
    main(["--fix", "--static", "--no-cache", "net.py"])
    assert path.read_text() == silent
