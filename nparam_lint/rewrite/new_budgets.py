"""What `nparam-lint init` writes: a budget for every model that has none and can be built, as it is
counted today, so that the next check passes."""

from __future__ import annotations

import ast
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from nparam_lint.count.measured import Measured
from nparam_lint.discover.definitions import Definition
from nparam_lint.gate import as_the_project_builds, measure
from nparam_lint.gate.candidates import arguments_entry, select_models
from nparam_lint.gate.reading import read_source
from nparam_lint.gate.ways import config_candidates
from nparam_lint.ground.grouping import grouped
from nparam_lint.ground.notation import Target, read_expression
from nparam_lint.ground.paths import relative_path
from nparam_lint.ground.values import Position, Way
from nparam_lint.rewrite import comment_edits, docstring_edits, number_style, toml_edits
from nparam_lint.rewrite.edits import Edit, EditItem, FileEdit, Leftover, Plan, Unsafe, edit_files

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence
    from pathlib import Path

    from nparam_lint.config.session import Session
    from nparam_lint.gate.candidates import Candidate, ProjectSource, Selection
    from nparam_lint.gate.report import Report
    from nparam_lint.ground.values import Origin

Into = Literal["docstring", "config"]
_NAMED = ("size", "config")  # ways that have a name


class Wishes(Struct, frozen=True):
    """How budgets are to be written. `into`: None is the docstring, and the config where that
    cannot be; `rounded`: with three digits; `every`: also for models inside of others; `only`: for
    the model of this target, and no size of it."""

    into: Into | None = None
    rounded: bool = False
    every: bool = False
    only: str = ""


class _New(EditItem, frozen=True):
    """A budget to write. `edit`: as it stands in the docstring of `definition`, or without one in
    a comment of a config file. `arguments`: of the budget's line. `is_key`: it can stand in the
    config alone."""

    definition: Definition | None
    arguments: str | None = None
    is_key: bool = False


def plan_init(session: Session, paths: Sequence[Path], wishes: Wishes) -> Plan:
    """Measure the models under `paths`, and work out every edit. Nothing is written."""
    source = read_source(session, paths)
    selection = as_the_project_builds(source, select_models(source.candidates))
    configs = {str(candidate.target): candidate for candidate in config_candidates(source)}
    models = [c for c in selection.candidates if c.way is None or c.target.callable]
    selection = replace(selection, candidates=[*models, *configs.values()])
    report = measure(source, selection)
    if report.error:
        return Plan(error=report.error)
    planner = _Planner(source, selection, report, wishes)
    new, leftovers = planner.of_models(configs)
    for budget in _way_budgets(report, selection, wishes.every):
        if budget.reason:
            leftovers.append(_leftover(budget.definition, budget.reason))
        else:
            planned = planner.in_docstring(budget.target, budget.measured, budget.definition)
            is_key = budget.arguments is None
            new.append(_New(planned, budget.definition, budget.arguments, is_key))
    if wishes.only:
        new = [item for item in new if item.edit.model == wishes.only and item.arguments is None]
        leftovers = [item for item in leftovers if item.model == wishes.only]
    plan = _written(new, source, wishes)
    leftovers = [*leftovers, *plan.leftovers, *planner.not_counted()]
    hints = (*_hints(source, planner.definitions, report),)
    held = len(planner.declared)
    return replace(plan, leftovers=tuple(leftovers), held=held, hints=hints)


class _Planner:
    """The budgets of what was counted. `declared`: targets that have one; `definitions`: those of
    the others, by their targets."""

    def __init__(
        self, source: ProjectSource, selection: Selection, report: Report, wishes: Wishes
    ) -> None:
        self.settings, self.selection = source.settings, selection
        self.report, self.wishes = report, wishes
        self.declared = {str(m.target.bare) for m in source.candidates if m.is_declared}
        self.candidates = {str(candidate.target): candidate for candidate in source.candidates}
        self.definitions = {
            target: candidate.definitions[-1]
            for candidate in source.candidates
            if candidate.definitions and (target := str(candidate.target)) not in self.declared
        }

    def edit(self, target: str, measured: Measured, at: Position, origin: Origin) -> Edit:
        count, tolerance = measured.counts.total, self.settings.for_file(at.path).tolerance
        value = number_style.rounded(count, tolerance) if self.wishes.rounded else f"{count:_}"
        return Edit(at, target, "", origin, "", value, count)

    def in_docstring(self, target: str, measured: Measured, definition: Definition) -> Edit:
        because = _uncounted_user(definition.target, self.report)
        planned = self.edit(target, measured, definition.position, "docstring")
        return replace(planned, because=because)

    def of_models(self, configs: Container[str]) -> tuple[list[_New], list[Leftover]]:
        """The budgets of models as they are called without arguments, or as one of the `configs`
        builds them; and what can have none."""
        new: list[_New] = []
        leftovers: list[Leftover] = []
        targets = [c.target for c in self.selection.candidates if c.target.callable]
        in_notebooks = {str(target) for target in targets if not target.is_importable}
        in_notebooks -= self.declared
        for model in self.report.models:
            definition, result = self.definitions.get(model.target), model.measurement
            measured = result if isinstance(result, Measured) and result.counts.total else None
            if model.target in configs and measured:
                new.append(_New(self.edit(model.target, measured, model.position, "comment"), None))
            is_part = not (self.wishes.every or model.top_level)
            if measured and model.target in in_notebooks and not is_part:
                in_notebooks.remove(model.target)  # by its first call
                planned = self.edit(model.target, measured, model.position, "config")
                new.append(_New(planned, None, is_key=True))
            if definition is None or model.way is not None or is_part:
                continue
            # A count that depends on the device cannot be declared.
            reason = next((f.message for f in model.findings if f.code == "NPL006"), None)
            if isinstance(result, Measured):
                used = self.candidates[model.target].used(result)
                reason = reason or (None if used else f"it is defined at {result.definitions[0]}")
                definition = used or definition
            if reason:
                leftovers.append(_leftover(definition, reason))
            elif measured:
                planned = self.in_docstring(model.target, measured, definition)
                new.append(_New(planned, definition))
        return new, leftovers

    def not_counted(self) -> Iterator[Leftover]:
        for target, failure in self.report.skipped:
            if target in self.definitions:
                yield _leftover(self.definitions[target], failure.reason)
        for failed in self.report.failed_ways:
            reason = failed.failure.reason
            yield Leftover(failed.way.position, failed.target, "", "comment", "", reason)


def _uncounted_user(target: str, report: Report) -> str:
    """Of a part of other models, of which none could be counted, the one that stands for itself."""
    users = report.containment.users.get(target, ())
    if any(m.target in users and isinstance(m.measurement, Measured) for m in report.models):
        return ""
    top_users = [user for user in users if user not in report.containment.users]
    names = [user.partition("::")[2] for user in top_users or users]
    return f"inside {names[0]}, which was not counted" if names else ""


def _leftover(definition: Definition, reason: str) -> Leftover:
    return Leftover(definition.position, definition.target, "", "docstring", "", reason)


# --- writing ----------------------------------------------------------------------------------


def _written(new: Sequence[_New], source: ProjectSource, wishes: Wishes) -> Plan:
    """What is written where, and what cannot be."""
    keys = [item for item in new if item.is_key]
    placed = [] if wishes.into == "config" else [item for item in new if not item.is_key]
    placed.sort(key=lambda item: (item.definition is None, item.edit.position.path))
    files, failures = edit_files(placed, source.session, partial(_with_budgets, source=source))
    edits = [item.edit for item in placed if item not in failures]
    leftover_reasons: list[tuple[_New, str]] = []
    for_config = [*new] if wishes.into == "config" else [*failures, *keys]
    if wishes.into == "docstring":
        leftover_reasons = [*(failures | dict.fromkeys(keys, "only the config can say it")).items()]
    elif for_config:
        try:
            file, places = _in_config(for_config, source.session)
            files.append(file)
            edits += [
                replace(item.edit, origin="config", position=places[item.edit.model])
                for item in for_config
            ]
        except Unsafe as error:
            leftover_reasons = [(item, str(error)) for item in for_config]
    leftovers = [
        Leftover(edit.position, edit.model, "", edit.origin, "", reason, edit.count)
        for edit, reason in ((item.edit, reason) for item, reason in leftover_reasons)
    ]
    return Plan(tuple(edits), tuple(leftovers), tuple(files))


def _with_budgets(
    name: str, items: Sequence[_New], source: ProjectSource
) -> tuple[bytes, bytes, Mapping[_New, str]]:
    """A file before and after, and the budgets that it cannot have, with the reason."""
    defined = grouped((item for item in items if item.definition), lambda item: item.definition)
    if defined:
        old = source.discovery.tree.source(name)
        lines = {d: [(i.arguments, i.edit.new) for i in new] for d, new in defined.items() if d}
        text, failed = docstring_edits.add(old, lines)
        comments = (item for item in items if not item.definition)
        reasons = dict.fromkeys(comments, "its file gets budgets in docstrings")
        return old, text, reasons | {i: why for d, why in failed.items() for i in defined[d]}
    old = (source.settings.root / name).read_bytes()
    places = {item.edit.position.line: item.edit.new for item in items}
    try:
        return old, comment_edits.add(name, old.decode(), places).encode(), {}
    except (Unsafe, UnicodeDecodeError) as error:
        return old, old, dict.fromkeys(items, str(error))


def _in_config(items: Sequence[_New], session: Session) -> tuple[FileEdit, Mapping[str, Position]]:
    """The config file with the budgets, and where each stands in it. Raises Unsafe."""
    path, root = session.settings.config, session.root
    if path is None:
        project = root / "pyproject.toml"
        path = project if project.is_file() else root / "nparam-lint.toml"
    name = relative_path(path, root)
    if session.is_outside(path):
        raise Unsafe(f"{name} is outside of the repository")
    values = dict(sorted((item.edit.model, item.edit.new) for item in items))
    try:
        old = path.read_bytes() if path.is_file() else None
        text = toml_edits.add((old or b"").decode("utf-8"), path.name, values)
    except (Unsafe, OSError, UnicodeDecodeError) as error:
        lines = ", ".join(f'"{key}" = {value}' for key, value in values.items())
        raise Unsafe(f"{name} cannot be changed ({error}); add to its budgets: {lines}") from None
    places = {key: Position(name, text.partition(f'"{key}"')[0].count("\n") + 1) for key in values}
    return FileEdit(name, path, old, text.encode("utf-8")), places


# --- ways to build models ---------------------------------------------------------------------
# A line `nparam(arguments): …` in the docstring where the model is called itself, else a key of the
# config that holds the whole call.


class _WayBudget(NamedTuple):
    """A way that a budget is to be declared for, as it is `measured`. `arguments`: those of its
    line in the docstring of `definition`; None: it has none, and `target` is for the config.
    `reason`: why it can have no budget."""

    measured: Measured
    target: str
    arguments: str | None
    definition: Definition
    reason: str = ""


def _way_budgets(report: Report, selection: Selection, every: bool) -> Iterator[_WayBudget]:
    """Those that the repository names; of a model that nothing else builds, the first call.
    `every`: also of models that are parts of others."""
    candidates = {(str(item.target), item.way): item for item in selection.candidates}
    plain_targets = {model.target for model in report.models if model.way is None}
    targets = plain_targets | {m.target for m in report.models if m.way and m.way.kind in _NAMED}
    for model in report.models:
        if model.way is None or "::" not in model.target:
            continue
        candidate = candidates.get((model.target, model.way))
        if candidate is None or not candidate.definitions or not (every or model.top_level):
            continue
        if model.way.kind == "call":
            if model.target in targets:
                continue
            targets.add(model.target)
        elif model.way.kind not in _NAMED:
            continue
        if isinstance(model.measurement, Measured) and model.measurement.counts.total:
            budget = _way_budget(model.way, candidate, model.measurement)
            # Else it is a factory, which gets one of its own.
            if budget.target.removesuffix("()") not in plain_targets:
                yield budget


def _way_budget(way: Way, candidate: Candidate, measured: Measured) -> _WayBudget:
    definition = candidate.used(measured) or candidate.definitions[-1]
    target = candidate.called(measured)
    if target is None:
        reason = f"{way.position} builds it with more than one call: say them in the config (setup)"
        return _WayBudget(measured, str(candidate.target), None, definition, reason)
    nodes = ast.walk(read_expression(f"f({target.arguments})"))
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    here = candidate.location == definition.path or names == {"f"}  # the same in every file
    if here and target.callable == definition.qualname and "\\" not in str(target):
        target = Target(definition.path, definition.qualname, target.arguments)
        return _WayBudget(measured, str(target), target.arguments, definition)
    key = str(target)
    key = key.replace('"', "'") if "'" not in key else key  # it stands in quotes
    return _WayBudget(measured, key, None, definition)


# --- what needs arguments ---------------------------------------------------------------------


def _hints(
    source: ProjectSource, definitions: Mapping[str, Definition], report: Report
) -> Iterator[str]:
    """The lines of config that would say how to build the models that need arguments, and are no
    parts of others."""
    targets = {*report.containment.users, *(model.target for model in report.models)}
    header = ""
    for model in source.candidates:
        target = str(model.target)
        if target not in definitions or target in targets or model.build.recipe.says_how_to_call:
            continue
        required = [p.name for p in definitions[target].parameters or () if p.required]
        if required:
            _, table, line = arguments_entry(model.target, required, source.settings)
            if not header:
                yield (header := table)
            yield line
