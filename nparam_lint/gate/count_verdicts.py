"""A stated count × the models of its binding → whether it is right, and how sure that is."""

from __future__ import annotations

import posixpath
import re
from fractions import Fraction
from typing import TYPE_CHECKING

from msgspec.structs import replace

from nparam_lint.discover.claims.stated import StatedCount
from nparam_lint.gate import measures, model_names
from nparam_lint.gate.report import StatedOutcome
from nparam_lint.ground.notation import Selector
from nparam_lint.ground.notation.grammar import parse_value
from nparam_lint.ground.paths import parent, within
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.ground.script_words import TEST_FILE
from nparam_lint.ground.values import Position

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nparam_lint.gate.model_names import ModelNames, NamedModel
    from nparam_lint.gate.report import Strength, Verdict
    from nparam_lint.ground.notation.grammar import Tolerance

OF_ANOTHER = "this is what "  # so begins what is said of a number that is another size's
_SIZE_IN_NAME = late_pattern(  # of `yoloe-11m` it is another m
    r"(?<![A-Za-z0-9.])(?<!yoloe-)(?P<number>[0-9]+(?:[._p][0-9]+)?)(?P<suffix>[mMbB])(?![A-Za-z0-9])"
)
_OPERATIONS = late_pattern(r"flops|macs?\b|m-?adds", re.IGNORECASE)
_OF_EXPERTS = late_pattern(r"moe|expert", re.IGNORECASE)  # beside the size of the dense model
WITH_ITS_CLASSES = ", with the classes of its data"
_ROUNDED = Fraction(3, 2)
_FAR = Fraction(4)
_NEAR = Fraction(101, 100)
_ROUGH = Fraction(1, 1000)  # of a count, that its last digit leaves open
_LONG = 10_000  # what is no other number by chance
_ROUNDED_UP = Fraction(1005, 1000)
# Folders, headings and heads of columns: the model in the row is often a part of what is counted.
_TASK = late_pattern(
    r"""detection|segmentation|downstream|video.?prediction
    |(?<![a-z])(?:seg|det|pose|keypoints?|tracking|coco|ade20k|cityscapes|voc|kitti|mpii
    |recall|pckh?|(?-i:AR)|mota|hota|idf1|mpjpe|abs.?rel|psnr|ssim|fid|wer)(?![a-z])""",
    re.IGNORECASE | re.VERBOSE,
)
# What a model has then may be less than what it is built with.
_INFERENCE = late_pattern(r"(?<![a-z])(?:deploy|inference|fused)", re.IGNORECASE)
_PARTS = frozenset("encoder decoder backbone neck head".split())


class CountVerdict:
    """What comes of a count that the file at a path states. `names`: of the models that were
    counted."""

    def __init__(
        self, names: ModelNames, path: str, count: StatedCount, tolerance: Tolerance | None
    ) -> None:
        self.names = names
        self.at = Position(path, count.line, count.column)
        self.count = count
        self.bounds = count.bounds(tolerance)
        self.binding = names.binding(self.at, count)
        self.models = [m for m in self.binding.models if m.amount(count) is not None]

    def outcome(self) -> StatedOutcome:
        uncounted = self.names.skipped.get(model_names.name_key(" ".join(self.count.names)), "")
        of_none = StatedOutcome(self.at, self.count, uncounted=uncounted)
        if not self.models:
            return self._exact() or of_none
        if model := self._fitting(self.models):
            return self._of(model, "right", self.binding.strength)
        near = self._near()
        if model := self._fitting(near):
            return self._of(model, "right", "likely")
        return self._misfit(near) or self._exact() or of_none

    def _of(
        self, model: NamedModel, verdict: Verdict, strength: Strength, explanation: str = ""
    ) -> StatedOutcome:
        return StatedOutcome(
            self.at,
            self.count,
            verdict,
            strength,
            model.report,
            model.name,
            model.amount(self.count),
            self.binding.because,
            explanation,
        )

    def _exact(self) -> StatedOutcome | None:
        """What comes of a number in full that is to the digit what a model has, whatever stands
        beside it."""
        exact = {bounds.low for bounds in self.bounds if bounds.low == bounds.high}
        exact = {number for number in exact if number and number > _LONG and number % 1000}
        models = self.names.models if exact else []
        model = next((m for m in models if m.amount(self.count) in exact), None)
        if model is None:
            return None
        because = f"it is to the digit what {model.name} has"
        return replace(self._of(model, "right", "likely"), because=because)

    def _near(self) -> list[NamedModel]:
        """Those of the binding's family: it, or all that is built of a class, may be called by the
        same name."""
        model, count = self.models[0], self.count
        near = self.names.of_family(model.name)
        # What a script builds of the class may be of a size, too.
        called = [
            m for m in self.names.models if m.is_called and m.report.bare == model.report.bare
        ]
        near += self.names.beside(model) if model.is_named_by_class else called
        if count.is_name:
            near += self.names.of_heading(next(iter(count.names), ""), count.above)
        return near

    def _fitting(self, models: Iterable[NamedModel]) -> NamedModel | None:
        return next(filter(self._fits, models), None)

    def _fits(self, model: NamedModel) -> bool:
        root, amount = model.measured.modules[0], model.amount(self.count) or 0
        amounts = {amount}
        # A checkpoint holds the buffers, too, and older ones tied weights twice.
        if self.count.weights:
            modules = {name.rpartition(".")[0] for name in self.count.weights}
            rows = (row for row in model.measured.modules if row.path in modules)
            copies = sum(row.total - row.own for row in rows if row.tied or row.shared_with)
            more = (0, root.buffers, copies, root.buffers + copies)
            amounts = {root.total + number for number in more}
        if self.count.in_bytes:
            amounts.update(measures.sizes_in_bytes(amount))
        return any(n in admitted for admitted in self.bounds for n in amounts)

    def _misfit(self, near: Sequence[NamedModel]) -> StatedOutcome | None:
        """Of a count that fits none of the models of its binding, nor of those `near`; None where
        it is about something else, or may be."""
        count, confirms = self.count, self.binding.confirms
        model = next((m for m in self.models if m.is_default), self.models[0])
        text = " ".join((*count.names, *count.sentence)) if not count.is_name else ""
        if measures.is_of_named_part(text, self.bounds, model.measured):
            return None
        if _INFERENCE.search(count.text) and measures.is_fused(self.bounds, model.measured):
            return self._of(model, "right", self.binding.strength)
        texts = (*count.cells, *count.above[:1])
        because = self.binding.because + WITH_ITS_CLASSES
        of_data = measures.with_classes_of(texts, model.measured)
        for amount in of_data:
            if any(amount in admitted for admitted in self.bounds):
                right = self._of(model, "right", "likely")
                return replace(right, actual=amount, because=because)
        # What was not counted, or not in the way in which the project builds it, may fit.
        is_unknown = self.names.has_namesake(model) or self.names.are_only_defaults(self.models)
        if len(of_data) == 1 and self._off(of_data[0]) < self._distance(model):
            is_far = not any(is_about(of_data[0], b.declared or 0, _FAR) for b in self.bounds)
            wrong = self._of(model, "wrong", "likely")
            wrong = replace(wrong, actual=of_data[0], because=because)
            return None if confirms or is_unknown or is_far else wrong
        explanation = self._explanation(model)
        if not explanation and self._is_far(model) and self._is_of_network(model):
            return None  # "a 260K parameter model with RMSNorm"
        if not explanation and model.is_named_by_class and not self._is_of_task(model):
            return None  # a detector that is called by its backbone
        if not explanation and (confirms or (is_unknown and not count.definition)):
            return None
        if self._is_clear(model, near) and not measures.is_of_other_form(explanation):
            return self._of(model, "wrong", self.binding.strength, explanation)
        if not explanation:  # of several, it is most likely about the nearest
            model = min(self.models, key=self._distance)
            if self.binding.because == model_names.THE_ONLY and self._is_far(model):
                return None  # "a 7B model" is another
        return self._of(model, "wrong", "likely", explanation)

    def _explanation(self, model: NamedModel) -> str:
        """Which other count of a model, or whose, this is."""
        count, confirms = self.count, self.binding.confirms
        if (count.of_larger and confirms) or self._is_rough(model):
            return ""
        explain = measures.mebi_for_million if confirms else measures.fitting_measure
        explanation = explain("this", self.bounds, model.measured)
        if explanation or confirms or not count.is_name:
            return explanation
        other = self._fitting(self.names.beside(model))
        return f"{OF_ANOTHER}{other.name} has" if other else ""

    def _is_rough(self, model: NamedModel) -> bool:
        """Whether a number of two or three digits is so near to what a model has that some part of
        the model makes up for it by chance."""
        amount = model.amount(self.count) or 0
        return any(
            is_about(amount, b.declared or 0, _NEAR)
            and (b.high or 0) - (b.low or 0) > amount * _ROUGH
            for b in self.bounds
        )

    def _is_far(self, model: NamedModel) -> bool:
        amount = model.amount(self.count) or 0
        return not any(is_about(amount, b.declared or 0, _FAR) for b in self.bounds)

    def _is_of_network(self, model: NamedModel) -> bool:
        """Whether the number may be that of a network around it, which people call by the name of
        its backbone."""
        amount = model.amount(self.count) or 0
        is_larger = any((b.declared or 0) > amount for b in self.bounds)
        return is_larger and model.report.bare in self.names.inside

    def _distance(self, model: NamedModel) -> int | Fraction:
        return self._off(model.amount(self.count) or 0)

    def _off(self, amount: int) -> int | Fraction:
        return min(abs(amount - (admitted.declared or 0)) for admitted in self.bounds)

    # --- whether a wrong count is certainly about a model -----------------------------------------

    def _is_clear(self, model: NamedModel, near: Iterable[NamedModel]) -> bool:
        return (
            self._is_of(model)
            and self._is_near(model)
            and model_names.is_plain(self.count, model)
            and not (
                self.binding.confirms
                or model.is_chosen
                or self._is_any_size(model, near)
                or self._is_rounded_up(model)
                or _INFERENCE.search(self.count.text)
                or measures.training_parts(model.measured)
                or self.names.of_two_forms & model.spellings
            )
        )

    def _is_of(self, model: NamedModel) -> bool:
        """Whether a count that fits none of the models is that of one of them. Of several with
        different counts it may be about one that was not counted, unless the name is that of a
        class or a factory whose defaults are one of them. Of a class whose budgets say its
        arguments, no other way to build it was tried; and what a script builds may not be known. A
        test builds what is small, and so does what stands below a class to try it."""
        models, bare = self.models, model.report.bare
        ways = [m.report.way for m in models if m.report.way]
        is_of_test = any(TEST_FILE.search(way.position.path) for way in ways)
        here = {way.position.path for way in ways if way.kind == "call"}
        is_tried = len(ways) == len(models) and here == {bare.partition("::")[0]}
        is_of_class = self.count.is_name and not self.count.definition and model.is_named_by_class
        is_of_test |= is_tried and is_of_class and self._is_far(model)
        is_gap = bare in self.names.gaps and model.name not in self.names.by_path
        if is_of_test or is_gap or self._is_of_network(model) or self.names.has_namesake(model):
            return False
        is_called = model.is_size or not model.has_arguments
        if len({m.amount(self.count) for m in models}) == 1 and is_called:
            return True
        is_one = len({m.report.bare for m in models}) == 1 and any(m.is_default for m in models)
        return is_one and bare not in self.names.unsure

    def _is_any_size(self, model: NamedModel, near: Iterable[NamedModel]) -> bool:
        """Whether a class is named, of which there are several sizes, and its defaults are one of
        them: each has a name of its own, so that the class alone may be any."""
        if self.count.definition or not model.is_named_by_class:
            return False
        kind = model.measured.type
        others = (m for m in near if m.measured.type == kind and not m.is_named_by_class)
        amounts = {m.amount(self.count) for m in others}
        return len(amounts) > 1 and model.amount(self.count) in amounts

    def _is_near(self, model: NamedModel) -> bool:
        """Whether a text means this model by its name, rather than what it is a part of, or has as
        a part. About a downstream task it often has another head, or none. What is called an
        encoder is no model, unless the text calls it that. And `base` is that of a model of the
        same folder."""
        count, path = self.count, self.at.path
        file = model.report.bare.partition("::")[0]
        is_here = within([parent(path)])(file) or not model_names.is_size(model.name)
        text = (*count.names, *count.sentence, *count.above, *count.heads)
        called = (posixpath.basename(file), model_names.called(model.report.target))
        is_whole = path == file or _parts(*called) <= _parts(*text)
        return is_here and self._is_of_task(model) and is_whole

    def _is_of_task(self, model: NamedModel) -> bool:
        """Whether a model is for the downstream task that a text is about, or neither for any."""
        task = _tasks(parent(model.report.bare.partition("::")[0]))
        text_tasks = _tasks(parent(self.at.path), *self.count.above[:1], *self.count.heads)
        return task <= text_tasks and bool(task) == bool(text_tasks)

    def _is_rounded_up(self, model: NamedModel) -> bool:
        """Whether a number is so little too large that somebody rounded it up."""
        amount = model.amount(self.count) or 0
        for bounds in self.bounds:
            declared, high = bounds.declared or 0, bounds.high or 0
            unit = high + 1 - declared
            if declared - unit < amount < declared <= amount * _ROUNDED_UP:
                return True
        return False


def _tasks(*texts: str) -> set[str]:
    """The downstream tasks that texts name."""
    return {match[0].lower() for text in texts for match in _TASK.finditer(text)}


def _parts(*texts: str) -> set[str]:
    """The words for a part of a model that texts have."""
    words = (word.lower() for text in texts for word in model_names.PIECE.findall(text))
    return {word.removesuffix("s") for word in words} & _PARTS


def sizes_in_names(names: ModelNames, told: Iterable[StatedOutcome]) -> Iterator[StatedOutcome]:
    """Models that are called after a number of parameters, such as `olmo2_1M` or `7B.yml`, and have
    another. As people round it at will, no such name is wrong for certain, nor one by less than a
    half; nor that of a model whose count a text states rightly (`told`): it is of something
    else, as is a number of operations in a table."""
    places = set()
    told = [*told]
    right = {outcome.name for outcome in told if outcome.verdict == "right"}
    operations = {
        cell
        for count in (outcome.count for outcome in told)
        for head, cell in zip(count.heads, count.cells, strict=False)
        if _OPERATIONS.search(head)
    }
    for models in names.by_key.values():
        model = models[0]
        if model.name in right:
            continue
        matches = [*_SIZE_IN_NAME.finditer(model.name)]
        is_of_parts = len(matches) != 1 or _OF_EXPERTS.search(model.name)
        if is_of_parts or not all(map(_stands_for_itself, models)):
            continue  # `CLIP-ViT-39M-Text-19M` names its parts
        match = matches[0]
        if match[0] in operations:
            continue
        last = re.split("[._p]", match["number"])[-1]  # of `qwen2_5_7b`
        whole = re.sub("[_p]", ".", match["number"])
        is_short = match["suffix"].lower() == "b" and re.fullmatch(r"\d\d", whole)
        pointless = [f"{whole[0]}.{whole[1]}"] if is_short else []  # `qwen3_17B`, `dasheng_06B`
        texts = dict.fromkeys((whole, last, *pointless))
        readings = tuple(parse_value(text + match["suffix"].upper()) for text in texts)
        amounts = [m.measured.counts.total for m in models]
        sizes = [value.bounds().declared or 0 for value in readings]
        if any(is_about(n, size) for size in sizes for n in amounts):
            continue
        if match["suffix"] == "b" and _has_blocks(model, match["number"]):
            continue
        at = model.report.way.position if model.report.way else model.report.position
        count = StatedCount(model.name, readings, Selector("total"), at.line, at.column)
        if (at, match[0]) not in places:
            places.add((at, match[0]))
            because = f"{match[0]} stands in its name"
            rest = model.measured.modules[0].non_embedding
            is_rest = any(is_about(rest, size) for size in sizes)
            explanation = f"without embeddings it has {rest:,}" if is_rest else ""
            named = model.report, model.name, amounts[0]
            yield StatedOutcome(at, count, "wrong", "likely", *named, because, explanation)


def _stands_for_itself(model: NamedModel) -> bool:
    """Whether a model is no part of others, or one that has a size."""
    way = model.report.way
    return model.report.top_level or (way is not None and way.kind == "size")


def _has_blocks(model: NamedModel, number: str) -> bool:
    """Whether a model has so many parts of one kind: `vit_16b` is no 16 billion."""
    last = f".{int(number) - 1}" if number.isdigit() else ""
    paths = {row.path for row in model.measured.modules}
    lists = {path.removesuffix(last) for path in paths if last and path.endswith(last)}
    return any(f"{path}.{number}" not in paths for path in lists)


def is_about(amount: int, stated: int | Fraction, times: Fraction = _ROUNDED) -> bool:
    """Whether a number is that of a model and some parts more, or fewer, or rounded at will: at
    most so many times as large, or as small."""
    return stated / times <= amount <= stated * times
