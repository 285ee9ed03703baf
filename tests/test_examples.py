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

# What the documents printed of each system, and what those meant that printed something else.
PRINTED = {
    # Architectures at equal budgets: eighteen models, and four as they were meant.
    (RECURRENT, "LSTMLanguageModel"): (27_104, 103_360, 403_328),
    (ATTENTION, "TransformerLM"): (40_224, 87_984, 118_776, 154_176, 603_264),
    (RECURRENT, "StackRNN"): (30_423, 32_355, 37_507, 109_975, 113_827, 124_099),
    (ATTENTION, "StackTransformer"): (
        *(59_568, 111_340, 111_660, 187_848),
        *(7_088, 10_140, 10_460, 14_472),
    ),
    ("sockeye_rnn", "SockeyeRNN"): (79_638_799,),
    # Why so big.
    (BIG, "EmbeddingLM"): (1_280,),
    (BIG, "MLP"): (181,),
    (BIG, "FeedForwardLM"): (1_461,),
    (BIG, "TransformerLayer"): (200, 10),
    (BIG, "TransformerLM"): (1_851,),
    (BIG, "SelfAttention"): (120,),
    # The recurrent GPT: itself, as it was meant, and row by row.
    ("recurrent_gpt", "RecurrentGPT"): (
        *(18_792_288, 18_765_792),
        *(12_246_304, 6_545_984, 1_636_496, 10_304, 1_472, 5_888, 2_944),
        *(542_432, 368, 406_272, 135_424, 1_083_760, 541_696),
    ),
    # Small transformers: addition, then Shakespeare.
    (SMALL, "FirstGPT"): (13_824,),
    (SMALL, "SequenceMLP"): (14_608, 542_289, 140_105, 136_401),
    (SMALL, "NanoGPT"): (20_160, 212_416, 466_080, 13_600),
    (SMALL, "LensTransformer"): (13_872, 216_641, 472_385),
}


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


@pytest.mark.parametrize(("where", "target"), PRINTED)
def test_printed_counts_stand_in_docstrings(where: str, target: str) -> None:
    claims = {budget.claim for budget in budgets() if budget[:2] == (where, target)}
    assert {f"{count:_}" for count in PRINTED[where, target]} <= claims


@pytest.mark.parametrize(("where", "target"), PRINTED)
def test_formula_of_every_system_holds_for_every_printed_count(where: str, target: str) -> None:
    plain = [b for b in budgets() if b[:2] == (where, target) and not b.selector]
    formulas = [b.claim for b in plain if not re.fullmatch(r"[\d_]+", b.claim) and not b.arguments]
    assert len(formulas) == 1
    for budget in plain:
        model, names = build_declared(budget)
        expected = eval(formulas[0], {"__builtins__": {}}, names)
        assert count(model) == count(model, trainable=True) == expected


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


# Sockeye: the 34 parameters that were listed, by the README's rules, which hold for others too.


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


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, 79_638_799),
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
    assert arguments or len(named) == 34
    if expected is not None:
        assert sum(map(math.prod, shapes.values())) == expected


# They run, and the last token changes nothing before it.


@pytest.mark.thorough  # of the examples, not of the tool
@pytest.mark.parametrize(
    ("where", "expression", "length", "is_causal"),
    [
        (RECURRENT, "LSTMLanguageModel(11, 2, 8)", 6, True),
        (RECURRENT, "StackRNN(11, 2, 8, 3)", 6, True),
        (ATTENTION, "TransformerLM(11, 2, 8, 2, 16)", 5, False),
        (ATTENTION, "StackTransformer(11, 8, 2, 16, '1.superposition-4.1')", 5, True),
        ("recurrent_gpt", "RecurrentGPT(11, 2, 2, 8, H=3)", 5, True),
        (BIG, "EmbeddingLM(11, 5)", 5, False),
        (BIG, "FeedForwardLM(11, 5, 7)", 5, False),
        (BIG, "TransformerLM(11, 50, 5, 7)", 5, False),
        (SMALL, "FirstGPT()", 5, False),
        (SMALL, "NanoGPT(NanoConfig())", 5, True),
        (SMALL, "SequenceMLP(MLPConfig(input_len=5, output_len=2))", 2, False),
        (SMALL, "LensTransformer(LensConfig(d_head=3))", 5, True),
    ],
)
def test_forward_and_backward(where: str, expression: str, length: int, is_causal: bool) -> None:
    torch.manual_seed(0)
    model = eval(expression, dict(vars(MODULES[where])))
    tokens = torch.randint(11, (2, 5))
    logits = model(tokens)
    assert logits.shape == (2, length, 16 if where == SMALL else 11)
    logits.logsumexp(dim=-1).sum().backward()
    assert [name for name, p in model.named_parameters() if p.grad is None] == []
    if is_causal:
        changed = tokens.clone()
        changed[:, -1] = (changed[:, -1] + 1) % 11
        after = model(changed)
        torch.testing.assert_close(logits[:, :4], after[:, :4])
        assert not torch.equal(logits[:, -1], after[:, -1])


@pytest.mark.thorough
@pytest.mark.parametrize("cell_type", ["lstm", "gru"])
def test_sockeye_translates(cell_type: str) -> None:
    model = MODULES["sockeye_rnn"].SockeyeRNN(11, 13, cell_type, (2, 3), (6, 10), 8)
    logits = model(torch.randint(11, (2, 4)), torch.randint(13, (2, 5)))
    assert logits.shape == (2, 5, 13)
    logits.logsumexp(dim=-1).sum().backward()
    assert all(p.grad is not None for p in model.parameters())


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
