"""Why a model was not counted is told truly, and alike for the whole project and for the model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from answer_books import AnswerBook, line_of
from sample_files import write_files

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Command

BOOK = AnswerBook("reasons")


def told(model: dict[str, Any], root: Path) -> str:
    """What a report says of a model."""
    if model.get("reason") is None:
        assert all(budget["ok"] for budget in model["budgets"])
        return f"{model['counts']['total']}"
    at = f"\nat: {line_of(root, model['source'])}" if model.get("source") else ""
    return f"{model['code']} {model['cause']}: {model['reason']}{at}"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_files(tmp_path_factory.mktemp("reasons"), BOOK.files)


@pytest.fixture(scope="module")
def models(nparam_lint: Command, root: Path) -> dict[str, Any]:
    """What the check of the whole project says, by target."""
    report = json.loads(nparam_lint(".", "--format", "json", cwd=root).stdout)
    return {model["target"]: model for model in report["models"]}


@pytest.mark.parametrize("number", [pytest.param(c.number, id=c.target) for c in BOOK.cases])
def test_the_reason_is_the_true_one(
    models: dict[str, Any], root: Path, request: pytest.FixtureRequest, number: int
) -> None:
    text = told(models[BOOK.cases[number].target], root)
    BOOK.check(number, text, update=request.config.getoption("update"))


# One for each way to lose a name.
FEW = ("takes.py::Net", "by_circle.py::Net", "star::Bad", "lazy::Raises", "same/deep/ops.py::Net")


@pytest.mark.parametrize("target", FEW)
def test_it_is_the_same_where_the_model_alone_is_asked_for(
    nparam_lint: Command, root: Path, models: dict[str, Any], target: str
) -> None:
    asked = nparam_lint("show", target, "--no-cache", "--format", "json", cwd=root)
    (model,) = json.loads(asked.stdout)["models"]
    assert told(model, root) == told(models[target], root)


@pytest.fixture(scope="module")
def needy(nparam_lint: Command, root: Path) -> dict[str, str]:
    """What is said of models that need arguments, in files that cannot be imported for one reason
    or another: the check of the project does not try to."""
    report = json.loads(nparam_lint("needy", "--format", "json", cwd=root).stdout)
    return {one["target"]: one["reason"] for one in report["skipped"]}


ASKED = [
    *(("show", name) for name in BOOK.files if name.startswith("needy")),
    ("formula", "needy/base.py"),
]


@pytest.mark.parametrize(("command", "name"), ASKED)
def test_what_needs_arguments_is_told_so_whichever_way_it_is_asked_for(
    nparam_lint: Command, root: Path, needy: dict[str, str], command: str, name: str
) -> None:
    asked = json.loads(nparam_lint(command, f"{name}::Net", "--format", "json", cwd=root).stdout)
    model = asked["models"][0] if command == "show" else asked
    assert model["reason"] == needy[f"{name}::Net"] == "Net needs width, depth"
    if (command, name) == ("show", "needy/base.py"):
        assert model["hint"].startswith("besides: base has no 'Net'")
        assert "No module named 'no_base'" in model["hint"]


def test_what_a_script_lacks_is_why_what_it_builds_is_not_counted(
    nparam_lint: Command, root: Path
) -> None:
    report = json.loads(nparam_lint("ways", "--format", "json", cwd=root).stdout)
    (one,) = report["failed_ways"]
    assert (one["target"], one["cause"]) == ("ways/sized.py::Sized", "package_missing")
    words = ("name '_C' is not defined ('_C' in ways/own_conf.py: ", "named 'no_yacs'")
    assert [word for word in words if word not in one["reason"]] == []
