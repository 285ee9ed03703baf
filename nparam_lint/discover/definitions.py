"""What source says of models: where they are, how their files are imported, how they are built."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from nparam_lint.ground.values import DocLine, Position, Severity


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a constructor or factory, as written (`self` and `cls` left out)."""

    name: str
    required: bool
    annotation: str | None = None
    default: str | None = None
    kind: Literal["positional", "keyword", "varargs", "varkwargs"] = "positional"


@dataclass(frozen=True, slots=True)
class Definition:
    """A model class or a factory function that returns a model.

    `parameters` is None where the constructor is inherited from outside the repository.
    `docstrings` holds the docstring of the class, then of its `__init__`; or of the factory.
    """

    path: str
    qualname: str
    kind: Literal["class", "factory"]
    line: int
    column: int
    docstrings: tuple[tuple[DocLine, ...], ...] = ()
    parameters: tuple[Parameter, ...] | None = ()

    @property
    def target(self) -> str:
        return f"{self.path}::{self.qualname}"


@dataclass(frozen=True, slots=True)
class Problem:
    """A file that could not be read or parsed, with the reason. A warning where it was left out
    although Python could read it, and no budget can be in it. `timed_out`: it took longer than
    `--timeout`, which it need not the next time."""

    position: Position
    message: str
    severity: Severity = "error"
    timed_out: bool = False


@dataclass(frozen=True, slots=True)
class Containment:
    """Which models of a project are parts of others, as the source says. `users`: target of a part
    → the targets of all models that contain it, directly or inside others. `returns`: target of a
    factory → that of the class of the project that it returns."""

    users: dict[str, tuple[str, ...]] = field(default_factory=dict)
    returns: dict[str, str] = field(default_factory=dict)
