"""Reports in words, as they stand on pages: a line for each model, and for what else there is.

Of a model: its target and its parameters, or `failed` and why, or `like` a sample; behind each `|`
what else is known; below it its modules (`path type own`, any of `frozen`, `tied to other.weight`)
and findings, with two spaces each. `;` is between the lines of a detail or of a text. A budget is
as declared, `[of what]`, and its count; then what it should be, unless it holds; its place, and the
module that it is about.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import report_samples
from msgspec.structs import replace
from report_samples import ENVIRONMENT, budget, measured, model, report, rows

from nparam_lint.count.measured import DeviceResult, Hidden, InsideRow, NotMeasured
from nparam_lint.discover.definitions import Containment
from nparam_lint.gate.report import FailedWay, ModelReport, Report, StatedOutcome
from nparam_lint.ground.findings import Finding
from nparam_lint.ground.values import Position, Way

if TYPE_CHECKING:
    from nparam_lint.ground.findings import BudgetResult

_ENVIRONMENTS = {"none": None, "without torch": replace(ENVIRONMENT, torch=None, devices=())}
_ENVIRONMENTS["bare"] = replace(ENVIRONMENT, torch=None, devices=(), reason="")
_SETTING = r"(error|environment|named|files|test_files|seconds): (.*)"
_TARGET = r"(\S+::[^ (]+(?:\(.*?\))?)"
_WAY = r"(call|size|config) (?:(\S+) )?at (\S+:\d+)(?: (.*))?"
_FAILURE = r"(NPL\d+) (\w+)(?: of (\S+))?(?: without ([\w, ]+))?: (.*?)(?: next: (.*))?"
_BUDGET = r"budget (.*?)(?:\[(.*)\])? = (\d+|–)(?:, not (\d+))?(?: at (\S+:\d+:\d+))?(?: in (\S+))?"
_FINDING = r"(NPL\d+) (error|warning) at (\S+?)(?: of (\S+))?: (.*)"
_DEVICE = r"device (\S+) (measured|failed|skipped|absent)(?: (\d+))?(?:, (\d+) bytes)?(?:: (.*))?"


def report_of(text: str) -> Report:
    models: list[ModelReport] = []
    findings: list[Finding] = []
    lists: dict[str, list[Any]] = {"skipped": [], "failed_ways": [], "ways_left": [], "stated": []}
    more: dict[str, Any] = {}
    users, returns, recipes = dict[str, tuple[str, ...]](), dict[str, str](), {}
    for block in re.split(r"\n(?! )", text.strip("\n")):
        line, _, below = block.partition("\n")
        if found := re.fullmatch(f"skipped {_TARGET} {_FAILURE}", line):
            lists["skipped"].append((found[1], _failure(*found.groups()[1:])))
        elif found := re.fullmatch(f"failed {_TARGET} {_WAY}: {_FAILURE}", line):
            way, why = _way(*found.groups()[1:5]), _failure(*found.groups()[5:])
            lists["failed_ways"].append(FailedWay(found[1], way, why))
        elif found := re.fullmatch(rf"(\d+) ways left of {_TARGET}", line):
            lists["ways_left"].append((found[2], int(found[1])))
        elif found := re.fullmatch(rf"{_TARGET} is part of (.*)", line):
            users[found[1]] = tuple(found[2].split(", "))
        elif found := re.fullmatch(rf"{_TARGET} returns (\S+)", line):
            returns[found[1]] = found[2]
        elif found := re.fullmatch(rf"recipe of {_TARGET}: (.*)", line):
            recipes[found[1]] = tuple(found[2].split("; "))
        elif found := re.fullmatch("stated right at (.*)", line):
            lists["stated"].append(StatedOutcome(_place(found[1]), None, "right", "certain"))  # type: ignore[arg-type]
        elif found := re.fullmatch(_FINDING, line):
            findings.append(_finding(found, ""))
        elif found := re.fullmatch(
            r"(error|environment|named|files|test_files|seconds): (.*)", line
        ):
            more[found[1]] = _setting(found[1], found[2])
        elif line:
            models.append(_model(line, below))
    more |= {name: tuple(values) for name, values in lists.items()}
    more |= {"containment": Containment(users, returns), "recipes": recipes}
    return report(*models, besides=findings, **more)


def _setting(name: str, text: str) -> object:
    if name == "environment":
        return _ENVIRONMENTS[text]
    if name == "named":
        return frozenset(text.split())
    if name == "error":
        return text.replace("; ", "\n")
    return float(text) if name == "seconds" else int(text)


def _model(line: str, below: str) -> ModelReport:
    head, *facts = line.split(" | ")
    if head.startswith("like "):
        made: ModelReport = getattr(report_samples, head.split()[1])()
    elif found := re.fullmatch(f"{_TARGET} failed {_FAILURE}", head):
        made = model(found[1], _failure(*found.groups()[1:]))
    else:
        target, total = re.fullmatch(r"(.+?)(?: (\d+))?", head).groups()  # type: ignore[union-attr]
        made = model(target, measured(rows([("", "Net", int(total or 0))])))
    leaves, frozen, tied = [], [], {}
    for text in below.splitlines():
        if text.startswith("  | "):
            facts.append(text[4:])
            continue
        if found := re.fullmatch(_FINDING, text.strip()):
            made = replace(made, findings=(*made.findings, _finding(found, made.target)))
            continue
        path, kind, own, *flags = text.split()
        path = path.removeprefix("(root)")
        leaves.append((path, kind, int(own)))
        frozen += [path] * ("frozen" in flags)
        if "tied" in flags:
            tied[path] = (f"weight = {flags[-2]}", int(flags[-1]))
    if leaves:
        modules = rows(leaves, frozen=frozen, tied=tied)
        made = replace(made, measurement=replace(made.measurement, modules=modules))
    for fact in facts:
        made = _with(made, fact)
    return made


def _with(made: ModelReport, fact: str) -> ModelReport:
    """The model, of which one thing more is known."""
    found = made.measurement
    if fact in ("declared", "a part"):
        name = {"declared": "declared", "a part": "top_level"}[fact]
        return replace(made, **{name: fact == "declared"})
    if at := re.fullmatch("at (.*)", fact):
        return replace(made, position=_place(at[1]))
    if way := re.fullmatch(_WAY, fact):
        return replace(made, way=_way(*way.groups()))
    if said := re.fullmatch(_BUDGET, fact):
        return replace(made, budgets=(*made.budgets, _budget(*said.groups())))
    if fact == "cached":
        return replace(made, measurement=replace(found, cached=True))
    if said := re.fullmatch(_DEVICE, fact):
        one = {said[1]: _device(*said.groups()[1:])}
        return replace(made, measurement=replace(found, devices={**found.devices, **one}))
    if said := re.fullmatch(r"hides (\d+) in (\S*) \((.*?)\)(?: at (\S+))?", fact):
        one = Hidden(said[2], int(said[1]), said[3], said[4])
        return replace(made, measurement=replace(found, hidden=(*found.hidden, one)))
    if said := re.fullmatch(r"inside (\S+) (\d+) in (\S+)", fact):
        call = f"{said[1].rpartition('::')[2]}()"
        one = InsideRow(said[1], call, tuple(said[3].split(",")), int(said[2]))
        return replace(made, measurement=replace(found, inside=(*found.inside, one)))
    name, value = _OF_MEASURED[fact.split()[0]](fact.partition(" ")[2])
    return replace(made, measurement=replace(found, **{name: value}))


_OF_MEASURED = {
    "of": lambda text: ("type", text),
    "has": lambda text: ("types", tuple(text.split())),
    "built": lambda text: ("call", text.removeprefix("as ")),
    "note": lambda text: ("notes", (text,)),
    "routing": lambda text: ("no_routing", text.removeprefix("unknown: ")),
}


def _place(text: str) -> Position:
    path, *numbers = re.fullmatch(r"(.*?)(?::(\d+))?(?::(\d+))?", text).groups()  # type: ignore[union-attr]
    return Position(path, *(int(number) for number in numbers if number))


def _way(kind: str, name: str | None, place: str, note: str | None) -> Way:
    return Way(kind, _place(place), name or "", note or "")  # type: ignore[arg-type]


def _failure(
    code: str, cause: str, package: str | None, missing: str | None, why: str, hint: str | None
) -> NotMeasured:
    names = tuple(missing.split(", ")) if missing else ()
    why = why.replace(" ⏎ ", "\n")
    return NotMeasured(code, why, cause, hint, missing=names, package=package)  # type: ignore[arg-type]


def _budget(
    declared: str,
    selector: str | None,
    actual: str,
    bound: str | None,
    place: str | None,
    module: str | None,
) -> BudgetResult:
    count = None if actual == "–" else int(actual)
    low = int(bound) if bound else count
    at = _place(place) if place else report_samples.PLACE
    return budget(count, low, low, declared, selector or "", at=at, module=module)


def _finding(found: re.Match[str], target: str) -> Finding:
    code, severity, place, about, text = found.groups()
    message, *detail = text.split("; ")
    return Finding(code, severity, _place(place), message, about or target, tuple(detail))  # type: ignore[arg-type]


def _device(status: str, total: str | None, memory: str | None, reason: str | None) -> DeviceResult:
    why, *differences = reason.split("; ") if reason else (None,)
    absent = status == "absent"
    numbers = (int(text) if text else None for text in (total, memory))
    counted, taken = numbers
    kind = "skipped" if absent else status
    return DeviceResult(kind, counted, why, taken, tuple(differences), absent)  # type: ignore[arg-type]
