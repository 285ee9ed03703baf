"""What the worker tells of a model that was built, and of one that was not. Every count is an exact
integer."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field

from nparam_lint.ground.metrics import WITH_FIELDS
from nparam_lint.ground.values import NameValue

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
    "not_tried",
    "out_of_memory",
    "died",
    "no_worker",
    "unreadable",
]


NO_KEY = Meta(extra={"key": False})  # of a field that JSON writes only where it has a value


class ModuleRow(Struct, frozen=True):
    """One submodule, or the model: its path is then the empty string. `own`: elements of the
    parameters that it holds itself and that no module before it holds. `total`, `trainable`, …:
    distinct parameters at or below it, one count for each metric
    (`ground/metrics.py`): `buffers` counts elements; `bytes` is parameters and buffers;
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
    more: Annotated[tuple[tuple[str, int | None], ...] | UnsetType, NO_KEY] = UNSET

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


class DtypeRow(Struct, frozen=True):
    """The bytes that a model has of one dtype: of `parameters`, of those that are `trainable` (in
    so many `tensors`), of `buffers`, and what of all this a checkpoint has (`saved`)."""

    dtype: str
    parameters: int
    trainable: int
    tensors: int
    buffers: int
    saved: int


class ParameterRow(Struct, frozen=True):
    """One distinct parameter under its first name; `also`: its other names (tied weights)."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    trainable: bool
    source: str | None = None
    also: tuple[str, ...] = ()
    note: str | None = None


class LineRow(Struct, frozen=True):
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


class Hidden(Struct, frozen=True):
    """Parameters that `parameters()` does not return: where they are kept, and how many."""

    path: str
    count: int
    what: str
    source: str | None = None


class VariableRow(Struct, frozen=True):
    """An argument of a call that can be varied, with its `value` in the call. `holder`: the
    expression that is called for the config object that it is a field of; `choices`: the values
    that its annotation allows, where it is a `Literal`."""

    name: str
    value: NameValue
    holder: str = ""
    choices: tuple[NameValue, ...] = ()


TracedTensor = tuple[
    str, str, tuple[int, ...], tuple[int, ...], tuple[tuple[int, int], ...], str, tuple[str, ...]
]  # see TracedBuild


class TracedBuild(Struct, frozen=True):
    """A build with numbers that carry their expression. Expressions are numbers of rows in
    `Traces.expressions`. `parameters`: (name, what the metric counts of one element, its lengths,
    the expression of each; none where they were lost; for each mixture of experts that it is in,
    how many of them are used, of how many; its origin, where that was asked for; its other names,
    where it is tied). `decisions`:
    (comparison, whether it held, `path:line`) in their order. `lost`: (what became of a value, its
    expression). `error`: why the constructor refused the point."""

    parameters: tuple[TracedTensor, ...]
    decisions: tuple[tuple[int, bool, str], ...]
    lost: tuple[tuple[str, int], ...]
    error: str | None = None


class Traces(Struct, frozen=True):
    """`expressions`: rows, each (`s`, name), (`n`, number), or (operation, number of a row, …).
    `runs`: for the points that were asked for, up to the last that there was time for; None for a
    build that did not come to an end."""

    expressions: tuple[tuple[str | int, ...], ...]
    runs: tuple[TracedBuild | None, ...]


class InsideRow(Struct, frozen=True):
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


class DeviceResult(Struct, frozen=True):
    """The result on one device. `bytes`: the memory that its allocator took. `differences`: one
    text for each parameter whose name, shape or dtype differs from the first device's. `is_absent`:
    the machine has no such device, or torch is built without it."""

    status: Literal["measured", "failed", "skipped"]
    total: int | None = None
    reason: str | None = None
    bytes: int | None = None
    differences: tuple[str, ...] = ()
    is_absent: bool = False


class Measured(Struct, frozen=True):
    """A model that was built and counted. `call`: the expression that built it. `rung`: how
    (`meta`, `meta with values`, `cpu without initialisation`, `cpu`). `names`: the values of the
    names that formulas asked for; `known_names`: every name a formula could have asked for.
    `definitions`: where what was called is defined, as `path:line`, or its dotted name. `type`:
    the full name of the model's class; `types`: those of all modules inside it; `no_routing`:
    why its active parameters are unknown; `misdeclared`: what is wrong with what was declared
    about its experts; `fusing`: its own methods that make it ready for inference, and `fused`: its
    parameters then, where all of them were asked for; `dtypes`: its bytes by dtype, where it was
    built by itself; `variables`: the arguments that can be varied, where they were asked for;
    `inside`: the project's own modules in it; `weights`: of each of the `parameters`, what the
    metric that was asked for counts of one element; nothing where that is 1. `lines`: those that
    made its parameters, by file. `seconds`: how long it took to build and count it, without
    imports."""

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
    fusing: str = ""
    fused: int | None = None
    inside: tuple[InsideRow, ...] = ()
    traces: Traces | None = None
    dtypes: tuple[DtypeRow, ...] = ()
    seconds: float = 0.0
    cached: bool = False

    @property
    def counts(self) -> ModuleRow:
        """Those of the whole model."""
        return self.modules[0]


class NotMeasured(Struct, frozen=True):
    """Why a model was not counted; never a pass. `code` is the finding's code; `hint` the next
    step; `missing` the required arguments when that is the cause; `package` the one that is not
    installed when that is the cause; `source` a project line; `function` the one that it is in,
    where a process told its stack when it died; `output` the last lines that it printed then;
    `seconds`: see `Measured`."""

    code: str
    reason: str
    cause: Cause
    hint: str | None = None
    missing: tuple[str, ...] = ()
    package: str | None = None
    source: str | None = None
    function: str = ""
    output: str = ""
    devices: dict[str, DeviceResult] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    cached: bool = False

    @property
    def place(self) -> str:
        """Where it failed: `path:line`, and the function where that is known; "" of nowhere."""
        return f"{self.source} in {self.function}" if self.function else self.source or ""

    @property
    def is_transient(self) -> bool:
        """Whether the next attempt might not repeat it: then it is never kept."""
        return self.cause in ("timed_out", "out_of_memory", "died", "no_worker", "unreadable")

    @property
    def is_misnamed(self) -> bool:
        """Whether what was asked for is not there: no such class or function, or argument of it."""
        return self.cause in ("target_missing", "argument_unknown")


Measurement = Measured | NotMeasured


class Environment(Struct, frozen=True):
    """The interpreter that built the models, and why it was chosen. `guards`: what kept
    accidents away from the user, in each process that ran code of the project."""

    python: str
    reason: str
    torch: str | None = None
    devices: tuple[str, ...] = ()
    guards: tuple[str, ...] = ()
