"""The arguments of a model that cannot be built without any, to fill in and to paste into the
config: with the names and values that the project itself uses, as far as its source says them."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from contextlib import suppress
from functools import cache, partial
from typing import TYPE_CHECKING

from nparam_lint.claims import Target
from nparam_lint.gate.candidates import filled_entry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from nparam_lint.count.measured import NotMeasured
    from nparam_lint.discover import Discovery
    from nparam_lint.discover.definitions import Definition, Parameter
    from nparam_lint.gate.candidates import ProjectSource

_OPTION = re.compile(
    rb"""add_argument\(\s*(?:['"]-\w+['"]\s*,\s*)?['"]--?([A-Za-z][\w-]*)['"]"""
    rb"""(?:[^()]|\([^()]*\))*?\bdefault\s*=\s*([^,()]+|\([^()]*\))"""
)
_LONGEST = 40  # characters of a value
_NEGATIVE = re.compile(r"negative|-\d")  # in what is said of a size that was never set


def arguments_to_fill_in(
    skipped: Iterable[tuple[str, NotMeasured]], source: ProjectSource, calls: Iterable[str] = ()
) -> dict[str, tuple[str, ...]]:
    """Target → the lines of config that say how to build it, for each that needs arguments, or a
    size that its config leaves to be set (`vocab_size: int = -1`). `…` stands for a value that is
    not known. `calls`: those of the project that build other models."""
    found = source.found
    needy = {target for target, failure in skipped if failure.cause == "arguments_missing"}
    unset = {target for target, failure in skipped if _NEGATIVE.search(failure.reason)} - needy
    definitions = [item for item in found.definitions if item.target in needy | unset]
    defaults, given = _defaults(found), _given(calls)
    options = cache(partial(_options, found))

    def known(path: str, name: str) -> str:
        own = defaults.get((path, name)) or given.get(name) or defaults.get(("", name))
        return own or options().get(name, "")

    def written(item: Definition) -> Iterator[str]:
        for one in item.parameters or ():
            if one.required:
                value = known(item.path, one.name) or _made(item.path, one, found, known) or "…"
                yield f"{one.name}={value}"

    return {
        item.target: filled_entry(Target(item.path, item.qualname), arguments, source.settings)
        for item in definitions
        if (arguments := ", ".join(written(item))) and (item.target in needy or "…" in arguments)
    }


def _given(calls: Iterable[str]) -> dict[str, str]:
    """The value that calls give an argument of a name most often."""
    values: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for text in calls:
        for inner in ast.walk(ast.parse(text, mode="eval")):
            for item in inner.keywords if isinstance(inner, ast.Call) else ():
                if item.arg and _is_value(value := ast.unparse(item.value)):
                    values[item.arg][value] += 1
    return {name: counted.most_common(1)[0][0] for name, counted in values.items()}


def _defaults(found: Discovery) -> Mapping[tuple[str, str], str]:
    """(path, name) → the default that a model of the file gives a parameter of this name; for any
    file under ("", name)."""
    known: dict[tuple[str, str], str] = {}
    for item in found.definitions:
        for parameter in item.parameters or ():
            if parameter.default is not None and _is_value(parameter.default):
                known.setdefault((item.path, parameter.name), parameter.default)
                known.setdefault(("", parameter.name), parameter.default)
    return known


def _made(
    path: str, parameter: Parameter, found: Discovery, known: Callable[[str, str], str]
) -> str:
    """`Config(width=…)`, where a parameter is annotated with a class of the project."""
    name = (parameter.annotation or "").strip("\"'")
    is_name = name.replace(".", "").isidentifier()
    symbol = found.models.names.resolve(path, name) if is_name else None
    if symbol is None or symbol.kind != "class":
        return ""
    given = found.models.parameters(symbol) or ()
    needs = [i.name for i in given if i.required or (i.default or "").startswith("-")]
    values = (f"{item}={known(symbol.where, item) or '…'}" for item in needs)
    return f"{name}({', '.join(values)})"


def _options(found: Discovery) -> dict[str, str]:
    """The defaults of the options of the project's scripts."""
    known: dict[str, str] = {}
    for path in found.files:
        source = found.tree.source(path)
        if b"add_argument" in source:
            for name, value in _OPTION.findall(source):
                text = value.decode("utf-8", "replace").strip()
                if _is_value(text):
                    known.setdefault(name.decode().replace("-", "_"), text)
    return known


def _is_value(text: str) -> bool:
    """Whether it says something where it is pasted: no size is `0` or `-1`, which others find
    out."""
    with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
        value = ast.literal_eval(text) if len(text) <= _LONGEST else None
        return value not in (None, "") and not (type(value) is int and value <= 0)
    return False
