"""The modules of a model, and the role that each gives to the parameters inside it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Literal

from nparam_lint.analysis.roles import role_words as words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nparam_lint.records import ModuleRow, ParameterRow

Role = Literal[
    "embedding",
    "attention",
    "feed-forward",
    "recurrent",
    "convolution",
    "norm",
    "output",
    "other",
]


@dataclass(slots=True)
class _Module:
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
                above.children[module.name] = module
                above.attends = above.attends or _is_attention(module)
        for parameter in parameters:
            path, _, name = parameter.name.rpartition(".")
            self._layer(path).shapes[name] = parameter.shape
        self._says = cache(self._own_role)

    def _layer(self, path: str) -> _Module:
        """The layer that has a parameter: a reparametrised one keeps it in a part of its own."""
        layer, inner, _ = path.partition(".parametrizations.")
        return self.modules[layer if inner and layer in self.modules else path]

    def is_embedding(self, name: str) -> bool:
        """Whether the parameter of this name belongs to an embedding layer."""
        module = self._layer(name.rpartition(".")[0])
        return words.EMBEDDING_CLASS.search(module.type) is not None

    def role_of(self, row: ParameterRow) -> tuple[Role, str]:
        """The role, and what decided. What is tied to an embedding is an embedding."""
        for name in (row.name, *row.also):
            if self.is_embedding(name):
                return "embedding", f"held by {self._layer(name.rpartition('.')[0]).type}"
        path, _, name = row.name.rpartition(".")
        module = self._layer(path)
        own = self._by_layer(module, name)
        if own is not None:
            return own
        if words.embeds_directly(name):
            return "embedding", f"called {name}"
        if name in words.OUTPUT_NAMES:
            return "output", f"called {name}"
        decided = self._decided(module.path)
        convolution = self._convolution(module)
        if convolution and not (decided and self._reaches(module, *decided, convolution)):
            return "convolution", f"held by {module.type}"
        if decided is None:
            return "other", ""
        role, path = decided
        if path != module.path:
            return role, f"in {path or '(root)'}, {self.modules[path].type}"
        return role, "beside its counterpart" if self._is_paired(module) else "by its name or class"

    def _by_layer(self, module: _Module, name: str) -> tuple[Role, str] | None:
        """What the class of the layer itself says, or the shapes that it holds."""
        if module.embedding and not module.children:
            linear = "Linear" in module.type or "Conv" in module.type
            if linear or words.is_output_name(module.name, True):
                return "output", "turns states into tokens"
            return "embedding", f"held by {module.type}"
        if module.type in words.TORCH_NORMS:
            return "norm", f"held by {module.type}"
        if all(math.prod(shape) == max(shape, default=1) for shape in module.shapes.values()):
            named = (
                set(words.words_of(module.name)) & words.NORM_WORDS and "Linear" not in module.type
            )
            if words.NORM_CLASS.search(module.type) or named:
                return "norm", f"held by {module.type}"
        recurrent = words.RECURRENT_CLASS.fullmatch(module.type) or words.CELL_CLASS.search(
            module.type
        )
        if recurrent or words.RECURRENT_PARAMETER.match(name):
            return "recurrent", f"held by {module.type}"
        return None

    def _convolution(self, module: _Module) -> Literal["", "pointwise", "spatial"]:
        if words.CONVOLUTION_CLASS.search(module.type) is None and not (
            "Conv" in module.type and len(module.weight) > 2
        ):
            return ""
        return "pointwise" if set(module.weight[2:]) == {1} else "spatial"

    def _reaches(self, module: _Module, role: Role, place: str, convolution: str) -> bool:
        """Whether a convolution is part of what is around it: pointwise ones are the Linear layers
        of an attention or a feed-forward; those that cut patches stand in the embedding alone."""
        if role in ("attention", "feed-forward"):
            return convolution == "pointwise"
        if role != "embedding":
            return False
        between = _above(module.path) if module.path != place else place
        while len(between) > len(place) and self.modules[between].type in words.CONTAINERS:
            between = _above(between)
        return between == place

    # --- what is around a layer ---------------------------------------------------------------

    def _decided(self, path: str) -> _Decision:
        """What the nearest module at or above `path` says that says anything."""
        inner = self._nearest(path)
        if inner is None:
            return next((("output", at) for at in _upwards(path) if self._is_head(at)), None)
        return self._around_mlp(inner[1]) or inner if inner[0] == "feed-forward" else inner

    def _nearest(self, path: str) -> _Decision:
        above = ((role, at) for at in (*_upwards(path), "") if (role := self._says(at)))
        return next(above, None)

    def _around_mlp(self, path: str) -> _Decision:
        """An MLP in a head belongs to the head, one directly in an embedding (`t_embedder.mlp`) to
        that; None for one that stands beside an attention, which is what its block is made of."""
        direct = True
        for at in _upwards(path):
            if self._is_head(at):
                return "output", at
            if at != path and direct:
                if self._says(at) == "embedding":
                    return "embedding", at
                direct = self.modules[at].type in words.CONTAINERS
            if self.modules[_above(at)].attends:
                return None
        return None

    def _is_head(self, path: str) -> bool:
        module = self.modules[path]
        at_top = not _above(path) and not self._is_numbered(module)
        return (
            words.is_output_name(module.name, at_top)
            or words.OUTPUT_CLASS.search(module.type) is not None
        )

    def _is_numbered(self, module: _Module) -> bool:
        """Whether it is one of several of its name: `fc` beside `fc1`."""
        names = self.modules[""].children
        return any(name.rstrip("0123456789") == module.name != name for name in names)

    def _own_role(self, path: str) -> Role | None:
        """The role of a module, and of the layers inside it, by its class and name."""
        module = self.modules[path]
        name, own = module.name, set(words.words_of(module.name))
        gate = words.GATES & {*words.words_of(module.type), *own}
        if words.FEED_FORWARD_CLASS.search(module.type):
            return "feed-forward"
        if words.ATTENTION_CLASS.search(module.type):
            return None if gate else "attention"
        if words.CELL_CLASS.search(module.type):
            return "recurrent"
        if not path:  # its name is unknown, and that of a whole model says little
            return None
        if words.RECURRENT_LAYER.search(module.type):
            return "recurrent"
        if words.EMBEDDING_CLASS.search(module.type) or words.embeds(name):
            return "embedding"
        if own & words.ATTENTION_WORDS or name.lower() in words.PROJECTIONS:
            return None if gate else "attention"
        forward = own & words.FEED_FORWARD_WORDS or {"feed", "forward"} <= own
        return "feed-forward" if forward or self._is_paired(module) else None

    def _is_paired(self, module: _Module) -> bool:
        """Whether it is a layer of the feed-forward of the block that holds it: one of two whose
        weights are of transposed shapes, and that stand beside an attention or widen and narrow
        again (the two layers of a gate narrow first)."""
        block = self.modules[_above(module.path)]
        named = block.children
        for pair in words.PAIRS:
            if module.name in pair and set(pair) <= set(named):
                # BERT's two layers are held by modules of their own, beside a norm.
                layers = (named[part].children.get("dense", named[part]) for part in pair)
                up, down = (layer.weight for layer in layers)
                if _transposed(up, down) and (up[0] > up[1] or block.attends):
                    return True
        if block.type != "Sequential" or module.type != "Linear":
            return False
        linear = [child.weight for child in named.values() if child.type == "Linear"]
        return len(linear) == 2 and _transposed(*linear) and linear[0][0] > linear[0][1]


def _is_attention(module: _Module) -> bool:
    named = set(words.words_of(module.name)) & words.ATTENTION_WORDS
    return bool(named) or words.ATTENTION_CLASS.search(module.type) is not None


def _above(path: str) -> str:
    return path.rpartition(".")[0]


def _upwards(path: str) -> Iterator[str]:
    """A module's path and those above it, without the root."""
    while path:
        yield path
        path = _above(path)


def _transposed(up: tuple[int, ...], down: tuple[int, ...]) -> bool:
    return len(up) == 2 and up == down[::-1]
