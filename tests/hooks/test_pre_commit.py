"""The hooks in the real pre-commit, which installs them from this checkout."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest
import yaml
from commits import JUDGED, REFUSED, UNREADABLE, accepted, environment, model, refused, unwrapped
from false_claims import NET, PLACES, READ, UNCLEAR
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


@pytest.fixture
def judged(framework):
    """Makes a repository whose models are built with the interpreter of the tests."""

    def make(files: dict[str, str]) -> Sample:
        return framework(files, NPARAM_LINT_PYTHON=sys.executable)

    return make


def test_the_source_alone_is_checked_in_a_small_environment_without_torch(judged, home):
    sample = judged({"net.py": model(10, "12 apples")})
    sample.write({"net.py": model(10, 110)})
    run = ("run", "nparam-lint-static")
    refused(pre_commit(sample, *run, NPARAM_LINT_PYTHON="/gone"), "net.py:5:16 NPL002")
    sample.git("add", "net.py")
    done = pre_commit(sample, *run, NPARAM_LINT_PYTHON="/gone")
    assert done.returncode == 0, done.stdout
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
    texts += [case.files["net.py"].decode() for case in PLACES]
    sample.add({f"file_{number}.py": text for number, text in enumerate(texts)})
    done = sample.commit()
    refused(done)
    said = unwrapped(done)
    assert [text for n, text in enumerate(texts) if f"file_{n}.py:" not in said] == []


@pytest.mark.thorough  # test_plain_hook.py has another one
def test_a_commit_from_a_graphical_interface_or_a_linked_worktree(framework, tmp_path):
    """No environment is active: git is started with hardly any variables at all."""
    sample = framework({"net.py": model(10, 110)})
    environment(sample.path / ".venv")
    kept = ("HOME", "PRE_COMMIT_HOME")
    bare = {key: sample.environ[key] for key in kept} | {"PATH": "/usr/bin:/bin"}
    bare |= {key: value for key, value in sample.environ.items() if key.startswith("GIT_")}
    linked = Sample(tmp_path / "side tree", bare)
    sample.git("worktree", "add", "--quiet", "-b", "side", linked.path)
    sample.environ = bare
    for tree, place in ((sample, "the project"), (linked, "the main worktree")):
        tree.add({"net.py": model(20, 110)})
        found = f"{sample.path}/.venv/bin/python (.venv in {place})"
        refused(tree.commit(), "net.py:5:16 NPL001", "declared 110", "420", found)
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
def test_every_stage_judges_what_git_is_about_to_record(judged, tmp_path):
    sample = judged({"net.py": model(10), "other.py": model(10)})
    # Changes that are not staged are put aside, and come back.
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
    sample.git("reset", "--quiet", "--hard")
    # A merge without a conflict, of two sides that are fine.
    sample.git("checkout", "--quiet", "-b", "side")
    sample.committed({"nparam-lint.toml": '[budgets]\n"other.py::Net" = {}\n'.format('"<= 500"')})
    sample.git("checkout", "--quiet", "main")
    sample.committed({"other.py": model(30)})
    refused(sample.attempt("merge", "--no-edit", "side"), "nparam-lint.toml:2:1 NPL001", "930")
    sample.git("checkout", "--quiet", "--force", "side")
    # A commit that only deletes.
    sample.git("rm", "--quiet", "other.py")
    refused(sample.commit(), "nparam-lint.toml:2:1 NPL008", "there is no file other.py")
    sample.git("checkout", "--quiet", "--force", "main")
    # A push is judged by the commit that is pushed.
    sample.git("init", "--quiet", "--bare", tmp_path / "remote.git")
    sample.git("remote", "add", "origin", tmp_path / "remote.git")
    sample.committed({"net.py": model(20, UNREADABLE)})
    sample.add({"net.py": model(20)})  # staged, and no part of the push
    refused(sample.attempt("push", "origin", "main"), *REFUSED)
    pushed = sample.attempt("push", "origin", "HEAD~1:refs/heads/main")
    accepted(pushed, JUDGED)
    assert "staged:" not in pushed.stdout + pushed.stderr


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


@pytest.mark.thorough
def test_prek_runs_what_install_hook_prints(repository, published, nparam_lint, home):
    """With this checkout in place of the forge."""
    prek = Path(sys.executable).with_name("prek")
    if not prek.exists():
        pytest.skip("there is no prek")
    sample = repository({"net.py": model(10), "prek.toml": "# mine\n"})
    sample.environ = sample.environ | {"PREK_HOME": str(home / "prek")}
    types = ["--hook-type", "pre-commit", "--hook-type", "pre-merge-commit"]
    install = [prek, "install", *types]
    subprocess.run(install, cwd=sample.path, env=sample.environ, check=True, timeout=60)
    done = nparam_lint("install-hook", cwd=sample.path, **sample.environ)
    text, _, then = done.stderr.partition("add to prek.toml:\n")[2].partition("then: ")
    assert then == f"prek install {' '.join(types)}\n"
    config = dedent(text)
    config = re.sub(r'repo = ".*"', f'repo = "{published.path}"', config)
    config = re.sub(r'rev = ".*"', f'rev = "{published.git("rev-parse", "HEAD")}"', config)
    sample.add({"net.py": model(10, UNREADABLE), "prek.toml": config})
    refused(sample.attempt("commit", "-m", "x"), *REFUSED)
    sample.add({"net.py": model(10, 110)})
    accepted(sample.attempt("commit", "-m", "x"), "nparam-lint")
