"""What an expression makes: a module, a parameter, a container of such. Precision before recall:
what is not surely one of them is none."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import libcst as cst

from nparam_lint.discover.installed_names import is_factory
from nparam_lint.rules.classes import dotted_name
from nparam_lint.rules.walk import nodes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nparam_lint.discover.name_resolution import Symbol
    from nparam_lint.rules.classes import Class, Method
    from nparam_lint.rules.source import SourceFile

Box = Literal["list", "tuple", "set", "dict"]

_PARAMETER = re.compile(r"torch\.nn\.(parameter\.)?(Uninitialized)?Parameter$")
# The layers of torch.nn that always have parameters, and those that can be told to have none.
_WEIGHTY = re.compile(
    r"torch\.nn\.(?:modules\.\w+\.)?(?:(?P<always>(?:Lazy)?(?:Linear|Conv(?:Transpose)?[123]d)"
    r"|Bilinear|Embedding|EmbeddingBag|RNN|LSTM|GRU|RNNCell|LSTMCell|GRUCell|MultiheadAttention"
    r"|Transformer(?:(?:En|De)coder(?:Layer)?)?|PReLU|AdaptiveLogSoftmaxWithLoss)"
    r"|(?P<affine>(?:Lazy)?BatchNorm[123]d|SyncBatchNorm|GroupNorm|LayerNorm|RMSNorm))$"
)
_CONTAINER = re.compile(
    r"torch\.nn\.(?:modules\.container\.)?(?:Sequential|ModuleList|ModuleDict)$"
)
# They change the module that is their first argument, and give it back.
_WRAPPER = re.compile(
    r"torch\.(?:compile|jit\.script|nn\.utils\.(?:\w+\.)*(?:weight_norm|spectral_norm|orthogonal))$"
)
_SAME_MODULE = frozenset(
    """
    apply bfloat16 compile cpu cuda double eval float half requires_grad_ to to_empty train type
    """.split()
)
_BOXES: dict[str, Box] = {
    "list": "list",
    "tuple": "tuple",
    "set": "set",
    "frozenset": "set",
    "dict": "dict",
    "OrderedDict": "dict",
    "collections.OrderedDict": "dict",
    "deque": "list",
    "collections.deque": "list",
}


@dataclass(frozen=True, slots=True)
class Made:
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
        self._weighty: dict[str, bool] = {}
        self._returned: dict[Method, Made | None] = {}

    def made(self, node: cst.CSTNode, method: Method | None) -> Made | None:
        """The module or parameter that evaluating `node` creates. `method`: where it stands."""
        if isinstance(node, cst.IfExp):
            return self._either((node.body, node.orelse), method)
        if isinstance(node, cst.BooleanOperation):
            return self._either((node.left, node.right), method)
        if isinstance(node, cst.NamedExpr):
            return self.made(node.value, method)
        return self._called(node, method) if isinstance(node, cst.Call) else None

    def box(self, node: cst.CSTNode) -> tuple[Box, Sequence[cst.BaseExpression]] | None:
        """The plain container that evaluating `node` creates, and the expressions for what is in
        it; a starred or copied one stands for what is in that."""
        if isinstance(node, (cst.List, cst.Tuple, cst.Set)):
            kind: Box = "list" if isinstance(node, cst.List) else "tuple"
            kind = "set" if isinstance(node, cst.Set) else kind
            return kind, [item.value for item in node.elements]
        if isinstance(node, cst.Dict):
            return "dict", [item.value for item in node.elements]
        if isinstance(node, (cst.ListComp, cst.SetComp)):
            return "list" if isinstance(node, cst.ListComp) else "set", [node.elt]
        if isinstance(node, cst.DictComp):
            return "dict", [node.value]
        if isinstance(node, cst.BinaryOperation):
            return self._joined(node)
        if isinstance(node, cst.IfExp):
            return self.box(node.body) or self.box(node.orelse)
        if isinstance(node, cst.Call):
            return self._boxed(node)
        return None

    def has_parameters(self, owner: Class) -> bool:
        """Does a class of the file, or one of its bases in it, surely have parameters?"""
        name = owner.qualname
        if name not in self._weighty:
            self._weighty[name] = False  # until the body says otherwise: it may contain itself
            self._weighty[name] = any(
                made is not None and made.weighty
                for member in self.file.family(name)
                for method in member.methods.values()
                if not method.runs_forward
                for node in nodes(method.node.body)
                if isinstance(node, cst.Call)
                for made in (self._called(node, method),)
            )
        return self._weighty[name]

    # --- calls --------------------------------------------------------------------------------

    def _either(self, choices: Sequence[cst.CSTNode], method: Method | None) -> Made | None:
        found = [made for node in choices if (made := self.made(node, method)) is not None]
        return max(found, key=lambda made: made.weighty, default=None)

    def _called(self, node: cst.Call, method: Method | None) -> Made | None:
        function = node.func
        if isinstance(function, cst.Attribute) and isinstance(function.value, cst.Call):
            inner = self.made(function.value, method) if _same(function) else None
            fixed = function.attr.value == "eval" or _is_false(_argument(node, 0, "requires_grad"))
            return replace(inner, frozen=True) if inner and fixed else inner
        if method is not None and method.attribute(function):
            return self._by_method(method, method.attribute(function))
        name = dotted_name(function)
        head = name.partition(".")[0]
        symbol = self.file.resolve(name)
        # A name that the function binds itself hides the file's; nobody calls another thing `nn`.
        if symbol is None or (
            method is not None and head not in ("nn", "torch") and head in method.bindings
        ):
            return None
        if symbol.kind == "outside":
            return self._from_outside(node, name, method)
        return self._from_file(symbol, name)

    def _from_outside(self, node: cst.Call, name: str, method: Method | None) -> Made | None:
        full = self.file.outside(name)
        if _PARAMETER.match(full):
            fixed = _is_false(_argument(node, 1, "requires_grad"))
            return Made("parameter", name, weighty=True, frozen=fixed)
        if _WRAPPER.match(full):
            return self.made(node.args[0].value, method) if node.args else None
        if _CONTAINER.match(full):
            weighty = any(self._holds(item.value, method) for item in node.args)
            return Made("module", name, weighty)
        if is_factory(full) and full != "torch.hub.load":
            return Made("module", name, weighty=True)
        if not self.file.is_torch_module(name):
            return None
        weight = _WEIGHTY.match(full)
        weighty = weight is not None and bool(weight["always"] or _is_affine(node))
        return Made("module", name, weighty)

    def _holds(self, node: cst.BaseExpression, method: Method | None) -> bool:
        made = self.made(node, method)
        if made is not None:
            return made.weighty
        box = self.box(node)
        if box is None and isinstance(node, cst.GeneratorExp):
            return self._holds(node.elt, method)
        return box is not None and any(self._holds(item, method) for item in box[1])

    def _from_file(self, symbol: Symbol, name: str) -> Made | None:
        if symbol.kind == "class" and symbol.name in self.file.modules:
            owner = next((o for o in self.file.classes if o.qualname == symbol.name), None)
            return Made("module", name, owner is not None and self.has_parameters(owner))
        if symbol.kind == "function":
            facts = self.file.names.functions(self.file.path)[symbol.name]
            makes = [self._makes_weights(callee) for callee in facts.returned]
            if makes and all(makes) and not facts.hands_back and not facts.decorators:
                return Made("module", facts.returned[0], weighty=True)
        return None

    def _makes_weights(self, callee: str) -> bool:
        """Does calling this class always make a module with parameters?"""
        if self.file.outside(callee):
            return _WEIGHTY.match(self.file.outside(callee)) is not None
        symbol = self.file.resolve(callee)
        made = self._from_file(symbol, callee) if symbol and symbol.kind == "class" else None
        return made is not None and made.weighty

    def _by_method(self, method: Method, name: str) -> Made | None:
        """What `self.name(…)` makes, where all that the method returns is made in place."""
        callee = method.owner.methods.get(name)
        if callee is None or callee.node.decorators:
            return None
        if callee not in self._returned:
            self._returned[callee] = None  # until its body says otherwise: it may call itself
            returned = [
                None if node.value is None else self.made(node.value, callee)
                for node in nodes(callee.node.body, skip=(cst.FunctionDef, cst.Lambda))
                if isinstance(node, cst.Return)
            ]
            if returned and all(made is not None and made.weighty for made in returned):
                self._returned[callee] = returned[0]
        return self._returned[callee]

    # --- containers ---------------------------------------------------------------------------

    def _joined(self, node: cst.BinaryOperation) -> tuple[Box, list[cst.BaseExpression]] | None:
        if isinstance(node.operator, cst.Multiply):
            return next(filter(None, map(self.box, (node.left, node.right))), None)  # type: ignore[return-value]
        left, right = self.box(node.left), self.box(node.right)
        if not isinstance(node.operator, (cst.Add, cst.BitOr)) or not (left or right):
            return None
        kind = (left or right or ("list",))[0]
        return kind, [
            *(left[1] if left else [node.left]),
            *(right[1] if right else [node.right]),
        ]

    def _boxed(self, node: cst.Call) -> tuple[Box, list[cst.BaseExpression]] | None:
        """`list(X)`, `dict(a=X)`, `OrderedDict([(name, X)])`."""
        symbol = self.file.resolve(dotted_name(node.func))
        kind = _BOXES.get(symbol.name) if symbol is not None and symbol.kind == "outside" else None
        return None if kind is None else (kind, list(_given(node)))


def is_true(node: cst.CSTNode | None) -> bool:
    return isinstance(node, cst.Name) and node.value == "True"


def _is_affine(node: cst.Call) -> bool:
    """Does this call of a normalisation leave it its weight and bias?"""
    plain = [item.value for item in node.args if item.keyword is None]
    named = [item.value for item in node.args if item.keyword and "affine" in item.keyword.value]
    return all(map(is_true, named)) and len(plain) <= 3 and not any(map(_is_false, plain))


def _given(node: cst.Call) -> Iterator[cst.BaseExpression]:
    for item in node.args:
        yield item.value.elt if isinstance(item.value, cst.GeneratorExp) else item.value


def _is_false(node: cst.CSTNode | None) -> bool:
    return isinstance(node, cst.Name) and node.value == "False"


def _same(function: cst.Attribute) -> bool:
    return function.attr.value in _SAME_MODULE


def _argument(node: cst.Call, index: int, keyword: str) -> cst.BaseExpression | None:
    """The argument of that keyword, or else at that place."""
    for item in node.args:
        if item.keyword is not None and item.keyword.value == keyword:
            return item.value
    plain = [item.value for item in node.args if item.keyword is None and not item.star]
    return plain[index] if index < len(plain) else None
