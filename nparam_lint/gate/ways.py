"""Which of the ways that the repository has to build its models are tried."""

from __future__ import annotations

import dataclasses
import posixpath
from collections import Counter
from typing import TYPE_CHECKING

from msgspec.structs import replace

from nparam_lint.count.measured import NotMeasured
from nparam_lint.discover.files import list_configs, list_texts, reader
from nparam_lint.evidence import EvidenceQuery, sources
from nparam_lint.gate.candidates import Candidate, Selection
from nparam_lint.gate.reading import config_models, listed, unreadable
from nparam_lint.ground.facts import digest
from nparam_lint.ground.notation import Target
from nparam_lint.ground.orders import Build
from nparam_lint.ground.paths import within

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nparam_lint.evidence import Evidence
    from nparam_lint.gate.candidates import ProjectSource
    from nparam_lint.ground.values import Position

_RUNS = 32  # of scripts, to see whether what was told of them is right


def config_candidates(source: ProjectSource) -> Iterator[Candidate]:
    """A candidate for each config file of a known kind that nobody declares anything for."""
    targets = {candidate.target for candidate in source.candidates}
    in_scope = within(source.places)
    for path, models in config_models(source.discovery, source.session).whole():
        target = Target(path, "")
        if path.endswith(".py") and not source.places:
            continue  # hundreds, where there are any
        if len(models) == 1 and in_scope(path) and target not in targets:
            ((_, evidence),) = models
            build = Build("", evidence.recipe, source.settings.for_file(path).device)
            yield Candidate(target, evidence.way.position, build, way=evidence.way)


def with_ways(source: ProjectSource, selection: Selection) -> Selection:
    """The selection, with as many ways to build models without budgets as the settings allow."""
    session = source.session
    # In their order, which shards have to agree on: what is found for one depends on it.
    targets = dict.fromkeys(candidate.target.bare for candidate in source.candidates)
    declared = {r.target.bare for r in source.candidates if r.is_declared}
    undeclared = dict.fromkeys(target for target in targets if target not in declared)
    if targets and not undeclared:
        return selection
    paths = listed(session, list_configs, list_texts)
    read_file = reader(session.root)
    session.inputs.add_source(str(session.home), paths, lambda at: digest(read_file(at)))
    definitions = {candidate.target: candidate.definitions for candidate in source.candidates}
    query = EvidenceQuery(source.discovery, undeclared, paths, read_file)
    distinct: dict[object, Evidence] = {}
    in_scope = within(source.places)
    for evidence in sources.find_evidence(query):
        is_apart = not evidence.target.is_importable and evidence.target not in targets
        if (is_apart and in_scope(evidence.target.location)) or evidence.target in undeclared:
            key = (evidence.target, evidence.file, evidence.recipe)
            distinct.setdefault(key, evidence)
    tried = _tried([*distinct.values()], session.settings.ways, query)
    built = {str(evidence.target) for evidence in distinct.values() if not evidence.recipe.is_run}
    candidates: list[Candidate] = []
    by_run: list[tuple[Candidate, Evidence]] = []
    untried: Counter[str] = Counter()
    for evidence, is_tried in zip(distinct.values(), tried, strict=True):
        target, way = evidence.target, evidence.way
        if not is_tried:
            untried[str(target)] += 1
            continue
        position = source.discovery.positions.get((target.location, target.callable), way.position)
        device = session.settings.for_file(target.location).device
        recipe = dataclasses.replace(evidence.recipe, file=evidence.file or evidence.recipe.file)
        build = Build("", recipe, device, is_way=bool(target.callable))
        defined, is_guess = definitions.get(target, []), evidence.is_guess
        candidate = Candidate(
            target, position, build, definitions=defined, way=way, is_guess=is_guess
        )
        candidates.append(candidate)
        if run := evidence.as_run:
            by_run.append((candidate, run))
    gaps = {**{t: why for t, why in query.not_followed.items() if t not in built}, **query.gaps}
    in_notebooks = [
        (target, NotMeasured("NPL004", why, "not_tried"))
        for target, why in gaps.items()
        if target.partition("::")[0].endswith(".ipynb") and target not in built
    ]
    return replace(
        selection,
        # The runs come last: they take longer.
        candidates=[*selection.candidates, *candidates, *_compared(by_run)],
        ways_left=tuple(sorted(untried.items())),
        skipped=[*selection.skipped, *in_notebooks],
        gaps=gaps,
        findings=[*selection.findings, *map(unreadable, query.problems)],
    )


def _tried(ways: Sequence[Evidence], most: int, query: EvidenceQuery) -> list[bool]:
    """Which of the ways are tried: the config files, sizes and commands that the README names, and
    as many others of each target as the limit says, 0 for all. The first of each place comes before
    the second of any: a script that is run in many ways leaves some for the others."""
    of_place: Counter[tuple[Target, Position]] = Counter()
    order: list[tuple[bool, int]] = []
    for evidence in ways:
        way = evidence.way
        of_place[evidence.target, way.position] += 1
        stem = posixpath.splitext(posixpath.basename(way.position.path))[0]
        name = stem if way.kind == "config" else way.name or stem
        number = of_place[evidence.target, way.position]
        if way.kind == "call":
            is_named = query.is_named_command(way.command)
        else:
            is_named = number == 1 and query.is_in_readme(name)
        order.append((not is_named, number))
    tried = [False] * len(ways)
    of_target: Counter[Target] = Counter()
    for at in sorted(range(len(ways)), key=order.__getitem__):
        is_other, _ = order[at]
        of_target[ways[at].target] += is_other
        tried[at] = not is_other or of_target[ways[at].target] <= most or most == 0
    return tried


def _compared(by_run: Sequence[tuple[Candidate, Evidence]]) -> Iterator[Candidate]:
    """Of candidates, each with the run of its script, what builds them by that run: the first
    command of each script before the second of any, as one run tells of all its models."""

    def command_of(run: Evidence) -> tuple[str, object]:
        return run.file, run.recipe.command

    numbers: dict[tuple[str, object], int] = {}  # of the commands of each script
    of_script: Counter[str] = Counter()
    for script, words in dict.fromkeys(command_of(run) for _, run in by_run):
        numbers[script, words] = of_script[script]
        of_script[script] += 1
    told_by = {*sorted(numbers, key=numbers.__getitem__)[:_RUNS]}
    for candidate, run in by_run:
        if command_of(run) in told_by:
            recipe = dataclasses.replace(run.recipe, file=run.file)
            build = dataclasses.replace(candidate.build, recipe=recipe)
            yield replace(candidate, build=build, way=run.way, instead_of=candidate)


def with_ways_of(whole: ProjectSource, selection: Selection) -> Selection:
    """A selection with the ways to build the models that `whole`, the source of all files, asks
    for, which other files of the project name."""
    every = with_ways(whole, Selection())
    wanted = {candidate.target.bare for candidate in whole.candidates}
    ways = [candidate for candidate in every.candidates if candidate.target in wanted]
    return replace(selection, candidates=[*selection.candidates, *ways], ways_left=every.ways_left)
