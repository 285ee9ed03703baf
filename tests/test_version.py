"""The version of a build: from the tags of git, and from what there is without them."""

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FILES = ("pyproject.toml", "README.md", "LICENSE", ".gitignore", ".gitattributes")
PACKAGE = [
    f"nparam_lint/{name}.py"
    for name in ("__init__", "ground/__init__", "ground/late", "ground/version")
]
# Python 3.14 wants to be told, and the first versions of 3.11 do not know it.
FILTER = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}


@pytest.fixture
def source(tmp_path):
    """What a build needs of the repository; `.git` is not there."""
    place = tmp_path / "source"
    (place / "nparam_lint/ground").mkdir(parents=True)
    for name in (*FILES, ".git_archival.txt", *PACKAGE):
        shutil.copy(ROOT / name, place / name)
    return place


@pytest.fixture
def run(environ):
    """Runs a command in a directory; returns what it prints."""

    def run(directory, *command):
        return subprocess.run(
            command,
            cwd=directory,
            env={key: value for key, value in environ.items() if "PRETEND" not in key},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            check=True,
        ).stdout.strip()

    return run


@pytest.fixture
def version(run):
    """The version that a build from a directory has."""
    return lambda directory: run(directory, sys.executable, "-m", "hatchling", "version")


@pytest.fixture
def repository(source, run):
    """The source in git: three commits, no tag. Runs git in it."""

    def git(*arguments):
        return run(source, "git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments)

    git("init", "-q")
    git("add", ".")
    for number in range(3):
        git("commit", "-q", "--allow-empty", "-m", str(number))
    return git


def test_a_tag_is_the_version(repository, source, version):
    repository("tag", "v7.8.9")
    assert version(source) == "7.8.9"
    repository("commit", "-q", "--allow-empty", "-m", "later")
    commit = repository("rev-parse", "HEAD")
    later = version(source)
    assert later.startswith("7.8.10.dev1+g")
    assert commit.startswith(later.partition("+g")[2])


def test_without_a_tag_the_commit_is_named(repository, source, version):
    commit = repository("rev-parse", "HEAD")
    number, _, name = version(source).partition("+g")
    assert ".dev3" in number
    assert commit.startswith(name)


def test_a_shallow_clone_without_tags_can_be_built(repository, source, version, run):
    repository("tag", "v7.8.9")
    repository("commit", "-q", "--allow-empty", "-m", "later")
    clone = source.parent / "clone"
    run(source.parent, "git", "clone", "-q", "--depth=1", "--no-tags", source.as_uri(), clone)
    assert ".dev1+g" in version(clone)


def test_an_archive_of_a_tag_has_its_version(repository, source, version):
    repository("tag", "v7.8.9")
    repository("archive", "-o", source.parent / "archive.tar", "HEAD")
    with tarfile.open(source.parent / "archive.tar") as archive:
        archive.extractall(source.parent / "archive", **FILTER)
    assert version(source.parent / "archive") == "7.8.9"


def test_a_copy_without_git_can_be_built(source, version):
    assert version(source) == "0.2.0.dev0"


def test_a_source_distribution_keeps_its_version(repository, source, version, run):
    repository("tag", "v7.8.9")
    run(source, sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", source.parent)
    with tarfile.open(source.parent / "nparam_lint-7.8.9.tar.gz") as archive:
        archive.extractall(source.parent, **FILTER)
    unpacked = source.parent / "nparam_lint-7.8.9"
    assert version(unpacked) == "7.8.9"
    assert run(unpacked, sys.executable, "-c", SHOW) == "7.8.9"


SHOW = "import nparam_lint; print(nparam_lint.__version__)"


def test_a_source_that_was_never_built_says_so(source, run):
    assert run(source, sys.executable, "-c", SHOW) == "0+unknown"


def test_what_the_build_wrote_does_not_hide_the_version(run):
    """A walk through the package imports `_version` first."""
    pytest.importorskip("nparam_lint._version")
    code = "import nparam_lint._version as file; assert nparam_lint.__version__ == file.version"
    run(ROOT, sys.executable, "-c", f"import nparam_lint; {code}")
