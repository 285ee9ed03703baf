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
    told = {"names": role, "shapes": roles_of_block, "models": roles_of_model}
    said = told[book.path.stem](case.asked)
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


def roles_of_model(asked):
    types, shapes, ties = {}, {}, {}
    for line in asked.split("\n"):
        name, _, rest = line.partition(" ")
        if rest.startswith("= "):
            ties[name] = rest.removeprefix("= ")
        elif rest[0].isdigit():
            shapes[name] = shape_of(rest)
        else:
            types[name] = rest
    model = measured(shapes, types, ties)
    found = find_roles(model)
    assert sum(found.counts.values()) == model.counts.total
    lines = []
    for part, times in grouped(found.parts):
        often = f" ({times}×)" if times > 1 else ""
        path = part.path or "(model)"
        lines.append(f"{path} {part.role} {part.count}{often}: {part.because}".rstrip(": "))
    lines += [f"tied{' output' * found.output_tied}: {tie}" for tie in found.tied]
    for head, parameters in (("modules", model.parameters), ("by names alone", ())):
        roles = module_roles(model.modules, parameters).items()
        lines.append(f"{head}: " + ", ".join(f"{path or '(model)'} {one}" for path, one in roles))
    return "\n".join(lines)


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
