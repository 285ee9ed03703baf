"""The models that a check may build: how each is built, what is declared of it, and which are
chosen."""

from __future__ import annotations

import dataclasses
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import replace

from nparam_lint.count.measured import Measured, NotMeasured
from nparam_lint.discover.definitions import Containment
from nparam_lint.gate.report import Shard
from nparam_lint.ground.nearest import did_you_mean
from nparam_lint.ground.notation import Target, TextError, parse_target
from nparam_lint.ground.notation.budget import Budget
from nparam_lint.ground.orders import Ask, Build, Recipe
from nparam_lint.ground.script_words import CONFIG_PARAMETER
from nparam_lint.ground.values import Position, Way

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from nparam_lint.config.session import Session
    from nparam_lint.config.settings import Settings
    from nparam_lint.count.measured import Measurement
    from nparam_lint.discover import Discovery
    from nparam_lint.discover.definitions import Definition
    from nparam_lint.ground.findings import Finding

_PLAIN_TYPES = {"int", "float", "str", "bool", "list", "dict", "tuple", "List[int]", "list[int]"}
_OF_THE_CALL = ("arguments_missing", "raised", "refused")
WITH_PARAMETERS = Ask(parameters=True)


class Candidate(Struct):
    """A model that may be built: its target, where it is defined or declared, how it is built, and
    what is declared about it. `because`, `way`: see `ModelReport`; `instead_of`: of the run of a
    whole script, what was told of it without that; `is_guess`: see `Evidence`."""

    target: Target
    position: Position
    build: Build
    budgets: list[Budget] = field(default_factory=list)
    definitions: list[Definition] = field(default_factory=list)
    because: str = ""
    way: Way | None = None
    instead_of: Candidate | None = None
    is_guess: bool = False

    @property
    def location(self) -> str:
        """The file, or the installed module, whose names the call is written in."""
        return self.build.recipe.file or self.target.built.location

    @property
    def is_file(self) -> bool:
        """Whether the location is a file of the project; otherwise it is an installed module."""
        return Target(self.location, "").is_path

    @property
    def is_declared(self) -> bool:
        """Whether a budget is declared for it."""
        return bool(self.budgets)

    @property
    def is_open(self) -> bool:
        """Whether nobody says how to build it, so that a way of the project may stand for it."""
        is_named = self.target.arguments is None and self.target.is_path
        return is_named and not (self.budgets or self.build.recipe.says_how_to_call)

    def called(self, measured: Measured) -> Target | None:
        """The target that a budget of it is declared for, by its call alone; None where it takes
        more than that."""
        with suppress(TextError):
            target = parse_target(f"{self.location}::{measured.call}")
            is_whole = not (self.build.recipe.setup or self.build.recipe.is_run)
            return target if target.arguments is not None and is_whole else None
        return None

    def needs_way(self, answer: Measurement) -> bool:
        """Whether it failed as it is named, and another call may build it."""
        failed_call = isinstance(answer, NotMeasured) and answer.cause in _OF_THE_CALL
        return failed_call and self.is_open and self.target.host is None

    def with_build(self, **changes: Any) -> Candidate:
        """The same model, built in another way."""
        return replace(self, build=dataclasses.replace(self.build, **changes))

    def used(self, measured: Measured) -> Definition | None:
        """The definition that was built, of those that the name has in its file."""
        places = measured.definitions
        return next((d for d in self.definitions if f"{d.path}:{d.line}" in places), None)


class ProjectSource(Struct, frozen=True):
    """The result of reading some files, before anything is built: the models to build, with their
    budgets, and the findings about the declarations themselves. `places`: the paths that were
    given, relative to the root; empty where these are the whole project. `budgets`: those that
    stand outside of source: in the config, and in the project's docs."""

    session: Session
    files: Sequence[str]
    discovery: Discovery
    candidates: Sequence[Candidate]
    findings: Sequence[Finding]
    places: tuple[str, ...] = ()
    budgets: tuple[Budget, ...] = ()

    @property
    def settings(self) -> Settings:
        return self.session.settings


class Selection(Struct, frozen=True):
    """The models to build. `ask`: what is wanted of each besides its count. `skipped`: (target,
    why) of those that are left out. `skip_failures`: a model without a budget that cannot be built
    joins them. `ways_left`, `gaps`, `containment`: see `Report`; `shard`: which part of a run they
    are."""

    candidates: Sequence[Candidate] = ()
    skipped: Sequence[tuple[str, NotMeasured]] = ()
    skip_failures: bool = True
    ways_left: tuple[tuple[str, int], ...] = ()
    gaps: dict[str, str] = field(default_factory=dict)
    findings: Sequence[Finding] = ()
    containment: Containment = field(default_factory=Containment)
    shard: Shard | None = None
    ask: Ask = field(default_factory=Ask)


def candidate_for(
    target: Target, position: Position, settings: Settings, discovery: Discovery
) -> Candidate:
    """The candidate for a target; its recipe is the one of the config's `arguments` table, with the
    arguments that the target itself names; of a class inside a model, that of the model."""
    model = target.built
    recipe = settings.recipe(model.bare) or Recipe()
    arguments = recipe.arguments if model.arguments is None else model.arguments
    if arguments is not None:
        recipe = _with_arguments(model.callable, arguments, recipe)
    defined_at = discovery.positions.get((target.location, target.callable), position)
    device = settings.for_file(model.location).device
    return Candidate(target, defined_at, Build(model.callable, recipe, device))


def _with_arguments(callable: str, arguments: str, recipe: Recipe) -> Recipe:
    """The recipe with other arguments. Where it has a setup, they may use the names made there."""
    if recipe.setup is None:
        return dataclasses.replace(recipe, arguments=arguments, call=None)
    return dataclasses.replace(recipe, arguments=None, call=f"{callable}({arguments})")


def completed(target: Target, declared: Recipe | None, base: Recipe) -> Recipe:
    """A budget's own recipe; what it lacks is taken from `base`."""
    if declared is None:
        return base
    recipe = base
    if declared.call is not None:
        recipe = dataclasses.replace(declared, setup=declared.setup or base.setup)
    elif declared.arguments is not None:
        recipe = _with_arguments(target.built.callable, declared.arguments, base)
    return dataclasses.replace(
        recipe,
        input=declared.input or base.input,
        experts_per_token=declared.experts_per_token or base.experts_per_token,
    )


def why_gone(target: Target, root: Path, discovery: Discovery) -> str | None:
    """Why a target that the config names no longer exists; None where it does, and for an installed
    package, which only the worker can ask."""
    if not target.is_path:
        return None
    if not (root / target.location).is_file():
        hint = did_you_mean(target.location, discovery.tree.files)
        return f"there is no file {target.location}{hint}"
    names = discovery.names(target.location)
    first = target.callable.split(".")[0]
    if first and names and first not in names and "__getattr__" not in names:
        return f"{target.location} has no {first!r}{did_you_mean(first, names)}"
    return None


# --- which of them are built ------------------------------------------------------------------


def select_models(candidates: Sequence[Candidate], declared_only: bool = False) -> Selection:
    """The models to build. Without a budget a model is skipped where required arguments are not
    provided: building it could only fail; with `declared_only`, always."""
    if declared_only:
        return Selection([candidate for candidate in candidates if candidate.is_declared])
    failures = [(candidate, _lacks_arguments(candidate)) for candidate in candidates]
    return Selection(
        [candidate for candidate, failure in failures if failure is None],
        [(str(candidate.target), failure) for candidate, failure in failures if failure],
    )


def one_reason(candidate: Candidate, answer: Measurement) -> Measurement:
    """The answer with the reason that a check of the whole project gives, which does not build what
    lacks arguments, and does not get to know what else is wrong: that is told beside."""
    if isinstance(answer, Measured) or answer.cause in ("no_worker", "unreadable"):
        return answer
    was_called = answer.code in ("NPL004", "NPL009") and answer.cause != "arguments_missing"
    failure = None if was_called else _lacks_arguments(candidate)
    if failure is None:
        return answer
    besides = f"besides: {answer.reason}" + (f" ({answer.hint})" if answer.hint else "")
    return replace(failure, hint=None if answer.missing else besides, notes=answer.notes)


def _lacks_arguments(candidate: Candidate) -> NotMeasured | None:
    """The failure of a model without a budget that needs arguments which nobody provides."""
    if candidate.budgets or candidate.build.recipe.says_how_to_call or not candidate.definitions:
        return None
    # Of several of one name, nobody knows yet which is used.
    missing = min(map(_required, candidate.definitions), key=len)
    if not missing:
        return None
    reason = f"{candidate.target.callable} needs {', '.join(missing)}"
    return NotMeasured("NPL004", reason, missing=tuple(missing), cause="arguments_missing")


def _required(definition: Definition) -> list[str]:
    """The arguments without which it cannot be built. A single one may be a config object, or say
    whether weights are loaded: the worker tries that."""
    required = [p for p in definition.parameters or () if p.required]
    if len(required) == 1:
        name, annotation = required[0].name.lower(), required[0].annotation or "int"
        is_config = CONFIG_PARAMETER.search(name) or annotation not in _PLAIN_TYPES
        if is_config or name == "pretrained":
            return []
    return [parameter.name for parameter in required]


# --- lines to add to the config ---------------------------------------------------------------


def arguments_entry(target: Target, missing: Sequence[str], settings: Settings) -> tuple[str, ...]:
    """The lines of config that provide missing arguments: a sentence, the table's header, and the
    entry; nothing where none are missing."""
    if not missing:
        return ()
    values = ", ".join(f"{name}=…" for name in missing)
    return config_lines("say how to build it", target, f'"{values}"', settings)


def experts_entry(target: Target, settings: Settings) -> tuple[str, ...]:
    """The lines of config that say how many experts a token uses."""
    target = target.built
    at = settings.recipe_positions.get(target.bare)
    if at is not None:
        return (f"add experts_per_token = … to its entry at {at}",)
    value = "{ experts_per_token = … }"
    return config_lines("say how many a token uses", target, value, settings)


def config_lines(what: str, target: Target, value: str, settings: Settings) -> tuple[str, ...]:
    target = target.built
    name = settings.config.name if settings.config else "pyproject.toml"
    return (
        f"{what}, in {name}:",
        "[tool.nparam-lint.arguments]" if name == "pyproject.toml" else "[arguments]",
        f'"{target.bare}" = {value}',
    )
