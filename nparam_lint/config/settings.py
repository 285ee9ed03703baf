"""What a run is told, as one frozen value; `config.load` makes it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from nparam_lint.cache.store import Store, directory

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from nparam_lint.cache.replay_inputs import ReplayInputs
    from nparam_lint.claims.grammar import Tolerance, Value
    from nparam_lint.claims.notation import Selector, Target
    from nparam_lint.records import Position, Severity
    from nparam_lint.repository.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to build a target: `arguments` of its call; or `setup` lines and a whole `call`. `input`
    is run through the model to give lazy parameters their shapes. `experts_per_token`: how many
    experts of a mixture a token uses."""

    arguments: str | None = None
    setup: str | None = None
    call: str | None = None
    input: str | None = None
    experts_per_token: int | None = None

    @property
    def says_how_to_call(self) -> bool:
        return self.arguments is not None or self.call is not None


@dataclass(frozen=True, slots=True)
class ConfigBudget:
    """A budget of the `budgets` table; `declared` is its text there."""

    target: Target
    selector: Selector
    value: Value
    declared: str
    position: Position
    tolerance: Tolerance | None = None
    reason: str | None = None
    device: str | None = None
    recipe: Recipe | None = None


@dataclass(frozen=True, slots=True)
class Override:
    """Other settings for the files that match `files` (patterns as in a `.gitignore`). `ignore` and
    `severity` add to the general ones; the others replace them, where they are not None."""

    files: tuple[str, ...]
    ignore: tuple[str, ...] = ()
    severity: Mapping[str, Severity] = field(default_factory=dict)
    tolerance: Tolerance | None = None
    device: str | None = None

    def matches(self, path: str) -> bool:
        from pathspec import GitIgnoreSpec

        return GitIgnoreSpec.from_lines(self.files).match_file(path)

    def applied(self, settings: Settings) -> Settings:
        return replace(
            settings,
            ignore=(*settings.ignore, *self.ignore),
            severity={**settings.severity, **self.severity},
            tolerance=self.tolerance or settings.tolerance,
            device=self.device or settings.device,
        )


@dataclass(frozen=True, slots=True)
class Settings:
    """What a run is told. `python` may name an executable or an environment, relative to `home`;
    `python_from` says who named it. `snapshot`: what `root` is a copy of, or lies in a copy of.
    `extended`: the config files that `config` extends, as they are spelled.
    `store`: what earlier runs found out; it keeps nothing unless it is said where. `replay_inputs`:
    is told what the answer rests on, where it may be given again."""

    root: Path
    config: Path | None = None
    python: str | None = None
    python_from: str = "config key 'python'"
    device: str = "auto"
    tolerance: Tolerance | None = None
    timeout: float = 60.0
    memory: int | None = None
    jobs: int | None = None
    exclude: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    severity: Mapping[str, Severity] = field(default_factory=dict)
    depth: int | None = None
    format: str = "text"
    budgets: tuple[ConfigBudget, ...] = ()
    arguments: Mapping[Target, Recipe] = field(default_factory=dict)
    recipe_positions: Mapping[Target, Position] = field(default_factory=dict)
    overrides: tuple[Override, ...] = ()
    snapshot: Snapshot | None = None
    extended: tuple[Path, ...] = ()
    store: Store = field(default_factory=lambda: Store(None, ""))
    replay_inputs: ReplayInputs | None = None

    @property
    def home(self) -> Path:
        """The project's directory in the working tree, also where `root` is one in a copy."""
        return self.snapshot.original_of(self.root) if self.snapshot else self.root

    def remembering(self, environ: Mapping[str, str]) -> Settings:
        """The same, with what earlier runs of this user found out about the project."""
        return replace(self, store=Store(directory(environ), str(self.home)))

    def for_file(self, path: str) -> Settings:
        """The settings for what stands in a file: those of every override that matches, in order,
        on top."""
        settings = self
        for override in self.overrides:
            if override.matches(path):
                settings = override.applied(settings)
        return settings
