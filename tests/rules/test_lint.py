"""Files as they come: encodings, what cannot be read, what other files know."""

from __future__ import annotations

import shutil
import sys

import pytest
from case_books import cases_beside
from sample_files import write_files

from nparam_lint.cache.store import Store
from nparam_lint.discover import discover
from nparam_lint.discover.files import list_files, list_importable
from nparam_lint.gate.rules import lint
from nparam_lint.gate.rules.lint import lint_files, lint_source, scan_and_lint, source_codes
from nparam_lint.ground.findings import Finding
from nparam_lint.ground.rule_catalogue import RULES
from nparam_lint.ground.values import Position

LIST = "        self.layers = [nn.Linear(2, 2), nn.Linear(2, 2)]\n"
NET = f"from torch import nn\nclass Net(nn.Module):\n    def build(self):\n{LIST}"


def places(findings):
    return [(f.code, f.position.line, f.position.column, f.target) for f in findings]


def linted(root, path="net.py"):
    """The findings of a file in which `Net`, where there is one, is a module."""
    modules = frozenset({"Net", "Outer.Net"})
    return lint_files(discover(root, [path]).tree, [(path, modules)])


def test_a_finding_names_place_class_and_remedy():
    assert lint_source(NET, "pkg/net.py") == [
        Finding(
            "NPL101",
            "warning",
            Position("pkg/net.py", 4, 9),
            "self.layers keeps nn.Linear in a plain list, where parameters() does not find it",
            "pkg/net.py::Net",
            ("make self.layers an nn.ModuleList",),
        )
    ]


@pytest.mark.parametrize(("book", "case"), cases_beside(__file__, "sources"))
def test_what_is_found_and_where(tmp_path, book, case, request):
    """In a file, and the same by its text alone where that says which classes are modules."""
    content = case.files["net.py"]
    (tmp_path / "net.py").write_bytes(content)
    found = places(linted(tmp_path))
    if found and b"Base" not in content:
        text = content.decode("latin-1" if b"latin-1" in content else "utf-8")
        alone = places(lint_source(text, "net.py"))
        assert [place for place in alone if place[0] != "NPL002"] == found
        found = alone  # also what is wrong with a budget
    said = "\n".join(
        f"{code} {line}:{column} {name}".rstrip() for code, line, column, name in found
    )
    book.check(case.number, said or "none", update=request.config.getoption("update"))


def test_a_byte_order_mark_and_what_is_nested_too_deeply(tmp_path):
    (tmp_path / "net.py").write_bytes(b"\xef\xbb\xbf" + NET.encode())
    assert places(linted(tmp_path)) == [("NPL101", 4, 9, "net.py::Net")]
    (tmp_path / "net.py").write_bytes(NET.encode() + b"x = " + b"+".join([b"nn"] * 60_000) + b"\n")
    assert linted(tmp_path) == []


def test_a_class_is_no_module_where_nothing_says_so(tmp_path):
    assert lint_source(NET.replace("nn.Module", "Base"), "net.py") == []
    tree = discover(write_files(tmp_path, {"net.py": NET}), ["net.py"]).tree
    assert lint_files(tree, [("net.py", frozenset())]) == []


def test_whether_a_file_without_classes_is_looked_at_again():
    source = b"import torch\nn_params = sum(p.numel() for p in net.parameters()) / 1024**2\n"
    assert scan_and_lint("net.py", source).suspect
    assert not scan_and_lint("net.py", source.replace(b" / 1024**2", b"")).suspect
    assert not scan_and_lint("net.py", b"import torch\nlayers = [torch.nn.ReLU()]").suspect


def test_a_missing_file_has_no_finding(tmp_path):
    assert linted(tmp_path, "gone.py") == []


def test_deep_expressions_do_not_stop_the_run():
    chain = "        self.x = " + " + ".join(["[self.y]"] * 900) + "\n"
    assert lint_source(NET + chain, "net.py") == []


# --- the files of a project -------------------------------------------------------------------

HEIR = NET.replace("(nn.Module)", "(Base)").replace("class", "from net import Net as Base\nclass")
CLEAN = NET.replace("[nn.Linear(2, 2), nn.Linear(2, 2)]", "nn.Linear(2, 2)")


@pytest.fixture
def project(tmp_path):
    files = {"net.py": NET, "heir.py": HEIR, "clean.py": CLEAN, "bad.py": "class A(:"}
    return write_files(tmp_path / "project", files)


@pytest.fixture
def check(tmp_path, monkeypatch):
    """The findings in all files of a project, and which of them were read for the rules after what
    earlier runs know of them."""
    read, parse = [], lint.parse_source

    def noted(path, source):
        read.append(path)
        return parse(path, source)

    monkeypatch.setattr(lint, "parse_source", noted)

    def checked(root):
        store = Store(str(tmp_path / "cache"), str(root))
        files, importable = list_files(root), list_importable(root)
        found = discover(root, files, importable=importable, store=store, scan=scan_and_lint)
        read.clear()
        findings = lint_files(found.tree, [(path, found.modules(path)) for path in found.parsed])
        found.tree.remember()
        return [f"{f.position} {f.code}" for f in findings], read.copy()

    return checked


def test_the_cases_of_all_rules_are_found_among_other_files(tmp_path, check):
    cases = {
        f"{code.lower()}_{number}.py": source
        for code in source_codes()
        for number, source in enumerate(RULES[code].invalid)
    }
    alone = [f for path, text in cases.items() for f in lint_source(text, path)]
    expected = sorted(f"{f.position} {f.code}" for f in alone)
    root = write_files(tmp_path / "project", cases)
    assert [sorted(check(root)[0]) for _ in range(2)] == [expected, expected]


def test_a_file_in_which_no_rule_can_find_anything_is_read_once(project, check):
    findings = ["heir.py:5 NPL101", "net.py:4 NPL101"]
    assert [check(project) for _ in range(2)] == [(findings, ["heir.py", "net.py"])] * 2
    (project / "net.py").write_text(f"import os\n{CLEAN}")
    assert check(project) == (findings[:1], ["heir.py"])


def test_files_that_another_command_read_are_looked_at(project, tmp_path, check):
    store = Store(str(tmp_path / "cache"), str(project))
    found = discover(project, list_files(project), store=store)
    assert found.parsed
    found.tree.remember()
    assert check(project)[1] == ["heir.py", "net.py"]


def test_a_base_in_another_file_counts(project, check):
    assert check(project)[0] == ["heir.py:5 NPL101", "net.py:4 NPL101"]
    (project / "net.py").write_text(NET.replace("nn.Module", "object"))
    assert check(project)[0] == []
    (project / "net.py").write_text(NET)
    (project / "heir.py").rename(project / "moved.py")
    assert check(project)[0] == ["moved.py:5 NPL101", "net.py:4 NPL101"]


def test_a_file_that_disappears_meanwhile_has_no_findings(project):
    found = discover(project, list_files(project), scan=scan_and_lint)
    modules = [(path, found.modules(path)) for path in found.parsed]
    shutil.rmtree(project)
    assert lint_files(found.tree, modules) == []


# --- how long it takes ------------------------------------------------------------------------

HEAD = "from torch import nn\nclass Net(nn.Module):\n    def __init__(self):\n"
HEAD += "        super().__init__()\n"
FORWARD = f"{HEAD}    def forward(self, x):\n"
LONG = {
    "one line": lambda n: f"{HEAD}        é = 1; " + "self.a = [nn.Linear(2, 2)]; " * n + "\n",
    "one list": lambda n: f"{HEAD}        self.a = [" + "nn.ReLU(), " * n + "nn.Linear(2, 2)]\n",
    "attributes": lambda n: (
        HEAD + "".join(f"        self.a{i} = [nn.Linear(2, 2), 1]\n" for i in range(n))
    ),
    "appended": lambda n: (
        f"{HEAD}        self.a = []\n"
        + "        layer = nn.ReLU()\n        self.a.append(layer)\n" * n
    ),
    "in forward": lambda n: (
        FORWARD
        + "".join(f"        a{i} = nn.Linear(2, 2)\n        x = a{i}(x)\n" for i in range(n))
    ),
    "helpers": lambda n: (
        HEAD.replace("super().__init__()", "pass\n" + "        self.f()\n" * n)
        + "    def f(self):\n"
        + "        g(1)\n" * n
    ),
}


COUNT = "import torch\nn = sum(p.numel() for p in net.parameters())\n"
LONG |= {
    "quotients": lambda n: COUNT + 'print(f"{n / 2**20:.2f}M")\n' * n,
    "counts": lambda n: COUNT + "k = sum(p.numel() for p in x)\nprint(k / 2**20)\n" * n,
    "variables": lambda n: COUNT + 'k = n / 2**20\nprint(f"{k}M")\n' * n,
    "functions": lambda n: "".join(f"def f{i}(p):\n    return p.numel()\n" for i in range(n)),
}


def calls_made(source):
    """How many calls of Python functions the rules make for a source."""
    count = 0

    def note(_, event, __):
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        lint_source(source, "net.py")
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.first_cases(3)
@pytest.mark.parametrize("case", LONG)
def test_the_work_grows_as_the_source_does(case):
    lint_source(LONG[case](1), "net.py")  # imports what the rules need
    assert calls_made(LONG[case](600)) < 4.5 * calls_made(LONG[case](150))
