"""Reports made by hand: the values that a run would pass to a formatter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from nparam_lint.count.measured import (
    DeviceResult,
    Environment,
    Hidden,
    Measured,
    ModuleRow,
    NotMeasured,
    ParameterRow,
)
from nparam_lint.gate.report import ModelReport, Report
from nparam_lint.ground.findings import BudgetResult, Finding
from nparam_lint.ground.values import Position

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PLACE = Position("model.py", 12, 5)
ENVIRONMENT = Environment(".venv/bin/python", "the project's .venv", "2.9.0", ("meta",))


def rows(
    leaves: Iterable[tuple[str, str, int]],
    *,
    frozen: Sequence[str] = (),
    tied: dict[str, tuple[str, int]] | None = None,
    types: dict[str, str] | None = None,
) -> tuple[ModuleRow, ...]:
    """From `(path, type, own)` the rows of a model, with the containers between. `tied`: path →
    (text, parameters that appeared before). `frozen`: paths whose own parameters are frozen."""
    tied = tied or {}
    own: dict[str, int] = {"": 0}
    kind: dict[str, str] = {"": "Model"}
    for path, type_, count in leaves:
        parts = path.split(".") if path else []
        for end in range(1, len(parts)):
            own.setdefault(".".join(parts[:end]), 0)
            kind.setdefault(".".join(parts[:end]), "ModuleList")
        own[path], kind[path] = count, type_
    kind |= types or {}
    total, cold = dict.fromkeys(own, 0), dict.fromkeys(own, 0)
    for path, count in own.items():
        parts = path.split(".") if path else []
        for above in {"", *(".".join(parts[:end]) for end in range(1, len(parts) + 1))}:
            # A tie within the root is met before: it is no part of the root's total twice.
            total[above] += count + (tied[path][1] if above and path in tied else 0)
            cold[above] += count if path in frozen else 0
    made = [
        ModuleRow(
            path=path,
            type=kind[path],
            own=own[path],
            total=total[path],
            trainable=total[path] - cold[path],
            frozen=cold[path],
            buffers=0,
            bytes=4 * total[path],
            source=f"model.py:{10 + number}",
            tied=(tied[path][0],) if path in tied else (),
        )
        for number, path in enumerate(own)
    ]
    return tuple(made)


def measured(modules: tuple[ModuleRow, ...], call: str = "Model()", **more: object) -> Measured:
    return Measured(call, modules, **more)  # type: ignore[arg-type]


def budget(
    actual: int | None,
    low: int | None,
    high: int | None,
    declared: str = "",
    selector: str = "",
    *,
    origin: str = "docstring",
    at: Position = PLACE,
    module: str | None = None,
) -> BudgetResult:
    ok = actual is not None and (low or 0) <= actual and (high is None or actual <= high)
    ends = [end for end in (low, high) if end is not None]
    value = None if actual is None else min(ends, key=lambda end: abs(end - actual), default=actual)
    return BudgetResult(
        declared=declared or f"{low:_}",
        selector=selector,
        low=low,
        high=high,
        actual=actual,
        drift=(actual - value) / value if actual is not None and value else None,
        ok=ok,
        origin=origin,  # type: ignore[arg-type]
        position=at,
        module=module,
        value=value,
    )


def model(target: str, measurement: Measured | NotMeasured, **more: object) -> ModelReport:
    path = target.partition("::")[0]
    return ModelReport(target, Position(path, 10, 1), measurement, **more)  # type: ignore[arg-type]


def report(*models: ModelReport, besides: Iterable[Finding] = (), **more: object) -> Report:
    """`besides`: findings that are about none of the models."""
    findings = sorted(
        (*(finding for model in models for finding in model.findings), *besides),
        key=lambda finding: (finding.position.path, finding.position.line),
    )
    values = {"environment": ENVIRONMENT, "findings": tuple(findings), "files": 3, "seconds": 1.84}
    return Report(models=models, **(values | more))  # type: ignore[arg-type]


def gpt(blocks: int = 12, width: int = 768, vocabulary: int = 50304) -> tuple[ModuleRow, ...]:
    """A GPT-2 whose head is tied to its token embedding."""
    h = [
        (f"transformer.h.{i}.{path}", kind, count)
        for i in range(blocks)
        for path, kind, count in (
            ("ln_1", "LayerNorm", width),
            ("attn.c_attn", "Linear", 3 * width * width),
            ("attn.c_proj", "Linear", width * width),
            ("attn.dropout", "Dropout", 0),
            ("ln_2", "LayerNorm", width),
            ("mlp.c_fc", "Linear", 4 * width * width),
            ("mlp.c_proj", "Linear", 4 * width * width),
        )
    ]
    types = {"": "GPT", "transformer": "ModuleDict"}
    types |= {f"transformer.h.{i}": "Block" for i in range(blocks)}
    types |= {f"transformer.h.{i}.attn": "CausalSelfAttention" for i in range(blocks)}
    types |= {f"transformer.h.{i}.mlp": "MLP" for i in range(blocks)}
    return rows(
        [
            ("transformer.wte", "Embedding", vocabulary * width),
            ("transformer.wpe", "Embedding", 1024 * width),
            ("transformer.drop", "Dropout", 0),
            *h,
            ("transformer.ln_f", "LayerNorm", width),
            ("lm_head", "Linear", 0),
        ],
        types=types,
        tied={"lm_head": ("weight = transformer.wte.weight", vocabulary * width)},
    )


def net() -> tuple[ModuleRow, ...]:
    """A classifier whose root holds a parameter and whose first layer is frozen."""
    leaves = [
        ("", "Net", 16),
        ("hidden", "Linear", 100_480),
        ("act", "ReLU", 0),
        ("out", "Linear", 1_290),
    ]
    return rows(leaves, frozen=["hidden"], types={"": "Net"})


def broken_finding(path: str = "net.py", line: int = 12) -> Finding:
    return Finding(
        "NPL001",
        "error",
        Position(path, line, 5),
        "Net has 101,786 parameters, declared 50_890: +50,896 (+100.01 %)",
        f"{path}::Net",
        ("hidden  100,480", "out       1,290", "nparam-lint update net.py::Net"),
    )


def broken_net() -> ModelReport:
    at = Position("net.py", 12, 5)
    return model(
        "net.py::Net",
        measured(net(), "Net()"),
        budgets=(budget(101_786, 50_890, 50_890, at=at),),
        findings=(broken_finding(),),
        declared=True,
    )


def glob_gpt() -> ModelReport:
    at = Position("nanogpt/model.py", 121, 9)
    modules = gpt()
    block = next(row.total for row in modules if row.path == "transformer.h.0")
    each = [
        budget(block, block, block, selector="transformer.h.*", module=f"transformer.h.{i}", at=at)
        for i in range(12)
    ]
    total = modules[0].total
    main = budget(total, total, total, at=Position("nanogpt/model.py", 120, 9))
    some = budget(total, None, 130_000_000, "<= 130M", "trainable")
    return model(
        "nanogpt/model.py::GPT",
        measured(modules, "GPT(GPTConfig())", devices={"meta": DeviceResult("measured", total)}),
        budgets=(main, *each, some),
        declared=True,
    )


def needs(*names: str) -> NotMeasured:
    reason = f"needs {', '.join(names)}"
    return NotMeasured("NPL004", reason, missing=names, cause="arguments_missing")


def unmeasured() -> ModelReport:
    reason = "TypeError: UNet.__init__() missing 1 required positional argument: 'channels'"
    finding = Finding(
        "NPL004", "error", Position("models/unet.py", 10, 1), f"cannot build UNet: {reason}"
    )
    return model(
        "models/unet.py::UNet",
        NotMeasured(
            "NPL004",
            reason,
            hint="give it: nparam(channels=3): …",
            missing=("channels",),
            cause="arguments_missing",
        ),
        findings=(finding,),
        declared=True,
    )


MISSTATED = Finding(
    "NPL013",
    "warning",
    Position("zoo/tiny.py", 3, 5),
    "the docstring says ~2K, TinyAE has 4,996 parameters",
)


def tiny() -> ModelReport:
    return model(
        "zoo/tiny.py::TinyAE",
        measured(rows([("encoder", "Linear", 2_996), ("decoder", "Linear", 2_000)])),
    )


def unicode_net() -> ModelReport:
    leaves = [("größe", "Линейный", 1_000), ("β", "Linear", 24)]
    notes = ("λ is kept on CPU",)
    hidden = (Hidden("experts", 16_640, "4 modules in a plain list", "µ.py:7"),)
    parameter = ParameterRow("größe.weight", (10, 100), "float32", True, also=("β.weight",))
    return model(
        "modèles/µ.py::Größe",
        measured(rows(leaves), notes=notes, hidden=hidden, parameters=(parameter,)),
    )


def long_named() -> ModelReport:
    path = "research/experiments/2024_ablation_of_residual_streams/backbones/very_deep_network.py"
    return model(f"{path}::VeryDeepNetworkWithManyResidualStreams", measured(net()))


def everything() -> Report:
    return report(
        glob_gpt(),
        broken_net(),
        unmeasured(),
        tiny(),
        unicode_net(),
        long_named(),
        model("huge.py::GPT3", measured(gpt(96, 12_288), rung="cpu")),
        skipped=(("zoo/a.py::A", needs("width", "depth")), ("zoo/b.py::B", needs("cfg"))),
        besides=(MISSTATED,),
    )


HOSTILE = (
    "<script>alert('x\"')</script>\n::error::one\r\n ##[error]two %0A`|` ``` \x1b[31m \x00 "
    "\udcff \ud800 é\u2028# @everyone #1 ]]> {0} </details> --> 模型 \U0001f600"
)


def hostile() -> Report:
    """Every text of a report is one that breaks some document."""
    at = Position(f"dir/{HOSTILE}.py", 3, 5)
    row = rows([("a", "Linear", 10), ("b", "Linear", 5)])
    modules = (row[0], *(replace(r, path=f"{HOSTILE} {r.path}", type=HOSTILE) for r in row[1:]))
    modules = tuple(replace(r, source=f"{HOSTILE}:7", tied=(HOSTILE,)) for r in modules)
    broken = replace(budget(15, 3, 3, HOSTILE, HOSTILE, at=at, module=HOSTILE), reason=HOSTILE)
    finding = Finding("NPL001", "error", at, HOSTILE, f"{HOSTILE}::{HOSTILE}", (HOSTILE, "  x"))
    found = measured(
        modules,
        HOSTILE,
        notes=(HOSTILE,),
        hidden=(Hidden(HOSTILE, 3, HOSTILE, HOSTILE),),
        devices={HOSTILE: DeviceResult("failed", None, HOSTILE, None, (HOSTILE,))},
    )
    missing = NotMeasured(
        "NPL004",
        HOSTILE,
        hint=HOSTILE,
        missing=(HOSTILE,),
        cause="package_missing",
        package=HOSTILE,
        source=HOSTILE,
        output=HOSTILE,
    )
    other = replace(finding, code="NPL004", position=Position(HOSTILE, 9, 1))
    return report(
        model(
            f"{HOSTILE}::{HOSTILE}", found, budgets=(broken,), findings=(finding,), declared=True
        ),
        model(
            f"{HOSTILE}::B",
            missing,
            budgets=(budget(None, None, None, HOSTILE, at=other.position),),
            findings=(other,),
            declared=True,
        ),
        findings=(finding, other, Finding("NPL002", "warning", Position(HOSTILE), HOSTILE)),
        skipped=((f"{HOSTILE}::C", replace(missing, hint=None)),),
        environment=replace(ENVIRONMENT, python=HOSTILE, reason=HOSTILE, devices=(HOSTILE,)),
    )


def failed(
    text: str = "no model can be built with .venv/bin/python\n  it says: no torch",
) -> Report:
    return report(error=text, environment=None, seconds=0.0)


def many(count: int, severity: str = "error") -> Report:
    """Models that are off by 1, 2, 3 … of 1,000; the worst is the last."""
    models = []
    for index in range(1, count + 1):
        at = Position(f"n{index:05}.py", 12, 5)
        finding = Finding(
            "NPL001",
            severity,  # type: ignore[arg-type]
            at,
            f"Net has {1_000 + index:,} parameters, declared 1,000: +{index:,}",
            f"{at.path}::Net",
        )
        parts = rows([("a", "Linear", 990 + index), ("b", "Linear", 10)])
        models.append(
            model(
                finding.target,
                measured(parts),
                budgets=(budget(1_000 + index, 1_000, 1_000, at=at),),
                findings=(finding,),
                declared=True,
            )
        )
    return report(*models)
