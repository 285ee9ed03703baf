"""What `nparam-lint init` writes: a budget for every model that has none and can be built, as it is
counted today, so that the next check passes."""

from __future__ import annotations

import ast
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from nparam_lint.discover.syntax import dotted_name
from nparam_lint.gate import RunContext, as_the_project_builds, measure, read_source
from nparam_lint.gate.requests import arguments_entry, select_models
from nparam_lint.gate.ways import config_requests
from nparam_lint.records import Measured, Position
from nparam_lint.report.style import grouped
from nparam_lint.rewrite import comment_edits, docstring_edits, number_style, toml_edits
from nparam_lint.rewrite.docstring_edits import parsed
from nparam_lint.rewrite.edits import Edit, FileEdit, Left, Plan, Unsafe, edit_files, is_outside
from nparam_lint.rewrite.way_budgets import way_budgets

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from nparam_lint.claims import Target
    from nparam_lint.config.settings import Settings
    from nparam_lint.gate import Progress
    from nparam_lint.gate.requests import ProjectSource
    from nparam_lint.records import Definition, Origin, Report

Into = Literal["docstring", "config"]


@dataclass(frozen=True, slots=True)
class Wishes:
    """How budgets are to be written. `into`: None is the docstring, and the config where that
    cannot be; `rounded`: with three digits; `every`: also for models inside of others; `only`: for
    the model of this target, and no size of it."""

    into: Into | None = None
    rounded: bool = False
    every: bool = False
    only: str = ""


@dataclass(frozen=True, slots=True)
class _New:
    """A budget to write. `definition`: the one whose docstring it is for; None: that of a config
    file, for a comment at its `place`. `arguments`: of the budget's line. `is_key`: it can stand in
    the config alone. `because`: why a part of another model gets one."""

    place: Position
    target: str
    count: int
    value: str
    definition: Definition | None = None
    arguments: str | None = None
    is_key: bool = False
    because: str = ""

    def edit(self, origin: Origin, position: Position) -> Edit:
        because = self.because
        return Edit(position, self.target, "", origin, "", self.value, self.count, because=because)


def plan_init(
    settings: Settings,
    paths: Sequence[Path],
    wishes: Wishes,
    environ: Mapping[str, str],
    progress: Progress | None = None,
) -> Plan:
    """Measure the models under `paths`, and work out every edit. Nothing is written."""
    source = read_source(settings, paths)
    selection = select_models(source.requests)
    configs = {str(request.target): request for request in config_requests(source)}
    selection = as_the_project_builds(source, selection)
    others = [r for r in selection.requests if r.way is None or r.target.callable]
    selection = replace(selection, requests=[*others, *configs.values()])
    report = measure(source, selection, RunContext(settings, environ, progress))
    if report.error:
        return Plan(error=report.error)
    declared = {str(model.target.bare) for model in source.requests if model.is_declared}
    definitions = {
        str(m.target): m.definitions[-1]
        for m in source.requests
        if m.definitions and str(m.target) not in declared
    }
    requests = {str(request.target): request for request in source.requests}
    new: list[_New] = []
    left: list[Left] = []
    for model in report.models:
        definition, measured = definitions.get(model.target), model.measurement
        if model.target in configs and isinstance(measured, Measured) and measured.counts.total:
            new.append(_new(model.position, model.target, measured, settings, wishes))
        is_part = not (wishes.every or model.top_level)
        if definition is None or model.way is not None or is_part:
            continue
        # A count that depends on the device cannot be declared.
        reason = next((f.message for f in model.findings if f.code == "NPL006"), None)
        if isinstance(measured, Measured):
            used = requests[model.target].used(measured)
            reason = reason or (None if used else f"it is defined at {measured.definitions[0]}")
            definition = used or definition
        if reason:
            left.append(_left(definition, reason))
        elif isinstance(measured, Measured) and measured.counts.total:
            item = _new(_place(definition), model.target, measured, settings, wishes)
            because = _uncounted_user(model.target, report)
            new.append(replace(item, definition=definition, because=because))
    for one in way_budgets(report.models, selection.requests, wishes.every):
        measured = one.model.measurement
        if one.reason or not isinstance(measured, Measured):
            left.append(_left(one.definition, one.reason))
            continue
        is_key, place = one.arguments is None, _place(one.definition)
        item = _new(place, one.target, measured, settings, wishes)
        because = _uncounted_user(one.definition.target, report)
        new.append(
            replace(
                item,
                definition=one.definition,
                arguments=one.arguments,
                is_key=is_key,
                because=because,
            )
        )
    if wishes.only:
        new = [one for one in new if one.target == wishes.only and one.arguments is None]
        left = [one for one in left if one.model == wishes.only]
    hints = _hints(source, definitions, {model.target for model in report.models})
    edits, files, lost = _written(new, source, wishes, environ)
    left += lost
    left += [
        _left(definitions[target], failure.reason)
        for target, failure in report.skipped
        if target in definitions
    ]
    left += [
        Left(one.way.position, one.target, "", "comment", "", one.failure.reason)
        for one in report.failed_ways
    ]
    return Plan(edits, tuple(left), files, len(declared), hints=tuple(hints))


def _new(
    place: Position, target: str, measured: Measured, settings: Settings, wishes: Wishes
) -> _New:
    count, tolerance = measured.counts.total, settings.for_file(place.path).tolerance
    value = number_style.rounded(count, tolerance) if wishes.rounded else f"{count:_}"
    return _New(place, target, count, value)


def _uncounted_user(target: str, report: Report) -> str:
    """Of a part of other models, of which none could be counted, the one that stands for itself."""
    users = report.containment.users.get(target, ())
    own = [user for user in users if user not in report.containment.users]
    names = [user.partition("::")[2] for user in own or users]
    return f"inside {names[0]}, which was not counted" if names else ""


def _left(definition: Definition, reason: str) -> Left:
    return Left(_place(definition), definition.target, "", "docstring", "", reason)


def _place(definition: Definition) -> Position:
    return Position(definition.path, definition.line, definition.column)


# --- writing ----------------------------------------------------------------------------------


def _written(
    new: Sequence[_New], source: ProjectSource, wishes: Wishes, environ: Mapping[str, str]
) -> tuple[tuple[Edit, ...], tuple[FileEdit, ...], list[Left]]:
    def in_docstrings(name: str, items: Sequence[_New]) -> tuple[bytes, bytes, Mapping[_New, str]]:
        own = grouped((item for item in items if item.definition), lambda item: item.definition)
        old = source.found.tree.source(name)
        lines = {d: [(i.arguments, i.value) for i in those] for d, those in own.items() if d}
        text, failed = docstring_edits.add(old, lines)
        return old, text, {item: reason for d, reason in failed.items() for item in own[d]}

    def in_comments(name: str, items: Sequence[_New]) -> tuple[bytes, bytes, Mapping[_New, str]]:
        old = (source.settings.root / name).read_bytes()
        places = {item.place.line: item.value for item in items}
        try:
            return old, comment_edits.add(name, old.decode(), places).encode(), {}
        except (Unsafe, UnicodeDecodeError) as error:
            return old, old, dict.fromkeys(items, str(error))

    root = source.settings.root
    placed: list[tuple[str, _New]] = []
    if wishes.into != "config":
        ordered = sorted(new, key=lambda item: item.place.path)
        placed = [(item.place.path, item) for item in ordered if not item.is_key]
    defined = [(path, item) for path, item in placed if item.definition]
    files, failed = edit_files(defined, root, environ, in_docstrings)
    others = [(path, item) for path, item in placed if not item.definition]
    more, unwritten = edit_files(others, root, environ, in_comments)
    files, failed = [*files, *more], {**failed, **unwritten}
    written = [item for _, item in (*defined, *others) if item not in failed]
    edits = [i.edit("docstring" if i.definition else "comment", i.place) for i in written]
    left: list[Left] = []
    if wishes.into == "docstring":
        left += [_unwritten(item, reason) for item, reason in failed.items()]
        left += [_unwritten(item, "only the config can say it") for item in new if item.is_key]
    for_config = [*(new if wishes.into == "config" else failed if wishes.into is None else ())]
    for_config += [item for item in new if item.is_key and wishes.into is None]
    if for_config:
        try:
            file, places = _in_config(for_config, source.settings, environ)
            files.append(file)
            edits += [item.edit("config", places[item.target]) for item in for_config]
        except Unsafe as error:
            left += [_unwritten(item, str(error)) for item in for_config]
    return tuple(edits), tuple(files), left


def _unwritten(item: _New, reason: str) -> Left:
    origin: Origin = "docstring" if item.definition else "comment"
    return Left(item.place, item.target, "", origin, "", reason, item.count)


def _in_config(
    items: Sequence[_New], settings: Settings, environ: Mapping[str, str]
) -> tuple[FileEdit, Mapping[str, Position]]:
    """The config file with the budgets, and where each stands in it. Raises Unsafe."""
    path = settings.config
    if path is None:
        project = settings.root / "pyproject.toml"
        path = project if project.is_file() else settings.root / "nparam-lint.toml"
    name = os.path.relpath(path, settings.root).replace(os.sep, "/")
    if is_outside(path, settings.root, environ):
        raise Unsafe(f"{name} is outside of the repository")
    values = dict(sorted((item.target, item.value) for item in items))
    try:
        old = path.read_bytes() if path.is_file() else None
        text = toml_edits.add((old or b"").decode("utf-8"), toml_edits.table_of(path.name), values)
    except (Unsafe, OSError, UnicodeDecodeError) as error:
        lines = ", ".join(f'"{key}" = {value}' for key, value in values.items())
        raise Unsafe(f"{name} cannot be changed ({error}); add to its budgets: {lines}") from None
    places = {key: Position(name, text.partition(f'"{key}"')[0].count("\n") + 1) for key in values}
    return FileEdit(name, path, old, text.encode("utf-8")), places


# --- what needs arguments ---------------------------------------------------------------------


def _hints(
    source: ProjectSource, definitions: Mapping[str, Definition], measured: set[str]
) -> Iterator[str]:
    """The lines of config that would say how to build the models that need arguments. What a class
    of the project builds is a part of it, and no model to begin with."""
    needy: dict[Target, list[str]] = {}
    for model in source.requests:
        definition = definitions.get(str(model.target))
        if definition is not None and str(model.target) not in measured:
            required = [p.name for p in definition.parameters or () if p.required]
            if required and not model.recipe.says_how_to_call:
                needy[model.target] = required
    if not needy:
        return
    parts = {
        name for path in source.found.parsed for name in _parts(source.found.tree.source(path))
    }
    header = ""
    for target, required in needy.items():
        if target.callable.rpartition(".")[2] not in parts:
            _, table, line = arguments_entry(target, required, source.settings)
            if not header:
                yield (header := table)
            yield line


def _parts(source: bytes) -> Iterator[str]:
    """The names that the classes of a file call, each its own excepted."""
    try:
        tree = parsed(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for owner in ast.walk(tree):
        if isinstance(owner, ast.ClassDef):
            for node in ast.walk(owner):
                if isinstance(node, ast.Call):
                    name = dotted_name(node.func).rpartition(".")[2]
                    yield from [name] if name != owner.name else ()
