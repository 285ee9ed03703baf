"""Closed forms of real modules, against what torch makes of the same arguments."""

from __future__ import annotations

import enum
import functools
import itertools
import random
import time

import pytest
import torch
from msgspec.structs import replace
from torch import nn
from torch_models import InProcess, all_derived, asking, count, derived, holds, told, value

from nparam_lint.analysis.closed_forms import limits
from nparam_lint.analysis.closed_forms.derive import derive
from nparam_lint.analysis.closed_forms.exploration import Learned
from nparam_lint.analysis.closed_forms.form_records import ClosedForm, NoForm
from nparam_lint.analysis.closed_forms.form_writer import expanded, factored
from nparam_lint.analysis.closed_forms.observations import BuildHistory, Variable
from nparam_lint.analysis.closed_forms.path_forms import families_of
from nparam_lint.analysis.closed_forms.polynomial import Polynomial
from nparam_lint.analysis.closed_forms.traced_runs import Run, TracedParameter
from nparam_lint.worker.state import STATE


def total(form) -> str:
    assert isinstance(form, ClosedForm), form
    return factored(form.total, list(form.base))


def shapes(form) -> dict[str, str]:
    order = list(form.base)
    return {
        s.name: ", ".join(expanded(d, order) for d in s.shape)
        if s.shape is not None
        else expanded(s.size, order)
        for s in form.shapes
    }


def numbers(form) -> dict[str, str]:
    return {s.name: factored(s.number, list(form.base)) for s in form.shapes}


class Stack(nn.Module):
    """A perceptron: the first layer, the last, and those between them have shapes of their own."""

    def __init__(self, inputs=10, hidden=32, outputs=5, layers=4):
        super().__init__()
        widths = [inputs, *[hidden] * layers, outputs]
        pairs = itertools.pairwise(widths)
        self.net = nn.Sequential(*[part for a, b in pairs for part in (nn.Linear(a, b), nn.ReLU())])


class Llama(nn.Module):
    """Grouped heads, and a hidden size that is cut, then rounded up to a multiple."""

    def __init__(self, dim=512, n_layers=4, n_heads=8, n_kv_heads=4, multiple_of=32, vocab=1000):
        super().__init__()
        assert dim % n_heads == 0
        assert n_heads % n_kv_heads == 0
        hidden = multiple_of * ((int(2 * 4 * dim / 3) + multiple_of - 1) // multiple_of)
        key = n_kv_heads * (dim // n_heads)
        self.tokens = nn.Linear(vocab, dim, bias=False)
        self.layers = nn.ModuleList(
            nn.ModuleDict(
                {"k": nn.Linear(dim, key, bias=False), "w1": nn.Linear(dim, hidden, bias=False)}
            )
            for _ in range(n_layers)
        )


class Dense(nn.Module):
    """Every layer sees the outputs of all before it."""

    def __init__(self, growth=12, layers=5, channels=3):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Conv2d(channels + i * growth, growth, 3) for i in range(layers)
        )


class Tied(nn.Module):
    """Arguments that follow each other."""

    def __init__(self, d_model=32, heads=4, head_dim=8, d_ff=128):
        super().__init__()
        if d_ff != 4 * d_model:
            raise ValueError("d_ff must be 4 * d_model")
        assert heads * head_dim == d_model
        self.up = nn.Linear(d_model, d_ff)


class Squeezed(nn.Module):
    """A floor under a rounded quotient, and a share that is no whole number."""

    def __init__(self, dim=64, mlp_ratio=4.0, reduction=16, least=8, dropout=0.1):
        super().__init__()
        self.up = nn.Linear(dim, int(dim * mlp_ratio))
        self.squeeze = nn.Linear(dim, max(least, dim // reduction))
        self.drop = nn.Dropout(dropout)


FORMS = {
    "linear": (
        nn.Linear,
        {"in_features": 10, "out_features": 5},
        "out_features*(in_features + 1)",
    ),
    "conv": (
        nn.Conv2d,
        {"in_channels": 64, "out_channels": 128, "kernel_size": 3, "groups": 4, "stride": 2},
        "out_channels*(kernel_size**2*(in_channels//groups) + 1)",
    ),
    "lstm": (
        nn.LSTM,
        {"input_size": 64, "hidden_size": 128, "num_layers": 2},
        "4*hidden_size*(hidden_size*(2*num_layers - 1) + input_size + 2*num_layers)",
    ),
    "gru": (
        nn.GRU,
        {"input_size": 64, "hidden_size": 128, "num_layers": 2},
        "3*hidden_size*(hidden_size*(2*num_layers - 1) + input_size + 2*num_layers)",
    ),
    "projected lstm, both ways": (
        lambda **a: nn.LSTM(bidirectional=True, **a),
        {"input_size": 64, "hidden_size": 128, "num_layers": 2, "proj_size": 32},
        "2*hidden_size*(num_layers*(13*proj_size + 8) + 4*(input_size - 2*proj_size))",
    ),
    "attention": (
        nn.MultiheadAttention,
        {"embed_dim": 64, "num_heads": 4, "kdim": 32, "vdim": 48},
        "embed_dim*(2*embed_dim + kdim + vdim + 4)",
    ),
    "encoder layer": (
        nn.TransformerEncoderLayer,
        {"d_model": 64, "nhead": 4, "dim_feedforward": 2048},
        "d_model*(4*d_model + 2*dim_feedforward + 9) + dim_feedforward",
    ),
    "perceptron": (
        Stack,
        {"inputs": 10, "hidden": 32, "outputs": 5, "layers": 4},
        "hidden*(hidden*(layers - 1) + inputs + outputs + layers) + outputs",
    ),
    "llama": (
        Llama,
        {
            "dim": 512,
            "n_layers": 4,
            "n_heads": 8,
            "n_kv_heads": 4,
            "multiple_of": 32,
            "vocab": 1000,
        },
        None,
    ),
    "dense": (Dense, {"growth": 12, "layers": 5, "channels": 3}, None),
    "tied": (Tied, {"d_model": 32, "heads": 4, "head_dim": 8, "d_ff": 128}, None),
    "squeezed": (
        Squeezed,
        {"dim": 64, "mlp_ratio": 4.0, "reduction": 16, "least": 8, "dropout": 0.1},
        None,
    ),
}


@pytest.fixture(scope="module")
def forms():
    """Each derived once."""
    return {name: derived(make, **base) for name, (make, base, _) in FORMS.items()}


@pytest.mark.first_cases(3)
@pytest.mark.parametrize("name", [n for n, (_, _, text) in FORMS.items() if text])
def test_the_total_is_written_in_factors(forms, name):
    assert total(forms[name]) == FORMS[name][2]


@pytest.mark.first_cases(6)
@pytest.mark.parametrize("name", FORMS)
def test_the_form_holds_where_nobody_looked(forms, name):
    make, base, _ = FORMS[name]
    form = forms[name]
    dice, tried = random.Random(7), 0
    for _ in range(150):
        point = {
            n: dice.choice([0.5, 1.0, 1.5, 2.0, 2.75, 3.0]) if isinstance(v, float)
            else dice.randint(1, 8) if v < 16
            else dice.randint(16, 300)
            for n, v in base.items()
        }  # fmt: skip
        if name == "tied":
            point["d_model"] = point["heads"] * point["head_dim"]
            point["d_ff"] = 4 * point["d_model"]
        if name == "llama":
            point["n_heads"] = point["n_kv_heads"] * dice.randint(1, 3)
            point["dim"] = point["n_heads"] * dice.randint(1, 40)
        try:
            real = count(make, **point)
        except (ValueError, AssertionError, RuntimeError):
            continue
        tried += 1
        assert told(form, list(base), point) == [real] * 4, point
        if tried == 12:
            return
    assert tried >= 10


def test_every_shape_has_a_form(forms):
    assert shapes(forms["lstm"]) == {
        "weight_ih_l0": "4*hidden_size, input_size",
        "weight_ih_l*": "4*hidden_size, hidden_size",
        "weight_hh_l*": "4*hidden_size, hidden_size",
        "bias_ih_l*": "4*hidden_size",
        "bias_hh_l*": "4*hidden_size",
    }
    assert numbers(forms["lstm"]) == {
        "weight_ih_l0": "1",
        "weight_ih_l*": "num_layers - 1",
        "weight_hh_l*": "num_layers",
        "bias_ih_l*": "num_layers",
        "bias_hh_l*": "num_layers",
    }


def test_first_last_and_middle_are_told_apart(forms):
    assert shapes(forms["perceptron"]) == {
        "net.0.weight": "hidden, inputs",
        "net.*.weight": "hidden, hidden",
        "net.-1.weight": "outputs, hidden",
        "net.*.bias": "hidden",
        "net.-1.bias": "outputs",
    }


def test_sizes_without_one_shape_still_have_a_form(forms):
    found = shapes(forms["dense"])
    assert found["layers.*.weight"] == (
        "9*growth**2*layers**2/2 + 9*growth*layers*channels - 9*growth**2*layers/2"
    )


def test_roundings_are_recognised(forms):
    assert shapes(forms["llama"])["layers.*.w1.weight"] == (
        "multiple_of*ceil((8*dim//3)/multiple_of), dim"
    )
    assert shapes(forms["llama"])["layers.*.k.weight"] == "n_kv_heads*(dim//n_heads), dim"
    assert shapes(forms["squeezed"])["up.bias"] == "floor(dim*mlp_ratio)"
    assert shapes(forms["squeezed"])["squeeze.bias"] == "max(least, dim//reduction)"


def test_what_limits_the_arguments_is_found(forms):
    assert {str(rule) for rule in forms["llama"].rules} == {
        "n_heads % n_kv_heads == 0",
        "dim % n_heads == 0",
    }
    assert {str(rule) for rule in forms["conv"].rules} == {
        "in_channels % groups == 0",
        "out_channels % groups == 0",
    }
    assert {str(rule) for rule in forms["tied"].rules} == {
        "d_model == heads*head_dim",
        "d_ff == 4*d_model",
    }


def test_arguments_that_do_not_matter_are_named(forms):
    assert forms["conv"].idle == ("stride",)
    assert forms["attention"].idle == ("num_heads",)
    assert forms["squeezed"].idle == ("dropout",)


def test_a_form_says_how_often_it_was_tried(forms):
    assert all(form.verified >= 8 for form in forms.values())


class Tripling(nn.Module):
    def __init__(self, n=4):
        super().__init__()
        self.layer = nn.Linear(3**n, 3)


class Levels(nn.Module):
    """Twice the channels on every level."""

    def __init__(self, base=16, levels=4, kernel=3, classes=10):
        super().__init__()
        widths = [base * 2**level for level in range(levels + 1)]
        self.levels = nn.ModuleList(nn.Conv2d(a, b, kernel) for a, b in itertools.pairwise(widths))
        self.out = nn.Linear(base * 2**levels, classes)


def test_what_doubles_with_every_level_is_a_power_of_two():
    form = derived(Levels, base=16, levels=4, kernel=3, classes=10)
    assert total(form) == (
        "(base*(2**levels*(2*base*kernel**2*2**levels + 3*classes + 6) - 2*(base*kernel**2 + 3))"
        " + 3*classes)/3"
    )


class Odd(nn.Module):
    """Right at most places."""

    def __init__(self, width=100):
        super().__init__()
        self.layer = nn.Linear(width + (width % 7 == 3), 1)


def cases(make, **base):
    return [(total(form), [*map(str, form.rules)]) for form in all_derived(make, **base)]


def test_powers_and_residues_are_followed():
    assert cases(Tripling, n=4) == [("3*(3**n + 1)", [])]
    assert cases(Odd, width=100) == [
        ("width + 1", ["width % 7 != 3"]),
        ("width + 2", ["width % 7 == 3"]),
    ]


class Digits(nn.Module):
    """What a text says cannot be followed."""

    def __init__(self, width=100):
        super().__init__()
        self.layer = nn.Linear(bin(width).count("1"), 1)


def test_what_cannot_be_followed_is_said():
    (form,) = all_derived(Digits, width=100)
    assert isinstance(form, NoForm)
    assert form.lost == {"width": "a loop or an index"}


class Attention(nn.Module):
    """Of a ViT: a single head of the full width needs no projection."""

    def __init__(
        self, size=256, patch=32, classes=1000, dim=128, depth=3, heads=8, mlp=256, head=64
    ):
        super().__init__()
        self.patches = nn.Linear(patch**2, dim)
        self.places = nn.Embedding((size // patch) ** 2, dim)
        self.qkv = nn.Linear(dim, 3 * heads * head, bias=False)
        self.out = nn.Identity() if heads == 1 and head == dim else nn.Linear(heads * head, dim)
        self.mlp = nn.ModuleList(nn.Linear(dim, mlp) for _ in range(depth))
        self.classes = nn.Linear(dim, classes)


@pytest.mark.thorough
def test_widths_that_are_equal_by_chance_are_tried():
    base = {"size": 256, "patch": 32, "classes": 1000, "dim": 128, "depth": 3, "heads": 8}
    form = derived(Attention, **base, mlp=256, head=64)
    assert [str(rule) for rule in form.limits] == ["heads != 1 or dim != head"]


class Shortcut(nn.Module):
    def __init__(self, inside=64, outside=128):
        super().__init__()
        self.conv = nn.Conv2d(inside, outside, 3)
        self.down = nn.Conv2d(inside, outside, 1) if inside != outside else nn.Identity()


def test_a_shortcut_between_equal_widths_has_no_parameters():
    assert cases(Shortcut, inside=64, outside=128) == [
        ("2*outside*(5*inside + 1)", ["inside != outside"]),
        ("outside*(9*inside + 1)", ["inside == outside"]),
    ]


class Nested(nn.Module):
    """Each level inside of the one before, and twice as wide."""

    def __init__(self, levels=3, dim=8):
        super().__init__()
        inner = [Nested(levels - 1, 2 * dim)] if levels > 1 else []
        self.parts = nn.ModuleList([nn.Linear(dim, dim), *inner])


@pytest.mark.thorough
def test_each_depth_of_a_recursion_is_a_case():
    found = cases(Nested, levels=3, dim=8)
    assert ("7*dim*(3*dim + 1)", ["levels == 3"]) in found
    assert ("dim*(dim + 1)", ["levels <= 1"]) in found


class Projected(nn.Module):
    def __init__(self, inputs=64, hidden=128, proj=32, token=1):
        super().__init__()
        self.token = token
        if proj >= hidden:
            raise ValueError("proj has to be smaller than hidden")
        if inputs % 2:
            raise ValueError("inputs must be even")
        self.layer = nn.LSTM(inputs, hidden, proj_size=proj)


def test_rules_say_no_more_than_was_seen():
    form = derived(Projected, inputs=64, hidden=128, proj=32, token=1)
    assert {str(rule) for rule in form.requirements} == {"inputs % 2 == 0", "hidden > proj"}


def test_a_model_that_cannot_be_built_has_none():
    form = derived(nn.Linear, in_features="ten", out_features=5)
    assert isinstance(form, NoForm)
    assert form.reason.startswith("TypeError")


class Fussy(nn.Module):
    def __init__(self, width=8, version=3):
        super().__init__()
        if version != 3:
            raise ValueError(f"there is no version {version}")
        self.layer = nn.Linear(width, version)


def test_what_cannot_be_varied_is_said_with_the_reason():
    form = derived(Fussy, width=8, version=3)
    assert total(form) == "3*(width + 1)"
    assert form.fixed == {"version": "ValueError: there is no version 4"}


class Stubborn(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        if width != 8:
            raise ValueError("8 it is")
        self.layer = nn.Linear(width, 1)


def test_what_takes_too_long_is_said():
    variables = [Variable("width", 4)]
    history = BuildHistory(asking(lambda width: nn.Linear(width, 2), width=4), variables)
    learned = Learned(deadline=0.0)
    found = derive(history, InProcess(nn.Linear), learned=learned)
    assert [form.reason for form in found] == ["no closed form was found within 40 seconds"]


def test_one_model_makes_no_form():
    form = derived(Stubborn, width=8)
    assert isinstance(form, NoForm)
    assert form.reason == "the model can only be built as called: ValueError: 8 it is"


class Joined(nn.Module):
    """A tensor that is made of others has lengths that cannot be followed."""

    def __init__(self, wide=12, high=20):
        super().__init__()
        parts = [torch.zeros(wide, high), torch.zeros(wide, high)]
        self.weight = nn.Parameter(torch.cat(parts, 1))


def test_what_is_not_proved_is_told_in_one_order():
    form = derived(Joined, wide=12, high=20)
    assert total(form) == "2*wide*high"
    assert form.unproved == (
        "high: a loop or an index",
        "wide, high: a tensor that was joined or cut",
    )


# --- what asks a number in other ways ----------------------------------------------------------

KINDS = {int: 2, float: 3}
FEW = 4


class Size(enum.IntEnum):
    LARGE = 4096


class Numpy(float):
    def __repr__(self):
        return f"np.float64({super().__repr__()})"


WIDTHS = {4096: 11_008, 5120: 13_824}


@functools.cache
def rounded_up(d, m):
    return m * ((8 * d // 3 + m - 1) // m)


@functools.cache
def shared(d):
    return nn.Linear(d, d)


class Cached:
    @staticmethod
    @functools.cache
    def half(d):
        return max(1, d // 2)


def layers(*widths):
    return nn.ModuleList(nn.Linear(one, other, bias=False) for one, other in widths)


def typed(d=64, v=10):
    if type(d) is int and type(v) == int and bool is bool:  # noqa: E721
        return layers((d, v), (KINDS[type(v)], v))
    return layers((d, 1))


def told_by_class(d=64, v=10):
    return layers((d, v if d.__class__ is int else 1))


def told_by_identity(d=64, v=10):
    return nn.ModuleList([shared(d), shared(d * v // v)])


def refused_by_class(d=64, v=10):
    if d.__class__ is not int:
        raise TypeError("d is no int")
    return layers((d, v))


def cached(d=64, m=16, v=10):
    return layers((d, rounded_up(d, m)), (v, Cached.half(d)))


def in_digits(d=64, v=10):
    return layers((d, v), *[(d, 7)] * (len(str(d)) > 4))


def in_words(d=64, v=10):
    return layers((d, v), *[(d, 7)] * (f"{d}" == "4096"))


def in_a_pattern(d=64, v=10):
    return layers((d, v), *[(d, 7)] * (len("%d" % d) > 4))  # noqa: UP031


def in_a_name(d=64, v=10):
    return layers((d, v), *[(d, 7)] * ("w%d" % d == "w4096"))  # noqa: UP031


def in_bits(d=64, v=10):
    return layers((d, v + (bin(d).count("1") > 9)))


def in_bytes(d=64, v=10):
    return layers((d, v), *[(d, 3)] * (d.to_bytes(4, "big")[2] > 8))


def the_same(d=64, v=10):
    return layers((d, v), *[(d, 5)] * (v is FEW))


def of_other_kinds(d=64, v=10):
    return layers((int(d * Numpy(1.5)), v), *[(d, 5)] * (d == Size.LARGE or d > Numpy(99.5)))


def divided_often(d=8, every=2):
    return layers(*[(d, 3 if number % every else 5) for number in (2, 3, 4)])


def modular(d=64, v=10):
    return layers((v, pow(d, 2, 7) + 1))


def in_a_table(d=64, v=10):
    return layers((d, WIDTHS.get(d, 4 * d)), (d, v))


def first_few(d=16, n=3):
    return nn.ModuleList(itertools.islice((nn.Linear(d, 1, bias=False) for _ in range(20)), n))


def in_a_range(d=64, v=10):
    return layers((d, v), *[(d, 1)] * (d in range(2000, 4000)))


def by_layer(inside=16, outside=4, width=8, depth=3):
    ends = [width] * (depth - 1) + [outside]
    pairs = [*zip([inside, *ends], ends, strict=False)]
    return layers(*pairs, *[pair for pair in pairs if pair[0] != pair[1]])


def halved(size=64, d=8):
    number = 0
    while size != 4:  # which has no end for 65
        size //= 2
        number += 1
    return layers(*[(d, d)] * number)


def rounded(value, least=8):
    new = max(least, int(value + 4) // 8 * 8)
    return new + 8 if new < 0.9 * value else new


def two_roundings(share=1.0):
    return layers((3, rounded(16 * share)), (3, rounded(80 * share)))


UNLIKE = "with traced numbers the constructor builds another model than with plain ones"


@pytest.mark.first_cases(9)
@pytest.mark.parametrize(
    ("make", "base", "form", "rules"),
    [
        (typed, {"d": 64, "v": 10}, "v*(d + 2)", []),
        (told_by_class, {"d": 64, "v": 10}, UNLIKE, None),
        (told_by_identity, {"d": 64, "v": 10}, UNLIKE, None),
        (
            refused_by_class,
            {"d": 64, "v": 10},
            "the model cannot be built with traced numbers: TypeError: d is no int",
            None,
        ),
        (
            cached,
            {"d": 64, "m": 16, "v": 10},
            "d*m*ceil((8*d//3)/m) + v*max(1, d//2)",
            [],
        ),
        (in_digits, {"d": 64, "v": 10}, "64*v", ["d=64 (its value)"]),
        (in_words, {"d": 64, "v": 10}, "64*v", ["d=64 (its value)"]),
        (in_a_pattern, {"d": 64, "v": 10}, "64*v", ["d=64 (its value)"]),
        (in_a_name, {"d": 64, "v": 10}, "64*v", ["d=64 (its value)"]),
        (in_bits, {"d": 64, "v": 10}, "64*v", ["d=64 (its value)"]),
        (in_bytes, {"d": 64, "v": 10}, "64*v", ["d=64 (its value)"]),
        (the_same, {"d": 64, "v": 10}, UNLIKE, None),
        (of_other_kinds, {"d": 64, "v": 10}, "v*(3*d//2)", ["d <= 99"]),
        (divided_often, {"d": 8, "every": 2}, "13*d", ["every == 2"]),
        (modular, {"d": 64, "v": 10}, "2*v", ["d=64 (its value)"]),
        (in_a_table, {"d": 64, "v": 10}, "64*v + 16_384", ["d=64 (its value)"]),
        (first_few, {"d": 16, "n": 3}, "3*d", ["n=3 (its value)"]),
        (in_a_range, {"d": 64, "v": 10}, "64*v", ["d=64 (its value)"]),
        (halved, {"size": 64, "d": 8}, "4*d**2", ["64 <= size <= 79"]),
        (
            by_layer,
            {"inside": 16, "outside": 4, "width": 8, "depth": 3},
            "width*(2*inside + 2*outside + width)",
            ["inside != width", "outside != width", "depth=3 (its value)"],
        ),
    ],
)
def test_what_cannot_be_followed_is_right_or_keeps_its_value(make, base, form, rules):
    found, *others = all_derived(make, (4096, 5120, 20, 4), **base)
    if rules is None:
        assert found.reason == form
        return
    assert (total(found), [rule.shown or str(rule) for rule in found.rules]) == (form, rules)
    dice = random.Random(3)
    for turn in range(30):
        point = {n: dice.choice([v, 4, 8, dice.randint(1, 5 * v)]) for n, v in base.items()}
        point |= {n: v for n, v in base.items() if n == "d" and turn % 2}
        if make is halved and point["size"] not in (8, 9, 16, 32, 64, 65, 79, 128):
            continue
        for case in (found, *others):
            if holds(case, point):
                assert case.total.value(point) == count(make, **point), point


def test_a_decision_whose_other_side_is_not_found_is_a_condition():
    forms = all_derived(two_roundings, share=1.0)
    shown = [str(rule) for rule in forms[0].rules]
    assert shown == [
        "8*max(1, (floor(16*share + 4))//8) >= 0.9*(16*share)",
        "8*max(1, (floor(80*share + 4))//8) >= 0.9*(80*share)",
    ]
    for tenths in range(1, 60):
        point = {"share": tenths / 10}
        for form in forms:
            if holds(form, point):
                assert value(factored(form.total, ["share"], "python"), point) == count(
                    two_roundings, **point
                )


def collatz(n=6, d=8):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return layers((steps + 1, d))


# hypothesis has a callback of the garbage collector, in which the signal may come.
@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_loop_that_depends_on_the_number_ends_with_the_time(monkeypatch):
    monkeypatch.setattr(limits, "LAST_SECONDS", 1.0)
    start = time.monotonic()
    variables = [Variable("n", 6), Variable("d", 8)]
    history = BuildHistory(asking(collatz, n=6, d=8), variables)
    learned = Learned(deadline=start + 3.0)
    (found,) = derive(history, InProcess(collatz), learned=learned)
    assert found.reason == "no closed form was found within 40 seconds"
    assert time.monotonic() - start < 8


def test_where_time_is_over_before_all_was_tried_that_is_said(monkeypatch):
    """In the attempt without what could not be followed."""

    def late(d=64, v=10):
        if STATE.trace is not None and not hasattr(d, "row") and v != 10:
            monkeypatch.setattr(limits, "LAST_SECONDS", limits.SECONDS)
        return in_digits(d, v)

    (form,) = all_derived(late, d=64, v=10)
    assert form.reason == "no closed form was found within 40 seconds"


SIZES = []


def by_sixes(depth=40, w=4):
    made = layers((w, 2 * w), *[(w, w)] * int((depth - 4) / 6))
    SIZES.append(len(made))
    return made


def test_what_counts_layers_is_tried_with_no_more_than_are_soon_made():
    (form,) = all_derived(by_sixes, depth=40, w=4)
    assert total(form) == "w**2*(trunc((depth - 4)/6) + 2)"
    assert factored(form.total, ["depth", "w"], "python") == "w**2*(int((depth - 4)/6) + 2)"
    assert factored(form.total, ["depth", "w"], "latex") == (
        r"w^{2} \left(\operatorname{trunc}\left(\frac{\mathit{depth} - 4}{6}\right) + 2\right)"
    )
    assert max(SIZES) == 1 + (4 * 40 + 32 - 4) // 6


def test_the_table_of_a_deep_model_is_soon_made():
    form = Polynomial.generator("w")
    run = Run({"w": 4}, [], {}, [])
    run.parameters = [
        TracedParameter(f"h.{number}.weight", (form * (1 + (number == 0)),), 4, (form,))
        for number in range(8000)
    ]
    start = time.monotonic()
    assert list(families_of([run, replace(run, parameters=run.parameters[:9])])) == [
        "h.0.weight",
        "h.*.weight",
    ]
    assert time.monotonic() - start < 8


def in_depths(depth=50, w=16):
    return layers(*[(w, w)] * {18: 8, 50: 16}[depth])


def test_a_key_of_a_table_keeps_its_value():
    (form,) = all_derived(in_depths, depth=50, w=16)
    assert (total(form), [*map(str, form.rules)]) == ("16*w**2", ["depth == 50"])
    assert form.fixed == {"depth": "KeyError: 51"}
