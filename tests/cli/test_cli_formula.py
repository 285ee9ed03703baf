"""`nparam-lint formula` as a user meets it: real models, real builds, every format."""

from __future__ import annotations

import json
from functools import partial

import pytest

from nparam_lint.analysis.closed_forms.form_writer import factored
from nparam_lint.analysis.closed_forms.polynomial import Polynomial

MODELS = '''\
import math
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Literal

import torch.nn as nn


@dataclass
class GPTConfig:
    block_size: int = 64
    vocab_size: int = 100
    n_layer: int = 3
    n_head: int = 4
    n_embd: int = 32
    dropout: float = 0.1
    bias: bool = True


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        assert config.n_embd % config.n_head == 0
        self.ln = nn.LayerNorm(config.n_embd)
        self.qkv = nn.Linear(config.n_embd, 3 * config.n_embd, bias=config.bias)


class GPT(nn.Module):
    """A small one."""

    def __init__(self, config):
        super().__init__()
        self.wte = nn.Embedding(config.vocab_size, config.n_embd)
        self.wpe = nn.Embedding(config.block_size, config.n_embd)
        self.h = nn.ModuleList(Block(config) for _ in range(config.n_layer))
        self.wte.weight.requires_grad = False


@dataclass
class NormedConfig:
    width: int = 8
    bias: bool = True
    norm: Literal["layer", "rms"] = "layer"


class Normed(nn.Module):
    def __init__(self, config: NormedConfig):
        super().__init__()
        kind = {"layer": nn.LayerNorm, "rms": nn.RMSNorm}[config.norm]
        self.scale = kind(config.width)
        self.layer = nn.Linear(config.width, config.width, bias=config.bias)


class Usual(Normed):
    def __init__(self, config=NormedConfig(width=5)):
        super().__init__(config)


class Experts(nn.Module):
    def __init__(self, d=8, n_layers=6, n_dense=2, routed=4, vocab=100):
        super().__init__()
        self.emb = nn.Embedding(-(-vocab // 64) * 64, d)
        self.layers = nn.ModuleList()
        for i in range(n_layers):
            if i < n_dense:
                self.layers.append(nn.Linear(d, d, bias=False))
            else:
                self.layers.append(nn.ModuleList(nn.Linear(d, 2 * d) for _ in range(routed)))


class Half(nn.Module):
    def __init__(self, d=64, drop=0.1, path=0.2):
        super().__init__()
        if d % 2 or drop > 1 or path > 1:
            raise ValueError
        self.f = nn.Linear(d // 2, d)


class Levels(nn.Module):
    def __init__(self, ch=8, mult=(1, 2)):
        super().__init__()
        self.up = nn.ModuleList()
        before = ch
        for m in mult:
            if before != ch * m:
                self.up.append(nn.Linear(before, ch * m, bias=False))
            before = ch * m
        self.out = nn.Linear(before, 1)


class Widths(nn.Module):
    def __init__(self, inputs, hidden=16, *, outputs=4):
        super().__init__()
        self.a = nn.Linear(inputs, hidden)
        self.b = nn.Linear(hidden, outputs)


@dataclass
class TowerConfig:
    dims: tuple[int, ...] = (8, 16)
    depth: int = 2
    inner: int | None = None
    fixed: int | None = None
    most: int = 64

    def __post_init__(self):
        if self.inner is None:
            self.inner = 4 * self.depth
        self.depth = min(self.depth, self.most)
        if self.fixed is None:
            self.fixed = 3


class Tower(nn.Module):
    """Widths in a list.

    nparam: dims[0]*(dims[1] + 1) + 8*depth
    """

    def __init__(self, config: TowerConfig):
        super().__init__()
        self.a = nn.Linear(config.dims[0], config.dims[-1])
        self.b = nn.Linear(config.inner, config.fixed)


class TwoTowers(nn.Module):
    def __init__(self, image, text):
        super().__init__()
        self.image = nn.Linear(image["width"], image["width"])
        self.text = nn.Linear(text["width"], 4)


class Many(nn.Module):
    def __init__(self, d=8, a=False, b=False, c=False, e=False, f=False):
        super().__init__()
        for name in "abcef":
            if locals()[name]:
                self.add_module(name, nn.Linear(d, 1))
        self.layer = nn.Linear(d, d)


class Square(nn.Module):
    def __init__(self, d=8):
        super().__init__()
        self.layer = nn.Linear(d, d)


class Handed(Square):
    def __init__(self, n=2, **kwargs):
        super(Handed, self).__init__(**kwargs)
        self.many = nn.Linear(n, n)


class Rows(nn.Module):
    def __init__(self, first=3, d=8, n=3):
        super().__init__()
        self.rows = nn.ModuleList(nn.Linear(first if k == 0 else d, d) for k in range(n))
        self.tied = nn.ModuleList(nn.Linear(d, 2 * d) for _ in range(n))
        for row in self.tied[1:]:
            row.weight = self.tied[0].weight


class Attention:
    def __init__(self, heads=4, dim=None, rope=None):
        self.heads, self.dim = heads, dim or 8 * heads
        self.rope = rope


@dataclass(frozen=True)
class Rope:
    size: int = 6


@dataclass
class Nested:
    depth: int = 2
    attn: Attention = field(default_factory=lambda: Attention(rope=Rope(10)))
    mlp: SimpleNamespace = field(default_factory=lambda: SimpleNamespace(mult=3))
    extra: dict = field(default_factory=lambda: {"rank": 5})


class WithNested(nn.Module):
    def __init__(self, config: Nested):
        super().__init__()
        dim = config.attn.dim
        self.h = nn.ModuleList(nn.Linear(dim, config.mlp.mult) for _ in range(config.depth))
        self.low = nn.Linear(config.extra["rank"], config.attn.rope.size, bias=False)

    @classmethod
    def from_config(cls, config: Nested):
        return cls(config)


class Shortcut(nn.Module):
    def __init__(self, inputs=16, width=32):
        super().__init__()
        self.layer = nn.Linear(inputs, width, bias=False)
        if inputs != width:
            self.more = nn.Linear(math.isqrt(width + 4), inputs, bias=False)


class Deep(Handed):
    def __init__(self, **kwargs):
        kwargs.setdefault("n", 4)
        super().__init__(**kwargs)


class Got(Handed):
    def __init__(self, **kwargs):
        kwargs = {"n": 4, **kwargs}
        super().__init__(**kwargs)


class Optional(nn.Module):
    def __init__(self, width=32, d_ff=None):
        super().__init__()
        self.up = nn.Linear(width, d_ff or 2 * width)


class Tabled(nn.Module):
    WIDTHS = {4096: 11_008}

    def __init__(self, d=64, v=10):
        super().__init__()
        self.a = nn.Linear(v, self.WIDTHS.get(d, 4 * d), bias=False)


class Power(nn.Module):
    def __init__(self, n=4):
        super().__init__()
        import random

        self.layer = nn.Linear(random.Random(str(n)).randint(1, 10**9), 3)


class Broken(nn.Module):
    def __init__(self, n=4):
        super().__init__()
        raise ValueError("no such thing")
'''


@pytest.fixture
def formula(answered):
    return partial(answered, "formula")


def document(done):
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def gpt(place, nparam_lint):
    """What is told of GPT with all that can be varied."""
    return document(nparam_lint("formula", "nets.py::GPT", "--format", "json", cwd=place))


def test_fields_of_the_default_config_are_varied(gpt):
    told = gpt
    base, *others = told["cases"]
    assert base["formula"] == "n_embd*(n_layer*(3*n_embd + 5) + block_size + vocab_size)"
    assert base["expanded"] == (
        "3*n_layer*n_embd**2 + block_size*n_embd + vocab_size*n_embd + 5*n_layer*n_embd"
    )
    assert base["value"] == 32 * (3 * (96 + 5) + 164)
    assert base["rules"] == ["n_embd % n_head == 0"]
    assert base["no_effect"] == ["n_head", "dropout"]
    assert {json.dumps(case["case"]): case["formula"] for case in others} == {
        '{"bias": false}': "n_embd*(n_layer*(3*n_embd + 2) + block_size + vocab_size)"
    }
    assert told["call"] == "GPT(GPTConfig())"


def test_a_config_object_that_is_a_default_is_opened(formula):
    told = document(formula("nets.py::Usual", "--vary", "width", "--format", "json"))
    assert told["call"] == "Usual(config=NormedConfig(width=5))"
    assert (told["cases"][0]["formula"], told["cases"][0]["value"]) == ("width*(width + 3)", 40)


def test_every_shape_and_its_source(gpt):
    shapes = {row["name"]: row for row in gpt["cases"][0]["parameters"]}
    assert shapes["h.*.qkv.weight"]["shape"] == ["3*n_embd", "n_embd"]
    assert shapes["h.*.qkv.weight"]["number"] == "n_layer"
    assert shapes["h.*.qkv.weight"]["source"] == "nets.py:25"
    assert shapes["h.*.qkv.weight"]["value"] == 3 * 96 * 32


@pytest.mark.thorough
def test_positional_and_keyword_arguments_take_other_values(formula):
    target = "nets.py::Widths(8, outputs=2)"
    told = document(formula(target, "--format", "json"))
    assert told["cases"][0]["formula"] == "hidden*(inputs + outputs + 1) + outputs"
    assert told["cases"][0]["value"] == 16 * 11 + 2


@pytest.mark.thorough
def test_choices_that_are_asked_for_are_all_combined(formula):
    told = document(formula("nets.py::Normed", "--vary", "width,bias,norm", "--format", "json"))
    found = {tuple(case["case"].values()): case["formula"] for case in told["cases"]}
    assert found == {
        (): "width*(width + 3)",
        (True, "rms"): "width*(width + 2)",
        (False, "layer"): "width*(width + 2)",
        (False, "rms"): "width*(width + 1)",
    }


def test_a_selector_asks_for_a_part_and_only_what_is_asked_for_is_varied(formula):
    told = document(formula("nets.py::GPT[h.*]", "--format", "json"))
    assert told["cases"][0]["formula"] == "n_embd*(3*n_embd + 5)"
    more = ("--vary", "n_layer,n_embd", "--format", "json")
    (case,) = document(formula("nets.py::GPT[trainable]", *more))["cases"]
    assert case["formula"] == "n_embd*(n_layer*(3*n_embd + 5) + 64)"


def test_a_selector_is_about_each_module_that_it_matches(formula):
    """Also where it has its weights from another one; if their counts are the same."""
    tied = formula("nets.py::Rows[tied.*]").stdout
    assert "\n  2*d*(d + 1)\n" in tied
    assert "\n  no effect  first, n\n" in tied
    alike = formula("nets.py::Rows(8)[rows.*]").stdout
    assert "\n  d*(first + 1)\n" in alike
    assert "\n  fixed      first=8: its modules have different counts\n" in alike
    done = formula("nets.py::Rows[rows.*]", code=1)
    assert "– its modules have different counts" in done.stdout


def test_an_installed_class(formula):
    told = document(formula("torch.nn::LSTM(64, 128)", "--vary", "input_size", "--format", "json"))
    assert told["cases"][0]["formula"] == "512*input_size + 66_560"


def test_the_python_function_is_right(formula):
    text = formula("nets.py::GPT", "--format", "python").stdout
    names: dict[str, object] = {}
    exec(text, names)
    count = names["parameter_count"]
    assert count() == 14_944
    assert count(n_layer=5, n_embd=8) == 8 * (5 * (24 + 5) + 164)
    assert count(bias=False) == 32 * (3 * 98 + 164)
    assert "Needs n_embd % n_head == 0." in text


def test_the_python_function_has_the_limits_of_its_cases(formula):
    names: dict[str, object] = {}
    exec(formula("nets.py::Shortcut", "--format", "python").stdout, names)
    count = names["parameter_count"]
    assert count() == count(16, 32) == 16 * 32 + 6 * 16
    assert count(inputs=8, width=8) == 8 * 8
    assert count(inputs=16, width=2000) == 16 * 2000 + 44 * 16


def test_the_text_says_what_was_found(formula):
    text = formula("nets.py::GPT").stdout
    assert "  value      14,944 with block_size=64, vocab_size=100, n_layer=3, n_embd=32\n" in text
    assert "  needs      n_embd % n_head == 0\n" in text
    assert "  no effect  n_head, dropout\n" in text
    assert "where bias=False:" in text
    rows = [line.split() for line in text.splitlines()]
    assert ["wte", "vocab_size*n_embd", "3,200", "21.4", "%"] in rows
    assert ["h.*", "n_layer*n_embd*(3*n_embd", "+", "5)", "9,696", "64.9", "%"] in rows


def test_no_closed_form_is_an_answer_of_its_own(formula):
    done = formula("nets.py::Power", code=1)
    assert done.stdout.splitlines()[3:] == [
        "– no closed form found",
        "  n could not be followed: a loop or an index",
    ]
    (case,) = document(formula("nets.py::Power", "--format", "json", code=1))["cases"]
    assert case["formula"] is None
    assert case["lost"] == {"n": "a loop or an index"}


@pytest.mark.parametrize(
    ("target", "form", "rules"),
    [
        ("Handed", "n*(n + 1) + d*(d + 1)", []),
        ("Deep", "n*(n + 1) + d*(d + 1)", []),
        ("Levels", "ch*mult[1]*(ch + 1) + 1", ["mult[0] != mult[1]", "mult[0] == 1"]),
    ],
)
def test_a_form_reads_as_a_paper_has_it(formula, target, form, rules):
    case = document(formula(f"nets.py::{target}", "--format", "json"))["cases"][0]
    assert (case["formula"], case["rules"]) == (form, rules)


def test_conditions_are_said_in_words_where_these_are_shorter(formula):
    text = formula("nets.py::Half").stdout
    assert "  needs      d is even, max(drop, path) <= 1\n" in text


def test_symbols_stand_for_names(formula):
    (case,) = document(formula("nets.py::Experts", "--format", "json"))["cases"]
    assert case["formula"] == (
        "d*(2*routed*max(0, n_layers - n_dense)*(d + 1) + d*min(n_dense, n_layers) + "
        "64*ceil(vocab/64))"
    )
    names = "n_layers=L,n_dense=L_d,routed=E,vocab=V"
    latex = formula("nets.py::Experts", "--symbols", names, "--format", "latex").stdout
    assert latex.splitlines()[1] == (
        r"  N = d \left(2 E \max\left(0, L - L_{d}\right) \left(d + 1\right) + "
        r"d \min\left(L_{d}, L\right) + 64 \left\lceil \frac{V}{64} \right\rceil\right)"
    )
    latex = formula("nets.py::Experts", "--format", "latex").stdout
    assert r"2 \cdot \mathit{routed} \cdot \max\left(0, n_{\mathrm{layers}} - n_{" in latex
    names = ("--symbols", "d=lambda,n=N")
    latex = formula("nets.py::Handed", *names, "--format", "latex").stdout
    assert latex.splitlines()[1] == (
        r"  P = N \left(N + 1\right) + \lambda \left(\lambda + 1\right)"
    )
    refused = formula("nets.py::Handed", *names, "--format", "python", code=2).stderr
    assert "option --symbols: lambda is a word of Python, and names nothing there" in refused
    text = formula("nets.py::Levels", "--symbols", "ch=c,mult=m").stdout
    assert "\n  c*m[1]*(c + 1) + 1\n" in text
    assert "  holds for  m[0] != m[1], m[0] == 1\n" in text
    for wrong, what in {
        "ch": "found 'ch', expected name=symbol",
        "ch=c,mult=c": "c would stand for two arguments",
        "ch=mult": "mult would stand for two arguments",
        "cg=c": "Levels() has no argument 'cg'; there are: ch, mult",
    }.items():
        assert what in formula("nets.py::Levels", "--symbols", wrong, code=2).stderr


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("Power", "no closed form found"),
        ("Broken", "Broken() raised ValueError: no such thing"),
        ("Got", "with its arguments written out, the call builds another model: Got(n=2, d=8)"),
    ],
)
def test_where_there_is_no_form_a_script_and_a_paper_have_the_reason(formula, target, reason):
    python, latex = (
        formula(f"nets.py::{target}", "--format", name, code=1).stdout
        for name in ("python", "latex")
    )
    assert python == f"# no function: {reason}\n"
    assert latex.splitlines()[-1] == f"% {reason}"


def test_an_argument_that_is_none_in_the_call_may_be_given_numbers(formula):
    def forms(names):
        told = document(formula("nets.py::Optional", "--vary", names, "--format", "json"))
        return told["call"], {case["case"].get("d_ff"): case["formula"] for case in told["cases"]}

    assert forms("width,d_ff=None|8") == (
        "Optional()",
        {None: "2*width*(width + 1)", 8: "8*(width + 1)"},
    )
    assert forms("width,d_ff=8|12") == ("Optional(d_ff=8)", {None: "d_ff*(width + 1)"})


def test_an_argument_without_a_fit_keeps_its_value(formula):
    assert "  holds for  d=64 (its value)\n" in formula("nets.py::Tabled").stdout
    (case,) = document(formula("nets.py::Tabled", "--format", "json"))["cases"]
    assert (case["formula"], case["rules"]) == ("256*v", ["d == 64"])


def test_a_model_that_cannot_be_built_says_why(formula):
    done = formula("nets.py::Broken", code=1)
    assert "not built: Broken() raised ValueError: no such thing" in done.stdout
    assert document(formula("nets.py::Broken", "--format", "json", code=1))["cases"] == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nets.py::GPT", "--vary", "n_layers"], "has no argument 'n_layers'; did you mean"),
        (["nets.py::GPT", "--vary", "n-layer"], "found 'n-layer', expected a name"),
        (
            ["nets.py::GPT", "--format", "sarif"],
            "formula has no format 'sarif'; it has text,",
        ),
        (
            ["nets.py::Normed[trainabel]"],
            "no module of Normed(NormedConfig()) matches 'trainabel'; did you mean trainable?",
        ),
        (["nets.py::GPT[hh]"], "matches 'hh'; did you mean h?"),
        (["missing.py::GPT"], "there is no file missing.py"),
        (["nets.py"], "is not a target"),
    ],
)
def test_usage(formula, arguments, message):
    assert message in formula(*arguments, code=2).stderr


# --- --write ----------------------------------------------------------------------------------

WRITTEN = '''\
import torch.nn as nn


class Net(nn.Module):
    """A net."""

    def __init__(self, width=16, bias=True):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(width, width, bias=bias)])
'''


@pytest.fixture
def written(tmp_path, nparam_lint):
    (tmp_path / "net.py").write_text(WRITTEN)
    (tmp_path / "nparam-lint.toml").write_text('device = "meta"\n')

    def run(*arguments, code=0):
        done = nparam_lint(*arguments, cwd=tmp_path)
        assert done.returncode == code, done.stdout + done.stderr
        return done, (tmp_path / "net.py").read_text()

    return run


def test_the_formula_becomes_a_budget_that_holds_and_is_written_once(written):
    done, text = written("formula", "net.py::Net", "--write")
    line = "nparam: (width**2) if not bias else (width*(width + 1))"
    assert line in done.stderr
    assert text == WRITTEN.replace('"""A net."""', f'"""A net.\n\n    {line}\n    """')
    done, _ = written()
    assert "1 budget holds" in done.stdout
    done, again = written("formula", "net.py::Net", "--write")
    assert text == again
    assert "net.py::Net already has it" in done.stderr


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["net.py::Net", "--vary", "width"], "option --write writes the whole formula"),
        (["net.py::Net[layers.*]"], "option --write writes the whole formula"),
        (["torch.nn::PReLU(2)"], "option --write: torch.nn is an installed package"),
        (["net.py::nn.PReLU(2)"], "option --write: net.py does not define nn.PReLU itself"),
    ],
)
def test_where_it_cannot_be_written(written, arguments, message):
    done, text = written("formula", *arguments, "--write", code=2)
    assert message in done.stderr
    assert text == WRITTEN


DEAD = """
    class Net(nn.Module):
        \"\"\"Not used.

        nparam: width*depth
        \"\"\"

        def __init__(self, width, depth):
            super().__init__()
"""
USED = """
    class Net(nn.Module):
        \"\"\"Used.\"\"\"

        def __init__(self, width=3, depth=2):
            super().__init__()
            self.a = nn.Linear(width, depth, bias=False)
"""
# Of several definitions of one name, the one that Python uses gets the formula.
DEFINITIONS = {
    "the first": f"if nn:{USED}else:{DEAD}",
    "the last": f"try:\n    import not_there\n{DEAD}except ImportError:{USED}",
    "the one between": f"if not nn:{DEAD}elif nn:{USED}else:{DEAD}",
}


@pytest.mark.parametrize(
    "name",
    [n if n == "the last" else pytest.param(n, marks=pytest.mark.thorough) for n in DEFINITIONS],
)
def test_the_definition_in_use_gets_the_formula(written, tmp_path, name):
    source = "import torch.nn as nn\n" + DEFINITIONS[name]
    (tmp_path / "net.py").write_text(source)
    done, text = written("formula", "net.py::Net", "--write")
    used = '"""Used.\n\n        nparam: depth*width\n        """'
    used = used if used in text else used.replace("depth*width", "width*depth")
    assert text == source.replace('"""Used."""', used)
    line = text[: text.index(used)].count("\n") + 3
    assert f"net.py:{line}: nparam: " in done.stderr


@pytest.mark.thorough
def test_a_definition_that_is_not_used_gets_none(written, tmp_path):
    source = WRITTEN + "\n\nclass Other(Net):\n    pass\n\n\nNet = Other\n"
    (tmp_path / "net.py").write_text(source)
    done, text = written("formula", "net.py::Net", "--write", code=2)
    assert "net.py does not define Net itself; it is what net.py:12 defines" in done.stderr
    assert text == source


@pytest.mark.thorough
def test_elements_of_lists_are_arguments(formula):
    (case,) = document(formula("nets.py::Tower", "--format", "json"))["cases"]
    assert case["formula"] == "dims[1]*(dims[0] + 1) + fixed*(4*depth + 1)"
    assert case["base"]["dims[0]"] == 8
    names: dict[str, object] = {}
    exec(formula("nets.py::Tower", "--format", "python").stdout, names)
    assert names["parameter_count"](dims=(8, 16), depth=2, fixed=3) == 144 + 27


@pytest.mark.thorough
def test_numbers_in_dictionaries_are_arguments(formula):
    target = "nets.py::TwoTowers(dict(width=8, name='x'), {'width': 16})"
    done = formula(target, "-q")
    assert done.stdout == "  image['width']*(image['width'] + 1) + 4*(text['width'] + 1)\n"
    done = formula(target, "-q", "--vary", "text['width']")
    assert done.stdout == "  4*text['width'] + 76\n"


@pytest.mark.thorough
def test_choices_that_are_left_out_are_named(formula):
    done = formula("nets.py::Many")
    assert "\n  matter too  f: --vary f shows how\n" in done.stdout
    assert done.stdout.count("\nwhere ") == 4


LONG = """\
import torch.nn as nn


class Layer(nn.Module):
    def __init__(self, hidden_size, intermediate_size):
        super().__init__()
        self.gate_projection = nn.Linear(hidden_size, intermediate_size)
        self.post_attention_layernorm = nn.Linear(intermediate_size, hidden_size)


class Decoder(nn.Module):
    def __init__(self, hidden_size=6, intermediate_size=10, num_hidden_layers=3):
        super().__init__()
        sizes = hidden_size, intermediate_size
        self.layers = nn.ModuleList(Layer(*sizes) for _ in range(num_hidden_layers))
        self.head = nn.Linear(hidden_size, 20)


def decoder(**sizes):
    return Decoder(**sizes)


def of(config):
    return Decoder(config.size)
"""


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


@pytest.mark.thorough
def test_a_narrow_table_goes_on_in_further_rows(place, nparam_lint):
    (place / "long.py").write_text(LONG)
    done = nparam_lint("formula", "long.py::Decoder", "-v", cwd=place, COLUMNS="72")
    assert done.stdout.partition("places\n\n")[2] == NARROW
    assert max(map(len, done.stdout.splitlines())) <= 72


def test_what_has_no_number_to_vary_says_what_to_do(place, nparam_lint):
    setup = "from types import SimpleNamespace as S; c = S(size=6)"
    config = f'[arguments]\n"long.py::of" = {{ setup = "{setup}", call = "of(c)" }}\n'
    (place / "long.py").write_text(LONG)
    (place / "made.toml").write_text(config)
    done = nparam_lint("formula", "long.py::decoder", "--depth", "1", cwd=place, COLUMNS="80")
    shown = """\
long.py::decoder
  decoder()

  548

  value  548
  fixed  there is no number to vary in decoder(); if it takes one, write it in
         the call: decoder(NAME=NUMBER)

module      value    share
────────  ───────  ───────
layers        408   74.5 %
head          140   25.5 %
"""
    assert (done.returncode, done.stdout) == (0, shown)
    python = nparam_lint("formula", "long.py::decoder", "--format", "python", cwd=place)
    assert "    No argument was varied.\n" in python.stdout
    made = nparam_lint("formula", "long.py::of", "--config", "made.toml", cwd=place, COLUMNS="80")
    lines = """\
  fixed  there is no number to vary in of(c): only arguments written in the call
         are varied, not objects made before it; make them in the call:
         of(Config(NAME=NUMBER))
"""
    assert lines in made.stdout


def test_a_number_is_taken_out_where_that_makes_it_plainer():
    def form(number, other):
        n = Polynomial.generator("n")
        return n * Polynomial.constant(number) + Polynomial.constant(other)

    assert factored(form(513, 11_176_512), ["n"]) == "513*n + 11_176_512"
    assert factored(form(6, 45), ["n"]) == "3*(2*n + 15)"
    assert factored(form(6, 51), ["n"]) == "6*n + 51"
    assert factored(form(-20, -20), ["n"]) == "-(20*n + 20)"


@pytest.mark.thorough
def test_what_is_written_in_an_inner_call_is_its_value(formula):
    target = "torch.nn::Sequential(Linear(4, 3), PReLU(5))"
    done = formula(target, "-q", "--vary", "in_features,num_parameters")
    assert done.stdout == "  3*in_features + num_parameters + 3\n"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("target", "form", "value"),
    [
        (
            "WithNested",
            "depth*mlp.mult*(8*attn.heads + 1) + extra['rank']*attn.rope.size",
            2 * 3 * 33 + 50,
        ),
        (
            "WithNested.from_config(Nested(attn=Attention(dim=12, rope=Rope())))",
            "depth*mlp.mult*(attn.dim + 1) + extra['rank']*attn.rope.size",
            2 * 3 * 13 + 30,
        ),
    ],
)
def test_fields_of_config_objects_inside_others_are_arguments(formula, target, form, value):
    (case,) = document(formula(f"nets.py::{target}", "--format", "json"))["cases"]
    assert (case["formula"], case["value"], case["proof"]) == (form, value, "proved")
    one = document(formula(f"nets.py::{target}", "--vary", "attn", "--format", "json"))
    assert {v["name"].split(".")[0] for v in one["variables"]} == {"attn"}
