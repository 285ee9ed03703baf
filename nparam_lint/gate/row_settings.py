"""Rows of a table that say how one model is called, by numbers behind its name, `MobileNetV2 0.75`,
`WRN-28-10`, in brackets, `ShuffleNet (groups=8)`, or in columns that are called as its parameters:
it is built so, and compared. What it needs besides it has as in the project's own call.

What a number stands for is a guess until the counts of several rows agree with it.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from itertools import permutations, product
from typing import TYPE_CHECKING, NamedTuple

from nparam_lint.count.measured import Measured
from nparam_lint.gate import measures, model_names
from nparam_lint.gate.building import count_models
from nparam_lint.gate.candidates import candidate_for
from nparam_lint.gate.report import ModelReport, StatedOutcome
from nparam_lint.ground.grouping import grouped
from nparam_lint.ground.notation import Target
from nparam_lint.ground.orders import Ask
from nparam_lint.ground.patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from nparam_lint.discover.claims.stated import StatedCount
    from nparam_lint.discover.definitions import Definition, Parameter
    from nparam_lint.gate.candidates import Candidate, ProjectSource

    _Values = tuple[str, ...]
    _Stating = tuple[StatedOutcome, _Values]  # what a row gives

_MOST = 32  # builds
_AGREEING = 2  # rows with different settings, where their names do not stand above them
_COLUMNS = 2  # that are called as parameters
_NO_NAME = late_pattern(r"(?:ours?|this|model|size|width|depth|x)?[\s_:×-]*", re.IGNORECASE)
_LAST_NUMBER = late_pattern(r"[\s_x×,/-]*(?<![0-9.])([0-9]+(?:\.[0-9]+)?)\s*$")
_MODELS = late_pattern(r"\s+(?:models?|networks?|results?)$", re.IGNORECASE)
_WORD = late_pattern(r"[A-Za-z][\w.-]*")
_TIMES = late_pattern(r"""["'][0-9.]+x["']""")
_NUMBER = late_pattern(r"[0-9]+(?:\.[0-9]+)?")
_FACTOR = late_pattern(r"width|mult|scale|alpha|factor|ratio")  # parameters that take `0.75`
_SETTING = late_pattern(r"([A-Za-z_]\w*)\s*=\s*([\w.]+)")
_SIZE = late_pattern(r"depth|layer|width|widen|growth|cardinality|dim|channels$|^[nkls]$")
_LETTERS = late_pattern("[A-Za-z]*")
_VERSION = late_pattern(r"V?[0-9]{0,2}", re.IGNORECASE)
_VERSION_WITHIN = late_pattern(r"_?[vV][0-9]{1,2}(?=_)")  # `ReXNetV1_lite`
_LONGEST_VERSION = 3  # characters of it


class _Guess(NamedTuple):
    """What the numbers of a row are taken for: parameters of a class or factory; `is_named`: their
    names stand above them."""

    definition: Definition
    parameters: tuple[str, ...]
    is_named: bool = False

    def target(self, values: _Values) -> str:
        given = zip(self.parameters, values, strict=True)
        arguments = ", ".join(f"{name}={value}" for name, value in given)
        return f"{self.definition.target}({arguments})"


def with_settings(
    outcomes: Iterable[StatedOutcome], source: ProjectSource, candidates: Iterable[Candidate]
) -> list[StatedOutcome]:
    """The outcomes, with those of the rows that say settings of a model. `candidates`: how the
    project builds its models."""
    outcomes = [*outcomes]
    definitions = _Definitions(source.discovery.definitions, candidates)
    rows = [o for o in outcomes if o.count.is_name and o.count.head_at and o.strength != "certain"]
    tables = grouped(rows, lambda o: (o.position.path, o.count.head_at))
    calls: dict[tuple[_Guess, _Values], str] = {}  # the targets
    guesses: list[tuple[_Guess, list[_Stating]]] = []
    for table in tables.values():
        stating: dict[_Guess, list[_Stating]] = defaultdict(list)
        for row in table:
            for guess, values in _guesses(row.count, definitions):
                stating[guess].append((row, values))
        for guess, stated in stating.items():
            if len({values for _, values in stated}) >= _AGREEING:
                guesses.append((guess, stated))
                calls |= {(guess, values): guess.target(values) for _, values in stated}
    measured = _measured([*calls.items()][:_MOST], source, definitions)
    known: dict[int, StatedOutcome] = {}
    for guess, stated in guesses:
        base = definitions.base(guess.definition, guess.parameters)
        judged = [
            (row, v, _judged(row, calls[guess, v], measured.get((guess, v)), base))
            for row, v in stated
        ]
        # `dymn10` is another model than `mn04` and `mn10`, which agree.
        families = {_family(row) for row, _, o in judged if o and o.verdict == "right"}
        judged = [(row, v, o if _family(row) in families else None) for row, v, o in judged]
        agreeing = {values for _, values, o in judged if o and o.verdict == "right"}
        wrong = sum(o is not None and o.verdict == "wrong" for *_, o in judged)
        least = 1 if guess.is_named else max(_AGREEING, wrong + 1)
        if len(agreeing) >= max(least, wrong):
            known |= {id(row): outcome for row, _, outcome in judged if outcome}
    return [known.get(id(outcome), outcome) for outcome in outcomes]


def _family(row: StatedOutcome) -> str:
    """The letters that the name of a row begins with."""
    match = _LETTERS.match(row.count.names[0])
    return match[0].lower() if match else ""


class _Definitions:
    """The classes and factories of a project, by what rows and columns may call them."""

    def __init__(self, definitions: Iterable[Definition], candidates: Iterable[Candidate]) -> None:
        # The first call of each in the project.
        self.called_by: dict[str, Candidate] = {}
        for candidate in candidates:
            if candidate.way and not candidate.build.recipe.is_run:
                self.called_by.setdefault(str(candidate.target), candidate)
        self.by_name: dict[str, list[Definition]] = defaultdict(list)
        # By the keys of their parameters; each with the parameter.
        self.by_parameter: dict[str, list[tuple[Definition, Parameter]]] = defaultdict(list)
        for definition in definitions:
            called = model_names.called(definition.target)
            name = model_names.name_key(called)
            ends = range(len(name), max(len(name) - _LONGEST_VERSION, 0) - 1, -1)
            names = [name[:end] for end in ends if _VERSION.fullmatch(name[end:])]
            names.append(model_names.name_key(_VERSION_WITHIN.sub("", called)))
            for spelling in dict.fromkeys(names):
                self.by_name[spelling].append(definition)
            for parameter in definition.parameters or ():
                key = model_names.name_key(parameter.name)
                self.by_parameter[key].append((definition, parameter))

    def called(self, text: str) -> Sequence[Definition]:
        """Those of a name, or of one that goes on with a version: `ReXNetV1`."""
        key = model_names.name_key(text)
        return self.by_name.get(key, ()) if key else ()

    def taking(self, columns: Mapping[str, str]) -> Iterator[tuple[Definition, dict[str, str]]]:
        """Those with parameters that are called as columns are, with what the cells give these."""
        given: dict[Definition, dict[str, str]] = {}
        for key, cell in columns.items():
            for definition, parameter in self.by_parameter.get(key, ()):
                if text := _value(parameter, cell):
                    given.setdefault(definition, {})[parameter.name] = text
        for definition, values in given.items():
            names = (p.name for p in definition.parameters or ())
            yield definition, {name: values[name] for name in names if name in values}

    def base(self, definition: Definition, names: Iterable[str]) -> Candidate | None:
        """The call of the project that has the other arguments that a definition needs; None where
        it needs no others, or nothing calls it."""
        return self.called_by.get(definition.target) if _lacks(definition, names) else None

    def is_known(self, definition: Definition, names: Iterable[str]) -> bool:
        """Whether nothing that a definition needs is missing beside the arguments of these
        names."""
        return not _lacks(definition, names) or definition.target in self.called_by


def _lacks(definition: Definition, names: Iterable[str]) -> bool:
    return not {p.name for p in definition.parameters or () if p.required} <= {*names}


def _guesses(count: StatedCount, definitions: _Definitions) -> Iterator[tuple[_Guess, _Values]]:
    """What a row may mean: parameters of a model, and their values."""
    cells = zip(count.heads, count.cells, strict=False)
    columns = {model_names.name_key(head): cell for head, cell in cells if cell}
    in_name = {model_names.name_key(key): value for key, value in _SETTING.findall(count.names[0])}
    name = model_names.without_brackets(count.names[0]).strip()
    named_after = definitions.called(name)
    taken = dict(definitions.taking(columns | in_name))
    for definition, given in taken.items():
        is_named = len(given) >= (1 if definition in named_after else _COLUMNS)
        if (is_named or in_name) and definitions.is_known(definition, given):
            yield _Guess(definition, tuple(given), is_named), tuple(given.values())
    for base, numbers in _splits(name):
        is_of_heading = _NO_NAME.fullmatch(base) is not None
        for text in count.above if is_of_heading else [base]:
            yield from _numbered(text, numbers, definitions, taken)


def _splits(name: str) -> Iterator[tuple[str, _Values]]:
    """A name without the numbers at its end, and these: `WRN-28`, `10`, then `WRN`, `28`, `10`."""
    numbers: list[str] = []
    base = name.removesuffix("x")
    while match := _LAST_NUMBER.search(base):
        base = base[: match.start()]
        numbers.insert(0, match[1])
        if any(map(float, numbers)):
            yield base, tuple(numbers)


def _numbered(
    text: str,
    numbers: _Values,
    definitions: _Definitions,
    taken: Mapping[Definition, Mapping[str, str]],
) -> Iterator[tuple[_Guess, _Values]]:
    """What the numbers of a row may be of a model that a text names, which may say a kind of it,
    too: "MobileNet large". `taken`: what the row gives by names."""
    name, _, word = _MODELS.sub("", text).partition(" ")
    for definition in definitions.called(name):
        by_name = taken.get(definition, {})
        parameters = [p for p in definition.parameters or () if p.name not in by_name]
        taking = [p for p in parameters if _takes(p, numbers)]
        kinds = [p.name for p in parameters if (p.default or "")[:1] in ("'", '"')]
        given = [{kind: repr(word.lower())} for kind in kinds] if word else [{}]
        for kind_of_it, chosen in product(given, permutations(taking, len(numbers))):
            by_number = {p.name: _text(p, n) for p, n in zip(chosen, numbers, strict=True)}
            values = {**by_name, **kind_of_it, **by_number}
            if definitions.is_known(definition, values):
                yield _Guess(definition, tuple(values)), tuple(values.values())


def _value(parameter: Parameter, cell: str) -> str:
    """What a cell of a column that is called as a parameter gives it; "" for nothing that it
    takes."""
    if _NUMBER.fullmatch(cell):
        return cell
    is_text = (parameter.default or "")[:1] in ("'", '"') or parameter.annotation == "str"
    return repr(cell) if is_text and _WORD.fullmatch(cell) else ""


def _takes(parameter: Parameter, numbers: Sequence[str]) -> bool:
    """Whether a parameter may take one of some numbers: a factor one with a point."""
    if _TIMES.fullmatch(parameter.default or ""):
        return True
    is_number = _NUMBER.match(parameter.default or "") is not None or parameter.required
    pattern = _FACTOR if any("." in number for number in numbers) else _SIZE
    return is_number and pattern.search(parameter.name) is not None


def _text(parameter: Parameter, number: str) -> str:
    """What a parameter gets for a number: a text where its default is one, `"1.0x"`."""
    return repr(f"{number}x") if _TIMES.fullmatch(parameter.default or "") else number


def _measured(
    calls: Sequence[tuple[tuple[_Guess, _Values], str]],
    source: ProjectSource,
    definitions: _Definitions,
) -> dict[tuple[_Guess, _Values], Measured]:
    candidates = []
    for (guess, values), text in calls:
        if base := definitions.base(guess.definition, guess.parameters):
            given = zip(guess.parameters, map(ast.literal_eval, values), strict=True)
            candidates.append(base.with_build(vary=tuple(given)))
            continue
        path, _, call = text.partition("::")
        callable, _, arguments = call.partition("(")
        target = Target(path, callable, arguments.removesuffix(")"))
        position = guess.definition.position
        candidates.append(candidate_for(target, position, source.settings, source.discovery))
    answers = count_models([(candidate, Ask()) for candidate in candidates], source).measurements
    measured = zip((key for key, _ in calls), map(answers.get, range(len(calls))), strict=True)
    return {key: answer for key, answer in measured if isinstance(answer, Measured)}


def _judged(
    row: StatedOutcome, target: str, measured: Measured | None, base: Candidate | None
) -> StatedOutcome | None:
    """What comes of a row, if its model was built; nothing of a number that was cut off, or is of
    other data. `base`: the call that has what the row does not give."""
    actual = measured.modules[0].of(row.count.selector.metric) if measured else None
    if measured is None or actual is None:
        return None
    bounds = row.count.bounds()
    is_right = any(actual in admitted for admitted in bounds)
    units = [(b.low or 0, b.high or 0, (b.high or 0) - (b.low or 0)) for b in bounds]
    explanation = "" if is_right else measures.fitting_measure("this", bounds, measured)
    is_near = any(low - unit <= actual <= high + unit for low, high, unit in units)
    if not is_right and (is_near or measures.is_of_other_form(explanation)):
        return None
    call = target.partition("::")[2]
    rest = f", the rest as in {base.way.position}" if base and base.way else ""
    return StatedOutcome(
        row.position,
        row.count,
        "right" if is_right else "wrong",
        "likely",
        ModelReport(target, row.position, measured),
        call,
        actual,
        f"its row gives {call.partition('(')[2].removesuffix(')')}{rest}",
        explanation,
    )
