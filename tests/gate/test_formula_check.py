"""Formulas at other arguments than the declared ones: real models, real builds."""

from __future__ import annotations

import json

import pytest

from nparam_lint.ground.rule_catalogue import RULES

HEAD = "import torch.nn as nn\n\n\n"
NET = '''\
class Net(nn.Module):
    """nparam: {formula}"""

    def __init__(self, width=128, classes=10):
        super().__init__()
        self.hidden = nn.Linear(784, width)
        self.out = nn.Linear(width, classes)
'''
GPT = '''\
from dataclasses import dataclass


@dataclass
class Config:
    n_layer: int = 2
    d: int = 32
    n_head: int = 4
    vocab: int = 100


class GPT(nn.Module):
    """nparam{selector}: {formula}"""

    def __init__(self, config: Config):
        super().__init__()
        assert config.d % config.n_head == 0
        self.wte = nn.Embedding(config.vocab, config.d)
        self.h = nn.ModuleList(nn.Linear(config.d, 3 * config.d) for _ in range(config.n_layer))
'''


@pytest.fixture
def check(tmp_path, nparam_lint):
    """The findings about a source."""
    (tmp_path / "nparam-lint.toml").write_text('device = "meta"\n')

    def run(source, *arguments):
        (tmp_path / "net.py").write_text(HEAD + source)
        done = nparam_lint("--format", "json", *arguments, cwd=tmp_path)
        assert "Traceback" not in done.stderr
        report = json.loads(done.stdout)
        assert done.returncode == bool(report["findings"])
        assert {model["status"] for model in report["models"]} == {"measured"}
        return [(f["code"], f["message"], f["detail"]) for f in report["findings"]]

    return run


def test_a_formula_that_is_right_for_one_size_alone(check):
    assert check(NET.format(formula="784*width + width + 1290")) == [
        (
            "NPL011",
            "the formula is right for Net() and wrong for others: with width=256 it gives 202,250, "
            "the model has 203,530: +1,280",
            [
                "built: Net(width=256)",
                "missing: classes*(width + 1) - 1290",
                "to derive one that holds for all: nparam-lint formula net.py::Net",
            ],
        )
    ]


def test_a_formula_that_holds_everywhere_is_no_finding(check):
    assert check(NET.format(formula="(784 + 1)*width + (width + 1)*classes")) == []


def test_terms_that_only_happen_to_be_equal(check):
    formula = "785*width + width*classes + width - 118"
    ((code, message, detail),) = check(NET.format(formula=formula))
    assert code == "NPL011"
    assert "with classes=20 it gives 103,050, the model has 103,060: +10" in message
    assert "missing: classes - width + 118" in detail


@pytest.mark.thorough
def test_fields_of_a_config_are_varied_too(check):
    ((code, message, _),) = check(GPT.format(selector="", formula="100*d + n_layer*(96*d + 96)"))
    assert (code, "with d=64" in message) == ("NPL011", True)
    assert check(GPT.format(selector="", formula="vocab*d + n_layer*(3*d**2 + 3*d)")) == []


def test_what_a_formula_does_not_speak_of_stays_as_it_is(check):
    assert check(GPT.format(selector="", formula="100*d + 2*(3*d**2 + 3*d)")) == []


def test_each_formula_is_held_against_its_own_arguments(check):
    two = GPT.format(selector="", formula="vocab*d + n_layer*(3*d**2 + 3*d)").replace(
        '3*d)"""', '3*d)\n    nparam[wte]: 3200 + 0*n_layer\n    """'
    )
    assert check(two) == []


def test_a_formula_that_is_wrong_from_the_start_shows_the_missing_term(check):
    ((code, _, detail),) = check(GPT.format(selector="", formula="vocab*d + n_layer*3*d**2"))
    assert code == "NPL001"
    assert detail[:2] == ["with d=32, n_layer=2, vocab=100", "missing: 3*d*n_layer (h.*.bias)"]


@pytest.mark.thorough
def test_a_part_is_held_against_others_as_well(check):
    ((code, message, detail),) = check(GPT.format(selector="[h.*]", formula="3*d**2 + 96"))
    assert (code, "with d=64" in message) == ("NPL011", True)
    assert "missing: 3*d - 96" in detail


def test_what_the_model_refuses_is_passed_over(check):
    # n_head=8, 12 and 16 are tried: 12 does not divide 32.
    assert check(GPT.format(selector="", formula="vocab*d + n_layer*3*d*(d + 1) + 0*n_head")) == []


@pytest.mark.thorough
def test_limits_and_spreads_hold_elsewhere_too(check):
    assert check(NET.format(formula="795*width + 10 ± 1%")) == []
    ((code, _, _),) = check(NET.format(formula="<= 700*width + 13_000"))
    assert code == "NPL011"


def test_it_is_silenced_like_any_finding(check):
    source = NET.format(formula="784*width + width + 1290").replace(
        '1290"""', '1290"""  # nparam: ignore[NPL011] one size is built, ever'
    )
    assert check(source) == []


def test_the_rule_is_explained_by_an_example_that_shows_it(check):
    rule = RULES["NPL011"]
    (code, *_), *_ = check(rule.example_bad + "\n")
    assert code == "NPL011"


@pytest.mark.thorough
def test_the_second_run_says_the_same(check):
    source = NET.format(formula="784*width + width + 1290")
    assert check(source) == check(source)


STACK = '''\
class Stack(nn.Module):
    """nparam: {formula}"""

    def __init__(self, widths=(8, 16, 4)):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(widths, widths[1:]))
'''


def test_elements_of_a_list_are_varied_like_other_arguments(check):
    right = "widths[1]*(widths[0] + 1) + widths[-1]*(widths[1] + 1)"
    assert check(STACK.format(formula=right)) == []
    ((code, message, detail),) = check(STACK.format(formula="widths[1]*(widths[0] + 1) + 68"))
    assert (code, "with widths[1]=32" in message) == ("NPL011", True)
    assert "missing: widths[2]*(widths[1] + 1) - 68" in detail
    ((code, message, _),) = check(STACK.format(formula="widths[3]"))
    assert (code, "'widths[3]'; did you mean widths[2]?" in message) == ("NPL002", True)


BRANCHES = '''\
class Bottleneck(nn.Module):
    """nparam: planes*(5*inplanes + 13*planes + 20)"""

    def __init__(self, inplanes=64, planes=64, stride=1):
        super().__init__()
        if stride != 1 or inplanes != planes * 4:
            self.shortcut = nn.Conv2d(inplanes, planes * 4, 1, bias=False)
            self.norm = nn.BatchNorm2d(planes * 4)
        self.a = nn.Conv2d(inplanes, planes, 1, bias=False)
        self.b = nn.Conv2d(planes, planes, 3, bias=False)
        self.c = nn.Conv2d(planes, planes * 4, 1, bias=False)
        self.norms = nn.ModuleList(nn.BatchNorm2d(planes * n) for n in (1, 1, 4))


class Capped(nn.Module):
    """nparam: vocab*(d + 1)"""

    def __init__(self, vocab=700, d=8):
        super().__init__()
        self.words = nn.Linear(d, vocab if vocab <= 9999 else 9999)


class Guarded(nn.Module):
    """nparam: d*d + min(d, 50)"""

    def __init__(self, d=64):
        super().__init__()
        self.wide = nn.Linear(d, d, bias=300 <= d < 310)
        self.few = nn.Linear(min(d, 50), 1, bias=False)


class Right(nn.Module):
    """nparam: min(vocab, 9999)*(d + 1) + (d if d % 3 == 0 else 0)"""

    def __init__(self, vocab=700, d=8, depth=2):
        super().__init__()
        assert 0 < depth < 100_000
        self.words = nn.Linear(d, min(vocab, 9999))
        if d % 3 == 0:
            self.scale = nn.Parameter(self.words.weight.new_empty(d))


class Odd(nn.Module):
    """nparam: h*(h + 1)"""

    def __init__(self, h=64):
        super().__init__()
        self.hidden = nn.Linear(h, h)
        self.rest = nn.Parameter(self.hidden.weight.new_empty(h % 4 // 3))
'''


def test_the_other_sides_of_conditions_are_tried_and_primes(check):
    found = {
        message.split()[5]: (code, message.partition("others: ")[2], detail[1])
        for code, message, detail in check(BRANCHES)
    }
    assert found == {
        "Bottleneck()": (
            "NPL011",
            "with inplanes=256 it gives 136,448, the model has 70,400: -66,048",
            "too much: 4*planes*(inplanes + 2) where inplanes == 4*planes and stride == 1",
        ),
        "Capped()": (
            "NPL011",
            "with vocab=10000 it gives 90,000, the model has 89,991: -9",
            "missing: (d + 1)*(9999 - vocab) where vocab >= 10000",
        ),
        "Guarded()": (
            "NPL011",
            "with d=300 it gives 90,050, the model has 90,350: +300",
            "missing: d (wide.bias) where 300 <= d <= 309",
        ),
        "Odd()": (
            "NPL011",
            "with h=131 it gives 17,292, the model has 17,293: +1",
            "missing: (h - 4*(h//4))//3 (rest)",
        ),
    }


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


@pytest.mark.thorough
def test_formulas_of_other_metrics_are_held_against_others_too(check):
    assert check(MIXTURE) == [
        (
            "NPL011",
            "the formula is right for Mixture() and wrong for others: with k=4 it gives 1,056, the "
            "model has 1,120: +64",
            [
                "built: Mixture(k=4)",
                "missing: f*k (experts.*.0.bias) where E >= k and k >= 3",
                "to derive one that holds for all: nparam-lint formula net.py::Mixture",
            ],
        )
    ]


NESTED = '''\
from dataclasses import dataclass, field


@dataclass
class Attention:
    heads: int = 4
    dim: int = 32


@dataclass
class Config:
    depth: int = 2
    attn: Attention = field(default_factory=Attention)


class Net(nn.Module):
    """nparam: {formula}"""

    def __init__(self, config: Config):
        super().__init__()
        assert config.attn.dim % config.attn.heads == 0
        dim = config.attn.dim
        self.h = nn.ModuleList(nn.Linear(dim, dim) for _ in range(config.depth))
'''


@pytest.mark.thorough
def test_fields_of_objects_in_a_config_are_varied_too(check):
    assert check(NESTED.format(formula="depth*attn.dim*(config.attn.dim + 1)")) == []
    ((code, message, detail),) = check(NESTED.format(formula="depth*attn.dim**2 + 32*depth"))
    assert (code, "with attn.dim=64 it gives 8,256" in message) == ("NPL011", True)
    assert "built: Net(Config(attn=Attention(dim=64)))" in detail
    assert "missing: depth*(attn.dim - 32)" in detail
    ((code, message, _),) = check(NESTED.format(formula="attn.size"))
    assert (code, "'attn.size'" in message) == ("NPL002", True)


NO_VALUE = '''\
class Half(nn.Module):
    """nparam: d*d/2"""

    def __init__(self, d=64):
        super().__init__()
        self.a = nn.Linear(d, d // 2, bias=False)


class Heads(nn.Module):
    """nparam: d*d/h"""

    def __init__(self, d=64, h=1):
        super().__init__()
        self.a = nn.Linear(d, d // h, bias=False)


class About(nn.Module):
    """nparam: ~ d*d/2"""

    def __init__(self, d=64):
        super().__init__()
        self.a = nn.Linear(d, d // 2, bias=False)


class Mixture(nn.Module):
    """nparam: d*d*(first + E*(n - first))"""

    def __init__(self, d=32, n=60, first=1, E=4):
        super().__init__()
        one = lambda: nn.Linear(d, d, bias=False)
        self.layers = nn.ModuleList(
            one() if i < first else nn.ModuleList(one() for _ in range(E)) for i in range(n)
        )
'''


SIDES = '''\
class Either(nn.Module):
    """nparam: d*d if d > 32 else 4*d"""

    def __init__(self, d=64):
        super().__init__()
        self.a = nn.Linear(d, d, bias=False)


class AtMost(Either):
    """nparam: d*min(d, 1_000)"""


class AtLeast(Either):
    """nparam: d*max(16, d)"""


class Few(nn.Module):
    """nparam: n*d*d if n < 40 else n*d"""

    def __init__(self, d=8, n=2):
        super().__init__()
        self.a = nn.ModuleList(nn.Linear(d, d, bias=False) for _ in range(n))


class Right(Either):
    """nparam: d*d if d > 32 else d*max(d, 1)"""
'''


def test_the_other_sides_of_conditions_of_a_formula_are_tried(check):
    assert [message.partition("others: with ")[2] for _, message, _ in check(SIDES)] == [
        "d=32 it gives 128, the model has 1,024: +896",
        "d=1001 it gives 1,001,000, the model has 1,002,001: +1,001",
        "d=15 it gives 240, the model has 225: -15",
        "n=41 it gives 328, the model has 2,624: +2,296",
    ]


DEEP_MAXIMUM = '''\
class Levels(nn.Module):
    """nparam: 4*d*2**(n - 2)"""

    def __init__(self, d=64, n=2):
        super().__init__()
        self.a = nn.Linear(4 * 2 ** max(n - 2, 0), d, bias=False)
'''


def test_the_other_side_of_a_maximum_inside_is_tried(check):
    ((code, message, _),) = check(DEEP_MAXIMUM)
    assert (code, "with n=1 it gives 128, the model has 256: +128" in message) == ("NPL011", True)


def test_a_formula_without_a_value_is_wrong_there(check):
    assert [message.partition("others: ")[2] for _, message, _ in check(NO_VALUE)] == [
        "with d=65 `d*d/2` gives 2112.5, not a whole number (d=65)",
        "with h=3 `d*d/h` gives 4096/3, not a whole number (d=64, h=3)",
        "with first=2, n=1 `d*d*(first + E*(n - first))` gives -2_048, below zero "
        "(E=4, d=32, first=2, n=1)",
    ]
