"""A closed form as people and programs read it, from forms made by hand."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from nparam_lint.analysis.closed_forms.arguments import rules_of
from nparam_lint.analysis.closed_forms.expressions import polynomial_of
from nparam_lint.analysis.closed_forms.form_records import ClosedForm, NoForm, ShapeForm
from nparam_lint.analysis.closed_forms.form_writer import factored
from nparam_lint.analysis.closed_forms.observations import Variable, exactly
from nparam_lint.analysis.closed_forms.polynomial import Operation, Polynomial
from nparam_lint.analysis.closed_forms.requirements import pinned_rule
from nparam_lint.analysis.documents.formula_data import FormulaResult
from nparam_lint.analysis.documents.formula_document import formula_document
from nparam_lint.ground.notation.expression import parse_formula
from nparam_lint.report import Options
from nparam_lint.report.formats import render


def polynomial(text):
    return polynomial_of(parse_formula(text))


@dataclass
class Call:
    """Arguments, of which forms are made."""

    base: dict[str, object]

    def shape(self, name, number, *lengths):
        count, shape = polynomial(number), tuple(map(polynomial, lengths))
        size = Polynomial.constant(1)
        for factor in (count, *shape):
            size *= factor
        return ShapeForm(name, count, shape, size, int(size.value(exactly(self.base))), "net.py:3")

    def form(self, text, *shapes, rules=(), **more):
        total = polynomial(text)
        usual = {"built": 9, "verified": 8, "idle": (), "fixed": {}}
        value = int(total.value(exactly(self.base)))
        shapes = tuple(self.shape(*shape) for shape in shapes)
        base = {**self.base, **more.get("case", {})}
        return ClosedForm(total, shapes, base, value, tuple(rules), **{**usual, **more})

    def result(self, *cases, call="Net()", **more):
        variables = tuple(Variable(name, value) for name, value in self.base.items())
        return FormulaResult("net.py::Net", call, variables, cases, **more)


def limits(text):
    return [rule.__class__(rule.text, rule.alternatives, is_limit=True) for rule in rules_of(text)]


def shown(format, result, **options):
    return render(format, formula_document(result), Options(**({"width": 80} | options)))


NET = Call({"d": 64, "depth": 3, "heads": 4, "drop": 0.1, "path": 0.2, "bias": True})
NEEDS = rules_of("d % 2 == 0 and drop <= 1 and path <= 1")
NETS = NET.result(
    NET.form(
        "depth*d*(d + 1) + 100*d",
        ("h.*.weight", "depth", "d", "d"),
        ("h.*.bias", "depth", "d"),
        ("words.weight", "1", "100", "d"),
        rules=[
            *NEEDS,
            *limits("d != heads and depth % 2 != 0 and d != 1 and d != 3"),
            pinned_rule("heads", 4),
        ],
        idle=("drop", "path"),
        distinct={"d": 7, "depth": 5},
        unproved=("depth: a key of a table",),
    ),
    NET.form("depth*d*d + 100*d", rules=NEEDS, case={"bias": False}),
    also_matter=("mode",),
)


def test_a_python_function_has_the_limits_of_its_cases():
    names: dict[str, object] = {}
    exec(shown("python", NETS), names)
    count = names["parameter_count"]
    assert count() == 18_880
    assert count(depth=1, d=2, heads=4) == 206
    assert count(depth=1, d=2, bias=False) == 204
    with pytest.raises(ValueError, match="no closed form is known for these arguments"):
        count(d=4, heads=4)
    call = Call({"dims[0]": 8, "dims[1]": 16, "n": 2})
    exec(shown("python", call.result(call.form("dims[0]*dims[1] + ceil(n/3)"))), names)
    assert names["parameter_count"](dims=(2, 3), n=4) == 6 + 2
    with pytest.raises(ValueError, match="no closed form"):
        names["parameter_count"](dims=(2, 3, 4), n=4)
    call = Call({"max": 8, "n": 2})
    text = shown("python", call.result(call.form("max(max, n)")))
    assert text == "# no function: an argument has the name of max, which the function needs\n"


EVERY = ("text", "python", "latex", "json")
LONG = Call({"hidden_size": 6, "intermediate_size": 10, "num_hidden_layers": 3})
LONG_FORM = LONG.form(
    "num_hidden_layers*(hidden_size*(2*intermediate_size + 1) + intermediate_size)"
    " + 20*hidden_size + 20",
    ("layers.*.gate_projection.weight", "num_hidden_layers", "intermediate_size", "hidden_size"),
    ("layers.*.gate_projection.bias", "num_hidden_layers", "intermediate_size"),
    (
        "layers.*.post_attention_layernorm.weight",
        "num_hidden_layers",
        "hidden_size",
        "intermediate_size",
    ),
    ("layers.*.post_attention_layernorm.bias", "num_hidden_layers", "hidden_size"),
    ("head.weight", "1", "20", "hidden_size"),
    ("head.bias", "1", "20"),
)


def pages():
    call = Call({"n": 4, "d": 8, "depth": 2})
    equation = call.result(call.form("n*(n + 1) + depth*d**2"))
    limited = call.result(call.form("n", rules=limits("n % 2 != 0 and d != 4 and d != 6")))
    listed = Call({"ch": 8, "mult[0]": 1, "mult[1]": 2})
    rules = limits("mult[0] != mult[1] and mult[0] == 1")
    lists = listed.result(listed.form("ch*mult[1]*(ch + 1) + 1", rules=rules))
    none, fixed = Call({"n": 4}), Call({})
    nothing = fixed.form("548", ("head.weight", "1", "548"))
    results = {
        "limits, requirements, and another case": (NETS, ("text", "python")),
        "an equation": (equation, ("latex",)),
        "an equation with symbols that no argument has": (
            equation.with_symbols({"n": "N", "d": "lambda_model"}),
            ("latex",),
        ),
        "an equation with limits": (limited, ("latex",)),
        "an equation with functions": (
            call.result(call.form("2*depth*max(0, n - d)")),
            ("latex",),
        ),
        "symbols for names of lists": (lists.with_symbols({"ch": "c", "mult": "m"}), ("text",)),
        "no form": (none.result(NoForm("no closed form found", {})), EVERY),
        "no form, and why": (
            none.result(NoForm("no closed form found", {"n": "a loop or an index"})),
            EVERY,
        ),
        "not built": (FormulaResult("net.py::Net", reason="Net() raised ValueError: no"), EVERY),
        "no number to vary": (fixed.result(nothing, call="net()"), ("text", "python")),
        "no number in an argument": (fixed.result(nothing, call="net(c)"), ("text",)),
    }
    for name, (result, formats) in results.items():
        for format in formats:
            yield f"{name}, in {format}", shown(format, result)
    yield "a narrow table", shown("text", LONG.result(LONG_FORM), width=72, verbose=1)


def test_whole_pages(expected):
    outputs = dict(pages())
    expected(outputs)
    assert max(map(len, outputs["a narrow table"].splitlines())) <= 72


# --- how forms are written --------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["513*n + 11_176_512", "3*(2*n + 15)", "6*n + 51", "-(20*n + 20)", "8*max(1, n//8)"]
)
def test_a_number_is_taken_out_where_that_makes_it_plainer(text):
    assert factored(polynomial(text), ["n"]) == text


def test_int_is_written_as_each_language_has_it():
    quotient = Polynomial.generator(Operation("/", (polynomial("n - 4"), polynomial("6"))))
    form = Polynomial.generator(Operation("trunc", (quotient,))) * polynomial("w")
    written = {name: factored(form, ["w", "n"], name) for name in ("budget", "python", "latex")}
    assert written == {
        "budget": "w*trunc((n - 4)/6)",
        "python": "w*int((n - 4)/6)",
        "latex": r"w \operatorname{trunc}\left(\frac{n - 4}{6}\right)",
    }
