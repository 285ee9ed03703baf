"""What can be counted, and where models can be built: the metrics, the names of the devices, and
those of packages to install.

Both the worker and the front end read this file: no torch here, nothing but the standard library.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from . import PACKAGE

if TYPE_CHECKING:
    from fractions import Fraction
    from typing import Union

    Amount = Union[int, Fraction]

# --- packages: what is installed for an import, where that has another name ---

INSTALLED_AS = {
    "absl": "absl-py",
    "cv2": "opencv-python",
    "git": "gitpython",
    "PIL": "pillow",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}

# --- devices: one file for each in a folder, of which only the name is read here ---

AUTO = "auto"  # meta, then every device with IS_AUTOMATIC that is present
LADDER = ("meta", "cpu")  # where models are counted; always there
DEVICES = sorted(
    file[: -len(".py")]
    for file in os.listdir(os.path.join(PACKAGE, "worker", "building", "devices"))
    if file.endswith(".py") and file[0] != "_"
)
DEVICE_NAMES = (AUTO, *LADDER, *(name for name in DEVICES if name not in LADDER))  # for `--device`


def is_present(name: str) -> bool:
    """Whether a device in a result is present: then it has torch's name for it, with an index."""
    return ":" in name


# --- metrics ---


class Part(NamedTuple):
    """One distinct parameter or buffer of a model. `name`: in the module that holds it first;
    `size`: its elements; `element_size`: bytes of one; `idle`: the share of it that one token does
    not use."""

    name: str
    size: int
    element_size: int
    is_trainable: bool
    is_embedding: bool
    idle: Amount

    @property
    def bytes(self) -> int:
        return self.size * self.element_size


_SIZE: Callable[[Part], Amount] = attrgetter("size")
_BYTES: Callable[[Part], Amount] = attrgetter("bytes")


def _nothing(part: Part) -> int:
    return 0


@dataclass(frozen=True)
class Metric:
    """The sum of what each distinct parameter and buffer adds; a module has the sum of those at or
    below it, one that is shared once.

    `name`: in selectors, such as `nparam[trainable]`, and in JSON. `unit`: "parameters", "buffer
    elements" or "bytes". `note`: what a report says beside the number. `parameter`, `buffer`: what
    a `Part` of the model adds, a whole number or a fraction; `finish`: turns a sum of fractions
    into a whole number. `needs_routing`: unknown unless the number of experts per token is known.
    `assumed`: what a finding says of how it is counted. `is_derived`: its sums follow from those of
    others (`measured.ModuleRow`), and are not made. `is_listed`: a report has it unasked."""

    name: str
    unit: str
    note: str
    parameter: Callable[[Part], Amount] = _nothing
    buffer: Callable[[Part], Amount] = _nothing
    finish: Callable[[Amount], int] | None = None
    needs_routing: bool = False
    assumed: str = ""
    is_derived: bool = False
    is_listed: bool = True

    @property
    def label(self) -> str:
        """What a report calls it."""
        return "parameters" if self.name == "total" else self.name.replace("_", "-")

    @property
    def words(self) -> str:
        """What a sentence says after the number."""
        if self.name.endswith("_bytes"):
            return self.name.replace("_", " ")
        is_whole = self.name == "total" or self.unit != "parameters"
        return self.unit if is_whole else f"{self.label} {self.unit}"


def _in_training(name: str, states: int, optimizer: str) -> Metric:
    """What training takes with an optimizer that keeps so many tensors for each that is trained."""
    copies = 2 + states  # the weights, their gradients, and what the optimizer keeps
    note = "weights, buffers, gradients" + (f" and states of {optimizer}" if states else "")
    return Metric(
        name,
        "bytes",
        note,
        lambda p: p.bytes * (copies if p.is_trainable else 1),
        _BYTES,
        assumed=f"{note}, each in the dtype of its weight; no activations",
        is_derived=True,
        is_listed=False,
    )


# Metrics that have a field in `measured.ModuleRow`, since code uses them; others go by name.
WITH_FIELDS = (
    *("total", "trainable", "frozen", "buffers", "bytes", "non_embedding", "active"),
    *("gradient_bytes", "training_bytes", "momentum_training_bytes", "sgd_training_bytes"),
)
METRICS = {
    metric.name: metric
    for metric in (
        Metric("total", "parameters", "", _SIZE),
        Metric("trainable", "parameters", "", lambda p: p.size if p.is_trainable else 0),
        Metric("frozen", "parameters", "", lambda p: 0 if p.is_trainable else p.size),
        Metric("buffers", "buffer elements", "", buffer=_SIZE),
        Metric("bytes", "bytes", "parameters and buffers", _BYTES, _BYTES),
        Metric(
            "non_embedding",
            "parameters",
            "without nn.Embedding modules",
            lambda p: 0 if p.is_embedding else p.size,
        ),
        Metric(
            "active",
            "parameters",
            "used for one token",
            lambda p: p.size - p.size * p.idle,
            finish=math.ceil,
            needs_routing=True,
        ),
        Metric(
            "gradient_bytes",
            "bytes",
            "of what is trained",
            lambda p: p.bytes if p.is_trainable else 0,
            is_listed=False,
        ),
        _in_training("training_bytes", 2, "Adam or AdamW"),
        _in_training("momentum_training_bytes", 1, "SGD with momentum"),
        _in_training("sgd_training_bytes", 0, "SGD"),
    )
}
COUNTED = {name: metric for name, metric in METRICS.items() if not metric.is_derived}
