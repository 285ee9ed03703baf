"""Where settings come from: `[tool.nparam-lint]` in pyproject.toml, or nparam-lint.toml; then
`NPARAM_LINT_<KEY>`; then the command line. Every fault is reported, all at once."""

from __future__ import annotations

import os
import re
import sys
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from nparam_lint.config import positions
from nparam_lint.config.settings import (
    BUDGET,
    GENERAL,
    IN_FILE,
    OVERRIDE,
    RECIPE,
    SEVERITY,
    Key,
    Override,
    RecipePattern,
    Settings,
    WrongValue,
)
from nparam_lint.discover.definitions import Problem
from nparam_lint.ground.errors import UsageError
from nparam_lint.ground.nearest import did_you_mean, nearest
from nparam_lint.ground.notation import Target, TextError, parse_selected, parse_target
from nparam_lint.ground.notation.budget import Budget
from nparam_lint.ground.notation.grammar import parse_value
from nparam_lint.ground.orders import Recipe
from nparam_lint.ground.paths import relative_path
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.ground.printable import clean
from nparam_lint.ground.values import Position

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from nparam_lint.repository.snapshot import Snapshot

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_ENVIRONMENT = "NPARAM_LINT_"
_ALIKE = 0.8  # how much a variable's name must be like that of a key to be meant for it
_TABLES = ("budgets", "arguments", "severity", "overrides", "extend")
_EXAMPLE = 'such as call = "train.py::build_model(path)"'
_NOWHERE = Position("", 1, 1)
_OUR_NAME = late_pattern("nparams?[-_. ]?lint", re.IGNORECASE)


class ConfigError(UsageError):
    """Everything that is wrong with the configuration, a line for each of the `problems`: with its
    `path:line:column`, where it is about a file."""

    def __init__(self, problems: list[Problem]) -> None:
        lines = ["the configuration is wrong"]
        for problem in problems:
            at = problem.position
            where = f"{at.path}:{at.line}:{at.column}: " if at.path else ""
            lines.append(clean(f"{where}{problem.message}"))
        super().__init__("\n".join(lines))
        self.problems = problems


def load_settings(
    root: Path,
    config: Path | None,
    environ: Mapping[str, str],
    options: Mapping[str, Any],
    snapshot: Snapshot | None = None,
) -> Settings:
    """The settings for the project at `root`. `config`: the file to read (default: `find_config`).
    `options`: what the command line says; None: nothing. `snapshot`: the copy that `root` lies in.

    Raises ConfigError with every fault that was found.
    """
    problems: list[Problem] = []
    path = config or find_config(root)
    settings = Settings(root=root, config=path)
    if path is not None:
        settings = _ConfigFile(path, root, snapshot, problems).read(settings)
    if config is None and path is not None:
        _refuse_budgets_beside(settings, problems)
    values: dict[str, Any] = {}
    for name in environ:
        key = name.removeprefix(_ENVIRONMENT).lower()
        is_ours = name.startswith(_ENVIRONMENT) and key not in GENERAL
        if is_ours and key in _TABLES:
            message = (
                f"environment variable {name} is not read; next: write {key!r} into the config"
            )
            problems.append(Problem(_NOWHERE, message))
        elif meant := nearest(key, GENERAL, cutoff=_ALIKE) if is_ours else []:
            variable = _ENVIRONMENT + meant[0].upper()
            message = f"environment variable {name} is not read; did you mean {variable}?"
            problems.append(Problem(_NOWHERE, message))
    entries = [
        (f"environment variable {_ENVIRONMENT}{key.upper()}", key, value)
        for key in GENERAL
        if (value := environ.get(_ENVIRONMENT + key.upper()))
    ]
    entries += [(f"option --{key.replace('_', '-')}", key, value) for key, value in options.items()]
    for subject, key, value in entries:  # the strongest last
        if value is None:
            continue
        try:
            values[key] = GENERAL[key].read(value)
            if key == "python":
                values["python_from"] = subject
        except WrongValue as error:
            problems.append(Problem(_NOWHERE, f"{subject} is {error}"))
    if problems:
        problems.sort(key=lambda p: (p.position.path, p.position.line, p.position.column))
        raise ConfigError(problems)
    settings = replace(settings, **values)
    place = settings.cache and Path(os.path.abspath(settings.cache))
    return replace(settings, cache=place)


def find_config(root: Path) -> Path | None:
    """The config file of `root`: nparam-lint.toml, else a pyproject.toml that mentions us."""
    path = root / "nparam-lint.toml"
    if path.is_file():
        return path
    path = root / "pyproject.toml"
    # The table may be spelled `[tool."nparam-lint"]`; a file without one merely says nothing.
    # What is in UTF-16 has a zero byte beside each letter.
    text = path.read_bytes().replace(b"\0", b"") if path.is_file() else b""
    return path if _OUR_NAME.search(text.decode("utf-8", "replace")) else None


def table_in(file: str) -> tuple[str, ...]:
    """Where our table is in a config file of that name."""
    return ("tool", "nparam-lint") if file == "pyproject.toml" else ()


def _refuse_budgets_beside(settings: Settings, problems: list[Problem]) -> None:
    """Of two files in one directory only one is read; budgets in the other would never be
    checked."""
    path = settings.root / "pyproject.toml"
    sources = (settings.config, *(path.resolve() for path in settings.extended))
    if path in sources or path.resolve() in sources or not path.is_file():
        return
    file = _ConfigFile(path, settings.root, None, [])
    if b"nparam-lint" in path.read_bytes() and (file.load() or {}).get("budgets"):
        message = (
            "these budgets are not read, because nparam-lint.toml exists; "
            'next: move them there, or add to it: extend = "pyproject.toml"'
        )
        problems.append(Problem(file.find("budgets"), message))


class _ConfigFile:
    """One config file, and what it extends; what is wrong with it is added to `problems`. `copy`:
    what `root` lies in a copy of."""

    def __init__(
        self, path: Path, root: Path, copy: Snapshot | None, problems: list[Problem]
    ) -> None:
        self.path, self.root, self.copy, self.problems = path, root, copy, problems
        self.name = relative_path(path, root)
        self.text = ""
        self.prefix = table_in(path.name)

    @cached_property
    def positions(self) -> positions.Positions:
        return positions.Positions(self.name, self.text)

    def find(self, *path: str) -> Position:
        return self.positions.key((*self.prefix, *path))

    def fault(self, at: Position, message: str) -> None:
        self.problems.append(Problem(at, message))

    # --- the file -----------------------------------------------------------------------------

    def read(self, settings: Settings, extending: tuple[Path, ...] = ()) -> Settings:
        """The settings with what this file says on top. `extending`: the files that led here."""
        table = self.load()
        if table is None:
            return settings
        if "extend" in table:
            settings = self.extend(table["extend"], settings, (*extending, self.path.resolve()))
        keys = {**GENERAL, **SEVERITY}
        values = self.values(table, keys, lambda name: f"config key {name!r}", (), _TABLES)
        if "cache" in values:
            values["cache"] = self.beside() / values["cache"]
        recipes, positions, patterns = self.recipes(table.get("arguments", {}))
        return replace(
            settings,
            **values,
            budgets=(*settings.budgets, *self.budgets(table.get("budgets", {}))),
            arguments={**settings.arguments, **recipes},
            recipe_positions={**settings.recipe_positions, **positions},
            patterns=(*settings.patterns, *patterns),
            overrides=(*settings.overrides, *self.overrides(table.get("overrides", []))),
        )

    def load(self) -> dict[str, Any] | None:
        """Our table; None where there is none that could be read."""
        try:
            self.text = self.path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            self.fault(Position(self.name), f"cannot be read: {error}")
            return None
        try:
            table: Any = tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as error:
            at = re.search(r"line (\d+), column (\d+)", str(error))
            place = (int(at[1]), int(at[2])) if at else (1, 1)
            self.fault(Position(self.name, *place), f"is not valid TOML: {error}")
            return None
        if self.prefix:
            self.refuse_other_names((), table)
        for part in self.prefix:
            table = table.get(part, {}) if isinstance(table, dict) else table
        if not isinstance(table, dict):
            self.fault(self.find(), f"{'.'.join(self.prefix)} must be a table")
            return None
        return table

    def refuse_other_names(self, path: tuple[str, ...], table: Mapping[str, Any]) -> None:
        """A table that is meant for us and called otherwise would never be read."""
        for name, value in table.items():
            place = (*path, name)
            if not isinstance(value, dict) or place == self.prefix:
                continue
            if _OUR_NAME.fullmatch(name):
                message = f"[{'.'.join(place)}] is not read, expected [{'.'.join(self.prefix)}]"
                self.fault(self.positions.key(place), message)
            elif not path:
                self.refuse_other_names(place, value)

    def beside(self) -> Path:
        """The directory of the file, in the working tree also where it was read in a copy."""
        folder, copy = Path(os.path.abspath(self.path)).parent, self.copy
        return copy.original_of(folder) if copy and copy.directory in self.path.parents else folder

    def extend(self, value: Any, settings: Settings, extending: tuple[Path, ...]) -> Settings:
        """The settings with those of the file that this one extends."""
        at = self.find("extend")
        if not isinstance(value, str):
            self.fault(at, f"config key 'extend' is {value!r}, expected a path")
            return settings
        spelled = self.path.parent / Path(value).expanduser()
        path = spelled.resolve()
        copy = self.copy
        if copy and self.path.is_relative_to(copy.directory) > path.is_relative_to(copy.directory):
            # Out of the repository, beside which there is nothing of the copy.
            spelled = copy.original_of(self.path.parent) / Path(value).expanduser()
            path = spelled.resolve()
        if path in extending:
            self.fault(at, f"config key 'extend': {value} extends itself")
            return settings
        if not path.is_file():
            self.fault(at, f"config key 'extend': there is no file {value}")
            return settings
        settings = replace(settings, extended=(*settings.extended, spelled))
        return _ConfigFile(path, self.root, copy, self.problems).read(settings, extending)

    # --- tables -------------------------------------------------------------------------------

    def values(
        self,
        table: Mapping[str, Any],
        keys: Mapping[str, Key],
        subject: Callable[[str], str],
        path: tuple[str, ...],
        also: tuple[str, ...] = (),
    ) -> dict[str, Any]:
        """The values of the `keys`. `subject`: what a message calls one; `path`: of the table;
        `also`: names of what is read otherwise. Any other name is a fault."""
        values: dict[str, Any] = {}
        for name, value in table.items():
            if name in keys:
                try:
                    values[name] = keys[name].read(value)
                except WrongValue as error:
                    self.fault(self.find(*path, name), f"{subject(name)} is {error}")
            elif name not in also:
                names = tuple(dict.fromkeys((*keys, *also)))
                hint = did_you_mean(name, names, f"known keys: {', '.join(names)}")
                self.fault(self.find(*path, name), f"unknown config key {name!r}{hint}")
        return values

    def overrides(self, entries: Any) -> list[Override]:
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            message = "config key 'overrides' must be tables: [[tool.nparam-lint.overrides]]"
            self.fault(self.find("overrides"), message)
            return []
        overrides = []
        for number, entry in enumerate(entries):
            path = ("overrides", str(number))
            values = self.values(entry, OVERRIDE, lambda name: f"overrides: key {name!r}", path)
            if values.get("files"):
                overrides.append(Override(**values))
            elif not entry.get("files"):
                message = 'overrides: expected files = ["zoo/**"], the files that they apply to'
                self.fault(self.find(*path), message)
        return overrides

    def budgets(self, table: Any) -> list[Budget]:
        if not isinstance(table, dict):
            self.fault(self.find("budgets"), "config key 'budgets' must be a table")
            return []
        budgets = []
        for key, entry in table.items():
            path = ("budgets", key)
            if isinstance(entry, list) and entry:
                budgets += [self.budget(key, e, (*path, str(n))) for n, e in enumerate(entry)]
            else:
                budgets.append(self.budget(key, entry, path))
        return [budget for budget in budgets if budget is not None]

    def budget(self, key: str, entry: Any, path: tuple[str, ...]) -> Budget | None:
        """One budget of a target. `path`: of the entry, which may be one of a list."""
        at = self.find("budgets", key)
        try:
            target, selector = parse_selected(key)
        except TextError as error:
            self.fault(at, f"budget {key!r}: {error}")
            return None
        is_table = isinstance(entry, dict)
        fields = entry if is_table else {"budget": entry}
        also = ("budget", *RECIPE)
        values = self.values(fields, BUDGET, lambda name: f"budget {key!r}: {name}", path, also)
        declared = fields.get("budget")
        if isinstance(declared, bool) or not isinstance(declared, int | str):
            self.fault(at, f"budget {key!r} is {declared!r}, expected a count or a string")
            return None
        try:
            value = parse_value(str(declared), selector.metric)
        except TextError as error:
            place = (*self.prefix, *path, *(("budget",) if is_table else ()))
            self.fault(self.positions.value(place), f"budget {key!r}: {error}")
            return None
        building = {name: value for name, value in fields.items() if name in RECIPE}
        recipe = self.recipe(key, building, path)
        # As it is written: TOML's `124_475_904` arrives without its underscores.
        text = f"{declared:_}" if isinstance(declared, int) else declared
        return Budget(target, selector, value, text, at, "config", recipe=recipe, **values)

    def recipes(
        self, table: Any
    ) -> tuple[dict[Target, Recipe], dict[Target, Position], list[RecipePattern]]:
        recipes: dict[Target, Recipe] = {}
        positions: dict[Target, Position] = {}
        patterns: list[RecipePattern] = []
        if not isinstance(table, dict):
            self.fault(self.find("arguments"), "config key 'arguments' must be a table")
            return recipes, positions, patterns
        for key, entry in table.items():
            path = ("arguments", key)
            at = self.find(*path)
            fields = entry if isinstance(entry, dict) else {"arguments": entry}
            if "*" in key or "::" not in key:  # files of configs, or a pattern
                recipe = self.recipe(key, fields, path, is_config="::" not in key)
                if recipe is not None:
                    patterns.append(RecipePattern(key, recipe, at))
                continue
            try:
                target = parse_target(key)
                if target.arguments is not None:
                    raise TextError("expected a target without arguments, such as vit.py::ViT")
            except TextError as error:
                self.fault(at, f"arguments of {key!r}: {error}")
                continue
            recipe = self.recipe(key, fields, path)
            if recipe is not None:
                recipes[target], positions[target] = recipe, at
        return recipes, positions, patterns

    def recipe(
        self, key: str, table: Mapping[str, Any], path: tuple[str, ...], is_config: bool = False
    ) -> Recipe | None:
        """How to build the target that is called `key`; None where nothing says so. `is_config`: it
        is a config file, or a pattern of their paths."""
        values = self.values(table, RECIPE, lambda name: f"{name} of {key!r}", path)
        in_file = IN_FILE.match(values.get("call") or "")
        if is_config and "call" in table and "call" in values and not in_file:
            message = f"call of {key!r} is {values['call']!r}, expected FILE.py::CALL, {_EXAMPLE}"
            self.fault(self.find(*path, "call"), message)
        elif is_config and "call" not in table:
            subject = "a config file" if "*" not in key else "a pattern of config files"
            message = f"arguments of {key!r}: {subject} needs a call, {_EXAMPLE}"
            self.fault(self.find(*path), message)
        elif in_file and not is_config:
            message = f"call of {key!r} names a file, which is for config files alone; "
            message += "next: import from it in `setup`"
            self.fault(self.find(*path, "call"), message)
        elif in_file and not (self.root / in_file[1]).is_file():
            self.fault(self.find(*path, "call"), f"call of {key!r}: there is no file {in_file[1]}")
        elif in_file:
            values |= {"file": in_file[1], "call": values["call"][in_file.end() :]}
        if "setup" in values and not {"call", "arguments"} & table.keys():
            message = f'setup of {key!r} needs a call that uses it, such as call = "GPT(c)"'
            self.fault(self.find(*path, "setup"), message)
        return Recipe(**values) if values else None
