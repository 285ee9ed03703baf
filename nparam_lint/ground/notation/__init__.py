"""Which count: `LOCATION::CALLABLE(ARGUMENTS)[SELECTOR]`, the one notation of the whole tool; with
`(in LOCATION::CALLABLE(ARGUMENTS))` in place of the arguments, that of a class inside a model.

The same text stands on the command line, in config keys and in docstrings (where `nparam` stands
for the location and the callable). Everything here is pure text; nothing is imported or evaluated.
"""

from __future__ import annotations

import ast
import re
import warnings
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from nparam_lint.ground.metrics import METRICS
from nparam_lint.ground.nearest import nearest
from nparam_lint.ground.paths import CONFIG_SUFFIXES

from ..patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

_MAX_LENGTH = 10_000
_PAIRS = {"(": ")", "[": "]", "{": "}"}
# A string; a quote that opens one without an end; a bracket; or what begins a comment.
_TOKEN = late_pattern(
    r"""(?=(?P<quote>'''|\"""|'|"))(?:(?P=quote)(?:\\.|(?!(?P=quote))[^\\])*(?P=quote)"""
    r"""|(?P<open>(?P=quote)))|[()\[\]{}#]""",
    re.DOTALL,
)
_CONFIG_FILE = late_pattern(r"\s*([^\s:,()\[\]]+?\.(?i:yaml|yml|toml|json))(?![\w.*?/])")
_CALLABLE = late_pattern(r"\s*([^\W\d]\w*(?:\.[^\W\d]\w*)*)")
_INSIDE = late_pattern(r"\(\s*in\b\s*")
_MODULE = late_pattern(r"""[^\s.,\[\]()'"=:]+(?:\.[^\s.,\[\]()'"=:]+)*""")


class TextError(ValueError):
    """A text that cannot be read: what was found and expected, and the 0-based offset in it."""

    def __init__(self, message: str, offset: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


class Unclosed(TextError):
    """A bracket, at `offset`, that is still open at the end of the text."""


class FormulaError(TextError):
    """A formula that cannot be read or evaluated; `offset` counts in the formula's text."""


class FormulaSyntaxError(FormulaError):
    """A text that is not an expression at all."""


class UnknownName(FormulaError):
    """A name that the caller gave no value for."""

    def __init__(self, name: str, offset: int = 0) -> None:
        super().__init__(f"unknown name `{name}`", offset)
        self.name = name


@contextmanager
def shifted(offset: int) -> Iterator[None]:
    """The offset of a TextError that is raised inside counts from `offset`."""
    try:
        yield
    except TextError as error:
        error.offset += offset
        raise


class Target(Struct, frozen=True):
    """A class or factory, and how to call it. `arguments` is None where none were written: it is
    then called with its defaults; `resnet50()` has the empty text. Without a `callable` it is a
    config file, from which a recipe of the project builds a model. `host`: the model that is built,
    where the class stands inside it; a host that is called by its name alone has no location."""

    location: str
    callable: str
    arguments: str | None = None
    host: Target | None = None

    def __str__(self) -> str:
        if not (self.location and self.callable):
            return self.location or self.call
        return f"{self.location}::{self.call}"

    @property
    def call(self) -> str:
        """What is called, and how: `GPT(n_layer=24)`."""
        if self.host:
            return f"{self.callable}(in {self.host})"
        return self.callable + ("" if self.arguments is None else f"({self.arguments})")

    @property
    def is_path(self) -> bool:
        """Whether the location is a file of the project; otherwise it is an importable module."""
        kinds = (".py", ".ipynb", *CONFIG_SUFFIXES)
        return "/" in self.location or self.location.lower().endswith(kinds)

    @property
    def is_importable(self) -> bool:
        """Whether it can be imported by its name: no config file, and nothing of a notebook, which
        is built as its own calls say."""
        return bool(self.callable) and not self.location.endswith(".ipynb")

    @property
    def bare(self) -> Target:
        return Target(self.location, self.callable)

    @property
    def built(self) -> Target:
        """What is called to build it."""
        return self.host or self


def without_arguments(target: str) -> str:
    """A target's text without its arguments; a folder may have a bracket in its name."""
    location, sign, call = target.partition("::")
    return location + sign + call.partition("(")[0]


class Selector(Struct, frozen=True):
    """Which count of a model: a metric, of the modules that a path or glob matches ("": all)."""

    metric: str = "total"
    module: str = ""

    def __str__(self) -> str:
        metric = "" if self.metric == "total" else self.metric
        return ", ".join(part for part in (self.module, metric) if part)


def parse_target(text: str) -> Target:
    """Read a target without a selector. Raises TextError."""
    target, at = _read_target(text)
    is_open = target.arguments is None and target.host is None
    _expect_end(text, at, "(ARGUMENTS) or the end" if is_open else "the end")
    return target


def parse_selected(text: str) -> tuple[Target, Selector]:
    """Read a target and its selector, if it has one. Raises TextError."""
    target, at = _read_target(text)
    selector, at = read_selector(text, at)
    if target.built is target and target.arguments is None:
        host, at = read_host(text, at)
        target = replace(target, host=host)
    _expect_end(text, at, "(ARGUMENTS), [SELECTOR] or the end")
    return target, selector


def parse_selector(text: str) -> Selector:
    """Read what stands between the brackets: a metric, a module path or glob, or both, in either
    order. A single unknown word is a module path. Raises TextError."""
    metric = module = ""
    at = 0
    for piece in text.split(",") if text.strip() else ():
        word = piece.strip()
        offset = at + len(piece) - len(piece.lstrip())
        at += len(piece) + 1
        if word in METRICS and not metric:
            metric = word
        elif _MODULE.fullmatch(word) is None:
            raise TextError(f"found {_quoted(word)}, expected a metric or a module path", offset)
        elif word in METRICS or module:
            near = suggest_metric(word) or suggest_metric(module)
            hint = f"; did you mean `{near}`?" if near and not metric else ""
            expected = "one module path" if metric else f"one metric of {', '.join(METRICS)}"
            raise TextError(f"found `{word}`, expected {expected}{hint}", offset)
        else:
            module = word
    return Selector(metric or "total", module)


def suggest_metric(word: str) -> str | None:
    """The metric that `word` probably means, where it is a near miss of one."""
    return next(iter(nearest(word.replace("-", "_"), METRICS, cutoff=0.75)), None)


@lru_cache(maxsize=256)
def _glob(glob: str) -> re.Pattern[str]:
    """A pattern over a path whose every component is followed by a dot."""
    pattern = ""
    for component in glob.split(".") if glob else ():
        if component == "**":
            pattern += r"(?:[^.]+\.)*"
        else:
            pattern += "[^.]*".join(map(re.escape, re.split(r"\*+", component))) + r"\."
    return re.compile(pattern)


def matches(glob: str, module_path: str) -> bool:
    """Whether a module path matches: `*` within one component, `**` any number of components."""
    return _glob(glob).fullmatch(f"{module_path}." if module_path else "") is not None


def exact_text(number: Fraction) -> str:
    """An exact number for a message: `12.5`, `1_000`, or `10/3` where it has no end."""
    if number.denominator == 1:
        return f"{number.numerator:_}"
    for places in range(1, 7):
        if (number * 10**places).denominator == 1:
            return f"{float(number):.{places}f}" if abs(number) < 10**9 else str(number)
    return str(number)


# --- pieces, shared with the docstring reader -------------------------------------------------


def read_arguments(text: str, at: int) -> tuple[str | None, int]:
    """Read an optional `(ARGUMENTS)` at `at`; give its inside, as written, and the offset after."""
    if not text.startswith("(", at):
        return None, at
    end = closing_bracket(text, at)
    arguments = text[at + 1 : end]
    try:
        read_expression(f"f({arguments})")
    except TextError as error:
        offset = at + 1 + min(max(error.offset - 2, 0), len(arguments))
        message = f"found `({arguments})`, expected the arguments of a Python call: {error.message}"
        raise TextError(message, offset) from None
    return arguments, end + 1


def read_call(text: str, at: int) -> tuple[str | None, Target | None, int]:
    """Read an optional `(ARGUMENTS)` or `(in TARGET)` at `at`; give the one or the other, and the
    offset after it."""
    host, end = read_host(text, at)
    if host is not None:
        return None, host, end
    arguments, end = read_arguments(text, at)
    return arguments, None, end


def read_host(text: str, at: int) -> tuple[Target | None, int]:
    """Read an optional `(in TARGET)` at `at`; give the target and the offset after it. The target
    is the model that a block stands in; the short form is its name alone."""
    opened = _INSIDE.match(text, at)  # `in` begins no argument
    if opened is None:
        return None, at
    end, start = closing_bracket(text, at), opened.end()
    inside = text[start:end]
    with shifted(start):
        name = _CALLABLE.match(inside)
        if name is None or "::" in inside.partition("(")[0]:
            host, length = _read_target(inside)
        else:
            arguments, length = read_arguments(inside, name.end())
            host = Target("", name[1], arguments)
        _expect_end(inside, length, "(ARGUMENTS) or `)`" if host.arguments is None else "`)`")
        if host.host or not host.callable:
            expected = "expected a model such as nets/gpt.py::GPT"
            raise TextError(f"found `{inside.strip()}`, {expected}")
    return host, end + 1


def read_selector(text: str, at: int) -> tuple[Selector, int]:
    """Read an optional `[SELECTOR]` at `at`; give it and the offset after it."""
    if not text.startswith("[", at):
        return Selector(), at
    end = closing_bracket(text, at)
    inside = text[at + 1 : end]
    if not inside.strip():
        raise TextError("found `[]`, expected a metric, a module path or both", at)
    with shifted(at + 1):
        return parse_selector(inside), end + 1


def closing_bracket(text: str, start: int) -> int:
    """The offset of the bracket that closes the one at `start`; strings are passed over.

    Raises Unclosed where the text ends before, TextError where another bracket closes."""
    expected: list[str] = []
    for token in _TOKEN.finditer(text, start):
        if token["open"]:
            message = f"found a string that is never closed, expected `{token[0]}`"
            raise TextError(message, token.start())
        if token[0] in _PAIRS:
            expected.append(_PAIRS[token[0]])
        elif token[0] in _PAIRS.values():
            if token[0] != expected[-1]:
                raise TextError(f"found `{token[0]}`, expected `{expected[-1]}`", token.start())
            expected.pop()
            if not expected:
                return token.start()
    opened = text[start]
    raise Unclosed(f"found `{opened}` that is never closed, expected `{_PAIRS[opened]}`", start)


def without_comment(text: str) -> str:
    """The text up to a `#`; one in quotes does not count."""
    for token in _TOKEN.finditer(text):
        if token["open"]:
            break
        if token[0] == "#":
            return text[: token.start()]
    return text


def read_expression(text: str) -> ast.expr:
    """The tree of one Python expression, never evaluated. Raises TextError."""
    if len(text) > _MAX_LENGTH:
        raise TextError(f"longer than {_MAX_LENGTH} characters")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # odd escapes and `1if x` are not ours to report
            return ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise TextError(error.msg, min(max((error.offset or 1) - 1, 0), len(text))) from None
    except (ValueError, MemoryError, RecursionError):  # NUL, lone surrogates, deep nesting
        raise TextError("too deeply nested, or not text") from None


def _read_target(text: str) -> tuple[Target, int]:
    split = text.find("::")
    if split < 0 and (config := _CONFIG_FILE.match(text)):
        return Target(config[1], ""), config.end()
    location = text[: max(split, 0)].strip()
    start = len(text) - len(text.lstrip())
    if split < 0 or not location:
        expected = "LOCATION::CALLABLE such as nanogpt/model.py::GPT or timm::resnet50"
        raise TextError(f"found {_quoted(text)}, expected {expected}", start)
    if not Target(location, "").is_path and not _is_dotted(location):
        expected = "a path such as nanogpt/model.py or a module such as timm.models"
        raise TextError(f"found `{location}`, expected {expected}", start)
    match = _CALLABLE.match(text, split + 2)
    if match is None or not _is_dotted(match[1]):
        name, expected = _quoted(text[split + 2 :]), "the name of a class or function"
        raise TextError(f"found {name} after `::`, expected {expected}", split + 2)
    arguments, host, at = read_call(text, match.end())
    return Target(location, match[1], arguments, host), at


def _is_dotted(text: str) -> bool:
    return all(part.isidentifier() for part in text.split("."))


def _quoted(text: str) -> str:
    return f"`{text.strip()}`" if text.strip() else "nothing"


def _expect_end(text: str, at: int, expected: str) -> None:
    if end := text[at:].strip():
        raise TextError(f"found `{end}`, expected {expected}", text.index(end, at))
