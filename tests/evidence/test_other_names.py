"""Calls with a name: with which others they are evidence, too."""

from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING

import pytest
from discover_project import discovered

from nparam_lint.discover.files import list_configs, list_texts, reader
from nparam_lint.evidence import EvidenceQuery
from nparam_lint.evidence.sources import find_evidence
from nparam_lint.ground.notation import Target

if TYPE_CHECKING:
    from pathlib import Path

NET = """
import json
from torch import nn
class Net(nn.Module):
    def __init__(self, d, w): pass
"""
READER = f"""{NET}
def make(name, weights=None, d=3):
    return Net(d, json.load(open(f"sizes/{{name}}.json")))
"""
NAMES = {f"sizes/{name}.json": "{}" for name in ("a", "b-2", "c")}
TABLE = f"""{NET}
def s(d, w): return Net(d, w)
def m(d, w): return Net(d, w)
def make(d, variant, weights=False):
    nets = {{"s": s, "m": m}}
    return nets[variant](d, 3)
"""
GLOBAL_TABLE = f"""{NET}
NETS = {{"s": Net, "m": Net}}
def make(d, variant): return NETS[variant](d, 3)
"""
CASES = [
    # Files, that which the README calls first, in its order, and those that it does not name last.
    (
        {"m.py": READER, **NAMES, "README.md": "B/2\n```\nfrom m import make\nmake('c')\n```\n"},
        ["make('c')", "make('b-2')  # sizes/b-2.json", "make('a')  # sizes/a.json"],
    ),
    (
        {"m.py": READER, **NAMES, "main.py": "from m import make\nmake('c', d=4, weights='x')\n"},
        [
            "make('c', d=4, weights='x')",
            "make('a', d=4, weights='x')  # sizes/a.json",
            "make('b-2', d=4, weights='x')  # sizes/b-2.json",
        ],
    ),
    # What is called does not read them; or they are too few to be names.
    (
        {"m.py": READER.replace("sizes/", "other/"), **NAMES, "main.py": "import m\nm.make('c')\n"},
        ["make('c')"],
    ),
    (
        {"m.py": READER, "sizes/c.json": "{}", "sizes/d.json": "", "u.py": "import m\nm.make('c')"},
        ["make('c')"],
    ),
    # The keys of a table of factories, for each call; with none that has a keyword too much.
    (
        {
            "m.py": TABLE,
            "README.md": "```\nfrom m import make\nmake(1, 's')\n"
            "make(2, variant='m', weights=True)\nmake(width=3, variant='s')\n```\n",
        },
        [
            "make(1, 's')",
            "make(2, variant='m', weights=True)",
            "make(width=3, variant='s')",
            "make(1, 'm')  # m",
            "make(2, variant='s', weights=True)  # s",
        ],
    ),
    (
        {"m.py": GLOBAL_TABLE, "main.py": "from m import make\nmake(1, 's')\nmake(1, 'x')\n"},
        ["make(1, 's')", "make(1, 'x')", "make(1, 'm')  # m"],
    ),
]


@pytest.mark.parametrize(("files", "expected"), CASES)
def test_other_names(tmp_path: Path, files: dict[str, str], expected: list[str]) -> None:
    found = discovered(tmp_path, {path: dedent(text) for path, text in files.items()})
    wanted = {Target(item.path, item.qualname) for item in found.definitions}
    others = [*list_configs(tmp_path, (), None, None), *list_texts(tmp_path, (), None)]
    told: dict[str, None] = {}
    for evidence in find_evidence(EvidenceQuery(found, wanted, others, reader(tmp_path))):
        if str(evidence.target) == "m.py::make":
            note = ": ".join(filter(None, (evidence.way.name, evidence.way.words)))
            told[f"{evidence.recipe.call}  # {note}".removesuffix("  # ")] = None
    assert [*told] == expected
