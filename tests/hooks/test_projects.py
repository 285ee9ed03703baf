"""A repository with several projects: names that runners read, and environments. What is said of
them is on pages/projects.md and pages/inner_project.md."""

from __future__ import annotations

import sys

import pytest
from commits import environment, model
from sample_files import write_files


def test_each_project_is_built_with_the_environment_that_is_nearest(repository, nparam_lint):
    """Two directories with an environment each, and a model beside them."""
    config = '[budgets]\n"a/net.py::Net" = 110\n"b/net.py::Net" = 111\n'
    sample = repository(
        {
            ".gitignore": ".venv/\nvenv/\n",
            "nparam-lint.toml": config,
            "README.md": "112 <!-- nparam: b/net.py::Net -->\n",
            "a/net.py": model(10),
            "b/net.py": model(10),
            "top.py": "import a.net  # top's own environment is to build this, and no other\n"
            + model(10, 110),
        }
    )
    del sample.environ["NPARAM_LINT_PYTHON"]
    environment(sample.path / "a/.venv")
    environment(sample.path / "b/venv")
    done = nparam_lint("--declared", "--staged", "-v", cwd=sample.path, **sample.environ)
    assert done.returncode == 1
    *_, top, a, b = done.stdout.split("project ")
    assert top.startswith(". (nparam-lint.toml)\n")
    assert f"{sys.executable} (nparam-lint's own environment has torch)" in top
    assert "1 budget holds" in top
    place = " ".join(str(sample.path).split())  # with a line end in its name
    assert f"{place}/a/.venv/bin/python (.venv in {place}/a)" in " ".join(a.split())
    assert "1 budget holds" in a
    assert "elsewhere" not in done.stdout
    assert f"{place}/b/venv/bin/python (venv in {place}/b)" in " ".join(b.split())
    assert "declared 111" in b
    assert "README.md:1:1" in b  # the text is at the top, the model is not
    shown = nparam_lint("doctor", cwd=sample.path, **sample.environ).stdout.splitlines()
    assert [line for line in shown if line.startswith("inside")] == [
        "inside          a/.venv builds the models in a",
        "inside          b/venv builds the models in b",
    ]


@pytest.mark.parametrize(("format", "config"), [("text", ""), ("html", "colour = 3\n")])
def test_the_name_of_a_project_is_no_command_to_a_runner(tmp_path, nparam_lint, format, config):
    inner = {"net.py": model(10), "nparam-lint.toml": config}
    write_files(tmp_path / "a\n::error file=x::no", inner)
    (tmp_path / "nparam-lint.toml").touch()
    done = nparam_lint("--declared", "--format", format, ".", cwd=tmp_path)
    assert "a ::error file=x::no" in done.stdout + done.stderr
    assert "\n::" not in done.stdout + done.stderr
