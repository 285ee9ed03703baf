"""Which count? Where a number is not the one that it is taken for, the measure that it fits."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nparam_lint.count.measured import Measured
from nparam_lint.ground.patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nparam_lint.count.measured import InsideRow, ModuleRow
    from nparam_lint.ground.notation.budget import Budget
    from nparam_lint.ground.notation.grammar import Bounds

SINGLE = ("plain", "written", "around", "about")  # forms of a budget that is one number
_MILLION, _MEBI = 10**6, 2**20
# Parameters × factor = the number that was taken for them, where it was rounded, to millions.
_MISTAKEN = (
    ("its count divided by 1024², not by a million", _MILLION, _MEBI),
    ("its megabytes in float32, not millions of parameters", 4, 1),
    ("its mebibytes in float32, not millions of parameters", 4 * _MILLION, _MEBI),
    ("its megabytes in half precision, not millions of parameters", 2, 1),
    ("its mebibytes in half precision, not millions of parameters", 2 * _MILLION, _MEBI),
)
_POSITIONS = late_pattern(r"(?:^|\.)(?:wpe|pos\w*|position\w*)$", re.IGNORECASE)
_AUXILIARY = late_pattern(r"aux\w*$")  # what a model has for its training, at its top
_NORM = late_pattern(r"(?:^|\.)(?:Sync)?BatchNorm")
_LINEAR = late_pattern(r"(?:^|\.)Linear$")
# The data sets with so many classes.
_DATA = {
    10: late_pattern(r"cifar-?10(?!0)|mnist|svhn|stl-?10", re.IGNORECASE),
    100: late_pattern(r"cifar-?100", re.IGNORECASE),
    200: late_pattern(r"tiny[-_ ]?imagenet|\bcub\b", re.IGNORECASE),
    1000: late_pattern(r"(?<!tiny)(?<!tiny.)imagenet(?!.?2)|\bin-?1k\b", re.IGNORECASE),
    10_450: late_pattern(r"imagenet.?21k", re.IGNORECASE),
    11_221: late_pattern(r"imagenet.?21k", re.IGNORECASE),
    21_841: late_pattern(r"imagenet.?2[12]k", re.IGNORECASE),
    21_843: late_pattern(r"imagenet.?2[12]k", re.IGNORECASE),
}
_CLASSES = tuple(_DATA)
_DATA_SET = late_pattern(
    r"cifar|mnist|imagenet|svhn|stl-?10|\bin-?[0-9]+k\b|coco|\bvoc|ade20k|cityscapes|kinetics|speech",
    re.IGNORECASE,
)
_IMAGENET = 1000
_MOST_FEATURES = 8193  # and a bias, of one class
_WITHOUT_ITS = "without its "
_TRAINABLE = "its trainable parameters"
_OF_OTHER_DATA = " classes"  # so ends what is said of a number that is another model's
_DEEPEST = 2  # levels of modules that people call a part of the model
_NARROW, _ROUNDED = 0.015, 0.1  # of a number that is no other by chance
_SMALLEST = 50  # parts of this size that a model has
_FEWEST = 10**5  # that people write in millions


def explain_budget(budget: Budget, bounds: Bounds, part: Measured | InsideRow) -> str:
    """The same sentence about a broken budget, where it is one number for the parameters of the
    whole model."""
    if not (isinstance(part, Measured) and is_plain_total(budget)):
        return ""
    return fitting_measure(budget.value.text, [bounds], part)


def is_plain_total(budget: Budget) -> bool:
    """Whether a budget is one number for the parameters of a whole model."""
    selector = budget.selector
    is_total = selector.metric == "total" and not (selector.module or budget.target.host)
    return is_total and budget.value.form in SINGLE


def fitting_measure(text: str, bounds: Sequence[Bounds], measured: Measured) -> str:
    """The sentence that says which other count of a model a number is; "" where it is none. `text`:
    the number; `bounds`: the counts that it admits."""

    def fits(amount: int, admitting: Sequence[Bounds] = bounds) -> bool:
        return amount > 0 and any(amount in admitted for admitted in admitting)

    def sentence(what: str, amount: int) -> str:
        repeats = re.sub("[,_]", "", text) == str(amount)
        return f"{text} is {what}" + ("" if repeats else f": {amount:,}")

    root = measured.modules[0]
    for what, amount in _measures(measured):
        if amount != root.total and fits(amount):
            return sentence(what, amount)
    for classes, amount in _with_classes(measured).items():
        if fits(amount):
            return f"{text} is it with {classes:,}{_OF_OTHER_DATA}"
    for row in measured.modules[1:]:
        if row.path.count(".") < _DEEPEST and row.total != root.total and fits(row.total):
            return sentence(f"its {row.path} alone", row.total)
    narrow, _ = _precise(bounds)
    for row in measured.modules[1:]:
        if "." not in row.path and not row.tied and fits(root.total - row.total, narrow):
            return sentence(f"it {_WITHOUT_ITS}{row.path}", root.total - row.total)
    return _mistaken(text, bounds, measured, _MISTAKEN)


def says_measure(line: str, text: str) -> bool:
    """Whether a line is such a sentence about a number."""
    return line.startswith(f"{text} is ")


def parts_left_out(bounds: Sequence[Bounds], measured: Measured) -> dict[str, int]:
    """The parts at the top of a model without which it has such a number, each with that. A smaller
    part is what a number lacks that was not rounded, but cut off."""
    root = measured.modules[0].total
    parts = (row for row in measured.modules[1:] if "." not in row.path)
    counts = {row.path: root - row.total for row in parts if row.total * _SMALLEST >= root}
    return {
        path: amount
        for path, amount in counts.items()
        if amount and any(amount in admitted for admitted in bounds)
    }


def without_part(text: str, path: str, amount: int) -> str:
    """The sentence that says that a number is that of a model without this part."""
    return f"{text} is it {_WITHOUT_ITS}{path}: {amount:,}"


def is_without_part(explanation: str) -> bool:
    """Whether such a sentence says what was left out."""
    return _WITHOUT_ITS in explanation


def mebi_for_million(text: str, bounds: Sequence[Bounds], measured: Measured) -> str:
    """The sentence that says that somebody divided by 1024²; "" where nobody did."""
    return _mistaken(text, bounds, measured, _MISTAKEN[:1])


def sizes_in_bytes(amount: int) -> Iterator[int]:
    """The bytes of so many parameters in a usual dtype; of mebibytes, what their number is taken
    for: millions of bytes."""
    for element_size in (2, 4):
        yield amount * element_size
        yield amount * element_size * 10**6 // 2**20


def _mistaken(
    text: str,
    bounds: Sequence[Bounds],
    measured: Measured,
    mistakes: Sequence[tuple[str, int, int]],
) -> str:
    """The sentence that says what was taken for a million parameters, or for parameters at all; ""
    where nothing was."""
    narrow, rounded = _precise(bounds)
    for what, times, by in mistakes:
        amount = measured.modules[0].total * times // by
        admitting = rounded if times >= 2 * by else narrow
        if amount >= _FEWEST and any(amount in b for b in admitting if b.low != b.high):
            return f"{text} is {what}"
    return ""


def _precise(bounds: Sequence[Bounds]) -> list[list[Bounds]]:
    """Those that are narrow, and those that are rounded."""
    return [
        [b for b in bounds if b.low and b.high and b.high - b.low <= share * b.high]
        for share in (_NARROW, _ROUNDED)
    ]


def is_of_other_form(explanation: str) -> bool:
    """Whether such a sentence is about a model for other data, without what it is trained with, or
    without what is never trained: who states that has another one in mind."""
    others = f"{_WITHOUT_ITS}aux", _TRAINABLE
    return explanation.endswith(_OF_OTHER_DATA) or any(text in explanation for text in others)


def is_of_named_part(text: str, bounds: Sequence[Bounds], measured: Measured) -> bool:
    """Whether a number is that of a module of the model by whose name the text calls it: "the fc of
    resnet50 has 2.05M"."""
    words = set(re.findall(r"\w+", text.lower()))
    return any(
        row.path.rpartition(".")[2].lower() in words
        and any(row.total in admitted for admitted in bounds)
        for row in measured.modules[1:]
    )


def is_fused(bounds: Sequence[Bounds], measured: Measured) -> bool:
    """Whether a number is what the model has when it is fused."""
    return any(amount in admitted for _, amount in _fused_counts(measured) for admitted in bounds)


def is_data(text: str) -> bool:
    """Whether a text names a data set."""
    return _DATA_SET.search(text) is not None


def with_classes_of(texts: Iterable[str], measured: Measured) -> list[int]:
    """What the model has with the classes of the data sets that texts name, if it was built with
    other ones."""
    named = {n for text in texts for n, pattern in _DATA.items() if pattern.search(text)}
    every = _with_classes(measured) if named else {}
    return [amount for classes, amount in every.items() if classes in named]


def _with_classes(measured: Measured) -> dict[int, int]:
    """The parameters that a classifier would have with other numbers of classes, those of usual
    data sets, where its last linear layers have as many outputs as one, and cannot have as many as
    another."""
    linear = [row.own for row in measured.modules if row.own and _LINEAR.search(row.type)]
    if not linear:
        return {}
    heads = linear[-1] * linear.count(linear[-1])  # one for each teacher
    body = measured.modules[0].total - heads
    # Features are multiples of eight, with a bias or without.
    weights = {n: heads // n for n in _CLASSES if not heads % n and (heads // n) % 8 in (0, 1)}
    usual = {n: each for n, each in weights.items() if 1 < each <= _MOST_FEATURES}  # no vocabulary
    if len(usual) != 1 or not body:
        return {}
    ((outputs, each),) = usual.items()
    # Nobody trains on ImageNet-21k what is made for CIFAR.
    others = (n for n in _CLASSES if n != outputs and not outputs < _IMAGENET < n)
    return {classes: body + classes * each for classes in others}


def _measures(measured: Measured) -> Iterator[tuple[str, int]]:
    rows = measured.modules
    root = rows[0]
    yield _TRAINABLE, root.trainable
    yield "its parameters without embeddings", root.non_embedding
    positions = sum(row.own for row in rows if _POSITIONS.search(row.path))
    if positions:
        yield "its parameters without positions", root.total - positions
    if root.active:
        yield "its active parameters", root.active
    if auxiliary := training_parts(measured):
        names = " and ".join(row.path for row in auxiliary)
        yield f"it {_WITHOUT_ITS}{names}", root.total - sum(row.total for row in auxiliary)
    yield "its parameters and buffers", root.total + root.buffers
    yield from _fused_counts(measured)
    yield "its frozen parameters", root.frozen


def training_parts(measured: Measured) -> list[ModuleRow]:
    """The modules that a model has for its training alone, by their names."""
    return [row for row in measured.modules[1:] if _AUXILIARY.match(row.path)]


def _fused_counts(measured: Measured) -> Iterator[tuple[str, int]]:
    rows = measured.modules
    if measured.fused is not None:
        yield f"it after its {measured.fusing}()", measured.fused
    norms = [row.own for row in rows if row.own and _NORM.search(row.type)]
    weights = sum(1 for row in rows if row.own) - len(norms)
    biases = sum(dtype.tensors for dtype in measured.dtypes) - 2 * len(norms) - weights
    if norms and biases < len(norms):  # else the convolutions have biases of their own
        # Of its weight and bias the convolution keeps a bias.
        yield "it with each norm fused into its convolution", rows[0].total - sum(norms) // 2
