"""Which of the ways that the repository has to build its models are tried."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from nparam_lint.cache.store import digest
from nparam_lint.claims import Target
from nparam_lint.discover import list_configs, list_texts, reader, within
from nparam_lint.discover.definitions import Way
from nparam_lint.discover.ways import WaySource
from nparam_lint.gate.reading import config_models, listed, unreadable
from nparam_lint.gate.requests import ModelRequest, Selection

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nparam_lint.gate.requests import ProjectSource


def config_requests(source: ProjectSource) -> Iterator[ModelRequest]:
    """A request for each config file of a known kind that nobody declares anything for."""
    requested = {request.target for request in source.requests}
    in_scope = within(source.places)
    for path, models in config_models(source.found, source.session).whole():
        target = Target(path, "")
        if path.endswith(".py") and not source.places:
            continue  # hundreds, where there are any
        if len(models) == 1 and in_scope(path) and target not in requested:
            model, at = models[0], models[0].position
            way = Way("config", at, path, model.note)
            yield ModelRequest(target, at, model.recipe, way=way)


def with_ways(source: ProjectSource, selection: Selection) -> Selection:
    """The selection, with the ways to build the models that nobody declares a budget for; as many
    for each as the settings allow."""
    session, found = source.session, source.found
    wanted = {r.target.bare for r in source.requests}
    requested = frozenset(wanted)
    wanted -= {r.target.bare for r in source.requests if r.is_declared}
    if not wanted:
        return selection
    from nparam_lint.discover.ways.find import find_ways  # many modules

    others = listed(session, list_configs, list_texts)
    read = reader(session.root)
    session.inputs.add_source(str(session.home), others, lambda at: digest(read(at)))
    definitions = {request.target: request.definitions for request in source.requests}
    tried: Counter[Target] = Counter()
    left: Counter[str] = Counter()
    added: list[ModelRequest] = []
    known: set[object] = set()
    sought = WaySource(found, session.root, wanted, others, read)
    for one in find_ways(sought):
        key = (one.target, one.file, one.recipe)
        is_file = not one.target.callable and one.target not in requested
        if not (is_file or one.target in wanted) or key in known:
            continue
        known.add(key)
        if tried[one.target] >= session.settings.ways > 0:
            left[str(one.target)] += 1
            continue
        tried[one.target] += 1
        at = found.positions.get((one.target.location, one.target.callable), one.way.position)
        request = ModelRequest(one.target, at, one.recipe, way=one.way, file=one.file)
        request.definitions = definitions.get(one.target, [])
        added.append(request)
    return replace(
        selection,
        requests=[*selection.requests, *added],
        ways_left=tuple(sorted(left.items())),
        findings=[*selection.findings, *map(unreadable, sought.problems)],
    )


def with_ways_of(whole: ProjectSource, selection: Selection) -> Selection:
    """A selection with the ways to build the models that `whole`, the source of all files, asks
    for, which other files of the project name."""
    found = with_ways(whole, Selection())
    ways = [request for request in found.requests if request.target.callable]
    for request in ways:
        request.parameters = True
    return replace(selection, requests=[*selection.requests, *ways], ways_left=found.ways_left)
