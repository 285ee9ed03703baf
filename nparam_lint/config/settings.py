"""The settings of a run as one frozen value, and what each key of the configuration may contain, in
whichever source. What a run uses besides is its `Session`."""

from __future__ import annotations

import ast
import sys
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta, Struct, ValidationError, convert, field
from msgspec.structs import replace

from nparam_lint.discover.files import matcher
from nparam_lint.ground.metrics import DEVICE_NAMES
from nparam_lint.ground.nearest import did_you_mean
from nparam_lint.ground.notation import Target, TextError, read_arguments, read_expression
from nparam_lint.ground.notation.grammar import Tolerance, parse_tolerance
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.ground.rule_catalogue import RULES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from nparam_lint.ground.notation.budget import Budget
    from nparam_lint.ground.orders import Recipe
    from nparam_lint.ground.values import Position, Severity

LOCAL = "local"  # the machine that this runs on, without any engine
ENGINES = ("dask",)  # each is a file in `count/engines/`


class Override(Struct, frozen=True):
    """Other settings for the files that match `files` (patterns as in a `.gitignore`). `ignore` and
    `severity` add to the general ones; the others replace them, where they are not None."""

    files: tuple[str, ...]
    ignore: tuple[str, ...] = ()
    severity: Mapping[str, Severity] = field(default_factory=dict)
    tolerance: Tolerance | None = None
    device: str | None = None


class RecipePattern(Struct, frozen=True):
    """A recipe for all targets that match `text`: `nets/*.py::*Net`, or `configs/*.yaml`, whose
    files become targets by it."""

    text: str
    recipe: Recipe
    position: Position

    @property
    def files(self) -> str:
        """The pattern of the paths, as in a `.gitignore`."""
        return self.text.partition("::")[0]

    def matches(self, target: Target) -> bool:
        name = self.text.partition("::")[2]
        return fnmatchcase(target.callable, name) and matcher((self.files,))(target.location)


class Settings(Struct, frozen=True):
    """What a run is told. `python` may name an executable or an environment, relative to the
    project; `python_from` says who named it. `on`: the address of the machines that build models,
    or "local"; `remote_python`: the interpreter there. `ways`: how many of the ways to build a
    model are tried at most; 0: all. `patience`: seconds after which models without a budget are
    left; 0: never. `resident`: minutes that a worker stays without a run; 0: none stays.
    `extended`: the config files that `config` extends, as they are spelled. `cache`: the directory
    that was named for what is kept, absolute."""

    root: Path
    config: Path | None = None
    python: str | None = None
    python_from: str = "config key 'python'"
    device: str = "auto"
    tolerance: Tolerance | None = None
    timeout: float = 60.0
    memory: int | None = None
    jobs: int | None = None
    on: str = LOCAL
    remote_python: str | None = None
    ways: int = 20
    patience: float = 0.0
    resident: float = 0.0
    exclude: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    severity: Mapping[str, Severity] = field(default_factory=dict)
    depth: int | None = None
    format: str = "text"
    cache: Path | None = None
    budgets: tuple[Budget, ...] = ()
    arguments: Mapping[Target, Recipe] = field(default_factory=dict)
    recipe_positions: Mapping[Target, Position] = field(default_factory=dict)
    patterns: tuple[RecipePattern, ...] = ()
    overrides: tuple[Override, ...] = ()
    extended: tuple[Path, ...] = ()

    def recipe(self, target: Target) -> Recipe | None:
        """How the config says to build a target: its own entry, else the last pattern that matches
        it."""
        if (entry := self.arguments.get(target.bare)) is not None:
            return entry
        matching = (p.recipe for p in reversed(self.patterns) if p.matches(target))
        return next(matching, None)

    def for_file(self, path: str) -> Settings:
        """The settings for what stands in a file: those of every override that matches, in order,
        on top."""
        settings = self
        for override in self.overrides:
            if matcher(override.files)(path):
                settings = replace(
                    settings,
                    ignore=(*settings.ignore, *override.ignore),
                    severity={**settings.severity, **override.severity},
                    tolerance=override.tolerance or settings.tolerance,
                    device=override.device or settings.device,
                )
        return settings


# --- what a key may hold ---

IN_FILE = late_pattern(r"\s*([\w./-]+\.py)\s*::\s*")  # before a call: in the names of that file
_UNITS = {"MB": 10**6, "GB": 10**9, "MiB": 2**20, "GiB": 2**30}
_MEMORY = late_pattern(r"(\d+(?:\.\d+)?)\s*(MB|GB|MiB|GiB)")
_TIME = late_pattern(r"(\d+(?:\.\d+)?)\s*(m|h)")
_SEVERITIES = ("error", "warning")
_FEW = 100  # parameters: who writes `5` for a tolerance means 5 %
_Text = Annotated[str, Meta(min_length=1)]


class WrongValue(ValueError):
    """What a value is instead of what was expected: `0, expected a whole number from 1 up`."""


class Key(Struct, frozen=True):
    """What a key holds: the `kind` that msgspec checks, in words what is `expected`, and what the
    value is made into. `make` raises ValueError, or WrongValue where it can say more."""

    kind: Any
    expected: str
    make: Callable[[Any], Any] = lambda value: value

    def read(self, value: Any) -> Any:
        """The value as the settings have it. Raises WrongValue. Numbers may be given as text, as
        they are by the environment and the command line."""
        try:
            return self.make(convert(value, self.kind, strict=not isinstance(value, str)))
        except WrongValue:
            raise
        except (ValidationError, ValueError):
            hint = did_you_mean(str(value), getattr(self.kind, "__args__", ()))
            raise WrongValue(f"{value!r}, expected {self.expected}{hint}") from None


def _for_this_system(value: Any) -> Any:
    if isinstance(value, str):
        return value
    system = {"win32": "windows", "darwin": "macos"}.get(sys.platform, "linux")
    if system not in value:
        expected = "an entry for this system (linux, macos or windows)"
        raise WrongValue(f"{value!r}, expected {expected}")
    return value[system]


def _machines(text: str) -> str:
    name, _, place = text.partition("://")
    if text != LOCAL and not (name in ENGINES and place):
        expected = ", ".join([LOCAL, *(f"{engine}://HOST:PORT" for engine in ENGINES)])
        raise WrongValue(f"{text!r}, expected {expected}{did_you_mean(name, [LOCAL, *ENGINES])}")
    return text


def _bytes(text: str) -> int:
    match = _MEMORY.fullmatch(text.strip())
    if not match:
        raise ValueError(text)
    return int(float(match[1]) * _UNITS[match[2]])


def _minutes(value: bool | str) -> float:
    text = str(value).lower()
    match = _TIME.fullmatch({"true": "15m", "false": "0m"}.get(text, text))
    if not match:
        raise ValueError(value)
    return float(match[1]) * (60 if match[2] == "h" else 1)


def _tolerance(value: str | int) -> Tolerance:
    tolerance = parse_tolerance(str(value))
    if not tolerance.relative and 0 < tolerance.amount <= _FEW:
        expected = f"a percentage, or more than {_FEW} parameters; did you mean {tolerance.text}%?"
        raise WrongValue(f"{value!r}, expected {expected}")
    return tolerance


def _texts(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        value = (part.strip() for part in value.split(",") if part.strip())
    return tuple(value)


def _codes(value: Any) -> tuple[str, ...]:
    codes = _texts(value)
    for code in codes:
        if not code or not any(rule.startswith(code) for rule in RULES):
            hint = did_you_mean(code, RULES, cutoff=0.5)
            named = code or "''"
            expected = f"codes such as NPL001 or NPL0 (no rule is called {named}{hint})"
            raise WrongValue(f"{value!r}, expected {expected}")
    return codes


def _severities(value: dict[str, str]) -> dict[str, str]:
    for code, severity in value.items():
        if code not in RULES:
            hint = did_you_mean(code, RULES, cutoff=0.5)
            raise WrongValue(f"{code} = {severity!r}, expected the code of a rule{hint}")
        if severity not in _SEVERITIES:
            expected = " or ".join(_SEVERITIES)
            raise WrongValue(f"{code} = {severity!r}, expected {expected}")
    return value


def _python(check: Callable[[str], object]) -> Callable[[str], str]:
    """Reads text that must be Python."""

    def make(text: str) -> str:
        try:
            check(text.strip())
        except (TextError, SyntaxError) as error:
            reason = error.msg if isinstance(error, SyntaxError) else str(error)
            raise WrongValue(f"{text!r}, which is not valid Python: {reason}") from None
        return text.strip()

    return make


def _call_arguments(text: str) -> None:
    _, end = read_arguments(f"({text})", 0)
    if end != len(text) + 2:  # `1) + f(2`
        raise TextError("more than the arguments of one call")


_COUNT = Annotated[int, Meta(ge=1)]
_TEXTS = tuple[str, ...] | str
_DEVICE = Key(Literal[DEVICE_NAMES], f"one of {', '.join(DEVICE_NAMES)}")
_TOLERANCE = Key(str | int, 'a tolerance such as "0.5%", "50k" or "1000"', _tolerance)
_IGNORE = Key(_TEXTS, "a list of strings", _codes)

# In the config file, as NPARAM_LINT_<KEY>, and most of them as an option.
GENERAL = {
    "python": Key(
        _Text | dict[Literal["linux", "macos", "windows"], _Text],
        "a string, or one for each of linux, macos, windows",
        _for_this_system,
    ),
    "device": _DEVICE,
    "tolerance": _TOLERANCE,
    "timeout": Key(Annotated[float, Meta(gt=0, le=1e9)], "a number of seconds above 0"),
    "memory": Key(str, 'an amount such as "8GB" or "512MiB"', _bytes),
    "jobs": Key(_COUNT, "a whole number from 1 up"),
    "on": Key(_Text, "a string", _machines),
    "remote_python": Key(_Text, "a string"),
    "ways": Key(_COUNT, "a whole number from 1 up"),
    "resident": Key(bool | str, 'true, false or a time such as "15m" or "2h"', _minutes),
    "exclude": Key(_TEXTS, "a list of strings", _texts),
    "select": _IGNORE,
    "ignore": _IGNORE,
    "depth": Key(Annotated[int, Meta(ge=0)], "a whole number from 0 up"),
    "format": Key(_Text, "a string"),
    "cache": Key(_Text, "the path of a directory", lambda text: Path(text).expanduser()),
}
SEVERITY = {
    "severity": Key(
        dict[str, str],
        'a table that maps codes to "error" or "warning"',
        _severities,
    )
}
OVERRIDE = {
    "files": GENERAL["exclude"],
    "ignore": _IGNORE,
    **SEVERITY,
    "tolerance": _TOLERANCE,
    "device": _DEVICE,
}
RECIPE = {
    "arguments": Key(str, "the arguments of a call, as a string", _python(_call_arguments)),
    "setup": Key(_Text, "lines of Python, as a string", _python(ast.parse)),
    "call": Key(
        _Text,
        "a Python expression, as a string",
        _python(lambda text: read_expression(IN_FILE.sub("", text))),
    ),
    "input": Key(_Text, "a Python expression, as a string", _python(read_expression)),
    "experts_per_token": Key(_COUNT, "a whole number from 1 up"),
}
# `budget` itself is read with the metric of its key.
BUDGET = {"tolerance": _TOLERANCE, "reason": GENERAL["format"], "device": _DEVICE}
