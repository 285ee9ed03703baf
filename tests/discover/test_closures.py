"""Closures against a plain walk from every node, on graphs full of circles."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from nparam_lint.discover.import_plan import Closures

NODES = [f"n{i}" for i in range(9)]
GRAPHS = st.dictionaries(
    st.sampled_from(NODES), st.lists(st.sampled_from(NODES), max_size=4), max_size=9
)
HELD = st.dictionaries(st.sampled_from(NODES), st.lists(st.sampled_from("abcde"), max_size=2))


def walk(graph: dict[str, list[str]], start: str) -> set[str]:
    seen, pending = {start}, [start]
    while pending:
        for other in graph.get(pending.pop(), []):
            if other not in seen:
                seen.add(other)
                pending.append(other)
    return seen


@settings(max_examples=100)
@given(GRAPHS, HELD, st.permutations(NODES))
def test_every_node_holds_what_a_walk_from_it_finds(graph, held, order):
    closures = Closures(lambda n: (held.get(n, []), graph.get(n, [])))
    for node in order:  # in any order of asking
        found = closures.of(node)
        assert set(found) == {x for n in walk(graph, node) for x in held.get(n, [])}
        assert len(found) == len(set(found))


def test_a_long_chain_needs_no_recursion():
    closures = Closures(lambda n: ([n[-1:]], [str(int(n) + 1)] if int(n) < 20_000 else []))
    assert set(closures.of("0")) == set("0123456789")


def test_a_part_is_worked_out_once():
    asked: list[str] = []

    def own(node: str) -> list[str]:
        asked.append(node)
        return [node]

    circle = {"a": ["b"], "b": ["c"], "c": ["a", "d"], "d": []}
    closures = Closures(lambda n: (own(n), circle[n]))
    assert [set(closures.of(n)) for n in "abcd"] == [set("abcd")] * 3 + [{"d"}]
    assert sorted(asked) == list("abcd")
