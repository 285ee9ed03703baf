"""Formulas at other arguments than the declared ones: real models, real builds."""

from __future__ import annotations

import json

import pytest
from model_source import model_class
from sample_files import write_files

from nparam_lint.ground.rule_catalogue import RULES

NET = '''\
class Net(nn.Module):
    """nparam: {}"""

    def __init__(self, width=128, classes=10):
        super().__init__()
        self.hidden = nn.Linear(784, width)
        self.out = nn.Linear(width, classes)
'''
GPT = '''\
@dataclass
class Config:
    n_layer: int = 2
    d: int = 32
    n_head: int = 4
    vocab: int = 100

class GPT(nn.Module):
    """nparam{}"""

    def __init__(self, config: Config):
        super().__init__()
        assert config.d % config.n_head == 0
        self.wte = nn.Embedding(config.vocab, config.d)
        self.h = nn.ModuleList(nn.Linear(config.d, 3 * config.d) for _ in range(config.n_layer))
'''
STACK = '''\
class Stack(nn.Module):
    """nparam: {}"""

    def __init__(self, widths=(8, 16, 4)):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(widths, widths[1:]))
'''
NESTED = '''\
@dataclass
class Attention:
    heads: int = 4
    dim: int = 32

@dataclass
class Config:
    depth: int = 2
    attn: Attention = field(default_factory=Attention)

class Net(nn.Module):
    """nparam: {}"""

    def __init__(self, config: Config):
        super().__init__()
        assert config.attn.dim % config.attn.heads == 0
        dim = config.attn.dim
        self.h = nn.ModuleList(nn.Linear(dim, dim) for _ in range(config.depth))
'''
MIXTURE = '''\
class Mixture(nn.Module):
    """
    nparam[active]: d*E + 2*k*d*f
    nparam[trainable]: 2*d*f*E
    nparam[bytes]: 8*d*f*E + 4*E*d
    nparam[experts.*, bytes]: 8*d*f
    """

    def __init__(self, d=8, f=16, E=4, k=2):
        super().__init__()
        self.top_k, self.num_experts = k, E
        self.gate = nn.Linear(d, E, bias=False)
        self.gate.weight.requires_grad = False
        self.experts = nn.ModuleList(
            nn.ModuleList([nn.Linear(d, f, bias=k > 2), nn.Linear(f, d, bias=False)])
            for _ in range(E)
        )
'''
TWO = '''\
@dataclass
class Config:
    d: int = 8
    n: int = 2

class Net(nn.Module):
    """nparam: {}"""

    def __init__(self, encoder=Config(), decoder=Config({}), d=3):
        super().__init__()
        self.e = nn.ModuleList(nn.Linear(encoder.d, encoder.d) for _ in range(encoder.n))
        self.d = nn.Linear(decoder.d, d, bias=False)
'''
HANDED = '''\
class Square(nn.Module):
    def __init__(self, d=8, bias=True):
        super().__init__()
        self.layer = nn.Linear(d, d, bias=bias)


class Net(Square):
    """
    nparam{}
    """

    def __init__(self, n=2, **kwargs):
        kwargs{}
        super().__init__(**kwargs)
        self.rows = nn.ModuleList(nn.Linear(1, 1) for _ in range(n))


class Whole(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList([Net(), Net(3, d=4), Net(bias=True)])
'''


def model(formula, takes, *body):
    return model_class("Net", *body, doc=f"nparam: {formula}", takes=takes)


SQUARE = "self.a = nn.Linear(d, d, bias=False)"
HALF = "self.a = nn.Linear(d, d // 2, bias=False)"
# Formulas that are right wherever they say something.
RIGHT = {
    "everywhere": NET.format("(784 + 1)*width + (width + 1)*classes"),
    "within_a_spread": NET.format("795*width + 10 ± 1%"),
    "silenced": NET.format("784*width + width + 1290").replace(
        '1290"""', '1290"""  # nparam: ignore[NPL011] one size is built, ever'
    ),
    "fields_of_a_config": GPT.format(": vocab*d + n_layer*(3*d**2 + 3*d)"),
    "what_it_does_not_speak_of_stays": GPT.format(": 100*d + 2*(3*d**2 + 3*d)"),
    "each_has_its_own_arguments": GPT.format(
        ": vocab*d + n_layer*(3*d**2 + 3*d)\n    nparam[wte]: 3200 + 0*n_layer\n    "
    ),
    # n_head=8, 12 and 16 are tried: 12 does not divide 32.
    "what_the_model_refuses": GPT.format(": vocab*d + n_layer*3*d*(d + 1) + 0*n_head"),
    "elements_of_a_list": STACK.format("widths[1]*(widths[0] + 1) + widths[-1]*(widths[1] + 1)"),
    "objects_in_a_config": NESTED.format("depth*attn.dim*(config.attn.dim + 1)"),
    "sides": model("d*d if d > 32 else d*max(d, 1)", "d=64", SQUARE),
    "all_sides_of_conditions": model(
        "min(vocab, 9999)*(d + 1) + (d if d % 3 == 0 else 0)",
        "vocab=700, d=8, depth=2",
        "assert 0 < depth < 100_000",
        "self.words = nn.Linear(d, min(vocab, 9999))",
        "if d % 3 == 0:",
        "    self.scale = nn.Parameter(self.words.weight.new_empty(d))",
    ),
    "fields_of_two_configs": TWO.format("encoder.n*encoder.d*(encoder.d + 1) + decoder.d*d", "d=6"),
    "about": model("~ d*d/2", "d=64", HALF),
    "handed_to_a_base": HANDED.format(
        ": d*(d + bias) + 2*n\n    nparam(n=3, d=5): d*(d + bias) + 2*n"
        "\n    nparam(in Whole): d*(d + bias) + 2*n",
        '.setdefault("bias", False)',
    ),
}
WRONG = {
    "terms_that_happen_to_be_equal": (
        NET.format("785*width + width*classes + width - 118"),
        "with classes=20 it gives 103,050, the model has 103,060: +10",
        "missing: classes - width + 118",
    ),
    "at_most": (
        NET.format("<= 700*width + 13_000"),
        "with width=256 it gives 192,200, the model has 203,530: +11,330",
        "missing: width*(classes + 85) + classes - 13_000",
    ),
    "field_of_a_config": (
        GPT.format(": 100*d + n_layer*(96*d + 96)"),
        "with d=64 it gives 18,880, the model has 31,360: +12,480",
        "missing: d*(3*n_layer*(d - 31) + vocab - 100) - 96*n_layer",
    ),
    "part": (
        GPT.format("[h.*]: 3*d**2 + 96"),
        "with d=64 it gives 12,384, the model has 12,480: +96",
        "missing: 3*d - 96",
    ),
    "element_of_a_list": (
        STACK.format("widths[1]*(widths[0] + 1) + 68"),
        "with widths[1]=32 it gives 356, the model has 420: +64",
        "missing: widths[2]*(widths[1] + 1) - 68",
    ),
    "object_in_a_config": (
        NESTED.format("depth*attn.dim**2 + 32*depth"),
        "with attn.dim=64 it gives 8,256, the model has 8,320: +64",
        "missing: depth*(attn.dim - 32)",
    ),
    "too_much": (
        NET.format("785*width + (width + 1)*classes + max(0, width - 128)"),
        "with width=256 it gives 203,658, the model has 203,530: -128",
        "too much: max(0, width - 128)",
    ),
    "bottleneck": (
        model(
            "planes*(5*inplanes + 13*planes + 20)",
            "inplanes=64, planes=64, stride=1",
            "if stride != 1 or inplanes != planes * 4:",
            "    self.shortcut = nn.Conv2d(inplanes, planes * 4, 1, bias=False)",
            "    self.norm = nn.BatchNorm2d(planes * 4)",
            "self.a = nn.Conv2d(inplanes, planes, 1, bias=False)",
            "self.b = nn.Conv2d(planes, planes, 3, bias=False)",
            "self.c = nn.Conv2d(planes, planes * 4, 1, bias=False)",
            "self.norms = nn.ModuleList(nn.BatchNorm2d(planes * n) for n in (1, 1, 4))",
        ),
        "with inplanes=256 it gives 136,448, the model has 70,400: -66,048",
        "too much: 4*planes*(inplanes + 2) where inplanes == 4*planes and stride == 1",
    ),
    "capped": (
        model(
            "vocab*(d + 1)",
            "vocab=700, d=8",
            "self.words = nn.Linear(d, vocab if vocab <= 9999 else 9999)",
        ),
        "with vocab=10000 it gives 90,000, the model has 89,991: -9",
        "missing: (d + 1)*(9999 - vocab) where vocab >= 10000",
    ),
    "guarded": (
        model(
            "d*d + min(d, 50)",
            "d=64",
            "self.wide = nn.Linear(d, d, bias=300 <= d < 310)",
            "self.few = nn.Linear(min(d, 50), 1, bias=False)",
        ),
        "with d=300 it gives 90,050, the model has 90,350: +300",
        "missing: d (wide.bias) where 300 <= d <= 309",
    ),
    "right_on_the_path_of_the_call": (
        model(
            "d*d + x",
            "d=8, x=0",
            "self.square = nn.Linear(d, d, bias=False)",
            "self.more = nn.Linear(x, 1, bias=False) if x else None",
            "self.large = nn.Linear(2, 1, bias=False) if d > 20 else None",
        ),
        "with d=24 it gives 576, the model has 578: +2",
        "missing: 2 (large.weight) where d > 20",
    ),
    "boolean": (
        model("d*d + d*wide", "d=64, wide=False", "self.a = nn.Linear(d, d + 2 * wide, False)"),
        "with wide=True it gives 4,160, the model has 4,224: +64",
    ),
    "beside_a_boolean": (
        model("d*d + d + 65*bias", "d=64, bias=True", "self.a = nn.Linear(d, d + 1, bias)"),
        "with d=128 it gives 16,577, the model has 16,641: +64",
        "missing: d - 64 where bias=True",
    ),
    "below_a_multiple": (
        model(
            "h*(h + 1)",
            "h=64",
            "self.hidden = nn.Linear(h, h)",
            "self.rest = nn.Parameter(self.hidden.weight.new_empty(h % 4 // 3))",
        ),
        "with h=191 it gives 36,672, the model has 36,673: +1",
        "missing: (h - 4*(h//4))//3 (rest)",
    ),
    "field_of_two_configs_that_are_equal": (
        TWO.format("n*encoder.d*(encoder.d + 1) + decoder.d*d", ""),
        "with Net(encoder=Config(n=4), decoder=Config()) several config objects have 'n'; "
        "write which is meant: encoder.n or decoder.n",
    ),
    "metrics": (
        MIXTURE,
        "with k=4 it gives 1,056, the model has 1,120: +64",
        "missing: f*k (experts.*.0.bias) where E >= k and k >= 3",
    ),
    "else": (
        model("d*d if d > 32 else 4*d", "d=64", SQUARE),
        "with d=32 it gives 128, the model has 1,024: +896",
    ),
    "minimum": (
        model("d*min(d, 1_000)", "d=64", SQUARE),
        "with d=1001 it gives 1,001,000, the model has 1,002,001: +1,001",
        "missing: d*(d - min(d, 1000))",
    ),
    "maximum": (
        model("d*max(16, d)", "d=64", SQUARE),
        "with d=15 it gives 240, the model has 225: -15",
        "missing: d*(d - max(16, d))",
    ),
    "maximum_inside": (
        model(
            "4*d*2**(n - 2)",
            "d=64, n=2",
            "self.a = nn.Linear(4 * 2 ** max(n - 2, 0), d, bias=False)",
        ),
        "with n=1 it gives 128, the model has 256: +128",
        "missing: d*(4*2**max(n - 2, 0) - 2**n)",
    ),
    "few": (
        model(
            "n*d*d if n < 40 else n*d",
            "d=8, n=2",
            "self.a = nn.ModuleList(nn.Linear(d, d, bias=False) for _ in range(n))",
        ),
        "with n=41 it gives 328, the model has 2,624: +2,296",
    ),
    "no_whole_value": (
        model("d*d/2", "d=64", HALF),
        "with d=65 `d*d/2` gives 2112.5, not a whole number (d=65)",
        "missing: d*(2*(d//2) - d)/2",
    ),
    "no_whole_quotient": (
        model("d*d/h", "d=64, h=1", "self.a = nn.Linear(d, d // h, bias=False)"),
        "with h=3 `d*d/h` gives 4096/3, not a whole number (d=64, h=3)",
    ),
    "below_zero": (
        model(
            "d*d*(first + E*(n - first))",
            "d=32, n=60, first=1, E=4",
            "one = lambda: nn.Linear(d, d, bias=False)",
            "self.layers = nn.ModuleList(",
            "    one() if i < first else nn.ModuleList(one() for _ in range(E)) for i in range(n)",
            ")",
        ),
        "with first=2, n=1 `d*d*(first + E*(n - first))` gives -2_048, below zero "
        "(E=4, d=32, first=2, n=1)",
        "missing: d**2*(E*(first + max(0, n - first) - n) + min(first, n) - first)",
    ),
}
QUIET = "silenced each_has_its_own_arguments handed_to_a_base fields_of_two_configs".split()
FROM_THE_START = GPT.format(": vocab*d + n_layer*3*d**2")
NOT_THERE = {
    "element": (STACK.format("widths[3]"), "'widths[3]'; did you mean widths[2]?"),
    "field": (
        NESTED.format("attn.size"),
        "'attn.size'; a formula may use: depth, training",
    ),
    "field_of_two_configs": (
        TWO.format("n*encoder.d*(encoder.d + 1) + decoder.d*d", "n=6"),
        "several config objects have 'n'; write which is meant: encoder.n or decoder.n",
    ),
    "changed_before_it_is_handed_on": (
        HANDED.format(": d*(d + 1) + 2*n", '["d"] = 4'),
        "'d'; a formula may use: n, training",
    ),
}


@pytest.fixture(scope="module")
def check(tmp_path_factory, nparam_lint):
    """The findings about each of some sources."""

    def run(sources, root=None):
        head = "from dataclasses import dataclass, field\n\nimport torch.nn as nn\n\n\n"
        root = root or tmp_path_factory.mktemp("formulas")
        files = {f"{name}.py": head + source for name, source in sources.items()}
        write_files(root, {**files, "nparam-lint.toml": 'device = "meta"\n'})
        done = nparam_lint("--format", "json", cwd=root)
        assert "Traceback" not in done.stderr
        report = json.loads(done.stdout)
        assert done.returncode == bool(report["findings"])
        assert {model["status"] for model in report["models"]} == {"measured"}
        found = {name: [] for name in sources}
        for f in report["findings"]:
            found[f["path"].removesuffix(".py")].append((f["code"], f["message"], f["detail"]))
        return found

    return run


def wrong_for_others(found, said, *missing):
    """The one finding has these words, and names what is missing."""
    ((code, message, detail),) = found
    assert (code, message.partition(" wrong for others: ")[2]) == ("NPL011", said)
    assert detail[1:-1] == [*missing]


def test_formulas_that_hold_and_those_that_are_wrong_for_others(check, tmp_path):
    sources = {name: RIGHT[name] for name in QUIET}
    sources |= {name: source for name, (source, _) in NOT_THERE.items()}
    sources |= {"start": FROM_THE_START, "too_much": WRONG["too_much"][0]}
    sources["net"] = NET.format("784*width + width + 1290")
    found = check(sources, tmp_path)
    assert [found[name] for name in QUIET] == [[] for _ in QUIET]
    for name, (_, said) in NOT_THERE.items():
        ((code, message, _),) = found[name]
        assert (code, message[-len(said) :]) == ("NPL002", said)
    wrong_for_others(found["too_much"], *WRONG["too_much"][1:])
    ((code, _, detail),) = found["start"]  # it is wrong for the declared arguments already
    assert code == "NPL001"
    assert detail[:2] == ["with d=32, n_layer=2, vocab=100", "missing: 3*d*n_layer (h.*.bias)"]
    assert found["net"] == [
        (
            "NPL011",
            "the formula is right for Net() and wrong for others: with width=256 it gives "
            "202,250, the model has 203,530: +1,280",
            [
                "built: Net(width=256)",
                "missing: classes*(width + 1) - 1290",
                "to derive one that holds for all: nparam-lint formula net.py::Net",
            ],
        )
    ]
    assert check(sources, tmp_path) == found  # from what is remembered


@pytest.mark.thorough
def test_the_example_of_the_rule_shows_it(check):
    ((code, *_), *_) = check({"net": RULES["NPL011"].example_bad + "\n"})["net"]
    assert code == "NPL011"


@pytest.mark.thorough
def test_every_formula_that_holds_is_no_finding(check):
    assert check(RIGHT) == {name: [] for name in RIGHT}


@pytest.mark.thorough
@pytest.mark.parametrize("name", WRONG)
def test_a_formula_that_is_wrong_for_others(check, name):
    source, *words = WRONG[name]
    wrong_for_others(check({name: source})[name], *words)
