"""Stated counts × models → which model each is about, and whether it is right.

A count binds to a model by a name beside it that one model has, by the config file that states it,
or by the names of a checkpoint's tensors: that is `certain`, and a finding where it is wrong. What
is only `likely` is never one. A number that fits one of several models accuses nobody.
"""

from __future__ import annotations

import os
import posixpath
import re
from contextlib import suppress
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from msgspec.structs import replace

from nparam_lint.config import commands
from nparam_lint.count.measured import Measured
from nparam_lint.discover.claims import stated
from nparam_lint.discover.claims.stated import StatedCount
from nparam_lint.discover.files import list_stating
from nparam_lint.gate import measures, model_names, row_settings
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
from nparam_lint.ground.notation import Selector
from nparam_lint.ground.notation.grammar import parse_value
from nparam_lint.ground.paths import CONFIG_SUFFIXES, DOC_SUFFIXES, parent, relative_path, within
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.ground.script_words import TEST_FILE
from nparam_lint.ground.values import Position, SourceLine, proportion
from nparam_lint.repository import git

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from nparam_lint.config.session import Session
    from nparam_lint.gate.candidates import Candidate, ProjectSource
    from nparam_lint.gate.model_names import NamedModel
    from nparam_lint.gate.report import Report, Strength
    from nparam_lint.ground.findings import BudgetResult, Finding
    from nparam_lint.ground.notation.grammar import Bounds, Tolerance

Stating: TypeAlias = "dict[str, tuple[list[StatedCount], bytes]]"  # of each file, and its content
_OF_A_HOOK = (*DOC_SUFFIXES, ".py", ".yaml", ".yml", ".toml")
_CHECKPOINT = ".safetensors"
_SIZE_IN_NAME = late_pattern(  # of `yoloe-11m` it is another m
    r"(?<![A-Za-z0-9.])(?<!yoloe-)(?P<number>[0-9]+(?:[._p][0-9]+)?)(?P<suffix>[mMbB])(?![A-Za-z0-9])"
)
_ROUNDED = Fraction(3, 2)
_SEVERAL = 3  # models in a table, numbers of a model
_ALIKE = 2  # numbers that agree on what they leave out
_ROUNDED_UP = Fraction(1005, 1000)
# Folders, headings and heads of columns: the model in the row is often a part of what is counted.
_TASK = late_pattern(
    r"""detection|segmentation|downstream|video.?prediction
    |(?<![a-z])(?:seg|det|pose|keypoints?|tracking|coco|ade20k|cityscapes|voc|kitti|mpii
    |recall|pckh?|(?-i:AR)|mota|hota|idf1|mpjpe|abs.?rel|psnr|ssim|fid|wer)(?![a-z])""",
    re.IGNORECASE | re.VERBOSE,
)
# What a model has then may be less than what it is built with.
_INFERENCE = late_pattern(r"(?<![a-z])(?:deploy|inference|fused)", re.IGNORECASE)
_PARTS = frozenset("encoder decoder backbone neck head".split())
_OF_ANOTHER = "this is what "  # so begins what is said of a number that is another size's
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
    outcomes = [*judged.outcomes, *_of_names(judged.names)]
    if any(outcome.count.head_at for outcome in outcomes):
        with Aside("the settings in rows of tables"):
            outcomes = row_settings.with_settings(outcomes, source)
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
    """What comes of the counts of some files by the models of a report; of a model that a wrong
    number may be about, also by what it has when it is fused. `candidates`: what was built for the
    report."""
    judged = _compared(
        stating, report, model_names.ModelNames(report, source.discovery.definitions), source
    )
    doubted = {o.model.bare for o in judged.outcomes if o.verdict == "wrong" and o.model}
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
        outcomes[path] = _doubted(
            _outcome(names, Position(path, count.line, count.column), count, tolerance)
            for count in counts
            if (path, count.line) not in declared
        )
    outcomes = _without_runs(outcomes)
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


def _misnamed_units(of_file: Iterable[StatedOutcome]) -> Iterable[Finding]:
    """NPL107 of each head of a table that calls megabytes what are millions of parameters."""
    heads = set()
    for outcome in of_file:
        head, model = outcome.count.head_at, outcome.model
        is_of_bytes = outcome.count.in_bytes and outcome.strength == "certain"
        if head is None or head in heads or model is None or not is_of_bytes:
            continue
        sizes = [*_sizes(outcome.actual or 0)]
        are_bytes = any(n in b for b in outcome.count.bounds() for n in sizes)
        if outcome.verdict == "right" and not are_bytes:
            heads.add(head)
            stated, millions = outcome.count.text, (outcome.actual or 0) / 10**6
            message = f"{stated} is no size: {outcome.name} has {millions:,.3g} million parameters"
            at = Position(outcome.position.path, *head)
            yield finding("NPL107", at, message, model.target)


def _sizes(amount: int) -> Iterator[int]:
    """The bytes of so many parameters in a usual dtype; of mebibytes, what their number is taken
    for: millions of bytes."""
    for element_size in (2, 4):
        yield amount * element_size
        yield amount * element_size * 10**6 // 2**20


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
        model_names.name_key(model_names.called(model.target))
        for model in report.models
        for budget in model.budgets
        if not budget.ok or is_staged(budget.position)
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
            if is_staged(at) or any(name in key for name in changed_names):
                places.add(at)
    files = {at.path for at in places}
    return {path: counts for path, counts in stating.items() if path in files}, places


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


def _of_names(names: model_names.ModelNames) -> Iterator[StatedOutcome]:
    """Models that are called after a number of parameters, such as `olmo2_1M` or `7B.yml`, and have
    another. As people round it at will, no such name is wrong for certain, nor one by less than a
    half."""
    places = set()
    for models in names.by_key.values():
        model = models[0]
        matches = [*_SIZE_IN_NAME.finditer(model.name)]
        if len(matches) != 1 or not all(map(_stands_for_itself, models)):
            continue  # `CLIP-ViT-39M-Text-19M` names its parts
        match = matches[0]
        last = re.split("[._p]", match["number"])[-1]  # of `qwen2_5_7b`
        texts = dict.fromkeys((re.sub("[_p]", ".", match["number"]), last))
        readings = tuple(parse_value(text + match["suffix"].upper()) for text in texts)
        amounts = [m.measured.counts.total for m in models]
        sizes = [value.bounds().declared or 0 for value in readings]
        if any(_is_about(n, size) for size in sizes for n in amounts):
            continue
        at = model.report.way.position if model.report.way else model.report.position
        count = StatedCount(model.name, readings, Selector("total"), at.line, at.column)
        if (at, match[0]) not in places:
            places.add((at, match[0]))
            because = f"{match[0]} stands in its name"
            rest = model.measured.modules[0].non_embedding
            is_rest = any(_is_about(rest, size) for size in sizes)
            explanation = f"without embeddings it has {rest:,}" if is_rest else ""
            named = model.report, model.name, amounts[0]
            yield StatedOutcome(at, count, "wrong", "likely", *named, because, explanation)


def _stands_for_itself(model: NamedModel) -> bool:
    """Whether a model is no part of others, or one that has a size."""
    way = model.report.way
    return model.report.top_level or (way is not None and way.kind == "size")


def _doubted(of_file: Iterable[StatedOutcome]) -> list[StatedOutcome]:
    """The outcomes of one file, of which some that are wrong are only likely. A name that stands
    there with the right count, too, is that of a variant of the model: on other data, or in another
    table; below another heading nothing is said of it. A table of several models, of which none is
    right and no number is another count of its model, is about something else; of a number that is
    far from its model's, nothing is said."""
    outcomes = [*of_file]
    rows = [o for o in outcomes if o.count.is_name and o.model]
    # Names with right counts, and the headings below which these are certain.
    right: dict[tuple[str, Selector, str], set[tuple[str, ...]]] = {}
    for o in rows:
        if o.verdict == "right" and o.model:
            headings = right.setdefault((o.model.target, o.count.selector, o.name), set())
            headings.update([o.count.above] if o.strength == "certain" else [])
    tables = grouped(rows, lambda outcome: outcome.count.head_at)
    of_others = {
        head: len({o.name for o in inside}) >= _SEVERAL
        for head, inside in tables.items()
        if head and not any(map(_confirms, inside))
    }
    left_out = {
        head: _left_out([o for o in inside if o.verdict == "wrong"])
        for head, inside in tables.items()
        if head
    }

    def doubted(o: StatedOutcome) -> StatedOutcome:
        if o.verdict != "wrong" or not (o.count.is_name and o.model):
            return o
        head = o.count.head_at
        if head and (part := left_out.get(head)):
            explanation = measures.without_part("this", part, _without_parts(o)[part])
            return replace(o, strength="likely", explanation=explanation)
        headings = right.get((o.model.target, o.count.selector, o.name))
        if headings is not None or (head and of_others.get(head)):
            o = replace(o, strength="likely")
        is_of_other_data = bool(headings and o.count.above not in headings)
        is_other = head in of_others and o.strength == "likely"
        is_other &= not any(_is_about(o.actual or 0, b.declared or 0) for b in o.count.bounds())
        is_left = (is_of_other_data or is_other) and not o.explanation
        return StatedOutcome(o.position, o.count) if is_left else o

    return [*map(doubted, outcomes)]


def _left_out(wrong: Sequence[StatedOutcome]) -> str:
    """The part without which the models of a table were counted, if no wrong number in it is
    another count; of several the last, which is a head: `classifier`."""
    if any(o.explanation and not measures.is_of_other_form(o.explanation) for o in wrong):
        return ""
    parts = [_without_parts(o) for o in wrong]
    shared = parts[0] if len(parts) >= _ALIKE else {}
    return next((p for p in reversed(shared) if all(p in other for other in parts)), "")


def _without_parts(outcome: StatedOutcome) -> dict[str, int]:
    measured = outcome.model.measurement if outcome.model else None
    if not isinstance(measured, Measured):
        return {}
    return measures.parts_left_out(outcome.count.bounds(), measured)


def _is_about(amount: int, stated: int | Fraction) -> bool:
    """Whether a number is that of a model and some parts more, or fewer, or rounded at will."""
    return stated / _ROUNDED <= amount <= stated * _ROUNDED


def _without_runs(outcomes: Mapping[str, list[StatedOutcome]]) -> dict[str, list[StatedOutcome]]:
    """The outcomes by file, of which those are only likely that several results or configs have of
    one model, each with another number: each run has built it in its own way."""
    numbers: dict[tuple[str, str], set[str]] = {}

    def key(outcome: StatedOutcome) -> tuple[str, str]:
        return outcome.model.bare if outcome.model else "", str(outcome.count.selector)

    def is_wrong(path: str, outcome: StatedOutcome) -> bool:
        return outcome.verdict == "wrong" and path.lower().endswith(CONFIG_SUFFIXES)

    for path, of_file in outcomes.items():
        for outcome in of_file:
            if is_wrong(path, outcome):
                numbers.setdefault(key(outcome), set()).add(outcome.count.value.text)
    return {
        path: [
            replace(o, strength="likely")
            if is_wrong(path, o) and len(numbers[key(o)]) >= _SEVERAL
            else o
            for o in of_file
        ]
        for path, of_file in outcomes.items()
    }


def _confirms(outcome: StatedOutcome) -> bool:
    """Whether a count shows that those beside it are of the models by whose names they stand: its
    number is one of its own model's."""
    if outcome.verdict == "right":
        return outcome.strength == "certain"
    return bool(outcome.explanation) and not outcome.explanation.startswith(_OF_ANOTHER)


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


def _outcome(
    names: model_names.ModelNames, at: Position, count: StatedCount, tolerance: Tolerance | None
) -> StatedOutcome:
    def fitting(models: Iterable[NamedModel]) -> NamedModel | None:
        return next((m for m in models if _fits(count, m, tolerance)), None)

    uncounted = names.skipped.get(model_names.name_key(" ".join(count.names)), "")
    of_none = StatedOutcome(at, count, uncounted=uncounted)
    binding = names.binding(at, count)
    models = [m for m in binding.models if m.amount(count) is not None]
    if not models:
        return of_none
    strength, explanation = binding.strength, ""
    right = model = fitting(models)
    near: list[NamedModel] = []
    if model is None:  # a family, or all that is built of a class, may be called after it
        near = names.of_family(models[0].name)
        near += names.beside(models[0]) if models[0].is_named_by_class else []
        near += names.of_heading(next(iter(count.names), ""), count.above) if count.is_name else []
        right = model = fitting(near)
        strength = "likely"
    if model is None:
        misfit = _misfit(names, at, count, binding, models, near, tolerance)
        if misfit is None:
            return of_none
        model, right, strength, explanation = misfit
    return StatedOutcome(
        at,
        count,
        "right" if right else "wrong",
        strength,
        model.report,
        model.name,
        model.amount(count),
        binding.because,
        explanation,
    )


class _Misfit(NamedTuple):
    """The model that a count is about which fits none; `right`: the same, if it fits what that has
    when it is fused."""

    model: NamedModel
    right: NamedModel | None
    strength: Strength
    explanation: str


def _misfit(
    names: model_names.ModelNames,
    at: Position,
    count: StatedCount,
    binding: model_names.Binding,
    models: Sequence[NamedModel],
    near: Sequence[NamedModel],
    tolerance: Tolerance | None,
) -> _Misfit | None:
    """What comes of a count that fits none of the models of its binding, nor of those `near`; None
    where it is about something else, or may be."""
    bounds = count.bounds(tolerance)
    model = next((m for m in models if m.is_default), models[0])
    text = " ".join((*count.names, *count.sentence)) if not count.is_name else ""
    if measures.is_of_named_part(text, bounds, model.measured):
        return None
    explain = measures.mebi_for_million if binding.confirms else measures.fitting_measure
    is_of_part = count.of_larger and binding.confirms
    explanation = "" if is_of_part else explain("this", bounds, model.measured)
    right = None
    is_of_inference = bool(_INFERENCE.search(count.text))
    if is_of_inference and measures.is_fused(bounds, model.measured):
        right, explanation = model, ""
    if not explanation and count.is_name and not binding.confirms:
        others = (m for m in names.beside(model) if _fits(count, m, tolerance))
        explanation = next((f"{_OF_ANOTHER}{other.name} has" for other in others), "")
    # What was not counted, or not in the way in which the project builds it, may fit.
    is_unknown = names.has_namesake(model) or names.are_only_defaults(models)
    if not explanation and (binding.confirms or (is_unknown and not count.definition)):
        return None if right is None else _Misfit(model, right, binding.strength, "")
    is_clear = _is_of(model, models, count, names) and _is_near(model, at, count)
    is_clear &= not (_is_any_size(model, near, count) or binding.confirms or model.is_chosen)
    is_clear &= model_names.is_plain(count, model) and not is_of_inference
    is_clear &= not measures.is_of_other_form(explanation)
    is_clear &= not measures.training_parts(model.measured)
    is_clear &= names.of_two_forms.isdisjoint(model.spellings)
    is_clear &= not any(_is_rounded_up(model.amount(count) or 0, b) for b in bounds)
    is_clear |= right is not None
    if not (is_clear or explanation):  # of several, it is most likely about the nearest

        def distance(candidate: NamedModel) -> int:
            return min(abs((candidate.amount(count) or 0) - (b.declared or 0)) for b in bounds)

        model = min(models, key=distance)
    return _Misfit(model, right, binding.strength if is_clear else "likely", explanation)


def _is_of(
    model: NamedModel,
    models: Sequence[NamedModel],
    count: StatedCount,
    names: model_names.ModelNames,
) -> bool:
    """Whether a count that fits none of the models is that of one of them. Of several with
    different counts it may be about one that was not counted, unless the name is that of a class or
    a factory whose defaults are one of them. Of a class whose budgets say its arguments, no other
    way to build it was tried; and what a script builds may not be known. A test builds what is
    small."""
    is_of_test = any(m.report.way and TEST_FILE.search(m.report.way.position.path) for m in models)
    is_gap = model.report.bare in names.gaps and model.name not in names.by_path
    if is_of_test or is_gap or names.has_namesake(model):
        return False
    if len({m.amount(count) for m in models}) == 1 and not model.has_arguments:
        return True
    is_one = len({m.report.bare for m in models}) == 1 and any(m.is_default for m in models)
    return is_one and model.report.bare not in names.unsure


def _is_any_size(model: NamedModel, near: Iterable[NamedModel], count: StatedCount) -> bool:
    """Whether a class is named, of which there are several sizes, and its defaults are one of them:
    each has a name of its own, so that the class alone may be any."""
    if count.definition or not model.is_named_by_class:
        return False
    others = [m for m in near if m.measured.type == model.measured.type and not m.is_named_by_class]
    amounts = {m.amount(count) for m in others}
    return len(amounts) > 1 and model.amount(count) in amounts


def _is_near(model: NamedModel, at: Position, count: StatedCount) -> bool:
    """Whether a text means this model by its name, rather than what it is a part of, or has as a
    part. About a downstream task it often has another head, or none. What is called an encoder is
    no model, unless the text calls it that. And `base` is that of a model of the same folder."""
    file = model.report.bare.partition("::")[0]
    is_here = within([parent(at.path)])(file) or not model_names.is_size(model.name)
    task = _tasks(parent(file))
    text_tasks = _tasks(parent(at.path), *count.above[:1], *count.heads)
    is_of_task = task <= text_tasks and bool(task) == bool(text_tasks)
    text = (*count.names, *count.sentence, *count.above, *count.heads)
    called = (posixpath.basename(file), model_names.called(model.report.target))
    is_whole = at.path == file or _parts(*called) <= _parts(*text)
    return is_here and is_of_task and is_whole


def _tasks(*texts: str) -> set[str]:
    """The downstream tasks that texts name."""
    return {match[0].lower() for text in texts for match in _TASK.finditer(text)}


def _parts(*texts: str) -> set[str]:
    """The words for a part of a model that texts have."""
    words = (word.lower() for text in texts for word in model_names.PIECE.findall(text))
    return {word.removesuffix("s") for word in words} & _PARTS


def _is_rounded_up(amount: int, bounds: Bounds) -> bool:
    """Whether a number is so little too large that somebody rounded it up."""
    declared, unit = bounds.declared or 0, (bounds.high or 0) + 1 - (bounds.declared or 0)
    return declared - unit < amount < declared <= amount * _ROUNDED_UP


def _fits(count: StatedCount, model: NamedModel, tolerance: Tolerance | None) -> bool:
    root, amount = model.measured.modules[0], model.amount(count) or 0
    amounts = {amount}
    if count.weights:  # a checkpoint holds the buffers, too, and older ones tied weights twice
        modules = {name.rpartition(".")[0] for name in count.weights}
        rows = (row for row in model.measured.modules if row.path in modules)
        copies = sum(row.total - row.own for row in rows if row.tied or row.shared_with)
        amounts = {root.total + more for more in (0, root.buffers, copies, root.buffers + copies)}
    if count.in_bytes:
        amounts.update(_sizes(amount))
    return any(n in admitted for admitted in count.bounds(tolerance) for n in amounts)
