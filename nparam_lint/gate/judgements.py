"""Answers × budgets → one `ModelReport` for each model; and all findings → the `Report`, without
those that settings and comments silence."""

from __future__ import annotations

from collections import Counter
from operator import itemgetter
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from nparam_lint.config import commands
from nparam_lint.count.measured import Measured, NotMeasured
from nparam_lint.discover.claims import suppressions
from nparam_lint.discover.definitions import Containment
from nparam_lint.discover.scan import LARGEST
from nparam_lint.gate import formula_check, inside, script_runs
from nparam_lint.gate.candidates import arguments_entry, experts_entry
from nparam_lint.gate.judge import (
    judge,
    judge_caught,
    judge_devices,
    judge_hidden,
    judge_not_measured,
    no_result,
)
from nparam_lint.gate.report import BuildFailure, FailedWay, ModelReport, Report
from nparam_lint.gate.rules import source_codes
from nparam_lint.ground.findings import BudgetResult, Finding, finding
from nparam_lint.ground.metrics import AUTO
from nparam_lint.ground.rule_catalogue import RULES
from nparam_lint.ground.script_words import SCRIPT_FILE, TEST_FILE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from nparam_lint.config.session import Session
    from nparam_lint.config.settings import Settings
    from nparam_lint.count.run import Answers
    from nparam_lint.gate.candidates import Candidate, ProjectSource, Selection
    from nparam_lint.ground.notation import Target

    _Judged = tuple[list[BudgetResult], list[Finding]]
    _Skipped = Sequence[tuple[str, NotMeasured]]  # the target, and why
    # Models built with other arguments: what was asked for, and what was measured.
    _Resized = Sequence[tuple[Candidate, Measured]]

_SOURCE_CODES = frozenset({"NPL002", *source_codes()})
_BUDGET_CODES = frozenset(
    "NPL001 NPL003 NPL004 NPL005 NPL006 NPL007 NPL008 NPL009 NPL011".split()
)  # found where a budget is declared
_MODEL_CODES = frozenset("NPL010 NPL012".split())  # found in models without budgets too
# What NPL010 says of a model that was built, this says of its source.
_SAME_AS_HIDDEN = "NPL101"
_CANNOT_BE_BUILT = "NPL103"


class Outcomes(Struct, frozen=True):
    """What has become of the models of a run, each with its place among the candidates: those that
    are reported, those without a budget that could not be built, and the ways that failed; and how
    many ways to build a target were not tried."""

    models: list[tuple[int, ModelReport]] = field(default_factory=list)
    failures: list[BuildFailure] = field(default_factory=list)
    failed_ways: list[tuple[int, FailedWay]] = field(default_factory=list)
    untried: Counter[str] = field(default_factory=Counter)

    def together(
        self, uncalled: _Skipped, containment: Containment
    ) -> tuple[list[ModelReport], _Skipped]:
        """The models, of which it is known now which stand for themselves; and those that are
        skipped, the `uncalled` first."""
        reports = [model for _, model in sorted(self.models, key=itemgetter(0))]
        # That a model contains an nn.Sequential says nothing about a factory that returns another.
        hosts = [
            (m, host) for m in reports if isinstance(host := m.host or m.measurement, Measured)
        ]
        # Totals of the largest model with each class inside it; and of the largest of each target;
        # of all, and of those that are called in one file.
        around, largest = dict[tuple[str, str], int](), dict[tuple[str, str], int]()
        for model, host in hosts:
            total = host.modules[0].total
            for path in ("", model.way.position.path if model.way else ""):
                largest[model.bare, path] = max(total, largest.get((model.bare, path), 0))
                for kind in host.types:
                    if not kind.startswith("torch.nn."):
                        around[kind, path] = max(total, around.get((kind, path), 0))
        configs = {
            (model.way.position.path, model.bare)
            for model in reports
            if model.way and model.way.kind == "config"
        }
        models_of = Counter(path for path, _ in configs)

        def is_top_level(model: ModelReport) -> bool:
            if not isinstance(model.measurement, Measured) or model.host is not None:
                return False
            way = model.way
            if way and way.kind == "config" and models_of[way.position.path] == 1:
                return True  # all that the file builds
            users = containment.users.get(model.bare, ())
            if way and way.kind == "size" and model.is_function and not users:
                return True  # what a function gives by name, which no model calls
            path = way.position.path if way else ""
            # What a command makes is a part of what is larger in its script alone.
            at = path if way and way.command and SCRIPT_FILE.search(path) else ""
            containing = [largest[user, at] for user in users if (user, at) in largest]
            if (kind := (model.measurement.type, at)) in around:
                containing.append(around[kind])
            if way and way.kind == "call" and not TEST_FILE.search(path):
                # It is as large as whatever has such a part, which only wraps it, or larger.
                return model.measurement.modules[0].total >= max(containing, default=-1)
            return not containing

        reports = [replace(model, top_level=is_top_level(model)) for model in reports]
        # A model whose budgets have arguments may fail without them, which need not be reported;
        # and of one that has been built in one way, no other need be told but what the config says.
        declared = {m.bare for m in reports if m.declared}
        settled = declared | {m.target for m in reports if m.way}
        skipped = [(target, why) for target, why in uncalled if target not in settled]
        for _, target, why, is_configured in sorted(self.failures, key=itemgetter(0)):
            if target not in (declared if is_configured else settled):
                skipped.append((target, why))
        return reports, skipped


def judge_models(
    selection: Selection,
    answers: Answers,
    session: Session,
    resized: Mapping[int, _Resized],
) -> Outcomes:
    """Every selected model with its results and findings. `resized`: the same models with other
    arguments, by the number of the candidate, to check its formulas with."""
    outcomes = Outcomes()
    places = selection.shard.places if selection.shard else range(len(selection.candidates))
    has_runs = any(candidate.build.recipe.is_run for candidate in selection.candidates)
    settled = script_runs.settled(selection.candidates, answers.measurements) if has_runs else ()
    for number, (place, candidate) in enumerate(zip(places, selection.candidates, strict=True)):
        answer, target = answers.measurements[number], str(candidate.target)
        if number in settled:
            continue
        is_undeclared = selection.skip_failures and not candidate.is_declared
        if isinstance(answer, Measured):
            report = _judged_model(candidate, answer, session, resized.get(number, ()))
            outcomes.models.append((place, report))
        elif candidate.way is not None:
            if answer.cause == "not_tried":
                outcomes.untried[target] += 1
            elif candidate.build.recipe.is_run and target in selection.gaps:
                pass  # that says why the script had to be run
            elif answer.cause != "not_a_model":  # else the call is none of a model
                outcomes.failed_ways.append((place, FailedWay(target, candidate.way, answer)))
        elif is_undeclared:
            is_configured = candidate.build.recipe.says_how_to_call
            outcomes.failures.append(BuildFailure(place, target, answer, is_configured))
        else:
            judged = _judge_failure(candidate, answer, session)
            outcomes.models.append((place, _model_report(candidate, answer, judged)))
    return outcomes


def _judged_model(
    candidate: Candidate, answer: Measured, session: Session, resized: _Resized
) -> ModelReport:
    """What comes of a model that was measured. A way is evidence: nothing is judged by it."""
    if candidate.way is None:
        if used := candidate.used(answer):
            candidate.position = used.position
        judged = _judge_measured(candidate, answer, session, resized)
        return _model_report(candidate, answer, judged)
    if candidate.build.recipe.is_run:
        note = "; ".join(filter(None, (candidate.way.note, *answer.notes)))
        candidate.way = replace(candidate.way, note=note)
    is_apart = not candidate.target.is_importable
    is_declarable = is_apart or candidate.called(answer) is not None
    return _model_report(candidate, answer, ([], []), is_declarable=is_declarable)


def _model_report(
    candidate: Candidate,
    answer: Measured | NotMeasured,
    judged: _Judged,
    *,
    is_declarable: bool = True,
) -> ModelReport:
    results, findings = judged
    host = answer if candidate.target.host and isinstance(answer, Measured) else None
    if candidate.because:
        why = f"checked because {candidate.target.callable} {candidate.because}"
        findings = [replace(item, detail=(*item.detail, why)) for item in findings]
    return ModelReport(
        str(candidate.target),
        candidate.position,
        inside.part_of(candidate.target, host) if host else answer,
        tuple(results),
        tuple(findings),
        candidate.is_declared,
        because=candidate.because,
        way=candidate.way,
        host=host,
        is_declarable=is_declarable,
    )


def _judge_failure(candidate: Candidate, failure: NotMeasured, session: Session) -> _Judged:
    if not candidate.budgets:
        return [], []
    settings, copy = session.settings.for_file(candidate.target.location), session.snapshot
    hints = arguments_entry(candidate.target, failure.missing, settings)
    if copy is not None and failure.cause != "not_tracked":
        # A file of the working tree that is missing in the index.
        fault = copy.at_fault(failure.reason, settings.root)
        hints = (fault, *hints) if fault else hints
    position, target = candidate.budgets[0].position, str(candidate.target)
    if failure.cause == "argument_unknown" and candidate.target.arguments is None:
        position = settings.recipe_positions.get(candidate.target.bare, position)
    findings = [judge_not_measured(failure, position, target, hints)]
    return [no_result(budget) for budget in candidate.budgets], findings


def _judge_measured(
    candidate: Candidate, measured: Measured, session: Session, resized: _Resized
) -> _Judged:
    target, position = str(candidate.target), candidate.position
    settings = session.settings.for_file(candidate.target.location)
    results: list[BudgetResult] = []
    findings: list[Finding] = []
    experts_hint: Sequence[str] = ()

    def update(target: Target, path: str) -> str:
        return commands.update(session, target, path)  # which is read for a broken budget

    if "experts_per_token" in (measured.no_routing or "") and not measured.misdeclared:
        experts_hint = experts_entry(candidate.target, settings)
    for budget in candidate.budgets:
        judged, broken = judge(budget, measured, settings.tolerance, experts_hint, update)
        results += judged or [no_result(budget)]
        # A model in which an argument differs that the formula does not name says nothing of it.
        names = budget.value.names
        sizes = [size for variant, size in resized if variant.build.varied <= names]
        if sizes and not broken:
            command = commands.formula(session, budget.target)
            broken = formula_check.check_formula(
                budget, measured, sizes, settings.tolerance, command
            )
        findings += broken
    if candidate.target.host:  # what else there is to say is said of the model itself
        return results, findings
    is_required = candidate.build.device != AUTO
    findings += judge_devices(measured, position, target, is_required)
    findings += judge_hidden(measured, position, target)
    findings += judge_caught(measured, position, target) if candidate.budgets else ()
    findings += _wrong_experts(candidate, measured, settings)
    if not candidate.budgets:
        message = f"{candidate.target.call} has no budget; it has {measured.counts.total:,}"
        findings.append(finding("NPL012", position, message, target))
    return results, findings


def _wrong_experts(candidate: Candidate, measured: Measured, settings: Settings) -> list[Finding]:
    """NPL002 where the declared number of experts that a token uses does not fit the model, unless
    a budget of the active parameters has said so."""
    wrong, target = measured.misdeclared, candidate.target
    has_active_budget = any(budget.selector.metric == "active" for budget in candidate.budgets)
    if wrong is None or (has_active_budget and wrong == measured.no_routing):
        return []
    number = candidate.build.recipe.experts_per_token
    entries = (
        entry.position
        for entry in settings.budgets
        if entry.target == target and entry.recipe and entry.recipe.experts_per_token == number
    )
    at = next(entries, settings.recipe_positions.get(target.bare, candidate.position))
    usual = "experts are modules of equal size in a list called so, or parameters stacked there"
    return [finding("NPL002", at, f"{measured.call}: {wrong}", str(target), [usual])]


# --- the report ---


def complete_codes(declared_only: bool, static_only: bool) -> frozenset[str]:
    """The codes for which a run finds everything in its files. A comment that ignores another code
    may be needed for something that was not run, and is not reported as unused."""
    if static_only:
        return _SOURCE_CODES
    if declared_only:
        return _BUDGET_CODES | {"NPL002"}
    return _BUDGET_CODES | _SOURCE_CODES | _MODEL_CODES


def assemble_report(
    source: ProjectSource,
    answers: Answers,
    models: Sequence[ModelReport],
    skipped: _Skipped,
    complete: frozenset[str],
) -> Report:
    """The report on a source whose models were judged. `complete`: see `complete_codes`."""
    if answers.broken is not None:  # then the models' findings say nothing of the models
        complete, models = frozenset(), [replace(model, findings=()) for model in models]
    every = [*source.findings, *(finding for model in models for finding in model.findings)]
    findings = in_order(said_once(reported_findings(every, source, complete), models))
    reported = {_identity(finding): finding for finding in findings}
    models = [
        replace(m, findings=tuple(filter(None, (reported.get(_identity(f)) for f in m.findings))))
        for m in models
    ]
    devices = dict.fromkeys(
        name
        for model in models
        if isinstance(model.measurement, Measured)
        for name, result in model.measurement.devices.items()
        if result.status == "measured"
    )
    return Report(
        environment=answers.environment(devices),
        models=tuple(models),
        findings=tuple(findings),
        skipped=tuple(skipped),
        files=sum(path.endswith(".py") for path in source.files),
        error=answers.error,
        staged=source.session.is_staged,
    )


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Findings by place."""
    return sorted(
        findings,
        key=lambda f: (f.position.path, f.position.line, f.position.column, f.code, f.message),
    )


def _identity(finding: Finding) -> tuple[object, ...]:
    return finding.code, finding.position, finding.message


def reported_findings(
    findings: Iterable[Finding], source: ProjectSource, complete: frozenset[str] = frozenset()
) -> list[Finding]:
    """The findings that settings and comments do not silence, with the configured severity; and
    one for each comment that silences nothing, of the codes that are `complete`."""
    settings = source.settings

    def read(path: str) -> bytes:
        content = source.discovery.tree.source(path)
        return content if len(content) <= LARGEST else b""  # a skipped file is not read

    files = {*source.files, *(b.position.path for b in source.budgets)} if complete else set()
    every = {(b.position.path, b.position.line) for b in source.budgets if source.places}
    judged = {budget.position for candidate in source.candidates for budget in candidate.budgets}
    standing = suppressions.apply(
        findings,
        read,
        files,
        lambda code: code in complete and _is_on(code, settings),
        not_judged=every - {(at.path, at.line) for at in judged},
    )
    reported = []
    for item in standing:
        there = settings.for_file(item.position.path)
        if _is_on(item.code, there):
            severity = there.severity.get(item.code, item.severity)
            reported.append(replace(item, severity=severity))
    return reported


def said_once(findings: Sequence[Finding], models: Iterable[ModelReport]) -> list[Finding]:
    """Without what is said of the source where a model that was built says it, or refutes it."""
    hidden = {(f.position.path, f.position.line) for f in findings if f.code == "NPL010"}
    built_targets = {
        target
        for model in models
        if isinstance(model.measurement, Measured)
        for target in (model.bare, *(row.target for row in model.measurement.inside))
    }
    return [
        item
        for item in findings
        if item.code != _SAME_AS_HIDDEN or (item.position.path, item.position.line) not in hidden
        if item.code != _CANNOT_BE_BUILT or item.target not in built_targets
    ]


def _is_on(code: str, settings: Settings) -> bool:
    is_on = code.startswith(settings.select) if settings.select else RULES[code].enabled
    return is_on and not code.startswith(settings.ignore)
