"""From definitions and declarations to the models to build."""

from __future__ import annotations

import shlex
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from nparam_lint.cache.store import digest
from nparam_lint.claims import Target
from nparam_lint.claims.docstring_budgets import (
    Malformed,
    declares,
    has_prose_count,
    mentions,
    parse_docstring,
)
from nparam_lint.discover.files import list_configs, list_docs, list_texts, matcher, reader
from nparam_lint.discover.syntax import TooSlow, time_limit
from nparam_lint.judge import finding
from nparam_lint.nearest import did_you_mean
from nparam_lint.records import (
    Budget,
    Containment,
    Measured,
    NotMeasured,
    Position,
    Recipe,
    Shard,
    Way,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from nparam_lint.claims.doc_comments import Bound
    from nparam_lint.claims.docstring_budgets import Declared
    from nparam_lint.config.settings import Settings
    from nparam_lint.discover import Discovery
    from nparam_lint.discover.ways.configs import ConfigModels
    from nparam_lint.records import Definition, Finding, Measurement, NameValue, Origin, Problem

_PLAIN_TYPES = {"int", "float", "str", "bool", "list", "dict", "tuple", "List[int]", "list[int]"}
_BIND = (
    "e.g. `86.6M <!-- nparam: vit.py::vit_b_16 -->`; above a table: "
    "`<!-- nparam: Params = vit.py::{Model} -->`"
)
_OF_THE_CALL = ("arguments_missing", "raised", "refused")
_NOTHING_CHECKED = "nothing in it was checked; next: fix it, or `exclude` it in the config"
_FROM_CONFIG = '{ call = "train.py::build_model(path)" }'
_CONFIG_WORDS = ("conf", "cfg", "arg", "param", "settings", "opt")


@dataclass(slots=True)
class ModelRequest:
    """A model to build: its target, where it is defined or declared, how to build it, and what is
    declared about it. `values`: other values for arguments of the call; `changes`: what to multiply
    whole-number arguments by, and to add; None: the next prime. `parameters`, `variables`: whether
    the answer lists every parameter that the `metric` counts, and the arguments that can be varied;
    `points`: where it is also built with traced numbers, an empty one for its own arguments, none
    begun after so many `seconds`; `origins`: as in `Job`. `because`, `way`: see `ModelReport`.
    `file`: the one whose names the call is written in, where it is not the target's own."""

    target: Target
    position: Position
    recipe: Recipe = field(default_factory=Recipe)
    device: str | None = None
    budgets: list[Budget] = field(default_factory=list)
    definitions: list[Definition] = field(default_factory=list)
    values: Mapping[str, NameValue] = field(default_factory=dict)
    changes: Mapping[str, tuple[int, int | None]] = field(default_factory=dict)
    parameters: bool = False
    metric: str = "total"
    origins: bool = False
    variables: bool = False
    points: Sequence[Mapping[str, NameValue]] = ()
    seconds: float = 0.0
    because: str = ""
    way: Way | None = None
    file: str = ""

    @property
    def built(self) -> Target:
        """What is called to build it."""
        return self.target.built

    @property
    def location(self) -> str:
        """The file, or the installed module, whose names the call is written in."""
        return self.file or self.recipe.file or self.target.built.location

    @property
    def is_file(self) -> bool:
        """Whether the location is a file of the project; otherwise it is an installed module."""
        return Target(self.location, "").is_path

    @property
    def is_declared(self) -> bool:
        """Whether a budget is declared for it; a count mentioned in prose is none."""
        return any(budget.origin != "prose" for budget in self.budgets)

    @property
    def is_open(self) -> bool:
        """Whether nobody says how to build it, so that a way of the project may stand for it."""
        is_named = self.target.arguments is None and self.target.is_path
        return is_named and not (self.budgets or self.recipe.says_how_to_call)

    def needs_way(self, answer: Measurement) -> bool:
        """Whether it failed as it is named, and another call may build it."""
        failed_call = isinstance(answer, NotMeasured) and answer.cause in _OF_THE_CALL
        return failed_call and self.is_open and self.target.host is None

    def used(self, measured: Measured) -> Definition | None:
        """The definition that was built, of those that the name has in its file."""
        places = measured.definitions
        return next((d for d in self.definitions if f"{d.path}:{d.line}" in places), None)


@dataclass(frozen=True, slots=True)
class ProjectSource:
    """The result of reading some files, before anything is built: the models to build, with their
    budgets, and the findings about the declarations themselves. `places`: the paths that were
    given, relative to the root; empty where these are the whole project."""

    settings: Settings
    files: Sequence[str]
    found: Discovery
    requests: Sequence[ModelRequest]
    findings: Sequence[Finding]
    places: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Selection:
    """The models to build. `skipped`: (target, why) of those that are left out. `skip_failures`:
    a model without a budget that cannot be built joins them. `ways_left`, `containment`: see
    `Report`; `shard`: which part of a run they are."""

    requests: Sequence[ModelRequest] = ()
    skipped: Sequence[tuple[str, NotMeasured]] = ()
    skip_failures: bool = True
    ways_left: tuple[tuple[str, int], ...] = ()
    findings: Sequence[Finding] = ()
    containment: Containment = field(default_factory=Containment)
    shard: Shard | None = None


def request_model(
    target: Target, position: Position, settings: Settings, found: Discovery
) -> ModelRequest:
    """The request for a target; its recipe is the one of the config's `arguments` table, with the
    arguments that the target itself names; of a class inside a model, that of the model."""
    built = target.built
    recipe = settings.recipe(built.bare) or Recipe()
    arguments = recipe.arguments if built.arguments is None else built.arguments
    if arguments is not None:
        recipe = _with_arguments(built.callable, arguments, recipe)
    defined_at = found.positions.get((target.location, target.callable), position)
    return ModelRequest(target, defined_at, recipe)


def declared_requests(
    found: Discovery, settings: Settings, in_scope: Callable[[str], bool]
) -> tuple[list[ModelRequest], list[Finding]]:
    """Every model to build, with its budgets, and the findings about the declarations themselves.
    `in_scope`: whether the config's entries for a location are looked at."""
    declared = _Declared(found, settings, in_scope)
    for definition in found.definitions:
        declared.add_definition(definition)
    declared.add_config_budgets()
    commented = declared.add_config_files()
    findings = declared.findings
    for target, at in settings.recipe_positions.items():
        if in_scope(target.location) and (gone := why_gone(target, settings.root, found)):
            findings.append(finding("NPL008", at, f"arguments for it: {gone}", str(target)))
    findings += [unreadable(problem, _NOTHING_CHECKED) for problem in found.problems]
    unread = (p for p in found.unread if p.position.path not in commented)
    findings += [finding("NPL002", p.position, p.message, "") for p in unread]
    return list(declared.requests.values()), findings


def unreadable(problem: Problem, *detail: str) -> Finding:
    """NPL003 for a file that was not read."""
    found = finding("NPL003", problem.position, problem.message, "", detail)
    return replace(found, severity=problem.severity, timed_out=problem.timed_out)


def not_fetched(paths: Sequence[str], at: str) -> Finding:
    """NPL003 for files that a partial clone lacks, in which budgets may stand; told at `at`."""
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    message = f"not checked: {paths[0]}{more}, outside of the sparse checkout, not in this clone"
    place = shlex.quote(paths[0].rpartition("/")[0] or paths[0])
    step = f"next: git sparse-checkout add {place}, or `exclude` it in the config"
    return finding("NPL003", Position(at), message, "", [step])


class _Declared:
    """What is declared, as it is read: the models to build, by their targets (or by these and how
    a budget of the config says to build them); and what is wrong with the declarations."""

    def __init__(
        self, found: Discovery, settings: Settings, in_scope: Callable[[str], bool]
    ) -> None:
        self.found, self.settings, self.in_scope = found, settings, in_scope
        self.requests: dict[object, ModelRequest] = {}
        self.findings: list[Finding] = []

    def request(self, target: Target, position: Position, key: object = None) -> ModelRequest:
        """That for a target; one is made where there is none yet."""
        key = key or target
        if key not in self.requests:
            self.requests[key] = request_model(target, position, self.settings, self.found)
        return self.requests[key]

    def add_definition(self, definition: Definition) -> None:
        """A model, with the budgets in its docstrings."""
        position = Position(definition.path, definition.line, definition.column)
        bare = Target(definition.path, definition.qualname)
        self.request(bare, position).definitions.append(definition)
        if not definition.docstrings:
            return
        timeout = self.settings.timeout
        try:
            with time_limit(timeout):
                budgets = _docstring_budgets(definition, self.findings)
                budgets = [own for budget in budgets if (own := self.hosted(budget))]
        except TooSlow:
            why = f"took longer than the {timeout:g} s of --timeout"
            message = f"not checked: reading the docstring of {definition.qualname} {why}"
            late = finding("NPL003", position, message, definition.target)
            self.findings.append(replace(late, timed_out=True))
            return
        for budget in budgets:
            self.request(budget.target, position).budgets.append(budget)

    def add_config_budgets(self) -> None:
        for declared in self.settings.budgets:
            target = declared.target
            if not (self.in_scope(target.location) or self.in_scope(target.built.location)):
                continue
            if gone := why_gone(target, self.settings.root, self.found):
                self.findings.append(finding("NPL008", declared.position, gone, str(target)))
            elif entry := self.hosted(declared):
                key = entry.recipe and (entry.target, entry.recipe, entry.device)
                request = self.request(entry.target, entry.position, key)
                request.recipe = _completed(entry.target, entry.recipe, request.recipe)
                request.device = entry.device or request.device
                request.budgets.append(entry)

    def hosted(self, budget: Budget) -> Budget | None:
        """The budget; that of a class inside a model with the file of that model. None, and a
        finding, where there is no such model."""
        if budget.target.host is None:
            return budget
        from nparam_lint.gate.inside import files_with, resolved  # few projects have any

        tree = self.found.tree
        target, files = resolved(budget.target, tree), list[str]()
        if target.built.location:
            gone = why_gone(target.built, self.settings.root, self.found)
        else:
            name = target.built.callable
            files = files_with(name, target.location, tree)
            gone = f"{name} is defined in {', '.join(files[:5]) or 'no file'}"
        if gone is None:
            return replace(budget, target=target)
        step = f"next: name a model that contains {target.callable}, or delete the budget"
        if files:
            step = f"next: name its file: (in {files[0]}::{target.built.callable})"
        code = "NPL002" if files else "NPL008"
        self.findings.append(finding(code, budget.position, gone, str(target), [step]))
        return None

    def add_config_files(self) -> frozenset[str]:
        """The config files that are targets: by a recipe, or because a comment declares a budget.
        Gives those that are Python, whose comments were read."""
        requests, findings, settings = self.requests, self.findings, self.settings
        every = _config_files(self.found, settings)
        contents = {at: text for at, text in every.items() if self.in_scope(at)}
        for path, content in contents.items():
            target = Target(path, "")
            budgets = _comment_budgets(target, content, findings)
            if target in requests or budgets or settings.recipe(target):
                self.request(target, Position(path)).budgets += budgets
        for pattern in settings.patterns:
            if "::" not in pattern.text and not any(map(matcher([pattern.files]), contents)):
                message = f"no file of the project matches {pattern.text!r}"
                findings.append(finding("NPL008", pattern.position, message, pattern.text))
        unknown = [r for r in requests.values() if not (r.target.callable or r.recipe.call)]
        several = known_kinds(unknown, self.found, settings) if unknown else {}
        for key, request in [*requests.items()]:
            if request.target.callable:
                continue
            if request.recipe.call is None:
                at = request.budgets[0].position if request.budgets else request.position
                del requests[key]
                message = f"how to build a model from {request.target} is not known"
                message += several.get(request.target.location, "")
                said = _config_lines("say how to build it", request.target, _FROM_CONFIG, settings)
                findings.append(finding("NPL004", at, message, str(request.target), said))
            elif not request.budgets:
                request.way = Way("config", request.position, str(request.target))
        return frozenset(path for path in contents if path.endswith(".py"))


def listed(
    settings: Settings, kind: Callable[..., list[str]], *more: Callable[..., list[str]]
) -> list[str]:
    """The project's files of some kinds: what functions such as `list_configs` give."""
    root, copy = settings.root, settings.snapshot
    tracked = copy.files(root, "") if copy else None
    kinds = (kind, *more)
    return [at for one in kinds for at in one(root, settings.exclude, tracked, settings.below)]


def config_models(found: Discovery, settings: Settings) -> ConfigModels:
    """The models of the project's config files."""
    from nparam_lint.discover.ways.configs import ConfigModels  # few runs ask for them

    paths, texts = listed(settings, list_configs), partial(listed, settings, list_texts)
    return ConfigModels(found, paths, reader(settings.root), texts)


def known_kinds(
    requests: Sequence[ModelRequest], found: Discovery, settings: Settings
) -> dict[str, str]:
    """Give the requests for files of a known kind their recipes; and what is said of files that
    hold several models."""
    several: dict[str, str] = {}
    by_path = {request.target.location: request for request in requests}
    for path, models in config_models(found, settings).whole():
        if path not in by_path:
            continue
        if len(models) == 1:
            own, known = by_path[path].recipe, models[0].recipe
            by_path[path].recipe = replace(
                known, input=own.input, experts_per_token=own.experts_per_token
            )
        else:
            names = ", ".join(".".join(map(str, model.node.keys)) for model in models)
            several[path] = f": it holds {len(models)} of them ({names})"
    return several


def _config_files(found: Discovery, settings: Settings) -> dict[str, bytes]:
    """The content of each config file that a recipe is for, or that may declare a budget."""
    others = listed(settings, list_configs)
    contents = dict.fromkeys(others, b"")
    contents |= _contents([path for path in others if not path.endswith(".json")], settings)
    families = [pattern.files for pattern in settings.patterns if "::" not in pattern.text]
    is_member = matcher(families)
    contents = {at: text for at, text in contents.items() if mentions(text) or is_member(at)}
    if claiming := {claim.position.path for claim in found.unread}:
        known = {path for path, _ in config_models(found, settings).whole()}
        contents |= {path: found.tree.source(path) for path in claiming & known}
    if families:
        modules = (path for path in found.files if not path.endswith("__init__.py"))
        contents |= {path: found.tree.source(path) for path in filter(is_member, modules)}
    return contents


def _contents(paths: Sequence[str], settings: Settings) -> dict[str, bytes]:
    """What is in files that are no source; nothing where one cannot be read."""
    read, contents = reader(settings.root), dict.fromkeys(paths, b"")
    for path in paths:
        with suppress(OSError):
            contents[path] = read(path)
    if settings.replay_inputs:
        home = str(settings.home)
        settings.replay_inputs.add_source(home, paths, lambda path: digest(contents[path]))
    return contents


def with_doc_claims(settings: Settings) -> tuple[Settings, list[Finding]]:
    """The settings with the budgets in the project's Markdown and reStructuredText beside those of
    the config; and the findings about comments there that cannot be read."""
    contents = _contents(listed(settings, list_docs), settings)
    findings: list[Finding] = []
    budgets = [*settings.budgets]
    for path, text in contents.items():
        budgets += _doc_budgets(path, text, findings)
    return replace(settings, budgets=tuple(budgets)), findings


def _doc_budgets(path: str, content: bytes, findings: list[Finding]) -> list[Budget]:
    """The budgets in a text's comments; what cannot be read is added to the findings."""
    if not (text := _claiming(path, content, findings)):
        return []
    from nparam_lint.claims.doc_comments import parse_docs  # few projects have any

    found, malformed = parse_docs(path, text)
    findings += [_unread(fault, path, path, _BIND) for fault in malformed]
    return [_budget(one, one.target, "docs", path, one.value.text) for one in found]


def _claiming(path: str, content: bytes, findings: list[Finding]) -> str:
    """The text of a file that may hold a claim; "" of any other. What is no UTF-8 is a finding."""
    if not mentions(content):
        return ""
    if b"\0" in content:
        fault = Malformed("found null bytes, as UTF-16 has them; expected UTF-8", 1, 1)
        findings.append(_unread(fault, path, path))
        return ""
    return content.decode("utf-8", "replace")


def _comment_budgets(target: Target, content: bytes, findings: list[Finding]) -> list[Budget]:
    """The budgets in a config file's comments; what cannot be read is added to the findings."""
    path = target.location
    if not (text := _claiming(path, content, findings)):
        return []
    from nparam_lint.claims.comment_budgets import parse_comments  # few have any

    declared, malformed = parse_comments(path, text)
    findings += [_unread(fault, path, path) for fault in malformed]
    return [_budget(line, target, "comment", path, line.text) for line in declared]


def _docstring_budgets(definition: Definition, findings: list[Finding]) -> list[Budget]:
    """The budgets and the claims in prose of a definition's docstrings; what cannot be read is
    added to the findings."""
    path, name = definition.path, definition.qualname
    budgets: list[Budget] = []
    for lines in definition.docstrings:
        declared, malformed = parse_docstring(lines)
        findings += [_unread(fault, path, definition.target) for fault in malformed]
        for line in declared:
            if line.host and definition.kind == "factory":
                message = f"found `(in {line.host})` in the docstring of a function, expected it in"
                message += " that of a class: what a function made cannot be told inside a model"
                fault = Malformed(message, line.line, line.column)
                findings.append(_unread(fault, path, definition.target))
                continue
            target = Target(path, name, line.arguments, line.host)
            budgets.append(_budget(line, target, "docstring", path, line.text))
        if has_prose_count(lines):
            from nparam_lint.claims.prose import find_claims  # dozens of patterns

            target = Target(path, name)
            budgets += [_budget(one, target, "prose", path, one.text) for one in find_claims(lines)]
    defined_at = Position(path, definition.line, definition.column)
    return [replace(budget, definition=defined_at) for budget in budgets]


def _budget(
    found: Bound | Declared, target: Target, origin: Origin, path: str, text: str
) -> Budget:
    at = Position(path, found.line, found.column)
    return Budget(target, found.selector, found.value, text, at, origin)


def _unread(fault: Malformed, path: str, target: str, *detail: str) -> Finding:
    """NPL002 for a declaration that cannot be read."""
    at = Position(path, fault.line, fault.column)
    return finding("NPL002", at, fault.message, target, detail)


def _with_arguments(callable: str, arguments: str, recipe: Recipe) -> Recipe:
    """The recipe with other arguments. Where it has a setup, they may use the names made there."""
    if recipe.setup is None:
        return replace(recipe, arguments=arguments, call=None)
    return replace(recipe, arguments=None, call=f"{callable}({arguments})")


def _completed(target: Target, own: Recipe | None, base: Recipe) -> Recipe:
    """A budget's own recipe; what it lacks is taken from `base`."""
    if own is None:
        return base
    recipe = base
    if own.call is not None:
        recipe = replace(own, setup=own.setup or base.setup)
    elif own.arguments is not None:
        recipe = _with_arguments(target.built.callable, own.arguments, base)
    return replace(
        recipe,
        input=own.input or base.input,
        experts_per_token=own.experts_per_token or base.experts_per_token,
    )


def why_gone(target: Target, root: Path, found: Discovery) -> str | None:
    """Why a target that the config names no longer exists; None where it does, and for an installed
    package, which only the worker can ask."""
    if not target.is_path:
        return None
    if not (root / target.location).is_file():
        hint = did_you_mean(target.location, found.tree.files)
        return f"there is no file {target.location}{hint}"
    names = found.names(target.location)
    first = target.callable.split(".")[0]
    if first and names and first not in names and "__getattr__" not in names:
        return f"{target.location} has no {first!r}{did_you_mean(first, names)}"
    return None


# --- which of them are built ------------------------------------------------------------------


def select_models(requests: Sequence[ModelRequest], declared_only: bool = False) -> Selection:
    """The models to build. A model without a budget whose required arguments are not provided is
    skipped: building it could only fail. `declared_only`: all models without a budget are
    skipped."""
    if declared_only:
        return Selection([request for request in requests if request.is_declared])
    failures = [(request, _lacks_arguments(request)) for request in requests]
    return Selection(
        [request for request, failure in failures if failure is None],
        [(str(request.target), failure) for request, failure in failures if failure],
    )


def one_reason(request: ModelRequest, answer: Measurement) -> Measurement:
    """The answer with the reason that a check of the whole project gives, which does not build what
    lacks arguments, and does not get to know what else is wrong: that is told beside."""
    if isinstance(answer, Measured) or answer.cause in ("no_worker", "unreadable"):
        return answer
    was_called = answer.code in ("NPL004", "NPL009") and answer.cause != "arguments_missing"
    failure = None if was_called else _lacks_arguments(request)
    if failure is None:
        return answer
    besides = f"besides: {answer.reason}" + (f" ({answer.hint})" if answer.hint else "")
    return replace(failure, hint=None if answer.missing else besides, notes=answer.notes)


def may_be_built(definition: Definition, settings: Settings) -> bool:
    """Whether a definition alone shows that it is built: it needs no arguments that nobody says, or
    declares how it is built."""
    recipe = settings.arguments.get(Target(definition.path, definition.qualname), Recipe())
    is_declared = any(map(declares, definition.docstrings))
    return is_declared or recipe.says_how_to_call or not _required(definition)


def _lacks_arguments(request: ModelRequest) -> NotMeasured | None:
    """The failure of a model without a budget that needs arguments which nobody provides."""
    if request.budgets or request.recipe.says_how_to_call or not request.definitions:
        return None
    # Of several of one name, nobody knows yet which is used.
    missing = min(map(_required, request.definitions), key=len)
    reason = f"{request.target.callable} needs {', '.join(missing)}"
    failure = NotMeasured("NPL004", reason, missing=tuple(missing), cause="arguments_missing")
    return failure if missing else None


def _required(definition: Definition) -> list[str]:
    """The arguments without which it cannot be built. A single one may be a config object: the
    worker tries that."""
    required = [p for p in definition.parameters or () if p.required]
    if len(required) == 1:
        name, annotation = required[0].name.lower(), required[0].annotation or "int"
        if any(word in name for word in _CONFIG_WORDS) or annotation not in _PLAIN_TYPES:
            return []
    return [parameter.name for parameter in required]


_Key = tuple[Target, Recipe | None, str | None]


def requests_of_other_revision(
    source: ProjectSource, other: ProjectSource, moved: Mapping[str, str]
) -> list[ModelRequest]:
    """The models that `other`, the source at another revision, builds with arguments or by a
    budget's recipe, if this source has them too and does not build them that way itself. `moved`:
    files of the other revision → their path in this one, where it differs."""
    own: set[_Key] = {(request.target, None, None) for request in source.requests}
    own |= {(entry.target, entry.recipe, entry.device) for entry in source.settings.budgets}
    targets = [request.target for request in other.requests]
    keys: list[_Key] = [(t, None, None) for t in targets if t.arguments is not None]
    keys += [(target, None, None) for target in targets if not target.is_path]
    keys += [
        (entry.target, entry.recipe, entry.device)
        for entry in other.settings.budgets
        if entry.recipe is not None and entry.target in targets
    ]
    settings, found = source.settings, source.found
    added: dict[_Key, ModelRequest] = {}
    for target, recipe, device in keys:
        here = replace(target, location=moved.get(target.location, target.location))
        if (here, recipe, device) in own or why_gone(here, settings.root, found):
            continue
        request = request_model(here, Position(here.location), settings, found)
        request.recipe, request.device = _completed(here, recipe, request.recipe), device
        added[here, recipe, device] = request
    return list(added.values())


# --- lines to add to the config ---------------------------------------------------------------


def arguments_entry(target: Target, missing: Sequence[str], settings: Settings) -> tuple[str, ...]:
    """The lines of config that provide missing arguments: a sentence, the table's header, and the
    entry; nothing where none are missing."""
    if not missing:
        return ()
    values = ", ".join(f"{name}=…" for name in missing)
    return _config_lines("say how to build it", target, f'"{values}"', settings)


def filled_entry(target: Target, arguments: str, settings: Settings) -> tuple[str, ...]:
    """The same, with values; `…` for those to fill in."""
    text = f"'{arguments}'" if '"' in arguments else f'"{arguments}"'
    said = "To count what needs arguments, say how to build it"
    return _config_lines(said, target, text, settings)


def experts_entry(target: Target, settings: Settings) -> tuple[str, ...]:
    """The lines of config that say how many experts a token uses."""
    target = target.built
    at = settings.recipe_positions.get(target.bare)
    if at is not None:
        return (f"add experts_per_token = … to its entry at {at}",)
    value = "{ experts_per_token = … }"
    return _config_lines("say how many a token uses", target, value, settings)


def _config_lines(what: str, target: Target, value: str, settings: Settings) -> tuple[str, ...]:
    target = target.built
    name = settings.config.name if settings.config else "pyproject.toml"
    return (
        f"{what}, in {name}:",
        "[tool.nparam-lint.arguments]" if name == "pyproject.toml" else "[arguments]",
        f'"{target.bare}" = {value}',
    )
