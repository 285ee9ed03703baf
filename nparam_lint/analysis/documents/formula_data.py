"""The closed forms of a model as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from nparam_lint.analysis.closed_forms.algebra import substituted
from nparam_lint.analysis.closed_forms.form_records import ClosedForm, Derived, NoForm
from nparam_lint.analysis.closed_forms.form_writer import expanded, factored
from nparam_lint.analysis.closed_forms.observations import Value, Variable
from nparam_lint.analysis.closed_forms.polynomial import Polynomial
from nparam_lint.count.measured import Environment
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.report.json_records import CountedDocument, record

_WORD = late_pattern(r"(?<![\w.])[^\W\d]\w*")


class FormulaResult(Struct, frozen=True):
    """What was found out about `target`. `call`: as it was built first, `place`: which line of the
    project builds it so, where nobody named its arguments; `cases`: the form there,
    then with other choices; `also_matter`: choices that have an effect too; `reason`: why the model
    could not be built, and which arguments are `missing`; `error`: why nothing could be measured at
    all."""

    target: str
    call: str = ""
    variables: tuple[Variable, ...] = ()
    cases: tuple[Derived, ...] = ()
    also_matter: tuple[str, ...] = ()
    environment: Environment | None = None
    reason: str | None = None
    missing: tuple[str, ...] = ()
    error: str | None = None
    seconds: float = 0.0
    place: str = ""

    def with_symbols(self, symbols: Mapping[str, str]) -> FormulaResult:
        """With these for names of arguments, of which each may stand for the elements of a list."""

        def named(text: str) -> str:
            return _WORD.sub(lambda match: symbols.get(match[0], match[0]), text)

        def renamed(values: Mapping[str, Any]) -> dict[str, Any]:
            return {named(name): value for name, value in values.items()}

        def of_case(case: Derived) -> Derived:
            if isinstance(case, NoForm):
                return case
            forms = {name: Polynomial.generator(named(name)) for name in self.order}
            rules = (replace(r, text=named(r.text), shown=named(r.shown)) for r in case.rules)
            return replace(
                case,
                total=substituted(case.total, forms),
                shapes=tuple(shape.substituted(forms) for shape in case.shapes),
                base=renamed(case.base),
                rules=tuple(rules),
                idle=tuple(map(named, case.idle)),
                fixed=renamed(case.fixed),
                case=renamed(case.case),
                unproved=tuple(map(named, case.unproved)),
                distinct=renamed(case.distinct),
            )

        return replace(
            self,
            variables=tuple(replace(v, name=named(v.name)) for v in self.variables),
            cases=tuple(map(of_case, self.cases)),
            also_matter=tuple(map(named, self.also_matter)),
        )

    def as_budget(self) -> tuple[str, list[str]]:
        """(the formula as the text of a budget, names of choices that it does not hold for), where
        there is one. A choice between two values becomes a conditional; with more values, only the
        case of the call is used."""
        base, *further_cases = [case for case in self.cases if isinstance(case, ClosedForm)]
        text = factored(base.total, self.order)
        switches = list(dict.fromkeys(name for case in further_cases for name in case.case))
        if len(further_cases) != 1 or len(switches) != 1:
            return text, switches
        (case,), (name,) = further_cases, switches
        value = case.case[name]
        condition = f"{name} == {value!r}"
        if isinstance(value, bool):
            condition = name if value else f"not {name}"
        return f"({factored(case.total, self.order)}) if {condition} else ({text})", []

    @property
    def has_form(self) -> bool:
        return bool(self.cases) and all(isinstance(case, ClosedForm) for case in self.cases)

    @property
    def is_constant(self) -> bool:
        """Whether no number could be varied, so that the count is a constant."""
        return not any(variable.is_number for variable in self.variables)

    @property
    def order(self) -> list[str]:
        """The names in the order of the signature."""
        return [variable.name for variable in self.variables]


@dataclass(kw_only=True)
class ParameterForm:
    name: str
    number: str
    shape: Sequence[str] | None
    formula: str
    value: int
    source: str | None


@dataclass(kw_only=True)
class FormRecord:
    case: Mapping[str, Value]
    formula: str
    expanded: str
    python: str
    latex: str
    value: int
    base: Mapping[str, Value]
    rules: Sequence[str]
    no_effect: Sequence[str]
    fixed: Mapping[str, Value]
    built: int
    verified: int
    proof: Literal["proved", "verified"]
    unproved: Sequence[str]
    distinct: Mapping[str, int]
    parameters: Sequence[ParameterForm]


@dataclass(kw_only=True)
class NoFormRecord:
    case: Mapping[str, Value]
    formula: None = None
    reason: str
    lost: Mapping[str, str]


@dataclass(kw_only=True)
class FormulaDocument(CountedDocument):
    target: str
    call: str | None
    reason: str | None
    missing: Sequence[str]
    variables: Sequence[Variable]
    cases: Sequence[FormRecord | NoFormRecord]
    also_matter: Sequence[str]
    seconds: float


def formula_data(result: FormulaResult) -> FormulaDocument:
    return record(
        FormulaDocument,
        result,
        call=result.call or None,
        cases=[_case(case, result.order) for case in result.cases],
    )


def _case(case: Derived, order: Sequence[str]) -> FormRecord | NoFormRecord:
    if isinstance(case, NoForm):
        return record(NoFormRecord, case)
    parameters = [
        record(
            ParameterForm,
            form,
            number=factored(form.number, order),
            shape=None
            if form.shape is None
            else [expanded(length, order) for length in form.shape],
            formula=factored(form.size, order),
        )
        for form in case.shapes
    ]
    return record(
        FormRecord,
        case,
        formula=factored(case.total, order),
        expanded=expanded(case.total, order),
        python=factored(case.total, order, "python"),
        latex=factored(case.total, order, "latex"),
        rules=[str(rule) for rule in case.rules],
        no_effect=case.idle,
        proof="proved" if case.is_proved else "verified",
        parameters=parameters,
    )
