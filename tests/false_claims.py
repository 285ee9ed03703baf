"""Claims of 110 parameters that must not pass, in all ways and at all places."""

from textwrap import dedent

IMPORT = "from torch import nn\n\n"
NET = """from torch import nn


class Net(nn.Module):
    \"\"\"A net.

    {claim}
    \"\"\"

    def __init__(self, width=10):
        super().__init__()
        self.layer = nn.Linear(width, 20)
"""
# These lists can only grow.
READ = [
    *("nparam : 110", "nparam [total]: 110", "NPARAM: 110", "nparams: 110", "n_param: 110"),
    *("(nparam: 110)", "nparam： 110", "`nparam: 110`", "**nparam: 110**", "**nparam**: 110"),
    *("nparam\u02f8 110", "nparam\u205a 110", "nparam\ufe13 110", "$nparam$: 110"),
    *("+ nparam: 110", "• nparam: 110", "1. nparam: 110", "> nparam: 110", ".. nparam:: 110"),
    *(
        "\ufeffnparam: 110",
        "\u200bnparam: 110",
        "Nparam: 10*width + 10",
        "**nparam:**\n        110",
    ),
]
UNCLEAR = ["nparam = 110", "nparam 110", "A net. nparam: 110", "nparam is 110", "has 110 nparams"]
UNCLEAR += ["nparam{trainable}: 110"]

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
    "a string, not a docstring, in `Net`": [
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
    "a string, not a docstring, in `Net.__init__`": [
        '''
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                """nparam: 110"""
        ''',
    ],
    "a string, not a docstring, in the module": [
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


def source(text: str) -> str:
    """A file with one of these places."""
    text = dedent(text).lstrip("\n")
    return text if text.startswith('"""') else IMPORT + text
