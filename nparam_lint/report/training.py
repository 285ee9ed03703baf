"""What training a model takes besides its activations: weights, gradients, what the optimizer
keeps, and checkpoints. Exact, for the optimizers of `torch.optim` as they are by default."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields

from msgspec import UNSET, Struct, UnsetType

from nparam_lint.count.measured import DtypeRow, Measured
from nparam_lint.report import Block, Cell, Column, Fact, Facts, Row, Step, Table, Text, style

_STEP = 4  # bytes: Adam counts its steps in a float32 of each tensor that is trained


class Optimizer(Struct, frozen=True):
    """`states`: what it keeps for each element that is trained, in the dtype of the weight, as
    torch calls it. `counts_steps`: a number for each tensor, too. `metric`: that of budgets."""

    name: str
    states: tuple[str, ...]
    counts_steps: bool
    metric: str


_MOMENTS = ("exp_avg", "exp_avg_sq")
OPTIMIZERS = {
    "adamw": Optimizer("AdamW", _MOMENTS, True, "training_bytes"),
    "adam": Optimizer("Adam", _MOMENTS, True, "training_bytes"),
    "sgd": Optimizer("SGD", (), False, "sgd_training_bytes"),
    "sgd-momentum": Optimizer(
        "SGD with momentum", ("momentum_buffer",), False, "momentum_training_bytes"
    ),
}
_ASSUMED = (
    "gradients of all that is trained, and states, in the dtype of the weights, as "
    "torch.optim makes them; no activations, no autocast copies, no sharding"
)


@dataclass(kw_only=True)
class TrainingRecord:
    """In JSON: bytes, those of weights, buffers, gradients and states by dtype."""

    optimizer: str
    metric: str
    weights: Mapping[str, int]
    buffers: Mapping[str, int]
    gradients: Mapping[str, int]
    exp_avg: Mapping[str, int] | UnsetType = UNSET
    exp_avg_sq: Mapping[str, int] | UnsetType = UNSET
    momentum_buffer: Mapping[str, int] | UnsetType = UNSET
    total: int  # held while training
    steps: int  # the counters of the optimizer, which are in no budget
    checkpoint: int  # the tensors of the model's `state_dict`; then also those of the optimizer's
    resumable_checkpoint: int
    assumed: str

    @property
    def parts(self) -> dict[str, Mapping[str, int]]:
        """What has bytes of several dtypes, by name."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: sizes for name, sizes in values.items() if isinstance(sizes, Mapping)}


def training_record(measured: Measured, optimizer: Optimizer) -> TrainingRecord:
    rows = measured.dtypes

    def part(amount: Callable[[DtypeRow], int]) -> dict[str, int]:
        return {row.dtype: amount(row) for row in rows if amount(row)}

    trained = part(lambda row: row.trainable)
    states = dict.fromkeys(optimizer.states, trained)
    parts = {"weights": part(lambda row: row.parameters), "buffers": part(lambda row: row.buffers)}
    parts |= {"gradients": trained, **states}
    steps = _STEP * sum(row.tensors for row in rows) if optimizer.counts_steps else 0
    checkpoint = sum(row.saved for row in rows)
    return TrainingRecord(
        optimizer=optimizer.name,
        metric=optimizer.metric,
        **parts,
        total=sum(sum(sizes.values()) for sizes in parts.values()),
        steps=steps,
        checkpoint=checkpoint,
        resumable_checkpoint=checkpoint + len(states) * sum(trained.values()) + steps,
        assumed=_ASSUMED,
    )


def training_blocks(training: TrainingRecord) -> Iterator[list[Block]]:
    """What is held while training, by dtype if there are several; then checkpoints."""
    parts = training.parts
    dtypes = list(dict.fromkeys(name for sizes in parts.values() for name in sizes))
    several = dtypes if len(dtypes) > 1 else []
    rows = [
        Row((name, *(_bytes(sizes.get(dtype, 0)) for dtype in several), *_both(sizes.values())))
        for name, sizes in parts.items()
        if sizes
    ]
    sums = {d: sum(sizes.get(d, 0) for sizes in parts.values()) for d in several}
    total = ("in training", *map(_bytes, sums.values()), *_both([training.total]))
    rows.append(Row(tuple(Cell(cell, "bold") for cell in total), rule=True))
    names = [Column(name, "number") for name in (*several, "bytes", "")]
    heading = Column(f"training with {training.optimizer}")
    yield [Table((heading, *names), tuple(rows), (Step("drop", ""),), noun="part")]
    checkpoint, resumable = training.checkpoint, training.resumable_checkpoint
    facts = [Fact("checkpoint", style.human_bytes(checkpoint), f"{checkpoint:,}")]
    if resumable != checkpoint:
        facts.append(Fact("with the optimizer", style.human_bytes(resumable), f"{resumable:,}"))
    if training.steps:
        facts.append(Fact("step counters", "besides the total", f"{training.steps:,}"))
    budget = f"nparam[{training.metric}]: <= {training.total:_}"
    assumed = Text(f"assumed: {training.assumed}", "dim", hang="  ")
    yield [Facts(tuple(facts)), Text(f"as a budget: {budget}", "dim"), assumed]


def _bytes(size: int) -> str:
    return f"{size:,}" if size else ""


def _both(sizes: Iterable[int]) -> tuple[str, str]:
    size = sum(sizes)
    return f"{size:,}", style.human_bytes(size)


def bytes_by_dtype(measured: Measured) -> Table:
    """Where a model has several dtypes."""
    rows = [
        Row((row.dtype, _bytes(row.parameters), _bytes(row.trainable), _bytes(row.buffers)))
        for row in measured.dtypes
    ]
    names = ("weights", "trainable", "buffers")
    columns = (Column("bytes by dtype"), *(Column(name, "number") for name in names))
    return Table(columns, tuple(rows), noun="dtype")
