"""Paths → what is defined and declared there: the models to build, with their budgets."""

from __future__ import annotations

import dataclasses
import os
import shlex
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from nparam_lint.discover import Discovery, discover
from nparam_lint.discover.claims import comment_budgets, doc_comments
from nparam_lint.discover.claims.docstring_budgets import (
    Declared,
    Malformed,
    mentions,
    parse_docstring,
)
from nparam_lint.discover.definitions import Definition, Problem
from nparam_lint.discover.files import (
    list_configs,
    list_docs,
    list_files,
    list_importable,
    list_texts,
    matcher,
    named_files,
    reader,
)
from nparam_lint.evidence import EvidenceQuery, configs, file_calls, notebooks
from nparam_lint.gate import inside
from nparam_lint.gate.candidates import (
    Candidate,
    ProjectSource,
    candidate_for,
    completed,
    config_lines,
    why_gone,
)
from nparam_lint.gate.rules import lint
from nparam_lint.ground.errors import UsageError
from nparam_lint.ground.facts import digest
from nparam_lint.ground.findings import Finding, finding
from nparam_lint.ground.notation import Target
from nparam_lint.ground.notation.budget import Budget
from nparam_lint.ground.orders import Recipe
from nparam_lint.ground.paths import CONFIG_SUFFIXES, DOC_SUFFIXES, place_of, within
from nparam_lint.ground.time_limit import TooSlow, time_limit
from nparam_lint.ground.values import Origin, Position, Way

if TYPE_CHECKING:
    from nparam_lint.config.session import Session
    from nparam_lint.discover.claims.doc_comments import Bound

_NOTHING_CHECKED = "nothing in it was checked; next: fix it, or `exclude` it in the config"
_BIND = (
    "e.g. `86.6M <!-- nparam: vit.py::vit_b_16 -->`; above a table: "
    "`<!-- nparam: Params = vit.py::{Model} -->`"
)
_FROM_CONFIG = '{ call = "train.py::build_model(path)" }'


def read_source(
    session: Session,
    paths: Sequence[Path],
    *,
    left_out: Sequence[Path] = (),
    declared_only: bool = False,
    dependents: bool = False,
) -> ProjectSource:
    """Find the models under `paths` (the whole project when empty), and what is declared.
    `left_out`: what the config says of these directories is. `dependents`: what is declared
    elsewhere in the project is wanted as well, for `with_dependents` to choose from; then a path
    may be of any kind, or gone."""
    settings, root, copy = session.settings, session.root, session.snapshot
    budgets, unread = budgets_beside(session)
    places = dict.fromkeys(place_of(path, root) for path in paths)
    if dependents:  # others may know what a link leads to by its own name
        for path in paths:
            with suppress(UsageError):
                places[place_of(path.resolve(), root.resolve())] = None
    places = {} if "" in places else places
    tracked = copy.files(root) if copy else None
    below = session.list_below
    there = [path for path in paths if os.path.exists(path)]  # noqa: PTH110
    is_gone = bool(paths) and not there
    files = [] if is_gone else list_files(root, there, settings.exclude, tracked, below)
    importable = copy.files(root, which="importable") if copy else list_importable(root, below)
    elsewhere: set[str] = set()
    if places and dependents:
        elsewhere = set(list_files(root, (), settings.exclude, tracked, below)).difference(files)
    budgeted = {b.target.location for b in budgets if b.target.is_path}
    discovery = discover(
        root,
        [*files, *sorted(elsewhere)],
        importable=importable,
        declared_only=declared_only,
        elsewhere=elsewhere,
        in_full=budgeted & {*files, *elsewhere},
        user_files=named_files(root, there),
        places=tuple(place for place in places if place),
        store=session.store,
        scan=lint.scan_and_lint,
        timeout=settings.timeout,
    )
    session.inputs.add_source(str(session.home), discovery.tree.files, discovery.tree.digest)
    in_scope = within(() if dependents else places)
    is_left = within([place_of(path, root) for path in left_out])
    candidates, findings = declared_candidates(
        discovery, session, budgets, lambda at: in_scope(at) and not (left_out and is_left(at))
    )
    findings += [fault for fault in unread if in_scope(fault.position.path)]
    if copy and copy.absent:
        may_declare = copy.files(root, (".py", *CONFIG_SUFFIXES, *DOC_SUFFIXES), "absent")
        is_excluded = matcher(settings.exclude)
        absent = [at for at in may_declare if in_scope(at) and not is_excluded(at)]
        absent.sort(key=within(places), reverse=True)
        # What is not there may depend on the given paths: it is told at one of them.
        at = next((at for at in (*absent[:1], *places) if within(places)(at)), "")
        findings += [not_fetched(absent, at)] if absent else []
    return ProjectSource(session, files, discovery, candidates, findings, tuple(places), budgets)


def read_targets(session: Session, targets: Sequence[Target]) -> ProjectSource:
    """The source of the files that targets name, with these targets alone as candidates. Raises
    UsageError for a model that is called by its name where no file, or several, define it."""
    settings = session.settings
    budgets, _ = budgets_beside(session)
    locations = dict.fromkeys(target.location for target in targets if target.is_path)
    files = [path for path in locations if not path.endswith(CONFIG_SUFFIXES)]
    discovery = discover(
        session.root, files, in_full=files, store=session.store, timeout=settings.timeout
    )
    by_name: dict[str, Target] = {}
    for target, places in (inside.resolved(target, discovery.tree) for target in targets):
        if not target.built.location:
            name, place = target.built.callable, ", ".join(places[:5]) or "no file"
            step = f"write (in FILE.py::{name})"
            raise UsageError(f"{name} is defined in {place}; to say which is meant, {step}")
        by_name[str(target)] = target
    in_scope = {target.location for target in by_name.values()}.__contains__
    candidates, findings = declared_candidates(discovery, session, budgets, in_scope)
    candidates = [candidate for candidate in candidates if str(candidate.target) in by_name]
    declared = {str(candidate.target) for candidate in candidates}
    candidates += [
        candidate_for(target, Position(target.location), settings, discovery)
        for name, target in by_name.items()
        if name not in declared
    ]
    if unknown := [r for r in candidates if not (r.target.is_importable or r.build.recipe.call)]:
        known_kinds(unknown, discovery, session)
    findings = [f for f in findings if f.target in by_name or f.code == "NPL003"]
    return ProjectSource(session, files, discovery, candidates, findings, budgets=budgets)


def read_alone(session: Session, target: Target) -> ProjectSource:
    """The source of a target's file, with the target as its only candidate, whatever is declared
    for it."""
    files = [target.location] if target.is_path else []
    discovery = discover(session.root, files, in_full=files, store=session.store)
    candidate = candidate_for(target, Position(target.location), session.settings, discovery)
    at = target.location, target.callable
    candidate.definitions = [d for d in discovery.definitions if (d.path, d.qualname) == at]
    return ProjectSource(session, files, discovery, [candidate], [])


def static_findings(source: ProjectSource, definitions_only: bool = False) -> list[Finding]:
    """NPL1xx: what the source shows by itself, of all files or of those that define models."""
    discovery = source.discovery
    files: Iterable[str] = discovery.parsed
    if definitions_only:
        files = sorted({d.path for d in discovery.definitions})
    checked = set(source.files)
    surely = partial(discovery.modules, by_forward=False)
    modules = [(path, surely(path)) for path in files if path in checked]
    return lint.lint_files(discovery.tree, modules, source.settings.timeout)


def declared_candidates(
    discovery: Discovery,
    session: Session,
    budgets: Sequence[Budget],
    in_scope: Callable[[str], bool],
) -> tuple[list[Candidate], list[Finding]]:
    """Every model to build, with its budgets, and the findings about the declarations themselves.
    `budgets`: those that stand outside of source. `in_scope`: whether the config's entries for a
    location are looked at."""
    declared, settings = _Declared(discovery, session, in_scope), session.settings
    for definition in discovery.definitions:
        declared.add_definition(definition)
    declared.add_budgets(budgets)
    commented = declared.add_config_files()
    findings = declared.findings
    for target, at in settings.recipe_positions.items():
        if in_scope(target.location) and (gone := why_gone(target, settings.root, discovery)):
            findings.append(finding("NPL008", at, f"arguments for it: {gone}", str(target)))
    findings += [unreadable(problem, _NOTHING_CHECKED) for problem in discovery.problems]
    unread = (p for p in discovery.unread if p.position.path not in commented)
    findings += [finding("NPL002", p.position, p.message, "") for p in unread]
    return list(declared.candidates.values()), findings


def unreadable(problem: Problem, *detail: str) -> Finding:
    """NPL003 for a file that was not read."""
    fault = finding("NPL003", problem.position, problem.message, "", detail)
    return replace(fault, severity=problem.severity, timed_out=problem.timed_out)


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
        self, discovery: Discovery, session: Session, in_scope: Callable[[str], bool]
    ) -> None:
        self.discovery, self.session, self.in_scope = discovery, session, in_scope
        self.settings = session.settings
        self.candidates: dict[object, Candidate] = {}
        self.findings: list[Finding] = []

    def candidate(self, target: Target, position: Position, key: object = None) -> Candidate:
        """That for a target; one is made where there is none yet."""
        key = key or target
        if key not in self.candidates:
            self.candidates[key] = candidate_for(target, position, self.settings, self.discovery)
        return self.candidates[key]

    def add_definition(self, definition: Definition) -> None:
        """A model, with the budgets in its docstrings."""
        bare = Target(definition.path, definition.qualname)
        self.candidate(bare, definition.position).definitions.append(definition)
        if not definition.docstrings:
            return
        timeout = self.settings.timeout
        try:
            with time_limit(timeout):
                budgets = _docstring_budgets(definition, self.findings)
                budgets = [*filter(None, map(self.hosted, budgets))]
        except TooSlow:
            why = f"took longer than the {timeout:g} s of --timeout"
            message = f"not checked: reading the docstring of {definition.qualname} {why}"
            late = finding("NPL003", definition.position, message, definition.target)
            self.findings.append(replace(late, timed_out=True))
            return
        for budget in budgets:
            self.candidate(budget.target, definition.position).budgets.append(budget)

    def add_budgets(self, budgets: Sequence[Budget]) -> None:
        """What is declared of models outside of their source."""
        for declared in budgets:
            target = declared.target
            if not (self.in_scope(target.location) or self.in_scope(target.built.location)):
                continue
            if gone := why_gone(target, self.settings.root, self.discovery):
                self.findings.append(finding("NPL008", declared.position, gone, str(target)))
            elif entry := self.hosted(declared):
                key = entry.recipe and (entry.target, entry.recipe, entry.device)
                candidate = self.candidate(entry.target, entry.position, key)
                build = candidate.build
                recipe = completed(entry.target, entry.recipe, build.recipe)
                device = entry.device or build.device
                candidate.build = dataclasses.replace(build, recipe=recipe, device=device)
                candidate.budgets.append(entry)

    def hosted(self, budget: Budget) -> Budget | None:
        """The budget; that of a class inside a model with the file of that model. None, and a
        finding, where there is no such model."""
        if budget.target.host is None:
            return budget
        target, files = inside.resolved(budget.target, self.discovery.tree)
        if target.built.location:
            gone = why_gone(target.built, self.settings.root, self.discovery)
        else:
            gone = f"{target.built.callable} is defined in {', '.join(files[:5]) or 'no file'}"
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
        candidates, findings, settings = self.candidates, self.findings, self.settings
        every = _config_files(self.discovery, self.session)
        contents = {at: text for at, text in every.items() if self.in_scope(at)}
        for path, content in contents.items():
            target = Target(path, "")
            budgets: list[Budget] = []
            if text := _claiming(path, content, findings):
                lines, malformed = comment_budgets.parse_comments(path, text)
                findings += [_unread(fault, path, path) for fault in malformed]
                budgets = [_budget(line, target, "comment", path) for line in lines]
            if target in candidates or budgets or settings.recipe(target):
                self.candidate(target, Position(path)).budgets += budgets
        for pattern in settings.patterns:
            if "::" not in pattern.text and not any(map(matcher((pattern.files,)), contents)):
                message = f"no file of the project matches {pattern.text!r}"
                findings.append(finding("NPL008", pattern.position, message, pattern.text))
        apart = (r for r in candidates.values() if not r.target.is_importable)
        unknown = [candidate for candidate in apart if candidate.build.recipe.call is None]
        several = known_kinds(unknown, self.discovery, self.session) if unknown else {}
        for key, candidate in [*candidates.items()]:
            if candidate.target.is_importable:
                continue
            if candidate.build.recipe.call is None:
                at = candidate.budgets[0].position if candidate.budgets else candidate.position
                del candidates[key]
                message = f"how to build a model from {candidate.target} is not known"
                message += several.get(candidate.target.location, "")
                said = config_lines("say how to build it", candidate.target, _FROM_CONFIG, settings)
                if name := candidate.target.callable:
                    step = f"call {name} in a cell with what no data give, or name the arguments"
                    said = (f"next: {step} in the budget: {candidate.target.bare}(…)",)
                findings.append(finding("NPL004", at, message, str(candidate.target), said))
            elif not (candidate.budgets or candidate.target.callable):
                candidate.way = Way("config", candidate.position, str(candidate.target))
        return frozenset(path for path in contents if path.endswith(".py"))


def listed(
    session: Session, kind: Callable[..., list[str]], *more: Callable[..., list[str]]
) -> list[str]:
    """The project's files of some kinds: what functions such as `list_configs` give."""
    root, copy = session.root, session.snapshot
    tracked = copy.files(root, "") if copy else None
    given = root, session.settings.exclude, tracked, session.list_below
    return [at for files_of_kind in (kind, *more) for at in files_of_kind(*given)]


def config_files(session: Session) -> list[str]:
    return listed(session, list_configs)


def config_models(discovery: Discovery, session: Session) -> configs.ConfigModels:
    """The models of the project's config files."""
    paths = listed(session, list_configs, list_texts)
    query = EvidenceQuery(discovery, (), paths, reader(session.root))
    return configs.ConfigModels(file_calls.CalledFiles(query))


def known_kinds(
    candidates: Sequence[Candidate], discovery: Discovery, session: Session
) -> dict[str, str]:
    """Give the candidates for files of a known kind, and for what notebooks define, their recipes;
    and what is said of files that hold several models."""
    several: dict[str, str] = {}
    recipes: dict[Target, Recipe] = {}
    by_target = {candidate.target: candidate for candidate in candidates}
    every = config_models(discovery, session)
    query = every.files.query
    has_files = any(not target.callable for target in by_target)
    for path, models in every.whole() if has_files else ():
        if Target(path, "") not in by_target:
            continue
        if len(models) == 1:
            recipes[Target(path, "")] = models[0][1].recipe
        else:
            names = ", ".join(".".join(map(str, node.keys)) for node, _ in models)
            several[path] = f": it holds {len(models)} of them ({names})"
    inside = {c.target: c.build.recipe.arguments for c in candidates if c.target.callable}
    if inside:
        locations = dict.fromkeys(target.location for target in inside)
        files = [path for path in locations if path in query.other_files]
        session.inputs.add_source(str(session.home), files, lambda at: digest(query.content(at)))
        recipes |= notebooks.recipes_of(every.files.calls, inside)
    for target in by_target.keys() & recipes.keys():
        build = by_target[target].build
        recipe = dataclasses.replace(
            recipes[target],
            input=build.recipe.input,
            experts_per_token=build.recipe.experts_per_token,
        )
        is_way = bool(target.callable)
        changed = dataclasses.replace(build, callable="", recipe=recipe, is_way=is_way)
        by_target[target].build = changed
    return several


def _config_files(discovery: Discovery, session: Session) -> dict[str, bytes]:
    """The content of each config file that a recipe is for, or that may declare a budget."""
    paths = config_files(session)
    contents = dict.fromkeys(paths, b"")
    contents |= _contents([path for path in paths if not path.endswith(".json")], session)
    patterns = session.settings.patterns
    families = tuple(pattern.files for pattern in patterns if "::" not in pattern.text)
    is_member = matcher(families)
    contents = {at: text for at, text in contents.items() if mentions(text) or is_member(at)}
    if claiming := {claim.position.path for claim in discovery.unread}:
        known = {path for path, _ in config_models(discovery, session).whole()}
        contents |= {path: discovery.tree.source(path) for path in claiming & known}
    if families:
        modules = (path for path in discovery.files if not path.endswith("__init__.py"))
        contents |= {path: discovery.tree.source(path) for path in filter(is_member, modules)}
    return contents


def _contents(paths: Sequence[str], session: Session) -> dict[str, bytes]:
    """What is in files that are no source; nothing where one cannot be read."""
    read_file, contents = reader(session.root), dict.fromkeys(paths, b"")
    for path in paths:
        with suppress(OSError):
            contents[path] = read_file(path)
    session.inputs.add_source(str(session.home), paths, lambda path: digest(contents[path]))
    return contents


def budgets_beside(session: Session) -> tuple[tuple[Budget, ...], list[Finding]]:
    """The budgets that stand outside of source: those of the config, and those in the project's
    Markdown and reStructuredText; and the findings about comments there that cannot be read."""
    contents = _contents(listed(session, list_docs), session)
    findings: list[Finding] = []
    budgets = [*session.settings.budgets]
    for path, content in contents.items():
        if text := _claiming(path, content, findings):
            bound, malformed = doc_comments.parse_docs(path, text)
            findings += [_unread(fault, path, path, _BIND) for fault in malformed]
            budgets += [_budget(b, b.target, "docs", path) for b in bound]
    return tuple(budgets), findings


def _claiming(path: str, content: bytes, findings: list[Finding]) -> str:
    """The text of a file that may hold a claim; "" of any other. What is no UTF-8 is a finding."""
    if not mentions(content):
        return ""
    if b"\0" in content:
        fault = Malformed("found null bytes, as UTF-16 has them; expected UTF-8", 1, 1)
        findings.append(_unread(fault, path, path))
        return ""
    return content.decode("utf-8", "replace")


def _docstring_budgets(definition: Definition, findings: list[Finding]) -> list[Budget]:
    """The budgets of a definition's docstrings; what cannot be read is added to the findings."""
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
            budgets.append(_budget(line, target, "docstring", path))
    defined_at = Position(path, definition.line, definition.column)
    return [replace(budget, definition=defined_at) for budget in budgets]


def _budget(declared: Bound | Declared, target: Target, origin: Origin, path: str) -> Budget:
    at = Position(path, declared.line, declared.column)
    value = declared.value
    return Budget(target, declared.selector, value, value.text, at, origin)


def _unread(fault: Malformed, path: str, target: str, *detail: str) -> Finding:
    """NPL002 for a declaration that cannot be read."""
    at = Position(path, fault.line, fault.column)
    return finding("NPL002", at, fault.message, target, detail)
