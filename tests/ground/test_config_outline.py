"""Which keys stand where in config files."""

from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from nparam_lint.ground.config_outline import outline

words = st.text("abz_ .-#':{", min_size=1, max_size=5).filter(lambda text: text.strip() == text)
values = st.one_of(st.integers(0, 9), words)
data = st.recursive(
    st.dictionaries(words, values, min_size=1, max_size=3),
    lambda inner: st.dictionaries(
        words, st.one_of(inner, st.lists(st.one_of(inner, values), min_size=1, max_size=3))
    ),
    max_leaves=8,
)


def keys_of(value, above=()):
    if not isinstance(value, (dict, list)):
        return
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(value, dict):
            yield (*above, key)
        yield from keys_of(inner, (*above, key))


@pytest.mark.thorough
@given(data, st.sampled_from([2, 4]))
def test_the_outline_of_yaml_is_what_yaml_reads(value, indent):
    text = yaml.safe_dump(value, default_flow_style=False, sort_keys=False, indent=indent)
    found = outline("a.yaml", text)
    assert [entry.keys for entry in found] == list(keys_of(value))
    lines = text.splitlines()
    assert all(str(entry.keys[-1]).strip("'")[:1] in lines[entry.line - 1] for entry in found)


@pytest.mark.thorough
@given(data)
def test_the_outline_of_json_has_every_key(value):
    found = outline("a.json", json.dumps(value, indent=1))
    assert [e.keys for e in found if isinstance(e.keys[-1], str)] == list(keys_of(value))
    lines = json.dumps(value, indent=1).splitlines()
    named = (entry for entry in found if isinstance(entry.keys[-1], str))
    assert all(json.dumps(entry.keys[-1]) in lines[entry.line - 1] for entry in named)


def test_lines_that_are_not_yaml_say_nothing():
    text = "a: |\n  b: 1\n\n  c: 2\nd: [1,\n  2]\ne: {f: 1, g: x}  # h: 2\n? i\n: j\n- k\n\tl: 3\n"
    found = {entry.keys: (entry.line, entry.value) for entry in outline("a.yaml", text)}
    known = {("a",): (1, ""), ("d",): (5, "[1,"), ("e",): (7, "")}
    known |= {("e", "f"): (7, "1"), ("e", "g"): (7, "x")}
    assert {keys: found[keys] for keys in known} == known


def test_a_mapping_in_brackets_may_go_over_lines():
    text = (
        "model : {\n  NAME: Net,  # a {\n  sizes: [1,\n   {x: 3}],\n"
        "  inner: {k: 'v, w', \"q\": 3 },\n}\nlr: 1\n"
    )
    assert [("/".join(map(str, e.keys)), e.line, e.value) for e in outline("a.yaml", text)] == [
        ("model", 1, ""),
        ("model/NAME", 2, "Net"),
        ("model/sizes", 3, ""),
        ("model/inner", 5, ""),
        ("model/inner/k", 5, "v, w"),
        ("model/inner/q", 5, "3"),
        ("lr", 7, "1"),
    ]
