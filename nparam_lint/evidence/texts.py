"""Calls in documentation: code blocks of Markdown and reStructuredText, doctests, notebooks."""

from __future__ import annotations

import ast
import json
import re
import sys
from functools import cached_property
from itertools import chain
from operator import itemgetter
from textwrap import dedent
from typing import TYPE_CHECKING, Any

from nparam_lint.discover.definitions import Problem
from nparam_lint.discover.scan import imported
from nparam_lint.discover.syntax import dotted_name
from nparam_lint.evidence.file_calls import FileCalls
from nparam_lint.evidence.places import SourceText
from nparam_lint.evidence.statements import parsed
from nparam_lint.ground.paths import DOC_SUFFIXES, is_rest
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.ground.values import Position

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from nparam_lint.discover.name_resolution import Symbol
    from nparam_lint.discover.scan import Import
    from nparam_lint.evidence import Evidence
    from nparam_lint.evidence.call_cuts import Cut
    from nparam_lint.evidence.file_calls import CalledFiles
    from nparam_lint.evidence.places import Place
    from nparam_lint.ground.notation import Target

TEXT = 20  # rank
_TEXTS = (*DOC_SUFFIXES, ".txt", ".ipynb")
_DOCTEST = late_pattern(rb"\n[ \t]*(?:>>>|\.\.\.) (.*)")
NO_NOTEBOOK = (ValueError, TypeError, AttributeError, RecursionError)  # what reading one may raise
LARGE = 4_000_000  # bytes; a notebook holds its pictures
_FENCE = late_pattern(r"^([ \t]*)(```+|~~~+)[ \t]*\{?\.?(\w*)[^\n]*\n(.*?)^\1\2", re.M | re.S)
_DIRECTIVE = late_pattern(
    r"^([ \t]*)(?:\.\.[ \t]+(?:code-block|code|sourcecode)::[ \t]*(\w*)|[^.\n][^\n]*::)[ \t]*\n"
    r"((?:\1[ \t]+:[^\n]*\n)*\n*(?:(?:\1[ \t]+[^\n]*)?\n)+)",
    re.M,
)
_PROMPT = late_pattern(r"^[ \t]*(?:>>>|\.\.\.)(?: (.*))?$")
_CALL = late_pattern(r"\b(\w+)\s*(?:\.\s*(\w+)\s*)?\(")  # for texts, there are too many to make one
_LANGUAGES = ("", "python", "py", "python3", "pycon", "ipython", "ipython3")


def find_texts(files: CalledFiles, _: object) -> Iterator[Evidence]:
    """The calls of wanted models in texts and notebooks, and in the doctests of Python files."""
    for path in files.query.other_files:
        if path.lower().endswith(_TEXTS) and files.named_in(content := files.query.content(path)):
            yield from _in_text(files, path, content)
    tree = files.discovery.tree
    for path in sorted(tree.files):
        content = tree.source(path)
        doctests = _DOCTEST.findall(b"\n" + content) if b">>> " in content else ()
        if doctests and files.shows_call(b"\n".join(doctests)):
            for text in _docstrings(files.query.text(path), files.shows_call):
                yield from TextCalls(files, path, text).evidence()


def _in_text(search: CalledFiles, path: str, content: bytes) -> Iterator[Evidence]:
    """What a text or a notebook shows, without what a reader has to complete."""
    if len(content) > LARGE:
        return
    text = content.decode("utf-8", "replace").replace("\r\n", "\n")
    if path.endswith(".ipynb"):
        try:
            text = code_of_notebook(text)
        except NO_NOTEBOOK as error:
            position, why = Position(path), "no notebook"
            if isinstance(error, json.JSONDecodeError):
                position, why = Position(path, error.lineno, error.colno), f"no JSON: {error.msg}"
            step = "open it in Jupyter, or `exclude` it in the config"
            message = f"cannot be read ({why}); next: {step}"
            search.query.problems.append(Problem(position, message, "warning"))
            return
    else:
        text = _code_blocks(text, is_rest(path))
    yield from TextCalls(search, path, text, content.count(b"\n") + 1).evidence()


def _code_blocks(text: str, is_rst: bool) -> str:
    """The Python code of a text, each line where it stands there, and all others empty."""
    lines = [""] * (text.count("\n") + 1)
    blocks = [(m.start(4), m[3], m[4]) for m in _FENCE.finditer(text)]
    if is_rst:
        blocks += [(m.start(3), m[2] or "", m[3]) for m in _DIRECTIVE.finditer(text)]
    for start, language, code in blocks:
        code = dedent(code)
        if language.lower() in _LANGUAGES and ">>> " not in code and parsed(code).body:
            first, count = text.count("\n", 0, start), code.count("\n")
            lines[first : first + count] = code.split("\n")[:count]
    if ">>> " in text:
        for block in _docstrings(text):
            for number, line in enumerate(block.split("\n")):
                lines[number] = line or lines[number]
    return "\n".join(lines)


def _docstrings(text: str, is_wanted: Callable[[bytes], bool] | None = None) -> Iterator[str]:
    """The doctests of each docstring, each line where it stands; of those that are to be read."""
    block: dict[int, str] = {}
    lines = text.split("\n")
    for number, line in enumerate([*lines, '"""']):
        match = _PROMPT.match(line) if ">>>" in line or "..." in line else None
        if match and ("..." not in line.split()[:1] or block.get(number - 1)):
            block[number] = match[1] or ""
        elif block and ('"""' in line or "'''" in line):
            if is_wanted is None or is_wanted("\n".join(block.values()).encode()):
                yield _valid([block.get(at, "") for at in range(max(block) + 1)])
            block = {}


def _valid(block: list[str]) -> str:
    """The lines, without runs of them that are not Python."""
    text = "\n".join(block)
    if parsed(text).body:
        return text
    lines = [""] * len(block)
    start = 0
    for number in range(len(block) + 1):
        if number == len(block) or not block[number]:
            run = "\n".join(block[start:number])
            if run and parsed(run).body:
                lines[start:number] = block[start:number]
            start = number + 1
    return "\n".join(lines)


def code_of_notebook(text: str) -> str:
    """The code of a notebook, each line where it stands in the file; behind its end, one line after
    the other, where the file does not give each a line of its own."""
    content: Any = json.loads(text)
    code_cells = [cell for cell in content.get("cells", ()) if cell.get("cell_type") == "code"]
    sources = [cell.get("source", "") for cell in code_cells]
    cells = [s.splitlines(True) if isinstance(s, str) else s for s in sources]
    raw = [line.strip().rstrip(",") for line in text.split("\n")]
    numbers, at = list[int](), 0
    for line in chain.from_iterable(cells):
        forms = (json.dumps(line), json.dumps(line, ensure_ascii=False))
        at = next((n for n in range(at, len(raw)) if raw[n] in forms), len(raw)) + 1
        numbers.append(at - 1)
    if numbers[-1:] == [len(raw)]:  # one was not found, so that none after it was looked for
        numbers = [*range(len(raw), len(raw) + len(numbers))]
    lines = [""] * (len(raw) + len(numbers))
    places = iter(numbers)
    for cell_lines in cells:
        code = [re.sub(r"^\s*[%!?].*", "pass", line.rstrip("\n")) for line in cell_lines]
        is_code = parsed("\n".join(code)).body
        for line in code:
            lines[next(places)] = line if is_code else ""
    return "\n".join(lines)


class TextCalls(FileCalls):
    """The calls of wanted models in one text. They are written in the names of the model's file,
    completed by the imports of the text. `line`: that of the call which is looked at, since the
    blocks of a text may import several things by one name. `last`: the last line of the file."""

    def __init__(self, search: CalledFiles, path: str, text: str, last: int = sys.maxsize) -> None:
        super().__init__(search, path, text, parsed(text))
        self.last = last
        self.text = SourceText(
            text, self.tree, self.is_harmless, is_module=False, is_part=self.is_part, path=path
        )
        self.rank = TEXT
        self.line = 0

    @cached_property
    def import_lines(self) -> list[tuple[int, Import]]:
        nodes = (n for n in ast.walk(self.tree) if isinstance(n, (ast.Import, ast.ImportFrom)))
        lines = ((node.lineno, item) for node in nodes for item in imported(node))
        return sorted(lines, key=itemgetter(0))

    @property
    def imports(self) -> list[Import]:
        """Those before the line first, the nearest of them at the head."""
        after = [item for line, item in self.import_lines if line > self.line]
        return [item for line, item in reversed(self.import_lines) if line <= self.line] + after

    @property
    def every_import(self) -> list[Import]:
        return self.imports

    @cached_property
    def bound(self) -> set[str]:
        return {item.bound for item in self.imports}.union(self.model_names)

    def places(self) -> Iterator[Place]:
        return self.text.places(_CALL, self.names_for_models(self.imports))

    def meanings_at(self, dotted: str, _: int = 0) -> list[Symbol]:
        head, *attributes = dotted.split(".")
        names = self.search.names
        imports = [item for item in self.imports if item.bound == head]
        symbols: list[Symbol | None] = []
        if imports:
            symbols = [names.follow(self.path, item, attributes) for item in imports]
        elif self.path.endswith(".py") and head in self.search.discovery.names(self.path):
            symbols = [names.resolve(self.path, dotted)]
        else:
            targets = self.search.by_name.get(head, ())
            is_own = self.path.endswith(".ipynb") and head in self.text.definitions
            if len(targets) != 1 or is_own:
                return []
            (target,) = targets
            name = ".".join((target.callable, *attributes))
            symbols = [names.resolve(target.location, name)]
        return [*filter(None, symbols)][:1]

    def targets(self, call: ast.Call) -> Iterator[tuple[Target, str]]:
        self.line = call.lineno
        for target, part in super().targets(call):
            function = self.resolve(dotted_name(call.func)) if part else None
            home = function.where if function else target.location
            self.text.home_names = self.search.discovery.names(home)
            yield target, part

    def placed(self, place: Place) -> tuple[int, bool]:
        return TEXT, bool(place.classes)

    def evidence_of(
        self, target: Target, call: ast.Call, cut: Cut, at: Position, rank: int, part: str
    ) -> Evidence:
        self.line = call.lineno
        at = at if at.line <= self.last else Position(at.path)
        symbol = self.resolve(dotted_name(call.func))
        if part and symbol:
            plain = ast.copy_location(ast.Name(symbol.name, ast.Load()), call)
            call = ast.copy_location(ast.Call(plain, call.args, call.keywords), call)
            home = symbol.where
            return self.search.evidence(target, call, cut.statements, at, rank, home, part)
        return self.search.evidence_at_home(target, symbol, call, cut.statements, at, rank)
