"""Comments that silence findings, and what is said of those that silence nothing."""

from textwrap import dedent

import pytest

from nparam_lint.discover.claims.suppressions import apply
from nparam_lint.ground.findings import Finding
from nparam_lint.ground.values import Position

SOURCE = '''\
    class Net(nn.Module):
        """A net.

        nparam: 12
        """  # nparam: ignore[NPL001]

        def __init__(self):
            self.a = [nn.Linear(1, 1)]  # nparam: ignore[NPL101, NPL010]
            self.b = "# nparam: ignore[NPL101]"
'''


def finding(code, line, path="net.py"):
    return Finding(code, "error", Position(path, line, 5), "something is wrong")


def applied(findings, text=SOURCE, path="net.py", checked=()):
    content = dedent(text).encode()

    def read(asked):
        if asked != path:
            raise FileNotFoundError(asked)
        return content

    return [
        (f.code, f.position.line, f.position.column, f.message)
        if f.code == "NPL015"
        else (f.code, f.position.line)
        for f in apply(findings, read, [path] if checked else [], set(checked).__contains__)
    ]


def test_a_comment_silences_its_codes_on_its_line_alone():
    found = [finding("NPL101", 8), finding("NPL010", 8), finding("NPL102", 8), finding("NPL101", 7)]
    assert applied(found) == [("NPL102", 8), ("NPL101", 7)]


@pytest.mark.parametrize("line", [2, 3, 4, 5])
def test_the_comment_behind_a_docstring_holds_for_all_of_it(line):
    assert applied([finding("NPL001", line)]) == []
    assert applied([finding("NPL002", line)]) == [("NPL002", line)]


def test_a_text_that_looks_like_a_comment_is_none():
    assert applied([finding("NPL101", 9)], checked={"NPL101"}) == [
        ("NPL101", 9),
        ("NPL015", 8, 37, "this line has no NPL101, so there is nothing to ignore"),
    ]


def test_unused_comments_are_reported_for_the_codes_that_were_checked():
    assert applied([], checked={"NPL010", "NPL101"}) == [
        ("NPL015", 8, 37, "this line has no NPL101, so there is nothing to ignore"),
        ("NPL015", 8, 37, "this line has no NPL010, so there is nothing to ignore"),
    ]
    assert applied([], checked={"NPL102"}) == []
    assert applied([finding("NPL101", 8)], checked={"NPL101"}) == []


def test_comments_that_name_no_code_or_an_unknown_one_silence_nothing():
    source = """\
        x = 1  # nparam: ignore
        y = 2  # nparam: ignore[NPL1O1]
        z = 3  # nparam: ignore[everything]
        """
    found = [finding("NPL101", 1), finding("NPL101", 2)]
    assert applied(found, source, checked={"NPL001"}) == [
        ("NPL101", 1),
        ("NPL101", 2),
        (
            "NPL015",
            1,
            8,
            "the comment names no code; expected one such as # nparam: ignore[NPL010]",
        ),
        ("NPL015", 2, 8, "there is no rule 'NPL1O1' to ignore; did you mean NPL101?"),
        ("NPL015", 3, 8, "there is no rule 'everything' to ignore"),
    ]


def test_in_toml_the_comment_stands_on_the_line_of_the_key():
    text = """\
        [budgets]
        "net.py::Net" = 12  # nparam: ignore[NPL001]
        "net.py::Old" = 12
        "net.py::B" = {budget = 12, reason = "# nparam: ignore[NPL001]"}
        """
    places = [("NPL001", 2), ("NPL008", 3), ("NPL001", 4)]  # in a text it is none
    found = [finding(code, line, "nparam-lint.toml") for code, line in places]
    assert applied(found, text, "nparam-lint.toml", {"NPL001"}) == places[1:]


def test_findings_in_files_that_cannot_be_read_are_kept():
    assert applied([finding("NPL003", 1, "gone.py")]) == [("NPL003", 1)]


def test_a_file_with_a_syntax_error_keeps_the_comments_before_it():
    source = "x = 1  # nparam: ignore[NPL101]\ny = (\n"
    assert applied([finding("NPL101", 1), finding("NPL003", 2)], source) == [("NPL003", 2)]
