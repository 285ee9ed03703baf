"""Where keys and values stand: every spelling that TOML has, and none that only looks like one."""

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nparam_lint.config.positions import Positions

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def places(text, *path):
    """(line, column) of a key and of its value."""
    tomllib.loads(text)  # only valid files are read
    found = Positions("a.toml", text)
    key, value = found.key(path), found.value(path)
    return (key.line, key.column), (value.line, value.column)


@pytest.mark.parametrize(
    ("text", "path", "key", "value"),
    [
        ("a = 1", "a", (1, 1), (1, 5)),
        ("  a.b = 1", "a b", (1, 5), (1, 9)),
        ("a . 'b.c' . d = 1", "a b.c d", (1, 13), (1, 17)),
        ('"a\\u0062" = 1', "ab", (1, 1), (1, 13)),
        ("[t]\na = 1", "t", (1, 2), (1, 2)),
        ("[t]\na = 1", "t a", (2, 1), (2, 5)),
        ('[ t . "u" ] # [no]\na = 1', "t u a", (2, 1), (2, 5)),
        ("t = { a = 1, b.c = '}' }", "t b c", (1, 16), (1, 20)),
        ("t = [1, { a = 2 }]", "t 1 a", (1, 11), (1, 15)),
        ("t = [\n  'x', # ]\n  'y',\n]\nb = 1", "t 1", (3, 3), (3, 3)),
        ("t = [\n  'x', # ]\n  'y',\n]\nb = 1", "b", (5, 1), (5, 5)),
        ("[[t]]\na = 1\n[[t]]\na = 2", "t 1 a", (4, 1), (4, 5)),
        ("[[t]]\n[t.u]\na = 1\n[[t]]\n[t.u]\na = 2", "t 1 u a", (6, 1), (6, 5)),
        ("[[t]]\n[[t.u]]\na = 1\n[[t.u]]\na = 2", "t 0 u 1 a", (5, 1), (5, 5)),
        ('s = """\na = 1\n"""\na = 2', "a", (4, 1), (4, 5)),
        ("s = '''x'''''\na = 2", "a", (2, 1), (2, 5)),
        ('s = """x\\""""\na = 2', "a", (2, 1), (2, 5)),
        ("s = ''\na = 2", "a", (2, 1), (2, 5)),
        ('s = "\\" # "\na = 2', "a", (2, 1), (2, 5)),
        ("f = -3.5e-7\na = 2", "a", (2, 1), (2, 5)),
        ("3.5 = 1\na = 2", "3 5", (1, 3), (1, 7)),
        ("d = 1979-05-27 07:32:00.999Z\na = 2", "a", (2, 1), (2, 5)),
        ("d = 07:32:00.5\ne = [1.5, 2.5, 1979-05-27]\na = 2", "a", (3, 1), (3, 5)),
        ("ü = 1 # ü\n'é' = { ñ = 2 }", "é", (2, 1), (2, 7)),
        ("a = 1\n[t]", "t gone away", (2, 2), (2, 2)),
    ],
)
def test_every_spelling(text, path, key, value):
    if "ü" in text:  # a bare key is ASCII
        text = text.replace("ü", "'ü'").replace("ñ", "'ñ'")
    assert places(text, *path.split(" ")) == (key, value)


_TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=5)
_LEAVES = st.one_of(st.integers(), st.booleans(), st.floats(allow_nan=False), _TEXTS)
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60)
@given(st.dictionaries(_TEXTS, _VALUES, max_size=4))
def test_each_key_is_where_its_own_text_begins(document):
    import tomlkit

    text = tomlkit.dumps(document)
    lines = text.split("\n")
    positions = Positions("a.toml", text)
    for key, value in tomllib.loads(text).items():
        at = positions.key([key])
        rest = lines[at.line - 1][at.column - 1 :]
        head = rest.partition("]")[0] if lines[at.line - 1].startswith("[") else rest
        assert head.startswith((key, f'"{key}"', f"'{key}'", '"')), (text, at)
        if not isinstance(value, dict | list):
            at = positions.value([key])
            rest = "\n".join([lines[at.line - 1][at.column - 1 :], *lines[at.line :]])
            assert any(tomllib_value(rest, end) == value for end in range(1, len(rest) + 1))


def tomllib_value(text, end):
    """What the first characters of a text are as a value."""
    try:
        return tomllib.loads(f"x = {text[:end]}")["x"]
    except tomllib.TOMLDecodeError:
        return None
