"""The gallery keeps its word: every count that one of the five documents printed is built here.

The budgets in the docstrings are read and evaluated by a few lines of this file's own, so that
the gallery and the checker can prove each other wrong.
"""

import dataclasses
import fnmatch
import importlib
import inspect
import math
import re
import sys
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import pytest

with warnings.catch_warnings():  # a torch without numpy says so once, as it is imported
    warnings.filterwarnings("ignore", "Failed to initialize NumPy")
    import torch
    from torch import nn

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def load(name: str) -> Any:
    sys.path.insert(0, str(EXAMPLES))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(EXAMPLES))


MODULES = {
    name: load(name)
    for name in (
        "inductive_bias.attention",
        "inductive_bias.recurrent",
        "recurrent_gpt",
        "small_transformers",
        "sockeye_rnn",
        "why_so_big",
    )
}


def count(module: nn.Module, trainable: bool | None = None) -> int:
    """Parameters, each once; with ``trainable``, only those that are, or are not."""
    return sum(
        p.numel() for p in module.parameters() if trainable is None or p.requires_grad is trainable
    )


def build(where: str, expression: str) -> nn.Module:
    with torch.device("meta"):
        return eval(expression, dict(vars(MODULES[where])))


RECURRENT, ATTENTION = "inductive_bias.recurrent", "inductive_bias.attention"
SMALL, BIG = "small_transformers", "why_so_big"

PRINTED = [
    # Architectures at equal budgets: eighteen models.
    (RECURRENT, "LSTMLanguageModel(64, 3, 32)", 27_104),
    (RECURRENT, "LSTMLanguageModel(64, 3, 64)", 103_360),
    (RECURRENT, "LSTMLanguageModel(64, 3, 128)", 403_328),
    (ATTENTION, "TransformerLM(64, 3, 32, 4, 128)", 40_224),
    (ATTENTION, "TransformerLM(64, 3, 48, 4, 192)", 87_984),
    (ATTENTION, "TransformerLM(64, 3, 56, 4, 224)", 118_776),
    (ATTENTION, "TransformerLM(64, 3, 64, 4, 256)", 154_176),
    (ATTENTION, "TransformerLM(64, 3, 128, 4, 512)", 603_264),
    (RECURRENT, "StackRNN(64, 3, 32, 20)", 30_423),
    (RECURRENT, "StackRNN(64, 3, 32, 32)", 32_355),
    (RECURRENT, "StackRNN(64, 3, 32, 64)", 37_507),
    (RECURRENT, "StackRNN(64, 3, 64, 20)", 109_975),
    (RECURRENT, "StackRNN(64, 3, 64, 32)", 113_827),
    (RECURRENT, "StackRNN(64, 3, 64, 64)", 124_099),
    (ATTENTION, "StackTransformer(64, 16, 4, 64, '16.superposition-16.1')", 59_568),
    (ATTENTION, "StackTransformer(64, 20, 4, 80, '20.superposition-8.1')", 111_340),
    (ATTENTION, "StackTransformer(64, 20, 4, 80, '20.superposition-16.1')", 111_660),
    (ATTENTION, "StackTransformer(64, 24, 4, 96, '24.superposition-16.1')", 187_848),
    # Sockeye.
    ("sockeye_rnn", "SockeyeRNN()", 79_638_799),
    # Why so big.
    (BIG, "EmbeddingLM(256, 5).embedding", 1_280),
    (BIG, "EmbeddingLM(256, 5)", 1_280),
    (BIG, "MLP(5, 16)", 181),
    (BIG, "FeedForwardLM(256, 5, 16)", 1_461),
    (BIG, "TransformerLayer(5, 5)", 200),
    (BIG, "TransformerLM(256, 50, 5, 16)", 1_851),
    (BIG, "SelfAttention(5)", 120),
    (BIG, "TransformerLayer(5, 5).attention_norm", 10),
    # The recurrent GPT, row by row.
    ("recurrent_gpt", "RecurrentGPT()", 18_792_288),
    ("recurrent_gpt", "RecurrentGPT().embedding.token", 12_246_304),
    ("recurrent_gpt", "RecurrentGPT().embedding", 12_246_304),
    ("recurrent_gpt", "RecurrentGPT().transformer[0].recurrent.ih", 1_472),
    ("recurrent_gpt", "RecurrentGPT().transformer[0].recurrent.hh", 5_888),
    ("recurrent_gpt", "RecurrentGPT().transformer[0].recurrent.bias", 2_944),
    ("recurrent_gpt", "RecurrentGPT().transformer[0].recurrent", 10_304),
    ("recurrent_gpt", "RecurrentGPT().transformer[0].attention.ln", 368),
    ("recurrent_gpt", "RecurrentGPT().transformer[0].attention.ln2", 368),
    ("recurrent_gpt", "RecurrentGPT().transformer[0].attention.kqv", 406_272),
    ("recurrent_gpt", "RecurrentGPT().transformer[0].attention.proj", 135_424),
    ("recurrent_gpt", "RecurrentGPT().transformer[0].attention", 542_432),
    ("recurrent_gpt", "RecurrentGPT().transformer[0].mlp.ln", 368),
    ("recurrent_gpt", "RecurrentGPT().transformer[0].mlp.ffw", 541_696),
    ("recurrent_gpt", "RecurrentGPT().transformer[0].mlp.proj", 541_696),
    ("recurrent_gpt", "RecurrentGPT().transformer[0].mlp", 1_083_760),
    ("recurrent_gpt", "RecurrentGPT().transformer[0]", 1_636_496),
    ("recurrent_gpt", "RecurrentGPT().transformer", 6_545_984),
    # Small transformers: addition, then Shakespeare.
    (SMALL, "FirstGPT(16, 12, 16, 4, 4)", 13_824),
    (SMALL, "SequenceMLP(MLPConfig(16, 12, 8, 128, 1))", 14_608),
    (SMALL, "NanoGPT(NanoConfig(12, 16, 6, 4, 16))", 20_160),
    (SMALL, "LensTransformer(LensConfig(16, 12, 16, 4, 4, 64, 4))", 13_872),
    (SMALL, "LensTransformer(LensConfig(65, 128, 64, 4, 16, 256, 4))", 216_641),
    (SMALL, "LensTransformer(LensConfig(65, 128, 96, 4, 24, 384, 4))", 472_385),
    (SMALL, "SequenceMLP(MLPConfig(65, 128, 16, 256, 1))", 542_289),
    (SMALL, "SequenceMLP(MLPConfig(65, 128, 8, 128, 1))", 140_105),
    (SMALL, "SequenceMLP(MLPConfig(65, 128, 16, 64, 1))", 136_401),
    (SMALL, "NanoGPT(NanoConfig(128, 65, 4, 4, 64))", 212_416),
    (SMALL, "NanoGPT(NanoConfig(128, 65, 4, 4, 96))", 466_080),
]

MEANT = [
    (ATTENTION, "StackTransformer(64, 16, 4, 64, '1.superposition-16')", 7_088),
    (ATTENTION, "StackTransformer(64, 20, 4, 80, '1.superposition-8')", 10_140),
    (ATTENTION, "StackTransformer(64, 20, 4, 80, '1.superposition-16')", 10_460),
    (ATTENTION, "StackTransformer(64, 24, 4, 96, '1.superposition-16')", 14_472),
    ("recurrent_gpt", "RecurrentGPT(H=2)", 18_765_792),
    (SMALL, "NanoGPT(NanoConfig(n_layer=4))", 13_600),
]


@pytest.mark.parametrize(("where", "expression", "expected"), PRINTED + MEANT)
def test_count(where: str, expression: str, expected: int) -> None:
    model = build(where, expression)
    assert count(model) == count(model, trainable=True) == expected


# The budgets in the docstrings.

BUDGET = re.compile(
    r"^ *nparam(?P<arguments>\(.*\))?(?:\[(?P<selector>[^\]=]+)\])?: (?P<claim>.+)$", re.MULTILINE
)


class Budget(NamedTuple):
    where: str
    target: str
    arguments: str
    selector: str
    claim: str

    def __str__(self) -> str:
        return f"{self.target}{self.arguments}[{self.selector}]: {self.claim}"


def budgets() -> list[Budget]:
    return [
        Budget(where, name, match["arguments"] or "", match["selector"] or "", match["claim"])
        for where, module in MODULES.items()
        for name, target in vars(module).items()
        if getattr(target, "__module__", None) == where
        for match in BUDGET.finditer(target.__doc__ or "")
    ]


def build_declared(budget: Budget) -> tuple[nn.Module, dict[str, object]]:
    """The model that a budget is about, and the names that its formula may use."""
    namespace = dict(vars(MODULES[budget.where]))
    target = namespace[budget.target]
    signature = inspect.signature(target)
    required = [p for p in signature.parameters.values() if p.default is p.empty]
    if budget.arguments:
        args, kwargs = eval(f"bind{budget.arguments}", namespace | {"bind": lambda *a, **k: (a, k)})
    else:
        args, kwargs = [p.annotation() for p in required], {}
    with torch.device("meta"):
        model = target(*args, **kwargs)
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    names: dict[str, object] = {k: v for k, v in vars(model).items() if isinstance(v, int)}
    for argument in bound.arguments.values():
        if dataclasses.is_dataclass(argument):
            names |= vars(argument)
    return model, names | bound.arguments


def select(model: nn.Module, selector: str) -> list[int]:
    if selector in ("trainable", "frozen"):
        return [count(model, trainable=selector == "trainable")]
    wanted = selector.split(".") if selector else []
    return [
        count(module)
        for path, module in model.named_modules()
        if len(parts := path.split(".") if path else []) == len(wanted)
        and all(map(fnmatch.fnmatchcase, parts, wanted))
    ]


@pytest.mark.parametrize("budget", budgets(), ids=str)
def test_budget(budget: Budget) -> None:
    model, names = build_declared(budget)
    names |= {f.__name__: f for f in (min, max, abs, math.ceil, math.floor)}
    claimed = eval(budget.claim, {"__builtins__": {}}, names)
    assert type(claimed) is int
    counts = select(model, budget.selector)
    assert counts
    assert counts == [claimed] * len(counts)


def test_every_model_has_a_budget() -> None:
    declared = {(budget.where, budget.target) for budget in budgets()}
    models = {
        (where, name)
        for where, module in MODULES.items()
        for name, target in vars(module).items()
        if getattr(target, "__module__", None) == where
        and isinstance(target, type)
        and issubclass(target, nn.Module)
    }
    assert models <= declared


@pytest.mark.parametrize(("where", "expression", "expected"), PRINTED + MEANT)
def test_count_stands_in_a_docstring(where: str, expression: str, expected: int) -> None:
    target = expression.partition("(")[0]
    claims = {budget.claim for budget in budgets() if budget[:2] == (where, target)}
    assert f"{expected:_}" in claims


@pytest.mark.parametrize(
    ("where", "target"),
    [
        (RECURRENT, "LSTMLanguageModel"),
        (RECURRENT, "StackRNN"),
        (ATTENTION, "TransformerLM"),
        (ATTENTION, "StackTransformer"),
        ("sockeye_rnn", "SockeyeRNN"),
        ("recurrent_gpt", "RecurrentGPT"),
        (SMALL, "FirstGPT"),
        (SMALL, "NanoGPT"),
        (SMALL, "LensTransformer"),
        (SMALL, "SequenceMLP"),
        (BIG, "EmbeddingLM"),
        (BIG, "MLP"),
        (BIG, "FeedForwardLM"),
        (BIG, "SelfAttention"),
        (BIG, "TransformerLayer"),
        (BIG, "TransformerLM"),
    ],
)
def test_formula_of_every_system_holds_for_every_printed_count(where: str, target: str) -> None:
    plain = [b for b in budgets() if b[:2] == (where, target) and not b.selector]
    formulas = [b.claim for b in plain if not re.fullmatch(r"[\d_]+", b.claim) and not b.arguments]
    assert len(formulas) == 1
    for budget in plain:
        model, names = build_declared(budget)
        assert eval(formulas[0], {"__builtins__": {}}, names) == count(model)


# What the documents got wrong, as the docstrings tell it.


def test_formulas_of_the_comparison_miss_what_is_said_of_them() -> None:
    v, layers, h, s = 64, 3, 32, 20
    lstm = v * h + layers * h + layers * 8 * h * h + (h * v + v)
    assert lstm == 28_832
    assert lstm - (h * v + v) + layers * 4 * h == 27_104
    stack_rnn = lstm + (3 * h + 3) + (h * s + s)
    assert stack_rnn == 29_591
    assert stack_rnn - lstm + 27_104 + 4 * h * s == 30_423

    d, f = 32, 128
    transformer = v * d + layers * (4 * d * d + 2 * d * f + f + d + 4 * d) + 2 * d
    assert transformer == 39_840
    assert transformer + layers * 4 * d == 40_224

    d, f, s = 16, 64, 16
    standard = 4 * d * d + 2 * d * f + f + d + 4 * d
    stacked = 3 * d + 2 * d * s + 2 * d * f + f + d + 4 * d
    assert v * d + standard + stacked + 2 * d == 7_024 == 7_088 - 4 * d


def test_layer_string_is_read_as_a_whole() -> None:
    parse_layers = MODULES[ATTENTION].parse_layers
    assert parse_layers("1.superposition-16") == [0, 16]
    assert parse_layers("16.superposition-16.1") == [0] * 16 + [16, 0]
    with pytest.raises(ValueError, match="16-1"):
        parse_layers("16-1.superposition-16.1")


def test_a_parameter_is_trainable_whatever_its_tensor_was() -> None:
    assert nn.Parameter(torch.zeros(2, requires_grad=False)).requires_grad


def test_output_layers_are_tied() -> None:
    for where, expression in [
        (RECURRENT, "LSTMLanguageModel()"),
        (RECURRENT, "StackRNN()"),
        (ATTENTION, "StackTransformer()"),
        (BIG, "TransformerLM()"),
    ]:
        model = build(where, expression)
        assert model.output.weight is model.embedding.weight


# Sockeye: the 34 parameters as listed, and the README's rules for others.

LISTED = {
    "decoder_rnn_enc2decinit_0_bias": (512,),
    "decoder_rnn_enc2decinit_0_weight": (512, 512),
    "decoder_rnn_enc2decinit_1_bias": (512,),
    "decoder_rnn_enc2decinit_1_weight": (512, 512),
    "decoder_rnn_enc2decinit_2_bias": (512,),
    "decoder_rnn_enc2decinit_2_weight": (512, 512),
    "decoder_rnn_enc2decinit_3_bias": (512,),
    "decoder_rnn_enc2decinit_3_weight": (512, 512),
    "decoder_rnn_hidden_bias": (512,),
    "decoder_rnn_hidden_weight": (512, 1024),
    "decoder_rnn_l0_h2h_bias": (2048,),
    "decoder_rnn_l0_h2h_weight": (2048, 512),
    "decoder_rnn_l0_i2h_bias": (2048,),
    "decoder_rnn_l0_i2h_weight": (2048, 1024),
    "decoder_rnn_l1_h2h_bias": (2048,),
    "decoder_rnn_l1_h2h_weight": (2048, 512),
    "decoder_rnn_l1_i2h_bias": (2048,),
    "decoder_rnn_l1_i2h_weight": (2048, 512),
    "encoder_birnn_forward_l0_h2h_bias": (1024,),
    "encoder_birnn_forward_l0_h2h_weight": (1024, 256),
    "encoder_birnn_forward_l0_i2h_bias": (1024,),
    "encoder_birnn_forward_l0_i2h_weight": (1024, 512),
    "encoder_birnn_reverse_l0_h2h_bias": (1024,),
    "encoder_birnn_reverse_l0_h2h_weight": (1024, 256),
    "encoder_birnn_reverse_l0_i2h_bias": (1024,),
    "encoder_birnn_reverse_l0_i2h_weight": (1024, 512),
    "encoder_rnn_l0_h2h_bias": (2048,),
    "encoder_rnn_l0_h2h_weight": (2048, 512),
    "encoder_rnn_l0_i2h_bias": (2048,),
    "encoder_rnn_l0_i2h_weight": (2048, 512),
    "source_embed_weight": (49410, 512),
    "target_embed_weight": (42767, 512),
    "target_output_bias": (42767,),
    "target_output_weight": (42767, 512),
}


def sockeye_shapes(
    cell_type: str = "lstm",
    num_layers: tuple[int, int] = (2, 2),
    num_embed: tuple[int, int] = (512, 512),
    rnn_num_hidden: int = 512,
) -> dict[str, tuple[int, ...]]:
    """Every name and shape by the rules of the README's third section."""
    gates, states = {"lstm": (4, 2), "gru": (3, 1)}[cell_type]
    (sn, tn), (se, te), h = num_layers, num_embed, rnn_num_hidden
    layers = {f"decoder_rnn_enc2decinit_{i}": (h, h) for i in range(states * tn)}
    layers |= {"decoder_rnn_hidden": (h, 2 * h), "target_output": (42_767, h)}
    cells = {f"decoder_rnn_l{i}": (h, h if i else te + h) for i in range(tn)}
    cells |= {f"encoder_rnn_l{i}": (h, h) for i in range(sn - 1)}
    cells |= {f"encoder_birnn_{way}_l0": (h // 2, se) for way in ("forward", "reverse")}
    for name, (hidden, inputs) in cells.items():
        layers[f"{name}_i2h"] = (gates * hidden, inputs)
        layers[f"{name}_h2h"] = (gates * hidden, hidden)
    shapes: dict[str, tuple[int, ...]] = {f"{name}_weight": s for name, s in layers.items()}
    shapes |= {f"{name}_bias": s[:1] for name, s in layers.items()}
    return shapes | {"source_embed_weight": (49_410, se), "target_embed_weight": (42_767, te)}


def test_sockeye_has_the_listed_parameters() -> None:
    model = build("sockeye_rnn", "SockeyeRNN()")
    named = {name.replace(".", "_"): tuple(p.shape) for name, p in model.named_parameters()}
    assert len(named) == 34
    assert named == LISTED == sockeye_shapes()
    assert sum(map(math.prod, LISTED.values())) == 79_638_799


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"cell_type": "gru"}, 76_881_167),
        ({"num_layers": (1, 1)}, 74_910_991),
        ({"num_layers": (4, 4)}, 89_094_415),
        ({"num_layers": (1, 4)}, 82_790_671),
        ({"cell_type": "gru", "num_layers": (1, 1)}, 73_466_639),
        ({"cell_type": "gru", "num_layers": (4, 4)}, 83_710_223),
        ({"num_embed": (256, 256)}, 54_992_911),
        ({"num_embed": (256, 128), "num_layers": (3, 2)}, None),
        ({"rnn_num_hidden": 1024}, 128_817_423),
    ],
)
def test_sockeye_by_the_rules(arguments: dict[str, Any], expected: int | None) -> None:
    with torch.device("meta"):
        model = MODULES["sockeye_rnn"].SockeyeRNN(**arguments)
    shapes = sockeye_shapes(**arguments)
    named = {name.replace(".", "_"): tuple(p.shape) for name, p in model.named_parameters()}
    assert named == shapes
    if expected is not None:
        assert sum(map(math.prod, shapes.values())) == expected


# They run.


@pytest.mark.parametrize(
    ("where", "expression", "shape"),
    [
        (RECURRENT, "LSTMLanguageModel(11, 2, 8)", (2, 6, 11)),
        (RECURRENT, "StackRNN(11, 2, 8, 3)", (2, 6, 11)),
        (ATTENTION, "TransformerLM(11, 2, 8, 2, 16)", (2, 5, 11)),
        (ATTENTION, "StackTransformer(11, 8, 2, 16, '1.superposition-4.1')", (2, 5, 11)),
        ("recurrent_gpt", "RecurrentGPT(11, 2, 2, 8, H=3)", (2, 5, 11)),
        (BIG, "EmbeddingLM(11, 5)", (2, 5, 11)),
        (BIG, "FeedForwardLM(11, 5, 7)", (2, 5, 11)),
        (BIG, "TransformerLM(11, 50, 5, 7)", (2, 5, 11)),
        (SMALL, "FirstGPT()", (2, 5, 16)),
        (SMALL, "NanoGPT(NanoConfig())", (2, 5, 16)),
        (SMALL, "LensTransformer(LensConfig(d_head=3))", (2, 5, 16)),
        (SMALL, "SequenceMLP(MLPConfig(input_len=5, output_len=2))", (2, 2, 16)),
    ],
)
@pytest.mark.thorough  # of the examples, not of the tool
def test_forward_and_backward(where: str, expression: str, shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    model = eval(expression, dict(vars(MODULES[where])))
    logits = model(torch.randint(11, (2, 5)))
    assert logits.shape == shape
    logits.logsumexp(dim=-1).sum().backward()
    assert [name for name, p in model.named_parameters() if p.grad is None] == []


@pytest.mark.parametrize("cell_type", ["lstm", "gru"])
@pytest.mark.parametrize("layers", [(1, 1), (2, 3)])
@pytest.mark.thorough  # of the examples, not of the tool
def test_sockeye_translates(cell_type: str, layers: tuple[int, int]) -> None:
    model = MODULES["sockeye_rnn"].SockeyeRNN(11, 13, cell_type, layers, (6, 10), 8)
    logits = model(torch.randint(11, (2, 4)), torch.randint(13, (2, 5)))
    assert logits.shape == (2, 5, 13)
    logits.logsumexp(dim=-1).sum().backward()
    assert all(p.grad is not None for p in model.parameters())


@pytest.mark.parametrize(
    ("where", "expression"),
    [
        (RECURRENT, "LSTMLanguageModel(11, 2, 8)"),
        (RECURRENT, "StackRNN(11, 2, 8, 3)"),
        (ATTENTION, "StackTransformer(11, 8, 2, 16, '1.superposition-4.1')"),
        ("recurrent_gpt", "RecurrentGPT(11, 2, 2, 8, H=3)"),
        (SMALL, "FirstGPT()"),
        (SMALL, "NanoGPT(NanoConfig())"),
        (SMALL, "LensTransformer(LensConfig())"),
    ],
)
@pytest.mark.thorough  # of the examples, not of the tool
def test_the_future_changes_nothing(where: str, expression: str) -> None:
    torch.manual_seed(0)
    model = eval(expression, dict(vars(MODULES[where])))
    tokens = torch.randint(11, (1, 6))
    changed = tokens.clone()
    changed[:, -1] = (changed[:, -1] + 1) % 11
    before, after = model(tokens), model(changed)
    torch.testing.assert_close(before[:, :5], after[:, :5])
    assert not torch.equal(before[:, -1], after[:, -1])


def test_stack() -> None:
    stack = load("inductive_bias.stack")
    push, pop, wait = torch.eye(3)[:, None]
    one, two = torch.tensor([[1.0, 1.0]]), torch.tensor([[2.0, 2.0]])
    contents = stack.empty_stack(one, 2)
    seen = []
    for action, vector in [(push, one), (push, two), (wait, one), (pop, one), (pop, one)]:
        contents = stack.update(contents, action, vector)
        seen.append(stack.read(contents)[0, 0].item())
    assert seen == [1.0, 2.0, 2.0, 1.0, 0.0]
    half = stack.update(stack.empty_stack(one, 2), (push + wait) / 2, two)
    torch.testing.assert_close(stack.read(half), one)
