"""Which models of a project are parts of others, as the source says: a model whose body names
another one, to call it or to hand it on, is taken to contain it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nparam_lint.discover.name_resolution import Symbol
from nparam_lint.discover.syntax import tail
from nparam_lint.records import Containment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from nparam_lint.discover import Discovery
    from nparam_lint.records import Definition

# A search for words takes a hundredth of what it takes to go through the syntax trees.
_TEXTS = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*"""'
    r"|'''(?:[^'\\]|\\.|'(?!''))*'''"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'(?:[^'\\\n]|\\.)*'"
    r"|#[^\n]*",
    re.DOTALL,
)
# Names that say what something is, and build nothing: `x: Net`, `-> Net`, `isinstance(x, Net)`.
_TYPES = re.compile(
    r"(?:->|(?<=\w)[ \t]*:)[ \t]*[\w.]+(?:\[[\w.,| \t\[\]]*\])?(?=[ \t]*[,)=:|\n])"
    r"|\b(?:isinstance|issubclass|super)[ \t]*\([^()]*(?:\([^()]*\))?[^()]*\)"
)
_NAMES = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?:\.\w+)*")


def find_containment(found: Discovery) -> Containment:
    """Which models contain which. A factory does not contain the model that it returns."""
    definitions = {(item.path, item.qualname): item for item in found.definitions}
    returns = {item.target: _returned(item, found) for item in definitions.values()}
    direct = _direct_parts(found, definitions, returns)
    every = {outer: _reached(outer, direct) for outer in direct}
    place = {target: number for number, target in enumerate(direct)}
    users: dict[str, list[str]] = {}
    for outer, parts in every.items():
        for part in parts:  # of two that contain each other, the first contains the second
            if outer not in every[part] or place[outer] < place[part]:
                users.setdefault(part, []).append(outer)
    made = {factory: kind for factory, kind in returns.items() if kind not in ("", factory)}
    return Containment({part: tuple(outers) for part, outers in users.items()}, made)


def _reached(outer: str, direct: Mapping[str, Iterable[str]]) -> set[str]:
    reached: set[str] = set()
    stack = [*direct[outer]]
    while stack:
        part = stack.pop()
        if part != outer and part not in reached:
            reached.add(part)
            stack += direct[part]
    return reached


def _direct_parts(
    found: Discovery, definitions: Mapping[tuple[str, str], Definition], returns: Mapping[str, str]
) -> dict[str, set[str]]:
    """Target → the targets that its body names, with what factories among these return, and those
    of its base classes."""
    tails = {tail(item.qualname) for item in definitions.values()}
    parts: dict[str, set[str]] = {item.target: set() for item in definitions.values()}
    lines: dict[str, list[str]] = {}
    for item in definitions.values():
        if item.path not in lines:
            lines[item.path] = _lines_of_code(found.tree.source(item.path))
        own = {item.target, returns[item.target], ""}
        for name in _named(item, lines[item.path]):
            if tail(name) in tails and (symbol := _resolved(item, name, found)):
                used = definitions.get((symbol.where, symbol.name))
                if used:
                    parts[item.target] |= {used.target, returns[used.target]} - own
    direct = {target: {*own} for target, own in parts.items()}
    for item in definitions.values():
        if item.kind == "class":
            for base in found.models.names.bases(Symbol("class", item.path, item.qualname)):
                inherited = direct.get(f"{base.where}::{base.name}", set())
                parts[item.target] |= inherited - {item.target}
    return parts


def _resolved(user: Definition, name: str, found: Discovery) -> Symbol | None:
    names = found.models.names
    scope = user.qualname if user.kind == "class" else ""
    function = names.functions(user.path).get(user.qualname) if not scope else None
    return names.resolve(user.path, name, scope, function.imports if function else ())


def _returned(item: Definition, found: Discovery) -> str:
    """The target of the class that a factory returns, by way of others too; "" where it is none of
    the project."""
    names, seen = found.models.names, {Symbol("function", item.path, item.qualname)}
    stack = [*seen]
    while stack:
        symbol = stack.pop()
        if symbol.kind == "class":
            return f"{symbol.where}::{symbol.name}" if found.models.is_model(symbol) else ""
        facts = names.functions(symbol.where).get(symbol.name) if symbol.where else None
        if facts is None or symbol.kind != "function":
            continue
        for called in facts.returned:
            made = names.resolve(symbol.where, called, local=facts.imports)
            if made is not None and made not in seen:
                seen.add(made)
                stack.append(made)
    return ""


def _lines_of_code(source: bytes) -> list[str]:
    """The lines of a file, without strings, comments and annotations."""
    text = source.decode("utf-8", "replace").replace("\t", "    ")
    for pattern in (_TEXTS, _TYPES):
        text = pattern.sub(lambda match: "\n" * match[0].count("\n"), text)
    return text.split("\n")


def _named(item: Definition, lines: Sequence[str]) -> Iterator[str]:
    """The dotted names in the body of a definition."""
    body = []
    for line in lines[item.line :]:
        start = line.strip()[:1]
        if start and start not in ")]}" and len(line) - len(line.lstrip()) < item.column:
            break
        body.append(line)
    yield from dict.fromkeys(_NAMES.findall("\n".join(body)))
