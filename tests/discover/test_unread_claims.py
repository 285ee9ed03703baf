"""Claims that stand where no budget is read: each is told at its place."""

from __future__ import annotations

from textwrap import dedent

import pytest
from false_claims import IMPORT, PLACES, source

from nparam_lint.api.flake8_plugin import Plugin
from nparam_lint.discover.scan import scan_source


@pytest.mark.parametrize(
    ("place", "text"),
    [(place, source(text)) for place, texts in PLACES.items() for text in texts],
)
def test_a_claim_where_none_is_read_is_told_with_its_place(place: str, text: str) -> None:
    facts = scan_source("net.py", text.encode())
    assert facts.problem is None
    (problem,) = facts.unread
    assert f" in {place}, which is not read; expected `nparam: " in problem.message
    line = text.split("\n")[problem.position.line - 1]
    assert line[problem.position.column - 1 :].lower().startswith("nparam")
    (found,) = [f for f in _flake8(text) if f[2].startswith("NPL002")]
    assert found[:2] == (problem.position.line, problem.position.column - 1)


def _flake8(text: str) -> list[tuple[int, int, str, type[Plugin]]]:
    import ast

    return list(Plugin(ast.parse(text), "net.py", text.splitlines(keepends=True)).run())


def test_a_claim_inside_a_line_of_a_docstring_that_is_read_is_told() -> None:
    text = (
        'class Net:\n    """A net. nparam: 110\n\n    nparam: 3\n    It has nparam: 5.\n    """\n'
    )
    facts = scan_source("net.py", text.encode())
    assert [(str(p.position), p.position.column, p.message) for p in facts.unread] == [
        ("net.py:2", 15, _inside("nparam: 110")),
        ("net.py:5", 12, _inside("nparam: 5")),
    ]


@pytest.mark.parametrize(
    ("text", "place", "found"),
    [
        (
            'class Net:\n    """A net.\n    nparam: 3"""  # nparam: 4\n',
            ("net.py:3", 21),
            "nparam: 4",
        ),
        (
            'class Net:\n    """A net.\n    nparam: 3\\n it has nparam: 4"""\n',
            ("net.py:3", 24),
            "nparam: 4",
        ),
    ],
)
def test_a_claim_on_the_line_of_a_budget_is_told(
    text: str, place: tuple[str, int], found: str
) -> None:
    (problem,) = scan_source("net.py", text.encode()).unread
    assert (str(problem.position), problem.position.column) == place
    assert f"`{found}`" in problem.message


def _inside(line: str) -> str:
    return f"found `{line}` inside a line, expected `{line}` on a line of its own"


@pytest.mark.parametrize(
    "text",
    [
        'class Net(nn.Module):\n    """A net.\n\n    **nparam: 110**\n    """\n',
        'class Net(nn.Module):\n    def __init__(self):\n        """NPARAM: 110"""\n',
        'class Net(nn.Module):\n    @classmethod\n    def small(cls):\n        """nparam: 110"""\n',
        "class Net(nn.Module):\n    nparam = 110\n",
        "nparam = sum(p.numel() for p in net.parameters())  # nparam of the net\n",
        "# nparam = sum(p.numel() for p in net.parameters())\n",
        "# nparams = 7\n# n_params=7\n# print(nparam, 3)\n# if nparam > 5: split()\n",
        "layers = []  # nparam: ignore[NPL101] 3 of them\n",
        'print("nparam: 110")\nlog.info(f"nparam: {nparam:,}")\nprint(f"{nparam=}")\n',
        'parse(description=f"({nparam} of {total} (")\n',
        'sizes = {"nparam": 110}\nassert nparam == 110, "nparam: 110"\n',
        'text = """\nnparam: 110\n"""\n',
        "(root / 'net.py').write_text('# nparam: 110')\nlines.append('nparam: 110')\n",
        'def count(nparam=110):\n    """Of a net.\n\n    nparam (int): how many, 3 or 4\n    """\n',
        'def count(nparam):\n    """Of a net.\n\n    >>> nparam = 110\n    """\n',
        '"""Usage: train.py --nparam 110"""\n',
        "# nparam-lint 0.2 counts the nparam, 3 ways\n",
    ],
)
def test_what_is_read_and_what_merely_mentions_the_word_is_not_told(text: str) -> None:
    assert scan_source("net.py", (IMPORT + text).encode()).unread == ()


def test_class_methods_and_static_factories_that_declare_are_found() -> None:
    facts = scan_source(
        "net.py",
        dedent('''
        class Net:
            class Part:
                @staticmethod
                def wide(width=3, *, depth):
                    """nparam: 110"""
            @classmethod
            def small(cls, width: int = 3):
                """A small one.

                nparam: 5
                """
            @classmethod
            def load(cls):
                """Not declared."""
            def forward(self):
                """No factory."""
        ''').encode(),
    )
    assert [(m.qualname, [p.name for p in m.parameters]) for m in facts.methods] == [
        ("Net.Part.wide", ["width", "depth"]),
        ("Net.small", ["width"]),
    ]
