"""The statements that a call needs: a static backward slice of the file in which it stands."""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from nparam_lint.discover.syntax import FUNCTIONS, Function, dotted_name, is_main, parameter_names
from nparam_lint.evidence.arguments import (
    arguments_of,
    default_values,
    entry_of,
    from_decorator,
)
from nparam_lint.evidence.options import truth
from nparam_lint.evidence.places import DEFINITIONS, IMPORTS, Frame, Place, SourceText
from nparam_lint.evidence.statements import (
    BUILTINS,
    Assumption,
    NoWay,
    assign,
    calls_in,
    changed,
    changed_by_call,
    changes,
    expression,
    loads,
    stores,
    variables_set,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

_DEEP = 4  # calls of functions that are followed to their callers
_LONG = 40  # statements; options of a parser are not counted
_SET_UP = ("__init__", "setUp", "setup_method", "setUpClass", "setup")


class NeedsCaller(NoWay):
    """Nothing in the file gives a parameter of a function its value."""

    def __init__(self, function: Function, name: str) -> None:
        super().__init__(f"{name} is an argument of {function.name}")
        self.function = function


@dataclass
class Slice:
    """Collects the statements for one call. `entry`: which entry of a table a loop variable is."""

    text: SourceText
    entry: int = 0
    statements: list[ast.stmt] = field(default_factory=list)
    loops: bool = False
    given_names: set[str] = field(default_factory=set)  # what the model gets as it is
    local: set[str] = field(default_factory=set)  # what callers' scopes have made
    owners: set[str] = field(default_factory=set)  # classes that `self` was of
    outside: Function | None = None  # the function whose arguments another file gives
    given_outside: set[str] = field(default_factory=set)  # of them, those that are needed
    # (object, attribute) that is set by what is not run → where
    unknown: dict[tuple[str, str], str] = field(default_factory=dict)

    def of(self, place: Place, *nodes: ast.AST) -> list[ast.stmt]:
        """The statements that `nodes`, parts of the call at `place`, need. Raises NoWay."""
        need = loads(*nodes) - BUILTINS
        given = [node.value if isinstance(node, ast.keyword) else node for node in nodes]
        self.given_names = {value.id for value in given if isinstance(value, ast.Name)}
        for value in given:
            self.check_given(value)
        made = self.scope(place, need, 0)
        if self.owners:
            self.no_conflict("SimpleNamespace")
            start = ast.parse("from types import SimpleNamespace\nself = SimpleNamespace()").body
            made = [*start, *made]
        options = (_is_option(node) for node in made)
        if len(made) - sum(options) > _LONG:
            raise NoWay("long")
        return made

    def no_conflict(self, *names: str) -> None:
        if not self.local.isdisjoint(names):
            raise NoWay("two things of one name")

    def check(self, *nodes: ast.AST) -> None:
        """Raise NoWay where running these would do more than make values."""
        for node in nodes:
            for inner in ast.walk(node):
                if isinstance(inner, (ast.Await, ast.Yield, ast.YieldFrom)):
                    raise NoWay("it waits")
                if isinstance(inner, ast.Call) and not self.text.is_harmless(inner):
                    raise NoWay(dotted_name(inner.func))

    def check_given(self, value: ast.AST) -> None:
        """As `check`, of what the model gets as it is: it may be made by another package."""
        if isinstance(value, ast.Call) and self.text.is_part(value):
            self.check(*value.args, *value.keywords)
        else:
            self.check(value)

    # --- scopes ---------------------------------------------------------------------------------

    def scope(self, place: Place, need: set[str], depth: int) -> list[ast.stmt]:
        """The statements before a place that give the needed names their values: those of its
        function, of what calls that, and of the file."""
        made: list[ast.stmt] = []
        for generator in reversed(place.generators):
            made = self.entered(generator.target, generator.iter, need) + made
        frames = list(place.frames)
        while frames and isinstance(frames[-1].owner, ast.AST):
            inner = _innermost(frames)
            made = self.blocks(frames[inner:], need, place) + made
            owner = frames[inner].owner
            if isinstance(owner, FUNCTIONS):
                above = tuple(frames[:inner])
                made = self.function(owner, above, need, depth) + made
            frames = frames[:inner]
        unknown = need - BUILTINS - self.text.known - variables(need)
        if unknown and not (self.text.has_star and not any("." in name for name in unknown)):
            raise NoWay(f"{sorted(unknown)[0]} is not known")
        if place.functions and self.text.is_module:
            self.no_conflict(*need)
        return made

    def blocks(self, frames: Sequence[Frame], need: set[str], place: Place) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        top = isinstance(frames[0].owner, ast.Module)
        inner = place.functions
        if top and inner:  # functions run when all of the file has
            frames = [Frame(self.text.tree, self.text.tree.body, len(self.text.tree.body))]
        for frame in reversed(frames):
            if not isinstance(frame.owner, ast.ClassDef):
                is_top = isinstance(frame.owner, ast.Module)
                kept = self.text.available if is_top else frozenset()
                made = self.before(frame.body[: frame.index], need, kept) + made
            made = self.header(frame, need, bool(made)) + made
        return made

    def before(
        self, body: Sequence[ast.stmt], need: set[str], kept: frozenset[str] = frozenset()
    ) -> list[ast.stmt]:
        """Those of the statements that give needed names their values; afterwards `need` holds what
        has to be there before. `kept`: names that need no statement."""
        made: list[ast.stmt] = []
        for node in reversed(body):
            left = set() if is_main(node) else need & kept
            need -= left
            made = self.keep(node, need) + made
            need |= left
        return made

    def header(self, frame: Frame, need: set[str], is_set: bool) -> list[ast.stmt]:
        owner = frame.owner
        if isinstance(owner, (ast.For, ast.AsyncFor)) and frame.body is owner.body:
            return self.entered(owner.target, owner.iter, need)
        if isinstance(owner, ast.If) and not is_main(owner):
            if frame.body is owner.body:
                return self.condition(owner.test, need)
            is_used = not is_set and bool(loads(owner.test) & need)
            if is_used and truth(owner.test, self.text.options):
                raise NoWay("not with the defaults")
        if isinstance(owner, (ast.With, ast.AsyncWith)):
            for item in owner.items:
                if item.optional_vars and stores(item.optional_vars) & need:
                    raise NoWay("a context")
            calls = (item.context_expr for item in owner.items)
            return self.settings([c for c in calls if isinstance(c, ast.Call)], need)
        return []

    def settings(self, contexts: Sequence[ast.Call], need: set[str]) -> list[ast.stmt]:
        """`with lora(r=8):` around a call sets what the model is made of."""
        made: list[ast.stmt] = []
        for call in filter(self.text.is_setting, contexts):
            stack = f"contexts_{contexts[0].lineno}"  # others may be around or inside this one
            self.no_conflict("ExitStack")
            self.check(*call.args, *call.keywords)
            need |= loads(call) - BUILTINS
            if not made:
                start = f"from contextlib import ExitStack\n{stack} = ExitStack()"
                made += ast.parse(start).body
            made += ast.parse(f"{stack}.enter_context({ast.unparse(call)})").body
        return made

    def condition(self, test: ast.expr, need: set[str]) -> list[ast.stmt]:
        """What makes a condition true: under `if args.model == "b":` it is "b"."""
        holds = truth(test, self.text.options)
        if holds:
            return []
        value: ast.expr | None = None
        left = test
        if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Eq):
            left, value = test.left, test.comparators[0]
        elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            left, value = test.operand, ast.Constant(False)
        elif isinstance(test, ast.Attribute):
            value = ast.Constant(True)
        is_option = isinstance(left, ast.Attribute) and isinstance(left.value, ast.Name)
        if is_option and isinstance(value, ast.Constant) and loads(left) <= need:
            target = copy.deepcopy(left)
            target.ctx = ast.Store()  # type: ignore[attr-defined]
            return [ast.fix_missing_locations(Assumption([target], value, lineno=1))]
        if holds is False and loads(test) & need:
            raise NoWay("not with the defaults")
        return []

    def entered(self, target: ast.expr, table: ast.expr, need: set[str]) -> list[ast.stmt]:
        """A loop's variables have the values of one entry of its table."""
        names = stores(target)
        if not names & need:
            return []
        self.check(table)
        self.loops = True
        need -= names
        need |= loads(table) - BUILTINS
        return [assign(target, entry_of(table, self.entry))]

    def function(
        self, function: Function, above: tuple[Frame, ...], need: set[str], depth: int
    ) -> list[ast.stmt]:
        """The values of the needed parameters: those that a caller gives, or their defaults."""
        own = {name for name in need if "." in name}
        made = self.attributes(function, above, own, need, depth) if own else []
        names = parameter_names(function.args)
        wanted = [name for name in names if name in need]
        bound = {name for node in function.body for name in stores(node)}.union(names)
        lost = (need & bound) - set(names)
        if lost:
            raise NoWay(f"{sorted(lost)[0]} is not known")
        if wanted or variables(need):
            need -= set(wanted)
            made = self.given(function, above, wanted, need, depth) + made
        return made

    def given(
        self,
        function: Function,
        above: tuple[Frame, ...],
        wanted: list[str],
        need: set[str],
        depth: int,
    ) -> list[ast.stmt]:
        if function is self.outside:
            self.given_outside |= set(wanted)
            return []
        is_method = bool(above) and isinstance(above[-1].owner, ast.ClassDef)
        name = function.name
        if is_method and name == "__init__":
            assert isinstance(above[-1].owner, ast.ClassDef)
            name = above[-1].owner.name
        follow = depth < _DEEP and (not is_method or function.name == "__init__")
        asked: NeedsCaller | None = None
        for caller in self.text.callers(name) if follow else ():
            if function in caller.functions:
                continue
            saved = set(need), set(self.local)
            try:
                return self.from_caller(function, caller, wanted, need, is_method, depth)
            except NoWay as why:
                asked = why if isinstance(why, NeedsCaller) else asked
                need.clear()
                need |= saved[0]
                self.local = saved[1]
        try:
            values = {name: self.default(function, name) for name in wanted}
        except NeedsCaller as why:
            raise asked or why from None
        for value in values.values():
            self.check(value)
            need |= loads(value) - BUILTINS
        return [assign(name, value) for name, value in values.items()]

    def from_caller(
        self,
        function: Function,
        caller: Place,
        wanted: list[str],
        need: set[str],
        is_method: bool,
        depth: int,
    ) -> list[ast.stmt]:
        given = arguments_of(function, caller.call, is_method)
        values = {name: given.get(name) or self.default(function, name) for name in wanted}
        self.check(*values.values())
        inner = (loads(*values.values()) - BUILTINS) | variables(need)
        need -= variables(need)
        made = self.scope(caller, inner, depth + 1)
        self.local |= {name for node in made for name in stores(node)} | set(wanted)
        changes = {n: v for n, v in values.items() if not (isinstance(v, ast.Name) and v.id == n)}
        if loads(*changes.values()) & set(changes):
            raise NoWay("two things of one name")
        return [*made, *(assign(name, value) for name, value in changes.items())]

    def default(self, function: Function, name: str) -> ast.expr:
        arguments = function.args
        if arguments.vararg and arguments.vararg.arg == name:
            return expression("()")
        if arguments.kwarg and arguments.kwarg.arg == name:
            return expression("{}")
        if value := default_values(function).get(name):
            return value
        given = from_decorator(function, name, self.entry)
        if given is None:
            raise NeedsCaller(function, name)
        self.loops = True
        return given

    def attributes(
        self,
        function: Function,
        above: tuple[Frame, ...],
        own: set[str],
        need: set[str],
        depth: int,
    ) -> list[ast.stmt]:
        """The values of `self.x`, as the constructor sets them from what is known."""
        owner = above[-1].owner if above else None
        if not isinstance(owner, ast.ClassDef) or self.owners - {owner.name}:
            raise NoWay("self")
        self.owners.add(owner.name)
        need -= own
        made: list[ast.stmt] = []
        for name in _SET_UP if function.name not in _SET_UP else ():
            methods = (n for n in owner.body if isinstance(n, FUNCTIONS) and n.name == name)
            for method in methods if own else ():
                before = self.before(method.body, own)
                rest = {item for item in own if "." not in item}
                own -= rest
                made = self.function(method, (*above[:-1], above[-1]), rest, depth) + before + made
                need |= rest
        fields = {name for node in owner.body for name in stores(node)}
        for item in sorted(own):
            attribute = item.partition(".")[2]
            if attribute not in fields:
                raise NoWay(f"{item} is not known")
            need.add(owner.name)
            made = [*ast.parse(f"{item} = {owner.name}.{attribute}").body, *made]
        return made

    # --- statements -----------------------------------------------------------------------------

    def keep(self, node: ast.stmt, need: set[str]) -> list[ast.stmt]:
        """What is needed of one statement; what one that is left out changes is noted."""
        made = self.kept(node, need)
        if not (made or isinstance(node, DEFINITIONS)):
            for call in calls_in(node):
                given = (*call.args, *(item.value for item in call.keywords))
                names = {item.id for item in given if isinstance(item, ast.Name)} & need
                for name, attribute, at in self.text.sets(call) if names or variables(need) else ():
                    if name in names or attribute in need:
                        self.unknown.setdefault((name, attribute), at)
        return made

    def kept(self, node: ast.stmt, need: set[str]) -> list[ast.stmt]:
        if is_main(node):
            assert isinstance(node, ast.If)
            return self.before(node.body, need)
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            return self.assignment(node, need)
        if isinstance(node, ast.Expr):
            return self.change(node, need)
        if isinstance(node, (*IMPORTS, *DEFINITIONS)):
            return self.definition(node, need)
        if not (stores(node) & need or changes(node) & need):
            return []
        return self.compound(node, need)

    def assignment(
        self, node: ast.Assign | ast.AnnAssign | ast.AugAssign, need: set[str]
    ) -> list[ast.stmt]:
        if node.value is None:
            return []
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = {name for target in targets for name in stores(target)}
        parts = {name for target in targets for name in changed(target)} | variables_set(node)
        if not (names | parts) & need:
            return []
        try:
            if names & self.given_names:
                self.check_given(node.value)
            else:
                self.check(node)
        except NoWay:
            stores_parts = [t for target in targets for t in _each(target)]
            if names & need or not all(
                isinstance(t, (ast.Attribute, ast.Name)) for t in stores_parts
            ):
                raise
            parts_of = (t for t in stores_parts if isinstance(t, ast.Attribute))
            at = f"{self.text.path}:{node.lineno}"
            self.unknown |= {(dotted_name(t.value), t.attr): at for t in parts_of}
            return []
        if not isinstance(node, ast.AugAssign):
            need -= names | variables_set(node)
        need |= loads(*targets, node.value) - BUILTINS
        return [node]

    def change(self, node: ast.Expr, need: set[str]) -> list[ast.stmt]:
        if not isinstance(node.value, ast.Call):
            return []
        name, is_change = changed_by_call(node.value)
        is_setting = variables_set(node.value) & need
        if not (is_setting or (name in need and is_change)):
            return []
        self.check(node)
        need |= loads(node) - BUILTINS
        return [node]

    def definition(self, node: ast.stmt, need: set[str]) -> list[ast.stmt]:
        names = stores(node) & need if isinstance(node, IMPORTS) else {node.name} & need  # type: ignore[attr-defined]
        if not names:
            return []
        need -= names
        if isinstance(node, IMPORTS):
            used = [a for a in node.names if (a.asname or a.name).split(".")[0] in names]
            part = copy.copy(node)
            part.names = used
            return [part]
        need |= loads(node) - BUILTINS - names
        return [node]

    def compound(self, node: ast.stmt, need: set[str]) -> list[ast.stmt]:
        if isinstance(node, ast.If):
            return self.choice(node, need)
        if isinstance(node, (ast.With, ast.AsyncWith)):
            if any(item.optional_vars and stores(item.optional_vars) & need for item in node.items):
                raise NoWay("a context")
            return self.before(node.body, need)
        if isinstance(node, ast.For) and not stores(node.target) & need:
            self.check(node.iter)
            inner = set(need)
            body = self.before(node.body, inner)
            if not body:
                return []
            need |= inner - stores(node.target)
            need |= loads(node.iter) - BUILTINS
            return [ast.For(node.target, node.iter, body, [])]
        if isinstance(node, ast.Try):
            return self.before([*node.body, *node.orelse, *node.finalbody], need)
        raise NoWay(f"{type(node).__name__} at line {node.lineno}")

    def choice(self, node: ast.If, need: set[str]) -> list[ast.stmt]:
        """What is needed of both branches of a condition that the worker evaluates. In place of one
        that must not be run, or that ends the script, it raises an error."""
        holds = truth(node.test, {})
        if holds is not None:
            return self.before(node.body if holds else node.orelse, need)
        self.check(node.test)
        first, second = self.branch(node.body, need), self.branch(node.orelse, need)
        if first.why and second.why:
            raise first.why
        if not (first.made or second.made or first.why or second.why):
            return []
        need.clear()
        need |= first.need | second.need | (loads(node.test) - BUILTINS)
        return [ast.If(node.test, first.written() or [ast.Pass()], second.written())]

    def branch(self, body: Sequence[ast.stmt], need: set[str]) -> _Branch:
        inner = set(need)
        if body and _ends(body[-1]):
            return _Branch([], set(), ends=True)
        try:
            return _Branch(self.before(body, inner), inner)
        except NoWay as why:
            return _Branch([], set(), why)


def variables(need: set[str]) -> set[str]:
    """The variables of the environment among them, which have a value also if nothing sets them."""
    return {name for name in need if name.startswith("$")}


class _Branch(NamedTuple):
    """What is needed of a branch of a condition. `why`: it must not be run."""

    made: list[ast.stmt]
    need: set[str]
    why: NoWay | None = None
    ends: bool = False

    def written(self) -> list[ast.stmt]:
        if not (self.why or self.ends):
            return self.made
        words = f"this is not run: {self.why}" if self.why else "the script ends here"
        return ast.parse(f"raise ValueError({words!r})").body


def _ends(node: ast.stmt) -> bool:
    """Whether a statement ends the script."""
    is_call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    name = dotted_name(node.value.func) if is_call else ""  # type: ignore[attr-defined]
    return isinstance(node, ast.Raise) or name in ("exit", "quit", "sys.exit")


def _innermost(frames: Sequence[Frame]) -> int:
    """Where the frames of the innermost scope begin."""
    scopes = (ast.Module, ast.ClassDef, *FUNCTIONS)
    return max(n for n, frame in enumerate(frames) if isinstance(frame.owner, scopes))


def _is_option(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Attribute)
        and node.value.func.attr == "add_argument"
    )


def _each(target: ast.expr) -> list[ast.expr]:
    return target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
