"""Which role the parameters of a model have: by class, by name, by what stands around them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nparam_lint.analysis.documents.compare_document import grouped
from nparam_lint.analysis.roles import ROLES, find_roles, module_roles
from nparam_lint.count.measured import Measured, ModuleRow, ParameterRow


def measured(parameters, types, ties=()):
    """A model with these parameters (name → shape). `types`: module → class (else `Module`).
    `ties`: other names → the first."""
    paths = {""}
    for name in (*parameters, *dict(ties)):
        parts = name.split(".")[:-1]
        paths |= {".".join(parts[: end + 1]) for end in range(len(parts))}
    modules = []
    for path in sorted(paths):
        kind = types.get(path, "Module")
        inside = [n for n in parameters if n.rpartition(".")[0] == path]
        own = sum(math.prod(parameters[n]) for n in inside)
        below = sum(math.prod(s) for n, s in parameters.items() if f".{n}".startswith(f".{path}."))
        total = own if path else sum(math.prod(s) for s in parameters.values())
        embedding = own if kind == "Embedding" else 0
        modules.append(
            ModuleRow(path, kind, own, max(total, below), total, 0, 4 * total, embedding)
        )
    also = {}
    for other, first in dict(ties).items():
        also.setdefault(first, []).append(other)
    rows = [
        ParameterRow(name, shape, "float32", True, also=tuple(also.get(name, ())))
        for name, shape in parameters.items()
    ]
    total = sum(math.prod(shape) for shape in parameters.values())
    return Measured("M()", tuple(modules), parameters=tuple(rows))


def role(name, types, shape=(4, 4), beside=None):
    """The role of one parameter; `beside`: others. Its module is a Linear, if nothing is said."""
    path = name.rpartition(".")[0]
    parts = find_roles(measured({name: shape, **(beside or {})}, {path: "Linear"} | types)).parts
    (only,) = {part.role for part in parts if part.path == path}
    return only


# One parameter: its role, its name, the classes of modules, its shape, and others beside it.
BERT = {"layer.0.output.LayerNorm": "LayerNorm", "layer.0.attention": "BertAttention"}
BLOCK = {"layer.self_attn": "MultiheadAttention", "layer.fc1": "Linear", "layer.fc2": "Linear"}
IN_PROJECTION = {"layer.self_attn.in_proj_weight": (12, 4)}
NARROW, WIDE = {"layer.fc2.weight": (4, 2)}, {"layer.fc2.weight": (4, 16)}
SEQUENTIAL = {"block": "Sequential", "block.0": "Linear", "block.2": "Linear"}
CHAIN = {"x.net": "Sequential"} | {f"x.net.{number}": "Linear" for number in range(3)}
CHAINED = {"x.net.1.weight": (5, 5), "x.net.2.weight": (3, 5)}
TOP = {"fc": "Linear", "fc2": "Linear", "fc_norm": "LayerNorm"}
LAST = {"h.0": "LayerNorm", "to_words": "Linear", "first": "Linear"}
ONE_OF_MANY = {"h.0.weight": (4,)}
CASES = {
    "the class of the layer itself": [
        *(
            (role, "body.layer.weight", {"body.layer": kind}, shape)
            for kind, shape, role in [
                ("Embedding", (10, 4), "embedding"),
                ("EmbeddingBag", (10, 4), "embedding"),
                ("OPTLearnedPositionalEmbedding", (10, 4), "embedding"),
                ("LSTM", (16, 4), "recurrent"),
                ("GRUCell", (12, 4), "recurrent"),
                ("MultiheadAttention", (12, 4), "attention"),
                ("LayerNorm", (3, 8, 8), "norm"),
                ("LlamaRMSNorm", (4,), "norm"),
                ("BatchNormAct2d", (4,), "norm"),
                ("Conv2d", (4, 3, 3, 3), "convolution"),
                ("ConvTranspose2d", (4, 3, 2, 2), "convolution"),
                ("Linear", (4, 4), "other"),
                ("PReLU", (1,), "other"),
                ("Bilinear", (4, 4, 4), "other"),
                # One that is only called norm is none where its weight is a matrix.
                ("AdaptiveNorm", (8, 4), "other"),
                ("AdaptiveNorm", (4, 1, 1), "norm"),
            ]
        ),
    ],
    "a subclass of a recurrent layer is known by its parameters": [
        ("recurrent", "core.weight_ih_l0", {"core": "FusedGates"}, (16, 4)),
        ("recurrent", "core.weight_hr_l1_reverse", {"core": "FusedGates"}, (16, 4)),
        ("other", "core.weight", {"core": "FusedGates"}, (16, 4)),
    ],
    "a norm of an unknown class is known by its name": [
        ("norm", "h.0.ln_1.g", {"h.0.ln_1": "Affine"}, (4,)),
        ("other", "h.0.scale.g", {"h.0.scale": "Affine"}, (4,)),
        ("other", "h.0.norm.weight", {"h.0.norm": "Linear"}, (1, 4)),
    ],
    "reparametrised layers are what they were before": [
        (
            "convolution",
            "conv.parametrizations.weight.original1",
            {"conv": "ParametrizedConv1d", "conv.parametrizations": "ModuleDict"},
            (4, 4, 3),
        ),
        (
            "other",
            "body.conv.parametrizations.weight.original1",
            {"body.conv": "ParametrizedLinear"},
        ),
    ],
    "a Linear layer belongs to what is around it": [
        ("attention", "h.0.attn.c_proj.weight", {}),
        ("attention", "layers.0.self_attn.o_proj.weight", {}),
        ("attention", "h.0.x.out.weight", {"h.0.x": "CausalSelfAttention"}),
        ("attention", "h.0.x.out.weight", {"h.0.x": "MultiHeadAttn"}),
        ("attention", "h.0.q_proj.weight", {}),
        ("feed-forward", "h.0.mlp.c_fc.weight", {}),
        ("feed-forward", "h.0.feed_forward.w1.weight", {}),
        ("feed-forward", "h.0.x.fc.weight", {"h.0.x": "GptNeoxMLP"}),
        ("feed-forward", "h.0.x.fc.weight", {"h.0.x": "T5LayerFF"}),
        ("feed-forward", "h.0.x.fc.weight", {"h.0.x": "DeepseekV3MoE"}),
        ("feed-forward", "h.0.mlp.experts.3.w1.weight", {}),
        ("recurrent", "h.0.cell.x2h.weight", {"h.0.cell": "MyLSTMCell"}),
        ("recurrent", "rnn.layers.0.gates.weight", {"rnn": "DeepLSTM", "rnn.layers.0": "Gate"}),
        ("embedding", "patch_embed.proj.weight", {}),
        ("embedding", "to_patch_embedding.2.weight", {}),
        ("embedding", "x.mlp.0.weight", {"x": "TimestepEmbedder", "x.mlp": "Sequential"}),
        ("output", "lm_head.dense.weight", {}),
        ("output", "cls.predictions.transform.dense.weight", {}),
        ("output", "classifier.6.weight", {}),
        ("output", "fc.weight", {}),
        ("other", "h.0.fc.weight", {}),
        ("other", "downsample.reduction.weight", {}),
        ("other", "h.0.adaLN_modulation.1.weight", {}),
        ("other", "bbox_embed.0.weight", {}),
        ("other", "h.0.se.attn.weight", {"h.0.se.attn": "SEModule"}),
    ],
    "the nearest decides": [
        ("feed-forward", "m.mlp.fc.weight", {"m": "BertAttention"}),
        ("attention", "n.attn.fc.weight", {"n": "Mlp"}),
    ],
    "the class of the whole model says what a part of its name would not": [
        ("feed-forward", "fc1.weight", {"": "MLP"}),
        ("attention", "w.weight", {"": "CausalSelfAttention"}),
        ("other", "w.weight", {"": "AttentionUNet"}),
        ("other", "w.weight", {"": "TextEmbedding"}),
        ("other", "w.weight", {"": "ClassifierHead"}),
    ],
    "an MLP in a head is output, but not that of a block in a head": [
        ("output", "mask_head.layers.0.weight", {"mask_head": "MLP"}),
        (
            "feed-forward",
            "mtp_head.block.mlp.fc.weight",
            {"mtp_head.block.attn": "Attention"},
            (4, 4),
            {"mtp_head.block.attn.w": (4, 4)},
        ),
    ],
    "fc is output at the top unless it is one of several": [
        ("other", "fc.weight", TOP, (4, 4), {"fc2.weight": (4, 4)}),
        ("output", "fc.weight", TOP, (4, 4), {"fc_norm.weight": (4,)}),
    ],
    "two layers beside an attention are its feed-forward; a gate is none": [
        ("feed-forward", "layer.fc1.weight", BLOCK, (2, 4), NARROW | IN_PROJECTION),
        ("other", "layer.fc1.weight", BLOCK, (2, 4), NARROW),
        ("feed-forward", "layer.fc1.weight", BLOCK, (16, 4), WIDE),
        ("other", "layer.fc1.weight", BLOCK, (8, 4), WIDE | IN_PROJECTION),
        ("other", "layer.fc1.weight", BLOCK, (16, 4), IN_PROJECTION),
    ],
    "a Sequential that widens and narrows is a feed-forward": [
        ("feed-forward", "block.0.weight", SEQUENTIAL, (16, 4), {"block.2.weight": (4, 16)}),
        ("other", "block.0.weight", SEQUENTIAL, (2, 4), {"block.2.weight": (4, 2)}),
        ("other", "block.0.weight", SEQUENTIAL, (16, 4), {"block.2.weight": (8, 16)}),
        ("feed-forward", "x.net.0.weight", CHAIN, (5, 2), CHAINED),
        ("other", "x.net.0.weight", CHAIN, (6, 2), CHAINED),
    ],
    "the last layer of a model is its output, unless it is all that there is": [
        ("output", "to_words.weight", LAST, (9, 4), ONE_OF_MANY),
        ("other", "to_words.weight", LAST, (4, 4), ONE_OF_MANY),
        ("other", "first.weight", LAST, (9, 4), {**ONE_OF_MANY, "to_words.w": (3, 4)}),
        ("other", "to_words.weight", LAST, (9, 4)),
    ],
    "a state space is recurrent": [
        ("recurrent", "h.0.in_proj.weight", {"h.0": "Mixer"}, (8, 4), {"h.0.A_log": (8, 2)}),
    ],
    "pointwise convolutions are the Linear layers of what is around them": [
        (role, f"{path}.weight", {path.rpartition(".")[0]: around, path: "Conv2d"}, shape)
        for path, around, shape, role in [
            ("h.attn.qkv", "Attention2d", (12, 4, 1, 1), "attention"),
            ("h.attn.qkv", "Attention2d", (12, 4, 3, 3), "convolution"),
            ("h.mlp.fc1", "ConvMlp", (16, 4, 1, 1), "feed-forward"),
            ("h.mlp.dw", "ConvMlp", (16, 1, 3, 3), "convolution"),
        ]
    ],
    "a convolution that cuts patches embeds, and a backbone inside does not": [
        (expected, f"{path}.weight", {"patch_embed": around, path: "Conv2d"}, shape)
        for path, around, shape, expected in [
            ("patch_embed.proj", "PatchEmbed", (4, 3, 16, 16), "embedding"),
            ("patch_embed.backbone.conv", "HybridEmbed", (4, 3, 7, 7), "convolution"),
        ]
    ],
    "Conv1D of GPT-2 is a Linear layer": [
        ("feed-forward", "h.0.mlp.c_fc.weight", {"h.0.mlp.c_fc": "Conv1D"}, (4, 16)),
        ("other", "h.0.c_fc.weight", {"h.0.c_fc": "Conv1D"}, (4, 16)),
    ],
    "parameters that a module holds itself": [
        (role, f"part.{name}", {"part": kind}, (8, 4))
        for name, kind, role in [
            ("pos_embed", "VisionTransformer", "embedding"),
            ("cls_token", "VisionTransformer", "embedding"),
            ("class_embedding", "VisionTransformer", "embedding"),
            ("positional_embedding", "CLIP", "embedding"),
            ("text_projection", "CLIP", "output"),
            ("logit_scale", "CLIP", "other"),
            ("relative_position_bias_table", "WindowAttention", "attention"),
            ("rel_pos_h", "Attention", "attention"),
            ("gate_up_proj", "GptOssExperts", "feed-forward"),
            ("gamma", "LayerScale", "other"),
        ]
    ],
}


@pytest.mark.parametrize("subject", CASES)
def test_the_role_of_a_parameter(subject):
    for expected, *case in CASES[subject]:
        assert role(*case) == expected, case


def test_berts_intermediate_and_output():
    roles = {
        "layer.0.attention.self.query.weight": ((4, 4), "attention"),
        "layer.0.attention.output.dense.weight": ((4, 4), "attention"),
        "layer.0.intermediate.dense.weight": ((16, 4), "feed-forward"),
        "layer.0.output.dense.weight": ((4, 16), "feed-forward"),
        "layer.0.output.LayerNorm.weight": ((4,), "norm"),
    }
    shapes = {name: shape for name, (shape, _) in roles.items()}
    parts = find_roles(measured(shapes, BERT)).parts
    assert {f"{part.path}.weight": part.role for part in parts} == {
        name: expected for name, (_, expected) in roles.items()
    }


# --- shapes, where no name says anything ----------------------------------------------------------

FUSED = {"qkv": (12, 4), "proj": (4, 4), "up": (16, 4), "down": (4, 16)}
SEPARATE = {"q": (4, 4), "k": (2, 4), "v": (2, 4), "o": (4, 4)}  # two heads share keys and values
WIDE_HEADS = {"q": (8, 4), "k": (8, 4), "v": (8, 4), "o": (4, 8)}
GATED = {"gate": (12, 4), "up": (12, 4), "down": (4, 12)}


def roles_in(block, place="h.0.", **types):
    """Role by layer of Linear layers in one block, whose names say nothing."""
    names = {layer: f"{place}{'abcdefghij'[number]}" for number, layer in enumerate(block)}
    kinds = dict.fromkeys(names.values(), "Linear") | types
    shapes = {f"{names[layer]}.weight": shape for layer, shape in block.items()}
    by_path = {p.path: p.role for p in find_roles(measured(shapes, kinds)).parts}
    return {layer: by_path[path] for layer, path in names.items()}


def attend(block):
    return dict.fromkeys(block, "attention")


def forward(block):
    return dict.fromkeys(block, "feed-forward")


def unknown(block):
    return dict.fromkeys(block, "other")


def test_a_block_is_known_by_its_shapes():
    assert roles_in(FUSED) == attend(["qkv", "proj"]) | forward(["up", "down"])
    for attention in (SEPARATE, WIDE_HEADS):
        assert roles_in(attention | GATED) == attend(attention) | forward(GATED)
    assert roles_in(GATED) == forward(GATED)


def test_what_looks_similar_is_not_believed():
    square = dict.fromkeys("ifgo", (4, 4))
    assert roles_in(square) == unknown(square)  # the gates of a cell
    assert roles_in(SEPARATE) == unknown(SEPARATE)  # no feed-forward stands beside it
    narrow = {"down": (1, 4), "up": (4, 1)}
    assert roles_in(narrow) == unknown(narrow)  # squeezes channels, and excites them
    lone = {"up": (16, 4), "side": (4, 4)}
    assert roles_in(lone) == unknown(lone)
    thrice = {"a": (8, 4), "b": (8, 4), "c": (8, 4), "down": (4, 8)}
    assert roles_in(thrice) == unknown(thrice)


def test_a_model_that_widens_its_input_and_narrows_is_no_feed_forward():
    ends = {"into": (16, 4), "out_of": (4, 16)}
    assert roles_in(ends, place="") == {"into": "other", "out_of": "output"}
    assert roles_in(FUSED, place="") == attend(["qkv", "proj"]) | forward(["up", "down"])


def test_an_attention_and_a_feed_forward_that_stand_beside_each_other():
    names = dict(zip(("h.0.x.a", "h.0.x.b", "h.0.x.c", "h.0.x.d"), SEPARATE.values(), strict=True))
    names |= dict(zip(("h.0.y.a", "h.0.y.b", "h.0.y.c"), GATED.values(), strict=True))
    shapes = {f"{path}.weight": shape for path, shape in names.items()}
    found = find_roles(measured(shapes, dict.fromkeys(names, "Linear")))
    assert {part.path: part.role for part in found.parts} == {
        path: "attention" if ".x." in path else "feed-forward" for path in names
    }
    assert {part.because for part in found.parts} == {
        "by the shapes in h.0.x, Module",
        "by the shapes in h.0.y, Module",
    }


def test_the_output_of_an_attention_that_is_known_by_a_name():
    types = {f"h.0.{name}": "Linear" for name in ("qkv", "z", "up")}
    beside = {"h.0.qkv.weight": (12, 4), "h.0.up.weight": (16, 4)}
    assert role("h.0.z.weight", types, (4, 4), beside) == "attention"
    assert role("h.0.z.weight", types, (4, 16), beside) == "feed-forward"
    assert role("h.0.z.weight", types, (4, 5), beside) == "other"


def test_names_come_before_shapes():
    types = {f"head.{name}": "Linear" for name in FUSED}
    beside = {f"head.{name}.weight": shape for name, shape in FUSED.items() if name != "up"}
    assert role("head.up.weight", types, (16, 4), beside) == "output"
    types = {f"h.se.{name}": "Linear" for name in FUSED} | {"h": "MixerAttention"}
    beside = {f"h.se.{name}.weight": shape for name, shape in FUSED.items() if name != "up"}
    assert role("h.se.up.weight", types, (16, 4), beside) == "attention"


# --- ties, sums, groups -------------------------------------------------------------------------


def test_what_is_tied_to_an_embedding_is_an_embedding_whichever_comes_first():
    types = {"wte": "Embedding", "lm_head": "Linear"}
    ties = {"lm_head.weight": "wte.weight"}
    first = find_roles(measured({"wte.weight": (10, 4)}, types, ties))
    assert first.counts["embedding"] == 40
    assert first.tied == ("lm_head.weight = wte.weight",)
    assert first.output_tied
    ties = {"wte.weight": "lm_head.weight"}
    second = find_roles(measured({"lm_head.weight": (10, 4)}, types, ties))
    assert second.counts["embedding"] == 40
    assert second.output_tied


def test_embeddings_that_are_tied_to_each_other_are_no_tied_output():
    types = {"encoder.embed": "Embedding", "decoder.embed": "Embedding"}
    ties = {"decoder.embed.weight": "encoder.embed.weight"}
    found = find_roles(measured({"encoder.embed.weight": (10, 4)}, types, ties))
    assert found.tied == ("decoder.embed.weight = encoder.embed.weight",)
    assert not found.output_tied


def test_every_part_says_what_decided():
    types = {
        "wte": "Embedding",
        "h.0.attn": "CausalSelfAttention",
        "h.0.attn.c_attn": "Linear",
        "h.0.attn.c_proj": "Linear",
        "proj": "Linear",
    }
    names = ("wte.weight", "h.0.attn.c_attn.weight", "h.0.attn.c_proj.weight", "proj.weight")
    found = find_roles(measured(dict.fromkeys(names, (4, 4)), types))
    assert [(part.path, part.because) for part in found.parts] == [
        ("wte", "held by Embedding"),
        ("h.0.attn.c_attn", "by its name or class"),
        ("h.0.attn.c_proj", "in h.0.attn, CausalSelfAttention"),
        ("proj", ""),
    ]


def test_parts_that_differ_in_numbers_stand_together():
    types = {f"h.{i}.attn.c_proj": "Linear" for i in range(12)}
    types |= {f"layers.layer_{i}.mlp.fc1": "Linear" for i in range(2)}
    names = {f"{path}.weight": (4, 4) for path in types}
    found = [
        (part.path, part.role, times, part.count)
        for part, times in grouped(find_roles(measured(names, types)).parts)
    ]
    assert found == [
        ("h.*.attn.c_proj", "attention", 12, 192),
        ("layers.layer_*.mlp.fc1", "feed-forward", 2, 32),
    ]


_NAMES = st.sampled_from("attn mlp head embeddings 0 1 fc1 fc2 norm output conv wte x".split())
_TYPES = st.sampled_from(
    "Linear Embedding LSTM LayerNorm Conv2d Sequential Attention MLP PatchEmbed SEModule X".split()
)


@pytest.mark.thorough
@given(
    st.dictionaries(
        st.lists(_NAMES, min_size=1, max_size=4).map(".".join),
        st.tuples(_TYPES, st.lists(st.integers(0, 5), max_size=4).map(tuple)),
        max_size=12,
    )
)
def test_the_roles_sum_to_the_total_whatever_the_model(layers):
    parameters = {f"{path}.weight": shape for path, (_, shape) in layers.items()}
    model = measured(parameters, {path: kind for path, (kind, _) in layers.items()})
    found = find_roles(model)
    assert tuple(found.counts) == ROLES
    assert sum(found.counts.values()) == model.counts.total
    assert {part.path for part in found.parts} == set(layers)


# --- of modules, for pictures ---------------------------------------------------------------------

TINY = measured(
    {
        "wte.weight": (100, 8),
        "cls_token": (1, 1, 8),
        "scale": (2,),
        "h.0.attn.qkv.weight": (24, 8),
        "h.0.mlp.up.weight": (32, 8),
    },
    {"wte": "Embedding", "h.0.attn": "Attention", "h.0.mlp": "MLP"},
)


def test_a_module_has_the_role_of_most_of_its_parameters():
    assert module_roles(TINY.modules, TINY.parameters) == {
        "wte": "embedding",
        "": "embedding",
        "h.0.attn.qkv": "attention",
        "h.0.mlp.up": "feed-forward",
    }


def test_without_parameters_classes_and_names_say_the_role():
    found = module_roles(TINY.modules, ())
    assert found == module_roles(TINY.modules, TINY.parameters) | {"": "other"}
