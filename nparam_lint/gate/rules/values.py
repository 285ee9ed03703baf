"""What an expression creates: a module, a parameter, or a container of these. Precision before
recall: only what is certainly one of them counts."""

from __future__ import annotations

import ast
from functools import cache
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from nparam_lint.discover.name_resolution import is_factory, is_module
from nparam_lint.discover.source_tree import cached_method, cyclic_method
from nparam_lint.discover.syntax import FUNCTIONS, SAME_MODULE
from nparam_lint.gate.rules.nodes import arguments, is_constant, nodes, plain_name, unstarred
from nparam_lint.ground.patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nparam_lint.discover.name_resolution import Symbol
    from nparam_lint.gate.rules.source_file import Method, SourceFile

# A plain container: list, tuple, set or dict, and the expressions for what is in it; a starred or
# copied one stands for what is in that.
Box = tuple[str, list[ast.expr]]

_PARAMETER = late_pattern(r"torch\.nn\.(parameter\.)?(Uninitialized)?Parameter$")
# The layers of torch.nn that always have parameters, and those that can be configured to have none.
_WEIGHTY = late_pattern(
    r"torch\.nn\.(?:modules\.\w+\.)?(?:(?P<always>(?:Lazy)?(?:Linear|Conv(?:Transpose)?[123]d)"
    r"|Bilinear|Embedding|EmbeddingBag|RNN|LSTM|GRU|RNNCell|LSTMCell|GRUCell|MultiheadAttention"
    r"|Transformer(?:(?:En|De)coder(?:Layer)?)?|PReLU|AdaptiveLogSoftmaxWithLoss)"
    r"|(?P<affine>(?:Lazy)?BatchNorm[123]d|SyncBatchNorm|GroupNorm|LayerNorm|RMSNorm))$"
)
_CONTAINER = late_pattern(
    r"torch\.nn\.(?:modules\.container\.)?(?:Sequential|ModuleList|ModuleDict)$"
)
# They change the module that is their first argument, and give it back.
_WRAPPER = late_pattern(
    r"torch\.(?:compile|jit\.script|nn\.utils\.(?:\w+\.)*(?:weight_norm|spectral_norm|orthogonal))$"
)
_BOXES = {"frozenset": "set", "OrderedDict": "dict", "deque": "list"} | {
    name: name for name in ("list", "tuple", "set", "dict")
}


class Made(Struct, frozen=True):
    """`name`: as written, `nn.Linear`. `weighty`: it surely has parameters. `frozen`: its gradients
    were turned off or it was put into evaluation mode as it was made: it is meant to be fixed."""

    kind: Literal["module", "parameter"]
    name: str
    weighty: bool
    frozen: bool = False


class Values:
    """Answers for the expressions of one file."""

    def __init__(self, file: SourceFile) -> None:
        self.file = file

    def made(self, node: ast.AST, method: Method) -> Made | None:
        """The module or parameter that evaluating `node` creates. `method`: where it stands."""
        if isinstance(node, ast.Call):
            return self._called(node, method)
        if isinstance(node, ast.IfExp):
            return self._either((node.body, node.orelse), method)
        if isinstance(node, ast.BoolOp):
            return self._either(node.values, method)
        return self.made(node.value, method) if isinstance(node, ast.NamedExpr) else None

    @cyclic_method(False)  # it may contain itself
    def has_parameters(self, qualname: str) -> bool:
        """Does a class of the file, or one of its bases in it, surely have parameters?"""
        return any(
            creation is not None and creation.weighty
            for member in self.file.family(qualname)
            for method in member.methods.values()
            if not method.runs_forward
            for node in method.calls
            for creation in (self._called(node, method),)
        )

    # --- calls --------------------------------------------------------------------------------

    def _either(self, choices: Sequence[ast.expr], method: Method) -> Made | None:
        creations = filter(None, (self.made(node, method) for node in choices))
        return max(creations, key=lambda creation: creation.weighty, default=None)

    def _called(self, node: ast.Call, method: Method) -> Made | None:
        function = node.func
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Call):
            if function.attr not in SAME_MODULE:
                return None
            inner = self.made(function.value, method)
            fixed = function.attr == "eval" or is_constant(
                _argument(node, 0, "requires_grad"), False
            )
            return replace(inner, frozen=True) if inner and fixed else inner
        if attribute := method.attribute(function):
            callee = method.sibling(attribute)
            return self._returned(callee) if callee and not callee.node.decorator_list else None
        name = plain_name(function)
        symbol = self.file.resolve(name)
        if symbol is None:
            return None
        creation = (
            self._from_outside(node, name, method)
            if symbol.kind == "outside"
            else self._from_file(symbol, name)
        )
        # A name that the function binds itself hides the file's; `nn` always means torch.nn.
        head = name.partition(".")[0]
        if creation is None or head in ("nn", "torch"):
            return creation
        return None if head in method.bindings else creation

    def _from_outside(self, node: ast.Call, name: str, method: Method) -> Made | None:
        kind = _kind_outside(self.file.outside(name))
        if kind is None:
            return None
        if kind == "parameter":
            fixed = is_constant(_argument(node, 1, "requires_grad"), False)
            return Made("parameter", name, weighty=True, frozen=fixed)
        values = [value for _, value in arguments(node)]
        if kind == "wrapper":
            return self.made(values[0], method) if values else None
        weighty = kind == "weighty" or (kind == "affine" and _is_affine(node))
        if kind == "container":
            weighty = any(self._holds(value, method) for value in values)
        return Made("module", name, weighty)

    def _holds(self, node: ast.expr, method: Method) -> bool:
        creation = self.made(node, method)
        if creation is not None:
            return creation.weighty
        if isinstance(node, ast.GeneratorExp):
            return self._holds(node.elt, method)
        box = self.box(node)
        return box is not None and any(self._holds(item, method) for item in box[1])

    def _from_file(self, symbol: Symbol, name: str) -> Made | None:
        if symbol.kind == "class" and symbol.name in self.file.modules:
            return Made("module", name, self.has_parameters(symbol.name))
        if symbol.kind == "function":
            facts = self.file.function(symbol)
            makes = [self._makes_weights(callee) for callee in facts.returned]
            if makes and all(makes) and not facts.hands_back and not facts.decorators:
                return Made("module", facts.returned[0], weighty=True)
        return None

    def _makes_weights(self, callee: str) -> bool:
        """Does calling this class always make a module with parameters?"""
        if self.file.outside(callee):
            return _WEIGHTY.match(self.file.outside(callee)) is not None
        symbol = self.file.resolve(callee)
        creation = self._from_file(symbol, callee) if symbol and symbol.kind == "class" else None
        return creation is not None and creation.weighty

    @cyclic_method(None)  # it may call itself
    def _returned(self, method: Method) -> Made | None:
        """What a method makes, where all that it returns is made in place."""
        creations = [
            None if node.value is None else self.made(node.value, method)
            for node in nodes(method.node.body, skip=(*FUNCTIONS, ast.Lambda))
            if isinstance(node, ast.Return)
        ]
        if not all(creation is not None and creation.weighty for creation in creations):
            return None
        return creations[0] if creations else None

    # --- containers ---------------------------------------------------------------------------

    def box(self, node: ast.AST, method: Method | None = None) -> Box | None:
        """The plain container that evaluating `node` creates. `method`: where it stands, if local
        variables that are always one are to be followed."""
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            return type(node).__name__.lower(), [unstarred(item) for item in node.elts]
        if isinstance(node, (ast.ListComp, ast.SetComp)):
            return "list" if isinstance(node, ast.ListComp) else "set", [node.elt]
        if isinstance(node, (ast.Dict, ast.DictComp)):
            return "dict", node.values if isinstance(node, ast.Dict) else [node.value]
        if isinstance(node, ast.BinOp):
            return self._joined(node)
        if isinstance(node, ast.IfExp):
            return self.box(node.body) or self.box(node.orelse)
        if isinstance(node, ast.Call):  # `list(X)`, `dict(a=X)`, `OrderedDict([(name, X)])`
            symbol = self.file.resolve(plain_name(node.func))
            full = symbol.name if symbol is not None and symbol.kind == "outside" else ""
            kind = _BOXES.get(full.removeprefix("collections."))
            values = (value for _, value in arguments(node))
            items = [v.elt if isinstance(v, ast.GeneratorExp) else v for v in values]
            return None if kind is None else (kind, items)
        return self._variable(node.id, method) if isinstance(node, ast.Name) and method else None

    def _joined(self, node: ast.BinOp) -> Box | None:
        if not isinstance(node.op, (ast.Mult, ast.Add, ast.BitOr)):
            return None
        boxes = self.box(node.left), self.box(node.right)
        first = boxes[0] or boxes[1]
        if first is None or isinstance(node.op, ast.Mult):
            return first
        sides = zip(boxes, (node.left, node.right), strict=True)
        return first[0], [item for box, side in sides for item in (box[1] if box else [side])]

    def _variable(self, name: str, method: Method) -> Box | None:
        if name in method.parameters:
            return None
        bound = method.bindings.get(name, [])
        boxes = [box for value in bound if value is not None and (box := self.box(value))]
        if not boxes or len(boxes) < len(bound):
            return None
        items = [item for box in boxes for item in box[1]]
        return boxes[0][0], [*items, *method.puts.get(name, [])]

    def fresh(
        self, value: ast.expr, method: Method, inside: frozenset[str] = frozenset()
    ) -> Made | None:
        """The module or parameter that was created only for the container that `value` is or is put
        into, and that certainly has parameters. `inside`: the local variables whose values are
        looked at already."""
        if not isinstance(value, ast.Name):
            creation = self.made(value, method)
            if creation is not None:
                return creation if creation.weighty and not creation.frozen else None
            return self._first_fresh(self.box(value), method, inside)
        if value.id in inside:  # `layers = layers + [layer]`
            return None
        return self._fresh_in(value.id, method, inside | {value.id})

    @cached_method
    def _fresh_in(self, name: str, method: Method, inside: frozenset[str]) -> Made | None:
        if method.flow.handed_over(name) > 1:  # to more than the one place that is looked at
            return None
        box = self._variable(name, method)
        if box is not None:
            return self._first_fresh(box, method, inside)
        bound = method.bindings.get(name, [])
        fresh = [m for v in bound if v is not None and (m := self.fresh(v, method, inside))]
        return fresh[0] if fresh and len(fresh) == len(bound) else None

    def _first_fresh(self, box: Box | None, method: Method, inside: frozenset[str]) -> Made | None:
        items = box[1] if box else ()
        return next(
            (creation for item in items if (creation := self.fresh(item, method, inside))), None
        )


@cache
def _kind_outside(full: str) -> str | None:
    """What calling this of an installed package makes; None: nothing that is known."""
    if _PARAMETER.match(full):
        return "parameter"
    if _WRAPPER.match(full):
        return "wrapper"
    if _CONTAINER.match(full):
        return "container"
    if is_factory(full) and full != "torch.hub.load":
        return "weighty"
    if not (full.startswith("torch.nn.") and is_module(full)):
        return None
    weight = _WEIGHTY.match(full)
    if weight is None:
        return "module"
    return "weighty" if weight["always"] else "affine"


def _is_affine(node: ast.Call) -> bool:
    """Does this call of a normalisation leave it its weight and bias?"""
    positional = [value for keyword, value in arguments(node) if keyword is None]
    return (
        all(is_constant(v, True) for keyword, v in arguments(node) if "affine" in (keyword or ""))
        and len(positional) <= 3
        and not any(is_constant(value, False) for value in positional)
    )


def _argument(node: ast.Call, index: int, keyword: str) -> ast.expr | None:
    """The argument of that keyword, or else at that place."""
    positional = [item for item in node.args if not isinstance(item, ast.Starred)]
    values = [item.value for item in node.keywords if item.arg == keyword]
    return values[0] if values else positional[index] if index < len(positional) else None
