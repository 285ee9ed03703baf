"""What one token uses of a mixture of experts, as a config declares it."""

from __future__ import annotations

import json

import pytest
from answer_books import AnswerBook
from sample_files import write_files

ACTIVE = AnswerBook("active")  # the models, and what is told of each
UNKNOWN = {
    case.name: case.answer.partition("active: ")[2]
    for case in ACTIVE.cases
    if "active: " in case.answer and not case.options
}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A directory with the models, and a function that writes the config beside them."""
    top = write_files(tmp_path_factory.mktemp("active"), ACTIVE.files)

    def write(config=""):
        (top / "nparam-lint.toml").write_text('device = "meta"\n' + config)
        return top

    return write


def messages(done):
    return [line for line in done.stdout.splitlines() if "NPL" in line]


def test_what_is_unknown_says_why(project, nparam_lint):
    lines = [f'"moe.py::{name}[active]" = 1' for name in UNKNOWN]
    done = nparam_lint("--format", "concise", cwd=project("\n".join(["[budgets]", *lines])))
    assert done.returncode == 1
    assert messages(done) == [
        f"nparam-lint.toml:{line}:1: error: NPL002 the active parameters of {name}() are unknown: "
        f"{why}"
        for line, (name, why) in enumerate(UNKNOWN.items(), 3)
    ]


def test_the_number_that_a_token_uses_can_be_declared(project, nparam_lint):
    config = """
    [arguments]
    "moe.py::Silent" = { experts_per_token = 3 }  # as in the paper
    "moe.py::Listed" = { experts_per_token = 8, arguments = "experts=8, top_k=4" }
    "moe.py::InTwoLevels" = { experts_per_token = 1 }
    "moe.py::Parallel" = { experts_per_token = 2 }

    [budgets]
    "moe.py::Silent[active]" = 60
    "moe.py::Listed(experts=16)[active]" = 224
    "moe.py::Sampling[active]" = { budget = 16, experts_per_token = 1 }
    "moe.py::Sampling(1)[active]" = { budget = 32, experts_per_token = 2, call = "Sampling()" }
    """
    top = project(config)
    done = nparam_lint("--format", "json", cwd=top)
    report = json.loads(done.stdout)
    assert (report["findings"], done.returncode) == ([], 0)
    models = [m for m in report["models"] if not m.get("way")]
    found = {m["target"].partition("::")[2]: (m["counts"], m["notes"]) for m in models}
    active = {name: counts["active"] for name, (counts, _) in found.items()}
    assert active["Listed"] == 4 * 8 + 8 * 16 + 2 * 16
    assert active["InTwoLevels"] == 16 + 16 + 2 * 16
    # It holds though the model says otherwise, which is noted.
    assert found["Listed"][1] == [
        "experts_per_token = 8 is declared; the model itself has top_k = 4"
    ]
    assert found["Parallel"][1] == found["Silent"][1] == []
    # What was measured with another number is not given again.
    project(config.replace("= 3 }", "= 4 }"))
    done = nparam_lint("--format", "concise", cwd=top)
    assert messages(done) == [
        "nparam-lint.toml:10:5: error: NPL001 Silent has 80 active parameters, declared 60: +20 "
        "(+33.33 %)"
    ]


def test_a_declared_number_that_does_not_fit_is_told(project, nparam_lint):
    top = project(
        """
    [arguments]
    "moe.py::Silent" = { experts_per_token = 9 }
    "moe.py::Dense" = { experts_per_token = 2 }
    "moe.py::Flat" = { experts_per_token = 2 }
    "moe.py::One" = { experts_per_token = 2 }

    [budgets]
    "moe.py::One[active]" = 20
    "moe.py::Stacked" = { budget = 192, experts_per_token = 10 }
    """
    )
    done = nparam_lint("--format", "concise", cwd=top)
    assert done.returncode == 1
    few = "experts_per_token = {} is declared, {}"
    more = "more than there are experts in experts: {}"
    assert messages(done) == [
        "nparam-lint.toml:4:5: error: NPL002 Silent(): " + few.format(9, more.format(8)),
        "nparam-lint.toml:5:5: error: NPL002 Dense(): "
        + few.format(2, "but the model has no experts: none were found"),
        "nparam-lint.toml:6:5: error: NPL002 Flat(): " + few.format(2, "but " + UNKNOWN["Flat"]),
        "nparam-lint.toml:10:5: error: NPL002 the active parameters of One() are unknown: "
        + few.format(2, more.format(1)),
        "nparam-lint.toml:11:5: error: NPL002 Stacked(): " + few.format(10, more.format(8)),
    ]
