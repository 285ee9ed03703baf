"""Where lines stand after an edit."""

import pytest

from nparam_lint.ground.lines import lines_now, lines_of


def test_a_form_feed_begins_no_line():
    assert lines_of(b"a\r\nb\fc\rd\n") == ["a", "b\fc", "d", ""]


@pytest.mark.parametrize(
    ("old", "new", "places"),
    [
        ("abc", "abc", {1: 1, 2: 2, 3: 3}),
        ("abc", "axbc", {1: 1, 2: 3, 3: 4}),
        ("axbc", "abc", {1: 1, 3: 2, 4: 3}),
        ("abc", "aXc", {1: 1, 2: 2, 3: 3}),  # changed, and in the same place
        ("abcd", "aXYZd", {1: 1, 2: 2, 3: 3, 4: 5}),  # two became three
        ("abcd", "aXd", {1: 1, 2: 2, 4: 3}),
        ("a  b  c", "a  x  b  c", {1: 1, 2: 2, 3: 3, 4: 7, 5: 8, 6: 9, 7: 10}),
        ("aa", "aaa", {1: 1, 2: 2}),
        ("abcdef", "1bcXef2", {1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 6: 6}),
        ("", "ab", {}),
    ],
)
def test_where_lines_are_now(old, new, places):
    assert lines_now(old, new) == places
    assert lines_now([*old], [*new]) == places
