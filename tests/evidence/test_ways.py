"""What is told of each project in the books `ways/`: how its files build its models. In `commands`
it is the commands of the script that is asked for, and in `parts` which models are parts of others.

A way is `setup` lines, and `>> call  # note`. Before them stands what does not go without saying:
the place that tells it, unless it is a call in the file of the template; the name of a size; the
rank of a config; `of` which target, unless that is what is called; `in` which file it is built,
unless in that of the place, or of the target where the place is not in Python. The files at the
head of a book tell nothing themselves. `…` stands where versions of Python write it otherwise."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from case_books import cases_beside
from discover_project import discovered

from nparam_lint.discover.files import list_configs, list_texts, reader
from nparam_lint.evidence import EvidenceQuery
from nparam_lint.evidence.containment import find_containment
from nparam_lint.evidence.sources import find_evidence
from nparam_lint.ground.errors import Aside
from nparam_lint.ground.notation import Target

if TYPE_CHECKING:
    from pathlib import Path

    from case_books import Case, ProjectBook

    from nparam_lint.evidence import Evidence


@pytest.mark.parametrize(("book", "case"), cases_beside(__file__, "ways"))
def test_what_a_project_tells(
    tmp_path: Path, request: pytest.FixtureRequest, book: ProjectBook, case: Case
) -> None:
    name, left_out = book.path.stem, Aside.left_out
    for path, content in case.files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    if name == "parts":
        lines = parts(tmp_path, case)
    elif name == "commands":
        lines = commands(tmp_path, case)
    else:
        lines = ways(tmp_path, case)
    assert Aside.left_out == left_out
    book.check(case.number, "\n".join(lines), update=request.config.getoption("update"))


def query_of(root: Path) -> EvidenceQuery:
    found = discovered(root, {})
    # In one order: what no rank tells apart comes in that of the targets.
    wanted = list(dict.fromkeys(Target(d.path, d.qualname) for d in found.definitions))
    others = [*list_configs(root, (), None, None), *list_texts(root, (), None)]
    return EvidenceQuery(found, wanted, others, reader(root))


def ways(root: Path, case: Case) -> list[str]:
    """And why each other model has none."""
    query = query_of(root)
    lines: list[str] = []
    same: dict[object, list[Evidence]] = {}  # ways but for the target
    notes: dict[str, str] = {}
    for evidence in find_evidence(query):
        if evidence.recipe.is_run:
            continue
        way, target = evidence.way, str(evidence.target)
        if way.position.path not in case.at_head:
            key = (way, evidence.file, evidence.recipe, evidence.rank)
            same.setdefault(key, []).append(evidence)
            notes[target] = notes.get(target, "") + way.words
    for group in same.values():
        recipe, note = group[0].recipe, group[0].way.words
        call = f">> {recipe.call}  # {note}".removesuffix("  # ")
        setup = [line for line in (recipe.setup or "").split("\n") if line]
        facts = facts_of(group, case.template)
        lines += [facts, *setup, call] if facts and setup else [*setup, f"{facts} {call}".strip()]
    not_built = {target: why for target, why in query.not_followed.items() if target not in notes}
    for target, why in {**not_built, **query.gaps}.items():
        if why not in notes.get(target, "") and why.partition(":")[0] not in case.at_head:
            lines.append(f"{'gap' if target in notes else 'no way'} of {target}: {why}")
    return lines or ["no way"]


def facts_of(group: list[Evidence], template: str) -> str:
    """What is told of a way before its setup and call; `group` has it for each target."""
    way, file, call = group[0].way, group[0].file, group[0].recipe.call or ""
    targets = list(dict.fromkeys(evidence.target for evidence in group))
    place, facts = way.position, list[str]()
    if way.kind == "size":
        facts.append(f"{place}:{place.column} {way.name}")
    elif way.kind != "call" or place.path != template:
        facts.append(str(place))
    if way.kind == "config" and group[0].rank:
        facts.append(f"rank {group[0].rank}")
    if way.kind != "size" and way.name not in ("", place.path):
        facts.append(way.name)
    if len(targets) > 1 or not re.match(rf"(with_changes\()?{targets[0].callable}\(", call):
        facts.append(f"of {', '.join(map(str, targets))}")
    if file != (place.path if place.path.endswith(".py") else targets[0].location):
        facts.append(f"in {file}")
    return " ".join(facts)


def commands(root: Path, case: Case) -> list[str]:
    """Place, variables and words of each."""
    lines = [
        " ".join(
            [
                command.place,
                *(f"{name}={value}" for name, value in dict(command.environ).items()),
                *(word or "''" for word in command.words),
            ]
        )
        for command in query_of(root).commands.of(case.asked)
    ]
    return lines or ["none"]


def parts(root: Path, case: Case) -> list[str]:
    """`asked`: the only file that is read."""
    found = find_containment(discovered(root, {}, files=[case.asked] if case.asked else None))
    lines = [f"{part}: a part of {', '.join(sorted(users))}" for part, users in found.users.items()]
    lines += [f"{function}: returns {model}" for function, model in found.returns.items()]
    return sorted(lines) or ["none"]
