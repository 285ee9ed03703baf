"""The lines that were edited since another state of the project, and may have changed a model."""

from __future__ import annotations

import ast
import re
from contextlib import suppress
from functools import cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from nparam_lint.gate.reading import config_files
from nparam_lint.ground.lines import alike, lines_now, lines_of
from nparam_lint.ground.paths import CONFIG_SUFFIXES
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.ground.values import Position, SourceLine

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nparam_lint.changes.states import Past
    from nparam_lint.gate.candidates import Candidate, ProjectSource

_WORD = late_pattern(r"[^\s,()\[\]{}:]+")
_NAME = late_pattern(r"[^\W\d]\w*")


class EditedLines:
    """What was edited in the files of a project; each is looked at once, for all models."""

    def __init__(self, source: ProjectSource, past: Past) -> None:
        self.source, self.tree = source, source.discovery.tree
        self.edited = cache(lambda file: tuple(_edited(file, source, past)))
        self.definitions = cache(lambda file: [*_definitions(file, self.tree.source(file))])
        self.configs = cache(self._configs)

    def that_matter(
        self, model: Candidate, call: str, sources: Sequence[Position]
    ) -> tuple[SourceLine, ...]:
        """The edited lines that may be why a model is another one. `call`: by which it was built,
        `GPT(Config())`; `sources`: where its modules that changed are made."""
        places = {model.position.path, *(at.path for at in sources)}
        files = {*(places & self.tree.files), model.target.built.location}
        files |= {model.location} if model.is_file else set()
        files |= {model.way.position.path} & self.configs().keys() if model.way else set()
        texts = [("", str(model.build).encode()), *((at, self.tree.source(at)) for at in files)]
        for path, (in_source, in_config) in self.configs().items():
            for at, text in texts:
                if (in_config if at.endswith(CONFIG_SUFFIXES) else in_source).search(text):
                    files.add(path)
        # What they import may be how the difference came about: a default, a width, a base class.
        scope = files | {*self.tree.may_run_with(files & self.tree.files)}
        lines = [line for file in sorted(scope) for line in self.edited(file)]
        if not lines:
            return ()
        definitions = [part for file in scope for part in self.definitions(file)]
        names = {*_NAME.findall(f"{model.target.built.callable} {model.build} {call}")}
        names |= {part.name for part in definitions if any(map(part.holds, sources))}
        reached = _reached(definitions, names)

        def matters(line: SourceLine) -> bool:
            around = [part.name for part in definitions if part.holds(line.position)]
            # Outside of all definitions only near the model.
            return reached.issuperset(around) and bool(around or line.position.path in files)

        return tuple(filter(matters, lines))

    def _configs(self) -> dict[str, tuple[re.Pattern[bytes], re.Pattern[bytes]]]:
        """The config files that are not as they were, and how source names each: in a string, with
        its suffix or as the last part of a path; and how another config names it: by a word."""
        configs = {}
        for path in filter(self.edited, config_files(self.source.session)):
            place = PurePosixPath(path)
            name, stem = (re.escape(part).encode() for part in (place.name, place.stem))
            in_string = rb"""['"](?:[^'"\n]*\b%s\b|(?:[^'"\n]*/)?%s['"])""" % (name, stem)
            configs[path] = re.compile(in_string), re.compile(rb"\b%s\b" % stem)
        return configs


class _Definition(Struct, frozen=True):
    """A class, function or constant at the top of a file, or a method, which matters where it is
    called. `names`: all words in it, but those of its methods."""

    name: str
    file: str
    first: int
    last: int
    names: frozenset[str]

    def holds(self, at: Position) -> bool:
        return self.file == at.path and self.first <= at.line <= self.last


def _definitions(file: str, source: bytes) -> Iterator[_Definition]:
    body: list[ast.stmt] = []
    with suppress(SyntaxError, ValueError):
        body = ast.parse(source).body if file.endswith(".py") else []
    for node in body:
        defined: list[str] = []
        if isinstance(node, ast.ClassDef):
            for part in [*node.body]:
                if isinstance(part, ast.FunctionDef) and not part.name.startswith("__"):
                    yield _defined(part.name, file, part)
                    node.body.remove(part)
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            defined = [node.name]
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            defined = [target.id for target in targets if isinstance(target, ast.Name)]
        yield from (_defined(name, file, node) for name in defined)


def _defined(name: str, file: str, node: ast.stmt) -> _Definition:
    names = frozenset(_NAME.findall(ast.unparse(node)))
    decorators = [decorator.lineno for decorator in getattr(node, "decorator_list", ())]
    first = min([node.lineno, *decorators])
    return _Definition(name, file, first, node.end_lineno or first, names)


def _reached(definitions: Sequence[_Definition], names: set[str]) -> set[str]:
    """These names, and those in the definitions of what has them."""
    inside: dict[str, set[str]] = {}
    for definition in definitions:
        inside.setdefault(definition.name, set()).update(definition.names)
    waiting, named = [*names], {*names}
    while waiting:
        new = inside.get(waiting.pop(), set()) - named
        named |= new
        waiting += new
    return named


def _edited(path: str, source: ProjectSource, past: Past) -> Iterator[SourceLine]:
    """The lines of a file that are not as they were; comments aside, what stands there for a reader
    alone (a docstring), and lines without a word."""
    try:
        before = (past.session.root / past.moves.back.get(path, path)).read_bytes()
    except OSError:  # it is new
        return
    content = source.discovery.tree.source(path)
    if content == before:
        return
    old, new = lines_of(before), lines_of(content)
    was = {now: old[then - 1] for then, now in lines_now(old, new).items()}
    for_readers: set[int] = set()
    with suppress(SyntaxError, ValueError):
        texts = ast.walk(ast.parse(content)) if path.endswith(".py") else ()
        for node in texts:
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                for_readers.update(range(node.lineno, (node.end_lineno or 0) + 1))
    for number, line in enumerate(new, 1):
        is_code = number not in for_readers and not line.lstrip().startswith("#")
        if is_code and was.get(number) != line and _WORD.search(line):
            yield _source_line(Position(path, number), line, was.get(number, ""))


def _source_line(at: Position, text: str, was: str) -> SourceLine:
    """A line of which only the words that differ from what it was are marked."""
    text = text.rstrip()
    same = alike(text, was)
    behind = alike(text[same:][::-1], was[same:].rstrip()[::-1])
    words = [m for m in _WORD.finditer(text) if m.end() > same and m.start() < len(text) - behind]
    words = words or [*_WORD.finditer(text)]  # what was taken out left nothing to mark
    start, end = words[0].start(), words[-1].end()
    return SourceLine(replace(at, column=start + 1), text, end - start)
