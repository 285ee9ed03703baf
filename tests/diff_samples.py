"""Models, reports and comparisons for the tests of `nparam-lint diff`; nothing is built."""

from __future__ import annotations

from nparam_lint.changes.model_changes import Side, compare
from nparam_lint.changes.records import Base, DiffReport
from nparam_lint.count.measured import Environment, InsideRow, Measured, ModuleRow, NotMeasured
from nparam_lint.gate.report import ModelReport, Report
from nparam_lint.ground.findings import BudgetResult, Finding
from nparam_lint.ground.notation.grammar import parse_tolerance
from nparam_lint.ground.values import Position

COMMIT = "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d"
BASE = Base("main", COMMIT, "main")
ENVIRONMENT = Environment("/venv/bin/python", "VIRTUAL_ENV", "2.13.0", ("meta",))


def rows(text: str, root: str = "Net", own: int = 0) -> tuple[ModuleRow, ...]:
    """A line for each leaf: `encoder.conv Conv2d 448`, then any of `frozen`, `buffers=64`, `half`
    (two bytes a parameter), `tied=weight = wte.weight`, `shared=path`, `also=10` (parameters at it
    that are counted elsewhere), `@model.py:5`. Containers come by themselves, unless they have a
    line of their own."""
    made: dict[str, dict[str, object]] = {"": {"type": root, "own": own}}
    for line in text.strip().splitlines():
        head, _, source = line.strip().partition(" @")
        head, _, tied = head.partition(" tied=")
        path, kind, count, *flags = head.split()
        parts = path.split(".")
        for end in range(1, len(parts)):
            made.setdefault(".".join(parts[:end]), {"type": "ModuleList", "own": 0})
        made[path] = {
            "type": kind,
            "own": int(count.replace("_", "")),
            "source": source or None,
            "tied": (tied,) if tied else (),
            "flags": flags,
        }
    return tuple(_row(path, made) for path in made)


def _row(path: str, made: dict[str, dict]) -> ModuleRow:
    below = [m for p, m in made.items() if not path or p == path or p.startswith(f"{path}.")]
    flags = [(m["own"], m.get("flags", [])) for m in below]
    total = sum(count for count, _ in flags)
    buffers = sum(int(f[8:]) for _, found in flags for f in found if f.startswith("buffers="))
    own = made[path].get("flags", [])
    total += sum(int(flag[5:]) for flag in own if flag.startswith("also="))
    frozen = sum(count for count, found in flags if "frozen" in found)
    return ModuleRow(
        path=path,
        type=str(made[path]["type"]),
        own=int(made[path]["own"]),
        total=total,
        trainable=total - frozen,
        frozen=frozen,
        buffers=buffers,
        embedding=sum(int(m["own"]) for m in below if m["type"] == "Embedding"),
        bytes=4 * buffers + sum(count * (2 if "half" in found else 4) for count, found in flags),
        source=made[path].get("source"),
        tied=made[path].get("tied", ()),
        shared_with=next((f[7:] for f in own if f.startswith("shared=")), None),
    )


def measured(modules: str | tuple[ModuleRow, ...], call: str = "Net()", **more: object) -> Measured:
    if isinstance(modules, str):
        modules = rows(modules, call.partition("(")[0])
    values = {"type": f"nets.{call.partition('(')[0]}"} | more
    return Measured(call, modules, **values)  # type: ignore[arg-type]


def model(
    target: str,
    found: str | Measured | NotMeasured,
    *budgets: BudgetResult,
    line: int = 10,
    **more: object,
) -> ModelReport:
    name = target.partition("::")[2]
    if isinstance(found, str):
        found = measured(found, name if "(" in name else f"{name}()")
    declared = bool(budgets)
    values = {"declared": declared} | more
    at = Position(target.partition("::")[0], line, 1)
    return ModelReport(target, at, found, budgets, **values)  # type: ignore[arg-type]


def budget(declared: str, actual: int | None = None, **more: object) -> BudgetResult:
    values = {
        "declared": declared,
        "selector": "",
        "low": None,
        "high": None,
        "actual": actual,
        "drift": None,
        "ok": True,
        "origin": "docstring",
        "position": Position("nets.py", 11, 9),
        "value": actual,
    } | more
    return BudgetResult(**values)  # type: ignore[arg-type]


def failed(reason: str = "No module named 'einops'", code: str = "NPL003") -> NotMeasured:
    return NotMeasured(code, reason, cause="raised")


def needs(*names: str) -> NotMeasured:
    reason = f"needs {', '.join(names)}"
    return NotMeasured("NPL004", reason, missing=names, cause="arguments_missing")


def report(*models: ModelReport, **more: object) -> Report:
    values = {"environment": ENVIRONMENT, "findings": (), "files": 3, "seconds": 1.0} | more
    return Report(models=models, **values)  # type: ignore[arg-type]


def diff(
    before: Report | list[ModelReport],
    after: Report | list[ModelReport],
    tolerance: str | None = None,
    unreadable: tuple[dict[str, str], dict[str, str]] = ({}, {}),
    **more: object,
) -> DiffReport:
    sides = [
        Side(side if isinstance(side, Report) else report(*side), lost)
        for side, lost in zip((before, after), unreadable, strict=True)
    ]
    limit = parse_tolerance(tolerance) if tolerance else None
    return compare(*sides, BASE, tolerance=limit, **more)  # type: ignore[arg-type]


def finding(code: str, target: str, path: str = "nets.py", line: int = 11) -> Finding:
    return Finding(code, "error", Position(path, line, 9), f"a finding about {target}", target)


SIX = "\n".join(f"part{i} Linear {10 * i}" for i in range(1, 7))


# --- samples for the formats ----------------------------------------------------------------------


def gpt(blocks: int = 12, hidden: int = 4, tied: bool = True) -> tuple[ModuleRow, ...]:
    """Of width 768: `hidden` times as wide in the middle."""
    lines = ["wte Embedding 38_633_472 @gpt.py:20"]
    for i in range(blocks):
        lines += [
            f"h.{i}.attn Linear 2_362_368 @gpt.py:7",
            f"h.{i}.fc Linear {hidden * 768 * 769} @gpt.py:8",
            f"h.{i}.proj Linear {hidden * 768 * 768 + 768} @gpt.py:9",
        ]
    tie = " tied=weight = wte.weight" if tied else ""
    lines.append(f"head Linear {0 if tied else 38_633_472}{tie} @gpt.py:23")
    return rows("\n".join(lines), "GPT")


def samples() -> DiffReport:
    """Everything that can become of a model, once."""
    encoder = "conv1 Conv2d 448\nconv2 Conv2d 4_640\nbn BatchNorm2d 128 buffers=65\nfc Linear 650"
    frozen = encoder.replace("4_640", "4_640 frozen")
    there = "".join(f"\n{name}.fc Linear 30 @net.py:31" for name in ("a", "b"))
    old_budget = budget("123_651_072", position=Position("gpt.py", 12, 9))
    new_budget = budget("137_816_064", 137_816_064, position=Position("gpt.py", 12, 9))
    block = InsideRow("gpt.py::Block", "Block()", ("h.0", "h.1"), 5_315_328)
    now_gpt = measured(gpt(hidden=5), "GPT()", inside=(block,))
    before = [
        model("gpt.py::GPT", measured(gpt(), "GPT()"), old_budget),
        model("gpt.py::Block", "attn Linear 2_362_368\nfc Linear 2_362_368", top_level=False),
        model("net.py::Encoder", encoder),
        model("net.py::Frozen", encoder, line=20),
        model("net.py::Grown", there, line=30),
        model("net.py::Old", "fc Linear 16", line=40),
        model("net.py::ViT", "fc Linear 1_000", line=50),
        model("zoo/old.py::Tiny", encoder),
    ]
    after = [
        model("gpt.py::GPT", now_gpt, new_budget),
        model("gpt.py::Block", "attn Linear 2_362_368\nfc Linear 2_952_960", top_level=False),
        model("net.py::Encoder", encoder),
        model("net.py::Frozen", frozen, line=20),
        model("net.py::Grown", there + "\nc Linear 5 @net.py:33", line=30),
        model("net.py::Probe", "fc Linear 77", line=60),
        model("net.py::ViT", failed(), budget("1_000"), line=50),
        model("zoo/new.py::Tiny", encoder),
    ]
    now = report(*after, findings=(finding("NPL003", "net.py::ViT", "net.py", 51),))
    return diff(
        report(*before, skipped=(("net.py::Needs", needs("width")),)),
        Report(**{**_fields(now), "skipped": (("net.py::Needs", needs("width", "depth")),)}),
        "0.5%",
        moved={"zoo/old.py": "zoo/new.py"},
    )


def _fields(found: Report) -> dict[str, object]:
    return {name: getattr(found, name) for name in Report.__struct_fields__}
