"""Stated counts × models → which model each is about, and whether it is right.

A count binds to a model by a name beside it that one model has, by the config file that states it,
or by the names of a checkpoint's tensors: that is `certain`, and a finding where it is wrong. What
is only `likely` is never one. A number that fits one of several models accuses nobody.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import product
from typing import TYPE_CHECKING

from nparam_lint.claims import DOC_SUFFIXES, parse_selector, stated
from nparam_lint.claims.grammar import Number, Value
from nparam_lint.claims.stated import StatedCount
from nparam_lint.count.measured import Measured
from nparam_lint.discover.files import list_stating, reader, within
from nparam_lint.gate import explanations, measures
from nparam_lint.gate.judgements import in_order, reported_findings
from nparam_lint.gate.reading import listed
from nparam_lint.gate.report import StatedOutcome
from nparam_lint.ground.errors import UsageError
from nparam_lint.ground.facts import digest
from nparam_lint.ground.findings import finding
from nparam_lint.ground.metrics import METRICS
from nparam_lint.ground.values import Position, SourceLine, proportion
from nparam_lint.repository.git import open_repository

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from nparam_lint.claims.grammar import Tolerance
    from nparam_lint.config.session import Session
    from nparam_lint.gate.candidates import Candidate, ProjectSource
    from nparam_lint.gate.report import ModelReport, Report, Strength, Verdict
    from nparam_lint.ground.findings import Finding

# Words for sizes, by which one name has several spellings: `ViT-B/16`, `vit_base_16`; and the
# letters for them, where these stand alone.
_SIZES = {
    "nano": "N",
    "tiny": "T",
    "ti": "T",
    "small": "S",
    "base": "B",
    "medium": "M",
    "large": "L",
    "xlarge": "XL",
    "huge": "H",
    "giant": "G",
}
_LETTERS = {letter.lower(): letter for letter in _SIZES.values()}
_PART = re.compile(r"[A-Za-z]+|[0-9]+")
_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_BRACKETS = re.compile(r"\s*(?:\([^()]*\)|\[[^\[\]]*\]|[*†‡§^]+)\s*")
_WORD = re.compile(r"[A-Za-z][\w./+-]*")
_STRING = re.compile(r"""['"]([^'"]{1,80})['"]""")
_BLOB = re.compile(r"https?://[^/]+/[^/]+/[^/]+/(?:blob|tree|raw)/[^/]+/(.+)")
# A class of configuration or of weights is called after the model.
_OF_MODEL = re.compile(r"_?(?:[Ww]eights|[Cc]onfig|[Aa]rgs|[Pp]arams)$")
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_COMPOUND = re.compile(r"[0-9_]|[a-z][A-Z]|[A-Z]{2}")
# Words that a text has whomever it is about.
_GENERAL = frozenset(
    "model network module encoder decoder backbone baseline head block layer main create build get"
    " make transformer attention classifier discriminator generator".split()
)
_WORDS_OF_NAME = 3
_SHORTEST_BEGINNING = 5  # letters of a name that begins another
_OF_A_HOOK = (*DOC_SUFFIXES, ".py", ".yaml", ".yml", ".toml")
_CHECKPOINT = ".safetensors"
_LONGEST_HEADER = 100_000_000  # bytes, as the format's own reader allows
_ALIKE = 0.9  # of the modules of a model, and of a checkpoint


@dataclass(frozen=True, slots=True)
class _NamedModel:
    """A model that was counted, as a text may call it."""

    report: ModelReport
    measured: Measured
    name: str

    @property
    def callable(self) -> str:
        """The class or factory, without arguments."""
        return self.report.target.partition("(")[0]

    @property
    def has_arguments(self) -> bool:
        """Whether it is declared with arguments."""
        return self.report.way is None and self.report.target != self.callable

    @property
    def is_default(self) -> bool:
        """Whether nobody says how it is called."""
        return self.report.way is None and not self.has_arguments

    def amount(self, count: StatedCount) -> int | None:
        """What it has of the measure that a count is about."""
        return self.measured.modules[0].of(count.selector.metric)

    def has_tensors(self, weights: Iterable[str]) -> bool:
        """Whether the names of a checkpoint's tensors are those of its modules."""
        theirs = {name.rpartition(".")[0] for name in weights}
        ours = {row.path for row in self.measured.modules if row.own or row.tied}
        both = len(theirs & ours)
        return bool(both) and both >= _ALIKE * len(ours) and both >= _ALIKE * len(theirs)


@dataclass(frozen=True, slots=True)
class _Binding:
    """The models that a count may be about, how sure that is, and `because` of what. `confirms`: a
    number that fits none of them is about something else."""

    models: Sequence[_NamedModel] = ()
    strength: Strength = ""
    because: str = ""
    confirms: bool = False


def with_stated_counts(report: Report, source: ProjectSource) -> Report:
    """The report with what comes of each stated count; those that are certain and wrong are
    findings."""
    names, session = _Names(report), source.session
    if not names.models:
        return report
    read_file, in_scope = reader(session.root), within(source.places)
    contents: dict[str, bytes] = {}
    for path in filter(in_scope, listed(session, list_stating)):
        with suppress(OSError):
            is_checkpoint = path.lower().endswith(_CHECKPOINT)
            read = partial(_header, session.root) if is_checkpoint else read_file
            contents[path] = read(path)
    session.inputs.add_source(str(session.home), contents, lambda path: digest(contents[path]))
    # What is a budget, or a claim in a model's own docstring, is judged as such.
    judged = {(b.position.path, b.position.line) for m in report.models for b in m.budgets}
    outcomes: list[StatedOutcome] = []
    findings: list[Finding] = []
    for path, content in contents.items():
        tolerance = session.settings.for_file(path).tolerance
        of_file = [
            names.outcome(Position(path, count.line, count.column), count, tolerance)
            for count in stated.stated_counts(path, content)
            if (path, count.line) not in judged
        ]
        of_file = _without_namesakes(of_file)
        outcomes += of_file
        if wrong := [o for o in of_file if o.verdict == "wrong" and o.strength == "certain"]:
            is_text = not path.lower().endswith(_CHECKPOINT)
            lines = explanations.lines_of(content) if is_text else []
            findings += (_disagreement(outcome, lines) for outcome in wrong)
    every = [*report.findings, *reported_findings(findings, source)]
    return replace(report, stated=tuple(outcomes), findings=tuple(in_order(every)))


def _header(root: Path, path: str) -> bytes:
    """What a safetensors file begins with: the length of its header, and that; never its tensors.
    A length that lies gives what there is."""
    with (root / path).open("rb") as file:
        length = file.read(8)
        return length + file.read(min(int.from_bytes(length, "little"), _LONGEST_HEADER))


def staged_counts(session: Session, report: Report) -> list[tuple[Position, StatedCount]]:
    """The counts that the next commit states, in texts that a hook's answer rests on; and those
    that name a model whose count it changes: one of its budgets is broken, or is written anew."""
    try:
        repository = open_repository(session.home, session.environ)
        folder = os.path.relpath(session.home, repository.top).replace(os.sep, "/")
        lines = repository.staged_lines("" if folder == "." else folder, _OF_A_HOOK)
    except UsageError:  # no repository
        return []

    def is_staged(at: Position) -> bool:
        return at.line in lines.get(at.path, ())

    changed = {
        name_key(model.target.partition("::")[2].partition("(")[0].rpartition(".")[2])
        for model in report.models
        for budget in model.budgets
        if budget.origin != "prose" and (not budget.ok or is_staged(budget.position))
    } - {""}
    read_file, counts = reader(session.root), list[tuple[Position, StatedCount]]()
    paths = listed(session, list_stating) if changed else [*lines]
    for path in (path for path in paths if path.lower().endswith(_OF_A_HOOK)):
        with suppress(OSError):
            for count in stated.stated_counts(path, read_file(path)):
                at = Position(path, count.line, count.column)
                key = name_key(" ".join(count.names)) if changed else ""
                if is_staged(at) or any(name in key for name in changed):
                    counts.append((at, count))
    return counts


def named_in(
    counts: Sequence[tuple[Position, StatedCount]], candidates: Iterable[Candidate]
) -> list[Candidate]:
    """The candidates that one of these counts may be about, by their names."""
    texts = (" ".join((*count.names, *count.above, at.path)) for at, count in counts)
    key = " ".join(map(name_key, texts))
    return [
        candidate
        for candidate in candidates
        if any(name_key(name) in key for name in _names_of_candidate(candidate))
    ]


def judged(
    report: Report, counts: Sequence[tuple[Position, StatedCount]], source: ProjectSource
) -> list[Finding]:
    """The findings about some counts, of the models of a report."""
    names, read_file = _Names(report), reader(source.session.root)
    settings = source.session.settings
    budgets = {(b.position.path, b.position.line) for m in report.models for b in m.budgets}
    outcomes = [
        names.outcome(at, count, settings.for_file(at.path).tolerance)
        for at, count in counts
        if (at.path, at.line) not in budgets
    ]
    findings = [
        _disagreement(outcome, explanations.lines_of(read_file(outcome.position.path)))
        for outcome in outcomes
        if outcome.verdict == "wrong" and outcome.strength == "certain"
    ]
    return reported_findings(findings, source)


def _names_of_candidate(candidate: Candidate) -> Iterator[str]:
    target, recipe, way = candidate.target, candidate.build.recipe, candidate.way
    yield target.callable.rpartition(".")[2] or posixpath.splitext(target.location)[0]
    yield from _STRING.findall(f"{recipe.call} {recipe.arguments}")
    if way and way.name:
        yield way.name


def _without_namesakes(outcomes: Sequence[StatedOutcome]) -> list[StatedOutcome]:
    """Where a file has a name twice, once with the right count, the other is likely a variant of
    that model: on other data, or in another table."""
    rows = [o for o in outcomes if o.count.is_name and o.model]
    right = {(o.model.target, o.name) for o in rows if o.verdict == "right" and o.model}
    return [
        replace(o, strength="likely")
        if o.verdict == "wrong"
        and o.count.is_name
        and o.model
        and (o.model.target, o.name) in right
        else o
        for o in outcomes
    ]


def _disagreement(outcome: StatedOutcome, lines: Sequence[str]) -> Finding:
    """NPL013 of a count that is wrong; `lines`: those of its file."""
    count, at, actual = outcome.count, outcome.position, outcome.actual or 0
    numbers = [value.bounds().declared or 0 for value in count.readings]
    declared = min(filter(None, numbers), key=lambda n: abs(n - actual), default=0)
    share = proportion(actual - declared, declared)
    message = f"{outcome.name} has {actual:,} {METRICS[count.selector.metric].words}, "
    message += f"stated: {count.text}" + (f" ({share})" if share else "")
    detail = [outcome.explanation] if outcome.explanation else []
    target = outcome.model.target if outcome.model else ""
    disagreement = finding("NPL013", at, message, target, detail)
    text = lines[at.line - 1] if at.line <= len(lines) else ""
    number = re.match(r"[^\s|&<,;)}\]\"']+", text[at.column - 1 :])
    marked = (SourceLine(at, text, len(number[0])),) if number else ()
    return replace(disagreement, lines=marked)


def claims_in_docstrings(report: Report) -> list[StatedOutcome]:
    """What comes of the counts that models' own docstrings mention."""
    outcomes = []
    for model in report.models:
        for claim in model.budgets:
            if claim.origin == "prose" and claim.actual is not None:
                at, selector = claim.position, parse_selector(claim.selector)
                value = Number(Fraction(claim.value or 0))
                reading = Value(claim.declared, "plain", (value,))
                count = StatedCount(claim.declared, (reading,), selector, at.line, at.column)
                verdict: Verdict = "right" if claim.ok else "wrong"
                name = model.target.partition("::")[2]
                because = "it stands in the model's docstring"
                outcomes.append(
                    StatedOutcome(at, count, verdict, "certain", model, name, claim.actual, because)
                )
    return outcomes


def name_key(text: str) -> str:
    """What is the same for all spellings of a name."""
    key = ""
    for part in _PART.findall(text):
        if part.lower() in _LETTERS:
            key += _LETTERS[part.lower()]
        else:
            pieces = _PIECE.findall(part) or [part]
            key += "".join(_SIZES.get(piece.lower(), piece.lower()) for piece in pieces)
    return key


class _Names:
    """The models that were counted, by what texts call them."""

    def __init__(self, report: Report) -> None:
        self.models: list[_NamedModel] = []
        self.by_key: dict[str, list[_NamedModel]] = defaultdict(list)
        self.by_path: dict[str, list[_NamedModel]] = defaultdict(list)
        for model in report.models:
            measured = model.measurement
            if not isinstance(measured, Measured) or model.host or not measured.counts.total:
                continue
            for name in _names_of(model, measured):
                self.by_key[name_key(name)].append(_NamedModel(model, measured, name))
            location, _, called = model.target.partition("::")
            if not called:
                self.by_path[location].append(_NamedModel(model, measured, location))
            self.models.append(_NamedModel(model, measured, called.partition("(")[0] or location))
        self.by_key.pop("", None)
        self.unsure = {failed.target for failed in report.failed_ways}
        self.unsure |= {target for target, _ in report.ways_left}
        # Of a project with models that could not be counted, a number may be about one of these.
        top_level = {m.report.target for m in self.models if m.report.top_level}
        is_whole = len(top_level) == 1 and not report.skipped
        self.only = [m for m in self.models if m.report.target in top_level and is_whole]

    def outcome(
        self, at: Position, count: StatedCount, tolerance: Tolerance | None
    ) -> StatedOutcome:
        binding = self._binding(at, count)
        amounts = [(m, n) for m in binding.models if (n := m.amount(count)) is not None]
        if not amounts:
            return StatedOutcome(at, count)
        fitting = next(((m, n) for m, n in amounts if _fits(count, m, n, tolerance)), None)
        if fitting is None and binding.confirms:
            return StatedOutcome(at, count)
        # Of several with different counts it may be about one that was not counted, unless the name
        # is that of a class or a factory whose defaults are one of them.
        defaults = [(m, n) for m, n in amounts if m.is_default]
        model, amount = fitting or [*defaults, *amounts][0]
        # Of a class whose budgets say its arguments, no other way to build it was tried.
        is_only = len({n for _, n in amounts}) == 1 and not model.has_arguments
        is_clear = fitting is not None or is_only
        if defaults and len({m.callable for m, _ in amounts}) == 1:
            is_clear |= model.callable not in self.unsure
        explanation = ""
        if fitting is None:
            bounds = [value.bounds(tolerance=tolerance) for value in count.readings]
            explanation = measures.fitting_measure("this", bounds, model.measured)
        return StatedOutcome(
            at,
            count,
            "right" if fitting else "wrong",
            binding.strength if is_clear else "likely",
            model.report,
            model.name,
            amount,
            binding.because,
            explanation,
        )

    def _binding(self, at: Position, count: StatedCount) -> _Binding:
        models: list[_NamedModel] | None
        if count.weights:
            models = [model for model in self.models if model.has_tensors(count.weights)]
            return _Binding(models, "certain", "its tensors have the names of this model's")
        if count.is_name:
            for name in count.names:
                if models := self.by_path.get(_path_of(name, at.path)):
                    return _Binding(models, "certain", f"beside it stands the file {name}")
                if named := self._named(name):
                    return _Binding(named, "certain", f"beside it stands the name {name}")
            around = [*count.above, *_PART.findall(posixpath.basename(at.path))]
            for rest, name in product(around, count.names):  # `resnet20` below "CIFAR-10"
                if models := self.by_key.get(name_key(f"{rest} {name}")):
                    return _Binding(models, "certain", f"{rest} {name} names it")
        for n, text in enumerate(() if count.is_name else count.names):
            if in_text := [*self._in_text(text)]:
                name, nearest = in_text[0] if n == 1 else in_text[-1]
                is_whole = n < 2 or name_key(text) == name_key(name)  # a heading
                is_certain = is_whole and name.lower() not in _GENERAL
                strength: Strength = "certain" if is_certain else "likely"
                return _Binding(nearest, strength, f"the text names {name}")
        if count.in_file and (models := self.by_path.get(at.path)):
            return _Binding(models, "certain", "it stands in the config of this model")
        for name in count.names if count.is_name else ():
            if begun := self._begun(name):
                return _Binding(begun, "likely", f"its name begins like {name}", confirms=True)
        return _Binding(self.only, "likely", "it is the only model")

    def _named(self, name: str) -> Sequence[_NamedModel]:
        """The models of exactly this name; what stands in brackets behind it may be left out."""
        spellings = [name, _BRACKETS.sub(" ", name), _OF_MODEL.sub("", name)]
        if re.fullmatch(r"[\w.]+", name):  # a dotted name
            spellings.append(name.rpartition(".")[2])
        keys = map(name_key, spellings)
        return next((models for key in keys if (models := self.by_key.get(key))), ())

    def _begun(self, name: str) -> Sequence[_NamedModel]:
        """The models whose names begin with this name, or this with theirs."""
        key = name_key(_BRACKETS.sub(" ", name))
        if len(key) < _SHORTEST_BEGINNING:
            return ()
        longer = [m for k, ms in self.by_key.items() if k.startswith(key) for m in ms]
        if longer:
            return longer
        shorter = [k for k in self.by_key if len(k) >= _SHORTEST_BEGINNING and key.startswith(k)]
        return self.by_key[max(shorter, key=len)] if shorter else ()

    def _in_text(self, text: str) -> Iterator[tuple[str, Sequence[_NamedModel]]]:
        """The models that a text names, in its order; the longest name at each place."""
        words = [match[0].rstrip(".-/") for match in _WORD.finditer(text)]
        words = [w.rpartition(".")[2] if _DOTTED.fullmatch(w) else w for w in words]
        n = 0
        while n < len(words):
            for length in range(min(_WORDS_OF_NAME, len(words) - n), 0, -1):
                name = " ".join(words[n : n + length])
                models = self.by_key.get(name_key(name), ())
                is_compound = _COMPOUND.search(name) and len(name_key(name)) > 2
                if models and (is_compound or any(model.name == name for model in models)):
                    yield name, models
                    n += length - 1
                    break
            n += 1


def _names_of(model: ModelReport, measured: Measured) -> Iterable[str]:
    """What a text may call a model."""
    location, _, called = model.target.partition("::")
    base = posixpath.basename(location)
    if called:
        names = {called.partition("(")[0].rpartition(".")[2]: None}
    else:
        names = dict.fromkeys((base, posixpath.splitext(base)[0]))
    if model.way:
        named = [model.way.name] if model.way.kind == "size" and model.way.name else []
        named += (text for text in _STRING.findall(measured.call) if len(name_key(text)) > 2)
        names |= dict.fromkeys(named)
    return names


def _path_of(name: str, document: str) -> str:
    """The file of the project that a link, or a path, leads to."""
    name = name.partition("#")[0].strip()
    if blob := _BLOB.match(name):
        return blob[1]
    if "/" not in name and "." not in name:
        return ""
    here = posixpath.dirname(document) if name.startswith(".") else ""
    return posixpath.normpath(posixpath.join(here, name.lstrip("/")))


def _fits(count: StatedCount, model: _NamedModel, amount: int, tolerance: Tolerance | None) -> bool:
    root = model.measured.modules[0]
    # A checkpoint holds the buffers, too.
    amounts = {amount, root.total + root.buffers} if count.weights else {amount}
    bounds = (value.bounds(tolerance=tolerance) for value in count.readings)
    return any(n in admitted for admitted in bounds for n in amounts)
