"""The role of each module of a picture: of one that holds parameters of several, that of most."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from nparam_lint.analysis.roles import RoleTree
from nparam_lint.count.measured import ParameterRow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nparam_lint.count.measured import ModuleRow


def module_roles(
    modules: Sequence[ModuleRow], parameters: Sequence[ParameterRow]
) -> dict[str, str]:
    """By path, of modules that hold parameters. Without the parameters, and so without their
    shapes, what the classes and names of the modules say."""
    tree = RoleTree(modules, parameters)
    counts: dict[str, Counter[str]] = {}
    for row in parameters or [
        ParameterRow(f"{module.path}.weight".removeprefix("."), (module.own,), "", True)
        for module in modules
        if module.own
    ]:
        role, _ = tree.role_of(row)
        roles = counts.setdefault(row.name.rpartition(".")[0], Counter())
        roles[role] += math.prod(row.shape)
    return {path: roles.most_common(1)[0][0] for path, roles in counts.items()}
