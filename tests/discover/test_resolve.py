"""Which classes and functions of a project are models, told by the source alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from case_books import cases_beside
from discover_project import discovered, targets

from nparam_lint import discover as models

if TYPE_CHECKING:
    from pathlib import Path

    from case_books import Case, ProjectBook

    from nparam_lint.discover import Discovery

MODEL = "from torch import nn\nclass Net(nn.Module):\n    def __init__(self, dim=3): pass\n"


def told(found: Discovery) -> str:
    """Each model with what it takes, and each problem."""
    lines = [f"{problem.position}: {problem.message}" for problem in found.problems]
    for one in found.definitions:
        taken = ["?"] if one.parameters is None else [p.name for p in one.parameters]
        kind = "" if one.kind == "class" else f", a {one.kind}"
        lines.append(f"{one.target}({', '.join(taken)}){kind}")
    return "\n".join(lines) or "none"


@pytest.mark.parametrize(("book", "case"), cases_beside(__file__, "definitions"))
def test_what_is_a_model(
    book: ProjectBook,
    case: Case,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    """Whichever way it is chosen which files without a word of torch are parsed; and the file of a
    base need not be among those that are looked at."""
    sources = {path: content.decode() for path, content in case.files.items()}
    said = told(discovered(tmp_path, sources))
    book.check(case.number, said, update=request.config.getoption("update"))
    monkeypatch.setattr(models, "_FEW", 0)
    assert told(discovered(tmp_path, {})) == said
    if "use.py" in sources:
        own = [line for line in said.split("\n") if line.startswith("use.py")]
        assert told(discovered(tmp_path, {}, files=["use.py"])) == ("\n".join(own) or "none")


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


def test_a_file_that_is_gone_does_not_hide_the_others(tmp_path: Path) -> None:
    found = discovered(tmp_path, {"a.py": MODEL}, files=["a.py", "gone.py"])
    assert [item.position.path for item in found.problems] == ["gone.py"]
    assert targets(found) == {"a.py::Net"}


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
