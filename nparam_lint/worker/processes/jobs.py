"""An order, and how far its answer has come."""

import copy
import dataclasses

from ...ground.orders import Order


class Job:
    """`order`: as JSON has it. `attempt`: the number of the way to import that is tried;
    `tolerant`: imports that fail are tolerated; `gpu`: what is asked of CUDA is answered as one
    plain GPU would. `failures`: what was wrong on the rungs before, where any was tried;
    `is_needed`: git lacks a file that it needs."""

    def __init__(self, order, attempt=0, tolerant=False, gpu=False, failures=(), is_needed=False):
        self.order = order
        self.attempt, self.tolerant, self.gpu = attempt, tolerant, gpu
        self.failures, self.is_needed = failures, is_needed
        read = Order.read(order)
        self.id, self.label, self.file = read.id, read.label, read.file
        self.attempts, self.build, self.ask = read.attempts, read.build, read.ask

    @property
    def module(self):
        return self.attempts[self.attempt].module

    @property
    def roots(self):
        return tuple(self.attempts[self.attempt].roots)

    def with_build(self, **changes):
        """The same, with another call."""
        other = copy.copy(self)
        other.build = dataclasses.replace(self.build, **changes)
        return other

    def as_json(self):
        """What it is made of again."""
        names = "order", "attempt", "tolerant", "gpu", "failures", "is_needed"
        return {name: getattr(self, name) for name in names}
