"""Which of the ways that the repository has to build its models are tried."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from nparam_lint.claims import Target
from nparam_lint.discover import list_configs, list_texts, reader, within
from nparam_lint.discover.definitions import Way
from nparam_lint.evidence import EvidenceQuery, sources
from nparam_lint.gate.candidates import Candidate, Selection
from nparam_lint.gate.reading import config_models, listed, unreadable
from nparam_lint.ground.facts import digest
from nparam_lint.ground.orders import Build

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nparam_lint.gate.candidates import ProjectSource


def config_candidates(source: ProjectSource) -> Iterator[Candidate]:
    """A candidate for each config file of a known kind that nobody declares anything for."""
    named = {candidate.target for candidate in source.candidates}
    in_scope = within(source.places)
    for path, models in config_models(source.found, source.session).whole():
        target = Target(path, "")
        if path.endswith(".py") and not source.places:
            continue  # hundreds, where there are any
        if len(models) == 1 and in_scope(path) and target not in named:
            model, at = models[0], models[0].position
            way = Way("config", at, path, model.note)
            device = source.settings.for_file(path).device
            yield Candidate(target, at, Build("", model.recipe, device), way=way)


def with_ways(source: ProjectSource, selection: Selection) -> Selection:
    """The selection, with the ways to build the models that nobody declares a budget for; as many
    for each as the settings allow."""
    session, found = source.session, source.found
    wanted = {r.target.bare for r in source.candidates}
    named = frozenset(wanted)
    wanted -= {r.target.bare for r in source.candidates if r.is_declared}
    if not wanted:
        return selection
    others = listed(session, list_configs, list_texts)
    read = reader(session.root)
    session.inputs.add_source(str(session.home), others, lambda at: digest(read(at)))
    definitions = {candidate.target: candidate.definitions for candidate in source.candidates}
    tried: Counter[Target] = Counter()
    left: Counter[str] = Counter()
    added: list[Candidate] = []
    known: set[object] = set()
    sought = EvidenceQuery(found, session.root, wanted, others, read)
    for one in sources.find_evidence(sought):
        key = (one.target, one.file, one.recipe)
        is_file = not one.target.callable and one.target not in named
        if not (is_file or one.target in wanted) or key in known:
            continue
        known.add(key)
        if tried[one.target] >= session.settings.ways > 0:
            left[str(one.target)] += 1
            continue
        tried[one.target] += 1
        at = found.positions.get((one.target.location, one.target.callable), one.way.position)
        device = session.settings.for_file(one.target.location).device
        recipe = replace(one.recipe, file=one.file or one.recipe.file)
        build = Build("", recipe, device, is_way=bool(one.target.callable))
        own = definitions.get(one.target, [])
        added.append(Candidate(one.target, at, build, definitions=own, way=one.way))
    return replace(
        selection,
        candidates=[*selection.candidates, *added],
        ways_left=tuple(sorted(left.items())),
        findings=[*selection.findings, *map(unreadable, sought.problems)],
    )


def with_ways_of(whole: ProjectSource, selection: Selection) -> Selection:
    """A selection with the ways to build the models that `whole`, the source of all files, asks
    for, which other files of the project name."""
    found = with_ways(whole, Selection())
    ways = [candidate for candidate in found.candidates if candidate.target.callable]
    return replace(selection, candidates=[*selection.candidates, *ways], ways_left=found.ways_left)
