"""What the worker is asked and what it answers, as values."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from nparam_lint.cache.store import Store
    from nparam_lint.records import ImportAttempt, Measurement, NameValue
    from nparam_lint.repository.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Job:
    """One call to build. `file`: the defining file below the root, or None for an installed
    module; `attempts`: ways to import it. `callable` and `arguments`, or `setup` and `call`, say
    what to build; `names`: what its formulas ask for; `input`: shapes lazy parameters;
    `experts_per_token`: how many experts of a mixture a token uses, where declared; `device`:
    meta, or another as well, or "meta only" where none is to be tried after it; `vary`: other
    values for arguments of the call, or for fields of the config object that is made in it;
    `scale`: the same, times what they are; `parameters`, `variables`: whether these are to be told
    too."""

    id: int
    label: str
    file: str | None
    attempts: tuple[ImportAttempt, ...]
    callable: str
    arguments: str | None = None
    setup: str | None = None
    call: str | None = None
    input: str | None = None
    experts_per_token: int | None = None
    device: str = "meta"
    names: tuple[str, ...] = ()
    parameters: bool = False
    vary: tuple[tuple[str, NameValue], ...] = ()
    scale: tuple[tuple[str, int], ...] = ()
    variables: bool = False


@dataclass(frozen=True, slots=True)
class Limits:
    """`timeout`: seconds for one model. `memory`: resident bytes for one model. `jobs`: processes
    that build at a time."""

    timeout: float = 60.0
    memory: int = 0
    jobs: int = 2


@dataclass(frozen=True, slots=True)
class BuildContext:
    """The project whose models are built, and how. `python`: the interpreter that builds them;
    `environ`: the user's environment; `names`: those under which anything of the project could be
    imported; `snapshot`: what `root` is a copy of; `store`: what earlier runs measured, None to
    measure everything."""

    python: str
    root: Path
    environ: Mapping[str, str]
    limits: Limits = Limits()
    names: tuple[str, ...] = ()
    snapshot: Snapshot | None = None
    store: Store | None = None


@dataclass(slots=True)
class Answers:
    """What a run brought: measurements by job id, and what the worker said of its interpreter
    (`devices`: those that are there, where no job was given).
    `broken`: why nothing at all could be measured (no torch), else None."""

    measurements: dict[int, Measurement] = field(default_factory=dict)
    torch: str | None = None
    python: str | None = None
    devices: tuple[str, ...] = ()
    broken: str | None = None


def default_memory() -> int:
    """Half of the machine's memory, in bytes; 0 (no limit) where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, OSError, ValueError):
        return 0
