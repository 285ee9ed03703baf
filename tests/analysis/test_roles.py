"""Which role the parameters of a model have: by class, by name, by what stands around them."""

from __future__ import annotations

import math

import pytest
from case_books import cases_beside
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


@pytest.mark.parametrize(("book", "case"), cases_beside(__file__, "roles"))
def test_the_roles_of_parameters(book, case, request):
    said = role(case.asked) if book.path.stem == "names" else roles_of_block(case.asked)
    book.check(case.number, said, update=request.config.getoption("update"))


def shape_of(text):
    return tuple(map(int, text.split("×")))


def role(asked):
    """That of the first parameter."""
    parts = asked.split(", ")
    types = dict(part.split(": ") for part in parts if ": " in part)
    words = [part.split() for part in parts if ": " not in part]
    shapes = {name: shape_of(*shape or ["4×4"]) for name, *shape in words}
    path = next(iter(shapes)).rpartition(".")[0]
    types = {path: "Linear"} | {"" if name == "(model)" else name: k for name, k in types.items()}
    (only,) = {part.role for part in find_roles(measured(shapes, types)).parts if part.path == path}
    return only


def roles_of_block(asked):
    """Of its Linear layers, whose names say nothing."""
    block = asked.removeprefix("at the top: ")
    place = "" if block != asked else "h.0."
    layers = [part.rsplit(" ", 1) for part in block.split(", ")]
    names = [f"{place}{letter}" for letter in "abcdefghij"[: len(layers)]]
    shapes = {f"{n}.weight": shape_of(s) for n, (_, s) in zip(names, layers, strict=True)}
    found = find_roles(measured(shapes, dict.fromkeys(names, "Linear"))).parts
    by_path = {part.path: part.role for part in found}
    return ", ".join(f"{layer} {by_path[n]}" for n, (layer, _) in zip(names, layers, strict=True))


BERT = {"layer.0.output.LayerNorm": "LayerNorm", "layer.0.attention": "BertAttention"}


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

SEPARATE = {"q": (4, 4), "k": (2, 4), "v": (2, 4), "o": (4, 4)}
GATED = {"gate": (12, 4), "up": (12, 4), "down": (4, 12)}


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
