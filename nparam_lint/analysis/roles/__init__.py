"""What the parameters of a model are for: a role for each, from the modules that hold them.

The class of the module that holds a parameter decides where it is one of torch's layers with a
purpose (nn.Embedding, nn.LSTM, nn.LayerNorm, …). A Linear layer has the role of the nearest module
around it that has one, by its class (`CausalSelfAttention`), by its name (`mlp`), or by what stands
beside it (`fc1` and `fc2` beside `self_attn`). What none of these decides is `other`: a wrong role
would be believed.

Every distinct parameter has exactly one role, so that the roles sum to the total.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

from nparam_lint.analysis.roles.role_tree import Role, RoleTree

if TYPE_CHECKING:
    from nparam_lint.records import Measured

ROLES: tuple[Role, ...] = get_args(Role)  # in the order of reports


@dataclass(frozen=True, slots=True)
class RolePart:
    """The parameters of one role that one module holds itself. `because`: what decided, in a few
    words (`in h.0.attn, CausalSelfAttention`); empty for `other`."""

    path: str
    type: str
    role: Role
    count: int
    because: str


@dataclass(frozen=True, slots=True)
class Roles:
    """The parts in the order of the modules. `tied`: parameters with several names that are counted
    once, as `lm_head.weight = transformer.wte.weight`; `output_tied`: the output layer's weight is
    among them, so that it is counted as embedding."""

    parts: tuple[RolePart, ...]
    tied: tuple[str, ...] = ()
    output_tied: bool = False

    @property
    def counts(self) -> dict[Role, int]:
        """Parameters by role; all roles are there, and their sum is the model's total."""
        sums = dict.fromkeys(ROLES, 0)
        for part in self.parts:
            sums[part.role] += part.count
        return sums


def find_roles(measured: Measured) -> Roles:
    """The roles of a model that was measured with its parameters."""
    tree = RoleTree(measured.modules, measured.parameters)
    counts: Counter[tuple[str, Role]] = Counter()
    reasons: dict[tuple[str, Role], str] = {}
    tied: list[str] = []
    output_tied = False
    for row in measured.parameters:
        role, because = tree.role_of(row)
        key = row.name.rpartition(".")[0], role
        counts[key] += math.prod(row.shape)
        reasons.setdefault(key, because)
        tied += [f"{name} = {row.name}" for name in row.also]
        if row.also and role == "embedding":
            names = (row.name, *row.also)
            output_tied = output_tied or not all(tree.is_embedding(name) for name in names)
    found = tuple(
        RolePart(path, tree.modules[path].type, role, counts[path, role], because)
        for (path, role), because in reasons.items()
    )
    return Roles(found, tuple(tied), output_tied)
