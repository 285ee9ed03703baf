"""What is needed of the statements of one block: the ones that give needed names their values."""

from __future__ import annotations

import ast
import copy
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field

from nparam_lint.discover.syntax import dotted_name, is_main
from nparam_lint.evidence.options import asks_for_files, truth
from nparam_lint.evidence.places import DEFINITIONS, IMPORTS, SourceText
from nparam_lint.evidence.statements import (
    BUILTINS,
    NotRun,
    NoWay,
    calls_in,
    changed,
    changed_by_call,
    changed_in_turn,
    changes,
    ends_script,
    leaves_rounds,
    loads,
    mutated,
    sets_attributes,
    stores,
    targets_of,
    values_given,
    variables,
    variables_set,
)
from nparam_lint.ground.script_words import OF_DATA, PARTS_OF_MODEL, WITH_CHANGES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Assigning = ast.Assign | ast.AnnAssign | ast.AugAssign

LOCAL = "a local variable"
ABSENT = "a local variable, if a file is there"
BY_DEFAULT = "a default"
IMPORTED = "an import"
_MAKES_PARSER = (
    "add_argument_group",
    "add_mutually_exclusive_group",
    "add_subparsers",
    "add_parser",
)


class _Branch(NamedTuple):
    """What is needed of a branch of a condition. `why`: it must not be run."""

    statements: list[ast.stmt]
    need: set[str]
    why: NoWay | None = None
    ends: bool = False

    def body(self) -> list[ast.stmt]:
        if not (self.why or self.ends):
            return self.statements
        words = f"this is not run: {self.why.args[0]}" if self.why else "the script ends here"
        return ast.parse(f"raise ValueError({words!r})").body


class StatementSlice(Struct):
    """Goes through blocks from their ends. What is needed is a set of names, `need`, which each
    step changes to what has to be there before. Every step may raise NoWay."""

    text: SourceText
    given_names: set[str] = field(default_factory=set)  # what the model gets as it is
    # (object, attribute) that is set by what is not run → where; of a name, (LOCAL, name), of an
    # argument that is left out, (BY_DEFAULT, name), of what another file has, (IMPORTED, name)
    unknown: dict[tuple[str, str], str] = field(default_factory=dict)
    lost: frozenset[str] = frozenset()  # names whose values only what is not run would give
    conditional: set[str] = field(default_factory=set)  # names that a branch that is kept sets
    chosen: Mapping[str, ast.Call] = {}  # options with other values than their defaults

    def holds(self, test: ast.expr) -> bool | None:
        """Whether a condition holds with these, and the defaults; None where that is not known."""
        return truth(test, {**self.text.options, **self.chosen})

    def check(self, *nodes: ast.AST) -> None:
        """Raise NoWay where running these would do more than make values."""
        for node in nodes:
            model = ""
            if isinstance(node, ast.FunctionDef) and node.name == WITH_CHANGES:
                model = node.args.args[0].arg  # it is there: its parts can be gone through
            for inner in ast.walk(node):
                if isinstance(inner, (ast.Await, ast.Yield, ast.YieldFrom)):
                    raise NoWay("something is awaited")
                if isinstance(inner, ast.Call) and not self.text.is_harmless(inner):
                    name = dotted_name(inner.func)
                    is_part = PARTS_OF_MODEL.search(name) and name.partition(".")[0] == model
                    if not is_part:
                        raise NotRun(name or ast.unparse(inner.func))

    def check_given(self, value: ast.AST) -> None:
        """As `check`, of what the model gets as it is: it may be made by another package."""
        if isinstance(value, ast.Call) and self.text.is_part(value):
            self.check(*value.args, *value.keywords)
        else:
            self.check(value)

    def before(
        self, body: Sequence[ast.stmt], need: set[str], available: frozenset[str] = frozenset()
    ) -> list[ast.stmt]:
        """Those of the statements that give needed names their values; afterwards `need` holds what
        has to be there before. `available`: names that need no statement."""
        statements: list[ast.stmt] = []
        makers = _parser_makers(body) if self.text.options else []
        parts = {
            name: (index, root)  # cfg = config_module.cfg: what the module does changes that, too
            for index, node in enumerate(body)
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Attribute)
            if (root := dotted_name(node.value).partition(".")[0]) in self.text.modules
            for name in stores(node)
        }
        for index in reversed(range(len(body))):
            need |= {root for name, (at, root) in parts.items() if name in need and at < index}
            # What adds options to a needed parser is needed too.
            for at, root, names in makers:
                need |= names if at <= index and root in need else set()
            node = body[index]
            needless = set() if is_main(node) else need & available
            need -= needless
            statements = self.keep(node, need) + statements
            need |= needless
        return statements

    def keep(self, node: ast.stmt, need: set[str]) -> list[ast.stmt]:
        """What is needed of one statement; what one that is left out changes is noted."""
        statements = self.needed_part(node, need)
        if not (statements or isinstance(node, DEFINITIONS)):
            for call in calls_in(node):
                values = values_given(call)
                names = {item.id for item in values if isinstance(item, ast.Name)} & need
                for name, attribute, at in self.text.sets(call) if names or variables(need) else ():
                    if name in names or attribute in need:
                        self.unknown.setdefault((name, attribute), at)
        return statements

    def needed_part(self, node: ast.stmt, need: set[str]) -> list[ast.stmt]:
        if is_main(node):
            assert isinstance(node, ast.If)
            return self.before(node.body, need)
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            return self.assignment(node, need)
        own = {name for name in need if name.startswith("self.")}
        sets_own = bool(own) and sets_attributes(node)
        if sets_own and isinstance(node, (ast.Expr, ast.For)):
            self.check(node)
            need -= own
            self.conditional |= own
            need |= {name for name in loads(node) - BUILTINS if not name.startswith("self")}
            return [node]
        if isinstance(node, ast.Expr):
            return self.change(node, need)
        if isinstance(node, (*IMPORTS, *DEFINITIONS)):
            return self.definition(node, need)
        is_needed = sets_own or stores(node) & need or changes(node) & need
        if not (is_needed or any(self.text.alters(call) & need for call in calls_in(node))):
            return []
        return self.compound(node, need)

    def assignment(self, node: Assigning, need: set[str]) -> list[ast.stmt]:
        if node.value is None:
            return []
        targets = targets_of(node)
        names = {name for target in targets for name in stores(target)}
        parts = {name for target in targets for name in changed(target)}
        parts |= variables_set(node) | mutated(node.value)
        if not (names | parts) & need:
            return []
        node = self.with_usual_sizes(node)
        assert node.value is not None
        try:
            if lost := loads(node.value) & self.lost:
                raise NotRun(min(lost))
            if names & self.given_names:
                self.check_given(node.value)
            else:
                self.check(node)
        except NoWay as why:
            at = f"{self.text.path}:{node.lineno}"
            if isinstance(why, NotRun) and names & need and not why.place:
                why.name, why.place = min(names & need), at
            items = [item for target in targets for item in getattr(target, "elts", [target])]
            if names & need or not all(isinstance(i, (ast.Attribute, ast.Name)) for i in items):
                raise
            attributes = (item for item in items if isinstance(item, ast.Attribute))
            self.unknown |= {(dotted_name(item.value), item.attr): at for item in attributes}
            return []
        if not isinstance(node, ast.AugAssign):
            need -= names | variables_set(node)
        need |= loads(*targets, node.value) - BUILTINS
        return [node]

    def with_usual_sizes(self, node: Assigning) -> Assigning:
        """An assignment without those arguments of a config that only what is not run would give
        and that have a default, which is noted."""
        call = node.value
        if not isinstance(call, ast.Call):
            return node
        keywords = []
        for item in call.keywords:
            if item.arg and self.text.has_usual_size(call, item.arg) and self.is_lost(item.value):
                self.unknown[BY_DEFAULT, item.arg] = f"{self.text.path}:{node.lineno}"
            else:
                keywords.append(item)
        plain = copy.copy(node)
        plain.value = ast.copy_location(ast.Call(call.func, call.args, keywords), call)
        return node if keywords == call.keywords else plain

    def is_lost(self, value: ast.expr) -> bool:
        """Whether only what is not run would give it."""
        try:
            self.check(value)
        except NotRun:
            return True
        return bool(loads(value) & self.lost)

    def change(self, node: ast.Expr, need: set[str]) -> list[ast.stmt]:
        if not isinstance(node.value, ast.Call):
            return []
        name, is_change = changed_by_call(node.value)
        is_setting = variables_set(node.value) & need
        is_altered = not need.isdisjoint(self.text.alters(node.value))
        if not (is_setting or (name in need and is_change) or is_altered):
            return []
        try:
            self.check(node)
        except NotRun as why:
            if not why.place:
                why.name, why.place = name, f"{self.text.path}:{node.lineno}"
            raise
        need |= loads(node) - BUILTINS
        return [node]

    def definition(self, node: ast.stmt, need: set[str]) -> list[ast.stmt]:
        names = stores(node) & need
        if not names:
            return []
        need -= names
        if isinstance(node, IMPORTS):
            node = copy.copy(node)
            node.names = [alias for alias in node.names if stores(alias) & names]
        else:
            need |= loads(node) - BUILTINS - names
        return [node]

    def compound(self, node: ast.stmt, need: set[str]) -> list[ast.stmt]:
        if isinstance(node, ast.If):
            return self.choice(node, need)
        if isinstance(node, (ast.With, ast.AsyncWith)):
            body = self.before(node.body, need)
            bound = {n for i in node.items if i.optional_vars for n in stores(i.optional_vars)}
            contexts = [item.context_expr for item in node.items]
            calls = (item for item in contexts if isinstance(item, ast.Call))
            is_altered = any(not need.isdisjoint(self.text.alters(call)) for call in calls)
            if not (body and (need & bound or is_altered)):
                return body
            self.check(*contexts)
            need -= bound
            need |= loads(*contexts) - BUILTINS
            return [ast.With(node.items, body)]
        if isinstance(node, ast.For) and not stores(node.target) & need:
            self.check(node.iter)
            is_in_turn = need & changed_in_turn(node)
            body_need = need | stores(node.target) if is_in_turn else set(need)
            body = self.before(node.body, body_need)
            if not body:
                return []
            need |= body_need - stores(node.target)
            need |= loads(node.iter) - BUILTINS
            if leaves_rounds(node):  # what leaves a round decides what the others do
                with suppress(NotRun):
                    self.check(node)
                    need |= loads(*node.body) - BUILTINS - stores(node)
                    return [ast.For(node.target, node.iter, node.body, [])]
            return [ast.For(node.target, node.iter, body, [])]
        if isinstance(node, ast.Try):
            handled = {
                n for handler in node.handlers for part in handler.body for n in stores(part)
            }
            if handled & need:  # what fails decides which value it is
                with suppress(NotRun):
                    self.check(node)
                    before = set(stores(node))  # of what it sets itself: what it has to have before
                    self.before(node.body, before)
                    need -= {name for part in node.body for name in stores(part)}
                    need |= before | (loads(node) - BUILTINS - stores(node))
                    return [node]
            return self.before([*node.body, *node.orelse, *node.finalbody], need)
        raise NoWay(f"{type(node).__name__} at line {node.lineno}")

    def choice(self, node: ast.If, need: set[str]) -> list[ast.stmt]:
        """What is needed of both branches of a condition that the worker evaluates. In place of one
        that must not be run, or that ends the script, it raises an error."""
        holds = truth(node.test, {})
        if holds is False and asks_for_files(node.test):  # of data, perhaps
            parts = [part for part in node.body if isinstance(part, (ast.Assign, ast.Expr))]
            names = {name for part in parts for name in stores(part) if "." not in name}
            calls = (part.value for part in parts if isinstance(part.value, ast.Call))
            names |= {name for name, is_change in map(changed_by_call, calls) if is_change}
            names -= {name for part in node.orelse for name in stores(part)}
            at = f"{self.text.path}:{node.lineno}"
            self.unknown |= {(ABSENT, name): at for name in sorted(names & need)}
        if holds is not None:
            return self.before(node.body if holds else node.orelse, need)
        self.check(node.test)
        is_taken = self.holds(node.test)
        first = self.branch(node.body, need, None if is_taken is False else node.orelse)
        second = self.branch(node.orelse, need, None if is_taken else node.body)
        if first.why and second.why:
            raise first.why
        at = f"{self.text.path}:{node.lineno}"
        first, second = self.without_data(first, second, at), self.without_data(second, first, at)
        if not (first.statements or second.statements or first.why or second.why):
            return []
        need.clear()
        need |= first.need | second.need | (loads(node.test) - BUILTINS)
        self.conditional.update(*map(stores, (*first.statements, *second.statements)))
        return [ast.If(node.test, first.body() or [ast.Pass()], second.body())]

    def without_data(self, branch: _Branch, other: _Branch, at: str) -> _Branch:
        """A branch; or the other, where data would give what that sets as well, which is noted."""
        if not (isinstance(branch.why, NotRun) and OF_DATA.search(branch.why.args[0])):
            return branch
        names = sorted(name for item in other.statements for name in stores(item))
        if not names:
            return branch
        self.unknown |= {(LOCAL, name): at for name in names}
        return other

    def branch(
        self, body: Sequence[ast.stmt], need: set[str], other: Sequence[ast.stmt] | None
    ) -> _Branch:
        """`other`: the other branch, if this one may be taken. What that does not set has a value
        before, which it keeps where what is not run would give another; that is noted."""
        if ends_script(body):
            return _Branch([], set(), ends=True)
        branch_need = set(need)
        try:
            return _Branch(self.before(body, branch_need), branch_need)
        except NoWay as why:
            stored = ((name, item.lineno) for item in body for name in sorted(stores(item) & need))
            names = dict(stored)
            is_kept = other is not None and names and isinstance(why, NotRun)
            if not is_kept or any(name in stores(item) for item in other or () for name in names):
                return _Branch([], set(), why)
            self.unknown |= {(LOCAL, n): f"{self.text.path}:{at}" for n, at in names.items()}
            return _Branch([], set(need))


def _parser_makers(body: Sequence[ast.stmt]) -> list[tuple[int, str, frozenset[str]]]:
    """The statements that make a part of a parser, a group or a subparser: index, the name of what
    it is a part of, and those that it gets."""
    makers: list[tuple[int, str, frozenset[str]]] = []
    for index, node in enumerate(body):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            root, _, method = dotted_name(node.value.func).rpartition(".")
            if method in _MAKES_PARSER:
                makers.append((index, root, stores(node)))
    return makers
