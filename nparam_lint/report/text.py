"""The report for people: verdicts, tables of what broke and of what is new, findings, a summary."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nparam_lint.records import Measured
from nparam_lint.report import style
from nparam_lint.report.style import Paint, by_place, clean, plural
from nparam_lint.report.table import module_table
from nparam_lint.report.verdicts import verdict_lines
from nparam_lint.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nparam_lint.records import Finding, ModelReport, Report
    from nparam_lint.report import Options

NARROWEST = 40
_TABLE_ROWS = 20


def render(report: Report, options: Options) -> str:
    options = replace(options, width=max(options.width, NARROWEST))
    paint = Paint(options.color)
    sections: list[list[str]] = []
    if not options.quiet:
        sections.append(verdict_lines(report.models, options.width, paint))
        sections += _tables(report, options, paint)
        sections.append(_skipped(report, options, paint))
    sections.append(findings_lines(report.findings, options.width, paint))
    if not options.quiet:
        sections.append(_invitation(report, options, paint))
    sections.append(_summary(report, options, paint))
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def _tables(report: Report, options: Options, paint: Paint) -> list[list[str]]:
    """Of every model with a broken budget; of others that stand for themselves, a few."""
    measured = [model for model in report.models if isinstance(model.measurement, Measured)]
    broken = [model for model in measured if _is_broken(model)]
    others = [model for model in measured if model.top_level and model not in broken]
    sections = []
    shown = 0
    for model in broken + others:
        if model in others and shown >= options.tables:
            continue
        table = _table(model, options, paint)
        shown += bool(table)
        sections.append(table)
    left = len(broken) + len(others) - len(sections)
    if left and options.tables:
        more = f"… and {plural(left, 'more table')}: nparam-lint show TARGET"
        sections.append([paint("dim", more)])
    return sections


def _is_broken(model: ModelReport) -> bool:
    return any(not budget.ok and budget.origin != "prose" for budget in model.budgets)


def _table(model: ModelReport, options: Options, paint: Paint) -> list[str]:
    assert isinstance(model.measurement, Measured)
    modules, depth = model.measurement.modules, options.depth
    lines = module_table(modules, options.width, depth, _TABLE_ROWS, paint)
    if not lines:
        return []
    title, rung = clean(model.target), model.measurement.rung
    how = "" if rung == "meta" else f"  counted on {rung}"
    title = style.elide_target(title, options.width - len(how))
    return [paint("bold", title) + paint("dim", how), *lines]


def findings_lines(findings: Sequence[Finding], width: int, paint: Paint) -> list[str]:
    """Warnings first: what must be mended stands last, next to the summary."""
    lines: list[str] = []
    advised: set[str] = set()
    for finding in sorted(findings, key=lambda f: (f.severity == "error", by_place(f))):
        lines += [""] * bool(lines) + _finding(finding, width, paint)
        if not finding.detail and finding.code in RULES and finding.code not in advised:
            advised.add(finding.code)
            lines += _detail(RULES[finding.code].remedy, width)
    codes = sorted({finding.code for finding in findings if finding.code in RULES})
    if codes:
        listed = codes[0] if len(codes) == 1 else "CODE"
        lines += ["", paint("dim", f"nparam-lint rule {listed} explains, with an example.")]
    return lines


def _finding(finding: Finding, width: int, paint: Paint) -> list[str]:
    at = finding.position
    place = f"{clean(at.path)}:{at.line}:{at.column}"
    head = f"{place}  {finding.code}"
    warning = "warning: " if finding.severity == "warning" else ""
    first, *more = style.wrap(f"{head}  {warning}{clean(finding.message)}", width, hang="    ")
    if not first.startswith(head):  # a path that fills the line, or has blanks to wrap at
        first, more = head, style.wrap(warning + clean(finding.message), width, "    ", "    ")
    color = "yellow" if warning else "red"
    painted = f"{paint('bold', place)}  {paint(color, finding.code)}{first[len(head) :]}"
    return [painted, *more, *(line for text in finding.detail for line in _detail(text, width))]


def _detail(text: str, width: int) -> list[str]:
    """As it was laid out where it fits, wrapped under its own indent where it does not."""
    lines = []
    for line in text.splitlines() or [""]:
        line = clean(line)
        indent = "    " + " " * (len(line) - len(line.lstrip()))
        fits = len(line) + 4 <= width
        lines += ["    " + line] if fits else style.wrap(line.strip(), width, indent, indent + "  ")
    return [line.rstrip() for line in lines]


def _skipped(report: Report, options: Options, paint: Paint) -> list[str]:
    if not report.skipped:
        return []
    count = len(report.skipped)
    subject = "1 model was" if count == 1 else f"{count:,} models were"
    they = "it needs" if count == 1 else "they need"
    line = f"{subject} not counted because {they} arguments"
    if not options.verbose:
        return [paint("dim", f"{line} (-v lists {'it' if count == 1 else 'them'})")]
    width = min(max(len(clean(target)) for target, _ in report.skipped), options.width // 2)
    rows = []
    for target, reason in report.skipped:
        name = style.elide_middle(clean(target), width)
        rest = style.elide_end(clean(reason), options.width - width - 4)
        rows.append(f"  {name:<{width}}  {paint('dim', rest)}")
    return [f"{line}:", *rows]


def _invitation(report: Report, options: Options, paint: Paint) -> list[str]:
    """How to declare a budget, told with a model just counted; only where none is declared."""
    if not report.models and not report.findings:
        found = "No models found" if not report.skipped else "No model was counted"
        return [f"{found} in {plural(report.files, 'file')}."]
    if any(model.declared or model.budgets for model in report.models):
        return []
    for model in sorted(report.models, key=lambda model: not model.top_level):
        if isinstance(model.measurement, Measured) and model.target.startswith(model.position.path):
            name, at = clean(model.target.partition("::")[2].partition("(")[0]), model.position
            line = f"nparam: {model.measurement.counts.total:_}"
            text = (
                "Nothing is declared yet. To hold a count, write it in the docstring of "
                f"{name} ({clean(at.path)}:{at.line}):"
            )
            return [*style.wrap(text, options.width), "", "    " + paint("green", line)]
    return []


def _summary(report: Report, options: Options, paint: Paint) -> list[str]:
    errors = [f for f in report.findings if f.severity == "error"]
    over = [f for f in errors if f.code == "NPL001"]
    others = len(errors) - len(over)
    warnings = len(report.findings) - len(errors)
    # A glob is one budget, whatever it matches.
    broken = len({(f.position, f.target) for f in over})
    held = len({(m.target, b.position) for m in report.models for b in m.budgets if b.ok})
    parts = [("", _counted(report.models))]
    if broken:
        parts.append(("red", f"{plural(broken, 'budget')} broken"))
    elif held and not errors:
        parts.append(("green", f"{plural(held, 'budget')} kept"))
    if others:
        parts.append(("red", plural(others, "other error" if broken else "error")))
    if warnings:
        parts.append(("yellow", plural(warnings, "warning")))
    parts.append(("", f"{report.seconds:.1f} s"))
    lines = _joined(parts, options.width, paint)
    if not options.quiet:
        for text in [*_environment(report), *_devices(report)]:
            lines += [paint("dim", line) for line in style.wrap(clean(text), options.width)]
    return lines


def _counted(models: Sequence[ModelReport]) -> str:
    if not models:
        return "0 models"
    measured = sum(isinstance(model.measurement, Measured) for model in models)
    cached = sum(model.measurement.cached for model in models)
    text = f"{plural(len(models), 'model')}: {measured:,} measured"
    if measured < len(models):
        text += f", {len(models) - measured:,} not measured"
    return text + (f" ({cached:,} from the cache)" if cached else "")


def _joined(parts: Sequence[tuple[str, str]], width: int, paint: Paint) -> list[str]:
    lines: list[str] = []
    used = 0
    for color, text in parts:
        if lines and used + 3 + len(text) <= width:
            lines[-1] += f" · {paint(color, text)}"
            used += 3 + len(text)
        else:
            lines.append(paint(color, text))
            used = len(text)
    return lines


def _environment(report: Report) -> list[str]:
    where = report.environment
    if where is None:
        return []
    python = f"{where.python} ({where.reason})" if where.reason else where.python
    torch = f"torch {where.torch}" if where.torch else "no torch"
    return [" · ".join([python, torch, ", ".join(where.devices)][: 3 if where.devices else 2])]


def _devices(report: Report) -> list[str]:
    """What was not asked of a device is said: it is no agreement."""
    silent: dict[tuple[str, str, str], int] = {}
    for model in report.models:
        for name, device in model.measurement.devices.items():
            if device.status != "measured":
                key = (name, device.status, device.reason or "no reason given")
                silent[key] = silent.get(key, 0) + 1
    return [
        f"{name} {status} for {plural(count, 'model')}: {reason}"
        for (name, status, reason), count in silent.items()
    ]
