"""What a plain container holds, also where it is filled by and by through local variables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from nparam_lint.rules.uses import handed_over, is_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nparam_lint.rules.classes import Method
    from nparam_lint.rules.values import Box, Made, Values


class Contents:
    def __init__(self, values: Values) -> None:
        self.values = values

    def fresh(
        self, value: cst.BaseExpression, method: Method, inside: frozenset[str] = frozenset()
    ) -> Made | None:
        """What is made for this container alone, and surely has parameters. `inside`: the local
        variables whose values are looked at already."""
        made = self.values.made(value, method)
        if made is not None:
            return made if made.weighty and not made.frozen else None
        name = value.value if isinstance(value, cst.Name) else ""
        if name in inside:  # `layers = layers + [layer]`
            return None
        inside |= {name} if name else set()
        box = self.box(value, method)
        if box is not None:
            items = [self.fresh(item, method, inside) for item in box[1]]
            found = next(filter(None, items), None)
        else:
            bound = method.bindings.get(name, [])
            known = [m for v in bound if v is not None and (m := self.fresh(v, method, inside))]
            found = known[0] if known and len(known) == len(bound) else None
        return None if found and name and _given_elsewhere(name, method) else found

    def box(
        self, value: cst.BaseExpression, method: Method
    ) -> tuple[Box, Sequence[cst.BaseExpression]] | None:
        """A plain container: one that is written out, or a local variable that is always one."""
        if not isinstance(value, cst.Name):
            return self.values.box(value)
        if value.value in method.parameters:
            return None
        bound = method.bindings.get(value.value, [])
        boxes = [box for v in bound if v is not None and (box := self.values.box(v)) is not None]
        if not boxes or len(boxes) < len(bound):
            return None
        put = method.puts.get(value.value, [])
        return boxes[0][0], [*(item for box in boxes for item in box[1]), *put]


def _given_elsewhere(name: str, method: Method) -> bool:
    """Is the variable handed to anything but the one place that is looked at?"""
    return handed_over(method.node.body, is_name(name)) > 1
