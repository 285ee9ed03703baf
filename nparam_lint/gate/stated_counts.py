"""Stated counts × models → which model each is about, and whether it is right.

A count binds to a model by a name beside it that one model has, by the config file that states it,
or by the names of a checkpoint's tensors: that is `certain`, and a finding where it is wrong. What
is only `likely` is never one. A number that fits one of several models accuses nobody.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from msgspec.structs import replace

from nparam_lint.config import commands
from nparam_lint.count.measured import Measured
from nparam_lint.discover.claims import stated
from nparam_lint.discover.files import list_stating
from nparam_lint.gate import (
    count_verdicts,
    doubted_counts,
    measures,
    model_names,
    row_settings,
)
from nparam_lint.gate.building import with_fused
from nparam_lint.gate.judgements import in_order, reported_findings
from nparam_lint.gate.reading import listed
from nparam_lint.gate.report import StatedOutcome, with_findings
from nparam_lint.ground.errors import Aside, UsageError
from nparam_lint.ground.facts import digest
from nparam_lint.ground.findings import finding
from nparam_lint.ground.grouping import grouped
from nparam_lint.ground.lines import lines_of
from nparam_lint.ground.metrics import METRICS
from nparam_lint.ground.paths import DOC_SUFFIXES, relative_path, within
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.ground.values import Position, SourceLine, proportion
from nparam_lint.repository import git

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from nparam_lint.config.session import Session
    from nparam_lint.discover.claims.stated import StatedCount
    from nparam_lint.gate.candidates import Candidate, ProjectSource
    from nparam_lint.gate.report import Report
    from nparam_lint.ground.findings import BudgetResult, Finding

Stating: TypeAlias = "dict[str, tuple[list[StatedCount], bytes]]"  # of each file, and its content
_OF_A_HOOK = (*DOC_SUFFIXES, ".py", ".yaml", ".yml", ".toml")
_CHECKPOINT = ".safetensors"
_WORD = late_pattern(r"[\w+-][\w./+-]*(?<![./-])")
_LONGEST_HEADER = 100_000_000  # bytes, as the format's own reader allows


class _Judged(NamedTuple):
    """What comes of stated counts by the `names` of models; and, by the places of broken budgets,
    where the same number is stated."""

    names: model_names.ModelNames
    outcomes: list[StatedOutcome]
    findings: list[Finding]
    repeated: dict[Position, list[Position]]


def with_stated_counts(
    report: Report, source: ProjectSource, candidates: Iterable[Candidate]
) -> Report:
    """The report with what comes of each stated count; those that are certain and wrong are
    findings. `candidates`: those that it reports on."""
    stating = _stating(source.session, within(source.places))
    judged = _judged(stating, report, source, candidates)
    report = _with_repeated(report, judged.repeated, source.session)
    outcomes = [*judged.outcomes, *count_verdicts.sizes_in_names(judged.names, judged.outcomes)]
    if any(outcome.count.head_at for outcome in outcomes):
        with Aside("the settings in rows of tables"):
            outcomes = row_settings.with_settings(outcomes, source, candidates)
    every = [*report.findings, *judged.findings]
    return replace(report, stated=tuple(outcomes), findings=tuple(in_order(every)))


def _with_repeated(
    report: Report, repeated: Mapping[Position, Sequence[Position]], session: Session
) -> Report:
    """The report, in which the findings about budgets name the texts that state the same number."""

    def naming(item: Finding) -> Finding:
        places = repeated.get(item.position) if item.result else None
        return replace(item, detail=(*item.detail, _also_in(places, session))) if places else item

    return with_findings(report, naming)


def _also_in(places: Sequence[Position], session: Session) -> str:
    paths = dict.fromkeys(at.path for at in places if not at.path.endswith(".py"))
    step = f"; then: {commands.update_claims(session, paths)}" if paths else ""
    return f"also stated in {', '.join(map(str, places))}{step}"


def _budgets_of(outcome: StatedOutcome) -> list[BudgetResult]:
    """The budgets of the model of a stated count, of the same measure."""
    budgets = outcome.model.budgets if outcome.model else ()
    return [budget for budget in budgets if budget.selector == str(outcome.count.selector)]


def _repeated(outcome: StatedOutcome, errors: Container[Position]) -> BudgetResult | None:
    """The budget that a stated count is another statement of, if one of the `errors` is about it:
    one cause is one finding."""
    bounds = outcome.count.bounds()
    for budget in _budgets_of(outcome):
        is_same = budget.value is not None and any(budget.value in admitted for admitted in bounds)
        if is_same and budget.position in errors:
            return budget
    return None


def _stating(session: Session, in_scope: Callable[[str], object]) -> Stating:
    """The files that state counts. An answer rests on all that were looked at."""
    digests: dict[str, str] = {}
    stating: Stating = {}
    for path in filter(in_scope, listed(session, list_stating)):
        with suppress(OSError):
            content = _content(session.root, path)
            digests[path] = digest(content)
            if counts := [*stated.stated_counts(path, content)]:
                stating[path] = counts, content
    session.inputs.add_source(str(session.home), digests, digests.__getitem__)
    return stating


def _judged(
    stating: Stating, report: Report, source: ProjectSource, candidates: Iterable[Candidate]
) -> _Judged:
    """What comes of the counts of some files by the models of a report; of the models of a table in
    which one number is wrong, also by what they have when they are fused. `candidates`: what was
    built for the report."""
    judged = _compared(
        stating, report, model_names.ModelNames(report, source.discovery.definitions), source
    )
    tables = grouped(judged.outcomes, doubted_counts.table_of).values()
    doubted_tables = (rows for rows in tables if any(o.verdict == "wrong" for o in rows))
    doubted = {o.model.bare for rows in doubted_tables for o in rows if o.model}
    builds = {(str(candidate.target), candidate.way): candidate for candidate in candidates}
    measured = {
        number: (builds[model.target, model.way], answer)
        for number, model in enumerate(report.models)
        if model.bare in doubted and (model.target, model.way) in builds
        if isinstance(answer := model.measurement, Measured) and answer.fusing
    }
    if not measured:
        return judged
    models = [*report.models]
    with Aside("which numbers are fused counts"):
        for number, answer in with_fused(measured, source).items():
            models[number] = replace(models[number], measurement=answer)
    names = model_names.ModelNames(
        replace(report, models=tuple(models)), source.discovery.definitions
    )
    return _compared(stating, report, names, source)


def _compared(
    stating: Stating, report: Report, names: model_names.ModelNames, source: ProjectSource
) -> _Judged:
    """What comes of the counts of some files by these names. What is a budget, or a claim in a
    model's own docstring, is judged as such."""
    settings = source.session.settings
    declared = {(b.position.path, b.position.line) for m in report.models for b in m.budgets}
    outcomes: dict[str, list[StatedOutcome]] = {}
    findings: list[Finding] = []
    # Of an error alone: nothing else may stand for a finding that is one.
    errors = {f.position for f in report.findings if f.result and f.severity == "error"}
    repeated: dict[Position, list[Position]] = {}
    for path, (counts, _) in stating.items():
        tolerance = settings.for_file(path).tolerance
        outcomes[path] = doubted_counts.doubted(
            count_verdicts.CountVerdict(names, path, count, tolerance).outcome()
            for count in counts
            if (path, count.line) not in declared
        )
    outcomes = doubted_counts.without_runs(outcomes)
    for path, of_file in outcomes.items():
        if wrong := [o for o in of_file if o.verdict == "wrong" and o.strength == "certain"]:
            is_text = not path.lower().endswith(_CHECKPOINT)
            lines = lines_of(stating[path][1]) if is_text else []
            for outcome in wrong:
                if budget := _repeated(outcome, errors):
                    repeated.setdefault(budget.position, []).append(outcome.position)
                else:
                    findings.append(_disagreement(outcome, lines, source.session))
        findings += _misnamed_units(of_file)
    every = [outcome for of_file in outcomes.values() for outcome in of_file]
    return _Judged(names, every, reported_findings(findings, source), repeated)


def _disagreement(outcome: StatedOutcome, lines: Sequence[str], session: Session) -> Finding:
    """NPL013 of a count that is wrong; `lines`: those of its file."""
    count, at, actual = outcome.count, outcome.position, outcome.actual or 0
    numbers = [bounds.declared for bounds in count.bounds() if bounds.declared]
    declared = min(numbers, key=lambda n: abs(n - actual), default=0)
    share = proportion(actual - declared, declared)
    message = f"{outcome.name} has {actual:,} {METRICS[count.selector.metric].words}, "
    message += f"stated: {count.text}" + (f" ({share})" if share else "")
    detail = [outcome.explanation] if outcome.explanation else []
    if not detail and not count.weights:
        detail = [f"to correct it: {commands.update_claims(session, [at.path])}"]
        for budget in _budgets_of(outcome)[:1] if at.path.endswith(".py") else ():
            detail = [f"correct the number, or leave it out: {budget.position} declares the count"]
    target = outcome.model.target if outcome.model else ""
    disagreement = finding("NPL013", at, message, target, detail)
    text = lines[at.line - 1] if at.line <= len(lines) else ""
    here = text[at.column - 1 :]
    number = re.match(r"[^\s|&<;)}\]\"']*[^\s|&<,;)}\]\"']", here)
    width = len(count.text) if here.startswith(count.text) else len(number[0]) if number else 0
    marked = (SourceLine(at, text, width),) if width else ()
    return replace(disagreement, lines=marked)


def _misnamed_units(of_file: Iterable[StatedOutcome]) -> Iterable[Finding]:
    """NPL107 of each head of a table that calls megabytes what are millions of parameters."""
    heads = set()
    for outcome in of_file:
        head, model = outcome.count.head_at, outcome.model
        is_of_bytes = outcome.count.in_bytes and outcome.strength == "certain"
        if head is None or head in heads or model is None or not is_of_bytes:
            continue
        sizes = [*measures.sizes_in_bytes(outcome.actual or 0)]
        are_bytes = any(n in b for b in outcome.count.bounds() for n in sizes)
        if outcome.verdict == "right" and not are_bytes:
            heads.add(head)
            stated, millions = outcome.count.text, (outcome.actual or 0) / 10**6
            message = f"{stated} is no size: {outcome.name} has {millions:,.3g} million parameters"
            at = Position(outcome.position.path, *head)
            yield finding("NPL107", at, message, model.target)


def _content(root: Path, path: str) -> bytes:
    """Of a text all; nothing of one that is larger than any that people write. Of a checkpoint what
    it begins with: the length of its header, and that; a length that lies gives what there is."""
    with (root / path).open("rb") as file:
        if path.lower().endswith(_CHECKPOINT):
            length = file.read(8)
            return length + file.read(min(int.from_bytes(length, "little"), _LONGEST_HEADER))
        return file.read() if os.fstat(file.fileno()).st_size <= stated.LARGEST else b""


def staged_counts(session: Session, report: Report) -> tuple[Stating, set[Position]]:
    """The places of the counts that the next commit states, in texts that a hook's answer rests on;
    and of those that name a model whose count it changes: one of its budgets is broken, or is
    written anew. With all counts of their files, as a name that stands there twice is judged by
    both."""
    try:
        repository = git.open_repository(session.home, session.environ)
        folder = relative_path(session.home, repository.top)
        lines = repository.staged_lines("" if folder == "." else folder, _OF_A_HOOK)
    except UsageError:  # no repository
        return {}, set()

    def is_staged(at: Position) -> bool:
        return at.line in lines.get(at.path, ())

    changed_names = {
        model_names.name_key(name)
        for model in report.models
        for budget in model.budgets
        if not budget.ok or is_staged(budget.position)
        for name in model_names.names_of(model.target, model.way, model.target)
    } - {""}
    stating = _stating(
        session,
        lambda path: path.lower().endswith(_OF_A_HOOK) and (path in lines or changed_names),
    )
    places = set()
    for path, (counts, _) in stating.items():
        for count in counts:
            at = Position(path, count.line, count.column)
            key = model_names.name_key(" ".join(count.names)) if changed_names else ""
            # Most texts have none of the names in them, and need not be taken apart.
            may_name = any(name in key for name in changed_names)
            if is_staged(at) or (may_name and not changed_names.isdisjoint(_keys_of(count))):
                places.add(at)
    files = {at.path for at in places}
    return {path: counts for path, counts in stating.items() if path in files}, places


def _keys_of(count: StatedCount) -> Iterator[str]:
    """The keys of what may name the model of a count: each text, and a few words of one."""
    for text in count.names:
        words = _WORD.findall(text)
        ends = ((n, n + length) for n in range(len(words)) for length in (1, 2, 3))
        for name in (text, *(" ".join(words[start:end]) for start, end in ends)):
            yield model_names.name_key(name)


def named_in(stating: Stating, candidates: Iterable[Candidate]) -> list[Candidate]:
    """The candidates that one of these counts may be about, by their names."""
    texts = (
        " ".join((*count.names, *count.above, path))
        for path, (counts, _) in stating.items()
        for count in counts
    )
    key = " ".join(map(model_names.name_key, texts))

    def is_named(candidate: Candidate) -> bool:
        recipe = candidate.build.recipe
        call = f"{recipe.call} f({recipe.arguments})"
        names = model_names.names_of(str(candidate.target), candidate.way, call)
        return any(model_names.name_key(name) in key for name in names if name)

    return [*filter(is_named, candidates)]


def with_counts_at(
    places: set[Position],
    stating: Stating,
    report: Report,
    built: Report,
    source: ProjectSource,
    candidates: Iterable[Candidate],
) -> Report:
    """The report with the findings about the counts at some places, as a run over all models has
    them. `built`: of the models that these name, the `candidates`."""
    judged = _judged(stating, built, source, candidates)
    repeated = {
        budget: [at for at in stated_at if at in places]
        for budget, stated_at in judged.repeated.items()
    }
    report = _with_repeated(report, repeated, source.session)
    findings = [finding for finding in judged.findings if finding.position in places]
    every = dict.fromkeys([*report.findings, *findings])
    return replace(report, findings=tuple(in_order(every)))
