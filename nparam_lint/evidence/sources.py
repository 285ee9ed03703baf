"""All kinds of evidence, in the order in which they are looked for."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from nparam_lint.discover.syntax import rare_collection
from nparam_lint.evidence import script_runs
from nparam_lint.evidence.configs import find_configs
from nparam_lint.evidence.file_calls import CalledFiles, find_calls
from nparam_lint.evidence.looked_up import note_looked_up
from nparam_lint.evidence.notebooks import find_notebooks
from nparam_lint.evidence.option_objects import find_option_objects
from nparam_lint.evidence.other_names import OtherNames
from nparam_lint.evidence.sibling_sizes import find_sibling_sizes
from nparam_lint.evidence.sizes import find_sizes
from nparam_lint.evidence.texts import find_texts
from nparam_lint.ground.errors import Aside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from nparam_lint.evidence import Evidence, EvidenceQuery
    from nparam_lint.ground.notation import Target

# Those that read config files and tables; and those that read calls.
DECLARED: tuple[Callable[[CalledFiles], Iterable[Evidence]], ...] = (find_configs, find_sizes)
CALLED: tuple[Callable[[CalledFiles, set[Target]], Iterable[Evidence]], ...] = (
    find_calls,
    find_texts,
    find_notebooks,
    find_option_objects,
)


def find_evidence(query: EvidenceQuery) -> Iterator[Evidence]:
    """All that the files of a project say, that of one target in the order in which it is to be
    tried."""
    files = CalledFiles(query)
    declared: list[Evidence] = []
    with rare_collection():
        for find in DECLARED:
            with Aside("a part of what configs and tables say of models"):
                declared.extend(find(files))
        calls = [*called(files)]
        with Aside("sizes that are called as others"):
            calls += find_sibling_sizes(files, calls)
        every = [*declared, *calls]
        with Aside("scripts that may have to be run"):
            every.extend([*script_runs.ScriptRuns(files, every)])
        every.sort(key=attrgetter("rank"))
        sized = {evidence.target for evidence in declared if evidence.way.kind == "size"}
        with Aside("a part of the names of sizes"):
            every.extend(OtherNames(query, sized).of([*every]))
    with Aside("which models are looked up by their names"):
        note_looked_up(query, {evidence.target for evidence in every})
    yield from sorted(every, key=attrgetter("rank"))


def called(files: CalledFiles) -> Iterator[Evidence]:
    """The calls of wanted models; of two that are the same, that of a script, not of a test."""
    every: list[Evidence] = []
    targets: set[Target] = set()
    for find in CALLED:
        with Aside("a part of the calls in texts"):
            for evidence in find(files, targets):
                targets.add(evidence.target)
                every.append(evidence)
    keys = set[object]()
    for evidence in sorted(every, key=attrgetter("rank")):
        if evidence.key is None or evidence.key not in keys:
            keys.add(evidence.key)
            yield evidence
