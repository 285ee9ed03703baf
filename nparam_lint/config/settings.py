"""Settings: `[tool.nparam-lint]` in pyproject.toml, or nparam-lint.toml; then `NPARAM_LINT_<KEY>`;
then the command line. One frozen value is passed on; every error is reported, all at once.
"""

from __future__ import annotations

import ast
import difflib
import os
import re
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nparam_lint.cache.store import Store, directory
from nparam_lint.claims.grammar import Tolerance, Value, parse_tolerance, parse_value
from nparam_lint.claims.notation import (
    Selector,
    Target,
    TextError,
    parse_selected,
    parse_target,
    read_arguments,
    read_expression,
)
from nparam_lint.records import Position, Problem, Severity
from nparam_lint.rules.catalogue import RULES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from nparam_lint.cache.replay_inputs import Witness
    from nparam_lint.repository.snapshot import Snapshot

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DEVICES = ("auto", "meta", "cpu", "cuda")
_MEMORY = re.compile(r"(\d+(?:\.\d+)?)\s*(MB|GB|MiB|GiB)")
_UNITS = {"MB": 10**6, "GB": 10**9, "MiB": 2**20, "GiB": 2**30}
_ENVIRONMENT = "NPARAM_LINT_"
_PART = r"""(?:"(?:\\.|[^"\\])*"|'[^']*'|[\w-]+)"""
_KEYS = rf"{_PART}(?:\s*\.\s*{_PART})*"
_HEADER = re.compile(rf"\s*\[\[?\s*({_KEYS})\s*\]")
_KEY = re.compile(rf"\s*({_KEYS})\s*=")
_TEXT_OF_LINES = re.compile(r"\"{3}|'{3}")


class ConfigError(Exception):
    """Everything that is wrong with the configuration; `problems` has one entry for each fault."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("\n".join(describe(p) for p in problems))
        self.problems = problems


def describe(problem: Problem) -> str:
    at = problem.position
    return f"{at.path}:{at.line}:{at.column}: {problem.message}" if at.path else problem.message


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
    `store`: what earlier runs found out; it keeps nothing unless it is said where. `witness`: told
    of what the answer rests on, where it may be given again."""

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
    witness: Witness | None = None

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


def load_settings(
    root: Path,
    config: Path | None,
    environ: Mapping[str, str],
    options: Mapping[str, Any],
    snapshot: Snapshot | None = None,
) -> Settings:
    """The settings for the project at `root`. `options`: what the command line says; None: nothing.
    `snapshot`: the copy that `root` lies in.

    Raises ConfigError with every fault that was found.
    """
    problems: list[Problem] = []
    path = config or find_config(root)
    settings = Settings(root=root, config=path, snapshot=snapshot)
    if path is not None:
        settings = _Reader(path, root, problems).read(settings)
    scalars: dict[str, Any] = {}
    if options.get("python"):
        scalars["python_from"] = "option --python"
    elif environ.get("NPARAM_LINT_PYTHON"):
        scalars["python_from"] = "environment variable NPARAM_LINT_PYTHON"
    for key in _SCALARS:
        text = environ.get(_ENVIRONMENT + key.upper())
        if text:
            where = Problem(Position("", 1, 1), f"environment variable {_ENVIRONMENT}{key.upper()}")
            _scalar(key, text, scalars, problems, where)
    for key, value in options.items():
        if value is not None:
            where = Problem(Position("", 1, 1), f"option --{key}")
            _scalar(key, value, scalars, problems, where)
    if problems:
        raise ConfigError(sorted(problems, key=_place))
    return replace(settings, **scalars)


def _place(problem: Problem) -> tuple[str, int, int]:
    return problem.position.path, problem.position.line, problem.position.column


def find_config(root: Path) -> Path | None:
    """The config file of `root`: nparam-lint.toml, else a pyproject.toml that speaks of us."""
    own = root / "nparam-lint.toml"
    if own.is_file():
        return own
    project = root / "pyproject.toml"
    # The table may be spelled `[tool."nparam-lint"]`; a file without one merely says nothing.
    if project.is_file() and b"nparam-lint" in project.read_bytes():
        return project
    return None


# --- checking values --------------------------------------------------------------------------


def _choice(*allowed: str) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if value not in allowed:
            near = difflib.get_close_matches(str(value), allowed, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"one of {', '.join(allowed)}{hint}")
        return str(value)

    return check


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("a text")
    return value


_SYSTEMS = ("linux", "macos", "windows")


def _python(value: Any) -> str:
    if isinstance(value, dict):
        for name in value:
            if name not in _SYSTEMS:
                raise ValueError(f"systems of {', '.join(_SYSTEMS)}, not {name!r}")
        value = value.get({"win32": "windows", "darwin": "macos"}.get(sys.platform, "linux"))
        if value is None:
            raise ValueError("an entry for this system (linux, macos or windows)")
    return _text(value)


def _seconds(value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = 0.0
    if isinstance(value, bool) or not 0 < number < float("inf"):
        raise ValueError("a number of seconds above 0")
    return number


def _whole(least: int) -> Callable[[Any], int]:
    def check(value: Any) -> int:
        if isinstance(value, bool) or not re.fullmatch(r"\d+", str(value)) or int(value) < least:
            raise ValueError(f"a whole number from {least} up")
        return int(value)

    return check


def _memory(value: Any) -> int:
    match = _MEMORY.fullmatch(str(value).strip())
    if not match:
        raise ValueError('an amount such as "8GB" or "512MiB"')
    return int(float(match[1]) * _UNITS[match[2]])


def _tolerance(value: Any) -> Tolerance:
    try:
        return parse_tolerance(str(value))
    except TextError:
        raise ValueError('a tolerance such as "0.5%", "50k" or "1000"') from None


def _texts(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",") if part.strip()]
    if not isinstance(value, list | tuple) or not all(isinstance(v, str) for v in value):
        raise ValueError("a list of texts")
    return tuple(value)


def _codes(value: Any) -> tuple[str, ...]:
    codes = _texts(value)
    for code in codes:
        if not any(known.startswith(code) for known in RULES):
            near = difflib.get_close_matches(code, RULES, 1, 0.5)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ValueError(f"codes such as NPL001 or NPL0 (no rule is called {code}{hint})")
    return codes


def _severities(value: Any) -> dict[str, Severity]:
    if not isinstance(value, dict):
        raise ValueError('a table such as { NPL013 = "error" }')
    for code, severity in value.items():
        if code not in RULES or severity not in ("error", "warning"):
            raise ValueError('a table from a code to "error" or "warning"')
    return dict(value)


_SCALARS: dict[str, Callable[[Any], Any]] = {
    "python": _python,
    "device": _choice(*DEVICES),
    "tolerance": _tolerance,
    "timeout": _seconds,
    "memory": _memory,
    "jobs": _whole(1),
    "exclude": _texts,
    "select": _codes,
    "ignore": _codes,
    "depth": _whole(0),
    "format": _text,
}
_TABLES = ("budgets", "arguments", "severity", "overrides", "extend")
_OVERRIDE_KEYS = ("files", "ignore", "severity", "tolerance", "device")
_RECIPE_KEYS = ("arguments", "setup", "call", "input", "experts_per_token")
_BUDGET_KEYS = ("budget", "tolerance", "reason", "device", *_RECIPE_KEYS)


def _scalar(
    key: str, value: Any, into: dict[str, Any], problems: list[Problem], where: Problem
) -> None:
    try:
        into[key] = _SCALARS[key](value)
    except ValueError as error:
        message = f"{where.message} is {value!r}, expected {error}"
        problems.append(Problem(where.position, message))


def _check_python(name: str, text: str) -> None:
    """Raises ValueError where the text is not what the key of a recipe holds."""
    if name == "arguments":
        _, end = read_arguments(f"({text})", 0)
        if end != len(text) + 2:  # `1) + f(2`
            raise ValueError("more than the arguments of one call")
    elif name == "setup":
        try:
            ast.parse(text)
        except SyntaxError as error:
            raise ValueError(error.msg) from None
    else:
        read_expression(text)


def _split(keys: str) -> tuple[str, ...]:
    """The parts of a dotted key: `tool."nparam-lint"` → tool, nparam-lint."""
    parts = re.findall(_PART, keys)
    return tuple(p if p[0] not in "\"'" else next(iter(tomllib.loads(f"{p} = 0"))) for p in parts)


class _Reader:
    """Reads one config file, and what it extends, into settings; collects what is wrong."""

    def __init__(self, path: Path, root: Path, problems: list[Problem]) -> None:
        self.path, self.root, self.problems = path, root, problems
        self.name = os.path.relpath(path, root).replace(os.sep, "/")
        self.lines: list[str] = []
        self.places: dict[tuple[str, ...], Position] = {}
        self.prefix = ("tool", "nparam-lint") if path.name == "pyproject.toml" else ()

    def read(self, settings: Settings, seen: tuple[Path, ...] = ()) -> Settings:
        table = self.load()
        if table is None:
            return settings
        if "extend" in table:
            settings = self.extend(table["extend"], settings, (*seen, self.path.resolve()))
        scalars: dict[str, Any] = {}
        for key, value in table.items():
            where = Problem(self.find(key), f"config key {key!r}")
            if key in _SCALARS:
                _scalar(key, value, scalars, self.problems, where)
            elif key not in _TABLES:
                self.unknown(key, (*_SCALARS, *_TABLES), where.position)
        if "severity" in table:
            try:
                scalars["severity"] = _severities(table["severity"])
            except ValueError as error:
                self.fault(self.find("severity"), f"config key 'severity': expected {error}")
        arguments, positions = self.arguments(table.get("arguments", {}))
        overrides = self.overrides(table.get("overrides", []))
        return replace(
            settings,
            **scalars,
            budgets=(*settings.budgets, *self.budgets(table.get("budgets", {}))),
            arguments={**settings.arguments, **arguments},
            recipe_positions={**settings.recipe_positions, **positions},
            overrides=(*settings.overrides, *overrides),
        )

    def load(self) -> dict[str, Any] | None:
        try:
            text = self.path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            self.fault(Position(self.name), f"cannot be read: {error}")
            return None
        self.lines = text.splitlines()
        try:
            table: Any = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            at = re.search(r"line (\d+), column (\d+)", str(error))
            place = (int(at[1]), int(at[2])) if at else (1, 1)
            self.fault(Position(self.name, *place), f"is not valid TOML: {error}")
            return None
        self.places = self.find_keys()
        if self.path.name == "pyproject.toml":
            table = table.get("tool", {}).get("nparam-lint", {})
        if not isinstance(table, dict):
            self.fault(self.find(), "tool.nparam-lint must be a table")
            return None
        return table

    def extend(self, value: Any, settings: Settings, seen: tuple[Path, ...]) -> Settings:
        at = self.find("extend")
        if not isinstance(value, str):
            self.fault(at, f"config key 'extend' is {value!r}, expected a path")
            return settings
        spelled = self.path.parent / Path(value).expanduser()
        path = spelled.resolve()
        copy = settings.snapshot
        if copy and self.path.is_relative_to(copy.directory) > path.is_relative_to(copy.directory):
            # Out of the repository, beside which there is nothing of the copy.
            spelled = copy.original_of(self.path.parent) / Path(value).expanduser()
            path = spelled.resolve()
        if path in seen:
            self.fault(at, f"config key 'extend': {value} extends itself")
            return settings
        if not path.is_file():
            self.fault(at, f"config key 'extend': there is no file {value}")
            return settings
        settings = replace(settings, extended=(*settings.extended, spelled))
        return _Reader(path, self.root, self.problems).read(settings, seen)

    def overrides(self, entries: Any) -> list[Override]:
        at = self.find("overrides")
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            self.fault(at, "config key 'overrides' must be tables: [[tool.nparam-lint.overrides]]")
            return []
        found = []
        for number, entry in enumerate(entries):
            texts: dict[str, Any] = {}
            for key, value in entry.items():
                at = self.find("overrides", str(number), key)
                if key in ("files", "severity"):
                    check: Callable[[Any], Any] = _texts if key == "files" else _severities
                elif key in _OVERRIDE_KEYS:
                    check = _SCALARS[key]
                else:
                    self.unknown(key, _OVERRIDE_KEYS, at)
                    continue
                try:
                    texts[key] = check(value)
                except ValueError as error:
                    self.fault(at, f"overrides: key {key!r} is {value!r}, expected {error}")
            if texts.get("files"):
                found.append(Override(**texts))
            elif "files" not in entry:
                at = self.find("overrides", str(number))
                self.fault(at, 'overrides: expected files = ["zoo/**"] that they hold for')
        return found

    def budgets(self, table: Any) -> list[ConfigBudget]:
        if not isinstance(table, dict):
            self.fault(self.find("budgets"), "config key 'budgets' must be a table")
            return []
        found = (
            self.budget(key, entry)
            for key, entries in table.items()
            for entry in (entries if isinstance(entries, list) and entries else [entries])
        )
        return [budget for budget in found if budget is not None]

    def budget(self, key: str, entry: Any) -> ConfigBudget | None:
        at = self.find("budgets", key)
        try:
            target, selector = parse_selected(key)
        except TextError as error:
            self.fault(at, f"budget {key!r}: {error}")
            return None
        more = entry if isinstance(entry, dict) else {"budget": entry}
        for name in more:
            if name not in _BUDGET_KEYS:
                self.unknown(name, _BUDGET_KEYS, at)
        declared = more.get("budget")
        if isinstance(declared, bool) or not isinstance(declared, int | str):
            self.fault(at, f"budget {key!r} is {declared!r}, expected a count or a text")
            return None
        fields: dict[str, Any] = {}
        for name, check in (
            ("tolerance", _tolerance),
            ("reason", _text),
            ("device", _choice(*DEVICES)),
        ):
            if name in more:
                try:
                    fields[name] = check(more[name])
                except ValueError as error:
                    self.fault(at, f"budget {key!r}: {name} is {more[name]!r}, expected {error}")
        try:
            value = parse_value(str(declared), selector.metric)
        except TextError as error:
            self.fault(self.find_text(str(declared), key, at), f"budget {key!r}: {error}")
            return None
        recipe = self.recipe(key, {k: more[k] for k in _RECIPE_KEYS if k in more}, at)
        # As it is written elsewhere: TOML's `124_475_904` arrives without its underscores.
        text = f"{declared:_}" if isinstance(declared, int) else declared
        return ConfigBudget(target, selector, value, text, at, recipe=recipe, **fields)

    def arguments(self, table: Any) -> tuple[dict[Target, Recipe], dict[Target, Position]]:
        recipes: dict[Target, Recipe] = {}
        positions: dict[Target, Position] = {}
        if not isinstance(table, dict):
            self.fault(self.find("arguments"), "config key 'arguments' must be a table")
            return recipes, positions
        for key, entry in table.items():
            at = self.find("arguments", key)
            try:
                target = parse_target(key)
                if target.arguments is not None:
                    raise TextError("expected a target without arguments, such as vit.py::ViT")
            except TextError as error:
                self.fault(at, f"arguments of {key!r}: {error}")
                continue
            more = entry if isinstance(entry, dict) else {"arguments": entry}
            for name in more:
                if name not in _RECIPE_KEYS:
                    self.unknown(name, _RECIPE_KEYS, at)
            recipe = self.recipe(key, more, at)
            if recipe is not None:
                recipes[target], positions[target] = recipe, at
        return recipes, positions

    def recipe(self, key: str, entry: dict[str, Any], at: Position) -> Recipe | None:
        """How to build, from the keys that say so; each must be Python, but for a number."""
        fields: dict[str, Any] = {}
        for name, value in entry.items():
            if name == "experts_per_token":
                try:
                    fields[name] = _whole(1)(value)
                except ValueError as error:
                    self.fault(at, f"{name} of {key!r} is {value!r}, expected {error}")
            elif name in _RECIPE_KEYS:
                try:
                    text = _text(value).strip()
                    _check_python(name, text)
                    fields[name] = text
                except ValueError as error:
                    self.fault(at, f"{name} of {key!r} is no Python: {value!r} ({error})")
        if "setup" in fields and "call" not in fields:
            self.fault(at, f'setup of {key!r} needs a call that uses it, such as call = "GPT(c)"')
        return Recipe(**fields) if fields else None

    def find_keys(self) -> dict[tuple[str, ...], Position]:
        """Where each key stands, by its path through the tables; the parser does not say."""
        places: dict[tuple[str, ...], Position] = {}
        table: tuple[str, ...] = ()
        entries: dict[tuple[str, ...], int] = {}  # of each array of tables, so far
        inside = False  # a text of several lines
        for number, line in enumerate(self.lines, 1):
            header = _HEADER.match(line)
            found = header or _KEY.match(line)
            if found and not inside:
                keys = _split(found[1])
                if header and line.lstrip().startswith("[["):
                    entries[keys] = entries.get(keys, -1) + 1
                    keys = (*keys, str(entries[keys]))
                path = keys if header else (*table, *keys)
                table = keys if header else table
                at = Position(self.name, number, found.start(1) + 1)
                for end in range(1, len(path) + 1):
                    places.setdefault(path[:end], at)
            if len(_TEXT_OF_LINES.findall(line)) % 2:
                inside = not inside
        return places

    def find(self, *keys: str) -> Position:
        """Where a key of our table stands, else the table around it."""
        path = (*self.prefix, *keys)
        ends = range(len(path), 0, -1)
        known = (self.places[path[:end]] for end in ends if path[:end] in self.places)
        return next(known, Position(self.name))

    def find_text(self, text: str, key: str, at: Position) -> Position:
        """Where the value of the key at `at` stands, if on the same line."""
        line = self.lines[at.line - 1]
        for quoted in (f'"{text}"', f"'{text}'", text):
            column = line.find(quoted, at.column - 1 + len(key))
            if column >= 0:
                return Position(self.name, at.line, column + 1)
        return at

    def unknown(self, key: str, known: tuple[str, ...], at: Position) -> None:
        near = difflib.get_close_matches(key, known, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(known)}"
        self.fault(at, f"unknown config key {key!r}; {hint}")

    def fault(self, at: Position, message: str) -> None:
        self.problems.append(Problem(at, message))
