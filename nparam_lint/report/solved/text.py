"""The arguments for people: one table for all models and budgets."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nparam_lint.report import style
from nparam_lint.report.solved.rows import Row, table
from nparam_lint.report.style import Paint, clean
from nparam_lint.report.text import NARROWEST

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from nparam_lint.report import Options
    from nparam_lint.report.solved import Solution, Solved

_GOALS = {"closest": "closest to", "under": "no more than", "exact": "exactly"}


def render(solution: Solution, options: Options) -> str:
    page = _Page(solution, replace(options, width=max(options.width, NARROWEST)))
    return "\n\n".join("\n".join(lines) for lines in page.sections() if lines) + "\n"


class _Page:
    def __init__(self, solution: Solution, options: Options) -> None:
        self.solution, self.options = solution, options
        self.paint = Paint(options.color)
        self.targets: dict[str, list[Solved]] = {}
        for one in solution.targets:
            self.targets.setdefault(one.target, []).append(one)
        self.labels = _labels(list(self.targets), options.width // 3)
        self.several = len(self.targets) > 1

    def sections(self) -> Iterator[list[str]]:
        *more, last = (f"{budget:,}" for budget in self.solution.budgets)
        budgets = f"{', '.join(more)} and {last}" if more else last
        yield self.dim(f"{_GOALS[self.solution.goal]} {budgets} parameters")
        if not self.several:
            yield self.title(self.solution.targets[0])
        rows = self.rows()
        if any(row.met for row in rows):
            header = "model" if self.several else "budget" if len(self.solution.budgets) > 1 else ""
            yield table(rows, header, self.options.width, self.paint)
        yield self.absent()
        if self.several and self.options.verbose:
            for found in self.targets.values():
                yield [*self.title(found[0]), *self.calls(found)]
        calls = [] if self.several else self.calls(self.solution.targets)
        notes = [line for note in self.notes() for line in self.dim(note)]
        yield [*calls, *notes, *self.limits()]

    def dim(self, text: str) -> list[str]:
        return [self.paint("dim", line) for line in style.wrap(text, self.options.width, hang="  ")]

    def title(self, one: Solved) -> list[str]:
        width = self.options.width
        lines = [self.paint("bold", style.elide_target(clean(one.target), width))]
        return lines + (style.wrap_formula(one.form, width, "  ", "    ") if one.form else [])

    def rows(self) -> list[Row]:
        """Those of one budget together; a label stands once for all rows that it is true of."""
        rows: list[Row] = []
        for budget in self.solution.budgets:
            label = f"{budget:,}"
            indent = ""
            if self.several and len(self.solution.budgets) > 1:
                rows.append(Row(label))
                indent = "  "
            for one in self.solution.targets:
                if one.budget == budget:
                    name = indent + self.labels[one.target] if self.several else label
                    rows += [
                        Row("" if place else name, budget, met)
                        for place, met in enumerate(one.points)
                    ] or [Row(name, budget, absent=True)]
        return rows

    def absent(self) -> list[str]:
        lines = []
        for one in self.solution.targets:
            if one.reason is not None:
                about = self.about([one])
                text = f"– {about}: {one.reason}" if about else f"– {one.reason}"
                lines += style.wrap(clean(text), self.options.width, hang="  ")
        return [self.paint("red", line) for line in lines]

    def about(self, found: Sequence[Solved]) -> str:
        """Which of all answers these are, all of one target; nothing where there are no others."""
        budgets = ""
        if len(found) < len(self.targets[found[0].target]):
            budgets = ", ".join(f"{one.budget:,}" for one in found)
        if not self.several:
            return budgets
        label = self.labels[found[0].target]
        return f"{label} at {budgets}" if budgets else label

    def calls(self, found: Sequence[Solved]) -> list[str]:
        """How to build the best of each budget; with -v, all of them."""
        indent = "  " if self.several else ""
        widest = max((len(f"{one.budget:,}") for one in found), default=0)
        lines = []
        for one in found:
            before = "best" if len(found) == 1 else f"{one.budget:,}".rjust(widest)
            for place, met in enumerate(one.points):
                if place == 0 or self.options.verbose:
                    hang = " " * (len(indent + before) + 2)
                    name = f"{indent}{before}: " if place == 0 else hang
                    lines += style.wrap(clean(met.call), self.options.width, name, hang)
        return lines

    # --- notes ---

    def notes(self) -> list[str]:
        """What is to be said, and, before it, about which answers, where it is not about all."""
        said: dict[str, dict[str, list[Solved]]] = {}
        answers = [one for one in self.solution.targets if one.points]
        for one in answers:
            for text in self.notes_of(one):
                said.setdefault(text, {}).setdefault(one.target, []).append(one)
        notes = []
        for text, about in said.items():
            whom = "; ".join(map(self.about, about.values()))
            everybody = sum(map(len, about.values())) == len(answers)
            notes.append(text if everybody or not whom else f"{whom}: {text}")
        return notes

    def notes_of(self, one: Solved) -> Iterator[str]:
        if one.is_best:
            how = "no others are nearer" + (" within the limits" if one.limits else "")
        elif one.cut:
            how = "there are more combinations than were looked at: set narrower limits"
        elif not one.form:
            how = "no closed form: others that were not built may be nearer"
        else:
            how = f"the closed form does not hold for {one.strayed} more"
        yield f"each was built; {how}"
        alone = len(self.targets[one.target]) == 1 and (not self.several or self.options.verbose)
        if alone and one.solved and one.combinations > 1:
            yield f"{one.solved} solved for {one.combinations:,} combinations of the others"
        if one.idle:
            names = " and ".join(f"{name}={value}" for name, value in one.idle.items())
            yield f"left as in the call, since the count is the same: {names}"
        if one.refused:
            yield f"{one.refused} more that the model refused"

    def limits(self) -> list[str]:
        """Those that nobody asked for."""
        told = "half to twice the call's proportions; --vary sets others"
        lines = []
        for one in self.solution.targets:
            if one.points and one.limits:
                names = ((name, low, high) for name, (low, high) in one.limits.items())
                limits = ", ".join(f"{name}={low}..{high}" for name, low, high in names)
                if not (about := self.about([one])):
                    return self.dim(f"limits: {limits} ({told})")
                lines += style.wrap(f"{about}: {limits}", self.options.width, "  ", "    ")
        head = self.dim(f"limits ({told}):") if lines else []
        return [*head, *(self.paint("dim", line) for line in lines)]


def _labels(targets: Sequence[str], width: int) -> Mapping[str, str]:
    """The callable alone where that tells a target from the others."""
    names = {target: clean(target).partition("::")[2] for target in targets}
    known = list(names.values())
    full = {t: name if known.count(name) == 1 else clean(t) for t, name in names.items()}
    short = style.elide_apart(full.values(), width)
    return {target: short[text] for target, text in full.items()}
