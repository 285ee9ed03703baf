"""What the arguments of `nparam-lint update` name: the budgets of a target, or of files."""

from __future__ import annotations

import ast
import difflib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nparam_lint import UsageError
from nparam_lint.claims.notation import Selector, Target, TextError, parse_selected, read_expression

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from nparam_lint.gate.requests import ModelRequest


class NothingNamed(UsageError):
    """An argument that names no budget; the message says what it might have meant."""


@dataclass(frozen=True, slots=True)
class Named:
    """One argument. With a `target`: its budgets, for all arguments where it has none and for all
    selectors where `selector` is None. Without: the budgets that stand at or below `path` (relative
    to the root), or are about what is defined there."""

    text: str
    path: str
    target: Target | None = None
    selector: Selector | None = None

    def covers(self, target: Target, selector: Selector | None, place: str) -> bool:
        """Whether it names the budget for `target` (with any selector: None) that stands in the
        file `place`."""
        if self.target is None:
            return any(
                self.path == "." or p == self.path or p.startswith(f"{self.path}/")
                for p in (place, target.location)
            )
        return (
            self.target.bare == target.bare
            and _same_call(self.target.arguments, target.arguments)
            and (self.selector is None or self.selector == selector)
        )


def read_named(text: str, root: Path) -> Named:
    """Raises NothingNamed for what is neither a target nor a path of the project."""
    if "::" not in text:
        path = Path(text)
        if not path.exists():
            raise NothingNamed(f"there is no file or directory {text}")
        return Named(text, _relative(path, root))
    try:
        target, selector = parse_selected(text)
    except TextError as error:
        raise NothingNamed(f"{text!r} is not a target: {error}") from None
    if target.is_path:
        target = Target(_relative(Path(target.location), root), target.callable, target.arguments)
    chosen = selector if text.rstrip().endswith("]") else None
    return Named(text, target.location, target, chosen)


def _relative(path: Path, root: Path) -> str:
    relative = os.path.relpath(path.absolute(), root).replace(os.sep, "/")
    if relative.startswith("../"):
        raise NothingNamed(f"{path} is outside of the project at {root}")
    return relative


def _same_call(named: str | None, declared: str | None) -> bool:
    """No arguments named: all of them are; `()` names the call with the defaults."""
    if named is None:
        return True
    trees = (read_expression(f"f({arguments or ''})") for arguments in (named, declared))
    one, other = (ast.dump(tree) for tree in trees)
    return one == other


def check_named(
    named: Sequence[Named], requests: Collection[ModelRequest], files: Collection[str]
) -> None:
    """Raises NothingNamed for the first argument that names none of the declared budgets."""
    budgets = [b for request in requests for b in request.budgets if b.origin != "prose"]
    for item in named:
        if not any(item.covers(b.target, b.selector, b.position.path) for b in budgets):
            known = [
                f"{b.target}[{b.selector}]" if str(b.selector) else str(b.target) for b in budgets
            ]
            raise NothingNamed(_unknown(item, known, files))


def _unknown(item: Named, known: Sequence[str], files: Collection[str]) -> str:
    if item.target is not None and item.target.is_path and item.path not in files:
        near = difflib.get_close_matches(item.path, files, 1)
        return f"there is no file {item.path}" + (f"; did you mean {near[0]}?" if near else "")
    near = difflib.get_close_matches(item.text, known, 1, 0.5) if item.target else []
    if near:
        return f"no budget is declared for {item.text}; did you mean {near[0]}?"
    if item.target is not None and not item.target.is_path:
        return f"no budget is declared for {item.text}; next: write one into the config"
    return f"no budget is declared for {item.text}; next: nparam-lint init {item.path}"
