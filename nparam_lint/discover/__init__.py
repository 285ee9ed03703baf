"""Finds model classes and factories in source, and says how their files can be imported.

Reads only: nothing of the user's is imported here, and neither is torch.
"""

from __future__ import annotations

import re
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from nparam_lint.discover.claims.docstring_budgets import mentions
from nparam_lint.discover.definitions import Definition, Parameter
from nparam_lint.discover.files import list_importable, reader
from nparam_lint.discover.import_plan import ImportPlanner
from nparam_lint.discover.name_resolution import (
    Names,
    Symbol,
    is_factory,
    is_hinted,
    is_module,
    is_unknown,
    is_whole_model,
    takes_nothing,
)
from nparam_lint.discover.scan import (
    TOO_DEEP,
    ClassFacts,
    FunctionFacts,
    left_out,
    scan_source,
    too_slow,
)
from nparam_lint.discover.source_tree import SourceTree, cyclic_method
from nparam_lint.discover.syntax import IN_MODULE, rare_collection, tail, words_in
from nparam_lint.ground.paths import within
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.ground.script_words import TEST_FILE
from nparam_lint.ground.time_limit import TooSlow, time_limit
from nparam_lint.ground.values import Position

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    from nparam_lint.cache.store import Store
    from nparam_lint.discover.definitions import Problem
    from nparam_lint.discover.scan import Import, Scan
    from nparam_lint.ground.orders import ImportAttempt

    _Constructor = tuple[Parameter, ...] | Literal["nothing"] | None

_FEW = 300
_FEW_WORDS = 50  # up to which searching for each costs less than telling the words of a file apart
_REGISTERS_MODEL = late_pattern(
    r"regist\w*\.?\w*(model|net|backbone|arch|encoder|module)|(model|backbone|net)\w*\.regist", re.I
)
_NAMED_BUILDER = late_pattern(
    r"_*(build|create|make|construct|get|init)_?(model|net|network)$", re.I
)
_GIVEN_MODEL = late_pattern(r"model|net|network", re.I)
_BUILDS = late_pattern(r"(from|build|create|make|load|get)_")

_DEFINES_MODEL = late_pattern(rb"^[ \t]*class\s+\w+\s*\([^)]*(Module\b|\bnn\.)", re.MULTILINE)


class Models:
    """Decides what is a model, by bases, annotations and returned values. A cycle counts as "no
    model"."""

    def __init__(self, names: Names) -> None:
        self.names = names

    @cyclic_method(False)
    def is_model(self, symbol: Symbol | None, by_forward: bool = True) -> bool:
        """Is this class an `nn.Module`? `by_forward`: one with a `forward` whose base is of a
        package that nothing is known of may be one, too."""
        if symbol is None or symbol.kind not in ("class", "outside"):
            return False
        if symbol.kind == "outside":
            return is_module(symbol.name)
        bases = [*self.names.bases(symbol)]
        if any(self.is_model(base, by_forward) for base in bases):
            return True
        facts = self.names.classes(symbol.where)[symbol.name]
        is_like_one = by_forward and facts.has_forward
        return is_like_one and any(b.kind == "outside" and is_unknown(b.name) for b in bases)

    @cyclic_method(False)
    def makes_model(self, symbol: Symbol | None) -> bool:
        """Does calling this give a model?"""
        if symbol is None:
            return False
        if symbol.kind == "outside":
            return is_whole_model(symbol.name) or is_factory(symbol.name)
        if symbol.kind == "method":
            owner, _, name = symbol.name.rpartition(".")
            return bool(_BUILDS.match(name)) and self.is_model(Symbol("class", symbol.where, owner))
        if symbol.kind != "function":
            return self.is_model(symbol)
        path, facts = symbol.where, self.names.functions(symbol.where)[symbol.name]
        if facts.declares:
            return True
        if facts.hands_back or self._may_be_model(path, facts.takes):
            return False  # it changes or wraps a model that it is given
        looked_up = (name for name in facts.returned if name.endswith(IN_MODULE))
        if any(self._has_models(path, name, facts.imports) for name in looked_up):
            return True
        callees = (self.names.resolve(path, name, local=facts.imports) for name in facts.returned)
        if any(map(self.makes_model, callees)) or self._may_be_model(path, facts.gives, whole=True):
            return True
        registered = any(_REGISTERS_MODEL.search(name) for name in facts.decorators)
        is_builder = _NAMED_BUILDER.match(facts.qualname) is not None
        # `init_model(model)` may change the weights of what it is given.
        is_given = any(p.required and _GIVEN_MODEL.fullmatch(p.name) for p in facts.parameters)
        if facts.returned:
            return registered or is_builder
        return is_builder and not is_given

    def _has_models(self, path: str, dotted: str, local: Sequence[Import]) -> bool:
        """Whether `nets.__dict__` is that of a module of the project that has models."""
        module = self.names.resolve(path, dotted.removesuffix(IN_MODULE), local=local)
        is_here = module is not None and module.kind == "module"
        file = self.names.tree.module_file(module.where) if module and is_here else None
        return file is not None and any(map(self.modules, self.names.starred_files(file)))

    def _may_be_model(self, path: str, names: Iterable[str], whole: bool = False) -> bool:
        for name in names:
            symbol = self.names.resolve(path, name)
            if symbol is not None and symbol.kind == "outside" and whole:
                if is_whole_model(symbol.name):
                    return True
            elif self.is_model(symbol):
                return True
        return False

    def modules(self, path: str, by_forward: bool = True) -> frozenset[str]:
        """The qualified names of the `nn.Module` classes of one file."""
        symbols = [Symbol("class", path, name) for name in self.names.classes(path)]
        try:
            return frozenset(s.name for s in symbols if self.is_model(s, by_forward))
        except RecursionError:  # `discover` has left it out
            return frozenset()

    def model_names(self, path: str) -> set[str]:
        """The names under which this file offers models or factories to other files."""
        facts = self.names.tree.facts(path)
        definitions = {*self.names.classes(path), *self.names.functions(path)}
        aliases = {item.bound for item in facts.imports if item.bound != (item.name or "")}
        aliases |= {alias for alias, _ in facts.aliases}
        names = {name for name in definitions if self.makes_model(self.names.resolve(path, name))}
        names |= {name for name in aliases if self.makes_model(self.names.lookup(path, name))}
        return {tail(name) for name in names}

    def definitions(self, path: str, *, declared_only: bool = False) -> list[Definition]:
        """The models and factories of one file, in its order; all definitions of one name."""
        definitions = []
        file = self.names.tree.facts(path)
        for facts in (*file.classes, *file.functions, *file.methods):
            is_class = isinstance(facts, ClassFacts)
            symbol = Symbol("class" if is_class else "function", path, facts.qualname)
            is_hidden = declared_only or facts.hidden
            if not facts.declares and (is_hidden or not self.makes_model(symbol)):
                continue
            inner = facts.init.docstring if isinstance(facts, ClassFacts) and facts.init else ()
            definition = Definition(
                path,
                facts.qualname,
                "class" if is_class else "factory",
                facts.line,
                facts.column,
                tuple(filter(None, (facts.docstring, inner))),
                facts.parameters if isinstance(facts, FunctionFacts) else self.parameters(symbol),
            )
            definitions.append(definition)
        return sorted(definitions, key=attrgetter("line", "column"))

    def parameters(self, symbol: Symbol) -> tuple[Parameter, ...] | None:
        """The parameters of a function or a constructor; None if it is inherited from an installed
        package."""
        if symbol.kind == "function":
            return self.names.functions(symbol.where)[symbol.name].parameters
        parameters = self._constructor(symbol)
        return () if parameters == "nothing" else parameters

    @cyclic_method("nothing")
    def _constructor(self, symbol: Symbol) -> _Constructor:
        """ "nothing": neither the class nor its bases bring a constructor of their own."""
        if symbol.kind == "outside":
            name = tail(symbol.name)
            is_plain = name in ("object", "ABC", "Generic", "Protocol") or name.endswith("Mixin")
            return "nothing" if is_plain or takes_nothing(symbol.name) else None
        if symbol.kind != "class":
            return "nothing"
        facts = self.names.classes(symbol.where)[symbol.name]
        if facts.init is not None:
            return facts.init.parameters
        inherited: _Constructor = "nothing"
        for base in self.names.bases(symbol):
            inherited = self._constructor(base)
            if inherited != "nothing":
                break
        if facts.fields is None:
            return inherited
        before = inherited if isinstance(inherited, tuple) else ()
        names = {field.name for field in facts.fields}
        return (*(item for item in before if item.name not in names), *facts.fields)


# --- from files to definitions ---


class Discovery(Struct, frozen=True, dict=True):
    """What was found in `files`, of which those that could matter were `parsed`. `plan`, `names`
    and `modules` answer for any file of the project. `left_out`: test files that define models."""

    files: tuple[str, ...]
    parsed: tuple[str, ...]
    definitions: tuple[Definition, ...]
    problems: tuple[Problem, ...]
    models: Models
    left_out: tuple[str, ...] = ()

    @property
    def unread(self) -> Iterator[Problem]:
        """The claims in places where budgets are not read."""
        return (claim for path in self.parsed for claim in self.tree.facts(path).unread)

    @property
    def tree(self) -> SourceTree:
        return self.models.names.tree

    @cached_property
    def positions(self) -> dict[tuple[str, str], Position]:
        """(path, qualified name) → where it is defined."""
        return {(d.path, d.qualname): d.position for d in self.definitions}

    @cached_property
    def _planner(self) -> ImportPlanner:
        return ImportPlanner(self.tree)

    @rare_collection()  # one plan may follow the imports of thousands of files
    def plan(self, path: str) -> tuple[ImportAttempt, ...]:
        """The ways to import the file, best first."""
        return self._planner.plan(path)

    def modules(self, path: str, by_forward: bool = True) -> frozenset[str]:
        """The qualified names of the `nn.Module` classes that the file defines. `by_forward`: see
        `Models.is_model`."""
        return self.models.modules(path, by_forward) if path in self.tree.files else frozenset()

    def names(self, path: str) -> frozenset[str]:
        """The names at the file's top level; empty where there is no such file."""
        return self.models.names.names(path) if path in self.tree.files else frozenset()


@rare_collection()
def discover(
    root: Path,
    files: Sequence[str],
    *,
    importable: Iterable[str] | None = None,
    in_full: Collection[str] = (),
    user_files: Collection[str] = (),
    places: Collection[str] = (),
    declared_only: bool = False,
    elsewhere: Collection[str] = (),
    store: Store | None = None,
    scan: Scan = scan_source,
    timeout: float = 60.0,
) -> Discovery:
    """Find the model classes and the factories in `files` (relative to `root`).

    `importable`: the files that imports may reach (default: all Python files of the project). Test
    files count for what declares a budget only, unless the `places` that are asked about have them,
    or a directory of tests around them. With `declared_only` so do all files, and those in which no
    claim can stand are not even parsed: the hook's fast way; it is that of the files `elsewhere` in
    any case. Those `in_full` (of a target, or of a budget in the config) are looked through in
    either case. One that cannot be parsed is a problem where it could hold what is looked for, or a
    file that does imports it; `user_files` (named by the user) always are.
    `store`: where what a file's content says is kept for the next run; after it asked for plans,
    the caller has `SourceTree.remember` keep those too. `scan`: what reads a file; a function at
    the top level of a module. `timeout`: seconds for one.
    """
    if importable is None:
        importable = list_importable(root)
    every = {*importable, *files}
    tree = SourceTree(every, reader(root), root.absolute().name, store, scan, timeout)
    models = Models(Names(tree))
    strict: set[str] = set()  # those in which only a declared budget makes a definition
    parsed: list[str] = []
    unhinted: list[str] = []
    tests: list[str] = []
    is_asked = _test_scope(places)
    for path in files:
        source = tree.source(path)
        if path in in_full:
            pass
        elif declared_only or path in elsewhere:
            strict.add(path)
        elif _is_test(path, source) and not is_asked(path):
            strict.add(path)
            tests += [path] if _DEFINES_MODEL.search(source) else []
        # One that is empty perhaps could not be read: parsing it brings out why.
        defines = path not in strict and (b"class" in source or b"def" in source)
        is_candidate = path not in strict and is_hinted(source)
        is_candidate = is_candidate or (not defines and mentions(source))
        if not source or is_candidate or path in user_files:
            parsed.append(path)
        elif defines:
            unhinted.append(path)

    tree.scan_all(parsed)
    parsed = sorted({*parsed, *_naming_models(tree, models, unhinted)})
    definitions: list[Definition] = []
    problems: list[Problem] = []
    for path in parsed:
        try:
            with time_limit(timeout):
                definitions += models.definitions(path, declared_only=path in strict)
        except TooSlow:
            problems.append(too_slow(path, tree.source(path), "finding its models", timeout))
        except RecursionError:
            problems.append(left_out(path, tree.source(path), TOO_DEEP))
    run = [*parsed, *tree.run_with({*in_full, *(item.path for item in definitions)})]
    tree.scan_all(run)
    problems += [p for path in dict.fromkeys(run) if (p := tree.facts(path).problem)]
    must_parse = {*user_files, *in_full}
    problems = [
        replace(p, severity="error") if p.position.path in must_parse else p for p in problems
    ]
    tree.remember()
    return Discovery(
        tuple(files), tuple(parsed), tuple(definitions), tuple(problems), models, tuple(tests)
    )


def _test_scope(places: Collection[str]) -> Callable[[str], bool]:
    """Whether a test file was asked for: it was named, or a directory of tests that holds it."""
    tests = [at for at in places if at.endswith(".py") or TEST_FILE.search(at)]
    return within(tests) if tests else lambda _: False


def _is_test(path: str, source: bytes) -> bool:
    match = TEST_FILE.search(path)
    # timm has layers/test_time_pool.py, which is a layer.
    return match is not None and (not match["by_name"] or b"def test_" in source)


def _naming_models(tree: SourceTree, models: Models, unhinted: list[str]) -> list[str]:
    """The files that do not mention torch but may contain a model, because they name one of the
    repository's models (`class Tiny(BaseNet)`)."""
    if len(unhinted) <= _FEW:  # parsing them costs less than finding out
        return [path for path in unhinted if tree.leads_to(path).files]
    # The chain from a base to a subclass may lead through any file of the project, so ask them all.
    bases = [path for path in tree.files.difference(unhinted) if is_hinted(tree.source(path))]
    candidates = tree.files.difference(bases)
    while bases and candidates:
        words = {name.encode() for path in bases for name in models.model_names(path)}
        bases = []
        for path in candidates:
            source = tree.source(path)
            if len(words) > _FEW_WORDS or any(word in source for word in words):
                bases += [path] if not words.isdisjoint(words_in(source)) else []
        candidates = candidates.difference(bases)
    return [path for path in unhinted if path not in candidates]
