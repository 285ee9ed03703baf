"""A closed form as people and programs read it, from forms made by hand."""

from __future__ import annotations

import json
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
TEXT = """\
net.py::Net
  Net()

  d*(depth*(d + 1) + 100)

  value       18,880 with d=64, depth=3
  expanded    d**2*depth + d*depth + 100*d
  needs       d is even, max(drop, path) <= 1
  holds for   d != heads, depth is odd, heads=4 (its value), d not in (1, 3)
  no effect   drop, path
  matter too  mode: --vary mode shows how
  verified    at 8 other places (d: 7 values, depth: 5 values)
  not proved  depth: a key of a table

module    parameters         value    share
────────  ───────────────  ───────  ───────
h.*       d*depth*(d + 1)   12,480   66.1 %
words     100*d              6,400   33.9 %

where bias=False:
  d*(d*depth + 100)

  value     18,688 with d=64, depth=3
  expanded  d**2*depth + 100*d
  needs     d is even, max(drop, path) <= 1
  proved    by following the constructor; right at 8 other places
"""


def test_the_page():
    assert shown("text", NETS) == TEXT


def test_a_python_function_has_the_limits_of_its_cases():
    names: dict[str, object] = {}
    text = shown("python", NETS)
    exec(text, names)
    count = names["parameter_count"]
    assert count() == 18_880
    assert count(depth=1, d=2, heads=4) == 206
    assert count(depth=1, d=2, bias=False) == 204
    with pytest.raises(ValueError, match="no closed form is known for these arguments"):
        count(d=4, heads=4)
    assert "    Needs d % 2 == 0.\n" in text
    call = Call({"dims[0]": 8, "dims[1]": 16, "n": 2})
    exec(shown("python", call.result(call.form("dims[0]*dims[1] + ceil(n/3)"))), names)
    assert names["parameter_count"](dims=(2, 3), n=4) == 6 + 2
    with pytest.raises(ValueError, match="no closed form"):
        names["parameter_count"](dims=(2, 3, 4), n=4)
    call = Call({"max": 8, "n": 2})
    text = shown("python", call.result(call.form("max(max, n)")))
    assert text == "# no function: an argument has the name of max, which the function needs\n"


LATEX = r"""
\[
  P = N \left(N + 1\right) + \lambda_{\mathrm{model}}^{2} \cdot \mathit{depth}
\]
"""


def test_an_equation_has_a_symbol_that_no_argument_has():
    call = Call({"n": 4, "d": 8, "depth": 2})
    result = call.result(call.form("n*(n + 1) + depth*d**2"))
    symbols = {"n": "N", "d": "lambda_model"}
    latex = shown("latex", result.with_symbols(symbols))
    assert latex.startswith(LATEX[1:])
    assert r"  N = n \left(n + 1\right) + d^{2} \cdot \mathit{depth}" in shown("latex", result)
    odd = call.result(call.form("n", rules=limits("n % 2 != 0 and d != 4 and d != 6")))
    assert shown("latex", odd).startswith("% where n is odd, d not in (4, 6)\n")
    words = call.result(call.form("2*depth*max(0, n - d)"))
    assert r"2 \cdot \mathit{depth} \cdot \max\left(0, n - d\right)" in shown("latex", words)


def test_symbols_stand_for_names_everywhere():
    call = Call({"ch": 8, "mult[0]": 1, "mult[1]": 2})
    rules = limits("mult[0] != mult[1] and mult[0] == 1")
    result = call.result(call.form("ch*mult[1]*(ch + 1) + 1", rules=rules))
    text = shown("text", result.with_symbols({"ch": "c", "mult": "m"}))
    assert "\n  c*m[1]*(c + 1) + 1\n" in text
    assert "\n  value      145 with c=8, m[1]=2\n" in text
    assert "\n  holds for  m[0] != m[1], m[0] == 1\n" in text


@pytest.mark.parametrize("lost", [{}, {"n": "a loop or an index"}])
def test_why_there_is_no_form(lost):
    result = Call({"n": 4}).result(NoForm("no closed form found", lost))
    said = [f"  {name} could not be followed: {why}" for name, why in lost.items()]
    lines = shown("text", result).splitlines()
    assert lines == ["net.py::Net", "  Net()", "", "– no closed form found", *said]
    assert shown("python", result) == "# no function: no closed form found\n"
    assert shown("latex", result) == "% no closed form found\n"
    (case,) = json.loads(shown("json", result))["cases"]
    assert (case["formula"], case["lost"]) == (None, lost)


def test_what_could_not_be_built_has_no_form():
    result = FormulaResult("net.py::Net", reason="Net() raised ValueError: no")
    assert "– not built: Net() raised ValueError: no\n" in shown("text", result)
    assert shown("python", result) == "# no function: Net() raised ValueError: no\n"
    assert json.loads(shown("json", result))["cases"] == []


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
NARROW = """\
module                       parameters                   value    share
───────────────────────────  ─────────────────────────  ───────  ───────
layers.*                     num_hidden_layers*             408   74.5 %
                               (hidden_size*
                               (2*intermediate_size +
                               1) + intermediate_size)
  layers.*.gate_projection   intermediate_size*             210   38.3 %
                               num_hidden_layers*
                               (hidden_size + 1)
  layers.*.                  hidden_size*                   198   36.1 %
    post_att…tion_layernorm    num_hidden_layers*
                               (intermediate_size + 1)
head                         20*hidden_size + 20            140   25.5 %

parameter                           times  shape                   value
──────────────────────  ─────────────────  ────────────────────  ───────
layers.*.               num_hidden_layers  (intermediate_size,       180
  gate_projection.                          hidden_size)
  weight
layers.*.               num_hidden_layers  (intermediate_size,)       30
  gate_projection.bias
layers.*.               num_hidden_layers  (hidden_size,             180
  post_at…n_layernorm.                      intermediate_size)
  weight
layers.*.               num_hidden_layers  (hidden_size,)             18
  post_at…n_layernorm.
  bias
head.weight                                (20, hidden_size)         120
head.bias                                  (20,)                      20
"""


def test_a_narrow_table_goes_on_in_further_rows():
    text = shown("text", LONG.result(LONG_FORM), width=72, verbose=1)
    assert text.partition("places\n\n")[2] == NARROW
    assert max(map(len, text.splitlines())) <= 72


@pytest.mark.parametrize(
    ("call", "step"),
    [
        ("net()", "if it takes one, write it in the call: net(NAME=NUMBER)"),
        ("net(c)", "make them in the call: net(Config(NAME=NUMBER))"),
    ],
)
def test_what_has_no_number_to_vary_says_what_to_do(call, step):
    none = Call({})
    result = none.result(none.form("548", ("head.weight", "1", "548")), call=call)
    text = " ".join(shown("text", result).split())
    assert f"fixed there is no number to vary in {call}" in text
    assert step in text
    assert "    No argument was varied.\n" in shown("python", result)


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
