"""Which models of a project are parts of others, as the source says: a model whose body names
another one, to call it or to hand it on, is taken to contain it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from nparam_lint.discover.definitions import Containment
from nparam_lint.discover.name_resolution import Symbol
from nparam_lint.discover.source_tree import reachable
from nparam_lint.discover.syntax import tail
from nparam_lint.ground.patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from nparam_lint.discover import Discovery
    from nparam_lint.discover.definitions import Definition
    from nparam_lint.discover.scan import Defined

# A search for words takes a hundredth of what it takes to go through the syntax trees.
_TEXTS = late_pattern(
    r'"""(?:[^"\\]|\\.|"(?!""))*"""'
    r"|'''(?:[^'\\]|\\.|'(?!''))*'''"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'(?:[^'\\\n]|\\.)*'"
    r"|#[^\n]*",
    re.DOTALL,
)
# Names that say what something is, and build nothing: `x: Net`, `-> Net`, `isinstance(x, Net)`.
_TYPES = late_pattern(
    r"(?:->|(?<=\w)[ \t]*:)[ \t]*[\w.]+(?:\[[\w.,| \t\[\]]*\])?(?=[ \t]*[,)=:|\n])"
    r"|\b(?:isinstance|issubclass|super)[ \t]*\([^()]*(?:\([^()]*\))?[^()]*\)"
)
# `x: Block.Config` holds the arguments of a part.
_CONFIG = late_pattern(r"[\w.]*\w\.[A-Z]\w*")
_NAMES = late_pattern(r"(?<![\w.])[A-Za-z_]\w*(?:\.\w+)*")
# `class Config(Block.Config):` inside a model.
_EXTENDS = late_pattern(r"^[ \t]+class[ \t]+\w+[ \t]*\(([\w., \t\n]*)\)", re.MULTILINE)


def find_containment(discovery: Discovery) -> Containment:
    """Which models contain which. A factory does not contain the model that it returns."""
    bodies = _Bodies(discovery)
    direct = bodies.parts()
    every = {outer: _reached(outer, direct) for outer in direct}
    place = {target: number for number, target in enumerate(direct)}
    users: dict[str, list[str]] = {}
    for outer, parts in every.items():
        for part in parts:  # of two that contain each other, the first contains the second
            if outer not in every[part] or place[outer] < place[part]:
                users.setdefault(part, []).append(outer)
    products = {target: next(iter(classes), "") for target, classes in bodies.returned.items()}
    products = {
        target: product for target, product in products.items() if product not in ("", target)
    }
    return Containment({part: tuple(outers) for part, outers in users.items()}, products)


def _reached(outer: str, direct: Mapping[str, Iterable[str]]) -> set[str]:
    reached = reachable(direct[outer], lambda part: direct.get(part, ()))
    return (direct.keys() & reached) - {outer}


class _Bodies:
    """What the bodies of models and functions name. `returned`: target of a factory → those of the
    classes which it returns; `callables`: the names of all models and functions."""

    def __init__(self, discovery: Discovery) -> None:
        self.tree = discovery.tree
        self.names = discovery.models.names
        self.definitions = {(item.path, item.qualname): item for item in discovery.definitions}
        self.returned = {i.target: [*_returned(i, discovery)] for i in self.definitions.values()}
        self.callables = {tail(item.qualname) for item in discovery.definitions}
        for path in discovery.parsed:
            self.callables |= {fact.qualname for fact in self.tree.facts(path).functions}
        self.lines: dict[str, list[str]] = {}
        self.fields: dict[str, set[str]] = {}  # target → those whose configs its own config holds

    def parts(self) -> dict[str, set[str]]:
        """Target → the targets that its body names, with what factories among these return, and
        those of its base classes. Where a config has a field for that of a model, all models whose
        configs extend that one fit there."""
        direct: dict[str, set[str]] = {}
        for item in self.definitions.values():
            kind: Literal["class", "function"] = "class" if item.kind == "class" else "function"
            symbol = Symbol(kind, item.path, item.qualname)
            itself = {item.target, *self.returned[item.target], ""}
            direct[item.target] = self.named_by(symbol, item, {symbol}) - itself
        parts = {target: {*targets} for target, targets in direct.items()}
        for item in self.definitions.values():
            if item.kind == "class":
                for base in self.names.bases(Symbol("class", item.path, item.qualname)):
                    inherited = direct.get(f"{base.where}::{base.name}", set())
                    parts[item.target] |= inherited - {item.target}
        kinds = self.kinds() if self.fields else {}
        for outer, fields in self.fields.items():
            bases = kinds.get(outer, set())
            narrow = fields - bases  # a field that `outer` itself fits tells no part from a whole
            fitting = {target for target, its in kinds.items() if not narrow.isdisjoint(its)}
            parts[outer] |= fitting - {outer} - bases
        return parts

    def kinds(self) -> dict[str, set[str]]:
        """Target of a model → the models whose configs its own config extends, directly or not."""
        direct = {
            item.target: set(self.extended(item))
            for item in self.definitions.values()
            if item.kind == "class"
        }
        return {target: _reached(target, direct) for target, bases in direct.items() if bases}

    def extended(self, item: Definition) -> Iterator[str]:
        body = _body(self.lines[item.path], item.line, item.column)
        for name in _NAMES.findall(" ".join(_EXTENDS.findall(body))):
            symbol = self._resolved(
                Symbol("class", item.path, item.qualname), name.rpartition(".")[0]
            )
            base = self.definitions.get((symbol.where, symbol.name)) if symbol else None
            if base and base.target != item.target:
                yield base.target

    def named_by(self, user: Symbol, place: Definition | Defined, above: set[Symbol]) -> set[str]:
        """The targets that a body names, directly or in a function that is no model. `above`: what
        has been looked into."""
        if user.where not in self.lines:
            self.lines[user.where] = _lines_of_code(self.tree.source(user.where))
        targets: set[str] = set()
        body = _body(self.lines[user.where], place.line, place.column)
        for name in dict.fromkeys(_NAMES.findall(_EXTENDS.sub("", body))):
            is_config = tail(name) not in self.callables and bool(_CONFIG.fullmatch(name))
            name = name.rpartition(".")[0] if is_config else name
            symbol = self._resolved(user, name) if tail(name) in self.callables else None
            if symbol is None or symbol in above:
                continue
            is_field = is_config and user.kind == "class"
            if is_field and symbol in self.names.bases(user):  # whose config that of `user` extends
                continue
            if definition := self.definitions.get((symbol.where, symbol.name)):
                targets |= {definition.target, *self.returned[definition.target]}
                if is_field:
                    outer = f"{user.where}::{user.name}"
                    self.fields.setdefault(outer, set()).add(definition.target)
            elif symbol.kind == "function" and (
                facts := self.names.functions(symbol.where).get(symbol.name)
            ):
                above.add(symbol)
                targets |= self.named_by(symbol, facts, above)
        return targets

    def _resolved(self, user: Symbol, name: str) -> Symbol | None:
        if user.kind == "class":
            return self.names.resolve(user.where, name, user.name)
        facts = self.names.functions(user.where).get(user.name)
        return self.names.resolve(user.where, name, local=facts.imports if facts else ())


def _returned(item: Definition, discovery: Discovery) -> Iterator[str]:
    """The targets of the classes that a factory returns, by way of others too; "" where one is none
    of the project."""
    names = discovery.models.names
    symbols = {Symbol("function", item.path, item.qualname)}  # all that were on the stack
    stack = [*symbols]
    while stack:
        symbol = stack.pop()
        if symbol.kind == "class":
            yield f"{symbol.where}::{symbol.name}" if discovery.models.is_model(symbol) else ""
        facts = names.functions(symbol.where).get(symbol.name) if symbol.where else None
        if facts is None or symbol.kind != "function":
            continue
        for dotted in facts.returned:
            product = names.resolve(symbol.where, dotted, local=facts.imports)
            if product is not None and product not in symbols:
                symbols.add(product)
                stack.append(product)


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
