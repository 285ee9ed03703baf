from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nparam_lint.ground.notation import (
    METRICS,
    Selector,
    Target,
    TextError,
    Unclosed,
    closing_bracket,
    matches,
    parse_selected,
    parse_selector,
    parse_target,
)

PROPERTY = settings(max_examples=60)

words = st.from_regex(r"[a-z_][a-z0-9_]{0,5}", fullmatch=True).filter(str.isidentifier)
dotted = st.lists(words, min_size=1, max_size=3).map(".".join)
locations = dotted | st.lists(words, min_size=1, max_size=3).map(lambda p: "/".join(p) + ".py")
arguments = st.sampled_from(
    ["", "x=1", "GPTConfig(n_layer=24)", "'a)b]'", "x=[1,2][0]", 'f"""a)"b"""', "*a, **{'k': (1,)}"]
)
module_paths = st.lists(words | st.sampled_from(["0", "12"]), min_size=1, max_size=4).map(".".join)
modules = module_paths.filter(lambda path: path not in METRICS)
selectors = st.builds(Selector, st.sampled_from([*METRICS]), modules | st.just(""))
called = st.builds(Target, locations, dotted, st.none() | arguments)
hosts = called | st.builds(Target, st.just(""), dotted, st.none() | arguments)
targets = called | st.builds(Target, locations, dotted, st.none(), hosts)


def test_a_target_has_no_selector() -> None:
    with pytest.raises(TextError, match="expected the end"):
        parse_target("m.py::C()[bytes]")
    assert parse_target("m.py::C(1)").bare == Target("m.py", "C")


def test_one_unknown_word_is_a_module_path() -> None:
    assert parse_selector("trainabel") == Selector("total", "trainabel")


def test_an_open_bracket_is_told_from_a_wrong_one() -> None:
    with pytest.raises(Unclosed):
        closing_bracket("(a, [b]", 0)


@pytest.mark.parametrize(
    ("location", "is_path"), [("m.py", True), ("a/b", True), ("x.ipynb", True), ("a.b", False)]
)
def test_paths_and_modules(location: str, is_path: bool) -> None:
    assert Target(location, "C").is_path is is_path


@pytest.mark.parametrize(
    ("glob", "path", "expected"),
    [
        ("transformer.h.*", "transformer.h.0", True),
        ("transformer.h.*", "transformer.h", False),
        ("transformer.h.*", "transformer.h.0.attn", False),
        ("h*", "head", True),
        ("h*", "h.0", False),
        ("**.attn", "attn", True),
        ("**.attn", "h.0.attn", True),
        ("h.**", "h", True),
        ("h.**.fc", "h.0.mlp.fc", True),
        ("a.b", "axb", False),
        ("", "", True),
        ("", "a", False),
        ("*", "", False),
        ("[ab]", "a", False),
    ],
)
def test_globs(glob: str, path: str, expected: bool) -> None:
    assert matches(glob, path) is expected


@PROPERTY
@given(targets, selectors)
def test_round_trip(target: Target, selector: Selector) -> None:
    assert parse_target(str(target)) == target
    assert parse_selector(str(selector)) == selector
    written = f"{target}[{selector}]" if str(selector) else str(target)
    assert parse_selected(written) == (target, selector)


@PROPERTY
@given(module_paths)
def test_a_path_matches_itself_and_its_stars(path: str) -> None:
    assert matches(path, path)
    assert matches(".".join("*" for _ in path.split(".")), path)
    assert matches("**", path)
    assert not matches(path, f"{path}.x")


@PROPERTY
@given(st.text() | st.text("ab.:/()[]'\", *").map(lambda text: f"m.py::C{text}"))
def test_any_text_is_read_or_refused(text: str) -> None:
    for parse in (parse_target, parse_selected, parse_selector):
        try:
            parse(text)
            offset = 0
        except TextError as error:
            offset = error.offset
        assert 0 <= offset <= len(text)
