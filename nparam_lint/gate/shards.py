"""Runs that are divided among machines: which models a shard judges, and what its report tells of
the whole.

Every machine reads the whole source and divides the models in the same way, without being told what
the others do. So the division rests on nothing but the source and the settings.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from nparam_lint.discover.claims.suppressions import UNUSED
from nparam_lint.gate.report import Partition, Shard
from nparam_lint.ground.facts import digest
from nparam_lint.ground.grouping import grouped
from nparam_lint.ground.version import __version__
from nparam_lint.repository import ask_git

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nparam_lint.gate.candidates import Candidate, ProjectSource, Selection
    from nparam_lint.gate.judgements import Outcomes
    from nparam_lint.gate.report import Report

# Seconds: of an import of a file of the project, and of a package such as timm or transformers.
IMPORT, PACKAGE = 0.5, 3.0
BUILD = 0.1  # seconds of a model, of which nothing else is known
# The settings that decide what is found; not those of how it is built on one machine.
_DECISIVE = ("device", "tolerance", "ways", "exclude", "select", "ignore", "severity", "overrides")


class Division(Struct, frozen=True):
    """What is asked for: shard `number` `of` so many."""

    number: int
    of: int


def take_shard(
    source: ProjectSource, selection: Selection, division: Division, options: str
) -> tuple[ProjectSource, Selection]:
    """A source and a selection without the models of the other shards. What the source alone shows
    is left to the first shard. `options`: what else decides about the run, as text."""
    shards = assigned(selection.candidates, division.of)
    places = tuple(n for n, shard in enumerate(shards) if shard == division.number)
    candidates = [selection.candidates[place] for place in places]
    is_first = division.number == 1
    uncalled = tuple(selection.skipped) if is_first else ()
    shard = Shard(
        division.number,
        division.of,
        _partition(source, selection.candidates, shards, options),
        tuple(str(candidate.target) for candidate in candidates),
        places,
        uncalled=uncalled,
    )
    selection = replace(selection, candidates=candidates, skipped=uncalled, shard=shard)
    if not is_first:
        source, selection = replace(source, findings=()), replace(selection, findings=())
    return source, selection


def as_shard(report: Report, shard: Shard, outcomes: Outcomes) -> Report:
    """The report of a shard, with the places of what it has judged. Whether a comment silences
    nothing is for all shards together to say."""
    shard = replace(
        shard,
        models=tuple(place for place, _ in outcomes.models),
        failed_ways=tuple(place for place, _ in outcomes.failed_ways),
        failures=tuple(outcomes.failures),
        unused=tuple(finding for finding in report.findings if finding.code == UNUSED),
    )
    findings = tuple(finding for finding in report.findings if finding.code != UNUSED)
    return replace(report, findings=findings, shard=shard)


# --- the division -----------------------------------------------------------------------------


def assigned(candidates: Sequence[Candidate], of: int) -> list[int]:
    """For each model the shard that builds it, from 1 on: the largest pieces first, each to the
    shard that has least to do, and of equals to the first (R. L. Graham, Bounds on multiprocessing
    timing anomalies, 1969: at most a third above the optimum)."""
    loads = [(0.0, number) for number in range(1, of + 1)]
    shards = [1] * len(candidates)
    pieces = sorted(_pieces(candidates, of), key=lambda piece: (-piece[0], piece[1:]))
    for seconds, *_, places in pieces:
        load, number = heapq.heappop(loads)
        heapq.heappush(loads, (load + seconds, number))
        for place in places:
            shards[place] = number
    return shards


def _pieces(
    candidates: Sequence[Candidate], of: int
) -> Iterator[tuple[float, str, int, list[int]]]:
    """The models of a file, or of a package, together: to import it twice costs more than most
    models do. Those that take more than a shard's share are divided, as far as each part builds
    for longer than it imports. Of each piece the seconds, its file, its number, and its models."""
    files = grouped(range(len(candidates)), lambda place: candidates[place].location)
    imports = {at: IMPORT if candidates[p[0]].is_file else PACKAGE for at, p in files.items()}
    share = (BUILD * len(candidates) + sum(imports.values())) / of
    for at, places in files.items():
        whole = BUILD * len(places)
        number = min(-(-(whole + imports[at]) // share), whole // imports[at])
        # What is built alike, such as a model and the classes inside it, stays together.
        alike = grouped(places, lambda place: str(candidates[place].target.built))
        for part, models in enumerate(_parts(alike.values(), len(places) / max(number, 1))):
            yield imports[at] + BUILD * len(models), at, part, models


def _parts(groups: Iterable[Sequence[int]], most: float) -> Iterator[list[int]]:
    """Groups of models in parts of at most so many models, or of one group."""
    part: list[int] = []
    for group in groups:
        if part and len(part) + len(group) > most:
            yield part
            part = []
        part += group
    yield part


# --- what tells one run from another ----------------------------------------------------------


def _partition(
    source: ProjectSource, candidates: Sequence[Candidate], shards: Sequence[int], options: str
) -> Partition:
    """Digests of the files that were read to find the models, of the settings, and of the models,
    each with the shard that has it."""
    tree, settings = source.discovery.tree, source.settings
    paths = sorted({*source.discovery.parsed} & tree.files)
    configs = [path for path in (settings.config, *settings.extended) if path]
    contents = [digest(path.read_bytes()) for path in configs]
    decisive = [getattr(settings, name) for name in _DECISIVE]
    models: list[object] = []
    for candidate, shard in zip(candidates, shards, strict=True):
        budgets = [(b.declared, str(b.selector), b.position) for b in candidate.budgets]
        models += [candidate.target, candidate.build, candidate.way, budgets, shard]
    return Partition(
        tool=__version__,
        commit=(ask_git(source.session.home, "rev-parse", "HEAD") or b"").decode().strip(),
        sources=_digest(text for path in paths for text in (path, tree.digest(path))),
        settings=_digest([options, *source.places, *contents, *decisive]),
        models=_digest(models),
        count=len(candidates),
    )


def _digest(parts: Iterable[object]) -> str:
    return digest(*map(str, parts))
