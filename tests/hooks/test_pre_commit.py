"""The hooks in the real pre-commit, which installs them from this checkout."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from commits import JUDGED, REFUSED, UNREADABLE, accepted, environment, model, refused, unwrapped
from false_claims import NET, PLACES, READ, UNCLEAR, source
from sample_repository import Sample

ROOT = Path(__file__).resolve().parents[2]
PACKAGED = ("pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml")
STAGES = ("pre-commit", "pre-merge-commit", "pre-push")
CONFIG = """\
default_install_hook_types: [{types}]
repos:
  - repo: {repo}
    rev: {rev}
    hooks:
      - id: nparam-lint
        verbose: true
        args: [-v]
      - id: nparam-lint-static
      - id: nparam-lint-cuda
        stages: [manual]
"""
PRE_COMMIT = [sys.executable, "-m", "pre_commit"]


@pytest.fixture(scope="module")
def published(tmp_path_factory, environ) -> Sample:
    """This checkout as the repository that a user's config names."""
    made = Sample.create(tmp_path_factory.mktemp("published") / "nparam-lint", environ)
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "nparam_lint", made.path / "nparam_lint", ignore=ignore)
    for name in PACKAGED:
        shutil.copy(ROOT / name, made.path / name)
    made.git("add", "--all")
    made.git("commit", "--quiet", "--message", "release")
    return made


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    """Where pre-commit keeps the environments, made once for all tests of this module."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def framework(repository, published, home):
    """Makes a repository that has run `pre-commit install`, and no interpreter named."""

    def make(files: dict[str, str], **more: str) -> Sample:
        sample = repository(files)
        del sample.environ["NPARAM_LINT_PYTHON"]
        sample.environ = (
            sample.environ | {"PRE_COMMIT_HOME": str(home), "PIP_NO_COMPILE": "1"} | more
        )
        rev = published.git("rev-parse", "HEAD")
        config = CONFIG.format(repo=published.path, rev=rev, types=", ".join(STAGES))
        sample.committed({".pre-commit-config.yaml": config, ".gitignore": ".venv/\n"})
        assert pre_commit(sample, "install", "--install-hooks").returncode == 0
        return sample

    return make


def pre_commit(sample: Sample, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PRE_COMMIT, *arguments],
        cwd=sample.path,
        env=sample.environ | more,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


def test_the_manifest_runs_each_hook_once_whatever_was_changed():
    file = ROOT / ".pre-commit-hooks.yaml"
    subprocess.run([*PRE_COMMIT, "validate-manifest", file], check=True)
    hooks = {hook.pop("id"): hook for hook in yaml.safe_load(file.read_text())}
    command = "nparam-lint check"
    assert {name: (hook["entry"], hook["stages"]) for name, hook in hooks.items()} == {
        "nparam-lint": (f"{command} --declared --staged", [*STAGES, "manual"]),
        "nparam-lint-static": (f"{command} --static --staged", [*STAGES, "manual"]),
        "nparam-lint-cuda": (
            f"{command} --declared --staged --device cuda",
            [STAGES[-1], "manual"],
        ),
    }
    for hook in hooks.values():
        assert hook["language"] == "python"
        assert hook["minimum_pre_commit_version"] == "3.2.0"  # which knows these stages
        how = hook["pass_filenames"], hook["always_run"], hook["require_serial"]
        assert how == (False, True, True)


@pytest.mark.thorough
def test_the_environment_is_small_and_has_no_torch(framework, home):
    framework({"net.py": model(10, 110)})
    (made,) = home.glob("repo*/py_env-*")
    size = sum(path.lstat().st_size for path in made.rglob("*"))
    assert 5_000_000 < size < 100_000_000
    assert list(made.glob("lib/python*/site-packages/nparam_lint/cli/hook.sh"))
    assert not list(made.glob("lib/python*/site-packages/torch"))


@pytest.mark.thorough
def test_no_false_claim_is_committed(framework):
    sample = framework({"net.py": model(10, 110)})
    environment(sample.path / ".venv")
    texts = [NET.format(claim=claim) for claim in (READ[0], *UNCLEAR)]  # one is built
    texts += [source(text) for same in PLACES.values() for text in same]
    sample.add({f"file_{number}.py": text for number, text in enumerate(texts)})
    done = sample.commit()
    refused(done)
    said = unwrapped(done)
    assert [text for n, text in enumerate(texts) if f"file_{n}.py:" not in said] == []


@pytest.mark.thorough  # test_plain_hook.py has another one
def test_a_commit_from_a_graphical_interface(framework):
    """No environment is active: git is started with hardly any variables at all."""
    sample = framework({"net.py": model(10, 110)})
    environment(sample.path / ".venv")
    kept = ("HOME", "PRE_COMMIT_HOME")
    bare = {key: sample.environ[key] for key in kept} | {"PATH": "/usr/bin:/bin"}
    bare |= {key: value for key, value in sample.environ.items() if key.startswith("GIT_")}
    sample.environ = bare
    sample.add({"net.py": model(20, 110)})
    place = f"{sample.path}/.venv/bin/python (.venv in the project)"
    refused(sample.commit(), "net.py:5:16 NPL001", "declared 110", "420", place)
    sample.add({"net.py": model(20, 420)})
    # All files at once: what takes file names would run more than once.
    sample.add({f"files/{i}/{'long' * 20}.py": "" for i in range(2000)})
    done = sample.commit()
    accepted(done, "1 budget holds")
    assert (done.stdout + done.stderr).count("1 budget holds") == 1


@pytest.mark.thorough  # test_interpreter.py finds it on PATH
def test_an_active_environment_is_found_behind_that_of_the_hook(framework, tmp_path):
    # pre-commit puts its own environment into VIRTUAL_ENV and in front of PATH.
    active = environment(tmp_path / "active")
    sample = framework({"net.py": model(10, 110)}, VIRTUAL_ENV=str(active))
    sample.environ["PATH"] = f"{active}/bin:{sample.environ['PATH']}"
    accepted(sample.commit("--allow-empty"), f"{active}/bin/python3 (next on PATH)")


@pytest.mark.thorough
def test_a_linked_worktree_uses_the_environment_of_the_main_one(framework, tmp_path):
    sample = framework({"net.py": model(10, 110)})
    environment(sample.path / ".venv")
    linked = Sample(tmp_path / "side tree", sample.environ)
    sample.git("worktree", "add", "--quiet", "-b", "side", linked.path)
    linked.add({"net.py": model(20, 110)})
    found = f"{sample.path}/.venv/bin/python (.venv in the main worktree)"
    refused(linked.commit(), "net.py:5:16 NPL001", "420", found)


@pytest.mark.thorough  # test_projects.py shows it of the command
def test_arguments_of_a_hook_leave_no_project_out(framework, tmp_path):
    """Two projects that have an environment each, and nothing else on the machine has torch."""
    sample = framework({"a/net.py": model(10, 110), "b/net.py": model(10, 110)})
    a, b = (environment(sample.path / name / ".venv") for name in "ab")
    sample.environ["PATH"] = "/usr/bin:/bin"
    file = ".pre-commit-config.yaml"
    text = (sample.path / file).read_text()
    sample.committed({file: text.replace("args: [-v]", "args: [-v, a]")})
    sample.add({"b/net.py": model(10, 9)})
    refused(sample.commit(), f"{a}/bin/python", f"{b}/bin/python", "b/net.py:5:16 NPL001")
    sample.add({"b/net.py": model(10, 110)})
    accepted(sample.commit("--allow-empty"), "project a", "project b")
    # What can use one interpreter only names both.
    more = f"args: [--output-file, {tmp_path / 'report'}]"
    sample.add({file: text.replace("args: [-v]", more)})
    done = pre_commit(sample, "run", "nparam-lint")
    refused(done, "a/.venv; to check that part: nparam-lint a found, but", "b/.venv; to check")


@pytest.fixture
def judged(framework):
    """Makes a repository whose models are built with the interpreter of the tests."""

    def make(files: dict[str, str]) -> Sample:
        return framework(files, NPARAM_LINT_PYTHON=sys.executable)

    return make


@pytest.mark.thorough  # test_index.py has what is staged in part
def test_changes_that_are_not_staged_are_put_aside_and_come_back(judged):
    sample = judged({"net.py": model(10), "other.py": model(10)})
    sample.add({"net.py": model(20, UNREADABLE)})
    sample.write({"net.py": model(10), "other.py": model(30, UNREADABLE)})
    done = sample.commit()
    refused(done, *REFUSED)
    assert "other.py:" not in unwrapped(done)
    assert (sample.path / "net.py").read_text() == model(10)
    assert (sample.path / "other.py").read_text() == model(30, UNREADABLE)
    # Other indexes: of everything, and of one path.
    refused(sample.commit("--all"), "other.py:5:16 NPL002")
    accepted(sample.commit("net.py", "--allow-empty"), JUDGED)


@pytest.mark.thorough
def test_a_commit_that_only_deletes(judged):
    budget = '[budgets]\n"net.py::Net" = 110\n'
    sample = judged({"net.py": model(10), "nparam-lint.toml": budget})
    sample.git("rm", "--quiet", "net.py")
    refused(sample.commit(), "nparam-lint.toml:2:1 NPL008", "there is no file net.py")


@pytest.mark.thorough
def test_a_merge_without_a_conflict(judged):
    net = "from size import WIDTH\n" + model(10, "<= 500").replace("width=10", "width=WIDTH")
    sample = judged({"net.py": net.replace("(width, width)", "(width, 10)"), "size.py": "WIDTH=10"})
    sample.git("checkout", "--quiet", "-b", "side")
    sample.committed({"size.py": "WIDTH = 30\n"})
    sample.git("checkout", "--quiet", "main")
    sample.committed({"net.py": net})
    refused(sample.attempt("merge", "--no-edit", "side"), "net.py:6:16 NPL001", "930")


@pytest.mark.thorough
def test_a_push_is_judged_by_the_commit_that_is_pushed(judged, tmp_path):
    sample = judged({"net.py": model(10)})
    sample.git("init", "--quiet", "--bare", tmp_path / "remote.git")
    sample.git("remote", "add", "origin", tmp_path / "remote.git")
    sample.committed({"net.py": model(20, UNREADABLE)})
    sample.add({"net.py": model(20)})  # staged, and no part of the push
    refused(sample.attempt("push", "origin", "main"), *REFUSED)
    pushed = sample.attempt("push", "origin", "HEAD~1:refs/heads/main")
    accepted(pushed, JUDGED)
    assert "staged:" not in pushed.stdout + pushed.stderr
    sample.git("commit", "--quiet", "--no-verify", "--message", "mended")
    accepted(sample.attempt("push", "origin", "main"), JUDGED)


def test_the_source_alone_is_checked_where_nothing_can_be_imported(judged):
    sample = judged({"net.py": model(10, "12 apples")})
    sample.write({"net.py": model(10, 110)})
    run = ("run", "nparam-lint-static")
    refused(pre_commit(sample, *run, NPARAM_LINT_PYTHON="/gone"), "net.py:5:16 NPL002")
    sample.git("add", "net.py")
    done = pre_commit(sample, *run, NPARAM_LINT_PYTHON="/gone")
    assert done.returncode == 0, done.stdout


@pytest.mark.thorough
def test_cuda_is_required_by_the_hook_that_is_called_so(judged):
    sample = judged({"net.py": model(10, 110)})
    code = "import torch; print(torch.cuda.is_available())"
    has_it = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True)
    done = pre_commit(sample, "run", "--hook-stage", "manual", "nparam-lint-cuda")
    if has_it.stdout.strip() == b"True":
        assert done.returncode == 0, done.stdout
    else:
        refused(done, "net.py:4:1 NPL006", "cuda")
