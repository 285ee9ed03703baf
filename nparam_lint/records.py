"""The values that pass between the stages: `discover → declare → count → judge → report`.

Plain frozen dataclasses without behaviour beyond their own text form. Paths are relative to the
project root and written with `/`; lines and columns count from 1; every count is an exact integer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from msgspec import UNSET, UnsetType

from nparam_lint.count.worker.capabilities import WITH_FIELDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nparam_lint.claims import Selector, Target
    from nparam_lint.claims.grammar import Tolerance, Value

Severity = Literal["error", "warning"]
# comment: of a config file of models; docs: a number in Markdown or reStructuredText
Origin = Literal["docstring", "comment", "config", "docs", "prose"]
NameValue = int | float | str | bool | None
# Why a model was not counted. `package_missing`: a package is not installed; `not_tracked`: git
# does not have a file that is imported; `target_missing`: the module has no such class or function;
# `argument_unknown`: it takes no argument of that name;
# `random`: each build has another count; `no_worker`: the interpreter cannot start or has no torch;
# `unreadable`: the source, or the worker's answer, cannot be read.
Cause = Literal[
    "arguments_missing",
    "target_missing",
    "argument_unknown",
    "import_failed",
    "package_missing",
    "not_tracked",
    "raised",
    "refused",
    "random",
    "device",
    "not_a_model",
    "lazy",
    "timed_out",
    "out_of_memory",
    "died",
    "no_worker",
    "unreadable",
]


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a source or config file; `line` and `column` count from 1."""

    path: str
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"

    @classmethod
    def read(cls, text: str | None) -> Position | None:
        """The place that was written as `path:line`; None where there is none."""
        path, _, line = (text or "").rpartition(":")
        return cls(path, int(line)) if path and line.isdigit() else None


# --- discover -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DocLine:
    """One line of a docstring: its text, and where the text's first character stands."""

    text: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a constructor or factory, as written (`self` and `cls` left out)."""

    name: str
    required: bool
    annotation: str | None = None
    default: str | None = None
    kind: Literal["positional", "keyword", "varargs", "varkwargs"] = "positional"


@dataclass(frozen=True, slots=True)
class Definition:
    """A model class or a factory function that returns a model.

    `parameters` is None where the constructor is inherited from outside the repository.
    `docstrings` holds the docstring of the class, then of its `__init__`; or of the factory.
    """

    path: str
    qualname: str
    kind: Literal["class", "factory"]
    line: int
    column: int
    docstrings: tuple[tuple[DocLine, ...], ...] = ()
    parameters: tuple[Parameter, ...] | None = ()

    @property
    def target(self) -> str:
        return f"{self.path}::{self.qualname}"


@dataclass(frozen=True, slots=True)
class ImportAttempt:
    """One way to import a file: put `roots` (relative directories, "" is the project root) on the
    import path, in this order, and import the file as `module`. The first root contains it."""

    module: str
    roots: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """A file that could not be read or parsed, with the reason. A warning where it was left out
    although Python could read it, and no budget can be in it. `timed_out`: it took longer than
    `--timeout`, which it need not the next time."""

    position: Position
    message: str
    severity: Severity = "error"
    timed_out: bool = False


WayKind = Literal["call", "size", "config", "inside"]


@dataclass(frozen=True, slots=True)
class Way:
    """How the repository itself builds a model. `kind`: a `call` in a script, a test or a text; a
    named `size`; a `config` file; `inside` another model. `position`: the place that says so.
    `name`: of the size, of the config file, or the target that is the other model. `note`: what may
    be otherwise when the repository runs."""

    kind: WayKind
    position: Position
    name: str = ""
    note: str = ""

    @property
    def place(self) -> str:
        """Where it stands, and what a size is called: `tiny (whisper/__init__.py:18)`."""
        is_size = self.name and self.kind == "size"
        return f"{self.name} ({self.position})" if is_size else str(self.position)


# --- declare --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to build a target: `arguments` of its call; or `setup` lines and a whole `call`. `input`
    is run through the model to give lazy parameters their shapes. `experts_per_token`: how many
    experts of a mixture a token uses. `file`: the Python file whose names the call is written in,
    where it is not that of the target."""

    arguments: str | None = None
    setup: str | None = None
    call: str | None = None
    input: str | None = None
    experts_per_token: int | None = None
    file: str | None = None

    @property
    def says_how_to_call(self) -> bool:
        return self.arguments is not None or self.call is not None


@dataclass(frozen=True, slots=True)
class Budget:
    """A declared count of a target, from wherever it was declared; `declared` is its text there.
    `device`, `recipe`: how to build the target for it, where the config says so; `definition`: the
    class or function whose docstring it stands in."""

    target: Target
    selector: Selector
    value: Value
    declared: str
    position: Position
    origin: Origin
    tolerance: Tolerance | None = None
    reason: str | None = None
    device: str | None = None
    recipe: Recipe | None = None
    definition: Position | None = None


# --- count ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ModuleRow:
    """One submodule, or the model: its path is then the empty string. `own`: elements of the
    parameters that it holds itself and that no module before it holds. `total`, `trainable`, …:
    distinct parameters at or below it, one count for each metric
    (`count/worker/capabilities.py`): `buffers` counts elements; `bytes` is parameters and buffers;
    `active` what one token uses in a mixture of experts, None where the model does not say;
    `gradient_bytes` those of the parameters that are trained; `frozen`: the other parameters, in a
    field so that the row is written as it is; `more`: metrics that have no field here (UNSET: there
    are none, nor is there a key in JSON). `embedding`: parameters of `nn.Embedding` modules.
    `source`: where it was created (`path:line`). `shared_with`: the path under which this very
    module appeared before. `tied`: own parameters that appeared before, as
    `name = other.path.name`."""

    path: str
    type: str
    own: int
    total: int
    trainable: int
    buffers: int
    bytes: int
    embedding: int = 0
    active: int | None = None
    gradient_bytes: int = 0
    source: str | None = None
    shared_with: str | None = None
    tied: tuple[str, ...] = ()
    frozen: int = 0
    more: tuple[tuple[str, int | None], ...] | UnsetType = UNSET

    @property
    def non_embedding(self) -> int:
        return self.total - self.embedding

    @property
    def training_bytes(self) -> int:
        """With Adam: gradients, and two states of their size."""
        return self.bytes + 3 * self.gradient_bytes

    @property
    def momentum_training_bytes(self) -> int:
        return self.bytes + 2 * self.gradient_bytes

    @property
    def sgd_training_bytes(self) -> int:
        return self.bytes + self.gradient_bytes

    def of(self, metric: str) -> int | None:
        """The count that a metric names."""
        more = dict(self.more or ())
        return more[metric] if metric in more else getattr(self, metric)

    def by_name(self) -> dict[str, int | None]:
        """All counts that metrics name."""
        return {name: getattr(self, name) for name in WITH_FIELDS} | dict(self.more or ())


@dataclass(frozen=True, slots=True)
class DtypeRow:
    """The bytes that a model has of one dtype: of `parameters`, of those that are `trainable` (in
    so many `tensors`), of `buffers`, and what of all this a checkpoint has (`saved`)."""

    dtype: str
    parameters: int
    trainable: int
    tensors: int
    buffers: int
    saved: int


@dataclass(frozen=True, slots=True)
class ParameterRow:
    """One distinct parameter under its first name; `also`: its other names (tied weights)."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    trainable: bool
    source: str | None = None
    also: tuple[str, ...] = ()
    note: str | None = None


@dataclass(frozen=True, slots=True)
class LineRow:
    """A line of source that made parameters of a model. `count`: those that were made while it ran,
    and no other line of its file deeper inside; so the lines of one file never count a parameter
    twice. `own`: those among them that it made itself, or an installed package that it called: all
    lines together make each parameter once. `through`: those that it led to, and that another line
    of its file counts. `times`: how many modules, or parameters, it made. `file`: where the file
    is, if that is not in the project."""

    path: str
    line: int
    count: int
    own: int
    through: int
    times: int
    file: str = ""

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}"


@dataclass(frozen=True, slots=True)
class Hidden:
    """Parameters that `parameters()` does not return: where they are kept, and how many."""

    path: str
    count: int
    what: str
    source: str | None = None


@dataclass(frozen=True, slots=True)
class VariableRow:
    """An argument of a call that can be varied, with its `value` in the call. `holder`: the
    expression that is called for the config object that it is a field of; `choices`: the values
    that its annotation allows, where it is a `Literal`."""

    name: str
    value: NameValue
    holder: str = ""
    choices: tuple[NameValue, ...] = ()


TracedTensor = tuple[
    str, str, tuple[int, ...], tuple[int, ...], tuple[tuple[int, int], ...], str
]  # see TracedBuild


@dataclass(frozen=True, slots=True)
class TracedBuild:
    """A build with numbers that carry their expression. Expressions are numbers of rows in
    `Traces.expressions`. `parameters`: (name, what the metric counts of one element, its lengths,
    the expression of each; none where they were lost; for each mixture of experts that it is in,
    how many of them are used, of how many; its origin, where that was asked for). `decisions`:
    (comparison, whether it held, `path:line`) in their order. `lost`: (what became of a value, its
    expression). `error`: why the constructor refused the point."""

    parameters: tuple[TracedTensor, ...]
    decisions: tuple[tuple[int, bool, str], ...]
    lost: tuple[tuple[str, int], ...]
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Traces:
    """`expressions`: rows, each (`s`, name), (`n`, number), or (operation, number of a row, …).
    `runs`: for the points that were asked for, up to the last that there was time for; None for a
    build that did not come to an end."""

    expressions: tuple[tuple[str | int, ...], ...]
    runs: tuple[TracedBuild | None, ...]


@dataclass(frozen=True, slots=True)
class InsideRow:
    """A class of the project inside a model, made by one `call`, as often as there are `paths`
    (those of its modules), with `total` parameters each. `source`: where the class is defined;
    `made`: the line that made the first of them (both `path:line`). `names`, `known_names`: as in
    `Measured`."""

    target: str
    call: str
    paths: tuple[str, ...]
    total: int
    source: str | None = None
    made: str | None = None
    names: dict[str, NameValue] = field(default_factory=dict)
    known_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DeviceResult:
    """The result on one device. `bytes`: the memory that its allocator took. `differences`: one
    text for each parameter whose name, shape or dtype differs from the first device's. `is_absent`:
    the machine has no such device, or torch is built without it."""

    status: Literal["measured", "failed", "skipped"]
    total: int | None = None
    reason: str | None = None
    bytes: int | None = None
    differences: tuple[str, ...] = ()
    is_absent: bool = False


@dataclass(frozen=True, slots=True)
class Measured:
    """A model that was built and counted. `call`: the expression that built it. `rung`: how
    (`meta`, `meta with values`, `cpu without initialisation`, `cpu`). `names`: the values of the
    names that formulas asked for; `known_names`: every name a formula could have asked for.
    `definitions`: where what was called is defined, as `path:line`, or its dotted name. `type`:
    the full name of the model's class; `types`: those of all modules inside it; `no_routing`:
    why its active parameters are unknown; `misdeclared`: what is wrong with what was declared
    about its experts; `dtypes`: its bytes by dtype, where it was built by itself; `variables`:
    the arguments that can be varied, where they were asked for; `inside`: the project's own
    modules in it; `weights`: of each of the `parameters`, what the metric that was asked for
    counts of one element; nothing where that is 1. `lines`: those that made its parameters, by
    file. `seconds`: how long it took to build and count it, without imports."""

    call: str
    modules: tuple[ModuleRow, ...]
    rung: str = "meta"
    devices: dict[str, DeviceResult] = field(default_factory=dict)
    names: dict[str, NameValue] = field(default_factory=dict)
    known_names: tuple[str, ...] = ()
    parameters: tuple[ParameterRow, ...] = ()
    lines: tuple[LineRow, ...] = ()
    weights: tuple[str, ...] = ()
    variables: tuple[VariableRow, ...] = ()
    hidden: tuple[Hidden, ...] = ()
    notes: tuple[str, ...] = ()
    definitions: tuple[str, ...] = ()
    type: str = ""
    types: tuple[str, ...] = ()
    no_routing: str | None = None
    misdeclared: str | None = None
    inside: tuple[InsideRow, ...] = ()
    traces: Traces | None = None
    dtypes: tuple[DtypeRow, ...] = ()
    seconds: float = field(default=0.0, compare=False)
    cached: bool = False
    why_built: str = ""

    @property
    def counts(self) -> ModuleRow:
        """Those of the whole model."""
        return self.modules[0]


@dataclass(frozen=True, slots=True)
class NotMeasured:
    """Why a model was not counted; never a pass. `code` is the finding's code; `hint` the next
    step; `missing` the required arguments when that is the cause; `package` the one that is not
    installed when that is the cause; `source` a project line; `output` the last lines that a
    process printed before it died; `seconds`: see `Measured`."""

    code: str
    reason: str
    hint: str | None = None
    missing: tuple[str, ...] = ()
    cause: Cause = field(kw_only=True)
    package: str | None = None
    source: str | None = None
    output: str = ""
    devices: dict[str, DeviceResult] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    seconds: float = field(default=0.0, compare=False)
    cached: bool = False
    why_built: str = ""

    @property
    def is_misnamed(self) -> bool:
        """Whether what was asked for is not there: no such class or function, or argument of it."""
        return self.cause in ("target_missing", "argument_unknown")


Measurement = Measured | NotMeasured


# --- judge ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BudgetResult:
    """A budget against its measurement. `actual` and `drift` are None where nothing was measured;
    `low`/`high` are the inclusive bounds (None: unbounded); `value` the number that the difference
    is measured from. A glob gives one for each module."""

    declared: str
    selector: str
    low: int | None
    high: int | None
    actual: int | None
    drift: float | None
    ok: bool
    origin: Origin
    position: Position
    module: str | None = None
    reason: str | None = None
    value: int | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """What became of a module of a model, or of `times` alike: `path` is theirs (`h.0…11.mlp`),
    `what` says it (`768×3072 → 768×3840`). `delta`: what all of them add to the count. `source`:
    the line that makes them (`path:line`)."""

    mark: Literal["+", "−", "~"]
    path: str
    what: str
    delta: int
    times: int = 1
    source: str | None = None


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of source that a finding points at: `width` characters from its column on."""

    position: Position
    text: str
    width: int


@dataclass(frozen=True, slots=True)
class Finding:
    """`message` is one line; `detail` holds further lines (the heaviest modules, the remedy).
    `result`: the budget that was judged, in the first module that breaks it. `changes`: what made
    the difference to the count `since` another state, in words; they add up to it. `lines`: where
    to look. `timed_out`: to read the source took too long, which the next run may do in time."""

    code: str
    severity: Severity
    position: Position
    message: str
    target: str = ""
    detail: tuple[str, ...] = ()
    result: BudgetResult | None = None
    since: str = ""
    changes: tuple[Change, ...] = ()
    lines: tuple[SourceLine, ...] = ()
    timed_out: bool = False


@dataclass(frozen=True, slots=True)
class ModelReport:
    """One target: what was asked, what was measured, what was declared. `position` is where the
    model is defined (or declared, for an installed package). `top_level`: no other model of the
    run contains it, so that its table is printed. `because`: why it is checked although no path
    that was given holds it. `way`: how the repository builds it, where that was found; None where
    it was built with its defaults, or as it is declared. `host`: the model that was built, where
    the target is a class inside it, of which `measurement` has the first instance. `inside`: the
    models that contain it, where that was asked for."""

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


@dataclass(frozen=True, slots=True)
class FailedWay:
    """A way to build a target that did not build it, and why."""

    target: str
    way: Way
    failure: NotMeasured


@dataclass(frozen=True, slots=True)
class Inside:
    """A class inside a model: a way in which the repository builds it, though nobody can call it
    alone."""

    model: ModelReport
    row: InsideRow

    @property
    def times(self) -> int:
        return len(self.row.paths)

    @property
    def counts(self) -> dict[str, int | None]:
        """Those of one instance."""
        measured = self.model.measurement
        rows = measured.modules if isinstance(measured, Measured) else ()
        found = (row.by_name() for row in rows if row.path == self.row.paths[0])
        return next(found, {})

    @property
    def share(self) -> float:
        """That of one instance in the model's parameters."""
        measured = self.model.measurement
        whole = measured.counts.total if isinstance(measured, Measured) else 0
        return self.row.total / whole if whole else 0.0

    @property
    def way(self) -> Way:
        at = Position.read(self.row.made or self.row.source) or self.model.position
        return Way("inside", at, self.model.target)


@dataclass(frozen=True, slots=True)
class Environment:
    """The interpreter that built the models, and why it was chosen. `guards`: what kept
    accidents away from the user, in each process that ran code of the project."""

    python: str
    reason: str
    torch: str | None = None
    devices: tuple[str, ...] = ()
    guards: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """The models that are declared outside the given paths: how many there are, how many of them
    depend on the paths, and how many may."""

    declared: int
    dependent: int
    possible: int


@dataclass(frozen=True, slots=True)
class Containment:
    """Which models of a project are parts of others, as the source says. `users`: target of a part
    → the targets of all models that contain it, directly or inside others. `returns`: target of a
    factory → that of the class of the project that it returns."""

    users: dict[str, tuple[str, ...]] = field(default_factory=dict)
    returns: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Partition:
    """What all shards of one run have in common. `tool`: its version; `commit`: "" outside of git;
    `sources`, `settings`: digests of what was read; `models`: one of the list of all `count`
    models, and of which shard has which."""

    tool: str
    commit: str
    sources: str
    settings: str
    models: str
    count: int


@dataclass(frozen=True, slots=True)
class Shard:
    """One part, `number` of `of`, of a run that is divided. `judged`: the targets that it was to
    judge; `places`: where they stand among all of the run. `models`, `failed_ways`: the places of
    these in the report; `failures`: those of models without a budget that could not be built.
    `uncalled`: models that the source alone rules out; only the first shard tells. `unused`:
    comments that silence nothing here; so they may elsewhere."""

    number: int
    of: int
    partition: Partition
    judged: tuple[str, ...]
    places: tuple[int, ...]
    models: tuple[int, ...] = ()
    failed_ways: tuple[int, ...] = ()
    failures: tuple[tuple[int, str, NotMeasured], ...] = ()
    uncalled: tuple[tuple[str, NotMeasured], ...] = ()
    unused: tuple[Finding, ...] = ()

    def __str__(self) -> str:
        return f"shard {self.number} of {self.of}"


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that one run found out; what a formatter is given. `findings` holds all findings,
    those of the models too, sorted by place. `skipped`: undeclared models that were not counted,
    with the reason (they need arguments, for instance). `error`: why nothing could be measured at
    all (the interpreter has no torch, say). `staged`: what was judged is what git would commit;
    `source_only`: nothing was to be built; `elsewhere`: what lies outside of the paths that were
    given, None where these are the whole project. `ways_left`: how many ways to build a target were
    found and not tried. `recipes`: target of a model that needs arguments → the lines of config
    that would say how to build it: a sentence, the table's header, and the entry. `test_files`: how
    many that define models were left out. `declared_only`: nothing was asked about what has no
    budget. `shard`: which part of a run it is about, None where that is the whole."""

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
    containment: Containment = field(default_factory=Containment)
    recipes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    test_files: int = 0
    declared_only: bool = False
    shard: Shard | None = None

    @property
    def ok(self) -> bool:
        """Whether every budget was measured and holds; there may be warnings."""
        return self.error is None and all(one.severity != "error" for one in self.findings)

    @property
    def inside(self) -> Iterator[Inside]:
        """The project's classes inside the models that were measured: those in top-level models,
        and what no top-level model contains."""
        seen: set[str] = set()
        for top_level in () if self.declared_only else (True, False):
            known = frozenset(seen)
            for model in (model for model in self.models if model.host is None):
                if model.top_level is top_level and isinstance(model.measurement, Measured):
                    rows = [row for row in model.measurement.inside if row.target not in known]
                    seen.update(row.target for row in rows)
                    yield from (Inside(model, row) for row in rows)

    @property
    def inside_by_target(self) -> dict[str, list[Inside]]:
        """The same by class, each as often as it is built in another way."""
        found: dict[str, list[Inside]] = {}
        for one in self.inside:
            found.setdefault(one.row.target, []).append(one)
        return found
