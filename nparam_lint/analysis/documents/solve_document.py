"""The document of `solve`: one table of arguments for all models and budgets, and how to build
them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from nparam_lint import report as doc
from nparam_lint.analysis.solutions import Solved
from nparam_lint.claims.grammar import proportion
from nparam_lint.ground.metrics import METRICS
from nparam_lint.report import style
from nparam_lint.report.json_records import JsonDocument, record
from nparam_lint.report.style import clean

if TYPE_CHECKING:
    from nparam_lint.analysis.solutions import CaseForm, Met, Solutions

_GOALS = {"closest": "closest to", "under": "no more than", "exact": "exactly"}


def solve_document(solutions: Solutions) -> doc.Document:
    met = ((one, best) for one in solutions.targets for best in one.points)
    return doc.Document(
        "solve",
        lambda: _data(solutions),
        lambda o: doc.Page(() if solutions.error else tuple(_Sections(solutions, o).all())),
        solutions.error,
        lines=tuple(f"{best.call}: {best.count:,} ({_off(best, one.budget)})" for one, best in met),
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


def _data(solutions: Solutions) -> SolveDocument:
    budgets = solutions.budgets
    return record(SolveDocument, solutions, budget=budgets[0] if len(budgets) == 1 else None)


def _off(met: Met, budget: int) -> str:
    off = met.count - budget
    return f"{off:+,}" if off else "exact"


class _Sections:
    def __init__(self, solutions: Solutions, options: doc.Options) -> None:
        self.solutions, self.options = solutions, options
        self.targets = style.grouped(solutions.targets, lambda one: one.target)
        # The callable alone where that tells a target from the others.
        names = {target: clean(target).partition("::")[2] for target in self.targets}
        every = list(names.values())
        full = {t: name if every.count(name) == 1 else clean(t) for t, name in names.items()}
        short = style.elide_apart(full.values(), options.width // 3)
        self.labels = {target: short[text] for target, text in full.items()}
        self.several = len(self.targets) > 1

    def all(self) -> Iterator[doc.Section]:
        *more, last = (f"{budget:,}" for budget in self.solutions.budgets)
        budgets = f"{', '.join(more)} and {last}" if more else last
        headline = f"{_GOALS[self.solutions.goal]} {budgets} {METRICS[self.solutions.metric].words}"
        yield doc.Section((doc.Text(headline, "dim", hang="  "),))
        if not self.several:
            yield self.titled(self.solutions.targets[0])
        if any(one.points for one in self.solutions.targets):
            yield doc.Section((self.table(),))
        yield doc.Section(tuple(self.absent()))
        if self.several and self.options.verbose:
            for found in self.targets.values():
                yield self.titled(found[0], tuple(self.calls(found)))
        calls = () if self.several else tuple(self.calls(self.solutions.targets))
        notes = tuple(doc.Text(note, "dim", hang="  ") for note in self.told(self.notes))
        yield doc.Section((*calls, *notes))
        yield doc.Section(tuple(self.defaults()))

    def titled(self, one: Solved, calls: tuple[doc.Text, ...] = ()) -> doc.Section:
        forms = (text for case in one.forms for text in self.form(case))
        return doc.Section((*forms, *calls), one.target)

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
        header = "model" if self.several else "budget" if len(self.solutions.budgets) > 1 else ""
        points = [met for one in self.solutions.targets for met in one.points]
        names = list(dict.fromkeys(name for met in points for name in met.values))
        arguments = [doc.Column("arguments", "words")]
        narrow = self.laid_out(header, arguments, lambda met: [" ".join(_given(met.values))])
        if not all(met.values.keys() >= {*names} for met in points):
            return narrow
        columns = [doc.Column(name, "number") for name in names]
        wide = self.laid_out(header, columns, lambda met: [str(met.values[n]) for n in names])
        return replace(wide, narrow=narrow)

    def laid_out(
        self, header: str, arguments: list[doc.Column], written: Callable[[Met], list[str]]
    ) -> doc.Table:
        """The rows of one budget together; a label stands once for all rows that it is true of."""
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
            for one in self.solutions.targets:
                if one.budget != budget:
                    continue
                name = indent + self.labels[one.target] if self.several else label
                for place, met in enumerate(one.points):
                    off = met.count - budget
                    share = proportion(off, budget)
                    met_cells = [f"{met.count:,}", _off(met, budget), share]
                    rows.append(["" if place else name, *written(met), *met_cells])
                if not one.points:
                    rows.append([name, *blank, "–", "", ""])
        cells = (doc.Row(tuple(row if header else row[1:])) for row in rows)
        return doc.Table((*labels, *arguments, *numbers), tuple(cells))

    # --- words ---

    def absent(self) -> Iterator[doc.Text]:
        for one in self.solutions.targets:
            if one.reason is not None:
                about = self.about([one], self.targets[one.target])
                text = ": ".join(filter(None, (about, one.reason)))
                yield doc.Text(f"– {text}", "red", hang="  ")

    def about(self, found: Sequence[Solved], every: Sequence[Solved]) -> str:
        """Which of the answers of one target these are; nothing where there are no others."""
        budgets = ""
        if len(found) < len(every):
            budgets = ", ".join(f"{one.budget:,}" for one in found)
        if not self.several:
            return budgets
        label = self.labels[found[0].target]
        return f"{label} at {budgets}" if budgets else label

    def calls(self, found: Sequence[Solved]) -> Iterator[doc.Text]:
        """How to build the best of each budget; with -v, all of them."""
        indent = "  " if self.several else ""
        widest = max((len(f"{one.budget:,}") for one in found), default=0)
        for one in found:
            best = "nearest" if one.reason else "best"
            before = best if len(found) == 1 else f"{one.budget:,}".rjust(widest)
            for place, met in enumerate(one.points):
                if place == 0 or self.options.verbose:
                    hang = " " * (len(indent + before) + 2)
                    head = hang if place else f"{indent}{before}: "
                    yield doc.Text(met.call, "", head, hang)

    def told(self, texts: Callable[[Solved], Iterator[str]]) -> list[str]:
        """What is to be said, and, before it, about which answers, where it is not about all."""
        said: dict[str, dict[str, list[Solved]]] = {}
        answers = [one for one in self.solutions.targets if one.points]
        every = style.grouped(answers, lambda one: one.target)
        for one in answers:
            for text in texts(one):
                said.setdefault(text, {}).setdefault(one.target, []).append(one)
        found = []
        for text, about in said.items():
            whom = "; ".join(self.about(own, every[target]) for target, own in about.items())
            everybody = sum(map(len, about.values())) == len(answers)
            found.append(text if everybody or not whom else f"{whom}: {text}")
        return found

    def notes(self, one: Solved) -> Iterator[str]:
        best = "no others are nearer" + (" within the defaults" if any(_defaults(one)) else "")
        yield f"each was built; {'; '.join(one.doubts) or best}"
        if one.nearer is not None:
            off = _off(one.nearer, one.budget)
            yield f"nearer with --free: {one.nearer.call} ({one.nearer.count:,}, {off})"
        if one.idle:
            names = " and ".join(_given(one.idle))
            yield f"left as in the call, since the count is the same: {names}"
        if one.refused:
            yield f"{one.refused} more that the model rejected"

    def defaults(self) -> Iterator[doc.Text]:
        """What was not asked for by the user."""
        texts = self.told(_defaults)
        if texts:
            other = "--vary sets others" if self.solutions.is_free else "--free lifts them"
            yield doc.Text(f"defaults ({other}):", "dim")
        for text in texts:
            yield doc.Text(text, "dim", "  ", "    ")


def _defaults(one: Solved) -> Iterator[str]:
    limits = ", ".join(f"{name}={low}..{high}" for name, (low, high) in one.limits.items())
    if limits:
        yield f"{limits}: half to twice the call's proportions"


def _given(values: Mapping[str, int]) -> Iterator[str]:
    return (f"{name}={value}" for name, value in values.items())
