"""What a script of Hydra changes in its config before it builds a model of it:
`cfg.model.dim = cfg.dim * 2`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from nparam_lint.discover.syntax import FUNCTIONS, dotted_name, flat
from nparam_lint.evidence.statements import calls_in, loads

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nparam_lint.ground.config_outline import Keys


class ConfigEdit(NamedTuple):
    """A statement that assigns to the keys of a config. `line`: the same of what is called
    `config`, "" where it needs more than that."""

    keys: Keys
    at: str
    line: str

    def is_about(self, keys: Keys) -> bool:
        """Whether it changes what stands at these keys, or around or below them."""
        shorter = min(len(keys), len(self.keys))
        return self.keys[:shorter] == keys[:shorter]


def edits(path: str, tree: ast.Module) -> Iterator[ConfigEdit]:
    """Those of the functions that Hydra gives a config, up to where they build of it."""
    for function in tree.body:
        if not (isinstance(function, FUNCTIONS) and function.args.args):
            continue
        decorators = [getattr(item, "func", item) for item in function.decorator_list]
        if not any(dotted_name(item).endswith("main") for item in decorators):
            continue
        config = function.args.args[0].arg
        always = {id(node) for node in _always(function.body)}
        for node in flat(function.body):
            if any(dotted_name(call.func).endswith("instantiate") for call in _calls(node)):
                break
            places = node.targets if isinstance(node, ast.Assign) else []
            places = [node.target] if isinstance(node, ast.AugAssign) else places
            for keys in (keys for place in places if (keys := _keys(place, config))):
                is_whole = id(node) in always and loads(node) <= {config} and not _calls(node)
                line = f"{config} = config; {ast.unparse(node)}" if is_whole else ""
                yield ConfigEdit(keys, f"{path}:{node.lineno}", line)


def _calls(node: ast.stmt) -> list[ast.Call]:
    return [] if hasattr(node, "body") else [*calls_in(node)]


def _always(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that no condition holds back."""
    for node in body:
        yield from _always(node.body) if isinstance(node, ast.With) else [node]


def _keys(place: ast.expr, config: str) -> Keys:
    """`("model", "dim")` of `config.model.dim`, `config["model"].dim`; empty for another."""
    keys: list[str | int] = []
    while isinstance(place, (ast.Attribute, ast.Subscript)):
        key = place.attr if isinstance(place, ast.Attribute) else getattr(place.slice, "value", "")
        keys, place = [key, *keys], place.value
    return tuple(keys) if isinstance(place, ast.Name) and place.id == config else ()
