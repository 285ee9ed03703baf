"""A repository with several projects: the hook is a gate for all of it, whatever it was told."""

from __future__ import annotations

import os
import sys

import pytest
from commits import environment, model
from sample_files import write_files

CONFIG = '[budgets]\n"net.py::Net" = {}\n'
TABLE = '[tool.nparam-lint.budgets]\n"net.py::Net" = {}\n'
GIT = {"GIT_INDEX_FILE": ".git/index"}  # as git sets it for the hooks of a commit
FRAMEWORK = {"PRE_COMMIT": "1"}
CONCISE = ("--declared", "--staged", "--format", "concise")

# Each breaks a budget of its own somewhere: files, and where that is found.
BROKEN = [
    ({"top.py": model(10, 9)}, "top.py:5:16"),
    ({"plain/net.py": model(10, 9)}, "plain/net.py:5:16"),
    ({"README.md": "9 <!-- nparam: plain/net.py::Net -->\n"}, "README.md:1:1"),
    ({"b/README.md": "9 <!-- nparam: net.py::Net -->\n"}, "b/README.md:1:1"),
    ({"a/net.py": model(10), "a/nparam-lint.toml": CONFIG.format(9)}, "a/nparam-lint.toml:2:1"),
    ({"b/net.py": model(10, 9), "b/nparam-lint.toml": ""}, "b/net.py:5:16"),
    ({"c/net.py": model(10), "c/pyproject.toml": TABLE.format(9)}, "c/pyproject.toml:2:1"),
    ({"a/in/net.py": model(10), "a/in/nparam-lint.toml": CONFIG.format(9)}, "a/in/nparam-lint.tom"),
    ({"no.source/nparam-lint.toml": CONFIG.format(9)}, "no.source/nparam-lint.toml:2:1"),
    ({"[x] !#y z/n.py": model(10, 9), "[x] !#y z/nparam-lint.toml": ""}, "[x] !#y z/n.py:5:16"),
    ({"!d*/net.py": model(10, 9), "!d*/nparam-lint.toml": ""}, "!d*/net.py:5:16"),
]


@pytest.fixture(scope="module")
def monorepo(shared_repository):
    """All of it, and a project whose budgets hold."""
    files = {"fine/net.py": model(10), "fine/nparam-lint.toml": CONFIG.format(110)}
    files |= {"other.toml": "", "fine/other.toml": ""}
    return shared_repository(
        {name: text for more, _ in [*BROKEN, (files, "")] for name, text in more.items()}
    )


@pytest.mark.first_cases(2)
@pytest.mark.parametrize(
    ("paths", "more"),
    [
        (["fine"], GIT),
        (["a/in/net.py"], FRAMEWORK),
        ([], {}),
        ([], GIT),
        (["fine", "a"], FRAMEWORK),
        (["--config", "fine/nparam-lint.toml"], FRAMEWORK),
        (["--config", "fine/../fine/nparam-lint.toml", "fine"], GIT),
        (["--config", "other.toml", "fine"], FRAMEWORK),
    ],
)
def test_nothing_of_the_repository_passes_in_silence(monorepo, nparam_lint, paths, more):
    done = nparam_lint(*CONCISE, *paths, cwd=monorepo.path, **monorepo.environ, **more)
    assert done.returncode == 1, done.stdout + done.stderr
    found, expected = sorted(done.stdout.splitlines()), sorted(place for _, place in BROKEN)
    assert len(found) == len(expected), done.stdout + done.stderr
    for line, place in zip(found, expected, strict=True):
        assert line.startswith(place), found


def test_a_hook_says_that_a_config_would_narrow_it(monorepo, nparam_lint):
    options = ("--config", "fine/other.toml", "fine")
    for arguments in (options[:2], options):
        done = nparam_lint(*CONCISE, *arguments, cwd=monorepo.path, **monorepo.environ, **FRAMEWORK)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.splitlines() == [
            "nparam-lint: a hook covers the whole repository, and with --config fine/other.toml it "
            "would check fine alone",
            "next: call the file fine/nparam-lint.toml, which is found by itself, and take "
            "--config out of the hook's arguments",
        ]
    by_hand = nparam_lint(*CONCISE, *options, cwd=monorepo.path, **monorepo.environ)
    assert (by_hand.returncode, by_hand.stdout, by_hand.stderr) == (0, "", "")


@pytest.mark.thorough
def test_by_hand_the_paths_are_what_is_asked_about(monorepo, nparam_lint):
    def found(*arguments, cwd="."):
        done = nparam_lint(*(*CONCISE, *arguments), cwd=monorepo.path / cwd, **monorepo.environ)
        assert (done.returncode, done.stderr) == (bool(done.stdout), "")
        lines = done.stdout.splitlines()
        return sorted(line.rpartition(":")[0].partition(" ")[0] for line in lines)

    assert found("fine") == []
    assert found(".", cwd="fine") == []
    assert found("fine", "b") == ["b/README.md:1:1:", "b/net.py:5:16:"]
    assert found("b", ".", "b/net.py") == found()  # and nothing twice
    assert found("../a", cwd="fine") == found(cwd="a")
    files = [line.partition(":")[0] for line in found("a")]
    assert files == ["in/nparam-lint.toml", "nparam-lint.toml"]


def test_annotations_of_github_name_the_files_of_every_project(monorepo, nparam_lint):
    more = ("--declared", "--format", "github")
    done = nparam_lint(*more, "a", "b", cwd=monorepo.path, **monorepo.environ)
    assert done.returncode == 1
    for file in ("a/nparam-lint.toml", "a/in/nparam-lint.toml", "b/net.py"):
        assert f"file={file},line=" in done.stdout


def test_each_project_has_a_heading_and_the_answer_is_given_again(
    repository, nparam_lint, nparam_lint_process
):
    files = {"net.py": model(10), "nparam-lint.toml": CONFIG.format(110)}
    inner = {f"{place}/{name}": text for place in "ab" for name, text in files.items()}
    sample = repository({"top.py": model(10, 110)} | inner)
    for path in (*sample.path.rglob("*"), sample.path):  # what has just changed is not relied upon
        os.utime(path, (1_600_000_000, 1_600_000_000), follow_symlinks=False)

    def run(command):
        return command("--declared", "--staged", cwd=sample.path, **sample.environ)

    first, again = run(nparam_lint), run(nparam_lint_process)
    assert (first.returncode, first.stderr) == (again.returncode, again.stderr) == (0, "")
    lines = [line for line in first.stdout.splitlines() if line.startswith("project")]
    assert lines == ["project .", "project a (nparam-lint.toml)", "project b (nparam-lint.toml)"]
    assert [line for line in again.stdout.splitlines() if line.startswith("project")] == lines
    assert again.stdout.count("staged: 1 model (1 from the cache) · 1 budget holds · ") == 3
    sample.add({"b/nparam-lint.toml": CONFIG.format(111)})
    assert "declared 111" in " ".join(run(nparam_lint).stdout.split())


def test_what_is_said_of_one_project_where_another_is_inside(repository, nparam_lint):
    """Commands work from where one is; a command about one project names that inside, or refuses to
    skip it; a config that is wrong is named with its directory, and may be left out."""
    inner = {"net.py": model(10), "nparam-lint.toml": CONFIG.format(110)}
    inner["README.md"] = "110 <!-- nparam: net.py::Net --> parameters\n"
    files = {f"b c/{name}": text for name, text in inner.items()}
    sample = repository({"top.py": model(10, 110), **files})

    def run(*arguments, code, cwd="."):
        done = nparam_lint(*arguments, cwd=sample.path / cwd, **sample.environ)
        assert done.returncode == code, done.stdout + done.stderr
        return done

    sample.write({"b c/net.py": model(11)})
    drift = ("--tolerance", "0")
    step = "b c is a project of its own; next: nparam-lint {} 'b c'\n"
    assert step.format("diff HEAD") in run("diff", "HEAD", code=0).stdout
    assert run("diff", "HEAD", "b c", *drift, code=1).stdout.count("NPL014") == 3
    assert run("diff", "HEAD", *drift, "b c", code=1).stdout.count("NPL014") == 3
    said = run("update", "--diff", code=0).stderr
    assert step.format("update") in said
    assert "1 budget holds\n" in said
    assert run("claims", code=0).stderr.endswith(step.format("claims"))
    # What judges by its exit code does not pass over it.
    for command in (["diff", "HEAD", *drift], ["update", "--check"]):
        first = next(n for n, word in enumerate(command) if word.startswith("--"))
        there = [*command[:first], "'b c'", *command[first:]]
        assert run(*command, code=2).stderr == (
            f"nparam-lint: b c is a project of its own, which {command[first]} does not judge from "
            f"above it\nnext: nparam-lint {' '.join(there)}\n"
            '      and in the config above it: exclude = ["b c/**"]\n'
        )

    for more in (["--format", "json"], ["--output-file", "x"]):
        what = "--output-file" if more[0] == "--output-file" else " ".join(more)
        assert run("--declared", *more, code=2).stderr == (
            f"nparam-lint: b c/nparam-lint.toml configures a project of its own, but {what} "
            "is for one project only, and a check of the directory above it does not read "
            "this config\n"
            f"next: nparam-lint --declared 'b c' {' '.join(more)}\n"
            '      and in the config above it, if there is one: exclude = ["b c/**"]\n'
        )

    sample.add({"b c/nparam-lint.toml": CONFIG.format(9)})
    for place, step in (
        (".", "update 'b c/net.py::Net' && git add 'b c/nparam-lint.toml'"),
        ("b c", "update net.py::Net && git add nparam-lint.toml"),
    ):
        done = run("--declared", "--staged", code=1, cwd=place)
        assert f"intended: nparam-lint {step}" in " ".join(done.stdout.split())

    sample.add({"b c/nparam-lint.toml": "devise = 1\n"})
    assert run("--declared", "--staged", code=2).stderr.startswith(
        "nparam-lint: in b c: the configuration is wrong\nnparam-lint.toml:1:1: unknown config key"
    )
    sample.add({"nparam-lint.toml": 'exclude = ["b c/**"]\n'})
    assert "project" not in run("--declared", "--staged", code=0).stdout


# --- environments -------------------------------------------------------------------------------


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
