"""What a plain container holds, also where it is filled by and by through local variables."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nparam_lint.rules.class_methods import Method
    from nparam_lint.rules.values import Box, Made, Values


class Contents:
    def __init__(self, values: Values) -> None:
        self.values = values
        self._held: dict[tuple[Method, str, frozenset[str]], Made | None] = {}

    def fresh(
        self, value: ast.expr, method: Method, inside: frozenset[str] = frozenset()
    ) -> Made | None:
        """What is made for this container alone, and surely has parameters. `inside`: the local
        variables whose values are looked at already."""
        if not isinstance(value, ast.Name):
            made = self.values.made(value, method)
            if made is not None:
                return made if made.weighty and not made.frozen else None
            box = self.values.box(value)
            return self._first(box[1], method, inside) if box is not None else None
        if value.id in inside:  # `layers = layers + [layer]`
            return None
        key = (method, value.id, inside)
        if key not in self._held:
            self._held[key] = self._of_variable(value, method, inside | {value.id})
        return self._held[key]

    def _of_variable(self, name: ast.Name, method: Method, inside: frozenset[str]) -> Made | None:
        if method.flow.handed_over(name.id) > 1:  # to more than the one place that is looked at
            return None
        box = self.box(name, method)
        if box is not None:
            return self._first(box[1], method, inside)
        bound = method.bindings.get(name.id, [])
        known = [m for v in bound if v is not None and (m := self.fresh(v, method, inside))]
        return known[0] if known and len(known) == len(bound) else None

    def _first(
        self, items: Sequence[ast.expr], method: Method, inside: frozenset[str]
    ) -> Made | None:
        return next((made for item in items if (made := self.fresh(item, method, inside))), None)

    def box(self, value: ast.expr, method: Method) -> tuple[Box, Sequence[ast.expr]] | None:
        """A plain container: one that is written out, or a local variable that is always one."""
        if not isinstance(value, ast.Name):
            return self.values.box(value)
        if value.id in method.parameters:
            return None
        bound = method.bindings.get(value.id, [])
        boxes = [box for v in bound if v is not None and (box := self.values.box(v)) is not None]
        if not boxes or len(boxes) < len(bound):
            return None
        put = method.puts.get(value.id, [])
        return boxes[0][0], [*(item for box in boxes for item in box[1]), *put]
