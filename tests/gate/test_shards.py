"""How the models of a run are divided among machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from nparam_lint.config.session import open_session
from nparam_lint.gate.candidates import Candidate, Selection
from nparam_lint.gate.reading import read_source
from nparam_lint.gate.shards import assigned
from nparam_lint.gate.ways import with_ways
from nparam_lint.ground.notation import Target
from nparam_lint.ground.orders import Build
from nparam_lint.ground.values import Position

if TYPE_CHECKING:
    from pathlib import Path


def candidate(target: Target) -> Candidate:
    return Candidate(target, Position(target.location), Build(target.callable))


def timm(name: str) -> Candidate:
    return candidate(Target("timm", "create_model", repr(name)))


def of_file(location: str, count: int) -> list[Candidate]:
    return [candidate(Target(location, f"Net{number}")) for number in range(count)]


def test_the_models_of_a_file_stay_together_where_an_import_costs_more():
    candidates = [*of_file("a.py", 3), *of_file("b.py", 3), *of_file("timm", 5)]
    shards = assigned(candidates, 3)
    assert [len(set(part)) for part in (shards[:3], shards[3:6], shards[6:])] == [1, 1, 1]
    assert set(shards) == {1, 2, 3}


def test_what_takes_longer_than_a_share_is_divided():
    candidates = [timm(f"net{number}") for number in range(300)]
    shards = assigned(candidates, 4)
    sizes = [shards.count(number) for number in range(1, 5)]
    assert max(sizes) - min(sizes) <= 20, sizes


def test_a_model_and_the_classes_inside_it_are_one_build():
    host = Target("timm", "create_model", "'vit'")
    inside = candidate(Target("timm", "Block", None, host))
    candidates = [timm(f"net{number}") for number in range(200)]
    candidates = [candidate(host), *candidates, inside]
    shards = assigned(candidates, 3)
    assert shards[0] == shards[-1]
    assert len(set(shards)) == 3


def test_the_ways_of_several_models_have_one_order_on_all_machines(tmp_path: Path):
    source = "from torch import nn\nclass Config:\n    def __init__(self, dim=1): pass\n"
    names = [f"Net{number}" for number in range(8)]
    for name in names:
        source += f"class {name}(nn.Module):\n    def __init__(self, config: Config): pass\n"
    source += "SIZES = {'s': Config(dim=1), 'm': Config(dim=2)}\n"
    (tmp_path / "nets.py").write_text(source)
    ways = with_ways(read_source(open_session(tmp_path, {}), ()), Selection()).candidates
    assert [way.target.callable for way in ways] == [name for name in names for _ in range(2)]


files = st.lists(
    st.tuples(
        st.sampled_from(["a.py", "b.py", "c/d.py", "timm", "torchvision"]), st.integers(0, 60)
    ),
    max_size=80,
)


@given(files, st.integers(1, 9))
def test_every_model_has_one_shard(names, of):
    candidates = [candidate(Target(location, f"Net{number}")) for location, number in names]
    shards = assigned(candidates, of)
    assert len(shards) == len(candidates)
    assert all(1 <= shard <= of for shard in shards)
