"""Checks published parameter counts with the tool itself: python benchmarks/truth.py TRUTH [options]

TRUTH is a directory of JSON files. Each file is a list of records: `code` (imports and definitions,
then one expression that builds a model), `expected` (null: only `measured` is known) with `unit` and
`decimals` where it is rounded, `kind` (which count), `measured` (by a plain loop), `match`, and
`cause` where the published number differs. A record with `expression`, `valid_for` and `samples` is
a closed form, checked for each sample. Every file becomes one scratch project with a config budget
for each record, written as a user would: `timm::create_model('resnet50')` where one import and one
call say it all, `setup` and `call` where it takes more imports, else a factory function in a file.

    python benchmarks/truth.py TRUTH --python VENV/bin/python --limit 10
    python benchmarks/truth.py TRUTH --python VENV/bin/python --litgpt CLONE --only litgpt/lora

Run it in the environment that has nparam-lint; `--python` is the one that has torch, timm,
torchvision and transformers. Exit code 1: a count is wrong, or missing, and no cause is on record.
"""

from __future__ import annotations

import argparse
import ast
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Json = dict[str, Any]

VERDICTS = ("right", "drift explained", "wrong", "not measured", "unsupported metric", "skipped")
SUFFIXES = {10**3: "k", 10**6: "M", 10**9: "B", 10**12: "T"}


@dataclass(frozen=True, slots=True)
class Record:
    """One claim. `parameters`: the variables of a closed form, which its factory takes."""

    id: str
    code: str
    declared: str
    kind: str
    measured: int | None
    cause: str | None = None
    parameters: dict[str, int] = field(default_factory=dict)


def read_records(entry: Json, clones: dict[str, str]) -> Iterator[Record]:
    """The claims of one entry of a truth file."""
    if "samples" in entry:
        yield from _closed_form(entry, clones)
        return
    expected = entry["measured"] if entry["expected"] is None else entry["expected"]
    declared = f"{expected}"
    if entry.get("unit"):
        declared = f"{expected:.{entry['decimals']}f}{SUFFIXES[entry['unit']]}"
    cause = entry.get("cause") if entry["match"] is False else None
    code = _with_clones(entry["code"], clones)
    yield Record(entry["id"], code, declared, entry["kind"], entry["measured"], cause)


def _closed_form(entry: Json, clones: dict[str, str]) -> Iterator[Record]:
    code = _with_clones(entry["valid_for"], clones)
    for name in entry["variables"]:
        code = code.replace("{" + name + "}", name)
    # Two numbers of nanoGPT's are what a method of the model says, which is no count of ours.
    code = code.removesuffix(".get_num_params()")
    kind = "non_embedding" if entry["exclude"] else "total"
    spread = "" if entry["exactness"] == "exact" else " ± 1%"
    for number, sample in enumerate(entry["samples"]):
        yield Record(
            f"{entry['id']}@{number}",
            code,
            entry["expression"] + spread,
            kind,
            sample["measured"],
            entry["note"] or None,
            sample["variables"],
        )


def _with_clones(code: str, clones: dict[str, str]) -> str:
    for name, path in clones.items():
        code = code.replace("{" + name + "}", path)
    return code


# --- the scratch project ----------------------------------------------------------------------


class Project:
    """A directory with a config, and with files of factories for what no config line can say."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.budgets: dict[str, Json] = {}
        self.targets: dict[str, str] = {}  # record id -> target
        self.files: dict[str, list[str]] = {}  # head -> factories that need it

    def add(self, record: Record) -> None:
        made = None if record.parameters else installed(record)
        target, recipe = made or self.factory(record)
        if self.budgets.get(_key(target, record), {"budget": record.declared} | recipe) != (
            {"budget": record.declared} | recipe
        ):  # one key has one budget: another claim about the same call gets its own function
            target, recipe = self.factory(record)
        self.budgets[_key(target, record)] = {"budget": record.declared} | recipe
        self.targets[record.id] = target

    def factory(self, record: Record) -> tuple[str, Json]:
        """A function that returns the model, in the file that has its imports and definitions."""
        *statements, expression = ast.parse(record.code).body
        head = [s for s in statements if not isinstance(s, ast.Assign | ast.With)]
        body = [s for s in statements if isinstance(s, ast.Assign | ast.With)]
        assert isinstance(expression, ast.Expr)
        factories = self.files.setdefault("\n".join(map(ast.unparse, head)), [])
        name = f"model_{len(factories) + 1}"
        lines = [f"def {name}({', '.join(record.parameters)}):"]
        for statement in [*body, ast.Return(expression.value)]:
            lines += [f"    {line}" for line in ast.unparse(statement).splitlines()]
        factories.append("\n".join(lines))
        number = list(self.files.values()).index(factories) + 1
        arguments = ", ".join(f"{k}={v}" for k, v in record.parameters.items())
        call = f"({arguments})" if arguments else ""
        return f"records_{number}.py::{name}{call}", {}

    def write(self) -> Path:
        for number, (head, factories) in enumerate(self.files.items(), 1):
            text = "\n\n\n".join([head, *factories])
            (self.root / f"records_{number}.py").write_text(text + "\n", encoding="utf-8")
        lines = ['device = "meta"', "", "[budgets]"]
        for key, entry in self.budgets.items():
            inside = ", ".join(f"{name} = {json.dumps(text)}" for name, text in entry.items())
            lines.append(f"{json.dumps(key)} = {{ {inside} }}")
        config = self.root / "nparam-lint.toml"
        config.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return config


def _key(target: str, record: Record) -> str:
    return target if record.kind == "total" else f"{target}[{record.kind}]"


def installed(record: Record) -> tuple[str, Json] | None:
    """The target of a call that imports alone lead to, and its recipe where it takes several."""
    *head, last = ast.parse(record.code).body
    call = last.value if isinstance(last, ast.Expr) else None
    if not isinstance(call, ast.Call):
        return None
    text, function = ast.unparse(call), ast.unparse(call.func)
    root, *rest = function.split(".")
    for statement in head:
        if not isinstance(statement, ast.Import | ast.ImportFrom):
            return None
    for statement in head:
        assert isinstance(statement, ast.Import | ast.ImportFrom)
        for alias in statement.names:
            if (alias.asname or alias.name.split(".")[0]) != root:
                continue
            if isinstance(statement, ast.ImportFrom):
                target = f"{statement.module}::{'.'.join([alias.name, *rest])}"
            else:
                target = f"{alias.name if alias.asname else root}::{'.'.join(rest)}"
            if len(head) == 1:
                return target + text.removeprefix(function), {}
            setup = "\n".join(map(ast.unparse, head))
            return target, {"setup": setup, "call": text}
    return None


def run(python: str | None, config: Path) -> Json:
    """The tool's report on a project, through its public command."""
    command = [sys.executable, "-m", "nparam_lint", "--config", str(config), "--format", "json"]
    command += ["--python", python] if python else []
    done = subprocess.run(command, cwd=config.parent, stdout=subprocess.PIPE, check=False)
    try:
        report: Json = json.loads(done.stdout)
    except ValueError:
        raise SystemExit(f"no report (exit status {done.returncode}): {config}") from None
    (config.parent / "report.json").write_bytes(done.stdout)
    return report


# --- verdicts ---------------------------------------------------------------------------------


def judge(record: Record, model: Json | None, findings: Iterable[Json]) -> tuple[str, str]:
    """(verdict, why) of one record."""
    messages = "; ".join(f"{f['code']} {f['message']}" for f in findings)
    if model is None:
        return "not measured", f"the report does not have it: {messages}"
    if model["status"] != "measured":
        rungs = "; ".join(f"{k}: {v.get('reason')}" for k, v in model["devices"].items())
        why = f"{model['code']} {model['reason']} ({rungs})"
        return ("drift explained", record.cause) if record.cause else ("not measured", why)
    selector = "" if record.kind == "total" else record.kind
    for budget in model["budgets"]:
        if budget["selector"] == selector and budget["declared"] == record.declared:
            break
    else:
        return "unsupported metric", f"[{record.kind}] {messages}"
    actual, rung = budget["actual"], model["rung"]
    if record.measured not in (None, actual):
        return "wrong", f"counted {actual:,} ({rung}), a plain loop {record.measured:,}"
    if budget["ok"]:
        return "right", ""
    why = f"declared {record.declared}, counted {actual:,} ({rung})"
    return ("drift explained", f"{why}: {record.cause}") if record.cause else ("wrong", why)


def check_file(path: Path, root: Path, options: argparse.Namespace) -> Counter[str]:
    """Check the records of one file; prints what is not right."""
    clones = {"litgpt": str(options.litgpt.resolve())} if options.litgpt else {}
    entries: list[Json] = json.loads(path.read_text(encoding="utf-8"))
    records = [r for e in entries for r in read_records(e, clones) if options.only in r.id]
    records = records[: options.limit]
    verdicts: Counter[str] = Counter()
    project = Project(root)
    for record in records:
        if "'{" not in record.code:  # a clone that was not given
            project.add(record)
    start = time.monotonic()
    report = run(options.python, project.write()) if project.budgets else {"models": []}
    seconds = time.monotonic() - start
    models = {model["target"]: model for model in report["models"]}
    for record in records:
        target = project.targets.get(record.id)
        if target is None:
            verdict, why = "skipped", "needs a clone that was not given"
        else:
            findings = [f for f in report["findings"] if f["target"] == target]
            verdict, why = judge(record, models.get(target), findings)
        verdicts[verdict] += 1
        if verdict != "right":
            print(f"  {verdict}: {record.id}: {why}")
    rungs = Counter(m.get("rung") or "not measured" for m in models.values())
    print(
        f"{path.stem}: " + ", ".join(f"{verdicts[v]} {v}" for v in VERDICTS if verdicts[v] or v == "right"),
        f"\n  {len(models)} models in {seconds:.1f} s;", ", ".join(f"{n} {r}" for r, n in rungs.items()),
        flush=True,
    )  # fmt: skip
    return verdicts


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("truth", type=Path, help="directory of truth files")
    parser.add_argument("--python", help="the interpreter that has torch and the packages")
    parser.add_argument("--litgpt", type=Path, help="clone that {litgpt} stands for in code")
    parser.add_argument("--only", default="", metavar="TEXT", help="records whose id has TEXT")
    parser.add_argument("--limit", type=int, metavar="N", help="the first N records of each file")
    parser.add_argument("--scratch", type=Path, help="keep the projects and reports in this directory")
    options = parser.parse_args()
    files = sorted(options.truth.glob("*.json"))
    if not files:
        parser.error(f"there are no JSON files in {options.truth}")
    total: Counter[str] = Counter()
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="truth-") as temporary:
        for path in files:
            root = (options.scratch or Path(temporary)).resolve() / path.stem
            root.mkdir(parents=True, exist_ok=True)
            total += check_file(path, root, options)
    print(f"total: {', '.join(f'{total[v]} {v}' for v in VERDICTS if total[v])}")
    print(f"{time.monotonic() - start:.1f} s")
    return int(bool(total["wrong"] or total["not measured"]))


if __name__ == "__main__":
    raise SystemExit(main())
