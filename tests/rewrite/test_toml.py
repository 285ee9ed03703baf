"""Numbers and keys in config files: comments, order, quotes and layout stay."""

import pytest
import tomlkit
from case_books import cases_beside
from rewritten_lines import lines_changed

from nparam_lint.ground.notation.grammar import parse_value
from nparam_lint.rewrite import toml_edits
from nparam_lint.rewrite.edits import Unsafe
from nparam_lint.rewrite.number_style import restate

PROJECT, OURS = "pyproject.toml", "nparam-lint.toml"
NUMBERS = cases_beside(__file__, "config_numbers")


def rewritten(text, count, keys=None, file=PROJECT):
    """The file with `count` in all of its budgets, or in those at some keys."""
    changes = {}
    for key in keys or toml_edits.budget_keys(text, file):
        metric = "bytes" if "[bytes]" in str(key) else "total"
        declared = tomlkit.parse(text).unwrap()
        for part in key:
            declared = declared[part]
        change = restate(parse_value(str(declared), metric), count, metric)
        if change:
            changes[key] = change
    return toml_edits.restate(text, changes)


def test_the_keys_are_in_the_order_of_the_settings():
    text = NUMBERS[0].values[1].files[PROJECT].decode()
    assert [key[2:] for key in toml_edits.budget_keys(text, PROJECT)] == [
        ("budgets", "a.py::A"),
        ("budgets", "b.py::B"),
        ("budgets", "c.py::C", 0),
        ("budgets", "c.py::C", 1),
        ("budgets", "c.py::C", 2),
        ("budgets", "d.py::D[bytes]", "budget"),
        ("budgets", "e.py::E"),
        ("budgets", "f.py::F"),
        ("budgets", "g.py::G", "budget"),
    ]


@pytest.mark.parametrize(("book", "case"), NUMBERS)
def test_what_another_count_changes(book, case, request):
    ((file, content),) = case.files.items()
    count, *key = case.asked.split()
    keys = [tuple(int(part) if part.isdigit() else part for part in key)] if key else None
    new, failed = rewritten(content.decode(), int(count), keys, file)
    said = [f"! {key[-1]}: {why}" for key, why in failed.items()]
    said += lines_changed(content, new.encode())
    book.check(case.number, "\n".join(said), update=request.config.getoption("update"))


def test_a_value_that_is_no_longer_what_was_read_is_not_touched():
    text = '[budgets]\n"a.py::A" = 7_000\n"b.py::B" = "7k"\n'
    keys = toml_edits.budget_keys(text, OURS)
    changes = dict.fromkeys(keys, restate(parse_value("5_000"), 6_000))
    new, failed = toml_edits.restate(text, changes)
    assert (new, set(failed)) == (text, set(keys))


# --- further budgets --------------------------------------------------------------------------

NEW = {"a.py::Z": "1_234", "b.py::Y": "124M"}
TWO = '"a.py::Z" = 1_234\n"b.py::Y" = "124M"\n'
TABLE = "[tool.nparam-lint.budgets]\n"


@pytest.mark.parametrize(("book", "case"), cases_beside(__file__, "tables"))
def test_budgets_are_added_to_their_table(book, case, request):
    ((file, content),) = case.files.items()
    try:
        new = toml_edits.add(content.decode(), file, NEW).encode()
        said = "\n".join(lines_changed(content, new))
    except Unsafe as error:
        said = f"! {error}"
    book.check(case.number, said, update=request.config.getoption("update"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", TABLE + TWO),
        ('[project]\nname = "x"', f'[project]\nname = "x"\n\n{TABLE}{TWO}'),
        ("[project]\n\n", f"[project]\n\n{TABLE}{TWO}"),
        (f"{TABLE}a = 1", f"{TABLE}a = 1\n{TWO}"),
    ],
)
def test_budgets_are_added_however_a_file_ends(old, new):
    assert toml_edits.add(old, PROJECT, NEW) == new
