"""Everything that one run found out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from nparam_lint.count.measured import Environment, InsideRow, Measured, Measurement, NotMeasured
from nparam_lint.discover.definitions import Containment
from nparam_lint.ground.findings import BudgetResult, Finding
from nparam_lint.ground.grouping import grouped
from nparam_lint.ground.notation import without_arguments
from nparam_lint.ground.printable import clean
from nparam_lint.ground.values import Position, Way

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from nparam_lint.discover.claims.stated import StatedCount

_WRONG = 200  # characters: of a representation that is longer, pytest shows both ends alone


class ModelReport(Struct, frozen=True):
    """One target: what was asked, what was measured, what was declared. `position` is where the
    model is defined (or declared, for an installed package). `top_level`: no other model of the
    run contains it, so that its table is printed. `because`: why it is checked although no path
    that was given holds it. `way`: how the repository builds it, where that was found; None where
    it was built with its defaults, or as it is declared. `host`: the model that was built, where
    the target is a class inside it, of which `measurement` has the first instance. `inside`: the
    models that contain it, where that was asked for. `is_declarable`: a budget of it can say how it
    is built."""

    target: str
    position: Position
    measurement: Measurement
    budgets: tuple[BudgetResult, ...] = ()
    findings: tuple[Finding, ...] = ()
    declared: bool = False
    top_level: bool = True
    because: str = ""
    way: Way | None = None
    host: Measured | None = None
    inside: tuple[Inside, ...] = ()
    is_declarable: bool = True

    @property
    def bare(self) -> str:
        """The target without its arguments."""
        return without_arguments(self.target)

    @property
    def is_function(self) -> bool:
        """Whether it is a function that makes a model of another name."""
        kind = getattr(self.measurement, "type", "")
        return self.bare.rpartition("::")[2].rpartition(".")[2] != kind.rpartition(".")[2]


class FailedWay(Struct, frozen=True):
    """A way to build a target that did not build it, and why."""

    target: str
    way: Way
    failure: NotMeasured


class BuildFailure(NamedTuple):
    """Why a model without a budget could not be built; `place`: its number among the candidates.
    `is_configured`: the config says how it is called."""

    place: int
    target: str
    why: NotMeasured
    is_configured: bool = False


class Inside(Struct, frozen=True):
    """A class inside a model: a way in which the repository builds it, though nobody can call it
    alone."""

    model: ModelReport
    row: InsideRow

    @property
    def host(self) -> Measured:
        assert isinstance(self.model.measurement, Measured)
        return self.model.measurement

    @property
    def times(self) -> int:
        return len(self.row.paths)

    @property
    def counts(self) -> dict[str, int | None]:
        """Those of one instance."""
        return next((r.by_name() for r in self.host.modules if r.path == self.row.paths[0]), {})

    @property
    def share(self) -> float:
        """That of one instance in the model's parameters."""
        whole = self.host.counts.total
        return self.row.total / whole if whole else 0.0

    @property
    def way(self) -> Way:
        at = Position.read(self.row.made or self.row.source) or self.model.position
        return Way("inside", at, self.model.target)


class Elsewhere(Struct, frozen=True):
    """The models that are declared outside the given paths: how many there are, how many of them
    depend on the paths, and how many may."""

    declared: int
    dependent: int
    possible: int


class Partition(Struct, frozen=True):
    """What all shards of one run have in common. `tool`: its version; `commit`: "" outside of git;
    `sources`, `settings`: digests of what was read; `models`: one of the list of all `count`
    models, and of which shard has which."""

    tool: str
    commit: str
    sources: str
    settings: str
    models: str
    count: int


class Shard(Struct, frozen=True):
    """One part, `number` of `of`, of a run that is divided. `judged`: the targets that it was to
    judge; `places`: where they stand among all of the run. `models`, `failed_ways`: the places of
    these in the report. `uncalled`: models that the source alone rules out; only the first shard
    tells. `unused`: comments that silence nothing here; so they may elsewhere."""

    number: int
    of: int
    partition: Partition
    judged: tuple[str, ...]
    places: tuple[int, ...]
    models: tuple[int, ...] = ()
    failed_ways: tuple[int, ...] = ()
    failures: tuple[BuildFailure, ...] = ()
    uncalled: tuple[tuple[str, NotMeasured], ...] = ()
    unused: tuple[Finding, ...] = ()

    def __str__(self) -> str:
        return f"shard {self.number} of {self.of}"


Verdict = Literal["right", "wrong", "unknown"]
Strength = Literal["certain", "likely", ""]


class StatedOutcome(Struct, frozen=True):
    """What has come of a stated count: the model that it is about, called `name` there, how sure
    that is and `because` of what; `actual`: what that has of the measure. `explanation`: which
    other count of it the number is. `uncounted`: the target of the model that it names, where that
    was not counted."""

    position: Position
    count: StatedCount
    verdict: Verdict = "unknown"
    strength: Strength = ""
    model: ModelReport | None = None
    name: str = ""
    actual: int | None = None
    because: str = ""
    explanation: str = ""
    uncounted: str = ""


class Report(Struct, frozen=True):
    """Everything that one run found out; what a formatter is given. `findings` holds all findings,
    those of the models too, sorted by place. `skipped`: undeclared models that were not counted,
    with the reason (they need arguments, for instance). `error`: why nothing could be measured at
    all (the interpreter has no torch, say). `staged`: what was judged is what git would commit;
    `source_only`: nothing was to be built; `elsewhere`: what lies outside of the paths that were
    given, None where these are the whole project. `ways_left`: how many ways to build a target were
    found and not tried; `stopped_after`: the seconds after which it was left what has no budget, 0
    where all was done; `gaps`: what it needs and only what was not run would give, or what of a
    command is not followed. `recipes`: target of a model that needs arguments → the lines of config
    that would say how to build it: a sentence, the table's header, and the entry. `test_files`: how
    many that define models were left out. `declared_only`: nothing was asked about what has no
    budget. `shard`: which part of a run it is about, None where that is the whole. `stated`: what
    came of the counts that the project's texts state; `named`: the targets of models whose names
    its README has."""

    environment: Environment | None
    models: tuple[ModelReport, ...]
    findings: tuple[Finding, ...]
    skipped: tuple[tuple[str, NotMeasured], ...] = ()
    files: int = 0
    seconds: float = 0.0
    error: str | None = None
    staged: bool = False
    source_only: bool = False
    elsewhere: Elsewhere | None = None
    failed_ways: tuple[FailedWay, ...] = ()
    ways_left: tuple[tuple[str, int], ...] = ()
    stopped_after: float = 0.0
    gaps: dict[str, str] = field(default_factory=dict)
    containment: Containment = field(default_factory=Containment)
    recipes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    test_files: int = 0
    declared_only: bool = False
    shard: Shard | None = None
    stated: tuple[StatedOutcome, ...] = ()
    named: frozenset[str] = frozenset()

    @property
    def ok(self) -> bool:
        """Whether every budget was measured and holds; there may be warnings."""
        return self.error is None and all(f.severity != "error" for f in self.findings)

    def __str__(self) -> str:
        """What is wrong, a line for each error, or that nothing is."""
        return "\n".join(self._wrong) or "no errors"

    def __repr__(self) -> str:
        """The same, shorter: it is what pytest shows where `assert check(".").ok` fails."""
        shown: list[str] = []
        for line in self._wrong:
            if shown and sum(map(len, shown)) + len(line) > _WRONG:
                shown.append(f"and {len(self._wrong) - len(shown):,} more")
                break
            shown.append(line[:_WRONG])
        return f"<Report: {'; '.join(shown) or 'no errors'}>"

    @property
    def _wrong(self) -> list[str]:
        if self.error is not None:
            return [clean(line) for line in self.error.splitlines()]
        errors = (finding for finding in self.findings if finding.severity == "error")
        return [clean(f"{error.position} {error.code} {error.message}") for error in errors]

    @property
    def inside(self) -> Iterator[Inside]:
        """The project's classes inside the models that were measured: those in top-level models,
        and what no top-level model contains."""
        if self.declared_only:
            return
        instances = [
            Inside(model, row)
            for model in self.models
            if model.host is None and isinstance(model.measurement, Measured)
            for row in model.measurement.inside
        ]
        top_level = [instance for instance in instances if instance.model.top_level]
        yield from top_level
        contained = {instance.row.target for instance in top_level}
        for instance in instances:
            if not instance.model.top_level and instance.row.target not in contained:
                yield instance

    @property
    def inside_by_target(self) -> dict[str, list[Inside]]:
        """The same by class, each as often as it is built in another way."""
        return grouped(self.inside, lambda instance: instance.row.target)


def with_findings(report: Report, changed: Callable[[Finding], Finding]) -> Report:
    """The report with something else in the place of findings, also of those of its models."""
    models = tuple(replace(m, findings=tuple(map(changed, m.findings))) for m in report.models)
    return replace(report, models=models, findings=tuple(map(changed, report.findings)))
