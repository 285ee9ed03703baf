"""What the parameters of a model are for: a role for each, from the modules that hold them.

The class of the module that holds a parameter decides where it is one of torch's layers with a
purpose (nn.Embedding, nn.LSTM, nn.LayerNorm, …). A Linear layer has the role of the nearest module
around it that has one, by its class (`CausalSelfAttention`), by its name (`mlp`), or by what stands
beside it (`fc1` and `fc2` beside `self_attn`). Where no name decides, the shapes of the layers of
one block do (`layer_shapes`), and where it stands: the last layer of a model is its output. What
none of these decides is `other`: a wrong role would be believed.

Every distinct parameter has exactly one role, so that the roles sum to the total.
"""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, get_args

from msgspec import Struct, field

from nparam_lint.analysis.roles import role_words as words
from nparam_lint.analysis.roles.layer_shapes import shape_roles
from nparam_lint.count.measured import ParameterRow
from nparam_lint.discover.source_tree import cached_method

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nparam_lint.count.measured import Measured, ModuleRow

Role = Literal[
    "embedding", "attention", "feed-forward", "recurrent", "convolution", "norm", "output", "other"
]
ROLES: tuple[Role, ...] = get_args(Role)  # in the order of reports


class RolePart(Struct, frozen=True):
    """The parameters of one role that one module holds itself. `because`: what decided, in a few
    words (`in h.0.attn, CausalSelfAttention`); empty for `other`."""

    path: str
    type: str
    role: Role
    count: int
    because: str


class Roles(Struct, frozen=True):
    """The parts in the order of the modules. `tied`: parameters with several names that are counted
    once, as `lm_head.weight = transformer.wte.weight`; `output_tied`: the output layer's weight is
    among them, so that it is counted as embedding."""

    parts: tuple[RolePart, ...]
    tied: tuple[str, ...] = ()
    output_tied: bool = False

    @property
    def counts(self) -> dict[Role, int]:
        """Parameters by role; all roles are there, and their sum is the model's total."""
        sums = dict.fromkeys(ROLES, 0)
        for part in self.parts:
            sums[part.role] += part.count
        return sums


def find_roles(measured: Measured) -> Roles:
    """The roles of a model that was measured with its parameters."""
    tree = RoleTree(measured.modules, measured.parameters)
    counts: Counter[tuple[str, Role]] = Counter()
    reasons: dict[tuple[str, Role], str] = {}
    tied: list[str] = []
    output_tied = False
    for row in measured.parameters:
        role, because = tree.role_of(row)
        key = row.name.rpartition(".")[0], role
        counts[key] += math.prod(row.shape)
        reasons.setdefault(key, because)
        tied += [f"{name} = {row.name}" for name in row.also]
        if row.also and role == "embedding":
            names = (row.name, *row.also)
            output_tied = output_tied or not all(tree.is_embedding(name) for name in names)
    parts = tuple(
        RolePart(path, tree.modules[path].type, role, counts[path, role], because)
        for (path, role), because in reasons.items()
    )
    return Roles(parts, tuple(tied), output_tied)


def module_roles(
    modules: Sequence[ModuleRow], parameters: Sequence[ParameterRow]
) -> dict[str, str]:
    """Path → role, of each module of a picture that holds parameters; of one that holds some of
    several roles, that of most. Without the parameters, and so without their shapes, what the
    classes and names of the modules say."""
    tree = RoleTree(modules, parameters)
    counts: dict[str, Counter[str]] = {}
    for row in parameters or [
        ParameterRow(f"{module.path}.weight".removeprefix("."), (module.own,), "", True)
        for module in modules
        if module.own
    ]:
        role, _ = tree.role_of(row)
        roles = counts.setdefault(row.name.rpartition(".")[0], Counter())
        roles[role] += math.prod(row.shape)
    return {path: roles.most_common(1)[0][0] for path, roles in counts.items()}


# --- the modules ----------------------------------------------------------------------------------


class _Module(Struct):
    """A module: `shapes` are those of its own parameters, tied ones not among them. `attends`:
    whether a child of it is an attention."""

    path: str
    name: str
    type: str
    embedding: int
    children: dict[str, _Module] = field(default_factory=dict)
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    attends: bool = False

    @property
    def weight(self) -> tuple[int, ...]:
        return max(self.shapes.values(), key=len, default=())


_Decision = tuple[Role, str] | None  # and the path of the module that decided


class RoleTree:
    """The modules of one model, and the role that each gives to the parameters inside it."""

    def __init__(self, modules: Sequence[ModuleRow], parameters: Sequence[ParameterRow]) -> None:
        self.modules: dict[str, _Module] = {}
        for row in modules:
            kind = row.type.removeprefix("Parametrized") or row.type
            outer, _, name = row.path.rpartition(".")
            module = self.modules[row.path] = _Module(row.path, name, kind, row.embedding)
            if row.path:
                above = self.modules[outer]
                above.children[name] = module
                is_named = not words.ATTENTION_WORDS.isdisjoint(words.words_of(name))
                is_attention = is_named or words.ATTENTION_CLASS.search(kind) is not None
                above.attends = above.attends or is_attention
        for parameter in parameters:
            name = parameter.name.rpartition(".")[2]
            self._layer(parameter.name).shapes[name] = parameter.shape

    def _layer(self, parameter: str) -> _Module:
        """The layer that has a parameter: a reparametrised one keeps it in a part of its own."""
        path = parameter.rpartition(".")[0]
        layer = path.partition(".parametrizations.")[0]
        return self.modules[layer if layer in self.modules else path]

    def is_embedding(self, name: str) -> bool:
        return words.EMBEDDING_CLASS.search(self._layer(name).type) is not None

    def role_of(self, row: ParameterRow) -> tuple[Role, str]:
        """The role, and what decided. What is tied to an embedding is an embedding."""
        for name in (row.name, *row.also):
            if self.is_embedding(name):
                return "embedding", f"held by {self._layer(name).type}"
        module, name = self._layer(row.name), row.name.rpartition(".")[2]
        # What the class of the layer itself says, or the shapes that it holds.
        is_linear = "Linear" in module.type
        if module.embedding and not module.children:
            if is_linear or "Conv" in module.type or words.is_output_name(module.name, True):
                return "output", "turns states into tokens"
            return "embedding", f"held by {module.type}"
        is_vector = all(math.prod(s) == max(s, default=1) for s in module.shapes.values())
        is_called_norm = words.NORM_WORDS & {*words.words_of(module.name)} and not is_linear
        is_norm = is_vector and (is_called_norm or words.NORM_CLASS.search(module.type))
        if module.type in words.TORCH_NORMS or is_norm:
            return "norm", f"held by {module.type}"
        is_cell = words.RECURRENT_CLASS.fullmatch(module.type) or words.CELL_CLASS.search(
            module.type
        )
        if is_cell or words.RECURRENT_PARAMETER.match(name):
            return "recurrent", f"held by {module.type}"
        # What its own name says, then what is around it.
        if words.embeds_directly(name):
            return "embedding", f"called {name}"
        if name in words.OUTPUT_NAMES:
            return "output", f"called {name}"
        decision = self._decision(module.path)
        is_convolution = words.CONVOLUTION_CLASS.search(module.type) or (
            "Conv" in module.type and len(module.weight) > 2
        )
        if is_convolution and not (decision and self._reaches(module, *decision)):
            return "convolution", f"held by {module.type}"
        if decision is None:
            return self._by_place(module)
        role, path = decision
        if path != module.path:
            return role, f"in {path or '(root)'}, {self.modules[path].type}"
        return role, "beside its counterpart" if self._is_paired(module) else "by its name or class"

    def _reaches(self, module: _Module, role: Role, place: str) -> bool:
        """Whether a convolution is part of what is around it: pointwise ones are the Linear layers
        of an attention or a feed-forward; those that cut patches stand in the embedding alone."""
        if role in ("attention", "feed-forward"):
            return set(module.weight[2:]) == {1}
        if role != "embedding":
            return False
        between = _above(module.path) if module.path != place else place
        while len(between) > len(place) and self.modules[between].type in words.CONTAINERS:
            between = _above(between)
        return between == place

    # --- where no name decides ----------------------------------------------------------------

    def _by_place(self, module: _Module) -> tuple[Role, str]:
        """By the shapes of the layers around it, or by being the last layer of the model."""
        for at in _upwards(module.path):
            role = self._roles_by_shape(_above(at)).get(self.modules[at].name)
            if role:
                block = self.modules[_above(at)]
                return role, f"by the shapes in {block.path or '(root)'}, {block.type}"
        # The last layer of a model of several parts, if it is Linear and changes the width.
        parts = [c for c in self.modules[""].children.values() if c.children or c.shapes]
        is_last = len(parts) > 1 and module is parts[-1] and _is_dense(module)
        if is_last and module.weight[0] != module.weight[1]:
            return "output", "the last layer"
        return "other", ""

    @cached_method
    def _roles_by_shape(self, path: str) -> dict[str, Role]:
        """Of the Linear layers directly in a module. The root is a block only where it attends: a
        model may widen its input, and narrow to its output."""
        block = self.modules[path]
        dense = {n: c for n, c in block.children.items() if _is_dense(c)}
        free = {n: c.weight for n, c in dense.items() if self._role_by_name(c.path) is None}
        is_chain = all(first[0] == second[1] for first, second in pairwise(free.values()))
        if block.type == "Sequential" and len(free) > 2 and is_chain:
            return dict.fromkeys(free, "feed-forward")
        attention = {c.weight for c in dense.values() if self._role_by_name(c.path) == "attention"}
        beside = self.modules[_above(path)].children.values() if path else ()
        forward = any(c is not block and self._is_feed_forward(c) for c in beside)
        roles = shape_roles(free, attention, beside_feed_forward=forward)
        attends = attention or block.attends or "attention" in roles.values()
        return {**roles} if path or attends else {}

    def _is_feed_forward(self, module: _Module) -> bool:
        """Whether a module is a feed-forward, by its name, or because its layers are."""
        if self._role_by_name(module.path) == "feed-forward":
            return True
        free = {n: c.weight for n, c in module.children.items() if _is_dense(c)}
        return "feed-forward" in shape_roles(free, set()).values()

    # --- what is around a layer ---------------------------------------------------------------

    def _decision(self, path: str) -> _Decision:
        """What the nearest module at or above `path` says that says anything."""
        above = ((role, at) for at in (*_upwards(path), "") if (role := self._role_by_name(at)))
        nearest = next(above, None)
        if nearest is None:
            return next((("output", at) for at in _upwards(path) if self._is_head(at)), None)
        role, at = nearest
        return self._around_mlp(at) or nearest if role == "feed-forward" else nearest

    def _around_mlp(self, path: str) -> _Decision:
        """An MLP in a head belongs to the head, one directly in an embedding (`t_embedder.mlp`) to
        that; None for one that stands beside an attention, which is what its block is made of."""
        direct = True
        for at in _upwards(path):
            if self._is_head(at):
                return "output", at
            if at != path and direct:
                if self._role_by_name(at) == "embedding":
                    return "embedding", at
                direct = self.modules[at].type in words.CONTAINERS
            if self.modules[_above(at)].attends:
                return None
        return None

    def _is_head(self, path: str) -> bool:
        module = self.modules[path]
        # `fc` beside `fc1` is one of several.
        names = self.modules[""].children
        is_numbered = any(n.rstrip("0123456789") == module.name != n for n in names)
        at_top = not _above(path) and not is_numbered
        return (
            words.is_output_name(module.name, at_top)
            or words.OUTPUT_CLASS.search(module.type) is not None
        )

    @cached_method
    def _role_by_name(self, path: str) -> Role | None:
        """The role of a module, and of the layers inside it, by its class and name."""
        module = self.modules[path]
        name, name_words = module.name, set(words.words_of(module.name))
        gate = words.GATES & {*words.words_of(module.type), *name_words}
        if words.FEED_FORWARD_CLASS.search(module.type):
            return "feed-forward"
        if words.ATTENTION_CLASS.search(module.type):
            return None if gate else "attention"
        if words.CELL_CLASS.search(module.type) or words.STATE_MATRIX in module.shapes:
            return "recurrent"
        if not path:  # its name is unknown, and that of a whole model says little
            return None
        if words.RECURRENT_LAYER.search(module.type):
            return "recurrent"
        if words.EMBEDDING_CLASS.search(module.type) or words.embeds(name):
            return "embedding"
        if name_words & words.ATTENTION_WORDS or name.lower() in words.PROJECTIONS:
            return None if gate else "attention"
        forward = name_words & words.FEED_FORWARD_WORDS or {"feed", "forward"} <= name_words
        return "feed-forward" if forward or self._is_paired(module) else None

    def _is_paired(self, module: _Module) -> bool:
        """Whether it is a layer of the feed-forward of the block that holds it: one of two whose
        weights are of transposed shapes, and that stand beside an attention or widen and narrow
        again (the two layers of a gate narrow first)."""
        block = self.modules[_above(module.path)]
        children = block.children
        for pair in words.PAIRS:
            if module.name in pair and set(pair) <= children.keys():
                # BERT's two layers are held by modules of their own, beside a norm.
                layers = (children[name] for name in pair)
                up, down = (layer.children.get("dense", layer).weight for layer in layers)
                if _transposed(up, down) and (up[0] > up[1] or block.attends):
                    return True
        if block.type != "Sequential" or module.type != "Linear":
            return False
        linear = [layer.weight for layer in children.values() if layer.type == "Linear"]
        return len(linear) == 2 and _transposed(*linear) and linear[0][0] > linear[0][1]


def _is_dense(module: _Module) -> bool:
    return "Linear" in module.type and not module.children and len(module.weight) == 2


def _above(path: str) -> str:
    return path.rpartition(".")[0]


def _upwards(path: str) -> Iterator[str]:
    """A module's path and those above it, without the root."""
    while path:
        yield path
        path = _above(path)


def _transposed(up: tuple[int, ...], down: tuple[int, ...]) -> bool:
    return len(up) == 2 and up == down[::-1]
