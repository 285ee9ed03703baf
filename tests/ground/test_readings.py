"""What is read of each text in the books `readings/`, or what is wrong in it, and where."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from case_books import cases_beside

from nparam_lint.ground.notation import TextError, exact_text, parse_selected, without_arguments
from nparam_lint.ground.notation.expression import parse_formula
from nparam_lint.ground.notation.grammar import parse_tolerance, parse_value

if TYPE_CHECKING:
    from case_books import Case, ProjectBook

    from nparam_lint.ground.notation import Selector, Target

NAMES = {"n": 768, "rate": 0.1, "bias": True, "norm": "rms", "kv": None, "zero": 0}
NAMES |= {"inf": math.inf, "nan": math.nan}


def formula(text: str) -> str:
    return exact_text(Fraction(parse_formula(text).evaluate(NAMES)))


def value(text: str) -> str:
    text, _, within = text.partition(" within ")
    tolerance = parse_tolerance(within.removesuffix(", though exact")) if within else None
    written = text.removesuffix(" in bytes")
    read = parse_value(written, "total" if written == text else "bytes")
    forced = within.endswith(", though exact")
    bounds = read.bounds({"n": 10, "kind": "#"}, tolerance, forced)
    return f"{bounds.low:_}..{'' if bounds.high is None else format(bounds.high, '_')}"


def target(text: str) -> str:
    found, selector = parse_selected(text)
    assert without_arguments(str(found)) == str(found.bare)
    return f"{fields(found)}; {fields(selector)}"


def fields(record: Target | Selector) -> str:
    """Those that say something; a host in brackets."""
    texts = []
    for name in record.__struct_fields__:
        value = getattr(record, name)
        if value is not None and (value or name == "arguments"):
            texts.append(
                f"{name} ({fields(value)})" if name == "host" else f"{name} {value}".strip()
            )
    return ", ".join(texts)


READ = {"formulas": formula, "values": value, "targets": target}


@pytest.mark.parametrize(("book", "case"), cases_beside(__file__, "readings"))
def test_what_is_read(book: ProjectBook, case: Case, request: pytest.FixtureRequest) -> None:
    try:
        said = READ[book.path.stem](case.asked)
    except TextError as error:
        said = f"{error.offset}: {error.message}"
    book.check(case.number, said, update=request.config.getoption("update"))
