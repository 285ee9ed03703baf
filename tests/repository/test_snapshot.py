"""A copy of what git has: what is in it, what is linked, and what is said about the rest."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from sample_repository import AWKWARD, Sample

from nparam_lint.ground.errors import UsageError
from nparam_lint.repository.git import GitError, open_repository
from nparam_lint.repository.snapshot import Snapshot, copied


@pytest.fixture
def sample(tmp_path, environ) -> Sample:
    made = Sample.create(tmp_path / AWKWARD, environ)
    made.committed(
        {
            ".gitignore": "*.so\n_version.py\ndata/\n.venv/\n__pycache__/\n*.egg-info/\n",
            "pkg/__init__.py": "",
            "pkg/model.py": "x = 1\n",
            "notes.txt": "text\n",
        }
    )
    return made


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch) -> Path:
    """Where copies are made."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


def opened(sample: Sample):
    return open_repository(sample.path, sample.environ)


def test_the_copy_holds_what_is_staged_and_is_gone_afterwards(sample, temporary):
    sample.add({"pkg/model.py": "x = 2\n"})
    sample.write({"pkg/model.py": "x = 3\n", "pkg/new.py": "", "pkg/later.py": "y = 1\n"})
    sample.git("add", "--intent-to-add", "pkg/later.py")
    before = sample.state()
    with copied(opened(sample)) as copy:
        assert copy == Snapshot(
            directory=copy.directory,
            home=sample.path,
            tracked=(".gitignore", "notes.txt", "pkg/__init__.py", "pkg/model.py"),
            importable=(".gitignore", "notes.txt", "pkg/__init__.py", "pkg/model.py"),
            linked=(),
            untracked=("pkg/later.py", "pkg/new.py"),
            unstaged=("pkg/model.py",),
            commit=None,
        )
        assert copy.directory.parent == temporary
        assert (copy.directory / "pkg/model.py").read_text() == "x = 2\n"
        assert not any((copy.directory / name).exists() for name in copy.untracked)
        assert list((copy.directory / ".git").iterdir()) == []  # by it projects find their top
    with copied(opened(sample), "HEAD") as copy:
        assert (copy.directory / "pkg/model.py").read_text() == "x = 1\n"
        assert (copy.commit, copy.unstaged) == ("HEAD", ())
    assert list(temporary.iterdir()) == []
    assert sample.state() == before


def test_the_copy_is_gone_whatever_happens(sample, temporary):
    with pytest.raises(KeyboardInterrupt), copied(opened(sample)):
        raise KeyboardInterrupt
    sample.git("init", "--quiet", "sub")
    sample.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub")
    with pytest.raises(GitError, match="the submodule sub lacks"), copied(opened(sample)):
        pass
    assert list(temporary.iterdir()) == []


# --- what git ignores ---------------------------------------------------------------------------


def test_what_git_ignores_is_linked_unless_no_model_could_need_it(sample):
    sample.write(
        {
            "pkg/_version.py": "v = 1\n",
            "pkg/ext.so": "binary",
            "data/table.csv": "1,2\n",
            "generated/only.so": "binary",
            "pkg/__pycache__/model.cpython-311.pyc": "",
            ".venv/pyvenv.cfg": "",
            "pkg.egg-info/PKG-INFO": "Name: pkg\n",
            "tracked/_version.py": "v = 1\n",
        }
    )
    sample.git("add", "--force", "tracked/_version.py")
    sample.write({"tracked/_version.py": "v = 2\n"})
    before = sample.state()
    with copied(opened(sample)) as copy:
        links = {
            path.relative_to(copy.directory).as_posix(): path.readlink()
            for path in copy.directory.rglob("*")
            if path.is_symlink()
        }
        assert links == {
            name: sample.path / name
            for name in ("pkg/_version.py", "pkg/ext.so", "data", "generated", "pkg.egg-info")
        }
        assert sorted(copy.linked) == sorted(links)
        assert (copy.directory / "data/table.csv").read_text() == "1,2\n"
        assert (copy.directory / "tracked/_version.py").read_text() == "v = 1\n"
    assert sample.state() == before


def test_nothing_is_linked_where_git_has_a_file_or_a_link_instead_of_the_directory(
    sample, tmp_path
):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (sample.path / "out").symlink_to(elsewhere)
    sample.add({"flat": "a file\n"})
    sample.git("add", "out")
    sample.write({"out": None, "flat": None})
    sample.write({"out/a.so": "binary", "flat/b.so": "binary"})
    with copied(opened(sample)) as copy:
        assert copy.linked == ()
        assert (copy.directory / "out").readlink() == elsewhere
    assert list(elsewhere.iterdir()) == []


def test_ignored_files_of_a_submodule_are_linked_and_its_modules_importable(
    sample, tmp_path, environ
):
    library = Sample.create(tmp_path / "library", environ)
    library.committed({"layers.py": "", ".gitignore": "*.so\n"})
    sample.git("submodule", "--quiet", "add", library.path, "lib/inner")
    sample.write({"lib/inner/fast.so": "binary", "lib/inner/new.py": ""})
    with copied(opened(sample)) as copy:
        assert "lib/inner/layers.py" not in copy.tracked
        assert copy.files(copy.directory, which="importable") == [
            "pkg/__init__.py",
            "pkg/model.py",
            "lib/inner/layers.py",
        ]
        assert copy.linked == ("lib/inner/fast.so",)
        assert (copy.directory / "lib/inner/fast.so").readlink() == (
            sample.path / "lib/inner/fast.so"
        )


# --- symbolic links -----------------------------------------------------------------------------


def test_links_that_git_has_lead_where_they_lead_from_the_working_tree(sample, tmp_path):
    (tmp_path / "shared.yaml").write_text("width: 1\n")
    links = {
        "inside": "pkg/model.py",
        "pkg/up": "../notes.txt",
        "pkg/out": "../../shared.yaml",
        "absolute_in": str(sample.path / "notes.txt"),
        "absolute_out": str(tmp_path / "shared.yaml"),
        "folder": "pkg",
        "nowhere": "gone",
    }
    for name, target in links.items():
        (sample.path / name).symlink_to(target)
    sample.git("add", "--all")
    before = sample.state()
    with copied(opened(sample)) as copy:
        found = {name: str((copy.directory / name).readlink()) for name in links}
        assert found == links | {
            "pkg/out": str(tmp_path / "shared.yaml"),
            "absolute_in": str(copy.directory / "notes.txt"),
        }
        assert (copy.directory / "pkg/out").read_text() == "width: 1\n"
        assert (copy.directory / "folder/model.py").read_text() == "x = 1\n"
    assert sample.state() == before


# --- questions ----------------------------------------------------------------------------------


def test_paths_move_between_the_working_tree_and_the_copy(sample, tmp_path, monkeypatch):
    (tmp_path / "alias").symlink_to(sample.path)
    with copied(opened(sample)) as copy:
        model = copy.directory / "pkg/model.py"
        assert copy.copy_of(sample.path / "pkg/model.py") == model
        assert copy.copy_of(tmp_path / "alias/pkg/model.py") == model
        monkeypatch.chdir(sample.path / "pkg")
        assert copy.copy_of(Path("model.py")) == model
        assert copy.original_of(model) == sample.path / "pkg/model.py"
        assert copy.original_of(copy.directory) == sample.path
        with pytest.raises(UsageError, match="is outside of the repository at "):
            copy.copy_of(tmp_path)
        assert copy.files(copy.directory / "pkg") == ["__init__.py", "model.py"]


NOT_TRACKED = {
    "No such file: 'conf/a.yaml'": "conf/a.yaml",
    "No such file: './conf/a.yaml'": "conf/a.yaml",
    "No such file: '/home/u/repo/conf/a.yaml'": "conf/a.yaml",
    "it reads conf/a.yaml.": "conf/a.yaml",
    "No such file: 'a.yaml'": None,
    "No such file: 'conf/a.yaml.bak'": None,
    "No such file: 'old/conf/a.yaml'": None,
    "No such file: '/other/conf/a.yaml'": None,
    "the data has no such key": None,
}


def test_a_failure_is_traced_to_what_was_not_added():
    home, place = Path("/home/u/repo"), Path("/tmp/copy")
    copy = Snapshot(
        place, home, (), (), untracked=("conf/a.yaml", "data", "lib/h.py"), unstaged=("m.py",)
    )
    not_tracked = "{0} is not tracked by git; next: git add :/{0}".format
    for reason, file in NOT_TRACKED.items():
        assert copy.at_fault(reason, place) == (file and not_tracked(file)), reason
    inside = place / "conf"  # where relative paths start from
    assert copy.at_fault("No such file: 'a.yaml'", inside) == not_tracked("conf/a.yaml")
    assert copy.at_fault("No such file: '../lib/h.py'", inside) == not_tracked("lib/h.py")
    failure = "cannot import 'x' from 'm' (/home/u/repo/{})".format
    changed = "m.py has changes that are not staged; next: git add :/m.py"
    assert copy.at_fault(failure("m.py"), place) == changed
    assert copy.at_fault(failure("sum.py"), place) is None
