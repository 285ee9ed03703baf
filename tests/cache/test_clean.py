"""`nparam-lint clean` removes what is ours, and nothing else; `doctor` says what there is."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from cache_project import new_environment, tree

from nparam_lint.cache.housekeeping import survey, trim
from nparam_lint.cache.store import NOWHERE, PARTIAL, TAG, Store, digest


@pytest.fixture
def base(tmp_path):
    return tmp_path / "cache"


@pytest.fixture
def clean_up(nparam_lint, base, tmp_path):
    """Runs the command; returns its exit code and what it writes."""

    def run(**more: str) -> tuple[int, str, str]:
        environ = {"NPARAM_LINT_CACHE": str(base), **more}
        done = nparam_lint("clean", cwd=tmp_path, **environ)
        return done.returncode, done.stdout, done.stderr

    return run


def fill(base: Path, *projects: str) -> Store:
    for project in projects:
        store = Store(str(base), project)
        assert store.save("one", b"1")
        assert store.save("two", b"2" * 5000)
    return store


def test_it_removes_what_is_kept_of_all_projects(clean_up, base):
    store = fill(base, "/a", "/b")
    Path(store.folder, f"one.0123456789abcdef{PARTIAL}").write_bytes(b"")
    (base / f"v1.0123456789abcdef{PARTIAL}").mkdir()
    (base / f"v1.0123456789abcdef{PARTIAL}" / TAG).write_bytes(b"Sig")
    assert clean_up() == (0, f"removed 5 files, 24.6 kB, from {base}\n", "")
    assert list(tree(base)) == ["v1", f"v1/{TAG}"]
    assert clean_up() == (0, f"nothing to remove from {base}\n", "")
    assert fill(base, "/a").load("one") == b"1"
    (base / "v1").rename(base / "v12")  # other versions' entries go, too
    fill(base, "/a")
    assert clean_up() == (0, f"removed 4 files, 24.6 kB, from {base}\n", "")


@pytest.mark.parametrize("what", ["nothing", "file", "link", "empty"])
def test_where_nothing_is_kept_it_says_so(clean_up, base, tmp_path, what):
    if what == "file":
        base.write_text("mine")
    elif what == "link":
        base.symlink_to(tmp_path / "nothing")
    elif what == "empty":
        base.mkdir()
    before = tree(tmp_path)
    assert clean_up() == (0, f"nothing to remove from {base}\n", "")
    assert tree(tmp_path) == before


def test_where_nothing_can_be_kept_it_says_so(clean_up):
    home = {"HOME": "", "XDG_CACHE_HOME": "", "LOCALAPPDATA": ""}
    said = clean_up(NPARAM_LINT_CACHE="", **home)
    assert said == (0, f"nothing to remove: {NOWHERE}\n", "")


@pytest.mark.parametrize("tag", [None, b"", b"Signature: 8a477f597d28d172789f06886806bc55\n"])
def test_a_directory_called_as_ours_is_left_alone(clean_up, base, tag):
    folder = base / "v1" / digest(b"/a")
    folder.mkdir(parents=True)
    (folder / "one").write_text("theirs")
    if tag is not None:
        (base / "v1" / TAG).write_bytes(tag)
    before = tree(base)
    for project in ("/a", "/b"):
        store = Store(str(base), project)
        assert not store.save("one", b"1")
    assert store.trouble == f"{base / 'v1'} was not made by nparam-lint"
    assert clean_up() == (0, f"nothing to remove from {base}\n", "")
    trim(str(base), limit=0)
    assert tree(base) == before


def test_what_cannot_be_removed_is_named_and_the_rest_goes(clean_up, base):
    store = fill(base, "/a", "/b")
    folder = Path(store.folder, "model")
    folder.mkdir()
    (folder / "mine").write_text("mine")
    code, out, err = clean_up()
    assert (code, out) == (2, f"removed 4 files, 24.6 kB, from {base}\n")
    assert err == (
        "nparam-lint: cannot remove everything\n"
        f"{folder}: a directory, which nparam-lint did not make\n"
    )
    assert (folder / "mine").read_text() == "mine"
    assert [path.name for path in (base / "v1").iterdir() if path.is_dir()] == [folder.parent.name]


DENIED = """
import os, sys
from nparam_lint.cache.housekeeping import clean
if os.geteuid() == 0: os.setuid(65534)
removed = clean(sys.argv[1])
print(len(removed.files), *removed.faults, sep="\\n")
"""


@pytest.mark.skipif(os.name != "posix", reason="modes are of POSIX")
def test_what_may_not_be_removed_is_named_with_the_reason():
    # Directly below the place for temporary files, where any user may look.
    with tempfile.TemporaryDirectory() as temporary:
        base = Path(temporary)
        base.chmod(0o755)
        shown, hidden = (Path(fill(base, name).folder) for name in ("/a", "/b"))
        for folder, mode in ((base / "v1", 0o555), (shown, 0o555), (hidden, 0o000)):
            folder.chmod(mode)
        done = subprocess.run(
            [sys.executable, "-c", DENIED, str(base)], capture_output=True, text=True, check=True
        )
        for folder in (base / "v1", shown, hidden):
            folder.chmod(0o700)
        removed, *faults = done.stdout.splitlines()
        assert removed == "0"
        places = (shown / "one", shown / "two", shown, hidden)
        assert sorted(faults) == sorted(f"{place}: Permission denied" for place in places)
        assert len(survey(str(base)).files) == 4


def test_doctor_says_where_it_is_how_large_and_why_there_is_none(nparam_lint, base, tmp_path):
    bare = tmp_path / "venv"  # without torch, which is quicker
    (new_environment(bare) / "ours.pth").unlink()

    def row(*arguments: str, **environ: str) -> str:
        done = nparam_lint("doctor", "--python", bare, *arguments, cwd=tmp_path, **environ)
        assert (done.returncode, done.stderr) == (2, "")
        (found,) = re.findall(r"^cache +(.+)$", done.stdout, re.MULTILINE)
        return str(found)

    there = {"NPARAM_LINT_CACHE": str(base)}
    assert row(**there) == f"{base}: 0 B in 0 files, of all projects"
    fill(base, "/a", "/b")
    assert row(**there) == f"{base}: 24.6 kB in 4 files, of all projects"
    assert row("--no-cache", **there) == "not used: --no-cache"
    nowhere = {"NPARAM_LINT_CACHE": "", "XDG_CACHE_HOME": "", "HOME": "", "LOCALAPPDATA": ""}
    assert row(**nowhere) == f"none: {NOWHERE}"
    base.rename(base.with_name("moved"))
    base.write_text("mine")
    assert row(**there).startswith(f"none: {base}")
