"""One run on one project: what it is told, and what it may use."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import replace

from nparam_lint.cache import housekeeping
from nparam_lint.cache.replay_inputs import ReplayInputs
from nparam_lint.cache.store import Store, directory
from nparam_lint.config.interpreter import Interpreter, find_interpreter, watched
from nparam_lint.config.load import load_settings
from nparam_lint.config.settings import LOCAL, Settings
from nparam_lint.discover.files import find_root, list_below
from nparam_lint.repository import git, project_name

if TYPE_CHECKING:
    from nparam_lint.repository.snapshot import Snapshot

Progress = Callable[[int, int, str], None]  # done, all, the label of the last one

_name_of_project = functools.cache(project_name)  # an editor does not ask git at every edit


def silent(done: int, every: int, label: str) -> None:
    """The progress of a run that shows none."""


class Session(Struct, frozen=True):
    """`environ`: the user's environment. `snapshot`: what the project's root is a copy of, or lies
    in a copy of. `place`: the directory that is asked about, in the working tree. `caller`: the one
    where a person has asked, and types what is to be done next (None: the root). `store`: what
    earlier runs found out; it keeps nothing unless it is said where. `inputs` is told what the
    answer rests on. `list_below` lists the files of a directory, once in a run. `progress` is
    called when a model is begun and after each answer, and before that with what is waited for.
    `interpreter`: the one that builds the models, once that is known."""

    settings: Settings
    environ: Mapping[str, str]
    snapshot: Snapshot | None = None
    place: Path | None = None
    caller: Path | None = None
    store: Store = field(default_factory=lambda: Store(None, ""))
    inputs: ReplayInputs = field(default_factory=lambda: ReplayInputs(time.time_ns()))
    list_below: Callable[[Path], list[str]] = field(
        default_factory=lambda: functools.cache(list_below)
    )
    progress: Progress = silent
    interpreter: Interpreter | None = None

    @property
    def root(self) -> Path:
        """The project's directory."""
        return self.settings.root

    @property
    def home(self) -> Path:
        """The project's directory in the working tree, also where `root` is one in a copy."""
        return self.snapshot.original_of(self.root) if self.snapshot else self.root

    @property
    def is_staged(self) -> bool:
        """Whether what is judged is what git would commit."""
        return self.snapshot is not None and self.snapshot.commit is None

    @property
    def python(self) -> str:
        """The executable of the interpreter, which has to be known."""
        assert self.interpreter is not None
        return self.interpreter.python

    def with_interpreter(self) -> Session:
        """The same, with the interpreter that builds the models: the one that is known, or named,
        or the nearest to the place. Raises UsageError."""
        if self.interpreter:
            return self
        name, reason = self.settings.python, self.settings.python_from
        interpreter = find_interpreter(self.home, self.environ, self.place, name, reason)
        packages = watched(interpreter)
        self.inputs.note("state", packages or ())
        self.inputs.is_complete &= packages is not None
        return replace(self, interpreter=interpreter)

    def with_own_inputs(self) -> Session:
        """The same, with inputs that are told of nothing but what is read from now on."""
        return replace(self, inputs=ReplayInputs(time.time_ns()))

    def with_settings(self, **values: Any) -> Session:
        """The same, with other values for some settings."""
        return replace(self, settings=replace(self.settings, **values))

    def is_outside(self, path: Path) -> bool:
        """Whether a file, or what it links to, is outside of the project's repository (of the
        project, where that is in none): such a file is never written."""
        try:
            top = git.open_repository(self.root, self.environ).top
        except git.GitError:
            top = self.root
        return not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(top))

    def trim_store(self) -> None:
        """To be called at the end of a run, which may have saved much."""
        if self.store.wants_trim():
            housekeeping.trim(self.store.base or "")


def root_around(place: Path, config: Path | None = None, snapshot: Snapshot | None = None) -> Path:
    """The root of the project that a place lies in: where the config is, if it is said which."""
    top = snapshot.directory if snapshot else None
    return config.parent if config else find_root(place, top)


def open_session(
    root: Path,
    environ: Mapping[str, str],
    *,
    config: Path | None = None,
    options: Mapping[str, Any] | None = None,
    snapshot: Snapshot | None = None,
    place: Path | None = None,
    caller: Path | None = None,
    remembers: bool = True,
) -> Session:
    """A run on the project at `root`. `config`, `options`, `snapshot`: see `load_settings`;
    `place`, `caller`: see `Session`. `remembers`: what earlier runs found out is used. Raises
    ConfigError."""
    settings = load_settings(root, config, environ, options or {}, snapshot)
    session = Session(settings, environ, snapshot, place, caller)
    # What another machine found rests on files that cannot be seen from here.
    if not remembers or settings.on != LOCAL:
        return session
    base = str(settings.cache) if settings.cache else directory(environ)
    is_shared = settings.cache is not None
    return replace(session, store=Store(base, _name_of_project(session.home), shared=is_shared))
