"""How the models of a run are divided among machines."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nparam_lint.gate.candidates import Candidate
from nparam_lint.gate.shards import IMPORT, PACKAGE, assigned
from nparam_lint.ground.notation import Target
from nparam_lint.ground.orders import Build
from nparam_lint.ground.values import Position


def candidate(target: Target) -> Candidate:
    return Candidate(target, Position(target.location), Build(target.callable))


def timm(name: str) -> Candidate:
    return candidate(Target("timm", "create_model", repr(name)))


def of_file(location: str, count: int) -> list[Candidate]:
    return [candidate(Target(location, f"Net{number}")) for number in range(count)]


def loads(candidates, shards, costs, of):
    """What each shard builds and imports, in seconds."""
    found = [0.0] * of
    for number in range(1, of + 1):
        own = [r for r, shard in zip(candidates, shards, strict=True) if shard == number]
        found[number - 1] = sum(costs[str(r.target)] for r in own)
        found[number - 1] += sum(
            IMPORT if at.endswith(".py") else PACKAGE for at in {r.location for r in own}
        )
    return found


def test_the_models_of_a_file_stay_together_where_an_import_costs_more():
    candidates = [*of_file("a.py", 3), *of_file("b.py", 3), *of_file("timm", 5)]
    shards = assigned(candidates, 3, {})
    assert [len(set(part)) for part in (shards[:3], shards[3:6], shards[6:])] == [1, 1, 1]
    assert set(shards) == {1, 2, 3}


def test_what_takes_longer_than_a_share_is_divided():
    candidates = [timm(f"net{number}") for number in range(300)]
    shards = assigned(candidates, 4, {})
    sizes = [shards.count(number) for number in range(1, 5)]
    assert max(sizes) - min(sizes) <= 20, sizes


def test_a_model_and_the_classes_inside_it_are_one_build():
    host = Target("timm", "create_model", "'vit'")
    inside = candidate(Target("timm", "Block", None, host))
    candidates = [timm(f"net{number}") for number in range(200)]
    candidates = [candidate(host), *candidates, inside]
    shards = assigned(candidates, 3, {})
    assert shards[0] == shards[-1]
    assert len(set(shards)) == 3


def test_by_cost_the_largest_shard_is_near_a_share():
    candidates = [one for n in range(40) for one in of_file(f"nets/{n}.py", 2)]
    costs = {str(r.target): 0.2 + 0.1 * (n % 7) for n, r in enumerate(candidates)}
    found = loads(candidates, assigned(candidates, 4, costs), costs, 4)
    assert max(found) <= 1.05 * sum(found) / 4


def test_one_slow_model_has_a_shard_of_its_own():
    candidates = [*of_file("slow.py", 1), *(of_file(f"{n}.py", 1)[0] for n in range(9))]
    costs = {"slow.py::Net0": 60.0} | {f"{n}.py::Net0": 0.1 for n in range(9)}
    shards = assigned(candidates, 2, costs)
    assert shards.count(shards[0]) == 1


files = st.lists(
    st.tuples(
        st.sampled_from(["a.py", "b.py", "c/d.py", "timm", "torchvision"]), st.integers(0, 60)
    ),
    max_size=80,
)


@given(files, st.integers(1, 9), st.dictionaries(st.integers(0, 60), st.floats(0, 1e4)))
def test_every_model_has_one_shard_whatever_it_costs(names, of, some):
    candidates = [candidate(Target(location, f"Net{number}")) for location, number in names]
    costs = {f"{at}::Net{n}": seconds for n, seconds in some.items() for at in ("a.py", "timm")}
    shards = assigned(candidates, of, costs)
    assert len(shards) == len(candidates)
    assert all(1 <= shard <= of for shard in shards)
    assert shards == assigned(candidates, of, dict(reversed(costs.items())))
