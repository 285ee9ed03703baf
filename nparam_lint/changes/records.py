"""The values that a comparison of two reports is made of."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from nparam_lint.count.measured import Measured, Measurement, ModuleRow, NotMeasured
from nparam_lint.gate.report import Report
from nparam_lint.ground.findings import Finding
from nparam_lint.ground.notation import without_arguments
from nparam_lint.ground.values import Position, Way

Kind = Literal["added", "removed", "changed", "renamed"]
Status = Literal["same", "changed", "renamed", "added", "removed", "not_measured"]


class ModuleChange(Struct, frozen=True):
    """What became of one module. `added`, `removed`, `renamed`: of it and all that is below it;
    `changed`: of what it holds itself. `before` and `after`: its row on each side, where it is
    there. `count_before`, `count_after`: the parameters that the change is about; `delta`: what it
    adds to the model's total. `notes`: what else changed, in words (`frozen now`)."""

    kind: Kind
    before: ModuleRow | None
    after: ModuleRow | None
    count_before: int
    count_after: int
    notes: tuple[str, ...] = ()

    @property
    def delta(self) -> int:
        return self.count_after - self.count_before

    @property
    def row(self) -> ModuleRow:
        """Its row now; its row at the base if it was removed."""
        row = self.after or self.before
        assert row is not None
        return row

    @property
    def path(self) -> str:
        return self.row.path


class ModelDiff(Struct, frozen=True):
    """One model on both sides. `target` and `position` are the current ones; those of the base if
    it was removed.

    `before_target`: what it was called, where that is another name, with the `evidence` that it is
    the same model. `before` and `after`: None where the model does not exist on that side; what
    could not be measured there is not the same. `explained`: whether a budget says that the
    difference is meant; None where there is nothing to explain; `explanation` says it in words.
    `declared`: it has a budget now; `top_level`: no other model contains it. `way`: see
    `ModelReport`."""

    target: str
    position: Position
    status: Status
    before: Measurement | None
    after: Measurement | None
    before_target: str | None = None
    evidence: str | None = None
    modules: tuple[ModuleChange, ...] = ()
    explained: bool | None = None
    explanation: str | None = None
    declared: bool = False
    top_level: bool = True
    notes: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    way: Way | None = None

    @property
    def name(self) -> str:
        """Without its file; with where the project builds it so."""
        way = f" as in {self.way.place}" if self.way else ""
        return self.target.partition("::")[2] + way

    @property
    def bare(self) -> str:
        """The target without its arguments."""
        return without_arguments(self.target)

    @property
    def total_before(self) -> int | None:
        """None if it was not there, or not measured."""
        return self.before.counts.total if isinstance(self.before, Measured) else None

    @property
    def total_after(self) -> int | None:
        return self.after.counts.total if isinstance(self.after, Measured) else None

    @property
    def delta(self) -> int | None:
        if self.total_before is None or self.total_after is None:
            return None
        return self.total_after - self.total_before

    @property
    def reasons(self) -> tuple[str | None, str | None]:
        before, after = (
            side.reason if isinstance(side, NotMeasured) else None
            for side in (self.before, self.after)
        )
        return before, after


class Base(Struct, frozen=True):
    """What is compared with: `revision` as it was written, the `commit` that it names, and what it
    is `called` in a sentence (`main`, `the merge base with main`)."""

    revision: str
    commit: str
    called: str


class DiffReport(Struct, frozen=True):
    """Everything that one comparison found; the input of a formatter. `now`: what the base is
    compared with. `check`: what a check would have said, the findings, and who counted; skipped are
    undeclared models that could be counted on neither side, with today's reason. `tolerance`: as it
    was given; None where drift is no failure. `notes`: about the comparison as a whole."""

    base: Base
    now: Literal["working tree", "index"]
    check: Report
    models: tuple[ModelDiff, ...] = ()
    tolerance: str | None = None
    notes: tuple[str, ...] = ()
