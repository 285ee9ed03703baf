"""The program, in the order in which data flows: discover → declare → count → judge → report."""

from __future__ import annotations

import difflib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from nparam_lint import __version__
from nparam_lint.claims.docstring_budgets import parse_docstring
from nparam_lint.claims.notation import Target
from nparam_lint.claims.prose import find_claims
from nparam_lint.claims.suppressions import apply
from nparam_lint.config.settings import Recipe, Settings
from nparam_lint.count.interpreter import Interpreter, NoInterpreter, find_interpreter, watched
from nparam_lint.count.run_jobs import Answers, Job, Limits, default_memory, run_jobs
from nparam_lint.count.worker_process import end_waiting, start_early
from nparam_lint.discover import Discovery, discover, list_files, list_project
from nparam_lint.gate.formula_check import factors as elsewhere_of
from nparam_lint.gate.formula_check import judge_elsewhere
from nparam_lint.judge.budgets import (
    Budget,
    finding,
    judge,
    judge_devices,
    judge_hidden,
    judge_not_measured,
)
from nparam_lint.records import (
    BudgetResult,
    Definition,
    Environment,
    Finding,
    ImportAttempt,
    Measured,
    Measurement,
    ModelReport,
    NameValue,
    NotMeasured,
    Position,
    Report,
)
from nparam_lint.rules.catalogue import RULES

Progress = Callable[[int, int, str], None]
_Elsewhere = tuple[Set[str], Measured]  # the arguments that were varied, and what came of it


@dataclass(slots=True)
class Asked:
    """A model to build: what it is called, where it stands, what was declared about it, and which
    of its arguments are to have other values, or are to be multiplied."""

    target: Target
    position: Position
    recipe: Recipe = field(default_factory=Recipe)
    device: str | None = None
    budgets: list[Budget] = field(default_factory=list)
    definition: Definition | None = None
    vary: Mapping[str, NameValue] = field(default_factory=dict)
    scale: Mapping[str, int] = field(default_factory=dict)

    @property
    def declared(self) -> bool:
        """Whether anybody claims a count for it, other than in passing."""
        return any(b.origin != "prose" for b in self.budgets)


@dataclass(frozen=True, slots=True)
class Source:
    """What the source of some files says, before anything is built: the models to build, with what
    is declared about them, and the findings about the declarations themselves."""

    settings: Settings
    files: Sequence[str]
    found: Discovery
    asked: Sequence[Asked]
    findings: Sequence[Finding]


def check(
    settings: Settings,
    paths: Sequence[Path],
    environ: Mapping[str, str],
    *,
    declared_only: bool = False,
    static_only: bool = False,
    progress: Progress | None = None,
) -> Report:
    """Check every model under `paths` (the whole project when empty). `declared_only`: leave out
    the models that nobody declares a budget for. `static_only`: build nothing."""
    start = time.monotonic()
    try:
        if not static_only:
            _begin(settings, environ)
        source = read(settings, paths, declared_only=declared_only)
        asked, skipped = select_models([] if static_only else source.asked, declared_only)
        codes = _checked_codes(declared_only, static_only)

        def lint() -> Iterable[Finding]:
            return static_findings(source.found, settings, declared_only and not static_only)

        done = measure(
            source, asked, skipped, environ, progress, codes=codes, everywhere=True, meanwhile=lint
        )
    finally:
        end_waiting()
    return replace(done, source_only=static_only, seconds=time.monotonic() - start)


def _begin(settings: Settings, environ: Mapping[str, str]) -> None:
    """Start the worker before its work is known, where nothing is remembered of the project: it
    will have some."""
    if not Path(settings.store.folder).is_dir() or not settings.store.folder:
        with suppress(NoInterpreter):  # told when it is needed
            found = find_interpreter(settings.home, settings.python, settings.python_from, environ)
            if found.has_torch:
                start_early(found.python, environ)


def read(settings: Settings, paths: Sequence[Path], *, declared_only: bool = False) -> Source:
    """Find the models under `paths` (the whole project when empty), and what is declared."""
    copy = settings.snapshot
    if copy:
        files = list_files(settings.root, paths, settings.exclude, copy.python_files(settings.root))
        importable = copy.python_files(settings.root, importable=True)
    else:
        files, importable = list_project(settings.root, paths, settings.exclude)
    budgeted = {b.target.location for b in settings.budgets if b.target.is_path}
    found = discover(
        settings.root,
        files,
        importable=importable,
        declared_only=declared_only,
        wanted=budgeted & set(files),
        store=settings.store,
    )
    if settings.witness:
        settings.witness.add_source(str(settings.home), found.tree.files, found.tree.digest)
    asked, findings = declare(found, settings, _scope(settings.root, paths))
    findings += [finding("NPL003", p.position, p.message, "") for p in found.problems]
    return Source(settings, files, found, asked, findings)


def measure(
    source: Source,
    asked: Sequence[Asked],
    skipped: Sequence[tuple[str, NotMeasured]],
    environ: Mapping[str, str],
    progress: Progress | None = None,
    *,
    interpreter: Interpreter | None = None,
    codes: frozenset[str] = frozenset(),
    everywhere: bool = False,
    meanwhile: Callable[[], Iterable[Finding]] = tuple,
) -> Report:
    """Build, count and judge those models of the source that are `asked` for. `interpreter`: the
    one to build with (default: it is looked for). `codes`: see `_Checked`. `everywhere`: formulas
    are held against other arguments too. `meanwhile`: finds more about the source, while models
    are built."""
    start = time.monotonic()
    settings, found = source.settings, source.found
    findings = [*source.findings]
    varied = enumerate(asked) if everywhere else ()
    further = [(i, other) for i, model in varied for other in _elsewhere(model)]
    answers, interpreter = count(
        [*asked, *(other for _, other in further)],
        settings,
        found,
        environ,
        progress,
        interpreter=interpreter,
        meanwhile=lambda: findings.extend(meanwhile()),
    )
    others: dict[int, list[_Elsewhere]] = {}
    for number, (i, other) in enumerate(further, len(asked)):
        if isinstance(there := answers.measurements[number], Measured):
            others.setdefault(i, []).append((other.scale.keys(), there))
    models = judge_all(asked, answers, settings, others)
    kept, more = _undeclared_failures(models)
    # What is declared with arguments needs no word about failing without.
    declared = {str(model.target.bare) for model in asked if model.declared}
    skipped = [item for item in (*skipped, *more) if item[0] not in declared]
    codes = codes if answers.broken is None else frozenset()
    known = _Checked(found.tree.source, source.files, codes)
    return report(settings, kept, findings, answers, interpreter, skipped, known, start)


def show(
    settings: Settings,
    targets: Sequence[Target],
    environ: Mapping[str, str],
    progress: Progress | None = None,
) -> Report:
    """The models that `targets` of one project name, with their parameters, and their budgets where
    they have any."""
    start = time.monotonic()
    files = list(dict.fromkeys(target.location for target in targets if target.is_path))
    found = discover(settings.root, files, wanted=files, store=settings.store)
    places, wanted = {t.location for t in targets}, {str(t) for t in targets}
    asked, findings = declare(found, settings, places.__contains__)
    mine = [model for model in asked if str(model.target) in wanted]
    declared = {str(model.target) for model in mine}
    mine += [
        ask_for(target, Position(target.location), settings, found)
        for target in dict.fromkeys(targets)
        if str(target) not in declared
    ]
    answers, interpreter = count(mine, settings, found, environ, progress, parameters=True)
    models = judge_all(mine, answers, settings)
    problems = [finding("NPL003", p.position, p.message, "") for p in found.problems]
    findings = problems + [f for f in findings if f.target in wanted]
    known = _Checked(found.tree.source, files)
    return report(settings, models, findings, answers, interpreter, [], known, start)


# --- declare ----------------------------------------------------------------------------------


def declare(
    found: Discovery, settings: Settings, in_scope: Callable[[str], bool]
) -> tuple[list[Asked], list[Finding]]:
    """Everything to build, with its budgets, and the findings about the declarations themselves."""
    asked: dict[object, Asked] = {}
    findings: list[Finding] = []
    for definition in found.definitions:
        bare = Target(definition.path, definition.qualname)
        position = Position(definition.path, definition.line, definition.column)
        model = ask_for(bare, position, settings, found)
        asked[bare] = model
        model.definition = definition
        for budget in _docstring_budgets(definition, findings):
            if budget.target not in asked:
                asked[budget.target] = ask_for(budget.target, position, settings, found)
            asked[budget.target].budgets.append(budget)
    for entry in settings.budgets:
        if not in_scope(entry.target.location):
            continue
        stale = _stale(entry.target, settings.root, found)
        if stale:
            findings.append(finding("NPL008", entry.position, stale, str(entry.target)))
            continue
        key = entry.target if entry.recipe is None else (entry.target, entry.recipe, entry.device)
        if key not in asked:
            asked[key] = ask_for(entry.target, entry.position, settings, found)
        model = asked[key]
        model.recipe = _completed(entry.target, entry.recipe, model.recipe)
        model.device = entry.device or model.device
        model.budgets.append(
            Budget(
                entry.target,
                entry.selector,
                entry.value,
                entry.declared,
                entry.position,
                "config",
                entry.tolerance,
                entry.reason,
            )
        )
    for target, at in settings.recipe_positions.items():
        if in_scope(target.location) and (stale := _stale(target, settings.root, found)):
            findings.append(finding("NPL008", at, f"arguments for it: {stale}", str(target)))
    return list(asked.values()), findings


def _docstring_budgets(definition: Definition, findings: list[Finding]) -> Iterable[Budget]:
    for lines in definition.docstrings:
        declared, malformed = parse_docstring(lines)
        for fault in malformed:
            at = Position(definition.path, fault.line, fault.column)
            findings.append(finding("NPL002", at, fault.message, definition.target))
        for line in declared:
            yield Budget(
                Target(definition.path, definition.qualname, line.arguments),
                line.selector,
                line.value,
                line.text,
                Position(definition.path, line.line, line.column),
                "docstring",
            )
        for claim in find_claims(lines):
            yield Budget(
                Target(definition.path, definition.qualname),
                claim.selector,
                claim.value,
                claim.text,
                Position(definition.path, claim.line, claim.column),
                "prose",
            )


def ask_for(target: Target, position: Position, settings: Settings, found: Discovery) -> Asked:
    """A model to build; where nothing says how, the config's arguments for it do."""
    recipe = settings.arguments.get(target.bare, Recipe())
    if target.arguments is not None:
        recipe = _calling(target.callable, target.arguments, recipe)
    at = found.positions.get((target.location, target.callable), position)
    return Asked(target, at, recipe)


def _calling(callable: str, arguments: str, recipe: Recipe) -> Recipe:
    """A recipe with other arguments, in which the names that its setup makes can stand."""
    if recipe.setup is None:
        return replace(recipe, arguments=arguments, call=None)
    return replace(recipe, arguments=None, call=f"{callable}({arguments})")


def _completed(target: Target, own: Recipe | None, base: Recipe) -> Recipe:
    """A budget's own recipe; what it leaves open, its target and the arguments table say."""
    if own is None:
        return base
    called = base
    if own.call is not None:
        called = replace(own, setup=own.setup or base.setup)
    elif own.arguments is not None:
        called = _calling(target.callable, own.arguments, base)
    return replace(
        called,
        input=own.input or base.input,
        experts_per_token=own.experts_per_token or base.experts_per_token,
    )


_Way = tuple[Target, Recipe | None, str | None]


def further(source: Source, other: Source, moved: Mapping[str, str]) -> list[Asked]:
    """What `other` (the source at another commit) builds in ways of its own, with arguments or by a
    budget's recipe, as far as this source has it as well and does not build it so itself. `moved`:
    files of the other → where they are here, where that differs."""
    own: set[_Way] = {(model.target, None, None) for model in source.asked}
    own |= {(entry.target, entry.recipe, entry.device) for entry in source.settings.budgets}
    asked = [model.target for model in other.asked]
    ways: list[_Way] = [(target, None, None) for target in asked if target.arguments is not None]
    ways += [(target, None, None) for target in asked if not target.is_path]
    ways += [
        (entry.target, entry.recipe, entry.device)
        for entry in other.settings.budgets
        if entry.recipe is not None and entry.target in asked
    ]
    added: dict[_Way, Asked] = {}
    for target, recipe, device in ways:
        there = replace(target, location=moved.get(target.location, target.location))
        if (there, recipe, device) not in own and not _stale(
            there, source.settings.root, source.found
        ):
            model = ask_for(there, Position(there.location), source.settings, source.found)
            model.recipe, model.device = _completed(there, recipe, model.recipe), device
            added[there, recipe, device] = model
    return list(added.values())


def _stale(target: Target, root: Path, found: Discovery) -> str | None:
    """Why a target that the config names is gone; None when it is there (or is not a file)."""
    if not target.is_path:
        return None
    if not (root / target.location).is_file():
        near = difflib.get_close_matches(target.location, found.tree.files, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        return f"there is no file {target.location}{hint}"
    names = found.names(target.location)
    first = target.callable.split(".")[0]
    if names and first not in names:
        near = difflib.get_close_matches(first, names, 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        return f"{target.location} has no {first!r}{hint}"
    return None


def _scope(root: Path, paths: Sequence[Path]) -> Callable[[str], bool]:
    """Whether a budget's location belongs to the paths that were given."""
    places = [os.path.relpath(p.absolute(), root).replace(os.sep, "/") for p in paths]
    if not places or "." in places:
        return lambda _: True

    def inside(location: str) -> bool:
        return any(location == p or location.startswith(p + "/") for p in places)

    return inside


# --- source alone -----------------------------------------------------------------------------


def static_findings(found: Discovery, settings: Settings, declared_only: bool) -> list[Finding]:
    """NPL1xx: what the source of the model definitions shows by itself."""
    from nparam_lint.rules.scan_all import lint_files

    files = sorted({d.path for d in found.definitions}) if declared_only else found.parsed
    findings = lint_files(found.tree, [(p, found.modules(p)) for p in files], settings.store)
    return [item for item in findings if item.code != "NPL002"]  # `declare` reports those


# --- count ------------------------------------------------------------------------------------


def select_models(
    asked: Sequence[Asked], declared_only: bool
) -> tuple[list[Asked], list[tuple[str, NotMeasured]]]:
    """What is built, and what is not, with the reason: a model that nobody declares and that
    cannot be built without arguments would only fail."""
    chosen, skipped = [], []
    for model in asked:
        if model.budgets and not (declared_only and not model.declared):
            chosen.append(model)
        elif not declared_only:
            needs = _needs(model)
            if needs:
                failure = NotMeasured(
                    "NPL004",
                    f"needs {', '.join(needs)}",
                    missing=tuple(needs),
                    cause="arguments_missing",
                )
                skipped.append((str(model.target), failure))
            else:
                chosen.append(model)
    return chosen, skipped


def _needs(model: Asked) -> list[str]:
    """The arguments that nobody provides. One alone may be a config object: that is tried."""
    if model.recipe.says_how_to_call or model.definition is None:
        return []
    required = [p for p in model.definition.parameters or () if p.required]
    names = [p.name for p in required]
    single = len(required) == 1 and (
        _looks_like_config(required[0].name)
        or (required[0].annotation or "int") not in _PLAIN_TYPES
    )
    return [] if single else names


_PLAIN_TYPES = {"int", "float", "str", "bool", "list", "dict", "tuple", "List[int]", "list[int]"}


def _looks_like_config(name: str) -> bool:
    return any(word in name.lower() for word in ("conf", "cfg", "arg", "param", "settings", "opt"))


def count(
    asked: Sequence[Asked],
    settings: Settings,
    found: Discovery,
    environ: Mapping[str, str],
    progress: Progress | None,
    *,
    parameters: bool = False,
    variables: bool = False,
    interpreter: Interpreter | None = None,
    meanwhile: Callable[[], None] = lambda: None,
) -> tuple[Answers, Interpreter | None]:
    """Build and count everything that is asked for, in the project's interpreter, and do something
    else `meanwhile`."""
    if not asked:
        meanwhile()
        return Answers(), None
    interpreter = interpreter or find_interpreter(
        settings.home, settings.python, settings.python_from, environ
    )
    if settings.witness:
        places = watched(interpreter.without)
        settings.witness.unread.update(places or ())
        settings.witness.sound = settings.witness.sound and places is not None
    plans = {m.target.location: _attempts(m.target, settings.root, found) for m in asked}
    found.tree.remember()  # what the plans asked of files that nothing else looked into
    jobs = [
        _job(i, model, settings, plans[model.target.location], parameters, variables)
        for i, model in enumerate(asked)
    ]
    names = {part.removesuffix(".py") for path in found.tree.files for part in path.split("/")}
    answers = run_jobs(
        interpreter.python,
        settings.root,
        jobs,
        limits(settings),
        environ,
        progress,
        names,
        settings.snapshot,
        settings.store,
        settings.witness,
        meanwhile,
    )
    return answers, interpreter


def _elsewhere(model: Asked) -> list[Asked]:
    """The same model with other arguments, where formulas speak of them."""
    return [replace(model, device="meta", scale=scale) for scale in elsewhere_of(model.budgets)]


def limits(settings: Settings) -> Limits:
    memory = default_memory() if settings.memory is None else settings.memory
    return Limits(settings.timeout, memory, settings.jobs or _cores())


def _cores() -> int:
    try:
        return max(1, len(os.sched_getaffinity(0)))
    except AttributeError:
        return os.cpu_count() or 1


def _attempts(target: Target, root: Path, found: Discovery) -> tuple[ImportAttempt, ...]:
    """The ways to import what a target's location names."""
    if not target.is_path:
        roots = ("", "src") if (root / "src").is_dir() else ("",)
        return (ImportAttempt(target.location, roots),)
    plan = found.plan(target.location)
    return plan or (ImportAttempt(Path(target.location).stem, ("",)),)


def _job(
    number: int,
    model: Asked,
    settings: Settings,
    attempts: tuple[ImportAttempt, ...],
    parameters: bool,
    variables: bool,
) -> Job:
    target = model.target
    names = {name for budget in model.budgets for name in budget.value.names}
    # They tell which term a formula lacks.
    parameters = parameters or bool(names)
    return Job(
        id=number,
        label=str(target),
        file=target.location if target.is_path else None,
        attempts=attempts,
        callable=target.callable,
        arguments=model.recipe.arguments,
        setup=model.recipe.setup,
        call=model.recipe.call,
        input=model.recipe.input,
        experts_per_token=model.recipe.experts_per_token,
        device=model.device or settings.for_file(target.location).device,
        names=tuple(sorted(names)),
        parameters=parameters,
        vary=tuple(model.vary.items()),
        scale=tuple(model.scale.items()),
        variables=variables,
    )


# --- judge ------------------------------------------------------------------------------------


def judge_all(
    asked: Sequence[Asked],
    answers: Answers,
    settings: Settings,
    others: Mapping[int, Sequence[_Elsewhere]] = MappingProxyType({}),
) -> list[ModelReport]:
    """`others`: by the place of a model, the same with other arguments, for its formulas."""
    measured = [m for m in answers.measurements.values() if isinstance(m, Measured)]
    # That a model holds an nn.Sequential says nothing of the factory that returns another one.
    inner = {kind for m in measured for kind in m.types if not kind.startswith("torch.nn.")}
    return [
        _judge_one(model, answers.measurements[i], settings, inner, others.get(i, ()))
        for i, model in enumerate(asked)
    ]


def _judge_one(
    model: Asked,
    measurement: Measurement,
    settings: Settings,
    inner: set[str],
    others: Sequence[_Elsewhere],
) -> ModelReport:
    target, position = str(model.target), model.position
    settings = settings.for_file(model.target.location)
    results: list[BudgetResult] = []
    findings: list[Finding] = []
    if isinstance(measurement, NotMeasured):
        results = [_unjudged(b) for b in model.budgets if b.origin != "prose"]
        if model.declared:
            at = next(b.position for b in model.budgets if b.origin != "prose")
            lines = paste(model.target, measurement.missing, settings)
            more = (*_not_added(measurement, settings), *lines)
            findings.append(judge_not_measured(measurement, at, target, more))
    else:
        undeclared = _paste_experts(model, measurement, settings)
        for budget in model.budgets:
            judged, broken = judge(budget, measurement, settings.tolerance, undeclared)
            results += judged or [_unjudged(budget)] * (budget.origin != "prose")
            # Where an argument was varied that a formula does not speak of, it says nothing.
            there = [found for names, found in others if names <= budget.value.names]
            if there:
                broken = judge_elsewhere(budget, measurement, there, settings.tolerance, broken)
            findings += broken
        device = model.device or settings.device
        findings += judge_devices(measurement, position, target, device == "cuda")
        findings += judge_hidden(measurement, position, target)
        findings += _misdeclared(model, measurement, settings)
        if not model.budgets:
            message = f"{model.target.callable} has no budget; it has {measurement.counts.total:,}"
            findings.append(finding("NPL012", position, message, target))
    top = isinstance(measurement, Measured) and measurement.type not in inner
    return ModelReport(
        target, position, measurement, tuple(results), tuple(findings), model.declared, top
    )


def _misdeclared(model: Asked, measured: Measured, settings: Settings) -> list[Finding]:
    """NPL002 where the declared number of experts that a token uses does not fit the model, unless
    a budget that rests on it has said so."""
    wrong, target = measured.misdeclared, model.target
    rests = any(budget.selector.metric == "active" for budget in model.budgets)
    if wrong is None or (rests and wrong == measured.no_routing):
        return []
    number = model.recipe.experts_per_token
    places = (
        entry.position
        for entry in settings.budgets
        if entry.target == target and entry.recipe and entry.recipe.experts_per_token == number
    )
    at = next(places, settings.recipe_positions.get(target.bare, model.position))
    usual = "experts are modules of one size in a list called so, or parameters stacked there"
    return [finding("NPL002", at, f"{measured.call}: {wrong}", str(target), [usual])]


def _unjudged(budget: Budget) -> BudgetResult:
    return BudgetResult(
        budget.declared,
        str(budget.selector),
        None,
        None,
        None,
        None,
        False,
        budget.origin,
        budget.position,
        budget.selector.module or None,
        budget.reason,
    )


def _not_added(failure: NotMeasured, settings: Settings) -> tuple[str, ...]:
    """What the working tree has and the index has not, where the failure owes to it."""
    if settings.snapshot is None or failure.cause == "not_tracked":
        return ()
    fault = settings.snapshot.at_fault(failure.reason, settings.root)
    return (fault,) if fault else ()


def paste(target: Target, missing: Sequence[str], settings: Settings) -> tuple[str, ...]:
    """The lines of config that provide missing arguments."""
    if not missing:
        return ()
    values = ", ".join(f"{name}=…" for name in missing)
    return _pasted("say how to build it", target, f'"{values}"', settings)


def _paste_experts(model: Asked, measured: Measured, settings: Settings) -> tuple[str, ...]:
    """The lines of config that say how many experts a token uses, where nothing else does."""
    if "experts_per_token" not in (measured.no_routing or "") or measured.misdeclared:
        return ()  # known, or unknown for another reason
    at = settings.recipe_positions.get(model.target.bare)
    if at is not None:
        return (f"add experts_per_token = … to what {at.path}:{at.line} says of it",)
    value = "{ experts_per_token = … }"
    return _pasted("say how many a token uses", model.target, value, settings)


def _pasted(what: str, target: Target, value: str, settings: Settings) -> tuple[str, ...]:
    name = settings.config.name if settings.config else "pyproject.toml"
    return (
        f"{what}, in {name}:",
        "[tool.nparam-lint.arguments]" if name == "pyproject.toml" else "[arguments]",
        f'"{target.bare}" = {value}',
    )


def _undeclared_failures(
    models: Sequence[ModelReport],
) -> tuple[list[ModelReport], list[tuple[str, NotMeasured]]]:
    """Undeclared models that could not be built are no findings: they are listed as skipped."""
    kept: list[ModelReport] = []
    skipped: list[tuple[str, NotMeasured]] = []
    for model in models:
        if isinstance(model.measurement, NotMeasured) and not model.declared:
            skipped.append((model.target, model.measurement))
        else:
            kept.append(model)
    return kept, skipped


# --- report -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Checked:
    """The `files` that were checked, how to `read` one, and the `codes` of the findings that are
    complete for them: a comment that ignores another may have its reason in what was not run."""

    read: Callable[[str], bytes]
    files: Sequence[str]
    codes: frozenset[str] = frozenset()


def _checked_codes(declared_only: bool, static_only: bool) -> frozenset[str]:
    source = {code for code in RULES if code.startswith("NPL1")} | {"NPL002", "NPL008"}
    if static_only:
        return frozenset(source)
    built = {"NPL001", "NPL003", "NPL004", "NPL005", "NPL006", "NPL007", "NPL009", "NPL011"}
    if declared_only:
        return frozenset(built | {"NPL002", "NPL008"})
    return frozenset(built | source | {"NPL010", "NPL012", "NPL013"})


def _same(
    findings: Iterable[Finding], kept: Mapping[tuple[str, Position, str], Finding]
) -> Iterator[Finding]:
    keys = ((f.code, f.position, f.message) for f in findings)
    return (kept[key] for key in keys if key in kept)


def report(
    settings: Settings,
    models: Sequence[ModelReport],
    findings: Iterable[Finding],
    answers: Answers,
    interpreter: Interpreter | None,
    skipped: Sequence[tuple[str, NotMeasured]],
    checked: _Checked,
    start: float,
) -> Report:
    everything = [*findings]
    if answers.broken is None:
        everything += [f for model in models for f in model.findings]
    kept = sorted(
        _reported(everything, settings, checked),
        key=lambda f: (f.position.path, f.position.line, f.position.column, f.code, f.message),
    )
    same = {(f.code, f.position, f.message): f for f in kept}
    models = [
        replace(m, findings=tuple(f for f in _same(m.findings, same) if answers.broken is None))
        for m in models
    ]
    return Report(
        version=__version__,
        environment=_environment(interpreter, answers, models),
        models=tuple(models),
        findings=tuple(kept),
        skipped=tuple(skipped),
        files=len(checked.files),
        seconds=time.monotonic() - start,
        error=why_broken(answers, interpreter),
        staged=settings.snapshot is not None and settings.snapshot.commit is None,
    )


def _reported(
    findings: Iterable[Finding], settings: Settings, checked: _Checked
) -> Iterator[Finding]:
    """Those findings that the settings and the comments in the source want to see, with the
    severity that the settings give them."""
    codes = {code for code in checked.codes if _is_on(code, settings)}
    config = {b.position.path for b in settings.budgets}
    files = {*checked.files, *config} if codes else ()
    kept = [
        (item, own)
        for item in apply(findings, checked.read, files, codes)
        if _is_on(item.code, own := settings.for_file(item.position.path))
    ]
    # What was built and counted is not told once more from the source.
    counted = {(f.position.path, f.position.line) for f, _ in kept if f.code == "NPL010"}
    for item, own in kept:
        place = (item.position.path, item.position.line)
        if item.code not in _SEEN_IN_SOURCE or place not in counted:
            severity = own.severity.get(item.code)
            yield replace(item, severity=severity) if severity else item


def reported(findings: Iterable[Finding], source: Source) -> list[Finding]:
    """Those findings about a source that its settings and the comments in it want to see."""
    return list(_reported(findings, source.settings, _Checked(source.found.tree.source, ())))


_SEEN_IN_SOURCE = ("NPL101", "NPL104")


def _is_on(code: str, settings: Settings) -> bool:
    on = RULES[code].enabled and not settings.select
    on = on or any(code.startswith(selected) for selected in settings.select)
    return on and not any(code.startswith(ignored) for ignored in settings.ignore)


def _environment(
    interpreter: Interpreter | None, answers: Answers, models: Sequence[ModelReport]
) -> Environment | None:
    if interpreter is None:
        return None
    devices = dict.fromkeys(
        name
        for model in models
        if isinstance(model.measurement, Measured)
        for name, result in model.measurement.devices.items()
        if result.status == "measured"
    )
    return Environment(interpreter.python, interpreter.reason, answers.torch, tuple(devices))


def why_broken(answers: Answers, interpreter: Interpreter | None) -> str | None:
    """Why no model can be built at all, in lines; None where models can be."""
    if answers.broken is None or interpreter is None:
        return None
    lines = [
        f"no model can be built with {interpreter.python}",
        f"  chosen because: {interpreter.reason}",
        f"  it says: {answers.broken}",
        *(
            f"  passed over: {text}"
            for text in interpreter.passed_over
            if not text.startswith(f"{interpreter.python} (")
        ),
        "  next: install torch there, or name the interpreter that has it:",
        '        nparam-lint --python PATH, NPARAM_LINT_PYTHON, or python = "…" in the config',
    ]
    return "\n".join(lines)
