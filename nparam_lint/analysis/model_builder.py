"""One model, built with other arguments than those that its target names."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nparam_lint.analysis.closed_forms.observations import Built, Outcome, Point, Refused, Tensor
from nparam_lint.claims.notation import Selector, Target, matches
from nparam_lint.discover import Discovery, discover
from nparam_lint.gate.pipeline import Asked, Progress, ask_for, count, why_broken
from nparam_lint.records import Environment, Measured, Measurement, Position

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nparam_lint.config.settings import Settings
    from nparam_lint.count.interpreter import Interpreter


class NothingBuilt(Exception):
    """Why no model can be built at all, in lines."""


class Model:
    """A target, and how to build it again and again."""

    def __init__(
        self,
        settings: Settings,
        target: Target,
        selector: Selector,
        environ: Mapping[str, str],
        progress: Progress | None = None,
    ) -> None:
        self.settings, self.environ, self.progress = settings, environ, progress
        self.target, self.selector = target, selector
        files = [target.location] if target.is_path else []
        self.found: Discovery = discover(settings.root, files, wanted=files, store=settings.store)
        self.asked: Asked = ask_for(target, Position(target.location), settings, self.found)
        self.asked.device = "meta"  # the others would say the same, and take their time
        self.interpreter: Interpreter | None = None
        self.environment: Environment | None = None

    def first(self) -> Measurement:
        """As the target names it, with the arguments that could be varied."""
        found = self._measure([{}], variables=True)[0]
        if isinstance(found, Measured) and found.rung == "meta":
            self.asked.device = "meta only"  # what fails there from now on fails for its arguments
        return found

    def build(self, points: Sequence[Point]) -> list[Outcome]:
        return [self._outcome(found) for found in self._measure(points)]

    def _measure(self, points: Sequence[Point], *, variables: bool = False) -> list[Measurement]:
        answers, self.interpreter = count(
            [replace(self.asked, vary=point) for point in points],
            self.settings,
            self.found,
            self.environ,
            self.progress,
            parameters=True,
            variables=variables,
            interpreter=self.interpreter,
        )
        if answers.broken is not None:
            raise NothingBuilt(why_broken(answers, self.interpreter))
        assert self.interpreter is not None
        self.environment = Environment(
            self.interpreter.python, self.interpreter.reason, answers.torch, ("meta",)
        )
        return [answers.measurements[number] for number in range(len(points))]

    def _outcome(self, found: Measurement) -> Outcome:
        if not isinstance(found, Measured):
            return Refused(found.reason, found.code)
        tensors = (
            Tensor(row.name, row.shape, row.source)
            for row in found.parameters
            if self._is_selected(row.name) and (row.trainable or self.selector.metric == "total")
        )
        return Built(tuple(tensors), found.call)

    def _is_selected(self, name: str) -> bool:
        """Whether a parameter lies in a module that the selector names."""
        if not self.selector.module:
            return True
        parts = name.split(".")
        above = (".".join(parts[:end]) for end in range(1, len(parts)))
        return any(matches(self.selector.module, path) for path in above)
