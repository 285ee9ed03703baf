"""What the worker is asked: which models to build, and what is wanted of each.

The front end makes these, and the worker reads them: nothing but the standard library here, in the
syntax of Python 3.9.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .patterns import late_pattern
from .script_words import MADE_BY_SCRIPT

if TYPE_CHECKING:
    # Values of arguments (`NameValue` of the front end), by their names.
    Point = tuple[tuple[str, int | float | str | bool | None], ...]

_VALUE = r"""\w+=(?:'[^'\\\n]*'|"[^"\\\n]*")"""
_ENVIRON = late_pattern(rf"import os\n(os\.environ\.update\({_VALUE}(?:, {_VALUE})*\))(?:\n|$)")


@dataclass(frozen=True)
class Recipe:
    """How to call a target: with `arguments`; or by `setup` lines and a whole `call`. `input` is
    run through the model to give lazy parameters their shapes. `experts_per_token`: how many
    experts of a mixture a token uses. `file`: the Python file whose names the call is written in,
    where it is not that of the target."""

    arguments: str | None = None
    setup: str | None = None
    call: str | None = None
    input: str | None = None
    experts_per_token: int | None = None
    file: str | None = None

    @property
    def says_how_to_call(self) -> bool:
        return self.arguments is not None or self.call is not None

    @property
    def is_run(self) -> bool:
        """Whether a whole script is run for the model."""
        return (self.call or "").startswith(f"{MADE_BY_SCRIPT}(")

    @property
    def run(self) -> tuple[tuple[str, ...], str, str, str]:
        """(words, folder, location, qualname) of the script that is run, and of what it makes."""
        words, folder, location, qualname = ast.literal_eval(
            (self.call or "")[len(MADE_BY_SCRIPT) :]
        )
        return tuple(words), folder, location, qualname

    @property
    def command(self) -> tuple[str | None, tuple[str, ...], str]:
        """(setup, words, folder) of the script that is run: one run tells of all its models."""
        words, folder, *_ = self.run
        return self.setup, words, folder

    @property
    def environ(self) -> tuple[tuple[str, str], ...]:
        """The variables of `import os`, `os.environ.update(DIM='64')`, if the setup begins with
        that: they are set before the project is imported."""
        start = _ENVIRON.match(self.setup or "")
        call = ast.parse(start[1], mode="eval").body if start else None
        keywords = call.keywords if isinstance(call, ast.Call) else ()
        return tuple((str(word.arg), ast.literal_eval(word.value)) for word in keywords)


@dataclass(frozen=True)
class ImportAttempt:
    """One way to import a file: put `roots` (relative directories, "" is the project root) on the
    import path, in this order, and import the file as `module`. The first root contains it."""

    module: str
    roots: tuple[str, ...]


@dataclass(frozen=True)
class Build:
    """What is called. `callable`: of the file or module that is imported; empty where the call of
    the recipe stands alone. `device`: meta, or another as well, or "meta only" where none is to be
    tried after it. `vary`: other values for arguments of the call, or for fields of the config
    object that is made in it. `is_way`: the call is evidence of how the project builds a model: its
    setup may set names of the file, and weights are left out rather than downloaded."""

    callable: str
    recipe: Recipe = field(default_factory=Recipe)
    device: str = "meta"
    vary: Point = ()
    is_way: bool = False

    @property
    def varied(self) -> set[str]:
        """The arguments that are not as the call has them."""
        return {name for name, _ in self.vary}


@dataclass(frozen=True)
class Ask:
    """What is wanted of a model besides its count. `names`: those that its formulas ask for.
    `parameters`, `variables`: all parameters that the `metric` counts, and the arguments that can
    be varied. `points`: values of arguments at which it is also built with traced numbers, none
    begun after so many `seconds`; an empty one stands for the values in the call of its `names`, if
    these are `variables`. `origins`: where each parameter of a traced build was made."""

    names: tuple[str, ...] = ()
    parameters: bool = False
    metric: str = "total"
    variables: bool = False
    points: tuple[Point, ...] = ()
    seconds: float = 0.0
    origins: bool = False


@dataclass(frozen=True)
class Order:
    """One model to build. `file`: the defining file below the root, or None for an installed
    module; `attempts`: the ways to import it."""

    id: int
    label: str
    file: str | None
    attempts: tuple[ImportAttempt, ...]
    build: Build
    ask: Ask = field(default_factory=Ask)

    @classmethod
    def read(cls, order: dict[str, Any]) -> Order:
        """The order that JSON has as a table."""
        attempts = tuple(ImportAttempt(**attempt) for attempt in order["attempts"])
        build = Build(**{**order["build"], "recipe": Recipe(**order["build"]["recipe"])})
        return cls(**{**order, "attempts": attempts, "build": build, "ask": Ask(**order["ask"])})
