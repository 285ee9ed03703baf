"""One model, built with other arguments than those in its target."""

from __future__ import annotations

import dataclasses
import re
from collections import defaultdict
from fractions import Fraction
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from nparam_lint.analysis.closed_forms import limits
from nparam_lint.analysis.closed_forms.observations import (
    BuildHistory,
    Built,
    NamedParameter,
    Outcome,
    Point,
    Variable,
)
from nparam_lint.count.measured import Measured, Measurement, NotMeasured
from nparam_lint.gate import built_in_a_way
from nparam_lint.gate.building import count_models
from nparam_lint.gate.judge import UNEQUAL, selected, unmatched
from nparam_lint.gate.reading import read_alone
from nparam_lint.ground.errors import UsageError
from nparam_lint.ground.metrics import METRICS
from nparam_lint.ground.notation import Selector, Target, matches
from nparam_lint.ground.orders import Ask
from nparam_lint.ground.patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Sequence, Set

    from nparam_lint.config.session import Session
    from nparam_lint.count.measured import Environment, Traces
    from nparam_lint.gate.candidates import Candidate


_INDEX = late_pattern(r"(^|\.)\d+(\.|$)")


class NothingBuilt(UsageError):
    """Why no model can be built at all, in lines."""


class Model:
    """A target that is built many times, with different arguments."""

    def __init__(self, session: Session, target: Target, selector: Selector) -> None:
        """Raises UsageError for a class inside another model, and for a config file."""
        suffix = Path(target.location).suffix
        if target.is_path and suffix not in (".py", ".ipynb"):
            raise UsageError(
                f"{target} is a config file, and what is varied are the arguments of a call\n"
                "next: name the model that it makes: nets/gpt.py::GPT(width=64)"
            )
        if target.host:
            raise UsageError(
                f"{target} stands inside another model, and has no arguments of its own; next: ask "
                f"for the model, {target.host}, or for a part of it, such as {target.host}[h.*]"
            )
        self.target, self.selector = target, selector
        self.source = read_alone(session, target)
        # Other devices would give the same result, and take time.
        self.candidate = self.source.candidates[0].with_build(device="meta")
        has_index = bool(_INDEX.search(selector.module)) and "*" not in selector.module
        self.ask = Ask(parameters=True, metric=selector.metric, origins=has_index)
        self.origins: Set[str] = frozenset()  # of what only the selected module has
        self.environment: Environment | None = None
        self.call: Point = {}  # the arguments that it has as it is named
        self.built: Measured | None = None  # as it is named

    def first(self) -> Measurement:
        """As the target names it, or else as the project builds it; with the arguments that could
        be varied. Raises UsageError for a name, or a selector, that matches nothing."""
        measurement = self.as_named()
        source = self.candidate.needs_way(measurement) and built_in_a_way(
            self.candidate, self.source.session
        )
        if source:
            self.source, way = source, source.candidates[0]
            build = dataclasses.replace(way.build, device=self.candidate.build.device)
            self.candidate = replace(self.candidate, build=build, way=way.way)
            measurement = self.as_named()
        if isinstance(measurement, NotMeasured):
            if measurement.is_misnamed:
                raise UsageError(measurement.reason)
        elif not selected(self.selector, measurement.modules):
            paths = [row.path for row in measurement.modules if row.path]
            raise UsageError(unmatched(self.selector.module, measurement.call, paths))
        return measurement

    def as_named(self) -> Measurement:
        (measurement,) = self._builds(
            [(self.candidate, dataclasses.replace(self.ask, variables=True))]
        )
        if isinstance(measurement, Measured):
            self.built = measurement
            self.call = {row.name: row.value for row in measurement.variables}
            if self.ask.origins:
                parameters = _named(measurement)
                inside = {place for part in self.selected(parameters) for place in part}
                origins = [origin for _, origin in parameters]
                outside = {o for place, o in enumerate(origins) if place not in inside}
                self.origins = {*origins} - outside
            if measurement.rung == "meta":  # what fails from now on fails for its arguments
                self.candidate = self.candidate.with_build(device="meta only")
        return measurement

    def history(self, variables: Sequence[Variable]) -> BuildHistory:
        """For builds with other values of these; all else stays as in the call."""
        return BuildHistory(self.build, variables, self.call)

    def build(self, points: Sequence[Point]) -> list[Outcome]:
        """One build for each point, in their order. Raises NothingBuilt."""
        outcomes: list[Outcome] = []
        for measurement in self._builds([(self._at(point), self.ask) for point in points]):
            if isinstance(measurement, NotMeasured):
                outcomes.append(measurement)
            elif why := self.why_unknown(measurement):
                outcomes.append(NotMeasured("NPL004", why, cause="raised"))
            else:
                weights = measurement.weights or ["1"] * len(measurement.parameters)
                part = next(iter(self.selected(_named(measurement))), ())
                rows = tuple(measurement.parameters[place] for place in part)
                shares = tuple(Fraction(weights[place]) for place in part)
                outcomes.append(Built(rows, measurement.call, shares))
        return outcomes

    def _at(self, point: Point) -> Candidate:
        return self.candidate.with_build(vary=tuple(point.items()))

    def trace(
        self, batches: Sequence[Sequence[Point]], base: Point, seconds: float
    ) -> list[Traces | None]:
        """Build with traced numbers at these points, one job for each batch, as many as there is
        time for; None where nothing could be traced. `base`: a point that was built."""
        within = min(seconds, limits.TRACED_SHARE * self.source.settings.timeout)
        candidate, ask = self._at(base), dataclasses.replace(self.ask, seconds=within)
        pairs = (tuple(tuple(point.items()) for point in points) for points in batches)
        builds = self._builds(
            [(candidate, dataclasses.replace(ask, points=points)) for points in pairs]
        )
        return [build.traces if isinstance(build, Measured) else None for build in builds]

    def _builds(self, orders: Sequence[tuple[Candidate, Ask]]) -> list[Measurement]:
        answers = count_models(orders, self.source)
        if answers.error is not None:
            raise NothingBuilt(answers.error)
        session = replace(self.source.session, interpreter=answers.interpreter)
        self.source = replace(self.source, session=session)
        self.environment = answers.environment(["meta"])
        return [answers.measurements[number] for number in range(len(orders))]

    def why_unknown(self, measured: Measured) -> str | None:
        """Why a model that was built has no count; None where it has one."""
        metric = METRICS[self.selector.metric]
        if metric.needs_routing and measured.no_routing:
            return f"the {metric.words} are unknown: {measured.no_routing}"
        rows = selected(self.selector, measured.modules)
        return UNEQUAL if len({row.of(metric.name) for row in rows}) > 1 else None

    @property
    def hints(self) -> list[int]:
        """Whole numbers in the source of what is built: keys of its tables may be among them."""
        path = self.target.location
        if not self.target.is_path:
            return []
        source = self.source.discovery.tree.source(path).decode(errors="replace")
        definition = self.candidate.used(self.built) if self.built else None
        if definition is not None:  # its own first
            lines = source.splitlines()
            source = "\n".join(lines[definition.line - 1 :] + lines)
        numbers = dict.fromkeys(int(n) for n in re.findall(r"(?<![\d.])\d{1,5}(?![\w.])", source))
        return [n for n in numbers if n > 1][: limits.SOURCE_NUMBERS]

    def selected(self, parameters: Sequence[NamedParameter]) -> list[list[int]]:
        """For each module that the selector names, the places of its parameters. One whose place
        changes with the arguments is followed: it is the one with what only it has in the call."""
        if not self.selector.module:
            return [[*range(len(parameters))]]
        modules: dict[str, dict[int, None]] = defaultdict(dict)
        for place, (names, _) in enumerate(parameters):
            above = (p for name in names for p in accumulate(name.split(".")[:-1], "{}.{}".format))
            for path in above:
                if matches(self.selector.module, path):
                    modules[path][place] = None
        parts = [[*places] for places in modules.values()]
        origins = [origin for _, origin in parameters]
        if not self.origins or any(origins[place] in self.origins for p in parts for place in p):
            return parts
        first = next((names[0] for names, origin in parameters if origin in self.origins), None)
        if first is None:
            return []
        level = len(self.selector.module.split("."))
        path = ".".join([*first.split(".")[:level], ""])
        return [[place for place, (names, _) in enumerate(parameters) if names[0].startswith(path)]]


def _named(measured: Measured) -> list[NamedParameter]:
    """With the line that made each, and the type of the module that holds it, for its origin."""
    types = {row.path: row.type for row in measured.modules}
    return [
        ((p.name, *p.also), f"{p.source} {types[p.name.rpartition('.')[0]]}")
        for p in measured.parameters
    ]
