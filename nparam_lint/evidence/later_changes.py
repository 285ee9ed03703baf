"""What a script does to a model after the call that makes it: `model.fc = nn.Linear(…)`,
`add_adapters(model)`, `net.build(50)`."""

from __future__ import annotations

import ast
import copy
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct

from nparam_lint.discover.name_resolution import Symbol
from nparam_lint.discover.syntax import FUNCTIONS, dotted_name
from nparam_lint.evidence.arguments import arguments_known
from nparam_lint.evidence.inheritance import Renamed, has_first
from nparam_lint.evidence.options import truth
from nparam_lint.evidence.statements import (
    assign,
    calls_in,
    does_work,
    ends_script,
    loads,
    stores,
    values_given,
)
from nparam_lint.ground.notation import Target
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.ground.script_words import WITH_CHANGES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nparam_lint.evidence.file_names import FileNames
    from nparam_lint.evidence.places import Place

_DEEP = 3  # functions of functions
# Methods that leave a model's parameters as they are, and give it back; and functions.
_KEEPS = frozenset("to cuda cpu eval train float half bfloat16 double type requires_grad_".split())
_WRAPS = late_pattern(r"(^|\.)(compile|convert_sync_batchnorm)$")
# Methods of modules, and of timm and transformers, that give a model other parts; of lists of
# them, that take some away; and functions of torch that change how a part keeps its weights.
_METHODS = late_pattern(
    r"(add_module|register_module|register_parameter|append|insert|extend|set_submodule|"
    r"reset_classifier|resize_token_embeddings|add_adapter)$"
)
_TAKES_AWAY = frozenset(("pop", "popitem", "clear", "__delitem__"))
_OF_TORCH = late_pattern(r"(weight_norm|spectral_norm|register_parametrization)$")
_NO_PART = late_pattern(r"\.(optim|utils|distributed|cuda)\.|Loss$|Parallel$|(^|\.)Tensor$")
_BLOCKS = ast.If, ast.For, ast.With, ast.Try, ast.While, ast.Match


class LaterChanges(Struct, frozen=True):
    """A function that makes them, and where the first one stands. `is_told`: it does not make all
    of them, as some are not made by statements here. `asked_for`: the options of which one has to
    have another value than its default, so that it makes any."""

    function: ast.FunctionDef
    at: str
    is_told: bool = False
    asked_for: frozenset[str] = frozenset()

    def made_to(self, call: str) -> str:
        """The call of a model, with the changes made to it."""
        return f"{self.function.name}({call})"

    def note(self, command: str, options: str) -> str:
        """What a way says that makes them, by a command, which may give any option, or with the
        `options` in these words; "" where it makes none."""
        is_asked = bool(command) or any(name in options for name in self.asked_for)
        is_made = is_asked or not self.asked_for
        return note_on_change(self.at, is_made=True) if is_made else ""


def note_on_change(at: str, *, is_made: bool = False) -> str:
    """What a way says of the place where the model is changed; `is_made`: the way does it, too."""
    return f"{'as' if is_made else 'before'} {at} changes the model"


def later_changes(calls: FileNames, place: Place, target: Target) -> LaterChanges | None:
    """The changes of the model that a call makes, as far as its name goes on to be the model."""
    finder = _Finder(calls, target)
    model, body = finder.after(place)
    statements = finder.changing(body, {model, *finder.others}, set()) if model else []
    lines_told = [*finder.told, *finder.before(place), *finder.in_other_methods(place)]
    if not (finder.lines or lines_told):
        return None
    at = f"{calls.path}:{min([*finder.lines, *lines_told])}"
    if finder.lines:  # with what is frozen then, which alone gives no other model
        finder.freezes = True
        statements = finder.changing(body, {model, *finder.others}, set())
    name = model.rpartition(".")[2] or "model"
    returned = ast.Return(ast.Name(name, ast.Load()))
    parameters = ast.arguments([], [ast.arg(name)], None, [], [], None, [])
    body = [Renamed({model: name}).visit(copy.deepcopy(node)) for node in statements]
    body = [*(assign(other, ast.Name(name, ast.Load())) for other in sorted(finder.others)), *body]
    function = ast.FunctionDef(WITH_CHANGES, parameters, [*body, returned], [])
    tests = [
        node.test
        for node in statements
        if isinstance(node, ast.If)
        and not node.orelse
        and truth(node.test, calls.text.options) is False
    ]
    attributes = (item for test in tests for item in ast.walk(test))
    names = {item.attr for item in attributes if isinstance(item, ast.Attribute)}
    asked_for = frozenset(names if len(tests) == len(statements) else ())
    whole = ast.fix_missing_locations(function)
    return LaterChanges(whole, at, bool(lines_told), asked_for)


def change_by_caller(calls: FileNames, place: Place) -> str:
    """Where one that calls the function around a call changes the model that it returns; "" where
    none does."""
    function = next(iter(reversed(place.functions)), None)
    name = function.name if function else ""
    if len(name) < 2 or calls.text.definitions.get(name) is not function:
        return ""
    here = ((calls, caller) for caller in calls.text.callers(name))
    factory, called = Target(calls.path, name), Symbol("function", calls.path, name)
    for caller_calls, caller in (*here, *calls.search.callers(calls.path, called)):
        later = later_changes(caller_calls, caller, factory)
        if later and not later.asked_for:
            return later.at
    return ""


class _Finder:
    """Finds them in the statements after a call of `target`, and keeps their `lines`; and those of
    what is only `told`, as a wrapper or an object makes them."""

    def __init__(self, calls: FileNames, target: Target, depth: int = 0) -> None:
        self.calls, self.target = calls, target
        self.depth = depth  # functions around what is looked at
        self.model = ""  # what the script calls it, and what besides
        self.others: set[str] = set()
        self.lines: list[int] = []
        self.told: list[int] = []
        self.freezes = False  # whether to freeze a part is a change, too
        self.in_loop = False

    def after(self, place: Place) -> tuple[str, list[ast.stmt]]:
        """What the model is called after the statement of the call, "" where that gives it no name;
        and the statements that follow, up to the end of the function. What the statement itself
        does with the model comes first: `net = Net(8).build(50)`."""
        statement = place.statement
        value: ast.expr | None = getattr(statement, "value", None)
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id=model), *_])
                | ast.AnnAssign(target=ast.Name(id=model))
            ):
                self.others = {n for n in stores(statement) - {model} if "." not in n}
            case ast.Assign(targets=[ast.Attribute(ast.Name("self"), attribute)]):
                model = f"self.{attribute}"
            case ast.Assign(targets=[ast.Tuple(names)], value=ast.Tuple(values)):
                pairs = zip(names, values, strict=False)
                named = (
                    name.id for name, v in pairs if isinstance(name, ast.Name) and v is place.call
                )
                model, value = next(named, ""), place.call
            case ast.Return():
                model = "model"
            case _:
                return "", []
        # The statement itself, with the model in the place of the call: mostly no more than a name.
        if not model or value is None:
            return "", []
        self.model = model
        of_model = copy.deepcopy(value, {id(place.call): _named(model, ast.Load())})
        first = ast.copy_location(ast.Assign([_named(model, ast.Store())], of_model), statement)
        body: list[ast.stmt] = [] if dotted_name(of_model) == model else [first]
        for frame in reversed(place.frames):
            body += frame.body[frame.index + 1 :]
            if isinstance(frame.owner, (*FUNCTIONS, ast.ClassDef)):
                break
        return model, body

    def before(self, place: Place) -> list[int]:
        """Where what the call gets as it is was changed by what no slice has: functions, `del`."""
        values = values_given(place.call)
        names = {value.id for value in values if isinstance(value, ast.Name)}
        lines: list[int] = []
        for frame in reversed(place.frames) if names else ():
            for node in frame.body[: frame.index]:
                is_own = isinstance(node, ast.Delete) or (
                    isinstance(node, ast.Expr)
                    and isinstance(node.value, ast.Call)
                    and isinstance(node.value.func, ast.Name)
                    and node.value.func.id != "setattr"
                )
                if is_own and self.is_change(node, names):
                    lines.append(node.lineno)
            if isinstance(frame.owner, (*FUNCTIONS, ast.ClassDef)):
                break
        return lines

    def in_other_methods(self, place: Place) -> list[int]:
        """Where the other methods of an object change the model that is an attribute of it."""
        if not (self.model.startswith("self.") and place.classes):
            return []
        return [
            node.lineno
            for method in place.classes[-1].body
            if isinstance(method, FUNCTIONS) and method not in place.functions
            for node in ast.walk(method)
            if isinstance(node, ast.stmt) and self.is_change(node, {self.model})
        ]

    def changing(
        self, body: Sequence[ast.stmt], models: set[str], need: set[str]
    ) -> list[ast.stmt]:
        """Of these statements the ones that change the model, up to where its name is that of
        something else, and what they need of the others. `models`: the name, and those of its
        parts, to which those that are given here are added; `need`: see `StatementSlice`."""
        reached: list[ast.stmt] = []
        for number, node in enumerate(body):
            if self.ends(node, models):
                wrapped = [later for later in body[number + 1 :] if self.is_change(later, models)]
                is_wrapper = not models.isdisjoint(loads(getattr(node, "value", None)))
                self.told += [later.lineno for later in wrapped] if is_wrapper else []
                break
            reached.append(node)
            if isinstance(node, ast.Assign) and _within(node.value, models):  # a part of it
                models |= stores(node) - models if not isinstance(node.value, ast.Name) else set()
        changing: list[ast.stmt] = []
        for node in reversed(reached):
            if isinstance(node, _BLOCKS):
                changing = self.of_block(node, models, need, is_last=not changing) + changing
                continue
            if self.is_change(node, models):
                self.lines.append(node.lineno)
            elif self.model in stores(node) or not stores(node) & need:
                if self.is_told(node, models):
                    self.told.append(node.lineno)
                continue
            need -= stores(node) - {self.model}
            need |= loads(node)
            changing = [node, *changing]
        return changing

    def of_block(
        self, node: ast.stmt, models: set[str], need: set[str], is_last: bool
    ) -> list[ast.stmt]:
        """The same of a statement with others in it, which may not run. `is_last`: nothing that is
        kept stands behind it."""
        is_in_test = isinstance(node, ast.If) and self.hands_on(node.test, models)
        if is_in_test or isinstance(node, (ast.While, ast.Match)):  # as it is, or not at all
            inner = [item for item in ast.walk(node) if isinstance(item, ast.stmt)]
            lines = [item.lineno for item in inner if self.is_change(item, models)]
            lines += [node.lineno] if is_in_test else []
            self.lines += lines
            need |= loads(node) if lines else set()
            return [node] if lines else []
        if isinstance(node, ast.For) and not models.isdisjoint(loads(node.iter)):
            models = models | stores(node.target)
        whole, was_in_loop = copy.copy(node), self.in_loop
        self.in_loop |= isinstance(node, ast.For)
        names = [name for name in ("body", "orelse") if getattr(node, name, None)]
        bodies: list[list[ast.stmt]] = []
        for name in names:
            inner_need = set(need)
            part = getattr(node, name)
            bodies.append(self.changing(part, models, inner_need))
            need |= inner_need if bodies[-1] else set()
            if isinstance(node, ast.If) and _leaves(part) and (bodies[-1] or not is_last):
                bodies[-1] = [*bodies[-1], ast.Return(_named(self.model, ast.Load()))]
        self.in_loop = was_in_loop
        if not any(bodies):
            return []
        contexts = whole.items if isinstance(whole, ast.With) else []
        bound = {n for item in contexts if item.optional_vars for n in stores(item.optional_vars)}
        if isinstance(whole, ast.With) and not bound.isdisjoint(loads(*bodies[0])):
            need -= bound
            need |= loads(*(item.context_expr for item in contexts))
            return [ast.With(contexts, bodies[0])]
        if not isinstance(whole, (ast.If, ast.For)):
            return [item for body in bodies for item in body]
        for name, body in zip(names, bodies, strict=True):
            setattr(whole, name, body or ([ast.Pass()] if name == "body" else []))
        need |= loads(whole.test if isinstance(whole, ast.If) else whole.iter)
        return [whole]

    def ends(self, node: ast.stmt, models: set[str]) -> bool:
        """Whether the name is given to something else, or to what wraps the model."""
        model = self.model
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)) or model not in stores(node):
            return False
        if isinstance(node, ast.For):
            return model in stores(node.target) and models.isdisjoint(loads(node.iter))
        if not isinstance(node, ast.Assign):
            return not isinstance(node, _BLOCKS)
        call = node.value
        method = call.func if isinstance(call, ast.Call) else None
        is_same = isinstance(method, ast.Attribute) and dotted_name(method.value) == model
        is_wrapped = bool(method and _WRAPS.search(dotted_name(method)))
        return not (is_same or is_wrapped or self.is_change(node, models))

    def is_change(self, node: ast.stmt, models: set[str]) -> bool:
        """Whether a statement gives the model, or a part of it, other parts."""
        match node:
            case ast.Assign(targets=targets, value=value):
                every = [item for t in targets for item in getattr(t, "elts", [t])]
                if isinstance(value, ast.Call) and any(
                    ast.unparse(item) in models for item in every
                ):
                    return self.changes(value, models)
                places = [t for t in every if isinstance(t, (ast.Attribute, ast.Subscript))]
                inside = [t for t in places if _within(t, models) and ast.unparse(t) not in models]
                if self.freezes and any(getattr(t, "attr", "") == "requires_grad" for t in inside):
                    return True
                is_other = any(self.is_other_part(item, value, models) for item in inside)
                return is_other or self.shapes(value) or self.hands_on(value, models)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value, "requires_grad_"))) if (
                self.freezes
            ):
                return _within(value, models)
            case ast.Expr(value=ast.Call() as call):
                return (
                    self.shapes(call) or self.changes(call, models) or self.hands_on(call, models)
                )
            case ast.Delete(targets=targets):
                return any(_within(t, models) and not isinstance(t, ast.Name) for t in targets)
            case ast.AnnAssign() | ast.AugAssign() | ast.Assert():
                return self.hands_on(node, models)
        return False

    def shapes(self, value: ast.expr) -> bool:
        """Whether this runs a model with lazy layers, which get their shapes by that."""
        is_run = isinstance(value, ast.Call) and dotted_name(value.func) == self.model
        return is_run and self.is_lazy and not (self.in_loop or self.depth)

    @cached_property
    def is_lazy(self) -> bool:
        with_lazy_layers = self.calls.search.with_lazy_layers
        if not (with_lazy_layers and self.target.is_path):
            return False
        files = self.calls.search.discovery.tree.may_run_with([self.target.location])
        return not with_lazy_layers.isdisjoint(files)

    def hands_on(self, node: ast.AST, models: set[str]) -> bool:
        """Whether a call in it hands the model to a function that changes it."""
        return any(self.is_handed_on(call, models) for call in calls_in(node))

    def is_other_part(self, place: ast.expr, value: ast.expr, models: set[str]) -> bool:
        """Whether this assignment gives a place in a model another part, or none: a new one, one of
        its own, some of a list."""
        if self.makes_part(value) or (isinstance(value, ast.Constant) and value.value is None):
            return True
        if not _within(value, models):
            return False
        if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Slice):
            return True
        if isinstance(place, ast.Attribute):
            last = value.attr if isinstance(value, ast.Attribute) else ""
            return place.attr in ("weight", "bias", last)
        # `model.layers[1] = model.layers[0]`, and not `results[1] = results[0]`.
        holder = place.value if isinstance(place, ast.Subscript) else None
        return isinstance(value, ast.Subscript) and isinstance(holder, ast.Attribute)

    def changes(self, call: ast.Call, models: set[str]) -> bool:
        """Whether a call does: of a method of the model, or of a function that gets it."""
        name = dotted_name(call.func)
        is_first = bool(call.args) and _within(call.args[0], models)
        if name in ("setattr", "delattr"):
            return is_first and (name == "delattr" or not isinstance(call.args[-1], ast.Constant))
        if isinstance(call.func, ast.Attribute) and _within(call.func.value, models):
            method, owner = call.func.attr, ast.unparse(call.func.value)
            if owner in models:
                is_followed = method not in _KEEPS and self.depth < _DEEP
                function = self.method(method) if is_followed else None
                if function and self.changes_inside(self.target.location, function, {"self"}):
                    return True
            elif method in _TAKES_AWAY:
                return True
            is_part = any(map(self.makes_part, call.args)) or method.startswith("re")
            return bool(_METHODS.match(method)) and (is_part or not call.args)
        if isinstance(call.func, ast.Subscript) and is_first and not self.depth:
            return True  # one of several functions, by name
        if is_first and _OF_TORCH.search(name):
            return True
        return self.is_handed_on(call, models)

    def is_told(self, node: ast.stmt, models: set[str]) -> bool:
        """Whether a statement makes an object that changes the model: a trainer."""
        value = getattr(node, "value", None)
        return any(
            self.is_handed_on(call, models, of_objects=True)
            for call in (calls_in(value) if isinstance(value, ast.Call) else ())
        )

    def method(self, name: str) -> ast.FunctionDef | None:
        """A method of the class that is built."""
        symbol = Symbol("method", self.target.location, f"{self.target.callable}.{name}")
        return self.calls.search.function(symbol)

    def is_handed_on(self, call: ast.Call, models: set[str], of_objects: bool = False) -> bool:
        """Whether a function of the project gets the model in this call, and changes it; with
        `of_objects` a constructor."""
        name = dotted_name(call.func)
        is_given = any(_within(value, models) for value in values_given(call))
        if not name or not is_given or does_work(name) or self.depth == _DEEP:
            return False
        symbol = self.calls.called(name)
        if name in self.calls.text.inner_functions:
            symbol = Symbol("function", self.calls.path, name)
        function = self.calls.search.function(symbol)
        if symbol is None or function is None or (symbol.kind == "class") is not of_objects:
            return False
        is_method = symbol.kind != "function" and has_first(function)
        names = _given(function, call, models, is_method)
        return bool(names) and self.changes_inside(symbol.where, function, names)

    def changes_inside(self, path: str, function: ast.FunctionDef, models: set[str]) -> bool:
        """Whether a function puts parts into what it gets by these names, or into what it has found
        in that."""
        finder = _Finder(self.calls.search.file_calls(path), self.target, self.depth + 1)
        finder.freezes = self.freezes
        parts = set(models)
        nodes = [*ast.walk(function)]
        for _ in range(2):  # what is found in it may be given in any order
            for node in nodes:
                if isinstance(node, ast.Assign) and _reads(node.value, parts):
                    if not finder.makes_part(node.value):
                        is_own = "self" in parts  # its attributes are parts with it
                        parts |= {n for n in stores(node) if not (is_own and "." in n)}
                elif isinstance(node, ast.For) and _reads(node.iter, parts):
                    parts |= stores(node.target)
        for node in nodes:
            if isinstance(node, (ast.Assign, ast.Delete)) and finder.is_change(node, parts):
                return True
            if isinstance(node, ast.Call):
                name = dotted_name(node.func)
                owner, _, method = name.rpartition(".")
                if name in ("setattr", "delattr") or _METHODS.match(method):
                    if finder.changes(node, parts):
                        return True
                elif owner == "self" and "self" in parts and path == self.target.location:
                    inner = self.method(method) if finder.depth < _DEEP else None
                    names = _given(inner, node, parts, is_method=True) if inner else set()
                    if inner and finder.changes_inside(path, inner, {"self", *names}):
                        return True
                elif finder.is_handed_on(node, parts):
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


def _given(
    function: ast.FunctionDef, call: ast.Call, models: set[str], is_method: bool
) -> set[str]:
    """The parameters that get a model, or a part of it, in a call."""
    arguments = arguments_known(function, call, is_method)
    return {name for name, value in arguments.items() if _within(value, models)}


def _leaves(body: Sequence[ast.stmt]) -> bool:
    """Whether what follows a block is not reached from its end."""
    return ends_script(body) or (bool(body) and isinstance(body[-1], ast.Return))


def _root(node: ast.AST) -> str:
    """`model` of `model.layers[0].fc`; of what begins with `self`, `self.model`."""
    names: list[str] = []
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        names += [node.attr] if isinstance(node, ast.Attribute) else []
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return f"self.{names[-1]}" if node.id == "self" and names else node.id


def _within(node: ast.AST, models: set[str]) -> bool:
    """Whether this is one of these names, or a part of what has one of them."""
    return _is_known(_root(node), models)


def _reads(node: ast.AST, models: set[str]) -> bool:
    """Whether this reads one of them, other than to run it."""
    runs = (call.func for call in calls_in(node))
    run = Counter(n.id for n in runs if isinstance(n, ast.Name) and n.id in models)
    named = Counter(n.id for n in ast.walk(node) if isinstance(n, ast.Name) and n.id in run)
    is_only_run = {name for name in run if named[name] == run[name]}
    return any(_is_known(name, models) for name in loads(node) - is_only_run)


def _is_known(name: str, models: set[str]) -> bool:
    return name in models or ("self" in models and name.startswith("self."))


def _named(model: str, context: ast.expr_context) -> ast.expr:
    head, _, attribute = model.rpartition(".")
    if head:
        return ast.Attribute(ast.Name(head, ast.Load()), attribute, context)
    return ast.Name(model, context)
