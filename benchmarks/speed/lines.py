"""What it costs to know which line made each parameter."""

from __future__ import annotations

import json
import shutil
import statistics
from pathlib import Path
from typing import TYPE_CHECKING

from speed.measure import Invalid, Result, Target, compare
from speed.models_text import BLOCK

if TYPE_CHECKING:
    from speed.measure import Bench, Row

_LAUNCH = Path(__file__).parents[2] / "nparam_lint" / "worker" / "launch.py"
_PROJECT = f"""\
import timm
import torch.nn as nn
from transformers import LlamaConfig, LlamaForCausalLM


{BLOCK}

class GPT(nn.Module):
    def __init__(self, n=96, d=1024):
        super().__init__()
        self.wte = nn.Embedding(50000, d)
        self.h = nn.ModuleList([Block(d) for _ in range(n)])
"""
_CALLS = (
    "GPT()",
    "timm.create_model('vit_huge_patch14_224')",
    "timm.create_model('efficientnet_b7')",
    "LlamaForCausalLM(LlamaConfig())",
)


def lines(bench: Bench) -> Result:
    """Processor seconds to build and count a large model on the meta device, in the worker's way.

    Ours: noting for each module and parameter the line that made it, and the lines that led there,
    and summing up what each line made. Theirs: the same build without that. The two take turns in
    one process. The models are a plain GPT of 96 blocks, and models of
    timm and transformers, both copied into the project, so that every line of them is its own.
    """
    bench.needs("timm", "transformers")
    root = bench.folder("lines")
    for package in ("timm", "transformers"):
        code = f"import importlib.util as u; print(u.find_spec('{package}').origin)"
        source = Path(bench.run([bench.python, "-c", code], root).out.strip()).parent
        shutil.copytree(source, root / package, ignore=shutil.ignore_patterns("__pycache__"))
    (root / "models.py").write_text(_PROJECT, encoding="utf-8")
    out, calls = root / "out.json", [f"models::{call}" for call in _CALLS]
    often = str(bench.size(25, 3))
    bench.inside("attribution.py", str(_LAUNCH), str(root), str(out), often, *calls, cwd=root)
    answer = json.loads(out.read_text(encoding="utf-8"))
    rows = [_row(call, answer[f"models::{call}"]["seconds"]) for call in _CALLS]
    if any(not one["lines"] for one in answer.values()):
        raise Invalid("a model has no lines")
    found = ", ".join(f"{one['lines']}" for one in answer.values())
    mean = statistics.geometric_mean(row.ratio for row in rows if row.ratio)
    return Result(rows, [f"lines that make parameters: {found}; mean of the ratios: {mean:.2f}"])


def _row(call: str, pairs: list[list[float]]) -> Row:
    ours, theirs = zip(*pairs, strict=True)
    name = call.removeprefix("timm.create_model").strip("()'").partition("(")[0]
    return compare(f"{name}: with / without", ours, theirs, Target(1.2))
