"""An edit that no code can see, of comments, docstrings or layout, keeps what was measured, with
the lines where things stand now: what a run says is what it says without the cache."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from sample_files import write_files

from nparam_lint.count.moved_lines import moved_lines, with_moved_lines

if TYPE_CHECKING:
    from pathlib import Path

NET = '''\
"""Nets."""
from torch import nn

from parts import Part


class Net(nn.Module):
    """A net.

    nparam: 48
    """

    def __init__(self, width=4):
        super().__init__()
        self.a = nn.Linear(width, width)  # the first
        self.parts = nn.Sequential(Part(width), nn.Linear(width, 1))
        self.more = [nn.Parameter]
'''
PARTS = """\
from torch import nn


class Part(nn.Linear):
    def __init__(self, width):
        super().__init__(width, width, bias=True)
        self.extra = nn.Parameter(self.bias.detach() * 0)[:0].new_zeros(3)
"""
# name -> (file, old text, new text, whether the model is built again)
EDITS = {
    "docstring": ("net.py", "A net.", "A net.\n\n    With more lines.", False),
    "another docstring": ("net.py", '"""Nets."""', '"""Nets.\n\nAnd more.\n"""', False),
    "a new docstring": (
        "parts.py",
        "    def __init__",
        '    """A part."""\n\n    def __init__',
        False,
    ),
    "comment": ("net.py", "  # the first", "", False),
    "comment above": ("parts.py", "class Part", "# A part of a net\n# and more\nclass Part", False),
    "blank lines": ("net.py", "\n\nclass Net", "\n\n\n\n\nclass Net", False),
    "quotes": ("net.py", "from parts import Part", "from parts import (\n    Part,\n)", False),
    "budget": ("net.py", "nparam: 48", "nparam: 40..50", False),
    "split call": (
        "net.py",
        "nn.Linear(width, width)",
        "nn.Linear(\n            width, width\n        )",
        False,
    ),
    "split calls": ("net.py", "Part(width), nn", "\n            Part(width), nn", True),
    "width": ("net.py", "width=4", "width=5", True),
    "default": ("parts.py", "bias=True", "bias=False", True),
    "type comment": ("parts.py", "class Part", "# type: ignore\nclass Part", True),
    "reader": ("parts.py", "class Part", "NAME = __doc__\n\n\nclass Part", True),
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_files(tmp_path, {"net.py": NET, "parts.py": PARTS})


def report(nparam_lint, root: Path, *options: str) -> tuple[list, list, bool]:
    done = nparam_lint("--declared", "--format", "json", *options, cwd=root)
    document = json.loads(done.stdout)
    was_cached = [model.pop("cached") for model in document["models"]]
    for model in document["models"]:
        model.pop("seconds")
    return document["models"], document["findings"], all(was_cached)


@pytest.mark.parametrize("name", EDITS)
def test_an_edit(name: str, root: Path, nparam_lint) -> None:
    path, old, new, is_built = EDITS[name]
    *_, was_cached = report(nparam_lint, root)
    assert not was_cached
    text = (root / path).read_text()
    assert text.count(old) == 1
    (root / path).write_text(text.replace(old, new))
    *with_cache, was_cached = report(nparam_lint, root)
    *without, _ = report(nparam_lint, root, "--no-cache")
    assert with_cache == without
    assert was_cached == (not is_built)


def test_one_edit_after_the_other(root: Path, nparam_lint) -> None:
    report(nparam_lint, root)
    for name in ("docstring", "comment", "comment above", "blank lines", "a new docstring"):
        path, old, new, _ = EDITS[name]
        (root / path).write_text((root / path).read_text().replace(old, new))
        *with_cache, was_cached = report(nparam_lint, root)
        *without, _ = report(nparam_lint, root, "--no-cache")
        assert with_cache == without
        assert was_cached


def test_where_a_file_of_the_project_reads_docstrings_all_is_built(root: Path, nparam_lint) -> None:
    (root / "parts.py").write_text(PARTS + "\n\nTEXT = Part.__doc__\n")
    report(nparam_lint, root)
    (root / "net.py").write_text(NET.replace("A net.", "A net of parts."))
    assert not report(nparam_lint, root)[2]


def test_a_file_that_is_read_as_text_has_to_be_the_same(root: Path, nparam_lint) -> None:
    read = "\nwith open(__file__) as file:\n    SIZE = len(file.read())\n"
    (root / "parts.py").write_text(PARTS + read)
    report(nparam_lint, root)
    (root / "parts.py").write_text(PARTS + read + "# more\n")
    assert not report(nparam_lint, root)[2]


def test_what_changed_is_said(root: Path, nparam_lint) -> None:
    report(nparam_lint, root)
    (root / "net.py").write_text(NET.replace("width=4", "width=5"))
    assert "net.py changed" in nparam_lint("--why-built", cwd=root).stdout


@pytest.mark.parametrize(
    ("before", "now", "lines"),
    [
        ("a = f(1)\n", "# x\na = f(1)\n", {1: 2}),
        ("a = f(1)\n", "a = f(2)\n", None),
        ("@x\ndef f(): pass\n", "\n@x\n\ndef f(): pass\n", {1: 2, 2: 4}),
        ("a = 1; b = 2\n", "a = 1\nb = 2\n", {}),
        ('def f():\n    """x"""\n    return 1\n', "def f():\n    return 1\n", {1: 1, 3: 2}),
        ("'x'\n", "", {}),
        ("a = 'x'\n", "a = 'y'\n", None),
        ("a = (\n", "a = (\n", None),
    ],
)
def test_where_lines_are_now(before: str, now: str, lines: dict[int, int] | None) -> None:
    assert moved_lines(before.encode(), now.encode()) == lines


def test_an_answer_with_its_lines_moved() -> None:
    moves = {"a.py": {3: 5, 4: 6}, "b/a.py": {1: 2}}
    answer = {
        "source": "a.py:3",
        "notes": ["at b/a.py:1, x/a.py:3, a.py:30 and a.pyc:3"],
        "lines": [{"path": "a.py", "line": 4, "count": 4}, {"path": "c.py", "line": 4}],
    }
    assert json.loads(with_moved_lines(json.dumps(answer).replace("30", "4").encode(), moves)) == {
        "source": "a.py:5",
        "notes": ["at b/a.py:2, x/a.py:3, a.py:6 and a.pyc:3"],
        "lines": [{"path": "a.py", "line": 6, "count": 4}, {"path": "c.py", "line": 4}],
    }
    assert with_moved_lines(json.dumps({"source": "a.py:9"}).encode(), moves) is None
