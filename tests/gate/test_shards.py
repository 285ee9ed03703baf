"""How the models of a run are divided among machines."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nparam_lint.claims import Target
from nparam_lint.gate.requests import ModelRequest
from nparam_lint.gate.shards import IMPORT, PACKAGE, assigned
from nparam_lint.ground.values import Position


def request(location: str, name: str, arguments: str | None = None) -> ModelRequest:
    return ModelRequest(Target(location, name, arguments), Position(location))


def of_file(location: str, count: int) -> list[ModelRequest]:
    return [request(location, f"Net{number}") for number in range(count)]


def loads(requests, shards, costs, of):
    """What each shard builds and imports, in seconds."""
    found = [0.0] * of
    for number in range(1, of + 1):
        own = [r for r, shard in zip(requests, shards, strict=True) if shard == number]
        found[number - 1] = sum(costs[str(r.target)] for r in own)
        found[number - 1] += sum(
            IMPORT if at.endswith(".py") else PACKAGE for at in {r.location for r in own}
        )
    return found


def test_the_models_of_a_file_stay_together_where_an_import_costs_more():
    requests = [*of_file("a.py", 3), *of_file("b.py", 3), *of_file("timm", 5)]
    shards = assigned(requests, 3, {})
    assert [len(set(part)) for part in (shards[:3], shards[3:6], shards[6:])] == [1, 1, 1]
    assert set(shards) == {1, 2, 3}


def test_what_takes_longer_than_a_share_is_divided():
    requests = [request("timm", "create_model", f"'net{number}'") for number in range(300)]
    shards = assigned(requests, 4, {})
    sizes = [shards.count(number) for number in range(1, 5)]
    assert max(sizes) - min(sizes) <= 20, sizes


def test_a_model_and_the_classes_inside_it_are_one_build():
    host = Target("timm", "create_model", "'vit'")
    inside = ModelRequest(Target("timm", "Block", None, host), Position("timm"))
    requests = [request("timm", "create_model", f"'net{number}'") for number in range(200)]
    requests = [ModelRequest(host, Position("timm")), *requests, inside]
    shards = assigned(requests, 3, {})
    assert shards[0] == shards[-1]
    assert len(set(shards)) == 3


def test_by_cost_the_largest_shard_is_near_a_share():
    requests = [one for n in range(40) for one in of_file(f"nets/{n}.py", 2)]
    costs = {str(r.target): 0.2 + 0.1 * (n % 7) for n, r in enumerate(requests)}
    found = loads(requests, assigned(requests, 4, costs), costs, 4)
    assert max(found) <= 1.05 * sum(found) / 4


def test_one_slow_model_has_a_shard_of_its_own():
    requests = [*of_file("slow.py", 1), *(of_file(f"{n}.py", 1)[0] for n in range(9))]
    costs = {"slow.py::Net0": 60.0} | {f"{n}.py::Net0": 0.1 for n in range(9)}
    shards = assigned(requests, 2, costs)
    assert shards.count(shards[0]) == 1


files = st.lists(
    st.tuples(
        st.sampled_from(["a.py", "b.py", "c/d.py", "timm", "torchvision"]), st.integers(0, 60)
    ),
    max_size=80,
)


@given(files, st.integers(1, 9), st.dictionaries(st.integers(0, 60), st.floats(0, 1e4)))
def test_every_model_has_one_shard_whatever_it_costs(names, of, some):
    requests = [request(location, f"Net{number}") for location, number in names]
    costs = {f"{at}::Net{n}": seconds for n, seconds in some.items() for at in ("a.py", "timm")}
    shards = assigned(requests, of, costs)
    assert len(shards) == len(requests)
    assert all(1 <= shard <= of for shard in shards)
    assert shards == assigned(requests, of, dict(reversed(costs.items())))
