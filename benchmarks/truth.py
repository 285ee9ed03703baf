"""Sweeps published parameter counts with the tool itself, run as its users run it.

    python benchmarks/truth.py TRUTH --python VENV/bin/python --clone litgpt=DIR --clone nanoGPT=DIR

Run it in the environment that has nparam-lint; `--python` names the one that has torch and the
packages of the models. TRUTH is a directory of JSON files, each a list of records: `code` (imports
and definitions, then one expression that builds a model), `expected` (null: only `measured` is
known) with `unit` and `decimals` where it is rounded, `kind` (which count), `measured` (by a plain
loop), `match`, and `cause` where the published number is another. A record with `expression`,
`valid_for` and `samples` is a closed form, checked for each sample.

Every file becomes one scratch project with a config budget for each record, and one run of the
tool. Where one import and one call say it all, the budget is `timm::create_model('resnet50')`;
where it takes more imports, it has `setup` and `call`; otherwise it is a factory in a file.

Exit code 1: a count is wrong or missing, and the record gives no cause.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = dict[str, Any]

SUFFIXES = {10**3: "k", 10**6: "M", 10**9: "B", 10**12: "T"}


@dataclass(frozen=True, slots=True)
class Record:
    """One claim. `arguments`: the values of a closed form's variables, which its factory takes."""

    id: str
    code: str
    declared: str
    kind: str
    measured: int | None
    cause: str | None = None
    arguments: dict[str, int] = field(default_factory=dict)


def read_records(entry: Json, clones: dict[str, str]) -> Iterator[Record]:
    """The claims of one entry of a truth file; `clones` stand for their {name} in its code."""
    code = entry["valid_for" if "samples" in entry else "code"]
    for name, path in clones.items():
        code = code.replace("{" + name + "}", path)
    if "samples" in entry:
        for name in entry["variables"]:
            code = code.replace("{" + name + "}", name)
        kind = "non_embedding" if entry["exclude"] else "total"
        declared = entry["expression"] + ("" if entry["exactness"] == "exact" else " ± 1%")
        for number, sample in enumerate(entry["samples"]):
            claim = Record(f"{entry['id']}@{number}", code, declared, kind, sample["measured"])
            yield replace(claim, arguments=sample["variables"])
        return
    expected = entry["measured"] if entry["expected"] is None else entry["expected"]
    declared = f"{expected}"
    if entry.get("unit"):
        declared = f"{expected:.{entry['decimals']}f}{SUFFIXES[entry['unit']]}"
    cause = entry.get("cause") if entry["match"] is False else None
    yield Record(entry["id"], code, declared, entry["kind"], entry["measured"], cause)


# --- the scratch project ----------------------------------------------------------------------


class Project:
    """A directory with a config, and with files of factories for what no config line can say."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.budgets: dict[str, Json] = {}
        self.recipes: dict[str, Json] = {}  # target -> how it is built
        self.targets: dict[str, str] = {}  # record id -> target
        self.files: dict[str, list[str]] = {}  # imports and definitions -> factories

    def add(self, record: Record) -> None:
        made = None if record.arguments else installed(record.code)
        # A key has one budget and one recipe: another claim under it gets a function of its own.
        if made is None or not self.declare(record, *made):
            self.declare(record, self.factory(record), {})  # always a new key

    def declare(self, record: Record, target: str, recipe: Json) -> bool:
        """Whether the budget could be declared: nothing else is under its key."""
        key = target + f"[{record.kind}]".removesuffix("[total]")
        budget = {"budget": record.declared} | recipe
        if self.recipes.setdefault(target, recipe) != recipe:
            return False
        self.targets[record.id] = target
        return self.budgets.setdefault(key, budget) == budget

    def factory(self, record: Record) -> str:
        """The target of a function that returns the model, in a file with what its code needs."""
        *statements, expression = ast.parse(record.code).body
        assert isinstance(expression, ast.Expr)
        work = [s for s in statements if isinstance(s, ast.Assign | ast.With)]
        head = [ast.unparse(s) for s in statements if s not in work]
        factories = self.files.setdefault("\n".join(head), [])
        name = f"model_{len(factories) + 1}"
        lines = [f"def {name}({', '.join(record.arguments)}):"]
        for statement in [*work, ast.Return(expression.value)]:
            lines += [f"    {line}" for line in ast.unparse(statement).splitlines()]
        factories.append("\n".join(lines))
        number = list(self.files.values()).index(factories) + 1
        values = ", ".join(f"{k}={v}" for k, v in record.arguments.items())
        return f"records_{number}.py::{name}" + (f"({values})" if values else "")

    def write(self) -> Path:
        for number, (head, factories) in enumerate(self.files.items(), 1):
            text = "\n\n\n".join([head, *factories])
            (self.root / f"records_{number}.py").write_text(text + "\n", encoding="utf-8")
        lines = ['device = "meta"', "", "[budgets]"]
        for key, budget in self.budgets.items():
            inside = ", ".join(f"{name} = {json.dumps(text)}" for name, text in budget.items())
            lines.append(f"{json.dumps(key)} = {{ {inside} }}")
        config = self.root / "nparam-lint.toml"
        config.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return config


def installed(code: str) -> tuple[str, Json] | None:
    """The target of a call that imports alone lead to, and its recipe where it takes several."""
    *statements, last = ast.parse(code).body
    call = last.value if isinstance(last, ast.Expr) else None
    imports = [s for s in statements if isinstance(s, ast.Import | ast.ImportFrom)]
    if not isinstance(call, ast.Call) or len(imports) < len(statements):
        return None
    text, function = ast.unparse(call), ast.unparse(call.func)
    root, *rest = function.split(".")
    for statement, alias in [(s, a) for s in imports for a in s.names]:
        if (alias.asname or alias.name.split(".")[0]) != root:
            continue
        target = f"{alias.name if alias.asname else root}::{'.'.join(rest)}"
        if isinstance(statement, ast.ImportFrom):
            target = f"{statement.module}::{'.'.join([alias.name, *rest])}"
        if len(imports) == 1:
            return target + text.removeprefix(function), {}
        return target, {"setup": "\n".join(map(ast.unparse, imports)), "call": text}
    return None


def run(python: str | None, config: Path) -> Json:
    """The tool's report on a project, through its public command."""
    command = [sys.executable, "-m", "nparam_lint", "--declared", "--config", str(config)]
    command += ["--format", "json", *(["--python", python] if python else [])]
    done = subprocess.run(command, cwd=config.parent, stdout=subprocess.PIPE, check=False)
    (config.parent / "report.json").write_bytes(done.stdout)
    try:
        report: Json = json.loads(done.stdout)
    except ValueError:
        raise SystemExit(f"no report (exit status {done.returncode}) on {config}") from None
    return report


# --- verdicts ---------------------------------------------------------------------------------


def judge(record: Record, model: Json | None, messages: str) -> tuple[str, str]:
    """(verdict, why) of one record; `messages`: the findings about its target."""
    if model is None:
        return "not measured", f"not in the report: {messages}"
    if model["status"] != "measured":
        rungs = [f"{name}: {device.get('reason')}" for name, device in model["devices"].items()]
        why = "; ".join([f"{model['code']} {model['reason']}", *rungs])
        return ("drift explained", record.cause) if record.cause else ("not measured", why)
    judged = {(b["selector"] or "total", b["declared"]): b for b in model["budgets"]}
    budget = judged.get((record.kind, record.declared))
    if budget is None:
        return "unsupported metric", f"[{record.kind}] {messages}"
    why = f"declared {record.declared}, counted {budget['actual']:,} ({model['rung']})"
    if record.measured not in (None, budget["actual"]):
        return "wrong", f"{why}, a plain loop counts {record.measured:,}"
    if budget["ok"]:
        return "right", ""
    return ("drift explained", f"{why}: {record.cause}") if record.cause else ("wrong", why)


def check_file(name: str, records: list[Record], root: Path, python: str | None) -> Counter[str]:
    """How many records of one file have which verdict; prints those that are not right."""
    project = Project(root)
    for record in records:
        if why_not(record) is None:
            project.add(record)
    start = time.monotonic()
    report = run(python, project.write()) if project.budgets else {"models": []}
    seconds = time.monotonic() - start
    models = {model["target"]: model for model in report["models"]}
    verdicts: Counter[str] = Counter()
    for record in records:
        verdict, why = "skipped", why_not(record)
        if target := project.targets.get(record.id):
            found = [f for f in report["findings"] if f["target"] == target]
            messages = "; ".join(f"{f['code']} {f['message']}" for f in found)
            verdict, why = judge(record, models.get(target), messages)
        verdicts[verdict] += 1
        if verdict != "right":
            print(f"  {verdict}: {record.id}: {why}")
    rungs = Counter(model.get("rung", "not measured") for model in models.values())
    built = f"{len(models)} models in {seconds:.1f} s, {show(rungs)}"
    print(f"{name}: {show(verdicts)}; {built}", flush=True)
    return verdicts


def why_not(record: Record) -> str | None:
    """Why a record says nothing about this tool; None when it does."""
    if re.search(r"'\{\w+\}'", record.code):
        return "its clone was not given"
    if record.code.rstrip().endswith(".get_num_params()"):
        return "the model's own method counts there (it leaves the positions out)"
    return None


def show(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.most_common())


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("truth", type=Path, help="directory of truth files")
    parser.add_argument("--python", help="the interpreter that has torch and the packages")
    parser.add_argument(
        "--clone", action="append", default=[], metavar="NAME=DIR", help="what {NAME} stands for"
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="records whose id has TEXT")
    parser.add_argument("--limit", type=int, metavar="N", help="the first N records of each file")
    parser.add_argument("--scratch", type=Path, help="keep projects and reports here")
    options = parser.parse_args()
    files = sorted(options.truth.glob("*.json"))
    if not files:
        parser.error(f"there are no JSON files in {options.truth}")
    named = (clone.partition("=") for clone in options.clone)
    clones = {name: str(Path(directory).resolve()) for name, _, directory in named}
    total: Counter[str] = Counter()
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="truth-") as temporary:
        for path in files:
            entries = json.loads(path.read_text(encoding="utf-8"))
            records = [r for e in entries for r in read_records(e, clones) if options.only in r.id]
            if records:
                root = (options.scratch or Path(temporary)).resolve() / path.stem
                root.mkdir(parents=True, exist_ok=True)
                total += check_file(path.stem, records[: options.limit], root, options.python)
    print(f"total: {show(total)}; {time.monotonic() - start:.1f} s")
    return int(bool(total["wrong"] or total["not measured"]))


if __name__ == "__main__":
    raise SystemExit(main())
