"""What a script does to a model after the call that makes it: `model.fc = nn.Linear(…)`,
`add_adapters(model)`, `net.build(50)`."""

from __future__ import annotations

import ast
import copy
import re
from typing import TYPE_CHECKING

from msgspec import Struct

from nparam_lint.discover.syntax import FUNCTIONS, dotted_name
from nparam_lint.evidence.arguments import arguments_of
from nparam_lint.evidence.statements import NoWay, calls_in, does_work, loads, stores
from nparam_lint.ground.script_words import WITH_CHANGES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nparam_lint.evidence.file_calls import FileCalls
    from nparam_lint.evidence.places import Place
    from nparam_lint.ground.notation import Target

_DEEP = 3  # functions of functions
# Methods that leave a model's parameters as they are, and give it back.
_KEEPS = frozenset("to cuda cpu eval train float half bfloat16 double type requires_grad_".split())
# Methods of modules, and of timm and transformers, that give a model other parts.
_METHODS = re.compile(
    r"(add_module|register_module|register_parameter|append|insert|extend|set_submodule|"
    r"reset_classifier|resize_token_embeddings|add_adapter)$"
)
_NO_PART = re.compile(r"\.(optim|utils|distributed|cuda)\.|Loss$|Parallel$|(^|\.)Tensor$")
_BLOCKS = ast.If, ast.For, ast.With, ast.Try


class LaterChanges(Struct, frozen=True):
    """A function that makes them, and where the first one stands."""

    function: ast.FunctionDef
    at: str


def later_changes(calls: FileCalls, place: Place, target: Target) -> LaterChanges | None:
    """The changes of the model that a call makes, as far as its name goes on to be the model."""
    finder = _Finder(calls, target)
    model, body = finder.after(place)
    kept = finder.kept(body, model, set()) if model else []
    if not finder.lines:
        return None
    name = model.rpartition(".")[2]
    returned = ast.Return(ast.Name(name, ast.Load()))
    parameters = ast.arguments([], [ast.arg(name)], None, [], [], None, [])
    body = [_Renamed(model, name).visit(copy.deepcopy(node)) for node in kept]
    function = ast.FunctionDef(WITH_CHANGES, parameters, [*body, returned], [])
    at = f"{calls.path}:{min(finder.lines)}"
    return LaterChanges(ast.fix_missing_locations(function), at)


class _Renamed(ast.NodeTransformer):
    """Calls `self.net` by a name."""

    def __init__(self, model: str, name: str) -> None:
        self.model, self.name = model, name

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if dotted_name(node) == self.model:
            return ast.Name(self.name, node.ctx)
        self.generic_visit(node)
        return node


class _Finder:
    """Finds them in the statements after a call of `target`, and keeps their lines."""

    def __init__(self, calls: FileCalls, target: Target) -> None:
        self.calls, self.target = calls, target
        self.lines: list[int] = []

    def after(self, place: Place) -> tuple[str, list[ast.stmt]]:
        """What the model is called after the statement of the call, "" where that gives it no name;
        and the statements that follow, up to the end of the function. What the statement itself
        does with the model comes first: `net = Net(8).build(50)`."""
        statement = place.statement
        value: ast.expr | None = getattr(statement, "value", None)
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id=model)]) | ast.AnnAssign(target=ast.Name(id=model))
            ):
                pass
            case ast.Assign(targets=[ast.Attribute(ast.Name("self"), attribute)]):
                model = f"self.{attribute}"
            case ast.Return():
                model = "model"
            case _:
                return "", []
        # The statement itself, with the model in the place of the call: mostly no more than a name.
        assert value is not None
        of_model = copy.deepcopy(value, {id(place.call): _named(model, ast.Load())})
        first = ast.copy_location(ast.Assign([_named(model, ast.Store())], of_model), statement)
        body: list[ast.stmt] = [] if dotted_name(of_model) == model else [first]
        for frame in reversed(place.frames):
            body += frame.body[frame.index + 1 :]
            if isinstance(frame.owner, (*FUNCTIONS, ast.ClassDef)):
                break
        return model, body

    def kept(self, body: Sequence[ast.stmt], model: str, need: set[str]) -> list[ast.stmt]:
        """Of these statements the ones that change the model, up to where the name is that of
        something else, and what they need of the others. `need`: see `StatementSlice`."""
        ends = (n for n, node in enumerate(body) if self.ends(node, model))
        reached = body[: next(ends, len(body))]
        kept: list[ast.stmt] = []
        for node in reversed(reached):
            if isinstance(node, _BLOCKS):
                kept = self.of_block(node, model, need) + kept
                continue
            if self.is_change(node, model):
                self.lines.append(node.lineno)
            elif model in stores(node) or not stores(node) & need:
                continue
            need -= stores(node)
            need |= loads(node)
            kept = [node, *kept]
        return kept

    def of_block(self, node: ast.stmt, model: str, need: set[str]) -> list[ast.stmt]:
        """The same of a statement with others in it, which may not run."""
        whole = copy.copy(node)
        names = [name for name in ("body", "orelse") if getattr(node, name, None)]
        bodies: list[list[ast.stmt]] = []
        for name in names:
            inner = set(need)
            bodies.append(self.kept(getattr(node, name), model, inner))
            need |= inner if bodies[-1] else set()
        if not any(bodies):
            return []
        if not isinstance(whole, (ast.If, ast.For)):
            return [item for body in bodies for item in body]
        for name, body in zip(names, bodies, strict=True):
            setattr(whole, name, body or ([ast.Pass()] if name == "body" else []))
        need |= loads(whole.test if isinstance(whole, ast.If) else whole.iter)
        return [whole]

    def ends(self, node: ast.stmt, model: str) -> bool:
        """Whether the name is given to something else, or to what wraps the model."""
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)) or model not in stores(node):
            return False
        if isinstance(node, ast.For):
            return model in stores(node.target)
        if not isinstance(node, ast.Assign):
            return not isinstance(node, _BLOCKS)
        call = node.value
        method = call.func if isinstance(call, ast.Call) else None
        is_same = isinstance(method, ast.Attribute) and dotted_name(method.value) == model
        is_compiled = dotted_name(method).endswith("compile") if method else False
        return not (is_same or is_compiled or self.is_change(node, model))

    def is_change(self, node: ast.stmt, model: str) -> bool:
        """Whether a statement gives the model other parts."""
        match node:
            case ast.Assign(targets=[ast.Attribute() as place], value=value):
                if not f"{dotted_name(place)}.".startswith(f"{model}."):
                    return _root(place) == model and self.makes_part(value)
                if dotted_name(place) == model:
                    return isinstance(value, ast.Call) and self.changes(value, model)
                is_tied = place.attr == "weight" and _root(value) == model
                return is_tied or self.makes_part(value)
            case ast.Assign(targets=[ast.Subscript() as place], value=value):
                return _root(place) == model and self.makes_part(value)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call):
                return name == model and self.changes(call, model)
            case ast.Expr(value=ast.Call() as call):
                return self.changes(call, model)
            case ast.Delete(targets=[place]):
                return _root(place) == model != dotted_name(place)
        return False

    def changes(self, call: ast.Call, model: str) -> bool:
        """Whether a call does: of a method of the model, or of a function that gets it."""
        if isinstance(call.func, ast.Attribute) and _root(call.func.value) == model:
            method = call.func.attr
            if dotted_name(call.func.value) == model and method not in _KEEPS:
                function = self.method(method)
                if function and self.changes_inside(self.target.location, function, 0):
                    return True
            is_part = any(map(self.makes_part, call.args)) or method.startswith("re")
            return bool(_METHODS.match(method)) and (is_part or not call.args)
        return self.is_handed_on(self.calls, call, model, 0)

    def method(self, name: str) -> ast.FunctionDef | None:
        """A method of the class that is built."""
        text = self.calls.search.file_calls(self.target.location).text
        owner = text.definitions.get(self.target.callable)
        method = text.methods(owner).get(name) if isinstance(owner, ast.ClassDef) else None
        return method if isinstance(method, ast.FunctionDef) else None

    def is_handed_on(self, calls: FileCalls, call: ast.Call, model: str, depth: int) -> bool:
        """Whether a function of the project gets the model in this call, and changes it."""
        name = dotted_name(call.func)
        if not name or does_work(name) or not calls.is_bound(name) or depth == _DEEP:
            return False
        symbol = calls.resolve(name)
        if symbol is None or symbol.kind != "function":
            return False
        text = calls.search.file_calls(symbol.where).text
        function = text.definitions.get(symbol.name)
        if not isinstance(function, ast.FunctionDef):
            return False
        try:
            arguments = arguments_of(function, call, is_method=False)
        except NoWay:
            return False
        roots = set(map(_root, arguments.values()))
        is_given = model in roots if depth == 0 else any(roots)  # a part of it has any name
        return is_given and self.changes_inside(symbol.where, function, depth)

    def changes_inside(self, path: str, function: ast.FunctionDef, depth: int) -> bool:
        """Whether a function puts parts into what it gets, or into what it has found in that."""
        calls = self.calls.search.file_calls(path)
        finder = _Finder(calls, self.target)
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
                if finder.makes_part(node.value):
                    return True
            elif isinstance(node, ast.Call):
                name = dotted_name(node.func)
                if name == "setattr" or _METHODS.match(name.rpartition(".")[2]):
                    if any(map(finder.makes_part, node.args)):
                        return True
                elif self.is_handed_on(calls, node, "", depth + 1):
                    return True
        return False

    def makes_part(self, value: ast.expr) -> bool:
        """Whether this makes a module or a parameter."""
        return any(self.is_part(dotted_name(call.func)) for call in calls_in(value))

    def is_part(self, name: str) -> bool:
        symbol = self.calls.resolve(name) if name and self.calls.is_bound(name) else None
        if symbol is None or _NO_PART.search(symbol.name):
            return False
        models = self.calls.search.discovery.models
        is_parameter = symbol.kind == "outside" and symbol.name.endswith(".Parameter")
        return is_parameter or models.is_model(symbol) or models.makes_model(symbol)


def _root(node: ast.AST) -> str:
    """`model` of `model.layers[0].fc`; of what begins with `self`, `self.model`."""
    names: list[str] = []
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        names += [node.attr] if isinstance(node, ast.Attribute) else []
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return f"self.{names[-1]}" if node.id == "self" and names else node.id


def _named(model: str, context: ast.expr_context) -> ast.expr:
    head, _, attribute = model.rpartition(".")
    if head:
        return ast.Attribute(ast.Name(head, ast.Load()), attribute, context)
    return ast.Name(model, context)
