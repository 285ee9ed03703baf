"""Which role the parameters of a model have: by class, by name, by what stands around them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nparam_lint.analysis.documents.compare_document import grouped
from nparam_lint.analysis.roles import ROLES, find_roles
from nparam_lint.analysis.roles.module_roles import module_roles
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


def role(name, types, shape=(4, 4), **beside):
    """The role of one parameter; `beside`: others, `__` for `.`, as name=shape."""
    others = {key.replace("__", "."): value for key, value in beside.items()}
    found = find_roles(measured({name: shape, **others}, types))
    path = name.rpartition(".")[0]
    (only,) = {part.role for part in found.parts if part.path == path}
    return only


# --- the layer's own class ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "shape", "expected"),
    [
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
    ],
)
def test_the_class_of_the_layer(kind, shape, expected):
    assert role("body.layer.weight", {"body.layer": kind}, shape) == expected


def test_a_subclass_of_a_recurrent_layer_is_known_by_its_parameters():
    assert role("core.weight_ih_l0", {"core": "FusedGates"}, (16, 4)) == "recurrent"
    assert role("core.weight_hr_l1_reverse", {"core": "FusedGates"}, (16, 4)) == "recurrent"
    assert role("core.weight", {"core": "FusedGates"}, (16, 4)) == "other"


def test_a_class_that_is_only_called_norm_is_none_where_its_weight_is_a_matrix():
    assert role("body.ada.weight", {"body.ada": "AdaptiveNorm"}, (8, 4)) == "other"
    assert role("body.ada.weight", {"body.ada": "AdaptiveNorm"}, (4, 1, 1)) == "norm"


def test_a_norm_of_an_unknown_class_is_known_by_its_name():
    assert role("h.0.ln_1.g", {"h.0.ln_1": "Affine"}, (4,)) == "norm"
    assert role("h.0.scale.g", {"h.0.scale": "Affine"}, (4,)) == "other"
    assert role("h.0.norm.weight", {"h.0.norm": "Linear"}, (1, 4)) == "other"


def test_reparametrised_layers_are_what_they_were_before():
    types = {"body.conv": "ParametrizedConv1d", "body.conv.parametrizations": "ModuleDict"}
    name = "body.conv.parametrizations.weight.original1"
    assert role(name, types, (4, 4, 3)) == "convolution"
    assert role(name, {"body.conv": "ParametrizedLinear"}) == "other"


# --- what is around a Linear layer --------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "types", "expected"),
    [
        ("h.0.attn.c_proj.weight", {}, "attention"),
        ("layers.0.self_attn.o_proj.weight", {}, "attention"),
        ("h.0.x.out.weight", {"h.0.x": "CausalSelfAttention"}, "attention"),
        ("h.0.x.out.weight", {"h.0.x": "MultiHeadAttn"}, "attention"),
        ("h.0.q_proj.weight", {}, "attention"),
        ("h.0.mlp.c_fc.weight", {}, "feed-forward"),
        ("h.0.feed_forward.w1.weight", {}, "feed-forward"),
        ("h.0.x.fc.weight", {"h.0.x": "GptNeoxMLP"}, "feed-forward"),
        ("h.0.x.fc.weight", {"h.0.x": "T5LayerFF"}, "feed-forward"),
        ("h.0.x.fc.weight", {"h.0.x": "DeepseekV3MoE"}, "feed-forward"),
        ("h.0.mlp.experts.3.w1.weight", {}, "feed-forward"),
        ("h.0.cell.x2h.weight", {"h.0.cell": "MyLSTMCell"}, "recurrent"),
        ("rnn.layers.0.gates.weight", {"rnn": "DeepLSTM", "rnn.layers.0": "Gate"}, "recurrent"),
        ("patch_embed.proj.weight", {}, "embedding"),
        ("to_patch_embedding.2.weight", {}, "embedding"),
        ("x.mlp.0.weight", {"x": "TimestepEmbedder", "x.mlp": "Sequential"}, "embedding"),
        ("lm_head.dense.weight", {}, "output"),
        ("cls.predictions.transform.dense.weight", {}, "output"),
        ("classifier.6.weight", {}, "output"),
        ("fc.weight", {}, "output"),
        ("h.0.fc.weight", {}, "other"),
        ("downsample.reduction.weight", {}, "other"),
        ("h.0.adaLN_modulation.1.weight", {}, "other"),
        ("bbox_embed.0.weight", {}, "other"),
        ("h.0.se.attn.weight", {"h.0.se.attn": "SEModule"}, "other"),
    ],
)
def test_a_linear_layer_belongs_to_what_is_around_it(name, types, expected):
    types = {name.rpartition(".")[0]: "Linear"} | types
    assert role(name, types) == expected


def test_the_nearest_decides():
    types = {"m": "BertAttention", "m.mlp.fc": "Linear", "n": "Mlp", "n.attn.fc": "Linear"}
    assert role("m.mlp.fc.weight", types) == "feed-forward"
    assert role("n.attn.fc.weight", types) == "attention"


def test_the_class_of_the_whole_model_says_what_a_part_of_its_name_would_not():
    assert role("fc1.weight", {"": "MLP", "fc1": "Linear"}) == "feed-forward"
    assert role("w.weight", {"": "CausalSelfAttention", "w": "Linear"}) == "attention"
    assert role("w.weight", {"": "AttentionUNet", "w": "Linear"}) == "other"
    assert role("w.weight", {"": "TextEmbedding", "w": "Linear"}) == "other"
    assert role("w.weight", {"": "ClassifierHead", "w": "Linear"}) == "other"


def test_an_mlp_in_a_head_is_output_but_not_that_of_a_block_in_a_head():
    types = {"mask_head": "MLP", "mask_head.layers.0": "Linear"}
    assert role("mask_head.layers.0.weight", types) == "output"
    types = {"mtp_head.block.attn": "Attention", "mtp_head.block.mlp.fc": "Linear"}
    beside = {"mtp_head__block__attn__w": (4, 4)}
    assert role("mtp_head.block.mlp.fc.weight", types, **beside) == "feed-forward"


def test_fc_is_output_at_the_top_unless_it_is_one_of_several():
    types = {"fc": "Linear", "fc2": "Linear", "fc_norm": "LayerNorm"}
    assert role("fc.weight", types, fc2__weight=(4, 4)) == "other"
    assert role("fc.weight", types, fc_norm__weight=(4,)) == "output"


# --- what stands beside it ----------------------------------------------------------------------

BLOCK = {"layer.self_attn": "MultiheadAttention", "layer.fc1": "Linear", "layer.fc2": "Linear"}


def test_two_layers_beside_an_attention_are_its_feed_forward():
    attention = {"layer__self_attn__in_proj_weight": (12, 4)}
    narrow, wide = {"layer__fc2__weight": (4, 2)}, {"layer__fc2__weight": (4, 16)}
    assert role("layer.fc1.weight", BLOCK, (2, 4), **narrow, **attention) == "feed-forward"
    assert role("layer.fc1.weight", BLOCK, (2, 4), **narrow) == "other"  # a gate
    assert role("layer.fc1.weight", BLOCK, (16, 4), **wide) == "feed-forward"
    assert role("layer.fc1.weight", BLOCK, (8, 4), **wide, **attention) == "other"
    assert role("layer.fc1.weight", BLOCK, (16, 4), **attention) == "other"


def test_berts_intermediate_and_output():
    names = {
        "layer.0.attention.self.query.weight": (4, 4),
        "layer.0.attention.output.dense.weight": (4, 4),
        "layer.0.intermediate.dense.weight": (16, 4),
        "layer.0.output.dense.weight": (4, 16),
        "layer.0.output.LayerNorm.weight": (4,),
    }
    types = {"layer.0.output.LayerNorm": "LayerNorm", "layer.0.attention": "BertAttention"}
    found = find_roles(measured(names, types))
    counts = {part.path: part.role for part in found.parts}
    assert counts == {
        "layer.0.attention.self.query": "attention",
        "layer.0.attention.output.dense": "attention",
        "layer.0.intermediate.dense": "feed-forward",
        "layer.0.output.dense": "feed-forward",
        "layer.0.output.LayerNorm": "norm",
    }


def test_a_sequential_that_widens_and_narrows_is_a_feed_forward_and_a_gate_is_none():
    types = {"block": "Sequential", "block.0": "Linear", "block.2": "Linear"}
    assert role("block.0.weight", types, (16, 4), block__2__weight=(4, 16)) == "feed-forward"
    assert role("block.0.weight", types, (2, 4), block__2__weight=(4, 2)) == "other"
    assert role("block.0.weight", types, (16, 4), block__2__weight=(8, 16)) == "other"


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
    beside = {"h__0__qkv__weight": (12, 4), "h__0__up__weight": (16, 4)}
    assert role("h.0.z.weight", types, (4, 4), **beside) == "attention"
    assert role("h.0.z.weight", types, (4, 16), **beside) == "feed-forward"
    assert role("h.0.z.weight", types, (4, 5), **beside) == "other"


def test_names_come_before_shapes():
    types = {f"head.{name}": "Linear" for name in FUSED}
    beside = {f"head__{name}__weight": shape for name, shape in FUSED.items() if name != "up"}
    assert role("head.up.weight", types, (16, 4), **beside) == "output"
    types = {f"h.se.{name}": "Linear" for name in FUSED} | {"h": "MixerAttention"}
    beside = {f"h__se__{name}__weight": shape for name, shape in FUSED.items() if name != "up"}
    assert role("h.se.up.weight", types, (16, 4), **beside) == "attention"


def test_linear_layers_after_each_other_are_a_feed_forward():
    types = {"x.net": "Sequential"} | {f"x.net.{number}": "Linear" for number in range(3)}
    chain = {"x__net__1__weight": (5, 5), "x__net__2__weight": (3, 5)}
    assert role("x.net.0.weight", types, (5, 2), **chain) == "feed-forward"
    assert role("x.net.0.weight", types, (6, 2), **chain) == "other"


def test_the_last_layer_of_a_model_is_its_output():
    types = {"h.0": "LayerNorm", "to_words": "Linear", "first": "Linear"}
    assert role("to_words.weight", types, (9, 4), h__0__weight=(4,)) == "output"
    assert role("to_words.weight", types, (4, 4), h__0__weight=(4,)) == "other"
    assert role("first.weight", types, (9, 4), h__0__weight=(4,), to_words__w=(3, 4)) == "other"
    assert role("to_words.weight", types, (9, 4)) == "other"  # all that there is


def test_a_state_space_is_recurrent():
    types = {"h.0": "Mixer", "h.0.in_proj": "Linear"}
    assert role("h.0.in_proj.weight", types, (8, 4), h__0__A_log=(8, 2)) == "recurrent"


# --- convolutions -------------------------------------------------------------------------------


def test_pointwise_convolutions_are_the_linear_layers_of_what_is_around_them():
    types = {"h.attn": "Attention2d", "h.attn.qkv": "Conv2d", "h.mlp": "ConvMlp"}
    assert role("h.attn.qkv.weight", types, (12, 4, 1, 1)) == "attention"
    assert role("h.attn.qkv.weight", types, (12, 4, 3, 3)) == "convolution"
    types = {"h.mlp": "ConvMlp", "h.mlp.fc1": "Conv2d", "h.mlp.dw": "Conv2d"}
    assert role("h.mlp.fc1.weight", types, (16, 4, 1, 1)) == "feed-forward"
    assert role("h.mlp.dw.weight", types, (16, 1, 3, 3)) == "convolution"


def test_a_convolution_that_cuts_patches_embeds_and_a_backbone_inside_does_not():
    types = {"patch_embed": "PatchEmbed", "patch_embed.proj": "Conv2d"}
    assert role("patch_embed.proj.weight", types, (4, 3, 16, 16)) == "embedding"
    types = {"patch_embed": "HybridEmbed", "patch_embed.backbone.conv": "Conv2d"}
    assert role("patch_embed.backbone.conv.weight", types, (4, 3, 7, 7)) == "convolution"


def test_conv1d_of_gpt_2_is_a_linear_layer():
    assert role("h.0.mlp.c_fc.weight", {"h.0.mlp.c_fc": "Conv1D"}, (4, 16)) == "feed-forward"
    assert role("h.0.c_fc.weight", {"h.0.c_fc": "Conv1D"}, (4, 16)) == "other"


# --- parameters that a module holds itself ------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [
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
    ],
)
def test_parameters_that_a_module_holds_itself(name, kind, expected):
    assert role(f"part.{name}", {"part": kind}, (8, 4)) == expected


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
