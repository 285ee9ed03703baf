"""`nparam-lint install-hook`: what it writes, what it leaves alone, and how it finds itself."""

from __future__ import annotations

import os
import shlex
import shutil
import stat
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from commits import JUDGED, REFUSED, UNREADABLE, accepted, model, refused, unwrapped
from sample_repository import Sample

from nparam_lint.cli.hook_managers import revision
from nparam_lint.ground.version import __version__

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "nparam_lint/cli/hook.sh"
HOOKS = ("pre-commit", "pre-merge-commit")
FOREIGN = "#!/bin/sh\necho checked by hand\n"


@pytest.fixture
def sample(repository):
    """A repository in which there is nothing to check."""
    return repository({"a.txt": ""})


@pytest.fixture
def install(nparam_lint):
    """Runs the installer in a repository; options last."""

    def run(sample: Sample, *options: str, cwd: Path | None = None, **more: str):
        return nparam_lint(
            "install-hook", *options, cwd=cwd or sample.path, **sample.environ, **more
        )

    return run


def program(place: Path, text: str) -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
    place.chmod(0o755)
    return place


def hooks_of(sample: Sample) -> dict[str, str]:
    """The hooks of a repository, without git's samples."""
    place = sample.path / sample.git("rev-parse", "--git-path", "hooks")
    return {p.name: p.read_text() for p in sorted(place.iterdir()) if p.suffix != ".sample"}


def test_the_hooks_of_the_repository_are_the_ones_that_are_installed():
    assert (ROOT / "hooks/pre-commit").read_bytes() == SOURCE.read_bytes()
    for name in (*HOOKS, "ci-gate"):
        assert os.access(ROOT / "hooks" / name, os.X_OK)


@pytest.mark.parametrize("script", ["pre-commit", "pre-merge-commit", "ci-gate"])
def test_the_scripts_are_plain_shell(script):
    for shell in ("sh", "dash", "bash"):
        if path := shutil.which(shell):
            subprocess.run([path, "-n", ROOT / "hooks" / script], check=True)


def test_both_hooks_are_written_with_the_python_that_installed_them(repository, install):
    sample = repository({"net.py": model(10)})
    done = install(sample)
    hooks = sample.path / ".git/hooks"
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "".join(f"installed {hooks / name}\n" for name in HOOKS)
    source = SOURCE.read_text()
    expected = source.replace("\npython='' ", f"\npython={shlex.quote(sys.executable)} ")
    assert hooks_of(sample) == dict.fromkeys(HOOKS, expected)
    for name in HOOKS:
        assert stat.S_IMODE((hooks / name).stat().st_mode) == 0o755
    accepted(sample.commit("--allow-empty"), JUDGED)


def test_the_interpreter_of_the_models_is_written_too(repository, install, tmp_path):
    sample = repository({"net.py": model(10)})
    missing = install(sample, "--python", "gone")
    assert missing.returncode == 2
    assert "no interpreter at" in missing.stderr
    logged = program(
        tmp_path / "logged", f'#!/bin/sh\necho >> $0.log\nexec {sys.executable} -c "exit(1)"\n'
    )
    assert install(sample, "--python", str(logged)).returncode == 0
    assert f"\nmodels_python={logged} " in hooks_of(sample)["pre-commit"]
    sample.write({"net.py": model(11, claim=3)})
    del sample.environ["NPARAM_LINT_PYTHON"]
    assert sample.commit("--all").returncode
    assert logged.with_name("logged.log").exists()
    sample.git("config", "core.hooksPath", "hooks")
    shared = install(sample, "--python", str(logged))
    assert 'next: python = "…" in the config' in shared.stderr


def test_installing_twice_is_installing_once_and_replaces_an_older_one(sample, install):
    install(sample)
    first = hooks_of(sample)
    older = "#!/bin/sh\n# The nparam-lint hook: as it was.\nexit 1\n"
    sample.write({".git/hooks/pre-commit": older})
    assert install(sample, cwd=sample.path / ".git/..").returncode == 0
    assert hooks_of(sample) == first


def test_uninstalling_removes_what_is_ours_and_nothing_else(sample, install):
    install(sample)
    sample.write({".git/hooks/pre-merge-commit": FOREIGN})
    done = install(sample, "--uninstall")
    hooks = sample.path / ".git/hooks"
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        f"removed {hooks}/pre-commit\n"
        f"not changed, since nparam-lint did not install it: {hooks}/pre-merge-commit\n"
    )
    assert hooks_of(sample) == {"pre-merge-commit": FOREIGN}
    assert f"there is no {hooks}/pre-commit\n" in install(sample, "--uninstall").stdout


def test_a_foreign_hook_is_left_alone_and_the_line_to_add_works(repository, install):
    sample = repository({"net.py": model(10, 110)})
    place = program(sample.path / ".git/hooks/pre-commit", FOREIGN)
    done = install(sample)
    assert (done.returncode, done.stdout) == (2, "")
    said, _, line = done.stderr.removesuffix("\n").rpartition("\n")
    assert said == (
        f"nparam-lint: {place} is the hook of another tool (it begins: #!/bin/sh), and was not "
        "changed\nnext: add this line to it:"
    )
    assert hooks_of(sample) == {"pre-commit": FOREIGN}
    place.write_text(FOREIGN + line.strip() + "\n")
    sample.add({"net.py": model(20, UNREADABLE)})
    refused(sample.commit(), "checked by hand", *REFUSED)
    sample.add({"net.py": model(20)})
    accepted(sample.commit(), "checked by hand", JUDGED)


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "git"), [("pre-push", "push"), ("post-rewrite", "rebase")])
def test_the_line_for_another_hook_that_is_asked_for(repository, install, tmp_path, name, git):
    sample = repository({"net.py": model(10)})
    place = program(sample.path / ".git/hooks" / name, FOREIGN)
    assert install(sample).returncode == 0  # it is no hook that would be written
    done = install(sample, f"--{name}")
    assert (done.returncode, done.stdout) == (2, "")
    place.write_text(f"{FOREIGN}{done.stderr.splitlines()[-1].strip()}\n")
    sample.git("init", "--quiet", "--bare", tmp_path / "remote.git")
    sample.git("remote", "add", "origin", tmp_path / "remote.git")
    sample.committed({"net.py": model(11, UNREADABLE)})
    arguments = ("push", "origin", "main") if git == "push" else ("rebase", "--force", "HEAD~1")
    done = sample.attempt(*arguments)
    assert "checked by hand" in unwrapped(done)
    assert REFUSED[0] in unwrapped(done)
    assert (done.returncode == 0) == (git == "rebase")
    assert sample.attempt("push", "origin", "HEAD~1:refs/heads/x").returncode == 0
    assert sample.attempt("push", "origin", ":x").returncode == 0  # nothing to judge


def test_hooks_that_were_asked_for_are_kept_and_removed_with_the_others(sample, install):
    install(sample)
    install(sample, "--post-rewrite")
    assert install(sample, "--pre-push").returncode == 0
    every = (*HOOKS, "pre-push", "post-rewrite")
    hooks = hooks_of(sample)
    assert sorted(hooks) == sorted(every)
    assert len(set(hooks.values())) == 1
    done = install(sample)
    assert done.stdout == "".join(f"installed {sample.path}/.git/hooks/{name}\n" for name in every)
    done = install(sample, "--uninstall")
    assert done.stdout == "".join(f"removed {sample.path}/.git/hooks/{name}\n" for name in every)
    assert hooks_of(sample) == {}


def test_a_foreign_hook_for_merges_keeps_the_other_one_out_as_well(sample, install):
    (sample.path / ".git/hooks/pre-merge-commit").symlink_to("nowhere")
    done = install(sample)
    assert done.returncode == 2
    assert "pre-merge-commit is the hook of another tool, and was not changed\n" in done.stderr
    assert not (sample.path / ".git/hooks/pre-commit").exists()


def test_the_hook_of_pre_commit_is_known_by_its_name(sample, install):
    sample.write({".pre-commit-config.yaml": "repos: []\n"})
    framework = [sys.executable, "-m", "pre_commit", "install"]
    subprocess.run(framework, cwd=sample.path, env=sample.environ, check=True, capture_output=True)
    done = install(sample)
    assert done.returncode == 2
    assert done.stderr == (
        "nparam-lint: the hooks of this repository are those of pre-commit; nothing was changed\n"
        "next: add to .pre-commit-config.yaml:\n"
        "      - repo: https://github.com/nparam-lint/nparam-lint\n"
        f"        rev: {revision(__version__)}\n"
        "        hooks:\n"
        "          - id: nparam-lint\n"
        "then: pre-commit install --hook-type pre-commit --hook-type pre-merge-commit\n"
    )


def test_a_version_is_named_by_its_tag_or_its_commit():
    versions = ("0.2.0", "0.2.1.dev5+g1a2b3c4", "0.2.1.dev5+g1a2b3c4.d20260102")
    assert [*map(revision, versions)] == ["v0.2.0", "1a2b3c4", "1a2b3c4"]


def test_a_link_to_our_hook_is_replaced_and_not_written_through(sample, install, tmp_path):
    kept = tmp_path / "kept"
    shutil.copy(SOURCE, kept)
    (sample.path / ".git/hooks/pre-commit").symlink_to(kept)
    assert install(sample).returncode == 0
    assert not (sample.path / ".git/hooks/pre-commit").is_symlink()
    assert kept.read_bytes() == SOURCE.read_bytes()


def test_hooks_among_the_users_files_name_no_interpreter_of_this_machine(sample, install):
    sample.git("config", "core.hooksPath", "my hooks")
    done = install(sample)
    assert done.stdout.startswith(f"installed {sample.path}/my hooks/pre-commit\n")
    assert hooks_of(sample) == dict.fromkeys(HOOKS, SOURCE.read_text())


@pytest.mark.thorough
def test_a_linked_worktree_shares_its_hooks_with_the_main_one(repository, install, tmp_path):
    sample = repository({"net.py": model(10, 110)})
    sample.git("worktree", "add", "--quiet", "-b", "side", tmp_path / "side tree")
    linked = Sample(tmp_path / "side tree", sample.environ)
    assert install(linked).returncode == 0
    assert sorted(hooks_of(sample)) == list(HOOKS)
    linked.add({"net.py": model(20, UNREADABLE)})
    refused(linked.commit(), *REFUSED)
    sample.add({"net.py": model(11)})
    accepted(sample.commit(), JUDGED)


@pytest.mark.parametrize(
    ("project", "message"),
    [
        ("nowhere", "nparam-lint: there is no directory nowhere\n"),
        ("..", "nparam-lint: .. is outside of the repository at {}\n"),
    ],
)
def test_a_project_that_is_none_is_told(sample, install, project, message):
    done = install(sample, project)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", message.format(sample.path))


def test_outside_of_a_repository_it_says_so(nparam_lint, tmp_path):
    done = nparam_lint("install-hook", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"nparam-lint: {tmp_path} is not in a git repository: ")


# --- which nparam-lint the hook runs ------------------------------------------------------------


@pytest.fixture
def bare(repository, tmp_path):
    """A repository with the hook of hooks/, which names no interpreter; git alone is on PATH."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("git", "sh", "cat", "dirname"):
        (tools / name).symlink_to(shutil.which(name))
    sample = repository({"net.py": model(10, 110), ".gitignore": ".venv/\nvenv/\n"})
    sample.git("config", "core.hooksPath", ROOT / "hooks")
    sample.environ = sample.environ | {"PATH": str(tools)}
    return sample


def tool(place: Path, text: str) -> None:
    """A program that says how it was called."""
    program(place, f'#!/bin/sh\necho {text}: $0 "$@"\nexit 1\n')


def test_without_any_nparam_lint_the_commit_is_refused(bare):
    done = bare.commit("--allow-empty")
    refused(done)
    assert done.stdout + done.stderr == (
        "nparam-lint was not found: the parameter counts of this commit cannot be checked.\n"
        f"looked in: .venv and venv of {bare.path} and of its main worktree, PATH, python3\n"
        "next: pip install nparam-lint in one of these; or, in the environment that has it, "
        "nparam-lint install-hook\n"
    )
    assert bare.git("rev-list", "--count", "HEAD") == "1"


def test_the_search_goes_from_the_nearest_to_the_farthest(bare, tmp_path):
    linked = Sample(tmp_path / "side", bare.environ)
    bare.git("worktree", "add", "--quiet", "-b", "side", linked.path)
    places = {
        "path": tmp_path / "bin/nparam-lint",
        "main": bare.path / "venv/bin/nparam-lint",
        "own venv": linked.path / "venv/bin/nparam-lint",
        "own": linked.path / ".venv/bin/nparam-lint",
    }
    for name, place in places.items():
        tool(place, name)
        done = linked.commit("--allow-empty")
        refused(done)
        said = done.stdout + done.stderr
        assert said.startswith(f"{name}: ")
        assert said.endswith("nparam-lint check --declared --staged\n")


def test_an_interpreter_that_is_gone_is_passed_over(bare, tmp_path):
    bare.git("config", "--unset", "core.hooksPath")
    environment = tmp_path / "installing"
    venv.create(environment)
    python = str(environment / "bin/python")
    code = f"import sys; sys.path[:0] = {[str(ROOT), *sys.path]!r}; "
    code += "from nparam_lint.cli.main import main; main(['install-hook'])"
    command = [python, "-c", code]
    subprocess.run(command, cwd=bare.path, env=bare.environ, check=True, capture_output=True)
    assert f"\npython={python} " in (bare.path / ".git/hooks/pre-commit").read_text()
    tool(tmp_path / "bin/nparam-lint", "path")
    refused(bare.commit("--allow-empty"), "path: ")  # it is there, without nparam-lint
    shutil.rmtree(environment)
    refused(bare.commit("--allow-empty"), "path: ")
    (tmp_path / "bin/nparam-lint").unlink()
    refused(bare.commit("--allow-empty"), f"looked in: {python}, .venv and venv of ")


@pytest.mark.thorough
def test_python_on_path_is_the_last_resort_and_imports_nothing_from_the_users_files(bare, tmp_path):
    wrapper = f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n'
    program(tmp_path / "bin/python3", wrapper)
    hidden = "raise SystemExit('imported from the working tree')\n"
    bare.write({"argparse.py": hidden, "nparam_lint.py": hidden, "json.py": hidden})
    bare.git("add", "net.py")
    accepted(bare.commit("--allow-empty"))


def test_installing_for_one_project_gates_them_all(repository, nparam_lint):
    configs = {"a/nparam-lint.toml": "", "b/nparam-lint.toml": ""}
    sample = repository({"a/net.py": model(10), "b/net.py": model(10)} | configs)

    def install(*projects, cwd="."):
        done = nparam_lint("install-hook", *projects, cwd=sample.path / cwd, **sample.environ)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout, (sample.path / ".git/hooks/pre-commit").read_text()

    said, script = install("a")
    assert said.endswith(
        "every project of the repository is checked, including these; to exclude one, add "
        f'to the config at {sample.path}: exclude = ["DIRECTORY/**"]\n'
    )
    # What is installed later, or elsewhere, takes nothing away.
    assert {install("b")[1], install(cwd="a")[1], install("a", "b")[1], install()[1]} == {script}
    sample.add({"b/net.py": model(10, UNREADABLE), "top.py": model(10, UNREADABLE)})
    done = sample.commit()
    refused(done, "project b (nparam-lint.toml)", *REFUSED, "project .", "top.py:5:16 NPL002")
    sample.add({"b/net.py": model(10), "top.py": model(10)})
    accepted(sample.commit(), "project a", "project b", JUDGED)
