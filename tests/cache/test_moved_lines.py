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

from {parts} import Part


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
        self.extra = nn.Linear(1, 1)
"""
# name -> (file, old text, new text, whether the model is built again)
EDITS = {
    "docstring": ("net", "A net.", "A net.\n\n    With more lines.", False),
    "another docstring": ("net", '"""Nets."""', '"""Nets.\n\nAnd more.\n"""', False),
    "a new docstring": ("parts", "    def __init", '    """A part."""\n\n    def __init', False),
    "comment": ("net", "  # the first", "", False),
    "comment above": ("parts", "class Part", "# A part of a net\n# and more\nclass Part", False),
    "blank lines": ("net", "\n\nclass Net", "\n\n\n\n\nclass Net", False),
    "brackets": ("net", "import Part", "import (\n    Part,\n)", False),
    "budget": ("net", "nparam: 48", "nparam: 40..50", False),
    "split call": (
        "net",
        "Linear(width, width)",
        "Linear(\n            width, width\n        )",
        False,
    ),
    "split calls": ("net", "Part(width), nn", "\n            Part(width), nn", True),
    "width": ("net", "width=4", "width=5", True),
    "default": ("parts", "bias=True", "bias=False", True),
    "type comment": ("parts", "class Part", "# type: ignore\nclass Part", True),
}


def report(nparam_lint, root: Path, *options: str) -> tuple[list, list, set[str]]:
    """Models and findings, whatever was remembered; and the edits whose model was."""
    done = nparam_lint("--declared", "--format", "json", *options, cwd=root)
    document = json.loads(done.stdout)
    recalled = set()
    for model in document["models"]:
        name = model["path"].removeprefix("net_").removesuffix(".py")
        if model.pop("cached"):
            recalled.add(name)
        model.pop("seconds")
    return document["models"], document["findings"], recalled


def change(root: Path, key: str, edit: str) -> None:
    file, old, new, _ = EDITS[edit]
    path = root / f"{file}_{key}.py"
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


def test_edits(tmp_path: Path, nparam_lint) -> None:
    """Each of a model of its own; twice of those that kept their measurement."""
    keys = {name: str(number) for number, name in enumerate(EDITS)}
    for key in keys.values():
        net = NET.format(parts=f"parts_{key}")
        write_files(tmp_path, {f"net_{key}.py": net, f"parts_{key}.py": PARTS})
    assert report(nparam_lint, tmp_path)[2] == set()
    lasting = {name for name, (*_, is_built) in EDITS.items() if not is_built}
    again = dict.fromkeys(lasting - {"docstring"}, "docstring")
    for edits in ({name: name for name in EDITS}, again):
        for name, edit in edits.items():
            change(tmp_path, keys[name], edit)
        *with_cache, recalled = report(nparam_lint, tmp_path)
        *without, nothing = report(nparam_lint, tmp_path, "--no-cache")
        assert with_cache == without
        assert recalled == {keys[name] for name in EDITS.keys() - edits.keys() | lasting}
        assert nothing == set()


@pytest.mark.parametrize(
    ("reads", "edit"),
    [
        ("TEXT = Part.__doc__", "docstring"),
        ("SIZE = len(open(__file__).read())", "comment above"),
        ("import inspect\nLINE = inspect.stack()[0].lineno", "comment above"),
    ],
)
def test_where_a_file_is_read_as_text_or_docstrings_are(
    reads: str, edit: str, tmp_path: Path, nparam_lint
) -> None:
    parts = f"{PARTS}\n{reads}\n"
    write_files(tmp_path, {"net_.py": NET.format(parts="parts_"), "parts_.py": parts})
    report(nparam_lint, tmp_path)
    change(tmp_path, "", edit)
    assert report(nparam_lint, tmp_path)[2] == set()


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
