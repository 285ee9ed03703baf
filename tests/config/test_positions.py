"""Where keys and values stand: every spelling that TOML has, and none that only looks like one."""

import sys

import pytest
from case_books import cases_beside
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


@pytest.mark.parametrize(("book", "case"), cases_beside(__file__, "positions"))
def test_every_spelling(book, case, request):
    path, _, text = case.asked.partition(":\n")
    said = ", ".join(f"{line}:{column}" for line, column in places(text, *path.split(" ")))
    book.check(case.number, said, update=request.config.getoption("update"))


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
