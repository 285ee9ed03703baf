"""`nparam-lint install-hook`: what it writes, what it leaves alone, and how it finds itself. What
it says is on pages/install_hook.md."""

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

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "nparam_lint/cli/hook.sh"
HOOKS = ("pre-commit", "pre-merge-commit")
EVERY = (*HOOKS, "pre-push", "post-rewrite")
FOREIGN = "#!/bin/sh\necho checked by hand\n"


@pytest.fixture
def sample(repository):
    """A repository in which there is nothing to check."""
    return repository({"net.py": model(10)})


@pytest.fixture
def install(nparam_lint, sample):
    """Runs the installer in the repository."""

    def run(*arguments: str, cwd: Path | None = None, code: int = 0):
        done = nparam_lint("install-hook", *arguments, cwd=cwd or sample.path, **sample.environ)
        assert done.returncode == code, done.stdout + done.stderr
        assert bool(done.stderr) == bool(code)
        return done.stderr or done.stdout

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


def test_the_hooks_of_the_repository_are_plain_shell_and_those_that_are_installed():
    assert (ROOT / "hooks/pre-commit").read_bytes() == SOURCE.read_bytes()
    for name in (*HOOKS, "ci-gate"):
        assert os.access(ROOT / "hooks" / name, os.X_OK)
        for shell in filter(None, map(shutil.which, ("sh", "dash", "bash"))):
            subprocess.run([shell, "-n", ROOT / "hooks" / name], check=True)


def test_hooks_are_written_replaced_and_removed(sample, install, tmp_path):
    place = sample.path / ".git/hooks"

    def said(verb, names=HOOKS):
        return "".join(f"{verb} {place / name}\n" for name in names)

    assert install() == said("installed")
    source = SOURCE.read_text()
    ours = source.replace("\npython='' ", f"\npython={shlex.quote(sys.executable)} ")
    assert hooks_of(sample) == dict.fromkeys(HOOKS, ours)
    for name in HOOKS:
        assert stat.S_IMODE((place / name).stat().st_mode) == 0o755
    accepted(sample.commit("--allow-empty"), JUDGED)
    # An older one is replaced, and a link not written through.
    (place / "pre-commit").write_text("#!/bin/sh\n# The nparam-lint hook: as it was.\nexit 1\n")
    kept = shutil.copy(SOURCE, tmp_path / "kept")
    (place / "pre-merge-commit").unlink()
    (place / "pre-merge-commit").symlink_to(kept)
    install(cwd=sample.path / ".git/..")
    assert hooks_of(sample) == dict.fromkeys(HOOKS, ours)
    assert not (place / "pre-merge-commit").is_symlink()
    assert kept.read_bytes() == SOURCE.read_bytes()
    # Those that were asked for once stay, and are removed with the others.
    install("--post-rewrite")
    install("--pre-push")
    assert install() == said("installed", EVERY)
    assert hooks_of(sample) == dict.fromkeys(sorted(EVERY), ours)
    assert install("--uninstall") == said("removed", EVERY)
    assert hooks_of(sample) == {}
    assert f"there is no {place}/pre-commit\n" in install("--uninstall")
    # What is somebody else's is not.
    install()
    sample.write({".git/hooks/pre-merge-commit": FOREIGN})
    assert install("--uninstall") == (
        f"removed {place}/pre-commit\n"
        f"not changed, since nparam-lint did not install it: {place}/pre-merge-commit\n"
    )
    assert hooks_of(sample) == {"pre-merge-commit": FOREIGN}


def test_a_foreign_hook_is_left_alone_and_the_line_to_add_works(sample, install):
    merges = sample.path / ".git/hooks/pre-merge-commit"
    merges.symlink_to("nowhere")
    said = install(code=2)
    assert "pre-merge-commit is the hook of another tool, and was not changed\n" in said
    assert not merges.with_name("pre-commit").exists()
    merges.unlink()
    place = program(merges.with_name("pre-commit"), FOREIGN)
    said, _, line = install(code=2).removesuffix("\n").rpartition("\n")
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
def test_the_line_for_another_hook_that_is_asked_for(sample, install, tmp_path, name, git):
    place = program(sample.path / ".git/hooks" / name, FOREIGN)
    install()  # it is no hook that would be written
    line = install(f"--{name}", code=2).splitlines()[-1].strip()
    place.write_text(f"{FOREIGN}{line}\n")
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


def test_a_version_is_named_by_its_tag_or_its_commit():
    versions = ("0.2.0", "0.2.1.dev5+g1a2b3c4", "0.2.1.dev5+g1a2b3c4.d20260102")
    assert [*map(revision, versions)] == ["v0.2.0", "1a2b3c4", "1a2b3c4"]


def test_which_interpreters_a_hook_names(sample, install, tmp_path):
    assert "no interpreter at" in install("--python", "gone", code=2)
    logged = program(
        tmp_path / "logged", f'#!/bin/sh\necho >> $0.log\nexec {sys.executable} -c "exit(1)"\n'
    )
    install("--python", str(logged))
    assert f"\nmodels_python={logged} " in hooks_of(sample)["pre-commit"]
    sample.write({"net.py": model(11, claim=3)})
    del sample.environ["NPARAM_LINT_PYTHON"]
    assert sample.commit("--all").returncode
    assert logged.with_name("logged.log").exists()
    # Hooks among the user's files name none of this machine.
    sample.git("config", "core.hooksPath", "my hooks")
    assert install().startswith(f"installed {sample.path}/my hooks/pre-commit\n")
    assert hooks_of(sample) == dict.fromkeys(HOOKS, SOURCE.read_text())
    assert 'next: python = "…" in the config' in install("--python", str(logged), code=2)


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
    sample.environ = sample.environ | {"PATH": str(tools), "PYTHONPATH": ""}
    return sample


def tool(place: Path, text: str) -> None:
    """A program that says how it was called."""
    program(place, f'#!/bin/sh\necho {text}: $0 "$@"\nexit 1\n')


def test_the_search_goes_from_the_nearest_to_the_farthest(bare, tmp_path):
    done = bare.commit("--allow-empty")
    refused(done)
    assert done.stdout + done.stderr == (
        "nparam-lint was not found: the parameter counts of this commit cannot be checked.\n"
        f"looked in: .venv and venv of {bare.path} and of its main worktree, PATH, python3\n"
        "next: pip install nparam-lint in one of these; or, in the environment that has it, "
        "nparam-lint install-hook\n"
    )
    assert bare.git("rev-list", "--count", "HEAD") == "1"
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
