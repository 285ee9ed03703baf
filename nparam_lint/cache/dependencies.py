"""What a measurement depends on, as the worker reports it and as it is stored."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Dependencies:
    """What was read. `files`: path → digest of the content, None where there was none. `lists`:
    directory → digest of the names in it. `probes`: question and path → answer. `edges`: the
    project's files that were imported. Paths are relative to the root where they lie below it."""

    files: dict[str, str | None] = field(default_factory=dict)
    lists: dict[str, str | None] = field(default_factory=dict)
    probes: dict[str, str] = field(default_factory=dict)
    edges: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """A file of the project that was run. `source`: digest of its content. `edges`: files that it
    imports. `changes`: files whose state it changed when it was run; "": that of the process."""

    source: str | None
    edges: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProcessDependencies:
    """What one process of the worker has to tell. `files`: the project's files that were run.
    `shared`: what else was read while they were. `lookups`: directory → names that modules were
    looked for under. `missing`: name of a module that was not found → whether the project has a
    file of that name anywhere. `outside`: path of a file of no project → its state."""

    files: dict[str, ImportedFile]
    shared: Dependencies
    lookups: dict[str, tuple[str, ...]]
    missing: dict[str, bool]
    outside: dict[str, str | None]


@dataclass(frozen=True, slots=True)
class SharedDependencies:
    """What all models of a run have in common. `inputs`: what was read while modules were imported;
    `present`: for each directory of `lookups` those of its entries that go by such a name; the
    rest as in `ProcessDependencies`."""

    inputs: Dependencies
    lookups: dict[str, tuple[str, ...]]
    present: dict[str, tuple[str, ...]]
    missing: dict[str, bool]
    outside: dict[str, str | None]


@dataclass(frozen=True, slots=True)
class CachedMeasurement:
    """A measurement: the names under which its `Dependencies` and `SharedDependencies` are stored,
    and the worker's answer as JSON. `changes`: of the files among these, what each changed of
    others. `companions`: a name for all the models of the run, where one of them can tell which
    others were measured with it."""

    inputs: str
    shared: str
    ok: bool
    answer: str
    changes: dict[str, tuple[str, ...]]
    companions: str = ""


@dataclass(frozen=True, slots=True)
class Installation:
    """An interpreter: its versions, and the state of what changes when packages come or go."""

    torch: str
    python: str
    sites: dict[str, str | None]
