"""Numbers and lines in docstrings: all other bytes stay."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nparam_lint.discover.claims.docstring_budgets import parse_docstring
from nparam_lint.discover.definitions import Definition
from nparam_lint.discover.scan import scan_source
from nparam_lint.ground.notation.grammar import parse_value
from nparam_lint.rewrite import docstring_edits
from nparam_lint.rewrite.docstring_edits import budgets
from nparam_lint.rewrite.number_style import restate


def declared(source):
    """(line, column) → value of every budget in the file."""
    facts = scan_source("x.py", source)
    assert facts.problem is None
    docstrings = [item.docstring for item in (*facts.classes, *facts.functions, *facts.methods)]
    docstrings += [item.init.docstring for item in facts.classes if item.init]
    found = [budget for lines in docstrings for budget in parse_docstring(lines)[0]]
    return {(budget.line, budget.column): budget.value.text for budget in found}


def rewritten(source, count, where=None):
    """The source with `count` in all of its budgets, or in those at some places."""
    source = source.encode() if isinstance(source, str) else source
    changes = {
        place: restate(parse_value(value), count)
        for place, value in declared(source).items()
        if where is None or place in where
    }
    return docstring_edits.restate(source, changes)


def changed(source, count):
    new, failed = rewritten(source, count)
    assert failed == {}
    return new.decode() if isinstance(source, str) else new


# --- another number ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('class A:\n    """nparam: 124M"""\n', 'class A:\n    """nparam: 126M"""\n'),
        # other spellings
        ('class A:\n    """**NParam :** 124M"""\n', 'class A:\n    """**NParam :** 126M"""\n'),
        ('class A:\n    """A.\n\n    • (nparam: 124M).\n    """\n', None),
        ('class A:\n    """\ufeffnparams： `124M`"""\n', None),
        # a factory of the class
        ('class A:\n    @classmethod\n    def f(cls):\n        """nparam: 124M"""\n', None),
        # at the end of the file, on the line of the class
        ("class A: 'nparam: 124M'", "class A: 'nparam: 126M'"),
        # prefixes, escapes before and in the value, numbers that look like it
        (
            'class A:\n    r"""\\d nparam\n\n    nparam(n=124): 124 ± 1% # 124\n    """\n',
            'class A:\n    r"""\\d nparam\n\n    nparam(n=124): 125_891_072 ± 1% # 124\n    """\n',
        ),
        (
            'class A:\n  "\\u00e9\\t12 \\n\\x20 nparam(n=12): 12 \\u00b1 2%"\n',
            'class A:\n  "\\u00e9\\t12 \\n\\x20 nparam(n=12): 125_891_072 \\u00b1 2%"\n',
        ),
        # adjacent literals, with comments between them
        (
            'class A:\n    ("A.\\n"  # "nparam: 5M"\n     r"nparam: "  "5M" # 5M\n     "\\n")\n',
            'class A:\n    ("A.\\n"  # "nparam: 5M"\n     r"nparam: "  "126M" # 5M\n     "\\n")\n',
        ),
        # a continued line
        (
            'def f():\n    """A.\n\n    nparam: \\\n    5M\n    """\n    return 5\n',
            'def f():\n    """A.\n\n    nparam: \\\n    126M\n    """\n    return 5\n',
        ),
        # in __init__, in a nested class, after another definition of the same name
        (
            "if x:\n\tclass A: ...\nelse:\n\tclass A:\n\t\tclass B:\n\t\t\tdef __init__(self):\n"
            "\t\t\t\t'nparam: 5k'\n",
            "if x:\n\tclass A: ...\nelse:\n\tclass A:\n\t\tclass B:\n\t\t\tdef __init__(self):\n"
            "\t\t\t\t'nparam: 125891k'\n",
        ),
    ],
)
def test_only_the_number_changes(old, new):
    new = new or old.replace("124M", "126M")
    assert changed(old, 125_891_072) == new


def test_every_form_in_one_docstring():
    old = '''\
class GPT(nn.Module):
    """A decoder.   \t
    nparam: 124_475_904
    * nparam[h.*]: 7.1M ± 1%   # each
    :nparam[encoder, trainable]: ~58k

    nparam(n_layer=24,
           n_head=16): 354M
    """
'''
    new, failed = rewritten(old, 125_891_072)
    assert failed == {}
    lines = [
        (a, b) for a, b in zip(old.splitlines(), new.decode().splitlines(), strict=True) if a != b
    ]
    assert lines == [
        ("    nparam: 124_475_904", "    nparam: 125_891_072"),
        (
            "    * nparam[h.*]: 7.1M ± 1%   # each",
            "    * nparam[h.*]: 125.9M ± 1%   # each",
        ),
        ("    :nparam[encoder, trainable]: ~58k", "    :nparam[encoder, trainable]: ~125891k"),
        ("           n_head=16): 354M", "           n_head=16): 126M"),
    ]


@pytest.mark.parametrize(
    "frame",
    [
        b'\xef\xbb\xbf# first\r\nclass A:\r\n\t"""A.\r\n\r\n\tnparam: %s\r\n\t"""\r\n\tx = 1\r\n',
        '# coding: latin-1\nclass A:\n    """Größe.\n\n    nparam: %s\n    """\n'.encode("latin-1"),
        b'class A:\n    """A.\r\n\n    nparam: %s\n    """\r\n    x = 1   \n\x0c\n\n\ny=2',
        '# ünïcode\nclass Ä:\n    "ä nparam"; x = "é"\ndef f(): """nparam: %s"""; "ß"\n'.encode(),
    ],
    ids=["BOM, CRLF and tabs", "latin-1", "mixed line ends and a form feed", "one line"],
)
def test_encodings_and_line_ends_stay(frame):
    assert changed(frame % b"5M", 125_891_072) == frame % b"126M"


def test_only_what_is_named_changes():
    source = 'class A:\n    """nparam: 5M\n    nparam[a]: 5M\n    """\n'
    new, failed = rewritten(source, 6_000_000, {(3, 16)})
    assert (new.decode(), failed) == (source.replace("[a]: 5M", "[a]: 6M"), {})


def test_a_number_in_pieces_is_not_touched_and_keeps_nothing_else_from_being():
    one, two, three = "'nparam: 1' '2'", "'nparam: 12'", "'nparam: \\x31\\x32'"
    source = f"class A:\n    {one}\nclass B:\n    {two}\nclass C:\n    {three}\n"
    new, failed = rewritten(source, 34)
    assert new.decode() == source.replace("12'", "34'")
    reason = "its number is not written in one piece"
    assert failed == {(2, 14): reason, (6, 14): reason}


def test_a_file_that_libcst_would_change_is_left_alone():
    source = b'class A:\r    """nparam: 5M"""\r'
    new, failed = rewritten(source, 6_000_000)
    assert new == source
    assert failed == {(2, 16): "libcst would change other parts of the file"}


def test_the_places_are_those_of_the_file():
    found = budgets('"""A.\r\n\r\n    nparam: 5M\r\n    """', (7, 5))
    assert found == {(9, 13): (None, "", "", "5M")}


escapes = st.sampled_from(("\\x41", "\\\\", "\\N{DIGIT ONE}", "\\t", "\\'", "\\\n", "é", "5M", "{"))


@settings(max_examples=100)
@given(st.lists(escapes, max_size=4).map("".join), st.lists(escapes, max_size=4).map("".join))
def test_whatever_stands_around_it(before, after):
    frame = f'class A:\n    """{before} A.\n    nparam: %s\n    {after}"""\n'
    assert changed(frame % "5M", 6_000_000) == frame % "6M"


# --- another line -----------------------------------------------------------------------------


def given_budgets(source, value="1_234"):
    """The source with a budget for every class and function at its top level, or in a class."""
    source = source.encode() if isinstance(source, str) else source
    facts = scan_source("x.py", source)
    definitions = [
        Definition("x.py", item.qualname, kind, item.line, item.column)
        for kind, items in (("class", facts.classes), ("factory", facts.functions))
        for item in items
    ]
    new, failed = docstring_edits.add(source, {one: [(None, value)] for one in definitions})
    return new, {definition.qualname: reason for definition, reason in failed.items()}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "class A(B): pass  # why\n",
            'class A(B):\n    """nparam: 1_234"""\n\n    pass  # why\n',
        ),
        (
            "class A(B): pass\nclass C:\n  x = 1\n",
            'class A(B):\n  """nparam: 1_234"""\n\n  pass\n'
            'class C:\n  """nparam: 1_234"""\n\n  x = 1\n',
        ),
        ("class A(B):\n  x = 1\n", 'class A(B):\n  """nparam: 1_234"""\n\n  x = 1\n'),
        (
            "@dec(\n    1\n)\nclass A(\n    B,\n):  # noqa\n\n    # first\n    x = 1\n",
            "@dec(\n    1\n)\nclass A(\n    B,\n):  # noqa\n"
            '    """nparam: 1_234"""\n\n    # first\n    x = 1\n',
        ),
        (
            "class A:\n    # first\n    @property\n    def f(self): ...\n",
            'class A:\n    """nparam: 1_234"""\n\n'
            "    # first\n    @property\n    def f(self): ...\n",
        ),
        (
            "def f(\n    x=1):\n    # first\n    return x\n",
            'def f(\n    x=1):\n    """nparam: 1_234"""\n    # first\n    return x\n',
        ),
        ("def f(): return 1\n", 'def f():\n    """nparam: 1_234"""\n    return 1\n'),
        (
            'class A:\n    """One."""\n',
            'class A:\n    """One.\n\n    nparam: 1_234\n    """\n',
        ),
        (
            'class A: """One."""; x = 1',
            'class A:\n    """One.\n\n    nparam: 1_234\n    """; x = 1',
        ),
        (
            'class A:\n    """\n    Two.\n\n    Args:\n        x: y\n\n    """\n    x = 1\n',
            'class A:\n    """\n    Two.\n\n    Args:\n        x: y\n\n    nparam: 1_234\n    """\n'
            "    x = 1\n",
        ),
        (
            "class A:\n\tr'''Three \\d\n\n\tand more.'''\n",
            "class A:\n\tr'''Three \\d\n\n\tand more.\n\n\tnparam: 1_234\n\t'''\n",
        ),
        (
            "class A:\n    'Say \"x\".'\n",
            "class A:\n    '''Say \"x\".\n\n    nparam: 1_234\n    '''\n",
        ),
        ('class A:\n    """"""\n', 'class A:\n    """nparam: 1_234"""\n'),
        (  # which is read in time, however many escapes there are
            'class A:\n    r"""' + 60 * "\\d" + '\'"""\n',
            'class A:\n    r"""' + 60 * "\\d" + '\'\n\n    nparam: 1_234\n    """\n',
        ),
        (
            'class A:\n    f"""{x}"""\n',
            'class A:\n    """nparam: 1_234"""\n\n    f"""{x}"""\n',
        ),
        (
            'class A:\r\n\t"""One."""\r\nclass B:\r\n\tx = 1\r\n',
            'class A:\r\n\t"""One.\r\n\r\n\tnparam: 1_234\r\n\t"""\r\nclass B:\r\n'
            '\t"""nparam: 1_234"""\r\n\r\n\tx = 1\r\n',
        ),
        (
            'class A:\n    """One."""\n\n    class B:\n        """Two."""\n',
            'class A:\n    """One.\n\n    nparam: 1_234\n    """\n\n'
            '    class B:\n        """Two.\n\n        nparam: 1_234\n        """\n',
        ),
        (
            "class A:\n    class B: pass\n",
            'class A:\n    """nparam: 1_234"""\n\n    class B:\n        """nparam: 1_234"""\n\n'
            "        pass\n",
        ),
        ("async def f(): ...\n", 'async def f():\n    """nparam: 1_234"""\n    ...\n'),
    ],
)
def test_a_budget_is_added_where_it_belongs(old, new):
    written, failed = given_budgets(old)
    assert (written.decode(), failed) == (new, {})
    assert list(declared(written).values()) == ["1_234"] * new.count("nparam")


def test_encodings_stay_when_a_line_is_added():
    old = '\ufeff# größe\nclass A:\n    """Größe."""\n'.encode()
    written, failed = given_budgets(old)
    new = '\ufeff# größe\nclass A:\n    """Größe.\n\n    nparam: 1_234\n    """\n'
    assert (written, failed) == (new.encode(), {})


@pytest.mark.parametrize("docstring", ["'One ' 'two.'", "('One.')", "'One ' \\\n 'two'"])
def test_what_is_not_safe_is_not_done(docstring):
    source = f"class A:\n    {docstring}\n"
    written, failed = given_budgets(source)
    assert written.decode() == source
    assert failed == {"A": "its docstring is not one plain literal"}


def test_one_that_cannot_be_given_a_budget_keeps_none_else_from_it():
    source = "class A:\n    'One ' 'two.'\nclass B:\n    x = 1\n"
    written, failed = given_budgets(source)
    assert written.decode() == source.replace("    x", '    """nparam: 1_234"""\n\n    x')
    assert failed == {"A": "its docstring is not one plain literal"}


def test_a_definition_that_is_gone_is_not_found():
    source = b"class A:\n    x = 1\n"
    gone = Definition("x.py", "B", "class", 7, 1)
    written, failed = docstring_edits.add(source, {gone: [(None, "5")]})
    assert (written, failed) == (source, {gone: "it has moved since it was found"})
