"""The statements that a call needs: a static backward slice of the file in which it stands."""

from __future__ import annotations

import ast
import copy
from typing import TYPE_CHECKING, TypeVar

from msgspec import field

from nparam_lint.discover.syntax import (
    FUNCTIONS,
    Function,
    dotted_name,
    is_main,
    parameter_names,
)
from nparam_lint.evidence.arguments import (
    arguments_of,
    default_values,
    entry_of,
    from_decorator,
    gives_value,
    under_other_names,
)
from nparam_lint.evidence.config_libraries import parameter_values, takes_options, values_by_type
from nparam_lint.evidence.inheritance import (
    attributes_read,
    bound_method,
    has_first,
    inherited_statements,
    methods_of,
)
from nparam_lint.evidence.options import of_function, truth
from nparam_lint.evidence.places import Frame, Place
from nparam_lint.evidence.statement_slices import LOCAL, StatementSlice
from nparam_lint.evidence.statements import (
    BUILTINS,
    NOT_REACHED,
    Assumption,
    NoWay,
    OptionValue,
    assign,
    changes,
    ends_script,
    expression,
    is_self,
    loads,
    stores,
    values_given,
    variables,
)

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

_Caller = TypeVar("_Caller")
_DEEP = 4  # calls of functions that are followed to their callers
_LONG = 40  # statements; options of a parser are not counted
_SCOPES = (ast.Module, ast.ClassDef, *FUNCTIONS)
_TYPER = ("typer.Option", "typer.Argument", "Option", "Argument")
_SET_UP = ("__init__", "setUp", "setup_method", "setUpClass", "setup")


class LeftOut(NoWay):
    """A loop does not come to the call with this entry of its table."""


class NeedsCaller(NoWay):
    """Nothing in the file gives some parameters of a function their values, but for defaults.
    `functions`: that one; of several that call the one around a place, each. `is_called`: whether
    the file calls it, and leaves them at their defaults."""

    def __init__(
        self, function: Function, *names: str, has_default: bool = False, is_called: bool = False
    ) -> None:
        super().__init__(f"{names[0]} is an argument of {function.name}")
        self.functions, self.names = [function], names
        self.has_default, self.is_called = has_default, is_called


def key_of(function: Function) -> tuple[str, int]:
    return function.name, function.lineno


class Slice(StatementSlice):
    """Collects the statements for one call. `entry`: which entry of a table a loop variable is;
    `with_defaults`: the functions whose defaults are taken where nothing in the file calls them, by
    their names and lines: a constructor is there with and without what its base does."""

    entry: int = 0
    with_defaults: Container[tuple[str, int]] | None = None  # None: all
    outside: Function | None = None  # the function whose arguments another file gives
    given_outside: set[str] = field(default_factory=set)  # of them, those that are needed
    guards: bool = False  # whether conditions are asked
    guarded: bool = False  # whether there was one
    callers_tried: int = 1  # in turn, each with the first round of its loops, then with the second
    asks_all: bool = False  # conditions around a call of constants, which reads nothing of them
    loops: bool = False
    local: set[str] = field(default_factory=set)  # what callers' scopes have made
    owners: set[str] = field(default_factory=set)  # classes that `self` was of
    flags: set[str] = field(default_factory=set)  # parameters that are true or false by default
    owner: ast.ClassDef | None = None  # the class that `self` is of now
    read: set[str] = field(default_factory=set)  # names of the file that functions read
    entering: list[Function] = field(default_factory=list)  # those whose statements are collected

    def of(self, place: Place, *nodes: ast.AST) -> list[ast.stmt]:
        """The statements that `nodes`, parts of the call at `place`, need. Raises NoWay."""
        need = loads(*nodes) - BUILTINS
        self.asks_all = self.text.is_module and not loads(*values_given(place.call)) - BUILTINS
        self.guarded = any(isinstance(node, ast.If) for node in nodes)
        self.read |= self.text.rebound.keys()
        values = [node.value if isinstance(node, ast.keyword) else node for node in nodes]
        self.given_names = {value.id for value in values if isinstance(value, ast.Name)}
        for value in values:
            self.check_given(value)
        statements = self.scope(place, need, 0)
        top = set(self.text.tree.body)
        done = [node for node in statements if node in top]
        if len(done) > len(set(done)):  # what the file does once is done once, and in its order
            first = sorted(set(done), key=lambda node: node.lineno)
            statements = [*first, *(node for node in statements if node not in top)]
        names = (item for statement in (*statements, *nodes) for item in ast.walk(statement))
        if self.owners or any(map(is_self, names)):
            self.no_conflict("SimpleNamespace")
            start = ast.parse("from types import SimpleNamespace\nself = SimpleNamespace()").body
            statements = [*start, *statements]
        if sum(not (_is_option(node) or _is_taken(node)) for node in statements) > _LONG:
            raise NoWay("long")
        return statements

    def no_conflict(self, *names: str) -> None:
        if not self.local.isdisjoint(names):
            raise NoWay("two things of one name")

    def scope(self, place: Place, need: set[str], depth: int) -> list[ast.stmt]:
        """The statements before a place that give the needed names their values: those of its
        function, of what calls that, and of the file."""
        statements: list[ast.stmt] = []
        for generator in reversed(place.generators):
            statements = self.entered(generator.target, generator.iter, need) + statements
        frames = place.frames
        while frames:
            start = max(n for n, frame in enumerate(frames) if isinstance(frame.owner, _SCOPES))
            above, owner = frames[:start], frames[start].owner
            statements = self.blocks(frames[start:], need, place) + statements
            if isinstance(owner, FUNCTIONS):
                statements = self.function(owner, above, need, depth) + statements
            frames = above
        unknown = need - BUILTINS - self.text.names - variables(need)
        if unknown and not (self.text.has_star and not any("." in name for name in unknown)):
            raise NoWay(f"{sorted(unknown)[0]} is not known")
        if place.functions and self.text.is_module:
            self.no_conflict(*need)
        return statements

    def blocks(self, frames: Sequence[Frame], need: set[str], place: Place) -> list[ast.stmt]:
        statements: list[ast.stmt] = []
        owner = frames[0].owner
        defaults = default_values(owner).items() if isinstance(owner, FUNCTIONS) else ()
        self.flags = {n for n, v in defaults if ast.unparse(v) in ("True", "False")}
        self.owner = self.made(place.classes[-1]) if place.classes else None
        if isinstance(frames[0].owner, ast.Module) and place.functions:
            if rebound := sorted(need & self.text.rebound.keys()):
                raise NoWay(f"{self.text.rebound[rebound[0]]}() gives {rebound[0]} a value")
            body = self.text.tree.body  # functions run when all of the file has
            frames = [Frame(self.text.tree, body, len(body))]
        for frame in reversed(frames):
            if not isinstance(frame.owner, ast.ClassDef):
                is_top = isinstance(frame.owner, ast.Module)
                available = self.text.available if is_top else frozenset()
                end = frame.index
                for index in reversed(range(end)):
                    node = frame.body[index]
                    leaving = _leaving(node)
                    paths = [[leaving]] if leaving else _returning([node])
                    if not paths:
                        continue
                    first = index + 1 if leaving else index
                    statements = self.before(frame.body[first:end], need) + statements
                    known = self.set_beside(frame.body[:index], need)
                    for tests in paths:
                        if tests:
                            statements = self.not_asked(tests, need, known) + statements
                        elif isinstance(frame.owner, FUNCTIONS):
                            raise LeftOut("it is not reached")
                    end = index
                statements = self.before(frame.body[:end], need, available) + statements
            statements = self.header(frame, need, bool(statements)) + statements
        return statements

    def keep(self, node: ast.stmt, need: set[str]) -> list[ast.stmt]:
        statements = super().keep(node, need)
        # What a function reads of the names that the script's main part sets.
        is_read = statements and self.text.set_in_main
        for name in need & self.text.definitions.keys() if is_read else ():
            read = self.text.globals_of(name) & self.text.set_in_main
            self.read |= read
            need |= read
        return statements

    def change(self, node: ast.Expr, need: set[str]) -> list[ast.stmt]:
        """What a method sets that is called as a statement, `self.setup()`, as if it stood here."""
        match node.value:
            case ast.Call(ast.Attribute(ast.Name("self"), name)) as call:
                method = self.text.methods(self.owner).get(name) if self.owner else None
            case _:
                method = None
        parts = method.body if method else []
        set_inside = {name for part in parts for name in stores(part) | changes(part)}
        own = {name for name in need & set_inside if name.startswith("self.")}
        if method is None or not own or method in self.entering:
            return super().change(node, need)
        if self.owner:
            self.check_heirs(self.owner, name)
        inner = set(own)
        self.entering.append(method)
        try:
            statements = self.before(method.body, inner)
        finally:  # another caller, or branch, may be taken
            self.entering.pop()
        values = arguments_of(method, call, has_first(method))
        names = [name for name in parameter_names(method.args) if name in inner]
        given = {name: values.get(name) or self.default(method, name) for name in names}
        self.check(*given.values())
        made = {name for part in statements for name in stores(part)} | given.keys()
        if made & (need - own):
            raise NoWay("two things of one name")
        need -= own
        need |= (inner - given.keys()) | (loads(*given.values()) - BUILTINS)
        return [*(assign(name, value) for name, value in given.items()), *statements]

    def made(self, owner: ast.ClassDef) -> ast.ClassDef:
        """The class itself, or the one of the file that inherits from it where only that is
        made."""
        heirs = self.text.made_instead(owner)
        return heirs[0] if len(heirs) == 1 and heirs[0] in self.text.heirs(owner) else owner

    def check_heirs(self, owner: ast.ClassDef, name: str) -> None:
        """Raise NoWay where only classes that inherit from one are made, and one of them has a
        method of this name, or an attribute `self.name`, of its own."""
        for heir in self.text.made_instead(owner):
            methods = methods_of(heir)
            own = methods.keys() | {n for node in heir.body for n in stores(node)}
            changed = (stores(node) | changes(node) for m in methods.values() for node in m.body)
            if name.removeprefix("self.") in own or any(name in names for names in changed):
                raise NoWay(f"{heir.name} has a {name.removeprefix('self.')} of its own")

    def header(self, frame: Frame, need: set[str], is_set: bool) -> list[ast.stmt]:
        owner = frame.owner
        if isinstance(owner, (ast.For, ast.AsyncFor)) and frame.body is owner.body:
            carried = {name for node in owner.body for name in stores(node)} & need
            if self.round_of_loop and carried - stores(owner.target):
                raise LeftOut("the loop carries it on")
            statements = self.entered(owner.target, owner.iter, need)
            before = frame.body[: frame.index]
            if statements and any(_leaves_out(node, statements[0]) for node in before):
                raise LeftOut("the loop leaves it out")
            return statements
        if isinstance(owner, ast.If) and not is_main(owner):
            if frame.body is owner.body:
                return self.condition(owner.test, need)
            asked = self.asked(ast.UnaryOp(ast.Not(), owner.test), need)
            if not (asked or is_set) and self.holds(owner.test):
                raise NoWay("not with the defaults")
            return asked
        if isinstance(owner, (ast.With, ast.AsyncWith)):
            for item in owner.items:
                if item.optional_vars and stores(item.optional_vars) & need:
                    raise NoWay("a context")
            calls = (item.context_expr for item in owner.items)
            return self.settings([c for c in calls if isinstance(c, ast.Call)], need)
        return []

    def settings(self, contexts: Sequence[ast.Call], need: set[str]) -> list[ast.stmt]:
        """`with lora(r=8):` and `with changed(config):` around a call set what the model is made
        of."""
        statements: list[ast.stmt] = []
        for call in contexts:
            if not self.text.is_setting(call) and need.isdisjoint(self.text.alters(call)):
                continue
            stack = f"contexts_{contexts[0].lineno}"  # others may be around or inside this one
            self.no_conflict("ExitStack")
            self.check(*call.args, *call.keywords)
            need |= loads(call) - BUILTINS
            if not statements:
                start = f"from contextlib import ExitStack\n{stack} = ExitStack()"
                statements += ast.parse(start).body
            statements += ast.parse(f"{stack}.enter_context({ast.unparse(call)})").body
        return statements

    def condition(self, test: ast.expr, need: set[str]) -> list[ast.stmt]:
        """What makes a condition true: under `if args.model == "b":` it is "b"."""
        holds = self.holds(test)
        if holds:  # with the defaults; a command may say otherwise
            return self.asked(test, need)
        option: ast.expr = test
        value: ast.expr = ast.Constant(True)
        if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Eq):
            option, value = test.left, test.comparators[0]
        elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            option, value = test.operand, ast.Constant(False)
        is_option = isinstance(option, ast.Attribute) and isinstance(option.value, ast.Name)
        is_meant = loads(option) <= need or holds is False or self.asks_all
        if is_option and isinstance(value, ast.Constant) and is_meant:
            need |= loads(option)
            target = copy.deepcopy(option)
            target.ctx = ast.Store()  # type: ignore[attr-defined]
            return [ast.fix_missing_locations(Assumption([target], value, lineno=1))]
        if holds is False:
            raise NoWay("not with the defaults")
        return self.asked(test, need)

    def asked(self, test: ast.expr, need: set[str]) -> list[ast.stmt]:
        """A condition that chooses by a name, or reads only what is needed, is asked before."""
        match test:
            case ast.UnaryOp(ast.Not(), operand):
                return self.not_asked([operand], need)
        return self.not_asked([ast.UnaryOp(ast.Not(), test)], need)

    def not_asked(
        self, tests: Sequence[ast.expr], need: set[str], known: Container[str] = ()
    ) -> list[ast.stmt]:
        """The same of conditions that do not all hold. `known`: names that have their values."""
        for test in tests:
            plain = test.operand if isinstance(test, ast.UnaryOp) else test
            read = loads(test) - BUILTINS - need - self.flags
            is_of_needed = bool(loads(test)) and all(name in known for name in read)
            if not (self.guards and (_chooses(plain) or is_of_needed or self.asks_all)):
                return []
        self.guarded = True
        self.check(*tests)
        need |= loads(*tests) - BUILTINS
        test = tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), [*tests])
        return ast.parse(f"if {ast.unparse(test)}: {NOT_REACHED}").body

    def set_beside(self, before: Sequence[ast.stmt], need: set[str]) -> set[str]:
        """The names that statements set which change what is needed, too: `depth` of `depth =
        config.pop("depth", 16)`."""
        changing = (node for node in before if changes(node) & need)
        return {name for node in changing for name in stores(node)}

    @property
    def round_of_loop(self) -> int:
        return self.entry // self.callers_tried

    def entered(self, target: ast.expr, table: ast.expr, need: set[str]) -> list[ast.stmt]:
        """A loop's variables have the values of one entry of its table."""
        names = stores(target)
        if not names & need:
            return []
        self.check(table)
        self.loops = True
        need -= names
        need |= loads(table) - BUILTINS
        return [assign(target, entry_of(table, self.round_of_loop, self.text.tables))]

    def function(
        self, function: Function, above: tuple[Frame, ...], need: set[str], depth: int
    ) -> list[ast.stmt]:
        """The values of the needed parameters: those that a caller gives, or their defaults."""
        attributes = {name for name in need if "." in name}
        statements = self.attributes(function, above, attributes, need, depth) if attributes else []
        if above and isinstance(above[-1].owner, ast.ClassDef) and function.name != "__init__":
            self.check_heirs(above[-1].owner, function.name)
        names = parameter_names(function.args)
        local = {name for node in function.body for name in stores(node)}.difference(names)
        if unset := need & local - self.conditional:
            raise NoWay(f"{sorted(unset)[0]} is not known")
        need -= local & self.conditional  # without a branch that sets it the script would fail, too
        parameters = [name for name in names if name in need]
        if parameters or variables(need) or need & self.text.rebound.keys():
            need -= set(parameters)
            statements = self.arguments(function, above, parameters, need, depth) + statements
        return statements

    def arguments(
        self,
        function: Function,
        above: tuple[Frame, ...],
        parameters: list[str],
        need: set[str],
        depth: int,
    ) -> list[ast.stmt]:
        if self.outside and key_of(function) == key_of(self.outside):
            self.given_outside |= set(parameters)
            return []
        statements = parameter_values(function, self.text.path) if len(parameters) == 1 else []
        statements = statements or values_by_type(
            function, self.text.text, self.text.tree, parameters
        )
        if statements:
            need |= loads(*statements) - BUILTINS.union(*map(stores, statements))
            return statements
        owner = above[-1].owner if above else None
        is_method = isinstance(owner, ast.ClassDef) and has_first(function)
        refused: list[NoWay] = []
        calling = self.callers(function, owner) if depth < _DEEP else []
        calls = [caller.call for caller in calling]
        rest = (function.args.vararg, function.args.kwarg)
        optional = {*default_values(function), *(item.arg for item in rest if item)}
        if (
            self.with_defaults is not None
            and key_of(function) not in self.with_defaults
            and parameters
            and optional >= set(parameters)
            and not (function.decorator_list or gives_value(function, calls, is_method, parameters))
        ):
            raise NeedsCaller(function, *parameters, has_default=True, is_called=bool(calling))
        if not calling and optional >= set(parameters) and isinstance(owner, ast.ClassDef):
            others = [heir for heir in self.text.heirs(owner) if not _inherits(heir)]
            calling = self.text.calls_of_base(others) if function.name == "__init__" else []
            calls = [caller.call for caller in calling]
        for caller in self.in_turn(calling, calling):
            saved = set(need), set(self.local)
            try:
                return self.from_caller(function, caller, parameters, need, is_method, depth)
            except NoWay as why:
                refused.append(why)
                need.clear()
                need |= saved[0]
                self.local = saved[1]
        needing = [why for why in refused if isinstance(why, NeedsCaller)]
        if needing:
            needing[-1].functions = [called for why in needing for called in why.functions]
        if refused and gives_value(function, calls, is_method, parameters):
            raise needing[-1] if needing else refused[0]
        try:
            values = {name: self.default(function, name) for name in parameters}
        except NeedsCaller:
            if not needing:
                raise
            raise needing[-1] from None
        self.check(*values.values())
        need |= loads(*values.values()) - BUILTINS
        return self.assignments(function, values, ())

    def callers(self, function: Function, owner: ast.AST | None) -> list[Place]:
        """The calls in the file of a function; of a method of the class `owner`, also by a class
        that inherits from it."""
        if not isinstance(owner, ast.ClassDef):
            calling = self.text.callers(function.name)
        elif function.name == "__init__":
            names = [owner.name, *(c.name for c in self.text.heirs(owner) if _inherits(c))]
            calling = [caller for name in names for caller in self.text.callers(name)]
        else:
            family = [owner, *self.text.heirs(owner)]
            names = [f"{c.name}.{function.name}" for c in family]
            own = [f"{holder}.{function.name}" for holder in ("self", "cls")]
            calling = [
                caller
                for caller in self.text.callers(function.name)
                if (called := dotted_name(caller.call.func)) in names
                or (called in own and any(node in family for node in caller.classes))
            ]
        return [caller for caller in calling if function not in caller.functions]

    def in_turn(self, callers: list[_Caller], places: Sequence[Place]) -> list[_Caller]:
        """The callers, which stand at some places, each first for one entry, where a condition
        chooses by what they give, or between them."""
        owners = (frame.owner for place in places for frame in place.frames)
        is_chosen = self.guards and any(isinstance(o, ast.If) and not is_main(o) for o in owners)
        if not (self.guarded or is_chosen) or len(callers) < 2:
            return callers
        self.loops = True
        first, self.callers_tried = self.entry % len(callers), len(callers)
        return [*callers[first:], *callers[:first]]

    def assignments(
        self, function: Function, values: Mapping[str, ast.expr], given: Container[str]
    ) -> list[ast.stmt]:
        """Those that give parameters their values; `given`: by a caller, not by options."""
        has_options = takes_options(function, self.text.text)
        return [
            OptionValue([ast.Name(name, ast.Store())], value, lineno=1)
            if has_options and name not in given
            else assign(name, value)
            for name, value in values.items()
        ]

    def from_caller(
        self,
        function: Function,
        caller: Place,
        parameters: list[str],
        need: set[str],
        is_method: bool,
        depth: int,
    ) -> list[ast.stmt]:
        arguments = arguments_of(function, caller.call, is_method)
        values = {name: arguments.get(name) or self.default(function, name) for name in parameters}
        self.check(*values.values())
        # What a function around the caller may set, `global config`, is looked for there, too.
        outer = variables(need) | (need & self.text.rebound.keys())
        outer_need = (loads(*values.values()) - BUILTINS) | outer
        need -= outer
        owner = self.owner
        try:
            statements = self.scope(caller, outer_need, depth + 1)
        finally:
            self.owner = owner
        self.local.update(parameters, *map(stores, statements))
        values = under_other_names(values)
        return [*statements, *self.assignments(function, values, arguments)]

    def default(self, function: Function, name: str) -> ast.expr:
        arguments = function.args
        if arguments.vararg and arguments.vararg.arg == name:
            return expression("()")
        options = of_function(function)
        if arguments.kwarg and arguments.kwarg.arg == name:
            others = {n: v for n, v in options.items() if n not in parameter_names(arguments)}
            given = {n: v for n, v in others.items() if ast.unparse(v) != "..."}
            return ast.Dict([*map(ast.Constant, given)], [*given.values()])
        if value := default_values(function).get(name):
            is_option = dotted_name(getattr(value, "func", value)) in _TYPER
            return value.args[0] if is_option and isinstance(value, ast.Call) else value
        if value := from_decorator(function, name, self.entry, self.text.tables):
            self.loops = True
            return value
        if name in options or takes_options(function, self.text.text):
            return options.get(name, ast.Constant(...))
        raise NeedsCaller(function, name)

    def attributes(
        self,
        function: Function,
        above: tuple[Frame, ...],
        attributes: set[str],
        need: set[str],
        depth: int,
    ) -> list[ast.stmt]:
        """The values of `self.x`, as the constructor sets them from what is known."""
        owner = above[-1].owner if above else None
        if not isinstance(owner, ast.ClassDef) or self.owners - {owner.name}:
            raise NoWay("self")
        owner = self.made(owner)
        self.owners.add(owner.name)
        need -= attributes
        statements: list[ast.stmt] = []
        self.owner, methods = owner, self.text.methods(owner)
        for name, line in self.text.set_outside(owner, function.name).items():
            if name in attributes:
                self.unknown[LOCAL, name] = f"{self.text.path}:{line}"
        bound: list[ast.stmt] = []  # each after those that it reads
        todo = sorted(attributes)
        while todo:
            method = methods.get(todo.pop().partition(".")[2])
            if method and not any(node.lineno == method.lineno for node in bound):
                bound.insert(0, bound_method(owner.name, method))
                todo += sorted(attributes_read(method))
                attributes |= attributes_read(method)
        if function.name == "__init__" and (base := self.text.inherited_constructor(owner)):
            body = [part for node in function.body for part in inherited_statements(node, base)]
            statements = self.before(body, attributes)
            need |= {item for item in attributes if "." not in item} - {"self"}
            attributes = {item for item in attributes if "." in item}
        for name in _SET_UP if function.name not in _SET_UP else ():
            is_constructor = name == "__init__"
            method = self.text.constructor(owner) if is_constructor else methods.get(name)
            if method and attributes:
                body = self.before(method.body, attributes)
                names = {item for item in attributes if "." not in item} - {"self"}
                attributes -= names | {"self"}
                statements = self.function(method, above, names, depth) + body + statements
                need |= names
        valued = (n for n in owner.body if not isinstance(n, ast.AnnAssign) or n.value)
        fields = {name for node in valued for name in stores(node)}
        for item in sorted(attributes):
            attribute = item.partition(".")[2]
            if attribute in methods:
                need.add(owner.name)
                continue
            if attribute in fields:
                statement = ast.parse(f"{item} = {owner.name}.{attribute}").body[0]
            elif item in self.conditional:
                continue
            else:
                raise NoWay(f"{item} is not known")
            need.add(owner.name)
            statements = [statement, *statements]
        statements += bound
        for name in sorted({name for node in statements for name in stores(node)}):
            if name.startswith("self."):
                self.check_heirs(owner, name)
        return statements


def _inherits(owner: ast.ClassDef) -> bool:
    """Whether a class has no constructor of its own."""
    return all(getattr(node, "name", "") != "__init__" for node in owner.body)


def _chooses(test: ast.expr) -> bool:
    """Whether a condition chooses by a name: `kind == "unet"`, `config["kind"] in ("a", "b")`."""
    match test:
        case ast.Compare(left, [ast.Eq() | ast.In()], [right]):
            pass
        case _:
            return False
    match left:
        case ast.Call(ast.Attribute(value, "lower" | "upper" | "get")):
            left = value
        case ast.Subscript(value, ast.Constant()):
            left = value
    is_name = isinstance(left, ast.Name) and left.id != "__name__"
    is_own = isinstance(left, ast.Attribute) and is_self(left.value)
    values = getattr(right, "elts", [right])
    texts = all(isinstance(v, ast.Constant) and isinstance(v.value, str) for v in values)
    return (is_name or is_own) and bool(values) and texts


def _leaving(node: ast.stmt) -> ast.expr | None:
    """The condition of `if …: return`, behind which nothing is reached where it holds."""
    if not isinstance(node, ast.If) or node.orelse:
        return None
    end = node.body[-1]
    is_end = isinstance(end, ast.Return) or (isinstance(end, ast.Expr) and ends_script([end]))
    return node.test if is_end else None


def _returning(body: Sequence[ast.stmt]) -> list[list[ast.expr]]:
    """The conditions with which statements return: lists of some that all hold; `[[]]` where they
    do so in any case. Of loops and `try` nothing is said."""
    paths: list[list[ast.expr]] = []
    for n, node in enumerate(body):
        inner: list[list[ast.expr]] = []
        if isinstance(node, ast.Return):
            return [[]]
        if isinstance(node, (ast.With, ast.AsyncWith)):
            inner = _returning(node.body)
        elif isinstance(node, ast.If):
            here, other = _returning(node.body), _returning(node.orelse)
            inner = [[node.test, *path] for path in here]
            inner += [[ast.UnaryOp(ast.Not(), node.test), *path] for path in other]
            inner = [[]] if here == other == [[]] else inner
        if inner == [[]]:
            return inner
        made = {name for earlier in body[:n] for name in stores(earlier)}
        paths += [path for path in inner if made.isdisjoint(loads(*path))]
    return paths


def _leaves_out(node: ast.stmt, entry: ast.stmt) -> bool:
    """Whether the loop goes on to the next entry, or ends, where its variables have these values:
    `if width == 8: continue`."""
    if not (isinstance(node, ast.If) and isinstance(node.body[-1], (ast.Continue, ast.Break))):
        return False
    assert isinstance(entry, ast.Assign)
    targets, values = (getattr(n, "elts", [n]) for n in (entry.targets[0], entry.value))
    pairs = zip(targets, values, strict=False)
    known = {n.id: value for n, value in pairs if isinstance(n, ast.Name)}
    names = (n for n in ast.walk(node.test) if isinstance(n, ast.Name) and n.id in known)
    test = copy.deepcopy(node.test, {id(n): known[n.id] for n in names})
    return bool(truth(test, {}))


def _is_taken(node: ast.stmt) -> bool:
    """Whether a name gets what another one has: an argument of a function, mostly."""
    return isinstance(node, ast.Assign) and isinstance(node.value, (ast.Name, ast.Attribute))


def _is_option(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Attribute)
        and node.value.func.attr == "add_argument"
    )
