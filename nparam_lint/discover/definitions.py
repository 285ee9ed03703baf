"""What source says of models: where they are, how their files are imported, how they are built."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

from nparam_lint.ground.values import DocLine, Position, Severity


class Parameter(Struct, frozen=True):
    """One parameter of a constructor or factory, as written (`self` and `cls` left out)."""

    name: str
    required: bool
    annotation: str | None = None
    default: str | None = None
    kind: Literal["positional", "keyword", "varargs", "varkwargs"] = "positional"


class Definition(Struct, frozen=True):
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

    @property
    def position(self) -> Position:
        return Position(self.path, self.line, self.column)


class Problem(Struct, frozen=True):
    """A file that could not be read or parsed, with the reason. A warning where it was left out
    although Python could read it, and no budget can be in it. `timed_out`: it took longer than
    `--timeout`, which it need not the next time."""

    position: Position
    message: str
    severity: Severity = "error"
    timed_out: bool = False


class Containment(Struct, frozen=True):
    """Which models of a project are parts of others, as the source says. `users`: target of a part
    → the targets of all models that contain it, directly or inside others. `returns`: target of a
    factory → that of the class of the project that it returns."""

    users: dict[str, tuple[str, ...]] = field(default_factory=dict)
    returns: dict[str, str] = field(default_factory=dict)
