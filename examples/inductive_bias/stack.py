"""The superposition stack (Joulin and Mikolov, 2015): a stack with soft operations.

Every step pushes, pops and waits at once, weighted by three probabilities, and the new stack is the
weighted sum of the three outcomes. Nothing in it is learned, so it costs no parameters: those are
in whatever decides the actions and the pushed vector.

A stack is a tensor of shape (batch, depth, size), top first; what lies below its last row is zero.
"""

import torch
from torch import Tensor


def empty_stack(like: Tensor, size: int) -> Tensor:
    """A stack with nothing on it, for the batch, dtype and device of ``like``."""
    return like.new_zeros(like.shape[0], 1, size)


def read(stack: Tensor) -> Tensor:
    """The top vector, (batch, size)."""
    return stack[:, 0]


def update(stack: Tensor, actions: Tensor, pushed: Tensor) -> Tensor:
    """The stack after ``actions`` (batch, 3: push, pop, wait), one row deeper."""
    floor = stack.new_zeros(stack.shape[0], 2, stack.shape[2])
    outcomes = (
        torch.cat([pushed[:, None], stack], dim=1),
        torch.cat([stack, floor], dim=1)[:, 1:],
        torch.cat([stack, floor], dim=1)[:, :-1],
    )
    weights = actions[:, :, None, None].unbind(dim=1)
    return sum(weight * outcome for weight, outcome in zip(weights, outcomes, strict=True))
