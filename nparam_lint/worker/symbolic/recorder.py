"""What is written down while a constructor runs with traced numbers.

Expressions are rows of one table, each once: `("s", name)` is a variable, `("n", text)` a number,
`(operation, row, …)` anything else. So what is shared stays small, and all of it travels as one
list. The table serves all builds of a job: a number that a cache of the project kept from an
earlier build still means the same.
"""

import contextlib
import math
import os
import sys
import time

from ..tracing.project_paths import line_text
from .traced_numbers import plain

OWN = os.path.dirname(__file__)
INITIAL = ("reset_parameters", "_reset_parameters")
MOST_ROWS = 50_000  # of one build; a loop that does not end makes more


class Exhausted(BaseException):
    """A build made too many rows, or took too long. No Exception, so that no constructor that goes
    on after errors goes on after this."""


class Recorder:
    """`decisions`: (row of a comparison, whether it held, line) of one build, in their order;
    `lost`: (kind, row) of values whose origin could not be followed further; `loops`: how often a
    loop was run -> the row of that number, the last one."""

    def __init__(self):
        self.rows, self.numbers = [], {}
        self.constant = []  # of each row, whether no variable is in it
        self.begin(math.inf)

    def begin(self, seconds, point=()):
        """Before a build, which may take so long. `point`: the traced arguments of its call, with
        their values."""
        self.point = point
        self.until, self.most = time.monotonic() + seconds, len(self.rows) + MOST_ROWS
        self.decisions, self.outcomes, self.lost = [], set(), {}
        self.loops = {}
        self.keys = set()  # (row, line) of values that were looked up
        self.paused = 0  # while torch itself computes

    def row(self, *row):
        """The number of a row. Raises Exhausted."""
        if len(self.rows) >= self.most or time.monotonic() > self.until:
            raise Exhausted
        number = self.numbers.get(row)
        if number is None:
            number = self.numbers[row] = len(self.rows)
            self.rows.append(row)
            parts = row[1:] if row[0] not in "sn" else ()
            self.constant.append(row[0] == "n" or (row[0] != "s" and self.are_constant(parts)))
        return number

    def are_constant(self, rows):
        return all(self.constant[row] for row in rows)

    def number(self, value):
        return self.row("n", repr(plain(value)))

    def decide(self, operation, first, second, outcome):
        """A branch may have been taken on this."""
        if self.paused or self.are_constant((first, second)):
            return
        row = self.row(operation, first, second)
        if (row, outcome) in self.outcomes:
            return
        line = line_of_caller()
        if line is None:
            return
        if operation == "==" and {(first, line), (second, line)} & self.keys:
            return  # a dictionary compares only what is in the same place: this is no branch
        self.outcomes.add((row, outcome))
        self.decisions.append((row, outcome, line))

    def key(self, row):
        """A value is looked up in a dictionary or a set."""
        self.lose("key", row)
        self.keys.add((row, line_of_caller()))

    def lose(self, kind, row):
        is_wanted = not self.paused or kind == "shape"
        if is_wanted and not self.constant[row]:
            self.lost.setdefault((kind, row))


@contextlib.contextmanager
def resumed(trace, is_wanted):
    """Note decisions again, if that is wanted, where they were not."""
    before = trace.paused if trace else 0
    if trace and is_wanted:
        trace.paused = 0
    try:
        yield
    finally:
        if trace:
            trace.paused = before


def line_of_caller():
    """The line of what asked a traced number; None in torch, where it gives weights their first
    values."""
    frame = sys._getframe(2)
    while frame.f_code.co_filename.startswith(OWN):
        frame = frame.f_back
    code, module = frame.f_code, frame.f_globals.get("__name__") or ""
    if module == "torch.nn.init" or (code.co_name in INITIAL and module.startswith("torch.nn.")):
        return None
    return line_text(code.co_filename, frame.f_lineno)
