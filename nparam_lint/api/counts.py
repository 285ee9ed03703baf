"""`nparam_lint.count`: the counts of a model in the same process."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from msgspec import to_builtins

from nparam_lint import report
from nparam_lint.api import notebook
from nparam_lint.count.measured import Hidden, Measured, ModuleRow, ParameterRow
from nparam_lint.count.run import measurement
from nparam_lint.ground.errors import UsageError
from nparam_lint.ground.metrics import METRICS
from nparam_lint.ground.nearest import did_you_mean
from nparam_lint.report import check_data, formats, show_document
from nparam_lint.worker import in_process
from nparam_lint.worker.tracing.failures import Failure

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from nparam_lint.report import Document


@dataclass(frozen=True, slots=True)
class Counts:
    """The exact counts of one model. A parameter that is used in several places (tied weights)
    counts once. `str()` is a table, and a notebook shows one with a picture.

    `measured`: all that was found out, as the worker of the command line says it.
    """

    measured: Measured = field(repr=False)

    @property
    def call(self) -> str:
        """What was counted: `GPT(n_layer=12)`, or the class of a model that was there."""
        return self.measured.call

    @property
    def total(self) -> int:
        """Parameters: elements of all distinct parameters."""
        return self.of("total")

    @property
    def trainable(self) -> int:
        """Parameters with `requires_grad`."""
        return self.of("trainable")

    @property
    def frozen(self) -> int:
        """Parameters without `requires_grad`."""
        return self.of("frozen")

    @property
    def non_embedding(self) -> int:
        """Parameters without those of `nn.Embedding` modules, and of an output head of that
        shape."""
        return self.of("non_embedding")

    @property
    def active(self) -> int | None:
        """Parameters that one token uses in a mixture of experts; None where the model does not
        say how many experts that are."""
        return self.measured.counts.active

    @property
    def buffers(self) -> int:
        """Elements of all distinct buffers."""
        return self.of("buffers")

    @property
    def bytes(self) -> int:
        """Bytes of parameters and buffers, each in its dtype."""
        return self.of("bytes")

    @property
    def modules(self) -> tuple[ModuleRow, ...]:
        """One row for each module, in the order of `named_modules()`; the first, whose path is
        empty, is the model."""
        return self.measured.modules

    @property
    def parameters(self) -> tuple[ParameterRow, ...]:
        """One row for each distinct parameter: name, shape (elements in each dimension), dtype."""
        return self.measured.parameters

    @property
    def hidden(self) -> tuple[Hidden, ...]:
        """Parameters in plain lists and dicts, which `model.parameters()` lacks, and so do the
        counts."""
        return self.measured.hidden

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be known of the counts, in words."""
        return self.measured.notes

    def of(self, metric: str, module: str = "") -> int:
        """The count of one metric (`total`, `trainable`, `bytes`, `training_bytes`, …) of the model
        or of one of its modules (`encoder.layers.0`). Raises UsageError for a metric or a module
        that there is not, and for one whose count is unknown."""
        row = self[module]
        check_metric(metric)
        count = row.of(metric)
        if count is None:
            words = METRICS[metric].words
            raise UsageError(f"the {words} of {self.call} are unknown: {self.measured.no_routing}")
        return count

    def __getitem__(self, path: str) -> ModuleRow:
        """The row of a module; "" is the model. Raises UsageError for a path that there is not."""
        for row in self.modules:
            if row.path == path:
                return row
        paths = [row.path for row in self.modules if row.path]
        raise UsageError(f"{self.call} has no module {path!r}{did_you_mean(path, paths)}")

    def to_dict(self) -> dict[str, Any]:
        """The counts of the model as in the JSON of `nparam-lint show`."""
        counts: dict[str, Any] = to_builtins(check_data.build_data(self.measured))
        return counts

    def __repr__(self) -> str:
        return f"Counts({self.call}: {self.total:,} parameters)"

    def __str__(self) -> str:
        return formats.render("text", self._document(), report.Options()).rstrip("\n")

    def _repr_html_(self) -> str:
        return notebook.notebook_html(self._document(), self.measured)

    def _document(self) -> Document:
        return show_document.counts_document(self.measured)


def check_metric(name: str) -> None:
    """Raises UsageError for a metric that there is not."""
    if name not in METRICS:
        hint = did_you_mean(name, METRICS, f"there are: {', '.join(METRICS)}")
        raise UsageError(f"there is no metric {name!r}{hint}")


def count(model: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Counts:
    """Count a model: a `torch.nn.Module`, or a class or function, which is called with the
    arguments to make one on the meta device, where it takes no memory.

        nparam_lint.count(model).total
        nparam_lint.count(GPT, n_layer=12).trainable

    The rules are those of the command line: tied weights count once, lazy parameters must have
    their shapes, wrappers (DDP, `torch.compile`) count as what they wrap.

    Raises UsageError for what is no model, and for lazy parameters without a shape. An exception of
    the constructor passes.
    """
    return count_with(model, args, kwargs)


def count_with(
    model: Callable[..., Any],
    args: Collection[Any] = (),
    kwargs: dict[str, Any] | None = None,
    names: Collection[str] = (),
) -> Counts:
    """As `count`. `names`: those whose values a formula needs."""
    if not callable(model):
        kind = type(model).__name__
        raise UsageError(f"found {kind}, expected a module, or what makes one")
    try:
        result = in_process.count_here(model, args, kwargs or {}, names)
    except Failure as failure:
        raise UsageError(str(failure)) from None
    answer = measurement(True, json.dumps(result).encode())
    if not isinstance(answer, Measured):
        raise UsageError(answer.reason)
    return Counts(answer)
