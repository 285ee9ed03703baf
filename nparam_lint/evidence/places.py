"""Where calls stand in a syntax tree, and which names are there when its file is loaded."""

from __future__ import annotations

import ast
import copy
import re
import sys
from bisect import bisect_left
from collections import ChainMap
from functools import cached_property, partial
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from nparam_lint.discover.source_tree import cached_method, reachable
from nparam_lint.discover.syntax import FUNCTIONS, Function, dotted_name, flat, is_main, tail
from nparam_lint.evidence.arguments import arguments_known
from nparam_lint.evidence.inheritance import inherited_statements, methods_of, with_bound_methods
from nparam_lint.evidence.options import option_calls, typer_options
from nparam_lint.evidence.statements import BUILTINS, calls_in, changes, expression, loads, stores
from nparam_lint.ground.patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence, Set

IMPORTS = (ast.Import, ast.ImportFrom)
_CALLS_BASE = late_pattern(r"super\([^()]*\)\.__init__\(")
_IMPORTED_BY_CALL = late_pattern(r"\b(\w+)[ \t]*=[ \t]*(?:importlib\.)?import_module\(")
DEFINITIONS = (*FUNCTIONS, ast.ClassDef)
_FLAGS = late_pattern(r"^(\w+)\s*=\s*(?:\w+\.)*(?:FLAGS$|DEFINE_\w+\()", re.MULTILINE)
_WITH_NUMBER = ("spawn", "start_processes")  # of torch.multiprocessing


class Frame(Struct, frozen=True):
    """A list of statements, that of `owner`, up to the one at `index`."""

    owner: ast.AST
    body: Sequence[ast.stmt]
    index: int


class Place(Struct, frozen=True):
    """A call, and the lists of statements that it stands in, the outermost first. `generators`: of
    the comprehensions around it."""

    call: ast.Call
    frames: tuple[Frame, ...]
    generators: tuple[ast.comprehension, ...] = ()

    @property
    def statement(self) -> ast.stmt:
        return self.frames[-1].body[self.frames[-1].index]

    @property
    def functions(self) -> list[Function]:
        return [frame.owner for frame in self.frames if isinstance(frame.owner, FUNCTIONS)]

    @property
    def classes(self) -> list[ast.ClassDef]:
        return [frame.owner for frame in self.frames if isinstance(frame.owner, ast.ClassDef)]

    @property
    def chosen_by(self) -> list[str]:
        """The texts that conditions around it compare with: `kind` of `if args.net == "kind":`."""
        tests = (
            f.owner.test
            for f in self.frames
            if isinstance(f.owner, ast.If) and f.body is f.owner.body
        )
        compared = (n for test in tests for n in ast.walk(test) if isinstance(n, ast.Compare))
        equal = (n for n in compared if isinstance(n.ops[0], (ast.Eq, ast.In)))
        constants = (n for each in equal for n in ast.walk(each) if isinstance(n, ast.Constant))
        return [n.value for n in constants if isinstance(n.value, str)]

    @property
    def is_main(self) -> bool:
        """Whether it stands under `if __name__ == "__main__"`."""
        return any(is_main(f.owner) for f in self.frames)


class _Block(NamedTuple):
    """Statements from the first line to the last, of a function, a branch or the like."""

    owner: ast.AST
    first: int
    last: int

    @property
    def is_function(self) -> bool:
        return isinstance(self.owner, FUNCTIONS)

    def __contains__(self, line: object) -> bool:
        return isinstance(line, int) and self.first <= line <= self.last


def _bodies(owner: ast.AST) -> Iterator[Sequence[ast.stmt]]:
    """The lists of statements of a node; of `match` and `try` those of their parts, too."""
    for _, value in ast.iter_fields(owner):
        items = value if isinstance(value, list) else []
        if items and isinstance(items[0], ast.stmt):
            yield items
        elif items and isinstance(items[0], (ast.excepthandler, ast.match_case)):
            yield from (item.body for item in items)


def _is_around(node: ast.AST, line: int) -> bool:
    first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", None)
    return first <= line <= (last or first)


def _is_beside(line: int, block: _Block) -> bool:
    """Whether a line is in another branch of what a block is a branch of."""
    return _is_around(block.owner, line) and line not in block


def _is_in_order(tree: ast.Module, line: int) -> bool:
    """Whether a line runs as the file is read: it is in no function, and no class."""
    return not any(isinstance(n, DEFINITIONS) and _is_around(n, line) for n in tree.body)


class SourceText(Struct, dict=True):
    """A syntax tree that calls stand in. `is_module`: the names of its top level are there when the
    slice is run; else they are made by the slice too, but for `home_names`.
    `is_harmless`: whether a call may be run. `is_setting`: whether the call of a context sets what
    models are made with. `alters`: the names of the objects that a call changes. `is_part`: whether
    a call makes what a model may get. `sets`: see `ObjectChanges.of`. `bases`: the classes of the
    project that one inherits from, and where they stand. `made_instead`: those that inherit from
    one that is made nowhere itself.
    """

    text: str
    tree: ast.Module
    is_harmless: Callable[[ast.Call], bool]
    is_module: bool = True
    home_names: frozenset[str] = frozenset()
    path: str = ""
    sets: Callable[[ast.Call], Iterable[tuple[str, str, str]]] = lambda _: ()
    is_setting: Callable[[ast.Call], bool] = lambda _: False
    alters: Callable[[ast.Call], Set[str]] = lambda _: frozenset()
    is_part: Callable[[ast.Call], bool] = lambda _: False
    has_usual_size: Callable[[ast.Call, str], bool] = lambda _, __: False
    bases: Callable[[ast.ClassDef], Iterable[tuple[SourceText, ast.ClassDef]]] = lambda _: ()
    made_instead: Callable[[ast.ClassDef], Sequence[ast.ClassDef]] = lambda _: ()

    @cached_property
    def options(self) -> dict[str, ast.Call]:
        """The options of the command line that the text declares."""
        is_declared = "add_argument" in self.text or "click" in self.text
        typed = typer_options(self.tree) if "typer" in self.text else {}
        return typed | dict(option_calls([self.tree]) if is_declared else ())

    @cached_property
    def flags(self) -> set[str]:
        """The names of what holds options as absl has them, which are defined as the file is
        loaded."""
        return set(_FLAGS.findall(self.text))

    @cached_property
    def modules(self) -> set[str]:
        """What the text calls modules that it imports by their names."""
        nodes = [
            node for node in [*self.tree.body, *self.inner_imports] if type(node) is ast.Import
        ]
        names = {name for node in nodes for name in stores(node)}
        return names.union(_IMPORTED_BY_CALL.findall(self.text))

    @cached_property
    def stored(self) -> set[str]:
        """The attributes that the text assigns anywhere, or that subcommands have."""
        text = re.sub("#.*", "", self.text)
        return {*re.findall(r"(?:\.|set_defaults\(\s*)(\w+)[^=\n(]*=[^=]", text)}

    @cached_property
    def definitions(self) -> dict[str, ast.stmt]:
        """The classes and functions of the top level."""
        return {node.name: node for node in self.tree.body if isinstance(node, DEFINITIONS)}

    @cached_property
    def inner_functions(self) -> dict[str, Function]:
        """Those that stand in other functions."""
        outer = (node for node in self.tree.body if isinstance(node, FUNCTIONS))
        inside = (item for node in outer for item in flat(node.body))
        return {node.name: node for node in inside if isinstance(node, FUNCTIONS)}

    @cached_method
    def methods(self, owner: ast.ClassDef) -> dict[str, Function]:
        """Those of a class, and the ones that it has from its bases."""
        bases = [text.methods(base) for text, base in self.bases(owner)]
        return dict(ChainMap(methods_of(owner), *bases))

    @cached_method
    def heirs(self, owner: ast.ClassDef) -> list[ast.ClassDef]:
        """The classes of the file that inherit from one."""
        classes = [node for node in self.definitions.values() if isinstance(node, ast.ClassDef)]
        family = [owner]
        for base in family:
            inheriting = [c for c in classes if base.name in map(dotted_name, c.bases)]
            family += [c for c in inheriting if c not in family]
        return family[1:]

    def calls_of_base(self, heirs: Sequence[ast.ClassDef]) -> list[Place]:
        """The calls of the constructor that they inherit in those of some classes."""
        return [
            place
            for place in (self.places(_CALLS_BASE) if heirs else ())
            if getattr(place.call.func, "attr", "") == "__init__"
            if place.classes and place.classes[-1] in heirs
        ]

    @cached_method
    def set_outside(self, owner: ast.ClassDef, method: str) -> dict[str, int]:
        """The attributes of objects of a class, `self.x`, that the file sets before it calls a
        method of them, by itself or by another method, each with the line that does."""
        names = {owner.name, *(heir.name for heir in self.heirs(owner))}
        methods = self.methods(owner)
        objects: set[str] = set()
        setting: list[tuple[str, str, int]] = []  # (object, attribute, line)
        calls: dict[str, int] = {}

        def set_by(name: str) -> set[str]:
            other = methods.get(name) if name not in ("__init__", method) else None
            return {item for part in other.body for item in stores(part)} if other else set()

        for node in ast.walk(self.tree):
            match node:
                case ast.Assign([ast.Name(name)], ast.Call(called)) if dotted_name(called) in names:
                    objects.add(name)
                case ast.Attribute(ast.Name(name), attribute, ast.Store()):
                    setting.append((name, f"self.{attribute}", node.lineno))
                case ast.Call(ast.Attribute(ast.Name(name), called)):
                    calls[name] = node.lineno if called == method else calls.get(name, 0)
                    setting += [(name, item, node.lineno) for item in set_by(called)]
                case ast.Call(ast.Attribute(ast.Call() as made, called)) if called == method:
                    value: ast.expr = made
                    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
                        setting += [("", item, node.lineno) for item in set_by(value.func.attr)]
                        value = value.func.value
                    if isinstance(value, ast.Call) and dotted_name(value.func) in names:
                        objects.add("")
                    calls[""] = sys.maxsize
        before = sorted(setting, key=itemgetter(2, 1))
        return {
            a: at
            for name, a, at in before
            if name in objects - {"self"} and at < calls.get(name, 0)
        }

    @cached_method
    def constructor(self, owner: ast.ClassDef) -> Function | None:
        """The `__init__` of a class, with what its base does in it."""
        method = methods_of(owner).get("__init__")
        inherited = self.inherited_constructor(owner)
        if method is None:
            return inherited
        body = [
            part
            for node in method.body
            for part in (*(inherited_statements(node, inherited) if inherited else ()), node)
        ]
        methods = {
            name: node
            for name, node in self.methods(owner).items()
            if all(map(self.is_harmless, calls_in(node)))
        }
        whole = copy.copy(method)
        whole.body = [*with_bound_methods(owner.name, body, methods)]
        return whole

    @cached_method
    def inherited_constructor(self, owner: ast.ClassDef) -> Function | None:
        for text, base in self.bases(owner):
            if constructor := text.constructor(base):
                return constructor
        return None

    def globals_of(self, name: str) -> set[str]:
        """The names of the file, apart from those that are sure to be there, that a definition and
        those that it uses read when they run."""
        if not self.changing:
            return set()

        def used(each: str) -> set[str]:
            return loads(self.definitions.get(each))

        names = reachable(used(name), used)
        return self.changing.intersection(names)

    @cached_property
    def changing(self) -> set[str]:
        """The names of the top level that are not sure to be there when the file is loaded."""
        names = {name for node in self.tree.body for name in stores(node)}
        return {name for name in names - self.available if "." not in name}

    @cached_property
    def set_in_main(self) -> set[str]:
        """The names that get a value below `if __name__ == "__main__":`."""
        return {name for node in self.tree.body if is_main(node) for name in stores(node)}

    def places(self, pattern: re.Pattern[str], names: Set[str] | None = None) -> Iterator[Place]:
        """The calls in statements that the pattern finds something in. `names`: of which it has to
        find one, in a group."""
        ends = (
            match.end()
            for match in pattern.finditer(self.text)
            if names is None or not names.isdisjoint(match.groups())
        )
        lines = sorted({bisect_left(self._breaks, end) + 1 for end in ends})
        yield from _places(self.tree, self.tree.body, (), lines)

    @cached_property
    def imports_by_name(self) -> bool:
        """Whether modules are imported by names that are worked out."""
        return "import_module" in self.text or "__import__" in self.text

    @cached_property
    def inner_imports(self) -> list[ast.Import | ast.ImportFrom]:
        """Those in functions and other blocks."""
        return [*self._around_imports]

    @cached_property
    def _around_imports(self) -> dict[ast.Import | ast.ImportFrom, list[_Block]]:
        """Each of them with the blocks that it stands in, the outermost first."""
        blocks: dict[ast.Import | ast.ImportFrom, list[_Block]] = {}
        todo: list[tuple[ast.AST, list[_Block]]] = [(self.tree, [])]
        while todo:
            owner, around = todo.pop()
            for body in _bodies(owner):
                first, last = body[0].lineno, body[-1].end_lineno or body[-1].lineno
                inside = [*around, _Block(owner, first, last)] if owner is not self.tree else []
                for node in body:
                    if isinstance(node, IMPORTS) and inside:
                        blocks[node] = inside
                    todo.append((node, inside))
        return blocks

    def imports_reaching(
        self, name: str, line: int
    ) -> tuple[list[ast.Import | ast.ImportFrom], bool]:
        """The imports in functions and blocks one of which has given a name its value at a line,
        the last first; and whether one at the top level, or a definition, may have."""
        scopes: dict[ast.AST | None, list[ast.Import | ast.ImportFrom]] = {}
        every = {n: blocks for n, blocks in self._around_imports.items() if name in stores(n)}
        for node, blocks in every.items():
            function = next((b.owner for b in reversed(blocks) if b.is_function), None)
            if function is None or _is_around(function, line):
                scopes.setdefault(function, []).append(node)
        if not scopes:  # a cell of a notebook hands it to others
            return [] if name in self.names else [*every], True
        function = max(scopes, key=lambda owner: getattr(owner, "lineno", 0))
        reaching: list[ast.Import | ast.ImportFrom] = []
        for node in sorted(scopes[function], key=attrgetter("lineno")):
            blocks = self._around_imports[node]
            if all(line in block for block in blocks) and node.lineno <= line:
                reaching = [node]  # whatever was imported before
            elif function is None and not _is_in_order(self.tree, line):
                reaching.append(node)  # functions run when all of the file has
            elif node.lineno <= line and not any(map(partial(_is_beside, line), blocks)):
                reaching.append(node)
        is_certain = any(all(line in b for b in self._around_imports[n]) for n in reaching)
        return reaching[::-1], not is_certain

    def is_attempt(self, node: ast.Import | ast.ImportFrom) -> bool:
        """Whether another import is tried where this one fails, or this is the other."""
        return any(isinstance(block.owner, ast.Try) for block in self._around_imports[node])

    @cached_property
    def _breaks(self) -> list[int]:
        return [match.start() for match in re.finditer("\n", self.text)]

    @cached_method
    def callers(self, name: str) -> list[Place]:
        """The calls of a function, those under `__main__` first; one that is started in other
        processes is called by them. What is called by itself comes before that, and what no loop
        repeats before what one does."""
        calls = []
        names = [name, *self.aliases(name)]
        for place in self.places(re.compile(rf"\b({'|'.join(map(re.escape, names))})\s*[(,)]")):
            is_call = tail(dotted_name(place.call.func)) in names
            call = place.call if is_call else _launched(place.call, name)
            given = [replace(place, call=call)] if call else [*self.given_to(place.call, names)]
            for item in given:
                loops = sum(isinstance(frame.owner, ast.For) for frame in item.frames)
                order = (not item.is_main, not is_call, len(item.functions), loops)
                calls.append((order, item))
        return [place for _, place in sorted(calls, key=itemgetter(0))]

    def given_to(self, call: ast.Call, names: Sequence[str]) -> Iterator[Place]:
        """The calls of a function, by its names, that a call makes of it: an option of subcommands,
        `set_defaults(func=train)`, then `args.func(args)`; or a parameter of another function,
        `start(train, args)`."""
        meant: list[tuple[str, Function | None]] = []
        if getattr(call.func, "attr", "") == "set_defaults":
            given = [item.arg for item in call.keywords if dotted_name(item.value) in names]
            meant += [(name, None) for name in filter(None, given)]
        launched = (_launched(call, name) for name in sorted(loads(call) & self.definitions.keys()))
        for item in (call, *filter(None, launched)):
            function = self.definitions.get(dotted_name(item.func))
            if isinstance(function, FUNCTIONS):
                values = arguments_known(function, item, is_method=False).items()
                meant += [(p, function) for p, value in values if dotted_name(value) in names]
        for name, function in meant:
            for place in self.places(re.compile(rf"\b{name}\s*\(")):
                of = place.call.func
                if tail(dotted_name(of)) == name and (not function or function in place.functions):
                    called = ast.Call(ast.Name(names[0]), place.call.args, place.call.keywords)
                    test = expression(f"{ast.unparse(of)}.__name__ == {names[0]!r}")
                    body = [place.statement]
                    frame = Frame(ast.If(test, body, []), body, 0)
                    frames = place.frames if function else (*place.frames, frame)
                    yield replace(place, call=ast.copy_location(called, place.call), frames=frames)

    def aliases(self, name: str) -> list[str]:
        """The names that the text gives something besides its own: `Runner = Trainer`,
        `import main as train_main`."""
        own = re.escape(name)
        named = rf"^[ \t]*(\w+)[ \t]*=[ \t]*{own}[ \t]*$|\b{own}[ \t]+as[ \t]+(\w+)"
        return [a or b for a, b in re.findall(named, self.text, re.MULTILINE)]

    @cached_property
    def available(self) -> frozenset[str]:
        """The names that loading the file is sure to give the value that they have in the end:
        those of imports and definitions, and of constants that are assigned once."""
        if not self.is_module:
            return frozenset()
        sure: set[str] = set(BUILTINS)
        often: set[str] = set()
        top = set(self.tree.body)
        for node in flat(self.tree.body):
            if isinstance(node, (*IMPORTS, *DEFINITIONS)):
                sure |= stores(node)
            elif isinstance(node, ast.If):  # both branches import something by one name
                first, second = (
                    {n for s in b if isinstance(s, IMPORTS) for n in stores(s)}
                    for b in (node.body, node.orelse)
                )
                often |= first & second
            elif isinstance(node, (ast.Assign, ast.AnnAssign)) and stores(node):
                is_once = sure.isdisjoint(stores(node)) and node in top
                is_plain = not any(calls_in(node)) or not self.flags.isdisjoint(stores(node))
                is_simple = is_once and is_plain and loads(node) <= sure - {"sys"}
                (sure if is_simple else often).update(stores(node))
            elif isinstance(node, (ast.Expr, ast.Assign, ast.AugAssign)):
                often |= stores(node) | self.changed(node)
        available = sure - often - BUILTINS
        return frozenset((available | self._changed_by_loading(available)) - self.rebound.keys())

    @cached_property
    def rebound(self) -> dict[str, str]:
        """The names of the top level that functions give another value, each with one of these."""
        functions = self.definitions.values() if "global " in self.text else ()
        return {
            name: function.name
            for function in functions
            if isinstance(function, FUNCTIONS)
            for node in ast.walk(function)
            if isinstance(node, ast.Global)
            for name in node.names
            if any(name in stores(part) for part in function.body)
        }

    def changed(self, node: ast.stmt) -> Set[str]:
        """The names of the objects that a statement changes, by itself or by what it calls."""
        call = node.value if isinstance(node, ast.Expr) else None
        return changes(node) | (self.alters(call) if isinstance(call, ast.Call) else frozenset())

    def _changed_by_loading(self, available: set[str]) -> set[str]:
        """The imported names whose values loading the file changes, by what is always the same:
        `C.width *= 2` would be done twice, if a slice had it, too."""
        imported: set[str] = set()
        stored: set[str] = set()
        again: set[str] = set()
        for node in flat(self.tree.body):
            if isinstance(node, IMPORTS):
                imported |= stores(node)
                continue
            stored |= stores(node)
            is_plain = isinstance(node, (ast.Expr, ast.Assign, ast.AugAssign))
            for name in self.changed(node) if is_plain else ():
                is_same = node in self.tree.body and loads(node) <= available | {name} | BUILTINS
                if not (is_same and all(map(self.is_harmless, calls_in(node)))):
                    again.add(name)
        return imported - stored - again - available

    @cached_property
    def tables(self) -> dict[str, ast.expr]:
        """The values of constants at the top level, which may be tables."""
        nodes = (node for node in self.tree.body if isinstance(node, (ast.Assign, ast.AnnAssign)))
        pairs = ((stores(node), node.value) for node in nodes if node.value)
        return {min(n): value for n, value in pairs if len(n) == 1 and n <= self.available}

    @property
    def names(self) -> frozenset[str]:
        """All names that may be there when a slice is run."""
        return self.module_names if self.is_module else self.home_names

    @cached_property
    def module_names(self) -> frozenset[str]:
        return frozenset(name for node in self.tree.body for name in stores(node))

    @cached_property
    def has_star(self) -> bool:
        return self.is_module and "*" in self.module_names


def _launched(call: ast.Call, name: str) -> ast.Call | None:
    """The call of a function that another one makes: `mp.spawn(work, args=(a, b))`, where the first
    argument is the number of the process, `Process(target=work, args=(a, b))`, or
    `launch(cfg=cfg, func=work)`."""
    keywords = {k.arg: k.value for k in call.keywords if k.arg}
    functions = [*call.args[:1], *(keywords.pop(word, None) for word in ("target", "fn", "func"))]
    given = (item for item in functions if item and tail(dotted_name(item)) == name)
    if (function := next(given, None)) is None:
        return None
    arguments = keywords.get("args")
    if arguments is None and keywords and not call.args:  # launch(cfg=cfg, func=train)
        words = [ast.keyword(word, value) for word, value in keywords.items()]
        return ast.copy_location(ast.Call(function, [], words), call)
    if not isinstance(arguments, (ast.Tuple, ast.List)):
        return None
    numbers = [ast.Constant(0)] if tail(dotted_name(call.func)) in _WITH_NUMBER else []
    return ast.copy_location(ast.Call(function, [*numbers, *arguments.elts], []), call)


def _places(
    owner: ast.AST, body: Sequence[ast.stmt], above: tuple[Frame, ...], lines: Sequence[int]
) -> Iterator[Place]:
    """`lines`: those, in order, that are looked at."""
    for index, node in enumerate(body):
        first = min((d.lineno for d in getattr(node, "decorator_list", ())), default=node.lineno)
        at = bisect_left(lines, first)
        if at == len(lines) or lines[at] > (node.end_lineno or node.lineno):
            continue
        frames = (*above, Frame(owner, body, index))
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, (ast.stmt, ast.excepthandler, ast.match_case)):
                yield from _inside(child, frames, ())
        for holder in (node, *getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            for name in ("body", "orelse", "finalbody"):
                yield from _places(node, getattr(holder, name, ()), frames, lines)


def _inside(
    node: ast.AST, frames: tuple[Frame, ...], generators: tuple[ast.comprehension, ...]
) -> Iterator[Place]:
    if isinstance(node, ast.Call):
        yield Place(node, frames, generators)
    if isinstance(node, ast.Lambda):
        return  # its arguments are not known
    generators += tuple(getattr(node, "generators", ()))
    for child in ast.iter_child_nodes(node):
        yield from _inside(child, frames, generators)
