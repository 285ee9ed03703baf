"""Claims that stand where no budget is read: each is told at its place."""

from __future__ import annotations

from textwrap import dedent

import pytest

from nparam_lint.discover.scan import scan_source
from nparam_lint.plugins.flake8_plugin import Plugin

HEAD = "from torch import nn\n\n"
# In each, the claim stands once. This list can only grow.
PLACES = {
    "the docstring of the module": [
        '''
        """Nets.

        nparam: 110
        """
        ''',
    ],
    "the docstring of `Net.forward`": [
        '''
        class Net(nn.Module):
            def forward(self, x):
                """nparam: 110"""
        ''',
    ],
    "the docstring of `Net.size`": [
        '''
        class Net(nn.Module):
            @property
            def size(self):
                """The size.

                nparam : 110
                """
        ''',
    ],
    "the docstring of `Net.extra_repr`": [
        '''
        class Net(nn.Module):
            def extra_repr(self):
                """A text.

                **nparam:**

                    110
                """
        ''',
    ],
    "the docstring of `make.Net`": [
        '''
        def make():
            class Net(nn.Module):
                """nparam: 110"""
            return Net()
        ''',
    ],
    "the docstring of `make.build`": [
        '''
        def make():
            def build():
                """nparam: 110"""
                return nn.Linear(10, 20)
            return build
        ''',
    ],
    "the docstring of `Net`": [
        '''
        if __name__ == "__main__":
            class Net(nn.Module):
                """nparam: 110"""
        ''',
    ],
    "the docstring of `build`": [
        '''
        if __name__ == "__main__":
            def build():
                """nparam: 110"""
        ''',
    ],
    "the docstring of `Net.__init__.Inner`": [
        '''
        class Net(nn.Module):
            def __init__(self):
                class Inner(nn.Module):
                    """nparam: 110"""
        ''',
    ],
    "the docstring of `Net.__init__`": [
        '''
        class Net(nn.Module):
            if nn:
                def __init__(self):
                    """nparam: 110"""
            else:
                def __init__(self):
                    """Another one."""
        ''',
    ],
    "the docstring of `Net.__new__`": [
        '''
        class Net(nn.Module):
            def __new__(cls):
                """nparam: 110"""
        ''',
    ],
    "a string that is no docstring, in `Net`": [
        """
        class Net(nn.Module):
            width = 3
            'nparam: 110'
        """,
        '''
        class Net(nn.Module):
            """nparam: 110""",
        ''',
        '''
        class Net(nn.Module):
            b"""nparam: 110"""
        ''',
        '''
        class Net(nn.Module):
            ("A net.", """
            nparam: 110""")
        ''',
        """
        @add_start_docstrings("nparam: 110")
        class Net(nn.Module):
            pass
        """,
        '''
        class Net(nn.Module):
            f"""A net.
            nparam: 110 {3}
            """
        ''',
        """
        class Net(nn.Module):
            f"nparam: {5}"
        """,
        """
        class Net(nn.Module):
            "A net." + " nparam: 110"
        """,
        '''
        class Net(nn.Module):
            "A net. " "%s" % 3 + """
            nparam: 110"""
        ''',
        """
        class Net(nn.Module):
            "nparam: {}".format(110)
        """,
        """
        class Net(nn.Module):
            __doc__ = "nparam: 110"
        """,
        '''
        class Net(nn.Module):
            __doc__ = f"""A net.
            nparam: 110
            """
        ''',
        '''
        class Net(nn.Module):
            __doc__: str = """A net.
            nparam: 110
            """
        ''',
    ],
    "a string that is no docstring, in `Net.__init__`": [
        '''
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                """nparam: 110"""
        ''',
    ],
    "a string that is no docstring, in the module": [
        """
        class Net(nn.Module): pass

        'nparam: 110'
        """,
        """
        class Net(nn.Module): pass
        Net.__doc__ = 'nparam: 110'
        """,
        """
        class Net(nn.Module): pass
        Net.__doc__ += '''
        nparam: 110
        '''
        """,
        """
        class Net(nn.Module): pass
        setattr(Net, '__doc__', 'nparam: 110')
        """,
        """
        NET_DOC = r'''A net.

        nparam: 110'''
        class Net(nn.Module): pass
        """,
        """
        class Net(nn.Module): pass
        __doc__ = dedent('''
        nparam: 110''')
        """,
        """
        class Net(nn.Module): pass
        Net = register(Net, doc='nparam: 110')
        """,
        """
        class Net(nn.Module): pass
        Net = type('N', (Net,), dict(__doc__='nparam: 110'))
        """,
    ],
    "a comment": [
        """
        # nparam:
        #     110
        net = nn.Linear(10, 20)
        """,
        """
        # nparam: 110
        class Net(nn.Module): pass
        """,
        """
        class Net(nn.Module):  # nparam: 110
            pass
        """,
        """
        class Net(nn.Module):
            # nparam: 110
            pass
        """,
        """
        class Net(nn.Module): pass

        # A net. NPARAM : 110
        """,
        """
        class Net(nn.Module):
            '''A net.'''  #: nparam: 110
        """,
        """
        net = nn.Linear(10, 20)  # nparam 110
        """,
        """
        # nparam = 110
        net = nn.Linear(10, 20)
        """,
        """
        # - **nparam:** 110
        net = nn.Linear(10, 20)
        """,
        """
        # nparam: 10*width
        net = nn.Linear(10, 20)
        """,
    ],
}


@pytest.mark.parametrize(
    ("place", "source"), [(place, source) for place, all in PLACES.items() for source in all]
)
def test_a_claim_where_none_is_read_is_told_with_its_place(place: str, source: str) -> None:
    source = dedent(source).lstrip("\n")
    text = source if place.endswith("the module") and source.startswith('"""') else HEAD + source
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


def _inside(line: str) -> str:
    return f"found `{line}` inside a line, expected `{line}` on a line of its own"


@pytest.mark.parametrize(
    "source",
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
        'sizes = {"nparam": 110}\nassert nparam == 110, "nparam: 110"\n',
        'text = """\nnparam: 110\n"""\n',
        "(root / 'net.py').write_text('# nparam: 110')\nlines.append('nparam: 110')\n",
        'def count(nparam=110):\n    """Of a net.\n\n    nparam (int): how many, 3 or 4\n    """\n',
        'def count(nparam):\n    """Of a net.\n\n    >>> nparam = 110\n    """\n',
        '"""Usage: train.py --nparam 110"""\n',
        "# nparam-lint 0.2 counts the nparam, 3 ways\n",
    ],
)
def test_what_is_read_and_what_merely_mentions_the_word_is_not_told(source: str) -> None:
    assert scan_source("net.py", (HEAD + source).encode()).unread == ()


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
