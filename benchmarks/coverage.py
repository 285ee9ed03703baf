"""How many of the models of public repositories are measured with nothing configured.

    python benchmarks/coverage.py --python VENV/bin/python --clones DIR [--only NAME …] [--write]

Run it in the environment that has nparam-lint, with git. `--python` names the interpreter that has
torch, and the packages of the repositories as far as they are to be measured; its packages are
listed with the results. coverage.json names the repositories and commits. A repository that is not
in DIR (as `whisper` for `openai/whisper`) is cloned there from github.com, which needs a network.

In each clone, `nparam-lint --format json` is run as it is. Of what it finds, these count:

- *found*: all classes and factories.
- *models*: classes, and factories of classes of other packages, outside of test files, that are a
  part of no other model: neither does the source say so (`find_containment`), nor were they found
  inside a model that was built. Those without parameters are left out: they were built and have
  none, or nothing in their source makes any (`_is_empty`).
- *unused*: those of the models that need arguments and that nothing in the repository uses
  (`benchmarks/unused.py`): abstract bases, and code that was left over. Nothing says how they are
  built. The share is that of all other models.
- *measured*: those that were built in at least one way, by themselves, or by a factory or a config
  file that makes one.
- *named*: the models that the README names, one for each size, with the counts that plain torch
  gives (headlines.json, which `--headlines` takes instead: `set` says which ten repositories were
  looked at before the next ten were); and how many of these counts are in the report.
- *checked*: a count for which coverage_builds.py could evaluate the same call with plain torch in a
  process of its own. It adds up `p.numel()` over the set of the parameters. *wrong*: it found
  another number.

Exit code 1: a count is wrong, or a repository could not be run.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unused import unused

from nparam_lint.config.session import open_session
from nparam_lint.discover.name_resolution import Symbol
from nparam_lint.evidence.containment import find_containment
from nparam_lint.gate.candidates import select_models
from nparam_lint.gate.reading import read_source
from nparam_lint.gate.ways import with_ways

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = dict[str, Any]
HERE = Path(__file__).parent
BARE = {"torch.nn.Module", "nn.Module"}
# What may make parameters, of which the modules below make none.
MAKES = re.compile(r"\b(?:nn\.|torch\.nn\.)([A-Z]\w*)|(\w*Parameter|build_\w+|\w*Net|\w*Model)\(")
EMPTY = set(
    """Module Parameter Identity ReLU ReLU6 LeakyReLU GELU SiLU Sigmoid Tanh Softmax LogSoftmax
    Dropout Dropout2d MaxPool1d MaxPool2d MaxPool3d AvgPool1d AvgPool2d AdaptiveAvgPool1d
    AdaptiveAvgPool2d Flatten Upsample L1Loss MSELoss SmoothL1Loss CrossEntropyLoss NLLLoss BCELoss
    BCEWithLogitsLoss KLDivLoss CosineSimilarity ZeroPad2d ReflectionPad2d Softplus ELU
    """.split()
) - {"Parameter"}
MOST = 150  # counts that are checked in one repository
LIMIT = 600  # seconds for the run in one repository


class Failed(Exception):
    """A repository that could not be run."""


@dataclass(slots=True)
class Coverage:
    """The result of one repository. `missing`: model → why; `wrong`: in words."""

    name: str
    commit: str
    definitions: int = 0
    models: list[str] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)
    measured: list[str] = field(default_factory=list)
    counts: int = 0
    checked: int = 0
    wrong: list[str] = field(default_factory=list)
    missing: dict[str, tuple[str, str]] = field(default_factory=dict)
    not_checked: Counter[str] = field(default_factory=Counter)
    headline: dict[str, int] = field(default_factory=dict)
    shown: list[str] = field(default_factory=list)
    seconds: float = 0
    why_not: str = ""


def clone(repository: str, commit: str, clones: Path) -> tuple[Path, str]:
    """The directory of a clone, and its commit. Raises Failed."""
    place = clones / repository.rpartition("/")[2]
    if not place.exists():
        url = f"https://github.com/{repository}"
        for command in (["clone", "-q", url, place], ["-C", place, "checkout", "-q", commit]):
            done = subprocess.run(["git", *command], capture_output=True, text=True, check=False)
            if done.returncode:
                raise Failed(f"git {command[0]}: {done.stderr.strip().splitlines()[-1:]}")
    done = subprocess.run(
        ["git", "-C", place, "rev-parse", "HEAD"], capture_output=True, text=True, check=False
    )
    return place, done.stdout.strip()


def run_tool(place: Path, python: Path) -> Json:
    """The tool's own document. Raises Failed."""
    command = [sys.executable, "-m", "nparam_lint", "--format", "json", "--no-cache"]
    try:
        done = subprocess.run(
            [*command, "--python", python],
            cwd=place,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Failed(f"nparam-lint took more than {LIMIT} s") from None
    if not done.stdout.startswith("{"):
        raise Failed(f"nparam-lint: {done.stderr.strip()[-300:]}")
    document: Json = json.loads(done.stdout)
    if document["error"]:
        raise Failed(document["error"])
    return document


def cover(
    repository: str, commit: str, headline: dict[str, int], clones: Path, python: Path
) -> Coverage:
    """What is measured of one repository."""
    result = Coverage(repository, commit, headline=headline)
    start = time.monotonic()
    try:
        place, result.commit = clone(repository, commit, clones)
        document = run_tool(place, python)
        result.seconds = time.monotonic() - start
        _compare(result, place.resolve(), document, python)
    except Failed as why:
        result.why_not = str(why)
    return result


def _compare(result: Coverage, place: Path, document: Json, python: Path) -> None:
    source = read_source(open_session(place, os.environ), [])
    structure = find_containment(source.discovery)
    targets = dict.fromkeys(item.target for item in source.discovery.definitions)
    result.definitions = len(targets)
    stands_for = {t: structure.returns.get(t, t) for t in targets}
    inside = {one["target"] for one in document["models"] if "inside" in one}
    top = {stands_for[t] for t in targets if not structure.users.get(stands_for[t])} - inside
    built = [one for one in document["models"] if one["status"] == "measured"]
    totals = {one["counts"]["total"] for one in built}
    result.shown = [name for name, total in result.headline.items() if total in totals]
    counts: dict[str, list[int]] = {}
    for one in built:
        for target in _models_of(one, stands_for):
            counts.setdefault(target, []).append(one["counts"]["total"])
    empty = {target for target, found in counts.items() if not any(found)}
    empty |= {target for target in top - set(counts) if _is_empty(target, source, structure)}
    result.models = sorted(top - empty)
    result.measured = [target for target in result.models if target in counts]
    unknown = ({*result.models} - {*counts}) & _needing(source)
    result.unused = sorted(unused(source.discovery, place, unknown))
    _explain(result, document, stands_for)
    own = [one for one in built if "inside" not in one and one["counts"]["total"]]
    result.counts = len(own)
    _check(result, place, own, source, python)


def _is_empty(target: str, source: Any, structure: Any) -> bool:
    """Whether nothing in the source of a class makes parameters: neither its lines, nor a model
    that it contains."""
    path, _, name = target.partition("::")
    names, classes = source.discovery.models.names, source.discovery.models.names.classes(path)
    makers = {one for one, made in structure.returns.items() if made == target} | {target}
    if name not in classes or any(makers.intersection(found) for found in structure.users.values()):
        return False
    bases = [base.name for base in names.bases(Symbol("class", path, name))]
    if not all(base in BARE or base.rpartition("nn.")[2] in EMPTY for base in bases):
        return False
    lines = source.discovery.tree.source(path).decode("utf-8", "replace").split("\n")
    first = classes[name].line
    body = [lines[first]]
    for line in lines[first + 1 :]:
        if line.strip() and not line[0].isspace() and line[0] not in ")]}#":
            break
        body.append(line)
    return not any(found not in EMPTY for found in _made(body))


def _needing(source: Any) -> set[str]:
    """The classes that need arguments."""
    needing = (
        d for d in source.discovery.definitions if any(p.required for p in d.parameters or ())
    )
    return {one.target for one in needing if one.kind == "class"}


def _made(body: list[str]) -> Iterator[str]:
    for module, other in MAKES.findall("\n".join(body)):
        yield module or other


def _models_of(one: Json, stands_for: dict[str, str]) -> set[str]:
    """The targets that an entry of the document measures."""
    bare = one["target"].partition("(")[0]
    module, _, name = one.get("type", "").rpartition(".")
    file = module.replace(".", "/") + ".py"
    package = module.replace(".", "/") + "/__init__.py"
    return {
        target
        for target in stands_for
        if target.endswith(f"::{name}")
        and f"/{target.partition('::')[0]}".endswith((f"/{file}", f"/{package}"))
    } or {stands_for.get(bare, bare)}


def _explain(result: Coverage, document: Json, stands_for: dict[str, str]) -> None:
    """Why each model that was not measured was not."""
    reasons: dict[str, tuple[str, str]] = {}
    failed = document["failed_ways"] + document["skipped"]
    failed += [one for one in document["models"] if one["status"] != "measured"]
    for one in failed:
        target = one["target"].partition("(")[0]
        for name in (target, stands_for.get(target, target)):
            reasons.setdefault(name, (one["cause"], one["reason"]))
    for target in result.models:
        if target not in (*result.measured, *result.unused):
            result.missing[target] = reasons.get(target, ("not told", "not told"))


def _check(result: Coverage, place: Path, built: list[Json], source: Any, python: Path) -> None:
    """Build the same outside of the tool."""
    candidates = with_ways(source, select_models(source.candidates)).candidates
    jobs, entries = [], []
    for one, candidate in zip(built, _candidates_of(built, candidates), strict=True):
        if len(jobs) == MOST:
            result.not_checked[f"more than {MOST} in one repository"] += 1
            continue
        if candidate is None:
            result.not_checked["the call is not known"] += 1
            continue
        recipe, location = candidate.build.recipe, candidate.location
        attempts = source.discovery.plan(location) or ()
        setup = recipe.setup or ""
        if not candidate.target.callable:
            setup = f"path = {candidate.target.location!r}\n{setup}"
        job = {
            "root": str(place),
            "imports": [[attempt.module, attempt.roots] for attempt in attempts],
            "setup": setup,
            "call": one["call"],
            "counted": one["counts"]["total"],
        }
        jobs.append(job)
        entries.append(one)
    for one, answer in zip(entries, _build(jobs, python, place), strict=True):
        if not isinstance(answer, int):
            result.not_checked[answer] += 1
            continue
        result.checked += 1
        if answer != one["counts"]["total"]:
            says = f"{one['counts']['total']:,}, plain torch says {answer:,}"
            result.wrong.append(f"{one['target']} by {one['call']}: {says}")


def _candidates_of(built: list[Json], candidates: Any) -> Iterator[Any]:
    """What was asked for of each entry; None where it is not known. A loop gives several ways at
    one place, in its order."""
    known: dict[object, list[Any]] = {}
    for candidate in candidates:
        way = candidate.way
        where = way and (way.kind, way.position.path, way.position.line, way.name or None)
        known.setdefault((str(candidate.target), where), []).append(candidate)
    keys = []
    for one in built:
        way = one["way"]
        where = way and (way["kind"], way["path"], way["line"], way["name"])
        keys.append((one["target"], where))
    number: Counter[object] = Counter()
    for one, key in zip(built, keys, strict=True):
        same = known.get(key, [])
        fitting = [item for item in same if item.build.recipe.call in (None, one["call"])]
        at = number[key, one["call"]]
        number[key, one["call"]] += 1
        alike = sum((k, o["call"]) == (key, one["call"]) for k, o in zip(keys, built, strict=True))
        yield fitting[at] if alike == len(fitting) else None


def _build(jobs: list[Json], python: Path, place: Path) -> list[int | str]:
    if not jobs:
        return []
    done = subprocess.run(
        [python, HERE / "coverage_builds.py"],
        input=json.dumps(jobs),
        cwd=place,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "HF_HUB_OFFLINE": "1"},
        check=False,
    )
    if not done.stdout.startswith("["):
        return [f"coverage_builds.py: {done.stderr.strip()[-200:]}"] * len(jobs)
    answers: list[int | str] = json.loads(done.stdout)
    return answers


# --- the report ---------------------------------------------------------------------------------


def page(results: list[Coverage], python: Path, listed: list[Json]) -> str:
    """The results as Markdown. `listed`: all repositories, of which some may not have been run."""
    ran = [one for one in results if not one.why_not]
    rows = [
        "| repository | commit | found | models | unused | measured | | named | of these measured "
        "| counts | checked | wrong | time |",
        "| --- | --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |",
    ]
    rows += [_row(one.name, one.commit[:8], [one]) for one in ran]
    rows += [_row("**all**", "", ran)]
    lines = [
        "# Coverage: what is measured with nothing configured",
        "",
        "Written by `benchmarks/coverage.py --write`; its docstring says what is counted.",
        "",
        *rows,
        "",
    ]
    lines += [f"- {one.name}: {one.why_not}" for one in results if one.why_not]
    left = {item["repository"] for item in listed} - {one.name for one in results}
    lines += [f"Not run: {', '.join(sorted(left))}.", ""] if left else []
    lines += [f"- wrong, {one.name}: {text}" for one in ran for text in one.wrong]
    lines += ["", "## Models that were not measured", ""]
    causes = Counter(cause for one in ran for cause, _ in one.missing.values())
    lines += [f"- {cause}: {count}" for cause, count in causes.most_common()]
    for one in ran:
        if one.missing or one.unused:
            lines += ["", f"### {one.name}", ""]
            lines += [f"- `{t}`: {_short(why)}" for t, (_, why) in one.missing.items()]
            lines += [f"- unused: `{target}`" for target in one.unused]
    lines += ["", "## Counts that were not checked", ""]
    skipped = sum((one.not_checked for one in ran), Counter())
    lines += [f"- {count}: {_short(why)}" for why, count in skipped.most_common(20)]
    lines += ["", "## Packages", "", packages(python), ""]
    return "\n".join(lines)


def _row(name: str, commit: str, some: list[Coverage]) -> str:
    kinds = ("models", "unused", "measured")
    models, left, measured = (sum(len(getattr(one, kind)) for one in some) for kind in kinds)
    numbers: list[object] = [sum(one.definitions for one in some), models, left, measured]
    numbers += [f"{100 * measured / (models - left):.0f} %" if models > left else ""]
    numbers += [sum(len(one.headline) for one in some), sum(len(one.shown) for one in some)]
    numbers += [sum(one.counts for one in some), sum(one.checked for one in some)]
    numbers += [sum(len(one.wrong) for one in some), f"{sum(c.seconds for c in some):.0f} s"]
    return f"| {name} | {commit} | " + " | ".join(map(str, numbers)) + " |"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 160 else f"{line[:159]}…"


def packages(python: Path) -> str:
    code = (
        "import importlib.metadata as m, platform; print('Python', platform.python_version() + ';',"
        "', '.join(sorted(f'{d.name} {d.version}' for d in m.distributions())))"
    )
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--python", type=Path, default=Path(sys.executable))
    parser.add_argument("--clones", type=Path, help="default: a temporary directory")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--write", action="store_true", help="write coverage-results.md")
    parser.add_argument("--headlines", action="store_true", help="those of headlines.json")
    options = parser.parse_args()
    file = "headlines.json" if options.headlines else "coverage.json"
    listed = json.loads((HERE / file).read_text(encoding="utf-8"))
    results, text = [], ""
    with tempfile.TemporaryDirectory() as temporary:
        clones = options.clones or Path(temporary)
        for item in listed:
            name = item["repository"]
            if options.only and name.rpartition("/")[2] not in options.only:
                continue
            headline, python = item.get("headline", {}), options.python.absolute()
            results.append(cover(name, item["commit"], headline, clones.resolve(), python))
            one = results[-1]
            print(one.why_not or _row(name, one.commit[:8], [one]), file=sys.stderr, flush=True)
            text = page(results, options.python.absolute(), listed)
            if options.write:  # as far as it got
                (HERE / "coverage-results.md").write_text(text, encoding="utf-8")
    print(text)
    return int(any(one.wrong or one.why_not for one in results))


if __name__ == "__main__":
    sys.exit(main())
