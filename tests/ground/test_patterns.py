"""Patterns that are compiled when they are first used."""

import importlib
import re
from pkgutil import walk_packages

import pytest

import nparam_lint
from nparam_lint.ground.patterns import _LatePattern, late_pattern


def test_has_what_a_compiled_pattern_has():
    late = late_pattern(r"(\w+)=(?P<value>\d+)", re.ASCII)
    assert vars(late).keys() == {"pattern", "_flags"}
    assert late.search("width=8")["value"] == "8"
    assert [*map(late.fullmatch, ["a=1", "a="])][1] is None
    assert late.groupindex == {"value": 2}
    assert late.flags == re.compile("", re.ASCII).flags


def test_each_pattern_of_the_package_can_be_compiled():
    late = []
    for package in walk_packages(nparam_lint.__path__, "nparam_lint."):
        if ".worker." not in package.name and not package.name.endswith("__main__"):
            module = importlib.import_module(package.name)
            hasattr(module, "late_pattern")  # reads a late module
            late += [held for held in vars(module).values() if type(held) is _LatePattern]
    assert len(late) > 250
    for pattern in late:
        assert pattern.groups >= 0


def test_a_wrong_pattern_fails_at_its_first_use():
    late = late_pattern("(")
    with pytest.raises(re.error, match="unterminated subpattern"):
        late.search("")
