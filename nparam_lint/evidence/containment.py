"""Which models of a project are parts of others, as the source says: a model whose body names
another one, to call it or to hand it on, is taken to contain it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from nparam_lint.discover.definitions import Containment
from nparam_lint.discover.name_resolution import Symbol
from nparam_lint.discover.syntax import tail

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from nparam_lint.discover import Discovery
    from nparam_lint.discover.definitions import Definition
    from nparam_lint.discover.scan import Defined

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
# `x: Block.Config` holds the arguments of a part.
_CONFIG = re.compile(r"[\w.]*\w\.[A-Z]\w*")
_NAMES = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?:\.\w+)*")
# `class Config(Block.Config):` inside a model.
_EXTENDS = re.compile(r"^[ \t]+class[ \t]+\w+[ \t]*\(([\w., \t\n]*)\)", re.MULTILINE)


def find_containment(found: Discovery) -> Containment:
    """Which models contain which. A factory does not contain the model that it returns."""
    bodies = _Bodies(found)
    direct = bodies.parts()
    every = {outer: _reached(outer, direct) for outer in direct}
    place = {target: number for number, target in enumerate(direct)}
    users: dict[str, list[str]] = {}
    for outer, parts in every.items():
        for part in parts:  # of two that contain each other, the first contains the second
            if outer not in every[part] or place[outer] < place[part]:
                users.setdefault(part, []).append(outer)
    made = {one: kind for one, kind in bodies.returns.items() if kind not in ("", one)}
    return Containment({part: tuple(outers) for part, outers in users.items()}, made)


def _reached(outer: str, direct: Mapping[str, Iterable[str]]) -> set[str]:
    reached: set[str] = set()
    stack = [*direct[outer]]
    while stack:
        part = stack.pop()
        if part != outer and part in direct and part not in reached:
            reached.add(part)
            stack += direct[part]
    return reached


class _Bodies:
    """What the bodies of models and functions name. `returns`: target of a factory → that of the
    class which it returns."""

    def __init__(self, found: Discovery) -> None:
        self.found = found
        self.names = found.models.names
        self.definitions = {(item.path, item.qualname): item for item in found.definitions}
        self.made = {i.target: [*_returned(i, found)] for i in self.definitions.values()}
        self.returns = {target: next(iter(made), "") for target, made in self.made.items()}
        functions = (fact for path in found.parsed for fact in found.tree.facts(path).functions)
        self.known = {tail(item.qualname) for item in found.definitions}
        self.known |= {fact.qualname for fact in functions}
        self.lines: dict[str, list[str]] = {}
        self.fields: dict[str, set[str]] = {}  # target → those whose configs its own config holds

    def parts(self) -> dict[str, set[str]]:
        """Target → the targets that its body names, with what factories among these return, and
        those of its base classes. Where a config has a field for that of a model, all models whose
        configs extend that one fit there."""
        direct: dict[str, set[str]] = {}
        for item in self.definitions.values():
            own = {item.target, *self.made[item.target], ""}
            kind: Literal["class", "function"] = "class" if item.kind == "class" else "function"
            symbol = Symbol(kind, item.path, item.qualname)
            direct[item.target] = self.named_by(symbol, item, {symbol}) - own
        parts = {target: {*own} for target, own in direct.items()}
        for item in self.definitions.values():
            if item.kind == "class":
                for base in self.names.bases(Symbol("class", item.path, item.qualname)):
                    inherited = direct.get(f"{base.where}::{base.name}", set())
                    parts[item.target] |= inherited - {item.target}
        kinds = self.kinds() if self.fields else {}
        for outer, fields in self.fields.items():
            own = kinds.get(outer, set())
            narrow = fields - own  # a field that `outer` itself fits tells no part from a whole
            fitting = {one for one, bases in kinds.items() if not narrow.isdisjoint(bases)}
            parts[outer] |= fitting - {outer} - own
        return parts

    def kinds(self) -> dict[str, set[str]]:
        """Target of a model → the models whose configs its own config extends, directly or not."""
        direct = {
            item.target: set(self.extended(item))
            for item in self.definitions.values()
            if item.kind == "class"
        }
        return {one: _reached(one, direct) for one, bases in direct.items() if bases}

    def extended(self, item: Definition) -> Iterator[str]:
        body = _body(self.lines[item.path], item.line, item.column)
        for name in _NAMES.findall(" ".join(_EXTENDS.findall(body))):
            symbol = self._resolved(
                Symbol("class", item.path, item.qualname), name.rpartition(".")[0]
            )
            found = self.definitions.get((symbol.where, symbol.name)) if symbol else None
            if found and found.target != item.target:
                yield found.target

    def named_by(self, user: Symbol, place: Definition | Defined, seen: set[Symbol]) -> set[str]:
        """The targets that a body names, directly or in a function that is no model."""
        if user.where not in self.lines:
            self.lines[user.where] = _lines_of_code(self.found.tree.source(user.where))
        named: set[str] = set()
        body = _body(self.lines[user.where], place.line, place.column)
        for name in dict.fromkeys(_NAMES.findall(_EXTENDS.sub("", body))):
            is_config = tail(name) not in self.known and bool(_CONFIG.fullmatch(name))
            name = name.rpartition(".")[0] if is_config else name
            symbol = self._resolved(user, name) if tail(name) in self.known else None
            if symbol is None or symbol in seen:
                continue
            # A base class, whose config that of `user` extends.
            if is_config and user.kind == "class" and symbol in self.names.bases(user):
                continue
            used = self.definitions.get((symbol.where, symbol.name))
            if used and is_config and user.kind == "class":
                self.fields.setdefault(f"{user.where}::{user.name}", set()).add(used.target)
            if used:
                named |= {used.target, *self.made[used.target]}
            elif symbol.kind == "function" and (
                facts := self.names.functions(symbol.where).get(symbol.name)
            ):
                seen.add(symbol)
                named |= self.named_by(symbol, facts, seen)
        return named

    def _resolved(self, user: Symbol, name: str) -> Symbol | None:
        if user.kind == "class":
            return self.names.resolve(user.where, name, user.name)
        facts = self.names.functions(user.where).get(user.name)
        return self.names.resolve(user.where, name, local=facts.imports if facts else ())


def _returned(item: Definition, found: Discovery) -> Iterator[str]:
    """The targets of the classes that a factory returns, by way of others too; "" where one is none
    of the project."""
    names, seen = found.models.names, {Symbol("function", item.path, item.qualname)}
    stack = [*seen]
    while stack:
        symbol = stack.pop()
        if symbol.kind == "class":
            yield f"{symbol.where}::{symbol.name}" if found.models.is_model(symbol) else ""
        facts = names.functions(symbol.where).get(symbol.name) if symbol.where else None
        if facts is None or symbol.kind != "function":
            continue
        for called in facts.returned:
            made = names.resolve(symbol.where, called, local=facts.imports)
            if made is not None and made not in seen:
                seen.add(made)
                stack.append(made)


def _lines_of_code(source: bytes) -> list[str]:
    """The lines of a file, without strings, comments and annotations."""
    text = source.decode("utf-8", "replace").replace("\t", "    ")
    text = _TEXTS.sub(lambda match: "\n" * match[0].count("\n"), text)
    return _TYPES.sub(_without_types, text).split("\n")


def _without_types(match: re.Match[str]) -> str:
    configs = " ".join(_CONFIG.findall(match[0])) if match[0].lstrip().startswith(":") else ""
    return f" {configs}" + "\n" * match[0].count("\n")


def _body(lines: Sequence[str], line: int, column: int) -> str:
    body = []
    for text in lines[line:]:
        start = text.strip()[:1]
        if start and start not in ")]}" and len(text) - len(text.lstrip()) < column:
            break
        body.append(text)
    return "\n".join(body)
