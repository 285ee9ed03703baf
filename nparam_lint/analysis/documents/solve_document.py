"""The document of `solve`: one table of arguments for all models and budgets, and how to build
them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from nparam_lint import report as doc
from nparam_lint.analysis.solutions import CaseForm, Met, Solutions, Solved
from nparam_lint.ground.grouping import grouped
from nparam_lint.ground.metrics import METRICS
from nparam_lint.ground.values import proportion
from nparam_lint.report import style
from nparam_lint.report.json_records import JsonDocument, record

_GOALS = {"closest": "closest to", "under": "no more than", "exact": "exactly"}


def solve_document(solutions: Solutions) -> doc.Document:
    budgets = solutions.budgets
    return doc.Document(
        "solve",
        lambda: record(SolveDocument, solutions, budget=budgets[0] if len(budgets) == 1 else None),
        lambda o: doc.Page(() if solutions.error else tuple(_Sections(solutions, o).all())),
        solutions.error,
        lines=tuple(
            f"{point.call}: {point.count:,} ({_off(point, answer.budget)})"
            for answer in solutions.targets
            for point in answer.points
        ),
    )


@dataclass(kw_only=True)
class SolveDocument(JsonDocument):
    """`targets` has one entry for each target and budget; `budget` is null where there are
    several."""

    budget: int | None
    goal: str
    budgets: Sequence[int]
    targets: Sequence[Solved]
    seconds: float
    is_free: bool
    metric: str
    error: str | None


def _off(point: Met, budget: int) -> str:
    off = point.count - budget
    return f"{off:+,}" if off else "exact"


class _Sections:
    def __init__(self, solutions: Solutions, options: doc.Options) -> None:
        self.solutions, self.options = solutions, options
        self.targets = grouped(solutions.targets, lambda answer: answer.target)
        # The callable alone where that tells a target from the others.
        names = {target: target.partition("::")[2] for target in self.targets}
        counts = Counter(names.values())
        full = {t: name if counts[name] == 1 else t for t, name in names.items()}
        short = style.elide_apart(full.values(), options.width // 3)
        self.labels = {target: short[text] for target, text in full.items()}
        self.several = len(self.targets) > 1

    def all(self) -> Iterator[doc.Section]:
        *more, last = (f"{budget:,}" for budget in self.solutions.budgets)
        budgets = f"{', '.join(more)} and {last}" if more else last
        headline = f"{_GOALS[self.solutions.goal]} {budgets} {METRICS[self.solutions.metric].words}"
        yield doc.Section((doc.Text(headline, "dim", hang="  "),))
        if not self.several:
            yield self.section(self.solutions.targets[0])
        if any(answer.points for answer in self.solutions.targets):
            yield doc.Section((self.table(),))
        yield doc.Section(tuple(self.absent()))
        if self.several and self.options.verbose:
            for answers in self.targets.values():
                yield self.section(answers[0], tuple(self.calls(answers)))
        calls = () if self.several else tuple(self.calls(self.solutions.targets))
        notes = tuple(doc.Text(note, "dim", hang="  ") for note in self.sayings(self.notes))
        yield doc.Section((*calls, *notes))
        yield doc.Section(tuple(self.defaults()))

    def section(self, answer: Solved, calls: tuple[doc.Text, ...] = ()) -> doc.Section:
        forms = (text for case in answer.forms for text in self.form(case))
        return doc.Section((*forms, *calls), answer.target)

    def form(self, case: CaseForm) -> Iterator[doc.Text]:
        """On one line, if it fits there."""
        line = f"{case.form}  where {case.where}"
        if case.where and len(line) + 2 <= self.options.width:
            yield doc.Text(line, "", "  ", "    ", "verbatim")
            return
        yield doc.Text(case.form, "", "  ", "    ", "formula")
        if case.where:
            yield doc.Text(f"where {case.where}", "", "    ", "      ")

    # --- the table ---

    def table(self) -> doc.Table:
        """A column for each argument where all solutions have the same; else, and where these do
        not fit, one of `name=value`."""
        points = [point for answer in self.solutions.targets for point in answer.points]
        names = list(dict.fromkeys(name for point in points for name in point.values))
        arguments = [doc.Column("arguments", "words")]
        narrow = self.layout(arguments, lambda values: [" ".join(_equations(values))])
        if not all(point.values.keys() >= {*names} for point in points):
            return narrow
        columns = [doc.Column(name, "number") for name in names]
        wide = self.layout(columns, lambda values: [str(values[name]) for name in names])
        return replace(wide, narrow=narrow)

    def layout(
        self, arguments: list[doc.Column], cells_of: Callable[[Mapping[str, int]], list[str]]
    ) -> doc.Table:
        """The rows of one budget together; a label stands once for all rows that it is true of."""
        header = "model" if self.several else "budget" if len(self.solutions.budgets) > 1 else ""
        unit = METRICS[self.solutions.metric].unit
        numbers = [doc.Column(name, "number") for name in (unit, "off", "")]
        labels = [doc.Column(header, "number" if header == "budget" else "text")] if header else []
        blank = [""] * len(arguments)
        rows: list[list[str]] = []
        for budget in self.solutions.budgets:
            label, indent = f"{budget:,}", ""
            if self.several and len(self.solutions.budgets) > 1:
                rows.append([label, *blank, "", "", ""])
                indent = "  "
            for answer in self.solutions.targets:
                if answer.budget != budget:
                    continue
                name = indent + self.labels[answer.target] if self.several else label
                for place, point in enumerate(answer.points):
                    share = proportion(point.count - budget, budget)
                    counts = [f"{point.count:,}", _off(point, budget), share]
                    rows.append(["" if place else name, *cells_of(point.values), *counts])
                if not answer.points:
                    rows.append([name, *blank, "–", "", ""])
        cells = (doc.Row(tuple(row if header else row[1:])) for row in rows)
        return doc.Table((*labels, *arguments, *numbers), tuple(cells))

    # --- words ---

    def absent(self) -> Iterator[doc.Text]:
        for answer in self.solutions.targets:
            if answer.reason is not None:
                about = self.about([answer], self.targets[answer.target])
                text = ": ".join(filter(None, (about, answer.reason)))
                yield doc.Text(f"– {text}", "red", hang="  ")

    def about(self, answers: Sequence[Solved], every: Sequence[Solved]) -> str:
        """Which of the answers of one target these are; nothing where there are no others."""
        budgets = ""
        if len(answers) < len(every):
            budgets = ", ".join(f"{answer.budget:,}" for answer in answers)
        if not self.several:
            return budgets
        label = self.labels[answers[0].target]
        return f"{label} at {budgets}" if budgets else label

    def calls(self, answers: Sequence[Solved]) -> Iterator[doc.Text]:
        """How to build the best of each budget; with -v, all of them."""
        indent = "  " if self.several else ""
        widest = max((len(f"{answer.budget:,}") for answer in answers), default=0)
        for answer in answers:
            best = "nearest" if answer.reason else "best"
            label = best if len(answers) == 1 else f"{answer.budget:,}".rjust(widest)
            head = f"{indent}{label}: "
            hang = " " * len(head)
            points = answer.points if self.options.verbose else answer.points[:1]
            for place, point in enumerate(points):
                yield doc.Text(point.call, "", hang if place else head, hang)

    def sayings(self, texts: Callable[[Solved], Iterator[str]]) -> list[str]:
        """What is to be said, and, before it, about which answers, where it is not about all."""
        answers = [answer for answer in self.solutions.targets if answer.points]
        by_target = grouped(answers, lambda answer: answer.target)
        by_text: dict[str, list[Solved]] = {}
        for answer in answers:
            for text in texts(answer):
                by_text.setdefault(text, []).append(answer)
        notes = []
        for text, about in by_text.items():
            groups = grouped(about, lambda answer: answer.target)
            whom = "; ".join(self.about(part, by_target[target]) for target, part in groups.items())
            notes.append(text if len(about) == len(answers) or not whom else f"{whom}: {text}")
        return notes

    def notes(self, answer: Solved) -> Iterator[str]:
        best = "no others are nearer" + (" within the defaults" if answer.limits else "")
        yield f"each was built; {'; '.join(answer.doubts) or best}"
        if (point := answer.nearer) is not None:
            off = _off(point, answer.budget)
            yield f"nearer with --free: {point.call} ({point.count:,}, {off})"
        if answer.idle:
            names = " and ".join(_equations(answer.idle))
            yield f"left as in the call, since the count is the same: {names}"
        if answer.refused:
            yield f"{answer.refused} more that the model rejected"

    def defaults(self) -> Iterator[doc.Text]:
        """What was not asked for by the user."""
        texts = self.sayings(_defaults)
        if texts:
            step = "--vary sets others" if self.solutions.is_free else "--free lifts them"
            yield doc.Text(f"defaults ({step}):", "dim")
        for text in texts:
            yield doc.Text(text, "dim", "  ", "    ")


def _defaults(answer: Solved) -> Iterator[str]:
    if answer.limits:
        limits = ", ".join(f"{name}={low}..{high}" for name, (low, high) in answer.limits.items())
        yield f"{limits}: half to twice the call's proportions"


def _equations(values: Mapping[str, int]) -> Iterator[str]:
    return (f"{name}={value}" for name, value in values.items())
