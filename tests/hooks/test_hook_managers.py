"""`nparam-lint install-hook` where another tool manages the hooks: what its config gets, and that
this refuses commits."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

import pytest
import tomlkit
import yaml
from commits import JUDGED, REFUSED, UNREADABLE, accepted, model, refused

from nparam_lint.cli.hook_managers import revision
from nparam_lint.cli.install_hook import HOOKS
from nparam_lint.ground.version import __version__

if TYPE_CHECKING:
    from sample_repository import Sample

BINARIES = Path(sys.executable).parent
CHECK = "nparam-lint check --declared --staged"
# What husky 9 writes: `core.hooksPath` names the directory of these.
HUSKY = {
    ".husky/_/h": 's=$(dirname "$(dirname "$0")")/$(basename "$0")\n'
    '[ ! -f "$s" ] && exit 0\nsh -e "$s" "$@"\nexit $?\n',
    **dict.fromkeys(
        (f".husky/_/{name}" for name in ("pre-commit", "pre-merge-commit", "pre-push")),
        '#!/usr/bin/env sh\n. "$(dirname "$0")/h"',
    ),
}
PREK = '[[repos]]\nrepo = "builtin"\nhooks = [{ id = "check-yaml" }]\n'
# A manager, its config, and what is in it; the last five in a way that is not known.
CONFIGS = [
    ("lefthook", "lefthook.yml", "# mine"),
    (
        "lefthook",
        "lefthook.yaml",
        "pre-commit: # first\n  parallel: true\n  commands:\n      a:\n        run: x\n"
        "pre-push:\n  commands: {}\n",
    ),
    ("lefthook", ".lefthook.yml", "pre-commit:\n  jobs:\n    - run: x\n"),
    (
        "pre-commit",
        ".pre-commit-config.yaml",
        "repos:\n- repo: a\n  hooks:\n  - id: b\n\n# of ci\nci:\n  skip: []\n",
    ),
    (
        "pre-commit",
        ".pre-commit-config.yaml",
        "ci: {}\nrepos:\n  # one\n  - repo: a\n    hooks: [{id: b}]\n",
    ),
    ("pre-commit", ".pre-commit-config.yaml", "repos:\r\n  - repo: a\r\n    hooks: []\r\n"),
    ("prek", "prek.toml", PREK),
    ("lefthook", "lefthook.yml", "pre-commit: {commands: {a: {run: x}}}\n"),
    ("lefthook", "lefthook.toml", "[pre-commit.commands.a]\nrun = 'x'\n"),
    ("lefthook", "lefthook.json", '{"pre-commit": {"commands": {"a": {"run": "x"}}}}'),
    ("pre-commit", ".pre-commit-config.yaml", "repos: [{repo: a, hooks: []}]\n"),
    ("prek", "prek.toml", "repos = [{ repo = 'builtin', hooks = [] }]\n"),
]
OURS = "- repo: https://github.com/nparam-lint/nparam-lint\n  rev: v0.2.0\n  hooks:\n  - id: "
NONE = "- repo: local\n  hooks: []\n"
# A config, what is in it, what is asked for, and what it gets; nothing where that is in it.
LACKING = [
    (
        "lefthook.yml",
        f"pre-commit: &all\n  jobs: [{{run: {CHECK}}}]\npre-merge-commit: *all\n",
        "",
        "",
    ),
    (
        "lefthook.yml",
        "".join(f"{name}: {{jobs: [{{run: {CHECK}}}]}}\n" for name in HOOKS),
        "--pre-push",
        "pre-push:\n  commands:\n    nparam-lint:\n",
    ),
    (
        "lefthook.yml",
        "# nparam-lint is for CI\npre-commit:\n  jobs:\n  - run: x\n",
        "",
        "  - name: np",
    ),
    ("lefthook.yml", "pre-commit:\n  jobs:\n  - run: cat nparam-lint.toml\n", "", "  - name: np"),
    (".pre-commit-config.yaml", f"repos:\n{OURS}nparam-lint\n", "--pre-push", ""),
    (
        ".pre-commit-config.yaml",
        f"repos:\n{OURS}nparam-lint\n",
        "--post-rewrite",
        "    - id: nparam-lint\n      stages: [post-rewrite]\n",
    ),
    (
        ".pre-commit-config.yaml",
        f"repos:\n{OURS}nparam-lint\n    stages:\n    - commit\n    - merge-commit\n",
        "--pre-push",
        "    - id: nparam-lint\n      stages: [pre-push]\n",
    ),
    (
        ".pre-commit-config.yaml",
        f"repos:\n{NONE}# - id: nparam-lint\n",
        "",
        "    - id: nparam-lint\n",
    ),
    (
        ".pre-commit-config.yaml",
        f"repos:\n{OURS}nparam-lint-static\n",
        "",
        "    - id: nparam-lint\n",
    ),
    (
        ".pre-commit-config.yaml",
        f"exclude: ^nparam-lint.toml$\nrepos:\n{NONE}",
        "",
        "    - id: nparam-lint\n",
    ),
    (".husky/pre-commit", "npm test\n# nparam-lint is for CI\n", "", f"{CHECK} || exit 1\n"),
    (".husky/pre-commit", "npm test\nexit 0\n", "", f"{CHECK} || exit 1\nexit 0\n"),
    (".husky/pre-commit", "npm test; uv run nparam-lint check --staged\n", "", ""),
]


@pytest.fixture
def install(nparam_lint):
    def run(sample: Sample, *options: str):
        return nparam_lint("install-hook", *options, cwd=sample.path, **sample.environ)

    return run


def test_the_entry_is_added_and_all_else_stays(repository, install, expected):
    said = {}
    for number, (manager, name, text) in enumerate(CONFIGS, 1):
        sample = repository({"net.py": model(10), name: text}, f"repository {number}")
        if manager == "pre-commit":  # its config is also others'; it is known by the hook
            hook = sample.path / ".git/hooks/pre-commit"
            hook.write_text(f"#!/bin/sh\n# File generated by {manager}: https://example.org\n")
        options = ["--post-rewrite"] if text in ("# mine", PREK) else []
        asked = install(sample, *options)
        assert (asked.returncode, asked.stdout) == (2, "")
        assert contents(sample, name) == text
        shown = asked.stderr
        done = install(sample, "--write", *options)
        content = contents(sample, name)
        if content == text:  # it is written in a way that is not known
            assert (done.returncode, done.stderr) == (2, asked.stderr)
        else:
            assert (done.returncode, done.stderr) == (0, "")
            (tomlkit.parse if name.endswith("toml") else yaml.safe_load)(content)
            shown += f"----- with --write\n{done.stdout}----- {name}\n{content}"
            again = install(sample, "--write", *options)
            first = f"{manager} runs nparam-lint already: {name}\n"
            assert (again.returncode, again.stdout[: len(first)]) == (0, first)
            assert contents(sample, name) == content
        shown = shown.replace(revision(__version__), "REVISION").replace("\r", "␍")
        said[f"{number}: {manager}"] = shown
    expected(said)


@pytest.mark.parametrize(("name", "text", "option", "added"), LACKING)
def test_each_hook_is_added_that_does_not_run_yet(repository, install, name, text, option, added):
    sample = repository({"net.py": model(10), name: text})
    hook = sample.path / ".git/hooks/pre-commit"
    hook.write_text("#!/bin/sh\n# File generated by pre-commit: https://example.org\n")
    done = install(sample, "--write", *option.split())
    assert (done.returncode, done.stderr) == (0, "")
    content = contents(sample, name)
    assert [line for line in text.splitlines() if line not in content] == []
    assert added in content.replace(text, "", 1)
    assert bool(added) == (content != text)


def test_a_hook_that_is_in_the_config_may_not_be_installed(repository, install):
    sample = repository(
        {"net.py": model(10), ".pre-commit-config.yaml": f"repos:\n{OURS}nparam-lint\n"}
    )
    for name in HOOKS:
        hook = sample.path / ".git/hooks" / name
        hook.write_text("#!/bin/sh\n# File generated by pre-commit: https://example.org\n")
    already = "pre-commit runs nparam-lint already: .pre-commit-config.yaml\n"
    assert install(sample).stdout == already
    done = install(sample, "--pre-push")
    assert done.stdout == f"{already}then: pre-commit install --hook-type pre-push\n"


def contents(sample: Sample, name: str) -> str:
    return (sample.path / name).read_bytes().decode()


def test_husky_refuses_the_commit(repository, install):
    sample = repository({"net.py": model(10), ".husky/pre-commit": "echo mine"} | HUSKY)
    sample.git("config", "core.hooksPath", ".husky/_")
    for name in HUSKY:
        (sample.path / name).chmod(0o755)
    done = install(sample)
    assert done.returncode == 2
    assert f"add to .husky/pre-commit:\n    {CHECK} || exit 1\n" in done.stderr
    done = install(sample, "--write")
    assert done.stdout == "added to .husky/pre-commit\nwrote .husky/pre-merge-commit\n"
    text = (sample.path / ".husky/pre-commit").read_text()
    assert text == f"echo mine\n{CHECK} || exit 1\n"
    judged(sample)
    done = install(sample, "--uninstall")
    assert done.returncode == 2
    assert "remove it from .husky/pre-commit:2, .husky/pre-merge-commit:1\n" in done.stderr
    for name in ("pre-commit", "pre-merge-commit"):
        (sample.path / ".husky" / name).unlink()
    assert install(sample, "--uninstall").returncode == 0


def test_husky_in_a_package_below_the_top(repository, install):
    hooks = {f"frontend/{name}": text for name, text in HUSKY.items()}
    sample = repository({"net.py": model(10)} | hooks)
    sample.git("config", "core.hooksPath", "frontend/.husky/_")
    done = install(sample, "--write")
    assert done.stdout == "".join(f"wrote frontend/.husky/{name}\n" for name in HOOKS)


@pytest.mark.skipif(not (BINARIES / "lefthook").exists(), reason="there is no lefthook")
def test_lefthook_refuses_the_commit(repository, install):
    sample = repository({"net.py": model(10), "lefthook.yml": "# mine\n"}, "plain")
    assert install(sample, "--write", "--pre-push").returncode == 0
    subprocess.run(
        [BINARIES / "lefthook", "install"],
        cwd=sample.path,
        env=sample.environ,
        check=True,
        capture_output=True,
    )
    judged(sample)
    sample.git("init", "--quiet", "--bare", sample.path.parent / "remote.git")
    sample.git("remote", "add", "origin", sample.path.parent / "remote.git")
    path = f"{BINARIES}:{sample.environ['PATH']}"
    sample.add({"net.py": model(11, UNREADABLE)})
    sample.git("commit", "--no-verify", "-qm", "x")
    assert sample.attempt("push", "-q", "origin", "main", PATH=path).returncode == 1
    pushed = sample.attempt("push", "-q", "origin", "HEAD~1:refs/heads/x", PATH=path)
    assert pushed.returncode == 0, pushed.stdout + pushed.stderr


def judged(sample: Sample) -> None:
    """One commit is refused, another one made."""
    path = f"{BINARIES}:{sample.environ['PATH']}"
    sample.add({"net.py": model(20, UNREADABLE)})
    refused(sample.attempt("commit", "-m", "x", PATH=path), *REFUSED)
    sample.add({"net.py": model(20)})
    accepted(sample.attempt("commit", "-m", "x", PATH=path), JUDGED)


def test_what_is_asked_for_and_cannot_be(repository, install):
    sample = repository({"net.py": model(10)})
    done = install(sample, "--write")
    assert done.returncode == 2
    assert "manages the hooks here\nnext: nparam-lint install-hook\n" in done.stderr
    sample.write({"lefthook.yml": "# mine\n"})
    done = install(sample, "--python", sys.executable)
    assert done.returncode == 2
    assert 'next: python = "…" in the config' in done.stderr


def test_no_environment_that_will_be_gone_is_written_into_a_hook(repository, install):
    sample = repository({"net.py": model(10)})
    for prefix in (
        "/home/a/.cache/uv/archive-v0/h03K9-fGaz5bG5en",
        "/home/a/.cache/uv/builds-v0/.tmp9RCg0Z",
        "/home/a/.local/pipx/.cache/6b2f2a9a4b1a1e2",
    ):
        with mock.patch.object(sys, "prefix", prefix):
            done = install(sample)
        assert done.returncode == 2
        assert prefix in done.stderr
        assert "next: uv tool install nparam-lint" in done.stderr
        assert not (sample.path / ".git/hooks/pre-commit").exists()
