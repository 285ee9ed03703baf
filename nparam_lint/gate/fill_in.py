"""The arguments of a model that cannot be built without any, to fill in and to paste into the
config: with the names and values that the project itself uses, as far as its source says them."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING

from nparam_lint.discover.claims.stated import LARGEST
from nparam_lint.discover.files import list_configs, list_docs
from nparam_lint.gate.candidates import config_lines
from nparam_lint.gate.reading import listed
from nparam_lint.ground.notation import Target
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.ground.script_words import SIZE_OF_DATA

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from nparam_lint.config.session import Session
    from nparam_lint.count.measured import NotMeasured
    from nparam_lint.discover import Discovery
    from nparam_lint.discover.definitions import Definition, Parameter
    from nparam_lint.gate.candidates import ProjectSource

_SENTENCE = "To count what needs arguments, say how to build it"
_LONGEST = 40  # characters of a value
_SIZE = late_pattern(
    r"\b((?:vocab|n|num)_(?:size|class(?:es)?|tokens?|labels?))\b[\"'`]?\s*(?:[:=]|is|of)?\s*"
    r"([1-9]\d{0,2}(?:[,_]\d{3})+|[1-9]\d*)\b(?![.%])"
)
_NEGATIVE = late_pattern(r"negative|-\d")  # in what is said of a size that was never set


def arguments_to_fill_in(
    skipped: Iterable[tuple[str, NotMeasured]],
    source: ProjectSource,
    calls: Iterable[str],
    *,
    is_whole: bool,
) -> dict[str, tuple[str, ...]]:
    """Target → the lines of config that say how to build it, for each that needs arguments, or a
    size that its config leaves to be set (`vocab_size: int = -1`). `…` stands for a value that is
    not known. `calls`: those of the project that build other models; `is_whole`: whether all files
    may be read for it."""
    discovery = source.discovery
    needy = {target for target, failure in skipped if failure.cause == "arguments_missing"}
    unset = {target for target, failure in skipped if _NEGATIVE.search(failure.reason)} - needy
    definitions = [item for item in discovery.definitions if item.target in needy | unset]
    defaults, called = _defaults(discovery), _common_values(calls)
    needed = {parameter.name for item in definitions for parameter in item.parameters or ()}
    is_asked = is_whole and any(map(SIZE_OF_DATA.match, needed))
    stated = _stated_sizes(source.session) if is_asked else {}

    def value_of(path: str, name: str) -> str:
        given = defaults.get((path, name)) or called.get(name) or defaults.get(("", name))
        return given or stated.get(name.replace("_", ""), "")

    def arguments_of(item: Definition) -> Iterator[str]:
        for parameter in item.parameters or ():
            if parameter.required:
                name = parameter.name
                value = value_of(item.path, name) or config_of(item.path, parameter) or "…"
                yield f"{name}={value}"

    def config_of(path: str, parameter: Parameter) -> str:
        """`Config(width=…)`, where a parameter is annotated with a class of the project."""
        name = (parameter.annotation or "").strip("\"'")
        is_name = name.replace(".", "").isidentifier()
        symbol = discovery.models.names.resolve(path, name) if is_name else None
        if symbol is None or symbol.kind != "class":
            return ""
        fields = discovery.models.parameters(symbol) or ()
        names = [i.name for i in fields if i.required or (i.default or "").startswith("-")]
        values = (f"{field}={value_of(symbol.where, field) or '…'}" for field in names)
        return f"{name}({', '.join(values)})"

    entries: dict[str, tuple[str, ...]] = {}
    for item in definitions:
        arguments = ", ".join(arguments_of(item))
        if arguments and (item.target in needy or "…" in arguments):
            quoted = f"'{arguments}'" if '"' in arguments else f'"{arguments}"'
            target = Target(item.path, item.qualname)
            entries[item.target] = config_lines(_SENTENCE, target, quoted, source.settings)
    return entries


def _common_values(calls: Iterable[str]) -> dict[str, str]:
    """The value that calls give an argument of a name, where several give it and all the same one:
    a single call may be of a model that has its own."""
    values: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for text in calls:
        for node in ast.walk(ast.parse(text, mode="eval")):
            for keyword in node.keywords if isinstance(node, ast.Call) else ():
                if keyword.arg:
                    values[keyword.arg][ast.unparse(keyword.value)] += 1
    return {name: text for name, text in _agreed(values) if _is_value(text)}


def _agreed(values: Mapping[str, Counter[str]]) -> Iterator[tuple[str, str]]:
    """The value of each name that is given one more than once, and no other."""
    for name, counts in values.items():
        if counts.total() > 1 == len(counts):
            yield name, next(iter(counts))


def _defaults(discovery: Discovery) -> Mapping[tuple[str, str], str]:
    """(path, name) → the default that a model of the file gives a parameter of this name; for any
    file, where several models give one and all the same, under ("", name)."""
    defaults: dict[tuple[str, str], str] = {}
    every: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for item in discovery.definitions:
        for parameter in item.parameters or ():
            if parameter.default is not None and _is_value(parameter.default):
                defaults.setdefault((item.path, parameter.name), parameter.default)
                every[parameter.name][parameter.default] += 1
    return defaults | {("", name): text for name, text in _agreed(every)}


def _stated_sizes(session: Session) -> dict[str, str]:
    """The sizes of data that texts and configs state, if all state the same: `vocab_size: 65`."""
    sizes: defaultdict[str, set[str]] = defaultdict(set)
    for path in listed(session, list_docs, list_configs):
        with suppress(OSError):
            content = (session.root / path).read_bytes()[:LARGEST]
            for name, number in _SIZE.findall(content.decode("utf-8", "replace")):
                sizes[name.lower().replace("_", "")].add(number.replace(",", "_"))
    return {name: numbers.pop() for name, numbers in sizes.items() if len(numbers) == 1}


def _is_value(text: str) -> bool:
    """Whether it says something where it is pasted: no size is `0` or `-1`."""
    with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
        value = ast.literal_eval(text) if len(text) <= _LONGEST else None
        return value not in (None, "") and not (type(value) is int and value <= 0)
    return False
