"""What calls are looked up in: the names of wanted models, and which files may call them."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from nparam_lint.discover.name_resolution import Symbol
from nparam_lint.discover.source_tree import cached_method, reachable
from nparam_lint.discover.syntax import (
    FUNCTIONS,
    annotation_names,
    dotted_name,
    flat,
    returned_calls,
    tail,
    words_in,
)
from nparam_lint.evidence import Evidence
from nparam_lint.evidence.commands import is_to_fill_in
from nparam_lint.evidence.config_libraries import BUILDS_IN_TEXT, HANDED_ON_IN_TEXT
from nparam_lint.evidence.object_changes import is_read, joined_notes, note_on, skipped_settings
from nparam_lint.evidence.statement_slices import ABSENT, BY_DEFAULT, IMPORTED, LOCAL
from nparam_lint.evidence.statements import (
    BUILTINS,
    NoWay,
    calls_in,
    does_work,
    expression,
    source_of,
)
from nparam_lint.ground.notation import Target
from nparam_lint.ground.orders import Recipe
from nparam_lint.ground.paths import join, parent
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.ground.script_words import (
    IN_TABLE,
    LATER_SCRIPT,
    LOOK_UPS,
    LOOKED_UP_VALUE,
    RUN_SETTING,
)
from nparam_lint.ground.values import Way

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from nparam_lint.evidence import EvidenceQuery
    from nparam_lint.evidence.commands import Command
    from nparam_lint.ground.values import Position

HELP = frozenset(("-h", "--help"))
_MANY = 500  # files: in a project of so many, arguments are not followed to other files
_LINE = 200  # bytes before a name, which a line of data may have many of
_LARGE = 400_000  # bytes of a file or a text, in which calls are not looked for
# What stands behind a name that is called, or gets another name; and before one that is neither.
_FILE = late_pattern(r"'(?:\./)?((?:[\w-][\w.-]*/)*[\w-][\w.-]*\.(?:ya?ml|json|toml))'")
_IS_CALLED = late_pattern(rb"(?:\.(?!from_pretrained)\w+)?\s*\(|\s+as\s+\w+\s*[,)\n#;]")
# In its line, before what something may call by another name, `LLM = GPT`, `run(GPT, 3)`; and in
# those lines in which it is none.
_GIVES = late_pattern(rb"[=(,][ \t]*(?:\w+\.)*\Z")
_GIVES_NONE = late_pattern(rb"[ \t]*(?:from|import|class)\b|.*\b(?:isinstance|issubclass|super)\(")
_IS_OTHER = late_pattern(rb"(\w|class |def )\Z")
# Also what gets another name, which may be called, and what is handed on to be called.
_CALLED = late_pattern(
    rb"\b(?:spawn|start_processes)\(\s*(?:\w+\.)*(\w+)|\b(?:func|fn|target)=(?:\w+\.)*(\w+)"
    rb"|(\w+)\s*\(|=[ \t]*([A-Za-z_]\w*)[ \t\r]*$",
    re.MULTILINE,
)
# One by one: an expression is searched for at the speed of memory if its start is a plain text.
_EACH_LOOK_UP = [
    late_pattern(pattern.encode(), re.MULTILINE)
    for pattern in (*LOOK_UPS, *BUILDS_IN_TEXT, HANDED_ON_IN_TEXT, LOOKED_UP_VALUE, IN_TABLE)
]
# Comments and doctests. These begin with a plain text, too, and look back for the line's start.
_NO_CODE = late_pattern(rb"\n[ \t]*(#|>>> |\.\.\. ).*")
_REGISTERED = late_pattern(
    rb"^@(?:[\w.]+\.)?register\w*(?:\((?:name\s*=\s*)?(?:[\"']([^\"'\n]+)[\"'])?.*\))?[ \t]*\n"
    rb"class[ \t]+(\w+)",
    re.MULTILINE,
)
_BUILD = r"(?:build|make|create|instantiate|construct|init|get)(?:_?(?:model|net\w*))?"
_BUILDS = late_pattern(rf"{_BUILD}$")
_RETURNED = late_pattern(rb"return[ \t]+(?:\w+\.)*([A-Z]\w*)[ \t\r]*$", re.MULTILINE)
_ALIAS = late_pattern(rb"\b(\w+)[ \t]+as[ \t]+(\w+)")
_QUOTED = r"['\"]([\w.-]+)['\"]"
_BUILDER = late_pattern(rf"def {_BUILD}\(\s*self\b".encode())
CLASS_TEXT = late_pattern(rb"class(?<![^\n]class)\s+(\w+)[^\n]*\n(?:(?:[ \t#)][^\n]*)?\n)*")


class BuildMethod(NamedTuple):
    """A method of a config class that gives a model. `needs_arguments`: besides the object."""

    target: Target
    needs_arguments: bool


class CallSearch:
    """The wanted models of a query by their names, and what the project's files say of these.
    `slices`: tried so far for one call."""

    def __init__(self, query: EvidenceQuery) -> None:
        self.query = query
        self.slices = 0
        self.discovery = query.discovery
        self.names = query.discovery.models.names
        self.by_name: dict[str, list[Target]] = defaultdict(list)
        for target in query.targets:
            if target.is_path and target.callable and not does_work(tail(target.callable)):
                self.by_name[tail(target.callable)].append(target)

    @cached_property
    def words(self) -> set[bytes]:
        """What stands in each file that has a call of a wanted model, by its name."""
        owners = {owner.name for owner, _ in self.builders}
        return {name.encode() for name in (*self.by_name, *self.getters, *owners, *self.aliases)}

    @cached_property
    def aliases(self) -> set[str]:
        """The other names that files import wanted models by, for those that import these files:
        `from .unet import Net as unet`."""
        tree = self.discovery.tree
        imports = chain.from_iterable(tree.facts(path).imports for path in sorted(tree.files))
        renamed = (item for item in imports if item.name and item.bound != item.name)
        return {item.bound for item in renamed if item.name in self.by_name}

    @cached_property
    def with_lazy_layers(self) -> set[str]:
        """The files that name layers which get their shapes when a model is run."""
        return {*self.query.python_with("nn.Lazy")}

    @cached_property
    def getters(self) -> set[str]:
        """The names of the functions that return classes of wanted models: `model_class(name)`."""
        getters: set[str] = set()
        for path in sorted(self.discovery.tree.files):
            returned = _RETURNED.findall(self.discovery.tree.source(path))
            names = {name.decode() for name in returned} & self.by_name.keys()
            for node in self.query.syntax(path).body if names else ():
                if isinstance(node, ast.FunctionDef):
                    given = (item.value for item in flat(node.body) if isinstance(item, ast.Return))
                    if any(tail(dotted_name(value)) in names for value in given if value):
                        getters.add(node.name)
        return getters

    @cached_property
    def builders(self) -> dict[tuple[Symbol, str], BuildMethod]:
        """The methods of config classes that give a wanted model each: `Config().build()`."""
        builders: dict[tuple[Symbol, str], BuildMethod] = {}
        tree = self.discovery.tree
        for path in sorted(tree.files):
            source = tree.source(path)
            if b"class " not in source or not _BUILDER.search(source):
                continue
            for owner in flat(self.query.syntax(path).body):
                if not isinstance(owner, ast.ClassDef):
                    continue
                symbol = Symbol("class", path, owner.name)
                if self.discovery.models.is_model(symbol):
                    continue
                for node in owner.body:
                    if isinstance(node, FUNCTIONS) and _BUILDS.match(node.name):
                        annotated = annotation_names(node.returns) if node.returns else ()
                        for names in (annotated, returned_calls(node)[0]):
                            models = {t for name in names for t in self.by_name.get(tail(name), ())}
                            if len(models) == 1:
                                given, keyed = node.args, node.args.kw_defaults
                                positional = [*given.posonlyargs, *given.args][1:]
                                is_more = len(positional) > len(given.defaults) or None in keyed
                                builder = BuildMethod(models.pop(), needs_arguments=is_more)
                                builders.setdefault((symbol, node.name), builder)
        return builders

    def may_call(self, path: str, content: bytes) -> bool:
        """Whether a file has a call of a wanted model, outside of its own models."""
        if len(content) > _LARGE:
            return False
        if any(pattern.search(content) for pattern in _EACH_LOOK_UP):
            return True
        names = self.named_in(content)
        if not names:
            return False
        modules = {name.encode() for name in self.discovery.modules(path)}
        if modules:
            content = CLASS_TEXT.sub(lambda m: b"" if m[1] in modules else m[0], content)
        bound = self.bound(path)
        bound.update(name for *_, names, _ in self.discovery.tree.imports(path) for name in names)
        return self.has_call(_NO_CODE.sub(b"", b"\n" + content), names, bound)

    def has_call(
        self, content: bytes, names: Iterable[bytes], bound: Collection[str] = ("*",)
    ) -> bool:
        """Whether a text calls something that has one of the names, or gives it another name. To
        load weights is no call of a model. `bound`: the names that there are; "*": any."""
        for name in names:
            is_bound = "*" in bound or name.decode() in bound
            at = content.find(name)
            while at >= 0:
                line = content[max(0, at - _LINE) : at].rpartition(b"\n")[2]
                is_given = bool(_GIVES.search(line)) and not _GIVES_NONE.match(line)
                if (
                    (is_bound or line.endswith(b"."))
                    and not _IS_OTHER.search(line)
                    and (is_given or _IS_CALLED.match(content, at + len(name)))
                ):
                    return True
                at = content.find(name, at + 1)
        return False

    def shows_call(self, content: bytes) -> bool:
        """Whether doctests have a call of a wanted model."""
        return self.has_call(content, self.named_in(content))

    def bound(self, path: str) -> set[str]:
        """The names that imports and definitions bind at the top level of a file."""
        facts = self.discovery.tree.facts(path)
        names = {item.qualname for item in (*facts.classes, *facts.functions)}
        names |= {name for name, _ in facts.aliases}
        return names.union(item.bound for item in facts.imports)

    def named_in(self, content: bytes) -> set[bytes]:
        """The names of wanted models in a text."""
        return self.words.intersection(words_in(content))

    def target_of(self, symbol: Symbol | None) -> Target | None:
        """The wanted model that a call of this gives."""
        if symbol is None or symbol.kind not in ("class", "function", "method"):
            return None
        name = symbol.name
        if symbol.kind == "method":  # LLaMA.from_name("7B")
            name, _, method = name.rpartition(".")
            if not re.match(r"(from|build|create|make)_", method) or does_work(method):
                return None
        target = Target(symbol.where, name)
        return target if target in self.query.targets else None

    @cached_property
    def called_in(self) -> dict[bytes, list[str]]:
        """The files, scripts first, in which something of each name is called; what takes up what
        another has trained behind that."""
        files: dict[bytes, list[str]] = {}
        tree = self.discovery.tree
        paths = tree.files if len(tree.files) < _MANY else ()
        later = LATER_SCRIPT.search
        for path in sorted(paths, key=lambda path: (path.count("/"), bool(later(path)), path)):
            source = tree.source(path)
            called = set(chain.from_iterable(_CALLED.findall(source)))
            called |= {name for name, alias in _ALIAS.findall(source) if alias in called}
            for name in called:
                files.setdefault(name, []).append(path)
        return files

    @cached_property
    def inheriting(self) -> dict[Symbol, list[Symbol]]:
        """The classes of the project by each of their bases."""
        tree, classes = self.discovery.tree, dict[Symbol, list[Symbol]]()
        for path in sorted(tree.files) if len(tree.files) < _MANY else ():
            for item in tree.facts(path).classes:
                symbol = Symbol("class", path, item.qualname)
                for base in self.names.bases(symbol):
                    classes.setdefault(base, []).append(symbol)
        return classes

    @cached_property
    def registered(self) -> dict[str, list[Symbol]]:
        """The classes that decorators register, by each name that is said, or else their own."""
        tree, classes = self.discovery.tree, dict[str, list[Symbol]]()
        for path in sorted(tree.files):
            for name, owner in _REGISTERED.findall(tree.source(path)):
                symbol = Symbol("class", path, owner.decode())
                classes.setdefault((name or owner).decode(), []).append(symbol)
        return classes

    def note_of(
        self,
        target: Target,
        unknown: Mapping[tuple[str, str], str],
        home: str,
        options: Collection[str],
        nodes: Iterable[ast.stmt],
    ) -> str:
        """What to say of the attributes, which what the script `home` does not run sets, that the
        model's file reads, or `nodes` of the call and what it needs. Raises NoWay where one has no
        value before that: it is none of the script's options."""
        source = self.discovery.tree.source(target.location)
        if target.location == home:  # it reads what its script does, too
            source = b"".join(match[0] for match in CLASS_TEXT.finditer(source))
        text = f"{source.decode('utf-8', 'replace')}\n{source_of(nodes) if unknown else ''}"
        default = [
            f"{name} by default, not as {at} has it"
            for (of, name), at in unknown.items()
            if of == BY_DEFAULT
        ]
        left = {place: at for place, at in unknown.items() if place[0] != BY_DEFAULT}
        places = skipped_settings(left, text)
        free = {name for of, name in unknown if of in (LOCAL, IMPORTED, ABSENT)}
        for name in sorted(places.keys() - {*options} - free):
            self.query.gaps[str(target)] = f"{name} depends on data ({places[name]})"
            raise NoWay(self.query.gaps[str(target)])
        return joined_notes(*default, note_on(places))

    @cached_method
    def reads(self, target: Target, option: str) -> bool:
        """Whether a model has an argument of this name, or what makes it reads that attribute."""
        return self.has_argument(target, option) or is_read(option, self.text_of(target))

    @cached_method
    def decides(self, target: Target, option: str) -> bool:
        """Whether a model has an argument of this name, or a condition on the way reads it, or a
        table is asked with it."""
        conditions = "\n".join(re.findall(r"\bif\b[^\n]*|\[[^\]\n]*\]", self.text_of(target)))
        return self.has_argument(target, option) or is_read(option, conditions)

    @cached_method
    def texts_compared(self, target: Target, option: str) -> list[str]:
        """The texts that what makes a model compares an option with."""
        value = r"(?:'[\w.-]+'|\"[\w.-]+\")"
        several = rf"[\[({{]\s*{value}(?:\s*,\s*{value})*\s*,?\s*[\])}}]"
        compared = rf"\.{re.escape(option)}\s*(?:==\s*{value}|\bin\s*{several})"
        tests = re.findall(compared, self.text_of(target))
        return [*dict.fromkeys(text for test in tests for text in re.findall(_QUOTED, test))]

    def has_argument(self, target: Target, name: str) -> bool:
        return any(parameter.name == name for parameter in self.query.parameters_of(target))

    @cached_method
    def text_of(self, target: Target) -> str:
        """That of its file, and of those of the functions that get one of its arguments as it is:
        `def build_model(args): return build(args)`."""
        function = Symbol("function", target.location, target.callable)
        paths = dict.fromkeys(each.where for each in reachable([function], self.handed_on))
        return "\n".join(map(self.query.text, paths))

    def handed_on(self, function: Symbol) -> Iterator[Symbol]:
        """The functions that a function calls with one of its arguments."""
        for node in self.query.syntax(function.where).body:
            if isinstance(node, FUNCTIONS) and node.name == function.name:
                given = {item.arg for item in (*node.args.posonlyargs, *node.args.args)}
                for call in calls_in(node):
                    whole = {item.id for item in call.args if isinstance(item, ast.Name)}
                    name = dotted_name(call.func) if whole & given else ""
                    symbol = self.names.resolve(function.where, name) if name else None
                    if symbol and symbol.kind == "function":
                        yield symbol

    def same_in(self, target: Target, path: str, names: set[str]) -> bool:
        """Whether names mean the same in the target's file as in another."""
        symbols = {name: self.names.lookup(path, name) for name in names - BUILTINS}
        return all(
            symbol is not None and symbol == self.names.lookup(target.location, name)
            for name, symbol in symbols.items()
        )

    def evidence(
        self,
        target: Target,
        call: ast.Call,
        statements: Iterable[ast.stmt],
        at: Position,
        rank: int,
        file: str,
        part: str = "",
    ) -> Evidence:
        """That a call, with the statements that it needs, builds a model; `part`: as which of the
        things that it returns."""

        def from_root(name: re.Match[str]) -> str:
            """The name of a config file that the script opens, which runs in its directory."""
            path = self.query.seen_from(at.path, name[1])
            return name[0] if path == name[1] else repr(path)

        setup = _FILE.sub(from_root, source_of(statements))
        recipe = Recipe(setup=setup or None, call=ast.unparse(call) + part)
        # The arguments by name, as far as names are known.
        names = [p.name for p in self.query.parameters_of(target) if p.kind == "positional"]
        positional = [*names, *range(len(names), len(call.args))]
        pairs = zip(positional, call.args, strict=False)
        arguments = {(name, ast.unparse(value)) for name, value in pairs}
        arguments |= {(item.arg or "**", ast.unparse(item.value)) for item in call.keywords}
        method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        method = method if method.startswith("from_") else ""
        # What the file defines means another thing elsewhere.
        facts = self.discovery.tree.facts(file)
        own = {item.qualname for item in (*facts.classes, *facts.functions)}
        is_own = not own.isdisjoint(re.findall(r"\w+", setup)) or self.query.changes.imports(file)
        key = target, part, setup, frozenset(arguments), method, file if is_own else ""
        return Evidence(target, Way("call", at), file, recipe, rank, key)

    def evidence_at_home(
        self,
        target: Target,
        symbol: Symbol | None,
        call: ast.Call,
        statements: Iterable[ast.stmt],
        at: Position,
        rank: int,
    ) -> Evidence:
        """As `evidence`, in the names of the model's own file; `symbol`: what is called."""
        name = symbol.name if symbol and symbol.kind == "method" else target.callable
        plain = ast.copy_location(ast.Call(expression(name), call.args, call.keywords), call)
        return self.evidence(target, plain, statements, at, rank, target.location)

    @cached_method
    def commands_of(self, path: str) -> list[Command]:
        """The commands of a script, and of those that take over its options: `import main`, and
        `parents=[main.get_args_parser()]`."""
        stem = path.rpartition("/")[2].removesuffix(".py").encode()
        imports = re.compile(rb"\b(import|from)[ \t]+\.?(\w+\.)*%s\b" % re.escape(stem))
        main = join(parent(path), "__main__.py")  # of `python -m package`
        mains = [main] if main in self.discovery.tree.files else []
        source = self.discovery.tree.source
        others = [*mains, *self.query.python_with("parents=")]
        importing = [at for at in others if stem in source(at) and imports.search(source(at))]
        scripts = dict.fromkeys((path, *importing))
        commands = (command for script in scripts for command in self.query.commands.of(script))
        return [command for command in commands if HELP.isdisjoint(command.words)]

    def whole_commands_of(self, path: str) -> list[Command]:
        """The commands of a script that reads their words itself; of those that differ in what a
        model does not depend on, the first."""
        commands: dict[tuple[str, ...], Command] = {}
        for command in self.commands_of(path):
            pairs = [
                (word, re.split(r"[.-]", word.partition("=")[0])[-1]) for word in command.words
            ]
            of_model = (
                word for word, name in pairs if "=" not in word or not RUN_SETTING.match(name)
            )
            if not any(map(is_to_fill_in, command.words)):
                commands.setdefault(tuple(of_model), command)
        return [*commands.values()]

    def needs_nothing(self, target: Target, call: ast.Call) -> bool:
        """Whether a call says no more than the name of the model does."""
        is_bare = not (call.args or call.keywords or self.query.needs_arguments(target))
        return is_bare and tail(dotted_name(call.func)) == tail(target.callable)
